//! A body with a limit on the silence of its sender. Trailers are dropped: any recipient may discard them (RFC
//! 9110 6.5.1), and a client cannot request them through a proxy.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use crate::proxy::BodyError;

/// A body that breaks off when its sender is silent for longer than a bound.
pub(crate) struct TimeoutBody<B> {
    body: B,
    bound: Duration,
    /// Timer, while the body is pending.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<B> TimeoutBody<B> {
    pub(crate) fn new(body: B, bound: Duration) -> Self {
        Self { body, bound, waiting: None }
    }
}

impl<B> HttpBody for TimeoutBody<B>
where
    B: HttpBody<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        loop {
            match Pin::new(&mut self.body).poll_frame(context) {
                Poll::Ready(frame) => {
                    self.waiting = None;
                    match frame {
                        None => return Poll::Ready(None),
                        Some(Err(error)) => {
                            return Poll::Ready(Some(Err(BodyError::Broken(error.into()))));
                        }
                        Some(Ok(frame)) if frame.is_data() => return Poll::Ready(Some(Ok(frame))),
                        Some(Ok(_)) => {}
                    }
                }
                Poll::Pending => {
                    let bound = self.bound;
                    let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(bound)));
                    return waiting
                        .as_mut()
                        .poll(context)
                        .map(|()| Some(Err(BodyError::Silent(bound.as_secs()))));
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
