//! How much is stored of addresses at most.
//!
//! What goes first is what feeds lead to, the least recently fetched before the others; then members, then
//! feeds. Whatever was edited and has not left stays, as do errors: they are not counted. An address of which
//! nothing is stored any more is fetched again with the next round.

use rusqlite::{Connection, params};

use super::error::StoreError;

/// How many bytes are stored of addresses at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota(pub u64);

impl Default for Quota {
    /// 2 GiB.
    fn default() -> Self {
        Self(2 << 30)
    }
}

/// What is looked at at once.
const PORTION: i64 = 256;

/// Makes room, a little more than is needed, so that not everything that comes has to make room for itself.
/// By how much what is stored has grown.
pub(super) fn keep(
    connection: &Connection,
    total: i64,
    Quota(most): Quota,
) -> Result<i64, StoreError> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut now = total;
    while now > most {
        let portion = least_needed(connection)?;
        if portion.is_empty() {
            break;
        }
        for (row, length) in portion {
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
    let rows = statement.query_map([PORTION], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// How many bytes are stored of addresses.
pub(super) fn total(connection: &Connection) -> Result<i64, StoreError> {
    let sql = "SELECT coalesce(sum(length), 0) FROM representation";
    Ok(connection.query_row(sql, [], |row| row.get(0))?)
}
