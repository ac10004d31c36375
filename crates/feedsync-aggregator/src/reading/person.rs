//! The reading of one user at a hub.
//!
//! It is a replica of a log in memory, which is synchronised before each request. Entries that another device
//! appended are visible to the next request. A change is appended to the log before it is acknowledged. If that
//! fails, it is appended with the next change.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError};

use crate::library::{Library, LibraryError, NamedArticle, ReaderName, StoredFeed};
use feedsync_client::{ReaderFileError, StoredLog, synchronise_reader};
use feedsync_endpoint::{Endpoint, EndpointError};
use feedsync_log::{Device, Millis};
use feedsync_reader_api::ArticleNumber;
use feedsync_reading_state::{
    Action, FeedAddress, FeedState, Folder, ImportPolicy, ReaderState, Replica, Snapshot,
    Subscription, SubscriptionList, Tag, View,
};
use feedsync_store::{CollectionName, LogPosition, StoreError};
use tokio::sync::{Mutex, Notify, Semaphore, SemaphorePermit};

use crate::reading::marks::FeedMarks;
use crate::reading::subscription_view::{FeedView, SubscriptionView};
use crate::reading::undo::UndoableActions;
use crate::rules::RuleProgress;

/// Maximum number of remembered empty folders.
const MAX_CREATED_FOLDERS: usize = 1_000;

/// Error of showing or changing the reading of a user.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
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

/// Maximum number of pictures that are fetched concurrently for one user.
pub const MAX_PICTURES: usize = 4;

/// Result of marking articles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MarkResult {
    /// Number of the named articles that exist.
    pub found: usize,
    /// Number of the articles whose marks changed.
    pub changed: usize,
}

/// A user and their reading.
pub struct Person {
    pub(super) library: Arc<dyn Library>,
    pub(super) endpoint: Endpoint,
    notifier: Arc<Notify>,
    collection: CollectionName,
    reader: ReaderName,
    log: StoredLog,
    pub(super) loaded: Mutex<LoadedReading>,
    /// Folders that were created and are still empty. The log cannot express them, so they exist only in this
    /// process.
    created_folders: std::sync::Mutex<BTreeSet<Folder>>,
    pub(super) undoable: std::sync::Mutex<UndoableActions>,
    finds: Semaphore,
    pictures: Semaphore,
}

pub(super) struct LoadedReading {
    pub(super) replica: Replica,
    /// Position of the log at the last read.
    place: Option<LogPosition>,
    pub(super) subscription_view: Arc<SubscriptionView>,
    pub(super) rules: RuleProgress,
}

impl Person {
    pub(crate) fn new(
        library: Arc<dyn Library>,
        endpoint: Endpoint,
        notifier: Arc<Notify>,
        collection: CollectionName,
        reader: ReaderName,
        most: u64,
    ) -> Self {
        let log = StoredLog::new(endpoint.clone(), collection.clone(), most);
        let loaded = LoadedReading {
            replica: Replica::new(Device::minted(endpoint.environment().random())),
            place: None,
            subscription_view: Arc::default(),
            rules: RuleProgress::default(),
        };
        let (loaded, created_folders) = (Mutex::new(loaded), std::sync::Mutex::default());
        let [finds, pictures] = [MAX_FINDS, MAX_PICTURES].map(Semaphore::new);
        Self {
            library,
            endpoint,
            notifier,
            collection,
            reader,
            log,
            loaded,
            created_folders,
            undoable: std::sync::Mutex::default(),
            finds,
            pictures,
        }
    }

    /// Acquires a permit to find a feed, which is released when it is dropped. A user has [`MAX_FINDS`] permits,
    /// so that slow sites named by one user do not block others.
    pub async fn find_permit(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.finds.acquire().await.ok()
    }

    /// Acquires a permit to fetch a picture, which is released when it is dropped. A user has [`MAX_PICTURES`]
    /// permits, so that slow servers of one user's pictures do not block others.
    pub async fn picture_permit(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.pictures.acquire().await.ok()
    }

