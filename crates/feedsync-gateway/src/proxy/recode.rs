//! Recodes responses to a coding that the request accepts: compresses with gzip or decompresses, while they are
//! sent (RFC 9110 8.4, 12.5.3).
//!
//! A recoded response has a weak entity tag, because the strong one names other bytes.

use std::io::{self, Write as _};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use feedsync_bitsy::coding::{Coding, choose, vary};
use flate2::Compression;
use flate2::write::{GzEncoder, MultiGzDecoder};
use http::header::{self, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, Response};
use hyper::body::{Body as HttpBody, Frame};

use super::body::{Body, BodyError};
use super::head::Head;
use crate::rewrite::{BYTES_HEADERS, remove};

/// Maximum number of bytes that are decompressed at once. gzip expands a byte to at most about a thousand.
const MAX_STEP_BYTES: usize = 1 << 10;

/// Marks a response of a server that is forwarded in its own coding.
#[derive(Debug, Clone, Copy)]
pub(super) struct KeepsCoding;

/// Whether a response with these headers is recoded for a request.
pub(super) fn is_due(request: &HeaderMap, response: &HeaderMap) -> bool {
    matches!(choose(request, response), Some(Coding::Gzip | Coding::Identity))
}

/// Makes an entity tag weak.
pub(super) fn weaken(headers: &mut HeaderMap) {
    let tag = headers.get(header::ETAG).filter(|tag| !tag.as_bytes().starts_with(b"W/"));
    let weak = tag.and_then(|tag| HeaderValue::from_bytes(&[b"W/", tag.as_bytes()].concat()).ok());
    if let Some(weak) = weak {
        headers.insert(header::ETAG, weak);
    }
}

