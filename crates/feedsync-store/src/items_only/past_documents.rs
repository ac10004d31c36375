//! A store of items has no histories of databases.

use std::sync::Arc;

use async_trait::async_trait;
use feedsync_couch::{DatabaseName, DocumentId, Revision};

use super::ItemsOnly;
use super::databases::none;
use crate::database::{
    Database, EndedPosition, EndedRevision, PastDocuments, PastPage, PastRange, WriteOrigin,
};
use crate::error::StoreError;
use crate::order::{Epoch, Moment};

#[async_trait]
impl<S: ItemsOnly> PastDocuments for S {
    async fn documents_at(
        &self,
        name: &DatabaseName,
        _: Moment,
        _: PastRange,
        _: u64,
    ) -> Result<PastPage, StoreError> {
        Err(none(name))
    }

    async fn ended_revisions(
        &self,
        name: &DatabaseName,
        _: Option<&DocumentId>,
        _: Option<EndedPosition>,
        _: usize,
    ) -> Result<Vec<EndedRevision>, StoreError> {
        Err(none(name))
    }

    async fn leaf_origins(
        &self,
        name: &DatabaseName,
        _: &DocumentId,
    ) -> Result<Vec<(Revision, WriteOrigin)>, StoreError> {
        Err(none(name))
    }

    async fn drop_and_keep_database(
        &self,
        name: &DatabaseName,
        _: Epoch,
        _: Option<Arc<str>>,
    ) -> Result<bool, StoreError> {
        Err(none(name))
    }

    async fn undrop_database(&self, kept: &DatabaseName, _: Epoch) -> Result<bool, StoreError> {
        Err(none(kept))
    }

    async fn dropped_databases(
        &self,
        _: Option<&DatabaseName>,
    ) -> Result<Vec<Database>, StoreError> {
        Ok(Vec::new())
    }

    async fn expire_history(
        &self,
        name: &DatabaseName,
        _: Moment,
        _: usize,
    ) -> Result<bool, StoreError> {
        Err(none(name))
    }
}
