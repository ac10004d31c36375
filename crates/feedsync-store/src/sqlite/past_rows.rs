//! Rows of ended revisions, and of the writes that made bodies.

use std::sync::Arc;

use feedsync_couch::{BodyRef, Content, DocumentId, Revision};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::body_rows::{self, body_key};
use super::rows;
use super::rows::parsed;
use crate::columns::moment;
use crate::database::{
    Database, EndedRevision, PastLeaf, StoredDocument, WriteEffect, WriteOrigin,
};
use crate::error::StoreError;
use crate::order::Moment;

/// The columns that [`ended`] reads, in order.
macro_rules! ended_columns {
    () => {
        "key, document, revision, deleted, length, attached, since, author, ended, ended_by, held"
    };
}
pub(super) use ended_columns;

pub(super) fn insert_origin(
    connection: &Connection,
    key: i64,
    WriteOrigin { moment, author }: &WriteOrigin,
) -> Result<(), StoreError> {
    connection
        .prepare_cached("INSERT INTO body_origins (key, since, author) VALUES (?1, ?2, ?3)")?
        .execute(params![key, moment, author.as_deref()])?;
    Ok(())
}

/// The write that made a body, if it is known.
pub(super) fn origin(connection: &Connection, key: i64) -> Result<Option<WriteOrigin>, StoreError> {
    let sql = "SELECT since, author FROM body_origins WHERE key = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([key])?;
    rows.next()?.map(|row| write_origin(row, 0)).transpose().map(Option::flatten)
}

/// Reads a moment and an author from a column on.
pub(super) fn write_origin(row: &Row<'_>, first: usize) -> Result<Option<WriteOrigin>, StoreError> {
    let Some(at) = row.get::<_, Option<i64>>(first)? else { return Ok(None) };
    let author = row.get_ref(first + 1)?.as_str_or_null().map_err(rusqlite::Error::from)?;
    Ok(Some(WriteOrigin { moment: moment(at), author: author.map(Arc::from) }))
}

/// Reads an ended revision from the first column on.
pub(super) fn ended(row: &Row<'_>) -> Result<EndedRevision, StoreError> {
    let length = row.get::<_, i64>(4)? as u64;
    let attached = row.get::<_, i64>(5)? as u64;
    let body = BodyRef { number: rows::number(row.get(0)?).get(), length, attached };
    let ended = write_origin(row, 8)?;
    Ok(EndedRevision {
        id: parsed(row, 1)?,
        revision: parsed(row, 2)?,
        content: Content { is_deleted: row.get(3)?, body },
        written: write_origin(row, 6)?,
        ended: ended.ok_or_else(|| StoreError::Damaged("an end without a moment".to_owned()))?,
        is_held: row.get(10)?,
    })
}

pub(super) fn insert_ended(
    connection: &Connection,
    database: i64,
    EndedRevision { id, revision, content, written, ended, is_held }: &EndedRevision,
) -> Result<(), StoreError> {
    let sql = concat!(
        "INSERT OR REPLACE INTO ended_revisions (",
        ended_columns!(),
        ", database) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
    );
    connection.prepare_cached(sql)?.execute(params![
        body_key(database, content.body.number),
        id.as_str(),
        revision.to_string(),
        content.is_deleted,
        content.body.length as i64,
        content.body.attached as i64,
        written.as_ref().map(|written| written.moment),
        written.as_ref().and_then(|written| written.author.as_deref()),
        ended.moment,
        ended.author.as_deref(),
        is_held,
        database,
    ])?;
    Ok(())
}

/// Applies a write to the history, and removes the bodies that neither the tree nor the history names.
pub(super) fn apply(
    connection: &Connection,
    (database, counts): (i64, &mut Database),
    id: &DocumentId,
    effect: &WriteEffect,
    origin: Option<&WriteOrigin>,
) -> Result<(), StoreError> {
    if effect.is_forgotten {
        counts.release(forget(connection, database, id)?);
    }
    if let Some(origin) = origin {
        for leaf in &effect.ended {
            end(connection, database, id, leaf, origin)?;
        }
    }
    let mut gone = Vec::with_capacity(effect.gone.len());
    for body in &effect.gone {
        match counts.keeps_history() && hold(connection, body_key(database, body.number))? {
            true => counts.hold(body.whole()),
            false => gone.push(body.number),
        }
    }
    body_rows::remove_bodies(connection, database, &gone)
}

