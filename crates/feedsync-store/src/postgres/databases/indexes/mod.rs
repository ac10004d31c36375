//! Indexes of documents: their upkeep by writes, their building, and reads by key.

mod build;
mod check;
mod definitions;
mod pages;
mod rows;
mod upkeep;
mod winners;

pub(super) use self::build::build;
pub(in crate::postgres) use self::check::faults;
pub(super) use self::definitions::indexes;
#[cfg(test)]
pub(super) use self::definitions::{OF_DATABASE, WITH_DATABASE};
pub(super) use self::pages::by_key;
#[cfg(test)]
pub(super) use self::pages::{ASCENDING, DESCENDING};
#[cfg(test)]
pub(super) use self::rows::REMOVE;
pub(super) use self::upkeep::{DraftUpkeep, IndexChanges, Upkeep};
pub(super) use feedsync_couch::index::INDEX_VERSION;
