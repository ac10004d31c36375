//! Rows of blobs, and the items that name them.

use feedsync_core::ItemId;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::rows::{change_key, parsed};
use crate::blob::Digest;
use crate::digests;
use crate::error::StoreError;
use crate::name::CollectionName;
use crate::order::{ChangeNumber, Moment};

pub(super) fn put(
    connection: &Connection,
    digest: Digest,
    bytes: &[u8],
    now: Moment,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO blobs (digest, stored, content) VALUES (?1, ?2, ?3)
             ON CONFLICT (digest) DO UPDATE SET stored = excluded.stored",
        )?
        .execute(params![digest.to_string(), now, bytes])?;
    // Replaces content that the disk has changed.
    connection
        .prepare_cached("UPDATE blobs SET content = ?2 WHERE digest = ?1 AND content <> ?2")?
        .execute(params![digest.to_string(), bytes])?;
    Ok(())
}

pub(super) fn content(
    connection: &Connection,
    digest: Digest,
) -> Result<Option<Vec<u8>>, StoreError> {
    let stored: Option<Vec<u8>> = connection
        .prepare_cached("SELECT content FROM blobs WHERE digest = ?1")?
        .query_row([digest.to_string()], |row| row.get(0))
        .optional()?;
    stored.map(|bytes| digests::blob(digest, bytes)).transpose()
}

pub(super) fn missing(
    connection: &Connection,
    mut digests: Vec<Digest>,
) -> Result<Vec<Digest>, StoreError> {
    digests.sort_unstable();
    digests.dedup();
    let mut statement = connection.prepare_cached("SELECT 1 FROM blobs WHERE digest = ?1")?;
    let mut missing = Vec::new();
    for digest in digests {
        if !statement.exists([digest.to_string()])? {
            missing.push(digest);
        }
    }
    Ok(missing)
}

/// Blobs that a collection's items name and that are not stored, from a digest on.
pub(super) fn lost(
    connection: &Connection,
    collection: i64,
    from: Digest,
    most: usize,
) -> Result<Vec<Digest>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT DISTINCT digest FROM item_blobs
          WHERE digest >= ?1 AND change_key BETWEEN ?2 AND ?3
            AND NOT EXISTS (SELECT 1 FROM blobs WHERE blobs.digest = item_blobs.digest)
          ORDER BY digest LIMIT ?4",
    )?;
    let (first, last) = (ChangeNumber::ZERO, ChangeNumber::MAX);
    let (first, last) = (change_key(collection, first), change_key(collection, last));
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![from.to_string(), first, last, most])?;
    let mut lost = Vec::new();
    while let Some(row) = rows.next()? {
        lost.push(parsed(row, 0)?);
    }
    Ok(lost)
}

/// Those of the blobs that were stored before a moment.
pub(super) fn stale(
    connection: &Connection,
    digests: &[Digest],
    stored_before: Moment,
) -> Result<Vec<Digest>, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT 1 FROM blobs WHERE digest = ?1 AND stored < ?2")?;
    let mut stale = Vec::new();
    for digest in digests {
        if statement.exists(params![digest.to_string(), stored_before])? {
            stale.push(*digest);
        }
    }
    Ok(stale)
}

/// Sets the moment of storing of the blobs to now.
pub(super) fn touch(
    connection: &Connection,
    digests: &[Digest],
    now: Moment,
) -> Result<(), StoreError> {
    let mut statement =
        connection.prepare_cached("UPDATE blobs SET stored = ?2 WHERE digest = ?1")?;
    for digest in digests {
        statement.execute(params![digest.to_string(), now])?;
    }
    Ok(())
}

pub(super) fn named_by(
    connection: &Connection,
    digest: Digest,
) -> Result<Vec<(CollectionName, ItemId)>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT collections.name, items.id
           FROM item_blobs JOIN items USING (change_key)
           JOIN collections ON collections.id = items.collection
          WHERE digest = ?1 ORDER BY collections.name, items.id",
    )?;
    let mut rows = statement.query([digest.to_string()])?;
    let mut named = Vec::new();
    while let Some(row) = rows.next()? {
        named.push((parsed(row, 0)?, parsed(row, 1)?));
    }
    Ok(named)
}

pub(super) fn sweep(connection: &Connection, stored_before: Moment) -> Result<u64, StoreError> {
    let swept = connection.execute(
        "DELETE FROM blobs
          WHERE stored < ?1
            AND NOT EXISTS (SELECT 1 FROM item_blobs WHERE item_blobs.digest = blobs.digest)
            AND NOT EXISTS (SELECT 1 FROM discarded_blobs
                             WHERE discarded_blobs.digest = blobs.digest)",
        [stored_before],
    )?;
    Ok(swept as u64)
}
