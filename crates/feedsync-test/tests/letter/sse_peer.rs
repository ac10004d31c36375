//! A peer that knows SSE 0.91 alone, in RSS and in OPML.

use std::collections::{BTreeMap, BTreeSet};

use crate::letter::document;
use crate::letter::sse::{Item, Stamp, merge};
use crate::letter::sse_document::{Format, NAMESPACES, read, title, write};
use feedsync_core::Resolved;
use feedsync_formats::sse::export;
use feedsync_formats::{FeedHead, entry};
use feedsync_store::PageLimit;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use crate::each;
use crate::ledger::Ledger;
use crate::ours::{Ours, Way, notes, of_ours};

/// One schedule.
struct World {
    random: SmallRng,
    format: Format,
    namespace: &'static str,
    ours: Ours,
    /// The item set of the peer.
    peer: BTreeMap<String, Item>,
    /// Number of earlier updates of an item that the peer keeps.
    keep: usize,
    ledger: Ledger,
    /// Edits that we have held.
    seen: BTreeSet<String>,
    /// Whether the peer ever found a conflict that we had not flagged.
    conflicts: bool,
}

impl World {
    async fn new(seed: u64, format: Format, is_hub: bool) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        let native = match format {
            Format::Rss => document::Format::Rss,
            Format::Opml => document::Format::Opml,
        };
        let native = if random.random() { native } else { document::Format::Atom };
        let (ledger, window) = (Ledger::default(), random.random_range(1..6));
        let ours = Ours::new(seed, &ledger, of_ours(native), window, is_hub).await;
        let keep = if random.random_bool(0.2) { random.random_range(0..3) } else { usize::MAX };
        Self {
            format,
            namespace: NAMESPACES.choose(&mut random).unwrap(),
            random,
            ours,
            peer: BTreeMap::new(),
            keep,
            ledger,
            seen: BTreeSet::new(),
            conflicts: false,
        }
    }

    /// Runs the schedule; returns whether the peer found a conflict at any time.
    async fn run(mut self) -> bool {
        for _ in 0..self.random.random_range(10..50) {
            self.ledger.pass(self.random.random_range(0..3));
            self.step().await;
            self.look().await;
        }
        for _ in 0..4 {
            self.read_ours().await;
            self.read_peers().await;
            self.look().await;
        }
        self.read_ours().await;
        self.check().await;
        self.conflicts
    }

    async fn step(&mut self) {
        let is_peer = self.random.random();
        let ids: Vec<_> = self.ledger.ids().cloned().collect();
        let id = ids.choose(&mut self.random).cloned();
        let deleted = *[None, None, Some(true), Some(false)].choose(&mut self.random).unwrap();
        match (self.random.random_range(0..14), id) {
            (0, _) | (_, None) if is_peer => {
                let id = format!("peer_item-{}", ids.len());
                let (title, stamp) = self.edit();
                let item = Item::create(id.clone(), self.format.content(&title), stamp);
                self.peer.insert(id.clone(), item);
                self.ledger.made(&id, &title, false, Vec::new());
            }
            (0, _) | (_, None) => self.ours.create(&mut self.ledger).await,
            (1..=6, Some(id)) if is_peer => self.peer_edits(&id, deleted.unwrap_or(false)),
            (1..=6, Some(id)) => self.ours.edit(&id, deleted, &mut self.ledger).await,
            (7, Some(id)) => self.ours.resolve(&id, Resolved::All, &mut self.ledger).await,
            (8..=10, _) => self.read_ours().await,
            _ => self.read_peers().await,
        }
    }

    /// Returns the title and stamp of the peer's next edit.
    fn edit(&mut self) -> (String, Stamp) {
        let title = self.ledger.next();
        let when = self.ledger.when();
        let (day, time) = (&when[8..10], &when[11..19]);
        // 1 March 2026 was a Sunday.
        let names = ["Sat", "Sun", "Mon", "Tue", "Wed", "Thu", "Fri"];
        let name = names[day.parse::<usize>().unwrap() % 7];
        let when = Some(format!("{name}, {day} Mar 2026 {time} GMT"));
        (title, Stamp { when, by: Some("PEER1750".to_owned()) })
    }

    fn peer_edits(&mut self, id: &str, deleted: bool) {
        let Some(mut item) = self.peer.get(id).cloned() else { return };
        let records = item.conflicts.iter().filter_map(|conflict| conflict.content.as_ref());
        let superseded = std::iter::once(&item.content).chain(records).filter_map(title).collect();
        let (title, stamp) = self.edit();
        item.update(self.format.content(&title), deleted, stamp, self.keep);
        self.peer.insert(id.to_owned(), item);
        self.ledger.made(id, &title, deleted, superseded);
    }

    /// Returns our document of SSE, partial or complete.
    async fn document(&self, is_complete: bool) -> String {
        let format = match self.format {
            Format::Rss => feedsync_core::Format::Rss,
            Format::Opml => feedsync_core::Format::Opml,
        };
        if let Way::Hub(_) = self.ours.way {
            // A hub waits until the second of the last change is over.
            self.ledger.pass(1);
            let path = if is_complete { "sse-complete" } else { "sse" };
            return self.ours.get(&format!("{path}{}", feedsync_formats::suffix(format))).await;
        }
        let publication = self.ours.endpoint.publish_sse(&notes(), is_complete).await.unwrap();
        let (limit, up_to) = (PageLimit::items(10_000), Some(publication.up_to));
        let store = self.ours.endpoint.store();
        let page = store.changes(&notes(), publication.after, up_to, limit).await.unwrap();
        let items: Vec<_> = page.items.into_iter().map(|stored| stored.item).collect();
        let head = FeedHead {
            id: "urn:x:ours",
            title: "Notes",
            updated: "2026-01-02T03:04:05Z".parse().unwrap(),
            author: "ours",
            details: None,
            self_link: None,
            next: None,
            links: &[],
            complete: false,
            sharing: None,
        };
        export(format, &head, &publication.dates, &items).text
    }

    async fn items(&self, is_complete: bool) -> Vec<Item> {
        let text = self.document(is_complete).await;
        read(self.format, &text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// Merges our partial document and then the complete one into the peer. Windows of dates are tested
    /// elsewhere.
    async fn read_ours(&mut self) {
        for is_complete in [false, true] {
            for incoming in self.items(is_complete).await {
                let local = self.peer.get(&incoming.id).cloned();
                let is_flagged = incoming.conflict || local.as_ref().is_some_and(|it| it.conflict);
                let merged = merge(local, incoming);
                self.conflicts |= merged.conflict && !is_flagged;
                self.peer.insert(merged.id.clone(), merged);
            }
        }
    }

    /// Incorporates the peer's document into our endpoint.
    async fn read_peers(&self) {
        let items: Vec<_> = self.peer.values().cloned().collect();
        let text = write(self.format, self.namespace, &items);
        self.ours.take_sse(&text, self.format.media_type()).await;
    }

    /// Returns the titles of all versions of each item that we hold.
    async fn held(&self) -> BTreeMap<String, BTreeSet<String>> {
        let titles = |item: &feedsync_core::Item<feedsync_core::Payload>| {
            let versions = item.versions();
            versions.filter_map(|version| entry(&version.payload).title).collect()
        };
        let stored = self.ours.stored().await;
        stored.iter().map(|it| (it.item.id.to_string(), titles(&it.item))).collect()
    }

    async fn look(&mut self) {
        let held = self.held().await;
        self.seen.extend(held.into_values().flatten());
    }

    /// Checks that both have the same winners with the same histories, and that no edit that we have seen is
    /// lost.
    async fn check(&self) {
        let ours = self.items(true).await;
        assert_eq!(ours.len(), self.peer.len());
        for item in &ours {
            let theirs = &self.peer[&item.id];
            let winner = |item: &Item| {
                (item.version, item.history.clone(), item.deleted, title(&item.content))
            };
            assert_eq!(winner(item), winner(theirs), "{}", item.id);
            let title = title(&item.content).expect("every edit writes a title");
            assert_eq!(item.deleted, self.ledger.is_deletion(&title), "{}: {title}", item.id);
            for (ours, theirs) in item.updates.iter().zip(&theirs.updates) {
                assert_eq!(ours, theirs, "{}", item.id);
            }
        }
        let held = self.held().await;
        for id in self.ledger.ids() {
            let open = self.ledger.open(id);
            let lost: Vec<_> =
                open.difference(&held[id]).filter(|it| self.seen.contains(*it)).collect();
            assert!(lost.is_empty(), "{id}: {lost:?} are lost, {:?} are held", held[id]);
        }
    }
}

fn agree(format: Format, is_hub: bool) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut conflicts = 0;
    each(&format!("SSE in {format:?}, hub: {is_hub}"), |seed| {
        let run = async { World::new(seed, format, is_hub).await.run().await };
        conflicts += u64::from(runtime.block_on(run));
    });
    assert!(conflicts > 0 || std::env::var_os("FEEDSYNC_SEED").is_some(), "nobody was in conflict");
}

#[test]
fn peer_of_the_letter_of_sse_agrees_with_us_through_files_of_rss() {
    agree(Format::Rss, false);
}

#[test]
fn peer_of_the_letter_of_sse_agrees_with_us_through_files_of_opml() {
    agree(Format::Opml, false);
}

#[test]
fn peer_of_the_letter_of_sse_agrees_with_a_hub_in_both_formats() {
    agree(Format::Rss, true);
    agree(Format::Opml, true);
}
