//! Requests and results of reading databases.

use std::collections::BTreeMap;
use std::ops::Bound;

use feedsync_couch::{BodyRef, DocumentId, Revision, Tree};

use super::{Database, PastLeaf, StoredBody};
use crate::order::ChangeNumber;

/// Maximum length of a [`Kind`], in bytes.
pub const MAX_KIND_BYTES: usize = 64;

/// Maximum number of documents that [`count_documents`](super::Databases::count_documents) counts.
pub const MAX_COUNTED: u64 = 100_000;

/// Chooses the revisions of a document whose bodies are read.
pub type SelectBodies = Box<dyn Fn(&StoredDocument) -> Vec<Revision> + Send>;

/// Tells whether documents of a kind are skipped; `None` if the document itself must be read.
pub type SkipKind = Box<dyn Fn(&DocumentId, &Kind) -> bool + Send>;

/// The member `type` of a document's only leaf. It is stored with the change order, so that a reader can skip
/// documents of a kind without reading them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The document has several leaves, or the member has no short string as its value.
    #[default]
    Unknown,
    /// The leaf has no such member.
    None,
    /// The member is this string.
    Text(String),
}

/// A document without its bodies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDocument {
    /// Its id.
    pub id: DocumentId,
    /// Number of its last change.
    pub number: ChangeNumber,
    /// Its tree of revisions.
    pub tree: Tree<BodyRef>,
}

/// A document with its chosen bodies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadedDocument {
    /// The document.
    pub document: StoredDocument,
    /// The bodies of the chosen revisions, as far as they are stored.
    pub bodies: BTreeMap<Revision, StoredBody>,
}

/// A page of documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentPage {
    /// The database when the page was read.
    pub database: Database,
    /// The documents of the page.
    pub documents: Vec<Option<LoadedDocument>>,
}

/// Range and filters of a read by id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentRange {
    /// Lower bound.
    pub from: Bound<String>,
    /// Upper bound.
    pub to: Bound<String>,
    /// Whether the order is descending.
    pub is_descending: bool,
    /// Whether deleted documents are left out.
    pub live_only: bool,
    /// Number of documents to skip.
    pub skip: u64,
    /// Maximum number of documents.
    pub most: usize,
}

/// A page of changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentChanges {
    /// The database when the page was read.
    pub database: Database,
    /// The documents, in the requested order.
    pub documents: Vec<LoadedDocument>,
    /// Number up to which all changes, in that order, were examined.
    pub reached: ChangeNumber,
    /// Whether there are no further changes.
    pub is_end: bool,
}

/// Approximate size of a revision of a tree in memory, in bytes.
const REVISION: u64 = 128;

/// The remaining size of a page in bytes, trees included. The first document of a page always fits.
pub(crate) struct PageBudget {
    most: u64,
    left: Option<u64>,
}

impl PageBudget {
    pub(crate) fn of(most: u64) -> Self {
        Self { most, left: None }
    }

    /// Tells whether the chosen bodies of a document fit, and reserves their size if so.
    pub(crate) fn fits(&mut self, document: &StoredDocument, chosen: &[Revision]) -> bool {
        let length = |revision: &Revision| Some(document.tree.content(revision)?.body.length);
        let tree = document.tree.len() as u64 * REVISION;
        self.takes(chosen.iter().filter_map(length).sum::<u64>() + tree)
    }

    /// Tells whether a document with these leaves fits, and reserves their size if so.
    pub(crate) fn fits_past(&mut self, document: &StoredDocument, leaves: &[PastLeaf]) -> bool {
        let length: u64 = leaves.iter().map(|leaf| leaf.content.body.length).sum();
        self.takes(length + document.tree.len() as u64 * REVISION)
    }

    fn takes(&mut self, length: u64) -> bool {
        let left = match self.left {
            None => Some(self.most.saturating_sub(length)),
            Some(left) => left.checked_sub(length),
        };
        self.left = left.or(self.left);
        left.is_some()
    }
}

impl Kind {
    /// Text of the column of the change order; `None` if the kind is not known.
    pub(crate) fn to_column(&self) -> Option<String> {
        match self {
            Self::Text(text) if text.len() <= MAX_KIND_BYTES => Some(format!("={text}")),
            Self::Unknown | Self::Text(_) => None,
            Self::None => Some(String::new()),
        }
    }

    /// Parses the text of that column.
    pub(crate) fn of_column(text: Option<&str>) -> Self {
        match text.map(|text| text.strip_prefix('=')) {
            None => Self::Unknown,
            Some(None) => Self::None,
            Some(Some(text)) => Self::Text(text.to_owned()),
        }
    }
}
