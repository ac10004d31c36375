//! Replications with databases of other servers, and their credentials.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};

use feedsync_server::{Config, serve};
use http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::super::said;
use super::{ask, couch};
use crate::access::world::{World, basic, bearer};
use crate::hub::request;

pub(super) const PASSWORD: &str = "correct-horse-battery";

/// Another hub, with the user `root` and its database `db`, which has the document `far`.
pub(super) struct OtherHub {
    /// Its address, without a scheme.
    pub(super) address: String,
    world: World,
    _directory: TempDir,
}

impl OtherHub {
    pub(super) async fn new() -> Self {
        let directory = TempDir::new().unwrap();
        let world = World::in_database(directory.path()).await;
        world.password("root", PASSWORD).await;
        let config = Config { listen: vec![([127, 0, 0, 1], 0).into()], ..Config::default() };
        let serving = serve(world.endpoint.clone(), config, std::future::pending()).await.unwrap();
        let other = Self {
            address: format!("{}/couch/db", serving.address()),
            world,
            _directory: directory,
        };
        for path in ["/couch/db", "/couch/db/far"] {
            assert_eq!(other.ask(Method::PUT, path, "{}").await, 201);
        }
        other
    }

    async fn ask(&self, method: Method, path: &str, body: &'static str) -> u16 {
        use tower::ServiceExt as _;
        let root = bearer(&self.world.access("root").await);
        let headers = [super::JSON, ("authorization", &*root)];
        let request = request(method, path, &headers, body.into());
        said(self.world.router.clone().oneshot(request).await.unwrap()).await.0
    }
}

/// Collects all log records.
#[derive(Clone, Default)]
pub(super) struct Log(pub(super) Arc<Mutex<String>>);

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut self.clone());
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = writeln!(self.0.lock().unwrap(), "{}={value:?}", field.name());
    }
}

#[tokio::test]
async fn another_hub_is_replicated_with_each_form_of_credentials() {
    let (couch, other) = (couch().await, OtherHub::new().await);
    let url = format!("http://{}", other.address);
    let basic_auth = json!({"basic": {"username": "root", "password": PASSWORD}});
    for (target, source) in [
        ("a", json!({"url": url, "auth": basic_auth})),
        ("b", json!(format!("http://root:{PASSWORD}@{}", other.address))),
        ("c", json!({"url": url, "headers": {"Authorization": basic("root", PASSWORD)}})),
    ] {
        let request = json!({"source": source, "target": target, "create_target": true});
        let (status, report) = couch.start(&request).await;
        assert_eq!((status, &report["history"][0]["docs_written"]), (200, &json!(1)), "{report}");
        couch.await_document(&format!("/{target}/far")).await;
    }
    // In the other direction, into a new database.
    couch.put("/db/near", "{}").await;
    let target = json!({"url": format!("{url}2"), "auth": basic_auth});
    let request = json!({"source": "db", "target": target, "create_target": true});
    assert_eq!(couch.start(&request).await.0, 200);
    assert_eq!(other.ask(Method::GET, "/couch/db2/near", "").await, 200);
    let missing = json!({"url": format!("{url}3"), "auth": basic_auth});
    let (status, report) = couch.start(&json!({"source": missing, "target": "db"})).await;
    assert_eq!((status, &report["reason"]), (404, &json!(format!("could not open {url}3"))));
}

#[tokio::test]
async fn credentials_are_neither_shown_nor_logged() {
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(log.clone());
    let (couch, other) = (couch().await, OtherHub::new().await);
    let url = format!("http://{}", other.address);
    let encoded = basic("root", PASSWORD).split_once(' ').unwrap().1.to_owned();
    let mut shown = String::new();
    for (target, source) in [
        ("a", json!({"url": url, "auth": {"basic": {"username": "root", "password": PASSWORD}}})),
        ("b", json!(format!("http://root:{PASSWORD}@{}?{PASSWORD}", other.address))),
        (
            "c",
            json!({"url": url, "headers": {"Authorization": basic("root", PASSWORD), "X-Secret": PASSWORD}}),
        ),
    ] {
        let request =
            json!({"source": source, "target": target, "create_target": true, "continuous": true});
        let (status, begun) = couch.start(&request).await;
        assert_eq!(status, 202, "{begun}");
        couch.await_document(&format!("/{target}/far")).await;
        for path in ["/_active_tasks", "/_scheduler/jobs"] {
            let (_, report) = couch.get(path).await;
            assert!(report.to_string().contains(&url), "{report}");
            shown.push_str(&report.to_string());
        }
        shown.push_str(&begun.to_string());
        let mut cancel = request;
        cancel["cancel"] = json!(true);
        assert_eq!(couch.start(&cancel).await.0, 200);
    }
    // A refusal does not repeat them.
    let wrong = format!("{PASSWORD}-not");
    for source in [
        json!(format!("http://root:{wrong}@{}", other.address)),
        json!(format!("ftp://root:{wrong}@{}", other.address)),
        json!({"url": url, "headers": {"X\n": wrong}}),
        json!({"url": url, "auth": {"basic": {"username": "root", "password": wrong}}, "other": wrong}),
    ] {
        let (status, report) = couch.start(&json!({"source": source, "target": "a"})).await;
        assert!(status >= 400, "{report}");
        shown.push_str(&report.to_string());
    }
    let log = log.0.lock().unwrap();
    // Which messages are enabled depends on other tests in the same process.
    assert!(!log.is_empty());
    for secret in [PASSWORD, &encoded] {
        assert!(!shown.contains(secret), "{shown}");
        assert!(!log.contains(secret), "{log}");
    }
}

/// A server that answers each request with this response; returns its address, and what it receives.
async fn answering(response: String) -> (String, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let received = Arc::new(Mutex::new(String::new()));
    let requests = Arc::clone(&received);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut buffer = vec![0; 16 << 10];
            let length = stream.read(&mut buffer).await.unwrap();
            requests.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..length]));
            let _ = stream.write_all(response.as_bytes()).await;
        }
    });
    (address, received)
}

#[tokio::test]
async fn secrets_are_not_sent_to_the_target_of_a_redirect() {
    let couch = couch().await;
    let refusal = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let (second, received) = answering(refusal.to_owned()).await;
    let redirect = format!(
        "HTTP/1.1 302 Found\r\nlocation: http://{second}/db\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    let (first, sent) = answering(redirect).await;
    let headers =
        json!({"Authorization": "Bearer secret-1", "X-Key": "secret-2", "Cookie": "secret-3"});
    let source = json!({"url": format!("http://{first}/db"), "headers": headers});
    assert_eq!(couch.start(&json!({"source": source, "target": "db"})).await.0, 404);
    let (sent, received) = (sent.lock().unwrap(), received.lock().unwrap());
    for secret in ["secret-1", "secret-2", "secret-3"] {
        assert!(sent.contains(secret), "{sent}");
    }
    assert!(received.starts_with("GET /db ") && !received.contains("secret"), "{received}");
}

/// Without `_replicate`, a hub with users shows no tasks to others, and an empty list to administrators.
#[tokio::test]
async fn tasks_are_listed_for_administrators() {
    let other = OtherHub::new().await;
    let hub = crate::hub::TestHub {
        router: other.world.router.clone(),
        endpoint: other.world.endpoint.clone(),
    };
    let couch = super::Couch { hub, _directory: TempDir::new().unwrap() };
    let root = bearer(&other.world.access("root").await);
    let found = ask(&couch, &root, Method::GET, "/_active_tasks", &Value::Null).await;
    assert_eq!(found, (200, json!([])));
}
