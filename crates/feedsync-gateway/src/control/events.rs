//! `GET /events`: the current state, followed by changes, as Server-Sent Events (BITSY 2.2).
//!
//! The stream begins with `all`, an `error` for each open error, and `filled`. After that, the changes of the
//! state are sent before the event that caused them, so that a listener that queries the state finds them. Their
//! names are `subscription`, `subscription-gone`, `error`, `error-gone` and `outbox`. The events themselves are
//! `state` and `sync`. Past events are not repeated (2.2): a client that reconnects or was too slow begins with
//! `all`. A person's pages are only notified that something changed.
//!
//! Views, `all` and `subscription-gone` contain the number of the snapshot that they come from, because responses
//! to requests may overtake events. Numbers are comparable if they have the same `count`, which is sent with
//! each.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use feedsync_bitsy::event::ErrorId;
use feedsync_bitsy::interceptor::{Content, Entity, Event, EventKind, SubscriptionId};
use feedsync_bitsy::outbox::{Edit, EditId, Progress};
use feedsync_bitsy::subscription::state::State as Stands;
use feedsync_http::Problem;
use futures_util::stream;
use http::{HeaderValue, header};
use serde_json::{Value, json};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::Control;
use super::caller::Caller;
use super::errors::{VisibleError, found, visible_errors};
use super::proxies::styles;
use super::view::{self, Stamp};

/// Interval of polling for changes that no event reports.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Number of polls without changes that are followed by a keep-alive.
const QUIET_POLLS: u32 = 8;

pub(crate) async fn follow(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let permit = Arc::clone(&control.0.followers).try_acquire_owned();
    let permit = permit.map_err(|_| {
        Problem::unavailable(
            "this gateway has as many open event streams as its limit allows; try again later",
        )
    })?;
    control.0.holds.lock().await.begin(&caller);
    let mut polls = interval(POLL_INTERVAL);
    polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // Subscribed before the first snapshot, so that no event is missed in between.
    let following = EventStream {
        events: control.0.interceptor_handle.events(),
        changed: control.0.changed.subscribe(),
        stopping: control.0.stopping.subscribe(),
        instance: InstanceGuard { control, caller, _permit: permit },
        polls,
        quiet: 0,
        sent: SentState::default(),
        leaving: BTreeSet::new(),
        waiting: VecDeque::from([Next::All]),
    };
    let events = stream::unfold(following, |mut following| async move {
        let text = following.next().await?;
        Some((Ok::<_, Infallible>(Bytes::from(text)), following))
    });
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, Body::from_stream(events)).into_response())
}

/// An open instance of an application; dropping it ends the instance.
struct InstanceGuard {
    control: Control,
    caller: Caller,
    _permit: OwnedSemaphorePermit,
}

impl Drop for InstanceGuard {
    fn drop(&mut self) {
        let (control, caller) = (self.control.clone(), self.caller.clone());
        tokio::spawn(async move { control.0.holds.lock().await.end(&caller) });
    }
}

/// An open event stream.
struct EventStream {
    instance: InstanceGuard,
    events: broadcast::Receiver<Arc<Event>>,
    changed: watch::Receiver<u64>,
    stopping: watch::Receiver<bool>,
    polls: Interval,
    quiet: u32,
    sent: SentState,
    /// Subscriptions that are gone but whose end no event has reported yet.
    leaving: BTreeSet<SubscriptionId>,
    waiting: VecDeque<Next>,
}

/// State that was sent last.
#[derive(Debug, Default, PartialEq)]
struct SentState {
    subscriptions: BTreeMap<SubscriptionId, Value>,
    errors: BTreeSet<ErrorId>,
    edits: BTreeMap<EditId, (u32, Progress, Option<Content>)>,
}

/// Snapshot of the current state.
struct Snapshot {
    /// State to be compared with the one that was sent.
    now: SentState,
    /// Stamp of the snapshot.
    stamp: Stamp,
    views: Vec<(SubscriptionId, Value)>,
    /// Errors that were not sent yet.
    found: Vec<VisibleError>,
    /// Subscriptions that the event concerns.
    touched: Vec<SubscriptionId>,
}

