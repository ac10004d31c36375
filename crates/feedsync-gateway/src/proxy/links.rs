//! Documents of a server in reverse mode: their addresses lead through the gateway, and the documents that
//! applications send have the server's addresses again. Everything that answers a request for a resource passes
//! here, whether it comes from the server or from the store. Stored bytes are the server's.
//!
//! A changed document has no content coding, a length and an entity tag of its own, no digests and no ranges.
//! A document that is larger than [`Limits::links_bytes`](crate::Limits), or in a coding other than gzip, is forwarded
//! unchanged.

mod entity_tags;

use std::sync::Arc;

use http::header::{self, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use hyper::body::Body as _;

use super::body::Body;
use super::problem::Problem;
use super::{Proxy, recode};
use crate::links::Links;
use crate::rewrite::document::{self, Kind};
use crate::rewrite::{BYTES_HEADERS, Direction, RewriteError, Rewriter, remove};
use crate::target::{Mode, Target};
use entity_tags::Tags;

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
        rewriter: Rewriter<Links>,
        target: Target,
        mut request: Request<Body>,
    ) -> Response<Body> {
        let fingerprint = rewriter.links.fingerprint();
        let tags = Tags::restore(request.headers_mut(), &fingerprint);
        if matches!(*request.method(), Method::POST | Method::PUT) {
            request = match restored(&rewriter, request).await {
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
        match shown(&rewriter, response, &fingerprint).await {
            Ok(response) => response,
            Err(problem) => problem.response(),
        }
    }
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

/// Restores the server's addresses in what an application sends.
async fn restored(
    rewriter: &Rewriter<Links>,
    request: Request<Body>,
) -> Result<Request<Body>, Problem> {
    let (mut parts, body) = request.into_parts();
    let replaced = rewriter.replaced(&mut parts.headers, body, Direction::ToServer).await;
    let (body, _) = replaced.map_err(|error| match error {
        RewriteError::Body(error) => Problem::from(&error),
        late @ RewriteError::Late(_) => late_document(StatusCode::REQUEST_TIMEOUT, &late),
    })?;
    Ok(Request::from_parts(parts, body))
}

/// Shows the gateway's addresses in a response.
async fn shown(
    rewriter: &Rewriter<Links>,
    response: Response<Body>,
    fingerprint: &str,
) -> Result<Response<Body>, Problem> {
    if response.status() == StatusCode::PARTIAL_CONTENT {
        return Ok(response);
    }
    let (mut parts, body) = response.into_parts();
    let replaced = rewriter.replaced(&mut parts.headers, body, Direction::ToApplication).await;
    let (body, is_changed) = replaced.map_err(|error| {
        tracing::debug!(%error, "the document of a response cannot be read");
        match error {
            RewriteError::Body(error) => Problem::new(
                StatusCode::BAD_GATEWAY,
                "bad-answer",
                "Invalid response of the origin",
                format!("the document is incomplete: {error}"),
            ),
            late @ RewriteError::Late(_) => late_document(StatusCode::GATEWAY_TIMEOUT, &late),
        }
    })?;
    if is_changed {
        entity_tags::mark(&mut parts.headers, fingerprint);
        parts.extensions.remove::<recode::KeepsCoding>();
    }
    Ok(Response::from_parts(parts, body))
}

fn late_document(status: StatusCode, error: &RewriteError) -> Problem {
    Problem::new(status, "late-document", "Document timeout", error.to_string())
}
