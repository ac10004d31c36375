//! Reading a collection: all items, or changes page by page.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use feedsync_core::ItemId;
use feedsync_store::{
    ChangeNumber, ChangePage, Collection as StoredCollection, PageLimit, StoredItem, Until,
    UntilError,
};
use serde_json::Value;

use crate::collection::Collection;
use crate::content::{Content, ContentError};
use crate::error::Error;
use crate::item::{Item, Items};
use crate::memory::memory;

/// Maximum number of items that [`Collection::items`] returns.
pub const MAX_ITEMS: usize = 100_000;

/// Maximum number of bytes of the items that [`Collection::items`] or [`Collection::conflicts`] returns: of their stored
/// versions, and of the memory of their contents as [`serde_json::Value`]. The memory of a value can be a hundred times
/// its text, as in a list of objects with one member each.
pub const MAX_BYTES: usize = 256 << 20;

/// Maximum number of items of a page.
const MAX_PAGE: usize = 1_000;

/// A position in the order of a collection's changes on one replica. Its text can be stored, and parsed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    until: Until,
    /// The purge horizon when the reading began, as long as a reading from the beginning is before it. Up to there
    /// the position counts only while the horizon is the same.
    scan: Option<ChangeNumber>,
    /// Whether all items are being read again after [`Change::Restarted`].
    relists: bool,
}

impl Position {
    /// Position after a change that was read from a collection.
    pub(crate) fn after(collection: &StoredCollection, number: ChangeNumber) -> Self {
        let horizon = collection.horizon;
        let scan = (number < horizon).then_some(horizon);
        Self { until: collection.until(number), scan, relists: false }
    }

    /// The same position while all items are being read again, or not.
    pub(crate) fn relisting(self, relists: bool) -> Self {
        Self { relists, ..self }
    }

    /// Whether all items are being read again.
    pub(crate) fn relists(self) -> bool {
        self.relists
    }

    /// Whether the changes of a collection continue here.
    fn counts(&self, collection: &StoredCollection) -> bool {
        let Until { epoch, number } = self.until;
        let horizon = collection.horizon;
        let is_complete = horizon <= number || self.scan == Some(horizon);
        collection.epoch == epoch && is_complete && number <= collection.last
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.until, f)?;
        self.scan.map_or(Ok(()), |horizon| write!(f, "~{horizon}"))?;
        if self.relists { f.write_str("+") } else { Ok(()) }
    }
}

impl FromStr for Position {
    type Err = UntilError;

    fn from_str(text: &str) -> Result<Self, UntilError> {
        let (text, relists) = text.strip_suffix('+').map_or((text, false), |text| (text, true));
        let Some((until, horizon)) = text.split_once('~') else {
            return Ok(Self { until: text.parse()?, scan: None, relists });
        };
        if !horizon.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(UntilError);
        }
        let horizon = horizon.parse().map_err(|_| UntilError)?;
        Ok(Self { until: until.parse()?, scan: Some(ChangeNumber::new(horizon)), relists })
    }
}

/// One change of a collection.
#[derive(Debug)]
#[non_exhaustive]
pub enum Change<T = Value> {
    /// An item is new or undeleted, or has another content or more or fewer conflicts. Edits of this program are among
    /// the changes, too.
    Put(Item<T>),
    /// An item was deleted: the version that is shown is a deletion. [`Collection::get_deleted`] returns the content that
    /// it had, and [`Collection::conflicts_of`] its other versions, if it has some. A reader from the beginning gets
    /// deletions of items that it never saw.
    Deleted(ItemId),
    /// An item has content that is not of this type.
    Unreadable {
        /// The item.
        id: ItemId,
        /// Why it cannot be read.
        error: ContentError,
    },
    /// The changes do not continue where the reader was, because the collection was restored or has purged
    /// deletions. All items follow, up to [`Change::Complete`].
    Restarted,
    /// All items have been returned since [`Change::Restarted`]. Those that were not are no longer there.
    Complete,
}

/// A page of changes, oldest first. An item that changed several times has its last change only.
#[derive(Debug)]
#[non_exhaustive]
pub struct Page<T = Value> {
    /// The changes.
    pub changes: Vec<Change<T>>,
    /// Position after the page, for the next one.
    pub position: Position,
    /// Whether there were more changes when the page was read.
    pub more: bool,
}

