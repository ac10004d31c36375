//! `_changes`: changes since a sequence number, and changes from now on (section 7).
//!
//! Pages are read one after the other, each while the rows of the previous one are written and sent: at most
//! two are in memory. Rows are sent in pieces. The contents of attachments are read when their row is
//! written.

mod function;
mod page;
mod row;

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::response::Response;
use feedsync_couch::{ChangesFeed, ChangesFilter, ChangesRequest, DatabaseName, quoted};
use feedsync_endpoint::documents::sequence;
use feedsync_endpoint::documents::show::AttachmentContents;
use feedsync_store::{ChangeNumber, Epoch, Notices};
use futures_util::future::BoxFuture;
use futures_util::stream;
use http::{HeaderValue, Method, StatusCode, header};
use tokio::time::{Instant, sleep_until};

use super::pieces::broken;
use super::{CouchRequest, Failure, json, run_inline};
use crate::access::databases::Need;
use crate::http::event_stream::FollowerSlot;
use crate::http::problem::Problem;
use crate::http::response_budget::ResponseSlot;
use crate::http::stopping::stopped;
use function::FeedFunction;
use page::{Page, UnsentPage};
use row::Rows;

/// Size, in bytes, of a piece of rows, exceeded by at most one row.
const MAX_PIECE_BYTES: usize = 8 << 20;

pub(super) async fn answer(
    asked: CouchRequest,
    name: DatabaseName,
    body: Body,
) -> Result<Response, Failure> {
    let method = asked.method_of(&[Method::GET, Method::POST])?.clone();
    let mut database = asked.database(&name, Need::Use).await?;
    let sent = match method {
        Method::POST => {
            let sent = asked.json(body).await?;
            database = asked.recheck(&database, Need::Use).await?;
            Some(sent)
        }
        _ => None,
    };
    let last_event = asked.call.headers.get("last-event-id").and_then(|it| it.to_str().ok());
    let sent = sent.as_ref().map(|(_, sent)| sent.root());
    let request = ChangesRequest::read(&asked.parameters, last_event, sent)?;
    let function = match &*request.filter {
        ChangesFilter::Function(id, kind, name) => {
            Some(FeedFunction::open(&asked, &database, id, (*kind, name)).await?)
        }
        _ => None,
    };
    let since = sequence::after(&database, &request.since)?;
    // A descending feed goes from the newest change to the first, whatever `since` says, as in CouchDB.
    let after = if request.is_descending { ChangeNumber::ZERO } else { since };
    let is_live = request.feed != ChangesFeed::Normal && !request.is_descending;
    let follower = is_live.then(|| FollowerSlot::take(&asked.hub)).transpose()?;
    let mut changes = Changes {
        function,
        notices: is_live.then(|| asked.databases.subscribe_to_database(&name)),
        left: request.limit,
        until: Instant::now() + request.timeout,
        sent: Instant::now(),
        admitted: Instant::now(),
        before: None,
        is_first: true,
        state: State::Begin,
        unsent: None,
        ahead: None,
        epoch: database.epoch,
        waiting: None,
        _follower: follower,
        asked,
        name,
        after,
        request: Arc::new(request),
    };
    if changes.function.is_some() {
        // An error of the function is the response, unless rows were sent.
        changes.read_first().await?;
    }
    Ok(changes.answer())
}

/// Error that ends a started feed when the memory budget is exhausted.
fn busy(problem: Problem) -> std::io::Error {
    broken(format_args!("the memory budget for documents is exhausted: {}", problem.status()))
}

/// Next step of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Send the text before the rows.
    Begin,
    /// Send rows.
    Rows,
    /// Wait for a change.
    Waiting,
    /// Send the text after the rows.
    End,
    /// Nothing is left.
    Over,
}

