//! Reading state of a user and the articles that it concerns, for the pages and for newsreader interfaces.

pub(crate) mod articles;
pub(crate) mod discovery;
pub(crate) mod filing;
pub(crate) mod marking;

use std::sync::Arc;
use std::time::Duration;

use feedsync_aggregator::{
    FeedView, FullText, FullTextError, Icon, LibraryError, Newsreading, Person, Picture,
    PictureError, ReadingError, SubscriptionView, select, total,
};
use feedsync_endpoint::{ReadingOwner, reading_collection};
use feedsync_log::Millis;
use feedsync_reader_api::{Fault, FeedName, FeedNumber, Folders, Subscription};
use feedsync_reading_state::FeedAddress;
use tokio::time::timeout;

use crate::access::call::Call;
use crate::access::{Principal, Right, require};
use crate::http::html::Cleaning;
use crate::http::problem::Problem;
use crate::hub::Hub;

/// Maximum time that a picture or a full text waits for others of the same user.
const MAX_PICTURE_WAIT: Duration = Duration::from_secs(30);

/// Reason for refusing a request.
pub(crate) enum Refusal {
    /// The request is not valid.
    Fault(Fault),
    /// The request is valid, but is not possible now or not for this principal.
    Problem(Problem),
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<ReadingError> for Refusal {
    fn from(error: ReadingError) -> Self {
        Self::Problem(match error {
            ReadingError::Store(error) => error.into(),
            ReadingError::Endpoint(error) => error.into(),
            // For example, a search text as long as a book.
            ReadingError::Library(error @ LibraryError::TooMuch { .. }) => {
                Problem::bad_request(error.to_string())
            }
            ReadingError::Library(error @ LibraryError::Full) => {
                tracing::error!(%error, "cannot store articles");
                Problem::disk_full()
            }
            error => {
                tracing::error!(%error, "cannot read a reading state");
                Problem::unavailable("the reading state cannot be read at the moment; try again")
            }
        })
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Fault(fault) => Self::bad_request(fault.to_string()),
            Refusal::Problem(problem) => problem,
        }
    }
}

impl From<LibraryError> for Refusal {
    fn from(error: LibraryError) -> Self {
        ReadingError::Library(error).into()
    }
}

/// A user's reading state, as one request sees it.
pub(crate) struct Reading {
    pub(crate) newsreading: Newsreading,
    pub(crate) person: Arc<Person>,
    pub(crate) subscription_view: Arc<SubscriptionView>,
    pub(crate) folders: Folders,
    pub(crate) now: Millis,
    pub(crate) cleaning: Cleaning,
}

impl Reading {
    /// Reading state of the principal. A principal that may not edit its collection may not read through
    /// these APIs either.
    pub(crate) async fn of(hub: &Hub, call: &Call, principal: &Principal) -> Result<Self, Refusal> {
        let newsreading = newsreading(hub)?.clone();
        let reader = principal.reader();
        // A restricted token needs a role in the collection. All others own it once it is created or taken
        // over.
        if !principal.may_create() {
            let collection = reading_collection(principal.user());
            require(&hub.endpoint, principal, Right::Append, Some(&collection)).await?;
        }
        let person = person(hub, call, reader.as_ref()).await?;
        let subscription_view = person.subscription_view().await?;
        let now = Millis::new(hub.endpoint.environment().now().micros() / 1_000);
        let folders = folders(&person, &subscription_view);
        let cleaning = hub.cleaning.clone();
        Ok(Self { newsreading, person, subscription_view, folders, now, cleaning })
    }

    /// Reads the state again after a change.
    pub(crate) async fn refresh(&mut self) -> Result<(), Refusal> {
        self.subscription_view = self.person.subscription_view().await?;
        self.folders = folders(&self.person, &self.subscription_view);
        Ok(())
    }

    pub(crate) fn subscriptions(&self) -> Vec<Subscription> {
        self.subscription_view.feeds().iter().map(|feed| self.subscription(feed)).collect()
    }

    /// Feeds of all articles that may be shown, including those of ended subscriptions.
    pub(crate) fn sources(&self) -> Vec<Subscription> {
        let feeds = self.subscription_view.feeds().iter().chain(self.subscription_view.former());
        feeds.map(|feed| self.subscription(feed)).collect()
    }

