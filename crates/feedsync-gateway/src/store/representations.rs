//! Stored representations of addresses, and the roles of addresses in feeds.
//!
//! Functions that write or delete return the growth of the stored representations, in bytes.

use std::collections::BTreeMap;

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::interception::Role;
use feedsync_bitsy::interceptor::{Belonging, Digest, Representation, Resource};
use feedsync_bitsy::location::Location;
use http::StatusCode;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::columns::{self, Columns, damaged};
use super::error::StoreError;

const ROLES: [Role; 6] = [
    Role::Unknown,
    Role::Subscribable,
    Role::Synchronizable,
    Role::Collection,
    Role::Feed,
    Role::FeedAndCollection,
];

pub(super) fn put(
    connection: &Connection,
    partition: Partition,
    location: &Location,
    representation: &Representation,
) -> Result<i64, StoreError> {
    let sql = "SELECT length FROM representation WHERE partition = ?1 AND location = ?2";
    let mut before = connection.prepare_cached(sql)?;
    let before = before.query_row(params![partition.bytes(), location.as_str()], |row| row.get(0));
    let before: Option<i64> = before.optional()?;
    let Representation { status, headers, content, fetched, alias_tag } = representation;
    let sql = "INSERT INTO representation VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         ON CONFLICT (partition, location) DO UPDATE SET
           status = excluded.status, headers = excluded.headers, content = excluded.content,
           length = excluded.length, fetched = excluded.fetched, also = excluded.also";
    connection.prepare_cached(sql)?.execute(params![
        partition.bytes(),
        location.as_str(),
        status.as_u16(),
        columns::headers_out(headers),
        content.digest.0,
        content.length.cast_signed(),
        columns::time(*fetched),
        alias_tag,
    ])?;
    Ok(content.length.cast_signed() - before.unwrap_or_default())
}

pub(super) fn gone(
    connection: &Connection,
    partition: Partition,
    location: &str,
) -> Result<i64, StoreError> {
    let sql = "DELETE FROM representation WHERE partition = ?1 AND location = ?2 RETURNING length";
    let mut statement = connection.prepare_cached(sql)?;
    let length = statement.query_row(params![partition.bytes(), location], |row| row.get(0));
    Ok(-length.optional()?.unwrap_or(0))
}

pub(super) fn get(
    connection: &Connection,
    partition: Partition,
    location: &Location,
) -> Result<Option<Representation>, StoreError> {
    let sql = "SELECT status, headers, content, length, fetched, also FROM representation
         WHERE partition = ?1 AND location = ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![partition.bytes(), location.as_str()])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let mut row = Columns::of(row);
    let status: u16 = row.small()?;
    Ok(Some(Representation {
        status: StatusCode::from_u16(status).map_err(|_| damaged("a status", status))?,
        headers: row.headers()?,
        content: row.content()?,
        fetched: row.time()?,
        alias_tag: row.get()?,
    }))
}

/// Returns the addresses whose representations have these contents.
pub(super) fn addresses_of(
    connection: &Connection,
    digest: &Digest,
) -> Result<Vec<(Partition, Location)>, StoreError> {
    let sql = "SELECT partition, location FROM representation WHERE content = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([digest.0])?;
    let mut addresses = Vec::new();
    while let Some(row) = rows.next()? {
        let mut row = Columns::of(row);
        addresses.push((row.partition()?, row.location()?));
    }
    Ok(addresses)
}

/// Returns the roles of an address in all subscribed feeds that it belongs to.
pub(super) fn resources(
    connection: &Connection,
    location: &Location,
) -> Result<Vec<Resource>, StoreError> {
    let mut resources = Vec::new();
    let sql = "SELECT feed.partition, feed.location, role, entry, seen
         FROM belonging JOIN feed ON feed.id = feed WHERE belonging.location = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([location.as_str()])?;
    while let Some(row) = rows.next()? {
        let mut row = Columns::of(row);
        let (partition, feed) = (row.partition()?, row.location()?);
        let role = role_in(row.get()?)?;
        let entry = row.optional_location()?;
        let seen = row.number()?;
        resources.push(Resource { partition, feed, role, entry, seen });
    }
    Ok(resources)
}

