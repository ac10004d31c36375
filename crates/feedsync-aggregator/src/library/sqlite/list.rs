//! Lists: a lazy merge of the lists of the feeds.
//!
//! The articles of each feed are sorted in a table, and by number in an index. A feed is read only when its next
//! article may precede those of the others, and in batches. Listing the newest articles of many feeds thus needs
//! one lookup for each feed among them.

use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use rusqlite::{CachedStatement, Connection, OptionalExtension as _};

use super::columns::Columns;
use crate::library::error::LibraryError;
use crate::library::listing::{ArticleFilter, ListEntry, MAX_LISTED, Selection};
use crate::library::range::{Bound, Range, Rank};
use feedsync_reader_api::FeedNumber;

/// Sizes of the first and of the largest batch of a feed, in rows.
const FIRST_BATCH: usize = 16;
const MAX_BATCH: usize = 1_024;

/// Each query has the parameters feed, exclusive bound, and maximum number of rows.
const NEWEST_FIRST: &str = "SELECT number, feed, published, shown FROM listed
      WHERE feed = ?1 AND (shown, number) < (?2, ?3) ORDER BY shown DESC, number DESC LIMIT ?4";
const OLDEST_FIRST: &str = "SELECT number, feed, published, shown FROM listed
      WHERE feed = ?1 AND (shown, number) > (?2, ?3) ORDER BY shown, number LIMIT ?4";
const HIGHEST_FIRST: &str = "SELECT number, feed, published, shown FROM listed
      WHERE feed = ?1 AND number < ?2 ORDER BY number DESC LIMIT ?4";
const LOWEST_FIRST: &str = "SELECT number, feed, published, shown FROM listed
      WHERE feed = ?1 AND number > ?2 ORDER BY number LIMIT ?4";

/// Position of the last article of a feed in each of the two orders.
const NEWEST: &str = "SELECT newest FROM feeds WHERE number = ?1";
const HIGHEST: &str = "SELECT max(number) FROM listed WHERE feed = ?1";

pub(super) fn list(
    connection: &Connection,
    selection: &Selection,
) -> Result<Vec<ListEntry>, LibraryError> {
    let most = selection.most.min(MAX_LISTED);
    let range = Range::of(selection);
    let mut statement = connection.prepare_cached(range.of_order(STATEMENTS))?;
    let mut feed_cursors = feed_cursors(connection, &selection.feeds, &range)?;
    let next = feed_cursors.iter().enumerate().map(|(feed_cursor, of)| Next {
        rank: of.rank,
        row: None,
        feed_cursor,
    });
    let mut next: BinaryHeap<Next> = next.collect();
    let mut list = Vec::new();
    while list.len() < most
        && let Some(mut first) = next.peek_mut()
    {
        if let Some(row) = first.row
            && selection.holds(&row)
            && selection.keeps(&row)
        {
            list.push(row);
        }
        match feed_cursors[first.feed_cursor].next(&mut statement, &range)? {
            Some(row) => {
                first.rank = range.rank_of(row.place());
                first.row = Some(row);
            }
            None => _ = PeekMut::pop(first),
        }
    }
    Ok(list)
}

/// The statements for the orders of [`Range::of_order`].
const STATEMENTS: [&str; 4] = [NEWEST_FIRST, OLDEST_FIRST, HIGHEST_FIRST, LOWEST_FIRST];

/// Returns the number of articles of each feed that the filter accepts.
pub(super) fn count(
    connection: &Connection,
    feeds: &[FeedNumber],
    keep: Option<&ArticleFilter>,
) -> Result<BTreeMap<FeedNumber, u64>, LibraryError> {
    let mut total = connection.prepare_cached("SELECT articles FROM feeds WHERE number = ?1")?;
    let mut all = connection.prepare_cached(
        "SELECT number, feed, published, shown FROM listed
          WHERE feed = ?1 ORDER BY shown DESC, number DESC",
    )?;
    let mut counts = BTreeMap::new();
    for feed in feeds.iter().copied().collect::<BTreeSet<_>>() {
        let total: Option<i64> = total.query_row([feed.get()], |row| row.get(0)).optional()?;
        let Some(total) = total else { continue };
        let mut count = total.cast_unsigned();
        if let Some(keep) = keep {
            count = 0;
            let mut rows = all.query([feed.get()])?;
            while let Some(row) = rows.next()? {
                count += u64::from(keep(&listed(&mut Columns::of(row))?));
            }
        }
        counts.insert(feed, count);
    }
    Ok(counts)
}

