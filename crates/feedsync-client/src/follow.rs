//! Follower of a hub's events: it reconnects after growing pauses, and resumes after the last event.

use feedsync_fetch::{Fetched, Fetcher, Request, Response, Url};
use http::HeaderValue;
use http::header::HeaderName;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::events::{Event, Parser};
use crate::watch::Pace;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The stream of events of one hub.
pub(crate) struct Follower {
    fetcher: Fetcher,
    url: Url,
    pace: Pace,
    /// The request that opens the connection, while it is under way; it ends with the follower.
    connecting: JoinSet<Option<Box<Response>>>,
    open: Option<(Box<Response>, Parser)>,
    waiting: Vec<Event>,
    last_id: Option<String>,
    failures: u32,
    retry_at: Instant,
}

impl Follower {
    /// Creates a follower of the hub with these changes. It connects at the first call of `next`.
    pub(crate) fn new(fetcher: Fetcher, changes: &Url, pace: Pace) -> Option<Self> {
        let mut url = changes.join("events").ok()?;
        url.set_query(None);
        Some(Self {
            fetcher,
            url,
            pace,
            connecting: JoinSet::new(),
            open: None,
            waiting: Vec::new(),
            last_id: None,
            failures: 0,
            retry_at: Instant::now(),
        })
    }

    /// Whether the connection is open.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Waits for the next event, however often the connection breaks. `since` is the position at which to
    /// start if no event was received yet. The future may be dropped at any moment: the next call continues with the
    /// same connection, or the same attempt to make one.
    pub(crate) async fn next(&mut self, since: Option<&str>) -> Event {
        loop {
            if !self.waiting.is_empty() {
                return self.waiting.remove(0);
            }
            let Some((response, parser)) = &mut self.open else {
                sleep_until(self.retry_at).await;
                self.connect(since).await;
                continue;
            };
            let events = match response.chunk().await {
                Ok(Some(bytes)) => parser.push(&bytes).ok(),
                Ok(None) | Err(_) => None,
            };
            self.last_id = parser.last_id().map(str::to_owned).or(self.last_id.take());
            match events {
                Some(events) => {
                    self.failures = 0;
                    self.waiting = events;
                }
                None => self.broken(),
            }
        }
    }

    async fn connect(&mut self, since: Option<&str>) {
        if self.connecting.is_empty() {
            self.connecting.spawn(connected(self.fetcher.clone(), self.request(since)));
        }
        let connected = match self.connecting.join_next().await {
            Some(Ok(connected)) => connected,
            None | Some(Err(_)) => None,
        };
        match connected {
            Some(response) => self.open = Some((response, Parser::default())),
            None => self.broken(),
        }
    }

    fn request(&self, since: Option<&str>) -> Request {
        let request = Request::read(self.url.clone()).accept("text/event-stream").endless();
        let from = self.last_id.as_deref().or(since);
        match from.and_then(|id| HeaderValue::from_str(id).ok()) {
            Some(id) => request.header(LAST_EVENT_ID, id),
            None => request,
        }
    }

    fn broken(&mut self) {
        self.open = None;
        self.failures = self.failures.saturating_add(1);
        self.retry_at = Instant::now() + self.pace.after(self.failures);
    }
}

async fn connected(fetcher: Fetcher, request: Request) -> Option<Box<Response>> {
    match fetcher.fetch(request).await {
        Ok(Fetched::Answer(response)) => {
            let is_stream = response.media_type().as_deref() == Some("text/event-stream");
            is_stream.then_some(response)
        }
        _ => None,
    }
}
