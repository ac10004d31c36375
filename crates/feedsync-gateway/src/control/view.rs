//! JSON views.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use feedsync_bitsy::event::{Interaction, SyncError, headers_text};
use feedsync_bitsy::interceptor::{
    self, Content, EditStatus, Entity, Representation, StoredSubscription, WaitReason,
};
use feedsync_bitsy::outbox::{Edit, Progress};
use feedsync_bitsy::propagation::Method;
use feedsync_bitsy::subscription::Failure;
use feedsync_bitsy::subscription::state::State;
use http::StatusCode;
use serde_json::{Value, json};

use super::caller::Visibility;
use super::current::Current;
use super::interceptor_handle::{InterceptorHandle, StoreFailed};

/// Maximum size of an entity that is included in an event or an error, in bytes; larger ones are requested
/// separately.
pub(crate) const MAX_INLINE_BYTES: u64 = 1 << 20;

/// Identifies the snapshot that a view comes from.
#[derive(Debug)]
pub(crate) struct Stamp {
    pub(crate) number: u64,
    /// Identifier of the counter. Numbers of different counters are not comparable.
    pub(crate) count: Arc<str>,
}

impl Stamp {
    /// Adds the stamp to a view.
    pub(crate) fn mark(&self, told: &mut Value) {
        told["stamp"] = json!(self.number);
        told["count"] = json!(&*self.count);
    }
}

/// View of a subscription. Its [`Stamp`] tells which of two views is the later one.
pub(crate) fn subscription(
    state: &interceptor::State,
    visibility: &Visibility<'_>,
    stored_subscription: &StoredSubscription,
) -> Value {
    let subscription = &stored_subscription.subscription;
    let (partition, feed) = (subscription.partition(), subscription.feed());
    // Secrets are shown to a caller that has sent them, and not to an operator of the gateway.
    let knows = visibility.knows(stored_subscription);
    let shows = knows && !visibility.caller.is_operator();
    let header = |(name, value): (&str, &http::HeaderValue)| {
        let text = String::from_utf8_lossy(value.as_bytes());
        let told = shows || !value.is_sensitive();
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
    if subscription.state() == State::Paused {
        let failure = subscription.failure().filter(|_| knows);
        view["why"] = json!(paused(subscription.failure()));
        view["failure"] = json!(failure.map(|failure| {
            json!({ "location": failure.location.as_str(), "status": failure.status.as_u16() })
        }));
    }
    if knows {
        view["edits"] = json!(state.edits().filter(is_of).count());
        view["errors"] = json!(state.errors().of(partition, feed).len());
    }
    view
}

/// Sentence that explains why a subscription is paused.
pub(crate) fn paused(failure: Option<&Failure>) -> String {
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
pub(crate) fn edit(edit: &Edit<Entity>, edit_status: &EditStatus) -> Value {
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
pub(crate) fn why(why: &WaitReason) -> String {
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
pub(crate) const fn method(method: Method) -> &'static str {
    match method {
        Method::Post => "POST",
        Method::Put => "PUT",
        Method::Delete => "DELETE",
    }
}

/// Name of the progress of an edit.
pub(crate) fn progress(progress: &Progress) -> &'static str {
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
pub(crate) fn is_edit(error: &SyncError<Option<Content>>) -> bool {
    matches!(&*error.interaction.method, "POST" | "PUT" | "DELETE")
}

/// View of an error, without its entities.
pub(crate) fn error(error: &SyncError<Option<Content>>, subscriptions: &[String]) -> Value {
    let mut view = interaction(&error.interaction, subscriptions);
    view["id"] = json!(error.id.0.to_string());
    view["feed"] = json!(error.feed.as_str());
    view["isEdit"] = json!(is_edit(error));
    view
}

/// View of an interaction with a server, without its entities.
pub(crate) fn interaction(of: &Interaction<Option<Content>>, subscriptions: &[String]) -> Value {
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

/// Adds the entities of an interaction to its view: as text if they are UTF-8, otherwise in Base64. Entities
/// longer than [`MAX_INLINE_BYTES`] are omitted.
pub(crate) async fn with_entities(
    interceptor_handle: &dyn InterceptorHandle,
    of: &Interaction<Option<Content>>,
    mut view: Value,
) -> Result<Value, StoreFailed> {
    for (name, content) in [("request", of.request_body), ("response", of.response_body)] {
        let Some(content) = content else { continue };
        view[name] = entity(interceptor_handle, content).await?;
    }
    Ok(view)
}

/// View of the current version at a server, with its bytes.
pub(crate) async fn current(
    interceptor_handle: &dyn InterceptorHandle,
    current: &Current,
) -> Result<Value, StoreFailed> {
    let Representation { status, content, fetched, .. } = &current.representation;
    let mut view = entity(interceptor_handle, *content).await?;
    view["status"] = json!(status.as_u16());
    view["fetched"] = json!(fetched.millis());
    view["isNew"] = json!(current.is_new);
    Ok(view)
}

async fn entity(
    interceptor_handle: &dyn InterceptorHandle,
    content: Content,
) -> Result<Value, StoreFailed> {
    let mut view = json!({ "length": content.length });
    if content.length <= MAX_INLINE_BYTES {
        match String::from_utf8(interceptor_handle.content(content).await?) {
            Ok(text) => view["text"] = json!(text),
            Err(error) => view["base64"] = json!(STANDARD.encode(error.as_bytes())),
        }
    }
    Ok(view)
}
