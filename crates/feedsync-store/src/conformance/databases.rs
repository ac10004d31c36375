//! Databases: any operation on a store has the same result as on the memory store.

mod everything;
pub mod history;
#[cfg(feature = "queries")]
pub mod indexes;
pub mod schedule;
mod uses;
#[cfg(feature = "queries")]
pub mod views;

use std::sync::Arc;
use std::thread;

use feedsync_couch::{AttachmentDigest, BodyRef, DatabaseName};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

pub use self::everything::everything;
use self::uses::uses;
pub use self::uses::{Use, named};
use super::{Constructor, TestEnvironment, wait};
use crate::{
    ChangeNumber, Database, DatabaseChange, Databases, EndpointName, Environment as _, Epoch,
    History, LocalDocument, MemoryStore, Moment, NewDatabase, PastDocuments as _, REVISIONS_KEPT,
    SelectBodies, StoreError, StoredBody, StoredDocument, UserId,
};

/// Any sequence of operations on databases has the same results as on the memory store.
pub fn any_use_of_databases_gives_what_the_memory_store_gives(
    open: Constructor<impl Databases + ?Sized>,
) {
    compare_with_the_memory_store(open, |_, _| (), |_, _| Ok(()));
}

/// Carries out any operations on a store and on the memory store. `prepare` gets both stores before the
/// operations, and `check` after each one.
pub(super) fn compare_with_the_memory_store<S: Databases + ?Sized>(
    open: Constructor<S>,
    prepare: impl Fn(&S, &MemoryStore),
    check: impl Fn(&S, &MemoryStore) -> Result<(), TestCaseError>,
) {
    for_any_uses(16, uses(1..25), |uses| {
        let fixture = open(Arc::new(TestEnvironment::new(7)));
        let tester = EndpointName::new("tester").expect("a name");
        let model = MemoryStore::new(&tester, Arc::new(TestEnvironment::new(7)));
        let store = &*fixture.store;
        prepare(store, &model);
        for it in &uses {
            let (is, should) = (it.carry_out(store), it.carry_out(&model));
            prop_assert_eq!(is, should, "{:?}", it);
            check(store, &model)?;
            let dropped = wait(store.dropped_databases(None)).expect("they can be read");
            let expected = wait(model.dropped_databases(None)).expect("they can be read");
            prop_assert_eq!(&dropped, &expected, "after {:?}", it);
            let kept = dropped.into_iter().map(|kept| kept.name);
            for name in [named(0), named(1)].into_iter().chain(kept) {
                let (is, should) = (everything(store, &name), everything(&model, &name));
                for (is, should) in is.iter().zip(&should) {
                    prop_assert_eq!(is, should, "after {:?}", it);
                }
                let Ok(Some(database)) = wait(store.database(&name)) else { continue };
                counts_follow_the_documents(store, &database)?;
            }
        }
        Ok(())
    });
}

