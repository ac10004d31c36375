//! Read, decide, write: what a decision on documents sees and what it may do.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use feedsync_couch::{Attachment, BodyPlace, DocumentId, Revision, Tree};

use super::{Database, Kind};
use crate::error::StoreError;
use crate::order::Number;

/// A decision: a synchronous function from what there is to what is written. It may be called more than once, each time
/// with fresh values; only what it returned last is carried out. No writes: nothing changes.
pub type DecideDocuments = Box<dyn FnMut(&DocumentsSnapshot) -> Vec<DocumentWrite> + Send>;

/// A document that a decision is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Which.
    pub id: DocumentId,
    /// Whether the attachments of its revisions are looked at.
    pub with_attachments: bool,
}

/// What is known of documents, in one transaction with what is written.
#[derive(Debug)]
pub struct DocumentsSnapshot {
    pub(crate) database: Database,
    pub(crate) documents: BTreeMap<DocumentId, FoundDocument>,
    pub(crate) next_body: u64,
}

/// A document as it was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundDocument {
    /// Its tree; empty if it never was.
    pub tree: Tree<BodyPlace>,
    /// Its place in the order of changes.
    pub number: Number,
    /// The attachments of revisions that are kept, if they were [wanted](Wanted::with_attachments).
    pub attachments: BTreeMap<Revision, Arc<[Attachment]>>,
}

/// What is kept of a revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptBody {
    /// What it says: a JSON object without special members.
    pub text: Arc<str>,
    /// Its attachments.
    pub attachments: Arc<[Attachment]>,
}

/// What becomes of a document. What is kept of revisions that its tree has no more goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentWrite {
    /// Which.
    pub id: DocumentId,
    /// Its tree from now on; an empty one if it is forgotten.
    pub tree: Tree<BodyPlace>,
    /// Whether it takes the next place in the order of changes.
    pub is_change: bool,
    /// What its leaf says it is; what it was said to be before, if that stays so.
    pub kind: Option<Kind>,
    /// What is new, under numbers from [`DocumentsSnapshot::next_body`] on.
    pub bodies: Vec<(u64, KeptBody)>,
}

impl DocumentWrite {
    /// Tells whether it makes nothing larger: the document is deleted or forgotten.
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

    /// What is known of a document; `None` for one that is not wanted.
    pub fn document(&self, id: &DocumentId) -> Option<&FoundDocument> {
        self.documents.get(id)
    }

    /// The first number that no body has.
    pub fn next_body(&self) -> u64 {
        self.next_body
    }
}

impl KeptBody {
    /// Where it is kept, under a number.
    pub fn place(&self, number: u64) -> BodyPlace {
        let attached = self.attachments.iter().map(|attachment| attachment.length).sum();
        BodyPlace { number, length: self.length(), attached }
    }

    /// How many bytes it has without what its attachments hold.
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

/// What a write changes of a database's counts.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    /// Bodies that go.
    pub(crate) gone: Vec<u64>,
    /// Whether the document takes a new number.
    pub(crate) is_change: bool,
}

impl Database {
    /// Takes a write into account: what there was, and what there is from now on.
    pub(crate) fn count(
        &mut self,
        before: &Tree<BodyPlace>,
        write: &DocumentWrite,
    ) -> Result<Counted, StoreError> {
        let after = &write.tree;
        let state = |tree: &Tree<BodyPlace>| tree.winner().map(|leaf| leaf.content.is_deleted);
        for (state, is_added) in [(state(before), false), (state(after), true)] {
            let count = match state {
                None => continue,
                Some(false) => &mut self.documents,
                Some(true) => &mut self.deleted,
            };
            *count = if is_added { *count + 1 } else { count.saturating_sub(1) };
        }
        let sums = |tree: &Tree<BodyPlace>| {
            let all: u64 = tree.bodies().map(|(_, content)| content.body.whole()).sum();
            let leaves: u64 = tree.leaves().iter().map(|leaf| leaf.content.body.whole()).sum();
            (all, all.saturating_sub(leaves))
        };
        let ((all_before, superseded_before), (all, superseded)) = (sums(before), sums(after));
        self.bytes = (self.bytes + all).saturating_sub(all_before);
        self.superseded = (self.superseded + superseded).saturating_sub(superseded_before);
        let kept: HashSet<u64> = after.bodies().map(|(_, content)| content.body.number).collect();
        let had: HashSet<u64> = before.bodies().map(|(_, content)| content.body.number).collect();
        let new: HashSet<u64> = write.bodies.iter().map(|(number, _)| *number).collect();
        if kept.iter().any(|number| !had.contains(number) && !new.contains(number)) {
            let reason = format!("{} names a body that is not there", write.id);
            return Err(StoreError::Decision(reason));
        }
        let gone = had.into_iter().filter(|number| !kept.contains(number)).collect();
        Ok(Counted { gone, is_change: write.is_change && !after.is_empty() })
    }
}
