//! Reading the items of a collection: single ones, pages in several orders, and notices of changes.

use std::num::NonZeroUsize;

use feedsync_core::ItemId;
use feedsync_store::{
    ChangeNumber, ChangePage, CollectionName, Discarded, ItemPage, Notices, PageLimit, Selection,
    StoreError, StoredItem,
};

use crate::endpoint::Endpoint;
use crate::error::EndpointError;

impl Endpoint {
    /// Returns an item, or an error that names it if the collection does not have it.
    pub async fn item(
        &self,
        collection: &CollectionName,
        id: &ItemId,
    ) -> Result<StoredItem, EndpointError> {
        let found = self.store.item(collection, id).await?;
        found
            .ok_or_else(|| EndpointError::NoItem { collection: collection.clone(), id: id.clone() })
    }

    /// Returns an item, if the collection has it.
    pub async fn find_item(
        &self,
        collection: &CollectionName,
        id: &ItemId,
    ) -> Result<Option<StoredItem>, StoreError> {
        self.store.item(collection, id).await
    }

    /// Returns those of the items that the collection has, each once, by id.
    pub async fn items(
        &self,
        collection: &CollectionName,
        ids: &[ItemId],
    ) -> Result<Vec<StoredItem>, StoreError> {
        self.store.items(collection, ids).await
    }

    /// Returns a page of all items, tombstones included, by id, after an id or from the first on.
    pub async fn items_by_id(
        &self,
        collection: &CollectionName,
        after: Option<&ItemId>,
        limit: PageLimit,
    ) -> Result<ItemPage, StoreError> {
        self.store.items_by_id(collection, after, limit).await
    }

    /// Returns the id at which a page begins that ends before an id: the one that precedes it by a number of
    /// positions. Counts from the end if no id is given; `None` if there are fewer positions.
    pub async fn id_before(
        &self,
        collection: &CollectionName,
        before: Option<&ItemId>,
        positions: NonZeroUsize,
    ) -> Result<Option<ItemId>, StoreError> {
        self.store.id_before(collection, before, positions).await
    }

    /// Returns a page of selected items, newest change first.
    pub async fn listing(
        &self,
        collection: &CollectionName,
        selection: &Selection,
        limit: PageLimit,
    ) -> Result<ItemPage, StoreError> {
        self.store.listing(collection, selection, limit).await
    }

    /// Returns a page of the items whose last change is after a number, and at or before a bound if there is
    /// one, oldest change first.
    pub async fn changes(
        &self,
        collection: &CollectionName,
        after: ChangeNumber,
        up_to: Option<ChangeNumber>,
        limit: PageLimit,
    ) -> Result<ChangePage, StoreError> {
        self.store.changes(collection, after, up_to, limit).await
    }

    /// Subscribes to notices of changes of a collection, by this or another process.
    pub fn subscribe(&self, collection: &CollectionName) -> Notices {
        self.store.subscribe(collection)
    }

    /// Returns the discarded items of a collection that can be recovered, oldest first.
    pub async fn discarded(
        &self,
        collection: &CollectionName,
    ) -> Result<Vec<Discarded>, StoreError> {
        self.store.discarded(collection).await
    }
}
