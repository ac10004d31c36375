//! Views of subscriptions, edits and errors as JSON, for programs and for the scripts of pages (BITSY 2).

mod messages;

pub use messages::{Audience, Message, Sent, Stamp, VisibleError, errors, ids};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use serde_json::{Value, json};

use crate::event::{Interaction, StateChange, SyncError, headers_text};
use crate::interceptor::{Content, EditStatus, Entity, State, StoredSubscription, WaitReason};
use crate::outbox::{Edit, Progress};
use crate::propagation::Method;
use crate::subscription::{Failure, state};

/// Parts of a subscription that a view shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shows {
    /// The number of edits and errors, and the failure that paused the subscription.
    pub contents: bool,
    /// The values of registered headers that are secrets.
    pub secrets: bool,
}

/// View of a subscription.
pub fn subscription(
    state: &State,
    stored_subscription: &StoredSubscription,
    shows: Shows,
) -> Value {
    let subscription = &stored_subscription.subscription;
    let (partition, feed) = (subscription.partition(), subscription.feed());
    let header = |(name, value): (&str, &http::HeaderValue)| {
        let text = String::from_utf8_lossy(value.as_bytes());
        let told = shows.secrets || !value.is_sensitive();
        json!({ "name": name, "value": told.then_some(text) })
    };
    let is_of = |edit: &&Edit<Entity>| {
        edit.requested.partition == partition && edit.requested.feed == *feed
    };
    let mut view = json!({
        "id": stored_subscription.id.0.to_string(),
        "feed": feed.as_str(),
        "state": subscription.state().name(),
        "status": subscription.state().number(),
        "lastUpdated": subscription.last_updated().map(|time| time.millis()),
        "interval": subscription.interval(),
        "follows": subscription.follows().iter().map(|it| it.as_str().to_owned()).collect::<Vec<_>>(),
        "proxy": subscription.proxy().map(|proxy| proxy.as_str()),
        "headers": subscription.registered().fields().map(header).collect::<Vec<_>>(),
        "due": subscription.due().map(|time| time.millis()),
    });
    if subscription.state() == state::State::Paused {
        let failure = subscription.failure().filter(|_| shows.contents);
        view["why"] = json!(paused(subscription.failure()));
        view["failure"] = json!(failure.map(|failure| {
            json!({ "location": failure.location.as_str(), "status": failure.status.as_u16() })
        }));
    }
    if shows.contents {
        view["edits"] = json!(state.edits().filter(is_of).count());
        view["errors"] = json!(state.errors().of(partition, feed).len());
    }
    view
}

/// Sentence that explains why a subscription is paused.
pub fn paused(failure: Option<&Failure>) -> String {
    let Some(Failure { location, status }) = failure else {
        return "was paused by a user or an application".to_owned();
    };
    let what = match status.as_u16() {
        200..=299 if *status != StatusCode::ACCEPTED && *status != StatusCode::PARTIAL_CONTENT => {
            format!("the response of {location} is not a valid feed")
        }
        401 | 407 => format!("{location} needs other credentials ({status})"),
        504 => format!("{location} could not be reached, or its server did not respond ({status})"),
        507 => format!("there is not enough space for {location} ({status})"),
        508 => format!("{location} redirects in a loop, or too many times ({status})"),
        _ => format!("{location} returned {status}"),
    };
    format!("is paused because {what}")
}

/// View of a pending edit, with the reason why it has not arrived.
pub fn edit(edit: &Edit<Entity>, edit_status: &EditStatus) -> Value {
    let requested = &edit.requested;
    json!({
        "id": edit.id.0.to_string(),
        "method": method(requested.method),
        "location": requested.location.as_str(),
        "resource": requested.resource.as_str(),
        "feed": requested.feed.as_str(),
        "tries": edit.tries,
        "progress": progress(&edit.progress),
        "why": why(&edit_status.why),
        "status": status(&edit_status.why),
        "since": edit_status.since.map(|time| time.millis()),
        "until": edit_status.until.map(|time| time.millis()),
        "error": edit_status.error.map(|error| error.0.to_string()),
        "length": requested.body.as_ref().map(|entity| entity.content.length),
    })
}

