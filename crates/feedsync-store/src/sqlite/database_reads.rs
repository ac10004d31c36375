//! Pages of documents: by id, and in the order of their changes.

use std::ops::Bound;

use feedsync_couch::{DatabaseName, DocumentId};
use rusqlite::types::Value;
use rusqlite::{Connection, params, params_from_iter};

use super::body_rows;
use super::database_rows::{self, DatabaseRow, Finder};
use super::rows;
use crate::database;
use crate::database::{
    DocumentChanges, DocumentPage, DocumentRange, Kind, LoadedDocument, MAX_COUNTED, SelectBodies,
    SkipKind, StoredDocument,
};
use crate::error::StoreError;
use crate::order::ChangeNumber;

/// Maximum number of changes that one read examines.
const SCAN_LIMIT: usize = 100_000;

/// Reads documents as long as the page has room.
pub(super) struct Page<'a> {
    connection: &'a Connection,
    database_row: i64,
    choose: &'a SelectBodies,
    left: database::PageBudget,
}

impl<'a> Page<'a> {
    pub(super) fn new(
        connection: &'a Connection,
        database_row: i64,
        choose: &'a SelectBodies,
        most: u64,
    ) -> Self {
        Self { connection, database_row, choose, left: database::PageBudget::of(most) }
    }

    /// Reads a document; `None` if it does not fit. The first document always fits.
    pub(super) fn read(
        &mut self,
        document: StoredDocument,
    ) -> Result<Option<LoadedDocument>, StoreError> {
        let chosen = (self.choose)(&document);
        match self.left.fits(&document, &chosen) {
            true => body_rows::read(self.connection, self.database_row, document, chosen).map(Some),
            false => Ok(None),
        }
    }
}

/// Order and range in which changes are read.
pub(super) struct ChangeRange {
    pub(super) after: ChangeNumber,
    pub(super) before: Option<ChangeNumber>,
    pub(super) most: usize,
    pub(super) is_descending: bool,
}

pub(super) fn changes(
    connection: &Connection,
    name: &DatabaseName,
    walk: ChangeRange,
    skip_kind: Option<SkipKind>,
    choose: &SelectBodies,
    most_bytes: u64,
) -> Result<DocumentChanges, StoreError> {
    let ChangeRange { after, before, most, is_descending } = walk;
    let DatabaseRow { id: database_row, database, .. } = database_rows::require(connection, name)?;
    // With a filter, only the index is read until a document is required. Without one, the query reads the
    // documents themselves.
    macro_rules! select {
        ($columns:literal, $order:literal) => {
            concat!(
                "SELECT ",
                $columns,
                " FROM documents INDEXED BY document_changes
                  WHERE database = ?1 AND number > ?2 AND number < ?3 ORDER BY ",
                $order
            )
        };
    }
    let sql = match (&skip_kind, is_descending) {
        (Some(_), false) => select!("id, number, kind", "number"),
        (Some(_), true) => select!("id, number, kind", "number DESC"),
        (None, false) => select!("id, number, tree", "number"),
        (None, true) => select!("id, number, tree", "number DESC"),
    };
    let mut finder = Finder::new(connection, database_row)?;
    let mut statement = connection.prepare_cached(sql)?;
    let bound = before.map_or(i64::MAX, |before| before.get() as i64);
    let mut rows = statement.query(params![database_row, after, bound])?;
    let mut page = Page::new(connection, database_row, choose, most_bytes);
    let mut documents = Vec::new();
    let mut reached = if is_descending { before.unwrap_or(database.last) } else { after };
    let (mut looked_at, mut is_end) = (0, false);
    while documents.len() < most && looked_at < SCAN_LIMIT {
        let Some(row) = rows.next()? else {
            is_end = true;
            break;
        };
        looked_at += 1;
        let number = ChangeNumber::new(row.get::<_, i64>(1)? as u64);
        let document = match &skip_kind {
            None => database_rows::stored(row, 0)?,
            Some(skip_kind) => {
                let id: DocumentId = rows::parsed(row, 0)?;
                let kind = row.get_ref(2)?.as_str_or_null().map_err(rusqlite::Error::from)?;
                if skip_kind(&id, &Kind::of_column(kind)) {
                    reached = number;
                    continue;
                }
                let (number, tree) = finder
                    .find(id.as_str())?
                    .ok_or_else(|| StoreError::Damaged(format!("the document {id} is missing")))?;
                StoredDocument { id, number, tree }
            }
        };
        match page.read(document)? {
            Some(read) => documents.push(read),
            None => break,
        }
        reached = number;
    }
    if is_end && !is_descending {
        reached = reached.max(database.last);
    }
    Ok(DocumentChanges { database, documents, reached, is_end })
}

