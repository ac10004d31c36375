//! Connections that read, for as many as want to.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use feedsync_offline::authentication::Partition;
use feedsync_offline::interceptor::{Content, Representation, Resource, Stored};
use feedsync_offline::location::Location;
use rusqlite::Connection;

use super::contents::{Contents, Opened};
use super::error::StoreError;
use super::{representations, schema};

/// Connections that are kept for later.
const KEPT: usize = 16;

/// The connections that nobody uses now.
#[derive(Debug)]
pub(super) struct Readers {
    pub(super) database: PathBuf,
    idle: Mutex<Vec<Connection>>,
    contents: Arc<Contents>,
}

/// Reads a store: what was committed last.
#[derive(Debug)]
pub struct Reader {
    readers: Arc<Readers>,
    /// There until it is given back.
    connection: Option<Connection>,
}

impl Readers {
    pub(super) fn new(database: PathBuf, contents: Arc<Contents>) -> Arc<Self> {
        Arc::new(Self { database, idle: Mutex::default(), contents })
    }

    pub(super) fn reader(self: &Arc<Self>) -> Result<Reader, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => schema::connect_reader(&self.database)?,
        };
        Ok(Reader { readers: Arc::clone(self), connection: Some(connection) })
    }
}

impl Reader {
    /// Bytes, to be read piece by piece where they are many.
    pub fn open(&self, content: &Content) -> Result<Opened, StoreError> {
        self.with(|connection| self.readers.contents.open_content(connection, content))
    }

    fn with<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match &self.connection {
            Some(connection) => read(connection),
            None => read(&schema::connect_reader(&self.readers.database)?),
        }
    }
}

impl Stored for Reader {
    type Error = StoreError;

    fn resources(&self, location: &Location) -> Result<Vec<Resource>, StoreError> {
        self.with(|connection| representations::resources(connection, location))
    }

    fn representation(
        &self,
        partition: Partition,
        location: &Location,
    ) -> Result<Option<Representation>, StoreError> {
        self.with(|connection| representations::get(connection, partition, location))
    }

    fn content(&self, content: &Content) -> Result<Vec<u8>, StoreError> {
        self.with(|connection| self.readers.contents.read(connection, content))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut idle = self.readers.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT {
            idle.extend(self.connection.take());
        }
    }
}
