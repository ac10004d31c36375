//! `/`: the subscriptions with their states, the network policy, and the form for a new subscription.

use std::time::SystemTime;

use askama::Template;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use feedsync_bitsy::interceptor::{self, Policy};
use feedsync_bitsy::subscription::state::State as Stands;
use feedsync_bitsy::time::Time;
use feedsync_bitsy::view::Audience as _;
use feedsync_http::Problem;
use http::{HeaderMap, StatusCode, Uri};

use super::super::Control;
use super::super::answer::refused;
use super::super::caller::Caller;
use super::super::network::RequestedPolicy;
use super::super::subscriptions::{self, Header, New};
use super::super::view;
use super::form::Form;
use super::{Frame, Moment, person, see_other, shown};
use crate::tls_interception::TlsInterception;

#[derive(Template)]
#[template(path = "home.html")]
struct HomePage {
    frame: Frame,
    is_offline: bool,
    rows: Vec<Row>,
    edits: usize,
    errors: usize,
    /// Connections that are tunnelled although https is intercepted.
    tunnelled: Vec<Tunnelled>,
    /// Input of the form, if the request failed.
    typed: FormInput,
}

#[derive(Default)]
struct FormInput {
    feed: String,
    follows: String,
    interval: String,
    headers: String,
}

struct Tunnelled {
    authority: String,
    application: String,
    reason: String,
    until: Moment,
}

struct Row {
    id: u64,
    feed: String,
    state: &'static str,
    /// Reason why the subscription is paused, if it is.
    why: Option<String>,
    updated: Option<Moment>,
    due: Option<Moment>,
    interval: u16,
    follows: Vec<String>,
    headers: Vec<String>,
    proxy: Option<String>,
    edits: usize,
    errors: usize,
    is_reached: bool,
}

/// `GET /`.
pub(super) async fn read(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    uri: Uri,
) -> Result<Response, Problem> {
    let said = match uri.query() {
        Some("subscribed") => "Subscribed.",
        Some("paused") => "Paused. Nothing is fetched until you resume the subscription.",
        Some("resumed") => "Resumed. The feed is being fetched.",
        Some("unsubscribed") => "Unsubscribed. Pending edits will still be sent.",
        Some("refreshed") => "All feeds that are not paused are being fetched.",
        Some("network") => "Done.",
        _ => "",
    };
    home(&control, &caller, said, String::new(), FormInput::default()).await
}

/// `POST /`.
pub(super) async fn act(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let form = Form::read(person(&caller)?, &headers, body).await?;
    let id = || subscriptions::named(form.text("id"));
    let said = match form.text("action") {
        "subscribe" => return subscribe(&control, &caller, &form).await,
        "pause" => {
            let id = id()?;
            control.change(Box::new(move |it, now| it.pause(id, now))).await.map_err(refused)?;
            "paused"
        }
        "resume" => {
            let id = id()?;
            control.change(Box::new(move |it, now| it.resume(id, now))).await.map_err(refused)?;
            "resumed"
        }
        "unsubscribe" => {
            control.unsubscribe(&caller, id()?).await?;
            "unsubscribed"
        }
        "refresh" => {
            control.refresh(&caller).await?;
            "refreshed"
        }
        "offline" => {
            control.use_network(RequestedPolicy::Offline).await?;
            "network"
        }
        "online" => {
            control.use_network(RequestedPolicy::Online).await?;
            "network"
        }
        _ => return Err(Problem::bad_request("the form has no such action")),
    };
    Ok(see_other(&format!("/?{said}")))
}

async fn subscribe(control: &Control, caller: &Caller, form: &Form) -> Result<Response, Problem> {
    let typed = || FormInput {
        feed: form.text("feed").to_owned(),
        follows: form.text("follows").to_owned(),
        interval: form.text("interval").to_owned(),
        headers: form.text("headers").to_owned(),
    };
    let requested = requested(&typed());
    match requested.and_then(|new| subscriptions::wanted(&new).map_err(|(_, error)| error)) {
        Ok(wanted) => {
            control.subscribe(caller, wanted).await?;
            Ok(see_other("/?subscribed"))
        }
        Err(fault) => home(control, caller, "", fault, typed()).await,
    }
}

/// Converts the form input to a subscription request.
fn requested(typed: &FormInput) -> Result<New, String> {
    let interval = match &*typed.interval {
        "" => 0,
        text => text.parse().map_err(|_| format!("{text:?} is not a number of minutes"))?,
    };
    let headers = typed.headers.lines().filter(|line| !line.trim().is_empty()).map(|line| {
        let (name, value) = line
            .split_once(':')
            .ok_or_else(|| "a header must have the form Name: value".to_owned())?;
        Ok(Header { name: name.trim().to_owned(), value: value.trim().to_owned() })
    });
    Ok(New {
        feed: typed.feed.clone(),
        headers: headers.collect::<Result<_, String>>()?,
        interval,
        follows: typed.follows.split_whitespace().map(str::to_owned).collect(),
        ..New::default()
    })
}

async fn home(
    control: &Control,
    caller: &Caller,
    said: &'static str,
    fault: String,
    typed: FormInput,
) -> Result<Response, Problem> {
    let session = person(caller)?;
    let status = if fault.is_empty() { StatusCode::OK } else { StatusCode::UNPROCESSABLE_ENTITY };
    let frame = Frame::of(session, said, fault);
    let page = control.see(caller, |state, visibility, _| {
        let told = state
            .stored_subscriptions()
            .filter(|stored_subscription| visibility.lists(stored_subscription));
        HomePage {
            frame,
            is_offline: state.policy() == Policy::Offline,
            rows: told.map(|stored_subscription| row(state, stored_subscription)).collect(),
            edits: state.edits().count(),
            errors: state.errors().all().count(),
            tunnelled: tunnelled(control),
            typed,
        }
    });
    shown(status, &page.await)
}

fn tunnelled(control: &Control) -> Vec<Tunnelled> {
    let exemptions = control.0.tls_interception.iter().flat_map(TlsInterception::exemptions);
    let shown = exemptions.map(|it| {
        let until = it.until.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let until = Time::from_millis(u64::try_from(until.as_millis()).unwrap_or(u64::MAX));
        Tunnelled {
            authority: it.authority.to_string(),
            application: it.application.to_string(),
            reason: it.reason.to_string(),
            until: Moment::of(until),
        }
    });
    shown.collect()
}

fn row(state: &interceptor::State, stored_subscription: &interceptor::StoredSubscription) -> Row {
    let subscription = &stored_subscription.subscription;
    let (partition, feed) = (subscription.partition(), subscription.feed());
    let of = |edit: &&feedsync_bitsy::outbox::Edit<_>| {
        (edit.requested.partition, &edit.requested.feed) == (partition, feed)
    };
    Row {
        id: stored_subscription.id.0,
        feed: feed.to_string(),
        state: subscription.state().name(),
        why: (subscription.state() == Stands::Paused).then(|| view::paused(subscription.failure())),
        updated: subscription.last_updated().map(Moment::of),
        due: subscription.due().map(Moment::of),
        interval: subscription.interval(),
        follows: subscription.follows().iter().map(ToString::to_string).collect(),
        headers: subscription.registered().fields().map(|(name, _)| name.to_owned()).collect(),
        proxy: subscription.proxy().map(ToString::to_string),
        edits: state.edits().filter(of).count(),
        errors: state.errors().of(partition, feed).len(),
        is_reached: state.is_online(feed),
    }
}
