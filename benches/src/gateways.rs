//! A gateway in a separate process, and requests to its control port.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use feedsync_gateway::{Config, StoreConfig, start};

use crate::keepalive::Connection;
use crate::memory::first_line;
use crate::process::child;
use crate::sample;

/// A gateway in a separate process.
pub(crate) struct Gateway {
    pub(crate) child: Child,
    /// Address of the proxy.
    pub(crate) proxy: String,
    control: String,
    token: String,
}

impl Gateway {
    /// Starts a gateway that may reach an origin.
    pub(crate) fn start(directory: &Path, origin: &str) -> Self {
        let directory = directory.to_str().expect("UTF-8");
        let mut child = child(&["gateway", directory, origin]).spawn().expect("a child");
        let line = first_line(&mut child);
        let (proxy, control) = line.split_once(' ').expect("two addresses");
        let token = fs::read_to_string(Path::new(directory).join("control.token"));
        let token = token.expect("a token").trim().to_owned();
        Self { child, proxy: proxy.to_owned(), control: control.to_owned(), token }
    }

    /// Subscribes to a feed and its related resources with these credentials, and waits until all are stored.
    pub(crate) async fn subscribe(&self, feed: &str, authorization: Option<&str>) {
        let headers = authorization.map(|value| {
            format!(",\"headers\":[{{\"name\":\"Authorization\",\"value\":\"{value}\"}}]")
        });
        let headers = headers.unwrap_or_default();
        let body = format!("{{\"feed\":\"{feed}\",\"follows\":[\"related\"]{headers}}}");
        let answer = self.ask("POST", "/subscriptions", &body).await;
        assert!(answer.contains("\"feed\""), "{answer}");
        self.settled().await;
    }

    /// Waits until nothing is being fetched.
    pub(crate) async fn settled(&self) {
        let began = Instant::now();
        loop {
            let answer = self.ask("GET", "/subscriptions", "").await;
            assert!(!answer.contains("\"PAUSED\""), "{answer}");
            if answer.contains("\"WAITING\"")
                && !["\"READY\"", "\"FETCHING\""].iter().any(|state| answer.contains(state))
            {
                return;
            }
            assert!(began.elapsed() < Duration::from_secs(600), "{answer}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Sends a request to the control port.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: &str) -> String {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.control,
            self.token,
            body.len()
        );
        let answer = Connection::open(&self.control).await.exchange(request.as_bytes()).await;
        let text = String::from_utf8(answer.body).expect("JSON");
        assert!((200..300).contains(&answer.status), "{method} {path}: {text}");
        text
    }

    pub(crate) fn end(mut self) {
        // The gateway stops at the end of its standard input.
        drop(self.child.stdin.take());
        self.child.wait().expect("a gateway that ends");
    }
}

/// Runs a gateway until the standard input ends; prints the addresses of its proxy and its control port.
pub(crate) fn serve(directory: &Path, origin: &str) {
    sample::runtime().block_on(async {
        let config = Config {
            listen: ([127, 0, 0, 1], 0).into(),
            allow: vec![origin.parse().expect("an authority")],
            ..Config::default()
        };
        let keep = StoreConfig {
            control: ([127, 0, 0, 1], 0).into(),
            ..StoreConfig::new(directory.to_owned())
        };
        let running = start(&config, &keep, input_ends()).await.expect("a gateway");
        println!("{} {}", running.address(), running.control());
        running.finished().await.expect("a gateway that ends in order");
    });
}

/// Completes when the standard input ends.
pub(crate) async fn input_ends() {
    let end = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    // An error also means that the parent process is gone.
    let _ = end.await;
}
