//! Deletes contents that are no longer needed.
//!
//! A file is removed only after the disk holds the transaction that made it unnecessary. After a power failure an
//! older state may be restored that needs the file.

use std::collections::HashSet;

use feedsync_bitsy::interceptor::Digest;
use rusqlite::Connection;

use super::contents::Contents;
use super::error::StoreError;

/// Number of digests that are examined in one transaction.
const BATCH_ROWS: i64 = 64;

/// Position at which the next batch of a sweep starts.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    after: Vec<u8>,
}

/// Result of a batch.
#[derive(Debug)]
#[must_use]
pub struct Swept {
    /// Files to remove once the disk holds the transaction.
    pub(super) files: Vec<Digest>,
    /// Whether there are more digests to examine.
    pub(super) has_more: bool,
}

impl Sweep {
    /// Examines a batch of unreferenced digests within a transaction.
    pub(super) fn sweep_batch(
        &mut self,
        connection: &Connection,
        contents: &Contents,
        needed: &HashSet<Digest>,
    ) -> Result<Swept, StoreError> {
        let sql = "SELECT digest FROM loose WHERE digest > ?1 ORDER BY digest LIMIT ?2";
        let mut statement = connection.prepare_cached(sql)?;
        let loose = statement.query_map((&self.after, BATCH_ROWS), |row| row.get(0).map(Digest))?;
        let loose: Vec<Digest> = loose.collect::<rusqlite::Result<_>>()?;
        let mut files = Vec::new();
        for digest in &loose {
            // The holder may later release it without another trigger, so it stays in the table.
            if needed.contains(digest) || contents.is_pinned(digest) {
                continue;
            }
            let sql = "DELETE FROM loose WHERE digest = ?1";
            connection.prepare_cached(sql)?.execute([digest.0])?;
            let sql = "SELECT EXISTS (SELECT 1 FROM representation WHERE content = ?1)";
            if connection.prepare_cached(sql)?.query_row([digest.0], |row| row.get(0))? {
                continue;
            }
            let sql = "DELETE FROM content WHERE digest = ?1 RETURNING bytes IS NULL";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query([digest.0])?;
            while let Some(row) = rows.next()? {
                files.extend(row.get::<_, bool>(0)?.then_some(*digest));
            }
        }
        let has_more = loose.len() as i64 == BATCH_ROWS;
        self.after =
            loose.last().filter(|_| has_more).map(|last| last.0.to_vec()).unwrap_or_default();
        Ok(Swept { files, has_more })
    }
}
