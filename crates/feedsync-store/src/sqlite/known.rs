//! Collections, logs and databases as they were read last, for as long as nobody has committed.
//!
//! `PRAGMA data_version` tells a connection whether anybody else, in this process or another, has
//! committed since it last looked. It takes two locks of shared memory and no wait for the disk or for
//! who writes, so that it is asked on the caller's thread: what most requests ask for, whether there is
//! anything new, then costs microseconds and no other thread. What is found is as new as a read would be.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use feedsync_couch::DatabaseName;
use rusqlite::Connection;

use super::logs::KnownLog;
use crate::collection::Collection;
use crate::database::Database;
use crate::error::StoreError;
use crate::name::CollectionName;

/// Collections, logs and databases that are known at most, to each connection.
const MOST: usize = 1_024;

/// What is known: to each of several connections for itself, so that threads do not wait for one another
/// and no waiting thread has to be woken.
pub(super) struct Known(Vec<Mutex<State>>);

/// What is known while a connection tells that nobody has committed. It never writes: its own commits
/// would go unnoticed.
struct State {
    connection: Connection,
    version: i64,
    read: Read,
}

/// What was read while the file had one version.
#[derive(Default)]
struct Read {
    collections: HashMap<CollectionName, Collection>,
    logs: HashMap<CollectionName, Arc<KnownLog>>,
    databases: HashMap<DatabaseName, Database>,
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
        let state = |connection| State { connection, version: i64::MIN, read: Read::default() };
        Self(connections.into_iter().map(state).map(Mutex::new).collect())
    }

    /// A collection that is known and still as it was, or else the version that the file has now.
    pub(super) fn collection(
        &self,
        name: &CollectionName,
    ) -> Result<Result<Collection, Version>, StoreError> {
        self.look(|read| read.collections.get(name).cloned())
    }

    /// A collection's log, likewise.
    pub(super) fn log(
        &self,
        name: &CollectionName,
    ) -> Result<Result<Arc<KnownLog>, Version>, StoreError> {
        self.look(|read| read.logs.get(name).cloned())
    }

    /// A database, likewise.
    pub(super) fn database(
        &self,
        name: &DatabaseName,
    ) -> Result<Result<Database, Version>, StoreError> {
        self.look(|read| read.databases.get(name).cloned())
    }

    fn look<T>(
        &self,
        find: impl FnOnce(&Read) -> Option<T>,
    ) -> Result<Result<T, Version>, StoreError> {
        let (index, mut state) = self.free();
        let version = state
            .connection
            .prepare_cached("PRAGMA data_version")?
            .query_row([], |row| row.get(0))?;
        if version != state.version {
            state.version = version;
            state.read = Read::default();
        }
        Ok(find(&state.read).ok_or(Version { state: index, version }))
    }

    /// Keeps what was read after a version was told, unless another one was found since.
    pub(super) fn learn(&self, version: Version, collection: &Collection) {
        self.keep(version, |read| {
            read.collections.insert(collection.name.clone(), collection.clone());
        });
    }

    /// Keeps a log that was read so.
    pub(super) fn learn_log(&self, version: Version, name: &CollectionName, log: &Arc<KnownLog>) {
        self.keep(version, |read| {
            read.logs.insert(name.clone(), Arc::clone(log));
        });
    }

    /// Keeps a database that was read so.
    pub(super) fn learn_database(&self, version: Version, database: &Database) {
        self.keep(version, |read| {
            read.databases.insert(database.name.clone(), database.clone());
        });
    }

    fn keep(&self, version: Version, insert: impl FnOnce(&mut Read)) {
        let mut state = self.lock(version.state);
        if version.version != state.version {
            return;
        }
        let Read { collections, logs, databases } = &state.read;
        if collections.len() + logs.len() + databases.len() >= MOST {
            state.read = Read::default();
        }
        insert(&mut state.read);
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
