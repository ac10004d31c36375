//! What is done in the background: rounds of subscriptions, edits on their way (BITSY 2.1.3, 3.5).

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use feedsync_offline::interceptor::{Content, Outcome, Task, TaskId};
use http::header::{CONTENT_TYPE, HeaderMap};
use http::{Method, Request};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{Instant, sleep, timeout};

use super::{Agent, AgentError, SMALL};
use crate::face::Body;
use crate::store::{Held, StoreError};
use crate::upstream::{Upstream, UpstreamError};

/// Requests at once.
const ROOM: usize = 16;

/// Bytes of an answer at most.
const ANSWER: u64 = 64 << 20;

/// Of one that is read as a document.
const DOCUMENT: u64 = 16 << 20;

/// How long a request and its answer may take.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// After what time it is looked for what is due, whatever was said: clocks are set, lids are opened.
const LONGEST: Duration = Duration::from_secs(30);

/// What is still under way has so long to end, once nothing more is begun.
const DRAIN: Duration = Duration::from_secs(5);

/// Bytes that nobody needs are looked for so often.
const SWEEP: Duration = Duration::from_secs(600);

/// And so often, while the disk is full or many of them wait; nothing that could not be stored is tried before.
const SWEEP_SOON: Duration = Duration::from_secs(1);

impl Agent {
    /// Does what is due until it is told to stop; then lets end what has begun.
    pub async fn run(self: Arc<Self>, upstream: Upstream, stop: impl Future<Output = ()>) {
        let mut tasks = JoinSet::new();
        let mut stop = std::pin::pin!(stop);
        let mut sweep = std::pin::pin!(sleep(Duration::ZERO));
        loop {
            if self.is_full.load(Ordering::Relaxed) || self.store.is_crowded() {
                let soon = sweep.deadline().min(Instant::now() + SWEEP_SOON);
                sweep.as_mut().reset(soon);
            }
            if let Err(error) = self.heal().await {
                tracing::error!(%error, "damaged bytes cannot be dealt with");
            }
            let wait = match self.begun(&upstream, &mut tasks) {
                Ok(wait) => wait,
                Err(error) => {
                    tracing::error!(%error, "what is due cannot be begun");
                    Duration::from_secs(1)
                }
            };
            tokio::select! {
                () = &mut stop => break,
                () = self.wake.notified() => {}
                () = sleep(wait) => {}
                () = &mut sweep => {
                    let agent = Arc::clone(&self);
                    let swept = spawn_blocking(move || agent.sweep());
                    let has_more = swept.await.unwrap_or_default();
                    let next = if has_more { Duration::from_millis(50) } else { SWEEP };
                    sweep.set(sleep(next));
                }
                Some(_) = tasks.join_next() => {}
            }
        }
        let ended = async { while tasks.join_next().await.is_some() {} };
        if timeout(DRAIN, ended).await.is_err() {
            tasks.shutdown().await;
        }
        let rested = self.change_at_once(|interceptor, _, _, _| Ok(((), interceptor.rest())));
        if let Err(error) = rested {
            tracing::warn!(%error, "what was not sent is asked for first");
        }
        if let Err(error) = self.sync().await {
            tracing::error!(%error, "what was done last may be forgotten");
        }
    }

    /// Begins what is due; when there will be more.
    fn begun(
        self: &Arc<Self>,
        upstream: &Upstream,
        tasks: &mut JoinSet<()>,
    ) -> Result<Duration, StoreError> {
        let begun = self.change_at_once(|interceptor, reader, now, _| {
            let (tasks, step) = interceptor.begin(reader, ROOM, now)?;
            Ok(((tasks, interceptor.wakes(now)), step))
        });
        let ((due, wakes), durable) = begun?;
        if !due.is_empty() {
            let (agent, upstream) = (Arc::clone(self), upstream.clone());
            tasks.spawn(async move {
                // What is sent must be known to have been, whatever happens.
                if let Some(durable) = durable
                    && let Err(error) = agent.wait(durable).await
                {
                    tracing::error!(%error, "nothing is sent");
                    return;
                }
                let mut all = JoinSet::new();
                for task in due {
                    let (agent, upstream) = (Arc::clone(&agent), upstream.clone());
                    all.spawn(agent.carry_out(upstream, task));
                }
                while all.join_next().await.is_some() {}
            });
        }
        self.begin_deliveries(upstream, tasks);
        let now = self.now();
        Ok(wakes
            .map_or(LONGEST, |time| time.since(now).max(Duration::from_millis(10)).min(LONGEST)))
    }

    /// Carries a task out, and what may leave after it before what became of it is taken in.
    async fn carry_out(self: Arc<Self>, upstream: Upstream, task: Task) {
        let mut finishing = JoinSet::new();
        let mut next = Some(task);
        while let Some(task) = next.take() {
            let (id, is_edit) = (task.id, task.method != Method::GET);
            let (outcome, held) = Arc::clone(&self).asked(upstream.clone(), task).await;
            if let (true, Outcome::Answered { status, headers, .. }) = (is_edit, &outcome) {
                next = self.next_of_line(id, *status, headers);
            }
            match next {
                // While its server is busy with the next one.
                Some(_) => {
                    let agent = Arc::clone(&self);
                    finishing.spawn(async move { agent.finish(id, outcome, held, false).await });
                }
                None => self.finish(id, outcome, held, is_edit).await,
            }
        }
        while finishing.join_next().await.is_some() {}
        self.wake.notify_one();
    }

