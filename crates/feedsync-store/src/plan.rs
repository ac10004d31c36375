//! Result of a decision's writes: the rules of the change order, the same for every backend.
//!
//! A [`Plan`] holds the new state of everything that the update touches. A backend only has to store it.

use std::collections::BTreeMap;

use feedsync_core::{ItemId, Update};

use crate::collection::Collection;
use crate::decision::{Entry, Put, Snapshot, Write};
use crate::error::StoreError;
use crate::identity::{Identity, LedgerEntry};
use crate::order::{ChangeNumber, Moment};
use crate::people::AuditAction;
use crate::remote::{RemoteId, RemoteState};
use crate::stored::{self, Discarded, DiscardedId, Origin, StoredItem};

/// The state after an update. A store writes all of it in one transaction.
pub struct Plan {
    /// The collection.
    pub collection: Collection,
    /// The endpoint.
    pub identity: Identity,
    /// Touched items; `None` for one that the collection no longer has.
    pub items: BTreeMap<ItemId, Option<StoredItem>>,
    /// New vectors of purged items, which replace the stored ones.
    pub purged: BTreeMap<ItemId, Vec<Update>>,
    /// Rows of the ledger; each replaces the row of its item and authoring line, if there is one. Rows are
    /// read ascending by line.
    pub issued: Vec<(ItemId, LedgerEntry)>,
    /// New entries of the recoverable list; their ids begin with `next_discarded`.
    pub discarded: Vec<Discarded>,
    /// Entries of the recoverable list to remove, if they are there.
    pub recovered: Vec<DiscardedId>,
    /// New states of remotes; one that was removed is left out.
    pub remotes: Vec<(RemoteId, RemoteState)>,
    /// Entries for the audit record; a store without users ignores them.
    pub acts: Vec<AuditAction>,
    /// Set when the clock was ahead and has been corrected. Items whose moment of change is later than the
    /// collection's own then get moments before this one, in their order. The store applies this after the
    /// new items.
    pub redated: Option<Moment>,
    /// Moment of the update.
    pub now: Moment,
}

/// Computes the result of the writes of a decision on a snapshot. `next_discarded` is the first unused id of
/// the recoverable list. An error rejects the whole update.
pub fn plan(
    snapshot: Snapshot,
    next_discarded: DiscardedId,
    writes: Vec<Write>,
) -> Result<Plan, StoreError> {
    let Snapshot { identity, collection, now, mut entries, .. } = snapshot;
    let sent = collection.sent;
    let mut plan = Plan {
        collection,
        identity,
        items: BTreeMap::new(),
        purged: BTreeMap::new(),
        issued: Vec::new(),
        discarded: Vec::new(),
        recovered: Vec::new(),
        remotes: Vec::new(),
        acts: Vec::new(),
        redated: None,
        now,
    };
    let mut is_shown = false;
    for write in writes {
        match write {
            Write::Put(put) => {
                let number = plan.take_number(now)?;
                let entry = key(&mut entries, &put.item.id)?;
                plan.put(entry, put, number);
            }
            Write::Shared { id } => {
                let entry = key(&mut entries, &id)?;
                if let Some(stored) = &mut entry.item {
                    stored.origin = Origin::Mixed;
                    plan.items.insert(id, Some(stored.clone()));
                }
            }
            Write::Discard { ids, reason } => {
                if !ids.is_empty() {
                    plan.collection.horizon = plan.take_number(now)?;
                }
                for id in ids {
                    let gone = plan.remove(key(&mut entries, &id)?, &id)?;
                    plan.discarded.push(Discarded {
                        id: DiscardedId(next_discarded.0 + plan.discarded.len() as u64),
                        collection: plan.collection.name.clone(),
                        item: gone.item,
                        blobs: gone.blobs,
                        reason: reason.clone(),
                        at: now,
                    });
                }
            }
            Write::Purge { ids } => {
                for id in ids {
                    let entry = key(&mut entries, &id)?;
                    let gone = plan.remove(entry, &id)?;
                    stored::absorb(&mut entry.purged, &gone.item);
                    plan.purged.insert(id, entry.purged.clone());
                    plan.collection.horizon = plan.collection.horizon.max(gone.number);
                }
            }
            Write::Issue { item, by, sequence } => {
                let entry = key(&mut entries, &item)?;
                let is_shown = entry.item.as_ref().is_some_and(|stored| stored.number <= sent);
                let row = match entry.issued.iter_mut().find(|issued| issued.by == by) {
                    Some(row) => {
                        if is_shown {
                            row.shown = Some(row.sequence);
                        }
                        row.sequence = row.sequence.max(sequence);
                        row.clone()
                    }
                    None => {
                        let incarnation = plan.identity.by.clone();
                        let row = LedgerEntry { by, sequence, shown: None, incarnation };
                        entry.issued.push(row.clone());
                        row
                    }
                };
                plan.issued.push((item, row));
            }
            Write::Reincarnate { by } => {
                if plan.identity.is_incarnation(&by) {
                    return Err(StoreError::Decision(format!("{by} is not a new incarnation")));
                }
                let retired = std::mem::replace(&mut plan.identity.by, by);
                plan.identity.retired.push(retired);
            }
            Write::Remote { id, state } => plan.remotes.push((id, state)),
            Write::Shown => is_shown = true,
            Write::Record(act) => plan.acts.push(act),
            Write::Recovered(id) => plan.recovered.push(id),
        }
    }
    if is_shown {
        plan.collection.sent = plan.collection.last;
    }
    Ok(plan)
}

