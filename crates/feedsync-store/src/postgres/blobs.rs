//! Rows of blobs, and the items that name them.

use deadpool_postgres::{Client, Transaction};
use feedsync_core::ItemId;

use super::rounds::ROUND_ROWS;
use super::rows::{digest, get, micros, parsed};
use crate::blob::Digest;
use crate::digests;
use crate::error::StoreError;
use crate::name::CollectionName;
use crate::order::Moment;

pub(super) async fn put(
    client: &Transaction<'_>,
    digest: Digest,
    bytes: &[u8],
    now: Moment,
) -> Result<(), StoreError> {
    let touched = touch(client, &[digest], now).await?;
    if touched == 0 {
        client
            .execute(
                "INSERT INTO blobs (digest, stored, content) VALUES ($1, $2, $3)
                 ON CONFLICT (digest) DO UPDATE SET stored = excluded.stored",
                &[&&digest.as_bytes()[..], &micros(now), &bytes],
            )
            .await?;
    } else {
        // Replaces content that the disk has changed.
        let sql = "UPDATE blobs SET content = $2 WHERE digest = $1 AND content <> $2";
        client.execute(sql, &[&&digest.as_bytes()[..], &bytes]).await?;
    }
    Ok(())
}

pub(super) async fn content(
    client: &Client,
    digest: Digest,
) -> Result<Option<Vec<u8>>, StoreError> {
    let statement = client.prepare_cached("SELECT content FROM blobs WHERE digest = $1").await?;
    let row = client.query_opt(&statement, &[&&digest.as_bytes()[..]]).await?;
    row.map(|row| digests::blob(digest, get(&row, 0)?)).transpose()
}

/// Those of the blobs that are not stored, ascending.
pub(super) async fn missing(
    client: &Client,
    digests: &[Digest],
) -> Result<Vec<Digest>, StoreError> {
    let sql = "SELECT DISTINCT d FROM unnest($1::bytea[]) d
                WHERE NOT EXISTS (SELECT 1 FROM blobs WHERE digest = d) ORDER BY d";
    let statement = client.prepare_cached(sql).await?;
    let rows = client.query(&statement, &[&bytes(digests)]).await?;
    rows.iter().map(|row| digest(row, 0)).collect()
}

/// Blobs that a collection's items name and that are not stored, from a digest on.
pub(super) async fn lost(
    client: &Client,
    collection: i64,
    from: Digest,
    most: usize,
) -> Result<Vec<Digest>, StoreError> {
    let sql = "SELECT DISTINCT n.digest FROM item_blobs n
                WHERE n.collection = $1 AND n.digest >= $2
                  AND NOT EXISTS (SELECT 1 FROM blobs b WHERE b.digest = n.digest)
                ORDER BY n.digest LIMIT $3";
    let statement = client.prepare_cached(sql).await?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let from = &from.as_bytes()[..];
    let rows = client.query(&statement, &[&collection, &from, &most]).await?;
    rows.iter().map(|row| digest(row, 0)).collect()
}

/// Blobs that were stored before a moment.
pub(super) async fn stored_before(
    client: &Client,
    digests: &[Digest],
    moment: Moment,
) -> Result<Vec<Digest>, StoreError> {
    let sql = "SELECT digest FROM blobs WHERE digest = ANY($1) AND stored < $2";
    let statement = client.prepare_cached(sql).await?;
    let rows = client.query(&statement, &[&bytes(digests), &micros(moment)]).await?;
    rows.iter().map(|row| digest(row, 0)).collect()
}

/// Sets the moment of storing of those blobs that are stored to now; returns their number. They are locked in
/// digest order, so that concurrent calls with the same blobs do not deadlock.
pub(super) async fn touch(
    client: &Transaction<'_>,
    digests: &[Digest],
    now: Moment,
) -> Result<u64, StoreError> {
    let sql = "UPDATE blobs SET stored = $2 FROM (
                 SELECT digest FROM blobs WHERE digest = ANY($1) ORDER BY digest FOR UPDATE
               ) locked WHERE blobs.digest = locked.digest";
    let statement = client.prepare_cached(sql).await?;
    Ok(client.execute(&statement, &[&bytes(digests), &micros(now)]).await?)
}

fn bytes(digests: &[Digest]) -> Vec<&[u8]> {
    digests.iter().map(|digest| &digest.as_bytes()[..]).collect()
}

pub(super) async fn named_by(
    client: &Client,
    digest: Digest,
) -> Result<Vec<(CollectionName, ItemId)>, StoreError> {
    let sql = "SELECT c.name, i.id FROM item_blobs b
                 JOIN items i ON i.collection = b.collection AND i.number = b.number
                 JOIN collections c ON c.id = b.collection
                WHERE b.digest = $1 ORDER BY c.name, i.id";
    let statement = client.prepare_cached(sql).await?;
    let rows = client.query(&statement, &[&&digest.as_bytes()[..]]).await?;
    rows.iter().map(|row| Ok((parsed(row, 0)?, parsed(row, 1)?))).collect()
}

/// One round of a sweep: the number of removed blobs, and the digest after which the next round begins, if
/// there is one. A blob that is put again meanwhile is rechecked, and stays.
pub(super) async fn sweep(
    transaction: &Transaction<'_>,
    stored_before: Moment,
    after: &[u8],
) -> Result<(u64, Option<Vec<u8>>), StoreError> {
    let sql = "SELECT digest FROM blobs WHERE digest > $1 ORDER BY digest LIMIT $2";
    let statement = transaction.prepare_cached(sql).await?;
    let rows = transaction.query(&statement, &[&after, &ROUND_ROWS]).await?;
    let round: Vec<&[u8]> = rows.iter().map(|row| get(row, 0)).collect::<Result<_, _>>()?;
    let sql = "DELETE FROM blobs
                WHERE digest = ANY($1) AND stored < $2
                  AND NOT EXISTS (SELECT 1 FROM item_blobs n WHERE n.digest = blobs.digest)
                  AND NOT EXISTS (SELECT 1 FROM discarded_blobs n WHERE n.digest = blobs.digest)";
    let statement = transaction.prepare_cached(sql).await?;
    let swept = transaction.execute(&statement, &[&round, &micros(stored_before)]).await?;
    let is_last = (round.len() as i64) < ROUND_ROWS;
    Ok((swept, round.last().filter(|_| !is_last).map(|digest| digest.to_vec())))
}
