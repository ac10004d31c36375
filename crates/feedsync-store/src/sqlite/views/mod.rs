//! Rows of the views of design documents: their updates, reads, and the contents of their nodes.

mod nodes;
mod pages;
mod sets;
mod update;

pub(super) use nodes::{nodes, put_nodes};
pub(super) use pages::{ranges, rows};
pub(super) use sets::{begin, drop_others, find};
pub(super) use update::{remove_document, update};
