//! Local documents.

use deadpool_postgres::{Client, Transaction};
use feedsync_couch::{DatabaseName, LocalId};
use sha2::{Digest as _, Sha256};
use tokio_postgres::Row;

use super::rows::{self, LOCK_SHARED};
use super::transfer;
use crate::columns::parse;
use crate::database::LocalDocument;
use crate::error::StoreError;
use crate::order::Epoch;
use crate::postgres::pipeline::Parameter;
use crate::postgres::rows::get;
use crate::stored::PageLimit;

pub(super) fn key(id: &LocalId) -> Vec<u8> {
    Sha256::digest(id.as_str()).to_vec()
}

pub(super) async fn find(
    client: &Client,
    name: &DatabaseName,
    id: &LocalId,
) -> Result<Option<LocalDocument>, StoreError> {
    let sql = "SELECT l.revision, l.text FROM databases d
                 LEFT JOIN local_documents l ON l.database = d.id AND l.digest = $2
                WHERE d.name = $1";
    let statement = client.prepare_cached(sql).await?;
    let row = client.query_opt(&statement, &[&name.as_str(), &key(id)]).await?;
    let row = row.ok_or_else(|| StoreError::NoDatabase(name.clone()))?;
    let Some(revision) = get::<Option<i64>>(&row, 0)? else { return Ok(None) };
    let body = rows::text(get(&row, 1)?)?.to_owned();
    Ok(Some(LocalDocument { revision: revision as u64, body }))
}

/// Local documents in the order of their ids. There is no index of that order, since ids may be longer than
/// an index key: they are sorted.
pub(super) async fn by_id(
    client: &Client,
    name: &DatabaseName,
    after: Option<&LocalId>,
    limit: PageLimit,
) -> Result<Vec<(LocalId, LocalDocument)>, StoreError> {
    let sql = "SELECT id, revision, text FROM (
                 SELECT id, revision, text, sum(octet_length(text)) OVER (ORDER BY id) AS bytes,
                        row_number() OVER (ORDER BY id) AS place
                   FROM local_documents WHERE database = $1 AND id > $2) l
                WHERE place = 1 OR place <= $3 AND bytes <= $4 ORDER BY place";
    let database_row = transfer::require(client, name).await?.id;
    let after = after.map_or("", LocalId::as_str).as_bytes();
    let (items, bytes) = (limit.items as i64, limit.bytes as i64);
    let statement = client.prepare_cached(sql).await?;
    let found = client.query(&statement, &[&database_row, &after, &items, &bytes]).await?;
    let read = |row: &Row| {
        let body = rows::text(get(row, 2)?)?.to_owned();
        Ok((
            parse(rows::text(get(row, 0)?)?)?,
            LocalDocument { revision: get::<i64>(row, 1)? as u64, body },
        ))
    };
    found.iter().map(read).collect()
}

/// Writes or removes a local document; returns whether one existed.
pub(super) async fn put(
    transaction: &Transaction<'_>,
    name: &DatabaseName,
    epoch: Epoch,
    id: &LocalId,
    document: Option<LocalDocument>,
) -> Result<bool, StoreError> {
    let database_row = rows::lock(transaction, LOCK_SHARED, name).await?;
    database_row.database.require(epoch)?;
    let key = key(id);
    // Writers of local documents of one database are serialized here, so that replaced bytes are counted
    // exactly.
    let sql = "INSERT INTO local_bytes (database, bytes) VALUES ($1, 0)
               ON CONFLICT (database) DO UPDATE SET bytes = local_bytes.bytes";
    let statement = transaction.prepare_cached(sql).await?;
    transaction.execute(&statement, &[&database_row.id]).await?;
    let sql = "DELETE FROM local_documents WHERE database = $1 AND digest = $2
               RETURNING octet_length(text)::bigint";
    let statement = transaction.prepare_cached(sql).await?;
    let gone = transaction.query_opt(&statement, &[&database_row.id, &key]).await?;
    let gone: Option<i64> = gone.map(|row| get(&row, 0)).transpose()?;
    let bytes = document.as_ref().map_or(0, |document| document.body.len() as i64);
    if let Some(LocalDocument { revision, body }) = document {
        let sql = "INSERT INTO local_documents (database, digest, id, revision, text)
                   VALUES ($1, $2, $3, $4, $5)";
        let statement = transaction.prepare_cached(sql).await?;
        let values: [Parameter<'_>; 5] =
            [&database_row.id, &key, &id.as_str().as_bytes(), &(revision as i64), &body.as_bytes()];
        transaction.execute(&statement, &values).await?;
    }
    let sql = "UPDATE local_bytes SET bytes = bytes + $2 WHERE database = $1";
    let statement = transaction.prepare_cached(sql).await?;
    let change = bytes - gone.unwrap_or_default();
    transaction.execute(&statement, &[&database_row.id, &change]).await?;
    Ok(gone.is_some())
}
