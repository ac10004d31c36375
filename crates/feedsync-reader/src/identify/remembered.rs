//! What is remembered of a feed between its documents.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};

use serde::{Deserialize, Serialize};

use super::traces::Traces;
use crate::article::ArticleId;

/// The most articles of a feed that are remembered, and the most shared names: those of the last document, then
/// those of the ones before it.
pub const MOST_REMEMBERED: usize = 4_096;

/// What is remembered of a feed: its articles with hashes of what they said last, and which names do not tell its
/// articles apart. [`identify`](crate::identify()) renews it; a document that was read before changes nothing.
///
/// It is a device's own, to be stored with what it fetched, and is in step with no other. Without it, a
/// device is one that comes later.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct Remembered {
    /// Those of the last document come first.
    pub(super) articles: Vec<(ArticleId, Traces)>,
    /// Names, and links under names, that several articles had; those that were seen last come first.
    pub(super) shared: Vec<u64>,
}

/// Why something is not what was remembered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RememberedError {
    /// Too many articles or shared names.
    #[error("at most {MOST_REMEMBERED} articles and as many shared names are remembered")]
    TooMany,
    /// Two articles have one id.
    #[error("the article {0:?} is there twice")]
    Twice(ArticleId),
}

impl Remembered {
    /// The articles that are remembered, those of the last document first.
    pub fn articles(&self) -> impl Iterator<Item = &ArticleId> {
        self.articles.iter().map(|(id, _)| id)
    }

    /// What to remember after a document with these articles, and with what was seen to be shared.
    pub(super) fn renewed(
        self,
        told: impl Iterator<Item = (ArticleId, Traces)>,
        mut shared: BTreeSet<u64>,
    ) -> Self {
        let mut articles: Vec<_> = told.collect();
        articles.sort_unstable_by(|(one, of_one), (other, of_other)| {
            (Reverse(of_one.published), one).cmp(&(Reverse(of_other.published), other))
        });
        let now: HashSet<_> = articles.iter().map(|(id, _)| id.clone()).collect();
        articles.extend(self.articles.into_iter().filter(|(id, _)| !now.contains(id)));
        articles.truncate(MOST_REMEMBERED);
        for known in &self.shared {
            shared.remove(known);
        }
        let mut shared: Vec<_> = shared.into_iter().chain(self.shared).collect();
        shared.truncate(MOST_REMEMBERED);
        Self { articles, shared }
    }
}

/// As it is stored, not yet checked.
#[derive(Deserialize)]
struct Stored {
    articles: Vec<(ArticleId, Traces)>,
    shared: Vec<u64>,
}

impl TryFrom<Stored> for Remembered {
    type Error = RememberedError;
    fn try_from(stored: Stored) -> Result<Self, RememberedError> {
        let Stored { articles, shared } = stored;
        if articles.len().max(shared.len()) > MOST_REMEMBERED {
            return Err(RememberedError::TooMany);
        }
        let mut ids = HashSet::new();
        match articles.iter().find(|(id, _)| !ids.insert(id)) {
            Some((id, _)) => Err(RememberedError::Twice(id.clone())),
            None => Ok(Self { articles, shared }),
        }
    }
}
