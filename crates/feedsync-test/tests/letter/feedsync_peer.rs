//! A peer that knows FeedSync 1.0.2 alone, in each format.

use std::collections::{BTreeMap, BTreeSet};

use crate::letter::document::{Document, Format};
use crate::letter::item::{Item, Version};
use crate::letter::peer::Peer;
use feedsync_core::Resolved;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use crate::each;
use crate::ledger::Ledger;
use crate::ours::{Ours, of_ours};

/// A version in a form that must be equal on both sides.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Plain {
    updates: u32,
    deleted: bool,
    noconflicts: Option<bool>,
    title: Option<String>,
    topmost: (u32, Option<String>, Option<String>),
    history: BTreeSet<(u32, Option<String>, Option<String>)>,
}

impl Plain {
    fn of(version: &Version) -> Self {
        let stamp = |update: &crate::letter::item::Update| {
            let (sequence, when, by) = update.stamp();
            (sequence, when.map(str::to_owned), by.map(str::to_owned))
        };
        Self {
            updates: version.updates,
            deleted: version.deleted,
            noconflicts: version.noconflicts,
            title: version.content.title(),
            topmost: stamp(version.topmost()),
            history: version.history.iter().map(stamp).collect(),
        }
    }
}

/// Winners and conflicts by id.
type State = BTreeMap<String, (Plain, BTreeSet<Plain>)>;

fn state<'a>(items: impl Iterator<Item = &'a Item>) -> State {
    let plain = |item: &Item| {
        let conflicts = item.conflicts.iter().map(Plain::of).collect();
        (item.id.clone(), (Plain::of(&item.winner), conflicts))
    };
    items.map(plain).collect()
}

/// One schedule.
struct World {
    random: SmallRng,
    format: Format,
    ours: Ours,
    peer: Peer,
    ledger: Ledger,
}

