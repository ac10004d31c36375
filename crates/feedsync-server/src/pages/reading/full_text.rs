//! Full text of an article, from its web page.
//!
//! A form loads it, since loading it makes the hub fetch a page. The page of the article shows it from the cache.

use feedsync_aggregator::{ArticleText, ExtractError, FeedView, FullTextError, StoredArticle};
use feedsync_formats::ContentType;
use http::StatusCode;

use super::article::{pictures, web};
use crate::http::html::Purpose;
use crate::reading::Reading;
use crate::reading::articles::is_web;

/// A cached full text as the content of an article.
pub(super) struct FullTextPage {
    pub(super) text: ArticleText,
    pub(super) purpose: Purpose,
}

impl FullTextPage {
    /// The full text of an article, if it is cached. With the root of the hub, pictures are loaded from there.
    pub(super) async fn cached(
        reading: &Reading,
        article: &StoredArticle,
        feed: &FeedView,
        root: Option<&str>,
    ) -> Option<Self> {
        let full = reading.cached_full_text(&feed.kept.address, link(article)?).await?;
        let text = ArticleText {
            content: Some(full.html.to_string()),
            content_type: ContentType::Html,
            ..ArticleText::default()
        };
        let pictures = root.map(|root| pictures(root, article.number));
        Some(Self { text, purpose: Purpose::Article { base: web(&full.address), pictures } })
    }
}

/// Loads the full text of an article into the cache. Fails with the reason and the status of the response.
pub(super) async fn load(
    reading: &Reading,
    article: &StoredArticle,
    feed: &FeedView,
) -> Result<(), (String, StatusCode)> {
    let Some(link) = link(article) else {
        let reason = "this article has no link to a web page";
        return Err((reason.to_owned(), StatusCode::UNPROCESSABLE_ENTITY));
    };
    let loaded = reading.full_text(&feed.kept.address, link).await;
    loaded.map(drop).map_err(|error| (error.to_string(), status(&error)))
}

fn link(article: &StoredArticle) -> Option<&str> {
    article.text.link.as_deref().filter(|link| is_web(link))
}

fn status(error: &FullTextError) -> StatusCode {
    match error {
        FullTextError::Busy | FullTextError::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
        FullTextError::Extract(ExtractError::NoText) => StatusCode::UNPROCESSABLE_ENTITY,
        _ => StatusCode::BAD_GATEWAY,
    }
}
