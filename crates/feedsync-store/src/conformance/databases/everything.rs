//! Reads of everything that a database contains.

use std::ops::Bound;

use feedsync_couch::{DatabaseName, DocumentId, LocalId, Revision};

use super::uses::{attached, id};
use crate::conformance::wait;
use crate::{
    ChangeNumber, Databases, DocumentRange, EndedRevision, Kind, Moment, PageLimit, PastRange,
    SelectBodies, SkipKind, StoredDocument,
};

/// The start of the clock of [`TestEnvironment`](crate::conformance::TestEnvironment), in microseconds. Each write is one
/// microsecond later.
pub(super) const BEGAN: u64 = 1_763_668_000_000_000;

/// The history of a database, as text.
fn past(databases: &(impl Databases + ?Sized), name: &DatabaseName) -> Vec<String> {
    let mut all = Vec::new();
    for micros in [0, 1, 2, 4, 7, 11, 90] {
        let moment = Moment::from_micros(BEGAN + micros);
        let ids = (0..5).rev().map(id).chain(["none".parse().expect("an id")]).collect();
        for (range, most_bytes) in [
            (PastRange::After { after: None, most: 9 }, u64::MAX),
            (PastRange::After { after: Some(id(0)), most: 2 }, u64::MAX),
            (PastRange::After { after: None, most: 3 }, 0),
            (PastRange::Ids(ids), 300),
        ] {
            let page = wait(databases.documents_at(name, moment, range, most_bytes));
            all.push(format!("{:?}", page.ok()));
        }
    }
    let first = wait(databases.ended_revisions(name, None, None, 2));
    let before = first.iter().flatten().last().map(EndedRevision::position);
    all.push(format!("{:?}", first.ok()));
    all.push(format!("{:?}", wait(databases.ended_revisions(name, None, before, 99)).ok()));
    for id in (0..5).map(id) {
        let ended = wait(databases.ended_revisions(name, Some(&id), before, 99));
        all.push(format!("{:?}", ended.ok()));
        all.push(format!("{:?}", wait(databases.leaf_origins(name, &id)).ok()));
    }
    all
}

/// All readable state of a database, as text.
pub fn everything(databases: &(impl Databases + ?Sized), name: &DatabaseName) -> Vec<String> {
    let mut all = Vec::new();
    let choices: [fn() -> SelectBodies; 3] = [
        || Box::new(|_: &StoredDocument| Vec::new()),
        || {
            Box::new(|document: &StoredDocument| {
                let leaves = document.tree.leaves();
                leaves.iter().map(|leaf| leaf.revision.clone()).collect()
            })
        },
        || {
            Box::new(|document: &StoredDocument| {
                let kept: Vec<Revision> =
                    document.tree.bodies().map(|(revision, _)| revision.clone()).collect();
                kept
            })
        },
    ];
    #[cfg(feature = "queries")]
    all.extend(super::indexes::everything(databases, name));
    let mut say = |said: String| all.push(said);
    for choose in choices {
        for most_bytes in [0, 60, u64::MAX] {
            let mut ids: Vec<_> = (0..5).rev().map(id).collect();
            ids.push("none".parse().expect("an id"));
            say(format!("{:?}", wait(databases.documents(name, &ids, choose(), most_bytes)).ok()));
            for (most, is_descending) in [(0, false), (2, true), (9, false), (9, true)] {
                let range = DocumentRange {
                    from: if most == 2 {
                        Bound::Excluded("B".to_owned())
                    } else {
                        Bound::Unbounded
                    },
                    to: if most == 2 { Bound::Included("a/".to_owned()) } else { Bound::Unbounded },
                    is_descending,
                    live_only: most == 9,
                    skip: u64::from(is_descending),
                    most,
                };
                let page = wait(databases.documents_by_id(name, range, choose(), most_bytes));
                say(format!("{:?}", page.ok()));
            }
            for (after, most) in [(0, 9), (2, 2), (0, 0), (99, 9)] {
                let after = ChangeNumber::new(after);
                for skips_kind in [false, true] {
                    let skip_kind: Option<SkipKind> = skips_kind.then(|| {
                        let skip_kind: SkipKind = Box::new(|id: &DocumentId, kind: &Kind| {
                            id.is_design() || *kind == Kind::Text("3".to_owned())
                        });
                        skip_kind
                    });
                    let page = databases.document_changes(
                        name,
                        after,
                        most,
                        skip_kind,
                        choose(),
                        most_bytes,
                    );
                    say(format!("{:?}", wait(page).ok()));
                }
                say(format!("{:?}", wait(databases.count_changes(name, after)).ok()));
                let before = (most == 2).then(|| ChangeNumber::new(5));
                let after = ChangeNumber::new(after.get() / 2);
                let page = databases.latest_document_changes(
                    name,
                    after,
                    before,
                    most,
                    choose(),
                    most_bytes,
                );
                say(format!("{:?}", wait(page).ok()));
            }
        }
    }
    let text = |bound: &str| bound.to_owned();
    for (from, to) in [
        (Bound::Unbounded, Bound::Unbounded),
        (Bound::Unbounded, Bound::Excluded(text("a"))),
        (Bound::Excluded(text("B")), Bound::Included(text("a/\u{e4}"))),
        (Bound::Included(text("_design/")), Bound::Excluded(text("_design0"))),
        (Bound::Included(text("b")), Bound::Unbounded),
    ] {
        say(format!("{:?}", wait(databases.count_documents(name, from, to)).ok()));
    }
    let middle: LocalId = "1/%".parse().expect("an id");
    for (after, most) in [(None, 2), (None, 9), (Some(&middle), 9)] {
        let page = databases.local_documents_by_id(name, after, PageLimit::items(most));
        say(format!("{:?}", wait(page).ok()));
    }
    for local in 0..3 {
        let local: LocalId = format!("{local}/%").parse().expect("an id");
        say(format!("{:?}", wait(databases.local_document(name, &local)).ok()));
    }
    for byte in 0..4 {
        let (_, digest) = attached(byte);
        say(format!("{:?}", wait(databases.attachment(name, &digest)).ok()));
        say(format!("{:?}", wait(databases.is_attachment_referenced(name, &digest)).ok()));
    }
    past(databases, name).into_iter().for_each(&mut say);
    say(format!("{:?}", wait(databases.database(name)).ok()));
    say(format!("{:?}", wait(databases.databases(Some(name), 1)).ok()));
    all
}
