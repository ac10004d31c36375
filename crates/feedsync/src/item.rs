//! Items as an application sees them.

use std::ops::{Deref, DerefMut};

use feedsync_core::{Item as CoreItem, ItemId, Payload, Timestamp, Version as CoreVersion};
use serde_json::Value;

use crate::content::{Content, ContentError};

/// An item of a [`Collection`](crate::Collection): its content, and the version that this is.
///
/// It dereferences to its content, so that `item["title"]` reads a member of a JSON item. A change of the content
/// changes nothing else until it is given to [`Collection::update`](crate::Collection::update).
#[derive(Debug, Clone)]
pub struct Item<T = Value> {
    id: ItemId,
    content: T,
    version: CoreVersion<Payload>,
    conflicts: usize,
}

impl<T: Content> Item<T> {
    /// An item as it is stored.
    pub(crate) fn read(item: CoreItem<Payload>) -> Result<Self, ContentError> {
        let content = T::read(&item.winner.payload)?;
        let CoreItem { id, winner, conflicts } = item;
        Ok(Self { id, content, version: winner, conflicts: conflicts.len() })
    }
}

impl<T> Item<T> {
    /// Id of the item, the same on every replica.
    pub fn id(&self) -> &ItemId {
        &self.id
    }

    /// Content of the item.
    pub fn content(&self) -> &T {
        &self.content
    }

    /// Content of the item, without the rest.
    pub fn into_content(self) -> T {
        self.content
    }

    /// Whether the item was deleted after it was read.
    pub fn is_deleted(&self) -> bool {
        self.version.deleted
    }

    /// Number of versions that conflict with this one and wait for a [resolution](crate::Collection::conflicts).
    pub fn conflicts(&self) -> usize {
        self.conflicts
    }

    /// Time of the last edit, by the clock of its author, to the second.
    pub fn when(&self) -> Option<Timestamp> {
        self.version.dot().when()
    }

    /// Signature of the last edit: the name of the replica that made it, and random characters.
    pub fn by(&self) -> Option<&str> {
        self.version.dot().by().map(|by| by.as_str())
    }

    /// The version that the application has seen.
    pub(crate) fn version(&self) -> &CoreVersion<Payload> {
        &self.version
    }
}

impl<T> Deref for Item<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.content
    }
}

impl<T> DerefMut for Item<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.content
    }
}

/// The live items of a collection.
#[derive(Debug)]
pub struct Items<T = Value> {
    pub(crate) items: Vec<Item<T>>,
    pub(crate) unreadable: Vec<(ItemId, ContentError)>,
}

impl<T> Items<T> {
    /// Items whose content is not of this type, such as those of a newer version of the application, with the
    /// reasons. They stay as they are.
    pub fn unreadable(&self) -> &[(ItemId, ContentError)] {
        &self.unreadable
    }
}

impl<T> Deref for Items<T> {
    type Target = [Item<T>];

    fn deref(&self) -> &[Item<T>] {
        &self.items
    }
}

impl<T> IntoIterator for Items<T> {
    type Item = Item<T>;
    type IntoIter = std::vec::IntoIter<Item<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Items<T> {
    type Item = &'a Item<T>;
    type IntoIter = std::slice::Iter<'a, Item<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}
