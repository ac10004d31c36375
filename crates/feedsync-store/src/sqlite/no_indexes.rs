//! Writes of a program without indexes and views: those that another program stored must be built again.

use feedsync_couch::{BodyRef, DocumentId, Tree};
use rusqlite::Connection;

use super::database_rows::DatabaseRow;
use super::view_removal::drop_views;
use crate::database::StoredBody;
use crate::error::StoreError;

/// Version of rows that no program uses.
pub(super) const INDEX_VERSION: u32 = 0;

pub(super) struct Upkeep;

impl Upkeep {
    pub(super) fn of(_: &Connection, database_row: &mut DatabaseRow) -> Result<Self, StoreError> {
        // The write may also be a design document that defines the first index.
        database_row.indexing.version = INDEX_VERSION;
        Ok(Self)
    }

    pub(super) fn winner(
        &self,
        _: &Connection,
        _: i64,
        _: (&DocumentId, &Tree<BodyRef>),
        _: &[(u64, StoredBody)],
    ) -> Result<Option<()>, StoreError> {
        Ok(None)
    }

    pub(super) fn apply(
        &mut self,
        _: &Connection,
        _: &mut DatabaseRow,
        _: &DocumentId,
        _: (Option<&()>, Option<&()>),
    ) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Drops all views, because the rows of a removed document must not stay.
pub(super) fn remove_document(
    connection: &Connection,
    database: i64,
    _: &DocumentId,
) -> Result<(), StoreError> {
    drop_views(connection, database)
}
