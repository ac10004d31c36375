//! Claims and schedules of polling.

use std::time::Duration;

use feedsync_log::Millis;
use feedsync_reading_state::IdentificationState;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::columns::{Columns, damaged, moment};
use super::feeds::{self, feed_columns};
use crate::library::error::LibraryError;
use crate::library::feed::{DueFeed, MAX_CLAIM, MAX_HOLD, MAX_PAUSE, StoredFeed};
use feedsync_reader_api::FeedNumber;

pub(super) fn claim(
    connection: &Connection,
    now: Millis,
    until: Millis,
    most: usize,
) -> Result<Vec<DueFeed>, LibraryError> {
    make_due_if_future(connection, now)?;
    let mut claimed = Vec::new();
    {
        let mut statement = connection.prepare_cached(concat!(
            "SELECT ",
            feed_columns!(),
            " FROM feeds WHERE readers > 0 AND due <= ?1 ORDER BY due, number LIMIT ?2"
        ))?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let mut rows = statement.query(params![moment(now), most])?;
        while let Some(row) = rows.next()? {
            let StoredFeed { number, address, state, .. } = feeds::stored_feed(row)?;
            claimed.push(DueFeed { number, address, state });
        }
    }
    let sql = "UPDATE feeds SET due = ?2, claimed = ?2 WHERE number = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    for feed in &claimed {
        statement.execute(params![feed.number.get(), moment(until)])?;
    }
    Ok(claimed)
}

/// Makes feeds due now whose times were written while the clock was ahead. Such feeds were checked in the future,
/// or are claimed or due later than [`MAX_CLAIM`], [`MAX_HOLD`] and [`MAX_PAUSE`] allow. Feeds that are being
/// polled and feeds that are gone stay.
fn make_due_if_future(connection: &Connection, now: Millis) -> Result<(), LibraryError> {
    let after = |pause| after(now, pause);
    // Each condition finds its rows by an index. The `+` excludes the other comparisons of `due` from that choice.
    let wrong = [
        ("checked > ?3", now),
        ("checked IS NULL AND due > ?3", after(MAX_HOLD)),
        ("claimed > ?3", after(MAX_CLAIM)),
        // Feeds that are gone are due at the end of time.
        ("due > ?3 AND due < ?4", after(MAX_PAUSE)),
    ];
    for (is_wrong, bound) in wrong {
        let sql = format!(
            "UPDATE feeds SET due = ?1, claimed = NULL
              WHERE readers > 0 AND {is_wrong} AND gone = 0 AND +due > ?1 AND +due <= ?4
                AND (claimed IS NULL OR claimed <= ?1 OR claimed > ?2)"
        );
        let latest_claim = moment(after(MAX_CLAIM));
        connection.prepare_cached(&sql)?.execute(params![
            moment(now),
            latest_claim,
            moment(bound),
            moment(Millis::MAX)
        ])?;
    }
    Ok(())
}

fn after(now: Millis, pause: Duration) -> Millis {
    now.after(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX))
}

pub(super) fn next_due(connection: &Connection) -> Result<Option<Millis>, LibraryError> {
    let sql = "SELECT min(due) FROM feeds WHERE readers > 0";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    rows.next()?.map_or(Ok(None), |row| Columns::of(row).optional_moment())
}

pub(super) fn make_due(
    connection: &Connection,
    feeds: &[FeedNumber],
    now: Millis,
) -> Result<(), LibraryError> {
    let mut statement = connection.prepare_cached(
        "UPDATE feeds SET due = ?2
          WHERE number = ?1 AND due > ?2 AND ifnull(claimed, 0) NOT BETWEEN ?2 + 1 AND ?3",
    )?;
    let longest_claim = moment(after(now, MAX_CLAIM));
    for feed in feeds {
        statement.execute(params![feed.get(), moment(now), longest_claim])?;
    }
    Ok(())
}

/// Returns the time until which a host is on hold, if that is later than now, and not later than [`MAX_HOLD`]
/// allows.
pub(super) fn host_hold(
    connection: &Connection,
    host: &str,
    now: Millis,
) -> Result<Option<Millis>, LibraryError> {
    let sql = "SELECT until FROM holds WHERE host = ?1 AND until > ?2 AND until <= ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let latest = moment(after(now, MAX_HOLD));
    let mut rows = statement.query(params![host, moment(now), latest])?;
    rows.next()?.map_or(Ok(None), |row| Columns::of(row).optional_moment())
}

pub(super) fn hold(
    connection: &Connection,
    host: &str,
    until: Millis,
    now: Millis,
) -> Result<(), LibraryError> {
    let sql = "DELETE FROM holds WHERE until <= ?1 OR until > ?2";
    let latest = moment(after(now, MAX_HOLD));
    connection.prepare_cached(sql)?.execute([moment(now), latest])?;
    let sql = "INSERT OR REPLACE INTO holds (host, until) VALUES (?1, ?2)";
    connection.prepare_cached(sql)?.execute(params![host, moment(until)])?;
    Ok(())
}

pub(super) fn identification_state(
    connection: &Connection,
    feed: FeedNumber,
) -> Result<IdentificationState, LibraryError> {
    let stored: Option<String> = connection
        .prepare_cached("SELECT articles FROM remembered WHERE feed = ?1")?
        .query_row([feed.get()], |row| row.get(0))
        .optional()?;
    let read = |text: String| serde_json::from_str(&text).map_err(|error| damaged(&text, error));
    stored.map_or(Ok(IdentificationState::default()), read)
}

/// Stores the identification state of a feed, if it changed.
pub(super) fn store_identification_state(
    connection: &Connection,
    feed: FeedNumber,
    identification_state: &IdentificationState,
) -> Result<(), LibraryError> {
    let text = serde_json::to_string(identification_state)
        .map_err(|error| LibraryError::Database(error.into()))?;
    connection
        .prepare_cached(
            "INSERT INTO remembered (feed, articles) VALUES (?1, ?2)
             ON CONFLICT (feed) DO UPDATE SET articles = ?2 WHERE articles <> ?2",
        )?
        .execute(params![feed.get(), text])?;
    Ok(())
}
