//! Documents of a server in reverse mode: their addresses lead through the gateway, and the documents that
//! applications send have the server's addresses again. Everything that answers a request for a resource passes
//! here, whether it comes from the server or from the store. Stored bytes are the server's.
//!
//! A changed document has no content coding, a length and an entity tag of its own, no digests and no ranges.
//! A document that is larger than [`Limits::links_bytes`](crate::Limits), or in a coding other than gzip, is forwarded
//! unchanged.

mod document;
mod entity_tags;

use std::sync::Arc;

use bytes::Bytes;
use feedsync_formats::WrittenAddress;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::body::{Body, BodyError};
use super::problem::Problem;
use super::{Proxy, recode};
use crate::config::Limits;
use crate::links::Links;
use crate::target::{Mode, Target};
use document::{Kind, read_begun, unpacked};
use entity_tags::Tags;

/// Unit of the permits, in bytes.
const PERMIT_BYTES: usize = 1 << 10;

/// Creates the permits for the documents that are processed at the same time.
pub(super) fn permits(limits: &Limits) -> Arc<Semaphore> {
    let permits = limits.all_links_bytes.max(limits.links_bytes) / PERMIT_BYTES + 2;
    Arc::new(Semaphore::new(permits))
}

/// Direction in which addresses are replaced.
#[derive(Clone, Copy)]
enum Direction {
    ToApplication,
    ToServer,
}

impl Proxy {
    /// Answers a request for a resource. In reverse mode, addresses in documents are replaced.
    pub(super) async fn linked(&self, target: Target, request: Request<Body>) -> Response<Body> {
        match (&self.links, &target.mode) {
            (Some(permits), Mode::Reverse { host, .. }) => {
                let origin = target.location.clone();
                let reachable = self.addresses.reachable.clone();
                let rewriter = Rewriter {
                    links: Links::new(host.as_str(), origin, reachable),
                    permits: Arc::clone(permits),
                    limits: self.limits,
                };
                Box::pin(self.rewritten(rewriter, target, request)).await
            }
            _ => self.resource(target, request).await,
        }
    }

    async fn rewritten(
        &self,
        rewriter: Rewriter,
        target: Target,
        mut request: Request<Body>,
    ) -> Response<Body> {
        let fingerprint = rewriter.links.fingerprint();
        let tags = Tags::restore(request.headers_mut(), &fingerprint);
        if matches!(*request.method(), Method::POST | Method::PUT) {
            request = match rewriter.request(request).await {
                Ok(request) => request,
                Err(problem) => return problem.response(),
            };
        }
        let again = Again::of(&request);
        let is_head = request.method() == Method::HEAD;
        let mut response = self.resource(target.clone(), request).await;
        if let Some(again) = again.filter(|again| again.is_needed(&response)) {
            response = self.resource(target, again.request()).await;
        }
        if response.status() == StatusCode::NOT_MODIFIED {
            tags.show(response.headers_mut(), &fingerprint);
            return response;
        }
        if is_head {
            if Kind::of(response.headers()).is_some() {
                // The length and the digests of the document are only known once it is read.
                remove(response.headers_mut(), &BYTES_HEADERS);
            }
            return response;
        }
        match rewriter.response(response, &fingerprint).await {
            Ok(response) => response,
            Err(problem) => problem.response(),
        }
    }
}

/// Header fields that describe the bytes of a message.
const BYTES_HEADERS: [HeaderName; 6] = [
    header::ACCEPT_RANGES,
    header::CONTENT_LENGTH,
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("content-md5"),
    HeaderName::from_static("digest"),
    HeaderName::from_static("repr-digest"),
];

fn remove(headers: &mut HeaderMap, names: &[HeaderName]) {
    names.iter().for_each(|name| drop(headers.remove(name)));
}

/// A GET without the header fields for which its response cannot be rewritten.
struct Again {
    request: Request<()>,
}

impl Again {
    fn of(request: &Request<Body>) -> Option<Self> {
        if request.method() != Method::GET || !request.body().is_end_stream() {
            return None;
        }
        let mut again = Request::new(());
        *again.uri_mut() = request.uri().clone();
        *again.version_mut() = request.version();
        *again.headers_mut() = request.headers().clone();
        *again.extensions_mut() = request.extensions().clone();
        let headers = again.headers_mut();
        remove(headers, &[header::RANGE, header::IF_RANGE]);
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip, identity"));
        Some(Self { request: again })
    }

    /// Whether a response has a part of a document, or a document in a coding that the gateway does not read.
    fn is_needed(&self, response: &Response<Body>) -> bool {
        let is_part = response.status() == StatusCode::PARTIAL_CONTENT;
        let is_document = Kind::of(response.headers()).is_some();
        is_document && (is_part || document::coding(response.headers()).is_none())
    }

