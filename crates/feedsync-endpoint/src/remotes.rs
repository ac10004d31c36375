//! The remotes of collections: other endpoints' feeds that are read, and sent changes to.

use feedsync_store::{CollectionName, Moment, NewRemote, Remote, RemoteId, StoreError};

use crate::endpoint::Endpoint;

impl Endpoint {
    /// Returns the remotes of one collection or of all, in the order in which they were added.
    pub async fn remotes(
        &self,
        collection: Option<&CollectionName>,
    ) -> Result<Vec<Remote>, StoreError> {
        self.store.remotes(collection).await
    }

    /// Adds a remote.
    pub async fn add_remote(&self, new: NewRemote) -> Result<Remote, StoreError> {
        self.store.add_remote(new).await
    }

    /// Changes a remote's name, address, state and subscription; its id and collection stay.
    pub async fn change_remote(&self, remote: Remote) -> Result<(), StoreError> {
        self.store.change_remote(remote).await
    }

    /// Removes a remote. The items that came from it stay.
    pub async fn remove_remote(&self, id: RemoteId) -> Result<(), StoreError> {
        self.store.remove_remote(id).await
    }

    /// Moves the moment at which a subscription is due, if it still has the expected value; returns whether
    /// it did. Of several concurrent callers with the same expected value, one succeeds and may read it.
    pub async fn reschedule(
        &self,
        id: RemoteId,
        expected: Option<Moment>,
        due: Moment,
    ) -> Result<bool, StoreError> {
        self.store.reschedule(id, expected, due).await
    }
}
