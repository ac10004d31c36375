//! JSON views.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use feedsync_bitsy::event::{Interaction, SyncError, headers_text};
use feedsync_bitsy::interceptor::{
    Content, Entity, Interceptor, Keeping, Representation, Standing, Why,
};
use feedsync_bitsy::outbox::{Edit, Progress};
use feedsync_bitsy::propagation::Method;
use feedsync_bitsy::subscription::Failure;
use feedsync_bitsy::subscription::state::State;
use http::StatusCode;
use serde_json::{Value, json};

use super::caller::Sight;
use super::current::Current;
use super::decisions::{Decisions, StoreFailed};

/// Maximum size of an entity that is included in an event or an error, in bytes; larger ones are requested
/// separately.
pub(crate) const INLINE: u64 = 1 << 20;

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
    interceptor: &Interceptor,
    sight: &Sight<'_>,
    keeping: &Keeping,
) -> Value {
    let subscription = &keeping.subscription;
    let (partition, feed) = (subscription.partition(), subscription.feed());
    // Secrets are shown to a caller that has sent them, and not to an operator of the gateway.
    let knows = sight.knows(keeping);
    let shows = knows && !sight.caller.keeps();
    let header = |(name, value): (&str, &http::HeaderValue)| {
        let text = String::from_utf8_lossy(value.as_bytes());
        let told = shows || !value.is_sensitive();
        json!({ "name": name, "value": told.then_some(text) })
    };
    let is_of =
        |edit: &&Edit<Entity>| edit.asked.partition == partition && edit.asked.feed == *feed;
    let mut view = json!({
        "id": keeping.id.0.to_string(),
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
        view["edits"] = json!(interceptor.edits().filter(is_of).count());
        view["errors"] = json!(interceptor.errors().of(partition, feed).len());
    }
    view
}

/// Sentence that explains why a subscription is paused.
pub(crate) fn paused(failure: Option<&Failure>) -> String {
    let Some(Failure { location, status }) = failure else {
        return "is paused because somebody paused it".to_owned();
    };
    let what = match status.as_u16() {
        200..=299 if *status != StatusCode::ACCEPTED && *status != StatusCode::PARTIAL_CONTENT => {
            format!("{location} was answered with something that cannot be read")
        }
        401 | 407 => format!("{location} asks for other credentials ({status})"),
        504 => format!("{location} was not reached, or its server did not answer ({status})"),
        507 => format!("there is no room for {location} ({status})"),
        508 => format!("{location} redirects in a circle, or too often ({status})"),
        _ => format!("{location} was answered with {status}"),
    };
    format!("is paused because {what}")
}

/// View of a pending edit, with the reason why it has not arrived.
pub(crate) fn edit(edit: &Edit<Entity>, standing: &Standing) -> Value {
    let asked = &edit.asked;
    json!({
        "id": edit.id.0.to_string(),
        "method": method(asked.method),
        "location": asked.location.as_str(),
        "resource": asked.resource.as_str(),
        "feed": asked.feed.as_str(),
        "tries": edit.tries,
        "progress": progress(&edit.progress),
        "why": why(&standing.why),
        "status": status(&standing.why),
        "since": standing.since.map(|time| time.millis()),
        "until": standing.until.map(|time| time.millis()),
        "error": standing.error.map(|error| error.0.to_string()),
        "length": asked.body.as_ref().map(|entity| entity.content.length),
    })
}

/// Sentence that explains why an edit waits.
pub(crate) fn why(why: &Why) -> String {
    match why {
        Why::Turn => "leaves next".to_owned(),
        Why::Sending => "is being sent".to_owned(),
        Why::Behind(edit) => format!("waits for edit {} of the same resource", edit.0),
        Why::Offline => "waits until the network is used again".to_owned(),
        Why::NotReached => "waits because its server was not reached".to_owned(),
        Why::PutOff(status) => format!("waits because its server answered {status}"),
        Why::Paced => "waits because its server puts off or refuses every edit".to_owned(),
        Why::Credentials(status) => format!(
            "is held because its server answered {status}: subscribe with other credentials, or retry it"
        ),
        Why::Doubt => {
            "was sent without an answer that settles it; the gateway looks whether it arrived"
                .to_owned()
        }
        Why::Accepted => "was accepted; its server has not carried it out yet".to_owned(),
        Why::Unnamed => "waits until its feed shows where the new member is".to_owned(),
    }
}

fn status(why: &Why) -> Option<u16> {
    match why {
        Why::PutOff(status) | Why::Credentials(status) => Some(status.as_u16()),
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
/// longer than [`INLINE`] are omitted.
pub(crate) async fn with_entities(
    decisions: &dyn Decisions,
    of: &Interaction<Option<Content>>,
    mut view: Value,
) -> Result<Value, StoreFailed> {
    for (name, content) in [("request", of.request_body), ("response", of.response_body)] {
        let Some(content) = content else { continue };
        view[name] = entity(decisions, content).await?;
    }
    Ok(view)
}

/// View of the current version at a server, with its bytes.
pub(crate) async fn current(
    decisions: &dyn Decisions,
    current: &Current,
) -> Result<Value, StoreFailed> {
    let Representation { status, content, fetched, .. } = &current.representation;
    let mut view = entity(decisions, *content).await?;
    view["status"] = json!(status.as_u16());
    view["fetched"] = json!(fetched.millis());
    view["isNew"] = json!(current.is_new);
    Ok(view)
}

async fn entity(decisions: &dyn Decisions, content: Content) -> Result<Value, StoreFailed> {
    let mut view = json!({ "length": content.length });
    if content.length <= INLINE {
        match String::from_utf8(decisions.content(content).await?) {
            Ok(text) => view["text"] = json!(text),
            Err(error) => view["base64"] = json!(STANDARD.encode(error.as_bytes())),
        }
    }
    Ok(view)
}
