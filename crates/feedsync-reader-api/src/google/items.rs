//! Responses with lists of articles.

use std::collections::BTreeMap;

use feedsync_log::Millis;
use serde::Serialize;
use serde_json::{Value, json};

use super::item_id::ItemId;
use super::stream::{READ, READ_BY_LIFEREA, READING_LIST, STARRED, feed_id, label_id};
use crate::answer::RawResponse;
use crate::continuation::Continuation;
use crate::shown::{Article, ArticleNumber, FeedNumber, Label, Subscription};

/// Subscriptions by number.
pub(super) type Feeds<'a> = BTreeMap<FeedNumber, &'a Subscription>;

pub(super) fn by_number(feeds: &[Subscription]) -> Feeds<'_> {
    feeds.iter().map(|feed| (feed.number, feed)).collect()
}

/// Response with the articles of a stream and their contents, and the cursor of the next page.
pub fn contents(
    stream: &str,
    title: &str,
    articles: &[Article],
    feeds: &[Subscription],
    next: Option<Continuation>,
) -> RawResponse {
    let feeds = by_number(feeds);
    let items = articles.iter().map(|article| item(article, &feeds)).collect();
    let mut shown = list(stream, title, articles, items);
    if let Some(next) = next {
        shown["continuation"] = next.to_string().into();
    }
    RawResponse::json(&shown)
}

/// Response with the articles that were requested by number.
pub fn items(articles: &[Article], feeds: &[Subscription], by_liferea: bool) -> RawResponse {
    let feeds = by_number(feeds);
    let items = articles.iter().map(|article| {
        let mut shown = item(article, &feeds);
        if by_liferea
            && article.is_read
            && let Value::Array(categories) = &mut shown["categories"]
        {
            // Liferea reads only the first category.
            categories.insert(0, READ_BY_LIFEREA.into());
        }
        shown
    });
    RawResponse::json(&list(READING_LIST, "Articles", articles, items.collect()))
}

fn list(stream: &str, title: &str, articles: &[Article], items: Vec<Value>) -> Value {
    let newest = articles.iter().map(|article| article.received).max().unwrap_or_default();
    json!({
        "direction": "ltr",
        "id": stream,
        "title": title,
        "updated": seconds(newest),
        "items": items,
    })
}

fn item(article: &Article, feeds: &Feeds<'_>) -> Value {
    let feed = feeds.get(&article.feed);
    let enclosures = article.enclosures.iter().map(|enclosure| {
        json!({
            "href": enclosure.address,
            "type": enclosure.media_type.as_deref().unwrap_or("application/octet-stream"),
            "length": enclosure.length.unwrap_or_default(),
        })
    });
    let address = article.address.as_deref();
    let canonical: Vec<Value> = address.iter().map(|address| json!({ "href": address })).collect();
    let alternate = address.iter().map(|address| json!({ "href": address, "type": "text/html" }));
    json!({
        "id": ItemId(article.number).to_string(),
        "crawlTimeMsec": article.received.to_string(),
        "timestampUsec": micros(article.received),
        "published": seconds(article.published),
        "updated": seconds(article.published),
        "title": article.title,
        "author": article.author.as_deref().unwrap_or_default(),
        "canonical": canonical,
        "alternate": alternate.collect::<Vec<_>>(),
        "summary": { "direction": "ltr", "content": article.content },
        "categories": categories(article, feed.copied()),
        // Without this member, Liferea treats an article as not starred, even with the category.
        "marked": article.is_starred,
        "origin": {
            "streamId": feed_id(article.feed),
            "title": feed.map(|feed| &*feed.title).unwrap_or_default(),
            "htmlUrl": feed.and_then(|feed| feed.site.as_deref()).unwrap_or_default(),
        },
        "enclosure": enclosures.collect::<Vec<_>>(),
    })
}

/// Streams that contain an article.
fn categories(article: &Article, feed: Option<&Subscription>) -> Vec<String> {
    let mut categories = vec![READING_LIST.to_owned()];
    let states = [(article.is_read, READ), (article.is_starred, STARRED)];
    categories.extend(states.iter().filter(|state| state.0).map(|state| state.1.to_owned()));
    let folder = feed.and_then(|feed| feed.folder.as_ref());
    categories.extend(folder.map(|folder| label_id(&folder.name)));
    categories.extend(article.tags.iter().map(|tag| label_id(&Label::of_tag(tag))));
    categories
}

/// Response with the numbers and arrival times of articles, and the cursor of the next page.
pub fn ids(
    articles: impl IntoIterator<Item = (ArticleNumber, Millis)>,
    next: Option<Continuation>,
) -> RawResponse {
    let item_refs = articles.into_iter().map(|(number, received)| ItemRef {
        id: number.to_string(),
        direct_stream_ids: [],
        timestamp_usec: micros(received),
    });
    let continuation = next.map(|next| next.to_string());
    RawResponse::json(&ItemRefs { item_refs: item_refs.collect(), continuation })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ItemRefs {
    item_refs: Vec<ItemRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    continuation: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ItemRef {
    id: String,
    direct_stream_ids: [String; 0],
    timestamp_usec: String,
}

/// Response with the number of articles in a stream.
pub fn count(articles: u64) -> RawResponse {
    RawResponse::text(200, articles.to_string())
}

pub(super) fn seconds(at: Millis) -> u64 {
    at.get() / 1_000
}

fn micros(at: Millis) -> String {
    (at.get() * 1_000).to_string()
}
