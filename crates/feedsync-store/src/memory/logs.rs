//! Logs in memory.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use async_trait::async_trait;

use super::MemoryStore;
use crate::environment::Environment;
use crate::error::StoreError;
use crate::log::{
    Append, Asked, Change, Expected, Found, Generation, KEYS_KEPT, Keyed, Log, LogOutcome,
    LogSnapshot, Logs, NewGeneration, NewSnapshot,
};
use crate::name::CollectionName;
use crate::order::Moment;
use crate::people::Act;
use crate::transfer::MovedLog;

/// A log with its bytes; images share the bytes until one of them appends.
#[derive(Debug, Clone)]
pub(super) struct StoredLog {
    pub(super) log: Log,
    bytes: BTreeMap<Generation, Arc<Vec<u8>>>,
    pub(super) keys: VecDeque<Keyed>,
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
    pub(super) fn moved(moved: MovedLog, environment: &dyn Environment) -> Self {
        let MovedLog { log, keys, snapshot } = moved;
        let mut stored = Self::new(log.moved(environment.random() as u32, environment.now()));
        stored.extend(&[]);
        stored.keys.extend(keys);
        stored.snapshot = snapshot.map(Arc::new);
        stored.forget_what_is_not_kept();
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

    fn carry_out(&mut self, log: Log, bytes: &[u8], key: Option<Keyed>, snapshot: Option<Vec<u8>>) {
        self.log = log;
        self.extend(bytes);
        self.forget_what_is_not_kept();
        self.keys.extend(key);
        let superfluous = self.keys.len().saturating_sub(KEYS_KEPT);
        self.keys.drain(..superfluous);
        if let Some(bytes) = snapshot {
            self.snapshot = Some(Arc::new(bytes));
        }
    }

    fn forget_what_is_not_kept(&mut self) {
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
        asked: Asked,
    ) -> Result<LogOutcome, StoreError> {
        let mut state = self.state();
        let last_dropped = state.last_dropped_generation;
        let shelf = state.shelf_mut(collection)?;
        let stored = shelf.log.as_ref();
        let known = |stored: &StoredLog| {
            stored.keys.iter().find(|keyed| Some(&*keyed.key) == asked.key()).cloned()
        };
        let found = Found {
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
        let stored = shelf.log.get_or_insert_with(|| StoredLog::new(log.clone()));
        stored.carry_out(log.clone(), &bytes, key, snapshot);
        if let Some(act) = act {
            state.people.record(now, act);
        }
        self.bell.ring(collection);
        Ok(LogOutcome::Done(log))
    }
}

#[async_trait]
impl Logs for MemoryStore {
    async fn log(&self, collection: &CollectionName) -> Result<Option<Log>, StoreError> {
        Ok(self.state().shelf(collection)?.log.as_ref().map(|stored| stored.log.clone()))
    }

    async fn append_to_log(
        &self,
        collection: &CollectionName,
        append: Append,
    ) -> Result<LogOutcome, StoreError> {
        self.change_log(collection, Asked::Append(append))
    }

    async fn begin_log_generation(
        &self,
        collection: &CollectionName,
        new: NewGeneration,
    ) -> Result<LogOutcome, StoreError> {
        self.change_log(collection, Asked::Generation(new))
    }

    async fn remove_log(
        &self,
        collection: &CollectionName,
        expected: Expected,
        act: Option<Act>,
    ) -> Result<LogOutcome, StoreError> {
        self.change_log(collection, Asked::Removal(expected, act))
    }

    async fn read_log(
        &self,
        collection: &CollectionName,
        generation: Generation,
        from: u64,
        most: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let state = self.state();
        let bytes =
            state.shelf(collection)?.log.as_ref().and_then(|log| log.bytes.get(&generation));
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
        self.change_log(collection, Asked::Snapshot(new))
    }

    async fn log_snapshot(
        &self,
        collection: &CollectionName,
    ) -> Result<Option<(LogSnapshot, Vec<u8>)>, StoreError> {
        let state = self.state();
        let stored = state.shelf(collection)?.log.as_ref();
        Ok(stored.and_then(|stored| {
            let snapshot = stored.log.snapshot.clone();
            snapshot.zip(stored.snapshot.as_ref().map(|bytes| bytes.to_vec()))
        }))
    }

    async fn sweep_logs(&self, ended_before: Moment) -> Result<u64, StoreError> {
        let mut swept = 0;
        for shelf in self.state().shelves.values_mut() {
            let Some(stored) = &mut shelf.log else { continue };
            let before = stored.log.earlier.len();
            stored.log.earlier.retain(|_, ended| ended.at >= ended_before);
            swept += (before - stored.log.earlier.len()) as u64;
            stored.forget_what_is_not_kept();
        }
        Ok(swept)
    }
}
