//! Selection of the revisions of a document that a request names.

use std::collections::HashSet;

use feedsync_couch::{BodyRef, Leaf, Refusal, RefusalKind, Revision, Tree};
use feedsync_store::SelectBodies;

/// Revisions of a document that are requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leaves {
    /// All leaves.
    All,
    /// The winning leaf.
    Winner,
    /// Named revisions.
    Named {
        /// The revisions.
        revisions: Vec<Revision>,
        /// Whether the leaves that descend from them are returned instead.
        latest: bool,
    },
}

impl Leaves {
    /// Returns the selected revisions, each once. `Err` is a revision that is not in the tree, or whose body
    /// is not stored.
    pub fn of(&self, tree: &Tree<BodyRef>) -> Vec<Result<Revision, Revision>> {
        let leaves = |leaves: Vec<Leaf<'_, BodyRef>>| -> Vec<Result<Revision, Revision>> {
            leaves.into_iter().map(|leaf| Ok(leaf.revision.clone())).collect()
        };
        let (revisions, latest) = match self {
            Self::All => return leaves(tree.leaves()),
            Self::Winner => return leaves(tree.winner().into_iter().collect()),
            Self::Named { revisions, latest } => (revisions, *latest),
        };
        let named = |revision: &Revision| match tree.content(revision).is_some() {
            true if !latest || tree.is_leaf(revision) => vec![Ok(revision.clone())],
            _ if latest && tree.contains(revision) => leaves(tree.leaves_of(revision)),
            true => vec![Ok(revision.clone())],
            false => vec![Err(revision.clone())],
        };
        match &revisions[..] {
            // Several names may select the same revision.
            [one] => named(one),
            several => {
                let mut known = HashSet::new();
                let all = several.iter().flat_map(named);
                all.filter(|one| known.insert(one.clone())).collect()
            }
        }
    }
}

/// Returns a selection of the requested revisions that exist.
pub fn chosen(leaves: Leaves) -> SelectBodies {
    Box::new(move |document| leaves.of(&document.tree).into_iter().flatten().collect())
}

/// Returns the same selection if its bodies together do not exceed a number of bytes; otherwise an empty
/// selection.
pub fn chosen_within(leaves: Leaves, most_bytes: u64) -> SelectBodies {
    Box::new(move |document| {
        let meant = leaves.of(&document.tree);
        let do_fit = check_size(&document.tree, &meant, most_bytes).is_ok();
        if do_fit { meant.into_iter().flatten().collect() } else { Vec::new() }
    })
}

/// Refuses revisions whose bodies together exceed a number of bytes.
pub fn check_size(
    tree: &Tree<BodyRef>,
    meant: &[Result<Revision, Revision>],
    most_bytes: u64,
) -> Result<(), Refusal> {
    let length = |revision: &Revision| Some(tree.content(revision)?.body.length);
    let bytes: u64 = meant.iter().flatten().filter_map(length).sum();
    let refuse = || {
        let reason = "the revisions do not fit into one answer; ask for them one by one";
        RefusalKind::TooLarge.with_reason(reason)
    };
    if bytes > most_bytes { Err(refuse()) } else { Ok(()) }
}

/// Returns a selection of the winner alone.
pub fn winner() -> SelectBodies {
    Box::new(|document| {
        document.tree.winner().map(|leaf| leaf.revision.clone()).into_iter().collect()
    })
}

/// Returns an empty selection.
pub fn none() -> SelectBodies {
    Box::new(|_| Vec::new())
}
