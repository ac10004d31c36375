//! Responses about the user and the server, and those that report success or failure.

use serde::Serialize;
use serde_json::{Value, json};

use super::LEVEL;
use crate::answer::RawResponse;
use crate::fault::Fault;
use crate::shown::FeedNumber;

/// Implemented version of Tiny Tiny RSS.
const VERSION: &str = "21.06";

/// Reason for a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// There is no session, or it has expired.
    NotLoggedIn,
    /// The user may not use the interface.
    ApiDisabled,
    /// The user name is unknown, or the password is wrong.
    LoginError,
    /// A parameter is missing or invalid.
    IncorrectUsage,
    /// The operation is unknown.
    UnknownMethod,
    /// The operation failed.
    OperationFailed,
}

impl From<&Fault> for Refusal {
    fn from(fault: &Fault) -> Self {
        match fault {
            Fault::NotFound { .. } => Self::UnknownMethod,
            _ => Self::IncorrectUsage,
        }
    }
}

/// Response to a refused request. The reason is for people.
pub fn refuse(seq: i64, refusal: Refusal, reason: Option<&str>) -> RawResponse {
    let error = match refusal {
        Refusal::NotLoggedIn => "NOT_LOGGED_IN",
        Refusal::ApiDisabled => "API_DISABLED",
        Refusal::LoginError => "LOGIN_ERROR",
        Refusal::IncorrectUsage => "INCORRECT_USAGE",
        Refusal::UnknownMethod => "UNKNOWN_METHOD",
        Refusal::OperationFailed => "E_OPERATION_FAILED",
    };
    let mut content = json!({ "error": error });
    if let Some(reason) = reason {
        content["message"] = reason.into();
    }
    RawResponse::json(&Envelope { seq, status: 1, content })
}

/// Response to a successful request.
pub fn done(seq: i64) -> RawResponse {
    answer(seq, json!({ "status": "OK" }))
}

/// Response with the number of changed articles.
pub fn updated(seq: i64, articles: usize) -> RawResponse {
    answer(seq, json!({ "status": "OK", "updated": articles }))
}

/// Response to a login, with the session, the address of icons and the number of feeds.
pub fn logged_in(seq: i64, session: &str, icons: &str, feeds: usize) -> RawResponse {
    let config = configuration(icons, feeds);
    answer(seq, json!({ "session_id": session, "config": config, "api_level": LEVEL }))
}

/// Response that tells whether the session is valid.
pub fn is_logged_in(seq: i64, is_so: bool) -> RawResponse {
    answer(seq, json!({ "status": is_so }))
}

/// Response with the level of the interface.
pub fn level(seq: i64) -> RawResponse {
    answer(seq, json!({ "level": LEVEL }))
}

/// Response with the implemented version of Tiny Tiny RSS.
pub fn version(seq: i64) -> RawResponse {
    answer(seq, json!({ "version": VERSION }))
}

/// Response with the number of feeds, and with the address of icons; each is at the number of its feed and
/// `.ico`.
pub fn config(seq: i64, icons: &str, feeds: usize) -> RawResponse {
    answer(seq, configuration(icons, feeds))
}

fn configuration(icons: &str, feeds: usize) -> Value {
    json!({
        "icons_dir": icons,
        "icons_url": icons,
        "daemon_is_running": true,
        "custom_sort_types": [],
        "num_feeds": feeds,
    })
}

/// Response with a preference; none are stored.
pub fn pref(seq: i64) -> RawResponse {
    answer(seq, json!({ "value": null }))
}

/// Outcome of a subscription request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subscribed {
    /// The feed was already subscribed to.
    Before(FeedNumber),
    /// The feed is subscribed to now.
    Now(FeedNumber),
    /// There is no feed at the address.
    NoFeed,
    /// The address could not be fetched.
    Failed,
    /// The document is neither a feed nor a web page.
    Unreadable,
}

/// Response to a subscription request.
pub fn subscribed(seq: i64, outcome: Subscribed) -> RawResponse {
    let status = match outcome {
        Subscribed::Before(feed) => json!({ "code": 0, "feed_id": feed }),
        Subscribed::Now(feed) => json!({ "code": 1, "feed_id": feed }),
        Subscribed::NoFeed => json!({ "code": 3 }),
        Subscribed::Failed => json!({ "code": 5 }),
        Subscribed::Unreadable => json!({ "code": 6 }),
    };
    answer(seq, json!({ "status": status }))
}

#[derive(Serialize)]
struct Envelope {
    seq: i64,
    status: u8,
    content: Value,
}

/// Response with a content.
pub(super) fn answer(seq: i64, content: impl Into<Value>) -> RawResponse {
    RawResponse::json(&Envelope { seq, status: 0, content: content.into() })
}
