//! Articles.

use feedsync_formats::ContentType;
use feedsync_log::Millis;
use feedsync_reading_state::ArticleId;
use serde::{Deserialize, Serialize};

use crate::library::listing::ListPosition;
use feedsync_reader_api::{ArticleNumber, FeedNumber};

/// Maximum size of one article, in bytes, excluding its [plain text](NewArticle::plain), which has the same
/// limit.
pub const MAX_ARTICLE_BYTES: usize = 1024 * 1024;

/// Maximum length of a title, an address, a name and similar texts, in bytes.
pub const MAX_TEXT_BYTES: usize = 64 * 1024;

/// Maximum number of enclosures of an article, and of categories.
pub const MAX_LIST_ENTRIES: usize = 1_000;

/// An article as a document contains it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewArticle {
    /// Identifier within the feed.
    pub name: ArticleId,
    /// Date of publication, if the article has one.
    pub published: Option<Millis>,
    /// Contents of the article.
    pub text: ArticleText,
    /// Contents as plain text for the search index. It cannot be read back.
    pub plain: String,
}

/// Contents of an article as its feed has them. They are not sanitised and must not be shown unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArticleText {
    /// Date of the last change, according to the article.
    pub updated: Option<Millis>,
    /// Title as plain text.
    pub title: Option<String>,
    /// Address of the article.
    pub link: Option<String>,
    /// Name of the author.
    pub author: Option<String>,
    /// Base of relative addresses in the contents.
    pub base: Option<String>,
    /// Content of the article.
    pub content: Option<String>,
    /// Type of the content.
    pub content_type: ContentType,
    /// Summary besides the content.
    pub summary: Option<String>,
    /// Media of the article.
    pub enclosures: Vec<Enclosure>,
    /// Topics of the article.
    pub categories: Vec<String>,
}

/// A picture, a recording or another file of an article.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enclosure {
    /// Address of the file.
    pub address: String,
    /// Media type of the file.
    pub media_type: Option<String>,
    /// Length in bytes.
    pub length: Option<u64>,
    /// Duration in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<u32>,
}

/// A stored article.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredArticle {
    /// Number of the article.
    pub number: ArticleNumber,
    /// Feed of the article.
    pub feed: FeedNumber,
    /// Identifier within the feed.
    pub name: ArticleId,
    /// Date of publication when the article was first seen, or else the time of arrival.
    pub published: Millis,
    /// Time of arrival.
    pub received: Millis,
    /// Sort date: the earlier of `published` and `received`, or a later one if the article came
    /// [late](crate::library::MAX_LATENESS).
    pub sort_date: Millis,
    /// Time at which the contents last changed.
    pub changed: Option<Millis>,
    /// Current contents.
    pub text: ArticleText,
}

impl StoredArticle {
    /// Position in lists.
    pub fn place(&self) -> ListPosition {
        ListPosition { sort_date: self.sort_date, number: self.number }
    }
}
