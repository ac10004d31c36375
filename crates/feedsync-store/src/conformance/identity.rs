//! Removal of users and collections: their data is removed with them, and a later one of the same name
//! inherits nothing.

use std::collections::BTreeMap;

use feedsync_couch::DatabaseName;
use proptest::prelude::*;

use super::databases::{self, compare_with_the_memory_store};
use super::logs::{begun, done};
use super::people::{name, user};
use super::samples::{create, id, item, named, open, put, version, write};
use super::{Constructor, wait};
use crate::{
    Append, CollectionChange, CreationContext, Databases, Expected, Grant, GrantFilter,
    LocalDocument, MemoryStore, NewCollection, NewDatabase, NewGeneration, NewSnapshot, PRIVATE_TO,
    People, Role, Store, StoreError, Usage, User, UserId, Write,
};

fn database(text: &str) -> DatabaseName {
    text.parse().expect("a legal name")
}

fn security(databases: &(impl Databases + ?Sized), of: &str) -> Option<String> {
    let found = wait(databases.database(&database(of))).unwrap();
    found.expect("a database").security
}

/// No database names a user who was removed, or who was just added. Collections that are private to a user
/// are removed with the user, logs included.
pub fn a_later_user_of_the_same_name_inherits_nothing(
    constructor: Constructor<impl Store + ?Sized>,
) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let databases = store;
    for one in [user("root", true), user("anna", false)] {
        wait(store.add_user(one)).unwrap();
    }
    let anna = user("anna", false);
    let own = r#"{"admins":{"names":["anna"]},"members":{"names":["anna"]}}"#;
    for (of, said) in [("own", own), ("both", r#"{"members":{"names":["anna","root","carl"]}}"#)] {
        wait(databases.create_database(&database(of), NewDatabase::with_security(said.to_owned())))
            .unwrap();
    }
    let settings = BTreeMap::from([(PRIVATE_TO.to_owned(), anna.id.to_string())]);
    let new = |name: &str, settings| NewCollection {
        name: named(name),
        title: String::new(),
        format: feedsync_core::Format::Opml,
        settings,
    };
    assert_eq!(wait(databases.charged(&database("own"))).unwrap(), None);
    wait(databases.charge(&database("own"), &anna.id)).unwrap();
    assert_eq!(wait(databases.charged(&database("own"))).unwrap(), Some(anna.id.clone()));
    let usage = wait(store.usage(&anna.id)).unwrap();
    let database_bytes = own.len() as u64;
    assert_eq!(usage, Usage { databases: 1, database_bytes, ..Usage::default() });
    for new in [new("private", settings), new("plans", BTreeMap::new())] {
        let context = CreationContext { owner: Some(name("anna")), act: None };
        wait(store.create_collection_with(new, context)).unwrap();
    }
    let append = Append {
        expected: Expected::Absent,
        bytes: b"a line\n".to_vec(),
        media_type: "text/plain".to_owned(),
        key: None,
        most: 1_000,
        act: None,
    };
    wait(store.append_to_log(&named("private"), append)).unwrap();
    assert_eq!(wait(store.usage(&anna.id)).unwrap(), Usage { log_bytes: 7, ..usage });
    wait(store.remove_user(&name("anna"))).unwrap();
    assert_eq!(wait(store.collection(&named("private"))).unwrap(), None);
    assert!(wait(store.collection(&named("plans"))).unwrap().is_some());
    assert_eq!(wait(store.collection_charged_to(&named("plans"))).unwrap(), None);
    assert_eq!(wait(databases.charged(&database("own"))).unwrap(), None);
    assert_eq!(wait(store.usage(&anna.id)).unwrap(), Usage::default());
    let closed = r#"{"admins":{"names":[]},"members":{"names":[],"roles":["_admin"]}}"#;
    assert_eq!(security(databases, "own").as_deref(), Some(closed));
    let others = r#"{"members":{"names":["root","carl"]}}"#;
    assert_eq!(security(databases, "both").as_deref(), Some(others));

    let again = User { id: UserId::new("b2").unwrap(), ..user("anna", false) };
    wait(store.add_user(again.clone())).unwrap();
    assert_eq!(wait(store.grants(GrantFilter::User(&name("anna")))).unwrap(), []);
    assert_eq!(wait(store.tokens(&name("anna"))).unwrap(), []);
    wait(store.add_user(user("carl", false))).unwrap();
    let root = r#"{"members":{"names":["root"]}}"#;
    assert_eq!(security(databases, "both").as_deref(), Some(root));
    // A decision on the removed user does not change the later user of that name.
    let late = wait(store.change_user(User { administrator: true, ..anna }));
    assert!(matches!(late, Err(StoreError::NoUser(_))), "{late:?}");
    assert_eq!(wait(store.user(&name("anna"))).unwrap(), Some(again));
}

