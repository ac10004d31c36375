//! One endpoint over one store.

use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::sync::Arc;

use feedsync_core::{Item, ItemId, Payload, Refusal, check_bounds};
use feedsync_formats::{blobs, without_server_parts};
use feedsync_store::{
    Collection, CollectionName, Digest, Environment, Identity, Store, StoreError, StoredItem,
    item_bytes,
};

use crate::actor::Actor;
use crate::error::EndpointError;

/// An endpoint over one incarnation of a store. It is cheap to clone.
#[derive(Clone)]
pub struct Endpoint {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) environment: Arc<dyn Environment>,
    pub(crate) actor: Option<Arc<Actor>>,
    /// Maximum number of live items of a collection.
    pub(crate) most: Option<NonZeroU64>,
    /// Number of bytes by which a collection may grow.
    pub(crate) growth: Option<u64>,
}

impl Endpoint {
    /// Creates the endpoint of a store, with a clock and a source of random numbers.
    pub fn new(store: Arc<dyn Store>, environment: Arc<dyn Environment>) -> Self {
        Self { store, environment, actor: None, most: None, growth: None }
    }

    /// Returns the underlying store, for reading and for operations that do not concern items.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Returns the clock and the source of random numbers.
    pub fn environment(&self) -> &Arc<dyn Environment> {
        &self.environment
    }

    /// Returns the identity of this endpoint.
    pub async fn identity(&self) -> Result<Identity, StoreError> {
        self.store.identity().await
    }

    /// Returns a collection, or an error that names it if it does not exist.
    pub async fn collection(&self, name: &CollectionName) -> Result<Collection, EndpointError> {
        let found = self.store.collection(name).await?;
        Ok(found.ok_or_else(|| StoreError::NoCollection(name.clone()))?)
    }

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

    /// Returns a new item id: a random UUID.
    pub fn new_id(&self) -> ItemId {
        ItemId::new(&self.environment.uuid())
            .unwrap_or_else(|_| unreachable!("a UUID is an identifier"))
    }
}

/// Returns the digests of the blobs that an item's versions name, each once.
pub(crate) fn blobs_of(item: &Item<Payload>) -> Vec<Digest> {
    let named = item.versions().flat_map(|version| blobs(&version.payload));
    let digests: BTreeSet<_> = named.map(|blob| Digest::from_bytes(blob.sha256)).collect();
    digests.into_iter().collect()
}

/// Returns the payload as every endpoint stores it: without the parts that a server owns. So equal dots mean
/// equal payloads.
pub(crate) fn cleaned(payload: Payload) -> Payload {
    without_server_parts(&payload).unwrap_or(payload)
}

/// Maximum number of bytes of the versions of an item together, so that one item always fits into one
/// response.
pub const MAX_ITEM_BYTES: usize = 16 << 20;

/// Shortens the histories of an item that was made or received here, and checks all of its bounds. An item
/// that passes is accepted by every peer. An item that exceeded a bound `before` may still exceed it but not
/// grow, so that it can be deleted.
pub(crate) fn bounded(
    mut item: Item<Payload>,
    before: Option<&Item<Payload>>,
) -> Result<Item<Payload>, Refusal> {
    item.shorten_histories();
    check_bounds(&item, before)?;
    let (bytes, most) = (item_bytes(&item), MAX_ITEM_BYTES);
    match bytes > most && before.is_none_or(|before| bytes > item_bytes(before)) {
        true => Err(Refusal::TooLarge { bytes, most }),
        false => Ok(item),
    }
}
