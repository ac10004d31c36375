//! Rows of databases and of their documents.

use feedsync_couch::{BodyRef, DatabaseName, DocumentId, Tree, without_user};
use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, OptionalExtension as _, Row, params};

use super::rows::parsed;
use super::view_removal::drop_views;
use crate::collection::Collection;
use crate::columns::{damaged, moment};
use crate::database::{Database, Dropped, History, HistoryState, StoredDocument};
use crate::error::StoreError;
use crate::name::{CollectionName, UserName};
use crate::order::{ChangeNumber, Epoch};

macro_rules! select_databases {
    ($rest:literal) => {
        concat!(
            "SELECT id, name, epoch_began, epoch_tail, created, last, next_body, documents, deleted, purges, \
             revisions_kept, security, bytes, superseded, indexes, index_version, history_seconds, \
             history_since, history_last, history_bytes, dropped_name, dropped_at, dropped_by, \
             coalesce(named_at, created) FROM databases ",
            $rest
        )
    };
}

/// A database with the internal columns of its row.
pub(super) struct DatabaseRow {
    pub(super) id: i64,
    pub(super) next_body: u64,
    pub(super) database: Database,
    pub(super) indexing: Indexing,
}

/// The indexes of a database: their number, and the version of their rows.
#[derive(Default)]
pub(super) struct Indexing {
    pub(super) count: u64,
    pub(super) version: u32,
}

pub(super) fn find(
    connection: &Connection,
    name: &DatabaseName,
) -> Result<Option<DatabaseRow>, StoreError> {
    let mut statement = connection.prepare_cached(select_databases!("WHERE name = ?1"))?;
    let mut rows = statement.query([name.as_str()])?;
    rows.next()?.map(database_row).transpose()
}

pub(super) fn require(
    connection: &Connection,
    name: &DatabaseName,
) -> Result<DatabaseRow, StoreError> {
    find(connection, name)?.ok_or_else(|| StoreError::NoDatabase(name.clone()))
}

pub(super) fn after(
    connection: &Connection,
    after: Option<&DatabaseName>,
    most: usize,
) -> Result<Vec<Database>, StoreError> {
    let mut statement =
        connection.prepare_cached(select_databases!("WHERE name > ?1 ORDER BY name LIMIT ?2"))?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![after.map_or("", DatabaseName::as_str), most])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(database_row(row)?.database);
    }
    Ok(found)
}

fn database_row(row: &Row<'_>) -> Result<DatabaseRow, StoreError> {
    let count = |column| Ok::<_, rusqlite::Error>(row.get::<_, i64>(column)? as u64);
    let name = row.get_ref(1)?.as_str().map_err(rusqlite::Error::from)?;
    let database = Database {
        name: name.parse().map_err(|error| damaged(name, &error))?,
        epoch: Epoch::stored(moment(row.get(2)?), row.get(3)?),
        created: moment(row.get(4)?),
        named: moment(row.get(23)?),
        last: ChangeNumber::new(count(5)?),
        documents: count(7)?,
        deleted: count(8)?,
        purges: count(9)?,
        revisions_kept: count(10)?,
        security: row.get(11)?,
        bytes: count(12)?,
        superseded: count(13)?,
        history: match row.get::<_, Option<i64>>(16)? {
            None => History::Off,
            Some(seconds) => History::Kept { seconds: seconds as u64 },
        },
        past: HistoryState {
            since: row.get::<_, Option<i64>>(17)?.map(moment),
            last: moment(row.get(18)?),
            bytes: count(19)?,
        },
        dropped: match row.get_ref(20)? {
            ValueRef::Null => None,
            _ => Some(Dropped {
                name: parsed(row, 20)?,
                moment: moment(row.get(21)?),
                author: row.get(22)?,
            }),
        },
    };
    let indexing = Indexing { count: count(14)?, version: row.get(15)? };
    Ok(DatabaseRow { id: row.get(0)?, next_body: count(6)?, database, indexing })
}

