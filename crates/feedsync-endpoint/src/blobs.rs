//! The content of media that items name by its digest.

use feedsync_core::ItemId;
use feedsync_store::{CollectionName, Digest, Moment, StoreError};

use crate::endpoint::Endpoint;

impl Endpoint {
    /// Stores a blob under its digest. A blob that no item names within a day may be swept; putting it again
    /// restarts the day.
    pub async fn put_blob(&self, bytes: Vec<u8>) -> Result<Digest, StoreError> {
        self.store.put_blob(bytes).await
    }

    /// Returns a blob, if it is stored.
    pub async fn blob(&self, digest: Digest) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.blob(digest).await
    }

    /// Returns those of the blobs that are not stored, ascending. For the stored ones the day in which an item
    /// has to name them begins again.
    pub async fn missing_blobs(&self, digests: &[Digest]) -> Result<Vec<Digest>, StoreError> {
        self.store.missing_blobs(digests).await
    }

    /// Returns blobs that items of a collection name and that are not stored, ascending from a digest on, up
    /// to a maximum number.
    pub async fn lost_blobs(
        &self,
        collection: &CollectionName,
        from: Digest,
        most: usize,
    ) -> Result<Vec<Digest>, StoreError> {
        self.store.lost_blobs(collection, from, most).await
    }

    /// Returns the collections and items that name a blob, by name and id.
    pub async fn blob_named_by(
        &self,
        digest: Digest,
    ) -> Result<Vec<(CollectionName, ItemId)>, StoreError> {
        self.store.blob_named_by(digest).await
    }

    /// Removes blobs that were stored before a moment and that no item or discarded item names; returns their
    /// number.
    pub async fn sweep_blobs(&self, stored_before: Moment) -> Result<u64, StoreError> {
        self.store.sweep_blobs(stored_before).await
    }
}