/// A response while it is sent.
struct Changes {
    asked: CouchRequest,
    name: DatabaseName,
    request: Arc<ChangesRequest>,
    /// The function that selects the changes.
    function: Option<FeedFunction>,
    notices: Option<Notices>,
    after: ChangeNumber,
    /// Position of a descending walk.
    before: Option<ChangeNumber>,
    left: Option<u64>,
    epoch: Epoch,
    until: Instant,
    /// Time at which something was last sent.
    sent: Instant,
    /// Time of the last access check.
    admitted: Instant,
    is_first: bool,
    state: State,
    /// Changes that were read and not sent yet.
    unsent: Option<UnsentPage>,
    /// The next page, while it is read. Only code with exclusive access to this value may poll it.
    ahead: Option<Page>,
    /// A pending wait for a slot for a large response.
    waiting: Option<Waiting>,
    _follower: Option<FollowerSlot>,
}

/// A pending wait for a slot.
type Waiting = BoxFuture<'static, Result<ResponseSlot, Problem>>;

impl Changes {
    fn answer(self) -> Response {
        let feed = self.request.feed;
        let rows = stream::try_unfold(self, |mut changes| async move {
            Ok::<_, std::io::Error>(changes.next().await?.map(|bytes| (bytes, changes)))
        });
        let mut response = json(StatusCode::OK, Body::from_stream(rows));
        let headers = response.headers_mut();
        if feed == ChangesFeed::EventSource {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        }
        if feed != ChangesFeed::Normal {
            // A proxy that buffers the response would delay heartbeats (CG9).
            headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            response.extensions_mut().insert(crate::http::compression::NoTransform);
        }
        response
    }

    fn is_lines(&self) -> bool {
        matches!(self.request.feed, ChangesFeed::Continuous | ChangesFeed::EventSource)
    }

