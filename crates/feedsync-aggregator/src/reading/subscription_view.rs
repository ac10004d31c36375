//! View of a user's subscriptions in order, each with its feed and its marks.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::library::{ListEntry, Origin, StoredFeed};
use feedsync_reader_api::{ArticleNumber, FeedNumber};
use feedsync_reading_state::{ArticleId, FeedAddress, FeedState, Subscription, Tag};

use crate::polling::icon;

use crate::reading::marks::FeedMarks;

/// Immutable snapshot of subscriptions with their feeds and marks.
#[derive(Debug, Clone, Default)]
pub struct SubscriptionView {
    feeds: Vec<FeedView>,
    places: HashMap<FeedNumber, usize>,
    former: BTreeMap<FeedNumber, FeedView>,
}

/// A feed of a user.
#[derive(Debug, Clone)]
pub struct FeedView {
    /// Subscription with title, folder and position.
    pub subscription: Subscription,
    /// Stored feed.
    pub kept: StoredFeed,
    /// Marks of the user in the feed.
    pub marks: Arc<FeedMarks>,
    /// Number of unread articles.
    pub unread: u64,
    /// State from which the marks were built.
    pub(crate) state: Arc<FeedState>,
}

impl FeedView {
    /// Number of the feed.
    pub fn number(&self) -> FeedNumber {
        self.kept.number
    }

    /// Title that the user chose, or else the feed's own, or else its address.
    pub fn title(&self) -> &str {
        let own = self.subscription.title.as_ref().map(feedsync_reading_state::Title::as_str);
        let title = own.or(self.kept.head.title.as_deref()).filter(|title| !title.is_empty());
        title.unwrap_or(self.subscription.address.as_str())
    }

    /// Site whose icon represents the feed.
    pub fn site(&self) -> Origin {
        icon::site(&self.kept.address, &self.kept.head)
    }

    /// Articles with a star or a tag.
    pub(crate) fn starred_or_tagged(&self) -> impl Iterator<Item = &ArticleId> {
        let marked = self.state.articles();
        let is_starred_or_tagged = |name: &ArticleId| {
            self.state.is_starred(name) || self.state.tags(name).next().is_some()
        };
        marked.map(|marked| marked.article).filter(move |name| is_starred_or_tagged(name))
    }

    /// Path of the folder in one line, from the outermost; `None` at the top.
    pub fn folder(&self) -> Option<String> {
        let names: Vec<_> =
            self.subscription.folder.names().iter().map(|name| name.as_str()).collect();
        (!names.is_empty()).then(|| names.join(" / "))
    }
}

impl SubscriptionView {
    pub(crate) fn new(feeds: Vec<FeedView>, former: Vec<FeedView>) -> Self {
        let places = feeds.iter().enumerate().map(|(place, feed)| (feed.number(), place)).collect();
        let former = former.into_iter().map(|feed| (feed.number(), feed)).collect();
        Self { feeds, places, former }
    }

    /// Feeds in the order of the subscriptions.
    pub fn feeds(&self) -> &[FeedView] {
        &self.feeds
    }

    /// Returns a feed, if it is subscribed to.
    pub fn feed(&self, number: FeedNumber) -> Option<&FeedView> {
        self.feeds.get(*self.places.get(&number)?)
    }

    /// Former subscriptions with starred or tagged articles. They are in no folder.
    pub fn former(&self) -> impl Iterator<Item = &FeedView> {
        self.former.values()
    }

    /// Returns a former subscription, if it has starred or tagged articles.
    pub fn former_feed(&self, number: FeedNumber) -> Option<&FeedView> {
        self.former.get(&number)
    }

    /// Returns a current or former subscription.
    pub(crate) fn any(&self, number: FeedNumber) -> Option<&FeedView> {
        self.feed(number).or_else(|| self.former_feed(number))
    }

    /// Returns the feed of an article that the user may see: one of a subscription, or a starred or tagged one.
    pub fn feed_of(&self, feed: FeedNumber, article: ArticleNumber) -> Option<&FeedView> {
        let former = || {
            let feed = self.former_feed(feed);
            feed.filter(|feed| feed.marks.is_starred_or_tagged(article))
        };
        self.feed(feed).or_else(former)
    }

    /// Returns the feed at an address, if it is subscribed to.
    pub fn feed_at(&self, address: &FeedAddress) -> Option<&FeedView> {
        self.feeds.iter().find(|feed| feed.subscription.address == *address)
    }

    /// Paths of the folders with feeds, each in one line, in the order of their first feeds.
    pub fn folders(&self) -> Vec<String> {
        let mut known = BTreeSet::new();
        let folders = self.feeds.iter().filter_map(FeedView::folder);
        folders.filter(|folder| known.insert(folder.clone())).collect()
    }

    /// Feeds in a folder.
    pub fn inside<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a FeedView> {
        self.feeds.iter().filter(move |feed| feed.folder().as_deref() == Some(folder))
    }

    /// Tags of all articles.
    pub fn tags(&self) -> BTreeSet<&Tag> {
        let feeds = self.feeds.iter().chain(self.former());
        feeds.flat_map(|feed| feed.marks.all_tags()).collect()
    }

    /// Hidden articles of the subscriptions.
    pub fn hidden(&self) -> impl Iterator<Item = ArticleNumber> {
        self.feeds.iter().flat_map(|feed| feed.marks.hidden())
    }

    /// Whether an article is read.
    pub fn is_read(&self, listed: &ListEntry) -> bool {
        self.any(listed.feed).is_some_and(|feed| feed.marks.is_read(listed))
    }

    /// Feeds by address, to be reused where nothing has changed.
    pub(crate) fn known(&self) -> BTreeMap<&FeedAddress, &FeedView> {
        let feeds = self.feeds.iter().chain(self.former());
        feeds.map(|feed| (&feed.subscription.address, feed)).collect()
    }
}
