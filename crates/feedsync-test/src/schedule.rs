//! Realistic histories of one item: a few endpoints with skewed clocks that edit, resolve, delete and merge.
//! Each edit is signed by the rules of [`feedsync_core::line`].
//!
//! A schedule also records the edits that were not superseded. The state of each endpoint at the end is
//! checked against them.

use std::collections::{BTreeMap, BTreeSet};

use feedsync_core::{
    Base, By, Creation, Edit, Item, ItemId, Keep, Resolution, Resolved, Sequence, Stamp, Timestamp,
    line, merge,
};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// Number of an edit: the payload that it wrote, different for every edit.
pub type EditNumber = u32;

/// An item whose payloads name the edit that wrote them.
pub type TestItem = Item<EditNumber>;

/// Parameters of a schedule.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Number of endpoints, at least one.
    pub endpoints: usize,
    /// Number of steps.
    pub steps: usize,
    /// Whether histories are cleaned up at times.
    pub clean_up: bool,
}

struct Endpoint {
    name: String,
    clock_skew: i64,
    item: Option<TestItem>,
    /// A version that an editor opened some time ago: the edit of its dot, and its base.
    opened: Option<(EditNumber, Base)>,
    issued: BTreeMap<By, Sequence>,
}

/// A running schedule.
pub struct Schedule {
    random: SmallRng,
    endpoints: Vec<Endpoint>,
    clean_up: bool,
    now: i64,
    edits: EditNumber,
    superseded: BTreeSet<EditNumber>,
}

