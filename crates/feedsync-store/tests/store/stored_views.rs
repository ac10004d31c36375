//! A database with rows of views, for tests of what backends store.

use feedsync_couch::{DatabaseName, DocumentId};
use feedsync_store::conformance::wait;
use feedsync_store::{
    ChangeNumber, DocumentRows, NodeContent, StoredViews, Transfer, ViewRow, ViewState,
    ViewsSignature, ViewsUpdate,
};

use crate::transfer_databases::{body, join};

pub(crate) const SIGNATURE: ViewsSignature = ViewsSignature([7; 32]);

/// Changes of stored rows of [`fill`], and the inconsistencies that result.
pub(crate) const INCONSISTENT: [(&str, &[&str]); 8] = [
    ("UPDATE stored_views SET rows = 4", &["views with a wrong count of rows: 1"]),
    (
        "UPDATE view_nodes SET level = 2 WHERE level = 1",
        &[
            "nodes of views that no row begins: 1",
            "rows of views that begin nodes that are missing: 1",
        ],
    ),
    (
        "UPDATE view_rows SET level = 2 WHERE level = 1",
        &["rows of views that begin nodes that are missing: 1"],
    ),
    ("UPDATE view_nodes SET rows = 3", &["contents of a wrong number of rows in views: 1"]),
    (
        "UPDATE stored_views SET has_contents = (1 = 2)",
        &["contents of nodes in views that are marked to have none: 1"],
    ),
    ("UPDATE view_sets SET database = 77", &["views without a database: 1"]),
    ("DELETE FROM stored_views", &["rows of views without a view: 5"]),
    (
        "UPDATE stored_views SET view = view + 7",
        &["rows of views without a view: 5", "views with a wrong count of rows: 1"],
    ),
];

pub(crate) fn notes() -> DatabaseName {
    "notes".parse().unwrap()
}

fn id(number: u8) -> DocumentId {
    number.to_string().parse().unwrap()
}

pub(crate) fn views(store: &dyn Transfer) -> StoredViews {
    wait(store.views(&notes(), &SIGNATURE, 1)).unwrap().unwrap()
}

/// Creates the database `notes` with the documents `1` to `5` and a view of one row each. The second row begins a node,
/// whose content is stored.
pub(crate) fn fill(store: &dyn Transfer) {
    wait(store.create_database(&notes(), Default::default())).unwrap().unwrap();
    let document = |number| (id(number), vec!["a"], false, body("{}", &[]));
    join(store, (1..6).map(document).collect());
    let row = |number: u8| ViewRow {
        position: vec![number],
        level: u8::from(number == 2),
        document: id(number),
        key: "1".to_owned(),
        value: "2".to_owned(),
    };
    let rows = |number| DocumentRows { document: id(number), views: vec![vec![row(number)]] };
    let StoredViews { id: views, reached: after, .. } = views(store);
    let reached = ChangeNumber::new(5);
    let documents = (1..6).map(rows).collect();
    let update = ViewsUpdate { views, after, reached, documents };
    assert!(wait(store.update_views(&notes(), update)).unwrap());
    let state = ViewState { views, view: 0, reached: Some(reached) };
    let nodes = vec![(vec![2], NodeContent { rows: 4, reduction: None })];
    assert!(wait(store.put_view_nodes(&notes(), state, 1, nodes)).unwrap());
}
