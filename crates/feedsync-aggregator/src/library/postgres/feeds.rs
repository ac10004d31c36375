//! Rows of feeds.

use std::time::Duration;

use feedsync_formats::PollingHints;
use feedsync_log::Millis;
use feedsync_reader_api::FeedNumber;
use feedsync_reading_state::FeedAddress;
use feedsync_store::postgres_support::{Row, Transaction};
use sha2::{Digest as _, Sha256};

use super::columns::{Columns, bytes};
use crate::library::error::LibraryError;
use crate::library::feed::{FeedHead, PollState, StoredFeed};
use crate::library::stored::{damaged, moment, parse};

/// Columns that [`stored_feed`] reads, in its order.
macro_rules! feed_columns {
    () => {
        "feeds.number, feeds.address, feeds.due, feeds.every, feeds.checked, feeds.changed, \
         feeds.etag, feeds.last_modified, feeds.digest, feeds.failures, feeds.fault, feeds.gone, \
         feeds.redirect, feeds.requested, feeds.idle_hours, feeds.idle_days, feeds.title, feeds.site, \
         feeds.description, feeds.icon, feeds.hub, feeds.topic, feeds.articles, feeds.newest"
    };
}
pub(super) use feed_columns;

pub(super) fn stored_feed(row: &Row) -> Result<StoredFeed, LibraryError> {
    let mut columns = Columns::of(row);
    Ok(StoredFeed {
        number: columns.feed()?,
        address: parse(columns.get()?)?,
        state: PollState {
            due: columns.moment()?,
            every: Duration::from_millis(columns.number()?),
            checked: columns.optional_moment()?,
            changed: columns.optional_moment()?,
            etag: columns.optional_text()?,
            last_modified: columns.optional_text()?,
            digest: columns.get::<Option<&[u8]>>()?.map(digest).transpose()?,
            failures: columns.number()?,
            fault: columns.optional_text()?,
            gone: columns.get()?,
            redirect_target: columns.get::<Option<&str>>()?.map(parse).transpose()?,
            polling_hints: PollingHints {
                every: columns
                    .get::<Option<i64>>()?
                    .map(|seconds| Duration::from_secs(seconds.cast_unsigned())),
                idle_hours: columns.number()?,
                idle_days: columns.number()?,
            },
        },
        head: FeedHead {
            title: columns.optional_text()?,
            site: columns.optional_text()?,
            description: columns.optional_text()?,
            icon: columns.optional_text()?,
            hub: columns.optional_text()?,
            topic: columns.optional_text()?,
        },
        articles: columns.number()?,
        newest: columns.optional_moment()?,
    })
}

fn digest(bytes: &[u8]) -> Result<[u8; 32], LibraryError> {
    bytes.try_into().map_err(|error| damaged("a digest of a feed", error))
}

/// The key of an address in the index, for which addresses can be too long.
pub(super) fn key(address: &FeedAddress) -> Vec<u8> {
    Sha256::digest(address.as_str()).to_vec()
}

pub(super) async fn by_number(
    transaction: &Transaction<'_>,
    number: FeedNumber,
) -> Result<Option<StoredFeed>, LibraryError> {
    let sql = concat!("SELECT ", feed_columns!(), " FROM feeds WHERE number = $1");
    let statement = transaction.prepare_cached(sql).await?;
    let row = transaction.query_opt(&statement, &[&number.get()]).await?;
    row.as_ref().map(stored_feed).transpose()
}

pub(super) async fn by_address(
    transaction: &Transaction<'_>,
    address: &FeedAddress,
) -> Result<Option<StoredFeed>, LibraryError> {
    let sql = concat!("SELECT ", feed_columns!(), " FROM feeds WHERE key = $1");
    let statement = transaction.prepare_cached(sql).await?;
    let row = transaction.query_opt(&statement, &[&key(address)]).await?;
    row.as_ref().map(stored_feed).transpose()
}

