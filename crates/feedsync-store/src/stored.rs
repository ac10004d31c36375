//! Items as a store keeps and pages them.

use std::collections::{HashMap, HashSet};

use feedsync::{By, Item, Payload, Update, Version};

use crate::blob::Digest;
use crate::collection::Collection;
use crate::name::CollectionName;
use crate::order::{Moment, Number};
use crate::remote::RemoteId;

/// A text that is greater than every id, whose bytes are graphic ASCII.
pub(crate) const BEYOND_IDS: &str = "\u{7f}";

/// An item and what the store knows of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredItem {
    /// The item.
    pub item: Item<Payload>,
    /// The change that last touched it.
    pub number: Number,
    /// When that change was made here: strictly increasing in a collection (`app:edited`).
    pub edited: Moment,
    /// Whether this endpoint created it (reading 16: the oldest update may be gone).
    pub created_here: bool,
    /// Where its versions came from.
    pub origin: Origin,
    /// Blobs that its versions name, ascending.
    pub blobs: Vec<Digest>,
}

impl StoredItem {
    /// About how many bytes it takes, for [`PageLimit`]: its payloads, the foreign markup with them
    /// and on each update, and for each update its `by` and a flat amount.
    pub fn weight(&self) -> usize {
        weight(&self.item)
    }
}

/// Number of bytes of the payloads of all versions of an item.
pub fn item_bytes(item: &Item<Payload>) -> usize {
    item.versions().map(|version| payload_bytes(&version.payload)).sum()
}

/// Number of bytes of a payload, with the foreign markup beside it.
pub fn payload_bytes(payload: &Payload) -> usize {
    payload.text.len() + payload.sync_foreign.as_ref().map_or(0, |text| text.len())
}

pub(crate) fn weight(item: &Item<Payload>) -> usize {
    item.versions().map(version_weight).sum()
}

fn version_weight(version: &Version<Payload>) -> usize {
    const UPDATE: usize = 80;
    let length = |text: Option<&str>| text.map_or(0, str::len);
    let update =
        |update: &Update| UPDATE + length(update.by().map(By::as_str)) + length(update.foreign());
    payload_bytes(&version.payload) + version.history.updates().iter().map(update).sum::<usize>()
}

/// Where the versions of an item came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Origin {
    /// All were made here.
    Here,
    /// All came from this one remote.
    Remote(RemoteId),
    /// From more than one place.
    Mixed,
}

/// How much one page holds: it ends before it would exceed either bound, but holds at least one
/// item if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimit {
    /// Items.
    pub items: usize,
    /// Bytes as [`StoredItem::weight`] counts them.
    pub bytes: usize,
}

impl PageLimit {
    /// So many items and 8 MiB.
    pub const fn items(items: usize) -> Self {
        Self { items, bytes: 8 << 20 }
    }
}

/// Fills a page; says when it is full.
pub(crate) struct Page<T = StoredItem> {
    limit: PageLimit,
    bytes: usize,
    pub(crate) items: Vec<T>,
    pub(crate) more: bool,
}

impl<T> Page<T> {
    pub(crate) fn new(limit: PageLimit) -> Self {
        Self { limit, bytes: 0, items: Vec::new(), more: false }
    }

    /// Whether an item of this weight still fits; if not, the page is closed.
    pub(crate) fn takes(&mut self, weight: usize) -> bool {
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
    /// Ascending by number.
    pub items: Vec<StoredItem>,
    /// Who reads this page has seen every change up to here: the last item's number when there is
    /// more, else the bound that was asked or the collection's last change.
    pub through: Number,
    /// Whether changes after `through` were left out by the limit.
    pub more: bool,
}

impl ChangePage {
    pub(crate) fn new(collection: Collection, page: Page, after: Number, bound: Number) -> Self {
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

/// Which items a listing shows, newest change first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only changes before this one: the last number of the page before.
    pub before: Option<Number>,
    /// Tombstones too.
    pub deleted: bool,
    /// Only items with conflicts.
    pub conflicted: bool,
    /// Only items whose winner's payload holds this text, ASCII letters compared without case.
    pub containing: Option<String>,
}

/// Bounds of the recent changes of a collection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recent {
    /// The most items.
    pub count: Option<u64>,
    /// Only changes at or after this moment.
    pub from: Option<Moment>,
}

/// Names a discarded item for the life of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DiscardedId(pub u64);

/// An item that was dropped out of a collection and can be recovered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discarded {
    /// Its place in the list.
    pub id: DiscardedId,
    /// Where it was.
    pub collection: CollectionName,
    /// What it was.
    pub item: Item<Payload>,
    /// Blobs that it names.
    pub blobs: Vec<Digest>,
    /// Why it was dropped, for people.
    pub reason: String,
    /// When.
    pub at: Moment,
}

/// Adds to a vector what an item's versions know, keeping one update for each line of edits.
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
    use feedsync::{Format, History, ItemId, Sequence, Updates};

    use super::*;

    /// Nothing that a stranger sends in any size goes unweighed.
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
            let mut payload = Payload::new(Format::Atom, "<entry/>");
            payload.sync_foreign = sync_foreign.map(Into::into);
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