fn key<'a>(
    entries: &'a mut BTreeMap<ItemId, Entry>,
    id: &ItemId,
) -> Result<&'a mut Entry, StoreError> {
    entries
        .get_mut(id)
        .ok_or_else(|| StoreError::Decision(format!("{id} is not among the keys of the update")))
}

impl Plan {
    /// Tells whether the update adds nothing: it consists of deletions, purges and states of remotes.
    #[cfg(feature = "sqlite")]
    pub(crate) fn is_without_growth(&self) -> bool {
        self.items.values().flatten().all(|stored| stored.item.winner.deleted)
            && self.discarded.is_empty()
    }

    /// Takes the next number and a moment of its own.
    fn take_number(&mut self, now: Moment) -> Result<ChangeNumber, StoreError> {
        let collection = &mut self.collection;
        collection.last = collection
            .last
            .next()
            .ok_or_else(|| StoreError::NumbersExhausted(collection.name.clone()))?;
        if collection.edited.is_ahead_of(now) {
            self.redated = Some(now);
        }
        collection.edited = collection.edited.followed_at(now);
        Ok(collection.last)
    }

    fn put(&mut self, entry: &mut Entry, put: Put, number: ChangeNumber) {
        let Put { item, created_here, origin, mut blobs } = put;
        blobs.sort_unstable();
        blobs.dedup();
        let edited = self.collection.edited;
        let stored = StoredItem { item, number, edited, created_here, origin, blobs };
        if let Some(before) = &entry.item {
            self.count(before, u64::saturating_sub);
        }
        self.count(&stored, u64::saturating_add);
        self.items.insert(stored.item.id.clone(), Some(stored.clone()));
        entry.item = Some(stored);
    }

    fn remove(&mut self, entry: &mut Entry, id: &ItemId) -> Result<StoredItem, StoreError> {
        let gone = entry
            .item
            .take()
            .ok_or_else(|| StoreError::Decision(format!("{id} cannot be removed: not there")))?;
        self.count(&gone, u64::saturating_sub);
        self.items.insert(id.clone(), None);
        Ok(gone)
    }

    fn count(&mut self, stored: &StoredItem, change: fn(u64, u64) -> u64) {
        let collection = &mut self.collection;
        collection.bytes = change(collection.bytes, stored.item.bytes() as u64);
        let side =
            if stored.item.winner.deleted { &mut collection.deleted } else { &mut collection.live };
        *side = change(*side, 1);
        let conflicted = u64::from(!stored.item.conflicts.is_empty());
        collection.conflicted = change(collection.conflicted, conflicted);
    }
}
