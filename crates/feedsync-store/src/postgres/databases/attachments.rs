//! Contents of attachments.

use deadpool_postgres::{Client, Transaction};
use feedsync_couch::{AttachmentDigest, DatabaseName};
use futures_util::FutureExt as _;

use super::rows::{self, LOCK_SHARED};
use super::transfer;
use crate::database::sweep::{AttachmentKey, AttachmentScan, SCAN_LIMIT};
use crate::digests;
use crate::error::StoreError;
use crate::order::Moment;
use crate::postgres::node::Node;
use crate::postgres::pipeline::Parameter;
use crate::postgres::rows::{get, micros};

pub(super) async fn put(
    transaction: &Transaction<'_>,
    name: &DatabaseName,
    digest: &AttachmentDigest,
    bytes: &[u8],
    now: Moment,
) -> Result<bool, StoreError> {
    let database_row = rows::lock(transaction, LOCK_SHARED, name).await?;
    let (text, now) = (digest.as_str(), micros(now));
    let sql = "INSERT INTO attachments (database, digest, stored, content) VALUES ($1, $2, $3, $4)
               ON CONFLICT (database, digest) DO UPDATE SET stored = excluded.stored
                  WHERE attachments.content = excluded.content";
    let statement = transaction.prepare_cached(sql).await?;
    if transaction.execute(&statement, &[&database_row.id, &text, &now, &bytes]).await? > 0 {
        return Ok(true);
    }
    // Either two contents have the same MD5, or the disk has changed the stored one, which is replaced.
    let sql = "SELECT content FROM attachments WHERE database = $1 AND digest = $2";
    let stored: Vec<u8> = get(&transaction.query_one(sql, &[&database_row.id, &text]).await?, 0)?;
    let heals = !digest.is_of(&stored) && digest.is_of(bytes);
    if heals {
        let sql = "UPDATE attachments SET content = $4, stored = $3
                    WHERE database = $1 AND digest = $2";
        transaction.execute(sql, &[&database_row.id, &text, &now, &bytes]).await?;
    }
    Ok(heals)
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
    let stored: Option<Vec<u8>> =
        get(&row.ok_or_else(|| StoreError::NoDatabase(name.clone()))?, 0)?;
    stored.map(|bytes| digests::attachment(digest, bytes)).transpose()
}

/// Whether no body of its database names an attachment. Each attachment is looked up by its key, even if the
/// server's statistics suggest many uses.
macro_rules! is_unnamed {
    () => {
        "(SELECT true FROM attachment_uses u
           WHERE u.database = a.database AND u.digest = a.digest LIMIT 1) IS NULL"
    };
}

pub(super) const IS_REFERENCED: &str = "
    SELECT (SELECT true FROM attachments a
             WHERE a.database = d.id AND a.digest = $2
               AND (SELECT true FROM attachment_uses u
                     WHERE u.database = a.database AND u.digest = a.digest
                       AND (SELECT e.held FROM ended_revisions e
                             WHERE e.database = u.database AND e.number = u.number) IS NOT TRUE
                     LIMIT 1)) IS NOT NULL FROM databases d WHERE d.name = $1";

/// Whether a body in a revision tree names an attachment; bodies that only the history keeps do not count.
pub(super) async fn is_referenced(
    client: &Client,
    name: &DatabaseName,
    digest: &AttachmentDigest,
) -> Result<bool, StoreError> {
    let statement = client.prepare_cached(IS_REFERENCED).await?;
    let row = client.query_opt(&statement, &[&name.as_str(), &digest.as_str()]).await?;
    get(&row.ok_or_else(|| StoreError::NoDatabase(name.clone()))?, 0)
}

pub(super) const SCAN: &str = concat!(
    "SELECT a.database, a.digest, octet_length(a.content)::bigint,
            a.stored < $4
              AND (SELECT d.name FROM databases d WHERE d.id = a.database) IS NOT NULL
              AND ",
    is_unnamed!(),
    " FROM attachments a WHERE (a.database, a.digest) > ($1, $2) AND a.database <= $3
       ORDER BY a.database, a.digest LIMIT $5"
);

/// Locks databases in id order, so that concurrent transactions do not deadlock.
const LOCK_ALL: &str = "SELECT 1 FROM databases WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE";

pub(super) const REMOVE: &str = concat!(
    "DELETE FROM attachments a USING unnest($1::bigint[], $2::text[]) AS piece (database, digest)
      WHERE a.database = piece.database AND a.digest = piece.digest AND a.stored < $3 AND ",
    is_unnamed!()
);

/// Removes attachments that were stored before a moment and that no body names, of one database or of all; returns
/// their number.
pub(super) async fn sweep(
    node: &Node,
    of: Option<&DatabaseName>,
    stored_before: Moment,
) -> Result<u64, StoreError> {
    let (mut after, mut through) = (AttachmentKey::default(), i64::MAX);
    if let Some(name) = of {
        through = transfer::require(&node.connection().await?, name).await?.id;
        after.database = through;
    }
    let (mut swept, mut last) = (0, Some(after));
    while let Some(after) = last {
        let mut client = node.connection().await?;
        let mut looked = scan(&mut client, &after, through, stored_before).await?;
        drop(client);
        last = looked.last.take();
        for piece in looked.pieces() {
            let remove = node.write(move |transaction, _| {
                async move { remove(transaction, &piece, stored_before).await }.boxed()
            });
            swept += remove.await?;
        }
    }
    Ok(swept)
}

/// Searches the attachments after one, of databases up to one, for those that were stored before a moment and
/// that no body names. Attachments of dropped databases are removed with their databases.
async fn scan(
    client: &mut Client,
    after: &AttachmentKey,
    through: i64,
    stored_before: Moment,
) -> Result<AttachmentScan, StoreError> {
    let stored_before = micros(stored_before);
    let parameters: Vec<Parameter<'_>> =
        vec![&after.database, &after.digest, &through, &stored_before, &SCAN_LIMIT];
    let mut looked = AttachmentScan::default();
    for row in &transfer::in_order(client, SCAN, parameters).await? {
        let key = AttachmentKey { database: get(row, 0)?, digest: get(row, 1)? };
        let bytes = get::<i64>(row, 2)? as u64;
        looked.take(key, get::<bool>(row, 3)?.then_some(bytes));
    }
    Ok(looked)
}

/// Removes those of the given attachments that are still unnamed and old; returns their number. No
/// transaction can name one meanwhile. One that is put again meanwhile is rechecked, and stays.
async fn remove(
    transaction: &Transaction<'_>,
    piece: &[AttachmentKey],
    stored_before: Moment,
) -> Result<u64, StoreError> {
    let databases: Vec<i64> = piece.iter().map(|key| key.database).collect();
    let digests: Vec<&str> = piece.iter().map(|key| &*key.digest).collect();
    let statement = transaction.prepare_cached(LOCK_ALL).await?;
    transaction.query(&statement, &[&databases]).await?;
    let statement = transaction.prepare_cached(REMOVE).await?;
    let values: [Parameter<'_>; 3] = [&databases, &digests, &micros(stored_before)];
    Ok(transaction.execute(&statement, &values).await?)
}
