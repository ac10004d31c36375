//! Discovery of feeds at addresses to subscribe to. An address is fetched before it is subscribed to.

use feedsync_aggregator::{FindError, FoundFeed, NamedFeed, ReadingError};
use feedsync_reading_state::FeedAddress;

use super::{Reading, Refusal};

/// Result of feed discovery.
pub(crate) enum Discovery {
    /// A subscribed feed, with the address of the subscription.
    Known(FeedAddress),
    /// A readable feed.
    New(FoundFeed),
    /// No feed, with the reason.
    NotFound(FindError),
}

impl Reading {
    /// The feed at an address, or the first readable feed of a web page there.
    pub(crate) async fn find(&self, address: &FeedAddress) -> Result<Discovery, Refusal> {
        if let Some(known) = self.subscribed_at(address) {
            return Ok(Discovery::Known(known));
        }
        let _turn = self.person.find_permit().await;
        Ok(match self.newsreading.finder.first(address).await {
            Ok(feed) => match self.subscribed_at(&feed.address) {
                Some(known) => Discovery::Known(known),
                None => Discovery::New(feed),
            },
            Err(error) => Discovery::NotFound(refused(error)?),
        })
    }

    /// The feed at an address, or all feeds that a web page there names; none if it names none.
    pub(crate) async fn discover(
        &self,
        address: &FeedAddress,
    ) -> Result<Result<Vec<NamedFeed>, FindError>, Refusal> {
        let _turn = self.person.find_permit().await;
        match self.newsreading.finder.all(address).await {
            Ok(feeds) => Ok(Ok(feeds)),
            Err(FindError::NoFeed) => Ok(Ok(Vec::new())),
            Err(error) => Ok(Err(refused(error)?)),
        }
    }

    /// Address of the subscription to a feed. The feed may have moved there, or a web page may have led
    /// there.
    pub(crate) fn subscribed_at(&self, address: &FeedAddress) -> Option<FeedAddress> {
        let mut feeds = self.subscription_view.feeds().iter();
        let known = self.subscription_view.feed_at(address).or_else(|| {
            feeds.find(|feed| feed.kept.state.redirect_target.as_ref() == Some(address))
        });
        known.map(|feed| feed.subscription.address.clone())
    }
}

/// Reason for finding no feed. An error of the hub itself refuses the request.
fn refused(error: FindError) -> Result<FindError, Refusal> {
    match error {
        FindError::Library(error) => Err(error.into()),
        FindError::Store(error) => Err(ReadingError::Store(error).into()),
        error => Ok(error),
    }
}
