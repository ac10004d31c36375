//! Creation and detection of a store in a PostgreSQL database, and values that it rejects.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

use feedsync_core::Format;
use feedsync_store::conformance::samples::{create, item, named, put, write};
use feedsync_store::conformance::{TestEnvironment, wait};
use feedsync_store::{
    Alteration, AlterationDecision, AuditAction, AuditSelection, Collection, CollectionChange,
    CreationContext, EndpointName, Environment as _, GrantFilter, ItemStore as _, MemoryStore,
    NewCollection, People as _, PostgresStore, Role, StoreError, SystemEnvironment, User, UserName,
};
use feedsync_test::postgres::Cluster;

use crate::transfer_databases;

fn init(url: &str) -> Result<PostgresStore, StoreError> {
    let name = EndpointName::new("tester").unwrap();
    wait(PostgresStore::init(url, &name, Arc::new(SystemEnvironment)))
}

fn open(url: &str) -> Result<PostgresStore, StoreError> {
    wait(PostgresStore::open(url, Arc::new(SystemEnvironment)))
}

/// A store with a collection of notes.
fn notes() -> (String, Arc<PostgresStore>) {
    let url = Cluster::shared().database();
    let store = init(&url).unwrap();
    create(&store, "notes");
    (url, Arc::new(store))
}

/// Four nodes find an empty database: one founds the store, and then all can open it.
#[test]
fn four_nodes_migrate_an_empty_database_once() {
    let url = Cluster::shared().database();
    assert!(!wait(PostgresStore::exists(&url)).unwrap());
    assert!(matches!(open(&url), Err(StoreError::Place { .. })));
    let founders: Vec<_> = (0..4)
        .map(|_| {
            let url = url.clone();
            thread::spawn(move || init(&url))
        })
        .collect();
    let founded: Vec<_> = founders.into_iter().map(|founder| founder.join().unwrap()).collect();
    assert_eq!(founded.iter().filter(|result| result.is_ok()).count(), 1);
    for error in founded.iter().filter_map(|result| result.as_ref().err()) {
        assert!(error.to_string().contains("already a store"), "{error}");
    }
    assert!(wait(PostgresStore::exists(&url)).unwrap());
    let opened: Vec<_> = (0..4).map(|_| open(&url).unwrap()).collect();
    let identities: Vec<_> = opened.iter().map(|store| wait(store.identity()).unwrap()).collect();
    assert!(identities.iter().all(|identity| *identity == identities[0]));
    assert_eq!(identities[0].retired, []);
}

/// The check names each kind of inconsistent row, and finds none in a sound store.
#[test]
fn inconsistent_database_rows_are_found() {
    let damages = [
        ("documents without a database", "UPDATE documents SET database = 99 WHERE head = '007'"),
        (
            "documents stored under a wrong id",
            "UPDATE documents SET digest = '\\x00' WHERE head = '007'",
        ),
        (
            "documents with a change number that their database has not reached",
            "UPDATE documents SET number = 99999 WHERE head = '007'",
        ),
        (
            "databases with a wrong count of documents",
            "UPDATE databases SET deleted = deleted + 1 WHERE name = 'notes'",
        ),
        ("document bodies without a database", "UPDATE bodies SET database = 99 WHERE number = 7"),
        (
            "document bodies with a number that their database has not issued",
            "UPDATE bodies SET number = number + 99999 WHERE number = 7",
        ),
        (
            "local documents without a database",
            "UPDATE local_documents SET database = 99 WHERE id = 'one'",
        ),
        (
            "attachments without a database",
            "UPDATE attachments SET database = 99 WHERE content = 'one'",
        ),
        (
            "unused attachments that are marked as used",
            "UPDATE attachment_uses SET number = number + 99999",
        ),
    ];
    for (fault, sql) in damages {
        let url = Cluster::shared().database();
        let store = init(&url).unwrap();
        transfer_databases::fill(&store);
        assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
        let sql = format!("SET search_path = feedsync; {sql}");
        Cluster::shared().sql(url.rsplit('=').next().unwrap(), &sql);
        let found = wait(store.check()).unwrap();
        let begins = format!("{fault}: ");
        assert!(found.iter().any(|line| line.starts_with(&begins)), "{fault}: {found:?}");
    }
}

/// Neither errors nor debug output contain the password.
#[test]
fn password_is_never_shown() {
    let url = "postgres://anna:geheim@127.0.0.1:1/hub";
    let error = open(url).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("geheim"), "{error:?}");
    let (url, _store) = notes();
    let store = open(&format!("{url} password=geheim")).unwrap();
    assert!(format!("{store:?}").starts_with("PostgresStore(postgres://postgres@"), "{store:?}");
    assert!(!format!("{store:?}").contains("geheim"));
}