/// The next thing to send.
enum Next {
    All,
    Line(&'static str, Value),
    Error(Box<VisibleError>),
    Event(Arc<Event>, Vec<String>),
}

impl EventStream {
    /// Returns the next lines, or `None` when the stream ends.
    async fn next(&mut self) -> Option<String> {
        loop {
            while let Some(next) = self.waiting.pop_front() {
                match self.lines(next).await {
                    Ok(Some(text)) => return Some(text),
                    Ok(None) => {}
                    Err(error) => {
                        tracing::error!(%error, "event stream ended: the store failed");
                        return None;
                    }
                }
            }
            let event = tokio::select! {
                biased;
                () = stopped(&mut self.stopping) => return None,
                event = self.events.recv() => Some(event),
                changed = self.changed.changed() => {
                    changed.ok()?;
                    None
                }
                _ = self.polls.tick() => {
                    self.quiet += 1;
                    None
                }
            };
            match event {
                None => self.inspect(None).await,
                Some(Ok(event)) => self.inspect(Some(event)).await,
                // The receiver lagged; the changes that it missed are visible in the full state.
                Some(Err(RecvError::Lagged(_))) => self.waiting.push_back(Next::All),
                Some(Err(RecvError::Closed)) => return None,
            }
            if self.waiting.is_empty() && self.quiet >= QUIET_POLLS {
                self.quiet = 0;
                return Some(":\n\n".to_owned());
            }
        }
    }

    /// Takes a snapshot, and queues its differences around the event that caused them.
    async fn inspect(&mut self, event: Option<Arc<Event>>) {
        let Snapshot { mut now, stamp, views, found, touched } =
            self.snapshot(&self.sent.errors, event.as_deref()).await;
        if matches!(self.instance.caller, Caller::Person(_)) {
            if now != self.sent || event.is_some() {
                self.waiting.push_back(Next::Line("message", json!({})));
            }
            self.sent = now;
            return;
        }
        // Clients that knew of an ended subscription get its last event. The end may be visible before the event
        // arrives; a subscription that merely became invisible has no such event.
        let has_ended = event.as_deref().is_some_and(is_end);
        let is_gone = |id: &&SubscriptionId| !now.subscriptions.contains_key(id);
        let missing: Vec<SubscriptionId> =
            self.sent.subscriptions.keys().filter(is_gone).copied().collect();
        let mut gone = Vec::new();
        for id in missing {
            if has_ended || !self.leaving.insert(id) {
                self.leaving.remove(&id);
                gone.push(id);
            } else if let Some(view) = self.sent.subscriptions.get(&id) {
                now.subscriptions.insert(id, view.clone());
            }
        }
        for (id, view) in views {
            if self.sent.subscriptions.get(&id) != now.subscriptions.get(&id) {
                self.waiting.push_back(Next::Line("subscription", view));
            }
        }
        for found in found {
            self.waiting.push_back(Next::Error(Box::new(found)));
        }
        for id in self.sent.errors.difference(&now.errors) {
            self.waiting.push_back(Next::Line("error-gone", json!({ "id": id.0.to_string() })));
        }
        if self.sent.edits != now.edits {
            self.waiting.push_back(Next::Line("outbox", json!({ "edits": now.edits.len() })));
        }
        if let Some(event) = event {
            let mut ids: Vec<SubscriptionId> = touched;
            if has_ended {
                ids.extend(&gone);
            }
            let ids: Vec<String> = ids.iter().map(|id| id.0.to_string()).collect();
            if !ids.is_empty() {
                self.waiting.push_back(Next::Event(event, ids));
            }
        }
        for id in gone {
            let mut gone = json!({ "id": id.0.to_string() });
            stamp.mark(&mut gone);
            self.waiting.push_back(Next::Line("subscription-gone", gone));
        }
        self.sent = now;
    }

