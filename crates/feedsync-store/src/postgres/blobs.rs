//! Rows of blobs, and who names them.

use deadpool_postgres::Client;
use feedsync::ItemId;

use super::rows::{digest, get, micros, parsed};
use crate::blob::Digest;
use crate::error::StoreError;
use crate::name::CollectionName;
use crate::order::Moment;

pub(super) async fn put(
    client: &Client,
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
    }
    Ok(())
}

pub(super) async fn content(
    client: &Client,
    digest: Digest,
) -> Result<Option<Vec<u8>>, StoreError> {
    let statement = client.prepare_cached("SELECT content FROM blobs WHERE digest = $1").await?;
    let row = client.query_opt(&statement, &[&&digest.as_bytes()[..]]).await?;
    row.map(|row| get(&row, 0)).transpose()
}

/// Those of the blobs that are not here, ascending.
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

/// Those that a collection's items name and that are not here, from a digest on.
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

/// Those that are here and were stored before a moment are as if stored now.
pub(super) async fn refresh(
    client: &Client,
    digests: &[Digest],
    stored_before: Moment,
    now: Moment,
) -> Result<(), StoreError> {
    let sql = "SELECT digest FROM blobs WHERE digest = ANY($1) AND stored < $2";
    let statement = client.prepare_cached(sql).await?;
    let rows = client.query(&statement, &[&bytes(digests), &micros(stored_before)]).await?;
    let stale: Vec<Digest> = rows.iter().map(|row| digest(row, 0)).collect::<Result<_, _>>()?;
    if !stale.is_empty() {
        touch(client, &stale, now).await?;
    }
    Ok(())
}

/// Locked in their order, so that no two who ask for the same ones wait for each other.
async fn touch(client: &Client, digests: &[Digest], now: Moment) -> Result<u64, StoreError> {
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

/// A blob that is put again meanwhile is looked at again, and stays.
pub(super) async fn sweep(client: &Client, stored_before: Moment) -> Result<u64, StoreError> {
    let sql = "DELETE FROM blobs
                WHERE stored < $1
                  AND NOT EXISTS (SELECT 1 FROM item_blobs n WHERE n.digest = blobs.digest)
                  AND NOT EXISTS (SELECT 1 FROM discarded_blobs n WHERE n.digest = blobs.digest)";
    Ok(client.execute(sql, &[&micros(stored_before)]).await?)
}
