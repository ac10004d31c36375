//! Collections over HTTP: listings, members, media, changes, conflicts, AtomPub documents, and SSE 0.91.

pub(crate) mod blobs;
pub(crate) mod changes;
pub(crate) mod collection;
pub(crate) mod complete;
pub(crate) mod conflicts;
pub(crate) mod create;
pub(crate) mod document;
pub(crate) mod events;
pub(crate) mod incorporate;
pub(crate) mod index;
pub(crate) mod listing;
pub(crate) mod live;
pub(crate) mod media;
pub(crate) mod member;
pub(crate) mod members;
pub(crate) mod outlines;
pub(crate) mod preconditions;
pub(crate) mod revision;
pub(crate) mod service;
pub(crate) mod slug;
pub(crate) mod span;
pub(crate) mod sse;
pub(crate) mod writing;
