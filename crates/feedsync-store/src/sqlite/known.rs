//! Collections as they were read last, for as long as nobody has committed.
//!
//! `PRAGMA data_version` tells a connection whether anybody else, in this process or another, has
//! committed since it last looked. It takes two locks of shared memory and no wait for the disk or for
//! who writes, so that it is asked on the caller's thread: what most requests ask for, whether there is
//! anything new, then costs microseconds and no other thread. What is found is as new as a read would be.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;

use crate::collection::Collection;
use crate::error::StoreError;
use crate::name::CollectionName;

/// Collections that are known at most.
const MOST: usize = 1_024;

/// What is known, and the connection that tells for how long. It never writes: its own commits would
/// go unnoticed.
pub(super) struct Known(Mutex<State>);

struct State {
    connection: Connection,
    version: i64,
    collections: HashMap<CollectionName, Collection>,
}

/// The state of the file before which nothing that is read from now on was committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Version(i64);

impl Known {
    pub(super) fn new(connection: Connection) -> Self {
        Self(Mutex::new(State { connection, version: i64::MIN, collections: HashMap::new() }))
    }

    /// A collection that is known and still as it was, or else the version that the file has now.
    pub(super) fn collection(
        &self,
        name: &CollectionName,
    ) -> Result<Result<Collection, Version>, StoreError> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let version = state
            .connection
            .prepare_cached("PRAGMA data_version")?
            .query_row([], |row| row.get(0))?;
        if version != state.version {
            state.version = version;
            state.collections.clear();
        }
        Ok(state.collections.get(name).cloned().ok_or(Version(version)))
    }

    /// Keeps what was read after a version was told, unless another one was found since.
    pub(super) fn learn(&self, version: Version, collection: &Collection) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if version != Version(state.version) {
            return;
        }
        if state.collections.len() >= MOST {
            state.collections.clear();
        }
        state.collections.insert(collection.name.clone(), collection.clone());
    }
}
