//! Answers about who asks and about the server, and those that say how it went.

use serde::Serialize;
use serde_json::{Value, json};

use super::LEVEL;
use crate::answer::Answer;
use crate::fault::Fault;
use crate::shown::FeedNumber;

/// The version of Tiny Tiny RSS whose interface this is.
const VERSION: &str = "21.06";

/// Why something is not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Nobody has logged in, or it is too long ago.
    NotLoggedIn,
    /// Who asks may not use the interface.
    ApiDisabled,
    /// Nobody is called so, or the password is wrong.
    LoginError,
    /// Something is missing or is not what it must be.
    IncorrectUsage,
    /// There is no such operation.
    UnknownMethod,
    /// It could not be done.
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

/// It is not done. A reason helps people to find out why.
pub fn refuse(seq: i64, refusal: Refusal, reason: Option<&str>) -> Answer {
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
    Answer::json(&Envelope { seq, status: 1, content })
}

/// It is done.
pub fn done(seq: i64) -> Answer {
    answer(seq, json!({ "status": "OK" }))
}

/// So many articles are marked now.
pub fn updated(seq: i64, articles: usize) -> Answer {
    answer(seq, json!({ "status": "OK", "updated": articles }))
}

/// Somebody has logged in, and shows this from now on. Where icons are and how many feeds there are is told, too.
pub fn logged_in(seq: i64, session: &str, icons: &str, feeds: usize) -> Answer {
    let config = configuration(icons, feeds);
    answer(seq, json!({ "session_id": session, "config": config, "api_level": LEVEL }))
}

/// Whether somebody has.
pub fn is_logged_in(seq: i64, is_so: bool) -> Answer {
    answer(seq, json!({ "status": is_so }))
}

/// The level of the interface.
pub fn level(seq: i64) -> Answer {
    answer(seq, json!({ "level": LEVEL }))
}

/// The version of Tiny Tiny RSS whose interface this is.
pub fn version(seq: i64) -> Answer {
    answer(seq, json!({ "version": VERSION }))
}

/// Where icons are, at the number of their feed and `.ico`, and how many feeds there are.
pub fn config(seq: i64, icons: &str, feeds: usize) -> Answer {
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

/// Nobody keeps preferences here.
pub fn pref(seq: i64) -> Answer {
    answer(seq, json!({ "value": null }))
}

/// What became of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subscribed {
    /// The feed was subscribed to before.
    Before(FeedNumber),
    /// It is now.
    Now(FeedNumber),
    /// There is no feed.
    NoFeed,
    /// It could not be fetched.
    Failed,
    /// What is there is neither a feed nor a web page.
    Unreadable,
}

/// What became of an address.
pub fn subscribed(seq: i64, outcome: Subscribed) -> Answer {
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

/// What is asked for.
pub(super) fn answer(seq: i64, content: impl Into<Value>) -> Answer {
    Answer::json(&Envelope { seq, status: 0, content: content.into() })
}
