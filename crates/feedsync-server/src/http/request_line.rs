//! Request targets with characters that a URI must not contain, such as `"` and `<`, which CouchDB accepts.
//!
//! hyper refuses such a request with 400 and no body, before any handler runs. This stream percent-encodes
//! these characters in request lines, before hyper reads them. hyper alone decides where a request ends: a
//! request line begins at the offset that follows from the `Content-Length` that hyper accepted. Where that
//! is not known (a chunked body, an upgrade, a request that was sent before the one before it was read) the
//! rest of the connection passes unchanged.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use http::{HeaderMap, Method, header};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Maximum number of bytes that are read at once where a request line may be among them.
const CHUNK: usize = 8 << 10;

/// Position of the reader in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Position {
    /// Before the space that ends the method; `true` if the line is empty so far.
    Method(bool),
    /// Between the two spaces of the request line.
    Target,
    /// Behind the target; `true` if the line is empty so far.
    Fields(bool),
    /// Behind the empty line that ends the head.
    Body,
}

/// State of the bytes that hyper was given.
#[derive(Debug)]
struct Progress {
    position: Position,
    /// Number of bytes that hyper was given.
    given: u64,
    /// Offset behind the last head.
    head_end: u64,
    /// Offset of the next request line, once hyper has read the head before it.
    next: Option<u64>,
    /// Whether the next request line cannot be found any more.
    is_lost: bool,
}

/// Handle by which the service of a connection reports each request that hyper has read.
#[derive(Debug, Clone)]
pub(crate) struct RequestLines(Arc<Mutex<Progress>>);

/// Stream of a connection whose request lines are percent-encoded where that is needed.
#[derive(Debug)]
pub(crate) struct Encoded<S> {
    stream: S,
    lines: RequestLines,
    /// Bytes that were read and not yet given to hyper.
    ready: Vec<u8>,
}

impl RequestLines {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Progress {
            position: Position::Method(true),
            given: 0,
            head_end: 0,
            next: None,
            is_lost: false,
        })))
    }

    /// Wraps the stream of the connection.
    pub(crate) fn of<S>(&self, stream: S) -> Encoded<S> {
        Encoded { stream, lines: self.clone(), ready: Vec::new() }
    }

    /// Records that hyper has read the head of a request: the next request line follows its body.
    pub(crate) fn head(&self, method: &Method, headers: &HeaderMap) {
        let mut progress = self.progress();
        let is_framed = headers.contains_key(header::TRANSFER_ENCODING)
            || headers.contains_key(header::UPGRADE)
            || *method == Method::CONNECT;
        let length = match headers.get(header::CONTENT_LENGTH) {
            None => Some(0),
            Some(length) => length.to_str().ok().and_then(|length| length.trim().parse().ok()),
        };
        let next = length.and_then(|length: u64| progress.head_end.checked_add(length));
        let next = next.filter(|next| !is_framed && *next >= progress.given);
        progress.is_lost |= next.is_none() || progress.position != Position::Body;
        progress.next = next;
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress {
    /// Number of bytes that pass unchanged, if it is known.
    fn unchanged(&self) -> Option<u64> {
        match (self.is_lost, self.position, self.next) {
            (true, ..) => Some(u64::MAX),
            (false, Position::Body, Some(next)) => Some(next - self.given).filter(|left| *left > 0),
            _ => None,
        }
    }

    /// Appends a byte in the form that hyper reads.
    fn push(&mut self, out: &mut Vec<u8>, byte: u8) {
        if self.position == Position::Body && self.next == Some(self.given + out.len() as u64) {
            self.next = None;
            self.position = Position::Method(true);
        }
        if self.position == Position::Target && must_be_encoded(byte) {
            const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
            let [high, low] = [byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)]);
            out.extend([b'%', high, low]);
            return;
        }
        out.push(byte);
        self.position = match (self.position, byte) {
            // Empty lines before a request are skipped.
            (Position::Method(true), b'\r' | b'\n') => Position::Method(true),
            (Position::Method(_), b' ') => Position::Target,
            (Position::Method(_) | Position::Target, b'\n') => Position::Fields(true),
            (Position::Method(_), _) => Position::Method(false),
            (Position::Target, b' ') => Position::Fields(false),
            (Position::Fields(true), b'\n') => {
                self.head_end = self.given + out.len() as u64;
                Position::Body
            }
            (Position::Fields(true), b'\r') | (Position::Fields(_), b'\n') => {
                Position::Fields(true)
            }
            (Position::Fields(_), _) => Position::Fields(false),
            (position, _) => position,
        };
    }
}

/// Whether clients send this byte in a request target although RFC 3986 forbids it.
fn must_be_encoded(byte: u8) -> bool {
    matches!(byte, b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}') || byte >= 0x80
}

