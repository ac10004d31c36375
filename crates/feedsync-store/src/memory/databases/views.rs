//! Rows of the views of a database in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use feedsync_couch::DocumentId;
use feedsync_couch::view::PositionRange;

use super::DatabaseContents;
use crate::database::view_changes::{RangeReader, RowBudget, ViewChange, changes_of_views};
use crate::database::{
    MAX_ROW_LEVEL, MAX_VIEWS, NodeContent, RangesLimit, RowLimit, StoredViews, ViewNode, ViewPage,
    ViewRanges, ViewRow, ViewState, ViewsId, ViewsSignature, ViewsUpdate,
};
use crate::error::StoreError;
use crate::order::ChangeNumber;

/// The nodes of a level, by their positions.
type Nodes = BTreeMap<Vec<u8>, Option<NodeContent>>;

/// The views of a design document.
#[derive(Debug, Clone)]
pub(super) struct ViewSet {
    id: ViewsId,
    signature: ViewsSignature,
    reached: ChangeNumber,
    views: Vec<View>,
    /// Positions of the rows of each document.
    places: BTreeMap<DocumentId, BTreeSet<(u32, Vec<u8>)>>,
}

#[derive(Debug, Clone, Default)]
struct View {
    rows: BTreeMap<Vec<u8>, ViewRow>,
    /// The nodes of level 1 and above.
    levels: [Nodes; MAX_ROW_LEVEL as usize],
}

impl View {
    fn apply(&mut self, change: ViewChange) {
        let bounds = change.bounds_of_forgotten();
        for (level, position) in change.removed_nodes() {
            self.levels[usize::from(level) - 1].remove(position);
        }
        for (level, position) in change.added_nodes() {
            self.levels[usize::from(level) - 1].insert(position.to_vec(), None);
        }
        for row in &change.removed {
            self.rows.remove(&row.position);
        }
        self.rows.extend(change.added.into_iter().map(|row| (row.position.clone(), row)));
        for (level, bounds) in bounds {
            let nodes = &mut self.levels[usize::from(level) - 1];
            for bound in bounds {
                if let Some((_, content)) = nodes.range_mut(..bound).next_back() {
                    *content = None;
                }
            }
        }
    }

    /// The rows of a range, in order.
    fn rows_in(&self, range: &PositionRange, is_descending: bool) -> Vec<&ViewRow> {
        let mut rows: Vec<&ViewRow> = match range.from < range.to {
            true => self.rows.range(range.from.clone()..range.to.clone()).map(|it| it.1).collect(),
            false => Vec::new(),
        };
        if is_descending {
            rows.reverse();
        }
        rows
    }

    fn nodes(&self, level: u8) -> Option<&Nodes> {
        self.levels.get(usize::from(level).checked_sub(1)?)
    }
}

impl ViewSet {
    fn rows_of(&self, document: &DocumentId) -> Vec<(u32, ViewRow)> {
        let places = self.places.get(document).into_iter().flatten();
        let row = |(view, position): &(u32, Vec<u8>)| {
            (*view, self.views[*view as usize].rows[position].clone())
        };
        places.map(row).collect()
    }

    fn apply(&mut self, changes: Vec<ViewChange>) {
        for ((number, view), change) in (0..).zip(&mut self.views).zip(changes) {
            for row in &change.removed {
                let document = &view.rows[&row.position].document;
                if let Some(places) = self.places.get_mut(document) {
                    places.remove(&(number, row.position.clone()));
                }
            }
            for row in &change.added {
                let places = self.places.entry(row.document.clone()).or_default();
                places.insert((number, row.position.clone()));
            }
            view.apply(change);
        }
        self.places.retain(|_, places| !places.is_empty());
    }

    /// Removes the rows of a document that is removed from the database.
    fn remove(&mut self, document: &DocumentId) {
        let earlier = self.rows_of(document);
        if !earlier.is_empty() {
            self.apply(changes_of_views(self.views.len(), earlier, Vec::new()));
            self.id.removals += 1;
        }
    }

    /// Rejects rows at the position of another row.
    fn check_positions(&self, changes: &[ViewChange]) -> Result<(), StoreError> {
        for (view, change) in self.views.iter().zip(changes) {
            let removed: BTreeSet<_> = change.removed.iter().map(|row| &row.position).collect();
            let is_taken = |row: &ViewRow| {
                view.rows.contains_key(&row.position) && !removed.contains(&row.position)
            };
            let is_double = |rows: &[ViewRow]| rows[0].position == rows[1].position;
            if change.added.iter().any(is_taken) || change.added.windows(2).any(is_double) {
                return Err(StoreError::Decision("two rows have one position".to_owned()));
            }
        }
        Ok(())
    }
}

impl DatabaseContents {
    fn stored_views(&self, set: &ViewSet) -> StoredViews {
        StoredViews {
            id: set.id,
            database: self.database.clone(),
            reached: set.reached,
            rows: set.views.iter().map(|view| view.rows.len() as u64).collect(),
        }
    }