/// Next candidate of a feed: a row, or an upper bound while the feed was not read.
struct Next {
    rank: Rank,
    row: Option<ListEntry>,
    feed_cursor: usize,
}

impl Ord for Next {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank.cmp(&other.rank)
    }
}

impl PartialOrd for Next {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Next {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl Eq for Next {}

/// Articles of one feed.
struct FeedCursor {
    feed: FeedNumber,
    /// Upper bound of the rank of the remaining articles.
    rank: Rank,
    /// Start of the next batch.
    from: Bound,
    /// Size of the next batch; 0 after the last one.
    piece: usize,
    rows: std::vec::IntoIter<ListEntry>,
}

/// Creates the shelves of the feeds that may have articles in the range, without duplicates.
fn feed_cursors(
    connection: &Connection,
    feeds: &[FeedNumber],
    range: &Range,
) -> Result<Vec<FeedCursor>, LibraryError> {
    let sql = if range.by_number { HIGHEST } else { NEWEST };
    let mut statement = connection.prepare_cached(sql)?;
    let feeds: BTreeSet<FeedNumber> = feeds.iter().copied().collect();
    let mut feed_cursors = Vec::with_capacity(feeds.len());
    for feed in feeds {
        let last: Option<Option<i64>> =
            statement.query_row([feed.get()], |row| row.get(0)).optional()?;
        let Some(last) = last.flatten() else { continue };
        let last = Bound(last, i64::MAX);
        if last <= range.low {
            continue;
        }
        let from = if range.oldest_first { range.low } else { range.high };
        let first = if range.oldest_first { from } else { last.min(from) };
        feed_cursors.push(FeedCursor {
            feed,
            rank: range.rank(first),
            from,
            piece: FIRST_BATCH,
            rows: Vec::new().into_iter(),
        });
    }
    Ok(feed_cursors)
}

impl FeedCursor {
    fn next(
        &mut self,
        statement: &mut CachedStatement<'_>,
        range: &Range,
    ) -> Result<Option<ListEntry>, LibraryError> {
        if self.rows.as_slice().is_empty() && self.piece > 0 {
            self.read(statement, range)?;
        }
        Ok(self.rows.next().filter(|row| range.holds(row.place())))
    }

    fn read(
        &mut self,
        statement: &mut CachedStatement<'_>,
        range: &Range,
    ) -> Result<(), LibraryError> {
        let Bound(first, second) = self.from;
        let asked = (self.feed.get(), first, second, self.piece as i64);
        let mut rows = statement.query(asked)?;
        let mut piece = Vec::with_capacity(self.piece);
        while let Some(row) = rows.next()? {
            piece.push(listed(&mut Columns::of(row))?);
        }
        if let Some(last) = piece.last() {
            self.from = range.bound(last.place());
        }
        let is_last = piece.len() < self.piece;
        self.piece = if is_last { 0 } else { MAX_BATCH.min(self.piece * 2) };
        self.rows = piece.into_iter();
        Ok(())
    }
}

pub(super) fn listed(columns: &mut Columns<'_>) -> Result<ListEntry, LibraryError> {
    Ok(ListEntry {
        number: columns.article()?,
        feed: columns.feed()?,
        published: columns.moment()?,
        sort_date: columns.moment()?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::schema;
    use super::*;

    /// Every query seeks to its start in one index and does not sort.
    #[test]
    fn a_list_seeks() {
        let (_directory, connection) = schema::empty();
        let by_place = "PRIMARY KEY (feed=? AND (shown,number)";
        let by_number = "COVERING INDEX numbered (feed=? AND number";
        for (sql, seek) in [
            (NEWEST_FIRST, format!("{by_place}<(?,?))")),
            (OLDEST_FIRST, format!("{by_place}>(?,?))")),
            (HIGHEST_FIRST, format!("{by_number}<?)")),
            (LOWEST_FIRST, format!("{by_number}>?)")),
        ] {
            let mut statement = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let plan: Vec<String> = statement
                .query_map((1, 1, 1, 1), |row| row.get(3))
                .unwrap()
                .collect::<Result<_, _>>()
                .unwrap();
            assert_eq!(plan, [format!("SEARCH listed USING {seek}")]);
        }
    }
}
