//! `sx:sync`, `sx:history`, `sx:conflicts`, `sx:sharing` and `sx:related` (FeedSync 2.2 to 2.6), read
//! and written by namespace and local name, never by prefix (1.1).
//!
//! Attributes of FeedSync have no namespace (R-F1); whatever else stands on these elements is foreign
//! markup (2.1 rule 7) and travels with the version or the update it stands on, except in
//! `sx:sharing`, which is never republished.

mod foreign;
mod read;
mod sharing;
mod value;
mod write;

pub(crate) use read::{Stamp, is_self_contained, read_sync, sync_of};
pub(crate) use sharing::read_sharing;
pub(crate) use write::{Surroundings, push_item, push_sharing};
