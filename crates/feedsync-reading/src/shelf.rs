//! What somebody reads, as it stands: subscriptions in their order, each with its feed and its marks.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use feedsync_library::{KeptFeed, Listed, Origin};
use feedsync_newsreader::{ArticleNumber, FeedNumber};
use feedsync_reader::{ArticleId, FeedAddress, FeedState, Subscription, Tag};

use crate::poll::icon;

use crate::marks::FeedMarks;

/// Subscriptions with what is here of them. It is of one moment and never changes.
#[derive(Debug, Clone, Default)]
pub struct Shelf {
    feeds: Vec<ShelvedFeed>,
    places: HashMap<FeedNumber, usize>,
    former: BTreeMap<FeedNumber, ShelvedFeed>,
}

/// A feed that somebody reads.
#[derive(Debug, Clone)]
pub struct ShelvedFeed {
    /// How it is filed.
    pub subscription: Subscription,
    /// What is known of it.
    pub kept: KeptFeed,
    /// What is marked in it.
    pub marks: Arc<FeedMarks>,
    /// How many of its articles are unread.
    pub unread: u64,
    /// What its marks were made from.
    pub(crate) state: Arc<FeedState>,
}

impl ShelvedFeed {
    /// Its number.
    pub fn number(&self) -> FeedNumber {
        self.kept.number
    }

    /// What its reader calls it, else what it calls itself, else its address.
    pub fn title(&self) -> &str {
        let own = self.subscription.title.as_ref().map(feedsync_reader::Title::as_str);
        let title = own.or(self.kept.head.title.as_deref()).filter(|title| !title.is_empty());
        title.unwrap_or(self.subscription.address.as_str())
    }

    /// The site whose picture stands for it.
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

    /// The folders that it is filed in, from the outermost, in one line; `None` at the top.
    pub fn folder(&self) -> Option<String> {
        let names: Vec<_> =
            self.subscription.folder.names().iter().map(|name| name.as_str()).collect();
        (!names.is_empty()).then(|| names.join(" / "))
    }
}

impl Shelf {
    pub(crate) fn new(feeds: Vec<ShelvedFeed>, former: Vec<ShelvedFeed>) -> Self {
        let places = feeds.iter().enumerate().map(|(place, feed)| (feed.number(), place)).collect();
        let former = former.into_iter().map(|feed| (feed.number(), feed)).collect();
        Self { feeds, places, former }
    }

    /// The feeds as they are filed.
    pub fn feeds(&self) -> &[ShelvedFeed] {
        &self.feeds
    }

    /// A feed, if it is subscribed to.
    pub fn feed(&self, number: FeedNumber) -> Option<&ShelvedFeed> {
        self.feeds.get(*self.places.get(&number)?)
    }

    /// Feeds whose subscriptions have ended, of which articles are starred or tagged. They are in no folder.
    pub fn former(&self) -> impl Iterator<Item = &ShelvedFeed> {
        self.former.values()
    }

    /// A feed whose subscription has ended, if articles of it are starred or tagged.
    pub fn former_feed(&self, number: FeedNumber) -> Option<&ShelvedFeed> {
        self.former.get(&number)
    }

    /// A feed that is subscribed to, or one whose subscription has ended.
    pub(crate) fn any(&self, number: FeedNumber) -> Option<&ShelvedFeed> {
        self.feed(number).or_else(|| self.former_feed(number))
    }

    /// The feed of an article that its reader may see: of a feed that is subscribed to, or starred or tagged.
    pub fn feed_of(&self, feed: FeedNumber, article: ArticleNumber) -> Option<&ShelvedFeed> {
        let former = || {
            let feed = self.former_feed(feed);
            feed.filter(|feed| feed.marks.is_starred_or_tagged(article))
        };
        self.feed(feed).or_else(former)
    }

    /// The feed at an address, if it is subscribed to.
    pub fn feed_at(&self, address: &FeedAddress) -> Option<&ShelvedFeed> {
        self.feeds.iter().find(|feed| feed.subscription.address == *address)
    }

    /// The folders in which feeds are, each in one line, in the order of their first feeds.
    pub fn folders(&self) -> Vec<String> {
        let mut known = BTreeSet::new();
        let folders = self.feeds.iter().filter_map(ShelvedFeed::folder);
        folders.filter(|folder| known.insert(folder.clone())).collect()
    }

    /// The feeds of a folder.
    pub fn inside<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a ShelvedFeed> {
        self.feeds.iter().filter(move |feed| feed.folder().as_deref() == Some(folder))
    }

    /// All tags that articles have.
    pub fn tags(&self) -> BTreeSet<&Tag> {
        let feeds = self.feeds.iter().chain(self.former());
        feeds.flat_map(|feed| feed.marks.all_tags()).collect()
    }

    /// Whether an article is read.
    pub fn is_read(&self, listed: &Listed) -> bool {
        self.any(listed.feed).is_some_and(|feed| feed.marks.is_read(listed))
    }

    /// What was known of each feed, to be taken over where nothing changed.
    pub(crate) fn known(&self) -> BTreeMap<&FeedAddress, &ShelvedFeed> {
        let feeds = self.feeds.iter().chain(self.former());
        feeds.map(|feed| (&feed.subscription.address, feed)).collect()
    }
}