/// Recodes a response to a coding that the request accepts. If that is impossible, the response stays as it is.
pub(super) fn recoded(request: &Head, mut response: Response<Body>) -> Response<Body> {
    let is_head = request.method == Method::HEAD && response.headers().contains_key(CONTENT_TYPE);
    let has_entity = !response.body().is_end_stream() || is_head;
    if !has_entity || response.extensions().get::<KeepsCoding>().is_some() {
        return response;
    }
    let headers = response.headers_mut();
    vary(headers);
    let Some(coding @ (Coding::Gzip | Coding::Identity)) = choose(&request.headers, headers) else {
        return response;
    };
    weaken(headers);
    remove(headers, &BYTES_HEADERS);
    headers.remove(header::CONTENT_ENCODING);
    if coding == Coding::Gzip {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    if is_head {
        return response;
    }
    let packer = match coding {
        Coding::Gzip => Codec::Compress(GzEncoder::new(Vec::new(), Compression::fast())),
        _ => Codec::Decompress(MultiGzDecoder::new(Vec::new())),
    };
    response.map(|body| Body::new(Recoded { body, packer: Some(packer), left: Bytes::new() }))
}

enum Codec {
    Compress(GzEncoder<Vec<u8>>),
    Decompress(MultiGzDecoder<Vec<u8>>),
}

impl Codec {
    fn take(&mut self, part: &[u8]) -> io::Result<Vec<u8>> {
        Ok(std::mem::take(match self {
            Self::Compress(packer) => {
                packer.write_all(part)?;
                packer.get_mut()
            }
            Self::Decompress(packer) => {
                packer.write_all(part)?;
                packer.get_mut()
            }
        }))
    }

    /// Returns the rest; an error if the input is truncated.
    fn end(self) -> io::Result<Vec<u8>> {
        match self {
            Self::Compress(packer) => packer.finish(),
            Self::Decompress(packer) => packer.finish(),
        }
    }
}

/// A body that is recoded while it is sent.
struct Recoded {
    body: Body,
    /// `None` once everything was sent or an error occurred.
    packer: Option<Codec>,
    /// Input that was not recoded yet.
    left: Bytes,
}

impl HttpBody for Recoded {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        loop {
            let Some(packer) = &mut this.packer else { return Poll::Ready(None) };
            let recoded = if this.left.is_empty() {
                match ready!(Pin::new(&mut this.body).poll_frame(context)) {
                    Some(Ok(frame)) => {
                        this.left = frame.into_data().unwrap_or_default();
                        continue;
                    }
                    Some(Err(error)) => {
                        this.packer = None;
                        return Poll::Ready(Some(Err(error)));
                    }
                    None => this.packer.take().map_or(Ok(Vec::new()), Codec::end),
                }
            } else {
                packer.take(&this.left.split_to(MAX_STEP_BYTES.min(this.left.len())))
            };
            match recoded {
                Ok(bytes) if bytes.is_empty() => {}
                Ok(bytes) => return Poll::Ready(Some(Ok(Frame::data(bytes.into())))),
                Err(error) => {
                    this.packer = None;
                    return Poll::Ready(Some(Err(BodyError::Broken(error.into()))));
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.packer.is_none()
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    fn request(accepted: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(accepted))])
    }

    fn response(coding: Option<&'static str>, bytes: &[u8]) -> Response<Body> {
        let mut response = Response::new(Body::from(Bytes::copy_from_slice(bytes)));
        let headers = response.headers_mut();
        headers.insert(header::ETAG, HeaderValue::from_static("\"a\""));
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(bytes.len()));
        let coding = coding.map(HeaderValue::from_static);
        headers.extend(coding.map(|coding| (header::CONTENT_ENCODING, coding)));
        response
    }

    fn head(method: Method) -> Head {
        Head { method, headers: HeaderMap::new() }
    }

    async fn bytes(response: Response<Body>) -> Vec<u8> {
        response.into_body().collect().await.unwrap().to_bytes().to_vec()
    }

    /// Long data that is neither uniform nor random.
    fn plain() -> Vec<u8> {
        (0..300_000u32).map(|number| (number % 251 * (number >> 12)) as u8).collect()
    }

    #[tokio::test]
    async fn a_response_is_packed_and_unpacked_to_the_same_bytes() {
        let plain = plain();
        let requested = Head { headers: request("identity;q=0, gzip"), ..head(Method::GET) };
        let packed = recoded(&requested, response(None, &plain));
        assert_eq!(packed.headers()["content-encoding"], "gzip");
        assert_eq!(packed.headers()["etag"], "W/\"a\"");
        assert_eq!(packed.headers()["vary"], "Accept-Encoding");
        assert!(!packed.headers().contains_key("content-length"));
        let packed = bytes(packed).await;
        assert!(packed.len() < plain.len());
        for accepted in ["", "gzip;q=0", "br"] {
            let requested = Head { headers: request(accepted), ..head(Method::GET) };
            let unpacked = recoded(&requested, response(Some("x-gzip"), &packed));
            assert!(!unpacked.headers().contains_key("content-encoding"));
            assert_eq!(bytes(unpacked).await, plain);
        }
    }

    #[tokio::test]
    async fn a_response_in_an_accepted_coding_or_in_none_that_can_be_made_stays_as_it_is() {
        for (accepted, coding) in
            [("gzip", Some("gzip")), ("gzip", None), ("identity", Some("br")), ("*;q=0", None)]
        {
            let requested = Head { headers: request(accepted), ..head(Method::GET) };
            let same = recoded(&requested, response(coding, b"bytes"));
            assert_eq!(same.headers()["content-length"], "5");
            assert_eq!(bytes(same).await, b"bytes");
        }
        let requested = Head { headers: request("identity;q=0, gzip"), ..head(Method::GET) };
        let mut passed = response(None, b"bytes");
        passed.extensions_mut().insert(KeepsCoding);
        let passed = recoded(&requested, passed);
        assert!(!passed.headers().contains_key("vary"), "it is the server's");
        assert_eq!(bytes(passed).await, b"bytes");
    }

    #[tokio::test]
    async fn the_answer_to_head_has_the_fields_of_the_recoded_response() {
        let requested = Head { headers: request("identity;q=0, gzip"), ..head(Method::HEAD) };
        let mut typed = response(None, b"bytes");
        typed.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        let of = recoded(&requested, typed.map(|_| Body::empty()));
        assert_eq!(of.headers()["content-encoding"], "gzip");
        assert!(!of.headers().contains_key("content-length") && of.body().is_end_stream());
    }

    #[tokio::test]
    async fn packed_bytes_that_are_damaged_or_end_early_break_off() {
        let requested = Head { headers: request("identity;q=0, gzip"), ..head(Method::GET) };
        let packed = bytes(recoded(&requested, response(None, &plain()))).await;
        let requested = Head { headers: request(""), ..head(Method::GET) };
        for damaged in [&packed[..packed.len() / 2], &packed[..packed.len() - 1], b"no gzip"] {
            let unpacked = recoded(&requested, response(Some("gzip"), damaged));
            assert!(unpacked.into_body().collect().await.is_err());
        }
    }
}
