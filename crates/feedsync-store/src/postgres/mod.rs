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
mod arrays;
mod batch;
mod blobs;
mod bridges;
mod charges;
mod check;
mod collections;
mod databases;
mod log_rows;
mod logs;
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

use deadpool_postgres::{Client, Pool, Transaction};
use feedsync_couch::DatabaseName;
use futures_util::future::BoxFuture;

use crate::environment::{Environment, SystemEnvironment};
use crate::error::StoreError;
use crate::name::{CollectionName, EndpointName};
use crate::notifier::ChangeNotifier;
use address::Address;
use databases::batch::DocumentTask;
use queue::{Queues, Task};
use threads::Threads;
use watch::Announcements;

/// A store in a PostgreSQL database. It has its own threads, and can be used from any executor.
pub struct PostgresStore {
    node: Arc<Node>,
    threads: Threads,
}

/// The work of a write transaction.
trait WriteWork<T>:
    for<'a> FnOnce(&'a Transaction<'a>, &'a Node) -> BoxFuture<'a, Result<T, StoreError>>
    + Send
    + 'static
{
}

impl<T, F> WriteWork<T> for F where
    F: for<'a> FnOnce(&'a Transaction<'a>, &'a Node) -> BoxFuture<'a, Result<T, StoreError>>
        + Send
        + 'static
{
}

/// State that the threads share.
struct Node {
    address: Address,
    /// Distinguishes the nodes that currently have the store open.
    number: String,
    pool: Pool,
    environment: Arc<dyn Environment>,
    notifier: ChangeNotifier<CollectionName>,
    database_notifier: ChangeNotifier<DatabaseName>,
    queues: Queues<CollectionName, Task>,
    document_queues: Queues<DatabaseName, DocumentTask>,
    announcements: Announcements,
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
                Ok(schema::version(&client).await?.is_some()
                    && collections::stored_identification(&client).await?.is_some())
            })
            .await
    }

    fn connect(url: &str, environment: Arc<dyn Environment>) -> Result<Self, StoreError> {
        let address = Address::parse(url)?;
        let node = Node {
            number: format!("{:016x}", SystemEnvironment.random()),
            pool: pool::pool(&address)?,
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

impl Node {
    async fn write<T>(&self, work: impl WriteWork<T>) -> Result<T, StoreError> {
        let mut client = self.connection().await?;
        let transaction = schema::writing(&mut client, &self.address).await?;
        let value = work(&transaction, self).await?;
        pool::commit(transaction).await?;
        Ok(value)
    }

    async fn connection(&self) -> Result<Client, StoreError> {
        pool::connection(&self.pool).await
    }

    /// Notifies subscribers of this and other nodes that a collection was changed.
    fn changed(&self, name: &CollectionName) {
        self.notifier.notify_subscribers(name);
        self.announcements.add(name);
    }

    /// Notifies subscribers of this and other nodes that a database was changed or removed.
    fn database_changed(&self, name: &DatabaseName) {
        self.database_notifier.notify_subscribers(name);
        self.announcements.add_database(name);
    }

    async fn found(&self, name: &EndpointName) -> Result<(), StoreError> {
        let mut client = self.connection().await?;
        self.check_server(&client).await?;
        let transaction = schema::setup_transaction(&mut client).await?;
        schema::migrate(&transaction, &self.address, schema::MIGRATIONS).await?;
        if collections::stored_identification(&transaction).await?.is_some() {
            return Err(self.wrong("there is already a store"));
        }
        collections::found(&transaction, name, &*self.environment).await?;
        pool::commit(transaction).await
    }

    async fn open(&self) -> Result<(), StoreError> {
        let mut client = self.connection().await?;
        self.check_server(&client).await?;
        let Some((version, _)) = schema::version(&client).await? else {
            return Err(self.wrong("there is no store here"));
        };
        // An older schema is migrated; a newer one may be too new.
        if version != schema::MIGRATIONS.len() as i64 {
            let transaction = schema::setup_transaction(&mut client).await?;
            schema::migrate(&transaction, &self.address, schema::MIGRATIONS).await?;
            pool::commit(transaction).await?;
        }
        match collections::is_finished(&client).await? {
            Some(true) => self.settle(&mut client).await,
            Some(false) => Err(StoreError::Unfinished { path: self.address.path() }),
            None => Err(self.wrong("there is no store here")),
        }
    }

    /// Continues as a new incarnation if the database's identification has changed.
    async fn settle(&self, client: &mut Client) -> Result<(), StoreError> {
        let identification = collections::identification(client).await?;
        if collections::stored_identification(client).await?.as_ref() == Some(&identification) {
            return Ok(());
        }
        let transaction = schema::setup_transaction(client).await?;
        // Another node may have done this already.
        if collections::stored_identification(&transaction).await?.as_ref() != Some(&identification)
        {
            collections::settle(&transaction, &identification, &*self.environment).await?;
        }
        pool::commit(transaction).await
    }

    /// Rejects a server that does not preserve acknowledged writes, or not exactly as they were sent.
    async fn check_server(&self, client: &Client) -> Result<(), StoreError> {
        let sql = "SELECT current_setting('fsync'), current_setting('server_encoding')";
        let row = client.query_one(sql, &[]).await?;
        let (fsync, encoding): (&str, &str) = (rows::get(&row, 0)?, rows::get(&row, 1)?);
        match (fsync, encoding) {
            ("on", "UTF8") => Ok(()),
            ("on", _) => Err(self.wrong("the database's encoding must be UTF8")),
            _ => {
                Err(self.wrong("the server runs with fsync = off and would lose what it confirms"))
            }
        }
    }

    fn wrong(&self, reason: &'static str) -> StoreError {
        StoreError::Place { path: self.address.path(), reason }
    }
}
