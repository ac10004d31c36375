//! Responses about subscriptions, folders and tags.

use std::collections::BTreeMap;

use feedsync_log::Millis;
use feedsync_reading_state::{FeedAddress, Tag};
use serde_json::{Value, json};

use super::stream::{READING_LIST, STARRED, feed_id, label_id};
use crate::answer::RawResponse;
use crate::shown::{Folders, Label, ShownFolder, Subscription};

/// Number that newsreaders interpret as "and more"; real counts do not reach it.
const UNCOUNTED: u64 = 1_000_000_000;

/// Response with all subscriptions, in order.
pub fn subscriptions(feeds: &[Subscription]) -> RawResponse {
    let shown = |(place, feed): (usize, &Subscription)| {
        json!({
            "id": feed_id(feed.number),
            "title": feed.title,
            "categories": categories(feed.folder.as_ref()),
            "url": feed.address.as_str(),
            "htmlUrl": feed.site.as_deref().unwrap_or_default(),
            "iconUrl": feed.icon.as_deref().unwrap_or_default(),
            "sortid": format!("{place:08X}"),
            "firstitemmsec": "0",
        })
    };
    let shown: Vec<Value> = feeds.iter().enumerate().map(shown).collect();
    RawResponse::json(&json!({ "subscriptions": shown }))
}

fn categories(folder: Option<&ShownFolder>) -> Vec<Value> {
    let shown = |folder: &ShownFolder| json!({ "id": label_id(&folder.name), "label": folder.name.as_str() });
    folder.map(shown).into_iter().collect()
}

/// Response with all folders and tags. A tag with the name of a folder is omitted.
pub fn tags<'a>(folders: &Folders, tags: impl IntoIterator<Item = &'a Tag>) -> RawResponse {
    let mut shown = vec![json!({ "id": STARRED })];
    for folder in folders.iter() {
        shown.push(json!({ "id": label_id(&folder.name), "type": "folder" }));
    }
    for tag in tags {
        let label = Label::of_tag(tag);
        if folders.find_by_name(&label).is_none() {
            shown.push(json!({ "id": label_id(&label), "type": "tag" }));
        }
    }
    RawResponse::json(&json!({ "tags": shown }))
}

/// Response with the number of unread articles of each feed and folder, and in total.
pub fn unread_counts(feeds: &[Subscription]) -> RawResponse {
    let mut folders: BTreeMap<&Label, (u64, Option<Millis>)> = BTreeMap::new();
    let mut all = (0, None);
    let mut shown = Vec::new();
    for feed in feeds {
        let folder = feed.folder.as_ref().map(|folder| folders.entry(&folder.name).or_default());
        for (unread, newest) in folder.into_iter().chain([&mut all]) {
            *unread += feed.unread;
            *newest = feed.newest.max(*newest);
        }
        shown.push(unread_count(feed_id(feed.number), feed.unread, feed.newest));
    }
    let folders = folders.into_iter();
    shown.extend(
        folders.map(|(name, (unread, newest))| unread_count(label_id(name), unread, newest)),
    );
    shown.push(unread_count(READING_LIST.to_owned(), all.0, all.1));
    RawResponse::json(&json!({ "max": UNCOUNTED, "unreadcounts": shown }))
}

fn unread_count(id: String, count: u64, newest: Option<Millis>) -> Value {
    let newest = newest.unwrap_or_default().get() * 1_000;
    json!({ "id": id, "count": count, "newestItemTimestampUsec": newest.to_string() })
}

/// Response to `subscription/quickadd`: the new subscription, or the reason why there is none.
pub fn quick_added(address: &FeedAddress, feed: Result<&Subscription, &str>) -> RawResponse {
    let query = address.as_str();
    RawResponse::json(&match feed {
        Ok(feed) => json!({
            "query": query,
            "numResults": 1,
            "streamId": feed_id(feed.number),
            "streamName": feed.title,
        }),
        Err(reason) => json!({ "query": query, "numResults": 0, "error": reason }),
    })
}
