//! A safe form of the discard by a subscriber that is out of sync (4.1.2 step 2.1.2).
//!
//! The specification discards everything that this endpoint neither created nor last updated, and knows one
//! publisher. This endpoint discards only items that came from this publisher and that no other endpoint has
//! touched. Discarded items stay recoverable, and every item held here was offered to the publisher first.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use feedsync_core::{Incorporation, Item, ItemId, Timestamp, Version, incorporate};
use feedsync_store::{
    ChangeNumber, CollectionName, DiscardedId, ItemStoreExt, Origin, PageLimit, Put, RemoteId,
    Snapshot, StoredItem, Write,
};

use crate::edit::{EditOutcome, Edited};
use crate::endpoint::{Endpoint, blobs_of};
use crate::error::{EditFailure, EndpointError};
use crate::incorporate::within_bounds;

/// Items that were seen in a feed and their versions, as hashes of eight bytes each. Two ids may collide;
/// then an item is kept that could have been discarded.
#[derive(Debug, Clone, Default)]
pub struct SeenVersions {
    ids: HashSet<u64>,
    versions: HashSet<u64>,
}

impl SeenVersions {
    /// Adds an item with its versions.
    pub fn insert<P>(&mut self, item: &Item<P>) {
        self.insert_id(&item.id);
        self.versions.extend(item.versions().map(|version| Self::hash_version(&item.id, version)));
    }

    /// Adds the id of an item that could not be read.
    pub fn insert_id(&mut self, id: &ItemId) {
        self.ids.insert(Self::hash(id));
    }

    fn contains(&self, id: &ItemId) -> bool {
        self.ids.contains(&Self::hash(id))
    }

    fn contains_all_of<P>(&self, item: &Item<P>) -> bool {
        item.versions().all(|it| self.versions.contains(&Self::hash_version(&item.id, it)))
    }

    fn hash_version<P>(id: &ItemId, version: &Version<P>) -> u64 {
        let dot = version.dot();
        let when = dot.when().map(Timestamp::unix_seconds);
        Self::hash(&(id, dot.sequence().get(), dot.by(), when))
    }

    fn hash(value: &impl Hash) -> u64 {
        let mut hasher = DefaultHasher::new();
        value.hash(&mut hasher);
        hasher.finish()
    }
}

impl Endpoint {
    /// Discards items that came from a remote and that it no longer has; returns their number. `seen` holds
    /// every item of its complete and its partial feed.
    ///
    /// Versions that were discarded before and came again are kept, since another endpoint still has them.
    /// Where endpoints follow each other in a circle, they would otherwise add and discard an item forever.
    pub async fn discard_absent(
        &self,
        collection: &CollectionName,
        remote: RemoteId,
        seen: &SeenVersions,
    ) -> Result<u64, EndpointError> {
        // A change that has not been offered to another remote yet waits for a push.
        let remotes = self.store.remotes(Some(collection)).await?;
        let offered = remotes
            .iter()
            .filter(|other| other.id != remote && other.state.may_take_changes())
            .map(|other| other.state.pushed)
            .min()
            .unwrap_or(ChangeNumber::MAX);
        let (mut discarded, mut before) = (0, None);
        let mut after: Option<ItemId> = None;
        loop {
            let page =
                self.store.items_by_id(collection, after.as_ref(), PageLimit::items(500)).await?;
            let mut absent: Vec<_> = page
                .items
                .iter()
                .filter(|stored| !seen.contains(&stored.item.id))
                .filter(|stored| is_only_from_remote(stored, remote, offered))
                .map(|stored| &stored.item)
                .collect();
            if !absent.is_empty() {
                let known = match before.take() {
                    Some(known) => known,
                    None => self.discarded_before(collection).await?,
                };
                absent.retain(|item| !known.contains_all_of(item));
                before = Some(known);
            }
            if !absent.is_empty() {
                let absent = absent.into_iter().map(|item| item.id.clone()).collect();
                discarded += self.discard(collection, remote, offered, absent).await?;
            }
            after = page.items.last().map(|stored| stored.item.id.clone());
            if !page.more {
                return Ok(discarded);
            }
        }
    }

    /// Returns the versions on the list of recoverable items.
    async fn discarded_before(
        &self,
        collection: &CollectionName,
    ) -> Result<SeenVersions, EndpointError> {
        let mut before = SeenVersions::default();
        let list = self.store.discarded(collection).await?;
        list.iter().for_each(|discarded| before.insert(&discarded.item));
        Ok(before)
    }