/// Records the resources that belong to a feed; if the list is complete, all others are removed. The
/// representation of a removed resource is deleted, unless it belongs to another feed of the partition or was
/// edited.
pub(super) fn generation(
    connection: &Connection,
    (partition, feed): (Partition, &Location),
    resources: &BTreeMap<Location, Belonging>,
    is_whole: bool,
) -> Result<i64, StoreError> {
    let sql = "SELECT id FROM feed WHERE partition = ?1 AND location = ?2";
    let key = params![partition.bytes(), feed.as_str()];
    let known = connection.prepare_cached(sql)?.query_row(key, |row| row.get(0)).optional()?;
    let id: i64 = match known {
        Some(id) => id,
        None if resources.is_empty() => return Ok(0),
        None => {
            let sql = "INSERT INTO feed (partition, location) VALUES (?1, ?2)";
            connection.prepare_cached(sql)?.insert(key)?
        }
    };
    let mut before = belongings(connection, id)?;
    for (location, belonging) in resources {
        let role = role_out(belonging.role);
        let entry = belonging.entry.as_ref().map(Location::as_str);
        let seen = belonging.seen.cast_signed();
        let known = before.remove(location.as_str());
        if known
            .is_some_and(|(known, at, then)| (known, at.as_deref(), then) == (role, entry, seen))
        {
            continue;
        }
        let sql = "INSERT INTO belonging VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (location, feed) DO UPDATE SET
               role = excluded.role, entry = excluded.entry, seen = excluded.seen";
        let row = params![location.as_str(), id, role, entry, seen];
        connection.prepare_cached(sql)?.execute(row)?;
    }
    if !is_whole {
        return Ok(0);
    }
    let mut grown = 0;
    for location in before.keys() {
        let sql = "DELETE FROM belonging WHERE location = ?1 AND feed = ?2";
        connection.prepare_cached(sql)?.execute(params![location, id])?;
        if !is_kept(connection, partition, location)? {
            grown += gone(connection, partition, location)?;
        }
    }
    if resources.is_empty() {
        connection.prepare_cached("DELETE FROM feed WHERE id = ?1")?.execute([id])?;
    }
    Ok(grown)
}

/// Deletes everything that is stored for a partition.
pub(super) fn forgotten(connection: &Connection, partition: Partition) -> Result<i64, StoreError> {
    let mut shrunk = 0;
    let sql = "DELETE FROM representation WHERE partition = ?1 RETURNING length";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([partition.bytes()])?;
    while let Some(row) = rows.next()? {
        shrunk += row.get::<_, i64>(0)?;
    }
    for sql in [
        "DELETE FROM belonging WHERE feed IN (SELECT id FROM feed WHERE partition = ?1)",
        "DELETE FROM feed WHERE partition = ?1",
        "DELETE FROM named WHERE partition = ?1",
        "DELETE FROM attempt WHERE partition = ?1",
    ] {
        connection.prepare_cached(sql)?.execute([partition.bytes()])?;
    }
    Ok(-shrunk)
}

/// Role, entry, and the generation in which the resource was first seen.
type Known = (i64, Option<String>, i64);

fn belongings(connection: &Connection, feed: i64) -> Result<BTreeMap<String, Known>, StoreError> {
    let sql = "SELECT location, role, entry, seen FROM belonging WHERE feed = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement
        .query_map([feed], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?, row.get(3)?))))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Whether an address belongs to a feed of the partition, or has a pending edit in it.
fn is_kept(
    connection: &Connection,
    partition: Partition,
    location: &str,
) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM belonging JOIN feed ON feed.id = feed
                 WHERE belonging.location = ?1 AND feed.partition = ?2)
         OR EXISTS (SELECT 1 FROM edit WHERE resource = ?1 AND partition = ?2)";
    let row = params![location, partition.bytes()];
    Ok(connection.prepare_cached(sql)?.query_row(row, |row| row.get(0))?)
}

/// Rank of a role: higher ranks are deleted later when the quota is exceeded.
fn role_out(role: Role) -> i64 {
    match role {
        Role::Unknown => 0,
        Role::Subscribable => 1,
        Role::Synchronizable => 2,
        Role::Collection => 3,
        Role::Feed => 4,
        Role::FeedAndCollection => 5,
    }
}

fn role_in(number: i64) -> Result<Role, StoreError> {
    let role = ROLES.into_iter().find(|role| role_out(*role) == number);
    role.ok_or_else(|| damaged("the role of an address in a feed", number))
}
