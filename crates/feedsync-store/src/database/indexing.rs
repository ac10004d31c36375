//! Indexes of documents by their fields: requests, results, and the rows that a write changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use feedsync_couch::index::IndexDefinition;
use feedsync_couch::plan::KeyRange;
use feedsync_couch::selector::Subject;
use feedsync_couch::{BodyRef, DocumentId, Tree};
use feedsync_formats::json::Node;

use super::{Database, LoadedDocument};

/// Maximum number of indexes of a database. Further ones in design documents are not stored.
pub const MAX_INDEXES: usize = 64;

/// Maximum size of the documents that [`build_indexes`](super::Queries::build_indexes) adds at once, in bytes.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) const BUILD_BYTES: u64 = 8 << 20;

/// Identifies an index. A later index of the database never gets the same id, even if it has the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IndexId(pub(crate) u64);

/// An index in a store.
#[derive(Debug, Clone)]
pub struct StoredIndex {
    /// Its id.
    pub id: IndexId,
    /// Its definition.
    pub definition: IndexDefinition,
    /// Whether it contains all documents.
    pub is_built: bool,
}

/// The indexes of a database.
#[derive(Debug, Clone)]
pub struct Indexes {
    /// The indexes, in the order of their names.
    pub indexes: Vec<StoredIndex>,
    /// Whether [`build_indexes`](super::Queries::build_indexes) has nothing to do. Otherwise it may also find
    /// further indexes.
    pub are_built: bool,
}

/// Range of a read by key.
#[derive(Debug, Clone)]
pub struct IndexRange {
    /// The index.
    pub index: IndexId,
    /// Range of keys.
    pub keys: KeyRange,
    /// Key and id of the document after which the page begins, in the order of the read.
    pub after: Option<(Vec<u8>, DocumentId)>,
    /// Whether the order is descending, also among documents with the same key.
    pub is_descending: bool,
    /// Maximum number of documents.
    pub most: usize,
}

/// A page of documents of an index.
#[derive(Debug, Clone)]
pub struct IndexPage {
    /// The database when the page was read.
    pub database: Database,
    /// Keys and documents, in the order of keys, then of ids.
    pub documents: Vec<(Vec<u8>, LoadedDocument)>,
}

/// An index to which writes of documents are applied.
#[derive(Debug, Clone)]
pub(crate) struct MaintainedIndex {
    pub(crate) id: IndexId,
    pub(crate) definition: IndexDefinition,
    pub(crate) progress: Progress,
}

/// The documents that an index contains, apart from those that its definition excludes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Documents up to this id. No id is empty.
    Through(String),
    /// All documents.
    Complete,
}

/// The winning revision of a document that is not deleted: what an index sees of the document.
#[derive(Debug, Clone)]
pub(crate) struct Winner {
    pub(crate) revision: String,
    pub(crate) text: Arc<str>,
}

/// The rows of an index that a write of a document changes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RowChange {
    pub(crate) index: IndexId,
    pub(crate) removed: Option<Vec<u8>>,
    pub(crate) added: Option<Vec<u8>>,
}

impl Progress {
    /// Parses a stored text, which is absent if the index is complete.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn of_column(reached: Option<String>) -> Self {
        reached.map_or(Self::Complete, Self::Through)
    }

    /// The text that is stored.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn to_column(&self) -> Option<&str> {
        match self {
            Self::Through(reached) => Some(reached),
            Self::Complete => None,
        }
    }

    pub(crate) fn includes(&self, id: &DocumentId) -> bool {
        match self {
            Self::Through(reached) => id.as_str() <= reached.as_str(),
            Self::Complete => true,
        }
    }
}

impl MaintainedIndex {
    /// An index that contains no documents yet.
    pub(crate) fn begun(id: IndexId, definition: IndexDefinition) -> Self {
        Self { id, definition, progress: Progress::Through(String::new()) }
    }

    /// Key of a document, if the index contains it.
    pub(crate) fn key(&self, id: &DocumentId, winner: &Winner) -> Option<Vec<u8>> {
        let (id, revision) = (id.as_str(), winner.revision.as_str());
        let body = Node::root(&winner.text);
        self.definition.key(&Subject { id, revision, is_deleted: false, body })
    }
}

impl From<MaintainedIndex> for StoredIndex {
    fn from(index: MaintainedIndex) -> Self {
        let MaintainedIndex { id, definition, progress } = index;
        Self { id, definition, is_built: progress == Progress::Complete }
    }
}

/// Revision and body number of the winner of a document that is in indexes, or a design document that may define
/// some.
pub(crate) fn winner_of(tree: &Tree<BodyRef>) -> Option<(String, u64)> {
    let winner = tree.winner().filter(|leaf| !leaf.content.is_deleted)?;
    Some((winner.revision.to_string(), winner.content.body.number))
}

/// The rows that change when the winner of a document changes.
pub(crate) fn row_changes(
    indexes: &[MaintainedIndex],
    id: &DocumentId,
    before: Option<&Winner>,
    after: Option<&Winner>,
) -> Vec<RowChange> {
    let included = indexes.iter().filter(|index| index.progress.includes(id));
    let change = |index: &MaintainedIndex| {
        let key = |winner: Option<&Winner>| winner.and_then(|winner| index.key(id, winner));
        let (removed, added) = (key(before), key(after));
        (removed != added).then_some(RowChange { index: index.id, removed, added })
    };
    included.filter_map(change).collect()
}

/// The indexes among which the next documents are added: those that contain the fewest, and the id after which the
/// documents begin. `None` if all are complete.
pub(crate) fn next_to_build(
    indexes: &[MaintainedIndex],
) -> Option<(String, Vec<&MaintainedIndex>)> {
    let reached = |index: &MaintainedIndex| match &index.progress {
        Progress::Through(reached) => Some(reached.clone()),
        Progress::Complete => None,
    };
    let least = indexes.iter().filter_map(reached).min()?;
    let behind = |index: &&MaintainedIndex| reached(index).as_ref() == Some(&least);
    let behind = indexes.iter().filter(behind).collect();
    Some((least, behind))
}

/// The indexes that change with a design document: those that are removed, and the definitions that are added.
/// Unchanged ones stay.
pub(crate) fn definition_changes(
    indexes: &[MaintainedIndex],
    design: &DocumentId,
    after: Option<&Winner>,
) -> (Vec<IndexId>, Vec<IndexDefinition>) {
    let defined =
        after.map(|winner| IndexDefinition::of_design_document(design, Node::root(&winner.text)));
    let mut defined: BTreeMap<String, IndexDefinition> = defined
        .into_iter()
        .flatten()
        .rev()
        .map(|definition| (definition.name.clone(), definition))
        .collect();
    let mut removed = Vec::new();
    for index in indexes.iter().filter(|index| index.definition.design == *design) {
        let name = &index.definition.name;
        match defined.get(name).is_some_and(|other| other.view() == index.definition.view()) {
            true => drop(defined.remove(name)),
            false => removed.push(index.id),
        }
    }
    let room = (MAX_INDEXES + removed.len()).saturating_sub(indexes.len());
    (removed, defined.into_values().take(room).collect())
}
