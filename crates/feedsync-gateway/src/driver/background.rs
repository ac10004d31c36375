//! Background work: polling rounds of subscriptions, and the delivery of edits (BITSY 2.1.3, 3.5).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use feedsync_bitsy::interceptor::{Content, Outcome, Task, TaskId};
use http::header::{CONTENT_TYPE, HeaderMap};
use http::{Method, Request};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{Instant, sleep, timeout};

use tracing::Instrument as _;

use super::{Driver, DriverError, MAX_INLINE_BYTES};
use crate::mapped::Mapped;
use crate::proxy::Body;
use crate::store::{PinnedContent, StoreError};
use crate::upstream::{Upstream, UpstreamError};

/// Maximum number of concurrent requests.
const MAX_CONCURRENT: usize = 16;

/// Maximum size of a response body, in bytes.
const MAX_RESPONSE_BYTES: u64 = 64 << 20;

/// Maximum size of a response body that is parsed as a document, in bytes.
const MAX_DOCUMENT_BYTES: u64 = 16 << 20;

/// Timeout of a request and its response.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// Longest sleep between two checks for due work. The check is independent of announced times because clocks are
/// set and laptops resume from suspend.
const MAX_SLEEP: Duration = Duration::from_secs(30);

/// Time that running tasks have to finish once no new ones are started.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Interval between two sweeps for unused bytes.
const SWEEP_INTERVAL: Duration = Duration::from_secs(600);

/// Interval between two sweeps while the disk is full or many unused bytes wait. Results that could not be stored
/// are retried no sooner.
const FAST_SWEEP_INTERVAL: Duration = Duration::from_secs(1);

impl Driver {
    /// Performs due work until `stop` is ready, and then waits for running tasks to finish.
    pub async fn run(self: Arc<Self>, upstream: Upstream, stop: impl Future<Output = ()>) {
        let mut tasks = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        let mut sweep = std::pin::pin!(sleep(Duration::ZERO));
        loop {
            if self.is_full.load(Ordering::Relaxed) || self.store.needs_sweep() {
                let soon = sweep.deadline().min(Instant::now() + FAST_SWEEP_INTERVAL);
                sweep.as_mut().reset(soon);
            }
            if let Err(error) = self.heal().await {
                tracing::error!(%error, "cannot handle damaged stored bytes");
            }
            let wait = match self.started(&upstream, &mut tasks) {
                Ok(wait) => wait,
                Err(error) => {
                    tracing::error!(%error, "cannot start the tasks that are due");
                    Duration::from_secs(1)
                }
            };
            tokio::select! {
                () = &mut stop => break,
                () = self.wake.notified() => {}
                () = sleep(wait) => {}
                () = &mut sweep => {
                    let driver = Arc::clone(&self);
                    let swept = spawn_blocking(move || driver.sweep());
                    let has_more = swept.await.unwrap_or_default();
                    let next = if has_more { Duration::from_millis(50) } else { SWEEP_INTERVAL };
                    sweep.set(sleep(next));
                }
                Some(_) = tasks.join_next() => {}
            }
        }
        let ended = async { while tasks.join_next().await.is_some() {} };
        if timeout(DRAIN_TIMEOUT, ended).await.is_err() {
            tasks.shutdown().await;
        }
        let rested = self.change_at_once(|state, _| Ok(((), state.delivery().rest())));
        if let Err(error) = rested {
            tracing::warn!(%error, "cannot record that no request is running; edits are verified after the restart");
        }
        if let Err(error) = self.sync().await {
            tracing::error!(%error, "the last change may not be durable");
        }
    }

