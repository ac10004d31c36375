//! A cache of collections, logs and databases, valid until the next commit of any process.
//!
//! `PRAGMA data_version` states whether any other connection, in this process or another, has committed since
//! the last call. It takes two locks in shared memory, and waits neither for the disk nor for a writer, so it
//! runs on the caller's thread. Most requests only check whether anything is new; the cache answers them in
//! microseconds without another thread. Cached values are as current as a read would be.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use feedsync_couch::DatabaseName;
use rusqlite::Connection;

use crate::collection::Collection;
use crate::database::Database;
use crate::error::StoreError;
use crate::log::{Generation, Log};
use crate::name::CollectionName;

/// Maximum number of cached collections, logs and databases together, for each connection.
const MAX_ENTRIES: usize = 1_024;

/// The cache. Each of several connections has its own part, so that threads do not contend for one lock.
pub(super) struct ReadCache(Vec<Mutex<State>>);

/// Cached values with the connection that validates them. The connection must never write, because it does
/// not detect its own commits.
struct State {
    connection: Connection,
    version: i64,
    read: CachedValues,
}

/// Values that were read at one version of the file.
#[derive(Default)]
struct CachedValues {
    collections: HashMap<CollectionName, Collection>,
    logs: HashMap<CollectionName, Arc<CachedLog>>,
    databases: HashMap<DatabaseName, Database>,
}

/// Version of the file before a read, as one of the connections counts versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Version {
    state: usize,
    version: i64,
}

impl ReadCache {
    pub(super) fn new(connections: Vec<Connection>) -> Self {
        let state =
            |connection| State { connection, version: i64::MIN, read: CachedValues::default() };
        Self(connections.into_iter().map(state).map(Mutex::new).collect())
    }

    /// The cached collection if it is valid; otherwise the current version of the file.
    pub(super) fn collection(
        &self,
        name: &CollectionName,
    ) -> Result<Result<Collection, Version>, StoreError> {
        self.lookup(|read| read.collections.get(name).cloned())
    }

    /// The same for a collection's log.
    pub(super) fn log(
        &self,
        name: &CollectionName,
    ) -> Result<Result<Arc<CachedLog>, Version>, StoreError> {
        self.lookup(|read| read.logs.get(name).cloned())
    }

    /// The same for a database.
    pub(super) fn database(
        &self,
        name: &DatabaseName,
    ) -> Result<Result<Database, Version>, StoreError> {
        self.lookup(|read| read.databases.get(name).cloned())
    }

    fn lookup<T>(
        &self,
        find: impl FnOnce(&CachedValues) -> Option<T>,
    ) -> Result<Result<T, Version>, StoreError> {
        let (index, mut state) = self.idle_connection();
        let version = state
            .connection
            .prepare_cached("PRAGMA data_version")?
            .query_row([], |row| row.get(0))?;
        if version != state.version {
            state.version = version;
            state.read = CachedValues::default();
        }
        Ok(find(&state.read).ok_or(Version { state: index, version }))
    }

    /// Caches a collection that was read after `version` was obtained, unless the version has changed since.
    pub(super) fn cache_collection(&self, version: Version, collection: &Collection) {
        self.insert_if_current(version, |read| {
            read.collections.insert(collection.name.clone(), collection.clone());
        });
    }

    /// Caches a log in the same way.
    pub(super) fn cache_log(&self, version: Version, name: &CollectionName, log: &Arc<CachedLog>) {
        self.insert_if_current(version, |read| {
            read.logs.insert(name.clone(), Arc::clone(log));
        });
    }

    /// Caches a database in the same way.
    pub(super) fn cache_database(&self, version: Version, database: &Database) {
        self.insert_if_current(version, |read| {
            read.databases.insert(database.name.clone(), database.clone());
        });
    }

    fn insert_if_current(&self, version: Version, insert: impl FnOnce(&mut CachedValues)) {
        let mut state = self.lock(version.state);
        if version.version != state.version {
            return;
        }
        let CachedValues { collections, logs, databases } = &state.read;
        if collections.len() + logs.len() + databases.len() >= MAX_ENTRIES {
            state.read = CachedValues::default();
        }
        insert(&mut state.read);
    }

    /// A connection that is not in use; if all are, waits for the first one.
    fn idle_connection(&self) -> (usize, MutexGuard<'_, State>) {
        let idle_connection = self
            .0
            .iter()
            .enumerate()
            .find_map(|(index, state)| state.try_lock().ok().map(|state| (index, state)));
        idle_connection.unwrap_or_else(|| (0, self.lock(0)))
    }

    fn lock(&self, index: usize) -> MutexGuard<'_, State> {
        self.0[index].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A cached log of a collection.
#[derive(Debug)]
pub(super) struct CachedLog {
    pub(super) collection: i64,
    pub(super) log: Option<Log>,
}

impl CachedLog {
    pub(super) fn length_of(&self, generation: Generation) -> Option<u64> {
        self.log.as_ref()?.length_of(generation)
    }
}
