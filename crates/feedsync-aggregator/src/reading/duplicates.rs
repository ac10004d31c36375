//! Finds articles that a user already has in another feed.

use feedsync_reading_state::comparable_address;

use crate::library::{MAX_QUERY_BYTES, Selection, StoredArticle};
use crate::reading::person::{LoadedReading, Person, ReadingError};
use crate::reading::subscription_view::{FeedView, SubscriptionView};

/// Maximum number of articles with the same title that are compared.
const MAX_CANDIDATES: usize = 10;

impl Person {
    /// Whether an earlier article of another feed has the same link and the words of the title, and is not hidden
    /// itself.
    pub(super) async fn is_duplicate(
        &self,
        loaded: &LoadedReading,
        subscription_view: &SubscriptionView,
        article: &StoredArticle,
    ) -> Result<bool, ReadingError> {
        let (Some(link), Some(title)) = (&article.text.link, &article.text.title) else {
            return Ok(false);
        };
        let others = subscription_view.feeds().iter().map(FeedView::number);
        let earlier = Selection {
            feeds: others.filter(|feed| *feed != article.feed).collect(),
            below: Some(article.number),
            most: MAX_CANDIDATES,
            ..Selection::default()
        };
        let words = &title[..title.floor_char_boundary(MAX_QUERY_BYTES)];
        let found = self.library.search(words, earlier).await?;
        let numbers: Vec<_> = found.iter().map(|listed| listed.number).collect();
        let candidates = self.library.articles(&numbers).await?;
        let view = loaded.replica.state().view();
        let is_same = |candidate: &StoredArticle| {
            let other = candidate.text.link.as_deref().map(comparable_address);
            let feed = subscription_view.feed(candidate.feed);
            let is_shown = feed.is_some_and(|feed| {
                !view.feed(&feed.subscription.address).is_hidden(&candidate.name)
            });
            is_shown && other == Some(comparable_address(link))
        };
        Ok(candidates.iter().any(is_same))
    }
}
