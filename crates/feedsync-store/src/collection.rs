//! A collection as its store sees it.

use std::collections::BTreeMap;

use feedsync::Format;

use crate::environment::Environment;
use crate::name::{CollectionName, UserName};
use crate::order::{Epoch, Moment, Number, Until};
use crate::people::Act;

/// Name of the setting that makes a collection private to a user: its value is the id of the user, with whom the
/// collection is removed. No request sets it.
pub const PRIVATE_TO: &str = "private_to";

/// A set of items and their change order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    /// Its name; may change.
    pub name: CollectionName,
    /// For people.
    pub title: String,
    /// The format of new items.
    pub format: Format,
    /// `urn:uuid:...`, made at creation, permanent.
    pub feed_id: String,
    /// The life of its change order.
    pub epoch: Epoch,
    /// The last change.
    pub last: Number,
    /// The purge horizon: a subscriber that has seen less is out of sync (4.1.2, 4.2.4).
    pub horizon: Number,
    /// Changes up to here have been shown to others.
    pub sent: Number,
    /// Items whose winner is not deleted.
    pub live: u64,
    /// Items whose winner is a tombstone.
    pub deleted: u64,
    /// Items with conflicts.
    pub conflicted: u64,
    /// Number of bytes of the payloads of all versions of its items.
    pub bytes: u64,
    /// When it was created.
    pub created: Moment,
    /// Moment of the last change of its items, title, format or settings; no two changes have the same.
    pub edited: Moment,
    /// Named settings; what they mean is not the store's concern.
    pub settings: BTreeMap<String, String>,
}

impl Collection {
    /// The `_security` of the database that is bridged to this collection. Databases with it are renamed and removed
    /// with the collection.
    pub fn bridge_security(&self) -> String {
        format!("{{\"fs:collection\":{}}}", feedsync_couch::quoted(&self.feed_id))
    }

    /// The place of a change in this collection's order.
    pub fn until(&self, number: Number) -> Until {
        Until { epoch: self.epoch, number }
    }

    /// Whether those who follow it have something to look at that was not so before. What was shown to others
    /// is no news to them.
    pub(crate) fn is_news_since(&self, before: &Self) -> bool {
        self.unsent() != before.unsent()
    }

    /// As if it had never been shown to others.
    pub(crate) fn unsent(&self) -> Self {
        Self { sent: Number::ZERO, ..self.clone() }
    }

    /// A new collection, with a feed id of its own.
    pub(crate) fn created(new: NewCollection, epoch: Epoch, environment: &dyn Environment) -> Self {
        let now = environment.now();
        Self {
            name: new.name,
            title: new.title,
            format: new.format,
            feed_id: format!("urn:uuid:{}", environment.uuid()),
            epoch,
            last: Number::ZERO,
            horizon: Number::ZERO,
            sent: Number::ZERO,
            live: 0,
            deleted: 0,
            conflicted: 0,
            bytes: 0,
            created: now,
            edited: now,
            settings: new.settings,
        }
    }

    /// Makes a change at this moment, as [`Store::alter_collection`](crate::Store::alter_collection) does.
    pub(crate) fn change_at(&mut self, change: CollectionChange, now: Moment) {
        let before = self.clone();
        self.change(change);
        // The name is not part of what the collection holds.
        if *self != (Self { name: self.name.clone(), ..before }) {
            self.edited = now.max(self.edited.next());
        }
    }

    /// Makes a change of the name, title, format and settings, here only. The moment of the last change
    /// stays.
    pub fn change(&mut self, change: CollectionChange) {
        let CollectionChange { name, title, format, settings } = change;
        self.name = name.unwrap_or_else(|| self.name.clone());
        self.title = title.unwrap_or_else(|| std::mem::take(&mut self.title));
        self.format = format.unwrap_or(self.format);
        self.settings = settings.unwrap_or_else(|| std::mem::take(&mut self.settings));
    }
}

/// What a new collection is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCollection {
    /// Its name.
    pub name: CollectionName,
    /// For people.
    pub title: String,
    /// The format of new items.
    pub format: Format,
    /// Named settings.
    pub settings: BTreeMap<String, String>,
}

/// What changes of a collection; what is `None` stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectionChange {
    /// A new name; items, order, remotes and feed id stay.
    pub name: Option<CollectionName>,
    /// A new title.
    pub title: Option<String>,
    /// Another format for new items.
    pub format: Option<Format>,
    /// All settings.
    pub settings: Option<BTreeMap<String, String>>,
}

/// What is written together with a new collection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Founding {
    /// The user who owns it from the beginning.
    pub owner: Option<UserName>,
    /// What is recorded.
    pub act: Option<Act>,
}

/// What becomes of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Alteration {
    /// It stays as it is.
    Keep,
    /// It is called or set to something else.
    Change(CollectionChange),
    /// It is removed with its items, conflicts, discarded items, purged vectors and remotes, its log, its grants, and
    /// the database that is bridged to it.
    Drop,
}

impl Alteration {
    /// Whether those who follow the collection have something to look at.
    pub(crate) fn is_news_of(&self, collection: &Collection) -> bool {
        match self {
            Self::Keep => false,
            Self::Change(change) => {
                let mut after = collection.clone();
                after.change(change.clone());
                after.is_news_since(collection)
            }
            Self::Drop => true,
        }
    }
}

/// What was decided of a collection, and what is recorded with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Altered {
    /// What becomes of it.
    pub alteration: Alteration,
    /// What is recorded.
    pub act: Option<Act>,
}

/// Decides on a collection as it is: quick, and without effects of its own.
pub type DecideCollection = Box<dyn FnOnce(&Collection) -> Altered + Send>;
