//! No logs.

use async_trait::async_trait;

use super::ItemsOnly;
use crate::error::StoreError;
use crate::log::{
    Append, Expected, Generation, Log, LogOutcome, LogSnapshot, Logs, NewGeneration, NewSnapshot,
};
use crate::name::CollectionName;
use crate::order::Moment;
use crate::people::AuditAction;

/// Fails if there is no such collection.
async fn require<S: ItemsOnly>(store: &S, name: &CollectionName) -> Result<(), StoreError> {
    let found = store.collection(name).await?;
    found.map(drop).ok_or_else(|| StoreError::NoCollection(name.clone()))
}

#[async_trait]
impl<S: ItemsOnly> Logs for S {
    async fn log(&self, collection: &CollectionName) -> Result<Option<Log>, StoreError> {
        require(self, collection).await?;
        Ok(None)
    }

    async fn append_to_log(
        &self,
        collection: &CollectionName,
        _: Append,
    ) -> Result<LogOutcome, StoreError> {
        require(self, collection).await?;
        Err(StoreError::Unsupported("logs"))
    }

    async fn begin_log_generation(
        &self,
        collection: &CollectionName,
        _: NewGeneration,
    ) -> Result<LogOutcome, StoreError> {
        require(self, collection).await?;
        Ok(LogOutcome::Absent(None))
    }

    async fn remove_log(
        &self,
        collection: &CollectionName,
        _: Expected,
        _: Option<AuditAction>,
    ) -> Result<LogOutcome, StoreError> {
        require(self, collection).await?;
        Ok(LogOutcome::Absent(None))
    }

    async fn read_log(
        &self,
        collection: &CollectionName,
        _: Generation,
        _: u64,
        _: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        require(self, collection).await?;
        Ok(None)
    }

    async fn put_log_snapshot(
        &self,
        collection: &CollectionName,
        _: NewSnapshot,
    ) -> Result<LogOutcome, StoreError> {
        require(self, collection).await?;
        Ok(LogOutcome::Absent(None))
    }

    async fn log_snapshot(
        &self,
        collection: &CollectionName,
    ) -> Result<Option<(LogSnapshot, Vec<u8>)>, StoreError> {
        require(self, collection).await?;
        Ok(None)
    }

    async fn sweep_logs(&self, _: Moment) -> Result<u64, StoreError> {
        Ok(0)
    }
}
