//! The revision tree of a document: which states it had, which came of which, and which are its latest.
//!
//! Arrivals join: whatever order and grouping paths come in, and however often, the same tree comes of them, as long as
//! none is longer than what is [kept](Tree::stem). To make that hold for any input, a node is known by its revision
//! alone, and where paths disagree about what it came of, it came of all of that.
//!
//! A *leaf* is a revision that nothing came of. Of the leaves one wins, by the same rule everywhere: one that is not
//! deleted before one that is, then the greater revision.

mod bytes;
mod path;
mod purge;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use crate::revision::{Revision, Signature};

pub use bytes::{BodyPlace, DamagedTree};
pub use path::{Path, PathError};
pub use purge::Purged;

/// A revision tree; `B` is what is kept of a state, such as its body or where that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree<B> {
    /// By revision, each once.
    nodes: Vec<Node<B>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Node<B> {
    revision: Revision,
    /// Signatures of the generation before, ascending. None of a root.
    parents: Vec<Signature>,
    content: Option<Content<B>>,
}

/// A state of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content<B> {
    /// Whether the document is deleted in it.
    pub is_deleted: bool,
    /// What is kept of it.
    pub body: B,
}

/// A leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leaf<'a, B> {
    /// Its revision.
    pub revision: &'a Revision,
    /// What it is.
    pub content: &'a Content<B>,
}

/// What came of a path that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Graft {
    /// All of it was known: nothing is to be written.
    Known,
    /// Older revisions were learnt. The leaves are what they were, so that nobody needs to be told.
    Widened,
    /// What was taken for a leaf turns out to be what another one came of.
    Joined,
    /// The newest revision is a new leaf.
    Added,
}

impl Graft {
    /// Whether the leaves are others than before: the document takes a new place in the order of changes.
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
    /// Joins a path with what its newest revision says, which is kept if that is a new leaf.
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
        // Those that are known are in order already, and so are the others, the other way round.
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
            // What something comes of is no leaf any more. The path's own child is new, or was here as well.
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

    /// Keeps of each leaf's path the newest so many revisions, and what others need of theirs; gives back the
    /// contents of what goes.
    pub fn stem(&mut self, most: usize) -> Vec<B> {
        // No path is longer than the generation in which it ends.
        let deepest = self.nodes.last().map_or(0, |node| node.revision.generation());
        if self.nodes.len() <= most || deepest <= most as u64 {
            return Vec::new();
        }
        // How many more generations are kept above each; leaves first, since parents stand before children.
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

    /// How many of a path's newest revisions matter if it is grafted and the tree is then [stemmed](Self::stem) to so
    /// many: besides those that are kept of it, what is here as far as that goes back, and what that came of. Older ones
    /// come and go without a trace.
    pub fn reach(&self, path: &Path, most: usize) -> usize {
        if path.signatures().len() <= most {
            return most;
        }
        let known = path.revisions().enumerate().filter(|(_, revision)| self.contains(revision));
        known.last().map_or(most, |(oldest, _)| oldest.saturating_add(most))
    }

    /// Lets go of what is kept of revisions that are no leaves, and gives it back.
    pub fn compact(&mut self) -> Vec<B> {
        let mut is_leaf = vec![false; self.nodes.len()];
        self.leaf_places().into_iter().for_each(|leaf| is_leaf[leaf] = true);
        let inner = self.nodes.iter_mut().enumerate().filter(|(place, _)| !is_leaf[*place]);
        inner.filter_map(|(_, node)| node.content.take()).map(|content| content.body).collect()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// How many revisions it has.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The leaves, the winner first, then by the same rule.
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

    /// The leaf that wins; none of an empty tree.
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

    /// What a revision is, if that is still kept.
    pub fn content(&self, revision: &Revision) -> Option<&Content<B>> {
        self.nodes[self.find(revision).ok()?].content.as_ref()
    }

    /// Whether nothing came of a revision.
    pub fn is_leaf(&self, revision: &Revision) -> bool {
        let Ok(place) = self.find(revision) else { return false };
        // What came of it is of the next generation.
        let next = revision.generation().saturating_add(1);
        let later = &self.nodes[place..];
        let begin = later.partition_point(|node| node.revision.generation() < next);
        let mut children =
            later[begin..].iter().take_while(|node| node.revision.generation() == next);
        !children.any(|node| node.parents.binary_search(revision.signature()).is_ok())
    }

    /// A revision and what it came of, the newest first.
    pub fn path(&self, revision: &Revision) -> Option<Path> {
        let mut place = self.find(revision).ok()?;
        let mut signatures = vec![revision.signature().clone()];
        // Where paths disagree, the greatest, so that it is the same everywhere.
        while let Some(parent) = self.parents_of(place).last() {
            signatures.push(self.nodes[parent].revision.signature().clone());
            place = parent;
        }
        Path::new(revision.generation(), signatures).ok()
    }

    /// The leaves that came of a revision, itself if it is one, in the order of [`Tree::leaves`].
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

    /// What is kept, of all revisions.
    pub fn bodies(&self) -> impl Iterator<Item = (&Revision, &Content<B>)> {
        self.nodes.iter().filter_map(|node| Some((&node.revision, node.content.as_ref()?)))
    }

    fn find(&self, revision: &Revision) -> Result<usize, usize> {
        // What arrives is nearly always newer than what is here.
        match self.nodes.last() {
            Some(last) if last.revision < *revision => Err(self.nodes.len()),
            _ => self.nodes.binary_search_by(|node| node.revision.cmp(revision)),
        }
    }

    /// Whether each revision came of the one before it, and of nothing else that is here: then the last one is the only
    /// leaf. Most trees never branched.
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

    /// Ascending.
    fn leaf_places(&self) -> Vec<usize> {
        let mut is_leaf = vec![true; self.nodes.len()];
        for place in 0..self.nodes.len() {
            for parent in self.parents_of(place) {
                is_leaf[parent] = false;
            }
        }
        (0..self.nodes.len()).filter(|place| is_leaf[*place]).collect()
    }

    /// The places of what a node came of, as far as it is here, ascending.
    fn parents_of(&self, place: usize) -> impl DoubleEndedIterator<Item = usize> {
        let Node { revision, parents, .. } = &self.nodes[place];
        parents.iter().filter_map(move |signature| {
            let generation = revision.generation() - 1;
            // A tree that never branched has it right before.
            if let Some(before) = place.checked_sub(1) {
                let before_it = &self.nodes[before].revision;
                if before_it.generation() == generation && before_it.signature() == signature {
                    return Some(before);
                }
            }
            self.find(&Revision::new(generation, signature.clone())?).ok()
        })
    }

    /// Drops nodes, and what others say of having come of them.
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
