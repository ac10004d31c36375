//! The same users without a log: each device stores a collection, or documents. The devices exchange messages
//! that are lost, repeated, delayed and reordered.

use std::collections::{BTreeMap, BTreeSet};

use feedsync_core::{By, Item, Payload, Stamp, Timestamp, merge};
use feedsync_log::Millis;
use feedsync_reading_state::{
    FeedAddress, ReaderState, Replica, collection, read_documents, write_document,
};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::deeds::{Deeds, deed};
use crate::log::same;

/// Storage of the data that a device exchanges.
pub(crate) trait Carrier: Clone + Default {
    /// Unit of exchange with another device.
    type Message: Clone;

    /// Stores a local state.
    fn hold(&mut self, state: &ReaderState, line: &str, now: u64);

    /// The joined state of all feeds.
    fn told(&self) -> ReaderState;

    /// All messages to send.
    fn messages(&self) -> Vec<Self::Message>;

    /// Stores a received message.
    fn receive(&mut self, message: Self::Message);

    /// Resolves conflicts.
    fn resolve(&mut self);

    /// Whether two devices store the same, without conflicts.
    fn is_settled_like(&self, other: &Self) -> bool;
}

/// Items of a FeedSync collection.
#[derive(Clone, Default)]
pub(crate) struct Collection(BTreeMap<FeedAddress, Item<Payload>>);

impl Carrier for Collection {
    type Message = (FeedAddress, Item<Payload>);

    fn hold(&mut self, state: &ReaderState, line: &str, now: u64) {
        let when = Timestamp::from_unix_seconds((now / 1_000) as i64).unwrap();
        let stamp = Stamp::new(when, By::new(line).unwrap());
        for (feed, state) in state.feeds() {
            match self.0.get_mut(feed) {
                None => {
                    let (id, creation, payload) = collection::new_item(feed, state);
                    let item = Item::create(id, creation, &stamp, payload).unwrap();
                    self.0.insert(feed.clone(), item);
                }
                Some(item) => {
                    if let Some(edit) = collection::edit(item, feed, state).unwrap() {
                        item.update(&stamp, edit).unwrap();
                    }
                }
            }
        }
    }

    fn told(&self) -> ReaderState {
        let mut state = ReaderState::default();
        for (feed, item) in &self.0 {
            let (address, told) = collection::read_item(item, Some(feed)).unwrap().unwrap();
            state.join_feed(address, told);
        }
        state
    }

    fn messages(&self) -> Vec<Self::Message> {
        self.0.iter().map(|(feed, item)| (feed.clone(), item.clone())).collect()
    }

    fn receive(&mut self, (feed, item): Self::Message) {
        let known = self.0.remove(&feed);
        self.0.insert(feed, merge(known, item).unwrap().0);
    }

    fn resolve(&mut self) {
        for item in self.0.values_mut() {
            if let Some(winner) = collection::resolution(item).unwrap() {
                let resolved = Item { id: item.id.clone(), winner, conflicts: Vec::new() };
                *item = merge(Some(item.clone()), resolved).unwrap().0;
            }
        }
    }

    fn is_settled_like(&self, other: &Self) -> bool {
        self.0 == other.0 && self.0.values().all(|item| item.conflicts.is_empty())
    }
}

/// Documents of a replicating database: for each of them, the conflicting values.
#[derive(Clone, Default)]
pub(crate) struct Documents(BTreeMap<FeedAddress, BTreeSet<String>>);

impl Documents {
    fn joined(texts: &BTreeSet<String>) -> (FeedAddress, String) {
        let texts = texts.iter().map(String::as_str);
        let (feed, state) = read_documents(texts).unwrap().unwrap();
        let text = write_document(&feed, &state);
        (feed, text)
    }
}

impl Carrier for Documents {
    type Message = (FeedAddress, String);

    fn hold(&mut self, state: &ReaderState, _: &str, _: u64) {
        for (feed, state) in state.feeds() {
            // Replaces the values that the writer had seen.
            let text = write_document(feed, state);
            self.0.insert(feed.clone(), [text].into());
        }
    }

