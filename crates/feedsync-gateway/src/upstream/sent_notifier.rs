//! Detects the end of sending a request, which starts the response timeout.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::oneshot;

use crate::proxy::{Body, BodyError};

/// A body that signals its end or its drop.
struct SentNotifier {
    body: Body,
    notify: Option<oneshot::Sender<()>>,
}

/// Returns the body, and a receiver that becomes ready when the body was sent.
pub(crate) fn watched(body: Body) -> (Body, oneshot::Receiver<()>) {
    let (notify, sent) = oneshot::channel();
    if body.is_end_stream() {
        return (body, sent);
    }
    (Body::new(SentNotifier { body, notify: Some(notify) }), sent)
}

impl HttpBody for SentNotifier {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None)) || self.body.is_end_stream() {
            self.notify = None;
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