/// Stores the state of polling and ends the claim; locks the feed. Returns the sort date of the newest article; the outer
/// value is `None` if there is no such feed.
pub(super) async fn write_state(
    transaction: &Transaction<'_>,
    feed: FeedNumber,
    state: &PollState,
) -> Result<Option<Option<Millis>>, LibraryError> {
    let sql = "UPDATE feeds SET claimed = NULL, due = $2, every = $3, checked = $4, changed = $5,
                 etag = $6, last_modified = $7, digest = $8, failures = $9, fault = $10, gone = $11,
                 redirect = $12, requested = $13, idle_hours = $14, idle_days = $15
                WHERE number = $1 RETURNING newest";
    let statement = transaction.prepare_cached(sql).await?;
    let hints = &state.polling_hints;
    let row = transaction
        .query_opt(
            &statement,
            &[
                &feed.get(),
                &moment(state.due),
                &i64::try_from(state.every.as_millis()).unwrap_or(i64::MAX),
                &state.checked.map(moment),
                &state.changed.map(moment),
                &bytes(&state.etag),
                &bytes(&state.last_modified),
                &state.digest.as_ref().map(<[u8; 32]>::as_slice),
                &i64::from(state.failures),
                &bytes(&state.fault),
                &state.gone,
                &state.redirect_target.as_ref().map(FeedAddress::as_str),
                &hints
                    .every
                    .map(|every| i64::from(u32::try_from(every.as_secs()).unwrap_or(u32::MAX))),
                &i64::from(hints.idle_hours),
                &i64::from(hints.idle_days),
            ],
        )
        .await?;
    row.as_ref().map(|row| Columns::of(row).optional_moment()).transpose()
}

/// Stores the metadata of a feed, if they changed.
pub(super) async fn write_head(
    transaction: &Transaction<'_>,
    feed: FeedNumber,
    head: &FeedHead,
) -> Result<(), LibraryError> {
    let FeedHead { title, site, description, icon, hub, topic } = head;
    let sql = "UPDATE feeds SET title = $2, site = $3, description = $4, icon = $5, hub = $6, topic = $7
                WHERE number = $1
                  AND (title, site, description, icon, hub, topic) IS DISTINCT FROM ($2, $3, $4, $5, $6, $7)";
    let statement = transaction.prepare_cached(sql).await?;
    transaction
        .execute(
            &statement,
            &[
                &feed.get(),
                &bytes(title),
                &bytes(site),
                &bytes(description),
                &bytes(icon),
                &bytes(hub),
                &bytes(topic),
            ],
        )
        .await?;
    Ok(())
}

/// Locks a feed until the end of the transaction; returns whether it exists.
pub(super) async fn lock(
    transaction: &Transaction<'_>,
    feed: FeedNumber,
) -> Result<bool, LibraryError> {
    let sql = "SELECT 1 FROM feeds WHERE number = $1 FOR UPDATE";
    let statement = transaction.prepare_cached(sql).await?;
    Ok(transaction.query_opt(&statement, &[&feed.get()]).await?.is_some())
}

/// Locks feeds until the end of the transaction, in the order of their numbers.
pub(super) async fn lock_all(
    transaction: &Transaction<'_>,
    feeds: &[i64],
) -> Result<(), LibraryError> {
    let sql = "SELECT 1 FROM feeds WHERE number = ANY($1) ORDER BY number FOR UPDATE";
    let statement = transaction.prepare_cached(sql).await?;
    transaction.query(&statement, &[&feeds]).await?;
    Ok(())
}

/// Subtracts deleted articles from the count of a feed.
pub(super) async fn remove_articles(
    transaction: &Transaction<'_>,
    feed: FeedNumber,
    count: usize,
) -> Result<(), LibraryError> {
    let sql = "UPDATE feeds SET articles = articles - $2,
                 newest = (SELECT shown FROM articles WHERE feed = $1
                            ORDER BY shown DESC, number DESC LIMIT 1)
                WHERE number = $1";
    let statement = transaction.prepare_cached(sql).await?;
    transaction.execute(&statement, &[&feed.get(), &(count as i64)]).await?;
    Ok(())
}

/// Adds new articles to the count of a feed.
pub(super) async fn add_articles(
    transaction: &Transaction<'_>,
    feed: FeedNumber,
    count: usize,
    newest: Millis,
) -> Result<(), LibraryError> {
    let sql = "UPDATE feeds SET articles = articles + $2, newest = GREATEST(newest, $3)
                WHERE number = $1";
    let statement = transaction.prepare_cached(sql).await?;
    transaction.execute(&statement, &[&feed.get(), &(count as i64), &moment(newest)]).await?;
    Ok(())
}
