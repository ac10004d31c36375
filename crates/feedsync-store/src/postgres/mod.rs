//! A store in a PostgreSQL database, for a hub of several processes (nodes). The nodes share the database and
//! have no state of their own.
//!
//! **Order and atomicity.** Changes of a collection are serialized by a lock on its row. Each node runs at
//! most one commit at a time for a collection; updates that arrive meanwhile are batched into the next one. A
//! commit is one transaction:
//!
//! 1. The collection's row is locked (`FOR NO KEY UPDATE`). Then the items that the updates name are locked,
//!    existing or not, by advisory locks on a hash of their ids in ascending order. The ledger is stored by
//!    item for the whole store, so two collections that share an item wait for each other here.
//! 2. Everything that the updates name is read, with one statement for each table.
//! 3. The decisions run in memory, each on the result of those before it. One that fails changes nothing, as
//!    if it were rolled back to a savepoint.
//! 4. The results are written, with one statement for each table, including the collection's row with its
//!    last number, and committed.
//!
//! It would be enough to lock the row last, before the number is taken. But until the commit is durable no
//! other transaction could take a number anyway. The remaining work under the lock is a few round trips for
//! hundreds of updates. Locking the row first protects the items, existing or not, the counts and the order
//! with one lock. Within a collection nothing can deadlock or must be retried. Numbers become visible in
//! their order, since the row stays locked until its commit is visible.
//! **Isolation.** READ COMMITTED: every statement after the locks reads what was committed when they were
//! acquired. A snapshot of the whole transaction would be older than the locks, and would cause spurious
//! failures. Each page is read in one REPEATABLE READ transaction, so at one moment. After deadlocks (two
//! collections, one of them dropped) and serialization failures the transaction is retried, and the decisions
//! run again.
//!
//! **Databases of documents** are written in the same way, under a lock on the database's row, and a node
//! batches its commits. They share no rows of the whole store, so no other lock is needed. Writers of local
//! documents and of attachments take a shared lock (`FOR KEY SHARE`), and wait only while the database is
//! being dropped.
//!
//! **Durability.** `synchronous_commit` is switched on if the server's default is off, and a server with
//! `fsync = off` is rejected. A commit without a response yields [`StoreError::Unknown`].
//!
//! **Identity.** The identification of the database is recorded: the cluster, the database, the table, and
//! the server's timeline. If it differs when the store is opened, the store continues as a new incarnation in
//! new epochs. It differs for a restored dump, for a server that was restored to an earlier moment, and for a
//! standby that took over and may lack the last commits. A disk that was reset to a snapshot cannot be
//! detected.
//!
//! **Requirements.** Connections must be sessions: a pooler in transaction mode does not work. The tables are
//! defined in `migrations/`, in the schema `feedsync` of the database.

mod acts;
mod address;
mod announcements;
mod arrays;
mod batch;
mod blobs;
mod bridges;
mod charges;
mod check;
mod collections;
mod connections;
mod databases;
mod log_rows;
mod logs;
mod node;
mod opening;
mod password;
mod people;
mod pipeline;
mod pool;
mod queue;
mod read;
mod remotes;
mod rounds;
mod rows;
mod schema;
mod store;
mod threads;
mod transfer;
mod watch;
mod write;

use std::fmt;
use std::sync::Arc;

use crate::environment::{Environment, SystemEnvironment};
use crate::error::StoreError;
use crate::name::EndpointName;
use crate::notifier::ChangeNotifier;
use address::Address;
use announcements::Announcements;
use node::{Node, WriteWork};
use queue::Queues;
use threads::Threads;

pub use connections::Connections;
pub use schema::Migration;

/// A store in a PostgreSQL database. It has its own threads, and can be used from any executor.
pub struct PostgresStore {
    node: Arc<Node>,
    threads: Threads,
}

impl PostgresStore {
    /// Creates an endpoint in a database that has none. The address is
    /// `postgres://user:password@host:port/database`. The password is never shown. It may also be in
    /// `PGPASSWORD`, or in the file `PGPASSFILE` or `~/.pgpass`, as for libpq.
    pub async fn init(
        url: &str,
        name: &EndpointName,
        environment: Arc<dyn Environment>,
    ) -> Result<Self, StoreError> {
        let store = Self::connect(url, environment)?;
        let name = name.clone();
        store.run(|node| async move { node.found(&name).await }).await?;
        store.start();
        Ok(store)
    }

    /// Opens the store of a database.
    pub async fn open(url: &str, environment: Arc<dyn Environment>) -> Result<Self, StoreError> {
        let store = Self::connect(url, environment)?;
        store.run(|node| async move { node.open().await }).await?;
        store.start();
        Ok(store)
    }

    /// Whether a database holds a store.
    pub async fn exists(url: &str) -> Result<bool, StoreError> {
        let store = Self::connect(url, Arc::new(SystemEnvironment))?;
        store
            .run(|node| async move {
                let client = node.connection().await?;
                Ok(schema::STORE.version(&client).await?.is_some()
                    && collections::stored_identification(&client).await?.is_some())
            })
            .await
    }

    fn connect(url: &str, environment: Arc<dyn Environment>) -> Result<Self, StoreError> {
        let address = Address::parse(url)?;
        let node = Node {
            number: format!("{:016x}", SystemEnvironment.random()),
            pool: pool::pool(&address, schema::STORE.name, pool::MAX_CONNECTIONS)?,
            address,
            environment,
            notifier: ChangeNotifier::default(),
            database_notifier: ChangeNotifier::default(),
            queues: Queues::default(),
            document_queues: Queues::default(),
            announcements: Announcements::default(),
        };
        Ok(Self { node: Arc::new(node), threads: Threads::start()? })
    }

    fn start(&self) {
        self.threads.spawn(watch::announce(Arc::clone(&self.node)));
        self.threads.spawn(watch::watch(Arc::clone(&self.node)));
    }

    async fn run<T, F>(&self, work: impl FnOnce(Arc<Node>) -> F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, StoreError>> + Send + 'static,
    {
        self.threads.run(work(Arc::clone(&self.node))).await
    }

    /// Runs a write in its own transaction, and commits it.
    async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: WriteWork<T>,
    {
        self.run(|node| async move { node.write(work).await }).await
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresStore({})", self.node.address)
    }
}
