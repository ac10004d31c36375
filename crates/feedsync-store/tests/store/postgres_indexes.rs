//! Indexes of databases that several nodes share, with ids and keys of any length, and of older stores.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use feedsync_couch::plan::KeyRange;
use feedsync_couch::selector::Subject;
use feedsync_couch::{Content, DocumentId, Path};
use feedsync_formats::json::Node;
use feedsync_store::Queries as _;
use feedsync_store::conformance::{TestEnvironment, wait};
use feedsync_store::{
    Databases, DatabasesExt as _, DocumentRange, DocumentWrite, DocumentsSnapshot, EndpointName,
    Environment as _, IndexRange, Indexes, MemoryStore, StoredIndex, SystemEnvironment,
};
use feedsync_test::postgres::Cluster;

use super::postgres_databases::{all, epoch, kept, nodes, notes, open, wanted};

/// Writes the next revision of each document, in one update; without a text it is a deletion.
fn write(databases: &dyn Databases, ids: &[DocumentId], text: Option<&str>) {
    let (written, text) = (ids.to_vec(), text.map(str::to_owned));
    let decide = move |snapshot: &DocumentsSnapshot| {
        let next = |(id, number): (&DocumentId, u64)| {
            let mut tree = snapshot.document(id).unwrap().tree.clone();
            let signature = format!("{number:032x}").parse().unwrap();
            let path = match tree.winner() {
                Some(parent) => Path::child(parent.revision, signature).unwrap(),
                None => Path::new(1, vec![signature]).unwrap(),
            };
            let body = kept(text.as_deref().unwrap_or("{}"), &[]);
            let content = Content { is_deleted: text.is_none(), body: body.place(number) };
            tree.graft(&path, content);
            let bodies = vec![(number, body)];
            DocumentWrite {
                id: id.clone(),
                tree,
                is_change: true,
                kind: None,
                bodies,
                is_purge: false,
                author: None,
            }
        };
        (written.iter().zip(snapshot.next_body()..).map(next).collect(), ())
    };
    wait(databases.decide_documents(notes(), wanted(ids), decide)).unwrap();
}

/// Writes a design document with indexes of these fields.
fn define(databases: &dyn Databases, name: &str, indexes: &[&str]) {
    let view = |field: &&str| {
        format!(
            "\"by {field}\":{{\"map\":{{\"fields\":{{\"{field}\":\"asc\"}}}},\"options\":{{}}}}"
        )
    };
    let views: Vec<_> = indexes.iter().map(view).collect();
    let text = format!("{{\"language\":\"query\",\"views\":{{{}}}}}", views.join(","));
    write(databases, &[format!("_design/{name}").parse().unwrap()], Some(&text));
}

fn build(databases: &dyn Databases, most: usize) {
    while wait(databases.build_indexes(notes(), most)).unwrap() {}
}

fn built(databases: &dyn Databases) -> Vec<StoredIndex> {
    let Indexes { indexes, are_built } = wait(databases.indexes(notes())).unwrap();
    assert!(are_built && indexes.iter().all(|index| index.is_built));
    indexes
}

/// The rows of an index, read in pages.
fn rows(
    databases: &dyn Databases,
    index: &StoredIndex,
    is_descending: bool,
    most: usize,
) -> Vec<(Vec<u8>, DocumentId)> {
    let mut rows: Vec<(Vec<u8>, DocumentId)> = Vec::new();
    loop {
        let keys = KeyRange { start: vec![], end: vec![0xff] };
        let after = rows.last().cloned();
        let range = IndexRange { index: index.id, keys, after, is_descending, most };
        let page = wait(databases.documents_by_key(notes(), range, all(), u64::MAX)).unwrap();
        let documents = page.expect("it is built").documents;
        let is_end = documents.len() < most;
        rows.extend(documents.into_iter().map(|(key, read)| (key, read.document.id)));
        assert!(rows.windows(2).all(|pair| (pair[0] < pair[1]) != is_descending), "none twice");
        if is_end {
            return rows;
        }
    }
}

