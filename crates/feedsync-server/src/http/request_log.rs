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
use feedsync_http::request_id;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use hyper::body::{Frame, SizeHint};
use tracing::Instrument as _;

use crate::access::session::DatabaseCookie;
use crate::http::clients::{Key, UsageGuard};
use crate::http::counters::Metrics;
use crate::http::current_request::CurrentRequest;
use crate::http::other_origin::CorsHeaders;
use crate::http::peer::{Client, Peer};
use crate::http::problem::Problem;
use crate::http::{couch_errors, paths};
use crate::hub::Hub;

/// Header with a request's id.
const ID: HeaderName = HeaderName::from_static("x-request-id");

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
    let is_for_databases = paths::is_for_databases(request.uri().path());
    let is_replicating = is_for_databases
        && (request.method() == Method::OPTIONS
            || request.headers().contains_key(header::AUTHORIZATION)
            || DatabaseCookie::is_sent(request.headers()));
    let id: Arc<str> = id.into();
    let current = Arc::new(CurrentRequest::new(client, is_replicating));
    let mut record = Record {
        metrics: Arc::clone(&hub.metrics),
        method: request.method().clone(),
        route,
        began,
        status: None,
        bytes: 0,
        id: Arc::clone(&id),
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
                Err(problem) => refuse_before_routing(hub, &request, problem),
            },
            None => answer(request).await,
        }
    };
    let span = tracing::info_span!("request", id = &*id);
    let handled = request_id::scope(Arc::clone(&id), current.scope(admitted));
    let mut response = handled.instrument(span).await;
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&id) {
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
    if is_for_databases {
        hub.metrics.answered_by_database(&record.method, response.status());
    }
    response.map(|body| Body::new(LoggedBody { body, record }))
}

/// Response to a request that was refused before routing, readable for a page of another origin too.
pub(crate) fn refuse_before_routing(hub: &Hub, request: &Request, problem: Problem) -> Response {
    let mut response = couch_errors::of_refused(request.uri(), problem.into_response());
    CorsHeaders::of(&hub.config, request).apply(&mut response);
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
    id: Arc<str>,
    current: Arc<CurrentRequest>,
    underway: Option<UsageGuard>,
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
            id = &*self.id,
            method = self.method.as_str(),
            route = self.route(),
            status = self.status.map(|status| status.as_u16()),
            milliseconds = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            bytes = self.bytes,
            person = self.current.person(),
            address,
            "request"
        );
    }
}

/// Body of a response while it is sent.
struct LoggedBody {
    body: Body,
    record: Record,
}

impl hyper::body::Body for LoggedBody {
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
