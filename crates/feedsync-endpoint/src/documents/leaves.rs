//! Which revisions are meant by what is asked for.

use std::collections::HashSet;

use feedsync_couch::{BodyPlace, Leaf, Revision, Tree};
use feedsync_store::Choose;

/// What is asked of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leaves {
    /// All leaves.
    All,
    /// The leaf that wins.
    Winner,
    /// These revisions.
    Named {
        /// Which.
        revisions: Vec<Revision>,
        /// Whether the leaves that came of them are meant instead.
        latest: bool,
    },
}

impl Leaves {
    /// The revisions that are meant, each once; `Err` is one that is not there, or of which nothing is kept.
    pub fn of(&self, tree: &Tree<BodyPlace>) -> Vec<Result<Revision, Revision>> {
        let mut found: Vec<Result<Revision, Revision>> = Vec::new();
        let mut known: HashSet<Result<Revision, Revision>> = HashSet::new();
        let mut add = |one: Result<Revision, Revision>| {
            if known.insert(one.clone()) {
                found.push(one);
            }
        };
        let leaves = |leaves: Vec<Leaf<'_, BodyPlace>>| -> Vec<Revision> {
            leaves.into_iter().map(|leaf| leaf.revision.clone()).collect()
        };
        match self {
            Self::All => leaves(tree.leaves()).into_iter().for_each(|leaf| add(Ok(leaf))),
            Self::Winner => {
                if let Some(winner) = tree.winner() {
                    add(Ok(winner.revision.clone()));
                }
            }
            Self::Named { revisions, latest } => {
                for revision in revisions {
                    if *latest && tree.contains(revision) {
                        leaves(tree.leaves_of(revision)).into_iter().for_each(|leaf| add(Ok(leaf)));
                    } else if tree.content(revision).is_some() {
                        add(Ok(revision.clone()));
                    } else {
                        add(Err(revision.clone()));
                    }
                }
            }
        }
        found
    }
}

/// A choice of those that are there.
pub fn chosen(leaves: Leaves) -> Choose {
    Box::new(move |document| leaves.of(&document.tree).into_iter().flatten().collect())
}

/// A choice of the winner alone.
pub fn winner() -> Choose {
    Box::new(|document| {
        document.tree.winner().map(|leaf| leaf.revision.clone()).into_iter().collect()
    })
}

/// A choice of nothing.
pub fn none() -> Choose {
    Box::new(|_| Vec::new())
}
