//! BITSY 0.3.1: reading and writing without a network, and sending the edits to their servers later.
//!
//! This crate decides and does no I/O. Bytes, times and responses of servers are arguments; the actions to
//! take are return values. Clauses of the document are cited as `B` with their number in
//! `docs/conformance.md`, where the prefix is `BI`. Our readings of the document are cited as `C`.

pub mod authentication;
pub mod cache_headers;
pub mod coding;
pub mod collections;
pub mod event;
pub mod fingerprint;
pub mod headers;
pub mod interception;
pub mod interceptor;
pub mod links;
pub mod location;
pub mod negotiation;
pub mod newsreader;
pub mod outbox;
pub mod overlay;
pub mod profile;
pub mod propagation;
pub mod proxy;
pub mod relation;
pub mod subscription;
#[cfg(test)]
mod testing;
pub mod time;
pub mod validation;
pub mod view;
pub mod visibility;
