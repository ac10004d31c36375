//! Responses about feeds.

use feedsync_log::Millis;
use serde_json::{Map, Value, json};

use super::categories::shown_category;
use crate::answer::RawResponse;
use crate::date::rfc3339;
use crate::shown::{FeedNumber, Subscription};

/// Date that Miniflux uses for events that never happened.
const NEVER: &str = "0001-01-01T00:00:00Z";

/// Response with feeds.
pub fn feeds(user: i64, feeds: &[Subscription]) -> RawResponse {
    RawResponse::json(&feeds.iter().map(|feed| shown_feed(user, feed)).collect::<Vec<_>>())
}

/// Response with one feed; its status depends on whether the feed was just changed.
pub fn feed(user: i64, feed: &Subscription, is_changed: bool) -> RawResponse {
    RawResponse::json_as(if is_changed { 201 } else { 200 }, &shown_feed(user, feed))
}

/// Response to a new subscription.
pub fn created(feed: FeedNumber) -> RawResponse {
    RawResponse::json_as(201, &json!({ "feed_id": feed }))
}

/// Response with the discovered feeds: title, address and format (`rss`, `atom` or `json`) of each.
pub fn discovered<'a>(found: impl IntoIterator<Item = [&'a str; 3]>) -> RawResponse {
    let shown =
        |[title, address, kind]: [&str; 3]| json!({ "title": title, "url": address, "type": kind });
    RawResponse::json(&found.into_iter().map(shown).collect::<Vec<_>>())
}

/// Response with the numbers of read and unread articles of each feed. Deleted articles do not count.
pub fn counters(counted: impl IntoIterator<Item = (FeedNumber, u64, u64)>) -> RawResponse {
    let (mut reads, mut unreads) = (Map::new(), Map::new());
    for (feed, read, unread) in counted {
        reads.insert(feed.to_string(), read.into());
        unreads.insert(feed.to_string(), unread.into());
    }
    RawResponse::json(&json!({ "reads": reads, "unreads": unreads }))
}

/// Response with the icon of a feed: its media type, and its bytes in base64.
pub fn icon(feed: FeedNumber, media_type: &str, base64: &str) -> RawResponse {
    let data = format!("{media_type};base64,{base64}");
    RawResponse::json(&json!({ "id": feed, "mime_type": media_type, "data": data }))
}

/// JSON of a feed. Settings of Miniflux that have no effect here have their default values.
pub(super) fn shown_feed(user: i64, feed: &Subscription) -> Value {
    let checked = feed.checked.map_or_else(|| NEVER.to_owned(), rfc3339);
    let icon =
        feed.icon.as_ref().map(|_| json!({ "feed_id": feed.number, "icon_id": feed.number }));
    json!({
        "id": feed.number,
        "user_id": user,
        "feed_url": feed.address.as_str(),
        "site_url": feed.site.as_deref().unwrap_or(feed.address.as_str()),
        "title": feed.title,
        "description": "",
        "checked_at": checked,
        "next_check_at": checked,
        "etag_header": "",
        "last_modified_header": "",
        "parsing_error_message": feed.fault.as_deref().unwrap_or_default(),
        "parsing_error_count": feed.fault_count,
        "scraper_rules": "",
        "rewrite_rules": "",
        "urlrewrite_rules": "",
        "blocklist_rules": "",
        "keeplist_rules": "",
        "crawler": false,
        "user_agent": "",
        "cookie": "",
        "username": "",
        "password": "",
        "disabled": false,
        "no_media_player": false,
        "ignore_http_cache": false,
        "allow_self_signed_certificates": false,
        "fetch_via_proxy": false,
        "hide_globally": false,
        "disable_http2": false,
        "apprise_service_urls": "",
        "category": shown_category(user, feed.folder.as_ref()),
        "icon": icon,
    })
}

/// JSON of a feed that is not subscribed to.
pub(super) fn unknown_feed(user: i64, number: FeedNumber) -> Value {
    let category = shown_category(user, None);
    json!({ "id": number, "user_id": user, "title": "", "feed_url": "", "site_url": "", "category": category })
}

/// Formats a date that may be unknown.
pub(super) fn date(at: Option<Millis>, otherwise: Millis) -> String {
    rfc3339(at.unwrap_or(otherwise))
}
