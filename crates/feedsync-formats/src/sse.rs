//! SSE 0.91 documents: RSS 2.0 and OPML with elements of SSE (2).
//!
//! [`Document`] reads a document and stores its bytes. [`Document::merge`] merges another document into it by the
//! rules of SSE and preserves every byte that does not change. [`read_as_feed`] reads a document as a feed of
//! FeedSync, and [`export`] creates a document from items of FeedSync. Guarantees:
//! - Both spellings of the namespace are read (S2). `http` is written, and an existing document keeps its own.
//! - A fault in an item refuses only that item. It keeps its position and bytes but takes no part in sharing.
//! - An outline is an item of its own, without its child outlines (R-S7). Outlines without `sx:sync` are furniture:
//!   they stay, and items inside them belong to the nearest item around them (R-S8).
//! - An element that takes part in SSE and in FeedSync at once is a fault (R-P11).
//!
//! SSE does not write positions. A position consists of the nearest enclosing item and the index among its children.
//! It is observed in the document, unless `sx:sync` contains FeedSync's own claim for this version: `fs:version`,
//! `fs:parent`, `fs:index` in the namespace `urn:feedsync:1` (R-S9). All items that FeedSync writes contain it. Two
//! endpoints that read one version from two documents therefore agree on its position.

mod attributes;
mod claim;
mod document;
mod export;
mod merge;
mod observed;
mod plan;
mod read;
mod reading;
mod rebuild;
mod sharing;
mod sync;
mod sync_text;
#[cfg(test)]
mod tests;

pub use document::{Document, uses_sse};
pub use export::{Dates, Exported, export};
pub use merge::{MergeError, Merged};
pub use reading::{SseReading, read_as_feed};
