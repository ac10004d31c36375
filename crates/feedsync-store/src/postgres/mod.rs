//! A store in a PostgreSQL database, for a hub of several processes (nodes): they share it, and hold
//! no state of their own.
//!
//! **Order and atomicity.** The row of a collection is the lock under which the collection changes.
//! Each node has one commit under way for a collection; what is asked for meanwhile waits, and goes
//! into the next one together. A commit is one transaction:
//!
//! 1. the collection's row is locked (`FOR NO KEY UPDATE`), then the items that the updates name, by
//!    advisory locks on a hash of their ids in ascending order, also where there is no such item yet.
//!    The ledger is kept by item over the whole store, and so these are what two collections with one
//!    item wait for;
//! 2. what the updates name is read, with one statement a table;
//! 3. the decisions are asked in memory, each on what those before it left. One that fails leaves
//!    nothing, as if rolled back to a savepoint;
//! 4. what they come to is written, with one statement a table, the collection's row with its last
//!    number among it, and committed.
//!
//! The row is locked first, though it would be enough to lock it last, before the number is taken. But
//! until the commit is on the disk nobody else could take a number anyway, and what a node does under
//! the lock apart from that wait is a few round trips for hundreds of updates. Locked first, one lock
//! guards the items, those that are not there, the counts and the order alike, and within a collection
//! nothing can deadlock or has to be repeated. Numbers become visible in their order since the row is
//! locked until its commit is visible.
//!
//! **Isolation.** READ COMMITTED: every statement after the locks reads what was committed when they
//! were had; a transaction-wide snapshot would be older than the locks, and fail where nothing is
//! wrong. Each page that is read is one REPEATABLE READ transaction, so of one moment. Deadlocks (two
//! collections, one of them dropped) and serialisation failures are tried again, with the decisions
//! asked again.
//!
//! **Databases of documents** are written in the same way, under the row of the database, with commits of a
//! node together. Nothing of them is kept over the whole store, and so that row is all that is locked. Who
//! writes a local document or an attachment shares it with the others (`FOR KEY SHARE`), and waits only for
//! who drops the database.
//!
//! **Durability.** `synchronous_commit` is switched on where the server's default is off, and a server
//! with `fsync = off` is refused. A commit whose answer never came is [`StoreError::Unknown`].
//!
//! **Identity.** The place of the database is recorded: the cluster, the database, the table, the
//! server's timeline. If a store is found at another place (a restored dump, a server put back to an
//! earlier moment, a standby that took over and may lack the last commits), it goes on as a new
//! incarnation in new epochs. A disk put back to a snapshot cannot be told from the state that was left.
//!
//! **Beside it.** Connections must be sessions: a pooler in transaction mode will not do. The tables
//! are drawn in `migrations/`, in the database's schema `feedsync`.

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

use crate::bell::Bell;
use crate::environment::{Environment, SystemEnvironment};
use crate::error::StoreError;
use crate::name::{CollectionName, EndpointName};
use address::Address;
use databases::batch::DocumentTask;
use queue::{Queues, Task};
use threads::Threads;
use watch::Announcements;

/// A store in a database. It has threads of its own, and is used from any executor.
pub struct PostgresStore {
    node: Arc<Node>,
    threads: Threads,
}

/// What is written in one transaction.
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

/// What the threads share.
struct Node {
    address: Address,
    /// Tells the nodes apart that have the store open now.
    number: String,
    pool: Pool,
    environment: Arc<dyn Environment>,
    bell: Bell<CollectionName>,
    database_bell: Bell<DatabaseName>,
    queues: Queues<CollectionName, Task>,
    document_queues: Queues<DatabaseName, DocumentTask>,
    announcements: Announcements,
}

impl PostgresStore {
    /// Makes a new endpoint in a database that has none. The address is
    /// `postgres://user:password@host:port/database`; the password is never shown, and may stand where
    /// libpq looks for it: in `PGPASSWORD`, or in the file `PGPASSFILE` or `~/.pgpass`.
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
                    && collections::known_place(&client).await?.is_some())
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
            bell: Bell::default(),
            database_bell: Bell::default(),
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

    /// Runs a write in a transaction of its own, and commits it.
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

    /// A collection was changed here: who follows it is told, here and elsewhere.
    fn changed(&self, name: &CollectionName) {
        self.bell.ring(name);
        self.announcements.add(name);
    }

    /// A database was changed here, or went.
    fn database_changed(&self, name: &DatabaseName) {
        self.database_bell.ring(name);
        self.announcements.add_database(name);
    }

    async fn found(&self, name: &EndpointName) -> Result<(), StoreError> {
        let mut client = self.connection().await?;
        self.check_server(&client).await?;
        let transaction = schema::founding(&mut client).await?;
        schema::migrate(&transaction, &self.address, schema::MIGRATIONS).await?;
        if collections::known_place(&transaction).await?.is_some() {
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
        // An older schema is brought up to date; a newer one may be too new.
        if version != schema::MIGRATIONS.len() as i64 {
            let transaction = schema::founding(&mut client).await?;
            schema::migrate(&transaction, &self.address, schema::MIGRATIONS).await?;
            pool::commit(transaction).await?;
        }
        match collections::is_finished(&client).await? {
            Some(true) => self.settle(&mut client).await,
            Some(false) => Err(StoreError::Unfinished { path: self.address.path() }),
            None => Err(self.wrong("there is no store here")),
        }
    }

    /// Goes on as a new incarnation if the database is not where it was.
    async fn settle(&self, client: &mut Client) -> Result<(), StoreError> {
        let place = collections::place(client).await?;
        if collections::known_place(client).await?.as_ref() == Some(&place) {
            return Ok(());
        }
        let transaction = schema::founding(client).await?;
        // Another node may have been quicker.
        if collections::known_place(&transaction).await?.as_ref() != Some(&place) {
            collections::settle(&transaction, &place, &*self.environment).await?;
        }
        pool::commit(transaction).await
    }

    /// Refuses a server that cannot keep what it acknowledges, or not as it was given.
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