/// A decision that is based on one database is never applied to a later database of the same name.
pub fn decisions_about_a_database_never_apply_to_a_later_one_of_the_same_name(
    open: Constructor<impl Databases + ?Sized>,
) {
    let fixture = open(Arc::new(TestEnvironment::new(7)));
    let store = &*fixture.store;
    let (name, id) = (named(0), "place".parse().expect("an id"));
    let create = || wait(store.create_database(&name, Default::default())).expect("it is made");
    let document =
        |revision: u64| LocalDocument { revision, body: format!("{{\"r\":{revision}}}") };
    let put = |epoch: Epoch, document: Option<LocalDocument>| {
        wait(store.put_local_document(&name, epoch, &id, document))
    };
    let read = || wait(store.local_document(&name, &id)).expect("it can be read");
    let before = create().expect("a database").epoch;
    assert!(!put(before, Some(document(1))).expect("it is the same one"));
    wait(store.drop_database(&name, before)).expect("it is dropped");
    assert!(
        matches!(put(before, Some(document(2))), Err(StoreError::NoDatabase(of)) if of == name)
    );
    let after = create().expect("another database").epoch;
    let change = DatabaseChange { revisions_kept: Some(7), ..DatabaseChange::default() };
    for late in [
        wait(store.drop_database(&name, before)),
        wait(store.change_database(&name, before, change)).map(drop),
    ] {
        assert!(matches!(late, Err(StoreError::NoDatabase(of)) if of == name));
    }
    let there = wait(store.database(&name)).expect("it can be read").expect("it is there");
    assert_eq!((there.epoch, there.revisions_kept), (after, REVISIONS_KEPT));
    assert!(!put(after, Some(document(3))).expect("it is the same one"));
    for late in [Some(document(4)), None] {
        assert!(matches!(put(before, late), Err(StoreError::NoDatabase(of)) if of == name));
        assert_eq!(read(), Some(document(3)));
    }
    // Among many updates that are committed together, each is applied only to the database that it read.
    thread::scope(|scope| {
        for number in 0..40_u64 {
            let (store, name, document) = (&store, &name, &document);
            scope.spawn(move || {
                let (is_late, id) = (number % 2 == 1, number.to_string().parse().expect("an id"));
                let epoch = if is_late { before } else { after };
                let put = store.put_local_document(name, epoch, &id, Some(document(number)));
                assert_eq!(wait(put).is_err(), is_late, "{number}");
                let found = wait(store.local_document(name, &id)).expect("it can be read");
                assert_eq!(found.is_none(), is_late, "{number}");
            });
        }
    });
    assert!(put(after, None).expect("it is the same one"));
    assert_eq!(read(), None);
}

/// A database has its access rules, its history and its owner from its creation on. Another creation of the name changes
/// nothing.
pub fn a_database_is_created_with_its_history_and_its_owner(
    open: Constructor<impl Databases + ?Sized>,
) {
    let fixture = open(Arc::new(TestEnvironment::new(7)));
    let store = &*fixture.store;
    let (name, owner) = (named(0), UserId::new("a1").expect("an id"));
    let (security, history) = (Some("{}".to_owned()), History::Kept { seconds: 60 });
    let new = NewDatabase { security: security.clone(), history, owner: Some(owner.clone()) };
    let create = |new| wait(store.create_database(&name, new)).expect("it can be created");
    let made = create(new).expect("a database");
    assert_eq!((&made.security, made.history), (&security, history));
    assert_eq!(made.past.since, Some(made.created));
    assert_eq!(create(NewDatabase::default()), None);
    assert_eq!(wait(store.database(&name)).expect("it can be read"), Some(made));
    assert_eq!(wait(store.charged(&name)).expect("it can be read"), Some(owner));
}

