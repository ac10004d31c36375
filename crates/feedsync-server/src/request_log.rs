//! Processing around every request: its id, its client, the rate limits, one log line and the metrics.
//!
//! The id appears in the response (`X-Request-Id`), in every problem (`instance`, RFC 9457) and in every log
//! line that the request causes. The log contains the template of a route, not its path, and never a query, a
//! header or a token.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::extract::{MatchedPath, Request};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use hyper::body::{Frame, SizeHint};
use tracing::Instrument as _;

use crate::access::session::OfDatabases;
use crate::clients::{Key, Underway};
use crate::couch;
use crate::hub::Hub;
use crate::metrics::Metrics;
use crate::other_origin::Told;
use crate::peer::{Client, Peer};
use crate::problem::Problem;

/// Header with a request's id.
const ID: HeaderName = HeaderName::from_static("x-request-id");

tokio::task_local! {
    static CURRENT: Arc<Current>;
}

/// The request that the running task handles.
struct Current {
    id: String,
    client: Client,
    /// Whether it concerns a database and has credentials. Replicators make many concurrent requests, and a
    /// refused one loses the data that it carried (CL37).
    is_replicating: bool,
    person: OnceLock<(Arc<str>, Option<Underway>)>,
    /// Slot under the client's address, for a request whose credentials turned out not to sign in.
    unsigned: OnceLock<Underway>,
}

/// Id of the current request.
pub(crate) fn id() -> Option<String> {
    CURRENT.try_with(|current| current.id.clone()).ok()
}

/// Client whose limits the current request counts for; none for programs on this machine.
pub(crate) fn key() -> Option<Key> {
    let of = |current: &Arc<Current>| match current.person.get() {
        _ if current.client.local || current.is_replicating => None,
        Some((name, _)) => Some(Key::Person(Arc::clone(name))),
        None => current.client.address.map(Key::address),
    };
    CURRENT.try_with(of).ok().flatten()
}

/// Client whose event streams the current request counts for: the signed-in user, from any address and for
/// any resource, else the address. None for a program on this machine.
pub(crate) fn stream_key() -> Option<Key> {
    let of = |current: &Arc<Current>| match current.person.get() {
        Some((name, _)) => Some(Key::Person(Arc::clone(name))),
        None if current.client.is_here() => None,
        None => current.client.address.map(Key::address),
    };
    CURRENT.try_with(of).ok().flatten()
}

/// Counts a request that was not counted because it had credentials, but did not sign in.
pub(crate) fn not_signed_in(hub: &Hub) -> Result<(), Problem> {
    let Ok(current) = CURRENT.try_with(Arc::clone) else { return Ok(()) };
    if let Some(address) = current.client.address
        && current.is_replicating
        && !current.client.local
        && current.unsigned.get().is_none()
    {
        let underway = hub.clients.admit(Key::address(address))?;
        // Only this task handles the request.
        let _ = current.unsigned.set(underway);
    }
    Ok(())
}

/// Records the user of this request; refused if that user makes too many requests.
pub(crate) fn signed_in(hub: &Hub, name: &str) -> Result<(), Problem> {
    let current = CURRENT.try_with(Arc::clone).ok();
    let Some(current) = current else { return Ok(()) };
    let name: Arc<str> = name.into();
    let underway = match current.client.local || current.is_replicating {
        true => None,
        false => Some(hub.clients.admit(Key::Person(Arc::clone(&name)))?),
    };
    // The first user to be recorded is the principal; a second call has the same user.
    let _ = current.person.set((name, underway));
    Ok(())
}

