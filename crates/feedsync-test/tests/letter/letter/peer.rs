//! An endpoint by the letter of FeedSync 1.0.2: its item set, its feeds (4.2), and its reading of feeds
//! (4.1).
//!
//! It deviates in one point: it discards nothing when it is out of sync (4.1.2 step 2.1.2), since it would
//! also discard its own edits below foreign winners.

use std::collections::BTreeMap;

use super::document::{Document, Format, Sharing};
use super::item::{Item, Stamp, merge};

/// Address of a peer's complete feed.
pub(crate) const COMPLETE: &str = "http://peer.example/complete";

/// A peer.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    by: String,
    format: Format,
    /// Number of items in its partial feed.
    window: usize,
    /// Its items by id, each with the value of `until` that is stored with it (4.2.3).
    items: BTreeMap<String, (u64, Item)>,
    until: u64,
    /// The `until` of the publisher that it read last.
    remembered: Option<String>,
}

impl Peer {
    /// Creates a peer with this identifier that knows one format, and with a maximum number of items in its
    /// partial feed.
    pub(crate) fn new(by: &str, format: Format, window: usize) -> Self {
        let (by, items, remembered) = (by.to_owned(), BTreeMap::new(), None);
        Self { by, format, window, items, until: 0, remembered }
    }

    /// Returns its items.
    pub(crate) fn items(&self) -> impl Iterator<Item = &Item> {
        self.items.values().map(|(_, item)| item)
    }

    /// Returns one of its items.
    pub(crate) fn item(&self, id: &str) -> Option<&Item> {
        self.items.get(id).map(|(_, item)| item)
    }

    /// Creates an item (3.1).
    pub(crate) fn create(&mut self, id: &str, title: &str, when: &str) {
        let content = self.format.content(title, when);
        let item = Item::create(id.to_owned(), content, Stamp { when, by: &self.by });
        self.store(item);
    }

    /// Updates, deletes or undeletes an item (3.2). Returns the titles of the edits that the update
    /// supersedes.
    pub(crate) fn edit(&mut self, id: &str, title: &str, deleted: bool, when: &str) -> Vec<String> {
        self.resolve(id, &[], title, deleted, when)
    }

    /// Resolves these conflicts of an item (3.4). Returns the titles of the edits that the update supersedes.
    pub(crate) fn resolve(
        &mut self,
        id: &str,
        which: &[usize],
        title: &str,
        deleted: bool,
        when: &str,
    ) -> Vec<String> {
        let mut item = self.items[id].1.clone();
        let titles = |item: &Item| -> Vec<String> {
            let versions = std::iter::once(&item.winner).chain(&item.conflicts);
            versions.filter_map(|version| version.content.title()).collect()
        };
        let before = titles(&item);
        let content = item.winner.content.retitled(title);
        item.resolve(which, content, deleted, Stamp { when, by: &self.by });
        let after = titles(&item);
        self.store(item);
        before.into_iter().filter(|title| !after.contains(title)).collect()
    }

    fn store(&mut self, item: Item) {
        self.until += 1;
        self.items.insert(item.id.clone(), (self.until, item));
    }

    /// Returns the partial feed: the items that changed last. Its window begins with the last change that it
    /// leaves out.
    pub(crate) fn partial(&self) -> String {
        let mut latest: Vec<_> = self.items.values().collect();
        latest.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
        let since = latest.get(self.window).map_or(0, |(number, _)| *number);
        latest.truncate(self.window);
        latest.reverse();
        self.document(since, latest.into_iter().map(|(_, item)| item.clone()).collect())
    }

    /// Returns the complete feed.
    pub(crate) fn complete(&self) -> String {
        self.document(0, self.items().cloned().collect())
    }

    fn document(&self, since: u64, items: Vec<Item>) -> String {
        // The numbers have a fixed width, so that texts sort as numbers do (4, note 1).
        let window = Some((format!("{since:010}"), format!("{:010}", self.until)));
        let complete = Some(COMPLETE.to_owned());
        Document { sharing: Sharing { window, complete }, items }.write(self.format)
    }

    /// Reads a partial feed, and the complete one that it names if it is needed (4.1).
    pub(crate) fn read(
        &mut self,
        partial: &str,
        fetch: impl FnOnce(&str) -> String,
    ) -> Result<(), String> {
        let partial = Document::read(self.format, partial)?;
        let is_behind = match (&partial.sharing.window, &self.remembered) {
            (Some((since, _)), Some(remembered)) => since > remembered,
            (_, None) => true,
            (None, Some(_)) => false,
        };
        if let Some(link) = partial.sharing.complete.as_ref().filter(|_| is_behind) {
            self.merge(Document::read(self.format, &fetch(link))?);
        }
        self.merge(partial);
        Ok(())
    }

    /// Merges the items of a document, and stores its `until`.
    pub(crate) fn merge(&mut self, document: Document) {
        for incoming in document.items {
            let local = self.item(&incoming.id).cloned();
            let merged = merge(local.clone(), incoming);
            if local.as_ref() != Some(&merged) {
                self.store(merged);
            }
        }
        if let Some((_, until)) = document.sharing.window {
            self.remembered = Some(until);
        }
    }
}
