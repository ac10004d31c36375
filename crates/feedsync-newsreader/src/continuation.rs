//! Where a list goes on.

use std::fmt;
use std::str::FromStr;

use feedsync_log::Millis;

use crate::shown::ArticleNumber;

/// The place behind which a list goes on: that of the last article that was shown, by the date by which the list
/// is ordered and by its number. What comes later or goes away meanwhile moves no other article over it.
///
/// Newsreaders see a text that they give back, without characters that an address would encode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Continuation {
    /// The date of the last article that was shown.
    pub at: Millis,
    /// Its number.
    pub article: ArticleNumber,
}

/// A text that is no continuation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a continuation that this server gave")]
pub struct ContinuationError;

impl fmt::Display for Continuation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.at, self.article)
    }
}

impl FromStr for Continuation {
    type Err = ContinuationError;
    fn from_str(text: &str) -> Result<Self, ContinuationError> {
        let (at, article) = text.split_once('.').ok_or(ContinuationError)?;
        let at = at.parse().ok().filter(|at| *at <= Millis::MAX.get()).ok_or(ContinuationError)?;
        let article = article.parse().map_err(|_| ContinuationError)?;
        let found = Self { at: Millis::new(at), article };
        // One place has one text.
        if found.to_string() == text { Ok(found) } else { Err(ContinuationError) }
    }
}
