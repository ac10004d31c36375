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
use feedsync_bitsy::interceptor::{Content, Entity, Event, KeepingId, News};
use feedsync_bitsy::outbox::{Edit, EditId, Progress};
use feedsync_bitsy::subscription::state::State as Stands;
use feedsync_server::Problem;
use futures_util::stream;
use http::{HeaderValue, header};
use serde_json::{Value, json};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::Control;
use super::caller::Caller;
use super::errors::{Found, found, seen};
use super::proxies::styles;
use super::view::{self, Stamp};

/// Interval of polling for changes that no event reports.
const LOOK: Duration = Duration::from_secs(2);

/// Number of polls without changes that are followed by a keep-alive.
const QUIET: u32 = 8;

pub(crate) async fn follow(
    State(control): State<Control>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Problem> {
    let permit = Arc::clone(&control.0.followers).try_acquire_owned();
    let permit =
        permit.map_err(|_| Problem::unavailable("too many follow this gateway at once"))?;
    control.0.holds.lock().await.begin(&caller);
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // Subscribed before the first snapshot, so that no event is missed in between.
    let following = Following {
        events: control.0.decisions.events(),
        changed: control.0.changed.subscribe(),
        stopping: control.0.stopping.subscribe(),
        life: Life { control, caller, _permit: permit },
        looks,
        quiet: 0,
        told: Told::default(),
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
struct Life {
    control: Control,
    caller: Caller,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Life {
    fn drop(&mut self) {
        let (control, caller) = (self.control.clone(), self.caller.clone());
        tokio::spawn(async move { control.0.holds.lock().await.end(&caller) });
    }
}

/// An open event stream.
struct Following {
    life: Life,
    events: broadcast::Receiver<Arc<Event>>,
    changed: watch::Receiver<u64>,
    stopping: watch::Receiver<bool>,
    looks: Interval,
    quiet: u32,
    told: Told,
    /// Subscriptions that are gone but whose end no event has reported yet.
    leaving: BTreeSet<KeepingId>,
    waiting: VecDeque<Next>,
}

/// State that was sent last.
#[derive(Debug, Default, PartialEq)]
struct Told {
    subscriptions: BTreeMap<KeepingId, Value>,
    errors: BTreeSet<ErrorId>,
    edits: BTreeMap<EditId, (u32, Progress, Option<Content>)>,
}

/// Snapshot of the current state.
struct Standing {
    /// State to be compared with the one that was sent.
    now: Told,
    /// Stamp of the snapshot.
    stamp: Stamp,
    views: Vec<(KeepingId, Value)>,
    /// Errors that were not sent yet.
    found: Vec<Found>,
    /// Subscriptions that the event concerns.
    touched: Vec<KeepingId>,
}

/// The next thing to send.
enum Next {
    All,
    Line(&'static str, Value),
    Error(Box<Found>),
    Event(Arc<Event>, Vec<String>),
}

impl Following {
    /// Returns the next lines, or `None` when the stream ends.
    async fn next(&mut self) -> Option<String> {
        loop {
            while let Some(next) = self.waiting.pop_front() {
                match self.lines(next).await {
                    Ok(Some(text)) => return Some(text),
                    Ok(None) => {}
                    Err(error) => {
                        tracing::error!(%error, "a stream of events ends because the store failed");
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
                _ = self.looks.tick() => {
                    self.quiet += 1;
                    None
                }
            };
            match event {
                None => self.look(None).await,
                Some(Ok(event)) => self.look(Some(event)).await,
                // The receiver lagged; the changes that it missed are visible in the full state.
                Some(Err(RecvError::Lagged(_))) => self.waiting.push_back(Next::All),
                Some(Err(RecvError::Closed)) => return None,
            }
            if self.waiting.is_empty() && self.quiet >= QUIET {
                self.quiet = 0;
                return Some(":\n\n".to_owned());
            }
        }
    }

    /// Takes a snapshot, and queues its differences around the event that caused them.
    async fn look(&mut self, event: Option<Arc<Event>>) {
        let Standing { mut now, stamp, views, found, touched } =
            self.stands(&self.told.errors, event.as_deref()).await;
        if matches!(self.life.caller, Caller::Person(_)) {
            if now != self.told || event.is_some() {
                self.waiting.push_back(Next::Line("message", json!({})));
            }
            self.told = now;
            return;
        }
        // Clients that knew of an ended subscription get its last event. The end may be visible before the event
        // arrives; a subscription that merely became invisible has no such event.
        let has_ended = event.as_deref().is_some_and(is_end);
        let is_gone = |id: &&KeepingId| !now.subscriptions.contains_key(id);
        let missing: Vec<KeepingId> =
            self.told.subscriptions.keys().filter(is_gone).copied().collect();
        let mut gone = Vec::new();
        for id in missing {
            if has_ended || !self.leaving.insert(id) {
                self.leaving.remove(&id);
                gone.push(id);
            } else if let Some(view) = self.told.subscriptions.get(&id) {
                now.subscriptions.insert(id, view.clone());
            }
        }
        for (id, view) in views {
            if self.told.subscriptions.get(&id) != now.subscriptions.get(&id) {
                self.waiting.push_back(Next::Line("subscription", view));
            }
        }
        for found in found {
            self.waiting.push_back(Next::Error(Box::new(found)));
        }
        for id in self.told.errors.difference(&now.errors) {
            self.waiting.push_back(Next::Line("error-gone", json!({ "id": id.0.to_string() })));
        }
        if self.told.edits != now.edits {
            self.waiting.push_back(Next::Line("outbox", json!({ "edits": now.edits.len() })));
        }
        if let Some(event) = event {
            let mut ids: Vec<KeepingId> = touched;
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
        self.told = now;
    }

    /// Takes a snapshot of the current state.
    async fn stands(&self, told: &BTreeSet<ErrorId>, event: Option<&Event>) -> Standing {
        let Life { control, caller, .. } = &self.life;
        let seen = control.see(caller, |interceptor, sight, stamp| {
            let mut now = Told::default();
            let mut views = Vec::new();
            for keeping in interceptor.keepings().filter(|keeping| sight.lists(keeping)) {
                let same = view::subscription(interceptor, sight, keeping);
                let mut view = same.clone();
                stamp.mark(&mut view);
                now.subscriptions.insert(keeping.id, same);
                views.push((keeping.id, view));
            }
            now.errors = seen(interceptor, sight).map(|error| error.id).collect();
            let found = found(interceptor, sight, |id| !told.contains(&id));
            let edits = interceptor.edits();
            let of = edits
                .filter(|edit| sight.sees(interceptor, edit.asked.partition, &edit.asked.feed));
            let stands = |edit: &Edit<Entity>| {
                let body = edit.asked.body.as_ref().map(|body| body.content);
                (edit.id, (edit.tries, edit.progress.clone(), body))
            };
            now.edits = of.map(stands).collect();
            let touched = event.map(|event| {
                let ids = interceptor.keepings().filter(|keeping| {
                    let subscription = &keeping.subscription;
                    let of = (subscription.partition(), subscription.feed());
                    of == (event.partition, &event.feed)
                });
                let may = |id: &KeepingId| {
                    let keeping = interceptor.keeping(*id);
                    keeping.is_some_and(|keeping| match &event.news {
                        News::State(_) => sight.lists(keeping),
                        News::Sync(_) => sight.knows(keeping),
                    })
                };
                ids.map(|keeping| keeping.id).filter(may).collect()
            });
            Standing { now, stamp, views, found, touched: touched.unwrap_or_default() }
        });
        seen.await
    }

    async fn lines(&mut self, next: Next) -> Result<Option<String>, super::StoreFailed> {
        let decisions = &*self.life.control.0.decisions;
        Ok(match next {
            Next::All => {
                let Standing { now, stamp, views, found, .. } =
                    self.stands(&BTreeSet::new(), None).await;
                let is_person = matches!(self.life.caller, Caller::Person(_));
                let mut all = json!({
                    "subscriptions": views.into_iter().map(|(_, view)| view).collect::<Vec<_>>(),
                    "errors": now.errors.iter().map(|id| id.0.to_string()).collect::<Vec<_>>(),
                    "proxies": styles(),
                });
                stamp.mark(&mut all);
                self.told = now;
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
                let view = view::with_entities(decisions, &error.interaction, view).await;
                // The error may have been cleared meanwhile, and its bytes deleted.
                view.ok().map(|view| line("error", &view))
            }
            Next::Event(event, ids) => Some(match &event.news {
                News::State(change) => {
                    let told = |id: &String| {
                        let view = json!({
                            "subscription": id,
                            "status": change.status(),
                            "timeStamp": change.time.millis(),
                            "location": change.location.as_str(),
                        });
                        line("state", &view)
                    };
                    ids.iter().map(told).collect()
                }
                News::Sync(interaction) => {
                    let view = view::interaction(interaction, &ids);
                    let whole = view::with_entities(decisions, interaction, view.clone()).await;
                    line("sync", &whole.unwrap_or(view))
                }
            }),
        })
    }
}

fn is_end(event: &Event) -> bool {
    matches!(&event.news, News::State(change) if change.state == Stands::Closed)
}

fn line(name: &str, value: &Value) -> String {
    format!("event: {name}\ndata: {value}\n\n")
}

/// Completes when the gateway stops.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // An error means that the gateway is gone, which has the same effect.
    let _ = stopping.wait_for(|stopping| *stopping).await;
}