/// Inserts an empty database, whose indexes have a version.
pub(super) fn insert(
    connection: &Connection,
    database: &Database,
    index_version: u32,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO databases (name, epoch_began, epoch_tail, created, last, next_body, documents, deleted,
                                    purges, revisions_kept, security, bytes, superseded, index_version,
                                    dropped_name, dropped_at, dropped_by, named_at)
             VALUES (?1, ?2, ?3, ?4, 0, 1, 0, 0, 0, ?5, ?6, 0, 0, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute(params![
            database.name.as_str(),
            database.epoch.began(),
            database.epoch.tail(),
            database.created,
            database.revisions_kept as i64,
            database.security,
            index_version,
            database.dropped.as_ref().map(|dropped| dropped.name.as_str()),
            database.dropped.as_ref().map(|dropped| dropped.moment),
            database.dropped.as_ref().and_then(|dropped| dropped.author.as_deref()),
            database.named,
        ])?;
    Ok(())
}

/// Databases that were dropped and are kept, of a name or all, the last one first.
pub(super) fn dropped(
    connection: &Connection,
    name: Option<&DatabaseName>,
) -> Result<Vec<Database>, StoreError> {
    let sql = match name {
        Some(_) => select_databases!(
            "WHERE dropped_name = ?1 AND name IS NOT NULL ORDER BY dropped_at DESC, id DESC"
        ),
        None => select_databases!(
            "WHERE dropped_name IS NOT NULL AND name IS NOT NULL AND ?1 IS NULL ORDER BY dropped_at DESC, id DESC"
        ),
    };
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([name.map(DatabaseName::as_str)])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(database_row(row)?.database);
    }
    Ok(found)
}

/// Writes the name of a database, and whether it was dropped.
pub(super) fn write_name(
    connection: &Connection,
    DatabaseRow { id, database, .. }: &DatabaseRow,
) -> Result<(), StoreError> {
    let sql = "UPDATE databases SET name = ?2, dropped_name = ?3, dropped_at = ?4, dropped_by = ?5, named_at = ?6
                WHERE id = ?1";
    let dropped = database.dropped.as_ref();
    connection.prepare_cached(sql)?.execute(params![
        id,
        database.name.as_str(),
        dropped.map(|dropped| dropped.name.as_str()),
        dropped.map(|dropped| dropped.moment),
        dropped.and_then(|dropped| dropped.author.as_deref()),
        database.named,
    ])?;
    Ok(())
}

/// Drops a database: its name is free immediately, and its contents are swept later.
pub(super) fn drop(connection: &Connection, id: i64) -> Result<(), StoreError> {
    connection
        .prepare_cached("UPDATE databases SET name = NULL, local_bytes = 0 WHERE id = ?1")?
        .execute([id])?;
    // Local documents of the dropped database must not become visible in a later one of its name.
    let mut statement =
        connection.prepare_cached("DELETE FROM local_documents WHERE database = ?1")?;
    statement.execute([id])?;
    drop_indexes(connection, id)?;
    drop_views(connection, id)
}

/// Drops the indexes of a database. Their rows are swept later.
pub(super) fn drop_indexes(connection: &Connection, database: i64) -> Result<(), StoreError> {
    connection
        .prepare_cached("UPDATE document_indexes SET database = NULL WHERE database = ?1")?
        .execute([database])?;
    Ok(())
}

fn bridged(connection: &Connection, of: &Collection) -> Result<Option<i64>, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT id FROM databases WHERE name = ?1 AND security = ?2")?;
    let found = statement.query_row([of.name.as_str(), &of.bridge_security()], |row| row.get(0));
    Ok(found.optional()?)
}

/// Drops the database that is bridged to a collection.
pub(super) fn drop_bridged(connection: &Connection, of: &Collection) -> Result<(), StoreError> {
    match bridged(connection, of)? {
        Some(id) => drop(connection, id),
        None => Ok(()),
    }
}

/// Renames the database that is bridged to a collection, unless the new name is in use.
pub(super) fn rename_bridged(
    connection: &Connection,
    of: &Collection,
    to: &CollectionName,
) -> Result<(), StoreError> {
    if *to != of.name
        && let Some(id) = bridged(connection, of)?
    {
        let sql = "UPDATE OR IGNORE databases SET name = ?2 WHERE id = ?1";
        connection.prepare_cached(sql)?.execute(params![id, to.as_str()])?;
    }
    Ok(())
}