/// Sentence that explains why an edit waits.
pub fn why(why: &WaitReason) -> String {
    match why {
        WaitReason::Capacity => "is sent next".to_owned(),
        WaitReason::Sending => "is being sent".to_owned(),
        WaitReason::Behind(edit) => format!("waits for edit {} of the same resource", edit.0),
        WaitReason::Offline => "waits until the gateway uses the network again".to_owned(),
        WaitReason::Unreachable => "waits because its server cannot be reached".to_owned(),
        WaitReason::PutOff(status) => format!("waits because its server answered {status}"),
        WaitReason::Paced => "waits because its server postpones or refuses every edit".to_owned(),
        WaitReason::Credentials(status) => format!(
            "is held because its server answered {status}: subscribe with other credentials, or retry it"
        ),
        WaitReason::Doubt => {
            "was sent, but the response does not tell whether it was applied; the gateway checks \
             that"
                .to_owned()
        }
        WaitReason::Accepted => "was accepted; its server has not applied it yet".to_owned(),
        WaitReason::Unnamed => {
            "waits until its feed shows the address of the new member".to_owned()
        }
    }
}

fn status(why: &WaitReason) -> Option<u16> {
    match why {
        WaitReason::PutOff(status) | WaitReason::Credentials(status) => Some(status.as_u16()),
        _ => None,
    }
}

/// Name of the method of an edit.
pub const fn method(method: Method) -> &'static str {
    match method {
        Method::Post => "POST",
        Method::Put => "PUT",
        Method::Delete => "DELETE",
    }
}

/// Name of the progress of an edit.
pub fn progress(progress: &Progress) -> &'static str {
    match progress {
        Progress::Queued => "queued",
        Progress::Sent => "sent",
        Progress::Doubtful => "doubtful",
        Progress::Accepted => "accepted",
        Progress::Waiting { .. } => "waiting",
        Progress::Held => "held",
    }
}

/// Whether an error concerns an edit, which can be repeated.
pub fn is_edit(error: &SyncError<Option<Content>>) -> bool {
    matches!(&*error.interaction.method, "POST" | "PUT" | "DELETE")
}

/// View of an error, without its entities.
pub fn error(error: &SyncError<Option<Content>>, subscriptions: &[String]) -> Value {
    let mut view = interaction(&error.interaction, subscriptions);
    view["id"] = json!(error.id.0.to_string());
    view["feed"] = json!(error.feed.as_str());
    view["isEdit"] = json!(is_edit(error));
    view
}

/// View of an interaction with a server, without its entities.
pub fn interaction(of: &Interaction<Option<Content>>, subscriptions: &[String]) -> Value {
    let length =
        |content: &Option<Content>| content.map(|content| json!({ "length": content.length }));
    json!({
        "subscriptions": subscriptions,
        "status": of.status.as_u16(),
        "timeStamp": of.time.millis(),
        "location": of.location.as_str(),
        "method": of.method,
        "requestHeaders": headers_text(&of.request_headers),
        "request": length(&of.request_body),
        "responseHeaders": headers_text(&of.response_headers),
        "response": length(&of.response_body),
    })
}

/// Views of a change of a state, one for each of these subscriptions.
pub fn state_changes(change: &StateChange, subscriptions: &[String]) -> Vec<Value> {
    let view = |id: &String| {
        json!({
            "subscription": id,
            "status": change.status(),
            "timeStamp": change.time.millis(),
            "location": change.location.as_str(),
        })
    };
    subscriptions.iter().map(view).collect()
}

/// Adds bytes to the view of a body: as `text` if they are UTF-8, otherwise as `base64`.
pub fn with_bytes(mut view: Value, bytes: Vec<u8>) -> Value {
    match String::from_utf8(bytes) {
        Ok(text) => view["text"] = json!(text),
        Err(error) => view["base64"] = json!(STANDARD.encode(error.as_bytes())),
    }
    view
}
