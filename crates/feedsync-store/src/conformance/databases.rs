//! Databases: whatever is done to them, a store answers as the memory store does.

mod uses;

use std::sync::Arc;

use feedsync_couch::BodyPlace;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use self::uses::uses;
pub use self::uses::{Use, everything, named};
use super::{Constructor, TestEnvironment, wait};
use crate::{
    Choose, Database, Databases, EndpointName, KeptBody, MemoryStore, Number, Store, StoredDocument,
};

/// Whatever is done to databases, it is answered as by the memory store.
pub fn any_use_of_databases_gives_what_the_memory_store_gives(open: Constructor) {
    for_any_uses(40, uses(1..25), |uses| {
        let fixture = open(Arc::new(TestEnvironment::new(7)));
        let tester = EndpointName::new("tester").expect("a name");
        let model = MemoryStore::new(&tester, Arc::new(TestEnvironment::new(7)));
        let model = (Arc::new(model) as Arc<dyn Store>).databases();
        let store = Arc::clone(&fixture.store).databases();
        for it in &uses {
            let (is, should) = (it.carry_out(&*store), it.carry_out(&*model));
            prop_assert_eq!(is, should, "{:?}", it);
            for name in [named(0), named(1)] {
                let (is, should) = (everything(&*store, &name), everything(&*model, &name));
                for (is, should) in is.iter().zip(&should) {
                    prop_assert_eq!(is, should, "after {:?}", it);
                }
                let Ok(Some(database)) = wait(store.database(&name)) else { continue };
                counts_follow_the_documents(&*store, &database)?;
            }
        }
        Ok(())
    });
}

/// Checks what comes of any two uses of databases, the first of which makes some.
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
    let cases =
        std::env::var("FEEDSYNC_CASES").ok().and_then(|it| it.parse().ok()).unwrap_or(cases);
    let config = Config { failure_persistence: None, ..Config::with_cases(cases) };
    let run = TestRunner::new(config).run(&uses, check);
    run.unwrap_or_else(|error| panic!("{error}"));
}

/// What is known of a database without looking is what is there.
fn counts_follow_the_documents(
    databases: &dyn Databases,
    database: &Database,
) -> Result<(), TestCaseError> {
    let everything: Choose = Box::new(|document: &StoredDocument| {
        document.tree.bodies().map(|(revision, _)| revision.clone()).collect()
    });
    let page =
        databases.document_changes(&database.name, Number::ZERO, 99, None, everything, u64::MAX);
    let documents = wait(page).expect("it can be read").documents;
    let is_deleted = |tree: &feedsync_couch::Tree<BodyPlace>| {
        tree.winner().is_some_and(|it| it.content.is_deleted)
    };
    let deleted = documents.iter().filter(|it| is_deleted(&it.document.tree)).count() as u64;
    prop_assert_eq!(
        (database.documents, database.deleted),
        (documents.len() as u64 - deleted, deleted)
    );
    let bytes: u64 = documents.iter().flat_map(|it| it.bodies.values()).map(KeptBody::length).sum();
    prop_assert_eq!(database.bytes, bytes);
    let leaves: u64 = documents
        .iter()
        .flat_map(|it| it.document.tree.leaves().into_iter().map(|leaf| leaf.content.body.length))
        .sum();
    prop_assert_eq!(database.superseded, bytes - leaves);
    Ok(())
}
