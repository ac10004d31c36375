//! Limits of collections: number of live items, and number of bytes that may be added. They are checked in
//! the transaction that would add something. The caller determines the number of bytes beforehand.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use feedsync_core::{Item, ItemId, Payload, Version};
use feedsync_store::{Snapshot, Write};

use crate::endpoint::Endpoint;
use crate::error::EndpointError;
use crate::settings::is_database;

impl Endpoint {
    /// Returns the same endpoint with a maximum number of live items in a collection, for edits and merges; 0
    /// is no limit. Items of a full collection can always be changed, deleted and merged.
    #[must_use]
    pub fn with_item_limit(&self, items: u64) -> Self {
        Self { most: NonZeroU64::new(items), ..self.clone() }
    }

    /// Returns the same endpoint with a maximum number of bytes by which an edit or merge may enlarge the
    /// payloads of a collection. Edits that make nothing larger are always possible.
    #[must_use]
    pub fn with_growth_limit(&self, bytes: u64) -> Self {
        Self { growth: Some(bytes), ..self.clone() }
    }

    #[cfg(feature = "databases")]
    /// Whether a collection has reached its maximum number of live items.
    pub(crate) fn is_full(&self, collection: &feedsync_store::Collection) -> bool {
        self.most.is_some_and(|most| collection.live >= most.get())
    }

    /// Checks that the collection stays within its limits after these writes.
    pub(crate) fn check_limits(
        &self,
        snapshot: &Snapshot,
        writes: &[Write],
    ) -> Result<(), EndpointError> {
        if self.most.is_none() && self.growth.is_none() {
            return Ok(());
        }
        let puts = writes.iter().filter_map(|write| match write {
            Write::Put(put) => Some((&put.item.id, &put.item)),
            _ => None,
        });
        // The last write of an item counts.
        let after: BTreeMap<_, _> = puts.collect();
        self.check_item_limit(snapshot, &after)?;
        self.check_byte_limit(snapshot, &after)
    }

    fn check_item_limit(
        &self,
        snapshot: &Snapshot,
        after: &BTreeMap<&ItemId, &Item<Payload>>,
    ) -> Result<(), EndpointError> {
        let Some(most) = self.most.map(NonZeroU64::get) else { return Ok(()) };
        let (mut more, mut fewer) = (0, 0);
        for (id, item) in after {
            let lived = snapshot.item(id).is_some_and(|stored| !stored.item.winner.deleted);
            let lives = !item.winner.deleted;
            more += u64::from(lives && !lived);
            fewer += u64::from(lived && !lives);
        }
        let collection = snapshot.collection();
        if more <= fewer || collection.live + more - fewer <= most {
            return Ok(());
        }
        let (name, live) = (collection.name.clone(), collection.live);
        Err(EndpointError::Full { collection: name, live, most, more: more - fewer })
    }

    fn check_byte_limit(
        &self,
        snapshot: &Snapshot,
        after: &BTreeMap<&ItemId, &Item<Payload>>,
    ) -> Result<(), EndpointError> {
        let Some(room) = self.growth else { return Ok(()) };
        // A bridged collection also stores former revisions.
        let keeps_revisions = is_database(&snapshot.collection().settings);
        let (mut held, mut wanted, mut revisions) = (0, 0, 0);
        for (id, item) in after {
            let before = snapshot.item(id).map(|stored| &stored.item);
            held += before.map_or(0, Item::bytes);
            wanted += item.bytes();
            if keeps_revisions && !item.winner.deleted {
                let is_new = |version: &&Version<Payload>| {
                    before
                        .is_none_or(|it| it.versions().all(|old| !old.dot().is_same(version.dot())))
                };
                let new = item.versions().filter(is_new);
                revisions += new.map(|version| version.payload.bytes()).sum::<usize>();
            }
        }
        let more = (wanted.saturating_sub(held) + revisions) as u64;
        if more <= room {
            return Ok(());
        }
        Err(EndpointError::NoRoom { collection: snapshot.collection().name.clone(), more, room })
    }
}
