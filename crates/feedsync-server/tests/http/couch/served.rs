//! A hub that listens, as in production: with the work that it does without requests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use feedsync_client::replicate::RequestedReplications;
use feedsync_endpoint::Endpoint;
use feedsync_fetch::{Fetcher, Policy, Private};
use feedsync_server::{Config, HubParts, Serving, serve};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

/// Maximum wait for something that the hub does by itself.
const PATIENCE: Duration = Duration::from_secs(20);

/// A hub that listens.
pub(super) struct Served {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    serving: Serving,
}

/// Returns the parts of a hub that carries out replications.
pub(super) fn replicating(endpoint: Endpoint) -> HubParts {
    let fetcher = Fetcher::new(Policy::new(Private::Allowed)).unwrap();
    let replicator = Arc::new(RequestedReplications::new(fetcher));
    HubParts { replicator: Some(replicator), ..endpoint.into() }
}

impl Served {
    pub(super) async fn over(endpoint: &Endpoint) -> Self {
        let config = Config { listen: vec![([127, 0, 0, 1], 0).into()], ..Config::default() };
        let (stop, stopped) = oneshot::channel::<()>();
        let shutdown = async move { drop(stopped.await) };
        let serving = serve(replicating(endpoint.clone()), config, shutdown).await.unwrap();
        Self { address: serving.address(), stop, serving }
    }

    /// Sends a request; returns status and JSON of the response.
    pub(super) async fn ask(
        &self,
        authorization: &str,
        method: &str,
        path: &str,
        body: &Value,
    ) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let head = if authorization.is_empty() {
            String::new()
        } else {
            format!("Authorization: {authorization}\r\n")
        };
        // The body of a response to HTTP/1.0 ends with the connection.
        let request = format!(
            "{method} /couch{path} HTTP/1.0\r\nHost: {}\r\nContent-Type: application/json\r\n{head}\
             Content-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        timeout(PATIENCE, stream.read_to_string(&mut text)).await.unwrap().unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }

    pub(super) async fn get(&self, path: &str) -> (u16, Value) {
        self.ask("", "GET", path, &Value::Null).await
    }

    pub(super) async fn put(&self, path: &str, body: Value) -> (u16, Value) {
        self.ask("", "PUT", path, &body).await
    }

    /// Waits until a resource has a property; returns it.
    pub(super) async fn await_that(
        &self,
        authorization: &str,
        path: &str,
        has_property: impl Fn(u16, &Value) -> bool,
    ) -> Value {
        let mut last = Value::Null;
        let find = async {
            loop {
                let (status, found) = self.ask(authorization, "GET", path, &Value::Null).await;
                last.clone_from(&found);
                if has_property(status, &found) {
                    return;
                }
                sleep(Duration::from_millis(50)).await;
            }
        };
        let found = timeout(PATIENCE, find).await;
        assert!(found.is_ok(), "{path}: {last}");
        last
    }

    /// Stops the hub as a signal does.
    pub(super) async fn stop(self) {
        self.stop.send(()).unwrap();
        timeout(PATIENCE, self.serving.finished()).await.unwrap().unwrap();
    }
}