/// The rows that the documents themselves give.
fn scan(databases: &dyn Databases, index: &StoredIndex) -> Vec<(Vec<u8>, DocumentId)> {
    let (from, to) = (Bound::Unbounded, Bound::Unbounded);
    let range =
        DocumentRange { from, to, is_descending: false, live_only: true, skip: 0, most: 99_999 };
    let page = wait(databases.documents_by_id(notes(), range, all(), u64::MAX)).unwrap();
    let row = |read: &feedsync_store::LoadedDocument| {
        let winner = read.document.tree.winner()?;
        let body = Node::root(&read.bodies.get(winner.revision)?.text);
        let (id, revision) = (read.document.id.as_str(), &winner.revision.to_string());
        let subject = Subject { id, revision, is_deleted: winner.content.is_deleted, body };
        Some((index.definition.key(&subject)?, read.document.id.clone()))
    };
    let mut rows: Vec<_> = page.documents.iter().flatten().filter_map(row).collect();
    rows.sort();
    rows
}

fn assert_equal_scans(databases: &dyn Databases) {
    for index in built(databases) {
        let expected = scan(databases, &index);
        assert_eq!(rows(databases, &index, false, 70), expected);
        let reversed: Vec<_> = expected.into_iter().rev().collect();
        assert_eq!(rows(databases, &index, true, 230), reversed);
    }
}

/// Writers on three nodes change and delete documents, and design documents, while two nodes build the indexes.
#[test]
fn indexes_equal_a_scan_after_nodes_wrote_and_built_at_once() {
    let (_, nodes) = nodes(3);
    let id = |number: u64| -> DocumentId { format!("{number:04}").parse().unwrap() };
    let ids: Vec<DocumentId> = (0..3_000).map(id).collect();
    write(&*nodes[0], &ids, Some("{\"a\":0,\"b\":0}"));
    define(&*nodes[0], "one", &["a", "b"]);
    let writing = Arc::new(AtomicUsize::new(9));
    let writers: Vec<_> = (0..9)
        .map(|writer| {
            let (store, writing) = (nodes[writer % 3].clone(), writing.clone());
            thread::spawn(move || {
                for count in 0..60 {
                    let some = || id(SystemEnvironment.random() % 3_100);
                    let (a, b) = (SystemEnvironment.random() % 50, SystemEnvironment.random() % 9);
                    let text = match count % 3 {
                        0 => None,
                        1 => Some(format!("{{\"a\":{a},\"b\":{b}}}")),
                        _ => Some(format!("{{\"a\":\"{a}\"}}")),
                    };
                    let ids: BTreeMap<DocumentId, ()> = (0..4).map(|_| (some(), ())).collect();
                    let ids: Vec<DocumentId> = ids.into_keys().collect();
                    write(&*store, &ids, text.as_deref());
                    if writer == 0 && count % 20 == 10 {
                        define(&*store, "two", &[["a", "b", "_id"][count / 20]]);
                    }
                }
                writing.fetch_sub(1, Ordering::SeqCst);
            })
        })
        .collect();
    let builders: Vec<_> = (1..3)
        .map(|number| {
            let (store, writing) = (nodes[number].clone(), writing.clone());
            thread::spawn(move || {
                while writing.load(Ordering::SeqCst) > 0 {
                    wait(store.build_indexes(notes(), 37)).unwrap();
                }
            })
        })
        .collect();
    writers.into_iter().chain(builders).for_each(|thread| thread.join().unwrap());
    build(&*nodes[0], 500);
    assert_eq!(built(&*nodes[1]).len(), 3);
    assert_equal_scans(&*nodes[1]);
    assert_eq!(wait(nodes[2].check()).unwrap(), Vec::<String>::new());
}

