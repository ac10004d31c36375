//! The history of a database: revisions that ended as leaves are kept for a period, so that the state of the
//! documents at each moment of that period can be read.

use std::sync::Arc;

use async_trait::async_trait;
use feedsync_couch::{BodyRef, Content, DatabaseName, DocumentId, Revision};

use super::{Database, StoredBody, StoredDocument};
use crate::error::StoreError;
use crate::order::{Epoch, Moment};

/// The usual period of a history, in seconds: 30 days.
pub const HISTORY_SECONDS: u64 = 2_592_000;

/// Whether a database keeps its history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum History {
    /// It keeps none.
    #[default]
    Off,
    /// It keeps ended revisions for a period.
    Kept {
        /// Length of the period in seconds; [`HISTORY_SECONDS`] is usual.
        seconds: u64,
    },
}

impl History {
    /// Length of the period in seconds, if a history is kept.
    pub fn seconds(self) -> Option<u64> {
        match self {
            Self::Off => None,
            Self::Kept { seconds } => Some(seconds),
        }
    }
}

/// State of a database's history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HistoryState {
    /// The oldest moment at which the documents can be read; `None` if no history is kept.
    pub since: Option<Moment>,
    /// Moment of the last write while a history was kept. Each write has a later one than those before it, except
    /// after a clock that was more than [`MAX_AHEAD`](crate::MAX_AHEAD) ahead.
    pub last: Moment,
    /// Number of bytes of bodies that no tree names, with their attachments: only the history keeps them.
    pub bytes: u64,
}

/// The write that made or ended a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOrigin {
    /// Moment of its transaction.
    pub moment: Moment,
    /// Name of the user who wrote, if there is one.
    pub author: Option<Arc<str>>,
}

/// A revision that was a leaf until a write superseded it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedRevision {
    /// Id of the document.
    pub id: DocumentId,
    /// The revision.
    pub revision: Revision,
    /// Whether the document is deleted in it, and its body.
    pub content: Content<BodyRef>,
    /// The write that made it; `None` if it is older than the history.
    pub written: Option<WriteOrigin>,
    /// The write that ended it.
    pub ended: WriteOrigin,
    /// Whether no tree names its body: only the history keeps it.
    pub is_held: bool,
}

/// Position of an ended revision in the order of their ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EndedPosition {
    /// When it ended.
    pub ended: Moment,
    /// Number of its body.
    pub body: u64,
}

/// Documents that are read at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PastRange {
    /// Documents by id, after one.
    After {
        /// The id; `None` for the first page.
        after: Option<DocumentId>,
        /// Maximum number of documents that are examined.
        most: usize,
    },
    /// Documents of these ids; those that never existed are left out.
    Ids(Vec<DocumentId>),
}

impl PastRange {
    /// The range behind its last document that was examined.
    #[must_use]
    pub fn rest(self, last: DocumentId) -> Self {
        match self {
            Self::After { most, .. } => Self::After { after: Some(last), most },
            Self::Ids(mut ids) => {
                // An id may be named twice.
                let next = ids.iter().rposition(|id| *id == last).map_or(ids.len(), |at| at + 1);
                Self::Ids(ids.split_off(next))
            }
        }
    }
}

/// A leaf of a document at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastRevision {
    /// The revision.
    pub revision: Revision,
    /// Whether the document was deleted in it.
    pub is_deleted: bool,
    /// The write that made it; `None` if it is older than the history.
    pub written: Option<WriteOrigin>,
    /// Its body.
    pub body: StoredBody,
}

/// A document as it was at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastDocument {
    /// The document as it is now.
    pub document: StoredDocument,
    /// Its leaves at the moment, the winner first; empty if it did not exist.
    pub leaves: Vec<PastRevision>,
}

/// Result of reading documents at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PastPage {
    /// The state of that moment is not known.
    Unknown {
        /// The oldest moment whose state is known, if a history is kept.
        since: Option<Moment>,
    },
    /// A page of documents.
    Known {
        /// The database when the page was read.
        database: Box<Database>,
        /// The documents.
        documents: Vec<PastDocument>,
        /// The last document of the page; `None` at the end of the range.
        last: Option<DocumentId>,
    },
}

