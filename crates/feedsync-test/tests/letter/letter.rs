//! Peers that implement only the letter of the specifications.
//!
//! They are written from the published texts alone, without the library or its formats, so that documents and
//! merges of both can be compared. A peer keeps everything that it does not know, as the texts require.

pub(crate) mod document;
pub(crate) mod item;
pub(crate) mod peer;
pub(crate) mod sse;
pub(crate) mod sse_document;
mod sync;
pub(crate) mod xml;
