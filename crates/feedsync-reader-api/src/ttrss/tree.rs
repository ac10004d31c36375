//! Tree of categories and feeds.

use serde_json::{Value, json};

use super::account::answer;
use super::feeds::{all_unread, folder_of, specials};
use super::{Unread, label_feed};
use crate::answer::RawResponse;
use crate::shown::{FolderNumber, Folders, Subscription};

/// Response with the virtual feeds, the labels, and the feeds in their folders.
pub fn tree(
    seq: i64,
    include_empty: bool,
    feeds: &[Subscription],
    folders: &Folders,
    unread: &Unread<'_>,
) -> RawResponse {
    let specials = specials(feeds, unread);
    let specials = specials.iter().map(|(number, title, unread)| leaf(*number, title, *unread));
    let mut shown = vec![branch(-1, "Special", 0, specials.collect())];
    let labels = unread.tags.iter();
    let labels: Vec<Value> = labels
        .map(|(tag, unread)| leaf(label_feed(tag.number), tag.tag.as_str(), *unread))
        .collect();
    if include_empty || !labels.is_empty() {
        shown.push(branch(-2, "Labels", 0, labels));
    }
    let named = folders.iter().map(|folder| (folder.number, folder.name.as_str()));
    for (number, name) in named.chain([(FolderNumber::TOP, "Uncategorized")]) {
        let inside = feeds.iter().filter(|feed| folder_of(feed) == number);
        let leaves: Vec<Value> = inside.clone().map(feed_leaf).collect();
        if include_empty || !leaves.is_empty() {
            shown.push(branch(number.get(), name, all_unread(inside), leaves));
        }
    }
    let categories = json!({ "identifier": "id", "label": "name", "items": shown });
    answer(seq, json!({ "categories": categories }))
}

fn branch(number: i64, name: &str, unread: u64, items: Vec<Value>) -> Value {
    json!({
        "id": format!("CAT:{number}"),
        "bare_id": number,
        "type": "category",
        "name": name,
        "unread": unread,
        "checkbox": false,
        "items": items,
    })
}

fn leaf(number: i64, name: &str, unread: u64) -> Value {
    json!({
        "id": format!("FEED:{number}"),
        "bare_id": number,
        "type": "feed",
        "name": name,
        "unread": unread,
        "checkbox": false,
        "error": "",
        "icon": false,
    })
}

fn feed_leaf(feed: &Subscription) -> Value {
    let mut shown = leaf(feed.number.get(), &feed.title, feed.unread);
    shown["error"] = feed.fault.as_deref().unwrap_or_default().into();
    shown["icon"] = feed.icon.is_some().into();
    shown
}
