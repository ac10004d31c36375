//! Documents as items of a collection, and items as documents: one collection, opened through both doors.
//!
//! `docs/mapping.md` tells the rules and what they promise. In short: a revision is an update, its path the history of a
//! version, and a leaf a version; and the other way round. What becomes of either is a function of that one version
//! alone, so that endpoints that never spoke to each other come to the same. Nobody's choice of a winner is carried over.

mod body;
mod id;
mod line;
mod settled;
#[cfg(test)]
mod tests;
mod version;

pub use id::{document_id, item_id};
pub use line::update_of;
pub use settled::{SETTLING, is_settling, settling, to_be_settled};
pub use version::{MappedRevision, MappingError, revision_of, version_of};