    /// Returns the created folders that are still empty.
    pub fn created_folders(&self) -> BTreeSet<Folder> {
        self.created_folders.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Creates a folder. It is not persisted until a feed is filed in it. Above the limit, the first folder in
    /// sort order is dropped.
    pub fn create_folder(&self, folder: Folder) {
        let mut created_folders =
            self.created_folders.lock().unwrap_or_else(PoisonError::into_inner);
        created_folders.insert(folder);
        if created_folders.len() > MAX_CREATED_FOLDERS {
            created_folders.pop_first();
        }
    }

    /// Removes a created folder.
    pub fn remove_created_folder(&self, folder: &Folder) {
        self.created_folders.lock().unwrap_or_else(PoisonError::into_inner).remove(folder);
    }

    /// Returns the current subscriptions and marks. Rules are applied to new articles first.
    pub async fn subscription_view(&self) -> Result<Arc<SubscriptionView>, ReadingError> {
        let mut loaded = self.loaded.lock().await;
        self.catch_up(&mut loaded).await?;
        let subscription_view = self.rebuild_view(&mut loaded).await?;
        match self.apply_rules(&mut loaded).await? {
            true => self.rebuild_view(&mut loaded).await,
            false => Ok(subscription_view),
        }
    }

    /// Performs actions on feeds or their articles; returns the number of actions that changed something. They
    /// are in the log when this returns. New subscriptions are fetched after the next [`Person::subscription_view`].
    pub async fn act(&self, actions: &[(FeedAddress, Action)]) -> Result<usize, ReadingError> {
        self.act_on(|_| actions.to_vec()).await
    }

    /// Subscribes to all feeds of a list, after the existing ones; returns the number of changes.
    pub async fn subscribe(
        &self,
        list: &SubscriptionList,
        filing: ImportPolicy,
    ) -> Result<usize, ReadingError> {
        self.act_on(|view| list.actions(view, filing)).await
    }

    /// Returns the subscriptions as an OPML document.
    pub async fn opml(&self, title: &str) -> Result<String, ReadingError> {
        let mut loaded = self.loaded.lock().await;
        self.catch_up(&mut loaded).await?;
        Ok(loaded.replica.state().view().opml(title))
    }

    /// Returns a snapshot of the subscriptions, marks, stars and tags.
    pub async fn everything(&self) -> Result<Snapshot, ReadingError> {
        let mut loaded = self.loaded.lock().await;
        self.catch_up(&mut loaded).await?;
        Ok(Snapshot { covers: None, state: loaded.replica.state().clone() })
    }

    /// Merges another state; returns the number of changes. Where marks differ, the newer one is kept.
    pub async fn merge_state(&self, other: ReaderState) -> Result<usize, ReadingError> {
        let mut loaded = self.loaded.lock().await;
        self.catch_up(&mut loaded).await?;
        let changes = other.changes_missing_in(loaded.replica.state()).len();
        loaded.replica.merge_state(other);
        if loaded.replica.waiting_count() > 0 {
            self.synchronise(&mut loaded).await?;
        }
        Ok(changes)
    }

    /// Performs the actions that `decide` derives from the current state.
    async fn act_on(
        &self,
        decide: impl FnOnce(&View<'_>) -> Vec<(FeedAddress, Action)> + Send,
    ) -> Result<usize, ReadingError> {
        let mut loaded = self.loaded.lock().await;
        self.catch_up(&mut loaded).await?;
        let actions = decide(&loaded.replica.state().view());
        let now = self.now();
        let told = actions.iter().filter(|(feed, action)| loaded.replica.act(feed, action, now));
        let told = told.count();
        if loaded.replica.waiting_count() > 0 {
            self.synchronise(&mut loaded).await?;
        }
        Ok(told)
    }

    /// Marks articles as read or unread.
    pub async fn mark(
        &self,
        articles: &[ArticleNumber],
        is_read: bool,
    ) -> Result<MarkResult, ReadingError> {
        if is_read {
            // The log has no record of reading an article that is already read.
            self.undoable_actions().remove_articles(articles);
        }
        if !is_read {
            self.unhide(articles).await?;
        }
        self.each(articles, |article| {
            let (name, at) = (article.name.clone(), Some(article.listed.sort_date));
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
    ) -> Result<MarkResult, ReadingError> {
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
    ) -> Result<MarkResult, ReadingError> {
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
        feeds: &[&FeedView],
        until: Option<Millis>,
    ) -> Result<usize, ReadingError> {
        let up_to = |feed: &&&FeedView| {
            let newest = feed.kept.newest?;
            Some((
                feed.subscription.address.clone(),
                Action::ReadUpTo { at: until.unwrap_or(newest).min(newest) },
            ))
        };
        let actions: Vec<_> = feeds.iter().filter_map(|feed| up_to(&feed)).collect();
        self.act(&actions).await
    }

    pub(super) async fn each(
        &self,
        articles: &[ArticleNumber],
        action: impl Fn(&NamedArticle) -> Action,
    ) -> Result<MarkResult, ReadingError> {
        let subscription_view = self.subscription_view().await?;
        let (mut actions, mut found) = (Vec::new(), 0);
        for article in self.library.named(articles).await? {
            // Articles of feeds that the user is not subscribed to are not visible.
            if let Some(feed) =
                subscription_view.feed_of(article.listed.feed, article.listed.number)
            {
                found += 1;
                actions.push((feed.subscription.address.clone(), action(&article)));
            }
        }
        Ok(MarkResult { found, changed: self.act(&actions).await? })
    }

    /// Reads the entries that other devices appended.
    pub(super) async fn catch_up(&self, loaded: &mut LoadedReading) -> Result<(), ReadingError> {
        let log = self.endpoint.log(&self.collection).await?;
        let place = log.filter(|log| !log.removed).map(|log| log.place);
        if place.is_some() && place == loaded.place && loaded.replica.waiting_count() == 0 {
            return Ok(());
        }
        self.synchronise(loaded).await
    }

    pub(super) async fn synchronise(&self, loaded: &mut LoadedReading) -> Result<(), ReadingError> {
        let environment = Arc::clone(self.endpoint.environment());
        let random = move || environment.random();
        loaded.place = None;
        synchronise_reader(&mut loaded.replica, &self.log, &random).await?;
        loaded.place =
            loaded.replica.position().and_then(|position| position.place()?.parse().ok());
        Ok(())
    }

    /// Rebuilds the view; unchanged feeds are reused without lookups.
    async fn rebuild_view(
        &self,
        loaded: &mut LoadedReading,
    ) -> Result<Arc<SubscriptionView>, ReadingError> {
        let state = loaded.replica.state();
        let view = state.view();
        let subscriptions_by_folder = view.subscriptions_by_folder();
        let wanted: BTreeSet<_> = subscriptions_by_folder
            .iter()
            .map(|subscription| subscription.address.clone())
            .collect();
        let mut kept = self.library.subscriptions(&self.reader).await?;
        // Another node may have stored subscriptions that were older than these.
        if !kept.iter().map(|feed| &feed.address).eq(&wanted) {
            self.library.set_subscriptions(&self.reader, &wanted, self.now()).await?;
            self.notifier.notify_one();
            kept = self.library.subscriptions(&self.reader).await?;
        }
        let mut kept: HashMap<_, _> =
            kept.into_iter().map(|feed| (feed.address.clone(), feed)).collect();
        let before = Arc::clone(&loaded.subscription_view);
        let known = before.known();
        let mut feeds = Vec::with_capacity(subscriptions_by_folder.len());
        for subscription in subscriptions_by_folder {
            let Some(kept) = kept.remove(&subscription.address) else { continue };
            let state = view.feed(&subscription.address);
            let same = known.get(&subscription.address).copied();
            feeds.push(self.feed_view(subscription, kept, state, same).await?);
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
            former.push(self.feed_view(subscription, kept, state, same).await?);
        }
        loaded.subscription_view = Arc::new(SubscriptionView::new(feeds, former));
        Ok(Arc::clone(&loaded.subscription_view))
    }

    /// Builds a feed with its marks. An unchanged one is reused without lookups.
    async fn feed_view(
        &self,
        subscription: Subscription,
        kept: StoredFeed,
        state: Cow<'_, FeedState>,
        known: Option<&FeedView>,
    ) -> Result<FeedView, LibraryError> {
        let same = known.filter(|known| {
            known.kept.fingerprint() == kept.fingerprint() && *known.state == *state
        });
        if let Some(known) = same {
            return Ok(FeedView { subscription, kept, ..known.clone() });
        }
        let marks = FeedMarks::of(&*self.library, kept.number, &state).await?;
        let behind = self.library.count_after(kept.number, marks.up_to()).await?;
        let (unread, state) = (marks.unread(behind), Arc::new(state.into_owned()));
        Ok(FeedView { subscription, kept, marks: Arc::new(marks), unread, state })
    }

    pub(super) fn now(&self) -> Millis {
        Millis::new(self.endpoint.environment().now().micros() / 1_000)
    }
}

/// Whether a feed has starred or tagged articles.
fn is_starred_or_tagged(state: &FeedState) -> bool {
    state.starred().next().is_some() || state.tagged().next().is_some()
}
