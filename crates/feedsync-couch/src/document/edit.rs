//! Which revision an edit makes, or that it conflicts (`new_edits: true`).

use crate::refusal::Refusal;
use crate::revision::{Revision, Signature};
use crate::tree::{Path, Tree};

/// The path that an edit adds to a tree. `base` is the revision that it was made on, if it says so, and `sign` makes its
/// signature from the revision that it comes of.
///
/// - Without a base it makes a document, or makes one again that was deleted, on top of the deletion.
/// - A base is a leaf, of whatever kind, of a document that is there.
/// - A document that is not known has the base for a parent of which nothing else is known.
pub fn edited<B>(
    tree: &Tree<B>,
    base: Option<&Revision>,
    is_deleted: bool,
    sign: impl FnOnce(Option<&Revision>) -> Signature,
) -> Result<Path, Refusal> {
    let parent = match (tree.winner(), base) {
        (None, base) => base,
        (Some(winner), None) if winner.content.is_deleted && !is_deleted => Some(winner.revision),
        (Some(winner), Some(base)) if !winner.content.is_deleted && tree.is_leaf(base) => {
            Some(base)
        }
        _ => return Err(Refusal::conflict()),
    };
    let signature = sign(parent);
    match parent {
        None => Ok(Path::root(&Revision::known(1, signature))),
        // There is no generation after the last.
        Some(parent) => Path::child(parent, signature).ok_or_else(Refusal::conflict),
    }
}
