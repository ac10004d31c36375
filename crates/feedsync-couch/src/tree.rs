//! The revision tree of a document: its states, their ancestry, and the latest ones.
//!
//! Paths are joined. The result does not depend on the order, grouping or repetition of paths, as long as
//! none is longer than the [retained](Tree::stem) length. To guarantee this for any input, a node is
//! identified by its revision alone. If paths disagree about the parent of a revision, it has all of these
//! parents.
//!
//! A *leaf* is a revision without children. One of the leaves wins, by the same rule everywhere: live leaves
//! win against deleted ones, then the greater revision wins.

mod bytes;
mod path;
mod purge;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use crate::revision::{Revision, Signature};

pub use bytes::{BodyRef, DamagedTree};
pub use path::{Path, PathError};
pub use purge::Purged;

/// A revision tree; `B` is the stored value of a state, such as its body or a reference to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree<B> {
    /// Sorted by revision; each occurs once.
    nodes: Vec<Node<B>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Node<B> {
    revision: Revision,
    /// Signatures in the previous generation, ascending. A root has none.
    parents: Vec<Signature>,
    content: Option<Content<B>>,
}

/// A state of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content<B> {
    /// Whether the document is deleted in it.
    pub is_deleted: bool,
    /// The stored value.
    pub body: B,
}

/// A leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leaf<'a, B> {
    /// Its revision.
    pub revision: &'a Revision,
    /// Its content.
    pub content: &'a Content<B>,
}

/// Result of grafting a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Graft {
    /// All of it was known: nothing must be written.
    Known,
    /// Older revisions were added. The leaves are unchanged, so that no client needs to be notified.
    Widened,
    /// A former leaf is now the ancestor of another revision.
    Joined,
    /// The newest revision is a new leaf.
    Added,
}

impl Graft {
    /// Whether the leaves have changed, so that the document takes a new number in the change order.
    pub fn is_change(self) -> bool {
        matches!(self, Self::Joined | Self::Added)
    }
}

impl<B> Default for Tree<B> {
    fn default() -> Self {
        Self { nodes: Vec::new() }
    }
}

impl<B> Tree<B> {
    /// Joins a path with the content of its newest revision, which is stored if that is a new leaf.
    pub fn graft(&mut self, path: &Path, content: Content<B>) -> Graft {
        let newest = path.newest();
        let is_new = !self.contains(&newest);
        let was_known: Vec<bool> =
            path.revisions().map(|revision| self.contains(&revision)).collect();
        let unknown: Vec<Node<B>> = path
            .revisions()
            .zip(&was_known)
            .filter(|(_, was_known)| !**was_known)
            .map(|(revision, _)| Node { revision, parents: Vec::new(), content: None })
            .collect();
        let (mut is_wider, mut is_joined) = (!unknown.is_empty(), false);
        // The known nodes are in order, and the new ones are in reverse order, which makes the sort fast.
        if is_wider {
            self.nodes.extend(unknown.into_iter().rev());
            self.nodes.sort_by(|one, other| one.revision.cmp(&other.revision));
        }
        for (at, revision) in path.revisions().enumerate() {
            let (Ok(place), Some(parent)) = (self.find(&revision), path.parent_of(at)) else {
                continue;
            };
            let parents = &self.nodes[place].parents;
            let Err(free) = parents.binary_search(parent) else { continue };
            is_wider = true;
            // A revision with a child is not a leaf any more. The path's own child is either new or was
            // already in the tree.
            is_joined |= !is_new
                && was_known[at + 1]
                && path.at(at + 1).is_some_and(|parent| self.is_leaf(&parent));
            self.nodes[place].parents.insert(free, parent.clone());
        }
        if is_new && let Ok(place) = self.find(&newest) {
            self.nodes[place].content = Some(content);
            return Graft::Added;
        }
        match (is_joined, is_wider) {
            (true, _) => Graft::Joined,
            (false, true) => Graft::Widened,
            (false, false) => Graft::Known,
        }
    }