    /// Returns the next bytes; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, std::io::Error> {
        loop {
            match self.state {
                State::Begin => {
                    self.state = State::Rows;
                    if !self.is_lines() {
                        return Ok(Some(Bytes::from_static(b"{\"results\":[\n")));
                    }
                }
                State::Rows => {
                    let Some(out) = self.piece().await? else { return Ok(Some(self.beat())) };
                    if !out.is_empty() {
                        self.sent = Instant::now();
                        self.until = self.sent + self.request.timeout;
                        return Ok(Some(out));
                    }
                    // Reading skipped changes takes time, too.
                    let beat = self.request.heartbeat.filter(|beat| self.sent.elapsed() >= *beat);
                    if beat.is_some() && self.state == State::Rows {
                        return Ok(Some(self.beat()));
                    }
                }
                State::Waiting => {
                    if let Some(beat) = self.wait().await {
                        return Ok(Some(beat));
                    }
                }
                State::End => {
                    self.state = State::Over;
                    return self.end().await.map(Some);
                }
                State::Over => return Ok(None),
            }
        }
    }

    /// Returns a piece of rows, with a slot for a large response if the rows contain documents. Returns none
    /// if a heartbeat is due while it waits for the slot, or for a function to select the changes.
    async fn piece(&mut self) -> Result<Option<Bytes>, std::io::Error> {
        if !self.wait_for_page().await {
            return Ok(None);
        }
        if !self.request.include_docs {
            return Ok(Some(self.rows().await?.into()));
        }
        let asked = self.asked.clone();
        let wait = || async move { asked.place().await };
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(wait()));
        let beat = self.request.heartbeat.map(|beat| self.sent + beat);
        let place = tokio::select! {
            biased;
            place = waiting => place.map_err(busy)?,
            () = sleep_until(beat.unwrap_or(self.sent)), if beat.is_some() => return Ok(None),
        };
        self.waiting = None;
        Ok(Some(place.hold(self.rows().await?.into_bytes())))
    }

    /// Returns a piece of rows, and sets the next step.
    async fn rows(&mut self) -> Result<String, std::io::Error> {
        if self.left == Some(0) {
            self.state = State::End;
            return Ok(String::new());
        }
        let mut unsent = match self.unsent.take() {
            Some(unsent) => unsent,
            None => self.read().await?,
        };
        let request = Arc::clone(&self.request);
        let rows = Rows::of(&request, &unsent.database);
        let (mut out, none) = (String::new(), AttachmentContents::new());
        while let Some((read, accepted)) = unsent.documents.next() {
            let found;
            let told = match request.attachments && request.include_docs {
                true => {
                    let held = self.asked.held(&self.name, &read).await;
                    found = held.map_err(|_| broken("attachments cannot be read"))?;
                    &found
                }
                false => &none,
            };
            self.advance(read.document.number);
            // A selector may traverse all of it many times.
            let bytes = read.bodies.values().map(|body| body.text.len()).sum();
            let is_first = self.is_first;
            let accepted = accepted.as_deref();
            if run_inline(bytes, || rows.push(&mut out, (&read, accepted, told), is_first)) {
                self.is_first = false;
                self.left = self.left.map(|left| left - 1);
                if self.left == Some(0) {
                    self.state = State::End;
                    return Ok(out);
                }
            }
            if out.len() > MAX_PIECE_BYTES {
                self.unsent = Some(unsent);
                return Ok(out);
            }
        }
        self.advance(unsent.reached);
        self.state = match request.feed {
            _ if !unsent.is_end => State::Rows,
            ChangesFeed::Normal => State::End,
            // A descending walk ends at the oldest change.
            _ if request.is_descending => State::End,
            ChangesFeed::LongPoll if !self.is_first => State::End,
            _ => State::Waiting,
        };
        Ok(out)
    }

    fn advance(&mut self, number: ChangeNumber) {
        match self.request.is_descending {
            true => self.before = Some(number),
            false => self.after = self.after.max(number),
        }
    }

    /// Waits for a change, or for the time to send a heartbeat.
    async fn wait(&mut self) -> Option<Bytes> {
        let beat = self.request.heartbeat;
        // A heartbeat keeps the feed open without limit. Changes that are not sent postpone neither time.
        let until = match beat {
            Some(beat) => self.sent + beat,
            None => self.until,
        };
        let mut stopping = self.asked.hub.stopping.clone();
        let Some(notices) = &mut self.notices else {
            self.state = State::End;
            return None;
        };
        let is_over = tokio::select! {
            changed = notices.next() => !changed,
            () = sleep_until(until) => match beat {
                Some(_) if self.may_go_on().await => return Some(self.beat()),
                _ => true,
            },
            () = stopped(&mut stopping) => true,
        };
        self.state = match is_over || !self.may_go_on().await {
            true => State::End,
            false => State::Rows,
        };
        None
    }

    /// Bytes that are sent when there is no row.
    fn beat(&mut self) -> Bytes {
        self.sent = Instant::now();
        Bytes::from_static(match self.request.feed {
            ChangesFeed::EventSource => b"event: heartbeat\ndata: \n\n",
            _ => b"\n",
        })
    }

    /// Whether the principal may still read the database, and it is still the same database.
    async fn may_go_on(&mut self) -> bool {
        let principal = match self.asked.hub.access.now(&self.asked.principal).await {
            Ok(Some(principal)) => principal,
            _ => return false,
        };
        self.admitted = Instant::now();
        let asked = CouchRequest { principal, ..self.asked.clone() };
        let database = asked.database(&self.name, Need::Use).await;
        database.is_ok_and(|database| database.epoch == self.epoch)
    }

    /// Returns the text after the rows.
    async fn end(&mut self) -> Result<Bytes, std::io::Error> {
        let database = match self.asked.databases.database(&self.name).await.map_err(broken)? {
            Some(database) if database.epoch == self.epoch => database,
            _ => return Err(broken("the database was dropped")),
        };
        let reached = match self.request.is_descending {
            true => self.before.unwrap_or(self.after),
            false => self.after,
        };
        let pending = match self.request.is_descending {
            true => 0,
            false => {
                let count = self.asked.databases.count_changes(&self.name, reached);
                count.await.map_err(broken)?
            }
        };
        let place = quoted(&sequence::text(&database, reached));
        Ok(Bytes::from(match self.request.feed {
            ChangesFeed::EventSource => String::new(),
            ChangesFeed::Continuous => {
                format!("{{\"last_seq\":{place},\"pending\":{pending}}}\n")
            }
            ChangesFeed::Normal | ChangesFeed::LongPoll => {
                format!("\n],\n\"last_seq\":{place},\"pending\":{pending}}}\n")
            }
        }))
    }
}
