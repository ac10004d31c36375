//! Articles as newsreaders show them.

use feedsync_formats::ContentType;
use feedsync_library::{ArticleText, KeptArticle, Listed, MOST_SHOWN};
use feedsync_newsreader::{Article, ArticleNumber, Enclosure};
use feedsync_reading::ShelvedFeed;

use super::{Reading, Refusal};
use crate::pages::content;

impl Reading {
    /// Articles of feeds that are subscribed to, in the order in which they are asked for; those that are here.
    pub(super) async fn articles(
        &self,
        numbers: &[ArticleNumber],
    ) -> Result<Vec<Article>, Refusal> {
        let mut found = Vec::with_capacity(numbers.len());
        for numbers in numbers.chunks(MOST_SHOWN) {
            let kept = self.kept(numbers).await?;
            found.extend(kept.into_iter().map(|(article, feed)| shown(article, feed)));
        }
        Ok(found)
    }

    /// The same with what they say as it came, and with their feeds; at most [`MOST_SHOWN`] at once.
    pub(crate) async fn kept(
        &self,
        numbers: &[ArticleNumber],
    ) -> Result<Vec<(KeptArticle, &ShelvedFeed)>, Refusal> {
        let articles = self.newsreading.readers.library().articles(numbers).await?;
        let of_feed = |article: KeptArticle| {
            let feed = self.shelf.feed(article.feed)?;
            Some((article, feed))
        };
        Ok(articles.into_iter().filter_map(of_feed).collect())
    }

    /// The articles of a list.
    pub(super) async fn shown(&self, listed: &[Listed]) -> Result<Vec<Article>, Refusal> {
        let numbers: Vec<_> = listed.iter().map(|listed| listed.number).collect();
        self.articles(&numbers).await
    }
}

fn shown(article: KeptArticle, feed: &ShelvedFeed) -> Article {
    let listed = listed(&article);
    let KeptArticle { number, name, received, shown, changed, text, .. } = article;
    let marks = &feed.marks;
    let content = safe(&text);
    let enclosures = text.enclosures.into_iter().map(|enclosure| Enclosure {
        address: enclosure.address,
        media_type: enclosure.media_type,
        length: enclosure.length,
    });
    Article {
        number,
        feed: article.feed,
        name,
        title: text.title.unwrap_or_default(),
        address: text.link.filter(|link| is_web(link)),
        author: text.author,
        published: shown,
        received,
        changed: Some(marks.changed(&listed).max(changed.unwrap_or_default()).max(received)),
        content,
        enclosures: enclosures.filter(|enclosure| is_web(&enclosure.address)).collect(),
        is_read: marks.is_read(&listed),
        is_starred: marks.is_starred(number),
        tags: marks.tags(number).cloned().collect(),
    }
}

/// What a list tells of an article.
pub(crate) fn listed(article: &KeptArticle) -> Listed {
    let KeptArticle { number, feed, published, shown, .. } = *article;
    Listed { number, feed, published, shown }
}

/// What it says, as HTML that does no harm wherever it is shown.
fn safe(text: &ArticleText) -> String {
    match (&text.content, &text.summary) {
        (Some(content), _) => match text.content_type {
            ContentType::Html | ContentType::Xhtml => content::for_newsreaders(content),
            _ => content::of_text(content),
        },
        (None, Some(summary)) => content::of_text(summary),
        (None, None) => String::new(),
    }
}

/// Whether an address leads to the web: others may be anything, such as a script.
pub(crate) fn is_web(address: &str) -> bool {
    let scheme = address.split(':').next().unwrap_or_default();
    ["http", "https"].iter().any(|known| known.eq_ignore_ascii_case(scheme))
}
