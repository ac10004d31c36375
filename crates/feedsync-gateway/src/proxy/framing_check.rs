//! Detects requests that declare their end twice, by a length and by a transfer coding.
//!
//! hyper follows the coding and drops the length before any handler sees it (RFC 9112 6.3). This stream searches
//! for both fields in the bytes that hyper reads. hyper alone decides where a request ends: a head begins at the
//! offset that follows from the length that hyper accepted. The offset is unknown after a chunked body, after an
//! upgrade, or if requests were sent before their turn (pipelined). Later heads of the connection are then not
//! checked, and the coding counts.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use http::{HeaderMap, Method, header};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Number of bytes of a line that suffice to recognise both field names.
const NAME: usize = "transfer-encoding:".len();

/// Bytes that hyper was given, and the fields found in them.
#[derive(Debug, Default)]
struct Progress {
    /// Number of bytes that hyper was given.
    given: u64,
    /// Start of the current line.
    line: Vec<u8>,
    /// Whether the head has begun.
    has_begun: bool,
    has_length: bool,
    has_coding: bool,
    /// Offset after the head, once it was read.
    end: Option<u64>,
    /// Offset of the next head, once hyper has read the one before it.
    next: Option<u64>,
    /// Whether the offset of the next head is unknown.
    is_lost: bool,
}

/// Handle by which the service of a connection reports each request that hyper has read.
#[derive(Debug, Clone, Default)]
pub(super) struct Heads(Arc<Mutex<Progress>>);

/// Stream of a connection whose heads are checked.
#[derive(Debug)]
pub(super) struct CheckedStream<S> {
    stream: S,
    heads: Heads,
}

/// Marks a request with both a length and a coding, in its extensions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AmbiguousFraming;

impl Heads {
    /// Wraps the stream of a connection.
    pub(super) fn of<S>(&self, stream: S) -> CheckedStream<S> {
        CheckedStream { stream, heads: self.clone() }
    }

    /// Records that hyper has read the head of a request; returns whether the head had both a length and a
    /// coding.
    pub(super) fn has_ambiguous_framing(&self, method: &Method, headers: &HeaderMap) -> bool {
        let mut progress = self.progress();
        let Some(end) = progress.end.filter(|_| !progress.is_lost) else { return false };
        let has_both = progress.has_length && progress.has_coding;
        let is_framed = progress.has_coding
            || headers.contains_key(header::UPGRADE)
            || *method == Method::CONNECT;
        let length = match headers.get(header::CONTENT_LENGTH) {
            None => Some(0),
            Some(length) => length.to_str().ok().and_then(|length| length.trim().parse().ok()),
        };
        let next = length.and_then(|length: u64| end.checked_add(length));
        progress.next = next.filter(|next| !is_framed && *next >= progress.given);
        progress.is_lost = progress.next.is_none();
        has_both
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress {
    fn take(&mut self, mut bytes: &[u8]) {
        while let Some((&byte, rest)) = bytes.split_first() {
            if self.is_lost {
                return;
            }
            match (self.end, self.next) {
                (None, _) => self.push(byte),
                (Some(_), Some(next)) if self.given == next => {
                    *self = Self { given: self.given, ..Self::default() };
                    self.push(byte);
                }
                (Some(_), next) => {
                    let left = next.map_or(u64::MAX, |next| next - self.given);
                    let most = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                    (bytes, self.given) = (&bytes[most..], self.given + most as u64);
                    continue;
                }
            }
            (bytes, self.given) = (rest, self.given + 1);
        }
    }

    /// Processes a byte of a head.
    fn push(&mut self, byte: u8) {
        if byte != b'\n' {
            if self.line.len() < NAME {
                self.line.push(byte);
            }
            return;
        }
        let is_empty = matches!(&self.line[..], [] | [b'\r']);
        // Empty lines before a request are skipped.
        match is_empty {
            true if self.has_begun => self.end = Some(self.given + 1),
            true => {}
            false => self.has_begun = true,
        }
        let is = |name: &str| {
            let begins = self.line.get(..name.len());
            begins.is_some_and(|begins| begins.eq_ignore_ascii_case(name.as_bytes()))
        };
        self.has_length |= is("content-length:");
        self.has_coding |= is("transfer-encoding:");
        self.line.clear();
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for CheckedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.heads.progress().take(&buffer.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CheckedStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TWO: &str = "content-length: 3\r\nTransfer-Encoding: chunked\r\n";

    /// Results for several requests in sequence, which arrive in pieces of the given size. Each request is given
    /// by the fields of its head and its body.
    fn found(requests: &[(&str, &str)], piece: usize) -> Vec<bool> {
        let heads = Heads::default();
        let found = requests.iter().map(|(fields, body)| {
            let request = format!("POST /content-length: HTTP/1.1\r\n{fields}\r\n{body}");
            let mut headers = HeaderMap::new();
            let length = body.len().to_string();
            headers.insert(header::CONTENT_LENGTH, length.parse().unwrap());
            let mut pieces = request.as_bytes().chunks(piece);
            // hyper reports a head as soon as it has it.
            let mut two = None;
            for piece in &mut pieces {
                heads.progress().take(piece);
                let has_head = {
                    let progress = heads.progress();
                    progress.end.is_some() && progress.next.is_none()
                };
                if two.is_none() && has_head {
                    two = Some(heads.has_ambiguous_framing(&Method::POST, &headers));
                }
            }
            two.unwrap_or_else(|| heads.has_ambiguous_framing(&Method::POST, &headers))
        });
        found.collect()
    }

    proptest! {
        /// A length with a coding is detected for any split of the head into pieces, and never in a body.
        #[test]
        fn a_length_beside_a_coding_is_found_in_heads_alone(piece in 1..200_usize, requests in 0..4_usize) {
            let body = format!("\r\n\r\nPOST / HTTP/1.1\r\n{TWO}\r\n");
            let length = format!("Content-Length: {}\r\n", body.len());
            let mut all = vec![(&*length, &*body); requests];
            all.push((TWO, ""));
            let mut expected = vec![false; requests];
            expected.push(true);
            prop_assert_eq!(found(&all, piece), expected);
        }
    }

    #[test]
    fn a_length_or_a_coding_alone_is_well() {
        let coding = "Transfer-Encoding: chunked\r\n";
        for fields in [
            "",
            "Content-Length: 0\r\n",
            coding,
            "X-Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        ] {
            assert_eq!(found(&[(fields, "")], 7), [false], "{fields}");
        }
        // After a chunked body the offset of the next head is unknown.
        assert_eq!(found(&[(coding, "0\r\n\r\n"), (TWO, "")], 7), [false, false]);
    }
}
