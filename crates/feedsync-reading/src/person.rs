//! One person's reading at a hub.
//!
//! It is a replica of a log in memory, brought in step before anything is shown or done: what another device appended is
//! seen by the next request. What is done here is appended before it is acknowledged; should that fail, it goes
//! along with the next that is done.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError};

use feedsync_client::{ReaderFileError, StoredLog, synchronise_reader};
use feedsync_endpoint::EndpointError;
use feedsync_library::{KeptFeed, Library, LibraryError, NamedArticle, ReaderName};
use feedsync_log::{Device, Millis};
use feedsync_newsreader::ArticleNumber;
use feedsync_reader::{
    Action, FeedAddress, FeedState, Filing, Folder, ReaderState, Replica, Snapshot, Subscription,
    SubscriptionList, Tag, View,
};
use feedsync_store::{CollectionName, Environment, LogPlace, Store, StoreError};
use tokio::sync::{Mutex, Notify, Semaphore, SemaphorePermit};

use crate::marks::FeedMarks;
use crate::shelf::{Shelf, ShelvedFeed};

/// So many folders without anything in them are remembered.
const MOST_MADE: usize = 1_000;

/// Why somebody's reading cannot be shown or changed.
#[derive(Debug, thiserror::Error)]
pub enum ReadingError {
    /// The log.
    #[error(transparent)]
    Log(#[from] ReaderFileError),
    /// The articles.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The endpoint.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
}

/// Number of feeds that are found at once for one person.
pub const MAX_FINDS: usize = 2;

/// What came of marking articles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Acted {
    /// How many articles there are of those that were named.
    pub found: usize,
    /// How many of them were not marked so before.
    pub changed: usize,
}

/// Somebody whose reading is known here.
pub struct Person {
    library: Arc<dyn Library>,
    store: Arc<dyn Store>,
    environment: Arc<dyn Environment>,
    bell: Arc<Notify>,
    collection: CollectionName,
    reader: ReaderName,
    log: StoredLog,
    held: Mutex<Held>,
    /// Folders that were made before anything was filed in them. The log has none, so that they are known here
    /// alone, and for as long as this process runs.
    made: std::sync::Mutex<BTreeSet<Folder>>,
    finds: Semaphore,
}

struct Held {
    replica: Replica,
    /// Where the log stood when it was read last.
    place: Option<LogPlace>,
    shelf: Arc<Shelf>,
    /// What the library was told of the subscriptions.
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

    /// A turn to find a feed, until it is dropped. A person has [`MAX_FINDS`] at once, so that slow sites which one person
    /// names keep nobody else from subscribing.
    pub async fn find_turn(&self) -> Option<SemaphorePermit<'_>> {
        // It is never closed.
        self.finds.acquire().await.ok()
    }

    /// Folders that were made and have nothing in them yet.
    pub fn made(&self) -> BTreeSet<Folder> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes a folder. It is forgotten again, unless something is filed in it; of many the first in their order.
    pub fn make(&self, folder: Folder) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.insert(folder);
        if made.len() > MOST_MADE {
            made.pop_first();
        }
    }

    /// Forgets a folder that was made.
    pub fn unmake(&self, folder: &Folder) {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).remove(folder);
    }

    /// What this person reads, as it stands now.
    pub async fn shelf(&self) -> Result<Arc<Shelf>, ReadingError> {
        let mut held = self.held.lock().await;
        self.catch_up(&mut held).await?;
        self.show(&mut held).await
    }

    /// Does something to feeds, or to articles of them; how much of it was news. It is in the log when this
    /// returns. What is subscribed to is fetched from the next [`Person::shelf`] on.
    pub async fn act(&self, actions: &[(FeedAddress, Action)]) -> Result<usize, ReadingError> {
        self.act_on(|_| actions.to_vec()).await
    }

    /// Subscribes to all feeds of a list, behind what is there; how much of it was news.
    pub async fn subscribe(
        &self,
        list: &SubscriptionList,
        filing: Filing,
    ) -> Result<usize, ReadingError> {
        self.act_on(|view| list.actions(view, filing)).await
    }

    /// The subscriptions as an OPML document.
    pub async fn opml(&self, title: &str) -> Result<String, ReadingError> {
        let mut held = self.held.lock().await;
        self.catch_up(&mut held).await?;
        Ok(held.replica.state().view().opml(title))
    }

    /// Everything: subscriptions, marks, stars and tags.
    pub async fn everything(&self) -> Result<Snapshot, ReadingError> {
        let mut held = self.held.lock().await;
        self.catch_up(&mut held).await?;
        Ok(Snapshot { covers: None, state: held.replica.state().clone() })
    }

    /// Takes in what is known elsewhere; how many changes that was. Of each mark the newest counts.
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

    /// Does what is decided on what there is.
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

    /// Stars articles, or takes their stars away.
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

    /// Gives articles a tag, or takes it away.
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

    /// Marks all that stands in feeds as read, up to a moment. It is one record a feed, however many articles it has.
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
            // Articles of feeds that this person does not read are nobody's business here.
            if let Some(feed) = shelf.feed_of(article.listed.feed, article.listed.number) {
                found += 1;
                actions.push((feed.subscription.address.clone(), action(&article)));
            }
        }
        Ok(Acted { found, changed: self.act(&actions).await? })
    }

    /// Reads what others appended.
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

    /// Makes the shelf anew, of what is as before without looking it up again.
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
        // Starred and tagged articles of other feeds stay in reach.
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

    /// A feed with its marks. Those that are as before are not looked up again.
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

/// Whether an article of a feed is starred or tagged.
fn is_starred_or_tagged(state: &FeedState) -> bool {
    state.starred().next().is_some() || state.tagged().next().is_some()
}

/// Which articles of a feed are here.
fn told(feed: &KeptFeed) -> (u64, Option<Millis>, Option<Millis>) {
    (feed.articles, feed.newest, feed.state.changed)
}
