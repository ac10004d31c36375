//! A schedule of endpoints that exchange only files on a static web server.

use std::rc::Rc;
use std::sync::Arc;

use feedsync_core::{Format, ItemId};
use feedsync_endpoint::Retention;
use feedsync_store::{Image, Moment};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use super::clock::{Surroundings, Time};
use super::files_laws::{Event, Memory, Witness};
use super::files_poll::{Poll, Polled};
use super::peer::{Peer, list, now};
use super::static_files::{Extent, Progress, Server, Version, address, publish};
use super::truth::Truth;

/// Maximum number of rounds of publishing and polling until nothing changes.
const ROUNDS: usize = 12;

/// The part of an endpoint that is not in its store.
struct Station {
    /// The format of its files.
    format: Format,
    /// The endpoints that it polls.
    publishers: Vec<usize>,
    /// Number of steps for which it does not poll.
    away: usize,
    has_joined: bool,
}

/// The simulated world.
pub(crate) struct World {
    random: SmallRng,
    time: Arc<Time>,
    peers: Vec<Peer>,
    stations: Vec<Station>,
    server: Server,
    truth: Truth,
    witness: Witness,
    backups: Vec<(usize, Image, Memory)>,
    purges: bool,
    restores: bool,
    /// Number of items that may be created; with few items, more happens to each.
    items: usize,
    /// Whether each endpoint publishes after each change, as `publish --watch` does.
    watches: bool,
    /// Probability that a cache returns an old copy.
    staleness: f64,
    /// A record of all steps, printed when a schedule fails.
    steps: Vec<String>,
}

/// Dangers that occurred in a schedule; all of them must occur in a run of many.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Met {
    pub(crate) purges: u64,
    pub(crate) discards: u64,
    pub(crate) restores: u64,
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.steps.join("\n"));
        }
    }
}

