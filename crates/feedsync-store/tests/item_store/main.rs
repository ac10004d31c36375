//! A store of items that is written from its documentation, and passes the tests of its part of the contract.

mod btree_store;
mod btree_tables;

use std::sync::Arc;

use btree_store::BTreeStore;
use feedsync_store::conformance::samples::{create, id, item, named, put, write};
use feedsync_store::conformance::{Fixture, TestEnvironment, wait};
use feedsync_store::{
    Append, CollectionName, EndpointName, Environment, Expected, ItemsOnly, Moment, Store,
    StoreError, User, UserId, UserName,
};

fn open(environment: Arc<dyn Environment>) -> Fixture<BTreeStore> {
    let name = EndpointName::new("tester").unwrap();
    Fixture { store: Arc::new(BTreeStore::new(&name, environment)), kept: Box::new(()) }
}

feedsync_store::item_store_tests!(open);

impl ItemsOnly for BTreeStore {}

#[test]
fn store_of_items_is_a_store_without_users_logs_and_databases() {
    let store: Arc<dyn Store> = open(Arc::new(TestEnvironment::new(1))).store;
    let notes: CollectionName = create(&*store, "notes").name;
    write(&*store, &notes, &["a"], vec![put(item("a", "A", 1))]).unwrap();
    assert!(wait(store.item(&notes, &id("a"))).unwrap().is_some());

    let name = UserName::new("anna").unwrap();
    let user = User {
        id: UserId::new("a1").unwrap(),
        name: name.clone(),
        password: None,
        administrator: true,
        disabled: false,
        databases_only: false,
        created: Moment::from_micros(1),
    };
    let refused = wait(store.add_user(user));
    assert!(matches!(refused, Err(StoreError::Unsupported("users"))), "{refused:?}");
    assert_eq!(wait(store.users()).unwrap(), []);

    let append = Append {
        expected: Expected::Absent,
        bytes: b"a\n".to_vec(),
        media_type: "text/plain".to_owned(),
        key: None,
        most: 9,
        act: None,
    };
    let refused = wait(store.append_to_log(&notes, append));
    assert!(matches!(refused, Err(StoreError::Unsupported("logs"))), "{refused:?}");
    assert_eq!(wait(store.log(&notes)).unwrap(), None);
    assert!(matches!(wait(store.log(&named("other"))), Err(StoreError::NoCollection(_))));

    let database = "notes".parse().unwrap();
    let refused = wait(store.create_database(&database, Default::default()));
    assert!(matches!(refused, Err(StoreError::Unsupported("databases"))), "{refused:?}");
    assert_eq!(wait(store.database(&database)).unwrap(), None);
    let refused = wait(store.count_changes(&database, Default::default()));
    assert!(matches!(refused, Err(StoreError::NoDatabase(_))), "{refused:?}");
}
