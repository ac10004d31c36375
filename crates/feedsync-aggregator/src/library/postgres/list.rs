//! Lists: a lazy merge of the lists of the feeds.
//!
//! The articles of each feed are sorted in two indexes. The first statement reads the first article of each feed, and the
//! next ones read batches of the feeds whose articles may come next, many feeds at once.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;

use feedsync_reader_api::FeedNumber;
use feedsync_store::postgres_support::{Row, Transaction};
use futures_util::TryStreamExt as _;

use super::columns::Columns;
use crate::library::error::LibraryError;
use crate::library::listing::{ArticleFilter, ListEntry, MAX_LISTED, Selection};
use crate::library::range::{Bound, Range, Rank};

/// Sizes of the first and of the largest batch of a feed, in rows.
const FIRST_BATCH: i64 = 16;
const MAX_BATCH: i64 = 1_024;

/// Number of feeds that one statement reads.
const FEEDS_AT_ONCE: usize = 64;

/// Each query has one array for each of: feed, exclusive bound (two numbers), maximum number of rows.
macro_rules! batches {
    ($bound:literal, $order:literal) => {
        concat!(
            "SELECT rows.* FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[])
                            AS wanted (feed, first, second, most)
             CROSS JOIN LATERAL (SELECT number, feed, published, shown FROM articles
                                  WHERE feed = wanted.feed AND ",
            $bound,
            " ORDER BY ",
            $order,
            " LIMIT wanted.most) AS rows"
        )
    };
}

const NEWEST_FIRST: &str =
    batches!("(shown, number) < (wanted.first, wanted.second)", "shown DESC, number DESC");
const OLDEST_FIRST: &str =
    batches!("(shown, number) > (wanted.first, wanted.second)", "shown, number");
const HIGHEST_FIRST: &str = batches!("number < wanted.first + 0 * wanted.second", "number DESC");
const LOWEST_FIRST: &str = batches!("number > wanted.first + 0 * wanted.second", "number");

/// The statements for the orders of [`Range::of_order`].
const STATEMENTS: [&str; 4] = [NEWEST_FIRST, OLDEST_FIRST, HIGHEST_FIRST, LOWEST_FIRST];

pub(super) async fn list(
    transaction: &Transaction<'_>,
    selection: &Selection,
) -> Result<Vec<ListEntry>, LibraryError> {
    let most = selection.most.min(MAX_LISTED);
    let mut list = Vec::new();
    if most == 0 {
        return Ok(list);
    }
    let mut merge = Merge::start(transaction, selection).await?;
    while list.len() < most
        && let Some(row) = merge.next().await?
    {
        if selection.holds(&row) && keeps(selection.keep.as_ref(), &row)? {
            list.push(row);
        }
    }
    Ok(list)
}

/// Whether a filter accepts an article. A filter that panics affects only its caller.
pub(super) fn keeps(keep: Option<&ArticleFilter>, row: &ListEntry) -> Result<bool, LibraryError> {
    let keeps = || keep.is_none_or(|keep| keep(row));
    catch_unwind(AssertUnwindSafe(keeps)).map_err(|_| LibraryError::Decision)
}

/// Returns the number of articles of each feed that the filter accepts.
pub(super) async fn count(
    transaction: &Transaction<'_>,
    feeds: &[FeedNumber],
    keep: Option<&ArticleFilter>,
) -> Result<BTreeMap<FeedNumber, u64>, LibraryError> {
    let feeds: Vec<i64> = feeds.iter().map(|feed| feed.get()).collect();
    let sql = "SELECT number, articles FROM feeds WHERE number = ANY($1)";
    let statement = transaction.prepare_cached(sql).await?;
    let mut counts = BTreeMap::new();
    for row in transaction.query(&statement, &[&feeds]).await? {
        let mut columns = Columns::of(&row);
        let (feed, articles) = (columns.feed()?, columns.number()?);
        counts.insert(feed, if keep.is_some() { 0 } else { articles });
    }
    if keep.is_some() {
        let sql = "SELECT number, feed, published, shown FROM articles WHERE feed = ANY($1)";
        let statement = transaction.prepare_cached(sql).await?;
        let mut rows = pin!(transaction.query_raw(&statement, [&feeds]).await?);
        while let Some(row) = rows.try_next().await? {
            let row = Columns::of(&row).listed()?;
            if keeps(keep, &row)? {
                *counts.entry(row.feed).or_default() += 1;
            }
        }
    }
    Ok(counts)
}

/// The articles of several feeds in one order.
pub(super) struct Merge<'a> {
    transaction: &'a Transaction<'a>,
    range: Range,
    cursors: Vec<Cursor>,
    /// The rank of the next article of each feed that is not at its end, or an upper bound of it.
    next: BinaryHeap<(Rank, usize)>,
}

/// The articles of one feed.
struct Cursor {
    feed: i64,
    /// Start of the next batch.
    from: Bound,
    /// Size of the next batch; 0 after the last one.
    piece: i64,
    rows: VecDeque<ListEntry>,
}