impl World {
    /// Creates a world with a number of endpoints. Of three, two may be linked only through the third.
    pub(crate) fn new(seed: u64, count: usize) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        let time = Time::new();
        let (is_chain, is_late) = (random.random_bool(0.3), random.random_bool(0.3));
        let mut peers = Vec::new();
        let mut stations = Vec::new();
        for index in 0..count {
            let surroundings =
                Surroundings::new(&time, random.random_range(-30..=30), seed << 8 | index as u64);
            let native = *Format::ALL.choose(&mut random).expect("formats");
            let peer = Peer::new(&format!("peer{index}"), surroundings, native);
            if random.random_bool(0.8) {
                peer.bound_partial_feed(random.random_range(1..5));
            }
            peers.push(peer);
            let others = (0..count).filter(|&other| other != index);
            let is_linked = |other: &usize| !is_chain || index.abs_diff(*other) == 1;
            stations.push(Station {
                format: *Format::ALL.choose(&mut random).expect("formats"),
                publishers: others.filter(is_linked).collect(),
                away: 0,
                has_joined: index + 1 < count || !is_late,
            });
        }
        let witness = Witness::of(count);
        Self {
            purges: random.random_bool(0.6),
            restores: random.random_bool(0.4),
            items: random.random_range(2..10),
            watches: random.random_bool(0.4),
            staleness: *[0.0, 0.3, 0.6, 0.9].choose(&mut random).expect("a choice"),
            random,
            time,
            peers,
            stations,
            server: Server::default(),
            truth: Truth::default(),
            witness,
            backups: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// Runs a schedule, lets all endpoints read all files, and checks the end.
    pub(crate) fn run(mut self) -> Met {
        for _ in 0..self.random.random_range(20..70) {
            self.time.pass(self.random.random_range(1..20));
            self.step();
        }
        self.settle();
        let publishers: Vec<_> = self.stations.iter().map(|it| it.publishers.clone()).collect();
        self.witness.check(&self.truth, &self.peers, &publishers);
        if self.is_calm() {
            self.witness.check_discards(&self.truth);
        }
        let restores = self.steps.iter().filter(|step| step.ends_with("restored")).count() as u64;
        Met {
            purges: u64::from(self.witness.has_purges()),
            discards: u64::from(self.witness.has_discards()),
            restores,
        }
    }

    /// Whether no publisher ever goes back, or seems to, and no process dies while it reads.
    fn is_calm(&self) -> bool {
        !self.restores && self.staleness == 0.0
    }

    fn step(&mut self) {
        let index = self.random.random_range(0..self.peers.len());
        if !self.stations[index].has_joined {
            if self.random.random_bool(0.1) {
                self.join(index);
            }
            return;
        }
        self.stations[index].away = self.stations[index].away.saturating_sub(1);
        match self.random.random_range(0..26) {
            0 if self.truth.items().count() < self.items => {
                self.change(index, "creates", |peer, truth, _| peer.create(truth));
            }
            0..=5 => self.edit(index),
            6 => {
                if let Some(item) = self.some_item(index, false) {
                    self.steps.push(format!("{index} opens {item}"));
                    self.peers[index].open(&item);
                }
            }
            7 => self.change(index, "saves", |peer, truth, _| peer.save_what_was_opened(truth)),
            8 => self.resolve(index),
            9..=12 if !self.watches => self.publish(index),
            9..=19 => self.poll_some(index),
            20..=21 if self.purges => self.purge(index),
            22 if self.restores => {
                self.steps.push(format!("{index} makes a backup"));
                let memory = self.witness.memories[index].clone();
                self.backups.push((index, self.peers[index].store.image(), memory));
            }
            23 if self.restores => self.restore(),
            24 => {
                self.stations[index].away = self.random.random_range(0..12);
                self.steps.push(format!("{index} is away"));
            }
            _ => {
                self.steps.push(format!("{index} crashes"));
                self.peers[index].crash();
            }
        }
    }

    /// Starts an endpoint, empty or as a copy of another one.
    fn join(&mut self, index: usize) {
        self.stations[index].has_joined = true;
        let copied = self.backups.choose(&mut self.random).cloned();
        match copied.filter(|_| self.random.random()) {
            Some((from, image, memory)) => {
                self.steps.push(format!("{index} joins as a copy of {from}"));
                self.peers[index].restore(image);
                self.witness.restore(index, memory, &self.peers[index]);
            }
            None => self.steps.push(format!("{index} joins")),
        }
    }

    fn some_item(&mut self, index: usize, in_conflict: bool) -> Option<ItemId> {
        let items = self.peers[index].stored();
        let items: Vec<_> = items
            .into_iter()
            .map(|stored| stored.item)
            .filter(|item| !in_conflict || !item.conflicts.is_empty())
            .collect();
        items.choose(&mut self.random).map(|item| item.id.clone())
    }

    fn change(
        &mut self,
        index: usize,
        what: &str,
        change: impl FnOnce(&mut Peer, &mut Truth, &mut SmallRng),
    ) {
        change(&mut self.peers[index], &mut self.truth, &mut self.random);
        self.witness.look(index, &self.peers[index], &self.truth, Event::Edit);
        let last = self.truth.last();
        self.steps.push(format!("{index} {what}, edits so far: {last}"));
        if self.watches {
            self.publish_up_to(index, Progress::Done);
        }
    }

    fn edit(&mut self, index: usize) {
        let Some(item) = self.some_item(index, false) else {
            if self.truth.items().count() < self.items {
                self.change(index, "creates", |peer, truth, _| peer.create(truth));
            }
            return;
        };
        let deleted = [None, None, Some(true), Some(true), Some(false)].choose(&mut self.random);
        let deleted = deleted.copied().flatten();
        let what = format!("edits {item}, deleted: {deleted:?}");
        self.change(index, &what, |peer, truth, _| peer.edit(&item, deleted, truth));
    }

    fn resolve(&mut self, index: usize) {
        let Some(item) = self.some_item(index, true) else { return };
        self.change(index, &format!("resolves {item}"), |peer, truth, random| {
            peer.resolve(&item, random.random(), truth);
        });
    }

    fn publish(&mut self, index: usize) {
        let progress = match self.random.random_range(0..6) {
            0 => Progress::OneFile,
            1 => Progress::BothFiles,
            _ => Progress::Done,
        };
        self.publish_up_to(index, progress);
    }

    fn publish_up_to(&mut self, index: usize, progress: Progress) -> bool {
        let format = self.stations[index].format;
        let changed = publish(&mut self.server, &self.peers[index], index, format, progress);
        self.steps.push(format!("{index} publishes, {progress:?}, changed: {changed}"));
        if progress == Progress::Done {
            self.witness.publish(index);
        }
        changed
    }

    fn poll_some(&mut self, here: usize) {
        let publisher = self.stations[here].publishers.choose(&mut self.random).copied();
        if let Some(there) = publisher.filter(|_| self.stations[here].away == 0) {
            let dies = self.random.random_bool(0.1) && !self.is_calm();
            let transactions = if dies { self.random.random_range(0..4) } else { usize::MAX };
            self.poll(here, there, transactions, self.staleness);
        }
    }

    fn poll(&mut self, here: usize, there: usize, transactions: usize, staleness: f64) -> Polled {
        let url = address(there, Extent::Partial, self.stations[there].format);
        let Some(partial) = served(&self.server, &mut self.random, &url, staleness) else {
            return Polled::NotModified;
        };
        let (server, random, witness) = (&self.server, &mut self.random, &mut self.witness);
        let mut show = |version: &Version| {
            let items = version.reading().feed.items.iter();
            witness.show(here, there, items.map(|item| &item.id));
        };
        show(&partial);
        let fetch = |url: &str| {
            let fails = staleness > 0.0 && random.random_bool(0.1);
            let complete = served(server, random, url, staleness).filter(|_| !fails)?;
            show(&complete);
            Some(complete)
        };
        let polled = Poll::new(&mut self.peers[here], there, transactions).run(&partial, fetch);
        self.steps.push(format!("{here} polls {there}, version {}: {polled:?}", partial.etag));
        if polled == Polled::Died {
            self.peers[here].crash();
        }
        self.witness.look(here, &self.peers[here], &self.truth, Event::Poll);
        polled
    }

    fn purge(&mut self, index: usize) {
        let now_there = self.peers[index].endpoint.environment().now();
        let seconds = self.random.random_range(0..200_u64);
        let changed_before = Moment::from_micros(now_there.micros() - seconds * 1_000_000);
        let retention = Retention { changed_before, live: false };
        let count = now(self.peers[index].endpoint.purge(&list(), retention)).expect("a purge");
        self.steps.push(format!("{index} purges {count}"));
        self.witness.look(index, &self.peers[index], &self.truth, Event::Purge);
    }

    /// Restores a backup, once all later edits are also at another endpoint.
    fn restore(&mut self) {
        let Some((index, image, memory)) = self.backups.choose(&mut self.random).cloned() else {
            return;
        };
        self.publish_up_to(index, Progress::Done);
        let readers: Vec<_> = (0..self.peers.len())
            .filter(|&other| self.stations[other].publishers.contains(&index))
            .filter(|&other| self.stations[other].has_joined)
            .collect();
        if readers.is_empty() {
            return;
        }
        for reader in readers {
            self.poll(reader, index, usize::MAX, 0.0);
        }
        self.peers[index].restore(image);
        self.witness.restore(index, memory, &self.peers[index]);
        self.steps.push(format!("{index} is restored"));
    }

    /// Publishes and polls, without stale copies, until nothing changes.
    fn settle(&mut self) {
        for station in &mut self.stations {
            station.has_joined = true;
        }
        for round in 0.. {
            self.steps.push(format!("round {round}"));
            let mut is_at_rest = true;
            for index in 0..self.peers.len() {
                is_at_rest &= !self.publish_up_to(index, Progress::Done);
                for there in self.stations[index].publishers.clone() {
                    is_at_rest &= self.poll(index, there, usize::MAX, 0.0) == Polled::NotModified;
                }
            }
            if is_at_rest {
                return;
            }
            assert!(round < ROUNDS, "no rest after {ROUNDS} rounds");
        }
    }
}

/// Returns a version of a file as the server, or a cache in front of it, has it.
fn served(
    server: &Server,
    random: &mut SmallRng,
    address: &str,
    staleness: f64,
) -> Option<Rc<Version>> {
    let versions = server.versions(address);
    if random.random_bool(staleness) {
        return versions.choose(random).cloned();
    }
    versions.last().cloned()
}
