//! Logs in memory.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use async_trait::async_trait;

use super::MemoryStore;
use crate::environment::Environment;
use crate::error::StoreError;
use crate::log::{
    Append, Change, Expected, Generation, KeyedAppend, Log, LogOutcome, LogRequest, LogSnapshot,
    Logs, MAX_APPEND_KEYS, NewGeneration, NewSnapshot, StoredLogState,
};
use crate::name::CollectionName;
use crate::order::Moment;
use crate::people::AuditAction;
use crate::transfer::TransferredLog;

/// A log with its bytes; images share the bytes until one of them appends.
#[derive(Debug, Clone)]
pub(super) struct StoredLog {
    pub(super) log: Log,
    bytes: BTreeMap<Generation, Arc<Vec<u8>>>,
    pub(super) keys: VecDeque<KeyedAppend>,
    snapshot: Option<Arc<Vec<u8>>>,
}

impl StoredLog {
    fn new(log: Log) -> Self {
        let (bytes, keys) = Default::default();
        Self { log, bytes, keys, snapshot: None }
    }

    /// Number of bytes that are stored: those of all generations and of the snapshot.
    pub(super) fn bytes(&self) -> u64 {
        let generations: u64 = self.log.generations().map(|(_, length)| length).sum();
        generations + self.log.snapshot.as_ref().map_or(0, |snapshot| snapshot.length)
    }

    /// A log at the start of its transfer into this store.
    pub(super) fn moved(moved: TransferredLog, environment: &dyn Environment) -> Self {
        let TransferredLog { log, keys, snapshot } = moved;
        let mut stored = Self::new(log.moved(environment.random() as u32, environment.now()));
        stored.extend(&[]);
        stored.keys.extend(keys);
        stored.snapshot = snapshot.map(Arc::new);
        stored.drop_unlisted_data();
        stored
    }

    /// Continues the log in a new generation, after the store was restored or moved.
    pub(super) fn renew(&mut self, environment: &dyn Environment) {
        let held = self.bytes.remove(&self.log.place.generation);
        self.log = self.log.clone().renewed(environment.random() as u32, environment.now());
        self.bytes = held.map(|bytes| (self.log.place.generation, bytes)).into_iter().collect();
    }

    pub(super) fn extend(&mut self, bytes: &[u8]) {
        let current = self.bytes.entry(self.log.place.generation).or_default();
        Arc::make_mut(current).extend_from_slice(bytes);
    }

    fn apply(
        &mut self,
        log: Log,
        bytes: &[u8],
        key: Option<KeyedAppend>,
        snapshot: Option<Vec<u8>>,
    ) {
        self.log = log;
        self.extend(bytes);
        self.drop_unlisted_data();
        self.keys.extend(key);
        let superfluous = self.keys.len().saturating_sub(MAX_APPEND_KEYS);
        self.keys.drain(..superfluous);
        if let Some(bytes) = snapshot {
            self.snapshot = Some(Arc::new(bytes));
        }
    }

    fn drop_unlisted_data(&mut self) {
        let Self { log, bytes, keys, snapshot } = self;
        bytes.retain(|generation, _| log.length_of(*generation).is_some());
        if log.removed {
            keys.clear();
            *snapshot = None;
        }
    }
}

impl MemoryStore {
    fn change_log(
        &self,
        collection: &CollectionName,
        asked: LogRequest,
    ) -> Result<LogOutcome, StoreError> {
        let mut state = self.state();
        let last_dropped = state.last_dropped_generation;
        let collection_contents = state.collection_contents_mut(collection)?;
        let stored = collection_contents.log.as_ref();
        let known = |stored: &StoredLog| {
            stored.keys.iter().find(|keyed| Some(&*keyed.key) == asked.key()).cloned()
        };
        let found = StoredLogState {
            log: stored.map(|stored| stored.log.clone()),
            known: stored.and_then(known),
            last_dropped,
            now: self.environment.now(),
            tail: self.environment.random() as u32,
        };
        let (digest, now) = (asked.digest(), found.now);
        let Change { log, bytes, key, snapshot, act, .. } = match asked.decide(found, digest) {
            Ok(change) => change,
            Err(outcome) => return Ok(*outcome),
        };
        let stored = collection_contents.log.get_or_insert_with(|| StoredLog::new(log.clone()));
        stored.apply(log.clone(), &bytes, key, snapshot);
        if let Some(act) = act {
            state.people.record(now, act);
        }
        self.notifier.notify_subscribers(collection);
        Ok(LogOutcome::Done(log))
    }
}

#[async_trait]
impl Logs for MemoryStore {
    async fn log(&self, collection: &CollectionName) -> Result<Option<Log>, StoreError> {
        Ok(self
            .state()
            .collection_contents(collection)?
            .log
            .as_ref()
            .map(|stored| stored.log.clone()))
    }

    async fn append_to_log(
        &self,
        collection: &CollectionName,
        append: Append,
    ) -> Result<LogOutcome, StoreError> {
        self.change_log(collection, LogRequest::Append(append))
    }

    async fn begin_log_generation(
        &self,
        collection: &CollectionName,
        new: NewGeneration,
    ) -> Result<LogOutcome, StoreError> {
        self.change_log(collection, LogRequest::Generation(new))
    }

    async fn remove_log(
        &self,
        collection: &CollectionName,
        expected: Expected,
        act: Option<AuditAction>,
    ) -> Result<LogOutcome, StoreError> {
        self.change_log(collection, LogRequest::Removal(expected, act))
    }

    async fn read_log(
        &self,
        collection: &CollectionName,
        generation: Generation,
        from: u64,
        most: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let state = self.state();
        let bytes = state
            .collection_contents(collection)?
            .log
            .as_ref()
            .and_then(|log| log.bytes.get(&generation));
        Ok(bytes.map(|bytes| {
            let from = usize::try_from(from).unwrap_or(usize::MAX).min(bytes.len());
            let end = from.saturating_add(most).min(bytes.len());
            bytes[from..end].to_vec()
        }))
    }

    async fn put_log_snapshot(
        &self,
        collection: &CollectionName,
        new: NewSnapshot,
    ) -> Result<LogOutcome, StoreError> {
        self.change_log(collection, LogRequest::Snapshot(new))
    }

    async fn log_snapshot(
        &self,
        collection: &CollectionName,
    ) -> Result<Option<(LogSnapshot, Vec<u8>)>, StoreError> {
        let state = self.state();
        let stored = state.collection_contents(collection)?.log.as_ref();
        Ok(stored.and_then(|stored| {
            let snapshot = stored.log.snapshot.clone();
            snapshot.zip(stored.snapshot.as_ref().map(|bytes| bytes.to_vec()))
        }))
    }

    async fn sweep_logs(&self, ended_before: Moment) -> Result<u64, StoreError> {
        let mut swept = 0;
        for collection_contents in self.state().collections_by_name.values_mut() {
            let Some(stored) = &mut collection_contents.log else { continue };
            let before = stored.log.earlier.len();
            stored.log.earlier.retain(|_, ended| ended.at >= ended_before);
            swept += (before - stored.log.earlier.len()) as u64;
            stored.drop_unlisted_data();
        }
        Ok(swept)
    }
}
