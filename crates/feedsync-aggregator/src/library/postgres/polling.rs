//! Claims and schedules of polling.

use std::time::Duration;

use feedsync_log::Millis;
use feedsync_reader_api::FeedNumber;
use feedsync_reading_state::IdentificationState;
use feedsync_store::postgres_support::Transaction;
use sha2::{Digest as _, Sha256};

use super::columns::Columns;
use super::feeds::{self, feed_columns};
use crate::library::error::LibraryError;
use crate::library::feed::{DueFeed, MAX_CLAIM, MAX_HOLD, MAX_PAUSE, StoredFeed};
use crate::library::stored::{damaged, moment};

/// Claims feeds. Feeds that another node claims or settles at this moment are left to it.
pub(super) async fn claim(
    transaction: &Transaction<'_>,
    now: Millis,
    until: Millis,
    most: usize,
) -> Result<Vec<DueFeed>, LibraryError> {
    make_due_if_future(transaction, now).await?;
    let sql = concat!(
        "WITH next AS MATERIALIZED (SELECT ",
        feed_columns!(),
        " FROM feeds WHERE readers > 0 AND due <= $1 ORDER BY due, number LIMIT $3
           FOR UPDATE SKIP LOCKED),
         claimed AS (UPDATE feeds SET due = $2, claimed = $2 FROM next
                      WHERE feeds.number = next.number RETURNING feeds.number)
         SELECT next.* FROM next JOIN claimed USING (number) ORDER BY next.due, next.number"
    );
    let statement = transaction.prepare_cached(sql).await?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let rows = transaction.query(&statement, &[&moment(now), &moment(until), &most]).await?;
    let due = |row| {
        let StoredFeed { number, address, state, .. } = feeds::stored_feed(row)?;
        Ok(DueFeed { number, address, state })
    };
    rows.iter().map(due).collect()
}

/// Makes feeds due now whose times were written while the clock was ahead. Such feeds were checked in the future, or are
/// claimed or due later than [`MAX_CLAIM`], [`MAX_HOLD`] and [`MAX_PAUSE`] allow. Feeds that are being polled and feeds
/// that are gone stay.
async fn make_due_if_future(
    transaction: &Transaction<'_>,
    now: Millis,
) -> Result<(), LibraryError> {
    // Each condition finds its rows by an index. Feeds that are gone are due at the end of time.
    let sql = "UPDATE feeds SET due = $1, claimed = NULL WHERE number = ANY(ARRAY(
                 SELECT number FROM feeds WHERE number = ANY(ARRAY(
                     SELECT number FROM feeds WHERE readers > 0 AND checked > $1
                     UNION ALL
                     SELECT number FROM feeds WHERE readers > 0 AND due > $2 AND checked IS NULL
                     UNION ALL
                     SELECT number FROM feeds WHERE claimed > $3
                     UNION ALL
                     SELECT number FROM feeds WHERE readers > 0 AND due > $4 AND due < $5))
                   AND readers > 0 AND NOT gone AND due > $1 AND due <= $5
                   AND (claimed IS NULL OR claimed <= $1 OR claimed > $3)
                 ORDER BY number FOR UPDATE SKIP LOCKED))";
    let statement = transaction.prepare_cached(sql).await?;
    let bounds =
        [Duration::ZERO, MAX_HOLD, MAX_CLAIM, MAX_PAUSE].map(|pause| moment(after(now, pause)));
    let end = moment(Millis::MAX);
    let [now, hold, claim, pause] = &bounds;
    transaction.execute(&statement, &[now, hold, claim, pause, &end]).await?;
    Ok(())
}

fn after(now: Millis, pause: Duration) -> Millis {
    now.after(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX))
}

