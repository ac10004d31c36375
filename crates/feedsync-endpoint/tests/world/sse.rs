//! Two endpoints that know SSE 0.91 alone and one that knows FeedSync alone, synchronised through a hub. They
//! use its documents of SSE, partial and complete, and feeds that the hub reads. There are concurrent edits,
//! deletions, resolutions, truncated histories, and lost documents.
//!
//! In the end all show the same version of each item, and the hub has lost no edit that ever reached it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use feedsync_core::sse::{Date, downgrade};
use feedsync_core::{Format, Item, ItemId, Payload, Related, RelatedKind, Sharing, Timestamp};
use feedsync_endpoint::Source;
use feedsync_formats::sse::{export, read_as_feed};
use feedsync_formats::{FeedHead, ReadOptions};
use feedsync_store::{CollectionChange, Environment as _, ItemStore as _, PageLimit};
use rand::rngs::SmallRng;
use rand::seq::IteratorRandom as _;
use rand::{Rng as _, SeedableRng as _};

use super::clock::{Surroundings, Time};
use super::exchange::{Exchange, Weather};
use super::peer::{Peer, list, now, number, numbers};
use super::sse_peer::SsePeer;
use super::truth::{EditNumber, Truth};

pub(crate) struct World {
    random: SmallRng,
    time: Arc<Time>,
    clock: Arc<Surroundings>,
    hub: Peer,
    other: Peer,
    peers: [SsePeer; 2],
    truth: Truth,
    ids: Vec<ItemId>,
    /// Edits that the hub has held.
    seen: BTreeMap<ItemId, BTreeSet<EditNumber>>,
    format: Format,
}

