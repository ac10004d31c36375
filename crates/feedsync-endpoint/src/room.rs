//! How many live items a collection may have: looked at where they would become more, in the
//! transaction that would make them so.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use feedsync_store::{Collection, Snapshot, Write};

use crate::endpoint::Endpoint;
use crate::error::EndpointError;

impl Endpoint {
    /// The same endpoint, by whose edits and merges no collection comes to more live items than this;
    /// none are too many if it is 0. What a collection has may always be changed, deleted and merged.
    #[must_use]
    pub fn holding_at_most(&self, items: u64) -> Self {
        Self { most: NonZeroU64::new(items), ..self.clone() }
    }

    /// Whether a collection has as many live items as it may have.
    pub(crate) fn is_full(&self, collection: &Collection) -> bool {
        self.most.is_some_and(|most| collection.live >= most.get())
    }

    /// Whether the collection may have what it has after these writes.
    pub(crate) fn has_room(
        &self,
        snapshot: &Snapshot,
        writes: &[Write],
    ) -> Result<(), EndpointError> {
        let Some(most) = self.most.map(NonZeroU64::get) else { return Ok(()) };
        let puts = writes.iter().filter_map(|write| match write {
            Write::Put(put) => Some((&put.item.id, !put.item.winner.deleted)),
            _ => None,
        });
        // The last write of an item counts.
        let after: BTreeMap<_, _> = puts.collect();
        let (mut more, mut fewer) = (0, 0);
        for (id, lives) in after {
            let lived = snapshot.item(id).is_some_and(|stored| !stored.item.winner.deleted);
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
}
