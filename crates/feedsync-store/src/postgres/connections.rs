//! Connections to a schema of its own, for data beside those of a store.

use std::fmt;
use std::sync::Arc;

use deadpool_postgres::{Pool, Transaction};
use futures_util::future::BoxFuture;

use super::address::Address;
use super::pool;
use super::schema::{self, Migration, Schema};
use super::threads::Threads;
use crate::error::StoreError;

/// Maximum number of connections. Their work is short, and a node has connections of a store besides.
const MAX_CONNECTIONS: usize = 6;

/// Connections of a process to one schema of a database. It has its own threads, and can be used from any executor. Work
/// runs to its end, even if its caller drops the future.
pub struct Connections {
    shared: Arc<Shared>,
    threads: Threads,
}

struct Shared {
    address: Address,
    pool: Pool,
    schema: Schema<'static>,
}

impl Connections {
    /// Connects to a database, and creates or migrates the schema of this name. The address is that of
    /// [`PostgresStore::init`](crate::PostgresStore::init).
    pub async fn open(
        url: &str,
        name: &'static str,
        migrations: &'static [Migration],
    ) -> Result<Self, StoreError> {
        let address = Address::parse(url)?;
        let pool = pool::pool(&address, name, MAX_CONNECTIONS)?;
        let schema = Schema { name, migrations };
        let shared = Arc::new(Shared { address, pool, schema });
        let connections = Self { shared: Arc::clone(&shared), threads: Threads::start()? };
        connections.threads.run(async move { shared.migrate().await }).await?;
        Ok(connections)
    }

    /// Runs work that reads one snapshot.
    pub async fn read<T, E, W>(&self, work: W) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        W: for<'a> FnOnce(&'a Transaction<'a>) -> BoxFuture<'a, Result<T, E>> + Send + 'static,
    {
        let shared = Arc::clone(&self.shared);
        let read = async move {
            let mut client = pool::connection(&shared.pool).await?;
            let transaction = pool::snapshot(&mut client).await?;
            work(&transaction).await
        };
        self.threads.run(read).await
    }

    /// Runs work in a transaction, and commits it. If the work fails, nothing is written. Each statement sees what was
    /// committed when it begins.
    pub async fn write<T, E, W>(&self, work: W) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        W: for<'a> FnOnce(&'a Transaction<'a>) -> BoxFuture<'a, Result<T, E>> + Send + 'static,
    {
        let shared = Arc::clone(&self.shared);
        let write = async move {
            let mut client = pool::connection(&shared.pool).await?;
            let transaction = shared.schema.writing(&mut client, &shared.address).await?;
            let value = work(&transaction).await?;
            pool::commit(transaction).await?;
            Ok(value)
        };
        self.threads.run(write).await
    }
}

impl Shared {
    async fn migrate(&self) -> Result<(), StoreError> {
        let mut client = pool::connection(&self.pool).await?;
        let version = self.schema.version(&client).await?;
        if version.is_none_or(|(version, _)| version != self.schema.known()) {
            let transaction = schema::setup_transaction(&mut client).await?;
            self.schema.migrate(&transaction, &self.address).await?;
            pool::commit(transaction).await?;
        }
        Ok(())
    }
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Connections({}, {})", self.shared.address, self.shared.schema.name)
    }
}
