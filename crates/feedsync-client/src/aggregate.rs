//! Aggregation: a collection that incorporates the feeds of others (2.3, F40, F41).
//!
//! A subscription is a remote that is only read. Its items are merged like any others: ids stay, origins are
//! recorded, conflicts are kept. No feed is subscribed to without a request (R-F42).
//!
//! Whether a subscription may reach private addresses is decided once, when a person gives its address. If
//! the name resolves to another address later, or a publisher names another feed, the subscription still
//! cannot reach this network.

use std::time::Duration;

use feedsync_core::{Related, RelatedKind};
use feedsync_fetch::{
    FetchError, Fetched, Request, Url, Validators, address, is_private, shown_text,
    without_credentials,
};
use feedsync_formats::CHANGES_RELATION;
use feedsync_store::{CollectionName, NewRemote, Remote, Subscription};

use crate::address::with_credentials;
use crate::document::{DocumentReader, Page};
use crate::error::SyncError;
use crate::progress::NoProgress;
use crate::pull::page_url;
use crate::session::Session;
use crate::wire::{ACCEPT_FEED, Origin};

/// Settings of a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionOptions {
    /// Interval at which the feed is read.
    pub every: Duration,
    /// Whether entries without sync information are imported.
    pub plain: bool,
    /// Whether the subscription is shown to readers of the collection. Addresses with a query are never
    /// shown.
    pub announced: bool,
    /// Title for people.
    pub title: Option<String>,
}

impl SubscriptionOptions {
    /// Minimum interval between two readings of a feed.
    pub const MIN_INTERVAL: Duration = Duration::from_secs(60);
}

impl Session {
    /// Subscribes a collection to a feed; a remote of that address becomes a subscription. `named_by` is the
    /// remote whose publisher named the address, if no person gave it.
    pub async fn subscribe(
        &self,
        collection: &CollectionName,
        url: &str,
        terms: SubscriptionOptions,
        named_by: Option<&Remote>,
    ) -> Result<Remote, SyncError> {
        let reaches_private = self.may_reach_private(&address(url)?, named_by).await?;
        let endpoint = self.endpoint();
        let SubscriptionOptions { every, plain, announced, title } = terms;
        let every = every.max(SubscriptionOptions::MIN_INTERVAL);
        let subscription = Some(Subscription { every, plain, reaches_private, due: None });
        let known = endpoint.remotes(Some(collection)).await?;
        // Both are set in one step, so that nothing is ever pushed to a feed that is only to be read.
        let remote = match known.into_iter().find(|known| known.url == url) {
            Some(known) => {
                let remote = Remote { subscription, ..known };
                endpoint.change_remote(remote.clone()).await?;
                remote
            }
            None => {
                let (collection, url) = (collection.clone(), url.to_owned());
                endpoint.add_remote(NewRemote { collection, name: None, url, subscription }).await?
            }
        };
        let link = without_credentials(url);
        // A query may contain a secret, and without its query the address may be that of another feed.
        let announced = (announced && !link.contains('?')).then_some(title);
        self.endpoint().announce_aggregated(collection, &link, announced).await?;
        Ok(remote)
    }

    /// Ends a subscription: the remote is removed, and its items stay. The remote is removed last, so that an
    /// interrupted call can be repeated.
    pub async fn unsubscribe(&self, remote: &Remote) -> Result<(), SyncError> {
        let link = without_credentials(&remote.url);
        self.endpoint().announce_aggregated(&remote.collection, &link, None).await?;
        Ok(self.endpoint().remove_remote(remote.id).await?)
    }

    /// Returns the feeds that a remote's publisher states it incorporates. They are not read.
    pub async fn aggregated_by(&self, remote: &Remote) -> Result<Vec<Related>, SyncError> {
        let page = match self.head_of(remote).await {
            Ok(page) => page,
            Err(SyncError::NotFeedSync { .. }) => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let related = page.reading.feed.sharing.map(|sharing| sharing.related);
        let mut related = related.unwrap_or_default();
        related.retain(|related| related.kind == RelatedKind::Aggregated);
        Ok(related)
    }

    /// Reads a document with the head of a remote's feed; from a hub, the shortest possible one.
    async fn head_of(&self, remote: &Remote) -> Result<Page, SyncError> {
        let given = address(&remote.url)?;
        let fetcher = self.fetcher_for(remote).given(given.clone());
        let reader = DocumentReader { fetcher, progress: &NoProgress };
        let hub = match &remote.state.changes {
            Some(changes) => with_credentials(address(changes)?, &remote.url),
            None => {
                let request = Request::read(given.clone()).accept(ACCEPT_FEED);
                let Fetched::Answer(response) = reader.ask(request, &given).await? else {
                    return Err(not_asked(&remote.url));
                };
                match response.link(CHANGES_RELATION) {
                    Some(hub) if hub.origin() == response.url().origin() => {
                        with_credentials(hub, &remote.url)
                    }
                    _ => return reader.read(*response, Origin::Web).await,
                }
            }
        };
        let url = page_url(&hub, remote.state.until.as_deref(), 1);
        let page = reader.page(&url, 1, &Validators::default()).await?;
        page.ok_or_else(|| not_asked(&remote.url))
    }

    /// Whether a new subscription may reach private addresses. An address that a publisher named is refused
    /// if it is private and the publisher's own address is not.
    async fn may_reach_private(
        &self,
        url: &Url,
        named_by: Option<&Remote>,
    ) -> Result<bool, SyncError> {
        if !is_private(url).await {
            return Ok(false);
        }
        let open = match named_by {
            None => true,
            Some(Remote { subscription: Some(publisher), .. }) => publisher.reaches_private,
            Some(publisher) => is_private(&address(&publisher.url)?).await,
        };
        if open {
            return Ok(true);
        }
        let host = url.host_str().unwrap_or_default().to_owned();
        Err(FetchError::Private { url: shown_text(url.as_str()), host }.into())
    }
}

fn not_asked(url: &str) -> SyncError {
    let reason = "an answer to a question that was not asked".to_owned();
    SyncError::Protocol { url: shown_text(url), reason }
}
