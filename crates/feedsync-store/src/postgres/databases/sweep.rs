//! Removal of the contents of dropped databases, and of the rows of dropped indexes and views, piece by piece. No
//! statement exceeds the session's timeout, and no other transaction waits for long.

use deadpool_postgres::Transaction;

use super::view_removal;
use crate::error::StoreError;
use crate::postgres::rows::get;

/// Number of rows of a table that are removed at once.
pub(super) const ROWS: i64 = 2_000;

/// Number of bytes of bodies that are removed at once; bodies after them are left to the next piece.
pub(super) const BYTES: i64 = 64 << 20;

const DROPPED: &str =
    "SELECT id FROM databases WHERE name IS NULL ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED";

const FIRST_BODIES: &str = "SELECT number, octet_length(text)::bigint FROM bodies
                             WHERE database = $1 ORDER BY number LIMIT $2";

const REMOVE_BODIES: &str = "DELETE FROM bodies WHERE database = $1 AND number <= $2";

const REMOVE: [&str; 5] = [
    "DELETE FROM ended_revisions WHERE database = $1 AND number <= (SELECT max(number) FROM
       (SELECT number FROM ended_revisions WHERE database = $1 ORDER BY number LIMIT $2) piece)",
    "DELETE FROM body_origins WHERE database = $1 AND number <= (SELECT max(number) FROM
       (SELECT number FROM body_origins WHERE database = $1 ORDER BY number LIMIT $2) piece)",
    "DELETE FROM documents WHERE database = $1 AND number <= (SELECT max(number) FROM
       (SELECT number FROM documents WHERE database = $1 ORDER BY number LIMIT $2) piece)",
    "DELETE FROM attachment_uses WHERE database = $1 AND number <= (SELECT max(number) FROM
       (SELECT number FROM attachment_uses WHERE database = $1 ORDER BY number LIMIT $2) piece)",
    "DELETE FROM local_documents WHERE database = $1 AND digest <= (SELECT digest FROM
       (SELECT digest FROM local_documents WHERE database = $1 ORDER BY digest LIMIT $2) piece
        ORDER BY digest DESC LIMIT 1)",
];

const REMOVE_ATTACHMENTS: &str = "
    DELETE FROM attachments WHERE database = $1 AND digest <= (SELECT max(digest) FROM
      (SELECT digest FROM attachments WHERE database = $1 ORDER BY digest LIMIT 8) piece)";

const DROPPED_INDEX: &str = "SELECT id FROM document_indexes WHERE database IS NULL
                              ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED";

const DROP_INDEXES: &str = "UPDATE document_indexes SET database = NULL WHERE database = $1";

pub(super) const REMOVE_INDEX_ROWS: &str = "
    DELETE FROM index_rows WHERE ctid = ANY(ARRAY(
      SELECT ctid FROM index_rows WHERE index_id = $1 ORDER BY key, head, digest LIMIT $2))";

/// Removes one piece of the contents of one dropped database, or of the rows of one dropped index or of dropped
/// views; returns whether there may be more of it, or of another.
pub(super) async fn sweep(transaction: &Transaction<'_>) -> Result<bool, StoreError> {
    let statement = transaction.prepare_cached(DROPPED).await?;
    let Some(row) = transaction.query_opt(&statement, &[]).await? else {
        return Ok(index(transaction).await? || view_removal::sweep(transaction).await?);
    };
    let id: i64 = get(&row, 0)?;
    let mut removed = bodies(transaction, id).await?;
    for sql in REMOVE {
        let statement = transaction.prepare_cached(sql).await?;
        removed += transaction.execute(&statement, &[&id, &ROWS]).await?;
    }
    let statement = transaction.prepare_cached(REMOVE_ATTACHMENTS).await?;
    removed += transaction.execute(&statement, &[&id]).await?;
    if removed == 0 {
        transaction.execute(DROP_INDEXES, &[&id]).await?;
        view_removal::drop_views(transaction, id).await?;
        transaction.execute("DELETE FROM databases WHERE id = $1", &[&id]).await?;
    }
    Ok(true)
}

/// Removes one piece of the rows of one dropped index. Nothing adds rows to it.
async fn index(transaction: &Transaction<'_>) -> Result<bool, StoreError> {
    let statement = transaction.prepare_cached(DROPPED_INDEX).await?;
    let Some(row) = transaction.query_opt(&statement, &[]).await? else { return Ok(false) };
    let id: i64 = get(&row, 0)?;
    let statement = transaction.prepare_cached(REMOVE_INDEX_ROWS).await?;
    if transaction.execute(&statement, &[&id, &ROWS]).await? == 0 {
        transaction.execute("DELETE FROM document_indexes WHERE id = $1", &[&id]).await?;
    }
    Ok(true)
}

async fn bodies(transaction: &Transaction<'_>, id: i64) -> Result<u64, StoreError> {
    let statement = transaction.prepare_cached(FIRST_BODIES).await?;
    let (mut last, mut bytes) = (None, 0);
    for row in &transaction.query(&statement, &[&id, &ROWS]).await? {
        last = Some(get::<i64>(row, 0)?);
        bytes += get::<i64>(row, 1)?;
        if bytes >= BYTES {
            break;
        }
    }
    let Some(last) = last else { return Ok(0) };
    let statement = transaction.prepare_cached(REMOVE_BODIES).await?;
    Ok(transaction.execute(&statement, &[&id, &last]).await?)
}
