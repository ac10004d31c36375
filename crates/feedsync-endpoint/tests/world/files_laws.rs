//! Invariants of a simulation with files alone: after each step, and at the end.

use std::collections::{BTreeMap, BTreeSet};

use feedsync_core::{Item, ItemId, Payload};

use super::peer::{Peer, numbers};
use super::truth::{EditNumber, Truth};

type Edits = BTreeMap<ItemId, BTreeSet<EditNumber>>;

/// A kind of change at an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// Its users changed an item.
    Edit,
    /// It read files of another endpoint, and may have discarded items.
    Poll,
    /// It purged tombstones.
    Purge,
}

/// Edits that one endpoint holds, and edits that it has held, published and lost.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory {
    held: Edits,
    seen: Edits,
    /// Edits in its files that its store marked as sent.
    published: BTreeSet<EditNumber>,
    discarded: BTreeSet<EditNumber>,
    /// Deletions that it purged.
    purged: BTreeSet<EditNumber>,
    /// Endpoints whose files showed it an item, and itself where its users changed one.
    sources: BTreeMap<ItemId, BTreeSet<usize>>,
}

/// The memories of all endpoints.
#[derive(Debug)]
pub(crate) struct Witness {
    pub(crate) memories: Vec<Memory>,
    /// Deletions that any endpoint purged.
    purged: BTreeSet<EditNumber>,
}

fn held(peer: &Peer) -> Edits {
    let items = peer.stored().into_iter();
    items.map(|stored| (stored.item.id.clone(), numbers(&stored.item))).collect()
}

impl Witness {
    /// Creates a witness of a number of endpoints that hold nothing yet.
    pub(crate) fn of(count: usize) -> Self {
        Self { memories: vec![Memory::default(); count], purged: BTreeSet::new() }
    }

    /// Compares the edits that an endpoint holds with those before the event: nothing goes back.
    pub(crate) fn look(&mut self, index: usize, peer: &Peer, truth: &Truth, event: Event) {
        let now = held(peer);
        let memory = &mut self.memories[index];
        for (id, before) in &memory.held {
            let after = now.get(id);
            for edit in before {
                let later = truth.later(id, *edit);
                let stays = |after: &BTreeSet<_>| after.contains(edit) || !later.is_disjoint(after);
                if after.is_some_and(stays) {
                    continue;
                }
                assert!(after.is_none(), "{id} at {index}: edit {edit} gave way to {after:?}");
                match event {
                    Event::Edit => panic!("{id} at {index}: an edit removed it"),
                    Event::Purge => {
                        assert!(truth.is_deletion(*edit), "{id} at {index}: {edit} is no deletion");
                        assert!(
                            memory.published.contains(edit),
                            "{id} at {index}: deletion {edit} was purged before it was published"
                        );
                        self.purged.insert(*edit);
                        memory.purged.insert(*edit);
                    }
                    Event::Poll => {
                        let is_dead =
                            self.purged.contains(edit) || !later.is_disjoint(&self.purged);
                        assert!(
                            is_dead,
                            "{id} at {index}: edit {edit} was discarded, and nobody had purged its deletion"
                        );
                        memory.discarded.insert(*edit);
                    }
                }
            }
        }
        for (id, edits) in &now {
            if event == Event::Edit && memory.held.get(id) != Some(edits) {
                memory.sources.entry(id.clone()).or_default().insert(index);
            }
            memory.seen.entry(id.clone()).or_default().extend(edits);
        }
        memory.held = now;
    }

