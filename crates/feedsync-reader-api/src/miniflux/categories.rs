//! Responses about categories.

use serde_json::{Value, json};

use super::TOP;
use crate::answer::RawResponse;
use crate::shown::{Folders, ShownFolder, Subscription};

/// Title of the category of feeds without a folder.
const TOP_TITLE: &str = "All";

/// Response with all categories; if feeds are given, with the numbers of feeds and of unread articles.
pub fn categories(user: i64, folders: &Folders, counted: Option<&[Subscription]>) -> RawResponse {
    let all = [None].into_iter().chain(folders.iter().map(Some));
    let shown = all.map(|folder| {
        let mut shown = shown_category(user, folder);
        if let Some(feeds) = counted {
            let number = folder.map(|folder| folder.number);
            let inside = feeds
                .iter()
                .filter(|feed| feed.folder.as_ref().map(|folder| folder.number) == number);
            let unread = inside.clone().map(|feed| feed.unread).sum::<u64>();
            shown["feed_count"] = inside.count().into();
            shown["total_unread"] = unread.into();
        }
        shown
    });
    RawResponse::json(&shown.collect::<Vec<_>>())
}

/// Response to the creation or a change of a category.
pub fn category(user: i64, folder: &ShownFolder) -> RawResponse {
    RawResponse::json_as(201, &shown_category(user, Some(folder)))
}

/// JSON of a category; `None` is that of feeds without a folder.
pub(super) fn shown_category(user: i64, folder: Option<&ShownFolder>) -> Value {
    json!({
        "id": folder.map_or(TOP, |folder| folder.number.get()),
        "user_id": user,
        "title": folder.map_or(TOP_TITLE, |folder| folder.name.as_str()),
        "hide_globally": false,
    })
}
