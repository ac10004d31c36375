//! Responses with lists of articles.

use feedsync_reading_state::ArticleId;
use serde_json::{Value, json};

use crate::answer::RawResponse;
use crate::shown::{Article, digits};

/// Hash that identifies an article in requests to star it: 32 hexadecimal digits.
pub fn guid_hash(name: &ArticleId) -> String {
    short(&[name.as_str()])
}

fn short(texts: &[&str]) -> String {
    let mut digits = digits(texts);
    digits.truncate(32);
    digits
}

/// Response with articles.
pub fn items(articles: &[Article]) -> RawResponse {
    let shown: Vec<Value> = articles.iter().map(shown_item).collect();
    RawResponse::json(&json!({ "items": shown }))
}

fn shown_item(article: &Article) -> Value {
    let address = article.address.as_deref().unwrap_or_default();
    let media = article.enclosures.first();
    // Articles with equal contents have equal fingerprints.
    let fingerprint = short(&[&article.title, address, &article.content]);
    json!({
        "id": article.number,
        "guid": article.name.as_str(),
        "guidHash": guid_hash(&article.name),
        "url": address,
        "title": article.title,
        "author": article.author.as_deref().unwrap_or_default(),
        "pubDate": article.published.get() / 1_000,
        "updatedDate": null,
        "body": article.content,
        "enclosureMime": media.and_then(|media| media.media_type.as_deref()),
        "enclosureLink": media.map(|media| &media.address),
        "mediaThumbnail": null,
        "mediaDescription": null,
        "feedId": article.feed,
        "unread": !article.is_read,
        "starred": article.is_starred,
        "rtl": false,
        "lastModified": article.changed.unwrap_or(article.received).get() / 1_000,
        "fingerprint": fingerprint,
        "contentHash": fingerprint,
    })
}
