//! The reading of one user at a hub.
//!
//! It is a replica of a log in memory, which is synchronised before each request. Entries that another device
//! appended are visible to the next request. A change is appended to the log before it is acknowledged. If that
//! fails, it is appended with the next change.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError};

use crate::library::{KeptFeed, Library, LibraryError, NamedArticle, ReaderName};
use feedsync_client::{ReaderFileError, StoredLog, synchronise_reader};
use feedsync_endpoint::EndpointError;
use feedsync_log::{Device, Millis};
use feedsync_reader_api::ArticleNumber;
use feedsync_reading_state::{
    Action, FeedAddress, FeedState, Filing, Folder, ReaderState, Replica, Snapshot, Subscription,
    SubscriptionList, Tag, View,
};
use feedsync_store::{CollectionName, Environment, LogPosition, Store, StoreError};
use tokio::sync::{Mutex, Notify, Semaphore, SemaphorePermit};

use crate::reading::marks::FeedMarks;
use crate::reading::shelf::{Shelf, ShelvedFeed};

/// Maximum number of remembered empty folders.
const MOST_MADE: usize = 1_000;

/// Error of showing or changing the reading of a user.
#[derive(Debug, thiserror::Error)]
pub enum ReadingError {
    /// The log failed.
    #[error(transparent)]
    Log(#[from] ReaderFileError),
    /// The library of articles failed.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The endpoint failed.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
}

/// Maximum number of concurrent searches for feeds by one user.
pub const MAX_FINDS: usize = 2;

/// Result of marking articles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Acted {
    /// Number of the named articles that exist.
    pub found: usize,
    /// Number of the articles whose marks changed.
    pub changed: usize,
}

/// A user and their reading.
pub struct Person {
    library: Arc<dyn Library>,
    store: Arc<dyn Store>,
    environment: Arc<dyn Environment>,
    bell: Arc<Notify>,
    collection: CollectionName,
    reader: ReaderName,
    log: StoredLog,
    held: Mutex<Held>,
    /// Folders that were created and are still empty. The log cannot express them, so they exist only in this
    /// process.
    made: std::sync::Mutex<BTreeSet<Folder>>,
    finds: Semaphore,
}

struct Held {
    replica: Replica,
    /// Position of the log at the last read.
    place: Option<LogPosition>,
    shelf: Arc<Shelf>,
    /// Subscriptions that the library knows.
    subscribed: Option<BTreeSet<FeedAddress>>,
}

impl Person {
    pub(crate) fn new(
        library: Arc<dyn Library>,
        store: Arc<dyn Store>,
        environment: Arc<dyn Environment>,
        bell: Arc<Notify>,
        collection: CollectionName,
        reader: ReaderName,
        most: u64,
    ) -> Self {
        let log = StoredLog::new(Arc::clone(&store), collection.clone(), most);
        let held = Held {
            replica: Replica::new(Device::minted(environment.random())),
            place: None,
            shelf: Arc::default(),
            subscribed: None,
        };
        let (held, made) = (Mutex::new(held), std::sync::Mutex::default());
        let finds = Semaphore::new(MAX_FINDS);
        Self { library, store, environment, bell, collection, reader, log, held, made, finds }
    }

    /// Acquires a permit to find a feed, which is released when it is dropped. A user has [`MAX_FINDS`] permits,
    /// so that slow sites named by one user do not block others.
    pub async fn find_turn(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.finds.acquire().await.ok()
    }

