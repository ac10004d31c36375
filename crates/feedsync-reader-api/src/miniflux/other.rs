//! Responses about the user and the server, and those that report success or failure.

use serde_json::json;

use crate::answer::RawResponse;

/// User of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Number of the user.
    pub number: i64,
    /// Name of the user.
    pub name: String,
    /// Whether the user administers the server.
    pub is_administrator: bool,
}

/// Response with the user. Settings of the pages of Miniflux have their default values.
pub fn user(user: &User) -> RawResponse {
    RawResponse::json(&json!({
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

/// Response with the implemented version of Miniflux, so that newsreaders use all features, and with our own
/// version.
pub fn version(own: &str) -> RawResponse {
    RawResponse::json(&json!({
        "version": "2.2.0",
        "commit": own,
        "build_date": "",
        "go_version": "",
        "compiler": "",
        "arch": "",
        "os": "",
    }))
}

/// Response to a health check.
pub fn health() -> RawResponse {
    RawResponse::text(200, "OK")
}

/// Response that no integrations are configured.
pub fn integrations() -> RawResponse {
    RawResponse::json(&json!({ "has_integrations": false }))
}

/// Response 204 to a successful request; newsboat treats any content as a failure.
pub fn done() -> RawResponse {
    RawResponse { status: 204, media_type: None, body: Vec::new() }
}

/// Response to a request that will be performed later.
pub fn accepted() -> RawResponse {
    RawResponse { status: 202, media_type: None, body: Vec::new() }
}

/// Response with the subscriptions as OPML.
pub fn export(opml: String) -> RawResponse {
    RawResponse::document("text/xml; charset=utf-8", opml)
}

/// Response to an import.
pub fn imported() -> RawResponse {
    RawResponse::json_as(201, &json!({ "message": "Feeds imported successfully" }))
}

/// Response to a request for an object that does not exist.
pub fn unknown() -> RawResponse {
    refuse(404, "Resource Not Found")
}

/// Response to a failed request.
pub fn refuse(status: u16, reason: &str) -> RawResponse {
    RawResponse::json_as(status, &json!({ "error_message": reason }))
}
