//! Conditional creation, change and removal of collections.

use feedsync_core::Format;

use super::samples::{act, create, named, open};
use super::{Constructor, wait};
use crate::{
    Alteration, AlterationDecision, AuditSelection, Collection, CollectionChange, CreationContext,
    Grant, GrantFilter, Moment, NewCollection, Role, StoreError, StoreExt as _, User, UserName,
};

/// A decision sees the current state of the collection, and is applied and recorded in one step. A decision
/// that fails changes nothing. A collection whose owner does not exist is not created.
pub fn collection_changes_are_decided_on_its_current_state(constructor: Constructor) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes");
    let recorded = || wait(store.acts(AuditSelection { limit: 9, ..Default::default() })).unwrap();
    let refuse = |found: &Collection| Err::<AlterationDecision, _>(found.title.clone());
    let refused = wait(store.decide_collection(&notes.name, refuse)).unwrap();
    assert_eq!(refused, Err("The notes".to_owned()));
    let kept = AlterationDecision { alteration: Alteration::Keep, act: None };
    assert_eq!(wait(store.alter_collection(&notes.name, Box::new(|_| kept))).unwrap(), notes);
    assert_eq!(recorded(), []);

    let set = act("set");
    let longer = move |found: &Collection| {
        let title = Some(format!("{}, all of them", found.title));
        let alteration = Alteration::Change(CollectionChange { title, ..Default::default() });
        Ok::<_, ()>(AlterationDecision { alteration, act: Some(set) })
    };
    let changed = wait(store.decide_collection(&notes.name, longer)).unwrap().unwrap();
    let title = "The notes, all of them".to_owned();
    assert!(changed.edited > notes.edited, "a change of the title is a change of the collection");
    assert_eq!(changed, Collection { title, edited: changed.edited, ..notes.clone() });
    assert_eq!(wait(store.collection(&notes.name)).unwrap(), Some(changed.clone()));
    create(store, "books");
    let taken = move |_: &Collection| AlterationDecision {
        alteration: Alteration::Change(CollectionChange {
            name: Some(named("books")),
            ..Default::default()
        }),
        act: Some(act("never")),
    };
    let refused = wait(store.alter_collection(&notes.name, Box::new(taken)));
    assert!(matches!(refused, Err(StoreError::CollectionExists(_))), "{refused:?}");
    let drop = AlterationDecision { alteration: Alteration::Drop, act: Some(act("drop")) };
    assert_eq!(wait(store.alter_collection(&notes.name, Box::new(|_| drop))).unwrap(), changed);
    assert_eq!(wait(store.collection(&notes.name)).unwrap(), None);

    let anna = UserName::new("anna").unwrap();
    let new = NewCollection {
        name: named("maps"),
        title: String::new(),
        format: Format::Atom,
        settings: Default::default(),
    };
    let setup_transaction = CreationContext { owner: Some(anna.clone()), act: Some(act("create")) };
    let refused = wait(store.create_collection_with(new.clone(), setup_transaction.clone()));
    assert!(matches!(refused, Err(StoreError::NoUser(_))), "{refused:?}");
    assert_eq!(wait(store.collection(&new.name)).unwrap(), None);
    let user = User {
        id: crate::UserId::new("a1").unwrap(),
        name: anna.clone(),
        password: None,
        administrator: true,
        disabled: false,
        created: Moment::from_micros(1),
    };
    wait(store.add_user(user)).unwrap();
    let maps = wait(store.create_collection_with(new, setup_transaction)).unwrap().name;
    let owner = Grant { user: anna, collection: maps.clone(), role: Role::Owner };
    assert_eq!(wait(store.grants(GrantFilter::Collection(&maps))).unwrap(), [owner]);
    let actions: Vec<_> = recorded().into_iter().map(|recorded| recorded.act.action).collect();
    assert_eq!(actions, ["create", "drop", "set"]);
}
