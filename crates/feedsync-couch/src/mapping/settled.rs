//! Leaves that something followed which is not on their path.
//!
//! Of two versions that an edit of an item followed, its revision can be the child of one. The other, and each leaf that
//! stands beside what followed it, is ended as people end conflicts between documents: by a deletion. Its revision is a
//! function of the leaf alone, so that it is the same wherever that is done, and it says nothing of the item.

use std::fmt::Write as _;

use feedsync::{Item, Payload};
use sha2::{Digest as _, Sha256};

use super::line::update_of;
use crate::revision::Revision;
use crate::tree::{Path, Tree};

/// The deletion that ends a leaf; none after the last generation.
pub fn settling(leaf: &Revision) -> Option<Path> {
    let mut hash = Sha256::new();
    hash.update(b"feedsync: settled: ");
    hash.update(leaf.to_string());
    // It wins against no deletion of its generation: no signature of others begins so low.
    let mut signature = String::from(".");
    for byte in &hash.finalize()[..16] {
        // A string takes all that is written to it.
        let _ = write!(signature, "{byte:02x}");
    }
    Path::child(leaf, signature.parse().ok()?)
}

/// What such a deletion says.
pub const SETTLING: &str = "{\"fs:settled\":true}";

/// Whether a leaf is such a deletion: it says so, and is that of the leaf before it, as far as that is known.
pub fn is_settling(path: &Path, is_deleted: bool, body: &str) -> bool {
    let is_of = |leaf: Revision| settling(&leaf).is_some_and(|it| it.newest() == path.newest());
    is_deleted && body == SETTLING && path.revisions().nth(1).is_none_or(is_of)
}

/// The leaves that are to be ended: those that are there, that the item has followed, and that are no version of it. Its
/// versions must be in the tree by then.
pub fn to_be_settled<B>(
    tree: &Tree<B>,
    item: &Item<Payload>,
    versions: &[Revision],
) -> Vec<Revision> {
    let is_followed = |leaf: &Revision| {
        update_of(leaf).is_some_and(|update| item.covers(&update)) && !versions.contains(leaf)
    };
    let live = tree.leaves().into_iter().filter(|leaf| !leaf.content.is_deleted);
    live.map(|leaf| leaf.revision.clone()).filter(is_followed).collect()
}
