//! The result of reading a document.

use feedsync_core::{Feed, Format};

use crate::details::FeedDetails;
use crate::diagnostic::Diagnostic;

/// A document that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// Format of the document.
    pub format: Format,
    /// The feed with the items that take part in sharing.
    pub feed: Feed,
    /// Title of the document.
    pub title: Option<String>,
    /// Details of the feed in addition to its title.
    pub details: FeedDetails,
    /// Remarks, in document order. Reasons for refusals are in [`Reading::refused`].
    pub diagnostics: Vec<Diagnostic>,
    /// Items that could not be read; the others are in the feed.
    pub refused: Vec<Refused>,
}

/// An item that was refused. A fault in an item refuses only that item, not the feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Id of the item as written in the document, if it has one.
    pub id: Option<String>,
    /// Index among the document's items, from 0. Plain items are counted.
    pub index: usize,
    /// Reason for the refusal.
    pub reason: Diagnostic,
}