/// Removes a user's name from the `_security` of each database.
pub(super) fn remove_user_from_security(
    connection: &Connection,
    user: &UserName,
) -> Result<(), StoreError> {
    let mut changed: Vec<(i64, String)> = Vec::new();
    let mut statement = connection
        .prepare_cached("SELECT id, security FROM databases WHERE security IS NOT NULL")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let security: String = row.get(1)?;
        if let Some(without) = without_user(&security, user.as_str()) {
            changed.push((row.get(0)?, without));
        }
    }
    for (id, security) in changed {
        connection
            .prepare_cached("UPDATE databases SET security = ?2 WHERE id = ?1")?
            .execute(params![id, security])?;
    }
    Ok(())
}

pub(super) fn write(connection: &Connection, database_row: &DatabaseRow) -> Result<(), StoreError> {
    let DatabaseRow { id, next_body, database, indexing } = database_row;
    connection
        .prepare_cached(
            "UPDATE databases SET last = ?2, next_body = ?3, documents = ?4, deleted = ?5, purges = ?6,
                                  revisions_kept = ?7, security = ?8, bytes = ?9, superseded = ?10,
                                  indexes = ?11, index_version = ?12, history_seconds = ?13,
                                  history_since = ?14, history_last = ?15, history_bytes = ?16
              WHERE id = ?1",
        )?
        .execute(params![
            id,
            database.last,
            *next_body as i64,
            database.documents as i64,
            database.deleted as i64,
            database.purges as i64,
            database.revisions_kept as i64,
            database.security,
            database.bytes as i64,
            database.superseded as i64,
            indexing.count as i64,
            indexing.version,
            database.history.seconds().map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX)),
            database.past.since,
            database.past.last,
            database.past.bytes as i64,
        ])?;
    Ok(())
}

/// Finds documents of a database with one prepared statement.
pub(super) struct Finder<'a> {
    statement: CachedStatement<'a>,
    database: i64,
}

impl<'a> Finder<'a> {
    pub(super) fn new(connection: &'a Connection, database: i64) -> Result<Self, StoreError> {
        let statement = connection
            .prepare_cached("SELECT number, tree FROM documents WHERE database = ?1 AND id = ?2")?;
        Ok(Self { statement, database })
    }

    pub(super) fn find(
        &mut self,
        id: &str,
    ) -> Result<Option<(ChangeNumber, Tree<BodyRef>)>, StoreError> {
        let mut rows = self.statement.query(params![self.database, id])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        Ok(Some((ChangeNumber::new(row.get::<_, i64>(0)? as u64), tree(row, 1)?)))
    }
}

pub(super) fn tree(row: &Row<'_>, column: usize) -> Result<Tree<BodyRef>, StoreError> {
    let bytes = row.get_ref(column)?.as_blob().map_err(rusqlite::Error::from)?;
    Tree::of_bytes(bytes).map_err(|error| StoreError::Damaged(error.to_string()))
}

/// Reads a document's id, number and tree from a column on.
pub(super) fn stored(row: &Row<'_>, first: usize) -> Result<StoredDocument, StoreError> {
    let id: DocumentId = parsed(row, first)?;
    let number = ChangeNumber::new(row.get::<_, i64>(first + 1)? as u64);
    Ok(StoredDocument { id, number, tree: tree(row, first + 2)? })
}

pub(super) fn write_document(
    connection: &Connection,
    database: i64,
    document: &StoredDocument,
    is_deleted: bool,
    kind: Option<Option<String>>,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO documents (database, id, number, deleted, kind, tree) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (database, id) DO UPDATE
               SET number = excluded.number, deleted = excluded.deleted, tree = excluded.tree,
                   kind = iif(?7, excluded.kind, kind)",
        )?
        .execute(params![
            database,
            document.id.as_str(),
            document.number,
            is_deleted,
            kind.clone().flatten(),
            document.tree.to_bytes(),
            kind.is_some(),
        ])?;
    Ok(())
}

pub(super) fn remove_document(
    connection: &Connection,
    database: i64,
    id: &DocumentId,
) -> Result<(), StoreError> {
    connection
        .prepare_cached("DELETE FROM documents WHERE database = ?1 AND id = ?2")?
        .execute(params![database, id.as_str()])?;
    Ok(())
}