    pub(crate) fn subscription(&self, feed: &FeedView) -> Subscription {
        let kept = &feed.kept;
        Subscription {
            number: kept.number,
            address: feed.subscription.address.clone(),
            title: feed.title().to_owned(),
            site: kept.head.site.clone(),
            folder: self.folders.shown(&feed.subscription.folder).cloned(),
            icon: kept.head.icon.clone().or_else(|| Some(format!("{}/favicon.ico", feed.site()))),
            newest: kept.newest,
            unread: feed.unread,
            checked: kept.state.checked,
            fault: kept.state.fault.clone(),
            fault_count: kept.state.failures.into(),
        }
    }

    pub(crate) fn feed(&self, name: &FeedName) -> Option<&FeedView> {
        match name {
            FeedName::Number(number) => self.subscription_view.feed(*number),
            FeedName::Address(address) => self.subscription_view.feed_at(address),
        }
    }

    /// Icon of a feed's site.
    pub(crate) async fn icon(&self, feed: FeedNumber) -> Result<Option<Icon>, Refusal> {
        let Some(feed) = self.subscription_view.feed(feed) else { return Ok(None) };
        let kept = self.newsreading.readers.library().icon(&feed.site()).await?;
        Ok(kept.and_then(|kept| kept.icon))
    }

    /// Picture at an address that an article of a feed names. At most
    /// [`MAX_PICTURES`](feedsync_aggregator::MAX_PICTURES) are fetched for a user at once.
    pub(crate) async fn picture(
        &self,
        feed: &FeedAddress,
        address: &str,
    ) -> Result<Picture, PictureError> {
        let pictures = &self.newsreading.pictures;
        if let Some(cached) = pictures.cached(feed, address).await? {
            return Ok(cached);
        }
        let Ok(_permit) = timeout(MAX_PICTURE_WAIT, self.person.picture_permit()).await else {
            return Err(PictureError::Busy);
        };
        pictures.load(feed, address).await
    }

    /// Full text at the link of an article of a feed, if it is cached.
    pub(crate) async fn cached_full_text(
        &self,
        feed: &FeedAddress,
        link: &str,
    ) -> Option<FullText> {
        self.newsreading.full_texts.cached(feed, link).await.ok().flatten()
    }

    /// Full text at the link of an article of a feed. It is fetched with a permit for a picture, so that slow sites
    /// of one user do not block others.
    pub(crate) async fn full_text(
        &self,
        feed: &FeedAddress,
        link: &str,
    ) -> Result<FullText, FullTextError> {
        let full_texts = &self.newsreading.full_texts;
        if let Some(cached) = full_texts.cached(feed, link).await? {
            return Ok(cached);
        }
        let Ok(_permit) = timeout(MAX_PICTURE_WAIT, self.person.picture_permit()).await else {
            return Err(FullTextError::Busy);
        };
        full_texts.load(feed, link).await
    }

    pub(crate) async fn select(
        &self,
        asked: &feedsync_reader_api::Selection,
    ) -> Result<feedsync_aggregator::Selected, Refusal> {
        let library = &**self.newsreading.readers.library();
        Ok(select(library, &self.subscription_view, &self.folders, asked, self.now).await?)
    }

    pub(crate) async fn total(
        &self,
        asked: &feedsync_reader_api::Selection,
    ) -> Result<u64, Refusal> {
        let library = &**self.newsreading.readers.library();
        Ok(total(library, &self.subscription_view, &self.folders, asked, self.now).await?)
    }
}

/// Newsreading of the hub; 404 if it has none.
pub(crate) fn newsreading(hub: &Hub) -> Result<&Newsreading, Problem> {
    let nothing = || Problem::not_found("this hub does not fetch feeds for newsreaders");
    hub.newsreading.as_ref().ok_or_else(nothing)
}

/// Reading state of a user, created if it does not exist. The user then owns one more collection.
pub(crate) async fn person(
    hub: &Hub,
    call: &Call,
    reader: Option<&ReadingOwner>,
) -> Result<Arc<Person>, Refusal> {
    let user = reader.map(|reader| reader.name.clone());
    let (readers, endpoint) = (&newsreading(hub)?.readers, call.endpoint_of(hub, user));
    let (person, is_changed) = readers.person(&endpoint, reader).await?;
    if is_changed {
        hub.access.forget();
    }
    Ok(person)
}

fn folders(person: &Person, subscription_view: &SubscriptionView) -> Folders {
    let created_folders = person.created_folders();
    Folders::new(
        subscription_view
            .feeds()
            .iter()
            .map(|feed| &feed.subscription.folder)
            .chain(&created_folders),
    )
}
