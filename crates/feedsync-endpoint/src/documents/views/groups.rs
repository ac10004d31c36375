//! Rows of reduced views, one for each group of keys.

use feedsync_couch::Refusal;
use feedsync_couch::view::{GroupLevel, PositionRange, Reduction};
use feedsync_store::{RangesLimit, RowLimit, StoredViews, ViewRow};

use super::tree::Tree;
use super::{Interruption, MAX_ATTEMPTS, Views, interrupted};
use crate::documents::DocumentsError;

/// Minimum and maximum number of rows per read, and number of bytes of their keys and values.
const MIN_ROWS: usize = 100;
const MAX_ROWS: usize = 1_000;
const ROW_BYTES: u64 = 4 << 20;

/// A group of rows whose keys are equal, or begin with the same elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The common part of the keys, as JSON.
    pub key: String,
    /// The reduction of its rows, as JSON.
    pub value: String,
}

/// Groups that were not read yet.
#[derive(Debug, Clone)]
pub struct GroupCursor {
    range: PositionRange,
    level: GroupLevel,
    is_descending: bool,
    /// Number of groups to skip.
    pub skip: u64,
    /// Whether there may be further groups.
    pub has_more: bool,
    /// Number of rows of the next read. Of large groups few rows are read, since their reductions are stored.
    rows: usize,
}

/// Rows of a group that follow each other.
struct Run {
    range: PositionRange,
    rows: Vec<ViewRow>,
}

impl Views {
    /// Reads some groups of a view that has a reduction, at most so many. The result may be empty although there are
    /// more.
    pub async fn groups(
        &self,
        stored: &mut StoredViews,
        view: u32,
        cursor: &mut GroupCursor,
        most: usize,
    ) -> Result<Vec<Group>, DocumentsError> {
        for _ in 0..MAX_ATTEMPTS {
            let mut next = cursor.clone();
            match self.some_groups(stored, view, &mut next, most).await {
                Ok(groups) => {
                    *cursor = next;
                    return Ok(groups);
                }
                Err(Interruption::Failed(error)) => return Err(error),
                Err(Interruption::Moved) => *stored = self.stored().await?,
            }
        }
        Err(interrupted())
    }

    /// Reads the groups of the first of several ranges, each of which has the rows of one key. The result has as many ranges as
    /// can be read at once, possibly none, with `None` for a range without rows.
    pub async fn groups_of_keys(
        &self,
        stored: &mut StoredViews,
        view: u32,
        ranges: &[PositionRange],
    ) -> Result<Vec<Option<Group>>, DocumentsError> {
        for _ in 0..MAX_ATTEMPTS {
            match self.some_groups_of_keys(stored, view, ranges).await {
                Ok(groups) => return Ok(groups),
                Err(Interruption::Failed(error)) => return Err(error),
                Err(Interruption::Moved) => *stored = self.stored().await?,
            }
        }
        Err(interrupted())
    }

    async fn some_groups_of_keys(
        &self,
        stored: &StoredViews,
        view: u32,
        ranges: &[PositionRange],
    ) -> Result<Vec<Option<Group>>, Interruption> {
        let limit = RangesLimit {
            is_descending: false,
            most_of_range: MIN_ROWS,
            most: MAX_ROWS,
            most_bytes: ROW_BYTES,
        };
        let (state, ranges) = (self.state(stored, view), ranges.to_vec());
        let read = self.databases.view_ranges(&self.database, state, ranges, limit).await?;
        let ranges = read.ok_or(Interruption::Moved)?.ranges;
        let lists: Vec<&[ViewRow]> =
            ranges.iter().filter(|rows| !rows.is_empty()).map(|rows| &rows[..]).collect();
        let reductions = match lists.is_empty() {
            true => Vec::new(),
            false => self.reduce(view, &lists).await?,
        };
        let mut reductions = reductions.into_iter();
        let group = |rows: &Vec<ViewRow>| {
            let key = GroupLevel::Exact.group_key(&rows.first()?.key);
            Some(Group { key, value: self.finish(view, &reductions.next()??) })
        };
        Ok(ranges.iter().map(group).collect())
    }

    async fn some_groups(
        &self,
        stored: &StoredViews,
        view: u32,
        cursor: &mut GroupCursor,
        most: usize,
    ) -> Result<Vec<Group>, Interruption> {
        let state = self.state(stored, view);
        let most_rows = cursor.rows;
        let limit = RowLimit {
            is_descending: cursor.is_descending,
            skip: 0,
            most: most_rows,
            most_bytes: ROW_BYTES,
        };
        let range = cursor.range.clone();
        let page = self.databases.view_rows(&self.database, state, range, limit).await?;
        let rows = page.ok_or(Interruption::Moved)?.rows;
        let bytes: usize = rows.iter().map(|row| row.key.len() + row.value.len()).sum();
        let is_last = rows.len() < most_rows && (bytes as u64) < ROW_BYTES / 2;
        let mut runs = cursor.runs(rows)?;
        cursor.has_more = !is_last;
        if !is_last && runs.len() > 1 {
            // The last group of the page may have further rows.
            runs.pop();
        }
        let is_cut_off = !is_last && runs.len() == 1;
        cursor.rows = if is_cut_off { MIN_ROWS } else { MAX_ROWS.min(most_rows * 2) };
        let mut wanted = Vec::new();
        for run in runs {
            if wanted.len() == most {
                cursor.has_more = true;
                break;
            }
            cursor.advance(&run.range);
            match cursor.skip {
                0 => wanted.push(run),
                _ => cursor.skip -= 1,
            }
        }
        let values = match &wanted[..] {
            [run] if is_cut_off => {
                vec![Tree::new(self, state).content(run.range.clone()).await?.reduction]
            }
            _ => {
                let lists: Vec<&[ViewRow]> = wanted.iter().map(|run| &*run.rows).collect();
                self.reduce(view, &lists).await?
            }
        };
        let group = |(run, value): (&Run, Option<String>)| {
            let key = cursor.level.group_key(&run.rows.first()?.key);
            Some(Group { key, value: self.finish(view, &value?) })
        };
        Ok(wanted.iter().zip(values).filter_map(group).collect())
    }

    /// The value that clients get for a reduction.
    pub fn finish(&self, view: u32, reduction: &str) -> String {
        match self.reduction(view) {
            Some(Reduction::Builtin(builtin)) => builtin.finish(reduction),
            _ => reduction.to_owned(),
        }
    }
}

impl GroupCursor {
    /// The groups of a range, in this order, without the first ones.
    pub fn new(range: PositionRange, level: GroupLevel, is_descending: bool, skip: u64) -> Self {
        Self { range, level, is_descending, skip, has_more: true, rows: MIN_ROWS }
    }

    /// Divides rows into groups, each with the range of its rows in the range of the cursor. The rows of each group are in
    /// ascending order.
    fn runs(&self, rows: Vec<ViewRow>) -> Result<Vec<Run>, Refusal> {
        let mut runs: Vec<Run> = Vec::new();
        for row in rows {
            match runs.last_mut() {
                Some(run) if run.range.contains(&row.position) => run.rows.push(row),
                _ => {
                    let range = self.level.group_range(&row.key)?.intersection(&self.range);
                    runs.push(Run { range, rows: vec![row] });
                }
            }
        }
        if self.is_descending {
            runs.iter_mut().for_each(|run| run.rows.reverse());
        }
        Ok(runs)
    }

    /// Excludes a group that was read.
    fn advance(&mut self, group: &PositionRange) {
        match self.is_descending {
            true => self.range.to.clone_from(&group.from),
            false => self.range.from.clone_from(&group.to),
        }
    }
}
