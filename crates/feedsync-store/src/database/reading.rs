//! What is read of a database.

use std::collections::BTreeMap;
use std::ops::Bound;

use feedsync_couch::{BodyPlace, DocumentId, Revision, Tree};

use super::{Database, KeptBody};
use crate::order::Number;

/// The most bytes of a [`Kind`].
pub const MOST_KIND: usize = 64;

/// Maximum number of documents that [`count_documents`](super::Databases::count_documents) counts.
pub const MAX_COUNTED: u64 = 100_000;

/// Which revisions of a document are read with what they say.
pub type Choose = Box<dyn Fn(&StoredDocument) -> Vec<Revision> + Send>;

/// Whether documents of a kind are passed over; `None` where the document itself must be looked at.
pub type PassOver = Box<dyn Fn(&DocumentId, &Kind) -> bool + Send>;

/// What the only leaf of a document says it is, in its member `type`: known beside the order of changes, so that
/// documents of a kind are passed over without being read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum Kind {
    /// There are several leaves, or what the member says is not to be told shortly.
    #[default]
    Unknown,
    /// It has no such member.
    None,
    /// This string.
    Text(String),
}

/// A document, without what it says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDocument {
    /// Its id.
    pub id: DocumentId,
    /// Its place in the order of changes.
    pub number: Number,
    /// Its revisions.
    pub tree: Tree<BodyPlace>,
}

/// A document with what was chosen of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadDocument {
    /// The document.
    pub document: StoredDocument,
    /// What the chosen revisions say, as far as that is kept.
    pub bodies: BTreeMap<Revision, KeptBody>,
}

/// Some documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentPage {
    /// The database at that moment.
    pub database: Database,
    /// They.
    pub documents: Vec<Option<ReadDocument>>,
}

/// Which documents are read by id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentRange {
    /// From where.
    pub from: Bound<String>,
    /// To where.
    pub to: Bound<String>,
    /// Whether the greatest comes first.
    pub is_descending: bool,
    /// Whether deleted ones are left out.
    pub live_only: bool,
    /// How many are passed over.
    pub skip: u64,
    /// How many at most.
    pub most: usize,
}

/// Some changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentChanges {
    /// The database at that moment.
    pub database: Database,
    /// The documents, in the order that was asked for.
    pub documents: Vec<ReadDocument>,
    /// All changes up to this one, in that order, were looked at.
    pub reached: Number,
    /// Whether there is none behind it.
    pub is_end: bool,
}

/// So many bytes each revision of a tree takes, about, in memory.
const REVISION: u64 = 128;

/// How many bytes a page may still have, trees among them: for its first document there is always room.
pub(crate) struct Room {
    most: u64,
    left: Option<u64>,
}

impl Room {
    pub(crate) fn of(most: u64) -> Self {
        Self { most, left: None }
    }

    /// Whether there is room for what is chosen of a document, which is taken then.
    pub(crate) fn takes(&mut self, document: &StoredDocument, chosen: &[Revision]) -> bool {
        let length = |revision: &Revision| Some(document.tree.content(revision)?.body.length);
        let tree = document.tree.len() as u64 * REVISION;
        let length = chosen.iter().filter_map(length).sum::<u64>() + tree;
        let left = match self.left {
            None => Some(self.most.saturating_sub(length)),
            Some(left) => left.checked_sub(length),
        };
        self.left = left.or(self.left);
        left.is_some()
    }
}

impl Kind {
    /// As one text, to be stored beside the order: nothing if it is not known.
    pub(crate) fn to_column(&self) -> Option<String> {
        match self {
            Self::Text(text) if text.len() <= MOST_KIND => Some(format!("={text}")),
            Self::Unknown | Self::Text(_) => None,
            Self::None => Some(String::new()),
        }
    }

    /// What such a text says.
    pub(crate) fn of_column(text: Option<&str>) -> Self {
        match text.map(|text| text.strip_prefix('=')) {
            None => Self::Unknown,
            Some(None) => Self::None,
            Some(Some(text)) => Self::Text(text.to_owned()),
        }
    }
}
