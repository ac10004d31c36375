//! Changes of article states.

use feedsync_reading_state::Tag;

use crate::fault::Fault;
use crate::shown::ArticleNumber;

/// Maximum number of articles in one request.
pub const MAX_REQUEST_ARTICLES: usize = 10_000;

/// The same change for several articles. Properties that are `None` or empty stay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marking {
    /// Articles to change.
    pub articles: Vec<ArticleNumber>,
    /// New read state.
    pub read: Option<bool>,
    /// New starred state.
    pub starred: Option<bool>,
    /// Tags to add.
    pub tag: Vec<Tag>,
    /// Tags to remove.
    pub untag: Vec<Tag>,
}

impl Marking {
    /// Marks articles as read or unread.
    pub fn read(articles: Vec<ArticleNumber>, is_read: bool) -> Self {
        Self { articles, read: Some(is_read), ..Self::default() }
    }

    /// Sets or removes the star of articles.
    pub fn starred(articles: Vec<ArticleNumber>, is_starred: bool) -> Self {
        Self { articles, starred: Some(is_starred), ..Self::default() }
    }
}

/// Fault for too many articles.
pub(crate) fn too_many(name: &'static str) -> Fault {
    Fault::of(name, format!("a request can name at most {MAX_REQUEST_ARTICLES} articles"))
}