impl World {
    async fn new(seed: u64, format: Format, is_hub: bool) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        let native = *Format::ALL.choose(&mut random).unwrap();
        let (ledger, window) = (Ledger::default(), random.random_range(1..6));
        let ours = Ours::new(seed, &ledger, of_ours(native), window, is_hub).await;
        let peer = Peer::new("PEER1750", format, random.random_range(1..6));
        Self { random, format, ours, peer, ledger }
    }

    /// Runs the schedule; returns the number of items that were in conflict at any time.
    async fn run(mut self) -> usize {
        let mut in_conflict = BTreeSet::new();
        for _ in 0..self.random.random_range(10..50) {
            self.ledger.pass(self.random.random_range(0..3));
            self.step().await;
            let conflicted = self.peer.items().filter(|item| !item.conflicts.is_empty());
            in_conflict.extend(conflicted.map(|item| item.id.clone()));
        }
        for _ in 0..3 {
            self.read_ours().await;
            self.read_peers().await;
        }
        self.read_ours().await;
        self.check().await;
        in_conflict.len()
    }

    async fn step(&mut self) {
        let is_peer = self.random.random();
        let deleted = *[None, None, Some(true), Some(false)].choose(&mut self.random).unwrap();
        match self.random.random_range(0..16) {
            0 if is_peer => {
                let id = format!("peer_item-{}", self.ledger.ids().count());
                let title = self.ledger.next();
                self.peer.create(&id, &title, &self.ledger.when());
                self.ledger.made(&id, &title, false, Vec::new());
            }
            0 => self.ours.create(&mut self.ledger).await,
            1..=7 if is_peer => {
                let Some(item) = self.peers_item(false) else { return };
                let title = self.ledger.next();
                let deleted = deleted.unwrap_or(item.winner.deleted);
                let when = self.ledger.when();
                let superseded = self.peer.edit(&item.id, &title, deleted, &when);
                self.ledger.made(&item.id, &title, deleted, superseded);
            }
            1..=7 => {
                let id = self.ledger.ids().cloned().collect::<Vec<_>>();
                let Some(id) = id.choose(&mut self.random) else { return };
                self.ours.edit(id, deleted, &mut self.ledger).await;
            }
            8..=9 if is_peer => {
                let Some(item) = self.peers_item(true) else { return };
                let all: Vec<_> = (0..item.conflicts.len()).collect();
                let which = if self.random.random() { &all[..1] } else { &all[..] };
                let title = self.ledger.next();
                let when = self.ledger.when();
                let superseded = self.peer.resolve(&item.id, which, &title, false, &when);
                self.ledger.made(&item.id, &title, false, superseded);
            }
            8..=9 => {
                let ids = self.ledger.ids().cloned().collect::<Vec<_>>();
                let Some(id) = ids.choose(&mut self.random) else { return };
                let only_first = self.random.random();
                let which = if only_first { Resolved::Some(vec![0]) } else { Resolved::All };
                self.ours.resolve(id, which, &mut self.ledger).await;
            }
            10..=12 => self.read_ours().await,
            _ => self.read_peers().await,
        }
    }

    fn peers_item(&mut self, in_conflict: bool) -> Option<Item> {
        let items = self.peer.items().filter(|item| !in_conflict || !item.conflicts.is_empty());
        items.collect::<Vec<_>>().choose(&mut self.random).map(|item| (*item).clone())
    }

    /// Merges our partial feed into the peer, and the complete one if the peer is behind.
    async fn read_ours(&mut self) {
        let partial = self.ours.feed(self.format, false).await;
        let complete = self.ours.feed(self.format, true).await;
        let read = self.peer.read(&partial, |_| complete.clone());
        read.unwrap_or_else(|error| panic!("{error}: {partial} {complete}"));
    }

    /// Merges the peer's partial or complete feed into our endpoint.
    async fn read_peers(&mut self) {
        let is_complete = self.random.random_bool(0.7);
        let document = if is_complete { self.peer.complete() } else { self.peer.partial() };
        self.ours.take(&document, self.format.media_type()).await;
        if !is_complete {
            // The position in the peer's feed is not stored, so all of it is read the next time.
            self.ours.take(&self.peer.complete(), self.format.media_type()).await;
        }
    }

    async fn check(&self) {
        let text = self.ours.feed(self.format, true).await;
        let document =
            Document::read(self.format, &text).unwrap_or_else(|error| panic!("{error}: {text}"));
        let (ours, theirs) = (state(document.items.iter()), state(self.peer.items()));
        assert_eq!(ours, theirs);
        for id in self.ledger.ids() {
            let (winner, conflicts) = &ours[id];
            let mut held = BTreeSet::new();
            for Plain { title, deleted, .. } in std::iter::once(winner).chain(conflicts) {
                let title = title.clone().expect("every edit writes a title");
                assert_eq!(*deleted, self.ledger.is_deletion(&title), "{id}: {title}");
                held.insert(title);
            }
            assert_eq!(held, self.ledger.open(id), "{id}");
        }
    }
}

fn agree(format: Format, is_hub: bool) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut conflicts = 0;
    let name = format!("{format:?}, hub: {is_hub}");
    each(&name, |seed| {
        conflicts += runtime.block_on(async { World::new(seed, format, is_hub).await.run().await });
    });
    assert!(conflicts > 0 || std::env::var_os("FEEDSYNC_SEED").is_some(), "nobody was in conflict");
}

#[test]
fn peer_of_the_letter_agrees_with_us_through_files_of_atom() {
    agree(Format::Atom, false);
}

#[test]
fn peer_of_the_letter_agrees_with_us_through_files_of_rss() {
    agree(Format::Rss, false);
}

#[test]
fn peer_of_the_letter_agrees_with_us_through_files_of_opml() {
    agree(Format::Opml, false);
}

#[test]
fn peer_of_the_letter_agrees_with_us_through_files_of_pox() {
    agree(Format::Pox, false);
}

#[test]
fn peer_of_the_letter_agrees_with_us_through_files_of_json() {
    agree(Format::Json, false);
}

#[test]
fn peer_of_the_letter_agrees_with_a_hub_in_each_format() {
    for format in Format::ALL {
        agree(format, true);
    }
}