impl Schedule {
    /// Creates a schedule that has not begun; the seed determines it completely.
    pub fn new(seed: u64, shape: Shape) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        let endpoints = (0..shape.endpoints)
            .map(|index| Endpoint {
                name: format!("e{index}"),
                clock_skew: random.random_range(-5..=5),
                item: None,
                opened: None,
                issued: BTreeMap::new(),
            })
            .collect();
        let clean_up = shape.clean_up;
        let mut schedule = Self {
            random,
            endpoints,
            clean_up,
            now: 1_700_000_000,
            edits: 0,
            superseded: BTreeSet::new(),
        };
        schedule.create();
        for _ in 1..shape.steps {
            schedule.step();
        }
        schedule
    }

    /// Returns the items of the endpoints that have it.
    pub fn items(&self) -> Vec<TestItem> {
        self.endpoints.iter().filter_map(|endpoint| endpoint.item.clone()).collect()
    }

    /// Takes one random step.
    pub fn step(&mut self) {
        self.now += self.random.random_range(0..3);
        let endpoint = self.random.random_range(0..self.endpoints.len());
        match self.random.random_range(0..10) {
            0..=3 => self.receive(endpoint),
            4..=6 => self.edit(endpoint),
            7 => self.open(endpoint),
            8 => self.save_opened(endpoint),
            _ => self.resolve(endpoint),
        }
        if self.clean_up
            && self.random.random_range(0..8) == 0
            && let Some(item) = &mut self.endpoints[endpoint].item
        {
            item.winner.history.clean_up();
        }
    }

    /// Exchanges all items between all endpoints, and returns the resulting items.
    pub fn settle(&mut self) -> Vec<TestItem> {
        for _ in 0..2 {
            for to in 0..self.endpoints.len() {
                for from in 0..self.endpoints.len() {
                    self.deliver(from, to);
                }
            }
        }
        self.items()
    }

    /// Returns the edits that were not superseded or resolved.
    pub fn open_edits(&self) -> BTreeSet<EditNumber> {
        (1..=self.edits).filter(|edit| !self.superseded.contains(edit)).collect()
    }

    fn create(&mut self) {
        let (edit, stamp) = (self.next_edit(), self.stamp(0, &[]));
        let id = ItemId::new("item").expect("a valid id");
        let item = Item::create(id, Creation::default(), &stamp, edit).expect("a first edit");
        self.keep(0, item);
    }

    fn receive(&mut self, to: usize) {
        let from = self.random.random_range(0..self.endpoints.len());
        self.deliver(from, to);
    }

    fn deliver(&mut self, from: usize, to: usize) {
        if let Some(incoming) = self.endpoints[from].item.clone() {
            let local = self.endpoints[to].item.take();
            let (merged, _) = merge(local, incoming).expect("one id");
            self.endpoints[to].item = Some(merged);
        }
    }

    fn edit(&mut self, endpoint: usize) {
        let Some(mut item) = self.endpoints[endpoint].item.clone() else { return };
        let stamp = self.stamp(endpoint, &[&item.winner.history]);
        let edit = self.next_edit();
        self.superseded.insert(item.winner.payload);
        let deleted = [None, None, Some(true), Some(false)].choose(&mut self.random).copied();
        item.update(&stamp, Edit { payload: Some(edit), deleted: deleted.flatten() })
            .expect("room");
        self.keep(endpoint, item);
    }

    fn open(&mut self, endpoint: usize) {
        let Endpoint { item: Some(item), opened, .. } = &mut self.endpoints[endpoint] else {
            return;
        };
        let version = &item.winner;
        let base = Base {
            updates: version.updates,
            noconflicts: version.noconflicts,
            history: version.history.clone(),
        };
        *opened = Some((version.payload, base));
    }

    fn save_opened(&mut self, endpoint: usize) {
        let Some((seen, base)) = self.endpoints[endpoint].opened.take() else { return };
        let Some(item) = self.endpoints[endpoint].item.clone() else { return };
        let stamp = self.stamp(endpoint, &[&base.history]);
        let edit = self.next_edit();
        self.superseded.insert(seen);
        let item = item.branch(base, &stamp, edit, false).expect("room");
        self.keep(endpoint, item);
    }

    fn resolve(&mut self, endpoint: usize) {
        let Some(mut item) = self.endpoints[endpoint].item.clone() else { return };
        if item.conflicts.is_empty() {
            return;
        }
        let resolved = if self.random.random() {
            Resolved::All
        } else {
            Resolved::Some(vec![self.random.random_range(0..item.conflicts.len())])
        };
        let edit = self.next_edit();
        let keep = Keep::Content { payload: edit, deleted: None };
        let resolution = Resolution { resolved, keep };
        let resolved_indices =
            item.resolved_indices(&resolution).expect("conflicts that are there");
        let mut base = vec![&item.winner.history];
        self.superseded.insert(item.winner.payload);
        for index in resolved_indices {
            base.push(&item.conflicts[index].history);
            self.superseded.insert(item.conflicts[index].payload);
        }
        let stamp = self.stamp(endpoint, &base);
        item.resolve(&stamp, resolution).expect("room");
        self.keep(endpoint, item);
    }

    /// Returns the stamp of an edit on these histories, with the first authoring line of the endpoint that
    /// may be extended.
    fn stamp(&self, endpoint: usize, base: &[&feedsync_core::History]) -> Stamp {
        let Endpoint { name, clock_skew, issued, .. } = &self.endpoints[endpoint];
        let own = By::new(name).expect("a valid name");
        let line = line::line_for(&own, |by| issued.get(by).copied(), base.iter().copied());
        let (by, issued) = line.expect("a short name");
        let when =
            Timestamp::from_unix_seconds(self.now + clock_skew).expect("a year of four digits");
        Stamp::new(when, by).above(issued)
    }

    fn next_edit(&mut self) -> EditNumber {
        self.edits += 1;
        self.edits
    }

    /// Stores an item that this endpoint has just edited: the edit has the highest number in it.
    fn keep(&mut self, endpoint: usize, item: TestItem) {
        let edited = item.versions().find(|version| version.payload == self.edits);
        let dot = edited.expect("the edit that was just made").dot();
        let by = dot.by().expect("our edits are signed").clone();
        self.endpoints[endpoint].issued.insert(by, dot.sequence());
        self.endpoints[endpoint].item = Some(item);
    }
}