/// Handles a request and records it.
pub(crate) async fn watch(
    hub: &Hub,
    mut request: Request,
    answer: impl AsyncFnOnce(Request) -> Response,
) -> Response {
    let began = Instant::now();
    let headers = request.headers();
    let client = Client::of(request.extensions().get::<Peer>().copied(), headers, &hub.config)
        .vouched_by(hub.local_proof.as_ref(), headers);
    let id = given_id(client, headers).unwrap_or_else(new_id);
    let route = request.extensions().get::<MatchedPath>().cloned();
    request.extensions_mut().insert(client);
    let is_of_databases = couch::are_at(request.uri());
    let is_replicating = is_of_databases
        && (request.method() == Method::OPTIONS
            || request.headers().contains_key(header::AUTHORIZATION)
            || OfDatabases::is_sent(request.headers()));
    let current = Arc::new(Current {
        id,
        client,
        is_replicating,
        person: OnceLock::new(),
        unsigned: OnceLock::new(),
    });
    let mut record = Record {
        metrics: Arc::clone(&hub.metrics),
        method: request.method().clone(),
        route,
        began,
        status: None,
        bytes: 0,
        current: Arc::clone(&current),
        underway: None,
    };
    hub.metrics.begin();
    let admitted = async {
        match client.address.filter(|_| !client.local && !is_replicating) {
            Some(address) => match hub.clients.admit(Key::address(address)) {
                Ok(underway) => {
                    record.underway = Some(underway);
                    answer(request).await
                }
                Err(problem) => turned_away(hub, &request, problem),
            },
            None => answer(request).await,
        }
    };
    let span = tracing::info_span!("request", id = current.id);
    let mut response = CURRENT.scope(Arc::clone(&current), admitted).instrument(span).await;
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&current.id) {
        headers.insert(ID, id);
    }
    let is_secure = hub.config.public_base.as_ref().is_some_and(|base| base.is_secure());
    let seconds = hub.config.https_only_time.as_secs();
    if (is_secure || client.secure)
        && seconds > 0
        && let Ok(value) = HeaderValue::from_str(&format!("max-age={seconds}"))
    {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, value);
    }
    record.status = Some(response.status());
    hub.metrics.answered(record.route(), &record.method, response.status(), began.elapsed());
    if is_of_databases {
        hub.metrics.answered_by_database(&record.method, response.status());
    }
    response.map(|body| Body::new(Watched { body, record }))
}

/// Response to a request that was refused before routing, readable for a page of another origin too.
pub(crate) fn turned_away(hub: &Hub, request: &Request, problem: Problem) -> Response {
    let mut response = couch::failure::turned_away(request.uri(), problem.into_response());
    Told::of(&hub.config, request).tell(&mut response);
    response
}

/// The id that a trusted proxy gave the request, if its syntax is safe.
fn given_id(client: Client, headers: &HeaderMap) -> Option<String> {
    let id = headers.get(ID).filter(|_| client.forwarded)?.to_str().ok()?;
    let harmless = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    ((1..=64).contains(&id.len()) && id.bytes().all(harmless)).then(|| id.to_owned())
}

/// An id that is unique among all requests of all processes.
fn new_id() -> String {
    use std::hash::{BuildHasher as _, RandomState};
    static PROCESS: OnceLock<u64> = OnceLock::new();
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let process = PROCESS.get_or_init(|| RandomState::new().hash_one(std::process::id()));
    format!("{process:016x}-{:x}", COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Record of a request, written when it is over: its response sent, or the connection lost.
struct Record {
    metrics: Arc<Metrics>,
    method: Method,
    route: Option<MatchedPath>,
    began: Instant,
    status: Option<StatusCode>,
    bytes: u64,
    current: Arc<Current>,
    underway: Option<Underway>,
}

impl Record {
    fn route(&self) -> &str {
        self.route.as_ref().map_or("none", MatchedPath::as_str)
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        self.metrics.end();
        drop(self.underway.take());
        let address = self.current.client.address.map(tracing::field::display);
        tracing::info!(
            target: "feedsync_server::requests",
            id = self.current.id,
            method = self.method.as_str(),
            route = self.route(),
            status = self.status.map(|status| status.as_u16()),
            milliseconds = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            bytes = self.bytes,
            person = self.current.person.get().map(|(name, _)| &**name),
            address,
            "request"
        );
    }
}

/// Body of a response while it is sent.
struct Watched {
    body: Body,
    record: Record,
}

impl hyper::body::Body for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(Some(Ok(frame))) = &frame
            && let Some(data) = frame.data_ref()
        {
            self.record.bytes += data.len() as u64;
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
