//! Rows of a view that were not sent yet.

use std::collections::VecDeque;

use feedsync_couch::view::{GroupLevel, PositionRange, push_group, push_row};
use feedsync_couch::{Refusal, RefusalKind};
use feedsync_endpoint::documents::views::{Group, GroupCursor};
use feedsync_store::{Database, RangesLimit, RowLimit, StoredViews, ViewRow};

use super::Query;
use super::documents::Documents;
use crate::couch::pieces::Pieces;
use crate::couch::{CouchRequest, Failure};

/// Number of rows per read, and of bytes of their keys and values.
const PAGE: usize = 1_000;
const PAGE_BYTES: u64 = 8 << 20;

/// Size, in bytes, of a piece of the response, exceeded by at most one page. Pieces of small pages are joined, since the
/// rights of the client are checked before each one.
const PIECE_BYTES: usize = 256 << 10;

/// Rows that were not sent yet.
pub(in crate::couch) struct ViewRows {
    asked: CouchRequest,
    query: Query,
    stored: StoredViews,
    is_reduced: bool,
    ranges: VecDeque<PositionRange>,
    /// Whether the first range has too many rows to be read with others.
    is_long: bool,
    /// Groups of the first range.
    groups: Option<GroupCursor>,
    /// Number of rows to skip.
    skip: u64,
    /// Maximum number of rows that are sent.
    left: u64,
    is_first: bool,
}

impl ViewRows {
    pub(super) fn new(
        asked: CouchRequest,
        query: Query,
        stored: StoredViews,
        is_reduced: bool,
    ) -> Self {
        let ranges = query.query.ranges().filter(|range| !range.is_empty()).collect();
        let (skip, left) = (query.query.skip, query.query.limit.unwrap_or(u64::MAX));
        let (is_long, groups, is_first) = (false, None, true);
        Self { asked, query, stored, is_reduced, ranges, is_long, groups, skip, left, is_first }
    }

    fn most(&self) -> usize {
        usize::try_from(self.left).unwrap_or(PAGE).min(PAGE)
    }

