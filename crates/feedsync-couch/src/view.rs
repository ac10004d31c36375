//! Views of design documents: their definitions, the positions of their rows, queries, groups and reductions.
//!
//! A map function of a design document computes rows, each with a key and a value, for each document. The rows of a view
//! are in the [order of their keys](crate::collation), then in the byte order of the ids of their documents. A
//! [position](position()) is a text of bytes with this order. A query selects a [range](PositionRange) of positions, and
//! possibly [groups](GroupLevel) of rows, of which it returns the [reductions](Reduction).
//!
//! Sources: CouchDB's documentation of `/{db}/_design/{ddoc}/_view/{view}`, "Guide to Views" and "Reduce and Rereduce
//! Functions".

mod design;
mod group;
mod position;
mod query;
mod range;
mod reduction;
mod rows;

#[cfg(test)]
mod tests;

pub use design::{DesignView, DesignViews, VIEW_VERSION};
pub use group::GroupLevel;
pub use position::{KEPT_ID_BYTES, KEPT_KEY_BYTES, MAX_LEVEL, level, position};
pub use query::{ViewQuery, ViewUpdate};
pub use range::PositionRange;
pub use reduction::{Builtin, MAX_REDUCTION_BYTES, Reduction};
pub use rows::{push_group, push_row, push_row_with_document};
