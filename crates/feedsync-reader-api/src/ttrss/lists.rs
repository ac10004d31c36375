//! Responses about categories, labels and unread articles.

use feedsync_reading_state::Tag;
use serde_json::{Value, json};

use super::account::answer;
use super::feeds::{all_unread, folder_of, specials};
use super::{Unread, label_feed};
use crate::answer::RawResponse;
use crate::date::rfc3339;
use crate::shown::{FolderNumber, Folders, Subscription, Tags};

/// Response with the number of unread articles of a stream.
pub fn unread(seq: i64, unread: u64) -> RawResponse {
    answer(seq, json!({ "unread": unread.to_string() }))
}

/// Response with the numbers of unread articles of all feeds, categories and labels.
pub fn counters(
    seq: i64,
    feeds: &[Subscription],
    folders: &Folders,
    unread: &Unread<'_>,
) -> RawResponse {
    let mut shown = vec![
        json!({ "id": "global-unread", "counter": all_unread(feeds) }),
        json!({ "id": "subscribed-feeds", "counter": feeds.len() }),
    ];
    for (number, _, unread) in specials(feeds, unread) {
        shown.push(json!({ "id": number, "counter": unread, "auxcounter": 0 }));
    }
    for (tag, unread) in unread.tags {
        shown.push(json!({
            "id": label_feed(tag.number),
            "counter": unread,
            "auxcounter": 0,
            "description": tag.tag.as_str(),
        }));
    }
    for feed in feeds {
        shown.push(json!({
            "id": feed.number,
            "title": feed.title,
            "counter": feed.unread,
            "updated": feed.checked.map(rfc3339).unwrap_or_default(),
            "has_img": u8::from(feed.icon.is_some()),
            "error": feed.fault.as_deref().unwrap_or_default(),
        }));
    }
    for (number, _, unread) in folders_with_unread(folders, feeds) {
        shown.push(json!({ "id": number, "kind": "cat", "counter": unread }));
    }
    answer(seq, shown)
}

/// Folders with their names and unread articles; the one of feeds without a folder is last.
fn folders_with_unread<'a>(
    folders: &'a Folders,
    feeds: &'a [Subscription],
) -> impl Iterator<Item = (FolderNumber, &'a str, u64)> {
    let named = folders.iter().map(|folder| (folder.number, folder.name.as_str()));
    named.chain([(FolderNumber::TOP, "Uncategorized")]).map(|(number, name)| {
        let inside = feeds.iter().filter(move |feed| folder_of(feed) == number);
        (number, name, all_unread(inside))
    })
}

/// Response with the categories: folders, labels and virtual feeds.
pub fn categories(
    seq: i64,
    (unread_only, include_empty): (bool, bool),
    feeds: &[Subscription],
    folders: &Folders,
    unread: &Unread<'_>,
) -> RawResponse {
    let mut shown: Vec<Value> = Vec::new();
    let mut push = |number: i64, name: &str, unread: u64, is_empty: bool| {
        if (include_empty || !is_empty) && (unread > 0 || !unread_only) {
            let place = shown.len();
            shown.push(json!({ "id": number, "title": name, "unread": unread, "order_id": place }));
        }
    };
    for (number, name, unread) in folders_with_unread(folders, feeds) {
        let is_empty = !feeds.iter().any(|feed| folder_of(feed) == number);
        push(number.get(), name, unread, is_empty);
    }
    let of_labels = unread.tags.iter().map(|(_, unread)| unread).sum();
    push(-2, "Labels", of_labels, unread.tags.is_empty());
    push(-1, "Special", unread.starred + unread.fresh, false);
    answer(seq, shown)
}

/// Response with the labels, and whether an article has each.
pub fn labels(seq: i64, tags: &Tags, of_article: &[Tag]) -> RawResponse {
    let shown = tags.iter().map(|shown| {
        json!({
            "id": label_feed(shown.number),
            "caption": shown.tag.as_str(),
            "fg_color": "",
            "bg_color": "",
            "checked": of_article.contains(&shown.tag),
        })
    });
    answer(seq, shown.collect::<Vec<_>>())
}
