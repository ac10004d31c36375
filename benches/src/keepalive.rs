//! A persistent connection for sequential requests, which are given as raw bytes.
//!
//! It does the minimum of a client's work, so that the measurement reflects the server.

use std::ops::Range;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A persistent connection.
pub(crate) struct Connection {
    stream: TcpStream,
    held: Vec<u8>,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Value of `ETag`.
    pub(crate) tag: Option<String>,
    pub(crate) body: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).await.expect("a server that listens");
        stream.set_nodelay(true).expect("a socket");
        Self { stream, held: Vec::with_capacity(64 << 10) }
    }

    /// Sends a request and reads the complete response.
    pub(crate) async fn exchange(&mut self, request: &[u8]) -> Answer {
        self.stream.write_all(request).await.expect("a server that listens");
        self.held.clear();
        let head = loop {
            self.read().await;
            if let Some(end) = self.held.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
        };
        let text = std::str::from_utf8(&self.held[..head]).expect("a head of ASCII");
        let status = text[9..12].parse().expect("a status");
        let tag = field(text, "etag").map(|range| text[range].to_owned());
        let length = match status {
            204 | 304 => Some(0),
            _ => field(text, "content-length").map(|range| text[range].parse().expect("a number")),
        };
        let body = match length {
            Some(length) => {
                self.read_to(head + length).await;
                self.held[head..head + length].to_vec()
            }
            None => self.chunks(head).await,
        };
        Answer { status, tag, body }
    }

    /// Reads the rest of a chunked body (RFC 9112 7.1).
    async fn chunks(&mut self, mut at: usize) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let line = loop {
                if let Some(length) = self.held[at..].windows(2).position(|two| two == b"\r\n") {
                    break at + length;
                }
                self.read().await;
            };
            let size = std::str::from_utf8(&self.held[at..line]).expect("a size");
            let size = usize::from_str_radix(size, 16).expect("a size");
            let begin = line + 2;
            self.read_to(begin + size + 2).await;
            body.extend_from_slice(&self.held[begin..begin + size]);
            at = begin + size + 2;
            if size == 0 {
                return body;
            }
        }
    }

    async fn read_to(&mut self, end: usize) {
        while self.held.len() < end {
            self.read().await;
        }
    }

    async fn read(&mut self) {
        let count = self.stream.read_buf(&mut self.held).await.expect("an answer");
        assert!(count > 0, "the answer broke off: {}", String::from_utf8_lossy(&self.held));
    }
}

/// Range of the value of a header field.
fn field(head: &str, name: &str) -> Option<Range<usize>> {
    let mut begin = 0;
    for line in head.split_inclusive("\r\n") {
        if let Some((known, value)) = line.split_once(':')
            && known.eq_ignore_ascii_case(name)
        {
            let from = begin + known.len() + 1 + (value.len() - value.trim_start().len());
            return Some(from..from + value.trim().len());
        }
        begin += line.len();
    }
    None
}
