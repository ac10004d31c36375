//! Paths: a revision with what it came of.

use crate::revision::{Revision, Signature};

/// A revision and those that it came of, as `_revisions` has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    /// The generation of the newest.
    start: u64,
    /// The newest first; at least one, and not more than there are generations.
    signatures: Vec<Signature>,
}

/// A path that cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// It has no revision.
    #[error("a path has at least one revision")]
    Empty,
    /// It has more revisions than its newest has generations.
    #[error("a path has no more revisions than its start says")]
    TooLong,
}

impl Path {
    /// A path whose newest revision is of generation `start`.
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

    /// The path of a revision of which nothing else is known.
    pub fn root(revision: &Revision) -> Self {
        Self { start: revision.generation(), signatures: vec![revision.signature().clone()] }
    }

    /// The path of a revision that came of another, of which nothing else is known; `None` after the last generation.
    pub fn child(parent: &Revision, signature: Signature) -> Option<Self> {
        let signatures = vec![signature, parent.signature().clone()];
        Self::new(parent.generation() + 1, signatures).ok()
    }

    /// The newest so many revisions of it, at least one.
    #[must_use]
    pub fn shortened(mut self, most: usize) -> Self {
        self.signatures.truncate(most.max(1));
        self
    }

    /// Its newest revision.
    pub fn newest(&self) -> Revision {
        Revision::known(self.start, self.signatures[0].clone())
    }

    /// The generation of the newest.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The newest first.
    pub fn signatures(&self) -> &[Signature] {
        &self.signatures
    }

    /// The newest first.
    pub fn revisions(&self) -> impl Iterator<Item = Revision> {
        let generations = (0..=self.start).rev();
        generations.zip(&self.signatures).map(|(at, it)| Revision::known(at, it.clone()))
    }

    /// What the revision at a place came of.
    pub(super) fn parent_of(&self, at: usize) -> Option<&Signature> {
        self.signatures.get(at + 1)
    }

    /// The revision so many before the newest.
    pub(super) fn at(&self, at: usize) -> Option<Revision> {
        Revision::new(self.start - at as u64, self.signatures.get(at)?.clone())
    }
}
