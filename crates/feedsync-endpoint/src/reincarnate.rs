//! Reissue of edits because another endpoint writes with one of our authoring lines (R-F44).

use std::collections::{BTreeMap, BTreeSet};

use feedsync_core::{By, Item, ItemId, Payload, Sequence, Version, line};
use feedsync_store::{
    Collection, CollectionName, ItemStoreExt, Origin, PageLimit, Put, Snapshot, StoredItem, Write,
};

use crate::endpoint::{Endpoint, blobs_of};
use crate::error::EndpointError;

impl Endpoint {
    /// Reissues, under a new authoring line, every edit of the current incarnation that nobody has been
    /// shown, in all collections. Then the new line becomes the current incarnation.
    ///
    /// After a crash in the middle the old incarnation is still current. The item that showed the collision
    /// will show it again.
    pub(crate) async fn reincarnate(
        &self,
        collection: &CollectionName,
        old: By,
    ) -> Result<(), EndpointError> {
        let (_, new) = self
            .store
            .decide(collection, Vec::new(), |snapshot| (Vec::new(), snapshot.mint()))
            .await?;
        for known in self.store.collections().await? {
            self.reissue_unsent(&known, &old, &new).await?;
        }
        self.store
            .decide(collection, Vec::new(), move |snapshot| {
                // Another process may have done this already.
                let is_current = snapshot.identity().by == old;
                let write = is_current.then(|| Write::Reincarnate { by: new.clone() });
                (write.into_iter().collect(), ())
            })
            .await?;
        Ok(())
    }

    async fn reissue_unsent(
        &self,
        collection: &Collection,
        old: &By,
        new: &By,
    ) -> Result<(), EndpointError> {
        let (name, up_to, mut after) = (&collection.name, collection.last, collection.sent);
        loop {
            let page = self.store.changes(name, after, Some(up_to), PageLimit::items(500)).await?;
            let keys: Vec<_> = page
                .items
                .iter()
                .filter(|stored| stored.item.versions().any(|version| is_signed_by(version, old)))
                .map(|stored| stored.item.id.clone())
                .collect();
            if !keys.is_empty() {
                let (ids, old, new) = (keys.clone(), old.clone(), new.clone());
                let decide = move |snapshot: &Snapshot| {
                    let unsent = unsent(snapshot, ids.iter());
                    (unsent.flat_map(|stored| reissued(snapshot, stored, &old, &new)).collect(), ())
                };
                self.store.decide(name, keys, decide).await?;
            }
            if !page.more {
                return Ok(());
            }
            after = page.through;
        }
    }
}

/// Returns the stored items as [`Endpoint::reincarnate`] would leave them, for incoming items that show a
/// collision.
pub(crate) fn reissued_first(
    snapshot: &Snapshot,
    met: &[Item<Payload>],
) -> BTreeMap<ItemId, Item<Payload>> {
    let (old, new) = (&snapshot.identity().by, snapshot.mint());
    unsent(snapshot, met.iter().map(|item| &item.id))
        .flat_map(|stored| reissued(snapshot, stored, old, &new))
        .filter_map(|write| match write {
            Write::Put(put) => Some((put.item.id.clone(), put.item)),
            _ => None,
        })
        .collect()
}

/// Returns those of the items that nobody has been shown.
fn unsent<'a>(
    snapshot: &'a Snapshot,
    ids: impl Iterator<Item = &'a ItemId>,
) -> impl Iterator<Item = &'a StoredItem> {
    let stored = ids.filter_map(|id| snapshot.item(id));
    stored.filter(|stored| stored.number > snapshot.collection().sent)
}

/// Returns the writes that reissue the versions of the old line in an unsent item.
fn reissued(snapshot: &Snapshot, stored: &StoredItem, old: &By, new: &By) -> Vec<Write> {
    let mut item = stored.item.clone();
    let doubts = unsent_lines(snapshot, &item, old);
    let is_doubted = |version: &Version<Payload>| {
        let dot = version.dot();
        doubts.iter().any(|(by, from)| dot.by() == Some(by) && dot.sequence() >= *from)
    };
    let mut writes = Vec::new();
    // Versions of an item are concurrent, so each gets a line of its own.
    for version in item.versions_mut().filter(|version| is_doubted(version)) {
        let new = line::branch(new, writes.len()).unwrap_or_else(|| snapshot.mint());
        line::reissue(version, &doubts, &new);
        let sequence = version.dot().sequence();
        writes.push(Write::Issue { item: stored.item.id.clone(), by: new, sequence });
    }
    if writes.is_empty() {
        return writes;
    }
    let origin = if stored.origin == Origin::Here { Origin::Here } else { Origin::Mixed };
    let put = Put { blobs: blobs_of(&item), item, created_here: stored.created_here, origin };
    writes.push(Write::Put(put));
    writes
}

/// Whether a version was signed with an authoring line of an incarnation.
fn is_signed_by(version: &Version<Payload>, incarnation: &By) -> bool {
    version.dot().by().is_some_and(|by| line::belongs_to(by, incarnation))
}

/// Returns the authoring lines of an incarnation in an item, each with its first sequence that others may not
/// have been shown.
fn unsent_lines(
    snapshot: &Snapshot,
    item: &Item<Payload>,
    incarnation: &By,
) -> line::DisputedSequences {
    let lines: BTreeSet<&By> = item
        .versions()
        .flat_map(|version| version.history.updates())
        .filter_map(|update| update.by().filter(|by| line::belongs_to(by, incarnation)))
        .collect();
    let from = |by: &By| (by.clone(), first_unsent(snapshot, &item.id, by));
    lines.into_iter().map(from).collect()
}

/// Returns the first sequence of our authoring line in an unsent item that may not have been shown. If that
/// is not known, the result is the first of all: covering too little costs only a conflict.
fn first_unsent(snapshot: &Snapshot, id: &ItemId, line: &By) -> Sequence {
    let shown = snapshot.issued(id, line).and_then(|issued| issued.shown);
    shown.and_then(Sequence::next).unwrap_or(Sequence::FIRST)
}

/// Reissues our versions that an incoming item would supersede without knowing them. Returns the item and the
/// writes for the ledger.
pub(crate) fn reconciled(
    snapshot: &Snapshot,
    local: &Item<Payload>,
    incoming: &Item<Payload>,
) -> Option<(Item<Payload>, Vec<Write>)> {
    let is_own = |by: &By| snapshot.is_own(&local.id, by);
    let disputed_sequences: Vec<_> = local
        .versions()
        .map(|version| {
            let doubts = line::disputed_sequences(version, incoming);
            doubts.filter(|_| version.dot().by().is_some_and(is_own))
        })
        .collect();
    if disputed_sequences.iter().all(Option::is_none) {
        return None;
    }
    let mut item = local.clone();
    let mut writes = Vec::new();
    for (version, doubts) in item.versions_mut().zip(disputed_sequences) {
        if let Some(doubts) = doubts {
            // The line is random: a copy of this store must not choose the same one.
            let new = snapshot.mint();
            line::reissue(version, &doubts, &new);
            let sequence = version.dot().sequence();
            writes.push(Write::Issue { item: local.id.clone(), by: new, sequence });
        }
    }
    Some((item, writes))
}
