//! Waits for the start of a response body, so that a body that cannot be read at all becomes an error response.
//! Once a part of the body was forwarded, the response can only be broken off.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Response, header};
use http_body_util::BodyExt as _;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::timeout;

use super::body::{Body, BodyError};
use crate::target::{Authority, Target};
use crate::upstream::UpstreamError;

/// Time that a head waits for the first bytes of its body before it is forwarded without them.
const FIRST_BYTES_TIMEOUT: Duration = Duration::from_millis(100);

/// Reads the first bytes of a body, if they arrive promptly. Event streams are not waited for.
pub(super) async fn prepared(
    target: &Target,
    mut response: Response<Body>,
) -> Result<Response<Body>, UpstreamError> {
    if response.body().is_end_stream() || is_event_stream(&response) {
        return Ok(response);
    }
    let first = match timeout(FIRST_BYTES_TIMEOUT, response.body_mut().frame()).await {
        Err(_) => return Ok(response),
        Ok(None) => None,
        Ok(Some(Ok(frame))) => frame.into_data().ok(),
        Ok(Some(Err(error))) => {
            tracing::debug!(%error, "malformed response body");
            let authority = Authority::of(&target.location);
            let fault = "its body is malformed or breaks off before its first byte";
            return Err(UpstreamError::Malformed { authority, fault });
        }
    };
    Ok(response.map(|body| Body::new(PrefetchedBody { first, body })))
}

fn is_event_stream(response: &Response<Body>) -> bool {
    let kind = response.headers().get(header::CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// A body whose first bytes were already read.
struct PrefetchedBody {
    first: Option<Bytes>,
    body: Body,
}

impl HttpBody for PrefetchedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match self.first.take() {
            Some(first) => Poll::Ready(Some(Ok(Frame::data(first)))),
            None => Pin::new(&mut self.body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (first, rest) =
            (self.first.as_ref().map_or(0, Bytes::len) as u64, self.body.size_hint());
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower() + first);
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper + first);
        }
        hint
    }
}
