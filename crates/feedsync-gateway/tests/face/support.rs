//! Origins and applications that send given bytes, and a gateway between them.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use feedsync_gateway::proxy::{Serving, serve_with};
use feedsync_gateway::upstream::{Origins, Resolve};
use feedsync_gateway::{Config, Limits};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// Timeout that exceeds the duration of every step.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// An origin on a socket.
pub(crate) struct Origin {
    pub(crate) address: SocketAddr,
    received: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Origin {
    /// Answers each request with these bytes, and keeps the connection open.
    pub(crate) async fn saying(answer: impl Into<Vec<u8>>) -> Self {
        Self::new(answer.into(), false).await
    }

    /// Answers one request with these bytes, and closes the connection.
    pub(crate) async fn saying_and_closing(answer: impl Into<Vec<u8>>) -> Self {
        Self::new(answer.into(), true).await
    }

    async fn new(answer: Vec<u8>, closing: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let received = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&received);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (seen, answer) = (Arc::clone(&seen), answer.clone());
                tokio::spawn(async move {
                    while let Some(request) = message(&mut stream).await {
                        seen.lock().unwrap().push(request);
                        if stream.write_all(&answer).await.is_err() || closing {
                            return;
                        }
                    }
                });
            }
        });
        Self { address, received }
    }

    /// All requests so far, as they were received.
    pub(crate) fn received(&self) -> Vec<String> {
        let received = self.received.lock().unwrap();
        received.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect()
    }

    /// The last request, as it was received.
    pub(crate) fn last(&self) -> Vec<u8> {
        self.received.lock().unwrap().last().unwrap().clone()
    }

    /// The only request.
    pub(crate) fn only(&self) -> String {
        let mut received = self.received();
        assert_eq!(received.len(), 1, "{received:?}");
        received.remove(0)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
}

/// Reads the next message, with its body.
pub(crate) async fn message(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = find(&bytes, b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let body = &bytes[end + 4..];
            let whole = if head.contains("transfer-encoding: chunked") {
                body.ends_with(b"0\r\n\r\n")
            } else {
                body.len() >= length.map_or(0, |length| length.parse().unwrap())
            };
            if whole {
                return Some(bytes);
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

pub(crate) fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|part| part == what)
}

/// A gateway that is stopped when it is dropped.
pub(crate) struct Gateway {
    pub(crate) address: SocketAddr,
    serving: Option<Serving>,
    stop: Option<oneshot::Sender<()>>,
}

impl Gateway {
    /// A gateway that mounts an origin as `o`.
    pub(crate) async fn before(origin: &Origin) -> Self {
        Self::with(&[&format!("o={}", origin.url())], &[]).await
    }

    pub(crate) async fn with(mounts: &[&str], allow: &[&str]) -> Self {
        Self::of(config(mounts, allow), Origins::default()).await
    }

    pub(crate) async fn of(config: Config, origins: Origins) -> Self {
        let (stop, stopped) = oneshot::channel();
        let shutdown = async {
            let _ = stopped.await;
        };
        let serving = serve_with(&config, origins, shutdown).await.unwrap();
        Self { address: serving.address(), serving: Some(serving), stop: Some(stop) }
    }

    pub(crate) fn serving(&self) -> &Serving {
        self.serving.as_ref().unwrap()
    }

    /// Stops the gateway, and waits until it has ended.
    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        let finished = self.serving.take().unwrap().finished();
        timeout(DEADLINE, finished).await.unwrap().unwrap();
    }

    /// Sends bytes, and reads until the gateway closes the connection.
    pub(crate) async fn raw(&self, bytes: impl AsRef<[u8]>) -> Answer {
        raw(self.address, bytes).await
    }

    /// Requests a path with additional header lines; the connection ends with the response.
    pub(crate) async fn get(&self, path: &str, headers: &[&str]) -> Answer {
        self.ask("GET", path, headers).await
    }

    pub(crate) async fn ask(&self, method: &str, path: &str, headers: &[&str]) -> Answer {
        raw(self.address, head(self.address, method, path, headers)).await
    }
}

/// Sends bytes, and reads until the connection is closed.
pub(crate) async fn raw(address: SocketAddr, bytes: impl AsRef<[u8]>) -> Answer {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes.as_ref()).await.unwrap();
    Answer::rest(&mut stream).await
}

/// Head of a request after which the connection ends.
pub(crate) fn head(address: SocketAddr, method: &str, path: &str, headers: &[&str]) -> String {
    let mut lines = vec![format!("{method} {path} HTTP/1.1"), "Connection: close".to_owned()];
    if !headers.iter().any(|line| line.to_lowercase().starts_with("host:")) {
        lines.push(format!("Host: {address}"));
    }
    lines.extend(headers.iter().map(|&line| line.to_owned()));
    format!("{}\r\n\r\n", lines.join("\r\n"))
}

pub(crate) fn config(mounts: &[&str], allow: &[&str]) -> Config {
    Config {
        listen: "127.0.0.1:0".parse().unwrap(),
        mounts: mounts.iter().map(|text| text.parse().unwrap()).collect(),
        allow: allow.iter().map(|text| text.parse().unwrap()).collect(),
        limits: Limits { drain_time: Duration::from_secs(1), ..Limits::default() },
        ..Config::default()
    }
}

/// A response, read to the end of the connection.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// Whether the connection was reset.
    pub(crate) reset: bool,
}

impl Answer {
    pub(crate) async fn rest(stream: &mut TcpStream) -> Self {
        let mut bytes = Vec::new();
        let read = timeout(DEADLINE, stream.read_to_end(&mut bytes)).await;
        let reset = read.expect("the gateway closes the connection").is_err();
        let end = find(&bytes, b"\r\n\r\n").unwrap_or(bytes.len());
        let body = bytes.get(end + 4..).unwrap_or_default().to_vec();
        Self { head: String::from_utf8_lossy(&bytes[..end]).into_owned(), body, reset }
    }

    pub(crate) fn status(&self) -> u16 {
        let status = self.head.split(' ').nth(1).unwrap_or_else(|| panic!("{self:?}"));
        status.parse().unwrap()
    }

    /// Values of a field in their order; the name is in lower case.
    pub(crate) fn values(&self, name: &str) -> Vec<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Names with their addresses.
#[derive(Debug)]
pub(crate) struct Names(pub(crate) Vec<(&'static str, SocketAddr)>);

#[async_trait::async_trait]
impl Resolve for Names {
    async fn resolve(&self, name: &str, _: u16) -> io::Result<Vec<SocketAddr>> {
        let found = self.0.iter().filter(|(known, _)| *known == name);
        Ok(found.map(|(_, address)| *address).collect())
    }
}

/// Roots of the system, and a resolver that knows only these names.
pub(crate) fn knowing(names: &[(&'static str, SocketAddr)]) -> Origins {
    Origins { resolver: Arc::new(Names(names.to_vec())), ..Origins::default() }
}
