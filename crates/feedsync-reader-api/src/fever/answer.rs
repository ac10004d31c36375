//! Responses: one object, to which each requested list adds its members.

use std::collections::BTreeMap;

use feedsync_log::Millis;
use serde_json::{Map, Value, json};

use crate::answer::RawResponse;
use crate::shown::{
    Article, ArticleNumber, FeedNumber, FolderNumber, Folders, ShownFolder, Subscription,
};

/// Implemented version of the interface.
const VERSION: u32 = 3;

/// Icon of the site of one or several feeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Favicon {
    /// Number of the icon: that of a feed of its site.
    pub number: FeedNumber,
    /// Media type of the picture.
    pub media_type: String,
    /// Picture in Base64.
    pub data: String,
}

/// A response to a client that is signed in.
#[derive(Debug, Clone)]
pub struct Response(Map<String, Value>);

/// Response to a client that is not signed in.
pub fn not_signed_in() -> RawResponse {
    RawResponse::json(&json!({ "api_version": VERSION, "auth": 0 }))
}

impl Response {
    /// Creates a response with the time of the last check of a feed, and without lists.
    pub fn new(feeds: &[Subscription]) -> Self {
        let checked = feeds.iter().filter_map(|feed| feed.checked).max();
        Self(Map::new())
            .with("api_version", VERSION)
            .with("auth", 1)
            .with("last_refreshed_on_time", unix(checked.unwrap_or_default()))
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// Adds the folders, and the feeds in them.
    #[must_use]
    pub fn groups(self, folders: &Folders, feeds: &[Subscription]) -> Self {
        let shown =
            |folder: &ShownFolder| json!({ "id": folder.number, "title": folder.name.as_str() });
        let groups: Vec<Value> = folders.iter().map(shown).collect();
        self.with("groups", groups).feeds_groups(feeds)
    }

    /// Adds the feeds, and the folders that contain them. `icons` has the number of the icon of each feed.
    #[must_use]
    pub fn feeds(self, feeds: &[Subscription], icons: &BTreeMap<FeedNumber, FeedNumber>) -> Self {
        let shown = |feed: &Subscription| {
            json!({
                "id": feed.number,
                "favicon_id": icons.get(&feed.number).map_or(0, |icon| icon.get()),
                "title": feed.title,
                "url": feed.address.as_str(),
                "site_url": feed.site.as_deref().unwrap_or(feed.address.as_str()),
                "is_spark": 0,
                "last_updated_on_time": unix(feed.newest.or(feed.checked).unwrap_or_default()),
            })
        };
        let shown: Vec<Value> = feeds.iter().map(shown).collect();
        self.with("feeds", shown).feeds_groups(feeds)
    }

    /// Adds the feeds of each folder. Feeds without a folder are in none.
    fn feeds_groups(self, feeds: &[Subscription]) -> Self {
        let mut groups: BTreeMap<FolderNumber, Vec<i64>> = BTreeMap::new();
        for feed in feeds {
            if let Some(folder) = &feed.folder {
                groups.entry(folder.number).or_default().push(feed.number.get());
            }
        }
        let shown = |(group, feeds): (FolderNumber, Vec<i64>)| json!({ "group_id": group, "feed_ids": list(feeds.into_iter()) });
        let shown: Vec<Value> = groups.into_iter().map(shown).collect();
        self.with("feeds_groups", shown)
    }

    /// Adds icons.
    #[must_use]
    pub fn favicons(self, icons: &[Favicon]) -> Self {
        let shown = |icon: &Favicon| json!({ "id": icon.number, "data": format!("{};base64,{}", icon.media_type, icon.data) });
        let shown: Vec<Value> = icons.iter().map(shown).collect();
        self.with("favicons", shown)
    }

    /// Adds articles, and the number of all articles.
    #[must_use]
    pub fn items(self, articles: &[Article], total: u64) -> Self {
        let shown: Vec<Value> = articles.iter().map(item).collect();
        self.with("total_items", total).with("items", shown)
    }

    /// Adds the list of popular links, which is empty.
    #[must_use]
    pub fn links(self) -> Self {
        self.with("links", Vec::<Value>::new())
    }

    /// Adds the numbers of the unread articles.
    #[must_use]
    pub fn unread(self, articles: impl Iterator<Item = ArticleNumber>) -> Self {
        self.with("unread_item_ids", list(articles.map(ArticleNumber::get)))
    }

    /// Adds the numbers of the saved articles.
    #[must_use]
    pub fn saved(self, articles: impl Iterator<Item = ArticleNumber>) -> Self {
        self.with("saved_item_ids", list(articles.map(ArticleNumber::get)))
    }

    /// Adds the reason why the request was refused.
    #[must_use]
    pub fn error(self, reason: &str) -> Self {
        self.with("error", reason)
    }

    /// Finishes the response.
    pub fn finish(self) -> RawResponse {
        RawResponse::json(&self.0)
    }
}

fn item(article: &Article) -> Value {
    json!({
        "id": article.number,
        "feed_id": article.feed,
        "title": article.title,
        "author": article.author.as_deref().unwrap_or_default(),
        "html": article.content,
        "url": article.address.as_deref().unwrap_or_default(),
        "is_saved": u8::from(article.is_starred),
        "is_read": u8::from(article.is_read),
        "created_on_time": unix(article.published),
    })
}

/// Formats a list of numbers with commas.
fn list(numbers: impl Iterator<Item = i64>) -> String {
    let mut text = String::new();
    for number in numbers {
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&number.to_string());
    }
    text
}

fn unix(at: Millis) -> u64 {
    at.get() / 1_000
}
