//! The compared stores: an SQLite file, and a database of a dedicated PostgreSQL server.

use std::path::Path;
use std::process::Child;
use std::sync::Arc;

use feedsync_core::ItemId;
use feedsync_endpoint::Endpoint;
use feedsync_store::{EndpointName, PostgresStore, SystemEnvironment};
use feedsync_test::postgres::Cluster;
use tempfile::TempDir;

use crate::memory::first_line;
use crate::process::child;
use crate::sample;

/// Location of a store.
pub(crate) enum Backend {
    Sqlite(TempDir),
    Postgres(String),
}

impl Backend {
    /// Creates a location for one store of each kind. The server ends with this process.
    pub(crate) fn each() -> [Self; 2] {
        let directory = TempDir::new().expect("a directory");
        [Self::Sqlite(directory), Self::Postgres(Cluster::shared().database())]
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "SQLite",
            Self::Postgres(_) => "PostgreSQL",
        }
    }

    pub(crate) fn location(&self) -> StoreLocation<'_> {
        match self {
            Self::Sqlite(directory) => StoreLocation::Directory(directory.path()),
            Self::Postgres(url) => StoreLocation::Database(url),
        }
    }

    /// Creates a store with one collection of `count` items; returns their ids.
    pub(crate) async fn fill(&self, count: usize) -> Vec<ItemId> {
        let endpoint = create(self.location()).await;
        let mut ids = sample::ids(&endpoint, count);
        ids.sort_unstable();
        sample::fill(&endpoint, &ids).await;
        ids
    }

    /// Starts a hub for the store in a separate process; returns its address.
    pub(crate) fn serve(&self) -> (Child, String) {
        let arguments = match self {
            Self::Sqlite(directory) => ["hub", directory.path().to_str().expect("UTF-8")],
            Self::Postgres(url) => ["hub-postgres", url],
        };
        let mut hub = child(&arguments).spawn().expect("a child");
        let address = first_line(&mut hub);
        (hub, address)
    }
}

/// Creates a store with one collection.
pub(crate) async fn create(place: StoreLocation<'_>) -> Endpoint {
    match place {
        StoreLocation::Directory(directory) => sample::create(directory, "hub").await,
        StoreLocation::Database(url) => {
            let environment = Arc::new(SystemEnvironment);
            let name = EndpointName::new("hub").expect("a valid name");
            let store = PostgresStore::init(url, &name, environment.clone()).await;
            sample::set_up(Endpoint::new(Arc::new(store.expect("a new store")), environment)).await
        }
    }
}

/// Opens the endpoint of an existing store in a directory or a database.
pub(crate) async fn open(place: StoreLocation<'_>) -> Endpoint {
    match place {
        StoreLocation::Directory(directory) => sample::open(directory),
        StoreLocation::Database(url) => {
            let environment = Arc::new(SystemEnvironment);
            let store = PostgresStore::open(url, environment.clone()).await.expect("a store");
            Endpoint::new(Arc::new(store), environment)
        }
    }
}

/// Location of a store, as a child process gets it.
#[derive(Clone, Copy)]
pub(crate) enum StoreLocation<'a> {
    Directory(&'a Path),
    Database(&'a str),
}
