//! What somebody says of articles.

use feedsync_reader::Tag;

use crate::fault::Fault;
use crate::shown::ArticleNumber;

/// The most articles that a request names.
pub const MOST_ARTICLES: usize = 10_000;

/// What becomes of some articles, all alike. Of what is not said, nothing does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Marking {
    /// Which.
    pub articles: Vec<ArticleNumber>,
    /// Whether they become read, or unread.
    pub read: Option<bool>,
    /// Whether they become starred, or lose their star.
    pub starred: Option<bool>,
    /// The tags that they get.
    pub tag: Vec<Tag>,
    /// The tags that they lose.
    pub untag: Vec<Tag>,
}

impl Marking {
    /// That these were read, or not.
    pub fn read(articles: Vec<ArticleNumber>, is_read: bool) -> Self {
        Self { articles, read: Some(is_read), ..Self::default() }
    }

    /// That these are starred, or not.
    pub fn starred(articles: Vec<ArticleNumber>, is_starred: bool) -> Self {
        Self { articles, starred: Some(is_starred), ..Self::default() }
    }
}

/// That more articles are named.
pub(crate) fn too_many(name: &'static str) -> Fault {
    Fault::of(name, format!("at most {MOST_ARTICLES} articles at once"))
}