    /// Starts the tasks that are due; returns the time until the next ones are due.
    fn started(
        self: &Arc<Self>,
        upstream: &Upstream,
        tasks: &mut JoinSet<()>,
    ) -> Result<Duration, StoreError> {
        let started = self.change_at_once(|state, cx| {
            let (tasks, step) = state.begin(cx, MAX_CONCURRENT)?;
            Ok(((tasks, state.next_wake(cx.now)), step))
        });
        let ((due, next_wake), durable) = started?;
        // Edits that were noted early leave once that is durable.
        if !due.is_empty() || durable.is_some() {
            let (driver, upstream) = (Arc::clone(self), upstream.clone());
            tasks.spawn(async move {
                // An edit leaves only after the disk records that it was sent, so that a crash cannot hide it.
                if let Some(durable) = durable
                    && let Err(error) = driver.wait(durable).await
                {
                    tracing::error!(%error, "cannot record that an edit is being sent; it is not sent");
                    return;
                }
                let mut all = JoinSet::new();
                for task in due {
                    let (driver, upstream) = (Arc::clone(&driver), upstream.clone());
                    all.spawn(driver.carry_out(upstream, task));
                }
                while all.join_next().await.is_some() {}
            });
        }
        self.begin_deliveries(upstream, tasks);
        let now = self.now();
        Ok(next_wake.map_or(MAX_SLEEP, |time| {
            time.since(now).max(Duration::from_millis(10)).min(MAX_SLEEP)
        }))
    }

    /// Runs a task. Edits of one line are sent in order; the next one may leave before the outcome of this one is
    /// stored.
    async fn carry_out(self: Arc<Self>, upstream: Upstream, task: Task) {
        let mut finishing = JoinSet::new();
        let mut next = Some(task);
        while let Some(task) = next.take() {
            let (id, is_edit) = (task.id, task.method != Method::GET);
            let span = match is_edit {
                true => tracing::info_span!("delivery", task = id.0, method = %task.method),
                false => tracing::info_span!("fetch", task = id.0),
            };
            let requested = Arc::clone(&self).requested(upstream.clone(), task);
            let (outcome, held) = requested.instrument(span).await;
            if let (true, Outcome::ServerResponse { status, headers, .. }) = (is_edit, &outcome) {
                next = self.next_in_queue(id, *status, headers);
            }
            match next {
                // The outcome is stored while the server processes the next edit.
                Some(_) => {
                    let driver = Arc::clone(&self);
                    finishing.spawn(async move { driver.finish(id, outcome, held, false).await });
                }
                None => self.finish(id, outcome, held, is_edit).await,
            }
        }
        while finishing.join_next().await.is_some() {}
        self.wake.notify_one();
    }

    /// Sends a request and returns its outcome, within the timeout.
    async fn requested(
        self: Arc<Self>,
        upstream: Upstream,
        task: Task,
    ) -> (Outcome, Option<PinnedContent>) {
        let lost = || (Outcome::Lost { perhaps_arrived: true }, None);
        // The request ends with this future, and a panic in it does not end this task.
        let mut requested = JoinSet::new();
        let send = async move {
            timeout(REQUEST_TIMEOUT, self.outcome(&upstream, task)).await.unwrap_or_else(|_| lost())
        };
        requested.spawn(send.in_current_span());
        match requested.join_next().await {
            Some(Ok(outcome)) => outcome,
            Some(Err(error)) => {
                tracing::error!(%error, "internal error in a request to an origin server");
                lost()
            }
            None => lost(),
        }
    }

    /// Stores the outcome of a task.
    async fn finish(
        self: &Arc<Self>,
        id: TaskId,
        outcome: Outcome,
        held: Option<PinnedContent>,
        is_awaited: bool,
    ) {
        // The next edit of a line waits for this outcome.
        let is_small = is_awaited
            && held.as_ref().is_none_or(|held| held.content().length <= MAX_INLINE_BYTES);
        let driver = Arc::clone(self);
        let finish = move || {
            let finished = driver.change_at_once(|state, cx| {
                let step = state.finished(cx, id, outcome)?;
                Ok(((), step))
            });
            drop(held);
            finished
        };
        let finished = match is_small {
            true => finish(),
            // Parsing a document may take long; it must not block a thread that serves other tasks.
            false => match spawn_blocking(finish).await {
                Ok(finished) => finished,
                Err(error) => {
                    tracing::error!(%error, "cannot process the outcome of a request");
                    return;
                }
            },
        };
        match finished {
            Ok(((), Some(durable))) => {
                if let Err(error) = self.wait(durable).await {
                    tracing::error!(%error, "the last change may not be durable");
                }
            }
            Ok(((), None)) => {}
            Err(error) => {
                tracing::error!(%error, "cannot store the outcome of a request");
                // Delays the next requests, whose outcomes could not be stored either.
                sleep(FAST_SWEEP_INTERVAL).await;
            }
        }
    }

