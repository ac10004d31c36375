//! Databases of documents, as CouchDB's replication protocol knows them: trees of revisions, in the order of their
//! changes.
//!
//! What becomes of a document is decided elsewhere, by the rules of [`feedsync_couch`], and handed in as a function from
//! what there is to what is written.

mod contract;
mod decision;
mod reading;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) mod sweep;

use feedsync_couch::DatabaseName;

use crate::error::StoreError;
use crate::order::{Epoch, Moment, Number};

pub use contract::{Databases, DatabasesExt};
pub use decision::{
    DecideDocuments, DocumentWrite, DocumentsSnapshot, FoundDocument, KeptBody, Wanted,
};
pub(crate) use reading::Room;
pub use reading::{
    Choose, DocumentChanges, DocumentPage, DocumentRange, Kind, MAX_COUNTED, MOST_KIND, PassOver,
    ReadDocument, StoredDocument,
};

/// How many revisions of a path are kept unless somebody says otherwise.
pub const REVISIONS_KEPT: u64 = 1_000;

/// A database, without what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Database {
    /// What it is called.
    pub name: DatabaseName,
    /// The life of its change order.
    pub epoch: Epoch,
    /// When it was made.
    pub created: Moment,
    /// The last change.
    pub last: Number,
    /// How many documents are there.
    pub documents: u64,
    /// How many are deleted.
    pub deleted: u64,
    /// How often something was purged.
    pub purges: u64,
    /// How many revisions of a path are kept.
    pub revisions_kept: u64,
    /// Who may do what, as it was set: JSON.
    pub security: Option<String>,
    /// How many bytes all bodies have that are kept, with the attachments that each of them names.
    pub bytes: u64,
    /// How many of those are of revisions that are no leaves.
    pub superseded: u64,
}

/// What is changed of a database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DatabaseChange {
    /// How many revisions of a path are kept from now on.
    pub revisions_kept: Option<u64>,
    /// Who may do what.
    pub security: Option<String>,
}

/// A document that is not replicated (`_local/`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalDocument {
    /// How often it was written, by its own account.
    pub revision: u64,
    /// What it says, as JSON.
    pub body: String,
}

impl Database {
    /// One that is made now.
    pub(crate) fn created(
        name: DatabaseName,
        security: Option<String>,
        epoch: Epoch,
        now: Moment,
    ) -> Self {
        Self {
            name,
            epoch,
            created: now,
            last: Number::ZERO,
            documents: 0,
            deleted: 0,
            purges: 0,
            revisions_kept: REVISIONS_KEPT,
            security,
            bytes: 0,
            superseded: 0,
        }
    }

    /// Refuses to be taken for a database of the same name in another epoch.
    pub(crate) fn require(&self, epoch: Epoch) -> Result<(), StoreError> {
        match self.epoch == epoch {
            true => Ok(()),
            false => Err(StoreError::NoDatabase(self.name.clone())),
        }
    }

    pub(crate) fn change(&mut self, change: DatabaseChange) {
        let DatabaseChange { revisions_kept, security } = change;
        self.revisions_kept = revisions_kept.unwrap_or(self.revisions_kept);
        self.security = security.or_else(|| self.security.take());
    }
}