impl<'a> Merge<'a> {
    pub(super) async fn start(
        transaction: &'a Transaction<'a>,
        selection: &Selection,
    ) -> Result<Self, LibraryError> {
        let range = Range::of(selection);
        let from = if range.oldest_first { range.low } else { range.high };
        let feeds: BTreeSet<i64> = selection.feeds.iter().map(|feed| feed.get()).collect();
        let cursor = |feed| Cursor { feed, from, piece: 1, rows: VecDeque::new() };
        let cursors: Vec<_> = feeds.into_iter().map(cursor).collect();
        let mut merge = Self { transaction, range, cursors, next: BinaryHeap::new() };
        merge.read((0..merge.cursors.len()).collect()).await?;
        Ok(merge)
    }

    /// The next article.
    pub(super) async fn next(&mut self) -> Result<Option<ListEntry>, LibraryError> {
        loop {
            let Some(&(_, first)) = self.next.peek() else { return Ok(None) };
            if let Some(row) = self.cursors[first].rows.pop_front() {
                self.next.pop();
                let cursor = &self.cursors[first];
                let last = self.range.rank_of(row.place());
                match cursor.rows.front() {
                    Some(row) => self.next.push((self.range.rank_of(row.place()), first)),
                    None if cursor.piece > 0 => self.next.push((last, first)),
                    None => {}
                }
                return Ok(self.range.holds(row.place()).then_some(row).or_else(|| {
                    // All articles that follow are outside the range, too.
                    self.next.clear();
                    None
                }));
            }
            let mut empty = Vec::new();
            while let Some(&(_, cursor)) = self.next.peek()
                && self.cursors[cursor].rows.is_empty()
                && empty.len() < FEEDS_AT_ONCE
            {
                self.next.pop();
                empty.push(cursor);
            }
            self.read(empty).await?;
        }
    }

    /// Reads the next batches of these cursors, which have no rows.
    async fn read(&mut self, cursors: Vec<usize>) -> Result<(), LibraryError> {
        let wanted = || cursors.iter().map(|cursor| &self.cursors[*cursor]);
        let feeds: Vec<i64> = wanted().map(|cursor| cursor.feed).collect();
        let firsts: Vec<i64> = wanted().map(|cursor| cursor.from.0).collect();
        let seconds: Vec<i64> = wanted().map(|cursor| cursor.from.1).collect();
        let pieces: Vec<i64> = wanted().map(|cursor| cursor.piece).collect();
        let statement = self.transaction.prepare_cached(self.range.of_order(STATEMENTS)).await?;
        let rows =
            self.transaction.query(&statement, &[&feeds, &firsts, &seconds, &pieces]).await?;
        let mut found: BTreeMap<i64, Vec<ListEntry>> = BTreeMap::new();
        for row in &rows {
            let row = entry(row)?;
            found.entry(row.feed.get()).or_default().push(row);
        }
        for place in cursors {
            let cursor = &mut self.cursors[place];
            let mut rows = found.remove(&cursor.feed).unwrap_or_default();
            rows.sort_by_key(|row| std::cmp::Reverse(self.range.rank_of(row.place())));
            let is_last = (rows.len() as i64) < cursor.piece;
            cursor.piece = match cursor.piece {
                _ if is_last => 0,
                1 => FIRST_BATCH,
                piece => MAX_BATCH.min(piece * 2),
            };
            if let (Some(first), Some(last)) = (rows.first(), rows.last()) {
                cursor.from = self.range.bound(last.place());
                self.next.push((self.range.rank_of(first.place()), place));
            }
            cursor.rows = rows.into();
        }
        Ok(())
    }
}

pub(super) fn entry(row: &Row) -> Result<ListEntry, LibraryError> {
    Columns::of(row).listed()
}

#[cfg(test)]
mod tests {
    use feedsync_test::postgres::Cluster;
    use futures_util::FutureExt as _;

    use super::super::PostgresLibrary;
    use super::*;

    /// Every query seeks to the start of each feed in one index, reads nothing else, and does not sort.
    #[test]
    fn a_list_seeks() {
        let wait = |future| tokio::runtime::Runtime::new().unwrap().block_on(future);
        let plans = wait(async {
            let library = PostgresLibrary::open(&Cluster::shared().database()).await.unwrap();
            let read = library.connections.read(|transaction| {
                async move {
                    let mut plans = Vec::new();
                    for sql in STATEMENTS {
                        let (sql, numbers) = (format!("EXPLAIN {sql}"), &[1_i64][..]);
                        let rows = transaction
                            .query(&sql, &[&numbers, &numbers, &numbers, &numbers])
                            .await?;
                        let lines: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
                        plans.push(lines.join("\n"));
                    }
                    Ok::<_, LibraryError>(plans)
                }
                .boxed()
            });
            read.await.unwrap()
        });
        let indexes =
            ["articles_listed", "articles_listed", "articles_numbered", "articles_numbered"];
        for (plan, index) in plans.iter().zip(indexes) {
            assert!(
                plan.contains(&format!("Index Only Scan using {index}"))
                    || plan.contains(&format!("Index Only Scan Backward using {index}")),
                "{plan}"
            );
            assert!(!plan.contains("Sort") && !plan.contains("Seq Scan"), "{plan}");
        }
    }
}
