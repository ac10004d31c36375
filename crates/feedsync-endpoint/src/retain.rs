//! Retention: what a collection is set to keep, and no longer (FeedSync 3.2, 4.2.4).
//!
//! An item goes once its last change here is older than [`Keep`] allows, or once so many others changed
//! later; what has conflicts stays, and what nobody has been shown. Items that keep the rule are not read
//! again and again: change numbers only grow, so that a walk begins where the one before found the first
//! that may still go. What such walks cost together follows what changes and what goes, not what stays.

use feedsync_core::ItemId;
use feedsync_store::{
    Collection, CollectionName, Epoch, Moment, Number, PageLimit, Snapshot, StoredItem,
};

use crate::endpoint::Endpoint;
use crate::error::EndpointError;
use crate::settings::{Keep, Settings};

/// How far a collection was looked through; of no consequence but for the work. It is for one
/// collection, and begins with its default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Retained {
    epoch: Option<Epoch>,
    /// No live item up to here can go before it changes.
    live: Number,
    /// No tombstone up to here can.
    tombstones: Number,
}

impl Endpoint {
    /// Purges what the settings of a collection say is kept no longer, oldest change first (R-F24);
    /// returns how many items went.
    pub async fn retain(
        &self,
        collection: &CollectionName,
        retained: &mut Retained,
    ) -> Result<u64, EndpointError> {
        let found = self.collection(collection).await?;
        let keep = Settings::read(&found.settings)?.keep;
        if retained.epoch != Some(found.epoch) {
            *retained = Retained { epoch: Some(found.epoch), ..Retained::default() };
        }
        let now = self.environment.now();
        let mut gone = 0;
        for (rule, from) in [
            (Rule::tombstones(keep, now), &mut retained.tombstones),
            (Rule::live(keep, now), &mut retained.live),
        ] {
            if let Some(rule) = rule {
                gone += self.apply(collection, rule, from).await?;
            }
        }
        Ok(gone)
    }

    async fn apply(
        &self,
        collection: &CollectionName,
        rule: Rule,
        from: &mut Number,
    ) -> Result<u64, EndpointError> {
        let mut gone = 0;
        loop {
            let page = self.store.changes(collection, *from, None, PageLimit::items(500)).await?;
            let walk = rule.walk(&page.collection, page.items.iter());
            let count = walk.due.len() as u64;
            let purged = self.purge_due(collection, rule, walk.due).await?;
            gone += purged;
            // What was due and stayed, as others went meanwhile, is looked at again.
            if purged < count {
                return Ok(gone);
            }
            *from = walk.through.unwrap_or(*from);
            if walk.ended || !page.more {
                return Ok(gone);
            }
        }
    }

    async fn purge_due(
        &self,
        collection: &CollectionName,
        rule: Rule,
        due: Vec<(ItemId, Number)>,
    ) -> Result<u64, EndpointError> {
        let keys = due.iter().map(|(id, _)| id.clone()).collect();
        self.purge_chosen(collection, keys, move |snapshot: &Snapshot| {
            let unchanged = due.iter().filter_map(|(id, number)| {
                snapshot.item(id).filter(|stored| stored.number == *number)
            });
            let walk = rule.walk(snapshot.collection(), unchanged);
            walk.due.into_iter().map(|(id, _)| id).collect()
        })
        .await
    }
}

/// Which items of one kind go.
#[derive(Debug, Clone, Copy)]
struct Rule {
    /// Tombstones, or live items.
    deleted: bool,
    /// Those that changed before this.
    changed_before: Moment,
    /// And as many as the collection has more without conflicts than this.
    count: Option<u64>,
}

/// What a rule finds among items in change order.
#[derive(Debug, Default)]
struct Walk {
    due: Vec<(ItemId, Number)>,
    /// The last item that goes, or that the rule cannot reach as it is.
    through: Option<Number>,
    /// Whether the next item stays for now, and so does all that changed later.
    ended: bool,
}

impl Rule {
    fn tombstones(keep: Keep, now: Moment) -> Option<Self> {
        let changed_before = keep.tombstones?.before(now);
        Some(Self { deleted: true, changed_before, count: None })
    }

    fn live(keep: Keep, now: Moment) -> Option<Self> {
        let Keep { age, count, .. } = keep;
        let changed_before = age.map(|age| age.before(now)).unwrap_or_default();
        (age.is_some() || count.is_some()).then_some(Self { deleted: false, changed_before, count })
    }

    fn walk<'a>(
        self,
        collection: &Collection,
        items: impl Iterator<Item = &'a StoredItem>,
    ) -> Walk {
        let countable = collection.live.saturating_sub(collection.conflicted);
        let mut surplus = self.count.map_or(0, |count| countable.saturating_sub(count));
        let mut walk = Walk::default();
        for stored in items {
            if stored.number > collection.sent {
                walk.ended = true;
                return walk;
            }
            if stored.item.winner.deleted == self.deleted && stored.item.conflicts.is_empty() {
                if stored.edited >= self.changed_before && surplus == 0 {
                    walk.ended = true;
                    return walk;
                }
                surplus = surplus.saturating_sub(1);
                walk.due.push((stored.item.id.clone(), stored.number));
            }
            walk.through = Some(stored.number);
        }
        walk
    }
}

#[cfg(test)]
mod tests;
