//! A gateway with a store, and a server whose responses change.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use feedsync_gateway::control::Client;
use feedsync_gateway::upstream::Origins;
use feedsync_gateway::{Config, Running, StoreConfig, start_with};
use http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tokio::time::{sleep, timeout};

use crate::support::{Answer, DEADLINE, head, message, raw};

/// A server whose responses change.
pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
    /// Whether edits are answered.
    open: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    answers: HashMap<String, String>,
    received: Vec<String>,
}

impl Site {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        let open = watch::Sender::new(true);
        let (kept, gate) = (Arc::clone(&state), open.subscribe());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (state, mut gate) = (Arc::clone(&kept), gate.clone());
                tokio::spawn(async move {
                    while let Some(request) = message(&mut stream).await {
                        let request = String::from_utf8_lossy(&request).into_owned();
                        let line = request.lines().next().unwrap();
                        let asked = line.strip_suffix(" HTTP/1.1").unwrap().to_owned();
                        state.lock().unwrap().received.push(request);
                        if !asked.starts_with("GET ") {
                            gate.wait_for(|is_open| *is_open).await.unwrap();
                        }
                        let answer = state.lock().unwrap().answers.get(&asked).cloned();
                        let Some(answer) = answer else { return };
                        stream.write_all(answer.as_bytes()).await.unwrap();
                    }
                });
            }
        });
        Self { address, state, open }
    }

    /// Sets the response to `GET /path` and the like; for other requests the connection breaks off.
    pub(crate) fn answers(&self, asked: &str, status: u16, headers: &str, body: &str) {
        let length = body.len();
        self.answers_raw(
            asked,
            &format!("HTTP/1.1 {status} Answer\r\n{headers}Content-Length: {length}\r\n\r\n{body}"),
        );
    }

    /// Sets the bytes of a response.
    pub(crate) fn answers_raw(&self, asked: &str, answer: &str) {
        self.state.lock().unwrap().answers.insert(asked.to_owned(), answer.to_owned());
    }

    /// Answers edits, or delays them.
    pub(crate) fn answers_edits(&self, does: bool) {
        self.open.send_replace(does);
    }

    /// Returns the received requests that begin with this method and path.
    pub(crate) fn received(&self, asked: &str) -> Vec<String> {
        let state = self.state.lock().unwrap();
        let of = state.received.iter().filter(|got| got.starts_with(&format!("{asked} ")));
        of.cloned().collect()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

/// A gateway with a data directory.
pub(crate) struct Kept {
    pub(crate) address: SocketAddr,
    client: Client,
    running: Running,
    stop: oneshot::Sender<()>,
    directory: TempDir,
}

impl Kept {
    pub(crate) async fn of(config: Config) -> Self {
        Self::begun(&config, TempDir::new().unwrap()).await
    }

    async fn begun(config: &Config, directory: TempDir) -> Self {
        let mut keep = StoreConfig::new(directory.path().to_owned());
        keep.control.set_port(0);
        let (stop, stopped) = oneshot::channel();
        let shutdown = async {
            let _ = stopped.await;
        };
        let running = start_with(config, &keep, Origins::default(), shutdown).await.unwrap();
        let client = Client::of(directory.path(), None).unwrap();
        let address = running.address();
        Self { address, client, running, stop, directory }
    }

    /// Restarts the gateway with the same data directory.
    pub(crate) async fn again(self, config: &Config) -> Self {
        self.again_after(config, |_| ()).await
    }

    /// Restarts the gateway after a modification of the data directory.
    pub(crate) async fn again_after(self, config: &Config, happens: impl FnOnce(&Path)) -> Self {
        drop(self.stop);
        timeout(DEADLINE, self.running.finished()).await.unwrap().unwrap();
        happens(self.directory.path());
        Self::begun(config, self.directory).await
    }

    /// Sends a request to the control port; returns the value of the response.
    pub(crate) async fn told(&self, method: Method, path: &str, value: Option<Value>) -> Value {
        self.client.ask(method, path, value.as_ref()).await.unwrap()
    }

    /// Subscribes, and waits until everything is fetched.
    pub(crate) async fn subscribe(&self, wanted: Value) {
        self.told(Method::POST, "/subscriptions", Some(wanted)).await;
        self.comes("/subscriptions", |all| {
            all.as_array().unwrap().iter().all(|one| one["state"] == "WAITING")
        })
        .await;
    }

    /// Waits until the control port returns a matching value.
    pub(crate) async fn comes(&self, path: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let waiting = async {
            loop {
                let told = self.told(Method::GET, path, None).await;
                if is_so(&told) {
                    return told;
                }
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(DEADLINE, waiting).await.unwrap_or_else(|_| panic!("{path} does not tell it"))
    }

    pub(crate) async fn network(&self, policy: &str) {
        self.told(Method::PUT, "/network", Some(json!({ "policy": policy }))).await;
    }

    /// Sends a request as to a proxy.
    pub(crate) async fn ask(&self, method: &str, url: &str, headers: &[&str]) -> Answer {
        raw(self.address, head(self.address, method, url, headers)).await
    }

    /// Sends an entry as to a proxy.
    pub(crate) async fn send(
        &self,
        method: &str,
        url: &str,
        headers: &[&str],
        entry: &str,
    ) -> Answer {
        raw(self.address, self.request(method, url, headers, entry)).await
    }

    /// A request with an entry.
    pub(crate) fn request(&self, method: &str, url: &str, headers: &[&str], entry: &str) -> String {
        let length = format!("Content-Length: {}", entry.len());
        let headers = [headers, &[ATOM.trim_end(), &length]].concat();
        format!("{}{entry}", head(self.address, method, url, &headers))
    }
}

pub(crate) const ATOM: &str = "Content-Type: application/atom+xml\r\n";

/// A feed with a collection and an editable entry.
pub(crate) const FEED: &str = "<feed xmlns=\"http://www.w3.org/2005/Atom\" \
    xmlns:app=\"http://www.w3.org/2007/app\"><id>urn:f</id><title>F</title>\
    <updated>2026-01-01T00:00:00Z</updated><app:collection href=\"feed\"/>\
    <entry><id>urn:e</id><title>E</title><updated>2026-01-01T00:00:00Z</updated>\
    <link rel=\"edit\" href=\"entry\"/><content>E</content></entry></feed>";

/// An entry with this title.
pub(crate) fn entry(title: &str) -> String {
    format!(
        "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:e</id><title>{title}</title>\
         <updated>2026-01-02T00:00:00Z</updated><content>{title}</content></entry>"
    )
}
