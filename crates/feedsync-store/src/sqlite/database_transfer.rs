//! Transfer of rows of databases.

use feedsync_couch::{AttachmentDigest, DatabaseName, LocalId};
use rusqlite::{Connection, Params, Row, params};

use super::body_rows::{self, body_key};
use super::database_rows::{self, DatabaseRow, Indexing};
use super::{collections, past_rows, rows};
use crate::database::{Database, EndedRevision, Kind, LocalDocument, StoredBody, WriteOrigin};
use crate::environment::Environment;
use crate::error::StoreError;
use crate::order::ChangeNumber;
use crate::stored::{Page, PageLimit};
use crate::transfer::TransferredDocument;

pub(super) fn documents(
    connection: &Connection,
    name: &DatabaseName,
    after: ChangeNumber,
    limit: PageLimit,
) -> Result<Vec<TransferredDocument>, StoreError> {
    let database_row = database_rows::require(connection, name)?.id;
    let sql =
        "SELECT length(tree), id, number, tree, kind FROM documents INDEXED BY document_changes
                WHERE database = ?1 AND number > ?2 ORDER BY number";
    page(connection, sql, params![database_row, after], limit, |row| {
        let kind = row.get_ref(4)?.as_str_or_null().map_err(rusqlite::Error::from)?;
        let document = database_rows::stored(row, 1)?;
        Ok(TransferredDocument { document, kind: Kind::of_column(kind) })
    })
}

pub(super) fn bodies(
    connection: &Connection,
    name: &DatabaseName,
    after: u64,
    limit: PageLimit,
) -> Result<Vec<(u64, StoredBody)>, StoreError> {
    let database_row = database_rows::require(connection, name)?.id;
    let (after, last) = (body_key(database_row, after), body_key(database_row, u64::MAX));
    let sql =
        "SELECT octet_length(text) + coalesce(octet_length(attachments), 0), key, text, attachments
                 FROM bodies WHERE key > ?1 AND key <= ?2 ORDER BY key";
    page(connection, sql, params![after, last], limit, |row| {
        let number = rows::number(row.get(1)?).get();
        Ok((number, body_rows::body(row, 2)?))
    })
}

pub(super) fn local_documents(
    connection: &Connection,
    name: &DatabaseName,
    after: Option<&LocalId>,
    limit: PageLimit,
) -> Result<Vec<(LocalId, LocalDocument)>, StoreError> {
    let database_row = database_rows::require(connection, name)?.id;
    let after = after.map_or("", LocalId::as_str);
    let sql = "SELECT octet_length(text), id, revision, text FROM local_documents
                WHERE database = ?1 AND id > ?2 ORDER BY id";
    page(connection, sql, params![database_row, after], limit, |row| {
        let revision = row.get::<_, i64>(2)? as u64;
        Ok((rows::parsed(row, 1)?, LocalDocument { revision, body: row.get(3)? }))
    })
}

pub(super) fn attachments(
    connection: &Connection,
    name: &DatabaseName,
    after: Option<&AttachmentDigest>,
    limit: usize,
) -> Result<Vec<AttachmentDigest>, StoreError> {
    let database_row = database_rows::require(connection, name)?.id;
    let after = after.map_or("", AttachmentDigest::as_str);
    let sql =
        "SELECT 0, digest FROM attachments WHERE database = ?1 AND digest > ?2 ORDER BY digest";
    page(connection, sql, params![database_row, after], PageLimit::items(limit), |row| {
        rows::parsed(row, 1)
    })
}

/// A page of rows whose first column is their size in bytes.
fn page<T>(
    connection: &Connection,
    sql: &str,
    parameters: impl Params,
    limit: PageLimit,
    read: impl Fn(&Row<'_>) -> Result<T, StoreError>,
) -> Result<Vec<T>, StoreError> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(parameters)?;
    let mut page = Page::new(limit);
    while let Some(row) = rows.next()? {
        if !page.fits(row.get::<_, i64>(0)? as usize) {
            break;
        }
        page.items.push(read(row)?);
    }
    Ok(page.items)
}

/// Creates an empty database in a new epoch.
pub(super) fn begin(
    connection: &Connection,
    environment: &dyn Environment,
    database: Database,
    next_body: u64,
) -> Result<(), StoreError> {
    let epoch = collections::begin_epoch(connection, environment)?;
    let database = Database { epoch, ..database };
    // The indexes of the documents are not known yet.
    database_rows::insert(connection, &database, 0)?;
    let id = database_rows::require(connection, &database.name)?.id;
    let indexing = Indexing::default();
    database_rows::write(connection, &DatabaseRow { id, next_body, database, indexing })
}

pub(super) fn take_documents(
    connection: &Connection,
    name: &DatabaseName,
    documents: Vec<TransferredDocument>,
) -> Result<(), StoreError> {
    let database_row = database_rows::require(connection, name)?.id;
    for TransferredDocument { document, kind } in documents {
        let is_deleted = document.tree.winner().is_some_and(|leaf| leaf.content.is_deleted);
        let kind = Some(kind.to_column());
        database_rows::write_document(connection, database_row, &document, is_deleted, kind)?;
    }
    Ok(())
}

pub(super) fn take_bodies(
    connection: &Connection,
    name: &DatabaseName,
    bodies: &[(u64, StoredBody)],
) -> Result<(), StoreError> {
    let database_row = database_rows::require(connection, name)?.id;
    for (number, body) in bodies {
        body_rows::insert_body(connection, database_row, *number, body)?;
    }
    Ok(())
}

pub(super) fn take_origins(
    connection: &Connection,
    name: &DatabaseName,
    origins: &[(u64, WriteOrigin)],
) -> Result<(), StoreError> {
    let database_row = database_rows::require(connection, name)?.id;
    for (number, origin) in origins {
        past_rows::insert_origin(connection, body_key(database_row, *number), origin)?;
    }
    Ok(())
}

pub(super) fn take_ended(
    connection: &Connection,
    name: &DatabaseName,
    ended: &[EndedRevision],
) -> Result<(), StoreError> {
    let database_row = database_rows::require(connection, name)?.id;
    for row in ended {
        past_rows::insert_ended(connection, database_row, row)?;
    }
    Ok(())
}