/// Writes that a leaf ended.
fn end(
    connection: &Connection,
    database: i64,
    id: &DocumentId,
    (revision, content): &(Revision, Content<BodyRef>),
    by: &WriteOrigin,
) -> Result<(), StoreError> {
    let key = body_key(database, content.body.number);
    let written = origin(connection, key)?;
    let (id, revision) = (id.clone(), revision.clone());
    let ended = by.clone();
    let row = EndedRevision { id, revision, content: *content, written, ended, is_held: false };
    insert_ended(connection, database, &row)?;
    connection.prepare_cached("DELETE FROM body_origins WHERE key = ?1")?.execute([key])?;
    Ok(())
}

/// Marks that no tree names the body of a key any longer; returns whether the history keeps it.
fn hold(connection: &Connection, key: i64) -> Result<bool, StoreError> {
    let sql = "UPDATE ended_revisions SET held = 1 WHERE key = ?1";
    Ok(connection.prepare_cached(sql)?.execute([key])? > 0)
}

/// Removes all ended revisions of a document; returns the number of bytes that only they kept.
fn forget(connection: &Connection, database: i64, id: &DocumentId) -> Result<u64, StoreError> {
    let sql = concat!(
        "SELECT ",
        ended_columns!(),
        " FROM ended_revisions INDEXED BY ended_by_document WHERE database = ?1 AND document = ?2"
    );
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![database, id.as_str()])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        all.push(ended(row)?);
    }
    remove(connection, database, &all)
}

/// Removes ended revisions; returns the number of bytes that only they kept.
pub(super) fn remove(
    connection: &Connection,
    database: i64,
    all: &[EndedRevision],
) -> Result<u64, StoreError> {
    let mut statement = connection.prepare_cached("DELETE FROM ended_revisions WHERE key = ?1")?;
    let (mut bytes, mut held) = (0, Vec::new());
    for EndedRevision { content, is_held, .. } in all {
        statement.execute([body_key(database, content.body.number)])?;
        if *is_held {
            bytes += content.body.whole();
            held.push(content.body.number);
        }
    }
    body_rows::remove_bodies(connection, database, &held)?;
    Ok(bytes)
}

/// The leaves of a document at a moment, the winner first.
pub(super) fn leaves_at(
    connection: &Connection,
    database: i64,
    document: &StoredDocument,
    at: Moment,
) -> Result<Vec<PastLeaf>, StoreError> {
    let mut leaves = Vec::new();
    for leaf in document.tree.leaves() {
        let written = origin(connection, body_key(database, leaf.content.body.number))?;
        leaves.push(PastLeaf { revision: leaf.revision.clone(), content: *leaf.content, written });
    }
    leaves.retain(|leaf| leaf.was_there(at));
    let sql = concat!(
        "SELECT ",
        ended_columns!(),
        " FROM ended_revisions INDEXED BY ended_by_document
           WHERE database = ?1 AND document = ?2 AND ended > ?3 AND coalesce(since, 0) <= ?3"
    );
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![database, document.id.as_str(), at])?;
    while let Some(row) = rows.next()? {
        leaves.push(ended(row)?.leaf());
    }
    PastLeaf::sort(&mut leaves);
    Ok(leaves)
}

/// Removes a piece of the history of a dropped database, whose keys are in a range; returns whether there was any.
pub(super) fn sweep(
    connection: &Connection,
    (first, last): (i64, i64),
    most: i64,
) -> Result<bool, StoreError> {
    let mut is_any = false;
    for table in ["ended_revisions", "body_origins"] {
        is_any |= remove_piece(connection, table, (first, last), most)?;
    }
    Ok(is_any)
}

/// Removes a piece of the origins of a database's bodies; returns whether there was any.
pub(super) fn remove_origins(
    connection: &Connection,
    database: i64,
    most: i64,
) -> Result<bool, StoreError> {
    let keys = (body_key(database, 0), body_key(database, u64::MAX));
    remove_piece(connection, "body_origins", keys, most)
}

/// Removes the first rows of a range of keys; returns whether there was any.
fn remove_piece(
    connection: &Connection,
    table: &str,
    (first, last): (i64, i64),
    most: i64,
) -> Result<bool, StoreError> {
    let sql = format!(
        "SELECT max(key) FROM (SELECT key FROM {table} WHERE key BETWEEN ?1 AND ?2 ORDER BY key LIMIT ?3)"
    );
    let end: Option<i64> = connection
        .prepare_cached(&sql)?
        .query_row([first, last, most], |row| row.get(0))
        .optional()?
        .flatten();
    let Some(end) = end else { return Ok(false) };
    let sql = format!("DELETE FROM {table} WHERE key BETWEEN ?1 AND ?2");
    connection.prepare_cached(&sql)?.execute([first, end])?;
    Ok(true)
}
