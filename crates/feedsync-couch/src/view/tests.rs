//! Laws of positions, ranges and groups, and examples of CouchDB's documentation.

mod design;
mod groups;
mod model;
mod positions;
mod queries;
