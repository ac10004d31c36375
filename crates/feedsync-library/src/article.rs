//! Articles.

use feedsync_formats::ContentType;
use feedsync_log::Millis;
use feedsync_reader::ArticleId;
use serde::{Deserialize, Serialize};

use crate::listing::Place;
use feedsync_newsreader::{ArticleNumber, FeedNumber};

/// The most bytes of one article, its [plain text](NewArticle::plain) apart, which has no more either.
pub const MOST_ARTICLE: usize = 1024 * 1024;

/// The most bytes of a title, an address, a name and the like.
pub const MOST_TEXT: usize = 64 * 1024;

/// The most enclosures of an article, and the most categories.
pub const MOST_LIST: usize = 1_000;

/// An article as a document tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewArticle {
    /// Which article of its feed it is.
    pub name: ArticleId,
    /// When it was published, if it says so.
    pub published: Option<Millis>,
    /// What it says.
    pub text: ArticleText,
    /// What it says as plain text, to be found by. It is not given back.
    pub plain: String,
}

/// What an article says, as its feed has it: nothing in it is safe to be shown as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ArticleText {
    /// When it last changed by its own account.
    pub updated: Option<Millis>,
    /// Its title, plain.
    pub title: Option<String>,
    /// Its own address.
    pub link: Option<String>,
    /// Who wrote it.
    pub author: Option<String>,
    /// What relative addresses in it are relative to.
    pub base: Option<String>,
    /// What it says.
    pub content: Option<String>,
    /// What the content is written in.
    pub content_type: ContentType,
    /// A short text beside the content.
    pub summary: Option<String>,
    /// What comes with it.
    pub enclosures: Vec<Enclosure>,
    /// What it is about.
    pub categories: Vec<String>,
}

/// A picture, a recording or the like that comes with an article.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enclosure {
    /// Where it is.
    pub address: String,
    /// Its media type.
    pub media_type: Option<String>,
    /// Its length in bytes.
    pub length: Option<u64>,
    /// How long it plays, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<u32>,
}

/// An article that is here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptArticle {
    /// Its number.
    pub number: ArticleNumber,
    /// The feed that told it.
    pub feed: FeedNumber,
    /// Which article of that feed it is.
    pub name: ArticleId,
    /// When it was published by its own account at first, else when it arrived.
    pub published: Millis,
    /// When it arrived.
    pub received: Millis,
    /// Where it stands in time: at the earlier of the two, later if it came [late](crate::LATE_AT_MOST).
    pub shown: Millis,
    /// When it last came with another text.
    pub changed: Option<Millis>,
    /// What it says now.
    pub text: ArticleText,
}

impl KeptArticle {
    /// Where it stands in lists.
    pub fn place(&self) -> Place {
        Place { shown: self.shown, number: self.number }
    }
}