    fn request(self) -> Request<Body> {
        self.request.map(|()| Body::empty())
    }
}

/// Replaces the addresses of one exchange.
struct Rewriter {
    links: Links,
    permits: Arc<Semaphore>,
    limits: Limits,
}

impl Rewriter {
    /// Restores the server's addresses in what an application sends.
    async fn request(&self, request: Request<Body>) -> Result<Request<Body>, Problem> {
        let (mut parts, body) = request.into_parts();
        let (body, _) = self
            .replaced(&mut parts.headers, body, Direction::ToServer)
            .await?
            .map_err(|error| Problem::from(&error))?;
        Ok(Request::from_parts(parts, body))
    }

    /// Shows the gateway's addresses in a response.
    async fn response(
        &self,
        response: Response<Body>,
        fingerprint: &str,
    ) -> Result<Response<Body>, Problem> {
        if response.status() == StatusCode::PARTIAL_CONTENT {
            return Ok(response);
        }
        let (mut parts, body) = response.into_parts();
        let replaced = self.replaced(&mut parts.headers, body, Direction::ToApplication).await?;
        let (body, is_changed) = match replaced {
            Ok(replaced) => replaced,
            Err(error) => {
                tracing::debug!(%error, "the document of a response is incomplete");
                return Err(Problem::new(
                    StatusCode::BAD_GATEWAY,
                    "bad-answer",
                    "Invalid response of the origin",
                    format!("the document is incomplete: {error}"),
                ));
            }
        };
        if is_changed {
            entity_tags::mark(&mut parts.headers, fingerprint);
            parts.extensions.remove::<recode::KeepsCoding>();
        }
        Ok(Response::from_parts(parts, body))
    }

    /// Replaces the addresses in a body if it is a document. Also returns whether it was changed; a body that stays
    /// keeps all its header fields. The inner error is that of the body.
    async fn replaced(
        &self,
        headers: &mut HeaderMap,
        body: Body,
        direction: Direction,
    ) -> Result<Result<(Body, bool), BodyError>, Problem> {
        let (Some(kind), Some(coding)) = (Kind::of(headers), document::coding(headers)) else {
            return Ok(Ok((body, false)));
        };
        let limit = self.limits.links_bytes;
        let length =
            body.size_hint().exact().map(|length| usize::try_from(length).unwrap_or(limit + 1));
        if body.is_end_stream() || length.is_some_and(|length| length > limit) {
            return Ok(Ok((body, false)));
        }
        let late = || {
            let status = match direction {
                Direction::ToApplication => StatusCode::GATEWAY_TIMEOUT,
                Direction::ToServer => StatusCode::REQUEST_TIMEOUT,
            };
            let seconds = self.limits.answer_time.as_secs();
            let detail = format!("the document was not complete after {seconds} s");
            Problem::new(status, "late-document", "Document timeout", detail)
        };
        let size = length.filter(|_| !coding.is_packed()).unwrap_or(limit);
        let read = async {
            let permit = self.permit(size).await;
            (read_begun(body, kind, limit).await, permit)
        };
        let (read, permit) = timeout(self.limits.answer_time, read).await.map_err(|_| late())?;
        let bytes = match read {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(other)) => return Ok(Ok((other, false))),
            Err(error) => return Ok(Err(error)),
        };
        let (links, packed) = (self.links.clone(), bytes.clone());
        // Takes time in proportion to the size of the document.
        let changed = tokio::task::spawn_blocking(move || {
            let document = unpacked(&packed, coding, limit)?;
            let limits = feedsync_formats::Limits { bytes: limit, ..Default::default() };
            let change = |address: WrittenAddress<'_>| match direction {
                Direction::ToApplication => links.shown(address),
                Direction::ToServer => links.original(address),
            };
            feedsync_formats::with_addresses(&document, &limits, change)
        });
        let changed = changed.await.unwrap_or_else(|error| {
            tracing::error!(%error, "cannot replace the addresses of a document");
            None
        });
        let Some(changed) = changed else { return Ok(Ok((Body::from(bytes), false))) };
        remove(headers, &BYTES_HEADERS);
        headers.remove(header::CONTENT_ENCODING);
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(changed.len()));
        let body = Body::from(Bytes::from(changed));
        Ok(Ok((Body::new(HeldBody { body, _permit: permit }), true)))
    }

    /// Waits for the memory of a document of this size.
    async fn permit(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let permits = u32::try_from(bytes / PERMIT_BYTES + 1).unwrap_or(u32::MAX);
        // The semaphore is never closed; an error would only remove the limit.
        Arc::clone(&self.permits).acquire_many_owned(permits).await.ok()
    }
}

/// A body whose memory counts until it was sent.
struct HeldBody {
    body: Body,
    _permit: Option<OwnedSemaphorePermit>,
}

impl HttpBody for HeldBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        std::pin::Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
