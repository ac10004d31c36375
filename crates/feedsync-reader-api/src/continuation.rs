//! Cursors for paging through lists of articles.

use std::fmt;
use std::str::FromStr;

use feedsync_log::Millis;

use crate::shown::ArticleNumber;

/// Cursor of a list: the sort date and the number of the last article on the page. Articles that are added or
/// removed meanwhile do not shift the others across the cursor.
///
/// Newsreaders get it as text, without characters that need percent-encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Continuation {
    /// Date of the last article on the page.
    pub at: Millis,
    /// Number of the last article on the page.
    pub article: ArticleNumber,
}

/// Error for a text that is not a continuation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a continuation token of this server")]
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
        // Only the canonical text of a cursor is accepted.
        if found.to_string() == text { Ok(found) } else { Err(ContinuationError) }
    }
}