    /// Retains the given number of newest revisions on each leaf's path, and the revisions that other paths
    /// require. Returns the contents of the removed ones.
    pub fn stem(&mut self, most: usize) -> Vec<B> {
        // No path is longer than the generation of its newest revision.
        let deepest = self.nodes.last().map_or(0, |node| node.revision.generation());
        if self.nodes.len() <= most || deepest <= most as u64 {
            return Vec::new();
        }
        // Number of generations to retain above each node. Leaves are visited first, since parents precede
        // children.
        let mut left = vec![0; self.nodes.len()];
        for leaf in self.leaf_places() {
            left[leaf] = most.max(1);
        }
        for place in (0..self.nodes.len()).rev() {
            for parent in self.parents_of(place) {
                left[parent] = left[parent].max(left[place].saturating_sub(1));
            }
        }
        let mut left = left.into_iter();
        self.retain(|_| left.next() > Some(0))
    }

    /// Number of a path's newest revisions that matter if the path is grafted and the tree is then
    /// [stemmed](Self::stem) to the given length. These are the retained ones, those that are already in the
    /// tree, and the retained ancestors of those. Older revisions have no effect.
    pub fn reach(&self, path: &Path, most: usize) -> usize {
        if path.signatures().len() <= most {
            return most;
        }
        let known = path.revisions().enumerate().filter(|(_, revision)| self.contains(revision));
        known.last().map_or(most, |(oldest, _)| oldest.saturating_add(most))
    }

    /// Removes the contents of revisions that are not leaves, and returns them.
    pub fn compact(&mut self) -> Vec<B> {
        let mut is_leaf = vec![false; self.nodes.len()];
        self.leaf_places().into_iter().for_each(|leaf| is_leaf[leaf] = true);
        let inner = self.nodes.iter_mut().enumerate().filter(|(place, _)| !is_leaf[*place]);
        inner.filter_map(|(_, node)| node.content.take()).map(|content| content.body).collect()
    }