pub(super) fn by_id(
    connection: &Connection,
    name: &DatabaseName,
    range: DocumentRange,
    choose: &SelectBodies,
    most_bytes: u64,
) -> Result<DocumentPage, StoreError> {
    let DatabaseRow { id: database_row, database, .. } = database_rows::require(connection, name)?;
    let mut sql = String::from("SELECT id, number, tree FROM documents WHERE database = ?");
    let mut values = vec![Value::Integer(database_row)];
    push_bounds(&mut sql, &mut values, range.from, range.to);
    if range.live_only {
        sql.push_str(" AND deleted = 0");
    }
    sql.push_str(if range.is_descending { " ORDER BY id DESC" } else { " ORDER BY id" });
    sql.push_str(" LIMIT ? OFFSET ?");
    values.push(Value::Integer(i64::try_from(range.most).unwrap_or(i64::MAX)));
    values.push(Value::Integer(i64::try_from(range.skip).unwrap_or(i64::MAX)));
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut page = Page::new(connection, database_row, choose, most_bytes);
    let mut documents = Vec::new();
    while let Some(row) = rows.next()? {
        match page.read(database_rows::stored(row, 0)?)? {
            Some(read) => documents.push(Some(read)),
            None => break,
        }
    }
    Ok(DocumentPage { database, documents })
}

/// Appends the conditions of a range of ids, and their values.
fn push_bounds(sql: &mut String, values: &mut Vec<Value>, from: Bound<String>, to: Bound<String>) {
    for (bound, open, closed) in [(from, ">", ">="), (to, "<", "<=")] {
        let (comparison, text) = match bound {
            Bound::Unbounded => continue,
            Bound::Excluded(text) => (open, text),
            Bound::Included(text) => (closed, text),
        };
        sql.push_str(" AND id ");
        sql.push_str(comparison);
        sql.push_str(" ?");
        values.push(Value::Text(text));
    }
}

pub(super) fn count_by_id(
    connection: &Connection,
    name: &DatabaseName,
    from: Bound<String>,
    to: Bound<String>,
) -> Result<Option<u64>, StoreError> {
    let database_row = database_rows::require(connection, name)?.id;
    let mut sql = String::from("SELECT deleted FROM documents WHERE database = ?");
    let mut values = vec![Value::Integer(database_row)];
    push_bounds(&mut sql, &mut values, from, to);
    let sql = format!("SELECT count(*), coalesce(sum(deleted = 0), 0) FROM ({sql} LIMIT ?)");
    values.push(Value::Integer(MAX_COUNTED as i64 + 1));
    let mut statement = connection.prepare_cached(&sql)?;
    let (all, live): (i64, i64) =
        statement.query_row(params_from_iter(values), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok((all as u64 <= MAX_COUNTED).then_some(live as u64))
}

/// Number of documents whose last change is after a number.
pub(super) fn count_changes(
    connection: &Connection,
    name: &DatabaseName,
    after: ChangeNumber,
) -> Result<u64, StoreError> {
    let DatabaseRow { id, database, .. } = database_rows::require(connection, name)?;
    if after >= database.last {
        return Ok(0);
    }
    // The side of the number with fewer changes is counted.
    let is_early = after.get() < database.last.get() / 2;
    let sql = match is_early {
        true => {
            "SELECT count(*) FROM documents INDEXED BY document_changes
              WHERE database = ?1 AND number <= ?2"
        }
        false => {
            "SELECT count(*) FROM documents INDEXED BY document_changes
              WHERE database = ?1 AND number > ?2"
        }
    };
    let mut statement = connection.prepare_cached(sql)?;
    let count: i64 = statement.query_row(params![id, after], |row| row.get(0))?;
    let all = database.documents + database.deleted;
    Ok(if is_early { all.saturating_sub(count as u64) } else { count as u64 })
}