/// Ids that share the indexed prefix, and keys of the maximum length. Pages begin after any row.
#[test]
fn documents_with_long_ids_and_keys_are_read_in_the_order_of_keys_and_ids() {
    let (_, nodes) = nodes(1);
    let name = EndpointName::new("tester").unwrap();
    let model = MemoryStore::new(&name, Arc::new(TestEnvironment::new(1)));
    wait(model.create_database(notes(), Default::default())).unwrap();
    let random = |length: usize| -> String {
        let digit = |_| char::from(u8::try_from(SystemEnvironment.random() % 94 + 33).unwrap());
        (0..length).map(digit).collect()
    };
    let head = format!("a{}", random(1_023));
    let mut ids: Vec<String> = (0..20).map(|_| format!("{head}{}", random(6_000))).collect();
    ids.extend(["", "\0", "\0\0", "a", "\u{e4}"].map(|rest| format!("{head}{rest}")));
    ids.extend([head[..1_023].to_owned(), format!("b{}", random(7_167)), "a\0".to_owned()]);
    let ids: Vec<DocumentId> = ids.iter().map(|id| id.parse().unwrap()).collect();
    let long = random(3_000).replace(['"', '\\'], "x");
    let stores: [&dyn Databases; 2] = [&*nodes[0], &model];
    let compare = || {
        stores.iter().for_each(|store| build(*store, 5));
        let [index, of_model] = stores.map(|store| built(store).remove(0));
        for is_descending in [false, true] {
            let expected = rows(stores[1], &of_model, is_descending, 99);
            for most in [1, 7, 99] {
                assert_eq!(rows(stores[0], &index, is_descending, most), expected);
            }
        }
    };
    for store in stores {
        write(store, &ids, Some("{\"a\":1}"));
        define(store, "one", &["a"]);
    }
    compare();
    for store in stores {
        write(store, &ids[10..23], Some(&format!("{{\"a\":\"{long}\"}}")));
        write(store, &ids[20..26], Some(&format!("{{\"a\":\"{long}x\"}}")));
        write(store, &ids[3..6], None);
    }
    compare();
    assert_eq!(wait(nodes[0].check()).unwrap(), Vec::<String>::new());
}

/// A store whose schema is older than indexes has design documents already. Their indexes are built at first use.
#[test]
fn indexes_of_an_older_store_are_built_at_first_use() {
    let (name, nodes) = nodes(1);
    let ids = ["a", "b"].map(|id| id.parse().unwrap());
    write(&*nodes[0], &ids, Some("{\"a\":1}"));
    define(&*nodes[0], "one", &["a"]);
    define(&*nodes[0], "two", &["b"]);
    write(&*nodes[0], &["_design/two".parse().unwrap()], None);
    let older = "SET search_path = feedsync; DROP TABLE document_indexes, index_rows;
                 DROP TABLE view_sets, stored_views, view_rows, view_nodes;
                 ALTER TABLE databases DROP COLUMN indexes, DROP COLUMN index_version,
                   DROP COLUMN history_seconds, DROP COLUMN history_since, DROP COLUMN history_last,
                   DROP COLUMN history_bytes, DROP COLUMN dropped_name, DROP COLUMN dropped_at,
                   DROP COLUMN dropped_by, DROP COLUMN named_at;
                 DROP TABLE ended_revisions, body_origins;
                 ALTER TABLE users DROP COLUMN databases_only;
                 UPDATE schema SET version = 8, oldest_compatible = 7";
    let url = Cluster::shared().url(&name);
    drop(nodes);
    Cluster::shared().sql(&name, older);
    let store = open(&url);
    let Indexes { indexes, are_built } = wait(store.indexes(notes())).unwrap();
    assert!(indexes.is_empty() && !are_built);
    write(&store, &ids[..1], Some("{\"a\":2}"));
    build(&store, 1);
    assert_eq!(built(&store).len(), 1);
    assert_equal_scans(&store);
}

