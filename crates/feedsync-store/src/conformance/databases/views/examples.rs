//! Examples of views: bounds, conflicts, and removals.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use feedsync_couch::DatabaseName;

use super::model::{all, nodes};
use super::operations::{id, purge, signature, write};
use crate::conformance::databases::named;
use crate::conformance::{Constructor, Fixture, TestEnvironment, wait};
use crate::{
    ChangeNumber, Databases, DocumentRows, MAX_VIEWS, NodeContent, RowLimit, StoreError,
    StoredViews, ViewRow, ViewState, ViewsSignature, ViewsUpdate,
};

/// A store with a database of the documents 0 to 5.
struct Example<S: ?Sized> {
    fixture: Fixture<S>,
    name: DatabaseName,
}

impl<S: Databases + ?Sized> Example<S> {
    fn begin(open: Constructor<S>) -> Self {
        let (fixture, name) = (open(Arc::new(TestEnvironment::new(7))), named(0));
        let created =
            wait(fixture.store.create_database(&name, Default::default())).expect("it is made");
        let database = created.expect("a database");
        for document in 0..6 {
            write(&*fixture.store, &database, document);
        }
        Self { fixture, name }
    }

    fn views(&self) -> StoredViews {
        let views = wait(self.fixture.store.views(&self.name, &signature(0), 1));
        views.expect("they can be read").expect("there are few")
    }

    /// Applies rows of documents after the last ones.
    fn update(&self, documents: Vec<DocumentRows>) {
        let StoredViews { id: views, reached: after, .. } = self.views();
        let reached = ChangeNumber::new(after.get() + 1);
        let update = ViewsUpdate { views, after, reached, documents };
        assert!(wait(self.fixture.store.update_views(&self.name, update)).expect("it is decided"));
    }

    fn state(&self) -> ViewState {
        let StoredViews { id: views, reached, .. } = self.views();
        ViewState { views, view: 0, reached: Some(reached) }
    }

    fn page(&self, limit: RowLimit) -> Vec<ViewRow> {
        let page = wait(self.fixture.store.view_rows(&self.name, self.state(), all(), limit));
        page.expect("it can be read").expect("it is in this state").rows
    }

    fn rows(&self) -> Vec<ViewRow> {
        self.page(RowLimit { is_descending: false, skip: 0, most: 99, most_bytes: u64::MAX })
    }

    /// Stores the contents of all nodes of a level.
    fn reduce(&self, level: u8) {
        let rows = self.rows().into_iter().map(|row| (row.position.clone(), row)).collect();
        let nodes = nodes(&rows, level).into_iter().collect();
        let put = self.fixture.store.put_view_nodes(&self.name, self.state(), level, nodes);
        assert!(wait(put).expect("they can be stored"));
    }

    /// The nodes of a level: the first byte of the position, and the number of rows if it is stored.
    fn nodes(&self, level: u8) -> Vec<(u8, Option<u64>)> {
        let read = self.fixture.store.view_nodes(&self.name, self.state(), level, all(), 99);
        let nodes = wait(read).expect("they can be read").expect("it is in this state");
        let counts = nodes.into_iter().map(|node| (node.position[0], node.content));
        counts.map(|(position, content)| (position, content.map(|content| content.rows))).collect()
    }
}

fn row(document: u8, position: u8, level: u8, value: &str) -> ViewRow {
    let (position, key) = (vec![position, document], position.to_string());
    ViewRow { position, level, document: id(document), key, value: value.to_owned() }
}

fn rows_of(document: u8, rows: &[(u8, u8)]) -> DocumentRows {
    let rows = rows.iter().map(|(position, level)| row(document, *position, *level, "1"));
    DocumentRows { document: id(document), views: vec![rows.collect()] }
}

