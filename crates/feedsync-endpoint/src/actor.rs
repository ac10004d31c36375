//! On whose behalf an endpoint acts: what the record of a store says of a change.
//!
//! It goes into the record alone. Names of users never leak into `by`, which travels.

use feedsync_core::ItemId;
use feedsync_store::{Act, CollectionName, UserName, Write};

use crate::endpoint::Endpoint;

/// Who asked, and from where.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Actor {
    /// Who; `None` where nobody needed to sign in.
    pub user: Option<UserName>,
    /// From where, as far as it is known.
    pub address: Option<String>,
}

impl Actor {
    /// What this actor did, for the record.
    pub fn act(&self, action: &str) -> Act {
        Act {
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
    /// The same endpoint, whose changes to items are recorded as this actor's, each in the transaction
    /// that makes it. Without an actor nothing is recorded.
    #[must_use]
    pub fn on_behalf_of(&self, actor: Actor) -> Self {
        Self { actor: Some(actor.into()), ..self.clone() }
    }

    /// The record of a change, to be written with it.
    pub(crate) fn recorded(
        &self,
        action: &str,
        collection: &CollectionName,
        item: Option<&ItemId>,
        detail: String,
    ) -> Option<Write> {
        let actor = self.actor.as_ref()?;
        let collection = Some(collection.clone());
        Some(Write::Record(Act { collection, item: item.cloned(), detail, ..actor.act(action) }))
    }
}
