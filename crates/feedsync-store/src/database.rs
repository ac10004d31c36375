//! Databases of documents, as CouchDB's replication protocol defines them: trees of revisions with a change
//! order.
//!
//! The rules of [`feedsync_couch`] decide on changes of documents. Callers pass a decision as a function from
//! stored values to writes.

mod contract;
mod decision;
mod dropped;
mod history;
#[cfg(feature = "queries")]
pub(crate) mod indexing;
mod queries;
mod reading;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) mod sweep;
#[cfg(feature = "queries")]
pub(crate) mod view_changes;
#[cfg(feature = "queries")]
mod views;

use feedsync_couch::DatabaseName;

use crate::error::StoreError;
use crate::name::UserId;
use crate::order::{ChangeNumber, Epoch, Moment};

pub use contract::{Databases, DatabasesExt};
pub(crate) use decision::WriteEffect;
pub use decision::{
    DecideDocuments, DocumentEntry, DocumentRequest, DocumentWrite, DocumentsSnapshot, StoredBody,
};
pub use dropped::Dropped;
pub(crate) use history::PastLeaf;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) use history::expired_piece;
pub use history::{
    EndedPosition, EndedRevision, HISTORY_SECONDS, History, HistoryState, PastDocument,
    PastDocuments, PastPage, PastRange, PastRevision, WriteOrigin,
};
#[cfg(feature = "queries")]
pub use indexing::{IndexId, IndexPage, IndexRange, Indexes, MAX_INDEXES, StoredIndex};
pub use queries::Queries;
pub(crate) use reading::PageBudget;
pub use reading::{
    DocumentChanges, DocumentPage, DocumentRange, Kind, LoadedDocument, MAX_COUNTED,
    MAX_KIND_BYTES, SelectBodies, SkipKind, StoredDocument,
};
#[cfg(feature = "queries")]
pub use views::{
    DocumentRows, MAX_ROW_LEVEL, MAX_VIEWS, NodeContent, RangesLimit, RowLimit, StoredViews,
    ViewNode, ViewPage, ViewRanges, ViewRow, ViewState, ViewsId, ViewsSignature, ViewsUpdate,
};

/// Default number of revisions of a path that are stored.
pub const REVISIONS_KEPT: u64 = 1_000;

/// The metadata of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Database {
    /// Its name.
    pub name: DatabaseName,
    /// Epoch of its change order.
    pub epoch: Epoch,
    /// When it was created.
    pub created: Moment,
    /// Since when it has its name: its creation, or when it was brought back after a drop.
    pub named: Moment,
    /// Number of its last change.
    pub last: ChangeNumber,
    /// Number of documents that are not deleted.
    pub documents: u64,
    /// Number of deleted documents.
    pub deleted: u64,
    /// Number of purges.
    pub purges: u64,
    /// Maximum number of revisions of a path that are stored.
    pub revisions_kept: u64,
    /// Its access rules (`_security`), as JSON.
    pub security: Option<String>,
    /// Number of bytes of all stored bodies, those of the history included, with the attachments that each of them names.
    pub bytes: u64,
    /// The part of those bytes that belongs to revisions that are not leaves, those of the history included.
    pub superseded: u64,
    /// Whether ended revisions are kept.
    pub history: History,
    /// State of the history.
    pub past: HistoryState,
    /// How it was dropped, if it is kept only for its history.
    pub dropped: Option<Dropped>,
}

/// Properties that a database has from its creation on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewDatabase {
    /// Its access rules (`_security`), as JSON.
    pub security: Option<String>,
    /// Whether ended revisions are kept.
    pub history: History,
    /// The user to whom it is charged.
    pub owner: Option<UserId>,
}

impl NewDatabase {
    /// A database with access rules, without a history and an owner.
    pub fn with_security(security: String) -> Self {
        Self { security: Some(security), ..Self::default() }
    }
}

/// A change of a database's settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DatabaseChange {
    /// Maximum number of revisions of a path that are stored from now on.
    pub revisions_kept: Option<u64>,
    /// Access rules (`_security`).
    pub security: Option<String>,
    /// Whether ended revisions are kept from now on. [`History::Off`] gives up all that are kept.
    pub history: Option<History>,
}

/// A document that is not replicated (`_local/`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalDocument {
    /// Number of times that it was written, as the document itself states.
    pub revision: u64,
    /// Its content, as JSON.
    pub body: String,
}

impl Database {
    /// The metadata of a database that is created now.
    pub(crate) fn created(
        name: DatabaseName,
        NewDatabase { security, history, .. }: NewDatabase,
        epoch: Epoch,
        now: Moment,
    ) -> Self {
        let mut database = Self {
            name,
            epoch,
            created: now,
            named: now,
            last: ChangeNumber::ZERO,
            documents: 0,
            deleted: 0,
            purges: 0,
            revisions_kept: REVISIONS_KEPT,
            security,
            bytes: 0,
            superseded: 0,
            history: History::Off,
            past: HistoryState::default(),
            dropped: None,
        };
        database.keep(history, now);
        database
    }

    /// Fails if the epoch is not that of this database: the caller means another database of the same name.
    pub(crate) fn require(&self, epoch: Epoch) -> Result<(), StoreError> {
        match self.epoch == epoch {
            true => Ok(()),
            false => Err(StoreError::NoDatabase(self.name.clone())),
        }
    }

    pub(crate) fn change(&mut self, change: DatabaseChange, now: Moment) {
        let DatabaseChange { revisions_kept, security, history } = change;
        if let Some(history) = history {
            self.keep(history, now);
        }
        self.revisions_kept = revisions_kept.unwrap_or(self.revisions_kept);
        self.security = security.or_else(|| self.security.take());
    }
}
