//! The actor of an endpoint: user and address that the store's record names for each change.
//!
//! They go into the record alone. User names are never written to `by`, which is replicated.

use feedsync_core::ItemId;
use feedsync_store::{AuditAction, CollectionName, UserName, Write};

use crate::endpoint::Endpoint;

/// User and address on whose behalf an endpoint acts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Actor {
    /// The user; `None` where sign-in is not required.
    pub user: Option<UserName>,
    /// Network address of the caller, if it is known.
    pub address: Option<String>,
}

impl Actor {
    /// Returns the record entry of an action by this actor.
    pub fn act(&self, action: &str) -> AuditAction {
        AuditAction {
            user: self.user.clone(),
            address: self.address.clone(),
            action: action.to_owned(),
            collection: None,
            item: None,
            detail: String::new(),
        }
    }
}

impl Endpoint {
    /// Returns the same endpoint, which records its changes to items as this actor's, each in the transaction
    /// that makes it. Without an actor nothing is recorded.
    #[must_use]
    pub fn on_behalf_of(&self, actor: Actor) -> Self {
        Self { actor: Some(actor.into()), ..self.clone() }
    }

    /// Returns the same endpoint without an actor, for work that outlives the request in which it began: it
    /// records nothing.
    #[must_use]
    pub fn without_actor(&self) -> Self {
        Self { actor: None, ..self.clone() }
    }

    /// Returns the write that records a change in the same transaction.
    pub(crate) fn audit_entry(
        &self,
        action: &str,
        collection: &CollectionName,
        item: Option<&ItemId>,
        detail: String,
    ) -> Option<Write> {
        let actor = self.actor.as_ref()?;
        let collection = Some(collection.clone());
        Some(Write::Record(AuditAction {
            collection,
            item: item.cloned(),
            detail,
            ..actor.act(action)
        }))
    }
}
