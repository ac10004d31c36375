//! Collections and logs as they were read last, for as long as nobody has committed.
//!
//! `PRAGMA data_version` tells a connection whether anybody else, in this process or another, has
//! committed since it last looked. It takes two locks of shared memory and no wait for the disk or for
//! who writes, so that it is asked on the caller's thread: what most requests ask for, whether there is
//! anything new, then costs microseconds and no other thread. What is found is as new as a read would be.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::logs::KnownLog;
use crate::collection::Collection;
use crate::error::StoreError;
use crate::name::CollectionName;

/// Collections and logs that are known at most, to each connection.
const MOST: usize = 1_024;

/// What is known: to each of several connections for itself, so that threads do not wait for one another
/// and no waiting thread has to be woken.
pub(super) struct Known(Vec<Mutex<State>>);

/// What is known while a connection tells that nobody has committed. It never writes: its own commits
/// would go unnoticed.
struct State {
    connection: Connection,
    version: i64,
    collections: HashMap<CollectionName, Collection>,
    logs: HashMap<CollectionName, Arc<KnownLog>>,
}

/// The state of the file before which nothing that is read from now on was committed, as one of the
/// connections counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Version {
    state: usize,
    version: i64,
}

impl Known {
    pub(super) fn new(connections: Vec<Connection>) -> Self {
        let state = |connection| State {
            connection,
            version: i64::MIN,
            collections: HashMap::new(),
            logs: HashMap::new(),
        };
        Self(connections.into_iter().map(state).map(Mutex::new).collect())
    }

    /// A collection that is known and still as it was, or else the version that the file has now.
    pub(super) fn collection(
        &self,
        name: &CollectionName,
    ) -> Result<Result<Collection, Version>, StoreError> {
        self.look(|state| state.collections.get(name).cloned())
    }

    /// A collection's log, likewise.
    pub(super) fn log(
        &self,
        name: &CollectionName,
    ) -> Result<Result<Arc<KnownLog>, Version>, StoreError> {
        self.look(|state| state.logs.get(name).cloned())
    }

    fn look<T>(
        &self,
        find: impl FnOnce(&State) -> Option<T>,
    ) -> Result<Result<T, Version>, StoreError> {
        let (index, mut state) = self.free();
        let version = state
            .connection
            .prepare_cached("PRAGMA data_version")?
            .query_row([], |row| row.get(0))?;
        if version != state.version {
            state.version = version;
            state.collections.clear();
            state.logs.clear();
        }
        Ok(find(&state).ok_or(Version { state: index, version }))
    }

    /// Keeps what was read after a version was told, unless another one was found since.
    pub(super) fn learn(&self, version: Version, collection: &Collection) {
        self.keep(version, |state| {
            state.collections.insert(collection.name.clone(), collection.clone());
        });
    }

    /// Keeps a log that was read so.
    pub(super) fn learn_log(&self, version: Version, name: &CollectionName, log: &Arc<KnownLog>) {
        self.keep(version, |state| {
            state.logs.insert(name.clone(), Arc::clone(log));
        });
    }

    fn keep(&self, version: Version, insert: impl FnOnce(&mut State)) {
        let mut state = self.lock(version.state);
        if version.version != state.version {
            return;
        }
        if state.collections.len() + state.logs.len() >= MOST {
            state.collections.clear();
            state.logs.clear();
        }
        insert(&mut state);
    }

    /// A connection that nobody uses, or else the first once it is free.
    fn free(&self) -> (usize, MutexGuard<'_, State>) {
        let free = self
            .0
            .iter()
            .enumerate()
            .find_map(|(index, state)| state.try_lock().ok().map(|state| (index, state)));
        free.unwrap_or_else(|| (0, self.lock(0)))
    }

    fn lock(&self, index: usize) -> MutexGuard<'_, State> {
        self.0[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
