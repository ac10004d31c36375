//! What reading a document gives.

use feedsync_core::{Feed, Format};

use crate::details::FeedDetails;
use crate::diagnostic::Diagnostic;

/// A document that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The format it is in.
    pub format: Format,
    /// What takes part in sharing.
    pub feed: Feed,
    /// The document's own title.
    pub title: Option<String>,
    /// Details of the feed beside its title.
    pub details: FeedDetails,
    /// Remarks, in document order; reasons for refusals are in [`Reading::refused`].
    pub diagnostics: Vec<Diagnostic>,
    /// Items that could not be read; the others are in the feed.
    pub refused: Vec<Refused>,
}

/// An item that was refused: a fault in one item costs that item, not the feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Its id as the document has it, if it has one.
    pub id: Option<String>,
    /// Its place among the document's items, from 0; plain items count.
    pub index: usize,
    /// Why.
    pub reason: Diagnostic,
}
