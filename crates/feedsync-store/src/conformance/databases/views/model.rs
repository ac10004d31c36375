//! A model of views: rows in the order of their positions, from which everything else follows.

use std::collections::{BTreeMap, BTreeSet};

use feedsync_couch::DatabaseName;
use feedsync_couch::view::PositionRange;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::operations::{Operation, Update, VIEWS, id, purge, row, signature, write};
use crate::conformance::databases::named;
use crate::conformance::wait;
use crate::{
    ChangeNumber, Database, Databases, DocumentRows, MAX_ROW_LEVEL, NodeContent, RangesLimit,
    RowLimit, StoredViews, ViewPage, ViewRow, ViewState, ViewsId, ViewsUpdate,
};

type Outcome = Result<(), TestCaseError>;

type Rows = BTreeMap<Vec<u8>, ViewRow>;

/// The views of a design document.
#[derive(Debug, Default)]
struct Views {
    reached: u64,
    rows: [Rows; VIEWS],
}

#[derive(Debug, Default)]
struct Contents {
    documents: BTreeSet<u8>,
    views: BTreeMap<u8, Views>,
}

/// Databases with their views, and ids that must no longer be in use.
#[derive(Debug, Default)]
pub(super) struct Model {
    databases: BTreeMap<DatabaseName, Contents>,
    unused: BTreeSet<ViewsId>,
}

impl Model {
    pub(super) fn carry_out(
        &mut self,
        store: &(impl Databases + ?Sized),
        operation: &Operation,
    ) -> Outcome {
        match operation {
            Operation::Recreate(name) => self.recreate(store, &named(*name)),
            Operation::Write(name, document) => {
                if let Some((database, contents)) = self.found(store, *name) {
                    write(store, &database, *document);
                    contents.documents.insert(*document);
                }
            }
            Operation::Purge(name, documents) => {
                if let Some((database, contents)) = self.found(store, *name) {
                    purge(store, &database, documents);
                    documents.iter().for_each(|document| contents.remove(*document));
                }
            }
            Operation::Begin(name, views) => {
                if let Some((database, contents)) = self.found(store, *name) {
                    begun(store, &database.name, *views);
                    contents.views.entry(*views).or_default();
                }
            }
            Operation::Update(update) => return self.update(store, update),
            Operation::Reduce { name, views, level, chosen } => {
                if let Some((database, contents)) = self.found(store, *name)
                    && let Some(there) = contents.views.get(views)
                {
                    let stored = begun(store, &database.name, *views);
                    for (view, rows) in (0..).zip(&there.rows) {
                        let state =
                            ViewState { views: stored.id, view, reached: Some(stored.reached) };
                        let nodes = chosen_nodes(rows, *level, *chosen);
                        let put = store.put_view_nodes(&database.name, state, *level, nodes);
                        prop_assert!(wait(put).expect("they can be stored"));
                    }
                }
            }
            Operation::Drop(name, kept) => self.drop_views(store, *name, *kept),
            Operation::Sweep => while wait(store.sweep_databases()).expect("it can be swept") {},
        }
        Ok(())
    }

    fn found(
        &mut self,
        store: &(impl Databases + ?Sized),
        name: u8,
    ) -> Option<(Database, &mut Contents)> {
        let contents = self.databases.get_mut(&named(name))?;
        let database = wait(store.database(&named(name))).expect("it can be read");
        Some((database.expect("the model has it"), contents))
    }

    fn recreate(&mut self, store: &(impl Databases + ?Sized), name: &DatabaseName) {
        if let Some(contents) = self.databases.remove(name) {
            for views in contents.views.keys() {
                self.unused.insert(begun(store, name, *views).id);
            }
            let database = wait(store.database(name)).expect("it can be read");
            let epoch = database.expect("the model has it").epoch;
            wait(store.drop_database(name, epoch)).expect("it is dropped");
        }
        wait(store.create_database(name, Default::default()))
            .expect("it is made")
            .expect("a database");
        self.databases.insert(name.clone(), Contents::default());
    }

    fn drop_views(&mut self, store: &(impl Databases + ?Sized), name: u8, kept: u8) {
        let mut unused = Vec::new();
        if let Some((database, contents)) = self.found(store, name) {
            let is_kept = |views: &u8| kept >> views & 1 == 1;
            for views in contents.views.keys().filter(|views| !is_kept(views)) {
                unused.push(begun(store, &database.name, *views).id);
            }
            let kept: Vec<_> = (0..3).filter(is_kept).map(signature).collect();
            wait(store.drop_views(&database.name, &kept)).expect("they are dropped");
            contents.views.retain(|views, _| is_kept(views));
        }
        self.unused.extend(unused);
    }

