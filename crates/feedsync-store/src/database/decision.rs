//! Read, decide, write: the input and the output of a decision on documents.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use feedsync_couch::{Attachment, BodyRef, Content, DocumentId, Leaf, Revision, Tree};

use super::{Database, Kind};
use crate::error::StoreError;
use crate::order::ChangeNumber;

/// A decision: a synchronous function from stored values to writes. It may be called more than once, each
/// time with fresh values; only the result of the last call is applied. An empty list of writes changes
/// nothing.
pub type DecideDocuments = Box<dyn FnMut(&DocumentsSnapshot) -> Vec<DocumentWrite> + Send>;

/// A document that a decision requires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentRequest {
    /// Id of the document.
    pub id: DocumentId,
    /// Whether the attachments of its revisions are read.
    pub with_attachments: bool,
}

/// The stored values of documents, read in the transaction that applies the writes.
#[derive(Debug)]
pub struct DocumentsSnapshot {
    pub(crate) database: Database,
    pub(crate) documents: BTreeMap<DocumentId, DocumentEntry>,
    pub(crate) next_body: u64,
}

/// The stored values of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentEntry {
    /// Its tree; empty if the document never existed.
    pub tree: Tree<BodyRef>,
    /// Number of its last change.
    pub number: ChangeNumber,
    /// Attachments of stored revisions, if they were [requested](DocumentRequest::with_attachments).
    pub attachments: BTreeMap<Revision, Arc<[Attachment]>>,
}

/// The stored body of a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBody {
    /// Content: a JSON object without special members.
    pub text: Arc<str>,
    /// Its attachments.
    pub attachments: Arc<[Attachment]>,
}

/// A write of a document. Bodies of revisions that the new tree lacks are removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentWrite {
    /// Id of the document.
    pub id: DocumentId,
    /// The new tree; an empty one removes the document.
    pub tree: Tree<BodyRef>,
    /// Whether the document takes the next change number.
    pub is_change: bool,
    /// Kind that its leaf states; `None` leaves the stored kind as it is.
    pub kind: Option<Kind>,
    /// New bodies, under numbers from [`DocumentsSnapshot::next_body`] on.
    pub bodies: Vec<(u64, StoredBody)>,
    /// Whether it is a purge: the history of the document is removed too.
    pub is_purge: bool,
    /// Name of the user who writes, for the history.
    pub author: Option<Arc<str>>,
}

impl DocumentWrite {
    /// Tells whether the write adds nothing: it deletes or removes the document.
    #[cfg(feature = "sqlite")]
    pub(crate) fn is_without_growth(&self) -> bool {
        self.tree.winner().is_none_or(|leaf| leaf.content.is_deleted)
    }
}

impl DocumentsSnapshot {
    /// The database.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// The stored values of a document; `None` for one that was not requested.
    pub fn document(&self, id: &DocumentId) -> Option<&DocumentEntry> {
        self.documents.get(id)
    }

    /// The first unused body number.
    pub fn next_body(&self) -> u64 {
        self.next_body
    }
}

impl StoredBody {
    /// Reference to this body, stored under a number.
    pub fn place(&self, number: u64) -> BodyRef {
        let attached = self.attachments.iter().map(|attachment| attachment.length).sum();
        BodyRef { number, length: self.length(), attached }
    }

    /// Size in bytes, without the contents of attachments.
    pub fn length(&self) -> u64 {
        let of_attachment = |attachment: &Attachment| {
            attachment.name.len()
                + attachment.content_type.len()
                + attachment.digest.as_str().len()
                + 32
        };
        (self.text.len() + self.attachments.iter().map(of_attachment).sum::<usize>()) as u64
    }
}

/// Effect of a write on a database's counts.
#[derive(Debug, Default)]
pub(crate) struct WriteEffect {
    /// Bodies that leave the tree.
    pub(crate) gone: Vec<BodyRef>,
    /// Leaves that end, if a history is kept. Those that the same update made are left out.
    pub(crate) ended: Vec<(Revision, Content<BodyRef>)>,
    /// Whether all ended revisions of the document are removed.
    pub(crate) is_forgotten: bool,
    /// Whether the document takes a new number.
    pub(crate) is_change: bool,
}

impl DocumentWrite {
    /// The write of a compaction: bodies of revisions that are not leaves leave the tree.
    pub(crate) fn compaction(id: DocumentId, tree: Tree<BodyRef>) -> Self {
        let (kind, bodies, author) = (None, Vec::new(), None);
        Self { id, tree, is_change: false, kind, bodies, is_purge: false, author }
    }
}

impl Database {
    /// Counts a write: the difference between the old and the new tree. `first_body` is the first number that the
    /// update's new bodies can have.
    pub(crate) fn count(
        &mut self,
        before: &Tree<BodyRef>,
        write: &DocumentWrite,
        first_body: u64,
    ) -> Result<WriteEffect, StoreError> {
        let after = &write.tree;
        let state = |tree: &Tree<BodyRef>| tree.winner().map(|leaf| leaf.content.is_deleted);
        for (state, is_added) in [(state(before), false), (state(after), true)] {
            let count = match state {
                None => continue,
                Some(false) => &mut self.documents,
                Some(true) => &mut self.deleted,
            };
            *count = if is_added { *count + 1 } else { count.saturating_sub(1) };
        }
        let sums = |tree: &Tree<BodyRef>| {
            let all: u64 = tree.bodies().map(|(_, content)| content.body.whole()).sum();
            let leaves: u64 = tree.leaves().iter().map(|leaf| leaf.content.body.whole()).sum();
            (all, all.saturating_sub(leaves))
        };
        let ((all_before, superseded_before), (all, superseded)) = (sums(before), sums(after));
        self.bytes = (self.bytes + all).saturating_sub(all_before);
        self.superseded = (self.superseded + superseded).saturating_sub(superseded_before);
        let kept: HashSet<u64> = after.bodies().map(|(_, content)| content.body.number).collect();
        let had: BTreeMap<u64, BodyRef> =
            before.bodies().map(|(_, content)| (content.body.number, content.body)).collect();
        let new: HashSet<u64> = write.bodies.iter().map(|(number, _)| *number).collect();
        if kept.iter().any(|number| !had.contains_key(number) && !new.contains(number)) {
            let reason = format!("{} names a body that is not there", write.id);
            return Err(StoreError::Decision(reason));
        }
        let gone = had.into_values().filter(|body| !kept.contains(&body.number)).collect();
        let is_forgotten = write.is_purge || after.is_empty();
        let is_ended = |leaf: &Leaf<'_, BodyRef>| {
            leaf.content.body.number < first_body && !after.is_leaf(leaf.revision)
        };
        let ended = match self.keeps_history() && !is_forgotten {
            true => before.leaves().into_iter().filter(is_ended).collect(),
            false => Vec::new(),
        };
        let ended = ended.into_iter().map(|leaf| (leaf.revision.clone(), *leaf.content)).collect();
        let is_change = write.is_change && !after.is_empty();
        Ok(WriteEffect { gone, ended, is_forgotten, is_change })
    }
}