    /// Sends a request; returns its outcome and its response body, which is held until it is stored.
    async fn outcome(&self, upstream: &Upstream, task: Task) -> (Outcome, Option<PinnedContent>) {
        let Task { partition, method, location, source, mut headers, body, .. } = task;
        self.jar.give(partition, &location, &mut headers, self.now());
        let body = match body {
            None => Ok(Body::empty()),
            Some(content) => self.body(&content).await,
        };
        let body = match body {
            Ok(body) => body,
            // Damaged bytes are never sent. The edit becomes an error as soon as it is no longer being sent.
            Err(error) => {
                tracing::error!(%error, "cannot read a stored edit");
                // The server is not at fault. The edit is retried with growing intervals.
                return (Outcome::OutOfSpace, None);
            }
        };
        let mut request = Request::new(body);
        *request.method_mut() = method.clone();
        *request.headers_mut() = headers;
        let mapping = self.inspect(|state| state.mapping_of(&location).cloned());
        let sent = match mapping {
            Some(mapping) => {
                Box::pin(Mapped::new(mapping, &location).send(upstream, request)).await
            }
            None => upstream.send_own(&location, &source, request).await,
        };
        let response = match sent {
            Ok(response) => response,
            Err(error) => {
                tracing::debug!(%error, origin = location.origin(), "no response from the origin server");
                let perhaps_arrived = match error {
                    UpstreamError::Refused(_) => false,
                    error => error.may_have_arrived(),
                };
                return (Outcome::Lost { perhaps_arrived }, None);
            }
        };
        let (parts, body) = response.into_parts();
        tracing::debug!(
            status = parts.status.as_u16(),
            origin = location.origin(),
            "response received"
        );
        self.jar.take(partition, &location, &parts.headers, self.now());
        match self.pin(body, max_response_bytes(&parts.headers)).await {
            Ok(held) => {
                let (status, headers, content) = (parts.status, parts.headers, held.content());
                (Outcome::ServerResponse { status, headers, content }, Some(held))
            }
            // The status decides what became of an edit, even if the body of the response breaks off.
            Err(_) if method != Method::GET => {
                let (status, headers) = (parts.status, parts.headers);
                (Outcome::ServerResponse { status, headers, content: Content::of(b"") }, None)
            }
            Err(DriverError::Body(_) | DriverError::GivenUp(_)) => {
                (Outcome::Lost { perhaps_arrived: true }, None)
            }
            Err(error) => {
                tracing::warn!(%error, origin = location.origin(), "cannot store a response");
                (Outcome::OutOfSpace, None)
            }
        }
    }

    /// Deletes bytes that are no longer needed; returns whether there may be more.
    pub(super) fn sweep(&self) -> bool {
        // Holding the read lock prevents changes meanwhile; readers continue.
        if self.is_full.swap(false, Ordering::Relaxed)
            && let Err(error) = self.store.free_space()
        {
            tracing::warn!(%error, "the disk is full and no space could be freed");
        }
        let decided = self.held.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let needed = decided.state.needed().collect();
        let swept = self.store.sweep(&needed);
        drop(decided);
        let swept = swept.and_then(|swept| self.store.remove(swept));
        if let Err(error) = self.store.checkpoint_log() {
            tracing::warn!(%error, "cannot checkpoint the write-ahead log of the database");
        }
        let has_more = swept.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot delete unused stored bytes");
            false
        });
        if !has_more {
            self.store.refill_reserve();
        }
        has_more
    }
}

/// Maximum size of a response body, in bytes. Documents have the lower limit because they are read into memory.
fn max_response_bytes(headers: &HeaderMap) -> u64 {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or("xml").to_ascii_lowercase();
    let is_document = ["xml", "html", "text"].iter().any(|part| kind.contains(part));
    if is_document { MAX_DOCUMENT_BYTES } else { MAX_RESPONSE_BYTES }
}
