//! Replaces the addresses in the documents of requests and responses. The other bytes of a message stay, and a message
//! without such addresses keeps all its header fields.

pub(crate) mod document;

use std::sync::Arc;

use bytes::Bytes;
use feedsync_formats::WrittenAddress;
use futures_util::stream;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http_body_util::StreamBody;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::config::Limits;
use crate::links::AddressMap;
use crate::proxy::{Body, BodyError};
use document::{Kind, read_begun, unpacked};

/// Unit of the permits, in bytes.
const PERMIT_BYTES: usize = 1 << 10;

/// Header fields that describe the bytes of a message.
pub(crate) const BYTES_HEADERS: [HeaderName; 6] = [
    header::ACCEPT_RANGES,
    header::CONTENT_LENGTH,
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("content-md5"),
    HeaderName::from_static("digest"),
    HeaderName::from_static("repr-digest"),
];

/// Creates the permits for the documents that are processed at the same time.
pub(crate) fn permits(limits: &Limits) -> Arc<Semaphore> {
    let permits = limits.all_links_bytes.max(limits.links_bytes) / PERMIT_BYTES + 2;
    Arc::new(Semaphore::new(permits))
}

/// Removes header fields.
pub(crate) fn remove(headers: &mut HeaderMap, names: &[HeaderName]) {
    names.iter().for_each(|name| drop(headers.remove(name)));
}

/// Direction in which addresses are replaced.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Direction {
    ToApplication,
    ToServer,
}

/// Reason why a document cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RewriteError {
    /// The document did not arrive in time.
    #[error("the document was not complete after {0} s")]
    Late(u64),
    /// The body of the message is faulty.
    #[error(transparent)]
    Body(#[from] BodyError),
}

/// Replaces the addresses of one exchange.
pub(crate) struct Rewriter<M> {
    pub(crate) links: M,
    pub(crate) permits: Arc<Semaphore>,
    pub(crate) limits: Limits,
}

impl<M: AddressMap + Clone + Send + 'static> Rewriter<M> {
    /// Like [`Rewriter::replaced`]; a document that cannot be read becomes a body that breaks off.
    pub(crate) async fn body(
        &self,
        headers: &mut HeaderMap,
        body: Body,
        direction: Direction,
    ) -> Body {
        let error = match self.replaced(headers, body, direction).await {
            Ok((body, _)) => return body,
            Err(RewriteError::Late(seconds)) => BodyError::Silent(seconds),
            Err(RewriteError::Body(error)) => error,
        };
        Body::new(StreamBody::new(stream::iter([Err::<Frame<Bytes>, _>(error)])))
    }

    /// Replaces the addresses in a body if it is a document. Also returns whether it was changed; a body that stays
    /// keeps all its header fields.
    pub(crate) async fn replaced(
        &self,
        headers: &mut HeaderMap,
        body: Body,
        direction: Direction,
    ) -> Result<(Body, bool), RewriteError> {
        let (Some(kind), Some(coding)) = (Kind::of(headers), document::coding(headers)) else {
            return Ok((body, false));
        };
        let limit = self.limits.links_bytes;
        let length = body.size_hint().exact();
        let length = length.map(|length| usize::try_from(length).unwrap_or(limit + 1));
        if body.is_end_stream() || length.is_some_and(|length| length > limit) {
            return Ok((body, false));
        }
        let size = length.filter(|_| !coding.is_packed()).unwrap_or(limit);
        let read = async {
            let permit = self.permit(size).await;
            (read_begun(body, kind, limit).await, permit)
        };
        let late = |_| RewriteError::Late(self.limits.answer_time.as_secs());
        let (read, permit) = timeout(self.limits.answer_time, read).await.map_err(late)?;
        let bytes = match read? {
            Ok(bytes) => bytes,
            Err(other) => return Ok((other, false)),
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
        let Some(changed) = changed else { return Ok((Body::from(bytes), false)) };
        remove(headers, &BYTES_HEADERS);
        headers.remove(header::CONTENT_ENCODING);
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(changed.len()));
        let body = Body::from(Bytes::from(changed));
        Ok((Body::new(HeldBody { body, _permit: permit }), true))
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