    /// Whether it has no revisions.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Number of its revisions.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The leaves, the winner first, the others in the same order.
    pub fn leaves(&self) -> Vec<Leaf<'_, B>> {
        if self.is_row() {
            return self.last_leaf().into_iter().collect();
        }
        let places = self.leaf_places();
        let mut leaves: Vec<Leaf<'_, B>> =
            places.into_iter().filter_map(|place| self.leaf_at(place)).collect();
        leaves.sort_by_key(|leaf| Reverse((!leaf.content.is_deleted, leaf.revision)));
        leaves
    }

    /// The winning leaf; `None` for an empty tree.
    pub fn winner(&self) -> Option<Leaf<'_, B>> {
        if self.is_row() {
            return self.last_leaf();
        }
        let leaves = self.leaf_places().into_iter().filter_map(|place| self.leaf_at(place));
        leaves.max_by_key(|leaf| (!leaf.content.is_deleted, leaf.revision))
    }

    /// Whether a revision is anywhere in the tree.
    pub fn contains(&self, revision: &Revision) -> bool {
        self.find(revision).is_ok()
    }

    /// The content of a revision, if it is stored.
    pub fn content(&self, revision: &Revision) -> Option<&Content<B>> {
        self.nodes[self.find(revision).ok()?].content.as_ref()
    }

    /// Whether a revision has no children.
    pub fn is_leaf(&self, revision: &Revision) -> bool {
        let Ok(place) = self.find(revision) else { return false };
        // Children have the next generation.
        let next = revision.generation().saturating_add(1);
        let later = &self.nodes[place..];
        let begin = later.partition_point(|node| node.revision.generation() < next);
        let mut children =
            later[begin..].iter().take_while(|node| node.revision.generation() == next);
        !children.any(|node| node.parents.binary_search(revision.signature()).is_ok())
    }

    /// A revision and its ancestors, the newest first.
    pub fn path(&self, revision: &Revision) -> Option<Path> {
        let mut place = self.find(revision).ok()?;
        let mut signatures = vec![revision.signature().clone()];
        // If paths disagree, the greatest parent is used, so that the result is the same everywhere.
        while let Some(parent) = self.parents_of(place).last() {
            signatures.push(self.nodes[parent].revision.signature().clone());
            place = parent;
        }
        Path::new(revision.generation(), signatures).ok()
    }

    /// The leaves that are descendants of a revision, or the revision itself, in the order of
    /// [`Tree::leaves`].
    pub fn leaves_of(&self, revision: &Revision) -> Vec<Leaf<'_, B>> {
        let Ok(first) = self.find(revision) else { return Vec::new() };
        let mut came = vec![false; self.nodes.len()];
        came[first] = true;
        for place in first + 1..self.nodes.len() {
            came[place] = self.parents_of(place).any(|parent| came[parent]);
        }
        let mut leaves = self.leaves();
        leaves.retain(|leaf| self.find(leaf.revision).is_ok_and(|place| came[place]));
        leaves
    }

    /// The stored contents of all revisions.
    pub fn bodies(&self) -> impl Iterator<Item = (&Revision, &Content<B>)> {
        self.nodes.iter().filter_map(|node| Some((&node.revision, node.content.as_ref()?)))
    }

    fn find(&self, revision: &Revision) -> Result<usize, usize> {
        // A new revision is nearly always newer than all stored ones.
        match self.nodes.last() {
            Some(last) if last.revision < *revision => Err(self.nodes.len()),
            _ => self.nodes.binary_search_by(|node| node.revision.cmp(revision)),
        }
    }

    /// Whether each revision is a child of the previous one and of nothing else in the tree. In that case the
    /// last one is the only leaf. Most trees never branched.
    fn is_row(&self) -> bool {
        self.nodes.windows(2).all(|pair| {
            let [one, next] = pair else { return false };
            next.revision.generation() == one.revision.generation() + 1
                && next.parents.contains(one.revision.signature())
        })
    }

    fn last_leaf(&self) -> Option<Leaf<'_, B>> {
        self.leaf_at(self.nodes.len().checked_sub(1)?)
    }

    fn leaf_at(&self, place: usize) -> Option<Leaf<'_, B>> {
        let Node { revision, content, .. } = &self.nodes[place];
        Some(Leaf { revision, content: content.as_ref()? })
    }

    /// Indexes of the leaves, ascending.
    fn leaf_places(&self) -> Vec<usize> {
        let mut is_leaf = vec![true; self.nodes.len()];
        for place in 0..self.nodes.len() {
            for parent in self.parents_of(place) {
                is_leaf[parent] = false;
            }
        }
        (0..self.nodes.len()).filter(|place| is_leaf[*place]).collect()
    }

    /// Indexes of a node's parents in the tree, ascending.
    fn parents_of(&self, place: usize) -> impl DoubleEndedIterator<Item = usize> {
        let Node { revision, parents, .. } = &self.nodes[place];
        parents.iter().filter_map(move |signature| {
            let generation = revision.generation() - 1;
            // In a tree that never branched, the parent is the previous node.
            if let Some(before) = place.checked_sub(1) {
                let before_it = &self.nodes[before].revision;
                if before_it.generation() == generation && before_it.signature() == signature {
                    return Some(before);
                }
            }
            self.find(&Revision::new(generation, signature.clone())?).ok()
        })
    }

    /// Removes nodes and the references of others to them.
    fn retain(&mut self, mut is_kept: impl FnMut(&Node<B>) -> bool) -> Vec<B> {
        let mut gone = Vec::new();
        let nodes = std::mem::take(&mut self.nodes);
        for node in nodes {
            match is_kept(&node) {
                true => self.nodes.push(node),
                false => gone.extend(node.content.map(|content| content.body)),
            }
        }
        for place in 0..self.nodes.len() {
            let here: Vec<Signature> = self
                .parents_of(place)
                .map(|parent| self.nodes[parent].revision.signature().clone())
                .collect();
            self.nodes[place].parents = here;
        }
        gone
    }
}
