//! Articles in newsreader APIs.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use feedsync_aggregator::{ArticleText, FeedView, ListEntry, Selected, StoredArticle};
use feedsync_formats::ContentType;
use feedsync_reader_api::{Article, ArticleNumber, Continuation, Enclosure};
use tokio::task::spawn_blocking;

use crate::http::html::{CancelOnDrop, Ticket};
use crate::http::problem::Problem;

use super::{Reading, Refusal};
use crate::http::html::content;

/// Maximum total size of articles in one response, in bytes.
const MAX_BYTES: usize = 32 << 20;

/// Number of articles per read.
const BATCH: usize = 100;

impl Reading {
    /// Articles of subscribed feeds, and starred and tagged ones of other feeds, in the requested order; only
    /// stored ones. If they exceed [`MAX_BYTES`], the first ones that fit.
    pub(crate) async fn articles(
        &self,
        numbers: &[ArticleNumber],
    ) -> Result<Vec<Article>, Refusal> {
        Ok(self.bounded(numbers).await?.0)
    }

    /// Returns articles, and whether some did not fit.
    pub(crate) async fn bounded(
        &self,
        numbers: &[ArticleNumber],
    ) -> Result<(Vec<Article>, bool), Refusal> {
        let (mut found, mut bytes) = (Vec::new(), 0);
        for numbers in numbers.chunks(BATCH) {
            let articles = self.newsreading.readers.library().articles(numbers).await?;
            let subscription_view = Arc::clone(&self.subscription_view);
            let ticket = self.cleaning.admit().await?;
            let gone = CancelOnDrop::default();
            let flag = gone.flag();
            let of_shelf = move |article: StoredArticle| {
                let feed = subscription_view.feed_of(article.feed, article.number)?;
                Some(shown(article, feed, &ticket))
            };
            // Cleaning takes time. It ends early if the client disconnects, because this future is then
            // dropped.
            let made = spawn_blocking(move || {
                let wanted = articles.into_iter().take_while(|_| !flag.load(Ordering::Relaxed));
                wanted.filter_map(of_shelf).collect()
            });
            let made: Vec<Article> = made.await.map_err(|_| Problem::internal())?;
            drop(gone);
            for article in made {
                bytes += article.content.len();
                if bytes > MAX_BYTES && !found.is_empty() {
                    return Ok((found, true));
                }
                found.push(article);
            }
        }
        Ok((found, false))
    }

    /// The same with the received text and the feeds of the articles; at most
    /// [`MAX_LOADED`](feedsync_aggregator::MAX_LOADED) at once.
    pub(crate) async fn kept(
        &self,
        numbers: &[ArticleNumber],
    ) -> Result<Vec<(StoredArticle, &FeedView)>, Refusal> {
        let articles = self.newsreading.readers.library().articles(numbers).await?;
        let of_feed = |article: StoredArticle| {
            let feed = self.subscription_view.feed_of(article.feed, article.number)?;
            Some((article, feed))
        };
        Ok(articles.into_iter().filter_map(of_feed).collect())
    }

    /// Articles of a list, and its continuation after the last of them.
    pub(crate) async fn shown(
        &self,
        selected: &Selected,
    ) -> Result<(Vec<Article>, Option<Continuation>), Refusal> {
        let numbers: Vec<_> = selected.listed.iter().map(|listed| listed.number).collect();
        let (articles, is_cut) = self.bounded(&numbers).await?;
        let last = articles.last().filter(|_| is_cut);
        let last = last.map(|last| Continuation { at: last.published, article: last.number });
        Ok((articles, last.or(selected.next)))
    }
}

fn shown(article: StoredArticle, feed: &FeedView, ticket: &Ticket) -> Article {
    let listed = listed(&article);
    let StoredArticle { number, name, received, sort_date, changed, text, .. } = article;
    let marks = &feed.marks;
    let content = safe(&text, ticket);
    let enclosures = text.enclosures.into_iter().map(|enclosure| Enclosure {
        address: enclosure.address,
        media_type: enclosure.media_type,
        length: enclosure.length,
        duration: enclosure.duration,
    });
    Article {
        number,
        feed: article.feed,
        name,
        title: text.title.unwrap_or_default(),
        address: text.link.filter(|link| is_web(link)),
        author: text.author,
        published: sort_date,
        received,
        changed: Some(marks.changed(&listed).max(changed.unwrap_or_default()).max(received)),
        content,
        enclosures: enclosures.filter(|enclosure| is_web(&enclosure.address)).collect(),
        is_read: marks.is_read(&listed),
        is_starred: marks.is_starred(number),
        tags: marks.tags(number).cloned().collect(),
    }
}

/// List entry of an article.
pub(crate) fn listed(article: &StoredArticle) -> ListEntry {
    let StoredArticle { number, feed, published, sort_date, .. } = *article;
    ListEntry { number, feed, published, sort_date }
}

/// Text of an article as HTML that is safe in any context.
fn safe(text: &ArticleText, ticket: &Ticket) -> String {
    match (&text.content, &text.summary) {
        (Some(content), _) => match text.content_type {
            ContentType::Html | ContentType::Xhtml => content::for_newsreaders(content, ticket),
            _ => content::of_text(content),
        },
        (None, Some(summary)) => content::of_text(summary),
        (None, None) => String::new(),
    }
}

/// Whether an address is a web address. Others may be anything, such as a script.
pub(crate) fn is_web(address: &str) -> bool {
    let scheme = address.split(':').next().unwrap_or_default();
    ["http", "https"].iter().any(|known| known.eq_ignore_ascii_case(scheme))
}
