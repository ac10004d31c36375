//! Rows of bodies.

use std::collections::BTreeMap;
use std::sync::Arc;

use feedsync_couch::{Attachment, BodyRef, Revision, Tree};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::attachment_rows;
use super::rows::change_key;
use crate::database::{LoadedDocument, StoredBody, StoredDocument};
use crate::error::StoreError;
use crate::order::ChangeNumber;

pub(super) fn body_key(database: i64, number: u64) -> i64 {
    change_key(database, ChangeNumber::new(number))
}

pub(super) fn insert_body(
    connection: &Connection,
    database: i64,
    number: u64,
    body: &StoredBody,
) -> Result<(), StoreError> {
    let attachments =
        (!body.attachments.is_empty()).then(|| Attachment::to_text(&body.attachments));
    connection
        .prepare_cached("INSERT INTO bodies (key, text, attachments) VALUES (?1, ?2, ?3)")?
        .execute(params![body_key(database, number), &*body.text, attachments])?;
    match body.attachments.is_empty() {
        true => Ok(()),
        false => attachment_rows::name(connection, body_key(database, number), &body.attachments),
    }
}

pub(super) fn remove_bodies(
    connection: &Connection,
    database: i64,
    numbers: &[u64],
) -> Result<(), StoreError> {
    let mut statement = connection
        .prepare_cached("DELETE FROM bodies WHERE key = ?1 RETURNING attachments IS NOT NULL")?;
    let mut origins = connection.prepare_cached("DELETE FROM body_origins WHERE key = ?1")?;
    for number in numbers {
        let key = body_key(database, *number);
        origins.execute([key])?;
        let had_attachments = statement.query_row([key], |row| row.get(0)).optional()?;
        if had_attachments == Some(true) {
            attachment_rows::forget(connection, key)?;
        }
    }
    Ok(())
}

pub(super) fn attachments(
    connection: &Connection,
    database: i64,
    tree: &Tree<BodyRef>,
) -> Result<BTreeMap<Revision, Arc<[Attachment]>>, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT attachments FROM bodies WHERE key = ?1")?;
    let mut found = BTreeMap::new();
    for (revision, content) in tree.bodies() {
        let key = body_key(database, content.body.number);
        let text: Option<Option<String>> =
            statement.query_row([key], |row| row.get(0)).optional()?;
        if let Some(text) = text.flatten() {
            found.insert(revision.clone(), kept_attachments(&text)?);
        }
    }
    Ok(found)
}

fn kept_attachments(text: &str) -> Result<Arc<[Attachment]>, StoreError> {
    let attachments = Attachment::of_text(text);
    let attachments = attachments.map_err(|error| StoreError::Damaged(error.to_string()))?;
    Ok(attachments.into())
}

/// A document with its chosen bodies.
pub(super) fn read(
    connection: &Connection,
    database: i64,
    document: StoredDocument,
    chosen: Vec<Revision>,
) -> Result<LoadedDocument, StoreError> {
    let mut bodies = BTreeMap::new();
    for revision in chosen {
        let Some(content) = document.tree.content(&revision) else { continue };
        let body = stored_body(connection, database, content.body.number)?.ok_or_else(|| {
            StoreError::Damaged(format!("the body of {} {revision} is missing", document.id))
        })?;
        bodies.insert(revision, body);
    }
    Ok(LoadedDocument { document, bodies })
}

/// A body by its number.
pub(super) fn stored_body(
    connection: &Connection,
    database: i64,
    number: u64,
) -> Result<Option<StoredBody>, StoreError> {
    let sql = "SELECT text, attachments FROM bodies WHERE key = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([body_key(database, number)])?;
    rows.next()?.map(|row| body(row, 0)).transpose()
}

/// Reads a body: its text and its attachments, from a column on.
pub(super) fn body(row: &Row<'_>, first: usize) -> Result<StoredBody, StoreError> {
    let text = row.get_ref(first)?.as_str().map_err(rusqlite::Error::from)?.into();
    let named = row.get_ref(first + 1)?.as_str_or_null().map_err(rusqlite::Error::from)?;
    let attachments = match named {
        None => Arc::from([]),
        Some(text) => kept_attachments(text)?,
    };
    Ok(StoredBody { text, attachments })
}
