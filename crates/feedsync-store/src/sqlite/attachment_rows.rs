//! Rows of attachments, and of their uses by bodies.

use feedsync_couch::{Attachment, AttachmentDigest};
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::database::sweep::{self, AttachmentKey, AttachmentScan};
use crate::digests;
use crate::error::StoreError;
use crate::order::Moment;

/// Whether no body of its database names an attachment. The keys of the database's bodies begin with its id.
macro_rules! is_unnamed {
    () => {
        "NOT EXISTS (SELECT 1 FROM attachment_uses u
                      WHERE u.digest = attachments.digest AND u.key >= attachments.database << 40
                        AND u.key < (attachments.database + 1) << 40)"
    };
}

pub(super) fn put(
    connection: &Connection,
    database: i64,
    digest: &AttachmentDigest,
    bytes: &[u8],
    now: Moment,
) -> Result<bool, StoreError> {
    let changed = connection
        .prepare_cached(
            "INSERT INTO attachments (database, digest, stored, content) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (database, digest) DO UPDATE SET stored = excluded.stored
                WHERE content = excluded.content",
        )?
        .execute(params![database, digest.as_str(), now, bytes])?;
    if changed > 0 {
        return Ok(true);
    }
    // Either two contents have the same MD5, or the disk has changed the stored one, which is replaced.
    let is_rotten =
        matches!(content(connection, database, digest), Err(StoreError::DigestMismatch(_)));
    if is_rotten && digest.is_of(bytes) {
        connection
            .prepare_cached(
                "UPDATE attachments SET content = ?3, stored = ?4 WHERE database = ?1 AND digest = ?2",
            )?
            .execute(params![database, digest.as_str(), bytes, now])?;
    }
    Ok(is_rotten && digest.is_of(bytes))
}

pub(super) fn content(
    connection: &Connection,
    database: i64,
    digest: &AttachmentDigest,
) -> Result<Option<Vec<u8>>, StoreError> {
    let stored: Option<Vec<u8>> = connection
        .prepare_cached("SELECT content FROM attachments WHERE database = ?1 AND digest = ?2")?
        .query_row(params![database, digest.as_str()], |row| row.get(0))
        .optional()?;
    stored.map(|bytes| digests::attachment(digest, bytes)).transpose()
}

/// Whether a body in a revision tree names an attachment; bodies that only the history keeps do not count.
pub(super) fn is_referenced(
    connection: &Connection,
    database: i64,
    digest: &AttachmentDigest,
) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM attachments WHERE database = ?1 AND digest = ?2
                  AND EXISTS (SELECT 1 FROM attachment_uses u
                               WHERE u.digest = ?2 AND u.key >= ?1 << 40 AND u.key < (?1 + 1) << 40
                                 AND NOT EXISTS (SELECT 1 FROM ended_revisions e
                                                  WHERE e.key = u.key AND e.held))";
    Ok(connection.prepare_cached(sql)?.exists(params![database, digest.as_str()])?)
}

/// Records the attachments that the body of this key names.
pub(super) fn name(
    connection: &Connection,
    key: i64,
    attachments: &[Attachment],
) -> Result<(), StoreError> {
    let mut statement = connection
        .prepare_cached("INSERT OR IGNORE INTO attachment_uses (key, digest) VALUES (?1, ?2)")?;
    for attachment in attachments {
        statement.execute(params![key, attachment.digest.as_str()])?;
    }
    Ok(())
}

/// Removes the records of attachments that the body of this key names.
pub(super) fn forget(connection: &Connection, key: i64) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM attachment_uses WHERE key = ?1")?.execute([key])?;
    Ok(())
}

/// Searches the attachments after one, of databases up to one, for those that were stored before a moment and
/// that no body names. Attachments of dropped databases are removed with their databases.
pub(super) fn scan(
    connection: &Connection,
    after: &AttachmentKey,
    through: i64,
    stored_before: Moment,
) -> Result<AttachmentScan, StoreError> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT database, digest, octet_length(content), stored < ?4
                AND EXISTS (SELECT 1 FROM databases WHERE id = database AND name IS NOT NULL)
                AND ",
        is_unnamed!(),
        " FROM attachments WHERE (database, digest) > (?1, ?2) AND database <= ?3
           ORDER BY database, digest LIMIT ?5"
    ))?;
    let mut rows = statement.query(params![
        after.database,
        after.digest,
        through,
        stored_before,
        sweep::SCAN_LIMIT
    ])?;
    let mut looked = AttachmentScan::default();
    while let Some(row) = rows.next()? {
        let key = AttachmentKey { database: row.get(0)?, digest: row.get(1)? };
        let bytes = row.get::<_, i64>(2)? as u64;
        looked.take(key, row.get::<_, bool>(3)?.then_some(bytes));
    }
    Ok(looked)
}

/// Removes those of the given attachments that are still unnamed and old; returns their number.
pub(super) fn remove(
    connection: &Connection,
    piece: &[AttachmentKey],
    stored_before: Moment,
) -> Result<u64, StoreError> {
    let mut statement = connection.prepare_cached(concat!(
        "DELETE FROM attachments WHERE database = ?1 AND digest = ?2 AND stored < ?3 AND ",
        is_unnamed!()
    ))?;
    let mut removed = 0;
    for AttachmentKey { database, digest } in piece {
        removed += statement.execute(params![database, digest, stored_before])? as u64;
    }
    Ok(removed)
}
