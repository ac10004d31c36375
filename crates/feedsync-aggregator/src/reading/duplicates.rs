//! Finds articles that a user already has in another feed.

use feedsync_reading_state::comparable_address;

use crate::library::{MAX_QUERY_BYTES, Selection, StoredArticle};
use crate::reading::person::{LoadedReading, Person, ReadingError};
use crate::reading::rules::BATCH;
use crate::reading::subscription_view::{FeedView, SubscriptionView};

/// Maximum number of articles with the same words that are compared.
const MAX_CANDIDATES: usize = 50;

/// Maximum time between the arrivals of the same article in two feeds, in milliseconds. Titles such as "Open thread" recur.
const MAX_TIME_APART: u64 = 7 * 24 * 3_600 * 1_000;

impl Person {
    /// Whether an earlier article of another feed has the same link and title and is not hidden itself. Articles that were fetched
    /// first when their feed was added are no duplicates: a user may be moving to that feed from another one.
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
        let since = article.received.before(MAX_TIME_APART);
        let earlier = Selection {
            feeds: others.filter(|feed| *feed != article.feed).collect(),
            above: self.library.before(since).await?,
            below: Some(article.number),
            most: MAX_CANDIDATES,
            ..Selection::default()
        };
        let words = &title[..title.floor_char_boundary(MAX_QUERY_BYTES)];
        let found = self.library.search(words, earlier).await?;
        let state = loaded.replica.state();
        for numbers in found.chunks(BATCH) {
            let numbers: Vec<_> = numbers.iter().map(|listed| listed.number).collect();
            for candidate in self.library.articles(&numbers).await? {
                let other = candidate.text.link.as_deref().map(comparable_address);
                let Some(feed) = subscription_view.feed(candidate.feed) else { continue };
                let is_same = other == Some(comparable_address(link))
                    && comparable_title(candidate.text.title.as_deref())
                        == comparable_title(Some(title));
                let now = state.feed(feed.subscription.address.as_str());
                let is_hidden = feed.state.is_hidden(&candidate.name)
                    || now.is_some_and(|feed| feed.is_hidden(&candidate.name));
                if is_same && !is_hidden {
                    return Ok(!self.is_first_fetch(article).await?);
                }
            }
        }
        Ok(false)
    }

    /// Whether an article arrived with the first document of its feed.
    async fn is_first_fetch(&self, article: &StoredArticle) -> Result<bool, ReadingError> {
        let first = Selection {
            feeds: vec![article.feed],
            by_number: true,
            oldest_first: true,
            most: 1,
            ..Selection::default()
        };
        let first: Vec<_> =
            self.library.list(first).await?.into_iter().map(|listed| listed.number).collect();
        let first = self.library.articles(&first).await?;
        Ok(first.first().is_some_and(|first| first.received == article.received))
    }
}

/// A title without differences of case and white space.
fn comparable_title(title: Option<&str>) -> String {
    let words = title.unwrap_or_default().split_whitespace();
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}
