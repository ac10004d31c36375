//! Replication of a collection with a database of CouchDB's protocol.

use std::future::pending;
use std::sync::Arc;

use feedsync_client::replicate::{
    RemoteDatabase, Replica as Side, Replicated as OneWay, Replication, ReplicationError,
    ReplicationProgress, RetryPolicy, StoredDatabase,
};
use feedsync_couch::replication::RejectedDocument;
use feedsync_endpoint::bridge::{BridgeError, BridgeReport};
use feedsync_endpoint::documents::DocumentsError;

use crate::collection::Collection;
use crate::error::Error;
use crate::report::RefusedItem;
use crate::sync::{fetch_error, remote_address};

/// Effects of a replication.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replicated {
    /// Number of documents that were written here.
    pub received: u64,
    /// Number of documents that were written there.
    pub sent: u64,
    /// Documents and items that one side refused, at most some thousand; the others were taken.
    pub refused: Vec<RefusedItem>,
}

impl<T> Collection<T> {
    /// Replicates the collection, in both directions, with a database of CouchDB, PouchDB or a hub, such as
    /// `https://couch.example/todo` or `https://hub.example/couch/todo`. The database is created if it does not exist.
    ///
    /// Each item is a document, with its conflicts. The replica stores how far it is; an interrupted replication
    /// continues. A server that is away is tried six times within about eight seconds.
    ///
    /// # Errors
    ///
    /// Those of [`sync`](Self::sync), with the address of a database.
    pub async fn replicate(&self, url: &str) -> Result<Replicated, Error> {
        let (url, fetcher) = (remote_address(url)?, self.replica().connections.fetcher());
        let fetcher = fetcher.map_err(fetch_error)?;
        let remote = RemoteDatabase::new(fetcher, url.as_str(), RetryPolicy::BOUNDED);
        let remote = remote.map_err(fetch_error)?;
        let remote: Arc<dyn Side> = Arc::new(remote);
        let bridge = self.endpoint().open_as_database(self.stored_name()).await;
        let bridge = bridge.map_err(bridge_error)?;
        let local = StoredDatabase::new(self.endpoint().clone(), bridge.database.clone());
        let local: Arc<dyn Side> = Arc::new(local);

        let mut report = Replicated::default();
        let carry = || self.endpoint().synchronize_bridge(&bridge);
        report.left(carry().await.map_err(bridge_error)?);
        let sent = self.one_way(&local, &remote).await?;
        let received = self.one_way(&remote, &local).await?;
        report.left(carry().await.map_err(bridge_error)?);
        report.sent = sent.stats.written;
        report.received = received.stats.written;
        report.refuse(sent, true);
        report.refuse(received, false);
        Ok(report)
    }

    async fn one_way(
        &self,
        source: &Arc<dyn Side>,
        target: &Arc<dyn Side>,
    ) -> Result<OneWay, Error> {
        let replication = Replication { creates_target: true, ..Replication::default() };
        let environment = Arc::clone(self.endpoint().environment());
        let (source, target) = (Arc::clone(source), Arc::clone(target));
        let done = replication.run(source, target, environment, &Silent, pending()).await;
        done.map_err(|error| match error {
            ReplicationError::Fetch(error) => fetch_error(error),
            ReplicationError::Store(error) => error.into(),
            error => Error::Remote(Box::new(error)),
        })
    }
}

impl Replicated {
    fn refuse(&mut self, way: OneWay, by_remote: bool) {
        let refused = way.refused.into_iter().map(|refused| RefusedItem {
            id: Some(refused.id.to_string()),
            by_remote,
            reason: refused.reason.to_string(),
        });
        self.refused.extend(refused);
    }

    fn left(&mut self, carried: BridgeReport) {
        let left = carried.left.into_iter().map(|left| RefusedItem {
            id: Some(left.id),
            by_remote: false,
            reason: left.why,
        });
        self.refused.extend(left);
    }
}

fn bridge_error(error: BridgeError) -> Error {
    match error {
        BridgeError::Endpoint(error) => error.into(),
        BridgeError::Documents(DocumentsError::Store(error)) => error.into(),
        BridgeError::Documents(error @ DocumentsError::Refused(_)) => {
            Error::Device(Box::new(error))
        }
    }
}

/// Progress that nobody sees.
struct Silent;

impl ReplicationProgress for Silent {
    fn begins(&self, _is_resumed: bool) {}

    fn examined(&self, _documents: u64, _pending: Option<u64>) {}

    fn refused(&self, _refused: &RejectedDocument) {}

    fn replicated(&self, _documents: u64) {}
}

#[cfg(test)]
mod tests {
    use feedsync_store::StoreError;

    use super::*;

    #[test]
    fn failure_of_the_local_database_is_not_that_of_the_remote() {
        let full = bridge_error(BridgeError::Documents(DocumentsError::Store(StoreError::Full)));
        assert!(matches!(full, Error::Store(StoreError::Full)), "{full:?}");
    }
}
