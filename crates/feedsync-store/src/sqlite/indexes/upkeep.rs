//! Upkeep of indexes by writes of documents.

use feedsync_couch::{BodyRef, DocumentId, Tree};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::definitions;
use crate::database::StoredBody;
use crate::database::indexing::{
    MaintainedIndex, Winner, definition_changes, row_changes, winner_of,
};
use crate::error::StoreError;
use crate::sqlite::body_rows::body_key;
use crate::sqlite::database_rows::DatabaseRow;

/// The indexes to which the writes of a transaction are applied.
pub(in crate::sqlite) struct Upkeep {
    indexes: Vec<MaintainedIndex>,
    is_current: bool,
}

impl Upkeep {
    pub(in crate::sqlite) fn of(
        connection: &Connection,
        database_row: &mut DatabaseRow,
    ) -> Result<Self, StoreError> {
        let is_current = definitions::is_current(database_row);
        let indexes = match is_current {
            true => definitions::all(connection, database_row)?,
            false => {
                // The program of the other version must not use rows that do not follow this write.
                database_row.indexing.version = 0;
                Vec::new()
            }
        };
        Ok(Self { indexes, is_current })
    }

    /// The winner of a document, if indexes depend on it. Its body may be among new ones, or is stored.
    pub(in crate::sqlite) fn winner(
        &self,
        connection: &Connection,
        database: i64,
        (id, tree): (&DocumentId, &Tree<BodyRef>),
        new: &[(u64, StoredBody)],
    ) -> Result<Option<Winner>, StoreError> {
        let is_used = self.is_current && (id.is_design() || !self.indexes.is_empty());
        let Some((revision, number)) = winner_of(tree).filter(|_| is_used) else {
            return Ok(None);
        };
        if let Some((_, body)) = new.iter().find(|(other, _)| *other == number) {
            return Ok(Some(Winner { revision, text: body.text.clone() }));
        }
        stored_winner(connection, database, revision, number)
    }

    /// Applies the change of the winner of a document.
    pub(in crate::sqlite) fn apply(
        &mut self,
        connection: &Connection,
        database_row: &mut DatabaseRow,
        id: &DocumentId,
        (before, after): (Option<&Winner>, Option<&Winner>),
    ) -> Result<(), StoreError> {
        if !self.is_current {
            return Ok(());
        }
        if id.is_design() {
            return self.define(connection, database_row, id, after);
        }
        for change in row_changes(&self.indexes, id, before, after) {
            let index = change.index.0 as i64;
            if let Some(key) = change.removed {
                connection
                    .prepare_cached(
                        "DELETE FROM index_rows WHERE index_id = ?1 AND key = ?2 AND document = ?3",
                    )?
                    .execute(params![index, key, id.as_str()])?;
            }
            if let Some(key) = change.added {
                insert_row(connection, index, &key, id)?;
            }
        }
        Ok(())
    }

    /// Applies the definitions of a design document.
    pub(super) fn define(
        &mut self,
        connection: &Connection,
        database_row: &mut DatabaseRow,
        design: &DocumentId,
        after: Option<&Winner>,
    ) -> Result<(), StoreError> {
        let (removed, added) = definition_changes(&self.indexes, design, after);
        for index in &removed {
            definitions::remove(connection, database_row, *index)?;
        }
        self.indexes.retain(|index| !removed.contains(&index.id));
        for definition in added {
            self.indexes.push(definitions::add(connection, database_row, definition)?);
        }
        Ok(())
    }

    /// Begins with no indexes in a database whose rows have another version.
    pub(super) fn begin(
        connection: &Connection,
        database_row: &mut DatabaseRow,
    ) -> Result<Self, StoreError> {
        definitions::remove_all(connection, database_row)?;
        Ok(Self { indexes: Vec::new(), is_current: true })
    }
}

/// The winner whose body is stored under a number.
pub(super) fn stored_winner(
    connection: &Connection,
    database: i64,
    revision: String,
    number: u64,
) -> Result<Option<Winner>, StoreError> {
    let mut statement = connection.prepare_cached("SELECT text FROM bodies WHERE key = ?1")?;
    let text = statement
        .query_row([body_key(database, number)], |row| Ok(row.get_ref(0)?.as_str()?.into()))
        .optional()?;
    Ok(text.map(|text| Winner { revision, text }))
}

pub(super) fn insert_row(
    connection: &Connection,
    index: i64,
    key: &[u8],
    id: &DocumentId,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT OR IGNORE INTO index_rows (index_id, key, document) VALUES (?1, ?2, ?3)",
        )?
        .execute(params![index, key, id.as_str()])?;
    Ok(())
}