/// The part of a store that holds the histories of databases. The guarantees of [`Databases`](super::Databases) apply
/// to it.
///
/// **State at a moment.** It has the leaves that were written at or before the moment, and that ended after it. Leaves
/// that are older than the history count as always there. The oldest known moment is when the history was switched on, or
/// up to which it expired.
///
/// **Clocks.** A clock that was wrong may leave an oldest known moment that is more than [`MAX_AHEAD`](crate::MAX_AHEAD) ahead. The
/// next write or expiry sets it to the moment just before its own. Otherwise no state could be read until the clock reaches that
/// moment, and each expiry would remove everything that ended before it.
///
/// **Reads.** Only the methods of this trait see ended revisions whose bodies a tree does not name. For all others, a
/// write, the maximum number of revisions or a compaction has removed them. Attachments that they name stay.
///
/// **Purges.** A purge removes all ended revisions of its document, and their bodies.
///
/// **Work.** The cost of a page follows its documents and the revisions of them that ended after the moment.
#[async_trait]
pub trait PastDocuments: Send + Sync + 'static {
    /// Documents as they were at a moment, with the bodies of their leaves. The page ends early, after at least one
    /// document, when the bodies exceed `most_bytes`.
    async fn documents_at(
        &self,
        name: &DatabaseName,
        moment: Moment,
        range: PastRange,
        most_bytes: u64,
    ) -> Result<PastPage, StoreError>;

    /// Ended revisions of a document or of all, the last one that ended first, before a position; none if no history
    /// is kept.
    async fn ended_revisions(
        &self,
        name: &DatabaseName,
        of: Option<&DocumentId>,
        before: Option<EndedPosition>,
        most: usize,
    ) -> Result<Vec<EndedRevision>, StoreError>;

    /// The write that made each leaf of a document, where it is known.
    async fn leaf_origins(
        &self,
        name: &DatabaseName,
        id: &DocumentId,
    ) -> Result<Vec<(Revision, WriteOrigin)>, StoreError>;

    /// Drops a database on behalf of a user, if its epoch is this one. One that
    /// [keeps its history](Database::is_kept_when_dropped) keeps its contents and its epoch under another name. Returns
    /// whether it is kept.
    async fn drop_and_keep_database(
        &self,
        name: &DatabaseName,
        epoch: Epoch,
        author: Option<Arc<str>>,
    ) -> Result<bool, StoreError>;

    /// Gives a dropped database its name back. Returns whether that was done: it is not if another database has the name, or
    /// if the database was not dropped.
    async fn undrop_database(&self, kept: &DatabaseName, epoch: Epoch) -> Result<bool, StoreError>;

    /// Databases that were dropped and are kept, of a name or all, the last one first.
    async fn dropped_databases(
        &self,
        name: Option<&DatabaseName>,
    ) -> Result<Vec<Database>, StoreError>;

    /// Removes revisions that ended at or before a moment, with bodies that no tree names, up to a number; all of them
    /// if no history is kept. From now on only the state of later moments is known. Returns whether there is more. A database
    /// that was dropped at or before the moment is removed as a whole.
    async fn expire_history(
        &self,
        name: &DatabaseName,
        ended_before: Moment,
        most: usize,
    ) -> Result<bool, StoreError>;
}

/// Number of bytes of bodies that one transaction removes; the body that reaches it is the last one.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
const PIECE_BYTES: u64 = 64 << 20;

/// The first of the rows that are due, up to a number of bytes.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) fn expired_piece(mut due: Vec<EndedRevision>) -> Vec<EndedRevision> {
    let mut left = PIECE_BYTES;
    let is_last = |row: &EndedRevision| {
        left = left.saturating_sub(if row.is_held { row.content.body.length } else { 0 });
        left == 0
    };
    if let Some(last) = due.iter().position(is_last) {
        due.truncate(last + 1);
    }
    due
}

