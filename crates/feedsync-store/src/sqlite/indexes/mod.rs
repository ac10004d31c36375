//! Indexes of documents: their upkeep by writes, their building, and reads by key.

mod build;
mod check;
mod definitions;
mod pages;
mod upkeep;

pub(super) use build::build;
pub(super) use check::faults;
pub(super) use definitions::indexes;
pub(super) use pages::by_key;
pub(super) use upkeep::Upkeep;
