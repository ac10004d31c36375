//! Responses about folders, feeds, the user and the server, and those that report success or failure.

use serde_json::{Value, json};

use crate::answer::RawResponse;
use crate::shown::{ArticleNumber, FolderNumber, Folders, ShownFolder, Subscription};

/// Implemented version of Nextcloud News.
const VERSION: &str = "24.0.0";

/// Response with the supported versions of the interface.
pub fn levels() -> RawResponse {
    RawResponse::json(&json!({ "apiLevels": ["v1-2", "v1-3"] }))
}

/// Response with the implemented version of Nextcloud News.
pub fn version() -> RawResponse {
    RawResponse::json(&json!({ "version": VERSION }))
}

/// Response with the version, and without warnings.
pub fn status() -> RawResponse {
    let warnings = json!({ "improperlyConfiguredCron": false, "incorrectDbCharset": false });
    RawResponse::json(&json!({ "version": VERSION, "warnings": warnings }))
}

/// Response with the user.
pub fn user(name: &str) -> RawResponse {
    RawResponse::json(&json!({
        "userId": name,
        "displayName": name,
        "lastLoginTimestamp": 0,
        "avatar": null,
    }))
}

/// Response with all folders.
pub fn folders(folders: &Folders) -> RawResponse {
    let shown: Vec<Value> = folders.iter().map(shown_folder).collect();
    RawResponse::json(&json!({ "folders": shown }))
}

/// Response to the creation of a folder.
pub fn created_folder(folder: &ShownFolder) -> RawResponse {
    RawResponse::json(&json!({ "folders": [shown_folder(folder)] }))
}

fn shown_folder(folder: &ShownFolder) -> Value {
    json!({ "id": folder.number, "name": folder.name.as_str(), "opened": true, "feeds": [] })
}

/// Response with all feeds, the number of starred articles, and the highest article number.
pub fn feeds(feeds: &[Subscription], starred: u64, newest: Option<ArticleNumber>) -> RawResponse {
    let shown: Vec<Value> = feeds.iter().map(shown_feed).collect();
    let mut answer = json!({ "feeds": shown, "starredCount": starred });
    add_newest(&mut answer, newest);
    RawResponse::json(&answer)
}

/// Response to a new subscription, with the highest article number.
pub fn created_feed(feed: &Subscription, newest: Option<ArticleNumber>) -> RawResponse {
    let mut answer = json!({ "feeds": [shown_feed(feed)] });
    add_newest(&mut answer, newest);
    RawResponse::json(&answer)
}

fn add_newest(answer: &mut Value, newest: Option<ArticleNumber>) {
    if let Some(newest) = newest {
        answer["newestItemId"] = newest.get().into();
    }
}

fn shown_feed(feed: &Subscription) -> Value {
    json!({
        "id": feed.number,
        "url": feed.address.as_str(),
        "title": feed.title,
        "faviconLink": feed.icon,
        "added": 0,
        "folderId": feed.folder.as_ref().map_or(FolderNumber::TOP, |folder| folder.number),
        "unreadCount": feed.unread,
        "ordering": 0,
        "link": feed.site.as_deref().unwrap_or(feed.address.as_str()),
        "pinned": false,
        "updateErrorCount": feed.fault_count,
        "lastUpdateError": feed.fault,
        "items": [],
    })
}

/// Response to a successful request. Newsboat treats every other status as a failure.
pub fn done() -> RawResponse {
    RawResponse::json(&json!([]))
}

/// Response to a failed request.
pub fn refuse(status: u16, reason: &str) -> RawResponse {
    RawResponse::json_as(status, &json!({ "message": reason }))
}
