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

/// One life of one store, and what can be done with it. Cheap to clone.
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
    /// The endpoint of a store, with a clock and a source of random numbers.
    pub fn new(store: Arc<dyn Store>, environment: Arc<dyn Environment>) -> Self {
        Self { store, environment, actor: None, most: None, growth: None }
    }

    /// The store underneath: for reading, and for what is no operation on items.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The clock and the source of random numbers.
    pub fn environment(&self) -> &Arc<dyn Environment> {
        &self.environment
    }

    /// Who this endpoint is.
    pub async fn identity(&self) -> Result<Identity, StoreError> {
        self.store.identity().await
    }

    /// A collection; an error that names it if it does not exist.
    pub async fn collection(&self, name: &CollectionName) -> Result<Collection, EndpointError> {
        let found = self.store.collection(name).await?;
        Ok(found.ok_or_else(|| StoreError::NoCollection(name.clone()))?)
    }

    /// An item; an error that names it if the collection does not have it.
    pub async fn item(
        &self,
        collection: &CollectionName,
        id: &ItemId,
    ) -> Result<StoredItem, EndpointError> {
        let found = self.store.item(collection, id).await?;
        found
            .ok_or_else(|| EndpointError::NoItem { collection: collection.clone(), id: id.clone() })
    }

    /// A new item id: a random UUID.
    pub fn new_id(&self) -> ItemId {
        ItemId::new(&self.environment.uuid())
            .unwrap_or_else(|_| unreachable!("a UUID is an identifier"))
    }
}

/// Blobs that an item's versions name, each once, for the store.
pub(crate) fn blobs_of(item: &Item<Payload>) -> Vec<Digest> {
    let named = item.versions().flat_map(|version| blobs(&version.payload));
    let digests: BTreeSet<_> = named.map(|blob| Digest::from_bytes(blob.sha256)).collect();
    digests.into_iter().collect()
}

/// The payload as every endpoint stores it: without what a server owns, so that equal dots mean equal
/// payloads.
pub(crate) fn cleaned(payload: Payload) -> Payload {
    without_server_parts(&payload).unwrap_or(payload)
}

/// Maximum number of bytes of the versions of an item together, so that one item always fits into one response.
pub const MAX_ITEM_BYTES: usize = 16 << 20;

/// Shortens the histories of an item that was made or received here, and checks all of its bounds. An item that passes
/// is accepted by every peer. An item that was above a bound `before` may stay so, but not grow: it can be deleted.
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