    /// Protects items from [`Endpoint::discard_absent`] that a remote provided earlier and no longer shows;
    /// returns their number. It is for a remote that went back to an earlier state, or that answers with an
    /// old copy. Such a remote lost those items or does not show them yet, so that their absence does not
    /// mean a deletion. `seen` holds the items that it shows.
    pub async fn protect_unseen(
        &self,
        collection: &CollectionName,
        remote: RemoteId,
        seen: &SeenVersions,
    ) -> Result<u64, EndpointError> {
        let (mut protected, mut after) = (0, None::<ItemId>);
        loop {
            let page =
                self.store.items_by_id(collection, after.as_ref(), PageLimit::items(500)).await?;
            let is_unseen = |stored: &&StoredItem| {
                stored.origin == Origin::Remote(remote) && !seen.contains_all_of(&stored.item)
            };
            let unseen = page.items.iter().filter(is_unseen);
            let unseen: Vec<_> = unseen.map(|stored| stored.item.id.clone()).collect();
            if !unseen.is_empty() {
                protected += self.share(collection, unseen).await?;
            }
            after = page.items.last().map(|stored| stored.item.id.clone());
            if !page.more {
                return Ok(protected);
            }
        }
    }

    /// Records that other endpoints have these items too.
    async fn share(
        &self,
        collection: &CollectionName,
        ids: Vec<ItemId>,
    ) -> Result<u64, EndpointError> {
        let keys = ids.clone();
        let decided = self.store.decide(collection, keys, move |snapshot| {
            let there = ids.iter().filter(|id| snapshot.item(id).is_some());
            let writes: Vec<_> = there.map(|id| Write::Shared { id: id.clone() }).collect();
            let count = writes.len() as u64;
            (writes, count)
        });
        Ok(decided.await?.1)
    }

    async fn discard(
        &self,
        collection: &CollectionName,
        remote: RemoteId,
        offered: ChangeNumber,
        candidates: Vec<ItemId>,
    ) -> Result<u64, EndpointError> {
        let keys = candidates.clone();
        let (_, count) = self
            .store
            .decide(collection, keys, move |snapshot| {
                let ids: Vec<_> = candidates
                    .iter()
                    .filter(|id| {
                        snapshot.item(id).is_some_and(|stored| {
                            is_only_from_remote(stored, remote, offered)
                                && !is_ours(snapshot, stored)
                        })
                    })
                    .cloned()
                    .collect();
                let count = ids.len() as u64;
                let reason = "the remote no longer has it".to_owned();
                let writes =
                    if ids.is_empty() { Vec::new() } else { vec![Write::Discard { ids, reason }] };
                (writes, count)
            })
            .await?;
        Ok(count)
    }

    /// Restores a discarded item, merged with its current state.
    pub async fn recover(
        &self,
        collection: &CollectionName,
        discarded: DiscardedId,
    ) -> Result<Option<Edited>, EndpointError> {
        let list = self.store.discarded(collection).await?;
        let Some(found) = list.into_iter().find(|entry| entry.id == discarded) else {
            return Ok(None);
        };
        let id = found.item.id.clone();
        let (collection, recovered) = self
            .store
            .decide(collection, vec![id], move |snapshot| {
                let stored = snapshot.item(&found.item.id);
                let local = stored.map(|stored| &stored.item);
                let joined = within_bounds(incorporate(local, None, found.item.clone()), local);
                let dot = found.item.winner.dot();
                let (item, outcome) = match joined {
                    Incorporation::Added(item) | Incorporation::Updated(item) => {
                        (item, EditOutcome::Applied)
                    }
                    Incorporation::Conflict(item) if item.winner.dot().is_same(dot) => {
                        (item, EditOutcome::ConflictShown)
                    }
                    Incorporation::Conflict(item) => (item, EditOutcome::ConflictHidden),
                    Incorporation::Unchanged => {
                        (local.unwrap_or(&found.item).clone(), EditOutcome::Unchanged)
                    }
                    Incorporation::Refused(refusal) => return (Vec::new(), Err(refusal)),
                };
                let put = Put {
                    blobs: blobs_of(&item),
                    item: item.clone(),
                    created_here: stored.is_some_and(|stored| stored.created_here),
                    origin: Origin::Mixed,
                };
                (vec![Write::Put(put), Write::Recovered(found.id)], Ok((item, outcome)))
            })
            .await?;
        let (item, outcome) = recovered.map_err(EditFailure::from)?;
        Ok(Some(Edited { collection, item, outcome }))
    }
}

/// Whether an item may be discarded: all versions came from this remote, none was created here, and nothing
/// waits for a push. A tombstone stays, so that an old copy of the item does not come back.
fn is_only_from_remote(stored: &StoredItem, remote: RemoteId, offered: ChangeNumber) -> bool {
    let is_tombstone = stored.item.winner.deleted && stored.item.conflicts.is_empty();
    stored.origin == Origin::Remote(remote)
        && !stored.created_here
        && !is_tombstone
        && stored.number <= offered
}

/// Whether any version was last updated by this endpoint, or its oldest known update is this endpoint's.
fn is_ours(snapshot: &Snapshot, stored: &StoredItem) -> bool {
    stored.item.versions().any(|version| {
        [version.dot(), version.history.oldest()]
            .into_iter()
            .filter_map(feedsync_core::Update::by)
            .any(|by| snapshot.is_own(&stored.item.id, by))
    })
}
