//! Forwards requests to newsreader servers, and builds local responses in their place.

use bytes::Bytes;
use feedsync_bitsy::authentication::Partition;
use feedsync_reader_api::RawResponse;
use futures_util::{StreamExt as _, stream};
use http::header::{self, HeaderName, HeaderValue};
use http::{Request, Response, StatusCode, response};
use http_body_util::{BodyExt as _, BodyStream, StreamBody};
use hyper::body::Frame;

use super::ReaderRequest;
use crate::proxy::problem::{Problem, sandbox};
use crate::proxy::{Body, BodyError, Proxy};
use crate::upstream::{NotSent, UpstreamError};

/// Maximum size of a response that is stored, in bytes; larger ones are only forwarded.
const MAX_STORED_RESPONSE_BYTES: usize = 16 << 20;

/// Request fields that ask for less than a complete response or for a compressed one; only complete, uncompressed
/// responses can be stored.
const PARTIAL_RESPONSE_HEADERS: [HeaderName; 7] = [
    header::ACCEPT_ENCODING,
    header::EXPECT,
    header::IF_MATCH,
    header::IF_MODIFIED_SINCE,
    header::IF_NONE_MATCH,
    header::IF_RANGE,
    header::RANGE,
];

/// Response fields that no longer apply after changes were merged in.
const COMPLETE_RESPONSE_HEADERS: [HeaderName; 5] = [
    header::ACCEPT_RANGES,
    header::CONTENT_LENGTH,
    header::ETAG,
    header::LAST_MODIFIED,
    header::TRANSFER_ENCODING,
];

/// Result of a request to a server.
pub(super) enum AttemptResult {
    /// Complete response of the server.
    Whole(response::Parts, Bytes),
    /// Response that is too large to be stored.
    Large(Response<Body>),
    /// Response of a server that declares itself unavailable.
    Said(response::Parts, Bytes),
    /// The server did not respond.
    Away,
    /// Nothing was sent, and the network is not at fault.
    Failed(Problem),
}

impl Proxy {
    /// Sends the pending changes of the user first.
    pub(super) async fn send_first(&self, sent: &ReaderRequest<'_>, known: Option<Partition>) {
        let Some(partition) = known else { return };
        let is_behind =
            sent.driver.inspect(|state| state.accounts().pending(partition).next().is_some());
        if is_behind && let Err(error) = sent.driver.deliver(&self.upstream, partition).await {
            tracing::error!(%error, "cannot send a change of a newsreader");
        }
    }

    /// Sends the request, if the server can be expected to respond.
    pub(super) async fn attempt(&self, sent: &ReaderRequest<'_>) -> AttemptResult {
        let location = &sent.target.location;
        let now = sent.driver.now();
        if !sent.driver.inspect(|state| state.may_ask(location, now)) {
            return AttemptResult::Away;
        }
        let mut request = Request::new(Body::from(sent.body.clone()));
        *request.method_mut() = sent.parts.method.clone();
        *request.version_mut() = sent.parts.version;
        *request.headers_mut() = sent.parts.headers.clone();
        for name in PARTIAL_RESPONSE_HEADERS {
            request.headers_mut().remove(name);
        }
        let response = match self.exchange(&sent.target, request).await {
            Ok(response) => response,
            Err(error @ (UpstreamError::Refused(_) | UpstreamError::NotSent(NotSent::Busy(_)))) => {
                return AttemptResult::Failed(Problem::from(&error));
            }
            Err(error) => {
                tracing::debug!(%error, "responding to a newsreader from the store");
                sent.driver.reached(location, false);
                return AttemptResult::Away;
            }
        };
        let (mut parts, body) = response.into_parts();
        // Besides the codes of gateways (502 to 504), these are the codes with which networks and content
        // delivery networks respond in place of the server.
        let is_away = matches!(parts.status.as_u16(), 502..=504 | 511 | 520..=530);
        sent.driver.reached(location, !is_away);
        match collected(body).await {
            Ok(Ok(body)) => {
                for name in COMPLETE_RESPONSE_HEADERS {
                    parts.headers.remove(name);
                }
                if is_away {
                    AttemptResult::Said(parts, body)
                } else {
                    AttemptResult::Whole(parts, body)
                }
            }
            Ok(Err(large)) => AttemptResult::Large(Response::from_parts(parts, large)),
            Err(error) => {
                tracing::debug!(%error, "a response to a newsreader was interrupted");
                sent.driver.reached(location, false);
                AttemptResult::Away
            }
        }
    }

    /// Builds a local response of an interface.
    pub(super) fn interface_response(
        &self,
        sent: &ReaderRequest<'_>,
        answer: RawResponse,
    ) -> Response<Body> {
        let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
        let mut response = self.local_response(sent, status, Bytes::from(answer.body));
        if let Some(media_type) = answer.media_type {
            let media_type = HeaderValue::from_static(media_type);
            response.headers_mut().insert(header::CONTENT_TYPE, media_type);
        }
        response
    }

    pub(super) fn refuse(
        &self,
        sent: &ReaderRequest<'_>,
        seq: i64,
        reason: &str,
    ) -> Response<Body> {
        self.interface_response(sent, sent.newsreader.interface.refused(seq, reason))
    }

    pub(super) fn local_response(
        &self,
        sent: &ReaderRequest<'_>,
        status: StatusCode,
        body: Bytes,
    ) -> Response<Body> {
        let mut response = Response::new(Body::from(body));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        sandbox(headers);
        self.show(&sent.target, headers);
        response
    }
}

/// Reads a body to its end. A body that is too large to be stored is returned as a stream.
async fn collected(mut body: Body) -> Result<Result<Bytes, Body>, BodyError> {
    let mut found = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(bytes) = frame?.into_data() else { continue };
        found.extend_from_slice(&bytes);
        if found.len() > MAX_STORED_RESPONSE_BYTES {
            let begun = stream::iter([Ok(Frame::data(Bytes::from(found)))]);
            return Ok(Err(Body::new(StreamBody::new(begun.chain(BodyStream::new(body))))));
        }
    }
    Ok(Ok(Bytes::from(found)))
}
