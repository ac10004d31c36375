//! Conditions that must hold at the end, whichever processes were killed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

use feedsync_core::{By, Item, ItemId, Payload};
use feedsync_store::conformance::wait;
use feedsync_store::{Collection, CollectionName, PageLimit, StoredItem, Transfer};

use super::entry::title;
use super::fleet::Fleet;
use super::follower::Followed;
use super::http::ask;
use super::said::{AcknowledgedVersion, ResponseRecord};

/// Records of all clients.
pub(crate) struct Outcome {
    pub(crate) shared: Vec<String>,
    pub(crate) editors: Vec<ResponseRecord>,
    /// Synchronising endpoints, each with all of its items.
    pub(crate) mergers: Vec<(ResponseRecord, Vec<Item<Payload>>)>,
    pub(crate) followed: Vec<Followed>,
    pub(crate) kills: usize,
    pub(crate) store: Arc<dyn Transfer>,
}

impl Outcome {
    /// Compares the records with the store and all nodes.
    pub(crate) fn judge(&self, fleet: &Fleet) {
        let (collection, items) = self.items();
        self.something_happened(items.len());
        for said in self.told() {
            for written in &said.written {
                is_kept(written, &items);
            }
        }
        for said in &self.editors {
            self.own_items_are_as_told(said, &items);
        }
        self.nothing_was_made_twice(&items);
        for followed in &self.followed {
            sees_each_change_once(followed, &collection, &items);
        }
        for (number, (_, held)) in self.mergers.iter().enumerate() {
            let held: BTreeMap<_, _> = held.iter().map(|item| (&item.id, item)).collect();
            assert_eq!(held.len(), items.len(), "endpoint {number} has as many items");
            for (id, stored) in &items {
                assert_eq!(held.get(id), Some(&&stored.item), "endpoint {number}");
            }
        }
        every_node_says_the_same(&fleet.balancer.nodes());
    }

    fn told(&self) -> impl Iterator<Item = &ResponseRecord> {
        self.editors.iter().chain(self.mergers.iter().map(|(said, _)| said))
    }

    fn items(&self) -> (Collection, BTreeMap<ItemId, StoredItem>) {
        let notes = CollectionName::new("notes").unwrap();
        let mut items = BTreeMap::new();
        let mut after = None;
        loop {
            let limit = PageLimit::items(1_000);
            let page = wait(self.store.items_by_id(&notes, after.as_ref(), limit)).unwrap();
            after = page.items.last().map(|stored| stored.item.id.clone());
            items.extend(page.items.into_iter().map(|stored| (stored.item.id.clone(), stored)));
            if !page.more {
                return (page.collection, items);
            }
        }
    }

    /// Checks that enough happened. A run without events proves nothing.
    fn something_happened(&self, items: usize) {
        let sum = |of: fn(&ResponseRecord) -> usize| self.told().map(of).sum::<usize>();
        let (acknowledged, untold) = (sum(ResponseRecord::acknowledged), sum(|said| said.untold));
        let streams: usize = self.followed.iter().map(|followed| followed.streams).sum();
        eprintln!(
            "{acknowledged} acknowledged writes, {items} items, {untold} requests of unknown outcome, \
             {} stale edits, {} kills, {streams} streams of {} followers, {} events seen",
            sum(|said| said.stale),
            self.kills,
            self.followed.len(),
            self.followed.iter().map(|followed| followed.seen.len()).sum::<usize>(),
        );
        assert!(self.kills >= 5, "{} kills", self.kills);
        assert!(untold > 0, "the kills were felt");
        assert!(streams > self.followed.len(), "the followers had to come back");
        assert!(self.editors.iter().all(|said| said.acknowledged() > 20), "all edited");
        assert!(self.mergers.iter().all(|(said, _)| said.acknowledged() > 5), "all merged");
    }

    fn own_items_are_as_told(&self, said: &ResponseRecord, items: &BTreeMap<ItemId, StoredItem>) {
        let of = |id: &str| &items[&ItemId::new(id).unwrap()].item;
        for (id, expected) in &said.own {
            let item = of(id);
            assert!(!item.winner.deleted && item.conflicts.is_empty(), "{item:?}");
            assert_eq!(title(&item.winner.payload), *expected, "{id}");
        }
        for (id, updates) in &said.deleted {
            let winner = &of(id).winner;
            assert!(winner.deleted, "{id} was deleted");
            assert_eq!(winner.updates.get(), *updates, "{id} was deleted once");
        }
    }

    /// Checks that a request repeated because of an unknown outcome has created only one item.
    fn nothing_was_made_twice(&self, items: &BTreeMap<ItemId, StoredItem>) {
        let mut made: BTreeSet<&str> = self.shared.iter().map(String::as_str).collect();
        for said in self.told() {
            made.extend(said.made.iter().map(String::as_str));
        }
        let found: BTreeSet<&str> = items.keys().map(ItemId::as_str).collect();
        assert_eq!(found, made);
    }
}

/// Checks that an acknowledged version, or one that descends from it, is stored.
fn is_kept(written: &AcknowledgedVersion, items: &BTreeMap<ItemId, StoredItem>) {
    let id = ItemId::new(&written.id).unwrap();
    let stored = items.get(&id).unwrap_or_else(|| panic!("{written:?} was acknowledged"));
    let by = By::new(&written.by).unwrap();
    let known = stored.item.highest(&by).map_or(0, |sequence| sequence.get());
    assert!(known >= written.sequence, "{written:?} was acknowledged, {:?}", stored.item);
    for version in stored.item.versions() {
        let dot = version.dot();
        if dot.by() == Some(&by) && dot.sequence().get() == written.sequence && !version.deleted {
            assert_eq!(title(&version.payload), written.title, "{written:?}");
        }
    }
}

/// Checks that changes were received in order, none twice, and of each item the last one.
fn sees_each_change_once(
    followed: &Followed,
    collection: &Collection,
    items: &BTreeMap<ItemId, StoredItem>,
) {
    for pair in followed.seen.windows(2) {
        assert!(pair[0] < pair[1], "{} was seen after {}", pair[1], pair[0]);
    }
    let seen: BTreeSet<_> = followed.seen.iter().collect();
    for stored in items.values() {
        let place = collection.until(stored.number);
        let begun = followed.seen.first().is_some_and(|first| place < *first);
        assert!(begun || seen.contains(&place), "{place} of {} was missed", stored.item.id);
    }
    assert_eq!(followed.seen.last(), Some(&collection.until(collection.last)));
}

fn every_node_says_the_same(nodes: &[SocketAddr]) {
    for path in [
        "/collections/notes/changes?limit=1000",
        "/collections/notes/complete",
        "/collections/notes.json?limit=1000",
        "/collections",
    ] {
        let answers: Vec<_> = nodes
            .iter()
            .map(|node| {
                let answer = ask(*node, "GET", path, &[], b"").unwrap();
                assert_eq!(answer.status, 200, "{path}");
                (answer.header("etag").map(str::to_owned), answer.body)
            })
            .collect();
        for answer in &answers {
            assert!(!answer.1.is_empty());
            assert!(*answer == answers[0], "{path} is the same from every node");
        }
    }
}
