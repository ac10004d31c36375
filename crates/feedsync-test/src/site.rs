//! A web server that responds as a test defines, including invalid responses.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A request as it arrived.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Method.
    pub method: String,
    /// Target of the request line: path and query.
    pub target: String,
    /// Headers, by their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body, as it was sent.
    pub body: Vec<u8>,
}

/// An action of the server before it closes the connection.
#[derive(Debug, Clone)]
pub enum Act {
    /// Sends bytes.
    Send(Vec<u8>),
    /// Sends nothing for a time.
    Pause(Duration),
    /// Sends bytes again and again.
    Forever(Vec<u8>),
    /// Forwards the request to another server, and sends a number of bytes of its response.
    Pass {
        /// Address of the other server.
        to: SocketAddr,
        /// Maximum number of bytes of its response that are sent.
        bytes: usize,
    },
}

/// A response: actions in order.
pub type Answer = Vec<Act>;
type Script = dyn Fn(&Asked) -> Answer + Send + Sync;

/// A running server. It stops when it is dropped.
pub struct Site {
    /// Its address, without a path.
    pub base: String,
    log: Arc<Mutex<Vec<Asked>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Site {
    /// Starts a server on a free port, with a function from requests to responses.
    pub async fn start(script: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let log = Arc::new(Mutex::new(Vec::new()));
        let script: Arc<Script> = Arc::new(script);
        let written = Arc::clone(&log);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (script, log) = (Arc::clone(&script), Arc::clone(&written));
                tokio::spawn(async move {
                    let _ = serve(stream, &*script, &log).await;
                });
            }
        });
        Self { base, log, task }
    }

    /// Returns the address of a path.
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    /// Returns the requests that arrived.
    pub fn asked(&self) -> Vec<Asked> {
        self.log.lock().unwrap().clone()
    }

    /// Returns the targets of the requests that arrived.
    pub fn targets(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.target).collect()
    }

    /// Forgets the requests that arrived so far.
    pub fn forget(&self) {
        self.log.lock().unwrap().clear();
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut stream: TcpStream,
    script: &Script,
    log: &Mutex<Vec<Asked>>,
) -> std::io::Result<()> {
    let Some(asked) = read(&mut stream).await? else { return Ok(()) };
    log.lock().unwrap().push(asked.clone());
    for act in script(&asked) {
        match act {
            Act::Send(bytes) => stream.write_all(&bytes).await?,
            Act::Pause(pause) => tokio::time::sleep(pause).await,
            Act::Forever(bytes) => loop {
                stream.write_all(&bytes).await?;
            },
            Act::Pass { to, bytes } => {
                let answer = pass(&asked, to).await?;
                stream.write_all(&answer[..answer.len().min(bytes)]).await?;
            }
        }
    }
    stream.shutdown().await
}

async fn pass(asked: &Asked, to: SocketAddr) -> std::io::Result<Vec<u8>> {
    let mut server = TcpStream::connect(to).await?;
    let mut head = format!("{} {} HTTP/1.1\r\n", asked.method, asked.target);
    for (name, value) in asked.headers.iter().filter(|(name, _)| *name != "connection") {
        head += &format!("{name}: {value}\r\n");
    }
    head += "connection: close\r\n\r\n";
    server.write_all(&[head.as_bytes(), &asked.body].concat()).await?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer).await?;
    Ok(answer)
}

async fn read(stream: &mut TcpStream) -> std::io::Result<Option<Asked>> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
    let headers: BTreeMap<_, _> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let mut body = bytes.split_off(end + 4);
    let length = headers.get("content-length").map_or(0, |text| text.parse().unwrap());
    while body.len() < length {
        if stream.read_buf(&mut body).await? == 0 {
            return Ok(None);
        }
    }
    let (method, target) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    Ok(Some(Asked { method, target, headers, body }))
}

/// Returns a response with these headers and this body.
pub fn answer(status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Answer {
    let body = body.as_ref();
    let mut head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        head += &format!("{name}: {value}\r\n");
    }
    head += "Connection: close\r\n\r\n";
    vec![Act::Send([head.as_bytes(), body].concat())]
}

/// Returns a document of a static site.
pub fn document(media_type: &str, body: impl AsRef<[u8]>) -> Answer {
    answer(200, &[("Content-Type", media_type)], body)
}

/// Returns a redirect.
pub fn redirect(status: u16, to: &str) -> Answer {
    answer(status, &[("Location", to)], "")
}

/// Returns exactly these bytes.
pub fn raw(text: impl AsRef<[u8]>) -> Answer {
    vec![Act::Send(text.as_ref().to_vec())]
}

/// Returns these bytes in gzip.
pub fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
