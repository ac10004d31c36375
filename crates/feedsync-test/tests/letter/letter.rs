//! Peers that know nothing but the letter of the specifications.
//!
//! They are written from the published texts alone, without the library or its formats, so that documents and merges of
//! both can be held against each other. A peer keeps whatever it does not know, as the texts say it should.

pub(crate) mod document;
pub(crate) mod item;
pub(crate) mod peer;
pub(crate) mod sse;
pub(crate) mod sse_document;
mod sync;
pub(crate) mod xml;
