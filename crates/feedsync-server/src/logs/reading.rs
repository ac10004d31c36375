//! Reading a generation of a log, whole or from an offset on (LR20 to LR31).
//!
//! Conditions are evaluated before `Range` (RFC 9110 13.2.2): an unchanged log is a 304, and appended bytes
//! are a 206. The log is sent without transformation and in pieces, so that it needs no more memory than a
//! record.

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::response::{IntoResponse as _, Response};
use feedsync_endpoint::Endpoint;
use feedsync_http::range;
use feedsync_store::{CollectionName, Generation, Log, LogPosition, StoreError};
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use super::position::{
    generation_removed, links, position_headers, position_mismatch, tag, with_position,
};
use crate::access::call::Call;
use crate::http::compression::NoTransform;
use crate::http::problem::Problem;
use crate::http::response::{append_link, insert, nothing};
use crate::http::response_budget::MAX_UNCOUNTED_BYTES;
use crate::http::validators::Condition;
use crate::hub::Hub;

/// A requested generation of a log.
pub(super) struct GenerationRequest<'a> {
    pub(super) name: &'a CollectionName,
    pub(super) log: &'a Log,
    /// The generation, and its end.
    pub(super) place: LogPosition,
}

impl GenerationRequest<'_> {
    pub(super) async fn answer(
        &self,
        hub: &Hub,
        call: &Call,
        method: &Method,
    ) -> Result<Response, Problem> {
        let (place, tag) = (self.place, tag(self.place));
        let permit = hub.response_budget.permit().await?;
        match tag.evaluate(&call.headers) {
            Condition::Proceed => {}
            Condition::Failed => return Err(position_mismatch(place)),
            // A client with a cached copy also has its other headers (RFC 9110 15.4.5). This is the most
            // frequent response to devices.
            Condition::NotModified(held) => {
                let mut headers = self.cached();
                headers.insert(header::ETAG, held);
                return Ok((StatusCode::NOT_MODIFIED, headers, nothing()).into_response());
            }
        }
        let mut headers = self.headers(call);
        // A range means nothing to HEAD (RFC 9110 14.2).
        let asked = match *method == Method::HEAD {
            true => range::RequestedRange::Whole,
            false => range::requested_range(
                &call.headers,
                range::Validators::tag(&tag.value()),
                place.length,
            ),
        };
        let (status, part) = match asked {
            range::RequestedRange::Whole => (StatusCode::OK, 0..place.length),
            range::RequestedRange::Part(part) => {
                headers.insert(header::CONTENT_RANGE, range::content_range(&part, place.length));
                (StatusCode::PARTIAL_CONTENT, part)
            }
            range::RequestedRange::Nothing => {
                return Err(with_position(range::unsatisfiable(place.length).into(), place));
            }
        };
        insert(&mut headers, header::CONTENT_TYPE, &self.log.media_type);
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(part.end - part.start));
        let body = match *method == Method::HEAD {
            true => Body::empty(),
            false => {
                let pieces = GenerationReader {
                    endpoint: hub.endpoint.clone(),
                    name: self.name.clone(),
                    generation: place.generation,
                    at: part.start,
                    end: part.end,
                };
                pieces.send().await.map_err(|broken| match broken {
                    ReadError::Store(error) => error.into(),
                    // It was removed between the lookup and the read.
                    ReadError::Removed => generation_removed(&call.base, self.name, self.log),
                })?
            }
        };
        // At most one piece is in memory at a time, whatever the length.
        permit.end(false)?;
        Ok((status, headers, Extension(NoTransform), body).into_response())
    }

    /// Headers of every response, with or without content.
    fn cached(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(header::ETAG, tag(self.place).value());
        let control = HeaderValue::from_static("no-cache, no-transform, private");
        headers.insert(header::CACHE_CONTROL, control);
        headers
    }

    fn headers(&self, call: &Call) -> HeaderMap {
        let mut headers = self.cached();
        headers.extend(position_headers(self.place));
        headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        if self.place.generation != self.log.place.generation {
            append_link(&mut headers, &call.base.url(&super::path(self.name)), "successor-version");
        }
        links(&mut headers, &call.base, self.name, self.log);
        headers
    }
}

/// Bytes of a generation that were not sent yet.
struct GenerationReader {
    endpoint: Endpoint,
    name: CollectionName,
    generation: Generation,
    at: u64,
    end: u64,
}

/// Reason why a generation cannot be sent to its end.
#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The generation was swept, or the log removed.
    #[error("the log was removed")]
    Removed,
}

impl GenerationReader {
    /// Reads the first piece before the status is sent, so that a store failure has its own status. If the
    /// log is removed later, the response is truncated, which every client detects by the promised length.
    async fn send(mut self) -> Result<Body, ReadError> {
        let first = self.next().await?.unwrap_or_default();
        if self.at == self.end {
            return Ok(Body::from(first));
        }
        let rest = stream::try_unfold(self, |mut pieces| async move {
            match pieces.next().await {
                Ok(piece) => Ok(piece.map(|piece| (piece, pieces))),
                Err(error) => {
                    tracing::error!(%error, "the response with a log was interrupted");
                    Err(error)
                }
            }
        });
        Ok(Body::from_stream(stream::iter([Ok(first)]).chain(rest)))
    }

    async fn next(&mut self) -> Result<Option<Bytes>, ReadError> {
        let left = self.end - self.at;
        if left == 0 {
            return Ok(None);
        }
        let most =
            usize::try_from(left).map_or(MAX_UNCOUNTED_BYTES, |left| left.min(MAX_UNCOUNTED_BYTES));
        let piece = self.endpoint.read_log(&self.name, self.generation, self.at, most).await?;
        let piece = piece.filter(|piece| piece.len() == most).ok_or(ReadError::Removed)?;
        self.at += most as u64;
        Ok(Some(piece.into()))
    }
}