/// An update is applied only at the change that its views follow.
pub fn stale_updates_of_views_are_refused(open: Constructor<impl Databases + ?Sized>) {
    let example = Example::begin(open);
    let (store, name) = (&*example.fixture.store, &example.name);
    let before = example.views();
    assert_eq!((before.reached, &before.rows[..]), (ChangeNumber::ZERO, &[0][..]));
    let update = |documents| ViewsUpdate {
        views: before.id,
        after: ChangeNumber::ZERO,
        reached: ChangeNumber::new(3),
        documents,
    };
    let applied = |documents| wait(store.update_views(name, update(documents)));
    assert!(applied(vec![rows_of(3, &[(5, 0), (6, 0)])]).expect("it is decided"));
    assert!(!applied(vec![rows_of(3, &[(7, 0)])]).expect("it is decided"));
    let after = example.views();
    assert_eq!(after, StoredViews { reached: ChangeNumber::new(3), rows: vec![2], ..before });
    let limit = RowLimit { is_descending: false, skip: 0, most: 9, most_bytes: 99 };
    for (reached, is_met) in [(Some(ChangeNumber::ZERO), false), (None, true)] {
        let state = ViewState { reached, ..example.state() };
        let page = wait(store.view_rows(name, state, all(), limit)).expect("it can be read");
        assert_eq!(page.is_some(), is_met);
        let nodes = wait(store.view_nodes(name, state, 1, all(), 9)).expect("they can be read");
        assert_eq!(nodes.is_some(), is_met);
        let put = wait(store.put_view_nodes(name, state, 1, Vec::new()));
        assert_eq!(put.expect("it is decided"), is_met);
    }
    let other = named(1);
    assert!(
        matches!(wait(store.update_views(&other, update(Vec::new()))), Err(StoreError::NoDatabase(of)) if of == other)
    );
    wait(store.create_database(&other, Default::default()))
        .expect("it is made")
        .expect("a database");
    let elsewhere = ViewsUpdate { after: ChangeNumber::new(3), ..update(Vec::new()) };
    assert!(!wait(store.update_views(&other, elsewhere)).expect("it is decided"));
    let page = wait(store.view_rows(&other, example.state(), all(), limit));
    assert_eq!(page.expect("it can be read"), None);
}

/// An update whose rows do not fit its documents or the views fails, and changes nothing.
pub fn unsound_updates_of_views_fail(open: Constructor<impl Databases + ?Sized>) {
    let example = Example::begin(open);
    example.update(vec![rows_of(4, &[(5, 2)])]);
    let StoredViews { id: views, reached: after, .. } = example.views();
    let same_position = ViewRow { document: id(3), ..row(4, 5, 0, "2") };
    let same_position = DocumentRows { document: id(3), views: vec![vec![same_position]] };
    let unsound = [
        vec![rows_of(3, &[(5, 5)])],
        vec![DocumentRows { document: id(5), ..rows_of(3, &[(5, 0)]) }],
        vec![DocumentRows { document: id(3), views: vec![Vec::new(), Vec::new()] }],
        vec![rows_of(3, &[(7, 0)]), same_position],
    ];
    for documents in unsound {
        let reached = ChangeNumber::new(after.get() + 1);
        let update = ViewsUpdate { views, after, reached, documents };
        assert!(wait(example.fixture.store.update_views(&example.name, update)).is_err());
        assert_eq!(example.rows(), [row(4, 5, 2, "1")]);
    }
    let documents = vec![rows_of(3, &[(7, 0)])];
    let update = ViewsUpdate { views, after, reached: after, documents };
    assert!(wait(example.fixture.store.update_views(&example.name, update)).is_err());
    assert_eq!(example.views().rows, [1]);
}

/// Exactly one of several updates that begin at the same change is applied.
pub fn of_concurrent_updates_one_is_applied(open: Constructor<impl Databases + ?Sized>) {
    let example = Example::begin(open);
    let (store, name) = (&*example.fixture.store, &example.name);
    for round in 0..5 {
        let StoredViews { id: views, reached: after, .. } = example.views();
        assert_eq!(after, ChangeNumber::new(round));
        let applied = AtomicU32::new(0);
        thread::scope(|scope| {
            for writer in 0..6_u8 {
                let applied = &applied;
                scope.spawn(move || {
                    let reached = ChangeNumber::new(after.get() + 1);
                    let documents = vec![rows_of(3, &[(10 + writer, 1), (20 + writer, 0)])];
                    let update = ViewsUpdate { views, after, reached, documents };
                    let is_applied = wait(store.update_views(name, update)).expect("it is decided");
                    applied.fetch_add(u32::from(is_applied), Ordering::SeqCst);
                });
            }
        });
        assert_eq!(applied.into_inner(), 1);
        let rows = example.rows();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].position[0] + 10, rows[1].position[0]);
        assert_eq!(example.views().rows, [2]);
    }
}