    fn update(&mut self, store: &(impl Databases + ?Sized), update: &Update) -> Outcome {
        let Some((database, contents)) = self.found(store, update.name) else { return Ok(()) };
        let stored = begun(store, &database.name, update.views);
        let Contents { documents, views } = contents;
        let views = views.entry(update.views).or_default();
        let after = views.reached + u64::from(update.is_stale);
        let reached = after + 2;
        let documents_rows = update.documents.iter().map(|(document, emitted)| {
            let mut rows = [(); VIEWS].map(|()| Rows::new());
            for (view, emitted) in emitted {
                let row = row(*document, emitted);
                rows[*view].insert(row.position.clone(), row);
            }
            let unsorted = |rows: Rows| rows.into_values().rev().collect();
            DocumentRows { document: id(*document), views: rows.map(unsorted).to_vec() }
        });
        let asked = ViewsUpdate {
            views: stored.id,
            after: ChangeNumber::new(after),
            reached: ChangeNumber::new(reached),
            documents: documents_rows.collect(),
        };
        let is_applied = wait(store.update_views(&database.name, asked.clone()));
        prop_assert_eq!(is_applied.expect("it is decided"), !update.is_stale);
        if update.is_stale {
            return Ok(());
        }
        views.reached = reached;
        for ((document, _), rows) in update.documents.iter().zip(asked.documents) {
            for (view, rows) in views.rows.iter_mut().zip(rows.views) {
                view.retain(|_, row| row.document != id(*document));
                let rows = rows.into_iter().filter(|_| documents.contains(document));
                view.extend(rows.map(|row| (row.position.clone(), row)));
            }
        }
        Ok(())
    }

    /// Compares the views of a database.
    pub(super) fn check(&self, store: &(impl Databases + ?Sized), name: &DatabaseName) -> Outcome {
        let Some(contents) = self.databases.get(name) else { return Ok(()) };
        for views in &self.unused {
            let update = ViewsUpdate {
                views: *views,
                after: ChangeNumber::ZERO,
                reached: ChangeNumber::ZERO,
                documents: Vec::new(),
            };
            prop_assert!(!wait(store.update_views(name, update)).expect("it is decided"));
            let state = ViewState { views: *views, view: 0, reached: None };
            prop_assert_eq!(page(store, name, state, all(), false), None);
            let put = wait(store.put_view_nodes(name, state, 1, Vec::new()));
            prop_assert!(!put.expect("it is decided"));
        }
        for (views, there) in &contents.views {
            let stored = begun(store, name, *views);
            prop_assert_eq!(stored.reached.get(), there.reached);
            let counts: Vec<_> = there.rows.iter().map(|rows| rows.len() as u64).collect();
            prop_assert_eq!(stored.rows, counts);
            for (view, rows) in (0..).zip(&there.rows) {
                let state = ViewState { views: stored.id, view, reached: Some(stored.reached) };
                check_rows(store, name, state, rows)?;
                check_nodes(store, name, state, rows)?;
            }
            let other = ViewState { views: stored.id, view: VIEWS as u32, reached: None };
            prop_assert_eq!(page(store, name, other, all(), false), None);
        }
        Ok(())
    }
}

impl Contents {
    fn remove(&mut self, document: u8) {
        self.documents.remove(&document);
        for rows in self.views.values_mut().flat_map(|views| &mut views.rows) {
            rows.retain(|_, row| row.document != id(document));
        }
    }
}

fn begun(store: &(impl Databases + ?Sized), name: &DatabaseName, views: u8) -> StoredViews {
    let stored = wait(store.views(name, &signature(views), VIEWS));
    stored.expect("they can be read").expect("there are few")
}

pub(super) fn all() -> PositionRange {
    PositionRange { from: Vec::new(), to: vec![0xff] }
}

fn page(
    store: &(impl Databases + ?Sized),
    name: &DatabaseName,
    state: ViewState,
    range: PositionRange,
    is_descending: bool,
) -> Option<ViewPage> {
    let limit = RowLimit { is_descending, skip: 0, most: 99, most_bytes: u64::MAX };
    wait(store.view_rows(name, state, range, limit)).expect("they can be read")
}

