//! `Expect: 100-continue` (RFC 9110 10.1.1): the body waits until the origin requests it.
//!
//! The application sends its body on request, which the server triggers when the body is first read. The body is
//! therefore not read before the origin has sent `100 Continue`. Origins that do not support the expectation send
//! nothing; the body is then read after a timeout. An origin that responds at once never gets the body.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, header};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::oneshot;
use tokio::time::{Sleep, sleep};

use crate::proxy::{Body, BodyError};

/// Time without a response after which the body is sent anyway.
const CONTINUE_TIMEOUT: Duration = Duration::from_secs(1);

/// Releases a waiting body; dropping it cancels the body.
#[derive(Clone, Default)]
pub(crate) struct ContinueSignal(Arc<Mutex<Option<oneshot::Sender<()>>>>);

impl ContinueSignal {
    /// Records that the final response has arrived. Returns whether the body is still waiting, and so will never
    /// be sent.
    pub(crate) fn answered(&self) -> bool {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        waiting.is_some_and(|waiting| !waiting.is_closed())
    }

    fn now(&self) {
        if let Some(waiting) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // The waiting body may have been dropped.
            let _ = waiting.send(());
        }
    }
}

struct WaitingBody {
    body: Body,
    waits: Option<(oneshot::Receiver<()>, Pin<Box<Sleep>>)>,
}

/// Makes the body of a request wait, if the request has this expectation.
pub(crate) fn expecting(request: Request<Body>) -> (Request<Body>, ContinueSignal) {
    let wanted = ContinueSignal::default();
    let expects = request.headers().get_all(header::EXPECT).iter();
    let mut expects = expects.map(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"));
    if !expects.any(|expects| expects) || request.body().is_end_stream() {
        return (request, wanted);
    }
    let (told, waiting) = oneshot::channel();
    *wanted.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(told);
    let mut request = request.map(|body| {
        Body::new(WaitingBody { body, waits: Some((waiting, Box::pin(sleep(CONTINUE_TIMEOUT)))) })
    });
    let heard = wanted.clone();
    hyper::ext::on_informational(&mut request, move |answer| {
        if answer.status() == StatusCode::CONTINUE {
            heard.now();
        }
    });
    (request, wanted)
}

impl HttpBody for WaitingBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if let Some((told, patience)) = &mut self.waits {
            match Pin::new(told).poll(context) {
                Poll::Ready(Ok(())) => {}
                // The origin responded without the body. The connection is closed after the response.
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
