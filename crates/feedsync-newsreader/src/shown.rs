//! What is shown, in whatever dialect.

mod folders;
mod label;
mod number;
mod numbering;
mod tags;

use feedsync_log::Millis;
use feedsync_reader::{ArticleId, FeedAddress, Tag};
use sha2::{Digest as _, Sha256};

pub use folders::{Folders, ShownFolder};
pub use label::{Label, LabelError, MOST_LABEL};
pub use number::{ArticleNumber, FeedNumber, FolderNumber, NumberError, TagNumber};
pub use tags::{ShownTag, Tags};

/// Which feed is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FeedName {
    /// The one that is shown with this number.
    Number(FeedNumber),
    /// The one at this address.
    Address(FeedAddress),
}

/// A feed that somebody subscribes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// What it is known by.
    pub number: FeedNumber,
    /// Where it is.
    pub address: FeedAddress,
    /// What people call it, or else what it calls itself.
    pub title: String,
    /// The page that it belongs to.
    pub site: Option<String>,
    /// The folder that it is in.
    pub folder: Option<ShownFolder>,
    /// Where its icon is.
    pub icon: Option<String>,
    /// When its newest article came.
    pub newest: Option<Millis>,
    /// How many of its articles were not read.
    pub unread: u64,
    /// When it was last looked at.
    pub checked: Option<Millis>,
    /// Why it could not be read the last time.
    pub fault: Option<String>,
    /// How often in a row it could not.
    pub fault_count: u64,
}

/// An article.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Article {
    /// What it is known by.
    pub number: ArticleNumber,
    /// The feed that it is from.
    pub feed: FeedNumber,
    /// What it is called within that.
    pub name: ArticleId,
    /// Its title, as text.
    pub title: String,
    /// The page that it is on.
    pub address: Option<String>,
    /// Who wrote it.
    pub author: Option<String>,
    /// When, as its feed says.
    pub published: Millis,
    /// When it came here.
    pub received: Millis,
    /// When it last changed, or what is said of it.
    pub changed: Option<Millis>,
    /// What it says, as HTML. Whoever fills this in makes it safe.
    pub content: String,
    /// What comes with it.
    pub enclosures: Vec<Enclosure>,
    /// Whether it was read.
    pub is_read: bool,
    /// Whether it is starred.
    pub is_starred: bool,
    /// Its tags.
    pub tags: Vec<Tag>,
}

/// Media that come with an article.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enclosure {
    /// Where they are.
    pub address: String,
    /// What they are.
    pub media_type: Option<String>,
    /// How many bytes they have.
    pub length: Option<u64>,
    /// Playing time, in seconds.
    pub duration: Option<u32>,
}

/// The words of HTML, without its tags.
pub(crate) fn words(content: &str) -> impl Iterator<Item = &str> {
    // What stands before a tag, and behind the last.
    let parts = content.split('<');
    let texts = parts.map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    texts.flat_map(str::split_whitespace)
}

/// A text of hexadecimal digits that stands for texts: 64 of them.
pub(crate) fn digits(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
