//! Writes of a program without indexes and views: those that another program stored must be built again.

use std::collections::{BTreeMap, BTreeSet};

use deadpool_postgres::Transaction;
use feedsync_couch::{BodyRef, DocumentId, Tree};

use super::batch_state::DocumentBatchState;
use super::documents::Document;
use super::rows::{DatabaseRow, Indexing};
use super::view_removal::drop_views;
use crate::database::StoredBody;
use crate::error::StoreError;
use crate::postgres::pipeline::Pipeline;

/// Version of rows that no program uses.
pub(super) const INDEX_VERSION: u32 = 0;

pub(super) struct Upkeep;

#[derive(Default)]
pub(super) struct DraftUpkeep {}

pub(super) struct IndexChanges;

impl Upkeep {
    pub(super) async fn load(
        _: &Transaction<'_>,
        _: &DatabaseRow,
        _: &BTreeMap<DocumentId, Document>,
    ) -> Result<Self, StoreError> {
        Ok(Self)
    }

    pub(super) fn replace(&mut self, _: &DocumentId, _: Option<&Document>) {}

    /// Also without indexes: the write may be that of a design document that defines some.
    pub(super) fn take(&mut self, _: DraftUpkeep, indexing: &mut Indexing) {
        indexing.version = INDEX_VERSION;
    }
}

impl DraftUpkeep {
    pub(super) fn put(
        &mut self,
        _: &Upkeep,
        _: &DocumentId,
        _: &Tree<BodyRef>,
        _: [&BTreeMap<u64, StoredBody>; 2],
    ) {
    }
}

impl IndexChanges {
    pub(super) async fn of(
        _: &Transaction<'_>,
        _: &DocumentBatchState,
    ) -> Result<Self, StoreError> {
        Ok(Self)
    }

    pub(super) fn add_to<'b>(&'b self, _: &mut Pipeline<'b>, _: &'b i64) {}
}

/// Drops all views, because the rows of removed documents must not stay.
pub(super) async fn remove_documents(
    transaction: &Transaction<'_>,
    database: i64,
    documents: &BTreeSet<DocumentId>,
) -> Result<(), StoreError> {
    match documents.is_empty() {
        true => Ok(()),
        false => drop_views(transaction, database).await,
    }
}