/// Items, logs with all their generations, local documents and access rules count for the creator of the
/// collection or database. The database of a collection counts for the creator of the collection.
pub fn bytes_and_documents_of_a_user_are_counted(constructor: Constructor<impl Store + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let databases = store;
    let anna = user("anna", false);
    wait(store.add_user(anna.clone())).unwrap();
    let used = || wait(store.usage(&anna.id)).unwrap();
    let new = NewCollection {
        name: named("plans"),
        title: String::new(),
        format: feedsync_core::Format::Atom,
        settings: BTreeMap::new(),
    };
    let context = CreationContext { owner: Some(name("anna")), act: None };
    let plans = wait(store.create_collection_with(new, context)).unwrap();
    assert_eq!(wait(store.collection_charged_to(&plans.name)).unwrap(), Some(anna.id.clone()));
    let mut expected = Usage::default();
    assert_eq!(used(), expected);
    // A role in another user's collection costs nothing, nor does a database that only has the name of a
    // collection.
    let others = create(store, "others");
    write(store, &others.name, &["a"], vec![put(item("a", "A", 1))]).unwrap();
    let grant = Grant { user: name("anna"), collection: others.name.clone(), role: Role::Owner };
    wait(store.grant(grant)).unwrap();
    let unbridged = wait(
        databases.create_database(&database("plans"), NewDatabase::with_security("{}".to_owned())),
    );
    let epoch = unbridged.unwrap().unwrap().epoch;
    assert_eq!(
        (wait(store.collection_charged_to(&others.name)).unwrap(), used()),
        (None, expected)
    );
    wait(databases.drop_database(&database("plans"), epoch)).unwrap();

    let mut contested = item("a", "A", 1);
    contested.conflicts.push(version("B", 1, "<b/>"));
    let after = write(store, &plans.name, &["a"], vec![put(contested.clone())]).unwrap();
    expected.item_bytes = contested.bytes() as u64;
    assert_eq!((after.bytes, used()), (expected.item_bytes, expected));
    let both = vec![put(item("a", "A", 2)), put(item("b", "A", 1))];
    write(store, &plans.name, &["a", "b"], both).unwrap();
    expected.item_bytes = 2 * item("b", "A", 1).bytes() as u64;
    assert_eq!(used(), expected);
    write(store, &plans.name, &["b"], vec![Write::Purge { ids: vec![id("b")] }]).unwrap();
    expected.item_bytes /= 2;
    assert_eq!(used(), expected);

    begun(store, &plans.name, &[b'x'; 70]);
    let (expected_place, bytes) = (Expected::Present, vec![b'y'; 50]);
    let new = NewGeneration { expected: expected_place, bytes, most: 1_000, act: None };
    let covers = done(wait(store.begin_log_generation(&plans.name, new))).place;
    expected.log_bytes = 120;
    assert_eq!(used(), expected);
    let media_type = "text/plain".to_owned();
    let snapshot = NewSnapshot { covers, media_type, bytes: vec![b'z'; 30] };
    done(wait(store.put_log_snapshot(&plans.name, snapshot)));
    expected.log_bytes = 150;
    assert_eq!(used(), expected);

    let security = plans.bridge_security();
    let bridged = database("plans");
    let made =
        wait(databases.create_database(&bridged, NewDatabase::with_security(security.clone())))
            .unwrap();
    let epoch = made.unwrap().epoch;
    expected.database_bytes = security.len() as u64;
    assert_eq!(used(), expected);
    let local = |text: &str| {
        let document = LocalDocument { revision: 1, body: text.to_owned() };
        let document = (!text.is_empty()).then_some(document);
        let place = "place".parse().unwrap();
        wait(databases.put_local_document(&bridged, epoch, &place, document)).unwrap();
    };
    for text in ["{\"a\":\"\u{e4}\"}", "{\"a\":17}", "", ""] {
        local(text);
        let expected = expected.database_bytes + text.len() as u64;
        assert_eq!(used().database_bytes, expected, "{text}");
    }
    // Charges another user from now on.
    wait(store.charge_collection(&plans.name, &UserId::new("b2").unwrap())).unwrap();
    assert_eq!(used(), Usage::default());
    wait(store.charge_collection(&plans.name, &anna.id)).unwrap();
    assert_eq!(used(), expected);
    wait(databases.drop_database(&bridged, epoch)).unwrap();
    expected.database_bytes = 0;
    assert_eq!(used(), expected);
    wait(store.add_user(user("root", true))).unwrap();
    wait(store.change_user(User { administrator: true, ..anna.clone() })).unwrap();
    assert_eq!(used(), Usage { administers: true, ..expected });
    // When its user is removed, the collection is charged to another owner.
    let berta = user("berta", false);
    wait(store.add_user(berta.clone())).unwrap();
    for one in ["berta", "root"] {
        let (user, collection) = (name(one), plans.name.clone());
        wait(store.grant(Grant { user, collection, role: Role::Owner })).unwrap();
    }
    wait(store.remove_user(&name("anna"))).unwrap();
    assert_eq!(wait(store.collection_charged_to(&plans.name)).unwrap(), Some(berta.id.clone()));
    assert_eq!(wait(store.usage(&berta.id)).unwrap(), expected);
}

