//! A new incarnation, when somebody else turns out to write under the current one (R-F44).

use std::collections::BTreeMap;

use feedsync::{By, Item, ItemId, Payload, Sequence, line};
use feedsync_store::{
    CollectionName, Number, Origin, PageLimit, Put, Snapshot, StoreExt, StoredItem, Write,
};

use crate::endpoint::{Endpoint, blobs_of};
use crate::error::EndpointError;

impl Endpoint {
    /// Issues again, under a new line, every edit of ours that may collide: those of the colliding
    /// items, and in all collections those that nobody has been shown. Then the new line becomes the
    /// current incarnation.
    ///
    /// A crash in the middle leaves the old incarnation current; whatever showed the collision will
    /// show it again.
    pub(crate) async fn reincarnate(
        &self,
        collection: &CollectionName,
        old: By,
        collisions: BTreeMap<ItemId, Sequence>,
    ) -> Result<(), EndpointError> {
        let (_, new) = self
            .store
            .decide(collection, Vec::new(), |snapshot| (Vec::new(), snapshot.mint()))
            .await?;
        for known in self.store.collections().await? {
            self.reissue_unsent(&known.name, known.sent, &old, &new).await?;
        }
        let keys: Vec<_> = collisions.keys().cloned().collect();
        self.store
            .decide(collection, keys, move |snapshot| {
                if snapshot.identity().by != old {
                    return (Vec::new(), ()); // somebody else was quicker
                }
                let mut writes: Vec<_> = collisions
                    .iter()
                    .filter_map(|(id, &from)| Some((snapshot.item(id)?, from)))
                    .flat_map(|(stored, from)| reissued(snapshot, stored, &old, from, &new))
                    .collect();
                writes.push(Write::Reincarnate { by: new.clone() });
                (writes, ())
            })
            .await?;
        Ok(())
    }

    async fn reissue_unsent(
        &self,
        collection: &CollectionName,
        sent: Number,
        old: &By,
        new: &By,
    ) -> Result<(), EndpointError> {
        let up_to = self.collection(collection).await?.last;
        let mut after = sent;
        loop {
            let page =
                self.store.changes(collection, after, Some(up_to), PageLimit::items(500)).await?;
            let ours = |stored: &&StoredItem| {
                stored.item.versions().any(|version| version.dot().by() == Some(old))
            };
            let keys: Vec<_> =
                page.items.iter().filter(ours).map(|stored| stored.item.id.clone()).collect();
            if !keys.is_empty() {
                let (ids, old, new) = (keys.clone(), old.clone(), new.clone());
                self.store
                    .decide(collection, keys, move |snapshot| {
                        let writes = ids
                            .iter()
                            .filter_map(|id| snapshot.item(id))
                            .filter(|stored| stored.number > sent)
                            .flat_map(|stored| {
                                let from = first_unsent(snapshot, &stored.item.id, &old);
                                reissued(snapshot, stored, &old, from, &new)
                            });
                        (writes.collect(), ())
                    })
                    .await?;
            }
            if !page.more {
                return Ok(());
            }
            after = page.through;
        }
    }
}

/// The first sequence of our line in an unsent item that may not have been shown. Where that is not
/// known it is the first of all: covering too little costs a conflict.
fn first_unsent(snapshot: &Snapshot, id: &ItemId, line: &By) -> Sequence {
    let shown = snapshot.issued(id, line).and_then(|issued| issued.shown);
    shown.and_then(Sequence::next).unwrap_or(Sequence::FIRST)
}

/// The writes that issue an item's versions again, if any is of the old line at `from` or above.
fn reissued(
    snapshot: &Snapshot,
    stored: &StoredItem,
    old: &By,
    from: Sequence,
    new: &By,
) -> Vec<Write> {
    let mut item: Item<Payload> = stored.item.clone();
    if !line::reissue(&mut item, old, from, new) {
        return Vec::new();
    }
    let issued = snapshot.issued(&item.id, new).map(|issued| issued.sequence);
    let sequence = item.highest(new).max(issued);
    let origin = if stored.origin == Origin::Here { Origin::Here } else { Origin::Mixed };
    let issue =
        sequence.map(|sequence| Write::Issue { item: item.id.clone(), by: new.clone(), sequence });
    let put =
        Write::Put(Put { blobs: blobs_of(&item), item, created_here: stored.created_here, origin });
    issue.into_iter().chain([put]).collect()
}
