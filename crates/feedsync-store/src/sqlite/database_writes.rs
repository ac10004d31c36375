//! Application of decisions on documents, and removal of rows that are no longer needed.

use feedsync_couch::DocumentId;
use rusqlite::types::FromSql;
use rusqlite::{Connection, OptionalExtension as _, Params, params};

use super::body_rows;
use super::database_rows::{self, DatabaseRow, Finder};
#[cfg(feature = "queries")]
use super::indexes::Upkeep;
#[cfg(not(feature = "queries"))]
use super::no_indexes::{Upkeep, remove_document};
use super::sweep_limits::{SWEEP_BYTES, SWEEP_ROWS};
#[cfg(feature = "queries")]
use super::views::remove_document;
use super::{past_rows, rows, view_removal};
use crate::database::{
    Database, DocumentEntry, DocumentRequest, DocumentWrite, DocumentsSnapshot, StoredDocument,
    WriteOrigin,
};
use crate::error::StoreError;
use crate::order::{ChangeNumber, Moment};

/// Number of pages of 4 KiB that are returned to the file system at once.
const VACUUM_PAGES: i64 = 1_000;

/// Number of free pages up to which none are returned.
const FREE_PAGES: i64 = 256;

/// Free pages are returned only if they are more than this fraction of all: new rows reuse free pages without
/// growing the file.
const FREE_PART: i64 = 8;

pub(super) fn update(
    connection: &Connection,
    mut database_row: DatabaseRow,
    wanted: &[DocumentRequest],
    now: Moment,
    decide: &mut dyn FnMut(&DocumentsSnapshot) -> Result<Vec<DocumentWrite>, StoreError>,
) -> Result<(Database, bool), StoreError> {
    let mut snapshot = DocumentsSnapshot {
        database: database_row.database.clone(),
        documents: Default::default(),
        next_body: database_row.next_body,
    };
    let mut finder = Finder::new(connection, database_row.id)?;
    for DocumentRequest { id, with_attachments } in wanted {
        let found = match finder.find(id.as_str())? {
            None => DocumentEntry::default(),
            Some((number, tree)) => {
                let attachments = match with_attachments {
                    true => body_rows::attachments(connection, database_row.id, &tree)?,
                    false => Default::default(),
                };
                DocumentEntry { tree, number, attachments }
            }
        };
        snapshot.documents.insert(id.clone(), found);
    }
    let writes = decide(&snapshot)?;
    if writes.is_empty() {
        return Ok((database_row.database, false));
    }
    let mut is_purge = false;
    let before = database_row.database.last;
    let upkeep = Upkeep::of(connection, &mut database_row)?;
    let moment = database_row.database.begin_write(now);
    let first_body = snapshot.next_body;
    let mut update = Update { connection, database_row, upkeep, first_body, moment };
    for write in writes {
        let found = snapshot.documents.get_mut(&write.id).ok_or_else(|| {
            StoreError::Decision(format!("{} is not among the documents of the update", write.id))
        })?;
        is_purge |= found.tree.leaves().iter().any(|leaf| !write.tree.contains(leaf.revision));
        update.put(found, write)?;
    }
    let Update { mut database_row, .. } = update;
    database_row.database.purges += u64::from(is_purge);
    database_rows::write(connection, &database_row)?;
    let has_visible_changes = database_row.database.last > before || is_purge;
    Ok((database_row.database, has_visible_changes))
}

/// Writes of one transaction.
struct Update<'a> {
    connection: &'a Connection,
    database_row: DatabaseRow,
    upkeep: Upkeep,
    /// The first number that new bodies can have.
    first_body: u64,
    /// Moment of the transaction, if a history is kept.
    moment: Option<Moment>,
}

