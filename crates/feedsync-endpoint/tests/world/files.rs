//! Copies of a file that people edit and merge, without any endpoint.

use feedsync_core::{
    Base, Creation, Edit, Format, Item, ItemId, Keep, Payload, Resolution, Resolved,
};
use feedsync_endpoint::{FeedDocument, FileAuthor, FileEditError, ItemOutcome};
use feedsync_store::EndpointName;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use crate::world::peer::{content, number};
use crate::world::truth::{EditNumber, Truth};

/// Author names with which copies are edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// Each copy is edited with another name.
    Different,
    /// All copies are edited with one name.
    Same,
}

/// A version that a person saw in a copy.
struct Seen {
    id: ItemId,
    base: Base,
    number: EditNumber,
}

struct Copy {
    bytes: Vec<u8>,
    name: EndpointName,
    seen: Vec<Seen>,
}

/// Copies of a file, and the edits that must be in them at the end.
pub(crate) struct Files {
    random: SmallRng,
    copies: Vec<Copy>,
    names: Names,
    truth: Truth,
    ids: Vec<ItemId>,
    now: i64,
}

fn feed(bytes: &[u8]) -> FeedDocument {
    let feed = FeedDocument::read(bytes).expect("a document that is well-formed");
    assert!(feed.refused().is_empty(), "{:?}", feed.refused());
    feed
}

fn numbers(item: &Item<Payload>) -> Vec<EditNumber> {
    let mut numbers: Vec<_> = item.versions().map(|version| number(&version.payload)).collect();
    numbers.sort_unstable();
    numbers
}

