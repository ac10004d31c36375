//! Methods of a store of items that have type parameters.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use feedsync_core::ItemId;

use crate::collection::{Alteration, AlterationDecision, Collection};
use crate::decision::{Snapshot, Write};
use crate::error::StoreError;
use crate::item_store::ItemStore;
use crate::name::CollectionName;

/// Decisions with a result, on any [`ItemStore`].
#[async_trait]
pub trait ItemStoreExt: ItemStore {
    /// [`ItemStore::update`] with a result of the decision. Returns the result of the call that was applied, and
    /// the resulting collection.
    async fn decide<T, F>(
        &self,
        collection: &CollectionName,
        keys: Vec<ItemId>,
        mut decide: F,
    ) -> Result<(Collection, T), StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Snapshot) -> (Vec<Write>, T) + Send + 'static,
    {
        let slot = Arc::new(Mutex::new(None));
        let value = Arc::clone(&slot);
        let decide = move |snapshot: &Snapshot| {
            let (writes, outcome) = decide(snapshot);
            *value.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            writes
        };
        let collection = self.update(collection, keys, Box::new(decide)).await?;
        let outcome = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        outcome
            .map(|outcome| (collection, outcome))
            .ok_or_else(|| StoreError::Unknown("the decision was never asked".to_owned()))
    }

    /// [`ItemStore::alter_collection`] with a decision that may fail.
    async fn decide_collection<E, F>(
        &self,
        name: &CollectionName,
        decide: F,
    ) -> Result<Result<Collection, E>, StoreError>
    where
        E: Send + 'static,
        F: FnOnce(&Collection) -> Result<AlterationDecision, E> + Send + 'static,
    {
        let slot = Arc::new(Mutex::new(None));
        let refusal = Arc::clone(&slot);
        let decide = move |collection: &Collection| {
            decide(collection).unwrap_or_else(|refused| {
                *refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(refused);
                AlterationDecision { alteration: Alteration::Keep, act: None }
            })
        };
        let collection = self.alter_collection(name, Box::new(decide)).await?;
        let refused = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok(refused.map_or(Ok(collection), Err))
    }
}

impl<S: ItemStore + ?Sized> ItemStoreExt for S {}
