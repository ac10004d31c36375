//! Stored items and pages of them.

use std::collections::{HashMap, HashSet};

use feedsync_core::{By, Item, Payload, Update, Version};

use crate::blob::Digest;
use crate::collection::Collection;
use crate::name::CollectionName;
use crate::order::{ChangeNumber, Moment};
use crate::remote::RemoteId;

/// A text that is greater than every id: ids consist of graphic ASCII.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) const BEYOND_IDS: &str = "\u{7f}";

/// An item with its stored metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredItem {
    /// The item.
    pub item: Item<Payload>,
    /// Number of the change that last touched it.
    pub number: ChangeNumber,
    /// When that change was made in this store; strictly increasing in a collection (`app:edited`).
    pub edited: Moment,
    /// Whether this endpoint created it (reading 16: the oldest update may have been removed from the
    /// history).
    pub created_here: bool,
    /// Origin of its versions.
    pub origin: Origin,
    /// Digests of the blobs that its versions name, ascending.
    pub blobs: Vec<Digest>,
}

impl StoredItem {
    /// Approximate size in bytes, for [`PageLimit`]: the payloads, the foreign markup of payloads and
    /// updates, and for each update its `by` and a constant.
    pub fn weight(&self) -> usize {
        weight(&self.item)
    }
}

pub(crate) fn weight(item: &Item<Payload>) -> usize {
    item.versions().map(version_weight).sum()
}

fn version_weight(version: &Version<Payload>) -> usize {
    const UPDATE: usize = 80;
    let length = |text: Option<&str>| text.map_or(0, str::len);
    let update =
        |update: &Update| UPDATE + length(update.by().map(By::as_str)) + length(update.foreign());
    version.payload.bytes() + version.history.updates().iter().map(update).sum::<usize>()
}

/// Origin of the versions of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// This endpoint made all of them.
    Here,
    /// All came from one remote.
    Remote(RemoteId),
    /// They have more than one origin.
    Mixed,
}

/// Size of one page: it ends before it would exceed either bound, but holds at least one item if there is
/// one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimit {
    /// Maximum number of items.
    pub items: usize,
    /// Maximum number of bytes, counted by [`StoredItem::weight`].
    pub bytes: usize,
}

impl PageLimit {
    /// A limit of this many items and 8 MiB.
    pub const fn items(items: usize) -> Self {
        Self { items, bytes: 8 << 20 }
    }
}

/// Builder of a page; records whether the page is full.
#[derive(Debug)]
pub struct Page<T = StoredItem> {
    limit: PageLimit,
    bytes: usize,
    /// The items of the page.
    pub items: Vec<T>,
    /// Whether an item did not fit.
    pub more: bool,
}

impl Page {
    /// Adds an item if it fits; returns whether it did. After the first item that does not fit the page is
    /// complete.
    pub fn push(&mut self, stored: StoredItem) -> bool {
        let fits = self.fits(stored.weight());
        if fits {
            self.items.push(stored);
        }
        fits
    }
}

impl<T> Page<T> {
    /// An empty page.
    pub fn new(limit: PageLimit) -> Self {
        Self { limit, bytes: 0, items: Vec::new(), more: false }
    }

    /// Whether an item of this weight still fits; if not, the page is complete. The caller adds an item that
    /// fits.
    pub fn fits(&mut self, weight: usize) -> bool {
        let fits = self.items.is_empty()
            || (self.items.len() < self.limit.items && self.bytes + weight <= self.limit.bytes);
        self.more |= !fits;
        self.bytes += weight;
        fits
    }
}

/// A page of changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangePage {
    /// The collection when the page was read.
    pub collection: Collection,
    /// The items, ascending by number.
    pub items: Vec<StoredItem>,
    /// Number up to which a reader of this page has seen every change. It is the last item's number when
    /// there is more, else the requested bound or the collection's last change.
    pub through: ChangeNumber,
    /// Whether changes after `through` were left out by the limit.
    pub more: bool,
}

impl ChangePage {
    /// The page of changes after `after` and up to `bound`, which is at most the collection's last change.
    pub fn new(
        collection: Collection,
        page: Page,
        after: ChangeNumber,
        bound: ChangeNumber,
    ) -> Self {
        let through = match page.items.last() {
            Some(last) if page.more => last.number,
            _ => bound.max(after),
        };
        Self { collection, items: page.items, through, more: page.more }
    }
}

