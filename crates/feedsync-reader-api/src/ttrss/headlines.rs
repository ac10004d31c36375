//! Responses with lists of articles.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::account::answer;
use super::{HeadlinesRequest, label_feed};
use crate::answer::RawResponse;
use crate::shown::{Article, ArticleNumber, FeedNumber, Subscription, Tags, words};

/// Response with the requested parts of articles.
pub fn headlines(
    seq: i64,
    request: &HeadlinesRequest,
    articles: &[Article],
    feeds: &[Subscription],
    tags: &Tags,
) -> RawResponse {
    let feeds = by_number(feeds);
    let shown = articles.iter().map(|article| {
        let mut shown = headline(article, &feeds, tags);
        if request.show_content {
            shown["content"] = article.content.as_str().into();
        }
        if let Some(most) = request.excerpt {
            shown["excerpt"] = excerpt(&article.content, most).into();
        }
        if request.include_attachments {
            shown["attachments"] = attachments(article);
        }
        shown
    });
    let shown: Vec<Value> = shown.collect();
    if !request.include_header {
        return answer(seq, shown);
    }
    let first = articles.first().map_or(0, |article| article.number.get());
    let header = json!({ "id": request.feed, "first_id": first, "is_cat": request.is_category });
    answer(seq, json!([header, shown]))
}

/// Response with article numbers.
pub fn compact_headlines(
    seq: i64,
    articles: impl IntoIterator<Item = ArticleNumber>,
) -> RawResponse {
    let shown = articles.into_iter().map(|number| json!({ "id": number }));
    answer(seq, shown.collect::<Vec<_>>())
}

/// Response with complete articles.
pub fn articles(
    seq: i64,
    articles: &[Article],
    feeds: &[Subscription],
    tags: &Tags,
) -> RawResponse {
    let feeds = by_number(feeds);
    let shown = articles.iter().map(|article| {
        let mut shown = headline(article, &feeds, tags);
        shown["content"] = article.content.as_str().into();
        shown["attachments"] = attachments(article);
        shown
    });
    answer(seq, shown.collect::<Vec<_>>())
}

type Feeds<'a> = BTreeMap<FeedNumber, &'a Subscription>;

fn by_number(feeds: &[Subscription]) -> Feeds<'_> {
    feeds.iter().map(|feed| (feed.number, feed)).collect()
}

fn headline(article: &Article, feeds: &Feeds<'_>, tags: &Tags) -> Value {
    let feed = feeds.get(&article.feed);
    let labels = article.tags.iter().filter_map(|tag| {
        let shown = tags.shown(tag)?;
        Some(json!([label_feed(shown.number), tag.as_str(), "", ""]))
    });
    json!({
        "id": article.number,
        "guid": article.name.as_str(),
        "unread": !article.is_read,
        "marked": article.is_starred,
        "published": false,
        "updated": article.published.get() / 1_000,
        "is_updated": false,
        "title": article.title,
        "link": article.address.as_deref().unwrap_or_default(),
        "feed_id": article.feed,
        "feed_title": feed.map(|feed| &*feed.title).unwrap_or_default(),
        "site_url": feed.and_then(|feed| feed.site.as_deref()).unwrap_or_default(),
        "tags": article.tags.iter().map(|tag| tag.as_str()).collect::<Vec<_>>(),
        "labels": labels.collect::<Vec<_>>(),
        "comments": "",
        "comments_count": 0,
        "comments_link": "",
        "always_display_attachments": false,
        "author": article.author.as_deref().unwrap_or_default(),
        "score": 0,
        "note": null,
        "lang": "",
    })
}

fn attachments(article: &Article) -> Value {
    let shown = article.enclosures.iter().enumerate().map(|(place, enclosure)| {
        json!({
            "id": place.to_string(),
            "content_url": enclosure.address,
            "content_type": enclosure.media_type.as_deref().unwrap_or_default(),
            "title": "",
            "duration": enclosure.duration.map(|seconds| seconds.to_string()).unwrap_or_default(),
            "width": 0,
            "height": 0,
            "post_id": article.number,
        })
    });
    shown.collect()
}

/// First words of a text, up to a number of characters.
fn excerpt(content: &str, most: usize) -> String {
    let mut found = String::new();
    let mut left = most;
    for word in words(content) {
        let length = word.chars().count() + usize::from(!found.is_empty());
        if length > left {
            found.push('\u{2026}');
            break;
        }
        if !found.is_empty() {
            found.push(' ');
        }
        found.push_str(word);
        left -= length;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_of_whole_words() {
        assert_eq!(excerpt("<p class=\"a b\">one <b>two</b>\n three</p>", 100), "one two three");
        assert_eq!(excerpt("<p>one two three</p>", 7), "one two\u{2026}");
        assert_eq!(excerpt("<p>one two three</p>", 6), "one\u{2026}");
        assert_eq!(excerpt("<p>\u{e4}\u{e4}\u{e4}</p>", 3), "\u{e4}\u{e4}\u{e4}");
        assert_eq!(excerpt("<img>", 3), "");
    }
}
