//! Building of indexes, piece by piece.

use feedsync_couch::index::INDEX_VERSION;
use feedsync_couch::{DatabaseName, DocumentId};
use rusqlite::{Connection, params};

use super::definitions::{self, is_current, set_progress};
use super::upkeep::{Upkeep, insert_row, stored_winner};
use crate::database::indexing::{BUILD_BYTES, Progress, Winner, next_to_build, winner_of};
use crate::error::StoreError;
use crate::sqlite::database_rows::{self, DatabaseRow};
use crate::sqlite::rows::parsed;

/// Adds documents to the indexes that contain the fewest; returns whether there may be more to do.
pub(in crate::sqlite) fn build(
    connection: &Connection,
    name: &DatabaseName,
    most: usize,
) -> Result<bool, StoreError> {
    let mut database_row = database_rows::require(connection, name)?;
    if !is_current(&database_row) {
        define(connection, &mut database_row)?;
        return Ok(true);
    }
    let indexes = definitions::all(connection, &database_row)?;
    let Some((after, behind)) = next_to_build(&indexes) else { return Ok(false) };
    let piece = Piece::read(connection, database_row.id, &after, most)?;
    for index in behind {
        let mut rows: Vec<(Vec<u8>, &DocumentId)> = piece
            .documents
            .iter()
            .filter_map(|(id, winner)| Some((index.key(id, winner)?, id)))
            .collect();
        // Neighbours are inserted together, which is faster.
        rows.sort_unstable();
        for (key, id) in rows {
            insert_row(connection, index.id.0 as i64, &key, id)?;
        }
        set_progress(connection, index.id, &piece.progress)?;
    }
    Ok(true)
}

/// Documents that follow each other by id.
struct Piece {
    /// Those that are not deleted.
    documents: Vec<(DocumentId, Winner)>,
    /// How far an index has come that contains them.
    progress: Progress,
}

impl Piece {
    fn read(
        connection: &Connection,
        database: i64,
        after: &str,
        most: usize,
    ) -> Result<Self, StoreError> {
        let mut statement = connection.prepare_cached(
            "SELECT id, tree FROM documents WHERE database = ?1 AND id > ?2 ORDER BY id LIMIT ?3",
        )?;
        let limit = i64::try_from(most).unwrap_or(i64::MAX);
        let mut rows = statement.query(params![database, after, limit])?;
        let (mut documents, mut bytes, mut count) = (Vec::new(), 0, 0);
        let mut last = None;
        while let Some(row) = rows.next()? {
            let id: DocumentId = parsed(row, 0)?;
            last = Some(id.as_str().to_owned());
            count += 1;
            if let Some((revision, number)) = winner_of(&database_rows::tree(row, 1)?) {
                let winner = stored_winner(connection, database, revision, number)?;
                bytes += winner.as_ref().map_or(0, |winner| winner.text.len() as u64);
                documents.extend(winner.map(|winner| (id, winner)));
            }
            if bytes >= BUILD_BYTES {
                break;
            }
        }
        let is_cut_off = count == most || bytes >= BUILD_BYTES;
        let progress = last.filter(|_| is_cut_off).map_or(Progress::Complete, Progress::Through);
        Ok(Self { documents, progress })
    }
}

/// Defines the indexes of all design documents, in place of those with rows of another version.
fn define(connection: &Connection, database_row: &mut DatabaseRow) -> Result<(), StoreError> {
    let mut upkeep = Upkeep::begin(connection, database_row)?;
    let mut statement = connection.prepare_cached(
        "SELECT id, tree FROM documents WHERE database = ?1 AND id >= '_design/' AND id < '_design0'
          ORDER BY id",
    )?;
    let mut rows = statement.query([database_row.id])?;
    while let Some(row) = rows.next()? {
        let id: DocumentId = parsed(row, 0)?;
        let Some((revision, number)) = winner_of(&database_rows::tree(row, 1)?) else { continue };
        let winner = stored_winner(connection, database_row.id, revision, number)?;
        upkeep.define(connection, database_row, &id, winner.as_ref())?;
    }
    database_row.indexing.version = INDEX_VERSION;
    database_rows::write(connection, database_row)
}