impl<T: Content> Collection<T> {
    /// All items that are not deleted, least recently changed first.
    ///
    /// The order is that of changes on this replica: an edit, and a version that arrives, move the item to the end. Other
    /// replicas have another order. There is no time of creation. An application that needs an order that stays, or that
    /// is the same everywhere, writes a member for it when it adds an item, and sorts by that:
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), feedsync::Error> {
    /// # use serde_json::json;
    /// # let todo = feedsync::Replica::in_memory().collection("todo").await?;
    /// todo.add(json!({"title": "Milk", "created": "2026-11-20T10:00:00Z"})).await?;
    /// todo.add(json!({"title": "Bread", "created": "2026-11-20T09:00:00Z"})).await?;
    /// let mut items: Vec<_> = todo.items().await?.into_iter().collect();
    /// items.sort_by_key(|item| item["created"].to_string());
    /// assert_eq!(items[0]["title"], "Bread");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] for more than [`MAX_ITEMS`] items or [`MAX_BYTES`] bytes: read
    /// [pages](Self::page) instead.
    pub async fn items(&self) -> Result<Items<T>, Error> {
        self.listed(false).await
    }

    /// All deleted items with the content that they had, least recently changed first, for a view from which
    /// [`undelete`](Self::undelete) brings them back. Deletions that were purged are gone, such as those that a hub keeps
    /// no longer.
    ///
    /// # Errors
    ///
    /// [`Error::TooLarge`] for more than [`MAX_ITEMS`] items or [`MAX_BYTES`] bytes: read [pages](Self::page), and
    /// each deleted item with [`get_deleted`](Self::get_deleted).
    pub async fn deleted_items(&self) -> Result<Items<T>, Error> {
        self.listed(true).await
    }

    async fn listed(&self, deleted: bool) -> Result<Items<T>, Error> {
        let mut found = Found::new(deleted);
        let mut position = None;
        loop {
            let Read { page, restarted } = self.read(position, MAX_PAGE).await?;
            if restarted {
                found = Found::new(deleted);
            }
            if !page.items.iter().all(|stored| found.take(stored)) {
                let (items, bytes) = (MAX_ITEMS, MAX_BYTES);
                return Err(Error::TooLarge { collection: self.name().to_owned(), items, bytes });
            }
            position = Some(Position::after(&page.collection, page.through));
            if !page.more {
                return Ok(found.items());
            }
        }
    }

    /// Changes after a position, or from the beginning, up to a number of items. A page holds at most 8 MiB, unless one
    /// item alone is larger.
    ///
    /// `limit` is a number from 1 to 1,000. A smaller or larger one counts as the nearest of these, so read
    /// [`Page::more`] and not the number of changes to know whether there are more.
    ///
    /// [`Page::position`] of the last page continues as a [watch](Self::watch_from), without a gap.
    pub async fn page(&self, after: Option<Position>, limit: usize) -> Result<Page<T>, Error> {
        let Read { page, restarted } = self.read(after, limit).await?;
        let relists = restarted || after.is_some_and(|after| after.relists);
        let position = Position::after(&page.collection, page.through);
        let position = position.relisting(relists && page.more);
        let restart = restarted.then_some(Change::Restarted).into_iter();
        let complete = (relists && !page.more).then_some(Change::Complete);
        let changes = restart.chain(page.items.into_iter().map(change)).chain(complete).collect();
        Ok(Page { changes, position, more: page.more })
    }

    /// Reads changes after a position. Begins anew where the position no longer counts.
    pub(crate) async fn read(&self, after: Option<Position>, limit: usize) -> Result<Read, Error> {
        let (endpoint, name) = (self.endpoint(), self.stored_name());
        let limit = PageLimit::items(limit.clamp(1, MAX_PAGE));
        if let Some(after) = after {
            let page = endpoint.changes(name, after.until.number, None, limit).await?;
            if after.counts(&page.collection) {
                return Ok(Read { page, restarted: false });
            }
        }
        let page = endpoint.changes(name, ChangeNumber::ZERO, None, limit).await?;
        Ok(Read { page, restarted: after.is_some() })
    }
}

/// A page as it was read.
pub(crate) struct Read {
    pub(crate) page: ChangePage,
    pub(crate) restarted: bool,
}

/// The change that a stored item is.
pub(crate) fn change<T: Content>(stored: StoredItem) -> Change<T> {
    let id = stored.item.id.clone();
    if stored.item.winner.deleted {
        return Change::Deleted(id);
    }
    match Item::read(stored.item) {
        Ok(item) => Change::Put(item),
        Err(error) => Change::Unreadable { id, error },
    }
}

/// An item at a change.
struct Listed<T> {
    number: ChangeNumber,
    bytes: usize,
    item: Result<Item<T>, ContentError>,
}

/// Items found so far, each at its last change.
struct Found<T> {
    items: HashMap<ItemId, Listed<T>>,
    bytes: usize,
    /// Whether deleted items are looked for, and not live ones.
    deleted: bool,
}

impl<T: Content> Found<T> {
    fn new(deleted: bool) -> Self {
        Self { items: HashMap::new(), bytes: 0, deleted }
    }

    /// Takes an item, unless there would be too many, or too much memory would be needed.
    fn take(&mut self, stored: &StoredItem) -> bool {
        let id = &stored.item.id;
        if let Some(before) = self.items.remove(id) {
            self.bytes -= before.bytes;
        }
        if stored.item.winner.deleted == self.deleted {
            let bytes = memory(stored, [&stored.item.winner.payload]);
            self.bytes = self.bytes.saturating_add(bytes);
            if self.items.len() >= MAX_ITEMS || self.bytes > MAX_BYTES {
                return false;
            }
            let item = Item::read(stored.item.clone());
            self.items.insert(id.clone(), Listed { number: stored.number, bytes, item });
        }
        true
    }

    fn items(self) -> Items<T> {
        let mut found: Vec<_> = self.items.into_iter().collect();
        found.sort_unstable_by_key(|(_, listed)| listed.number);
        let (mut items, mut unreadable) = (Vec::with_capacity(found.len()), Vec::new());
        for (id, listed) in found {
            match listed.item {
                Ok(item) => items.push(item),
                Err(error) => unreadable.push((id, error)),
            }
        }
        Items { items, unreadable }
    }
}
