//! Access rights: every route, method and caller, from the route table, on both stores.

mod drafts;
mod identity;
mod identity_world;
mod matrix;
mod other_origins;
mod signing_in;
mod slowly;
pub(crate) mod world;