/// Rows that a program of another version wrote are not used. That program learns of the writes of this one.
#[test]
fn indexes_of_another_version_begin_again() {
    let (name, nodes) = nodes(1);
    let store = &*nodes[0];
    let ids: Vec<DocumentId> = ["a", "b"].map(|id| id.parse().unwrap()).into();
    define(store, "one", &["a"]);
    write(store, &ids, Some("{\"a\":1}"));
    build(store, 9);
    let index = built(store).remove(0);
    Cluster::shared().sql(&name, "UPDATE feedsync.databases SET index_version = 7");
    let Indexes { indexes, are_built } = wait(store.indexes(notes())).unwrap();
    assert!(indexes.is_empty() && !are_built);
    let keys = KeyRange { start: vec![], end: vec![0xff] };
    let range = IndexRange { index: index.id, keys, after: None, is_descending: false, most: 9 };
    let page = || wait(store.documents_by_key(notes(), range.clone(), all(), 9)).unwrap();
    assert!(page().is_none());
    write(store, &ids[..1], Some("{\"a\":2}"));
    let version = "SELECT index_version FROM feedsync.databases";
    assert_eq!(Cluster::shared().sql(&name, version), "0");
    build(store, 9);
    assert_ne!(built(store).remove(0).id, index.id);
    assert!(page().is_none(), "the old index was dropped");
    assert_equal_scans(store);
    assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
}

/// Dropping an index, or its database, leaves its rows to the sweep.
#[test]
fn rows_of_dropped_indexes_are_swept_piece_by_piece() {
    let (name, nodes) = nodes(1);
    let store = &*nodes[0];
    let ids: Vec<DocumentId> =
        (0..5_000).map(|number| number.to_string().parse().unwrap()).collect();
    write(store, &ids, Some("{\"a\":1}"));
    define(store, "one", &["a"]);
    define(store, "two", &["a"]);
    build(store, 5_000);
    let count = || {
        let sql = "SELECT (SELECT count(*) FROM feedsync.document_indexes),
                          (SELECT count(*) FROM feedsync.index_rows)";
        Cluster::shared().sql(&name, sql)
    };
    let sweep = || {
        let mut pieces = 0;
        while wait(store.sweep_databases()).unwrap() {
            pieces += 1;
        }
        pieces
    };
    write(store, &["_design/one".parse().unwrap()], None);
    assert_eq!((count(), built(store).len()), ("2|10000".to_owned(), 1));
    assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
    assert_eq!((sweep(), count()), (4, "1|5000".to_owned()));
    assert_equal_scans(store);
    wait(store.drop_database(notes(), epoch(store))).unwrap();
    assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
    assert!(sweep() > 4);
    assert_eq!(count(), "0|0");
}

#[test]
fn indexes_that_differ_from_the_documents_are_found() {
    let damages = [
        ("indexes without a database", "UPDATE document_indexes SET database = 99"),
        ("index rows without an index", "UPDATE index_rows SET index_id = 99"),
        ("databases with a wrong count of indexes", "UPDATE databases SET indexes = 2"),
        ("indexes whose rows differ from their documents", "UPDATE index_rows SET key = 'x'"),
        ("indexes whose rows differ from their documents", "DELETE FROM index_rows"),
        (
            "indexes whose rows differ from their documents",
            "INSERT INTO index_rows SELECT index_id, key, 'c', digest FROM index_rows LIMIT 1",
        ),
        (
            "indexes whose rows differ from their documents",
            "UPDATE document_indexes SET reached = 'a'",
        ),
    ];
    for (fault, sql) in damages {
        let (name, nodes) = nodes(1);
        let ids = ["a", "b"].map(|id| id.parse().unwrap());
        write(&*nodes[0], &ids, Some("{\"a\":1}"));
        define(&*nodes[0], "one", &["a"]);
        build(&*nodes[0], 9);
        assert_eq!(wait(nodes[0].check()).unwrap(), Vec::<String>::new());
        Cluster::shared().sql(&name, &format!("SET search_path = feedsync; {sql}"));
        let found = wait(nodes[0].check()).unwrap();
        assert!(found.contains(&format!("{fault}: 1")) || sql.contains("99"), "{sql}: {found:?}");
        assert!(found.iter().any(|line| line.starts_with(fault)), "{fault}: {found:?}");
    }
}
