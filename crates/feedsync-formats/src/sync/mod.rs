//! `sx:sync`, `sx:history`, `sx:conflicts`, `sx:sharing` and `sx:related` (FeedSync 2.2 to 2.6), read and written by
//! namespace and local name, never by prefix (1.1).
//!
//! Attributes of FeedSync have no namespace (R-F1). All other markup on these elements is foreign markup (2.1 rule 7)
//! and is stored with its version or update. An exception is `sx:sharing`, which is never republished.

mod foreign;
mod read;
mod sharing;
mod signers;
mod value;
mod write;

pub(crate) use read::{Stamp, SyncReader, is_self_contained, sync_of};
pub(crate) use sharing::read_sharing;
pub(crate) use signers::Signers;
pub(crate) use write::{OutputContext, push_item, push_sharing};
