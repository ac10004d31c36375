//! One request and its response, over a connection that is reused after success.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{Method, Request, Response, StatusCode};
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use crate::programs;
use crate::proxy::{Body, BodyError, TimeoutBody};
use crate::target::Authority;
use crate::upstream::Upstream;
use crate::upstream::connection_auth;
use crate::upstream::error::{NotSent, UpstreamError};
use crate::upstream::expect::expecting;
use crate::upstream::pool::{Connection, ConnectionPermits, Key, Pool};
use crate::upstream::sent_notifier::watched;

/// Time that a connection may take to become ready again after its response was read.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(1);

/// Sends a request, and waits for the head of the final response.
pub(crate) async fn exchange(
    upstream: &Upstream,
    key: Key,
    request: Request<Body>,
) -> Result<Response<Body>, UpstreamError> {
    let permits = upstream.pool.permits(&key.authority).await?;
    let asks_as_somebody = connection_auth::is_signed(request.headers());
    let is_marked = programs::is_marked(request.headers());
    let (request, wanted) = expecting(request);
    let (parts, body) = request.into_parts();
    // The origin may close an idle connection while the request is written. Idempotent requests without a body
    // are then sent again, once (RFC 9112 9.3.1).
    let mut spare = (is_idempotent(&parts.method) && body.is_end_stream()).then(|| parts.clone());
    let (body, mut sent) = watched(body);
    let mut request = Request::from_parts(parts, body);
    let mut used = upstream.pool.take(&key);
    loop {
        let is_used = used.is_some();
        let mut connection = match used.take() {
            Some(connection) => connection,
            None => open(upstream, &key).await?,
        };
        programs::show(upstream.hubs.as_ref(), is_marked, connection.peer, request.headers_mut());
        let requested = connection.sender.try_send_request(request);
        match in_time(requested, &mut sent, upstream.limits.answer_time).await {
            None => return Err(UpstreamError::NoResponse(key.authority)),
            Some(Ok(mut answer)) => {
                checked(&answer, &key.authority)?;
                let is_somebodys = asks_as_somebody | connection_auth::strip(answer.headers_mut());
                // A body that the origin never requested stays pending, so the connection cannot serve another
                // request.
                let reusable = !wanted.answered() && !is_somebodys;
                let pool = Arc::clone(&upstream.pool);
                let lease = Lease { connection, key, pool, permits, reusable };
                return Ok(leased(answer, lease, upstream.limits.origin_pause));
            }
            Some(Err(mut failed)) => match (failed.take_message(), spare.take()) {
                (Some(unsent), kept) if is_used => {
                    request = unsent;
                    spare = kept;
                    used = upstream.pool.take(&key);
                }
                (Some(_), _) => return Err(NotSent::Closed(key.authority).into()),
                (None, Some(parts)) if is_used && failed.error().is_incomplete_message() => {
                    request = Request::from_parts(parts, Body::empty());
                }
                (None, _) => {
                    let source = failed.into_error();
                    return Err(UpstreamError::broken(key.authority, source));
                }
            },
        }
    }
}

/// Opens a new connection.
async fn open(upstream: &Upstream, key: &Key) -> Result<Connection, UpstreamError> {
    let (stream, peer) = upstream.connector.open(key).await?;
    let limits = &upstream.limits;
    let handshake = http1::Builder::new()
        .preserve_header_case(true)
        .max_headers(limits.head_fields)
        .max_header_size(limits.head_bytes)
        .max_buf_size(limits.head_bytes * 2)
        .handshake(TokioIo::new(stream));
    let failed = |source| UpstreamError::Broken { authority: key.authority.clone(), source };
    let (sender, connection) = handshake.await.map_err(failed)?;
    let task = tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "connection to an origin ended");
        }
    });
    Ok(Connection::new(sender, peer, task.abort_handle()))
}

/// Applies the response timeout, which starts when the request was sent. During sending, the limits of the
/// application and of the origin's reading apply.
async fn in_time<T>(
    answer: impl Future<Output = T>,
    sent: &mut oneshot::Receiver<()>,
    time: Duration,
) -> Option<T> {
    let late = async {
        // No value is ever sent; the receiver ends with the body. It must not be polled again after that.
        if !sent.is_terminated() {
            let _ = sent.await;
        }
        sleep(time).await;
    };
    tokio::select! {
        biased;
        answer = answer => Some(answer),
        () = late => None,
    }
}

/// Refuses responses with an ambiguous end (RFC 9112 6.3), and an unrequested change of protocol.
fn checked(answer: &Response<Incoming>, authority: &Authority) -> Result<(), UpstreamError> {
    let malformed = |fault| Err(UpstreamError::Malformed { authority: authority.clone(), fault });
    if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        return malformed("it switches to a protocol that was not requested");
    }
    let mut codings = answer.headers().get_all(TRANSFER_ENCODING).iter();
    match (codings.next(), codings.next()) {
        (None, _) => Ok(()),
        _ if answer.headers().contains_key(CONTENT_LENGTH) => {
            malformed("it has both a Content-Length and a Transfer-Encoding")
        }
        (Some(coding), None) if coding.as_bytes().eq_ignore_ascii_case(b"chunked") => Ok(()),
        _ => malformed("it has a Transfer-Encoding other than chunked"),
    }
}

fn is_idempotent(method: &Method) -> bool {
    method.is_safe() || matches!(*method, Method::PUT | Method::DELETE)
}

/// A connection while its response is read.
struct Lease {
    connection: Connection,
    key: Key,
    pool: Arc<Pool>,
    permits: ConnectionPermits,
    reusable: bool,
}

impl Lease {
    /// Returns the connection to the pool, once its response was read to the end and it is ready.
    fn give_back(self) {
        let Self { mut connection, key, pool, permits, reusable } = self;
        if !reusable {
            return;
        }
        if connection.sender.is_ready() {
            return pool.put(key, connection);
        }
        tokio::spawn(async move {
            if let Ok(Ok(())) = timeout(SETTLE_TIMEOUT, connection.sender.ready()).await {
                pool.put(key, connection);
            }
            drop(permits);
        });
    }
}

/// Body of a response. At its end it returns its connection to the pool; dropped earlier, it closes the
/// connection.
struct Leased {
    body: TimeoutBody<Incoming>,
    lease: Option<Lease>,
}

fn leased(answer: Response<Incoming>, lease: Lease, pause: Duration) -> Response<Body> {
    answer.map(|body| {
        if body.is_end_stream() {
            lease.give_back();
            return Body::empty();
        }
        Body::new(Leased { body: TimeoutBody::new(body, pause), lease: Some(lease) })
    })
}

impl HttpBody for Leased {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        let ended = match &polled {
            Poll::Ready(None) => true,
            Poll::Ready(Some(Ok(_))) => self.body.is_end_stream(),
            Poll::Ready(Some(Err(_))) => {
                self.lease = None;
                false
            }
            Poll::Pending => false,
        };
        if ended && let Some(lease) = self.lease.take() {
            lease.give_back();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
