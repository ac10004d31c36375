//! Rows of the views of design documents: requests, results, and updates.
//!
//! A function of a design document computes the rows of each document. They are stored when a client asks for a view,
//! not when a document is written. A store does not interpret positions and reductions: it keeps rows in the byte order of
//! their positions.
//!
//! **Nodes.** To reduce a range without reading all its rows, rows are grouped. A row of level _n_ begins a node of each
//! level from 1 to _n_. A node extends to the next node of its level, or to the last row. Its content, the number and
//! reduction of its rows, is stored when it was computed, and forgotten when a row of the node is added or removed. So a
//! stored content always follows from the rows. Rows before the first node of a level belong to no node of this level.
//!
//! **Removals.** A document that is removed from the database loses its rows in the same step, and this removal has no
//! number in the change order. So it changes the [`ViewsId`]: contents that a client computed from rows before the removal
//! are not stored after it.

use feedsync_couch::DocumentId;

use super::Database;
use crate::order::ChangeNumber;

/// Maximum number of versions of design documents whose rows a database stores.
pub const MAX_VIEWS: usize = 64;

/// Greatest level of a row.
pub const MAX_ROW_LEVEL: u8 = 4;

/// A digest of everything that determines the rows of the views of a design document besides the documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ViewsSignature(pub [u8; 32]);

/// Identifies the stored rows of the views of a design document, and the removals of documents that they follow. Later
/// rows never get the same id, even if they have the same signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ViewsId {
    pub(crate) set: u64,
    /// Grows with each removal of a document that had rows.
    pub(crate) removals: u64,
}

/// The views of a design document in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredViews {
    /// Id of their rows.
    pub id: ViewsId,
    /// The database when this was read.
    pub database: Database,
    /// Number of the last change that the rows follow.
    pub reached: ChangeNumber,
    /// Number of rows of each view.
    pub rows: Vec<u64>,
}

/// A row of a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewRow {
    /// Its place in the order of rows. No other row of the view has the same one.
    pub position: Vec<u8>,
    /// Greatest level of the nodes that it begins; 0 for most rows, and at most [`MAX_ROW_LEVEL`].
    pub level: u8,
    /// Its document.
    pub document: DocumentId,
    /// Its key, as JSON.
    pub key: String,
    /// Its value, as JSON.
    pub value: String,
}

/// All rows of a document, in place of earlier ones: a list for each view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentRows {
    /// Id of the document.
    pub document: DocumentId,
    /// The rows of each view. All rows have this document.
    pub views: Vec<Vec<ViewRow>>,
}

/// A step of an update of views.
#[derive(Debug, Clone)]
pub struct ViewsUpdate {
    /// The views.
    pub views: ViewsId,
    /// The change that their rows follow before this step. Otherwise the step is not applied.
    pub after: ChangeNumber,
    /// The change that their rows follow then; a later one if there are documents.
    pub reached: ChangeNumber,
    /// The documents between these changes, each at most once. Rows of a document that was removed since it was read are
    /// not stored.
    pub documents: Vec<DocumentRows>,
}

/// A view at the change that its rows follow. If they no longer exist or follow another change or another removal of
/// documents, nothing is read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViewState {
    /// The views of the design document.
    pub views: ViewsId,
    /// Number of the view among them.
    pub view: u32,
    /// The change that the rows follow; `None` for any change and any removals.
    pub reached: Option<ChangeNumber>,
}

/// Order and number of the rows that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowLimit {
    /// Whether the order is descending.
    pub is_descending: bool,
    /// Number of rows to skip.
    pub skip: u64,
    /// Maximum number of rows.
    pub most: usize,
    /// Maximum size of their keys and values in bytes; the first row is always read.
    pub most_bytes: u64,
}

/// Order and number of the rows of several ranges that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RangesLimit {
    /// Whether the order of the rows of each range is descending.
    pub is_descending: bool,
    /// Maximum number of rows of a range.
    pub most_of_range: usize,
    /// Maximum number of all rows.
    pub most: usize,
    /// Maximum size of all keys and values in bytes.
    pub most_bytes: u64,
}

/// The rows of several ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewRanges {
    /// The database when the rows were read.
    pub database: Database,
    /// All rows of each of the first ranges, in the requested order.
    pub ranges: Vec<Vec<ViewRow>>,
}

/// A page of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewPage {
    /// The database when the page was read.
    pub database: Database,
    /// The rows, in the requested order.
    pub rows: Vec<ViewRow>,
}

/// A node of a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewNode {
    /// Position of its first row.
    pub position: Vec<u8>,
    /// Its content, if it is stored.
    pub content: Option<NodeContent>,
}

/// The content of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeContent {
    /// Number of its rows.
    pub rows: u64,
    /// Its reduction, as JSON; `None` for a view that is not reduced.
    pub reduction: Option<String>,
}

impl ViewState {
    /// Whether views with this id, which follow a change, are in this state.
    pub(crate) fn is_met(&self, id: ViewsId, reached: ChangeNumber) -> bool {
        match self.reached {
            Some(expected) => id == self.views && reached == expected,
            None => id.set == self.views.set,
        }
    }
}