const CALM: Weather =
    Weather { messages: usize::MAX, last_takes_effect: true, page: 100, wire: None };

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        let time = Time::new();
        let surroundings = |number| Surroundings::new(&time, 0, seed * 10 + number);
        let format = if random.random() { Format::Rss } else { Format::Atom };
        let (hub, other) = (
            Peer::new("hub", surroundings(1), format),
            Peer::new("other", surroundings(2), Format::Atom),
        );
        if random.random() {
            let count = random.random_range(1..4);
            let settings =
                BTreeMap::from([("partial".to_owned(), format!("{{\"count\":{count}}}"))]);
            let change =
                CollectionChange { settings: Some(settings), ..CollectionChange::default() };
            now(hub.store.change_collection(&list(), change)).unwrap();
        }
        let mut keep = || random.random_bool(0.2).then(|| random.random_range(0..3));
        let peers = [SsePeer::new("P", keep(), false), SsePeer::new("Q", keep(), true)];
        Self {
            clock: surroundings(3),
            time,
            random,
            hub,
            other,
            peers,
            truth: Truth::default(),
            ids: Vec::new(),
            seen: BTreeMap::new(),
            format: Format::Rss,
        }
    }

    /// Runs the schedule; returns whether any conflict was left.
    pub(crate) fn run(mut self) -> bool {
        for _ in 0..self.random.random_range(10..60) {
            self.step();
            self.look();
        }
        for _ in 0..6 {
            self.time.pass(5);
            for peer in 0..2 {
                self.take(peer);
                self.give(peer);
            }
            self.exchange();
        }
        for peer in 0..2 {
            self.give(peer);
        }
        self.check()
    }

    fn step(&mut self) {
        let peer = self.random.random_range(0..2);
        let id = self.ids.iter().choose(&mut self.random).cloned();
        let date = self.date();
        match (self.random.random_range(0..100), id) {
            (0..12, _) | (_, None) => {
                let id = self.hub.endpoint.new_id();
                self.peers[peer].create(id.clone(), &date, &mut self.truth);
                self.ids.push(id);
            }
            (12..35, Some(id)) => self.peers[peer].edit(&id, false, &date, &mut self.truth),
            (35..40, Some(id)) => self.peers[peer].edit(&id, true, &date, &mut self.truth),
            (40..50, Some(id)) => {
                let deleted = self.random.random_bool(0.2);
                self.other.edit(&id, Some(deleted), &mut self.truth);
            }
            (50..54, Some(id)) => self.hub.edit(&id, Some(false), &mut self.truth),
            (54..58, Some(id)) => self.other.resolve(&id, false, &mut self.truth),
            (58..68, _) => self.take(peer),
            (68..80, _) => self.give(peer),
            (80..88, _) => self.exchange(),
            (88..92, _) => {
                let text = self.peers[1 - peer].publish(&date);
                self.peers[peer].read(1 - peer, &text, &self.truth);
            }
            _ => self.time.pass(self.random.clone().random_range(0..4)),
        }
    }

    fn date(&self) -> Date {
        Date::from(self.clock.now().timestamp().unwrap())
    }

    /// Incorporates a peer's feed into the hub.
    fn take(&mut self, peer: usize) {
        let text = self.peers[peer].publish(&self.date());
        let read = read_as_feed(text.as_bytes(), &ReadOptions::tolerant()).unwrap().reading;
        assert!(read.refused.is_empty(), "{:?}", read.refused);
        let taken =
            now(self.hub.endpoint.incorporate_sse(&list(), Source::Offered, read.feed.items, None));
        assert_eq!(taken.unwrap().counts.refused, 0);
    }

    /// Sends the hub's feed to a peer, and the complete one if the peer is behind.
    fn give(&mut self, peer: usize) {
        let partial = self.document(false);
        if self.peers[peer].read(9, &partial, &self.truth) {
            let complete = self.document(true);
            assert!(!self.peers[peer].read(9, &complete, &self.truth), "it is complete");
        }
    }

    fn document(&self, is_complete: bool) -> String {
        let publication = now(self.hub.endpoint.publish_sse(&list(), is_complete)).unwrap();
        let limit = PageLimit::items(10_000);
        let up_to = Some(publication.up_to);
        let page = now(self.hub.store.changes(&list(), publication.after, up_to, limit)).unwrap();
        let items: Vec<Item<Payload>> = page.items.into_iter().map(|stored| stored.item).collect();
        let all =
            Related { link: "http://hub/all".into(), title: None, kind: RelatedKind::Complete };
        let sharing = Sharing { related: vec![all], ..Sharing::default() };
        let head = FeedHead {
            id: "urn:x",
            title: "T",
            updated: Timestamp::parse("2023-01-01T00:00:00Z").unwrap(),
            author: "A",
            details: None,
            self_link: None,
            next: None,
            links: &[],
            complete: false,
            sharing: Some(&sharing),
        };
        export(self.format, &head, &publication.dates, &items).text
    }

    fn exchange(&mut self) {
        let weather = match self.random.random_bool(0.2) {
            true => Weather { messages: self.random.random_range(1..4), ..CALM },
            false => CALM,
        };
        drop(Exchange::new(&mut self.other, &mut self.hub, 0, weather).sync());
    }

    /// Records the edits that the hub holds now.
    fn look(&mut self) {
        for stored in self.hub.stored() {
            let item = stored.item;
            self.seen.entry(item.id.clone()).or_default().extend(numbers(&item));
        }
    }

    /// Checks the end; returns whether there were conflicts.
    fn check(mut self) -> bool {
        self.look();
        let mut has_conflicts = false;
        for id in self.truth.items() {
            let hub = self.hub.item(id).expect("it reached the hub").item;
            let other = self.other.item(id).expect("it reached the other").item;
            assert_eq!(other.winner, hub.winner, "{id}");
            let shown = downgrade(hub.clone()).item;
            for peer in &self.peers {
                let item = peer.items.get(id).expect("it reached the peer");
                assert_eq!(
                    (item.version, &item.history.latest, item.deleted),
                    (shown.version, &shown.history.latest, shown.deleted),
                    "{id}"
                );
                assert_eq!(number(&item.payload), number(&hub.winner.payload), "{id}");
            }
            let held = numbers(&hub);
            let given_up = |edit: &EditNumber| {
                let peers = self.peers.iter().any(|peer| peer.given_up.contains(edit));
                peers && !self.seen[id].contains(edit)
            };
            for edit in self.truth.open(id) {
                assert!(
                    held.contains(&edit) || given_up(&edit),
                    "{id}: edit {edit} is lost: {hub:?}"
                );
            }
            has_conflicts |= !hub.conflicts.is_empty();
        }
        has_conflicts
    }
}
