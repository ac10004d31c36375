//! Connection pool and settings of a session.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{
    Client, Hook, HookError, Manager, ManagerConfig, Pool, PoolError, RecyclingMethod, Runtime,
    Transaction,
};
use tokio_postgres::error::{DbError, Severity, SqlState};
use tokio_postgres::{Error, IsolationLevel};

use super::address::Address;
use crate::error::StoreError;

/// Maximum number of connections of a store, besides the one that listens.
pub(super) const MAX_CONNECTIONS: usize = 16;

/// Maximum time to wait for a free connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(10);

/// Settings of each session. No statement runs long: pages are short, and a lock is held only until the
/// commit of another transaction. Plans always use indexes, even if the server has no statistics of a table,
/// and queries are too short to profit from JIT compilation. `synchronous_commit` is switched on if the
/// server's default is off.
const SESSION: &str = "
    SET statement_timeout = '30s';
    SET lock_timeout = '10s';
    SET idle_in_transaction_session_timeout = '60s';
    SET jit = off;
    SET enable_seqscan = off;
    SET enable_bitmapscan = off;
    SELECT set_config('synchronous_commit', 'on', false)
     WHERE current_setting('synchronous_commit') = 'off'";

/// The statements that set up a session whose tables are in this schema.
pub(super) fn session(schema: &str) -> String {
    format!("SET search_path = {schema};{SESSION}")
}

/// A pool of at most this many connections, which connects on demand.
pub(super) fn pool(address: &Address, schema: &str, most: usize) -> Result<Pool, StoreError> {
    let settings = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = Manager::from_config(address.config.clone(), address.tls.clone(), settings);
    let session = session(schema);
    let set_up = Hook::async_fn(move |client: &mut deadpool_postgres::ClientWrapper, _| {
        let session = session.clone();
        Box::pin(async move { client.batch_execute(&session).await.map_err(HookError::Backend) })
    });
    Pool::builder(manager)
        .max_size(most)
        .wait_timeout(Some(CONNECTION_TIMEOUT))
        .create_timeout(Some(CONNECTION_TIMEOUT))
        .recycle_timeout(Some(CONNECTION_TIMEOUT))
        .runtime(Runtime::Tokio1)
        .post_create(set_up)
        .build()
        .map_err(|error| StoreError::Database(Box::new(error)))
}

/// A connection from the pool, without a check that it still works.
pub(super) async fn connection(pool: &Pool) -> Result<Client, StoreError> {
    pool.get().await.map_err(|error| match error {
        PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
            error.into()
        }
        error => StoreError::Database(Box::new(error)),
    })
}

/// Begins a transaction that reads a snapshot. Dropping it ends it without waiting.
pub(super) async fn snapshot(client: &mut Client) -> Result<Transaction<'_>, StoreError> {
    let begin = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
    Ok(begin.read_only(true).start().await?)
}

/// Begins a transaction in which each statement sees what is committed when the statement begins.
pub(super) async fn transaction(client: &mut Client) -> Result<Transaction<'_>, StoreError> {
    Ok(client.build_transaction().isolation_level(IsolationLevel::ReadCommitted).start().await?)
}

/// Commits. If the server rejected the commit, nothing was written; if there was no response, the outcome is
/// unknown.
pub(super) async fn commit(transaction: Transaction<'_>) -> Result<(), StoreError> {
    transaction.commit().await.map_err(|error| {
        let severity = error.as_db_error().and_then(DbError::parsed_severity);
        let refused = severity == Some(Severity::Error);
        if refused { error.into() } else { StoreError::Unknown(described(&error)) }
    })
}

/// Text of an error with all its sources.
pub(super) fn described(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let said = cause.to_string();
        if !text.contains(&said) {
            text.push_str(": ");
            text.push_str(&said);
        }
        source = cause.source();
    }
    text
}

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        match error.code() {
            Some(&SqlState::DISK_FULL) => Self::Full,
            _ => Self::Database(Box::new(Failure(Arc::new(error)))),
        }
    }
}

/// An error of the database as one line of text, with the error itself for later inspection.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", described(&*self.0))]
pub(super) struct Failure(pub(super) Arc<Error>);

/// The PostgreSQL error within a store error.
pub(super) fn failure(error: &StoreError) -> Option<&Failure> {
    match error {
        StoreError::Database(error) => error.downcast_ref(),
        _ => None,
    }
}