/// A leaf at a moment, without its body.
#[derive(Debug, Clone)]
pub(crate) struct PastLeaf {
    pub(crate) revision: Revision,
    pub(crate) content: Content<BodyRef>,
    pub(crate) written: Option<WriteOrigin>,
}

impl PastLeaf {
    /// Tells whether it was written at or before a moment.
    pub(crate) fn was_there(&self, moment: Moment) -> bool {
        self.written.as_ref().is_none_or(|written| written.moment <= moment)
    }

    /// The leaf with its body.
    pub(crate) fn with(self, body: StoredBody) -> PastRevision {
        let Self { revision, content, written } = self;
        PastRevision { revision, is_deleted: content.is_deleted, written, body }
    }

    /// Sorts leaves as those of a tree: the winner first.
    pub(crate) fn sort(leaves: &mut [Self]) {
        let key = |leaf: &Self| (!leaf.content.is_deleted, leaf.revision.clone());
        leaves.sort_by_key(|leaf| std::cmp::Reverse(key(leaf)));
    }
}

impl EndedRevision {
    /// Its position.
    pub fn position(&self) -> EndedPosition {
        EndedPosition { ended: self.ended.moment, body: self.content.body.number }
    }

    /// The leaf that it was.
    pub(crate) fn leaf(&self) -> PastLeaf {
        let Self { revision, content, written, .. } = self;
        PastLeaf { revision: revision.clone(), content: *content, written: written.clone() }
    }
}

impl Database {
    /// The refusal of a moment whose state is not known.
    pub(crate) fn unknown(&self, moment: Moment) -> Option<PastPage> {
        let since = self.past.since;
        let is_known = since.is_some_and(|since| since <= moment);
        (!is_known).then_some(PastPage::Unknown { since })
    }

    /// Tells whether ended revisions are kept.
    pub(crate) fn keeps_history(&self) -> bool {
        self.history != History::Off
    }

    /// The moment of a write that is made now, if a history is kept. If the oldest known moment is ahead of the clock, it becomes
    /// the one before the write.
    pub(crate) fn begin_write(&mut self, now: Moment) -> Option<Moment> {
        let moment = self.keeps_history().then(|| self.past.last.followed_at(now))?;
        if self.past.since.is_some_and(|since| since.is_ahead_of(now)) {
            self.past.since = Some(moment.previous());
        }
        self.past.last = moment;
        Some(moment)
    }

    /// Whether the database was dropped at or before a moment.
    pub(crate) fn was_dropped_by(&self, moment: Moment) -> bool {
        self.dropped.as_ref().is_some_and(|dropped| dropped.moment <= moment)
    }

    /// Changes whether a history is kept.
    pub(super) fn keep(&mut self, history: History, now: Moment) {
        self.history = history;
        match history {
            History::Off => self.past.since = None,
            History::Kept { .. } if self.past.since.is_some() => {}
            History::Kept { .. } => {
                let began = self.past.last.followed_at(now);
                (self.past.last, self.past.since) = (began, Some(began));
            }
        }
    }

    /// Counts a body that left its tree, and that the history keeps.
    pub(crate) fn hold(&mut self, bytes: u64) {
        self.bytes += bytes;
        self.superseded += bytes;
        self.past.bytes += bytes;
    }

    /// Counts bodies that the history no longer keeps.
    pub(crate) fn release(&mut self, bytes: u64) {
        for count in [&mut self.bytes, &mut self.superseded, &mut self.past.bytes] {
            *count = count.saturating_sub(bytes);
        }
    }

    /// Raises the oldest known moment; returns the moment up to which ended revisions are removed.
    pub(crate) fn expire(&mut self, ended_before: Moment, now: Moment) -> Moment {
        if self.past.since.is_some_and(|since| since.is_ahead_of(now)) {
            self.begin_write(now);
        }
        match &mut self.past.since {
            None => Moment::MAX,
            Some(since) => {
                *since = ended_before.max(*since);
                *since
            }
        }
    }
}
