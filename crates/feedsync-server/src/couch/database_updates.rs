//! `_db_updates`: created, changed and removed databases, for administrators of the hub.
//!
//! Events are found by comparing lists of all databases, which also shows what other processes did. Lists are read only
//! for requests, and once a second for those that wait. The record of events is in memory: after a restart of the hub a
//! client gets all databases once.

mod record;
pub(crate) mod updates;

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use feedsync_couch::{Parameters, Refusal, RefusalKind, quoted};
use futures_util::stream;
use http::{HeaderValue, Method, StatusCode, header};
use tokio::time::{Instant, sleep};

use super::pieces::broken;
use super::{CouchRequest, Failure, json};
use crate::http::compression::NoTransform;
use crate::http::event_stream::FollowerSlot;
use crate::http::stopping::stopped;
use updates::PAGE;

/// Interval at which the list of databases is read for requests that wait.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Default time without an event after which a response ends, and default interval of heartbeats.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// How a response goes on after the events that are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Feed {
    /// It ends.
    Normal,
    /// It waits for one event.
    LongPoll,
    /// It has one event per line, and goes on.
    Continuous,
}

pub(super) async fn answer(asked: &CouchRequest) -> Result<Response, Failure> {
    asked.method_of(&[Method::GET])?;
    asked.check_administers_server()?;
    let feed = match asked.parameters.text("feed") {
        None | Some("normal") => Feed::Normal,
        Some("longpoll") => Feed::LongPoll,
        Some("continuous") => Feed::Continuous,
        Some(_) => {
            let reason = "Supported `feed` types: normal, continuous, longpoll";
            return Err(RefusalKind::BadRequest.with_reason(reason).into());
        }
    };
    let follower = (feed != Feed::Normal).then(|| FollowerSlot::take(&asked.hub)).transpose()?;
    let timeout = asked.parameters.count("timeout")?.map(Duration::from_millis);
    let after = {
        let record = asked.hub.database_updates.record(&*asked.databases, Duration::ZERO).await?;
        record.1.after(asked.parameters.text("since"))
    };
    let updates = Updates {
        feed,
        after,
        left: asked.parameters.count("limit")?.unwrap_or(u64::MAX),
        timeout: timeout.unwrap_or(DEFAULT_TIMEOUT).min(DEFAULT_TIMEOUT),
        heartbeat: heartbeat(&asked.parameters)?,
        is_first: true,
        sent: Instant::now(),
        state: State::Begin,
        _follower: follower,
        asked: asked.clone(),
    };
    Ok(updates.answer())
}

fn heartbeat(parameters: &Parameters) -> Result<Option<Duration>, Refusal> {
    match parameters.text("heartbeat") {
        None | Some("false") => Ok(None),
        Some("true") => Ok(Some(DEFAULT_TIMEOUT)),
        Some(_) => {
            let interval = parameters.count("heartbeat")?.map(Duration::from_millis);
            Ok(interval.map(|interval| interval.max(POLL_INTERVAL)))
        }
    }
}

/// Next step of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Begin,
    Rows,
    Waiting,
    End,
    Over,
}

/// A response while it is sent.
struct Updates {
    asked: CouchRequest,
    feed: Feed,
    after: u64,
    left: u64,
    timeout: Duration,
    heartbeat: Option<Duration>,
    is_first: bool,
    /// Time at which something was last sent.
    sent: Instant,
    state: State,
    _follower: Option<FollowerSlot>,
}

impl Updates {
    fn answer(self) -> Response {
        let feed = self.feed;
        let pieces = stream::try_unfold(self, |mut updates| async move {
            Ok::<_, std::io::Error>(updates.next().await?.map(|bytes| (bytes, updates)))
        });
        let mut response = json(StatusCode::OK, Body::from_stream(pieces));
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if feed != Feed::Normal {
            // A proxy that buffers the response would delay heartbeats.
            headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
            response.extensions_mut().insert(NoTransform);
        }
        response
    }

    /// Returns the next bytes; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, std::io::Error> {
        loop {
            match self.state {
                State::Begin => {
                    self.state = State::Rows;
                    if self.feed != Feed::Continuous {
                        return Ok(Some(Bytes::from_static(b"{\"results\":[\n")));
                    }
                }
                State::Rows => {
                    let rows = self.rows().await?;
                    if !rows.is_empty() {
                        self.sent = Instant::now();
                        return Ok(Some(rows.into()));
                    }
                }
                State::Waiting => {
                    if self.wait().await {
                        self.sent = Instant::now();
                        return Ok(Some(Bytes::from_static(b"\n")));
                    }
                }
                State::End => {
                    self.state = State::Over;
                    let updates = &self.asked.hub.database_updates;
                    let sequence = quoted(&updates.sequence(self.after).await);
                    return Ok(Some(Bytes::from(match self.feed {
                        Feed::Continuous => format!("{{\"last_seq\":{sequence}}}\n"),
                        _ => format!("\n],\n\"last_seq\":{sequence}}}\n"),
                    })));
                }
                State::Over => return Ok(None),
            }
        }
    }

    /// Returns a piece of rows, and sets the next step.
    async fn rows(&mut self) -> Result<String, std::io::Error> {
        let most = usize::try_from(self.left).unwrap_or(PAGE).min(PAGE);
        let updates = &self.asked.hub.database_updates;
        let rows = {
            let record = updates.record(&*self.asked.databases, POLL_INTERVAL / 2).await;
            record.map_err(broken)?.1.rows(self.after, most)
        };
        let mut out = String::new();
        for (number, row) in &rows {
            match self.feed {
                Feed::Continuous => out.push_str(&format!("{row}\n")),
                _ if self.is_first => out.push_str(row),
                _ => out.push_str(&format!(",\n{row}")),
            }
            self.is_first = false;
            self.after = *number;
        }
        self.left -= rows.len() as u64;
        self.state = match self.feed {
            _ if self.left == 0 => State::End,
            _ if rows.len() == PAGE => State::Rows,
            Feed::Normal => State::End,
            Feed::LongPoll if !self.is_first => State::End,
            _ => State::Waiting,
        };
        Ok(out)
    }

    /// Waits before the next look at the databases. Returns whether a heartbeat is due.
    async fn wait(&mut self) -> bool {
        let mut stopping = self.asked.hub.stopping.clone();
        let is_stopped = tokio::select! {
            () = sleep(POLL_INTERVAL) => false,
            () = stopped(&mut stopping) => true,
        };
        let is_over = self.heartbeat.is_none() && self.sent.elapsed() >= self.timeout;
        if is_stopped || is_over || !self.may_go_on().await {
            self.state = State::End;
            return false;
        }
        self.state = State::Rows;
        self.heartbeat.is_some_and(|interval| self.sent.elapsed() >= interval)
    }

    /// Whether the principal still administers the hub.
    async fn may_go_on(&self) -> bool {
        let now = self.asked.hub.access.now(&self.asked.principal).await;
        matches!(now, Ok(Some(principal)) if principal.administers())
    }
}
