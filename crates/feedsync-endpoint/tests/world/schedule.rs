//! A schedule: random events in the simulation, decided by a seed, and the check at its end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use feedsync_core::{Format, Item, ItemId, LINE_WINDOW, Payload};
use feedsync_endpoint::Retention;
use feedsync_store::{Image, Moment, StoredItem};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use super::clock::{Surroundings, Time};
use super::exchange::{Exchange, Weather};
use super::peer::{Peer, list, now, number, numbers};
use super::truth::Truth;

/// Dangers of a simulation besides its network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Network,
    Lives,
    Copies,
    Purges,
    Formats,
    /// [`Kind::Lives`], with more edits of an item than its history keeps.
    LongLives,
    /// [`Kind::Copies`], the same way.
    LongCopies,
}

impl Kind {
    /// Whether an item has more edits than its history keeps.
    fn is_long(self) -> bool {
        matches!(self, Self::LongLives | Self::LongCopies)
    }
}

/// The simulated world.
pub(crate) struct World {
    kind: Kind,
    random: SmallRng,
    time: Arc<Time>,
    peers: Vec<Peer>,
    truth: Truth,
    /// Messages that the network may repeat at any time.
    in_flight: Vec<(usize, Vec<Item<Payload>>)>,
    backups: Vec<(usize, Image)>,
    /// Whether a store was copied; this happens at most once.
    copied: bool,
    /// Items that a peer purged.
    purged: BTreeSet<(usize, ItemId)>,
}

