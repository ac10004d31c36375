//! Changes of this node that other nodes are not yet notified of.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use feedsync_couch::DatabaseName;
use tokio::sync::Notify;

use crate::name::CollectionName;

/// Changes that are not yet sent to other nodes.
#[derive(Default)]
pub(super) struct Announcements {
    pending: Mutex<Pending>,
    pub(super) wake: Notify,
}

/// Names of changed collections and databases.
#[derive(Default)]
pub(super) struct Pending {
    pub(super) collections: BTreeSet<CollectionName>,
    pub(super) databases: BTreeSet<DatabaseName>,
}

impl Announcements {
    pub(super) fn add(&self, name: &CollectionName) {
        self.pending().collections.insert(name.clone());
        self.wake.notify_one();
    }

    pub(super) fn add_database(&self, name: &DatabaseName) {
        self.pending().databases.insert(name.clone());
        self.wake.notify_one();
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The changes that were collected since the last call.
    pub(super) fn take(&self) -> Pending {
        std::mem::take(&mut self.pending())
    }
}