impl Files {
    pub(crate) fn new(seed: u64, names: Names) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        let format = *Format::ALL.choose(&mut random).expect("formats");
        let is_mixed = random.random_range(0..4) == 0;
        let count = random.random_range(2..=4);
        let mut files = Self {
            random,
            copies: Vec::new(),
            names,
            truth: Truth::default(),
            ids: Vec::new(),
            now: 1_000_000_000,
        };
        for number in 0..count {
            let name = files.name(number);
            let author = FileAuthor { name: name.clone(), now: files.time(0) };
            let other = *Format::ALL.choose(&mut files.random).expect("formats");
            let format = if is_mixed { other } else { format };
            let empty = FeedDocument::empty(format, "urn:x:feed", "Notes", &author);
            let bytes = empty.expect("a new document").to_bytes();
            files.copies.push(Copy { bytes, name, seen: Vec::new() });
        }
        files
    }

    fn name(&self, number: usize) -> EndpointName {
        let name = match self.names {
            Names::Different => format!("person{number}"),
            Names::Same => "ann".to_owned(),
        };
        EndpointName::new(&name).expect("a name")
    }

    fn time(&self, skew: i64) -> feedsync_core::Timestamp {
        feedsync_core::Timestamp::from_unix_seconds(self.now + skew).expect("a time of our era")
    }

    pub(crate) fn run(mut self) {
        for _ in 0..60 {
            // Most of it happens within one second.
            self.now += i64::from(self.random.random_range(0..4) == 0);
            let copy = self.random.random_range(0..self.copies.len());
            match self.random.random_range(0..10) {
                0 => self.add(copy),
                1..=4 => self.edit(copy),
                5 => self.edit_stale(copy),
                6 => self.resolve(copy),
                7 => self.fork(copy),
                _ => {
                    let other = self.random.random_range(0..self.copies.len());
                    self.merge(copy, other);
                }
            }
        }
        for _ in 0..2 {
            for copy in 0..self.copies.len() {
                for other in 0..self.copies.len() {
                    self.merge(copy, other);
                }
            }
        }
        self.check();
    }

    /// Changes a copy, which is written and read back.
    fn change(
        &mut self,
        copy: usize,
        change: impl FnOnce(&mut FeedDocument, &FileAuthor) -> Result<Item<Payload>, FileEditError>,
    ) {
        let skew = self.random.random_range(-3..=3);
        let author = FileAuthor { name: self.copies[copy].name.clone(), now: self.time(skew) };
        let mut feed = feed(&self.copies[copy].bytes);
        let item = change(&mut feed, &author).expect("an edit that is possible");
        let bytes = feed.to_bytes();
        let read = self::feed(&bytes);
        assert_eq!(read.item(&item.id), Some(&item));
        self.copies[copy].bytes = bytes;
    }

    fn add(&mut self, copy: usize) {
        let edit = self.truth.next();
        // Another person may have chosen the same id.
        let id = match self.ids.choose(&mut self.random) {
            Some(id) if self.random.random_range(0..4) == 0 => id.clone(),
            _ => ItemId::new(&format!("item{edit}")).expect("an id"),
        };
        let feed = feed(&self.copies[copy].bytes);
        if feed.item(&id).is_some() {
            return;
        }
        let payload = content(feed.format(), edit);
        self.truth.made(&id, edit, [], false);
        self.ids.push(id.clone());
        self.change(copy, |feed, author| {
            feed.add(author, id, Creation::default(), payload).cloned()
        });
    }

    /// Returns an item of a copy, if there is one.
    fn choose(&mut self, copy: usize) -> Option<(Item<Payload>, Format)> {
        let feed = feed(&self.copies[copy].bytes);
        let item = feed.items().choose(&mut self.random)?.clone();
        let winner = &item.winner;
        let seen =
            Seen { id: item.id.clone(), base: Base::from(winner), number: number(&winner.payload) };
        self.copies[copy].seen.push(seen);
        Some((item, feed.format()))
    }

    fn edit(&mut self, copy: usize) {
        let Some((item, format)) = self.choose(copy) else { return };
        let edit = self.truth.next();
        let deleted = self.random.random_range(0..4) == 0;
        self.truth.made(&item.id, edit, [number(&item.winner.payload)], deleted);
        let change = Edit { payload: Some(content(format, edit)), deleted: Some(deleted) };
        let base = Some(Base::from(&item.winner));
        self.change(copy, |feed, author| feed.edit(author, &item.id, base, change).cloned());
    }

    /// Edits a version that a person saw in this copy some time ago.
    fn edit_stale(&mut self, copy: usize) {
        let Some((_, format)) = self.choose(copy) else { return };
        let seen = self.copies[copy].seen.choose(&mut self.random).expect("the one just seen");
        let (id, base, before) = (seen.id.clone(), seen.base.clone(), seen.number);
        let edit = self.truth.next();
        self.truth.made(&id, edit, [before], false);
        let change = Edit { payload: Some(content(format, edit)), deleted: Some(false) };
        self.change(copy, |feed, author| feed.edit(author, &id, Some(base), change).cloned());
    }

    fn resolve(&mut self, copy: usize) {
        let Some((item, format)) = self.choose(copy) else { return };
        if item.conflicts.is_empty() {
            return;
        }
        let edit = self.truth.next();
        let only_first = self.random.random_range(0..2) == 0;
        let resolved = if only_first { Resolved::Some(vec![0]) } else { Resolved::All };
        let keep = Keep::Content { payload: content(format, edit), deleted: Some(false) };
        let resolution = Resolution { resolved, keep };
        let resolved_indices =
            item.resolved_indices(&resolution).expect("conflicts that are there");
        let conflicts = resolved_indices.iter().map(|&index| &item.conflicts[index]);
        let seen = std::iter::once(&item.winner).chain(conflicts);
        let seen: Vec<_> = seen.map(|version| number(&version.payload)).collect();
        self.truth.made(&item.id, edit, seen, false);
        self.change(copy, |feed, author| feed.resolve(author, &item, resolution).cloned());
    }

    /// Copies the file.
    fn fork(&mut self, copy: usize) {
        if self.copies.len() < 6 {
            let name = self.name(self.copies.len());
            let bytes = self.copies[copy].bytes.clone();
            self.copies.push(Copy { bytes, name, seen: Vec::new() });
        }
    }

    fn merge(&mut self, copy: usize, other: usize) {
        let items = feed(&self.copies[other].bytes).items().to_vec();
        let mut feed = feed(&self.copies[copy].bytes);
        for report in feed.merge(items) {
            assert!(!matches!(report.outcome, ItemOutcome::Refused(_)), "{report:?}");
        }
        self.copies[copy].bytes = feed.to_bytes();
    }

    fn check(&self) {
        let feeds: Vec<_> = self.copies.iter().map(|copy| feed(&copy.bytes)).collect();
        for id in self.truth.items() {
            let open: Vec<_> = self.truth.open(id).into_iter().collect();
            let items: Vec<_> = feeds.iter().map(|feed| feed.item(id).expect("an item")).collect();
            for item in &items {
                assert_eq!(numbers(item), open, "{id}");
                for version in item.versions() {
                    let is_deletion = self.truth.is_deletion(number(&version.payload));
                    assert_eq!(version.deleted, is_deletion, "{id}");
                }
                let winner = number(&item.winner.payload);
                assert_eq!(winner, number(&items[0].winner.payload), "{id}");
            }
        }
    }
}
