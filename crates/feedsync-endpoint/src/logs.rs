//! Logs of collections, and their changes on a user's behalf (REST-logging). The creation, compaction and removal
//! of a log are recorded with the user who did it. Appended records state their author themselves.

use feedsync_store::{
    Append, AuditAction, CollectionName, Expected, Generation, Log, LogOutcome, LogSnapshot,
    Moment, NewGeneration, NewSnapshot, StoreError,
};

use crate::endpoint::Endpoint;

impl Endpoint {
    /// Returns the log of a collection, removed ones included; `None` if there never was one.
    pub async fn log(&self, collection: &CollectionName) -> Result<Option<Log>, StoreError> {
        self.store.log(collection).await
    }

    /// Returns bytes of a generation from an offset on: at most the given number, and fewer only at its end.
    /// `None` if the generation is not stored.
    pub async fn read_log(
        &self,
        collection: &CollectionName,
        generation: Generation,
        from: u64,
        most: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.read_log(collection, generation, from, most).await
    }

    /// Returns the snapshot of a log that was not removed, and its bytes.
    pub async fn log_snapshot(
        &self,
        collection: &CollectionName,
    ) -> Result<Option<(LogSnapshot, Vec<u8>)>, StoreError> {
        self.store.log_snapshot(collection).await
    }

    /// Replaces the stored snapshot of a log by a newer one (LR45).
    pub async fn put_log_snapshot(
        &self,
        collection: &CollectionName,
        new: NewSnapshot,
    ) -> Result<LogOutcome, StoreError> {
        self.store.put_log_snapshot(collection, new).await
    }

    /// Removes generations that ended before a moment; returns their number.
    pub async fn sweep_logs(&self, ended_before: Moment) -> Result<u64, StoreError> {
        self.store.sweep_logs(ended_before).await
    }

    /// Appends to a log, or creates it.
    pub async fn append_to_log(
        &self,
        collection: &CollectionName,
        append: Append,
    ) -> Result<LogOutcome, StoreError> {
        let act = self.act_on_log("begin-log", collection);
        self.store.append_to_log(collection, Append { act, ..append }).await
    }

    /// Starts the next generation of a log.
    pub async fn begin_log_generation(
        &self,
        collection: &CollectionName,
        new: NewGeneration,
    ) -> Result<LogOutcome, StoreError> {
        let act = self.act_on_log("compact-log", collection);
        self.store.begin_log_generation(collection, NewGeneration { act, ..new }).await
    }

    /// Removes a log with all generations and its snapshot.
    pub async fn remove_log(
        &self,
        collection: &CollectionName,
        expected: Expected,
    ) -> Result<LogOutcome, StoreError> {
        let act = self.act_on_log("remove-log", collection);
        self.store.remove_log(collection, expected, act).await
    }

    fn act_on_log(&self, action: &str, collection: &CollectionName) -> Option<AuditAction> {
        let actor = self.actor.as_ref()?;
        Some(AuditAction { collection: Some(collection.clone()), ..actor.act(action) })
    }
}
