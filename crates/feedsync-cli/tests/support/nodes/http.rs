//! A minimal HTTP/1.1 client. An incomplete response is an error, and does not count as an acknowledgement.

use std::io::{self, Read, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Host header of every request, so that all nodes write the same links.
pub(crate) const HOST: &str = "localhost:4287";

/// Read timeout of a response.
const READ_TIMEOUT: Duration = Duration::from_secs(20);

/// A complete response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }
}

/// Sends one request on a separate connection.
pub(crate) fn ask(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> io::Result<Answer> {
    let mut all = vec![("Connection", "close")];
    all.extend(headers);
    let mut stream = send(address, method, path, &all, body)?;
    stream.set_read_timeout(Some(READ_TIMEOUT))?;
    let head = head(&mut stream)?;
    let body = match (head.status, Length::of(&head.headers)) {
        (204 | 304, _) => Vec::new(),
        (_, Length::Known(length)) => {
            let mut body = vec![0; length];
            stream.read_exact(&mut body)?;
            body
        }
        (_, Length::Chunked) => {
            let mut body = Vec::new();
            let mut chunks = Chunks::default();
            while !chunks.ended {
                let mut bytes = [0; 4_096];
                match stream.read(&mut bytes)? {
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    count => chunks.push(&bytes[..count], &mut body),
                }
            }
            body
        }
    };
    Ok(Answer { status: head.status, headers: head.headers, body })
}

/// A stream of events, as bytes.
pub(crate) struct Events {
    stream: TcpStream,
    chunks: Chunks,
}

impl Events {
    /// Opens a stream; returns the status if it is refused.
    pub(crate) fn open(
        address: SocketAddr,
        path: &str,
        headers: &[(&str, &str)],
    ) -> io::Result<Result<Self, u16>> {
        let mut stream = send(address, "GET", path, headers, b"")?;
        stream.set_read_timeout(Some(READ_TIMEOUT))?;
        let head = head(&mut stream)?;
        if head.status != 200 {
            return Ok(Err(head.status));
        }
        assert_eq!(header(&head.headers, "content-type"), Some("text/event-stream"));
        stream.set_read_timeout(Some(Duration::from_millis(200)))?;
        Ok(Ok(Self { stream, chunks: Chunks::default() }))
    }

    /// Appends the bytes received so far; false after the end of the stream.
    pub(crate) fn read(&mut self, text: &mut Vec<u8>) -> bool {
        let mut bytes = [0; 4_096];
        match self.stream.read(&mut bytes) {
            Ok(0) => false,
            Ok(count) => {
                self.chunks.push(&bytes[..count], text);
                !self.chunks.ended
            }
            Err(error) => {
                matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
            }
        }
    }
}

fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {HOST}\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    stream.write_all(&[head.as_bytes(), body].concat())?;
    Ok(stream)
}

struct Head {
    status: u16,
    headers: Vec<(String, String)>,
}

/// Reads up to the empty line, and no byte further.
fn head(stream: &mut TcpStream) -> io::Result<Head> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        bytes.push(byte[0]);
    }
    let text = String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData)?;
    let mut lines = text.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let headers = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
    Ok(Head { status: status.ok_or(io::ErrorKind::InvalidData)?, headers: headers.collect() })
}

fn header<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
}

enum Length {
    Known(usize),
    Chunked,
}

impl Length {
    fn of(headers: &[(String, String)]) -> Self {
        match header(headers, "content-length").and_then(|length| length.parse().ok()) {
            Some(length) => Self::Known(length),
            None => Self::Chunked,
        }
    }
}

/// Decoder of the chunked transfer coding.
#[derive(Default)]
struct Chunks {
    line: Vec<u8>,
    left: usize,
    ended: bool,
}

impl Chunks {
    fn push(&mut self, bytes: &[u8], body: &mut Vec<u8>) {
        for &byte in bytes {
            if self.left > 0 {
                body.push(byte);
                self.left -= 1;
                continue;
            }
            self.line.push(byte);
            if byte != b'\n' || self.line == b"\r\n" {
                if self.line == b"\r\n" {
                    self.line.clear();
                }
                continue;
            }
            let text = String::from_utf8_lossy(&self.line).trim().to_owned();
            self.line.clear();
            self.left = usize::from_str_radix(&text, 16).expect("the length of a chunk");
            self.ended |= self.left == 0;
        }
    }
}
