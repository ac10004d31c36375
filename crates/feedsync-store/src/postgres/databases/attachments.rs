//! What attachments hold.

use deadpool_postgres::{Client, Transaction};
use feedsync_couch::{AttachmentDigest, DatabaseName};

use super::rows::{self, LOCK, SHARE};
use crate::error::StoreError;
use crate::order::Moment;
use crate::postgres::rows::{get, micros};

/// So many are looked at in one transaction that sweeps.
const ROUND: i64 = 100;

pub(super) async fn put(
    transaction: &Transaction<'_>,
    name: &DatabaseName,
    digest: &AttachmentDigest,
    bytes: &[u8],
    now: Moment,
) -> Result<bool, StoreError> {
    let room = rows::lock(transaction, SHARE, name).await?;
    let (digest, now) = (digest.as_str(), micros(now));
    let sql = "INSERT INTO attachments (database, digest, stored, content) VALUES ($1, $2, $3, $4)
               ON CONFLICT (database, digest) DO UPDATE SET stored = excluded.stored
                  WHERE attachments.content = excluded.content";
    let statement = transaction.prepare_cached(sql).await?;
    Ok(transaction.execute(&statement, &[&room.id, &digest, &now, &bytes]).await? > 0)
}

pub(super) async fn content(
    client: &Client,
    name: &DatabaseName,
    digest: &AttachmentDigest,
) -> Result<Option<Vec<u8>>, StoreError> {
    let sql = "SELECT a.content FROM databases d
                 LEFT JOIN attachments a ON a.database = d.id AND a.digest = $2
                WHERE d.name = $1";
    let statement = client.prepare_cached(sql).await?;
    let row = client.query_opt(&statement, &[&name.as_str(), &digest.as_str()]).await?;
    get(&row.ok_or_else(|| StoreError::NoDatabase(name.clone()))?, 0)
}

/// One round: how many went, and the digest after which the next round begins, if there is one. Nobody names one
/// meanwhile, and one that is put again is looked at again, and stays.
pub(super) async fn sweep(
    transaction: &Transaction<'_>,
    name: &DatabaseName,
    stored_before: Moment,
    after: &str,
) -> Result<(u64, Option<String>), StoreError> {
    let room = rows::lock(transaction, LOCK, name).await?;
    let sql = "SELECT digest FROM attachments WHERE database = $1 AND digest > $2
                ORDER BY digest LIMIT $3";
    let statement = transaction.prepare_cached(sql).await?;
    let rows = transaction.query(&statement, &[&room.id, &after, &ROUND]).await?;
    let round: Vec<&str> = rows.iter().map(|row| get(row, 0)).collect::<Result<_, _>>()?;
    // Each is looked up by itself, however many uses the server takes there to be.
    let sql = "DELETE FROM attachments a
                WHERE database = $1 AND digest = ANY($2) AND stored < $3
                  AND (SELECT true FROM attachment_uses u
                        WHERE u.database = $1 AND u.digest = a.digest LIMIT 1) IS NULL";
    let statement = transaction.prepare_cached(sql).await?;
    let swept =
        transaction.execute(&statement, &[&room.id, &round, &micros(stored_before)]).await?;
    let is_last = (round.len() as i64) < ROUND;
    Ok((swept, round.last().filter(|_| !is_last).map(|digest| (*digest).to_owned())))
}
