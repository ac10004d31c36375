//! Detection of writes to a store during its transfer.

use super::IdBounds;
use super::Transfer;
use super::databases::{self, DatabaseFingerprint};
use crate::collection::Collection;
use crate::error::StoreError;
use crate::identity::Identity;
use crate::log::Log;
use crate::name::UserId;
use crate::people::{AuditEntry, AuditSelection, Grant, GrantFilter, Token, User};
use crate::remote::Remote;

/// Values that change with every write to a store.
#[derive(PartialEq, Eq)]
pub(super) struct State {
    pub(super) identity: Identity,
    pub(super) marks: IdBounds,
    pub(super) collections: Vec<Collection>,
    logs: Vec<Option<Log>>,
    pub(super) databases: Vec<DatabaseFingerprint>,
    pub(super) remotes: Vec<Remote>,
    charged: Vec<Option<UserId>>,
    users: Vec<User>,
    tokens: Vec<Token>,
    grants: Vec<Grant>,
    last_act: Vec<AuditEntry>,
}

pub(super) async fn state(store: &dyn Transfer) -> Result<State, StoreError> {
    let users = store.users().await?;
    let (mut tokens, mut grants) = (Vec::new(), Vec::new());
    for user in &users {
        tokens.extend(store.tokens(&user.name).await?);
        grants.extend(store.grants(GrantFilter::User(&user.name)).await?);
    }
    // Sent marks change with every read and are not counted as writes; they are moved as they were first
    // read.
    let collections = store.collections().await?;
    let (mut logs, mut charged) = (Vec::new(), Vec::new());
    for collection in &collections {
        logs.push(store.log(&collection.name).await?);
        charged.push(store.collection_charged_to(&collection.name).await?);
    }
    Ok(State {
        identity: store.identity().await?,
        marks: store.marks().await?,
        collections: collections.iter().map(Collection::unsent).collect(),
        logs,
        charged,
        databases: databases::fingerprints(store).await?,
        remotes: store.remotes(None).await?,
        users,
        tokens,
        grants,
        last_act: store.acts(AuditSelection { limit: 1, ..Default::default() }).await?,
    })
}