    /// Returns the created folders that are still empty.
    pub fn made(&self) -> BTreeSet<Folder> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Creates a folder. It is not persisted until a feed is filed in it. Above the limit, the first folder in
    /// sort order is dropped.
    pub fn make(&self, folder: Folder) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.insert(folder);
        if made.len() > MOST_MADE {
            made.pop_first();
        }
    }

    /// Removes a created folder.
    pub fn unmake(&self, folder: &Folder) {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).remove(folder);
    }

    /// Returns the current subscriptions and marks.
    pub async fn shelf(&self) -> Result<Arc<Shelf>, ReadingError> {
        let mut held = self.held.lock().await;
        self.catch_up(&mut held).await?;
        self.show(&mut held).await
    }

    /// Performs actions on feeds or their articles; returns the number of actions that changed something. They
    /// are in the log when this returns. New subscriptions are fetched after the next [`Person::shelf`].
    pub async fn act(&self, actions: &[(FeedAddress, Action)]) -> Result<usize, ReadingError> {
        self.act_on(|_| actions.to_vec()).await
    }

    /// Subscribes to all feeds of a list, after the existing ones; returns the number of changes.
    pub async fn subscribe(
        &self,
        list: &SubscriptionList,
        filing: Filing,
    ) -> Result<usize, ReadingError> {
        self.act_on(|view| list.actions(view, filing)).await
    }

    /// Returns the subscriptions as an OPML document.
    pub async fn opml(&self, title: &str) -> Result<String, ReadingError> {
        let mut held = self.held.lock().await;
        self.catch_up(&mut held).await?;
        Ok(held.replica.state().view().opml(title))
    }

    /// Returns a snapshot of the subscriptions, marks, stars and tags.
    pub async fn everything(&self) -> Result<Snapshot, ReadingError> {
        let mut held = self.held.lock().await;
        self.catch_up(&mut held).await?;
        Ok(Snapshot { covers: None, state: held.replica.state().clone() })
    }

    /// Merges another state; returns the number of changes. Where marks differ, the newer one is kept.
    pub async fn take_in(&self, other: ReaderState) -> Result<usize, ReadingError> {
        let mut held = self.held.lock().await;
        self.catch_up(&mut held).await?;
        let changes = other.beyond(held.replica.state()).len();
        held.replica.take_in(other);
        if held.replica.waiting_count() > 0 {
            self.synchronise(&mut held).await?;
        }
        Ok(changes)
    }

    /// Performs the actions that `decide` derives from the current state.
    async fn act_on(
        &self,
        decide: impl FnOnce(&View<'_>) -> Vec<(FeedAddress, Action)> + Send,
    ) -> Result<usize, ReadingError> {
        let mut held = self.held.lock().await;
        self.catch_up(&mut held).await?;
        let actions = decide(&held.replica.state().view());
        let now = self.now();
        let told = actions.iter().filter(|(feed, action)| held.replica.act(feed, action, now));
        let told = told.count();
        if held.replica.waiting_count() > 0 {
            self.synchronise(&mut held).await?;
        }
        Ok(told)
    }

    /// Marks articles as read or unread.
    pub async fn mark(
        &self,
        articles: &[ArticleNumber],
        is_read: bool,
    ) -> Result<Acted, ReadingError> {
        self.each(articles, |article| {
            let (name, at) = (article.name.clone(), Some(article.listed.shown));
            match is_read {
                true => Action::Read { article: name, at },
                false => Action::Unread { article: name, at },
            }
        })
        .await
    }

    /// Sets or removes the stars of articles.
    pub async fn star(
        &self,
        articles: &[ArticleNumber],
        is_starred: bool,
    ) -> Result<Acted, ReadingError> {
        self.each(articles, |NamedArticle { name, .. }| match is_starred {
            true => Action::Star { article: name.clone() },
            false => Action::Unstar { article: name.clone() },
        })
        .await
    }

    /// Adds a tag to articles, or removes it.
    pub async fn tag(
        &self,
        articles: &[ArticleNumber],
        tag: &Tag,
        is_tagged: bool,
    ) -> Result<Acted, ReadingError> {
        self.each(articles, |NamedArticle { name, .. }| {
            let (article, tag) = (name.clone(), tag.clone());
            match is_tagged {
                true => Action::Tag { article, tag },
                false => Action::Untag { article, tag },
            }
        })
        .await
    }

    /// Marks all articles of feeds as read, up to a date. This takes one record for each feed, independent of the
    /// number of articles.
    pub async fn mark_all(
        &self,
        feeds: &[&ShelvedFeed],
        until: Option<Millis>,
    ) -> Result<usize, ReadingError> {
        let up_to = |feed: &&&ShelvedFeed| {
            let newest = feed.kept.newest?;
            Some((
                feed.subscription.address.clone(),
                Action::ReadUpTo { at: until.unwrap_or(newest).min(newest) },
            ))
        };
        let actions: Vec<_> = feeds.iter().filter_map(|feed| up_to(&feed)).collect();
        self.act(&actions).await
    }

    async fn each(
        &self,
        articles: &[ArticleNumber],
        action: impl Fn(&NamedArticle) -> Action,
    ) -> Result<Acted, ReadingError> {
        let shelf = self.shelf().await?;
        let (mut actions, mut found) = (Vec::new(), 0);
        for article in self.library.named(articles).await? {
            // Articles of feeds that the user is not subscribed to are not visible.
            if let Some(feed) = shelf.feed_of(article.listed.feed, article.listed.number) {
                found += 1;
                actions.push((feed.subscription.address.clone(), action(&article)));
            }
        }
        Ok(Acted { found, changed: self.act(&actions).await? })
    }

    /// Reads the entries that other devices appended.
    async fn catch_up(&self, held: &mut Held) -> Result<(), ReadingError> {
        let log = self.store.log(&self.collection).await?;
        let place = log.filter(|log| !log.removed).map(|log| log.place);
        if place.is_some() && place == held.place && held.replica.waiting_count() == 0 {
            return Ok(());
        }
        self.synchronise(held).await
    }

    async fn synchronise(&self, held: &mut Held) -> Result<(), ReadingError> {
        let environment = Arc::clone(&self.environment);
        let random = move || environment.random();
        held.place = None;
        synchronise_reader(&mut held.replica, &self.log, &random).await?;
        held.place = held.replica.position().and_then(|position| position.place()?.parse().ok());
        Ok(())
    }

    /// Rebuilds the shelf; unchanged feeds are reused without lookups.
    async fn show(&self, held: &mut Held) -> Result<Arc<Shelf>, ReadingError> {
        let state = held.replica.state();
        let view = state.view();
        let filed = view.filed();
        let wanted = filed.iter().map(|subscription| subscription.address.clone()).collect();
        if held.subscribed.as_ref() != Some(&wanted) {
            self.library.set_subscriptions(&self.reader, &wanted, self.now()).await?;
            self.bell.notify_one();
            held.subscribed = Some(wanted);
        }
        let kept = self.library.subscriptions(&self.reader).await?;
        let mut kept: HashMap<_, _> =
            kept.into_iter().map(|feed| (feed.address.clone(), feed)).collect();
        let before = Arc::clone(&held.shelf);
        let known = before.known();
        let mut feeds = Vec::with_capacity(filed.len());
        for subscription in filed {
            let Some(kept) = kept.remove(&subscription.address) else { continue };
            let state = view.feed(&subscription.address);
            let same = known.get(&subscription.address).copied();
            feeds.push(self.shelved(subscription, kept, state, same).await?);
        }
        // Starred and tagged articles of former subscriptions stay accessible.
        let others = view.feeds().filter(|(_, state)| !state.is_subscribed());
        let mut former = Vec::new();
        for (address, state) in others.filter(|(_, state)| is_starred_or_tagged(state)) {
            let Some(kept) = self.library.feed_at(address).await? else { continue };
            let subscription = Subscription {
                address: address.clone(),
                title: state.title().cloned(),
                folder: Folder::TOP,
                position: None,
            };
            let same = known.get(address).copied();
            former.push(self.shelved(subscription, kept, state, same).await?);
        }
        held.shelf = Arc::new(Shelf::new(feeds, former));
        Ok(Arc::clone(&held.shelf))
    }

    /// Builds a feed with its marks. An unchanged one is reused without lookups.
    async fn shelved(
        &self,
        subscription: Subscription,
        kept: KeptFeed,
        state: Cow<'_, FeedState>,
        known: Option<&ShelvedFeed>,
    ) -> Result<ShelvedFeed, LibraryError> {
        let same = known.filter(|known| told(&known.kept) == told(&kept) && *known.state == *state);
        if let Some(known) = same {
            return Ok(ShelvedFeed { subscription, kept, ..known.clone() });
        }
        let marks = FeedMarks::of(&*self.library, kept.number, &state).await?;
        let behind = self.library.count_behind(kept.number, marks.up_to()).await?;
        let (unread, state) = (marks.unread(behind), Arc::new(state.into_owned()));
        Ok(ShelvedFeed { subscription, kept, marks: Arc::new(marks), unread, state })
    }

    fn now(&self) -> Millis {
        Millis::new(self.environment.now().micros() / 1_000)
    }
}

/// Whether a feed has starred or tagged articles.
fn is_starred_or_tagged(state: &FeedState) -> bool {
    state.starred().next().is_some() || state.tagged().next().is_some()
}

/// Properties of a feed that change with its stored articles.
fn told(feed: &KeptFeed) -> (u64, Option<Millis>, Option<Millis>) {
    (feed.articles, feed.newest, feed.state.changed)
}
