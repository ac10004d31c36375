//! Purging: leaves are removed as if they had never existed (`_purge`).

use super::Tree;
use crate::revision::Revision;

/// The result of a purge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purged<B> {
    /// The purged revisions: those of the named ones that were leaves.
    pub revisions: Vec<Revision>,
    /// The bodies of all removed revisions.
    pub bodies: Vec<B>,
}

impl<B> Tree<B> {
    /// Removes leaves with those ancestors that belong to no other leaf. Revisions that are not leaves stay.
    /// A tree without leaves becomes empty.
    pub fn purge(&mut self, revisions: &[Revision]) -> Purged<B> {
        let mut leaves = self.leaf_places();
        let is_named =
            |tree: &Self, place: &usize| revisions.contains(&tree.nodes[*place].revision);
        let purged: Vec<Revision> = leaves
            .iter()
            .filter(|place| is_named(self, place))
            .map(|place| self.nodes[*place].revision.clone())
            .collect();
        leaves.retain(|place| !is_named(self, place));
        let mut is_needed = vec![false; self.nodes.len()];
        for leaf in leaves {
            is_needed[leaf] = true;
        }
        for place in (0..self.nodes.len()).rev().filter(|_| !purged.is_empty()) {
            if is_needed[place] {
                let parents: Vec<usize> = self.parents_of(place).collect();
                parents.into_iter().for_each(|parent| is_needed[parent] = true);
            }
        }
        if purged.is_empty() {
            return Purged { revisions: purged, bodies: Vec::new() };
        }
        let mut is_needed = is_needed.into_iter();
        let bodies = self.retain(|_| is_needed.next() == Some(true));
        Purged { revisions: purged, bodies }
    }
}
