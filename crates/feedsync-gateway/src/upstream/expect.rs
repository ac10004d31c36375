//! `Expect: 100-continue` (RFC 9110 10.1.1): the body waits until the origin wants it.
//!
//! The application sends its body when it is asked for it, which the server does when the body is first
//! read. So it is not read before the origin has said `100 Continue`, or has said nothing for a while,
//! as origins do that do not know the expectation. An origin that answers at once never gets the body.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, header};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::oneshot;
use tokio::time::{Sleep, sleep};

use crate::face::{Body, BodyError};

/// How long an origin may say nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// Says to a waiting body that it is wanted, or by being dropped that it is not.
#[derive(Clone, Default)]
pub(crate) struct Wanted(Arc<Mutex<Option<oneshot::Sender<()>>>>);

impl Wanted {
    /// The final answer has come. Returns whether the body waits still, and so never comes.
    pub(crate) fn answered(&self) -> bool {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        waiting.is_some_and(|waiting| !waiting.is_closed())
    }

    fn now(&self) {
        if let Some(waiting) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // The body that waited may be gone.
            let _ = waiting.send(());
        }
    }
}

struct Expected {
    body: Body,
    waits: Option<(oneshot::Receiver<()>, Pin<Box<Sleep>>)>,
}

/// The request with a body that waits, if it is one that says so.
pub(crate) fn expecting(request: Request<Body>) -> (Request<Body>, Wanted) {
    let wanted = Wanted::default();
    let expects = request.headers().get_all(header::EXPECT).iter();
    let mut expects = expects.map(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"));
    if !expects.any(|expects| expects) || request.body().is_end_stream() {
        return (request, wanted);
    }
    let (told, waiting) = oneshot::channel();
    *wanted.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
    let mut request = request.map(|body| {
        Body::new(Expected { body, waits: Some((waiting, Box::pin(sleep(PATIENCE)))) })
    });
    let heard = wanted.clone();
    hyper::ext::on_informational(&mut request, move |answer| {
        if answer.status() == StatusCode::CONTINUE {
            heard.now();
        }
    });
    (request, wanted)
}

impl HttpBody for Expected {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if let Some((told, patience)) = &mut self.waits {
            match Pin::new(told).poll(context) {
                Poll::Ready(Ok(())) => {}
                // Answered without it. The connection is closed when the answer was read.
                Poll::Ready(Err(_)) => {
                    self.waits = None;
                    self.body = Body::never();
                    return Poll::Pending;
                }
                Poll::Pending => match patience.as_mut().poll(context) {
                    Poll::Ready(()) => {}
                    Poll::Pending => return Poll::Pending,
                },
            }
            self.waits = None;
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