    /// The views of a signature. `next` is an id that no views ever had.
    pub(super) fn views(
        &mut self,
        signature: &ViewsSignature,
        views: usize,
        next: ViewsId,
    ) -> Option<StoredViews> {
        if let Some(set) = self.view_sets.iter().find(|set| set.signature == *signature) {
            return Some(self.stored_views(set));
        }
        if self.view_sets.len() >= MAX_VIEWS {
            return None;
        }
        let (id, signature, reached) = (next, *signature, ChangeNumber::ZERO);
        let (views, places) = (vec![View::default(); views], BTreeMap::new());
        let set = ViewSet { id, signature, reached, views, places };
        let stored = self.stored_views(&set);
        self.view_sets_mut().push(set);
        Some(stored)
    }

    pub(super) fn update_views(&mut self, mut update: ViewsUpdate) -> Result<bool, StoreError> {
        let Self { documents, view_sets, .. } = self;
        let Some(place) = view_sets.iter().position(|set| set.id.set == update.views.set) else {
            return Ok(false);
        };
        let set = &view_sets[place];
        update.check(set.views.len())?;
        if set.reached != update.after {
            return Ok(false);
        }
        update.documents.retain(|rows| documents.contains_key(&rows.document));
        let earlier = update.documents.iter().flat_map(|rows| set.rows_of(&rows.document));
        let changes = changes_of_views(set.views.len(), earlier.collect(), update.documents);
        set.check_positions(&changes)?;
        let set = &mut self.view_sets_mut()[place];
        set.apply(changes);
        set.reached = update.reached;
        Ok(true)
    }

    /// A view in a state, if it is in it.
    fn view(&self, state: ViewState) -> Option<&View> {
        let set = self.view_sets.iter().find(|set| state.is_met(set.id, set.reached))?;
        set.views.get(state.view as usize)
    }

    pub(super) fn view_rows(
        &self,
        state: ViewState,
        range: PositionRange,
        limit: &RowLimit,
    ) -> Option<ViewPage> {
        let rows = self.view(state)?.rows_in(&range, limit.is_descending);
        let skip = usize::try_from(limit.skip).unwrap_or(usize::MAX);
        let mut budget = RowBudget::of(limit);
        let rows = rows.into_iter().skip(skip).take_while(|row| budget.fits(row));
        Some(ViewPage { database: self.database.clone(), rows: rows.cloned().collect() })
    }

    pub(super) fn view_ranges(
        &self,
        state: ViewState,
        ranges: &[PositionRange],
        limit: RangesLimit,
    ) -> Option<ViewRanges> {
        let view = self.view(state)?;
        let (database, mut reader) = (self.database.clone(), RangeReader::new(limit));
        for (number, range) in ranges.iter().enumerate() {
            for row in view.rows_in(range, limit.is_descending) {
                if !reader.take(number, row.clone()) {
                    return Some(ViewRanges { database, ranges: reader.into_ranges() });
                }
            }
        }
        reader.end_before(ranges.len());
        Some(ViewRanges { database, ranges: reader.into_ranges() })
    }

    pub(super) fn view_nodes(
        &self,
        state: ViewState,
        level: u8,
        range: PositionRange,
        most: usize,
    ) -> Option<Vec<ViewNode>> {
        let nodes = self.view(state)?.nodes(level).filter(|_| range.from < range.to);
        let nodes =
            nodes.into_iter().flat_map(|nodes| nodes.range(range.from.clone()..range.to.clone()));
        let node = |(position, content): (&Vec<u8>, &Option<NodeContent>)| ViewNode {
            position: position.clone(),
            content: content.clone(),
        };
        Some(nodes.take(most).map(node).collect())
    }

    pub(super) fn put_view_nodes(
        &mut self,
        state: ViewState,
        level: u8,
        nodes: Vec<(Vec<u8>, NodeContent)>,
    ) -> bool {
        if self.view(state).is_none() {
            return false;
        }
        let sets = self.view_sets_mut().iter_mut();
        let views = sets.filter(|set| set.id.set == state.views.set).flat_map(|set| &mut set.views);
        let level = usize::from(level).checked_sub(1);
        for view in views.skip(state.view as usize).take(1) {
            let Some(stored) = level.and_then(|level| view.levels.get_mut(level)) else { continue };
            for (position, content) in &nodes {
                if let Some(node) = stored.get_mut(position) {
                    *node = Some(content.clone());
                }
            }
        }
        true
    }

    pub(super) fn drop_views(&mut self, kept: &[ViewsSignature]) {
        self.view_sets_mut().retain(|set| kept.contains(&set.signature));
    }

    /// Removes the rows of a document that is removed from the database.
    pub(super) fn remove_from_views(&mut self, document: &DocumentId) {
        if self.view_sets.iter().any(|set| set.places.contains_key(document)) {
            self.view_sets_mut().iter_mut().for_each(|set| set.remove(document));
        }
    }

    fn view_sets_mut(&mut self) -> &mut Vec<ViewSet> {
        Arc::make_mut(&mut self.view_sets)
    }
}
