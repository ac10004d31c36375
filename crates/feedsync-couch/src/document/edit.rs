//! The revision that an edit makes, or its conflict (`new_edits: true`).

use crate::refusal::Refusal;
use crate::revision::{Revision, Signature};
use crate::tree::{Path, Tree};

/// The path that an edit adds to a tree. `base` is the revision that was edited, if the edit states it.
/// `sign` computes the signature of the new revision from its parent.
///
/// - Without a base, the edit creates a document, or creates a deleted one again, on top of the deletion.
/// - The base must be a leaf of the document; it may be any leaf.
/// - For an unknown document, the base becomes a parent without known ancestors.
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
        // There is no generation after the last one.
        Some(parent) => Path::child(parent, signature).ok_or_else(Refusal::conflict),
    }
}
