//! Changes of the rows of views, and the nodes whose contents they invalidate.

use std::collections::BTreeMap;

use super::{DocumentRows, MAX_ROW_LEVEL, RangesLimit, RowLimit, ViewRow, ViewsUpdate};
use crate::error::StoreError;

/// The rows of a view that an update changes, in the order of their positions.
#[derive(Debug, Default)]
pub(crate) struct ViewChange {
    /// The removed rows. A row that is replaced is also among the added ones.
    pub(crate) removed: Vec<RowPlace>,
    pub(crate) added: Vec<ViewRow>,
}

/// Position and level of a row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowPlace {
    pub(crate) position: Vec<u8>,
    pub(crate) level: u8,
}

/// The node of a level that begins at a position, or the last one before it.
pub(crate) type NodePlace<'a> = (u8, &'a [u8]);

impl ViewsUpdate {
    /// Rejects an update whose rows do not fit its documents or the number of views.
    pub(crate) fn check(&self, views: usize) -> Result<(), StoreError> {
        let is_row_of = |rows: &DocumentRows, row: &ViewRow| {
            row.document == rows.document && row.level <= MAX_ROW_LEVEL
        };
        let is_sound = |rows: &DocumentRows| {
            rows.views.len() == views && rows.views.iter().flatten().all(|row| is_row_of(rows, row))
        };
        let is_later = self.reached > self.after || self.documents.is_empty();
        match is_later && self.documents.iter().all(is_sound) {
            true => Ok(()),
            false => Err(StoreError::Decision("an update of views is inconsistent".to_owned())),
        }
    }
}

/// The changes of each view if its documents get these rows in place of earlier ones. Equal rows stay as they are.
pub(crate) fn changes_of_views(
    views: usize,
    earlier: Vec<(u32, ViewRow)>,
    documents: Vec<DocumentRows>,
) -> Vec<ViewChange> {
    let mut changes: Vec<ViewChange> = (0..views).map(|_| ViewChange::default()).collect();
    let mut before: Vec<BTreeMap<Vec<u8>, ViewRow>> = vec![BTreeMap::new(); views];
    for (view, row) in earlier {
        before[view as usize].insert(row.position.clone(), row);
    }
    let lists = documents.into_iter().flat_map(|document| document.views.into_iter().enumerate());
    for (view, rows) in lists {
        for row in rows {
            match before[view].get(&row.position) == Some(&row) {
                true => drop(before[view].remove(&row.position)),
                false => changes[view].added.push(row),
            }
        }
    }
    for (change, before) in changes.iter_mut().zip(before) {
        let place = |row: ViewRow| RowPlace { position: row.position, level: row.level };
        change.removed = before.into_values().map(place).collect();
        change.added.sort_unstable_by(|one, other| one.position.cmp(&other.position));
    }
    changes
}

impl ViewChange {
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.added.is_empty()
    }

    /// Number of rows after the change.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn count(&self, before: u64) -> u64 {
        (before + self.added.len() as u64).saturating_sub(self.removed.len() as u64)
    }

    /// The nodes that begin at removed rows, in their order.
    pub(crate) fn removed_nodes(&self) -> Vec<NodePlace<'_>> {
        let rows = self.removed.iter().map(|row| (&row.position[..], row.level));
        nodes(rows.collect())
    }

    /// The nodes that begin at added rows, in their order.
    pub(crate) fn added_nodes(&self) -> Vec<NodePlace<'_>> {
        nodes(self.added.iter().map(|row| (&row.position[..], row.level)).collect())
    }

    /// Positions before which, on each level, the last node loses its content: the rows between them were added or
    /// removed, or belong to a new node. The change is already applied to nodes. The order is descending, which lets a
    /// backend skip positions that have the same node before them.
    pub(crate) fn bounds_of_forgotten(&self) -> Vec<(u8, Vec<Vec<u8>>)> {
        let removed = self.removed.iter().map(|row| (&row.position[..], 0));
        let added = self.added.iter().map(|row| (&row.position[..], row.level));
        let changed: BTreeMap<&[u8], u8> = removed.chain(added).collect();
        let bound = |level: u8, (position, begun): (&&[u8], &u8)| match *begun >= level {
            // The row begins a node, which has no content yet.
            true => position.to_vec(),
            false => followed(position),
        };
        (1..=MAX_ROW_LEVEL)
            .map(|level| (level, changed.iter().rev().map(|it| bound(level, it)).collect()))
            .collect()
    }
}

/// The position that follows immediately.
fn followed(position: &[u8]) -> Vec<u8> {
    [position, &[0]].concat()
}

fn nodes(rows: Vec<(&[u8], u8)>) -> Vec<NodePlace<'_>> {
    let of_level = |level: u8| {
        let begun = rows.iter().filter(move |(_, begun)| *begun >= level);
        begun.map(move |(position, _)| (level, *position))
    };
    (1..=MAX_ROW_LEVEL).flat_map(of_level).collect()
}

/// The rows for which a page has room.
pub(crate) struct RowBudget {
    rows: usize,
    bytes: Option<u64>,
    most_bytes: u64,
}

impl RowBudget {
    pub(crate) fn of(limit: &RowLimit) -> Self {
        Self { rows: limit.most, bytes: None, most_bytes: limit.most_bytes }
    }

    /// Tells whether a row fits, and reserves its size if so.
    pub(crate) fn fits(&mut self, row: &ViewRow) -> bool {
        let size = (row.key.len() + row.value.len()) as u64;
        let left = match self.bytes {
            None => Some(self.most_bytes.saturating_sub(size)),
            Some(left) => left.checked_sub(size),
        };
        let is_taken = self.rows > 0 && left.is_some();
        if is_taken {
            self.rows -= 1;
            self.bytes = left;
        }
        is_taken
    }
}

/// Rows of ranges that are read one after the other.
pub(crate) struct RangeReader {
    limit: RangesLimit,
    /// The ranges that were read completely.
    done: Vec<Vec<ViewRow>>,
    current: Vec<ViewRow>,
}

impl RangeReader {
    pub(crate) fn new(limit: RangesLimit) -> Self {
        Self { limit, done: Vec::new(), current: Vec::new() }
    }

    /// Number of rows of a range to read: one more than may be taken.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn most_of_range(&self) -> usize {
        self.limit.most_of_range.min(self.limit.most).saturating_add(1)
    }

    /// Takes a row of a range of a number; returns `false` if it does not fit.
    pub(crate) fn take(&mut self, range: usize, row: ViewRow) -> bool {
        self.end_before(range);
        let size = (row.key.len() + row.value.len()) as u64;
        let Some(left) = self.limit.most_bytes.checked_sub(size) else { return false };
        if self.limit.most == 0 || self.current.len() == self.limit.most_of_range {
            return false;
        }
        self.limit.most -= 1;
        self.limit.most_bytes = left;
        self.current.push(row);
        true
    }

    /// Notes that the ranges before this number were read completely.
    pub(crate) fn end_before(&mut self, range: usize) {
        while self.done.len() < range {
            self.done.push(std::mem::take(&mut self.current));
        }
    }

    /// The ranges that were read completely.
    pub(crate) fn into_ranges(self) -> Vec<Vec<ViewRow>> {
        self.done
    }
}
