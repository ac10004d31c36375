//! Purging items that a publisher no longer keeps (3.2, 4.2.4).

use feedsync_core::ItemId;
use feedsync_store::{
    Collection, CollectionName, ItemStoreExt, Moment, PageLimit, Snapshot, StoredItem, Write,
};

use crate::endpoint::Endpoint;
use crate::error::EndpointError;

/// Items that may be purged. Items with open conflicts are never purged. Nor are items that nobody has been
/// shown: a deletion that only this endpoint has would be undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Only items whose last change here is before this.
    pub changed_before: Moment,
    /// Whether live items may be purged too, and not only tombstones.
    pub live: bool,
}

impl Endpoint {
    /// Purges items in change order, oldest first (R-F24); returns their number. Older items that must stay
    /// are skipped: a new reader gets them from the complete feed. Their vectors stay, so that no deletion is
    /// undone.
    pub async fn purge(
        &self,
        collection: &CollectionName,
        retention: Retention,
    ) -> Result<u64, EndpointError> {
        let mut purged = 0;
        let mut after = feedsync_store::ChangeNumber::ZERO;
        loop {
            let page = self.store.changes(collection, after, None, PageLimit::items(500)).await?;
            let ids: Vec<ItemId> = page
                .items
                .iter()
                .filter(|stored| retention.takes(&page.collection, stored))
                .map(|stored| stored.item.id.clone())
                .collect();
            purged += self.purge_these(collection, retention, ids).await?;
            let reached = |stored: &StoredItem| stored.edited >= retention.changed_before;
            if !page.more || page.items.last().is_some_and(reached) {
                return Ok(purged);
            }
            after = page.through;
        }
    }

    async fn purge_these(
        &self,
        collection: &CollectionName,
        retention: Retention,
        candidates: Vec<ItemId>,
    ) -> Result<u64, EndpointError> {
        self.purge_chosen(collection, candidates.clone(), move |snapshot| {
            let takes = |id: &&ItemId| {
                let stored = snapshot.item(id);
                stored.is_some_and(|stored| retention.takes(snapshot.collection(), stored))
            };
            candidates.iter().filter(takes).cloned().collect()
        })
        .await
    }

    /// Purges those of the given items that `choose` selects in the same transaction; returns their number.
    pub(crate) async fn purge_chosen(
        &self,
        collection: &CollectionName,
        keys: Vec<ItemId>,
        choose: impl Fn(&Snapshot) -> Vec<ItemId> + Send + 'static,
    ) -> Result<u64, EndpointError> {
        if keys.is_empty() {
            return Ok(0);
        }
        let (endpoint, name) = (self.clone(), collection.clone());
        let (_, count) = self
            .store
            .decide(collection, keys, move |snapshot| {
                let ids = choose(snapshot);
                let count = ids.len() as u64;
                if ids.is_empty() {
                    return (Vec::new(), 0);
                }
                let mut writes = vec![Write::Purge { ids }];
                writes.extend(endpoint.audit_entry(
                    "purge",
                    &name,
                    None,
                    format!("{count} purged"),
                ));
                (writes, count)
            })
            .await?;
        Ok(count)
    }
}

impl Retention {
    fn takes(self, collection: &Collection, stored: &StoredItem) -> bool {
        stored.edited < self.changed_before
            && stored.number <= collection.sent
            && stored.item.conflicts.is_empty()
            && (self.live || stored.item.winner.deleted)
    }
}
