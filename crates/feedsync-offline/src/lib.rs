//! BITSY 0.3.1: what an application may go on reading and writing while there is no network, and how its
//! edits reach their servers later.
//!
//! Everything here decides and does nothing: bytes, times and answers of servers come in as arguments,
//! what is to be done comes out as values. The document's clauses are cited as `B` with the number of
//! `docs/conformance.md`, where they are `BI`, our readings of it as `C`.

pub mod answer;
pub mod authentication;
pub mod coding;
pub mod event;
pub mod headers;
pub mod interception;
pub mod interceptor;
pub mod likeness;
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
pub mod visibility;
