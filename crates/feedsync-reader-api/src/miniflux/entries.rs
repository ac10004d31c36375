//! Responses with lists of articles.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::feeds::{date, shown_feed, unknown_feed};
use crate::answer::RawResponse;
use crate::date::rfc3339;
use crate::shown::{Article, FeedNumber, Subscription, digits, words};

/// Response with a page of articles and their total number.
pub fn entries(user: i64, total: u64, articles: &[Article], feeds: &[Subscription]) -> RawResponse {
    let feeds = by_number(user, feeds);
    let shown: Vec<Value> = articles.iter().map(|one| shown_entry(user, one, &feeds)).collect();
    RawResponse::json(&json!({ "total": total, "entries": shown }))
}

/// Response with one article.
pub fn entry(user: i64, article: &Article, feeds: &[Subscription]) -> RawResponse {
    RawResponse::json(&shown_entry(user, article, &by_number(user, feeds)))
}

/// Response with the content of an article.
pub fn content(article: &Article) -> RawResponse {
    let reading_time = reading_time(article);
    RawResponse::json(&json!({ "content": article.content, "reading_time": reading_time }))
}

fn by_number(user: i64, feeds: &[Subscription]) -> BTreeMap<FeedNumber, Value> {
    feeds.iter().map(|feed| (feed.number, shown_feed(user, feed))).collect()
}

fn shown_entry(user: i64, article: &Article, feeds: &BTreeMap<FeedNumber, Value>) -> Value {
    let feed = feeds.get(&article.feed);
    let enclosures = article.enclosures.iter().enumerate().map(|(place, enclosure)| {
        // No request refers to these numbers; they only need to be distinct.
        let place = i64::try_from(place).unwrap_or_default();
        json!({
            "id": article.number.get().wrapping_mul(1_000).wrapping_add(place),
            "user_id": user,
            "entry_id": article.number,
            "url": enclosure.address,
            "mime_type": enclosure.media_type.as_deref().unwrap_or_default(),
            "size": enclosure.length.unwrap_or_default(),
            "media_progression": 0,
        })
    });
    json!({
        "id": article.number,
        "user_id": user,
        "feed_id": article.feed,
        "status": if article.is_read { "read" } else { "unread" },
        "hash": digits(&[article.name.as_str()]),
        "title": article.title,
        "url": article.address.as_deref().unwrap_or_default(),
        "comments_url": "",
        "published_at": rfc3339(article.published),
        "created_at": rfc3339(article.received),
        "changed_at": date(article.changed, article.received),
        "content": article.content,
        "author": article.author.as_deref().unwrap_or_default(),
        "share_code": "",
        "starred": article.is_starred,
        "reading_time": reading_time(article),
        "enclosures": enclosures.collect::<Vec<_>>(),
        "feed": feed.cloned().unwrap_or_else(|| unknown_feed(user, article.feed)),
        "tags": article.tags.iter().map(|tag| tag.as_str()).collect::<Vec<_>>(),
    })
}

/// Reading time in minutes, as Miniflux computes it: the duration of the longest enclosure, or else that of the
/// text.
fn reading_time(article: &Article) -> usize {
    let playing = article.enclosures.iter().filter_map(|enclosure| enclosure.duration).max();
    let playing = playing.and_then(|seconds| usize::try_from(seconds.div_ceil(60)).ok());
    playing.unwrap_or_else(|| time_of_words(&article.content))
}

/// Reading time of a text in minutes, at 265 words a minute.
fn time_of_words(content: &str) -> usize {
    words(content).count().div_ceil(265)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted_and_tags_are_not() {
        assert_eq!(time_of_words(""), 0);
        assert_eq!(time_of_words("<p class=\"a b c\"></p>"), 0);
        assert_eq!(time_of_words(&"<p>one</p>".repeat(265)), 1);
        assert_eq!(time_of_words(&"one ".repeat(266)), 2);
    }
}