/// A page of rows ends at the number of rows or bytes, and has at least one row.
pub fn pages_of_rows_end_at_any_limit(open: Constructor<impl Databases + ?Sized>) {
    let example = Example::begin(open);
    let rows = (1..6).map(|document| (document, "x".repeat(usize::from(document))));
    let rows: Vec<_> = rows.map(|(document, value)| row(document, document, 0, &value)).collect();
    let of_document = |row: &ViewRow| DocumentRows {
        document: row.document.clone(),
        views: vec![vec![row.clone()]],
    };
    example.update(rows.iter().map(of_document).collect());
    let found = |is_descending, skip, most, most_bytes| {
        let rows = example.page(RowLimit { is_descending, skip, most, most_bytes });
        rows.into_iter().map(|row| row.position[0]).collect::<Vec<_>>()
    };
    assert_eq!(found(false, 0, 9, u64::MAX), [1, 2, 3, 4, 5]);
    assert_eq!(found(true, 1, 2, u64::MAX), [4, 3]);
    assert_eq!(found(false, 2, usize::MAX, u64::MAX), [3, 4, 5]);
    assert_eq!(found(false, u64::MAX, 9, u64::MAX), [0; 0]);
    assert_eq!(found(false, 0, 0, u64::MAX), [0; 0]);
    // A key has one byte.
    for (most_bytes, ascending, descending) in
        [(0, &[1][..], &[5][..]), (4, &[1], &[5]), (5, &[1, 2], &[5]), (11, &[1, 2, 3], &[5, 4])]
    {
        assert_eq!(found(false, 0, 9, most_bytes), ascending, "{most_bytes}");
        assert_eq!(found(true, 0, 9, most_bytes), descending, "{most_bytes}");
    }
}

/// The number of views of a database is limited. Dropped ones no longer count.
pub fn a_database_stores_a_limited_number_of_views(open: Constructor<impl Databases + ?Sized>) {
    let example = Example::begin(open);
    let (store, name) = (&*example.fixture.store, &example.name);
    let signature = |number: usize| {
        let mut signature = [0; 32];
        signature[..8].copy_from_slice(&number.to_be_bytes());
        ViewsSignature(signature)
    };
    let views =
        |number| wait(store.views(name, &signature(number), number % 3)).expect("they can be read");
    let first: BTreeMap<_, _> =
        (0..MAX_VIEWS).map(|number| (views(number).expect("there are few").id, number)).collect();
    assert_eq!(first.len(), MAX_VIEWS);
    assert_eq!(views(MAX_VIEWS), None);
    assert_eq!(views(2).expect("it is there").rows, [0, 0]);
    let kept = [signature(2), signature(MAX_VIEWS + 7)];
    wait(store.drop_views(name, &kept)).expect("they are dropped");
    assert_eq!(first.get(&views(2).expect("it is there").id), Some(&2));
    for number in [MAX_VIEWS, 3] {
        assert!(!first.contains_key(&views(number).expect("there is room").id));
    }
    let other = named(1);
    wait(store.create_database(&other, Default::default()))
        .expect("it is made")
        .expect("a database");
    let elsewhere = wait(store.views(&other, &signature(2), 2)).expect("they can be read");
    assert!(!first.contains_key(&elsewhere.expect("there is room").id));
    let missing = wait(store.views(&named(2), &signature(2), 2));
    assert!(matches!(missing, Err(StoreError::NoDatabase(_))));
}

