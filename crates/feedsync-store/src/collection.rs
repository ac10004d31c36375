//! Stored metadata of a collection.

use std::collections::BTreeMap;

use feedsync_core::Format;

use crate::environment::Environment;
use crate::name::{CollectionName, UserName};
use crate::order::{ChangeNumber, Epoch, Moment, Until};
use crate::people::AuditAction;

/// Name of the setting that makes a collection private to a user: its value is the id of the user, with whom the
/// collection is removed. No request sets it.
pub const PRIVATE_TO: &str = "private_to";

/// A set of items and their change order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    /// Its name; may change.
    pub name: CollectionName,
    /// Title, for people.
    pub title: String,
    /// The format of new items.
    pub format: Format,
    /// `urn:uuid:...`, created with the collection, permanent.
    pub feed_id: String,
    /// Epoch of its change order.
    pub epoch: Epoch,
    /// Number of its last change.
    pub last: ChangeNumber,
    /// The purge horizon: a subscriber whose last seen change is before it is out of sync (4.1.2, 4.2.4).
    pub horizon: ChangeNumber,
    /// Number up to which changes have been shown to others.
    pub sent: ChangeNumber,
    /// Number of items whose winner is not deleted.
    pub live: u64,
    /// Number of items whose winner is a tombstone.
    pub deleted: u64,
    /// Number of items with conflicts.
    pub conflicted: u64,
    /// Number of bytes of the payloads of all versions of its items.
    pub bytes: u64,
    /// When it was created.
    pub created: Moment,
    /// Moment of the last change of its items, title, format or settings; no two changes have the same.
    pub edited: Moment,
    /// Named settings; the store does not interpret them.
    pub settings: BTreeMap<String, String>,
}

impl Collection {
    /// The `_security` of the database that is bridged to this collection. Databases with it are renamed and removed
    /// with the collection.
    pub fn bridge_security(&self) -> String {
        format!("{{\"fs:collection\":{}}}", feedsync_couch::quoted(&self.feed_id))
    }

    /// The `until` of a change number in the current epoch.
    pub fn until(&self, number: ChangeNumber) -> Until {
        Until { epoch: self.epoch, number }
    }

    /// Whether subscribers have a change to read that they did not have before. Marking changes as shown to
    /// others is not such a change.
    pub fn has_changes_since(&self, before: &Self) -> bool {
        self.unsent() != before.unsent()
    }

    /// The collection with no change marked as shown to others.
    pub(crate) fn unsent(&self) -> Self {
        Self { sent: ChangeNumber::ZERO, ..self.clone() }
    }

    /// A new collection, with a new feed id. A store takes the random number of the epoch first.
    pub fn created(new: NewCollection, epoch: Epoch, environment: &dyn Environment) -> Self {
        let now = environment.now();
        Self {
            name: new.name,
            title: new.title,
            format: new.format,
            feed_id: format!("urn:uuid:{}", environment.uuid()),
            epoch,
            last: ChangeNumber::ZERO,
            horizon: ChangeNumber::ZERO,
            sent: ChangeNumber::ZERO,
            live: 0,
            deleted: 0,
            conflicted: 0,
            bytes: 0,
            created: now,
            edited: now,
            settings: new.settings,
        }
    }

    /// Applies a change at this moment, as [`ItemStore::alter_collection`](crate::ItemStore::alter_collection)
    /// does.
    pub fn change_at(&mut self, change: CollectionChange, now: Moment) {
        let before = self.clone();
        self.change(change);
        // The name is not part of the collection's contents.
        if *self != (Self { name: self.name.clone(), ..before }) {
            self.edited = now.max(self.edited.next());
        }
    }

    /// Changes the name, title, format and settings of this value only. The moment of the last change stays.
    pub fn change(&mut self, change: CollectionChange) {
        let CollectionChange { name, title, format, settings } = change;
        self.name = name.unwrap_or_else(|| self.name.clone());
        self.title = title.unwrap_or_else(|| std::mem::take(&mut self.title));
        self.format = format.unwrap_or(self.format);
        self.settings = settings.unwrap_or_else(|| std::mem::take(&mut self.settings));
    }
}

/// Parameters of a new collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCollection {
    /// Its name.
    pub name: CollectionName,
    /// Title, for people.
    pub title: String,
    /// The format of new items.
    pub format: Format,
    /// Named settings.
    pub settings: BTreeMap<String, String>,
}

/// New values of a collection's metadata; `None` leaves a value as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectionChange {
    /// A new name; items, order, remotes and feed id stay.
    pub name: Option<CollectionName>,
    /// A new title.
    pub title: Option<String>,
    /// Another format for new items.
    pub format: Option<Format>,
    /// Replacement of all settings.
    pub settings: Option<BTreeMap<String, String>>,
}

/// Rows to write together with a new collection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreationContext {
    /// The user who is its first owner.
    pub owner: Option<UserName>,
    /// Entry for the audit record.
    pub act: Option<AuditAction>,
}

/// A decided change of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Alteration {
    /// No change.
    Keep,
    /// New name, title, format or settings.
    Change(CollectionChange),
    /// Removal, with items, conflicts, discarded items, purged vectors and remotes, the log, the grants, and
    /// the database that is bridged to it.
    Drop,
}

impl Alteration {
    /// Whether subscribers of the collection have a change to read.
    pub fn has_visible_change(&self, collection: &Collection) -> bool {
        match self {
            Self::Keep => false,
            Self::Change(change) => {
                let mut after = collection.clone();
                after.change(change.clone());
                after.has_changes_since(collection)
            }
            Self::Drop => true,
        }
    }
}

/// A decision on a collection, and the entry that is recorded with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlterationDecision {
    /// The decided change.
    pub alteration: Alteration,
    /// Entry for the audit record.
    pub act: Option<AuditAction>,
}

/// Decides on the current state of a collection; must be quick and have no side effects.
pub type DecideCollection = Box<dyn FnOnce(&Collection) -> AlterationDecision + Send>;
