//! A replica: the data of an application on one device.

use std::fmt;
#[cfg(feature = "sqlite")]
use std::path::Path;
use std::sync::Arc;

use feedsync_core::Format;
use feedsync_endpoint::{Endpoint, EndpointError};
#[cfg(feature = "postgres")]
use feedsync_store::PostgresStore;
#[cfg(feature = "sqlite")]
use feedsync_store::SqliteStore;
use feedsync_store::{
    CollectionName, Environment, MemoryStore, NewCollection, Store, StoreError, SystemEnvironment,
};
use serde_json::Value;

pub use feedsync_store::EndpointName as ReplicaName;

use crate::collection::Collection;
use crate::content::Content;
use crate::error::Error;
#[cfg(feature = "http")]
use crate::sync::Connections;

/// Name of a replica whose application gives it none.
const DEFAULT_NAME: &str = "replica";

/// The data of an application on one device: collections, which it can edit at any time and sync when it is online.
///
/// A replica is cheap to clone; clones are the same replica. All methods need a [tokio] runtime. Dropping the last
/// clone writes what is queued.
#[derive(Clone)]
pub struct Replica {
    endpoint: Endpoint,
    #[cfg(feature = "http")]
    pub(crate) connections: Arc<Connections>,
}

impl Replica {
    /// Opens the replica in a directory, and creates it if there is none. The data is in an SQLite database; what a
    /// method of this crate returned `Ok` for survives a crash and a loss of power. Several processes may open one
    /// directory. A creation that was interrupted is done again by the next call.
    ///
    /// A directory that was restored from a backup or copied is detected: it continues as another author, so that no edit
    /// of either copy is lost. To bring data to another device, do not copy the directory; sync.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if the directory cannot be created or read, holds something else, or is damaged.
    #[cfg(feature = "sqlite")]
    pub async fn open(directory: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_as(directory, &ReplicaName::new(DEFAULT_NAME)?).await
    }

    /// [Opens](Self::open) the replica in a directory; a new one gets this name. The name begins the signature of each
    /// edit, which everybody who reads the data sees. It need not be unique.
    #[cfg(feature = "sqlite")]
    pub async fn open_as(directory: impl AsRef<Path>, name: &ReplicaName) -> Result<Self, Error> {
        let (directory, name) = (directory.as_ref().to_owned(), name.clone());
        let environment = Arc::new(SystemEnvironment);
        let open = move || SqliteStore::open_or_init(&directory, &name, environment);
        let opened = tokio::task::spawn_blocking(open).await;
        let ended = |_| StoreError::Unknown("the program is shutting down".to_owned());
        Ok(Self::over(Arc::new(opened.map_err(ended)??)))
    }

    /// Opens the replica in a PostgreSQL database, and creates it if there is none. Several processes, on several
    /// machines, may share it.
    ///
    /// `url` is `postgres://user@host/database`; its parameters are those of libpq.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if the database cannot be reached or holds something else.
    #[cfg(feature = "postgres")]
    pub async fn open_postgres(url: &str) -> Result<Self, Error> {
        let environment = Arc::new(SystemEnvironment);
        if !PostgresStore::exists(url).await? {
            let name = ReplicaName::new(DEFAULT_NAME)?;
            match PostgresStore::init(url, &name, environment.clone()).await {
                Ok(store) => return Ok(Self::over(Arc::new(store))),
                Err(StoreError::Place { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Self::over(Arc::new(PostgresStore::open(url, environment).await?)))
    }

    /// A new replica in memory, for tests: it has all guarantees of the others but ends with the process.
    pub fn in_memory() -> Self {
        let name = ReplicaName::new(DEFAULT_NAME)
            .unwrap_or_else(|_| unreachable!("the default name is a name"));
        Self::over(Arc::new(MemoryStore::new(&name, Arc::new(SystemEnvironment))))
    }

    /// A replica in a store of the application's own, with the clock and the random numbers of the system.
    pub fn over(store: Arc<dyn Store>) -> Self {
        Self::new(store, Arc::new(SystemEnvironment))
    }

    /// A replica in a store of the application's own, with a clock and random numbers of its own: for simulations.
    pub fn new(store: Arc<dyn Store>, environment: Arc<dyn Environment>) -> Self {
        Endpoint::new(store, environment).into()
    }

    /// A collection of JSON objects. It is created if the replica has none of this name.
    ///
    /// A name is a lower-case letter, then at most 62 lower-case letters, digits, `_` or `-`.
    ///
    /// # Errors
    ///
    /// [`Error::Name`] for another name, [`Error::Store`].
    pub async fn collection(&self, name: &str) -> Result<Collection, Error> {
        self.collection_of::<Value>(name).await
    }

    /// A collection whose items have content of another type, created in the format of that type. A collection that
    /// exists keeps its format.
    ///
    /// # Errors
    ///
    /// [`Error::Name`] for a name that is not valid, [`Error::Store`].
    pub async fn collection_of<T: Content>(&self, name: &str) -> Result<Collection<T>, Error> {
        self.collection_in(name, T::FORMAT).await
    }

    /// The same, created in a given format, for content that can be in several ones, such as [`Entry`](crate::Entry).
    pub async fn collection_in<T: Content>(
        &self,
        name: &str,
        format: Format,
    ) -> Result<Collection<T>, Error> {
        let name = CollectionName::new(name)?;
        if self.endpoint.find_collection(&name).await?.is_none() {
            let (title, settings) = (name.to_string(), Default::default());
            let new = NewCollection { name: name.clone(), title, format, settings };
            match self.endpoint.create_collection(new).await {
                Ok(_) | Err(EndpointError::Store(StoreError::CollectionExists(_))) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Collection::new(self.clone(), name))
    }

    /// Names of all collections, in alphabetical order.
    pub async fn collections(&self) -> Result<Vec<String>, Error> {
        let found = self.endpoint.collections().await?;
        Ok(found.into_iter().map(|collection| collection.name.to_string()).collect())
    }

    /// Removes a collection with all its items, on this replica only. Other replicas keep theirs.
    ///
    /// # Errors
    ///
    /// [`Error::NoCollection`] if there is none of this name.
    pub async fn remove_collection(&self, name: &str) -> Result<(), Error> {
        Ok(self.endpoint.drop_collection(&CollectionName::new(name)?).await?)
    }

    /// The endpoint below, with all operations of the protocol. `feedsync_server` serves it as a hub.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }
}

impl From<Endpoint> for Replica {
    fn from(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            #[cfg(feature = "http")]
            connections: Arc::default(),
        }
    }
}

impl fmt::Debug for Replica {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replica")
            .field("directory", &self.endpoint.directory())
            .finish_non_exhaustive()
    }
}
