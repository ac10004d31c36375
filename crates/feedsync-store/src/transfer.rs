//! Moving a whole store into another one, of whatever kind.

use async_trait::async_trait;
use feedsync::{By, ItemId, Update};

use crate::blob::Digest;
use crate::collection::Collection;
use crate::contract::Store;
use crate::error::StoreError;
use crate::identity::Issued;
use crate::name::CollectionName;
use crate::order::Number;
use crate::people::{ActSelection, GrantsOf, Recorded};
use crate::remote::Remote;
use crate::stored::{Discarded, PageLimit, StoredItem};

/// So much is moved at once.
const AT_ONCE: usize = 200;

/// What a store can show and take in beyond its contract, so that it can be moved.
#[async_trait]
pub trait Transfer: Store {
    /// The ledger, ascending by item, after an item; so many items at most.
    async fn ledger(
        &self,
        after: Option<&ItemId>,
        limit: usize,
    ) -> Result<Vec<(ItemId, Vec<Issued>)>, StoreError>;

    /// The vectors of a collection's purged items, ascending by item, after an item.
    async fn purged(
        &self,
        collection: &CollectionName,
        after: Option<&ItemId>,
        limit: usize,
    ) -> Result<Vec<(ItemId, Vec<Update>)>, StoreError>;

    /// The blobs that are here, ascending, after one.
    async fn blobs(&self, after: Option<Digest>, limit: usize) -> Result<Vec<Digest>, StoreError>;

    /// Takes in a part of another store as it is. Only a store that nobody uses yet may be asked.
    async fn load(&self, part: Part) -> Result<(), StoreError>;
}

/// A part of a store that is moved.
#[derive(Debug, Clone)]
pub enum Part {
    /// Incarnations of before, oldest first: own, retired.
    Retired(Vec<By>),
    /// Rows of the ledger.
    Ledger(Vec<(ItemId, Vec<Issued>)>),
    /// A collection without what it holds, in a new epoch, later than its own.
    Collection(Collection),
    /// Items of a collection, under their numbers.
    Items(CollectionName, Vec<StoredItem>),
    /// Vectors of purged items.
    Purged(CollectionName, Vec<(ItemId, Vec<Update>)>),
    /// The recoverable lists of a collection, places and all.
    Discarded(Vec<Discarded>),
    /// Remotes, ids and state too: items name them.
    Remotes(Vec<Remote>),
    /// The record, oldest first, under new places.
    Acts(Vec<Recorded>),
}

/// Moves everything into an empty store that was founded with the same name: identity, ledger,
/// collections with items, histories, origins, purged vectors, recoverable lists and settings, remotes
/// with their state, blobs, users, roles, tokens and the record.
///
/// What is moved goes on as a new incarnation in new epochs, as a restored backup does. If this ends
/// with an error the new store is to be thrown away; what was written to the old one meanwhile is such
/// an error. The old one must not be used any more afterwards.
pub async fn transfer(from: &dyn Transfer, to: &dyn Transfer) -> Result<(), StoreError> {
    let before = (from.identity().await?, from.collections().await?);
    let (identity, collections) = &before;
    if !to.collections().await?.is_empty() || !to.users().await?.is_empty() {
        return Err(StoreError::Transfer("the store to move into is not empty"));
    }
    if to.identity().await?.name != identity.name {
        return Err(StoreError::Transfer("the store to move into has another endpoint's name"));
    }
    let incarnations = identity.retired.iter().chain([&identity.by]);
    to.load(Part::Retired(incarnations.cloned().collect())).await?;
    move_ledger(from, to).await?;
    for collection in collections {
        move_collection(from, to, collection).await?;
    }
    to.load(Part::Remotes(from.remotes(None).await?)).await?;
    move_blobs(from, to).await?;
    move_people(from, to).await?;
    // Sent marks come and go with every reader, and are no change.
    let unsent = |collections: Vec<Collection>| -> Vec<Collection> {
        let unsent = |collection| Collection { sent: Number::ZERO, ..collection };
        collections.into_iter().map(unsent).collect()
    };
    let after = (from.identity().await?, unsent(from.collections().await?));
    if after != (before.0, unsent(before.1)) {
        return Err(StoreError::Transfer("the store was written to while it was moved"));
    }
    Ok(())
}

async fn move_ledger(from: &dyn Transfer, to: &dyn Transfer) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let rows = from.ledger(after.as_ref(), AT_ONCE).await?;
        let Some((last, _)) = rows.last() else { return Ok(()) };
        after = Some(last.clone());
        to.load(Part::Ledger(rows)).await?;
    }
}

async fn move_collection(
    from: &dyn Transfer,
    to: &dyn Transfer,
    collection: &Collection,
) -> Result<(), StoreError> {
    let name = &collection.name;
    to.load(Part::Collection(collection.clone())).await?;
    let mut through = Number::ZERO;
    loop {
        let page = from.changes(name, through, None, PageLimit::items(AT_ONCE)).await?;
        through = page.through;
        to.load(Part::Items(name.clone(), page.items)).await?;
        if !page.more {
            break;
        }
    }
    let mut after = None;
    loop {
        let rows = from.purged(name, after.as_ref(), AT_ONCE).await?;
        let Some((last, _)) = rows.last() else { break };
        after = Some(last.clone());
        to.load(Part::Purged(name.clone(), rows)).await?;
    }
    to.load(Part::Discarded(from.discarded(name).await?)).await
}

async fn move_blobs(from: &dyn Transfer, to: &dyn Transfer) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let digests = from.blobs(after, AT_ONCE).await?;
        let Some(last) = digests.last() else { return Ok(()) };
        after = Some(*last);
        for digest in digests {
            if let Some(bytes) = from.blob(digest).await? {
                to.put_blob(bytes).await?;
            }
        }
    }
}

async fn move_people(from: &dyn Transfer, to: &dyn Transfer) -> Result<(), StoreError> {
    for user in from.users().await? {
        let name = user.name.clone();
        to.add_user(user).await?;
        for grant in from.grants(GrantsOf::User(&name)).await? {
            to.grant(grant).await?;
        }
        for token in from.tokens(&name).await? {
            to.add_token(token).await?;
        }
    }
    // The record is read backwards, and written forwards: first where its pages begin.
    let mut begins = Vec::new();
    let mut before = None;
    loop {
        let page = from.acts(ActSelection { before, limit: AT_ONCE, ..Default::default() }).await?;
        let Some(oldest) = page.last() else { break };
        begins.push(before);
        before = Some(oldest.place);
    }
    for before in begins.into_iter().rev() {
        let selection = ActSelection { before, limit: AT_ONCE, ..Default::default() };
        let mut page = from.acts(selection).await?;
        page.reverse();
        to.load(Part::Acts(page)).await?;
    }
    Ok(())
}
