//! Rows of feeds.

use std::time::Duration;

use feedsync_formats::PollingHints;
use feedsync_log::Millis;
use feedsync_reading_state::FeedAddress;
use rusqlite::{Connection, Row, params};

use super::columns::{Columns, moment};
use crate::library::error::LibraryError;
use crate::library::feed::{FeedHead, PollState, StoredFeed};
use feedsync_reader_api::FeedNumber;

/// Columns that [`stored_feed`] reads, in its order.
macro_rules! feed_columns {
    () => {
        "feeds.number, feeds.address, feeds.due, feeds.every, feeds.checked, feeds.changed, \
         feeds.etag, feeds.last_modified, feeds.digest, feeds.failures, feeds.fault, feeds.gone, \
         feeds.led_to, feeds.wished, feeds.idle_hours, feeds.idle_days, feeds.title, feeds.site, \
         feeds.description, feeds.icon, feeds.hub, feeds.topic, feeds.articles, feeds.newest"
    };
}
pub(super) use feed_columns;

pub(super) fn stored_feed(row: &Row<'_>) -> Result<StoredFeed, LibraryError> {
    let mut columns = Columns::of(row);
    Ok(StoredFeed {
        number: columns.feed()?,
        address: columns.parsed()?,
        state: PollState {
            due: columns.moment()?,
            every: Duration::from_millis(columns.number()?),
            checked: columns.optional_moment()?,
            changed: columns.optional_moment()?,
            etag: columns.get()?,
            last_modified: columns.get()?,
            digest: columns.get()?,
            failures: columns.number()?,
            fault: columns.get()?,
            gone: columns.get()?,
            redirect_target: columns.optional_parsed()?,
            polling_hints: PollingHints {
                every: columns
                    .get::<Option<u32>>()?
                    .map(|wished| Duration::from_secs(wished.into())),
                idle_hours: columns.number()?,
                idle_days: columns.number()?,
            },
        },
        head: FeedHead {
            title: columns.get()?,
            site: columns.get()?,
            description: columns.get()?,
            icon: columns.get()?,
            hub: columns.get()?,
            topic: columns.get()?,
        },
        articles: columns.number()?,
        newest: columns.optional_moment()?,
    })
}

pub(super) fn by_number(
    connection: &Connection,
    number: FeedNumber,
) -> Result<Option<StoredFeed>, LibraryError> {
    let sql = concat!("SELECT ", feed_columns!(), " FROM feeds WHERE number = ?1");
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([number.get()])?;
    rows.next()?.map(stored_feed).transpose()
}

pub(super) fn by_address(
    connection: &Connection,
    address: &FeedAddress,
) -> Result<Option<StoredFeed>, LibraryError> {
    let sql = concat!("SELECT ", feed_columns!(), " FROM feeds WHERE address = ?1");
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([address.as_str()])?;
    rows.next()?.map(stored_feed).transpose()
}

/// Stores the state of polling and ends the claim; returns whether the feed exists.
pub(super) fn write_state(
    connection: &Connection,
    feed: FeedNumber,
    state: &PollState,
) -> Result<bool, LibraryError> {
    let millis = i64::try_from(state.every.as_millis()).unwrap_or(i64::MAX);
    let written = connection
        .prepare_cached(
            "UPDATE feeds SET claimed = NULL, due = ?2, every = ?3, checked = ?4, changed = ?5,
                              etag = ?6, last_modified = ?7, digest = ?8, failures = ?9,
                              fault = ?10, gone = ?11, led_to = ?12, wished = ?13,
                              idle_hours = ?14, idle_days = ?15
              WHERE number = ?1",
        )?
        .execute(params![
            feed.get(),
            moment(state.due),
            millis,
            state.checked.map(moment),
            state.changed.map(moment),
            state.etag,
            state.last_modified,
            state.digest,
            state.failures,
            state.fault,
            state.gone,
            state.redirect_target.as_ref().map(FeedAddress::as_str),
            state
                .polling_hints
                .every
                .map(|every| u32::try_from(every.as_secs()).unwrap_or(u32::MAX)),
            state.polling_hints.idle_hours,
            state.polling_hints.idle_days,
        ])?;
    Ok(written > 0)
}

/// Stores the metadata of a feed, if they changed.
pub(super) fn write_head(
    connection: &Connection,
    feed: FeedNumber,
    head: &FeedHead,
) -> Result<(), LibraryError> {
    let FeedHead { title, site, description, icon, hub, topic } = head;
    connection
        .prepare_cached(
            "UPDATE feeds SET title = ?2, site = ?3, description = ?4, icon = ?5, hub = ?6, topic = ?7
              WHERE number = ?1
                AND (title, site, description, icon, hub, topic) IS NOT (?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![feed.get(), title, site, description, icon, hub, topic])?;
    Ok(())
}

/// Subtracts deleted articles from the count of a feed.
pub(super) fn remove_articles(
    connection: &Connection,
    feed: FeedNumber,
    count: usize,
) -> Result<(), LibraryError> {
    connection
        .prepare_cached(
            "UPDATE feeds SET articles = articles - ?2,
                              newest = (SELECT max(shown) FROM listed WHERE feed = ?1)
              WHERE number = ?1",
        )?
        .execute(params![feed.get(), count as i64])?;
    Ok(())
}

/// Sort date of the newest article of a feed.
pub(super) fn newest(
    connection: &Connection,
    feed: FeedNumber,
) -> Result<Option<Millis>, LibraryError> {
    let sql = "SELECT newest FROM feeds WHERE number = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let newest: Option<i64> = statement.query_row([feed.get()], |row| row.get(0))?;
    Ok(newest.map(|newest| Millis::new(newest as u64)))
}

/// Adds new articles to the count of a feed.
pub(super) fn add_articles(
    connection: &Connection,
    feed: FeedNumber,
    count: usize,
    newest: Millis,
) -> Result<(), LibraryError> {
    connection
        .prepare_cached(
            "UPDATE feeds SET articles = articles + ?2, newest = max(ifnull(newest, 0), ?3)
              WHERE number = ?1",
        )?
        .execute(params![feed.get(), count as i64, moment(newest)])?;
    Ok(())
}
