//! Rows of subscriptions.

use std::collections::{BTreeMap, BTreeSet};

use feedsync_log::Millis;
use feedsync_reading_state::FeedAddress;
use feedsync_store::postgres_support::Transaction;

use super::columns::Columns;
use super::feeds::{self, feed_columns};
use crate::library::error::LibraryError;
use crate::library::feed::StoredFeed;
use crate::library::reader_name::ReaderName;
use crate::library::stored::moment;

pub(super) async fn set(
    transaction: &Transaction<'_>,
    reader: &ReaderName,
    addresses: &BTreeSet<FeedAddress>,
    now: Millis,
) -> Result<(), LibraryError> {
    let last = lock_feed_counter(transaction).await?;
    let Some(reader) = reader_id(transaction, reader, !addresses.is_empty()).await? else {
        return Ok(());
    };
    let wanted = numbers(transaction, addresses, last, now).await?;
    let sql = "SELECT feed FROM subscriptions WHERE reader = $1";
    let statement = transaction.prepare_cached(sql).await?;
    let rows = transaction.query(&statement, &[&reader]).await?;
    let former: BTreeSet<i64> = rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    let added: Vec<i64> = wanted.difference(&former).copied().collect();
    let removed: Vec<i64> = former.difference(&wanted).copied().collect();
    feeds::lock_all(transaction, &[&*added, &*removed].concat()).await?;
    if !added.is_empty() {
        subscribe(transaction, reader, &added, now).await?;
    }
    if !removed.is_empty() {
        unsubscribe(transaction, reader, &removed, now).await?;
    }
    if addresses.is_empty() {
        let statement = transaction.prepare_cached("DELETE FROM readers WHERE id = $1").await?;
        transaction.execute(&statement, &[&reader]).await?;
    }
    Ok(())
}

/// Locks the feeds against additions and removals; returns the last number that was assigned.
pub(super) async fn lock_feed_counter(transaction: &Transaction<'_>) -> Result<i64, LibraryError> {
    let sql = "SELECT last FROM counters WHERE kind = 'feeds' FOR UPDATE";
    let statement = transaction.prepare_cached(sql).await?;
    Ok(transaction.query_one(&statement, &[]).await?.try_get(0)?)
}

/// Locks a reader, and adds it if asked to; returns its id.
async fn reader_id(
    transaction: &Transaction<'_>,
    reader: &ReaderName,
    adds: bool,
) -> Result<Option<i64>, LibraryError> {
    let sql = match adds {
        true => {
            "INSERT INTO readers (name) VALUES ($1)
             ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING id"
        }
        false => "SELECT id FROM readers WHERE name = $1 FOR UPDATE",
    };
    let statement = transaction.prepare_cached(sql).await?;
    let row = transaction.query_opt(&statement, &[&reader.as_str().as_bytes()]).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

/// The numbers of the feeds at these addresses. New feeds get numbers after the last one, in the order of their addresses.
async fn numbers(
    transaction: &Transaction<'_>,
    addresses: &BTreeSet<FeedAddress>,
    mut last: i64,
    now: Millis,
) -> Result<BTreeSet<i64>, LibraryError> {
    let keys: Vec<Vec<u8>> = addresses.iter().map(feeds::key).collect();
    let sql = "SELECT key, number FROM feeds WHERE key = ANY($1)";
    let statement = transaction.prepare_cached(sql).await?;
    let mut known: BTreeMap<Vec<u8>, i64> = BTreeMap::new();
    for row in transaction.query(&statement, &[&keys]).await? {
        known.insert(row.try_get(0)?, row.try_get(1)?);
    }
    let mut numbers: BTreeSet<i64> = known.values().copied().collect();
    let (mut new, mut new_keys, mut new_addresses) = (Vec::new(), Vec::new(), Vec::new());
    for (address, key) in addresses.iter().zip(&keys) {
        if !known.contains_key(key) {
            last += 1;
            new.push(last);
            new_keys.push(&**key);
            new_addresses.push(address.as_str());
        }
    }
    if !new.is_empty() {
        let sql = "INSERT INTO feeds (number, key, address, due)
                   SELECT new.*, $4 FROM unnest($1::bigint[], $2::bytea[], $3::text[]) AS new";
        let statement = transaction.prepare_cached(sql).await?;
        transaction.execute(&statement, &[&new, &new_keys, &new_addresses, &moment(now)]).await?;
        let sql = "UPDATE counters SET last = $1 WHERE kind = 'feeds'";
        let statement = transaction.prepare_cached(sql).await?;
        transaction.execute(&statement, &[&last]).await?;
    }
    numbers.extend(new);
    Ok(numbers)
}

async fn subscribe(
    transaction: &Transaction<'_>,
    reader: i64,
    feeds: &[i64],
    now: Millis,
) -> Result<(), LibraryError> {
    let sql = "INSERT INTO subscriptions (reader, feed) SELECT $1, unnest($2::bigint[])";
    let statement = transaction.prepare_cached(sql).await?;
    transaction.execute(&statement, &[&reader, &feeds]).await?;
    // A feed that is being polled need not be polled again.
    let sql = "UPDATE feeds SET readers = readers + 1,
                 due = CASE WHEN readers = 0 AND COALESCE(claimed, 0) <= $2 THEN LEAST(due, $2) ELSE due END
                WHERE number = ANY($1)";
    let statement = transaction.prepare_cached(sql).await?;
    transaction.execute(&statement, &[&feeds, &moment(now)]).await?;
    Ok(())
}

async fn unsubscribe(
    transaction: &Transaction<'_>,
    reader: i64,
    feeds: &[i64],
    now: Millis,
) -> Result<(), LibraryError> {
    let sql = "DELETE FROM subscriptions WHERE reader = $1 AND feed = ANY($2)";
    let statement = transaction.prepare_cached(sql).await?;
    transaction.execute(&statement, &[&reader, &feeds]).await?;
    let sql = "UPDATE feeds SET readers = readers - 1, abandoned = $2 WHERE number = ANY($1)";
    let statement = transaction.prepare_cached(sql).await?;
    transaction.execute(&statement, &[&feeds, &moment(now)]).await?;
    Ok(())
}

pub(super) async fn of(
    transaction: &Transaction<'_>,
    reader: &ReaderName,
) -> Result<Vec<StoredFeed>, LibraryError> {
    let sql = concat!(
        "SELECT ",
        feed_columns!(),
        " FROM readers JOIN subscriptions ON reader = id JOIN feeds ON feed = feeds.number
          WHERE name = $1 ORDER BY address COLLATE \"C\""
    );
    let statement = transaction.prepare_cached(sql).await?;
    let rows = transaction.query(&statement, &[&reader.as_str().as_bytes()]).await?;
    rows.iter().map(feeds::stored_feed).collect()
}

pub(super) async fn readers(
    transaction: &Transaction<'_>,
) -> Result<Vec<ReaderName>, LibraryError> {
    let statement = transaction.prepare_cached("SELECT name FROM readers ORDER BY name").await?;
    let rows = transaction.query(&statement, &[]).await?;
    rows.iter().map(|row| Columns::of(row).parsed()).collect()
}
