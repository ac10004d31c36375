//! Full-text search.

use std::collections::BTreeSet;

use feedsync_store::postgres_support::Transaction;

use super::list::{Merge, entry, keeps};
use super::words::Query;
use crate::library::error::LibraryError;
use crate::library::listing::{ListEntry, MAX_LISTED, Selection};
use crate::library::range::Range;

/// Maximum number of matches that are read and sorted. With more matches, scanning the list finds enough of them soon.
const MAX_MATCHES: usize = 5_000;

/// Number of articles of the list that are searched at once.
const SCANNED_AT_ONCE: usize = 500;

pub(super) async fn search(
    transaction: &Transaction<'_>,
    query: &Query,
    selection: &Selection,
) -> Result<Vec<ListEntry>, LibraryError> {
    // The index of words has no other use.
    transaction.batch_execute("SET LOCAL enable_bitmapscan = on").await?;
    let sql = "SELECT number FROM texts WHERE words @@ $1::text::tsquery
                  AND (is_long OR words @@ $2::text::tsquery) LIMIT $3";
    let statement = transaction.prepare_cached(sql).await?;
    let most = MAX_MATCHES as i64 + 1;
    let rows = transaction.query(&statement, &[&query.words, &query.parts, &most]).await?;
    transaction.batch_execute("SET LOCAL enable_bitmapscan = off").await?;
    if rows.len() > MAX_MATCHES {
        return scan(transaction, query, selection).await;
    }
    let numbers: Vec<i64> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    sort(transaction, &numbers, selection).await
}

/// Reads all matches, and sorts those that are selected.
async fn sort(
    transaction: &Transaction<'_>,
    numbers: &[i64],
    selection: &Selection,
) -> Result<Vec<ListEntry>, LibraryError> {
    let sql = "SELECT number, feed, published, shown FROM articles WHERE number = ANY($1)";
    let statement = transaction.prepare_cached(sql).await?;
    let rows = transaction.query(&statement, &[&numbers]).await?;
    let mut found: Vec<ListEntry> = rows.iter().map(entry).collect::<Result<_, _>>()?;
    let feeds: BTreeSet<_> = selection.feeds.iter().collect();
    found.retain(|row| feeds.contains(&row.feed) && selection.holds(row));
    let range = Range::of(selection);
    found.sort_by_key(|row| std::cmp::Reverse(range.rank_of(row.place())));
    let (most, mut kept) = (selection.most.min(MAX_LISTED), Vec::new());
    for row in found {
        if kept.len() == most {
            break;
        }
        if keeps(selection.keep.as_ref(), &row)? {
            kept.push(row);
        }
    }
    Ok(kept)
}

/// Scans the list for matches.
async fn scan(
    transaction: &Transaction<'_>,
    query: &Query,
    selection: &Selection,
) -> Result<Vec<ListEntry>, LibraryError> {
    let sql = "SELECT number FROM texts WHERE number = ANY($1) AND words @@ $2::text::tsquery
                  AND (is_long OR words @@ $3::text::tsquery)";
    let statement = transaction.prepare_cached(sql).await?;
    let (most, mut kept) = (selection.most.min(MAX_LISTED), Vec::new());
    let mut merge = Merge::start(transaction, selection).await?;
    while kept.len() < most {
        let mut some = Vec::new();
        while some.len() < SCANNED_AT_ONCE
            && let Some(row) = merge.next().await?
        {
            if selection.holds(&row) && keeps(selection.keep.as_ref(), &row)? {
                some.push(row);
            }
        }
        if some.is_empty() {
            break;
        }
        let numbers: Vec<i64> = some.iter().map(|row| row.number.get()).collect();
        let rows = transaction.query(&statement, &[&numbers, &query.words, &query.parts]).await?;
        let matching: BTreeSet<i64> =
            rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
        some.retain(|row| matching.contains(&row.number.get()));
        kept.extend(some);
    }
    kept.truncate(most);
    Ok(kept)
}