/// A change of a row affects the contents of its own nodes only.
pub fn contents_of_other_nodes_stay(open: Constructor<impl Databases + ?Sized>) {
    let example = Example::begin(open);
    let rows = [(10, 0), (20, 2), (30, 0), (40, 1), (50, 0), (60, 1), (70, 0)];
    example.update(vec![rows_of(3, &rows)]);
    let reduce = || {
        example.reduce(1);
        example.reduce(2);
    };
    reduce();
    assert_eq!(example.nodes(1), [(20, Some(2)), (40, Some(2)), (60, Some(2))]);
    assert_eq!(example.nodes(2), [(20, Some(6))]);
    // Equal rows, and a row before all nodes.
    example.update(vec![rows_of(3, &rows), rows_of(4, &[(15, 0)])]);
    assert_eq!(example.nodes(1), [(20, Some(2)), (40, Some(2)), (60, Some(2))]);
    assert_eq!(example.nodes(2), [(20, Some(6))]);
    example.update(vec![rows_of(4, &[(45, 0)])]);
    assert_eq!(example.nodes(1), [(20, Some(2)), (40, None), (60, Some(2))]);
    assert_eq!(example.nodes(2), [(20, None)]);
    reduce();
    // A row that begins a node, in place of another one.
    example.update(vec![rows_of(4, &[(65, 1)])]);
    assert_eq!(example.nodes(1), [(20, Some(2)), (40, None), (60, None), (65, None)]);
    reduce();
    example.update(vec![rows_of(4, &[])]);
    assert_eq!(example.nodes(1), [(20, Some(2)), (40, Some(2)), (60, None)]);
    // Another value at the same position.
    reduce();
    let mut changed = rows_of(3, &rows);
    changed.views[0][4].value = "2".to_owned();
    example.update(vec![changed]);
    assert_eq!(example.nodes(1), [(20, Some(2)), (40, None), (60, Some(2))]);
}

/// Rows of a document are not stored if it was removed after a client read it.
pub fn rows_of_removed_documents_are_not_stored(open: Constructor<impl Databases + ?Sized>) {
    let example = Example::begin(open);
    let store = &*example.fixture.store;
    let database =
        wait(store.database(&example.name)).expect("it can be read").expect("it is there");
    let StoredViews { id: views, reached: after, .. } = example.views();
    purge(store, &database, &[3]);
    let documents = vec![rows_of(3, &[(5, 1)]), rows_of(4, &[(6, 1)])];
    let update = ViewsUpdate { views, after, reached: ChangeNumber::new(9), documents };
    assert!(wait(store.update_views(&example.name, update)).expect("it is decided"));
    assert_eq!(example.rows(), [row(4, 6, 1, "1")]);
    assert_eq!(example.nodes(1), [(6, None)]);
}

/// A removal of a document with rows changes the state of the views, although they follow the same change.
pub fn contents_that_were_computed_before_a_removal_are_not_stored(
    open: Constructor<impl Databases + ?Sized>,
) {
    let example = Example::begin(open);
    let (store, name) = (&*example.fixture.store, &example.name);
    let database = wait(store.database(name)).expect("it can be read").expect("it is there");
    example.update(vec![rows_of(3, &[(5, 1), (6, 0)]), rows_of(4, &[(7, 0)])]);
    let put = |state| {
        let content = NodeContent { rows: 3, reduction: Some("1,1,1,".to_owned()) };
        let nodes = vec![(vec![5, 3], content)];
        wait(store.put_view_nodes(name, state, 1, nodes)).expect("it is decided")
    };
    let before = example.state();
    purge(store, &database, &[5]);
    assert_eq!(example.state(), before);
    assert!(put(before));
    assert_eq!(example.nodes(1), [(5, Some(3))]);
    purge(store, &database, &[4]);
    assert_eq!(example.nodes(1), [(5, None)]);
    assert_ne!(example.state(), before);
    assert!(!put(before));
    assert_eq!((example.nodes(1), example.views().rows), (vec![(5, None)], vec![2]));
    let limit = RowLimit { is_descending: false, skip: 0, most: 9, most_bytes: 99 };
    for (reached, is_met) in [(before.reached, false), (None, true)] {
        let state = ViewState { reached, ..before };
        let page = wait(store.view_rows(name, state, all(), limit)).expect("it can be read");
        assert_eq!(page.is_some(), is_met);
    }
    // Updates do not depend on removals.
    let update = ViewsUpdate {
        views: before.views,
        after: before.reached.expect("a change"),
        reached: ChangeNumber::new(9),
        documents: vec![rows_of(3, &[])],
    };
    assert!(wait(store.update_views(name, update)).expect("it is decided"));
    assert_eq!(example.rows(), []);
}
