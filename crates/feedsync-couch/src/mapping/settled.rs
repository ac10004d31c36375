//! Leaves that were superseded by a revision on another path.
//!
//! An edit of an item may follow two versions, but its revision can be the child of only one of them. The
//! leaf of the other, and each leaf that conflicts with an ancestor of the edit, is ended in the way in which
//! conflicts of documents are resolved: by a deletion. The revision of this deletion is a function of the
//! leaf alone, so that it is the same everywhere. It has no meaning for the item.

use std::fmt::Write as _;

use feedsync_core::{Item, Payload};
use sha2::{Digest as _, Sha256};

use super::signature::update_of;
use crate::revision::Revision;
use crate::tree::{Path, Tree};

/// The deletion that ends a leaf; `None` after the last generation.
pub fn settling_deletion(leaf: &Revision) -> Option<Path> {
    let mut hash = Sha256::new();
    hash.update(b"feedsync: settled: ");
    hash.update(leaf.to_string());
    // It loses against every other deletion of its generation, because no other signature begins with such a
    // low byte.
    let mut signature = String::from(".");
    for byte in &hash.finalize()[..16] {
        // Writing to a string cannot fail.
        let _ = write!(signature, "{byte:02x}");
    }
    Path::child(leaf, signature.parse().ok()?)
}

/// Body of such a deletion.
pub const SETTLED_BODY: &str = "{\"fs:settled\":true}";

/// Whether a leaf is such a deletion: it has that body, and its revision is derived from its parent, if the
/// parent is known.
pub fn is_settling_deletion(path: &Path, is_deleted: bool, body: &str) -> bool {
    let is_of =
        |leaf: Revision| settling_deletion(&leaf).is_some_and(|it| it.newest() == path.newest());
    is_deleted && body == SETTLED_BODY && path.revisions().nth(1).is_none_or(is_of)
}

/// The leaves to end: live ones that the item has followed and that are not versions of it. The versions
/// of the item must already be in the tree.
pub fn leaves_to_settle<B>(
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
