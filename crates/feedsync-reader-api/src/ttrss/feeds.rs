//! Lists of feeds, including virtual ones.

use serde_json::{Value, json};

use super::account::answer;
use super::{Category, FeedsRequest, Unread, label_feed};
use crate::answer::RawResponse;
use crate::shown::{FolderNumber, Subscription};

/// Virtual feeds: the number, the title, and the number of unread articles.
pub(super) fn specials(
    feeds: &[Subscription],
    unread: &Unread<'_>,
) -> [(i64, &'static str, u64); 5] {
    [
        (-4, "All articles", all_unread(feeds)),
        (-3, "Fresh articles", unread.fresh),
        (-1, "Starred articles", unread.starred),
        (-2, "Published articles", 0),
        (0, "Archived articles", 0),
    ]
}

/// Number of unread articles of these feeds.
pub(super) fn all_unread<'a>(feeds: impl IntoIterator<Item = &'a Subscription>) -> u64 {
    feeds.into_iter().map(|feed| feed.unread).sum()
}

/// Category of a feed.
pub(super) fn folder_of(feed: &Subscription) -> FolderNumber {
    feed.folder.as_ref().map_or(FolderNumber::TOP, |folder| folder.number)
}

/// Response with the requested feeds in order, after the virtual ones.
pub fn feeds(
    seq: i64,
    request: &FeedsRequest,
    feeds: &[Subscription],
    unread: &Unread<'_>,
) -> RawResponse {
    let is_shown = |unread: u64| unread > 0 || !request.unread_only;
    let mut shown: Vec<Value> = Vec::new();
    if matches!(request.category, Category::All | Category::Labels) {
        for (tag, unread) in unread.tags.iter().filter(|(_, unread)| is_shown(*unread)) {
            shown.push(virtual_feed(label_feed(tag.number), tag.tag.as_str(), *unread, -2));
        }
    }
    if matches!(request.category, Category::All | Category::Special) {
        for (number, title, unread) in specials(feeds, unread) {
            if is_shown(unread) {
                shown.push(virtual_feed(number, title, unread, -1));
            }
        }
    }
    let is_asked = |feed: &Subscription| match request.category {
        Category::Folder(folder) => folder_of(feed) == folder,
        Category::Feeds | Category::All => true,
        Category::Special | Category::Labels => false,
    };
    let found = feeds.iter().enumerate().filter(|(_, feed)| is_asked(feed));
    let found = found.skip(request.offset).take(request.limit.unwrap_or(usize::MAX));
    let found = found.filter(|(_, feed)| is_shown(feed.unread));
    shown.extend(found.map(|(place, feed)| shown_feed(place, feed)));
    answer(seq, shown)
}

fn virtual_feed(number: i64, title: &str, unread: u64, category: i64) -> Value {
    json!({ "id": number, "title": title, "unread": unread, "cat_id": category })
}

fn shown_feed(place: usize, feed: &Subscription) -> Value {
    json!({
        "id": feed.number,
        "title": feed.title,
        "feed_url": feed.address.as_str(),
        "unread": feed.unread,
        "has_icon": feed.icon.is_some(),
        "cat_id": folder_of(feed),
        "last_updated": feed.checked.unwrap_or_default().get() / 1_000,
        "order_id": place,
        "last_error": feed.fault.as_deref().unwrap_or_default(),
        "update_interval": 0,
    })
}