/// PostgreSQL cannot store the character NUL. It is replaced in a text for people. In an item it is rejected,
/// and only the update that contains it fails.
#[test]
fn nul_is_replaced_in_texts_and_rejected_in_items() {
    let (_, store) = notes();
    let act = AuditAction {
        user: None,
        address: None,
        action: "edit".to_owned(),
        collection: None,
        item: None,
        detail: "a\0b".to_owned(),
    };
    wait(store.record(act)).unwrap();
    let acts = wait(store.acts(AuditSelection { limit: 1, ..Default::default() })).unwrap();
    assert_eq!(acts[0].act.detail, "a\u{fffd}b");

    let threads: Vec<_> = (0..16)
        .map(|number| {
            let store = store.clone();
            thread::spawn(move || {
                let name = format!("item{number}");
                let mut item = item(&name, "A", 1);
                if number == 7 {
                    item.winner.payload = item.winner.payload.with_parsed_text("<entry>\0</entry>");
                }
                write(&*store, &named("notes"), &[&name], vec![put(item)])
            })
        })
        .collect();
    let results: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    for (number, result) in results.iter().enumerate() {
        assert_eq!(result.is_err(), number == 7, "{number}: {result:?}");
    }
    let collection = wait(store.collection(&named("notes"))).unwrap().unwrap();
    assert_eq!((collection.last.get(), collection.live), (15, 15));
}

/// The first incarnation is minted from the environment, as in every backend.
#[test]
fn store_uses_the_given_time_and_randomness() {
    let url = Cluster::shared().database();
    let name = EndpointName::new("tester").unwrap();
    let environment = Arc::new(TestEnvironment::new(1));
    let store = wait(PostgresStore::init(&url, &name, environment)).unwrap();
    let expected = MemoryStore::new(&name, Arc::new(TestEnvironment::new(1)));
    assert_eq!(wait(store.identity()).unwrap(), wait(expected.identity()).unwrap());
}

/// Several nodes create one collection at once: one succeeds, with its owner and audit entry. All changes
/// that depend on the current state are applied, one after the other. When several nodes remove it, one
/// succeeds.
#[test]
fn nodes_alter_collections_one_after_the_other() {
    let (url, first) = notes();
    let nodes = [first, Arc::new(open(&url).unwrap()), Arc::new(open(&url).unwrap())];
    let anna = UserName::new("anna").unwrap();
    let user = User {
        id: feedsync_store::UserId::new("a1").unwrap(),
        name: anna.clone(),
        password: None,
        administrator: true,
        disabled: false,
        databases_only: false,
        created: SystemEnvironment.now(),
    };
    wait(nodes[0].add_user(user)).unwrap();
    let act = |action: &str| AuditAction {
        user: Some(anna.clone()),
        address: None,
        action: action.to_owned(),
        collection: Some(named("books")),
        item: None,
        detail: String::new(),
    };
    let at_once =
        |work: &(dyn Fn(&PostgresStore, usize) -> Result<Collection, StoreError> + Sync)| {
            thread::scope(|scope| {
                let threads: Vec<_> = (0..12)
                    .map(|number| {
                        let node = nodes[number % 3].clone();
                        scope.spawn(move || work(&node, number))
                    })
                    .collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
            })
        };

    let created = at_once(&|node, _| {
        let (title, settings) = (String::new(), BTreeMap::new());
        let new = NewCollection { name: named("books"), title, format: Format::Atom, settings };
        let context = CreationContext { owner: Some(anna.clone()), act: Some(act("create")) };
        wait(node.create_collection_with(new, context))
    });
    assert_eq!(created.iter().filter(|result| result.is_ok()).count(), 1);
    for error in created.iter().filter_map(|result| result.as_ref().err()) {
        assert!(matches!(error, StoreError::CollectionExists(_)), "{error}");
    }
    let grants = wait(nodes[1].grants(GrantFilter::Collection(&named("books")))).unwrap();
    assert_eq!(grants.len(), 1);
    assert_eq!((&grants[0].user, grants[0].role), (&anna, Role::Owner));

    // Each adds a setting to the existing ones.
    let changed = at_once(&|node, number| {
        let decide = move |found: &Collection| {
            let mut settings = found.settings.clone();
            settings.insert(format!("setting{number}"), settings.len().to_string());
            let change = CollectionChange { settings: Some(settings), ..Default::default() };
            AlterationDecision { alteration: Alteration::Change(change), act: None }
        };
        wait(node.alter_collection(&named("books"), Box::new(decide)))
    });
    assert!(changed.iter().all(Result::is_ok));
    let books = wait(nodes[2].collection(&named("books"))).unwrap().unwrap();
    let mut values: Vec<usize> =
        books.settings.values().map(|value| value.parse().unwrap()).collect();
    values.sort_unstable();
    assert_eq!(values, (0..12).collect::<Vec<_>>(), "each saw what those before it had set");

    let dropped = at_once(&|node, _| {
        let act = Some(act("drop"));
        let drop =
            Box::new(|_: &Collection| AlterationDecision { alteration: Alteration::Drop, act });
        wait(node.alter_collection(&named("books"), drop))
    });
    assert_eq!(dropped.iter().filter(|result| result.is_ok()).count(), 1);
    let acts = wait(nodes[0].acts(AuditSelection { limit: 99, ..Default::default() })).unwrap();
    let actions: Vec<_> = acts.iter().map(|recorded| &*recorded.act.action).collect();
    assert_eq!(actions, ["drop", "create"], "what was not done is not recorded");
}
