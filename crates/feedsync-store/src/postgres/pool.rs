//! Connections: a bounded pool, and how a session is set up.

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

/// At most so many connections a node, beside the one that listens.
const CONNECTIONS: usize = 16;

/// Who finds them all busy waits so long.
const WAIT: Duration = Duration::from_secs(10);

/// What each session is set to. No statement runs long: pages are short, and who waits for a lock
/// waits for commits of others. Every statement is made for an index, also before the server has
/// counted what is in a table, and is too short to be compiled first. A server that is set not to wait
/// for its disk is asked to.
pub(super) const SESSION: &str = "
    SET search_path = feedsync;
    SET statement_timeout = '30s';
    SET lock_timeout = '10s';
    SET idle_in_transaction_session_timeout = '60s';
    SET jit = off;
    SET enable_seqscan = off;
    SET enable_bitmapscan = off;
    SELECT set_config('synchronous_commit', 'on', false)
     WHERE current_setting('synchronous_commit') = 'off'";

/// A pool that connects when it is asked to.
pub(super) fn pool(address: &Address) -> Result<Pool, StoreError> {
    let settings = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = Manager::from_config(address.config.clone(), address.tls.clone(), settings);
    let set_up = Hook::async_fn(|client: &mut deadpool_postgres::ClientWrapper, _| {
        Box::pin(async move { client.batch_execute(SESSION).await.map_err(HookError::Backend) })
    });
    Pool::builder(manager)
        .max_size(CONNECTIONS)
        .wait_timeout(Some(WAIT))
        .create_timeout(Some(WAIT))
        .recycle_timeout(Some(WAIT))
        .runtime(Runtime::Tokio1)
        .post_create(set_up)
        .build()
        .map_err(|error| StoreError::Database(Box::new(error)))
}

/// A connection that works, as far as is known.
pub(super) async fn connection(pool: &Pool) -> Result<Client, StoreError> {
    pool.get().await.map_err(|error| match error {
        PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
            error.into()
        }
        error => StoreError::Database(Box::new(error)),
    })
}

/// Reads of one moment. It is ended by dropping it, which waits for nothing.
pub(super) async fn snapshot(client: &mut Client) -> Result<Transaction<'_>, StoreError> {
    let begin = client.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
    Ok(begin.read_only(true).start().await?)
}

/// Reads and writes, each statement on what is committed when it begins.
pub(super) async fn transaction(client: &mut Client) -> Result<Transaction<'_>, StoreError> {
    Ok(client.build_transaction().isolation_level(IsolationLevel::ReadCommitted).start().await?)
}

/// Commits. That a server refused to is known; what became of a commit that nobody answered is not.
pub(super) async fn commit(transaction: Transaction<'_>) -> Result<(), StoreError> {
    transaction.commit().await.map_err(|error| {
        let severity = error.as_db_error().and_then(DbError::parsed_severity);
        let refused = severity == Some(Severity::Error);
        if refused { error.into() } else { StoreError::Unknown(described(&error)) }
    })
}

/// An error with all that its sources say.
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

/// What the database said, in one line; kept whole, so that it can be asked what it was.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", described(&*self.0))]
pub(super) struct Failure(pub(super) Arc<Error>);

/// What PostgreSQL says of an error of ours.
pub(super) fn failure(error: &StoreError) -> Option<&Failure> {
    match error {
        StoreError::Database(error) => error.downcast_ref(),
        _ => None,
    }
}
