//! Forwards requests to newsreader servers, and builds local responses in their place.

use bytes::Bytes;
use feedsync_bitsy::authentication::Partition;
use feedsync_reader_api::Answer;
use futures_util::{StreamExt as _, stream};
use http::header::{self, HeaderName, HeaderValue};
use http::{Request, Response, StatusCode, response};
use http_body_util::{BodyExt as _, BodyStream, StreamBody};
use hyper::body::Frame;

use super::Sent;
use crate::face::problem::{Problem, sandbox};
use crate::face::{Body, BodyError, Face};
use crate::upstream::{NotSent, UpstreamError};

/// Maximum size of a response that is stored, in bytes; larger ones are only forwarded.
const ANSWER: usize = 16 << 20;

/// Request fields that ask for less than a complete response or for a compressed one; only complete, uncompressed
/// responses can be stored.
const LESS: [HeaderName; 7] = [
    header::ACCEPT_ENCODING,
    header::EXPECT,
    header::IF_MATCH,
    header::IF_MODIFIED_SINCE,
    header::IF_NONE_MATCH,
    header::IF_RANGE,
    header::RANGE,
];

/// Response fields that no longer apply after changes were merged in.
const OF_WHOLE: [HeaderName; 5] = [
    header::ACCEPT_RANGES,
    header::CONTENT_LENGTH,
    header::ETAG,
    header::LAST_MODIFIED,
    header::TRANSFER_ENCODING,
];

/// Result of a request to a server.
pub(super) enum Tried {
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

impl Face {
    /// Sends the pending changes of the user first.
    pub(super) async fn send_first(&self, sent: &Sent<'_>, known: Option<Partition>) {
        let Some(partition) = known else { return };
        let is_behind = sent
            .agent
            .look(|interceptor| interceptor.accounts().pending(partition).next().is_some());
        if is_behind && let Err(error) = sent.agent.deliver(&self.upstream, partition).await {
            tracing::error!(%error, "what a newsreader changed cannot be sent");
        }
    }

    /// Sends the request, if the server can be expected to respond.
    pub(super) async fn attempt(&self, sent: &Sent<'_>) -> Tried {
        let location = &sent.target.location;
        let now = sent.agent.now();
        if !sent.agent.look(|interceptor| interceptor.may_ask(location, now)) {
            return Tried::Away;
        }
        let mut request = Request::new(Body::from(sent.body.clone()));
        *request.method_mut() = sent.parts.method.clone();
        *request.version_mut() = sent.parts.version;
        *request.headers_mut() = sent.parts.headers.clone();
        for name in LESS {
            request.headers_mut().remove(name);
        }
        let response = match self.exchange(&sent.target, request).await {
            Ok(response) => response,
            Err(error @ (UpstreamError::Refused(_) | UpstreamError::NotSent(NotSent::Busy(_)))) => {
                return Tried::Failed(Problem::from(&error));
            }
            Err(error) => {
                tracing::debug!(%error, "a newsreader is answered without its server");
                sent.agent.reached(location, false);
                return Tried::Away;
            }
        };
        let (mut parts, body) = response.into_parts();
        // Besides the codes of gateways (502 to 504), these are the codes with which networks and content
        // delivery networks respond in place of the server.
        let is_away = matches!(parts.status.as_u16(), 502..=504 | 511 | 520..=530);
        sent.agent.reached(location, !is_away);
        match collected(body).await {
            Ok(Ok(body)) => {
                for name in OF_WHOLE {
                    parts.headers.remove(name);
                }
                if is_away { Tried::Said(parts, body) } else { Tried::Whole(parts, body) }
            }
            Ok(Err(large)) => Tried::Large(Response::from_parts(parts, large)),
            Err(error) => {
                tracing::debug!(%error, "an answer to a newsreader has broken off");
                sent.agent.reached(location, false);
                Tried::Away
            }
        }
    }

    /// Builds a local response of an interface.
    pub(super) fn tells(&self, sent: &Sent<'_>, answer: Answer) -> Response<Body> {
        let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
        let mut response = self.own(sent, status, Bytes::from(answer.body));
        if let Some(media_type) = answer.media_type {
            let media_type = HeaderValue::from_static(media_type);
            response.headers_mut().insert(header::CONTENT_TYPE, media_type);
        }
        response
    }

    pub(super) fn refuse(&self, sent: &Sent<'_>, seq: i64, reason: &str) -> Response<Body> {
        self.tells(sent, sent.newsreader.interface.refused(seq, reason))
    }

    pub(super) fn own(&self, sent: &Sent<'_>, status: StatusCode, body: Bytes) -> Response<Body> {
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
        if found.len() > ANSWER {
            let begun = stream::iter([Ok(Frame::data(Bytes::from(found)))]);
            return Ok(Err(Body::new(StreamBody::new(begun.chain(BodyStream::new(body))))));
        }
    }
    Ok(Ok(Bytes::from(found)))
}
