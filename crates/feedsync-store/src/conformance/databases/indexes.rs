//! Indexes: any writes leave them equal to a scan of the documents.

use std::ops::Bound;
use std::sync::Arc;

use feedsync_couch::index::IndexDefinition;
use feedsync_couch::plan::KeyRange;
use feedsync_couch::selector::Subject;
use feedsync_couch::{DatabaseName, DocumentId};
use feedsync_formats::json::Node;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::{for_any_uses, uses};
use crate::conformance::{Constructor, TestEnvironment, wait};
use crate::{
    Databases, DocumentRange, IndexPage, IndexRange, Indexes, SelectBodies, StoredDocument,
};

/// Body of the design document in the tests: some of these indexes.
pub(super) fn design(chosen: u64) -> String {
    let fields = [
        "\"type\":\"asc\"",
        "\"u\":\"desc\",\"type\":\"desc\"",
        "\"_id\":\"asc\"",
        "\"type\":\"asc\"",
    ];
    let filters = ["{}", "{}", "{\"type\":{\"$gt\":\"1\"}}", "{\"_rev\":{\"$gt\":\"2\"}}"];
    let view = |(at, (fields, filter)): (usize, (&str, &str))| {
        let is_chosen = chosen >> at & 1 == 1;
        is_chosen.then(|| {
            format!(
                "\"i{at}\":{{\"map\":{{\"fields\":{{{fields}}},\"partial_filter_selector\":{filter}}},\
                 \"reduce\":\"_count\",\"options\":{{\"def\":{{}}}}}}"
            )
        })
    };
    let views: Vec<_> = fields.into_iter().zip(filters).enumerate().filter_map(view).collect();
    format!("{{\"language\":\"query\",\"views\":{{{}}}}}", views.join(","))
}

/// All that can be read of the indexes of a database, as text. Ids of indexes are left out.
pub(super) fn everything(
    databases: &(impl Databases + ?Sized),
    name: &DatabaseName,
) -> Vec<String> {
    let Ok(indexes) = wait(databases.indexes(name)) else { return Vec::new() };
    let mut all = vec![format!("{}", indexes.are_built)];
    for index in &indexes.indexes {
        all.push(format!("{} {}", index.definition.view(), index.is_built));
        for (most, most_bytes) in [(9, u64::MAX), (2, u64::MAX), (9, 0)] {
            for is_descending in [false, true] {
                for start in [vec![], vec![7]] {
                    let keys = KeyRange { start, end: vec![0xff] };
                    let mut range =
                        IndexRange { index: index.id, keys, after: None, is_descending, most };
                    // The page, and the one after its first document.
                    for _ in 0..2 {
                        let page = documents(databases, name, range.clone(), most_bytes);
                        all.push(format!("{page:?}"));
                        let documents = page.map(|page| page.documents).unwrap_or_default();
                        let first = documents.into_iter().next();
                        range.after = first.map(|(key, read)| (key, read.document.id));
                    }
                }
            }
        }
    }
    all
}

fn documents(
    databases: &(impl Databases + ?Sized),
    name: &DatabaseName,
    range: IndexRange,
    most_bytes: u64,
) -> Option<IndexPage> {
    wait(databases.documents_by_key(name, range, winners(), most_bytes)).expect("it can be read")
}

fn winners() -> SelectBodies {
    Box::new(|document: &StoredDocument| {
        document.tree.winner().map(|leaf| leaf.revision.clone()).into_iter().collect()
    })
}

/// An index that contains all documents has the rows that a scan of the documents gives.
pub fn any_use_of_databases_leaves_indexes_that_equal_a_scan(
    open: Constructor<impl Databases + ?Sized>,
) {
    for_any_uses(16, uses(1..25), |uses| {
        let fixture = open(Arc::new(TestEnvironment::new(7)));
        let store = &*fixture.store;
        for it in &uses {
            it.carry_out(store);
        }
        for name in [0, 1].map(super::named) {
            if wait(store.database(&name)).expect("it can be read").is_none() {
                continue;
            }
            indexes_equal_a_scan(store, &name)?;
            while wait(store.build_indexes(&name, 1)).expect("they can be built") {}
            let Indexes { indexes, are_built } =
                wait(store.indexes(&name)).expect("they can be read");
            prop_assert!(are_built && indexes.iter().all(|index| index.is_built));
            indexes_equal_a_scan(store, &name)?;
        }
        Ok(())
    });
}

fn indexes_equal_a_scan(
    store: &(impl Databases + ?Sized),
    name: &DatabaseName,
) -> Result<(), TestCaseError> {
    for index in wait(store.indexes(name)).expect("they can be read").indexes {
        let keys = KeyRange { start: Vec::new(), end: vec![0xff] };
        let range =
            IndexRange { index: index.id, keys, after: None, is_descending: false, most: 99 };
        let page = documents(store, name, range, u64::MAX);
        prop_assert_eq!(page.is_some(), index.is_built);
        let Some(page) = page else { continue };
        let rows: Vec<_> =
            page.documents.into_iter().map(|(key, read)| (key, read.document.id)).collect();
        prop_assert_eq!(rows, scan(store, name, &index.definition), "{}", index.definition.view());
    }
    Ok(())
}

/// The rows of an index, from the documents themselves.
fn scan(
    store: &(impl Databases + ?Sized),
    name: &DatabaseName,
    definition: &IndexDefinition,
) -> Vec<(Vec<u8>, DocumentId)> {
    let range = DocumentRange {
        from: Bound::Unbounded,
        to: Bound::Unbounded,
        is_descending: false,
        live_only: false,
        skip: 0,
        most: 99,
    };
    let page = wait(store.documents_by_id(name, range, winners(), u64::MAX));
    let documents = page.expect("they can be read").documents;
    let row = |(revision, text, id, is_deleted): (&str, &str, &DocumentId, bool)| {
        let body = Node::root(text);
        let key = definition.key(&Subject { id: id.as_str(), revision, is_deleted, body })?;
        Some((key, id.clone()))
    };
    let mut rows: Vec<_> = documents
        .iter()
        .flatten()
        .filter_map(|read| {
            let winner = read.document.tree.winner()?;
            let body = read.bodies.get(winner.revision)?;
            let revision = winner.revision.to_string();
            row((&revision, &body.text, &read.document.id, winner.content.is_deleted))
        })
        .collect();
    rows.sort();
    rows
}
