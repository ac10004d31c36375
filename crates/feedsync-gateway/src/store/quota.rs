//! Limit on the size of the stored representations.
//!
//! Resources that feeds link to are deleted first, the least recently fetched ones before others; then members,
//! then feeds. Pending edits and errors stay and do not count. A deleted representation is fetched again in the
//! next round.

use rusqlite::{Connection, params};

use super::error::StoreError;

/// Maximum total size of the stored representations, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota(pub u64);

impl Default for Quota {
    /// 2 GiB.
    fn default() -> Self {
        Self(2 << 30)
    }
}

/// Number of rows that are examined at once.
const BATCH_ROWS: i64 = 256;

/// Deletes representations until the total is below the limit. It frees a little more than necessary, so that not
/// every new representation causes deletions. Returns the growth of the stored representations, in bytes.
pub(super) fn keep(
    connection: &Connection,
    total: i64,
    Quota(most): Quota,
) -> Result<i64, StoreError> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut now = total;
    while now > most {
        let sweep_batch = least_needed(connection)?;
        if sweep_batch.is_empty() {
            break;
        }
        for (row, length) in sweep_batch {
            if now <= most - most / 16 {
                return Ok(now - total);
            }
            let sql = "DELETE FROM representation WHERE rowid = ?1";
            connection.prepare_cached(sql)?.execute(params![row])?;
            now -= length;
        }
    }
    Ok(now - total)
}

fn least_needed(connection: &Connection) -> Result<Vec<(i64, i64)>, StoreError> {
    let sql = "SELECT rowid, length FROM representation AS stored
         WHERE length > 0 AND NOT EXISTS (
           SELECT 1 FROM edit
           WHERE edit.resource = stored.location AND edit.partition = stored.partition)
         ORDER BY (
           SELECT coalesce(max(max(role, 1)), 1)
           FROM belonging JOIN feed ON feed.id = belonging.feed
           WHERE belonging.location = stored.location AND feed.partition = stored.partition),
           fetched
         LIMIT ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([BATCH_ROWS], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Total size of the stored representations, in bytes.
pub(super) fn total(connection: &Connection) -> Result<i64, StoreError> {
    let sql = "SELECT coalesce(sum(length), 0) FROM representation";
    Ok(connection.query_row(sql, [], |row| row.get(0))?)
}
