//! State of a feed that is stored between its documents.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};

use serde::{Deserialize, Serialize};

use super::hashes::ArticleHashes;
use crate::article::ArticleId;

/// Maximum number of remembered articles of a feed, and of shared names. Those of the last document come
/// first, then those of earlier ones.
pub const MAX_REMEMBERED_ARTICLES: usize = 4_096;

/// Remembered state of a feed: its articles with hashes of their last values, and the names that do not
/// distinguish its articles. [`identify`](crate::identify()) updates it; a document that was read before
/// changes nothing.
///
/// It belongs to one device, is stored with the fetched documents, and is not synchronized. A device without
/// it behaves like one that reads the feed for the first time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct IdentificationState {
    /// The articles; those of the last document come first.
    pub(super) articles: Vec<(ArticleId, ArticleHashes)>,
    /// Hashes of names, and of names with links, that several articles had; those seen last come first.
    pub(super) shared: Vec<u64>,
}

/// Why a stored text is not a remembered state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdentificationStateError {
    /// Too many articles or shared names.
    #[error("the list has more than {MAX_REMEMBERED_ARTICLES} articles or shared names")]
    TooMany,
    /// Two articles have one id.
    #[error("the article {0:?} occurs twice")]
    Twice(ArticleId),
}

impl IdentificationState {
    /// The remembered articles, those of the last document first.
    pub fn articles(&self) -> impl Iterator<Item = &ArticleId> {
        self.articles.iter().map(|(id, _)| id)
    }

    /// Updates the state after a document with these articles and these shared hashes.
    pub(super) fn renewed(
        self,
        told: impl Iterator<Item = (ArticleId, ArticleHashes)>,
        mut shared: BTreeSet<u64>,
    ) -> Self {
        let mut articles: Vec<_> = told.collect();
        articles.sort_unstable_by(|(one, of_one), (other, of_other)| {
            (Reverse(of_one.published), one).cmp(&(Reverse(of_other.published), other))
        });
        let now: HashSet<_> = articles.iter().map(|(id, _)| id.clone()).collect();
        articles.extend(self.articles.into_iter().filter(|(id, _)| !now.contains(id)));
        articles.truncate(MAX_REMEMBERED_ARTICLES);
        for known in &self.shared {
            shared.remove(known);
        }
        let mut shared: Vec<_> = shared.into_iter().chain(self.shared).collect();
        shared.truncate(MAX_REMEMBERED_ARTICLES);
        Self { articles, shared }
    }
}

/// The stored form, not yet validated.
#[derive(Deserialize)]
struct Stored {
    articles: Vec<(ArticleId, ArticleHashes)>,
    shared: Vec<u64>,
}

impl TryFrom<Stored> for IdentificationState {
    type Error = IdentificationStateError;
    fn try_from(stored: Stored) -> Result<Self, IdentificationStateError> {
        let Stored { articles, shared } = stored;
        if articles.len().max(shared.len()) > MAX_REMEMBERED_ARTICLES {
            return Err(IdentificationStateError::TooMany);
        }
        let mut ids = HashSet::new();
        match articles.iter().find(|(id, _)| !ids.insert(id)) {
            Some((id, _)) => Err(IdentificationStateError::Twice(id.clone())),
            None => Ok(Self { articles, shared }),
        }
    }
}
