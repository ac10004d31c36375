//! Request bodies, read within limits of size, time and decompression (AH18, AH25).

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use flate2::read::MultiGzDecoder;
use futures_util::StreamExt as _;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::http::clients::UsageGuard;
use crate::http::problem::Problem;
use crate::http::{current_request, permits};
use crate::hub::Hub;

/// Output above this size, in bytes, must not exceed [`MAX_RATIO`] times the input.
const FREE_OUTPUT: usize = 1 << 20;

/// Feeds compress to a twentieth or less; a decompression bomb to a thousandth.
const MAX_RATIO: usize = 200;

/// Permit to receive a body, held until the body is dropped.
pub(crate) struct BodyPermit {
    _permit: OwnedSemaphorePermit,
    _usage: Option<UsageGuard>,
    large: Option<OwnedSemaphorePermit>,
}

impl BodyPermit {
    /// Adds the permit for a body of unusual size.
    pub(crate) fn with(self, large: Option<OwnedSemaphorePermit>) -> Self {
        Self { large, ..self }
    }

    /// Whether it holds the permit for a body of unusual size.
    pub(crate) fn is_large(&self) -> bool {
        self.large.is_some()
    }
}

/// Waits for one of the hub's permits for bodies. One client cannot hold all of them.
pub(crate) async fn acquire_permit(
    hub: &Hub,
    room: &Arc<Semaphore>,
) -> Result<BodyPermit, Problem> {
    let one = current_request::key().map(|key| hub.clients.upload(key)).transpose()?;
    let room =
        permits::acquire(room, "too many request bodies are being received; try again later")
            .await?;
    Ok(BodyPermit { _permit: room, _usage: one, large: None })
}

/// Content coding of a body (RFC 9110 8.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    Identity,
    Gzip,
}

/// Content coding of a request. Other codings than these two are refused before the body is read.
pub(crate) fn coding(headers: &HeaderMap) -> Result<Coding, Problem> {
    let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
    let text = match (codings.next(), codings.next()) {
        (None, _) => return Ok(Coding::Identity),
        (Some(one), None) => one.to_str().unwrap_or("?").trim().to_ascii_lowercase(),
        (Some(_), Some(_)) => "more than one Content-Encoding".to_owned(),
    };
    match text.as_str() {
        "identity" => Ok(Coding::Identity),
        "gzip" | "x-gzip" => Ok(Coding::Gzip),
        _ => Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported-coding",
            "Unsupported Content-Encoding",
            format!("the Content-Encoding {text:?} is not supported: use gzip or none"),
        )
        .header(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"))),
    }
}

/// Length of a body, if the request states it.
pub(crate) fn declared(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Reads a body of at most `limit` bytes.
pub(crate) async fn read(
    hub: &Hub,
    headers: &HeaderMap,
    body: Body,
    limit: usize,
) -> Result<Vec<u8>, Problem> {
    let mut frames = Frames::of(hub, headers, body, limit)?;
    let mut bytes = Vec::new();
    while let Some(frame) = frames.next().await? {
        bytes.extend_from_slice(&frame);
    }
    Ok(bytes)
}

/// A body while it is received, within limits of size and time: each `body_bytes` of it may take
/// `body_time`.
pub(crate) struct Frames {
    frames: BodyDataStream,
    limit: usize,
    read: usize,
    pause: Duration,
    /// Time at which reading began.
    began: Option<Instant>,
    time: Duration,
    each: usize,
}

impl Frames {
    /// A body of at most `limit` bytes. A larger declared length is refused before any of the body is
    /// read.
    pub(crate) fn of(
        hub: &Hub,
        headers: &HeaderMap,
        body: Body,
        limit: usize,
    ) -> Result<Self, Problem> {
        let limits = &hub.config.limits;
        let frames = Self {
            frames: body.into_data_stream(),
            limit,
            read: 0,
            pause: limits.body_pause,
            began: None,
            time: limits.body_time,
            each: limits.body_bytes.max(1),
        };
        match declared(headers).is_some_and(|length| length > limit as u64) {
            true => Err(frames.too_large()),
            false => Ok(frames),
        }
    }

    /// Returns the next frame; none at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        let now = Instant::now();
        let begun = u32::try_from(self.read / self.each + 1).unwrap_or(u32::MAX);
        let end = *self.began.get_or_insert(now) + self.time.saturating_mul(begun);
        let end = end.min(now + self.pause);
        let frame = timeout_at(end, self.frames.next()).await.map_err(|_| {
            Problem::new(
                StatusCode::REQUEST_TIMEOUT,
                "timeout",
                "Request timeout",
                "the body was sent too slowly; nothing was stored",
            )
            .header(header::CONNECTION, HeaderValue::from_static("close"))
        })?;
        let Some(frame) = frame else { return Ok(None) };
        let frame = frame.map_err(|_| {
            Problem::bad_request("the body ended before its declared length; nothing was stored")
        })?;
        self.read += frame.len();
        if self.read > self.limit { Err(self.too_large()) } else { Ok(Some(frame)) }
    }

    fn too_large(&self) -> Problem {
        Problem::too_large(format!("the body exceeds the limit of {} bytes", self.limit))
    }
}

/// Decompresses a document to at most `limit` bytes and within the compression ratio of documents.
pub(crate) fn unpack(packed: &[u8], limit: usize) -> Result<Vec<u8>, Problem> {
    let most = FREE_OUTPUT.max(packed.len().saturating_mul(MAX_RATIO));
    unpack_any(packed, limit.min(most)).map_err(|problem| match limit > most {
        true if problem.status() == StatusCode::PAYLOAD_TOO_LARGE => Problem::too_large(format!(
            "the decompressed body exceeds the limit of {limit} bytes, or {MAX_RATIO} times its \
             compressed size"
        )),
        _ => problem,
    })
}

/// Decompresses a table or a log, which may compress at any ratio, to at most `limit` bytes.
pub(crate) fn unpack_any(packed: &[u8], limit: usize) -> Result<Vec<u8>, Problem> {
    let mut decoder = MultiGzDecoder::new(packed);
    let mut bytes = Vec::new();
    let mut part = vec![0; 64 << 10];
    loop {
        let count = decoder.read(&mut part).map_err(|error| {
            Problem::bad_request(format!("the body is not valid gzip data: {error}"))
        })?;
        if count == 0 {
            return Ok(bytes);
        }
        if bytes.len() + count > limit {
            let detail = format!("the decompressed body exceeds the limit of {limit} bytes");
            return Err(Problem::too_large(detail));
        }
        bytes.extend_from_slice(&part[..count]);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_packed_body_is_unpacked_within_bounds() {
        let text = b"<feed/>".repeat(100);
        assert_eq!(unpack(&packed(&text), 1_000).unwrap(), text);
        assert!(unpack(&packed(&text), 699).is_err());
        assert!(unpack(&text, 1_000).is_err());
        let whole = packed(&text);
        assert!(unpack(&whole[..whole.len() - 9], 1_000).is_err());
    }

    #[test]
    fn a_bomb_is_refused_by_its_ratio_long_before_its_size() {
        let bomb = packed(&vec![0; 64 << 20]);
        assert!(bomb.len() < 100_000);
        assert!(unpack(&bomb, usize::MAX).is_err());
        assert_eq!(unpack_any(&bomb, 64 << 20).unwrap().len(), 64 << 20);
        assert!(unpack_any(&bomb, (64 << 20) - 1).is_err());
    }
}
