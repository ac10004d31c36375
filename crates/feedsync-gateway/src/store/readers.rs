//! Pool of read-only connections. Reads that the cache can answer need no connection.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::interceptor::{Content, Digest, Representation, Resource, Stored};
use feedsync_bitsy::location::Location;
use rusqlite::Connection;

use super::contents::{Contents, Opened};
use super::error::StoreError;
use super::read_cache::ReadCache;
use super::representations;
use super::schema::SETTINGS;

/// Maximum number of idle connections in the pool.
const MAX_IDLE: usize = 16;

/// Idle connections.
#[derive(Debug)]
pub(super) struct Readers {
    pub(super) database: PathBuf,
    idle: Mutex<Vec<Connection>>,
    contents: Arc<Contents>,
    read_cache: Arc<ReadCache>,
}

/// Reads the last commit of a store.
#[derive(Debug)]
pub struct Reader {
    readers: Arc<Readers>,
    /// Taken from the pool for the first query, and returned when the reader is dropped.
    connection: RefCell<Option<Connection>>,
}

impl Readers {
    pub(super) fn new(
        database: PathBuf,
        contents: Arc<Contents>,
        read_cache: Arc<ReadCache>,
    ) -> Arc<Self> {
        Arc::new(Self { database, idle: Mutex::default(), contents, read_cache })
    }

    pub(super) fn reader(self: &Arc<Self>) -> Reader {
        Reader { readers: Arc::clone(self), connection: RefCell::default() }
    }

    fn connection(&self) -> Result<Connection, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(connection) => Ok(connection),
            None => Ok(SETTINGS.connect_reader(&self.database)?),
        }
    }
}

impl Reader {
    /// Opens contents; large ones are read in pieces.
    pub fn open(&self, content: &Content) -> Result<Opened, StoreError> {
        let read_cache = &self.readers.read_cache;
        if let Some(bytes) = read_cache.content(&content.digest) {
            return Ok(Opened::Bytes(bytes));
        }
        let opened =
            self.with(|connection| self.readers.contents.open_content(connection, content))?;
        if let Opened::Bytes(bytes) = &opened {
            read_cache.keep(content.digest, bytes.clone());
        }
        Ok(opened)
    }

    /// Returns the addresses whose representations have these contents.
    pub fn addresses_of(&self, digest: &Digest) -> Result<Vec<(Partition, Location)>, StoreError> {
        self.with(|connection| representations::addresses_of(connection, digest))
    }

    fn with<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let taken = self.connection.take();
        let connection = taken.map_or_else(|| self.readers.connection(), Ok)?;
        let result = read(&connection);
        self.connection.replace(Some(connection));
        result
    }
}

impl Stored for Reader {
    type Error = StoreError;

    fn resources(&self, location: &Location) -> Result<Vec<Resource>, StoreError> {
        let read = || self.with(|connection| representations::resources(connection, location));
        self.readers.read_cache.resources(location, read)
    }

    fn representation(
        &self,
        partition: Partition,
        location: &Location,
    ) -> Result<Option<Representation>, StoreError> {
        let read = || self.with(|connection| representations::get(connection, partition, location));
        self.readers.read_cache.representation(partition, location, read)
    }

    fn content(&self, content: &Content) -> Result<Vec<u8>, StoreError> {
        self.with(|connection| self.readers.contents.read(connection, content))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut idle = self.readers.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE {
            idle.extend(self.connection.take());
        }
    }
}
