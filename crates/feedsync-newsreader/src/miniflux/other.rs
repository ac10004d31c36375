//! Answers about who asks and about the server, and those that say how it went.

use serde_json::json;

use crate::answer::Answer;

/// Who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The number.
    pub number: i64,
    /// The name.
    pub name: String,
    /// Whether they administer the server.
    pub is_administrator: bool,
}

/// Who it is. What Miniflux lets people set for its own pages is as it is at first.
pub fn user(user: &User) -> Answer {
    Answer::json(&json!({
        "id": user.number,
        "username": user.name,
        "is_admin": user.is_administrator,
        "theme": "system_serif",
        "language": "en_US",
        "timezone": "UTC",
        "entry_sorting_direction": "asc",
        "entry_sorting_order": "published_at",
        "stylesheet": "",
        "google_id": "",
        "openid_connect_id": "",
        "entries_per_page": 100,
        "keyboard_shortcuts": true,
        "show_reading_time": true,
        "entry_swipe": true,
        "gesture_nav": "tap",
        "last_login_at": null,
        "display_mode": "standalone",
        "default_reading_speed": 265,
        "cjk_reading_speed": 500,
        "default_home_page": "unread",
        "categories_sorting_order": "unread_count",
        "mark_read_on_view": true,
        "media_playback_rate": 1,
    }))
}

/// The version of Miniflux whose interface this is, so that newsreaders use all of it, and our own beside.
pub fn version(own: &str) -> Answer {
    Answer::json(&json!({
        "version": "2.2.0",
        "commit": own,
        "build_date": "",
        "go_version": "",
        "compiler": "",
        "arch": "",
        "os": "",
    }))
}

/// That the server is there.
pub fn health() -> Answer {
    Answer::text(200, "OK")
}

/// Articles are sent nowhere else.
pub fn integrations() -> Answer {
    Answer::json(&json!({ "has_integrations": false }))
}

/// It is done, and there is nothing to say; newsboat takes any word for a failure.
pub fn done() -> Answer {
    Answer { status: 204, media_type: None, body: Vec::new() }
}

/// It will be done.
pub fn accepted() -> Answer {
    Answer { status: 202, media_type: None, body: Vec::new() }
}

/// The subscriptions as OPML.
pub fn export(opml: String) -> Answer {
    Answer::document("text/xml; charset=utf-8", opml)
}

/// A list of feeds was taken in.
pub fn imported() -> Answer {
    Answer::json_as(201, &json!({ "message": "Feeds imported successfully" }))
}

/// What is asked for is not there.
pub fn unknown() -> Answer {
    refuse(404, "Resource Not Found")
}

/// It is not done.
pub fn refuse(status: u16, reason: &str) -> Answer {
    Answer::json_as(status, &json!({ "error_message": reason }))
}
