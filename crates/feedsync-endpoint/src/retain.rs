//! Retention: limits on what a collection keeps (FeedSync 3.2, 4.2.4).
//!
//! An item is purged once its last change here is older than [`Keep`] allows, or once enough other items
//! changed later. Items with conflicts stay, and so do items that nobody has been shown. Items within the
//! limits are not read again and again. Change numbers only grow, so a walk begins where the one before found
//! the first item that may still be purged. So the total cost of the walks depends on the items that change
//! or are purged, not on those that stay.

use feedsync_core::ItemId;
use feedsync_store::{
    ChangeNumber, Collection, CollectionName, Epoch, Moment, PageLimit, Snapshot, StoredItem,
};

use crate::endpoint::Endpoint;
use crate::error::EndpointError;
use crate::settings::{Keep, Settings};

/// Progress of the walks through one collection. It only saves work; the default value starts at the
/// beginning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetentionProgress {
    epoch: Option<Epoch>,
    /// No live item up to this number can be purged before it changes.
    live: ChangeNumber,
    /// No tombstone up to this number can be purged.
    tombstones: ChangeNumber,
}

impl Endpoint {
    /// Purges the items past the retention limits of a collection, oldest change first (R-F24); returns their
    /// number.
    pub async fn retain(
        &self,
        collection: &CollectionName,
        retained: &mut RetentionProgress,
    ) -> Result<u64, EndpointError> {
        let found = self.collection(collection).await?;
        let keep = Settings::read(&found.settings)?.keep;
        if retained.epoch != Some(found.epoch) {
            *retained =
                RetentionProgress { epoch: Some(found.epoch), ..RetentionProgress::default() };
        }
        let now = self.environment.now();
        let mut gone = 0;
        for (rule, from) in [
            (RetentionRule::tombstones(keep, now), &mut retained.tombstones),
            (RetentionRule::live(keep, now), &mut retained.live),
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
        rule: RetentionRule,
        from: &mut ChangeNumber,
    ) -> Result<u64, EndpointError> {
        let mut gone = 0;
        loop {
            let page = self.store.changes(collection, *from, None, PageLimit::items(500)).await?;
            let walk = rule.walk(&page.collection, page.items.iter());
            let count = walk.due.len() as u64;
            let purged = self.purge_due(collection, rule, walk.due).await?;
            gone += purged;
            // Items that were due and stayed, since others were removed in the meantime, are examined again.
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
        rule: RetentionRule,
        due: Vec<(ItemId, ChangeNumber)>,
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

/// Selects the items of one kind that are purged.
#[derive(Debug, Clone, Copy)]
struct RetentionRule {
    /// Whether the rule is for tombstones, or for live items.
    deleted: bool,
    /// Items whose last change is before this are purged.
    changed_before: Moment,
    /// Maximum number of live items without conflicts; the oldest ones above it are purged.
    count: Option<u64>,
}

/// Result of applying a rule to items in change order.
#[derive(Debug, Default)]
struct RuleMatches {
    due: Vec<(ItemId, ChangeNumber)>,
    /// The last item that is purged, or that the rule cannot affect until it changes.
    through: Option<ChangeNumber>,
    /// Whether the walk reached an item that stays for now, as do all that changed later.
    ended: bool,
}

impl RetentionRule {
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
    ) -> RuleMatches {
        let countable = collection.live.saturating_sub(collection.conflicted);
        let mut surplus = self.count.map_or(0, |count| countable.saturating_sub(count));
        let mut walk = RuleMatches::default();
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
