//! Rows of the definitions of indexes.

use feedsync_couch::DocumentId;
use feedsync_couch::index::{INDEX_VERSION, IndexDefinition};
use feedsync_formats::json::Node;
use rusqlite::{Connection, params};

use crate::columns::damaged;
use crate::database::indexing::{MaintainedIndex, Progress};
use crate::database::{IndexId, Indexes, StoredIndex};
use crate::error::StoreError;
use crate::sqlite::database_rows::{self, DatabaseRow};
use crate::sqlite::rows::parsed;

pub(in crate::sqlite) fn indexes(
    connection: &Connection,
    database_row: &DatabaseRow,
) -> Result<Indexes, StoreError> {
    if !is_current(database_row) {
        return Ok(Indexes { indexes: Vec::new(), are_built: false });
    }
    let indexes = all(connection, database_row)?;
    let indexes: Vec<_> = indexes.into_iter().map(StoredIndex::from).collect();
    Ok(Indexes { are_built: indexes.iter().all(|index| index.is_built), indexes })
}

/// Whether the rows of the indexes are those of this program.
pub(super) fn is_current(database_row: &DatabaseRow) -> bool {
    database_row.indexing.version == INDEX_VERSION
}

/// The indexes of a database whose version is current, in the order of their names.
pub(super) fn all(
    connection: &Connection,
    database_row: &DatabaseRow,
) -> Result<Vec<MaintainedIndex>, StoreError> {
    if database_row.indexing.count == 0 {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare_cached(
        "SELECT id, design, name, view, reached FROM document_indexes WHERE database = ?1
          ORDER BY design, name",
    )?;
    let mut rows = statement.query([database_row.id])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let design: DocumentId = parsed(row, 1)?;
        let view: String = row.get(3)?;
        let definition = IndexDefinition::of_view(design, row.get(2)?, Node::root(&view));
        found.push(MaintainedIndex {
            id: IndexId(row.get::<_, i64>(0)? as u64),
            definition: definition.ok_or_else(|| damaged(&view, &"no definition of an index"))?,
            progress: Progress::of_column(row.get(4)?),
        });
    }
    Ok(found)
}

pub(super) fn add(
    connection: &Connection,
    database_row: &mut DatabaseRow,
    definition: IndexDefinition,
) -> Result<MaintainedIndex, StoreError> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO document_indexes (database, design, name, view, reached) VALUES (?1, ?2, ?3, ?4, '')
         RETURNING id",
    )?;
    let (design, view) = (definition.design.as_str(), definition.view());
    let values = params![database_row.id, design, definition.name, view];
    let id: i64 = statement.query_row(values, |row| row.get(0))?;
    database_row.indexing.count += 1;
    Ok(MaintainedIndex::begun(IndexId(id as u64), definition))
}

/// Drops an index. Its rows are swept later.
pub(super) fn remove(
    connection: &Connection,
    database_row: &mut DatabaseRow,
    index: IndexId,
) -> Result<(), StoreError> {
    connection
        .prepare_cached("UPDATE document_indexes SET database = NULL WHERE id = ?1")?
        .execute([index.0 as i64])?;
    database_row.indexing.count -= 1;
    Ok(())
}

/// Drops all indexes.
pub(super) fn remove_all(
    connection: &Connection,
    database_row: &mut DatabaseRow,
) -> Result<(), StoreError> {
    database_rows::drop_indexes(connection, database_row.id)?;
    database_row.indexing.count = 0;
    Ok(())
}

pub(super) fn set_progress(
    connection: &Connection,
    index: IndexId,
    progress: &Progress,
) -> Result<(), StoreError> {
    connection
        .prepare_cached("UPDATE document_indexes SET reached = ?2 WHERE id = ?1")?
        .execute(params![index.0 as i64, progress.to_column()])?;
    Ok(())
}
