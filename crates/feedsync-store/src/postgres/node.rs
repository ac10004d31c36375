//! The state that the threads of a store share, and write transactions on its connections.

use std::sync::Arc;

use deadpool_postgres::{Client, Pool, Transaction};
use feedsync_couch::DatabaseName;
use futures_util::future::BoxFuture;

use super::address::Address;
use super::announcements::Announcements;
use super::databases::task::DocumentTask;
use super::queue::{Queues, Task};
use super::{pool, schema};
use crate::environment::Environment;
use crate::error::StoreError;
use crate::name::CollectionName;
use crate::notifier::ChangeNotifier;

/// The work of a write transaction.
pub(super) trait WriteWork<T>:
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
pub(super) struct Node {
    pub(super) address: Address,
    /// Distinguishes the nodes that currently have the store open.
    pub(super) number: String,
    pub(super) pool: Pool,
    pub(super) environment: Arc<dyn Environment>,
    pub(super) notifier: ChangeNotifier<CollectionName>,
    pub(super) database_notifier: ChangeNotifier<DatabaseName>,
    pub(super) queues: Queues<CollectionName, Task>,
    pub(super) document_queues: Queues<DatabaseName, DocumentTask>,
    pub(super) announcements: Announcements,
}

impl Node {
    /// Runs a write in its own transaction, and commits it.
    pub(super) async fn write<T>(&self, work: impl WriteWork<T>) -> Result<T, StoreError> {
        let mut client = self.connection().await?;
        let transaction = schema::STORE.writing(&mut client, &self.address).await?;
        let value = work(&transaction, self).await?;
        pool::commit(transaction).await?;
        Ok(value)
    }

    pub(super) async fn connection(&self) -> Result<Client, StoreError> {
        pool::connection(&self.pool).await
    }

    /// Notifies subscribers of this and other nodes that a collection was changed.
    pub(super) fn changed(&self, name: &CollectionName) {
        self.notifier.notify_subscribers(name);
        self.announcements.add(name);
    }

    /// Notifies subscribers of this and other nodes that a database was changed or removed.
    pub(super) fn database_changed(&self, name: &DatabaseName) {
        self.database_notifier.notify_subscribers(name);
        self.announcements.add_database(name);
    }

    /// The error of a database that cannot be used.
    pub(super) fn wrong(&self, reason: &'static str) -> StoreError {
        StoreError::Place { path: self.address.path(), reason }
    }
}
