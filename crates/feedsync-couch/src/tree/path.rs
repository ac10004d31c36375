//! Paths: a revision with its ancestors.

use crate::revision::{Revision, Signature};

/// A revision and its ancestors, as in `_revisions`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// The generation of the newest revision.
    start: u64,
    /// The newest first; at least one, and at most as many as there are generations.
    signatures: Vec<Signature>,
}

/// A path that is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// It has no revision.
    #[error("a revision path needs at least one revision")]
    Empty,
    /// It has more revisions than the generation of its newest one.
    #[error("a revision path must not have more revisions than its start number")]
    TooLong,
}

impl Path {
    /// A path whose newest revision has generation `start`.
    pub fn new(start: u64, signatures: Vec<Signature>) -> Result<Self, PathError> {
        if signatures.is_empty() {
            return Err(PathError::Empty);
        }
        let is_possible = Revision::new(start, signatures[0].clone()).is_some();
        match is_possible && signatures.len() as u64 <= start {
            true => Ok(Self { start, signatures }),
            false => Err(PathError::TooLong),
        }
    }

    /// The path of a revision without known ancestors.
    pub fn root(revision: &Revision) -> Self {
        Self { start: revision.generation(), signatures: vec![revision.signature().clone()] }
    }

    /// The path of a revision with a known parent only; `None` after the last generation.
    pub fn child(parent: &Revision, signature: Signature) -> Option<Self> {
        let signatures = vec![signature, parent.signature().clone()];
        Self::new(parent.generation() + 1, signatures).ok()
    }

    /// The given number of its newest revisions, at least one.
    #[must_use]
    pub fn shortened(mut self, most: usize) -> Self {
        self.signatures.truncate(most.max(1));
        self
    }

    /// Its newest revision.
    pub fn newest(&self) -> Revision {
        Revision::known(self.start, self.signatures[0].clone())
    }

    /// The generation of the newest revision.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The signatures, the newest first.
    pub fn signatures(&self) -> &[Signature] {
        &self.signatures
    }

    /// The revisions, the newest first.
    pub fn revisions(&self) -> impl Iterator<Item = Revision> {
        let generations = (0..=self.start).rev();
        generations.zip(&self.signatures).map(|(at, it)| Revision::known(at, it.clone()))
    }

    /// Signature of the parent of the revision at an index.
    pub(super) fn parent_of(&self, at: usize) -> Option<&Signature> {
        self.signatures.get(at + 1)
    }

    /// The revision at an index, counted from the newest.
    pub(super) fn at(&self, at: usize) -> Option<Revision> {
        Revision::new(self.start - at as u64, self.signatures.get(at)?.clone())
    }
}
