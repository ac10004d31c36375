//! The articles of a feed that have marks of their own, for presentation.

use feedsync_log::Millis;

use crate::article::ArticleId;
use crate::feed::FeedState;
use crate::marks::Marks;
use crate::names::Tag;

/// The marks of one article.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkedArticle<'a> {
    /// The article.
    pub article: &'a ArticleId,
    /// Time of publication, if its marks state it.
    pub published: Option<Millis>,
    /// Whether it is read; `None` if no mark is known to decide that.
    pub is_read: Option<bool>,
    /// Whether it is starred.
    pub is_starred: bool,
    /// Whether it is hidden.
    pub is_hidden: bool,
    /// Its tags.
    pub tags: Vec<&'a Tag>,
}

impl FeedState {
    /// The articles that have marks of their own, in the order of their ids. Marks up to a date are not
    /// included.
    pub fn articles(&self) -> impl Iterator<Item = MarkedArticle<'_>> {
        let articles = self.articles.iter().map(|(article, marks)| self.shown(article, marks));
        articles.filter(|shown| {
            let is_marked = shown.is_starred || shown.is_hidden || !shown.tags.is_empty();
            is_marked || shown.is_read.is_some()
        })
    }

    fn shown<'a>(&'a self, article: &'a ArticleId, marks: &Marks) -> MarkedArticle<'a> {
        let published = marks.read.keys().next_back().copied().flatten();
        MarkedArticle {
            article,
            published,
            is_read: self.last_read(article, published).map(|(is_read, _)| is_read),
            is_starred: self.is_starred(article),
            is_hidden: self.is_hidden(article),
            tags: self.tags(article).collect(),
        }
    }
}
