//! A replica: the data of an application on one device.

use std::fmt;
#[cfg(feature = "sqlite")]
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

use feedsync_core::Format;
use feedsync_endpoint::{Endpoint, EndpointError};
#[cfg(feature = "postgres")]
use feedsync_store::PostgresStore;
#[cfg(feature = "sqlite")]
use feedsync_store::SqliteStore;
use feedsync_store::{
    CollectionName, EndpointName, Environment, MemoryStore, NameError as StoredNameError,
    NewCollection, Store, StoreError, SystemEnvironment,
};
use serde_json::Value;

use crate::collection::Collection;
use crate::content::Content;
use crate::error::Error;
#[cfg(feature = "http")]
use crate::sync::Connections;

/// Name of a replica: a letter or digit, then at most 62 letters, digits, `.`, `_` or `-`.
///
/// ```
/// use feedsync::ReplicaName;
///
/// let name = ReplicaName::new("annas-phone")?;
/// assert_eq!(name.as_str(), "annas-phone");
/// assert!(ReplicaName::new("Anna's phone").is_err());
/// # Ok::<(), feedsync::NameError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReplicaName(EndpointName);

impl ReplicaName {
    /// Name of a replica whose application gives it none.
    pub const DEFAULT: &str = "replica";

    /// Checks a name.
    ///
    /// # Errors
    ///
    /// [`NameError::Replica`], and [`NameError::Reserved`] for a name that begins other signatures.
    pub fn new(name: &str) -> Result<Self, NameError> {
        EndpointName::new(name).map(Self).map_err(|error| match error {
            StoredNameError::Reserved(name) => NameError::Reserved(name),
            _ => NameError::Replica(name.to_owned()),
        })
    }

    /// The text of the name.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    fn default_name() -> EndpointName {
        EndpointName::new(Self::DEFAULT)
            .unwrap_or_else(|_| unreachable!("the default name is a name"))
    }
}

impl fmt::Display for ReplicaName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ReplicaName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Self::new(text)
    }
}

/// A text that is no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// The text is no name of a collection.
    #[error(
        "{0:?} is not a name of a collection: use a lower-case letter, then at most 62 lower-case \
         letters, digits, '_' or '-'"
    )]
    Collection(String),
    /// The text is no name of a replica.
    #[error(
        "{0:?} is not a name of a replica: use a letter or digit, then at most 62 letters, digits, \
         '.', '_' or '-'"
    )]
    Replica(String),
    /// The name begins signatures of another kind.
    #[error("the name {0:?} is reserved: choose another one")]
    Reserved(String),
}

fn collection_name(name: &str) -> Result<CollectionName, NameError> {
    CollectionName::new(name).map_err(|_| NameError::Collection(name.to_owned()))
}

/// The data of an application on one device: collections, which it can edit at any time and sync when it is online.
///
/// A replica is cheap to clone; clones are the same replica. All methods need a [tokio] runtime with its timer and its
/// network (`#[tokio::main]`, or `enable_all` of a builder). An edit that a method returned `Ok` for is stored. One whose
/// future was dropped before may be made or not; dropping the last clone waits until it is decided.
#[derive(Clone)]
pub struct Replica {
    endpoint: Endpoint,
    #[cfg(feature = "http")]
    pub(crate) connections: Arc<Connections>,
}

impl Replica {
    /// Opens the replica in a directory, and creates it if there is none. The data is in an SQLite database; what a
    /// method of this crate returned `Ok` for survives a crash and a loss of power. Several processes may open one
    /// directory. A creation that was interrupted is done again by the next call. A new replica gets the name
    /// [`ReplicaName::DEFAULT`]; [`open_as`](Self::open_as) gives it another one.
    ///
    /// A directory that was restored from a backup or copied is detected: it continues as another author, so that no edit
    /// of either copy is lost. To bring data to another device, do not copy the directory; sync.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if the directory cannot be created or read, or if its database (`feedsync.db`) is damaged, gone, or
    /// of another program. Files of other names do not matter.
    #[cfg(feature = "sqlite")]
    pub async fn open(directory: impl AsRef<Path>) -> Result<Self, Error> {
        Self::open_as(directory, &ReplicaName(ReplicaName::default_name())).await
    }

    /// [Opens](Self::open) the replica in a directory; a new one gets this name.
    ///
    /// The name begins the signature of each edit, which everybody who reads the data sees
    /// ([`Item::author`](crate::Item::author)). It need not be unique, since each signature has random characters as
    /// well. A replica that exists keeps the name that it has ([`name`](Self::name)); the given one has no effect then.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), feedsync::Error> {
    /// use feedsync::{Replica, ReplicaName};
    ///
    /// let replica = Replica::open_as("todo-data", &ReplicaName::new("annas-phone")?).await?;
    /// println!("this is {}", replica.name().await?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    #[cfg(feature = "sqlite")]
    pub async fn open_as(directory: impl AsRef<Path>, name: &ReplicaName) -> Result<Self, Error> {
        let (directory, name) = (directory.as_ref().to_owned(), name.0.clone());
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
            let name = ReplicaName::default_name();
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
        let (name, environment) = (ReplicaName::default_name(), Arc::new(SystemEnvironment));
        Self::over(Arc::new(MemoryStore::new(&name, environment)))
    }

    /// A replica in a store of the application's own, with the clock and the random numbers of the system.
    pub fn over(store: Arc<dyn Store>) -> Self {
        Self::new(store, Arc::new(SystemEnvironment))
    }

    /// A replica in a store of the application's own, with a clock and random numbers of its own: for simulations.
    pub fn new(store: Arc<dyn Store>, environment: Arc<dyn Environment>) -> Self {
        Endpoint::new(store, environment).into()
    }

    /// Name of the replica: the one that it got when it was created, or [`ReplicaName::DEFAULT`].
    pub async fn name(&self) -> Result<ReplicaName, Error> {
        Ok(ReplicaName(self.endpoint.identity().await?.name))
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
        let name = collection_name(name)?;
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
        Ok(self.endpoint.drop_collection(&collection_name(name)?).await?)
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
