//! One endpoint over one store.

use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;

use feedsync_core::{Item, ItemId, Payload};
use feedsync_formats::{blobs, without_server_parts};
use feedsync_store::{Digest, Environment, Identity, Store, StoreError};

use crate::actor::Actor;
#[cfg(feature = "databases")]
use crate::documents::functions::DesignFunctions;
#[cfg(feature = "databases")]
use crate::documents::validation::Validation;

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
    /// Executes functions of design documents.
    #[cfg(feature = "databases")]
    pub(crate) functions: Option<Arc<dyn DesignFunctions>>,
    /// Functions of design documents that validate documents.
    #[cfg(feature = "databases")]
    pub(crate) validation: Option<Arc<Validation>>,
}

impl Endpoint {
    /// Creates the endpoint of a store, with a clock and a source of random numbers.
    pub fn new(store: Arc<dyn Store>, environment: Arc<dyn Environment>) -> Self {
        Self {
            store,
            environment,
            actor: None,
            most: None,
            growth: None,
            #[cfg(feature = "databases")]
            functions: None,
            #[cfg(feature = "databases")]
            validation: None,
        }
    }

    /// Executes functions of design documents from now on, among them `validate_doc_update` for each new revision. Without
    /// this, they are not executed.
    #[cfg(feature = "databases")]
    #[must_use]
    pub fn with_functions(self, functions: Arc<dyn DesignFunctions>) -> Self {
        let validation = Some(Arc::new(Validation::new(Arc::clone(&functions))));
        Self { functions: Some(functions), validation, ..self }
    }

    /// Executes no functions of design documents from now on.
    #[cfg(feature = "databases")]
    #[must_use]
    pub fn without_functions(self) -> Self {
        Self { functions: None, validation: None, ..self }
    }

    /// An endpoint over another view of the store, without the actor and the limits of this one.
    #[must_use]
    pub fn over(&self, store: Arc<dyn Store>) -> Self {
        Self { store, actor: None, most: None, growth: None, ..self.clone() }
    }

    /// Returns the executor of functions of design documents, if they are executed.
    #[cfg(feature = "databases")]
    pub fn functions(&self) -> Option<&Arc<dyn DesignFunctions>> {
        self.functions.as_ref()
    }

    /// Returns the underlying store, for programs that put an endpoint together. Everything else uses the
    /// operations of the endpoint. They check and record changes of items, collections, users and logs, and a
    /// direct write to the store does neither.
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

    /// Checks that the store accepts writes: [`StoreError::Full`] while its disk is full. Deletions may be
    /// possible then.
    pub async fn check_space(&self) -> Result<(), StoreError> {
        self.store.check_space().await
    }

    /// Returns the directory of the store, if it has one: temporary files for it belong there.
    pub fn directory(&self) -> Option<&Path> {
        self.store.directory()
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