pub(super) async fn next_due(
    transaction: &Transaction<'_>,
) -> Result<Option<Millis>, LibraryError> {
    let sql = "SELECT due FROM feeds WHERE readers > 0 ORDER BY due, number LIMIT 1";
    let statement = transaction.prepare_cached(sql).await?;
    let row = transaction.query_opt(&statement, &[]).await?;
    row.as_ref().map(|row| Columns::of(row).moment()).transpose()
}

pub(super) async fn make_due(
    transaction: &Transaction<'_>,
    feeds: &[FeedNumber],
    now: Millis,
) -> Result<(), LibraryError> {
    let feeds: Vec<i64> = feeds.iter().map(|feed| feed.get()).collect();
    feeds::lock_all(transaction, &feeds).await?;
    let sql = "UPDATE feeds SET due = $2 WHERE number = ANY($1) AND due > $2
                 AND (claimed IS NULL OR claimed <= $2 OR claimed > $3)";
    let statement = transaction.prepare_cached(sql).await?;
    let longest_claim = moment(after(now, MAX_CLAIM));
    transaction.execute(&statement, &[&feeds, &moment(now), &longest_claim]).await?;
    Ok(())
}

/// Returns the time until which a host is on hold, if that is later than now, and not later than [`MAX_HOLD`]
/// allows.
pub(super) async fn host_hold(
    transaction: &Transaction<'_>,
    host: &str,
    now: Millis,
) -> Result<Option<Millis>, LibraryError> {
    let sql = "SELECT until FROM holds WHERE host = $1 AND until > $2 AND until <= $3";
    let statement = transaction.prepare_cached(sql).await?;
    let latest = moment(after(now, MAX_HOLD));
    let host = Sha256::digest(host).to_vec();
    let row = transaction.query_opt(&statement, &[&host, &moment(now), &latest]).await?;
    row.as_ref().map(|row| Columns::of(row).moment()).transpose()
}

pub(super) async fn hold(
    transaction: &Transaction<'_>,
    host: &str,
    until: Millis,
    now: Millis,
) -> Result<(), LibraryError> {
    let sql = "DELETE FROM holds WHERE host = ANY(ARRAY(
                 SELECT host FROM holds WHERE until <= $1 OR until > $2 FOR UPDATE SKIP LOCKED))";
    let statement = transaction.prepare_cached(sql).await?;
    let latest = moment(after(now, MAX_HOLD));
    transaction.execute(&statement, &[&moment(now), &latest]).await?;
    let sql = "INSERT INTO holds (host, until) VALUES ($1, $2)
               ON CONFLICT (host) DO UPDATE SET until = excluded.until";
    let statement = transaction.prepare_cached(sql).await?;
    let host = Sha256::digest(host).to_vec();
    transaction.execute(&statement, &[&host, &moment(until)]).await?;
    Ok(())
}

pub(super) async fn identification_state(
    transaction: &Transaction<'_>,
    feed: FeedNumber,
) -> Result<IdentificationState, LibraryError> {
    let sql = "SELECT state FROM identification_states WHERE feed = $1";
    let statement = transaction.prepare_cached(sql).await?;
    let Some(row) = transaction.query_opt(&statement, &[&feed.get()]).await? else {
        return Ok(IdentificationState::default());
    };
    let text: &str = row.try_get(0)?;
    serde_json::from_str(text).map_err(|error| damaged(text, error))
}

/// Stores the identification state of a feed, if it changed.
pub(super) async fn store_identification_state(
    transaction: &Transaction<'_>,
    feed: FeedNumber,
    state: &IdentificationState,
) -> Result<(), LibraryError> {
    let text =
        serde_json::to_string(state).map_err(|error| LibraryError::Database(error.into()))?;
    let sql = "INSERT INTO identification_states (feed, state) VALUES ($1, $2)
               ON CONFLICT (feed) DO UPDATE SET state = excluded.state
                WHERE identification_states.state <> excluded.state";
    let statement = transaction.prepare_cached(sql).await?;
    transaction.execute(&statement, &[&feed.get(), &text]).await?;
    Ok(())
}
