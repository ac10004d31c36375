//! Bodies of requests, read whole within bounds of size, time and unpacking (H18, H25).

use std::io::Read as _;

use axum::body::Body;
use flate2::read::MultiGzDecoder;
use futures_util::StreamExt as _;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use crate::hub::Hub;
use crate::problem::Problem;
use crate::room;

/// What is unpacked to more than this must not be more than [`MAX_RATIO`] times what came.
const FREE_OUTPUT: usize = 1 << 20;

/// Feeds pack to a twentieth or less; a bomb to a thousandth.
const MAX_RATIO: usize = 200;

/// The right to hold a body in memory; kept until the body is dropped.
pub(crate) async fn turn(hub: &Hub) -> Result<OwnedSemaphorePermit, Problem> {
    room::soon(&hub.uploads, "too many documents are being offered at once").await
}

/// How a body is packed (RFC 9110 8.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    Identity,
    Gzip,
}

/// The coding that a request declares; another than these two is refused before its body is read.
pub(crate) fn coding(headers: &HeaderMap) -> Result<Coding, Problem> {
    let mut codings = headers.get_all(header::CONTENT_ENCODING).iter();
    let text = match (codings.next(), codings.next()) {
        (None, _) => return Ok(Coding::Identity),
        (Some(one), None) => one.to_str().unwrap_or("?").trim().to_ascii_lowercase(),
        (Some(_), Some(_)) => "more than one coding".to_owned(),
    };
    match text.as_str() {
        "identity" => Ok(Coding::Identity),
        "gzip" | "x-gzip" => Ok(Coding::Gzip),
        _ => Err(Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported-coding",
            "Not a coding that is taken here",
            format!("a body may be packed with gzip or not at all, not with {text:?}"),
        )
        .header(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"))),
    }
}

/// Reads a body of at most `limit` bytes, as they come.
pub(crate) async fn read(
    hub: &Hub,
    headers: &HeaderMap,
    body: Body,
    limit: usize,
) -> Result<Vec<u8>, Problem> {
    let too_large = || Problem::too_large(format!("a body has at most {limit} bytes here"));
    let declared = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    if declared.and_then(|text| text.parse().ok()).is_some_and(|length: u64| length > limit as u64)
    {
        return Err(too_large());
    }
    let limits = &hub.config.limits;
    let end = Instant::now() + limits.body_time;
    let mut frames = body.into_data_stream();
    let mut bytes = Vec::new();
    loop {
        let pause = Instant::now() + limits.body_pause;
        let frame = timeout_at(pause.min(end), frames.next()).await.map_err(|_| {
            Problem::new(
                StatusCode::REQUEST_TIMEOUT,
                "timeout",
                "The body did not come in time",
                "the body was not sent fast enough; nothing was stored",
            )
            .header(header::CONNECTION, HeaderValue::from_static("close"))
        })?;
        match frame {
            None => return Ok(bytes),
            Some(Ok(frame)) if bytes.len() + frame.len() > limit => return Err(too_large()),
            Some(Ok(frame)) => bytes.extend_from_slice(&frame),
            Some(Err(_)) => {
                return Err(Problem::bad_request(
                    "the body broke off before its declared end; nothing was stored",
                ));
            }
        }
    }
}

/// Unpacks a body to at most `limit` bytes.
pub(crate) fn unpack(packed: &[u8], limit: usize) -> Result<Vec<u8>, Problem> {
    let mut decoder = MultiGzDecoder::new(packed);
    let mut bytes = Vec::new();
    let mut part = vec![0; 64 << 10];
    loop {
        let count = decoder
            .read(&mut part)
            .map_err(|error| Problem::bad_request(format!("the body is not gzip: {error}")))?;
        if count == 0 {
            return Ok(bytes);
        }
        let length = bytes.len() + count;
        if length > limit || length > FREE_OUTPUT.max(packed.len().saturating_mul(MAX_RATIO)) {
            return Err(Problem::too_large(format!(
                "a packed body has at most {limit} bytes here once unpacked, and at most \
                 {MAX_RATIO} times as many as packed"
            )));
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
    }
}
