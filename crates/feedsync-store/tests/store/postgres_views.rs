//! Rows of views that several nodes share: consistency after any updates, concurrent writers, and removal.

use std::sync::Arc;
use std::thread;

use feedsync_couch::view::PositionRange;
use feedsync_couch::{DocumentId, Tree};
use feedsync_store::Queries as _;
use feedsync_store::conformance::views::for_any_updates_of_views;
use feedsync_store::conformance::{Fixture, wait};
use feedsync_store::{
    ChangeNumber, Databases as _, DatabasesExt as _, DocumentRows, DocumentWrite,
    DocumentsSnapshot, EndpointName, Environment, PostgresStore, RowLimit, StoredViews,
    SystemEnvironment, ViewRow, ViewState, ViewsUpdate,
};
use feedsync_test::postgres::Cluster;

use crate::postgres_databases::{open, wanted};
use crate::stored_views::{INCONSISTENT, fill, notes, views};
use crate::transfer_databases::{body, join};

fn postgres(environment: Arc<dyn Environment>) -> Fixture<PostgresStore> {
    let url = Cluster::shared().database();
    let name = EndpointName::new("tester").unwrap();
    let store = wait(PostgresStore::init(&url, &name, environment)).unwrap();
    Fixture { store: Arc::new(store), kept: Box::new(()) }
}

fn filled() -> (PostgresStore, String) {
    let url = Cluster::shared().database();
    let name = EndpointName::new("tester").unwrap();
    let store = wait(PostgresStore::init(&url, &name, Arc::new(SystemEnvironment))).unwrap();
    fill(&store);
    (store, url)
}

/// Executes statements in the schema of a store; returns their output.
fn sql(url: &str, sql: &str) -> String {
    let name = url.rsplit('=').next().unwrap();
    Cluster::shared().sql(name, &format!("SET search_path = feedsync; {sql}"))
}

#[test]
fn any_updates_of_views_leave_a_consistent_store() {
    for_any_updates_of_views(15, postgres, |store: &PostgresStore| {
        assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
    });
}

#[test]
fn inconsistent_rows_of_views_are_found() {
    for (change, faults) in INCONSISTENT {
        let (store, url) = filled();
        assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
        sql(&url, change);
        let mut found = wait(store.check()).unwrap();
        let mut faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
        found.sort();
        faults.sort();
        assert_eq!(found, faults, "{change}");
    }
}

#[test]
fn rows_of_dropped_views_are_removed() {
    let (store, url) = filled();
    let counts = || {
        ["view_sets", "stored_views", "view_rows", "view_nodes"]
            .map(|table| sql(&url, &format!("SELECT count(*) FROM {table}")))
    };
    let sweep = || while wait(store.sweep_databases()).unwrap() {};
    sweep();
    assert_eq!(counts(), ["1", "1", "5", "1"]);
    wait(store.drop_views(&notes(), &[])).unwrap();
    assert_eq!(views(&store).rows, [0]);
    assert_eq!(counts(), ["2", "2", "5", "1"]);
    assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
    sweep();
    assert_eq!(counts(), ["1", "1", "0", "0"]);
    let database = wait(store.database(&notes())).unwrap().unwrap();
    wait(store.drop_database(&notes(), database.epoch)).unwrap();
    assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
    sweep();
    assert_eq!(counts(), ["0"; 4]);
}

/// Two nodes update views while a third one removes and writes documents. Each update is applied once, and no row of a
/// removed document stays.
#[test]
fn updates_of_several_nodes_and_removals_leave_consistent_views() {
    const ROUNDS: u64 = 40;
    let (store, url) = filled();
    let first = views(&store).reached.get();
    let applied: u64 = thread::scope(|scope| {
        let updates = [1_u8, 2].map(|writer| {
            let node = open(&url);
            scope.spawn(move || (0..ROUNDS).map(|_| u64::from(update(&node, writer))).sum::<u64>())
        });
        for _ in 0..ROUNDS {
            let ids: [DocumentId; 2] = ["3", "4"].map(|id| id.parse().unwrap());
            let all = ids.clone();
            let decide = move |_: &DocumentsSnapshot| {
                let removal = |id: &DocumentId| DocumentWrite {
                    id: id.clone(),
                    tree: Tree::default(),
                    is_change: false,
                    kind: None,
                    bodies: Vec::new(),
                    is_purge: true,
                    author: None,
                };
                (all.iter().map(removal).collect(), ())
            };
            wait(store.decide_documents(&notes(), wanted(&ids), decide)).unwrap();
            join(&store, vec![(ids[0].clone(), vec!["a"], false, body("{}", &[]))]);
        }
        updates.map(|thread| thread.join().unwrap()).into_iter().sum()
    });
    assert_eq!(views(&store).reached.get(), first + applied);
    assert!(applied > 0);
    assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
}

/// Updates views after the change that they follow now; returns whether no other node was faster.
fn update(node: &PostgresStore, writer: u8) -> bool {
    let StoredViews { id, reached: after, .. } = views(node);
    let row = |document: u8| ViewRow {
        position: vec![document, writer],
        level: document % 3,
        document: document.to_string().parse().unwrap(),
        key: "1".to_owned(),
        value: "2".to_owned(),
    };
    let rows = |document: u8| DocumentRows {
        document: document.to_string().parse().unwrap(),
        views: vec![vec![row(document)]],
    };
    let reached = ChangeNumber::new(after.get() + 1);
    let update = ViewsUpdate { views: id, after, reached, documents: (2..6).map(rows).collect() };
    let is_applied = wait(node.update_views(&notes(), update)).unwrap();
    let state = ViewState { views: id, view: 0, reached: None };
    let range = PositionRange { from: Vec::new(), to: vec![0xff] };
    let limit = RowLimit { is_descending: false, skip: 0, most: 9, most_bytes: 999 };
    let page = wait(node.view_rows(&notes(), state, range, limit)).unwrap().unwrap();
    assert!(page.rows.len() <= 5);
    is_applied
}