    fn separator(&mut self) -> &'static str {
        match std::mem::replace(&mut self.is_first, false) {
            true => "\n",
            false => ",\n",
        }
    }

    /// The first ranges, of as many as are read at once, if there are several.
    fn next_ranges(&self) -> Option<Vec<PositionRange>> {
        let are_many = self.ranges.len() > 1 && !self.is_long;
        are_many.then(|| self.ranges.iter().take(PAGE).cloned().collect())
    }

    /// Removes ranges that were read. If there are none, the first one has too many rows to be read with others.
    fn remove_ranges(&mut self, count: usize) {
        self.ranges.drain(..count);
        self.is_long = count == 0;
    }

    /// Removes the first range.
    fn remove_range(&mut self) {
        self.ranges.pop_front();
        self.is_long = false;
    }

    /// Appends rows of the first ranges.
    async fn push_rows(&mut self, text: &mut String) -> Result<(), Failure> {
        if let Some(ranges) = self.next_ranges() {
            let rows = self.rows_of(ranges).await?;
            self.remove_ranges(rows.len());
            return self.send(text, rows.into_iter().flatten().collect()).await;
        }
        let Query { views, view, query } = &self.query;
        let Some(range) = self.ranges.front() else { return Ok(()) };
        // Of several ranges, it is not known how many rows each one skips.
        let skip = if query.keys.is_none() { std::mem::take(&mut self.skip) } else { 0 };
        let most = self.most_rows();
        let limit =
            RowLimit { is_descending: query.is_descending, skip, most, most_bytes: PAGE_BYTES };
        let mut page = views.rows(&self.stored, *view, range.clone(), limit).await?;
        if page.is_none() {
            // A document was purged, which its rows follow at once.
            self.stored = views.stored().await?;
            page = views.rows(&self.stored, *view, range.clone(), limit).await?;
        }
        let rows = page.ok_or_else(changed)?.rows;
        let bytes: usize = rows.iter().map(|row| row.key.len() + row.value.len()).sum();
        let is_last = rows.len() < most && (bytes as u64) < PAGE_BYTES / 2;
        if let (Some(range), Some(last)) = (self.ranges.front_mut(), rows.last()) {
            match query.is_descending {
                true => range.to.clone_from(&last.position),
                false => range.from = [&*last.position, &[0]].concat(),
            }
        }
        if is_last {
            self.remove_range();
        }
        self.send(text, rows).await
    }

    /// The rows of the first of some ranges, as many as fit into a page.
    async fn rows_of(&mut self, ranges: Vec<PositionRange>) -> Result<Vec<Vec<ViewRow>>, Failure> {
        let Query { views, view, query } = &self.query;
        let most = self.most_rows();
        let limit = RangesLimit {
            is_descending: query.is_descending,
            most_of_range: most,
            most,
            most_bytes: PAGE_BYTES,
        };
        let mut read = views.ranges(&self.stored, *view, ranges.clone(), limit).await?;
        if read.is_none() {
            self.stored = views.stored().await?;
            read = views.ranges(&self.stored, *view, ranges, limit).await?;
        }
        Ok(read.ok_or_else(changed)?.ranges)
    }

    /// Maximum number of rows of the next read.
    fn most_rows(&self) -> usize {
        let wanted = self.left.saturating_add(self.skip);
        usize::try_from(wanted).unwrap_or(PAGE).min(PAGE)
    }

    /// Appends rows, except those to skip.
    async fn send(&mut self, text: &mut String, rows: Vec<ViewRow>) -> Result<(), Failure> {
        let mut documents = match self.query.query.include_docs {
            true => Some(Documents::of(&self.stored.database, &rows)),
            false => None,
        };
        for row in rows {
            if self.skip > 0 {
                self.skip -= 1;
                if let Some(documents) = &mut documents {
                    documents.skip();
                }
                continue;
            }
            text.push_str(self.separator());
            let id = row.document.as_str();
            match &mut documents {
                None => push_row(text, id, &row.key, &row.value),
                Some(documents) => {
                    documents.push_row(text, &self.asked, &self.query.query, &row).await?;
                }
            }
            self.left -= 1;
            if self.left == 0 {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Appends the reduction of all rows of the first range.
    async fn push_reduction(&mut self, text: &mut String) -> Result<(), Failure> {
        let Some(range) = self.ranges.pop_front() else { return Ok(()) };
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(());
        }
        let view = self.query.view;
        let content = self.query.views.content(&mut self.stored, view, &range).await?;
        if let Some(reduction) = content.reduction {
            text.push_str(self.separator());
            push_group(text, "null", &self.query.views.finish(view, &reduction));
        }
        Ok(())
    }

    /// Appends a page of groups of the first range.
    async fn push_groups(&mut self, text: &mut String, level: GroupLevel) -> Result<(), Failure> {
        // Several ranges are those of keys.
        if level == GroupLevel::Exact
            && let Some(ranges) = self.next_ranges()
        {
            let (views, view) = (&self.query.views, self.query.view);
            let groups = views.groups_of_keys(&mut self.stored, view, &ranges).await?;
            self.remove_ranges(groups.len());
            let groups: Vec<Group> = groups.into_iter().flatten().collect();
            let skipped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(groups.len());
            self.skip -= skipped as u64;
            self.send_groups(text, groups.into_iter().skip(skipped));
            return Ok(());
        }
        let Some(range) = self.ranges.front() else { return Ok(()) };
        let most = self.most();
        let (is_descending, skip) = (self.query.query.is_descending, self.skip);
        let begin = || GroupCursor::new(range.clone(), level, is_descending, skip);
        let cursor = self.groups.get_or_insert_with(begin);
        let view = self.query.view;
        let groups = self.query.views.groups(&mut self.stored, view, cursor, most).await?;
        if !cursor.has_more {
            self.skip = cursor.skip;
            self.groups = None;
            self.remove_range();
        }
        self.send_groups(text, groups.into_iter());
        Ok(())
    }

    /// Appends groups.
    fn send_groups(&mut self, text: &mut String, groups: impl Iterator<Item = Group>) {
        for group in groups {
            if self.left == 0 {
                return;
            }
            text.push_str(self.separator());
            push_group(text, &group.key, &group.value);
            self.left -= 1;
        }
    }
}

impl Pieces for ViewRows {
    const END: &'static str = "\n]}\n";

    fn database(&self) -> Option<&Database> {
        Some(&self.stored.database)
    }

    fn may_be_large(&self) -> bool {
        true
    }

    fn is_over(&self) -> bool {
        self.left == 0 || self.ranges.is_empty()
    }

    async fn push_some(&mut self, text: &mut String) -> Result<(), Failure> {
        let begun = text.len();
        while !self.is_over() && text.len() - begun < PIECE_BYTES {
            match (self.is_reduced, self.query.query.group) {
                (false, _) => self.push_rows(text).await?,
                (true, None) => self.push_reduction(text).await?,
                (true, Some(level)) => self.push_groups(text, level).await?,
            }
        }
        Ok(())
    }
}

/// The rows were dropped, since the design document or the database was changed.
fn changed() -> Refusal {
    RefusalKind::Unavailable.with_reason("the view was changed meanwhile; send the request again")
}