impl Update<'_> {
    /// Applies one write, also to the values in memory.
    fn put(&mut self, found: &mut DocumentEntry, write: DocumentWrite) -> Result<(), StoreError> {
        let Self { connection, database_row, upkeep, first_body, moment } = self;
        let counted = database_row.database.count(&found.tree, &write, *first_body)?;
        let origin = moment.map(|moment| WriteOrigin { moment, author: write.author.clone() });
        let id = write.id;
        let old = upkeep.winner(connection, database_row.id, (&id, &found.tree), &[])?;
        let counts = (database_row.id, &mut database_row.database);
        past_rows::apply(connection, counts, &id, &counted, origin.as_ref())?;
        for (number, body) in &write.bodies {
            if number < first_body {
                return Err(StoreError::Decision(format!("the body {number} is there already")));
            }
            database_row.next_body = database_row.next_body.max(number + 1);
            body_rows::insert_body(connection, database_row.id, *number, body)?;
            if let Some(origin) = &origin {
                let key = body_rows::body_key(database_row.id, *number);
                past_rows::insert_origin(connection, key, origin)?;
            }
        }
        let new = upkeep.winner(connection, database_row.id, (&id, &write.tree), &write.bodies)?;
        upkeep.apply(connection, database_row, &id, (old.as_ref(), new.as_ref()))?;
        if counted.is_change {
            let next = database_row.database.last.next();
            found.number = next.ok_or_else(|| {
                StoreError::DatabaseNumbersExhausted(database_row.database.name.clone())
            })?;
            database_row.database.last = found.number;
        }
        let Some(winner) = write.tree.winner() else {
            remove_document(connection, database_row.id, &id)?;
            database_rows::remove_document(connection, database_row.id, &id)?;
            *found = DocumentEntry::default();
            return Ok(());
        };
        let is_deleted = winner.content.is_deleted;
        let kind = write.kind.map(|kind| kind.to_column());
        let document = StoredDocument { id, number: found.number, tree: write.tree };
        database_rows::write_document(connection, database_row.id, &document, is_deleted, kind)?;
        found.tree = document.tree;
        Ok(())
    }
}

pub(super) fn compact(
    connection: &Connection,
    mut database_row: DatabaseRow,
    after: Option<&DocumentId>,
    most: usize,
) -> Result<Option<DocumentId>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT id, number, tree, deleted FROM documents WHERE database = ?1 AND id > ?2 ORDER BY id LIMIT ?3",
    )?;
    let most_rows = i64::try_from(most).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![
        database_row.id,
        after.map_or("", DocumentId::as_str),
        most_rows
    ])?;
    let (mut last, mut changed, mut count) = (None, Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let mut document = database_rows::stored(row, 0)?;
        let before = document.tree.clone();
        if !document.tree.compact().is_empty() {
            changed.push((before, document.clone(), row.get(3)?));
        }
        last = Some(document.id);
        count += 1;
    }
    drop(rows);
    for (before, document, is_deleted) in changed {
        let write = DocumentWrite::compaction(document.id.clone(), document.tree.clone());
        let counted = database_row.database.count(&before, &write, 0)?;
        let counts = (database_row.id, &mut database_row.database);
        past_rows::apply(connection, counts, &document.id, &counted, None)?;
        database_rows::write_document(connection, database_row.id, &document, is_deleted, None)?;
    }
    database_rows::write(connection, &database_row)?;
    Ok(last.filter(|_| count == most))
}

