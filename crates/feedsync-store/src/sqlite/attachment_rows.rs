//! Rows of what attachments hold, and of who names them.

use feedsync_couch::{Attachment, AttachmentDigest};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::rows::change_key;
use crate::error::StoreError;
use crate::order::{Moment, Number};

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
    Ok(changed > 0)
}

pub(super) fn content(
    connection: &Connection,
    database: i64,
    digest: &AttachmentDigest,
) -> Result<Option<Vec<u8>>, StoreError> {
    Ok(connection
        .prepare_cached("SELECT content FROM attachments WHERE database = ?1 AND digest = ?2")?
        .query_row(params![database, digest.as_str()], |row| row.get(0))
        .optional()?)
}

/// The body of this key names these.
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

/// The body of this key names nothing any more.
pub(super) fn forget(connection: &Connection, key: i64) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM attachment_uses WHERE key = ?1")?.execute([key])?;
    Ok(())
}

pub(super) fn sweep(
    connection: &Connection,
    database: i64,
    stored_before: Moment,
) -> Result<u64, StoreError> {
    let (first, last) = (change_key(database, Number::ZERO), change_key(database, Number::MAX));
    let swept = connection
        .prepare_cached(
            "DELETE FROM attachments
              WHERE database = ?1 AND stored < ?2
                AND NOT EXISTS (SELECT 1 FROM attachment_uses
                                 WHERE attachment_uses.digest = attachments.digest AND key BETWEEN ?3 AND ?4)",
        )?
        .execute(params![database, stored_before, first, last])?;
    Ok(swept as u64)
}
