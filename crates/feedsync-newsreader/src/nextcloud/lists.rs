//! Answers about folders and feeds, who asks and the server, and those that say how it went.

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::shown::{ArticleNumber, FolderNumber, Folders, ShownFolder, Subscription};

/// The version of Nextcloud News whose interface this is.
const VERSION: &str = "24.0.0";

/// Which versions of the interface there are.
pub fn levels() -> Answer {
    Answer::json(&json!({ "apiLevels": ["v1-2", "v1-3"] }))
}

/// The version of Nextcloud News whose interface this is.
pub fn version() -> Answer {
    Answer::json(&json!({ "version": VERSION }))
}

/// The same, and that all is well.
pub fn status() -> Answer {
    let warnings = json!({ "improperlyConfiguredCron": false, "incorrectDbCharset": false });
    Answer::json(&json!({ "version": VERSION, "warnings": warnings }))
}

/// Who it is.
pub fn user(name: &str) -> Answer {
    Answer::json(&json!({
        "userId": name,
        "displayName": name,
        "lastLoginTimestamp": 0,
        "avatar": null,
    }))
}

/// All folders.
pub fn folders(folders: &Folders) -> Answer {
    let shown: Vec<Value> = folders.iter().map(shown_folder).collect();
    Answer::json(&json!({ "folders": shown }))
}

/// A folder that was made.
pub fn created_folder(folder: &ShownFolder) -> Answer {
    Answer::json(&json!({ "folders": [shown_folder(folder)] }))
}

fn shown_folder(folder: &ShownFolder) -> Value {
    json!({ "id": folder.number, "name": folder.name.as_str(), "opened": true, "feeds": [] })
}

/// All feeds, how many articles are starred, and the highest number of an article.
pub fn feeds(feeds: &[Subscription], starred: u64, newest: Option<ArticleNumber>) -> Answer {
    let shown: Vec<Value> = feeds.iter().map(shown_feed).collect();
    let mut answer = json!({ "feeds": shown, "starredCount": starred });
    add_newest(&mut answer, newest);
    Answer::json(&answer)
}

/// A feed that is subscribed to now, and the highest number of an article.
pub fn created_feed(feed: &Subscription, newest: Option<ArticleNumber>) -> Answer {
    let mut answer = json!({ "feeds": [shown_feed(feed)] });
    add_newest(&mut answer, newest);
    Answer::json(&answer)
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

/// It is done. Newsboat takes every other status for a failure.
pub fn done() -> Answer {
    Answer::json(&json!([]))
}

/// It is not done.
pub fn refuse(status: u16, reason: &str) -> Answer {
    Answer::json_as(status, &json!({ "message": reason }))
}
