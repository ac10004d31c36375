//! Conditional creation, change and removal of collections.

use feedsync_core::Format;

use super::samples::{act, create, named, open};
use super::{Constructor, wait};
use crate::{
    Alteration, AlterationDecision, Collection, CollectionChange, CreationContext, ItemStore,
    ItemStoreExt as _, NewCollection, StoreError, UserName,
};

/// A decision sees the current state of the collection, and is applied in one step. A decision that fails
/// changes nothing.
pub fn collection_changes_are_decided_on_its_current_state(
    constructor: Constructor<impl ItemStore + ?Sized>,
) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let notes = create(store, "notes");
    let refuse = |found: &Collection| Err::<AlterationDecision, _>(found.title.clone());
    let refused = wait(store.decide_collection(&notes.name, refuse)).unwrap();
    assert_eq!(refused, Err("The notes".to_owned()));
    let kept = AlterationDecision { alteration: Alteration::Keep, act: None };
    assert_eq!(wait(store.alter_collection(&notes.name, Box::new(|_| kept))).unwrap(), notes);

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
}

/// A collection whose owner does not exist is not created.
pub fn a_collection_with_an_unknown_owner_is_not_created(
    constructor: Constructor<impl ItemStore + ?Sized>,
) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let new = maps();
    let owner = Some(UserName::new("anna").unwrap());
    let context = CreationContext { owner, act: Some(act("create")) };
    let refused = wait(store.create_collection_with(new.clone(), context));
    assert!(matches!(refused, Err(StoreError::NoUser(_))), "{refused:?}");
    assert_eq!(wait(store.collection(&new.name)).unwrap(), None);
}

/// Parameters of a collection of maps.
pub(super) fn maps() -> NewCollection {
    NewCollection {
        name: named("maps"),
        title: String::new(),
        format: Format::Atom,
        settings: Default::default(),
    }
}
