//! Deletes articles and feeds in batches.

use std::collections::BTreeSet;

use feedsync_log::Millis;
use feedsync_reader_api::FeedNumber;
use feedsync_reading_state::ArticleId;
use feedsync_store::postgres_support::Transaction;

use super::columns::Columns;
use super::{articles, feeds, subscriptions};
use crate::library::error::LibraryError;
use crate::library::retention::{FeedDeletion, Retention, SWEEP_BATCH};
use crate::library::stored::moment;

/// Number of articles that one statement examines.
const EXAMINED: i64 = 2_000;

/// Deletes a batch of articles that are not retained; returns their number. If that is less than a full batch,
/// nothing remains to be deleted.
pub(super) async fn delete_batch(
    transaction: &Transaction<'_>,
    feed: FeedNumber,
    keep: &Retention,
) -> Result<usize, LibraryError> {
    if !feeds::lock(transaction, feed).await? {
        return Ok(0);
    }
    let Some((sort_date, number)) = oldest_of_the_newest(transaction, feed, keep).await? else {
        return Ok(0);
    };
    let sql = "SELECT number, shown, name FROM articles
                WHERE feed = $1 AND (shown, number) < ($2, $3) AND (shown, number) > ($4, $5)
                  AND received < $6 AND NOT present
                ORDER BY shown, number LIMIT $7";
    let statement = transaction.prepare_cached(sql).await?;
    let since = moment(keep.received_since);
    let (mut after, mut swept) = ((i64::MIN, i64::MIN), Vec::new());
    loop {
        let rows = transaction
            .query(
                &statement,
                &[&feed.get(), &sort_date, &number, &after.0, &after.1, &since, &EXAMINED],
            )
            .await?;
        for row in &rows {
            let mut columns = Columns::of(row);
            let (number, shown): (i64, i64) = (columns.get()?, columns.get()?);
            let name: ArticleId = columns.parsed()?;
            after = (shown, number);
            if swept.len() < SWEEP_BATCH && !keep.names.contains(&name) {
                swept.push(number);
            }
        }
        if swept.len() == SWEEP_BATCH || (rows.len() as i64) < EXAMINED {
            break;
        }
    }
    remove(transaction, feed, &swept).await
}

/// Position of the last of the newest articles; `None` if there are not more articles than that.
async fn oldest_of_the_newest(
    transaction: &Transaction<'_>,
    feed: FeedNumber,
    keep: &Retention,
) -> Result<Option<(i64, i64)>, LibraryError> {
    let Some(others) = keep.newest_before_last() else {
        return Ok(Some((i64::MAX, i64::MAX)));
    };
    let sql = "SELECT shown, number FROM articles WHERE feed = $1
                ORDER BY shown DESC, number DESC LIMIT 1 OFFSET $2";
    let statement = transaction.prepare_cached(sql).await?;
    let row = transaction.query_opt(&statement, &[&feed.get(), &others]).await?;
    row.map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).transpose()
}

async fn remove(
    transaction: &Transaction<'_>,
    feed: FeedNumber,
    numbers: &[i64],
) -> Result<usize, LibraryError> {
    if !numbers.is_empty() {
        articles::remove(transaction, numbers).await?;
        feeds::remove_articles(transaction, feed, numbers.len()).await?;
    }
    Ok(numbers.len())
}

/// Takes one step of deleting the feeds without readers since before the given time.
pub(super) async fn delete_abandoned_feeds(
    transaction: &Transaction<'_>,
    abandoned_before: Millis,
    spared: &BTreeSet<FeedNumber>,
) -> Result<FeedDeletion, LibraryError> {
    // Nobody subscribes to the feed meanwhile.
    subscriptions::lock_feed_counter(transaction).await?;
    let spared: Vec<i64> = spared.iter().map(|feed| feed.get()).collect();
    let sql = "SELECT number FROM feeds WHERE readers = 0 AND abandoned < $1 AND number <> ALL($2)
                ORDER BY abandoned, number LIMIT 1";
    let statement = transaction.prepare_cached(sql).await?;
    let before = moment(abandoned_before);
    let Some(row) = transaction.query_opt(&statement, &[&before, &spared]).await? else {
        return Ok(FeedDeletion::Nothing);
    };
    let feed = FeedNumber::new(row.try_get(0)?);
    feeds::lock(transaction, feed).await?;
    let sql = "SELECT number FROM articles WHERE feed = $1 LIMIT $2";
    let statement = transaction.prepare_cached(sql).await?;
    let rows = transaction.query(&statement, &[&feed.get(), &(SWEEP_BATCH as i64)]).await?;
    let some: Vec<i64> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    if remove(transaction, feed, &some).await? == 0 {
        let statement = transaction.prepare_cached("DELETE FROM feeds WHERE number = $1").await?;
        transaction.execute(&statement, &[&feed.get()]).await?;
        return Ok(FeedDeletion::Feed);
    }
    // If a reader subscribes now, the document must be fetched again, since some of its articles are deleted.
    let sql = "UPDATE feeds SET etag = NULL, last_modified = NULL, digest = NULL WHERE number = $1";
    let statement = transaction.prepare_cached(sql).await?;
    transaction.execute(&statement, &[&feed.get()]).await?;
    Ok(FeedDeletion::Articles)
}
