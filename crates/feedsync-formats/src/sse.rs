//! SSE 0.91 documents: RSS 2.0 and OPML with elements of SSE (2).
//!
//! [`Document`] reads one with its bytes, [`Document::merge`] merges another into it as the text of SSE
//! says and keeps every byte that nothing changed, [`read_as_feed`] reads one as a feed of FeedSync, and [`export`]
//! makes one of items of FeedSync. Promises:
//! - both spellings of the namespace are read (S2); `http` is written, a document keeps its own;
//! - a fault in one item refuses that item, which then keeps its place and bytes but takes no part;
//! - an outline is an item of its own, without the outlines in it (R-S7); outlines without `sx:sync`
//!   are furniture: they stay, and ancestry goes through them (R-S8);
//! - an element that takes part in SSE and in FeedSync at once is a fault (R-P11).
//!
//! SSE writes no positions down. A place is the nearest item above and the index among its children,
//! as observed in the document, unless `sx:sync` carries our own claim for just this version:
//! `fs:version`, `fs:parent`, `fs:index` in the namespace `urn:feedsync:1` (R-S9). Items that we write
//! carry it, so that two endpoints that read one version from two documents agree on its place.

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
