//! Mapping between documents and items of a collection, for collections that are available both as a feed and
//! as a database.
//!
//! `docs/mapping.md` specifies the rules and their guarantees. In short: a revision is an update, its path is
//! the history of a version, and a leaf is a version; and vice versa. Each mapping is a function of a single
//! version, so that endpoints that never communicated get the same result. The choice of a winner is not
//! mapped.

mod body;
mod id;
mod settled;
mod signature;
#[cfg(test)]
mod tests;
mod version;

pub use id::{document_id, item_id};
pub use settled::{SETTLED_BODY, is_settling_deletion, leaves_to_settle, settling_deletion};
pub use signature::update_of;
pub use version::{MappedRevision, MappingError, revision_of, version_of};