/// Reads all rows, and those between two of them.
fn check_rows(
    store: &(impl Databases + ?Sized),
    name: &DatabaseName,
    state: ViewState,
    rows: &Rows,
) -> Outcome {
    let positions: Vec<_> = rows.keys().cloned().collect();
    let mut ranges = vec![all(), PositionRange { from: vec![9], to: vec![2] }];
    if let [_, second, .., last] = &positions[..] {
        ranges.push(PositionRange { from: second.clone(), to: last.clone() });
    }
    for range in ranges {
        let within = |row: &&ViewRow| range.from <= row.position && row.position < range.to;
        let mut expected: Vec<_> = rows.values().filter(within).cloned().collect();
        for is_descending in [false, true] {
            let found = page(store, name, state, range.clone(), is_descending);
            prop_assert_eq!(found.map(|page| page.rows), Some(expected.clone()));
            expected.reverse();
        }
    }
    check_ranges(store, name, state, rows)
}

/// Reads several ranges, which may have rows in common, with limits.
fn check_ranges(
    store: &(impl Databases + ?Sized),
    name: &DatabaseName,
    state: ViewState,
    rows: &Rows,
) -> Outcome {
    let of_row = |position: &Vec<u8>| PositionRange {
        from: position.clone(),
        to: [position, &[0][..]].concat(),
    };
    let mut ranges: Vec<PositionRange> = rows.keys().rev().map(of_row).collect();
    ranges.insert(ranges.len() / 2, all());
    ranges.push(PositionRange { from: vec![9], to: vec![2] });
    ranges.extend(ranges.first().cloned());
    let size = |row: &ViewRow| (row.key.len() + row.value.len()) as u64;
    for (is_descending, most_of_range, most, most_bytes) in [
        (false, 99, 999, u64::MAX),
        (true, 99, 999, u64::MAX),
        (false, 2, 999, u64::MAX),
        (true, 99, rows.len() + 1, u64::MAX),
        (false, 99, 999, 2 * rows.values().map(size).sum::<u64>()),
        (false, 0, 0, 0),
    ] {
        let (mut expected, mut left, mut left_bytes) = (Vec::new(), most, most_bytes);
        for range in &ranges {
            let within = |row: &&ViewRow| range.from <= row.position && row.position < range.to;
            let mut found: Vec<_> = rows.values().filter(within).cloned().collect();
            let bytes: u64 = found.iter().map(size).sum();
            if found.len() > most_of_range.min(left) || bytes > left_bytes {
                break;
            }
            (left, left_bytes) = (left - found.len(), left_bytes - bytes);
            if is_descending {
                found.reverse();
            }
            expected.push(found);
        }
        let limit = RangesLimit { is_descending, most_of_range, most, most_bytes };
        let found = wait(store.view_ranges(name, state, ranges.clone(), limit));
        let found = found.expect("they can be read").expect("it is in this state");
        prop_assert_eq!(found.ranges, expected);
    }
    Ok(())
}

fn check_nodes(
    store: &(impl Databases + ?Sized),
    name: &DatabaseName,
    state: ViewState,
    rows: &Rows,
) -> Outcome {
    for level in 1..=MAX_ROW_LEVEL {
        let found = wait(store.view_nodes(name, state, level, all(), 99));
        let found = found.expect("they can be read").expect("it is in this state");
        let expected = nodes(rows, level);
        let positions: Vec<_> = found.iter().map(|node| &node.position).collect();
        prop_assert_eq!(positions, expected.keys().collect::<Vec<_>>());
        for (node, expected) in found.into_iter().zip(expected.into_values()) {
            prop_assert!(node.content.is_none_or(|content| content == expected), "level {}", level);
        }
    }
    Ok(())
}

/// The nodes of a level with their contents. A reduction is the list of all values.
pub(super) fn nodes(rows: &Rows, level: u8) -> BTreeMap<Vec<u8>, NodeContent> {
    let mut nodes: BTreeMap<Vec<u8>, NodeContent> = BTreeMap::new();
    for row in rows.values() {
        if row.level >= level {
            let begun = NodeContent { rows: 0, reduction: Some(String::new()) };
            nodes.insert(row.position.clone(), begun);
        }
        if let Some(mut last) = nodes.last_entry() {
            let NodeContent { rows, reduction } = last.get_mut();
            *rows += 1;
            reduction.get_or_insert_default().push_str(&format!("{},", row.value));
        }
    }
    nodes
}

/// Some nodes of a level, and one that does not exist.
fn chosen_nodes(rows: &Rows, level: u8, chosen: u8) -> Vec<(Vec<u8>, NodeContent)> {
    let is_chosen = |place: usize| chosen >> (place % 8) & 1 == 1;
    let nodes = nodes(rows, level).into_iter().enumerate();
    let nodes = nodes.filter(|(place, _)| is_chosen(*place)).map(|(_, node)| node);
    let none = (vec![3], NodeContent { rows: 1, reduction: None });
    nodes.chain([none]).collect()
}