    /// Takes a snapshot of the current state.
    async fn snapshot(&self, sent: &BTreeSet<ErrorId>, event: Option<&Event>) -> Snapshot {
        let InstanceGuard { control, caller, .. } = &self.instance;
        let visible_errors = control.see(caller, |state, visibility, stamp| {
            let mut now = SentState::default();
            let mut views = Vec::new();
            for stored_subscription in state
                .stored_subscriptions()
                .filter(|stored_subscription| visibility.lists(stored_subscription))
            {
                let same = view::subscription(state, visibility, stored_subscription);
                let mut view = same.clone();
                stamp.mark(&mut view);
                now.subscriptions.insert(stored_subscription.id, same);
                views.push((stored_subscription.id, view));
            }
            now.errors = visible_errors(state, visibility).map(|error| error.id).collect();
            let found = found(state, visibility, |id| !sent.contains(&id));
            let edits = state.edits();
            let of = edits.filter(|edit| {
                visibility.sees(state, edit.requested.partition, &edit.requested.feed)
            });
            let snapshot = |edit: &Edit<Entity>| {
                let body = edit.requested.body.as_ref().map(|body| body.content);
                (edit.id, (edit.tries, edit.progress.clone(), body))
            };
            now.edits = of.map(snapshot).collect();
            let touched = event.map(|event| {
                let ids = state.stored_subscriptions().filter(|stored_subscription| {
                    let subscription = &stored_subscription.subscription;
                    let of = (subscription.partition(), subscription.feed());
                    of == (event.partition, &event.feed)
                });
                let may = |id: &SubscriptionId| {
                    let stored_subscription = state.stored_subscription(*id);
                    stored_subscription.is_some_and(|stored_subscription| match &event.kind {
                        EventKind::State(_) => visibility.lists(stored_subscription),
                        EventKind::Sync(_) => visibility.knows(stored_subscription),
                    })
                };
                ids.map(|stored_subscription| stored_subscription.id).filter(may).collect()
            });
            Snapshot { now, stamp, views, found, touched: touched.unwrap_or_default() }
        });
        visible_errors.await
    }

    async fn lines(&mut self, next: Next) -> Result<Option<String>, super::StoreFailed> {
        let interceptor_handle = &*self.instance.control.0.interceptor_handle;
        Ok(match next {
            Next::All => {
                let Snapshot { now, stamp, views, found, .. } =
                    self.snapshot(&BTreeSet::new(), None).await;
                let is_person = matches!(self.instance.caller, Caller::Person(_));
                let mut all = json!({
                    "subscriptions": views.into_iter().map(|(_, view)| view).collect::<Vec<_>>(),
                    "errors": now.errors.iter().map(|id| id.0.to_string()).collect::<Vec<_>>(),
                    "proxies": styles(),
                });
                stamp.mark(&mut all);
                self.sent = now;
                self.leaving.clear();
                if is_person {
                    return Ok(Some("retry: 3000\n\n".to_owned()));
                }
                self.waiting.clear();
                self.waiting.extend(found.into_iter().map(|found| Next::Error(Box::new(found))));
                self.waiting.push_back(Next::Line("filled", json!({})));
                Some(line("all", &all))
            }
            Next::Line(name, value) => Some(line(name, &value)),
            Next::Error(found) => {
                let (error, ids) = *found;
                let view = view::error(&error, &ids);
                let view = view::with_entities(interceptor_handle, &error.interaction, view).await;
                // The error may have been cleared meanwhile, and its bytes deleted.
                view.ok().map(|view| line("error", &view))
            }
            Next::Event(event, ids) => Some(match &event.kind {
                EventKind::State(change) => {
                    let sent = |id: &String| {
                        let view = json!({
                            "subscription": id,
                            "status": change.status(),
                            "timeStamp": change.time.millis(),
                            "location": change.location.as_str(),
                        });
                        line("state", &view)
                    };
                    ids.iter().map(sent).collect()
                }
                EventKind::Sync(interaction) => {
                    let view = view::interaction(interaction, &ids);
                    let whole =
                        view::with_entities(interceptor_handle, interaction, view.clone()).await;
                    line("sync", &whole.unwrap_or(view))
                }
            }),
        })
    }
}

fn is_end(event: &Event) -> bool {
    matches!(&event.kind, EventKind::State(change) if change.state == Stands::Closed)
}

fn line(name: &str, value: &Value) -> String {
    format!("event: {name}\ndata: {value}\n\n")
}

/// Completes when the gateway stops.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // An error means that the gateway is gone, which has the same effect.
    let _ = stopping.wait_for(|stopping| *stopping).await;
}