    fn told(&self) -> ReaderState {
        let mut state = ReaderState::default();
        for texts in self.0.values() {
            let told = read_documents(texts.iter().map(String::as_str)).unwrap().unwrap();
            state.join_feed(told.0, told.1);
        }
        state
    }

    fn messages(&self) -> Vec<Self::Message> {
        let each = |(feed, texts): (&FeedAddress, &BTreeSet<String>)| {
            texts.iter().map(|text| (feed.clone(), text.clone())).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(each).collect()
    }

    fn receive(&mut self, (feed, text): Self::Message) {
        self.0.entry(feed).or_default().insert(text);
    }

    fn resolve(&mut self) {
        for texts in self.0.values_mut() {
            *texts = [Self::joined(texts).1].into();
        }
    }

    fn is_settled_like(&self, other: &Self) -> bool {
        self.0 == other.0 && self.0.values().all(|texts| texts.len() == 1)
    }
}

/// A device. Its data is on its disk before any of it reaches others.
#[derive(Clone)]
struct Node<C> {
    replica: Replica,
    held: C,
    skew: i64,
    edits: u32,
}

/// Runs a simulation with one kind of storage.
pub(crate) fn run<C: Carrier>(seed: u64) {
    let mut random = SmallRng::seed_from_u64(seed);
    let mut deeds = Deeds::new(&mut random);
    let mut nodes: Vec<Node<C>> = (0..random.random_range(2..=4))
        .map(|number| Node {
            replica: Replica::new(format!("device{number}").parse().unwrap()),
            held: C::default(),
            skew: deeds.skew(&mut random),
            edits: 0,
        })
        .collect();
    let mut late: Vec<C::Message> = Vec::new();
    let mut now = 1_000_000;
    for _ in 0..random.random_range(20..150) {
        now += random.random_range(0..2_000);
        let number = random.random_range(0..nodes.len());
        let node = &mut nodes[number];
        match random.random_range(0..10) {
            0..4 => node.act(&mut deeds, &mut random, now),
            4..6 => late.extend(node.held.messages()),
            6 => node.held.resolve(),
            _ if late.is_empty() => {}
            _ => {
                let at = random.random_range(0..late.len());
                // A message may be delivered again, or never.
                let message = match random.random_range(0..3) {
                    0 => late[at].clone(),
                    _ => late.swap_remove(at),
                };
                if random.random_range(0..6) > 0 {
                    node.receive(message);
                }
            }
        }
    }
    settle(&mut nodes);
    let expected = deeds.state();
    for (number, node) in nodes.iter().enumerate() {
        same(&node.held.told(), &expected, &format!("device {number}"));
        same(node.replica.state(), &expected, &format!("the replica of device {number}"));
        assert!(node.held.is_settled_like(&nodes[0].held), "device {number} holds something else");
    }
    deeds.check();
}

impl<C: Carrier> Node<C> {
    fn act(&mut self, deeds: &mut Deeds, random: &mut SmallRng, now: u64) {
        let (feed, action) = deed(random);
        let local = Millis::new(now.saturating_add_signed(self.skew));
        let before = self.replica.state().clone();
        if self.replica.act(&feed, &action, local) {
            deeds.done(&self.replica.state().changes_missing_in(&before), &before, now);
        }
        self.edits += 1;
        // Each edit has its own authoring line, so that none covers edits that it has not seen.
        let line = format!("{}.{}", self.replica.device(), self.edits);
        self.held.hold(self.replica.state(), &line, now);
    }

    fn receive(&mut self, message: C::Message) {
        self.held.receive(message);
        self.replica.merge_state(self.held.told());
    }
}

/// All devices exchange all messages, and all resolve concurrently.
fn settle<C: Carrier>(nodes: &mut [Node<C>]) {
    for _ in 0..3 {
        let all: Vec<C::Message> = nodes.iter().flat_map(|node| node.held.messages()).collect();
        for node in &mut *nodes {
            all.iter().for_each(|message| node.receive(message.clone()));
            node.held.resolve();
        }
    }
}