/// A page of items in another order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemPage {
    /// The collection when the page was read.
    pub collection: Collection,
    /// The items.
    pub items: Vec<StoredItem>,
    /// Whether the limit left some out.
    pub more: bool,
}

/// Filters of a listing, whose order is newest change first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only changes before this one: the last number of the previous page.
    pub before: Option<ChangeNumber>,
    /// Whether tombstones are included.
    pub deleted: bool,
    /// Whether only items with conflicts are included.
    pub conflicted: bool,
    /// Only items whose winner's payload contains this text; ASCII letters are compared without case.
    pub containing: Option<String>,
}

impl Selection {
    /// Whether a listing includes an item.
    pub fn includes(&self, stored: &StoredItem) -> bool {
        let winner = &stored.item.winner;
        let contains = |text: &str| {
            let payload = winner.payload.text().to_ascii_lowercase();
            payload.contains(&text.to_ascii_lowercase())
        };
        self.before.is_none_or(|before| stored.number < before)
            && (self.deleted || !winner.deleted)
            && (!self.conflicted || !stored.item.conflicts.is_empty())
            && self.containing.as_deref().is_none_or(contains)
    }
}

/// Bounds of the recent changes of a collection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recent {
    /// Maximum number of items.
    pub count: Option<u64>,
    /// Only changes at or after this moment.
    pub from: Option<Moment>,
}

/// Id of a discarded item; never used twice during the life of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DiscardedId(pub u64);

/// An item that was removed from a collection and can be recovered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discarded {
    /// Its id in the list.
    pub id: DiscardedId,
    /// The collection that had it.
    pub collection: CollectionName,
    /// The removed item.
    pub item: Item<Payload>,
    /// Digests of the blobs that it names.
    pub blobs: Vec<Digest>,
    /// Reason for the removal, as text for people.
    pub reason: String,
    /// Moment of the removal.
    pub at: Moment,
}

/// Adds the updates of an item's versions to a vector, which holds one update for each authoring line.
pub(crate) fn absorb(vector: &mut Vec<Update>, item: &Item<Payload>) {
    let mut lines: HashMap<By, usize> = HashMap::new();
    let mut anonymous = HashSet::new();
    for (at, known) in vector.iter().enumerate() {
        match known.by() {
            Some(by) => drop(lines.insert(by.clone(), at)),
            None => drop(anonymous.insert((known.sequence(), known.when()))),
        }
    }
    for update in item.versions().flat_map(|version| version.history.updates()) {
        let Some(by) = update.by() else {
            if anonymous.insert((update.sequence(), update.when())) {
                vector.push(update.clone());
            }
            continue;
        };
        match lines.get(by) {
            Some(&at) if update.sequence() > vector[at].sequence() => vector[at] = update.clone(),
            Some(_) => {}
            None => {
                lines.insert(by.clone(), vector.len());
                vector.push(update.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use feedsync_core::{Format, History, ItemId, Sequence, Updates};

    use super::*;

    /// Everything of arbitrary size that a stranger can send counts towards the weight.
    #[test]
    fn foreign_markup_and_long_names_are_weighed() {
        const LONG: usize = 100_000;
        let long = "x".repeat(LONG);
        let item = |sync_foreign: Option<&str>, by: &str, foreign: Option<&str>| {
            let by = By::new(by).unwrap();
            let update = Update::new(Sequence::new(1).unwrap(), None, Some(by)).unwrap();
            let update = match foreign {
                Some(foreign) => update.with_foreign(foreign),
                None => update,
            };
            let payload =
                Payload::from_parsed(Format::Atom, "<entry/>").with_sync_foreign(sync_foreign);
            let winner = Version {
                updates: Updates::new(1).unwrap(),
                deleted: false,
                noconflicts: None,
                history: History::from_updates(vec![update]).unwrap(),
                payload,
            };
            let conflicts = vec![winner.clone()];
            weight(&Item { id: ItemId::new("a").unwrap(), winner, conflicts })
        };
        let plain = item(None, "a", None);
        assert_eq!(item(Some(&long), "a", None), plain + 2 * LONG);
        assert_eq!(item(None, "a", Some(&long)), plain + 2 * LONG);
        assert_eq!(item(None, &"a".repeat(201), None), plain + 2 * 200);
    }
}