/// The sweep removes more attachments than one read examines, from several databases, one of which is
/// dropped; recent ones stay.
pub fn attachments_that_nothing_names_go_from_all_databases(
    open: Constructor<impl Databases + ?Sized>,
) {
    let environment = Arc::new(TestEnvironment::new(7));
    let fixture = open(Arc::<TestEnvironment>::clone(&environment));
    let store = &*fixture.store;
    let names = [0, 1, 2].map(named);
    for name in &names {
        wait(store.create_database(name, Default::default()))
            .expect("it is made")
            .expect("a database");
    }
    let digest = |number: u32| AttachmentDigest::of(&number.to_be_bytes());
    let put = |name: &DatabaseName, number: u32| {
        let (digest, bytes) = (digest(number), number.to_be_bytes().to_vec());
        assert!(wait(store.put_attachment(name, &digest, bytes)).expect("it is stored"));
    };
    let is_there = |name: &DatabaseName, number: u32| {
        wait(store.attachment(name, &digest(number))).expect("it can be read").is_some()
    };
    thread::scope(|scope| {
        for (name, many) in names.iter().zip([400_u32, 3, 300]) {
            for part in 0..4 {
                let put = &put;
                scope.spawn(move || {
                    (0..many).filter(|it| it % 4 == part).for_each(|it| put(name, it))
                });
            }
        }
    });
    let dropped = wait(store.database(&names[1])).expect("it can be read").expect("a database");
    wait(store.drop_database(&names[1], dropped.epoch)).expect("it is dropped");
    assert!(wait(store.sweep_attachments(Some(&names[1]), Moment::MAX)).is_err());
    let old = environment.now();
    environment.set(Moment::from_micros(old.micros() + 1));
    let young = wait(store.create_database(&names[1], Default::default()))
        .expect("it is made")
        .expect("a database");
    put(&names[0], 7);
    put(&names[1], 8);
    let sweep = |of: Option<&DatabaseName>, before: Moment| {
        wait(store.sweep_attachments(of, before)).expect("they can be swept")
    };
    assert_eq!(sweep(Some(&names[1]), young.created), 0);
    assert_eq!(sweep(None, young.created), 699);
    assert!(is_there(&names[0], 7) && is_there(&names[1], 8) && !is_there(&names[0], 8));
    assert_eq!(sweep(Some(&names[1]), Moment::MAX), 1);
    assert_eq!(sweep(None, Moment::MAX), 1);
    assert!(!is_there(&names[0], 7) && !is_there(&names[1], 8));
}

/// Checks the result of two sequences of operations, the first of which creates databases.
pub fn for_any_two_uses(cases: u32, check: impl Fn(&[Use], &[Use])) {
    let two = (uses(1..40), uses(1..10));
    for_any_uses(cases, two, |(first, second)| {
        let first = [vec![Use::create(0), Use::create(1)], first].concat();
        check(&first, &second);
        Ok(())
    });
}

fn for_any_uses<S: Strategy>(
    cases: u32,
    uses: S,
    check: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let cases = std::env::var("FEEDSYNC_RUNS").ok().and_then(|it| it.parse().ok()).unwrap_or(cases);
    let config = Config { failure_persistence: None, ..Config::with_cases(cases) };
    let run = TestRunner::new(config).run(&uses, check);
    run.unwrap_or_else(|error| panic!("{error}"));
}

/// Counts in a database's metadata equal those of its contents.
fn counts_follow_the_documents(
    databases: &(impl Databases + ?Sized),
    database: &Database,
) -> Result<(), TestCaseError> {
    let everything: SelectBodies = Box::new(|document: &StoredDocument| {
        document.tree.bodies().map(|(revision, _)| revision.clone()).collect()
    });
    let page = databases.document_changes(
        &database.name,
        ChangeNumber::ZERO,
        99,
        None,
        everything,
        u64::MAX,
    );
    let documents = wait(page).expect("it can be read").documents;
    let is_deleted = |tree: &feedsync_couch::Tree<BodyRef>| {
        tree.winner().is_some_and(|it| it.content.is_deleted)
    };
    let deleted = documents.iter().filter(|it| is_deleted(&it.document.tree)).count() as u64;
    prop_assert_eq!(
        (database.documents, database.deleted),
        (documents.len() as u64 - deleted, deleted)
    );
    let whole = |body: &StoredBody| body.place(0).whole();
    let bytes: u64 = documents.iter().flat_map(|it| it.bodies.values()).map(whole).sum();
    // The rest belongs to bodies that only the history keeps.
    prop_assert_eq!(database.bytes, bytes + database.past.bytes);
    let leaves: u64 = documents
        .iter()
        .flat_map(|it| it.document.tree.leaves().into_iter().map(|leaf| leaf.content.body.whole()))
        .sum();
    prop_assert_eq!(database.superseded, database.bytes - leaves);
    let ended = wait(databases.ended_revisions(&database.name, None, None, 999));
    let held = ended.iter().flatten().filter(|row| row.is_held);
    let held: u64 = held.map(|row| row.content.body.whole()).sum();
    prop_assert!(held <= database.past.bytes);
    Ok(())
}
