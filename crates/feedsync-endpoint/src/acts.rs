//! The record of actions: who did what, and when.

use feedsync_store::{AuditAction, AuditEntry, AuditSelection, Moment, StoreError};

use crate::endpoint::Endpoint;

impl Endpoint {
    /// Appends an action to the record. If an endpoint has an actor, its changes of items, collections, users and
    /// logs record themselves.
    pub async fn record(&self, act: AuditAction) -> Result<(), StoreError> {
        self.store.record(act).await
    }

    /// Returns entries of the record, newest first.
    pub async fn acts(&self, selection: AuditSelection<'_>) -> Result<Vec<AuditEntry>, StoreError> {
        self.store.acts(selection).await
    }

    /// Removes entries from before a moment; returns their number.
    pub async fn remove_acts(&self, before: Moment) -> Result<u64, StoreError> {
        self.store.remove_acts(before).await
    }
}