/// A database that is bridged to a collection is renamed and removed with it; other databases are not.
pub fn a_bridged_database_follows_its_collection(constructor: Constructor<impl Store + ?Sized>) {
    let (fixture, _) = open(constructor);
    let store = &*fixture.store;
    let databases = store;
    let is_there = |of: &str| wait(databases.database(&database(of))).unwrap().is_some();
    let make = |of: &str, said: Option<String>| {
        wait(databases.create_database(
            &database(of),
            NewDatabase { security: said, ..NewDatabase::default() },
        ))
        .unwrap()
        .is_some()
    };
    let rename = |from: &str, to: &str| {
        let change = CollectionChange { name: Some(named(to)), ..CollectionChange::default() };
        wait(store.change_collection(&named(from), change)).unwrap();
    };
    let plans = create(store, "plans");
    assert!(make("plans", Some(plans.bridge_security())));
    rename("plans", "ideas");
    assert!(is_there("ideas") && !is_there("plans"));
    // If the new name is in use, the bridged database keeps its name, and is bridged to no collection.
    assert!(make("other", None));
    rename("ideas", "other");
    assert!(is_there("ideas") && security(databases, "other").is_none());
    rename("other", "ideas");
    wait(store.drop_collection(&named("ideas"))).unwrap();
    assert!(!is_there("ideas") && is_there("other"));
    let ideas = create(store, "ideas");
    assert!(make("ideas", Some(ideas.bridge_security())), "the name is free again");
}

/// The usage of a database counts for the user to whom it is charged, after any sequence of operations.
pub fn any_use_of_databases_counts_for_their_owner(open: Constructor<impl Store + ?Sized>) {
    let anna = user("anna", false);
    let prepare = |store: &_, model: &MemoryStore| {
        wait(People::add_user(store, anna.clone())).expect("added");
        wait(model.add_user(anna.clone())).expect("added");
    };
    compare_with_the_memory_store(open, prepare, |store, model| {
        // The second database is charged to this user each time it is created.
        let _ = wait(store.charge(&databases::named(1), &anna.id));
        let _ = wait(model.charge(&databases::named(1), &anna.id));
        let (is, should) = (wait(store.usage(&anna.id)), wait(model.usage(&anna.id)));
        prop_assert_eq!(is.ok(), should.ok());
        Ok(())
    });
}