/// Removes a piece of the contents of dropped databases, indexes and views. If there are none, returns unused
/// pages of the file to the file system. Returns whether there is more.
pub(super) fn sweep(connection: &Connection) -> Result<bool, StoreError> {
    let dropped: Option<i64> = connection
        .prepare_cached("SELECT id FROM databases WHERE name IS NULL LIMIT 1")?
        .query_row([], |row| row.get(0))
        .optional()?;
    let Some(id) = dropped else {
        let is_swept = sweep_index(connection)? || view_removal::sweep(connection)?;
        return if is_swept { Ok(true) } else { shrink(connection) };
    };
    let (first, end) =
        (rows::change_key(id, ChangeNumber::ZERO), rows::change_key(id, ChangeNumber::MAX));
    let mut left = SWEEP_BYTES;
    let bodies: Option<i64> = last_of_piece(
        connection,
        "SELECT key, octet_length(text) + coalesce(octet_length(attachments), 0) FROM bodies
          WHERE key BETWEEN ?1 AND ?2 ORDER BY key LIMIT ?3",
        params![first, end, SWEEP_ROWS],
        &mut left,
    )?;
    if let Some(last) = bodies {
        for sql in [
            "DELETE FROM bodies WHERE key BETWEEN ?1 AND ?2",
            "DELETE FROM attachment_uses WHERE key BETWEEN ?1 AND ?2",
        ] {
            connection.prepare_cached(sql)?.execute([first, last])?;
        }
    }
    let documents: Option<String> = last_of_piece(
        connection,
        "SELECT id, octet_length(tree) FROM documents WHERE database = ?1 ORDER BY id LIMIT ?2",
        params![id, SWEEP_ROWS],
        &mut left,
    )?;
    if let Some(last) = &documents {
        connection
            .prepare_cached("DELETE FROM documents WHERE database = ?1 AND id <= ?2")?
            .execute(params![id, last])?;
    }
    let attachments: Option<String> = last_of_piece(
        connection,
        "SELECT digest, octet_length(content) FROM attachments WHERE database = ?1
          ORDER BY digest LIMIT ?2",
        params![id, SWEEP_ROWS],
        &mut left,
    )?;
    if let Some(last) = &attachments {
        connection
            .prepare_cached("DELETE FROM attachments WHERE database = ?1 AND digest <= ?2")?
            .execute(params![id, last])?;
    }
    let is_past = past_rows::sweep(connection, (first, end), SWEEP_ROWS)?;
    if left == SWEEP_BYTES && !is_past {
        connection
            .prepare_cached("DELETE FROM attachment_uses WHERE key BETWEEN ?1 AND ?2")?
            .execute([first, end])?;
        connection.prepare_cached("DELETE FROM databases WHERE id = ?1")?.execute([id])?;
    }
    Ok(true)
}

/// Removes a piece of the rows of a dropped index; returns whether there was one.
fn sweep_index(connection: &Connection) -> Result<bool, StoreError> {
    let sql = "SELECT id FROM document_indexes WHERE database IS NULL LIMIT 1";
    let dropped: Option<i64> =
        connection.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?;
    let Some(id) = dropped else { return Ok(false) };
    let sql = "DELETE FROM index_rows WHERE index_id = ?1 AND (key, document) IN
                 (SELECT key, document FROM index_rows WHERE index_id = ?1 LIMIT ?2)";
    let removed = connection.prepare_cached(sql)?.execute([id, SWEEP_ROWS])?;
    if removed == 0 {
        connection.prepare_cached("DELETE FROM document_indexes WHERE id = ?1")?.execute([id])?;
    }
    Ok(true)
}

/// The key of the last row to remove with this piece, if there is any. The rows have a key and a size, and
/// the row that uses up the remaining bytes is the last one.
fn last_of_piece<K: FromSql>(
    connection: &Connection,
    sql: &str,
    parameters: impl Params,
    left: &mut i64,
) -> Result<Option<K>, StoreError> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(parameters)?;
    let mut last = None;
    while let Some(row) = rows.next()?.filter(|_| *left > 0) {
        last = Some(row.get(0)?);
        // Each row counts at least one byte.
        *left -= row.get::<_, i64>(1)?.max(1);
    }
    Ok(last)
}

/// Shrinks the file by some pages if a large part of it is free; returns whether that is still so. It runs
/// only when no contents of dropped databases are left.
fn shrink(connection: &Connection) -> Result<bool, StoreError> {
    let count = |pragma| connection.query_row(pragma, [], |row| row.get::<_, i64>(0));
    let is_much = || -> rusqlite::Result<Option<i64>> {
        let (free, all) = (count("PRAGMA freelist_count")?, count("PRAGMA page_count")?);
        Ok(Some(free).filter(|free| *free > FREE_PAGES && *free > all / FREE_PART))
    };
    let Some(before) = is_much()? else { return Ok(false) };
    let mut statement =
        connection.prepare(&format!("PRAGMA incremental_vacuum({VACUUM_PAGES})"))?;
    let mut pages = statement.query([])?;
    // Each row of the result is a returned page.
    while pages.next()?.is_some() {}
    // A file that was created without incremental vacuum keeps its pages.
    Ok(is_much()?.is_some_and(|after| after < before))
}