impl World {
    pub(crate) fn new(seed: u64, kind: Kind) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        let time = Time::new();
        let count = if matches!(kind, Kind::Copies | Kind::LongCopies) {
            2
        } else {
            random.random_range(3..=5)
        };
        let peers = (0..count)
            .map(|index| {
                let skew = random.random_range(-30..=30);
                let surroundings = Surroundings::new(&time, skew, seed << 8 | index);
                let format = match kind {
                    Kind::Formats => *Format::ALL.choose(&mut random).expect("formats"),
                    _ => Format::Json,
                };
                let mut peer = Peer::new(&format!("peer{index}"), surroundings, format);
                peer.knows_one_format = kind == Kind::Formats && random.random_range(0..3) == 0;
                if kind == Kind::Purges && random.random_range(0..3) == 0 {
                    peer.publish_files();
                }
                peer
            })
            .collect();
        Self {
            kind,
            random,
            time,
            peers,
            truth: Truth::default(),
            in_flight: Vec::new(),
            backups: Vec::new(),
            copied: false,
            purged: BTreeSet::new(),
        }
    }

    /// Runs a schedule, lets all peers exchange everything, and checks the end.
    pub(crate) fn run(mut self) {
        let steps = self.random.random_range(20..60);
        for _ in 0..steps {
            self.time.pass(self.random.random_range(1..20));
            self.step();
        }
        self.settle();
        self.check();
    }

    fn step(&mut self) {
        let peer = self.random.random_range(0..self.peers.len());
        match self.random.random_range(0..20) {
            0 if !self.kind.is_long() => self.peers[peer].create(&mut self.truth),
            1..=2 if self.kind.is_long() => {
                for _ in 0..self.random.random_range(1..2 * LINE_WINDOW) {
                    self.time.pass(1);
                    self.edit(peer);
                }
            }
            0..=5 => self.edit(peer),
            6 => {
                if let Some(item) = self.some_item(peer) {
                    self.peers[peer].open(&item);
                }
            }
            7 => self.peers[peer].save_what_was_opened(&mut self.truth),
            8..=9 => self.resolve(peer),
            10..=15 => self.exchange(peer),
            16 => self.repeat(),
            _ => self.danger(peer),
        }
    }

    fn danger(&mut self, peer: usize) {
        match self.kind {
            Kind::Network | Kind::Formats => self.peers[peer].crash(),
            Kind::Purges => self.purge(peer),
            Kind::Copies | Kind::LongCopies => self.copy(1, false),
            Kind::Lives | Kind::LongLives => match self.random.random_range(0..4) {
                0 => self.peers[peer].crash(),
                1 => self.backups.push((peer, self.peers[peer].store.image())),
                2 => self.restore(),
                _ => self.copy(peer, true),
            },
        }
    }

    fn some_item(&mut self, peer: usize) -> Option<ItemId> {
        let items = self.peers[peer].stored();
        items.choose(&mut self.random).map(|stored| stored.item.id.clone())
    }

    fn edit(&mut self, peer: usize) {
        let Some(item) = self.some_item(peer) else {
            return self.peers[peer].create(&mut self.truth);
        };
        let deleted = [None, None, None, Some(true), Some(false)].choose(&mut self.random);
        self.peers[peer].edit(&item, deleted.copied().flatten(), &mut self.truth);
    }

    fn resolve(&mut self, peer: usize) {
        let conflicted: Vec<_> = self.peers[peer]
            .stored()
            .into_iter()
            .filter(|stored| !stored.item.conflicts.is_empty())
            .map(|stored| stored.item.id)
            .collect();
        if let Some(item) = conflicted.choose(&mut self.random) {
            let only_first = self.random.random();
            self.peers[peer].resolve(item, only_first, &mut self.truth);
        }
    }

    fn exchange(&mut self, here: usize) {
        let there = self.random.random_range(0..self.peers.len());
        let weather = Weather {
            messages: match self.random.random_range(0..3) {
                0 => self.random.random_range(0..6),
                _ => usize::MAX,
            },
            last_takes_effect: self.random.random(),
            page: self.random.random_range(1..5),
            wire: self.wire(),
        };
        let pull_only = self.random.random_range(0..4) == 0;
        self.meet(here, there, weather, pull_only);
    }

    fn wire(&mut self) -> Option<Format> {
        let formats = self.kind == Kind::Formats;
        Format::ALL.choose(&mut self.random).copied().filter(|_| formats)
    }

    /// Exchanges everything in both directions, without disturbance.
    fn meet_in_peace(&mut self, here: usize, there: usize) {
        let weather =
            Weather { messages: usize::MAX, last_takes_effect: true, page: 100, wire: self.wire() };
        self.meet(here, there, weather, false);
    }

    fn meet(&mut self, here: usize, there: usize, weather: Weather, pull_only: bool) {
        if here == there {
            return;
        }
        let [first, second] =
            self.peers.get_disjoint_mut([here, there]).expect("two different peers");
        let mut exchange = Exchange::new(first, second, there, weather);
        // A lost exchange is repeated by a later one.
        let _ = if pull_only { exchange.pull() } else { exchange.sync() };
        let pushed = std::mem::take(&mut exchange.pushed);
        if !pushed.is_empty() {
            self.in_flight.push((there, pushed));
        }
    }

    fn repeat(&mut self) {
        if let Some((to, items)) = self.in_flight.choose(&mut self.random) {
            self.peers[*to].offered(items.clone());
        }
    }

    fn purge(&mut self, peer: usize) {
        let before: BTreeSet<_> = self.ids(peer);
        let seconds = self.random.random_range(0..200_u64);
        let now_there = self.surroundings_now(peer);
        let changed_before = Moment::from_micros(now_there.micros() - seconds * 1_000_000);
        let retention = Retention { changed_before, live: false };
        now(self.peers[peer].endpoint.purge(&list(), retention)).expect("a purge");
        let gone: Vec<_> = before.difference(&self.ids(peer)).cloned().collect();
        self.purged.extend(gone.into_iter().map(|item| (peer, item)));
    }

    fn surroundings_now(&self, peer: usize) -> Moment {
        self.peers[peer].endpoint.environment().now()
    }

    fn ids(&self, peer: usize) -> BTreeSet<ItemId> {
        self.peers[peer].stored().into_iter().map(|stored| stored.item.id).collect()
    }

    /// Restores a backup, once all later edits are also at another peer.
    fn restore(&mut self) {
        let Some((peer, backup)) = self.backups.choose(&mut self.random).cloned() else { return };
        for there in 0..self.peers.len() {
            self.meet_in_peace(peer, there);
        }
        self.peers[peer].restore(backup);
    }

    /// Copies a store. A copied directory is noticed when the copy is opened; a copied machine is not.
    fn copy(&mut self, peer: usize, noticed: bool) {
        if std::mem::replace(&mut self.copied, true) {
            return;
        }
        // Their clocks differ: two edits of one authoring line in one second cannot be told apart.
        let (skew, seed) = (100_000, self.random.random());
        let mut copy = self.peers[peer].copied(Surroundings::new(&self.time, skew, seed));
        if noticed {
            let image = copy.store.image();
            copy.restore(image);
        }
        self.peers.push(copy);
    }

    fn settle(&mut self) {
        for _ in 0..4 {
            for here in 0..self.peers.len() {
                for there in 0..self.peers.len() {
                    self.meet_in_peace(here, there);
                }
            }
        }
    }

    fn check(&self) {
        for id in self.truth.items() {
            let open = self.truth.open(id);
            let mut winners = BTreeSet::new();
            let mut payloads: BTreeMap<u32, &Payload> = BTreeMap::new();
            let stored: Vec<_> = self.peers.iter().map(|peer| peer.item(id)).collect();
            for (index, stored) in stored.iter().enumerate() {
                let held = stored.as_ref().map(|stored| numbers(&stored.item)).unwrap_or_default();
                match self.kind {
                    Kind::Purges => self.check_purged(index, id, &held),
                    // An edit that was issued twice may be beside the edit that superseded it. So may an edit
                    // that a restored store still has, once histories elsewhere no longer list it.
                    Kind::Copies | Kind::LongCopies | Kind::LongLives => {
                        assert!(open.is_subset(&held), "{id} at {index}: {open:?} {held:?}")
                    }
                    _ => assert_eq!(held, open, "{id} at {index}"),
                }
                let Some(StoredItem { item, .. }) = stored else { continue };
                if held == open {
                    winners.insert(number(&item.winner.payload));
                }
                if self.peers[index].knows_one_format {
                    continue;
                }
                for version in item.versions() {
                    let updates = version.history.updates();
                    let lines: BTreeSet<_> =
                        updates.iter().map(feedsync_core::Update::by).collect();
                    assert!(updates.len() <= lines.len() * LINE_WINDOW, "{id} at {index}");
                    let payload = &version.payload;
                    let first = *payloads.entry(number(payload)).or_insert(payload);
                    assert_eq!(payload, first, "{id} at {index}: equal dots, other bytes");
                }
            }
            assert!(winners.len() <= 1, "{id}: {winners:?} are shown as winners");
        }
    }

    /// Checks that a peer that purged a deletion does not get the item back, and that every live edit is
    /// everywhere.
    fn check_purged(&self, peer: usize, id: &ItemId, held: &BTreeSet<u32>) {
        let open = self.truth.open(id);
        let live: BTreeSet<_> =
            open.iter().copied().filter(|&edit| !self.truth.is_deletion(edit)).collect();
        assert!(live.is_subset(held), "{id} at {peer}: {live:?} are open, {held:?} are held");
        if live.is_empty() && self.purged.contains(&(peer, id.clone())) {
            assert!(
                held.iter().all(|&edit| self.truth.is_deletion(edit)),
                "{id} came back at {peer}: {open:?} are open, {held:?} are held"
            );
        }
    }
}
