//! Objects that are shown to newsreaders in all dialects.

mod folders;
mod label;
mod number;
mod numbering;
mod tags;

use feedsync_log::Millis;
use feedsync_reading_state::{ArticleId, FeedAddress, Tag};
use sha2::{Digest as _, Sha256};

pub use folders::{Folders, ShownFolder};
pub use label::{Label, LabelError, MAX_LABEL_BYTES};
pub use number::{ArticleNumber, FeedNumber, FolderNumber, NumberError, TagNumber};
pub use tags::{ShownTag, Tags};

/// Reference to a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedName {
    /// Feed with this number.
    Number(FeedNumber),
    /// Feed at this address.
    Address(FeedAddress),
}

/// A subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// Number of the feed.
    pub number: FeedNumber,
    /// Address of the feed.
    pub address: FeedAddress,
    /// Title that the user chose, or else the feed's own.
    pub title: String,
    /// Address of the web page of the feed.
    pub site: Option<String>,
    /// Folder of the feed.
    pub folder: Option<ShownFolder>,
    /// Address of the icon.
    pub icon: Option<String>,
    /// Arrival time of the newest article.
    pub newest: Option<Millis>,
    /// Number of unread articles.
    pub unread: u64,
    /// Time of the last check.
    pub checked: Option<Millis>,
    /// Error of the last check, if it failed.
    pub fault: Option<String>,
    /// Number of consecutive failures.
    pub fault_count: u64,
}

/// An article.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Article {
    /// Number of the article.
    pub number: ArticleNumber,
    /// Number of the feed.
    pub feed: FeedNumber,
    /// Identifier within the feed.
    pub name: ArticleId,
    /// Title as plain text.
    pub title: String,
    /// Address of the article's page.
    pub address: Option<String>,
    /// Name of the author.
    pub author: Option<String>,
    /// Date of publication, according to the feed.
    pub published: Millis,
    /// Time of arrival.
    pub received: Millis,
    /// Time of the last change of the article or of its marks.
    pub changed: Option<Millis>,
    /// Content as HTML. The caller must sanitise it.
    pub content: String,
    /// Media of the article.
    pub enclosures: Vec<Enclosure>,
    /// Whether the article is read.
    pub is_read: bool,
    /// Whether the article is starred.
    pub is_starred: bool,
    /// Tags of the article.
    pub tags: Vec<Tag>,
}

/// A media file of an article.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enclosure {
    /// Address of the file.
    pub address: String,
    /// Media type of the file.
    pub media_type: Option<String>,
    /// Size of the file, in bytes.
    pub length: Option<u64>,
    /// Playing time, in seconds.
    pub duration: Option<u32>,
}

/// Words of HTML text, without tags.
pub(crate) fn words(content: &str) -> impl Iterator<Item = &str> {
    // The text before each tag, and after the last one.
    let parts = content.split('<');
    let texts = parts.map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    texts.flat_map(str::split_whitespace)
}

/// Hash of several texts: 64 hexadecimal digits.
pub(crate) fn digits(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