    /// Records that an endpoint read a file with these items.
    pub(crate) fn show<'a>(
        &mut self,
        reader: usize,
        publisher: usize,
        ids: impl Iterator<Item = &'a ItemId>,
    ) {
        for id in ids {
            self.memories[reader].sources.entry(id.clone()).or_default().insert(publisher);
        }
    }

    /// Records that its files show what it holds.
    pub(crate) fn publish(&mut self, index: usize) {
        let memory = &mut self.memories[index];
        memory.published.extend(memory.held.values().flatten());
    }

    /// Restores a backup together with the memory of that time.
    pub(crate) fn restore(&mut self, index: usize, backup: Memory, peer: &Peer) {
        let memory = &mut self.memories[index];
        let published = &memory.published | &backup.published;
        *memory = Memory { published, ..backup };
        assert_eq!(memory.held, held(peer));
    }

    /// Whether anything was purged.
    pub(crate) fn has_purges(&self) -> bool {
        !self.purged.is_empty()
    }

    /// Whether anything was discarded.
    pub(crate) fn has_discards(&self) -> bool {
        self.memories.iter().any(|memory| !memory.discarded.is_empty())
    }

    /// Checks what all endpoints hold at the end. `publishers` are those that each endpoint polls. A deletion
    /// that an endpoint in the middle has purged does not reach those behind it.
    pub(crate) fn check(&self, truth: &Truth, peers: &[Peer], publishers: &[Vec<usize>]) {
        for id in truth.items() {
            let open = truth.open(id);
            let none = BTreeSet::new();
            for (index, memory) in self.memories.iter().enumerate() {
                let read =
                    publishers[index].iter().filter_map(|&it| self.memories[it].held.get(id));
                let read: BTreeSet<EditNumber> = read.flatten().copied().collect();
                let held = memory.held.get(id).unwrap_or(&none);
                let seen = memory.seen.get(id).unwrap_or(&none);
                let place = format!("{id} at {index}: {open:?} are open, {held:?} are held");
                for edit in open.iter().filter(|edit| !truth.is_deletion(**edit)) {
                    assert!(held.contains(edit), "{place}: edit {edit} is lost");
                }
                for edit in held.difference(&open) {
                    let later = truth.later(id, *edit);
                    assert!(
                        (&later & seen).is_subset(&memory.discarded),
                        "{place}: {edit} is undone, and it knew better"
                    );
                    assert!(
                        later.is_disjoint(&read),
                        "{place}: others have a later one than {edit}"
                    );
                }
                for edit in read.difference(held) {
                    let later = truth.later(id, *edit);
                    let knew = seen.contains(edit) || !later.is_disjoint(seen);
                    assert!(knew, "{place}: edit {edit}, which others hold, never came");
                }
                if self.purged.is_empty() {
                    assert_eq!(*held, open, "{place}, and nobody purged anything");
                }
            }
        }
        self.check_equal(peers);
    }

    /// Checks that an endpoint with one source for an item does not keep it after that publisher has purged
    /// its deletion. This holds only where no publisher went back, and no cache made it look so.
    pub(crate) fn check_discards(&self, truth: &Truth) {
        for (index, memory) in self.memories.iter().enumerate() {
            for (id, held) in &memory.held {
                let sources: Vec<_> = memory.sources[id].iter().collect();
                let [publisher] = sources[..] else { continue };
                let purged = &self.memories[*publisher].purged;
                let is_gone = |edit: &EditNumber| !truth.later(id, *edit).is_disjoint(purged);
                if held.iter().all(|edit| truth.is_deletion(*edit)) {
                    continue; // a tombstone stays
                }
                assert!(
                    !held.iter().all(is_gone),
                    "{id} at {index}: {held:?} are held, and {publisher} purged their deletion"
                );
            }
        }
    }

    /// Checks that endpoints that hold the same versions hold the same item, to the last byte.
    fn check_equal(&self, peers: &[Peer]) {
        let mut first: BTreeMap<(ItemId, BTreeSet<EditNumber>), Item<Payload>> = BTreeMap::new();
        for peer in peers {
            for stored in peer.stored() {
                let mut item = stored.item;
                item.conflicts.sort_by_key(|version| format!("{:?}", version.dot()));
                let key = (item.id.clone(), numbers(&item));
                let known = first.entry(key).or_insert_with(|| item.clone());
                assert_eq!(*known, item);
            }
        }
    }
}
