//! Rows of subscriptions.

use std::collections::{BTreeSet, HashSet};

use feedsync_log::Millis;
use feedsync_reading_state::FeedAddress;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::columns::{Columns, moment};
use super::feeds::{self, feed_columns};
use crate::library::error::LibraryError;
use crate::library::feed::StoredFeed;
use crate::library::reader_name::ReaderName;

pub(super) fn set(
    connection: &Connection,
    reader: &ReaderName,
    addresses: &BTreeSet<FeedAddress>,
    now: Millis,
) -> Result<(), LibraryError> {
    let known = connection
        .prepare_cached("SELECT id FROM readers WHERE name = ?1")?
        .query_row([reader.as_str()], |row| row.get(0))
        .optional()?;
    let id: i64 = match known {
        Some(id) => id,
        None if addresses.is_empty() => return Ok(()),
        None => {
            let sql = "INSERT INTO readers (name) VALUES (?1)";
            connection.prepare_cached(sql)?.insert([reader.as_str()])?
        }
    };
    let mut former: HashSet<i64> = connection
        .prepare_cached("SELECT feed FROM subscriptions WHERE reader = ?1")?
        .query_map([id], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for address in addresses {
        let feed = number(connection, address, now)?;
        if !former.remove(&feed) {
            subscribe(connection, id, feed, now)?;
        }
    }
    for feed in former {
        unsubscribe(connection, id, feed, now)?;
    }
    if addresses.is_empty() {
        connection.prepare_cached("DELETE FROM readers WHERE id = ?1")?.execute([id])?;
    }
    Ok(())
}

/// Number of the feed at an address; a new feed gets one.
fn number(
    connection: &Connection,
    address: &FeedAddress,
    now: Millis,
) -> Result<i64, LibraryError> {
    let known = connection
        .prepare_cached("SELECT number FROM feeds WHERE address = ?1")?
        .query_row([address.as_str()], |row| row.get(0))
        .optional()?;
    if let Some(number) = known {
        return Ok(number);
    }
    let sql = "INSERT INTO feeds (address, due) VALUES (?1, ?2)";
    Ok(connection.prepare_cached(sql)?.insert(params![address.as_str(), moment(now)])?)
}

fn subscribe(
    connection: &Connection,
    reader: i64,
    feed: i64,
    now: Millis,
) -> Result<(), LibraryError> {
    connection
        .prepare_cached("INSERT INTO subscriptions (reader, feed) VALUES (?1, ?2)")?
        .execute([reader, feed])?;
    // A feed that is being polled need not be polled again.
    connection
        .prepare_cached(
            "UPDATE feeds SET due = iif(readers = 0 AND ifnull(claimed, 0) <= ?2, min(due, ?2), due),
                              readers = readers + 1
              WHERE number = ?1",
        )?
        .execute(params![feed, moment(now)])?;
    Ok(())
}

fn unsubscribe(
    connection: &Connection,
    reader: i64,
    feed: i64,
    now: Millis,
) -> Result<(), LibraryError> {
    connection
        .prepare_cached("DELETE FROM subscriptions WHERE reader = ?1 AND feed = ?2")?
        .execute([reader, feed])?;
    connection
        .prepare_cached("UPDATE feeds SET readers = readers - 1, abandoned = ?2 WHERE number = ?1")?
        .execute(params![feed, moment(now)])?;
    Ok(())
}

pub(super) fn of(
    connection: &Connection,
    reader: &ReaderName,
) -> Result<Vec<StoredFeed>, LibraryError> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT ",
        feed_columns!(),
        " FROM readers JOIN subscriptions ON reader = id JOIN feeds ON feed = feeds.number
         WHERE name = ?1 ORDER BY address"
    ))?;
    let mut rows = statement.query([reader.as_str()])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(feeds::stored_feed(row)?);
    }
    Ok(all)
}

pub(super) fn readers(connection: &Connection) -> Result<Vec<ReaderName>, LibraryError> {
    let mut statement = connection.prepare_cached("SELECT name FROM readers ORDER BY name")?;
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(Columns::of(row).parsed()?);
    }
    Ok(all)
}