    /// What becomes of a request, however long its server takes.
    async fn asked(self: Arc<Self>, upstream: Upstream, task: Task) -> (Outcome, Option<Held>) {
        let lost = || (Outcome::Lost { perhaps_arrived: true }, None);
        // It ends with this one, and a fault of it is not one of this.
        let mut asked = JoinSet::new();
        asked.spawn(async move {
            timeout(PATIENCE, self.outcome(&upstream, task)).await.unwrap_or_else(|_| lost())
        });
        match asked.join_next().await {
            Some(Ok(outcome)) => outcome,
            Some(Err(error)) => {
                tracing::error!(%error, "a request of ours has a fault");
                lost()
            }
            None => lost(),
        }
    }

    /// Takes in what became of a task.
    async fn finish(
        self: &Arc<Self>,
        id: TaskId,
        outcome: Outcome,
        held: Option<Held>,
        is_awaited: bool,
    ) {
        // The next edit of a line waits for what became of this one.
        let is_small =
            is_awaited && held.as_ref().is_none_or(|held| held.content().length <= SMALL);
        let agent = Arc::clone(self);
        let finish = move || {
            let finished = agent.change_at_once(|interceptor, reader, now, random| {
                let step = interceptor.finished(reader, id, outcome, now, random as u64)?;
                Ok(((), step))
            });
            drop(held);
            finished
        };
        let finished = match is_small {
            true => finish(),
            // A document may take its time to be read, and no thread that serves others waits for it.
            false => match spawn_blocking(finish).await {
                Ok(finished) => finished,
                Err(error) => {
                    tracing::error!(%error, "what was done cannot be taken in");
                    return;
                }
            },
        };
        match finished {
            Ok(((), Some(durable))) => {
                if let Err(error) = self.wait(durable).await {
                    tracing::error!(%error, "what was done may be forgotten");
                }
            }
            Ok(((), None)) => {}
            Err(error) => {
                tracing::error!(%error, "what was done cannot be stored");
                // What is looked for then cannot be stored either.
                sleep(SWEEP_SOON).await;
            }
        }
    }

    /// What becomes of a request; and its answer, as long as nobody has stored it.
    async fn outcome(&self, upstream: &Upstream, task: Task) -> (Outcome, Option<Held>) {
        let Task { partition, method, location, source, mut headers, body, .. } = task;
        self.jar.give(partition, &location, &mut headers, self.now());
        let body = match body {
            None => Ok(Body::empty()),
            Some(content) => self.body(&content).await,
        };
        let body = match body {
            Ok(body) => body,
            // Damaged bytes never leave: the edit is an error as soon as it is not being sent any more.
            Err(error) => {
                tracing::error!(%error, "an edit cannot be read");
                // It is not its server that is away: it is tried later, less and less often.
                return (Outcome::NoRoom, None);
            }
        };
        let mut request = Request::new(body);
        *request.method_mut() = method.clone();
        *request.headers_mut() = headers;
        let response = match upstream.send_own(&location, &source, request).await {
            Ok(response) => response,
            Err(error) => {
                tracing::debug!(%error, origin = location.origin(), "a request of ours was not answered");
                let perhaps_arrived = match error {
                    UpstreamError::Refused(_) => false,
                    error => error.may_have_arrived(),
                };
                return (Outcome::Lost { perhaps_arrived }, None);
            }
        };
        let (parts, body) = response.into_parts();
        self.jar.take(partition, &location, &parts.headers, self.now());
        match self.hold(body, most(&parts.headers)).await {
            Ok(held) => {
                let (status, headers, content) = (parts.status, parts.headers, held.content());
                (Outcome::Answered { status, headers, content }, Some(held))
            }
            // What became of an edit is known, whatever its server says besides.
            Err(_) if method != Method::GET => {
                let (status, headers) = (parts.status, parts.headers);
                (Outcome::Answered { status, headers, content: Content::of(b"") }, None)
            }
            Err(AgentError::Body(_) | AgentError::GivenUp(_)) => {
                (Outcome::Lost { perhaps_arrived: true }, None)
            }
            Err(error) => {
                tracing::warn!(%error, origin = location.origin(), "an answer is not kept");
                (Outcome::NoRoom, None)
            }
        }
    }

    /// Lets go of bytes that nobody needs; whether there may be more.
    pub(super) fn sweep(&self) -> bool {
        // Nobody decides meanwhile; whoever only reads goes on.
        if self.is_full.swap(false, Ordering::Relaxed)
            && let Err(error) = self.store.make_room()
        {
            tracing::warn!(%error, "the disk is full, and no room can be made");
        }
        let decided = self.held.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        let needed = decided.interceptor.needed().collect();
        let swept = self.store.sweep(&needed);
        drop(decided);
        let swept = swept.and_then(|swept| self.store.remove(swept));
        if let Err(error) = self.store.carry_over() {
            tracing::warn!(%error, "the log of the database grows on");
        }
        let has_more = swept.unwrap_or_else(|error| {
            tracing::warn!(%error, "bytes that nobody needs cannot be removed");
            false
        });
        if !has_more {
            self.store.keep_room();
        }
        has_more
    }
}

/// Bytes of an answer at most: what is read as a document is read whole.
fn most(headers: &HeaderMap) -> u64 {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or("xml").to_ascii_lowercase();
    let is_document = ["xml", "html", "text"].iter().any(|part| kind.contains(part));
    if is_document { DOCUMENT } else { ANSWER }
}
