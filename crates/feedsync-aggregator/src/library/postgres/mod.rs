//! A library in a PostgreSQL database, for a hub of several processes (nodes).
//!
//! The nodes have no articles of their own, so a feed and an article have the same number on each of them, and a feed is
//! polled by the one node that [claimed](crate::Library::claim) it. The tables are in a schema of their own, beside the
//! store of the hub, and are defined in `migrations/`.
//!
//! **Numbers** are assigned under a lock that lasts until the commit. Therefore articles become visible in the order of
//! their numbers, and a client that has seen a number has seen all lower ones.
//!
//! **Locks** are taken in one order: the counter of feeds, a reader, feeds in the order of their numbers, the counter of
//! articles. No two transactions wait for each other.

mod articles;
mod columns;
mod feeds;
mod icons;
mod import;
mod library;
mod list;
mod lookups;
mod polling;
mod search;
mod settle;
mod subscriptions;
mod sweep;
mod words;

use std::path::Path;
use std::sync::Arc;

use feedsync_store::postgres_support::{Connections, Migration};
use futures_util::FutureExt as _;

use crate::library::error::LibraryError;
use crate::library::sqlite::SqliteLibrary;

/// Name of the schema in the database.
const SCHEMA: &str = "feedsync_articles";

const MIGRATIONS: &[Migration] =
    &[Migration { sql: include_str!("migrations/001.sql"), oldest_compatible: 1 }];

/// A library in a PostgreSQL database, which several processes may have open.
#[derive(Debug)]
pub struct PostgresLibrary {
    connections: Connections,
}

impl PostgresLibrary {
    /// Opens or creates the library in a database. The address is that of
    /// [`PostgresStore::init`](feedsync_store::PostgresStore::init).
    pub async fn open(url: &str) -> Result<Self, LibraryError> {
        Ok(Self { connections: Connections::open(url, SCHEMA, MIGRATIONS).await? })
    }

    /// Copies the library of a directory, with the numbers of its feeds and articles, unless this one has or had feeds.
    /// Nobody may use that library meanwhile; its contents are not changed. Returns the number of articles, or `None` if nothing was
    /// copied.
    pub async fn import(&self, directory: &Path) -> Result<Option<u64>, LibraryError> {
        if !directory.join(SqliteLibrary::FILE).exists() {
            return Ok(None);
        }
        let source = Arc::new(SqliteLibrary::open(directory)?);
        self.connections.write(move |of| import::import(of, source).boxed()).await
    }
}
