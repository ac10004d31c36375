//! Bytes that nothing needs any more.
//!
//! A file is removed once the disk holds that nothing needs it: after a power cut an older state may be there
//! again, which needs it.

use std::collections::HashSet;

use feedsync_offline::interceptor::Digest;
use rusqlite::Connection;

use super::contents::Contents;
use super::error::StoreError;

/// Digests that are looked at in one transaction.
const PORTION: i64 = 64;

/// Where a sweep goes on.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    after: Vec<u8>,
}

/// What a portion came to.
#[derive(Debug)]
#[must_use]
pub struct Swept {
    /// Files that are removed once the disk holds the transaction.
    pub(super) files: Vec<Digest>,
    /// Whether there is more to look at.
    pub(super) has_more: bool,
}

impl Sweep {
    /// Looks at what was let go of, a portion at a time; in a transaction.
    pub(super) fn portion(
        &mut self,
        connection: &Connection,
        contents: &Contents,
        needed: &HashSet<Digest>,
    ) -> Result<Swept, StoreError> {
        let sql = "SELECT digest FROM loose WHERE digest > ?1 ORDER BY digest LIMIT ?2";
        let mut statement = connection.prepare_cached(sql)?;
        let loose = statement.query_map((&self.after, PORTION), |row| row.get(0).map(Digest))?;
        let loose: Vec<Digest> = loose.collect::<rusqlite::Result<_>>()?;
        let mut files = Vec::new();
        for digest in &loose {
            // It may still be let go of without anybody saying so.
            if needed.contains(digest) || contents.is_held(digest) {
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
        let has_more = loose.len() as i64 == PORTION;
        self.after =
            loose.last().filter(|_| has_more).map(|last| last.0.to_vec()).unwrap_or_default();
        Ok(Swept { files, has_more })
    }
}