impl<S: AsyncRead + Unpin> AsyncRead for Encoded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { stream, lines, ready } = &mut *self;
        if ready.is_empty() {
            let unchanged = lines.progress().unchanged();
            if unchanged.is_some_and(|most| most >= buffer.remaining() as u64) {
                let before = buffer.filled().len();
                ready!(Pin::new(stream).poll_read(context, buffer))?;
                lines.progress().given += (buffer.filled().len() - before) as u64;
                return Poll::Ready(Ok(()));
            }
            let most = unchanged.and_then(|most| usize::try_from(most).ok()).unwrap_or(CHUNK);
            let mut chunk = [0; CHUNK];
            let mut chunk = ReadBuf::new(&mut chunk[..most.min(CHUNK)]);
            ready!(Pin::new(stream).poll_read(context, &mut chunk))?;
            let mut progress = lines.progress();
            for byte in chunk.filled() {
                progress.push(ready, *byte);
            }
            progress.given += ready.len() as u64;
        }
        let most = ready.len().min(buffer.remaining());
        buffer.put_slice(&ready[..most]);
        ready.drain(..most);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Encoded<S> {
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

    /// Returns the bytes that hyper reads if they arrive in pieces of these lengths, and hyper reports each
    /// head once it has it.
    fn read(requests: &[(String, String)], pieces: &[usize]) -> String {
        let lines = RequestLines::new();
        let all: Vec<u8> =
            requests.iter().flat_map(|(head, body)| format!("{head}{body}").into_bytes()).collect();
        let (mut out, mut rest, mut at) = (Vec::new(), &all[..], 0);
        let mut pieces = pieces.iter().cycle();
        // Offsets of the ends of heads and of requests in the sent bytes.
        let mut ends = requests.iter().scan(0, |end, (head, body)| {
            let head_end = *end + head.len();
            *end = head_end + body.len();
            Some((head_end, *end, body.len()))
        });
        let mut next = ends.next();
        while !rest.is_empty() {
            // A client waits for its response before it sends the next request.
            let end = next.map_or(all.len(), |(_, end, _)| end);
            let most = (*pieces.next().unwrap()).clamp(1, (end - at).max(1));
            let (piece, later) = rest.split_at(most.min(rest.len()));
            (rest, at) = (later, at + piece.len());
            let mut ready = Vec::new();
            let mut progress = lines.progress();
            piece.iter().for_each(|byte| progress.push(&mut ready, *byte));
            progress.given += ready.len() as u64;
            drop(progress);
            out.extend(ready);
            if let Some((head_end, end, length)) = next {
                if at >= head_end && lines.progress().next.is_none() {
                    let mut headers = HeaderMap::new();
                    headers.insert(header::CONTENT_LENGTH, length.into());
                    lines.head(&Method::GET, &headers);
                }
                if at >= end {
                    next = ends.next();
                }
            }
        }
        String::from_utf8_lossy(&out).into_owned()
    }

    proptest! {
        /// Request lines are encoded, and nothing else is changed, however the bytes are split.
        #[test]
        fn request_lines_alone_are_encoded(
            bodies in prop::collection::vec("(\"|GET \"x\" HTTP/1.1\r\n|\r\n\r\n|<|[a-z]){0,6}", 1..4),
            pieces in prop::collection::vec(1..60_usize, 1..8),
        ) {
            let head = |target: &str| format!("GET {target} HTTP/1.1\r\nX: \"<\" \"\r\n\r\n");
            let request = |target: &str| -> Vec<(String, String)> {
                bodies.iter().map(|body| (head(target), body.clone())).collect()
            };
            let text = |requests: Vec<(String, String)>| -> String {
                requests.into_iter().map(|(head, body)| head + &body).collect()
            };
            let given = read(&request("/a\"b?k=\"<{|}>\"&\u{e4}"), &pieces);
            prop_assert_eq!(given, text(request("/a%22b?k=%22%3C%7B%7C%7D%3E%22&%C3%A4")));
        }
    }

    /// Bytes pass unchanged once the start of the next request is unknown.
    #[test]
    fn a_request_whose_end_is_unknown_ends_the_encoding() {
        let line = "GET /\" HTTP/1.1\r\n\r\n";
        let push = |lines: &RequestLines, text: &str| {
            let mut ready = Vec::new();
            let mut progress = lines.progress();
            text.bytes().for_each(|byte| progress.push(&mut ready, byte));
            progress.given += ready.len() as u64;
            String::from_utf8(ready).unwrap()
        };
        for (name, value, rest) in [
            ("transfer-encoding", "chunked", ""),
            ("upgrade", "websocket", ""),
            ("content-length", "x", ""),
            // The request was sent before the first one was read.
            ("accept", "*/*", line),
        ] {
            let lines = RequestLines::new();
            let first = push(&lines, &format!("{line}{rest}"));
            assert_eq!(first, format!("GET /%22 HTTP/1.1\r\n\r\n{rest}"));
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            lines.head(&Method::GET, &headers);
            assert_eq!(lines.progress().unchanged(), Some(u64::MAX), "{name}");
        }
    }
}
