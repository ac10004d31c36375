//! `GET /events`: the current state, followed by changes, as Server-Sent Events (BITSY 2.2).
//!
//! `feedsync_bitsy::view` says which messages there are. A client that reconnects or was too slow begins with `all`. A
//! person's pages are only notified that something changed.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use feedsync_bitsy::interceptor::{Event, EventKind};
use feedsync_bitsy::view::{Message, Sent};
use feedsync_http::Problem;
use futures_util::stream;
use http::{HeaderValue, header};
use serde_json::{Value, json};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::Control;
use super::caller::Caller;
use super::proxies::styles;
use super::view;

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
        sent: Sent::default(),
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
    sent: Sent,
    waiting: VecDeque<Next>,
}

/// The next thing to send.
enum Next {
    All,
    Message(Message),
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
                None => self.add_differences(None).await,
                Some(Ok(event)) => self.add_differences(Some(event)).await,
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

    /// Queues the differences to the state that was sent, around the event that caused them.
    async fn add_differences(&mut self, event: Option<Arc<Event>>) {
        let Self { instance: InstanceGuard { control, caller, .. }, sent, .. } = self;
        let event = event.as_deref();
        let messages = control.see(caller, |state, visibility, stamp| {
            sent.differences(state, visibility, event, stamp)
        });
        let messages = messages.await;
        if !matches!(caller, Caller::Person(_)) {
            self.waiting.extend(messages.into_iter().map(Next::Message));
        } else if !messages.is_empty() || event.is_some() {
            self.waiting.push_back(Next::Message(Message::Line("message", json!({}))));
        }
    }

    async fn lines(&mut self, next: Next) -> Result<Option<String>, super::StoreFailed> {
        let Self { instance: InstanceGuard { control, caller, .. }, sent, .. } = self;
        let interceptor_handle = &*control.0.interceptor_handle;
        Ok(match next {
            Next::All => {
                let messages = control.see(caller, |state, visibility, stamp| {
                    sent.all(state, visibility, &styles(), stamp)
                });
                let messages = messages.await;
                if matches!(caller, Caller::Person(_)) {
                    return Ok(Some("retry: 3000\n\n".to_owned()));
                }
                self.waiting.clear();
                self.waiting.extend(messages.into_iter().map(Next::Message));
                None
            }
            Next::Message(Message::Line(name, value)) => Some(line(name, &value)),
            Next::Message(Message::Error(found)) => {
                let (error, ids) = *found;
                let view = view::error(&error, &ids);
                let view = view::with_entities(interceptor_handle, &error.interaction, view).await;
                // The error may have been cleared meanwhile, and its bytes deleted.
                view.ok().map(|view| line("error", &view))
            }
            Next::Message(Message::Event(event, ids)) => Some(match &event.kind {
                EventKind::State(change) => view::state_changes(change, &ids)
                    .iter()
                    .map(|view| line("state", view))
                    .collect(),
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

fn line(name: &str, value: &Value) -> String {
    format!("event: {name}\ndata: {value}\n\n")
}

/// Completes when the gateway stops.
async fn stopped(stopping: &mut watch::Receiver<bool>) {
    // An error means that the gateway is gone, which has the same effect.
    let _ = stopping.wait_for(|stopping| *stopping).await;
}
