//! Behaviour that only real sockets show: limits of time and size, false lengths, shutdown.

use std::net::SocketAddr;
use std::time::Duration;

use feedsync_core::Format;
use feedsync_endpoint::Endpoint;
use feedsync_server::{Config, Limits, ServeError, Serving, serve};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use crate::hub::{add, create, endpoint, feed, notes, until};

struct Running {
    endpoint: Endpoint,
    serving: Serving,
    stop: oneshot::Sender<()>,
}

fn limits() -> Limits {
    Limits {
        head_time: Duration::from_millis(300),
        body_pause: Duration::from_millis(300),
        body_time: Duration::from_secs(1),
        drain_time: Duration::from_millis(500),
        ..Limits::default()
    }
}

async fn run(limits: Limits) -> Running {
    let endpoint = endpoint("hub");
    create(&endpoint, "notes", Format::Atom).await;
    let (stop, stopped) = oneshot::channel::<()>();
    let config =
        Config { listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))], limits, ..Config::default() };
    let shutdown = async {
        let _ = stopped.await;
    };
    let serving = serve(endpoint.clone(), config, shutdown).await.unwrap();
    Running { endpoint, serving, stop }
}

impl Running {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.serving.address()).await.unwrap()
    }

    /// Sends a text and reads until the hub closes the connection.
    async fn exchange(&self, text: &str) -> String {
        let mut stream = self.connect().await;
        stream.write_all(text.as_bytes()).await.unwrap();
        read_all(&mut stream).await
    }
}

async fn read_all(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let read = timeout(Duration::from_secs(10), stream.read_to_end(&mut bytes)).await;
    read.expect("the hub closes the connection").ok();
    String::from_utf8(bytes).unwrap()
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

#[tokio::test]
async fn a_hub_listens_on_loopback_only_and_tells_where() {
    for wide in ["0.0.0.0:0", "[::]:0", "192.168.0.7:0", "[::ffff:127.0.0.1]:0"] {
        let config = Config { listen: vec![wide.parse().unwrap()], ..Config::default() };
        let refused = serve(endpoint("hub"), config, std::future::pending()).await.unwrap_err();
        assert!(matches!(refused, ServeError::NotLoopback(_)), "{wide}");
        assert!(refused.to_string().contains("loopback"), "{refused}");
    }
    for (setting, config) in [
        (
            "public_base",
            Config {
                public_base: Some("https://feeds.example.org".parse().unwrap()),
                ..Config::default()
            },
        ),
        ("hosts", Config { hosts: vec!["box.lan".to_owned()], ..Config::default() }),
        (
            "trusted_proxies",
            Config { trusted_proxies: vec!["127.0.0.1/32".parse().unwrap()], ..Config::default() },
        ),
    ] {
        let config = Config { listen: vec!["127.0.0.1:0".parse().unwrap()], ..config };
        let refused = serve(endpoint("hub"), config, std::future::pending()).await.unwrap_err();
        assert!(
            refused.to_string().starts_with(&format!("with the setting {setting},")),
            "{refused}"
        );
    }
    let running = run(limits()).await;
    let address = running.serving.address();
    assert_ne!(address.port(), 0);
    let config = Config { listen: vec![address], ..Config::default() };
    let taken = serve(endpoint("other"), config, std::future::pending()).await.unwrap_err();
    assert!(matches!(taken, ServeError::Listen { .. }), "{taken}");
    let answer = running
        .exchange("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .await;
    assert_eq!(status(&answer), "200");
}

#[tokio::test]
async fn head_over_a_socket_has_no_body_and_no_false_length() {
    let running = run(limits()).await;
    add(&running.endpoint, "a").await;
    for (method, condition) in [("HEAD", ""), ("GET", "If-None-Match: *\r\n")] {
        let answer = running
            .exchange(&format!(
                "{method} /collections/notes/changes HTTP/1.1\r\nHost: localhost\r\n{condition}\
                 Connection: close\r\n\r\n"
            ))
            .await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert_eq!(body, "");
        assert!(!head.to_lowercase().contains("content-length"), "{head}");
        assert!(head.to_lowercase().contains("etag: "), "{head}");
    }
}

#[tokio::test]
async fn lies_about_the_length_store_nothing() {
    let running = run(limits()).await;
    let client = endpoint("client");
    create(&client, "notes", Format::Atom).await;
    let body = feed(Format::Atom, &[add(&client, "a").await]);
    let before = until(&running.endpoint).await;
    let post = |headers: String| {
        format!(
            "POST /collections/notes/changes HTTP/1.1\r\nHost: localhost\r\n\
             Content-Type: application/atom+xml\r\n{headers}\r\n"
        )
    };
    // A declared length above the real one, followed by waiting.
    let longer = post(format!("Content-Length: {}\r\n", body.len() + 1)) + &body;
    assert_eq!(status(&running.exchange(&longer).await), "408");
    // A declared length above the real one, followed by a disconnect.
    let mut stream = running.connect().await;
    stream.write_all(longer.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let answer = read_all(&mut stream).await;
    assert!(["", "400"].contains(&status(&answer)), "{answer}");
    // A declared length below the real one: the rest is no request.
    let shorter = post(format!("Content-Length: {}\r\n", body.len() - 9)) + &body;
    assert_eq!(status(&running.exchange(&shorter).await), "400");
    // Declared lengths that are invalid or contradictory.
    let lengths =
        ["Content-Length: x", "Content-Length: -1", "Content-Length: 1\r\nContent-Length: 2"];
    for length in lengths {
        let answer = running.exchange(&(post(format!("{length}\r\n")) + &body)).await;
        assert_eq!(status(&answer), "400", "{length}");
    }
    let chunk = post("Transfer-Encoding: chunked\r\n".to_owned()) + "zz\r\n" + &body;
    assert_eq!(status(&running.exchange(&chunk).await), "400");
    // A declared length far above the limit: refused before any of the body is sent.
    let huge = post("Content-Length: 99999999999\r\nExpect: 100-continue\r\n".to_owned());
    let answer = running.exchange(&huge).await;
    assert_eq!(status(&answer), "413", "{answer}");
    assert_eq!(until(&running.endpoint).await, before);
    let honest = post(format!("Content-Length: {}\r\nConnection: close\r\n", body.len())) + &body;
    assert_eq!(status(&running.exchange(&honest).await), "200");
}

#[tokio::test]
async fn both_a_length_and_chunks_are_refused() {
    let running = run(limits()).await;
    let answer = running
        .exchange(
            "POST /collections/notes/changes HTTP/1.1\r\nHost: localhost\r\n\
             Content-Type: application/atom+xml\r\nContent-Length: 5\r\n\
             Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        )
        .await;
    assert_eq!(status(&answer), "400", "{answer}");
}

#[tokio::test]
async fn a_slow_head_and_a_slow_body_are_given_up() {
    let running = run(limits()).await;
    let began = Instant::now();
    let mut stream = running.connect().await;
    stream.write_all(b"GET / HTTP/1.1\r\nHo").await.unwrap();
    read_all(&mut stream).await;
    assert!(began.elapsed() < Duration::from_secs(5));
    // Single bytes keep the pause short, but the total time is limited.
    let mut stream = running.connect().await;
    let head = "POST /collections/notes/changes HTTP/1.1\r\nHost: localhost\r\n\
                Content-Type: application/atom+xml\r\nContent-Length: 1000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut reader, mut writer) = stream.into_split();
    let drip = tokio::spawn(async move {
        while writer.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    let mut answer = [0; 12];
    timeout(Duration::from_secs(5), reader.read_exact(&mut answer)).await.unwrap().unwrap();
    assert_eq!(&answer, b"HTTP/1.1 408");
    drip.abort();
}

#[tokio::test]
async fn endless_headers_are_refused() {
    let running = run(limits()).await;
    let many = "X: y\r\n".repeat(20_000);
    let answer =
        running.exchange(&format!("GET / HTTP/1.1\r\nHost: localhost\r\n{many}\r\n")).await;
    assert!(["", "431"].contains(&status(&answer)), "{answer}");
    let alive = running
        .exchange("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .await;
    assert_eq!(status(&alive), "200");
}

#[tokio::test]
async fn an_event_comes_at_once_and_stopping_ends_the_stream() {
    let running = run(limits()).await;
    let mut stream = running.connect().await;
    let head = "GET /collections/notes/events HTTP/1.1\r\nHost: localhost\r\n\
                Accept-Encoding: gzip\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut seen = String::new();
    read_until(&mut stream, &mut seen, "retry: 3000").await;
    let began = Instant::now();
    add(&running.endpoint, "a").await;
    read_until(&mut stream, &mut seen, "\"id\":\"a\"").await;
    assert!(began.elapsed() < Duration::from_secs(1));
    running.stop.send(()).unwrap();
    let rest = read_all(&mut stream).await;
    assert!(rest.ends_with("0\r\n\r\n"), "the stream ends whole: {rest:?}");
    timeout(Duration::from_secs(5), running.serving.finished()).await.unwrap().unwrap();
}

async fn read_until(stream: &mut TcpStream, seen: &mut String, text: &str) {
    let mut part = [0; 1024];
    while !seen.contains(text) {
        let count = timeout(Duration::from_secs(5), stream.read(&mut part)).await.unwrap().unwrap();
        assert!(count > 0, "the stream ended: {seen}");
        seen.push_str(std::str::from_utf8(&part[..count]).unwrap());
    }
}

#[tokio::test]
async fn a_reader_that_stops_reading_holds_nobody_up_and_is_given_up() {
    let running = run(Limits { answer_pause: Duration::from_millis(500), ..limits() }).await;
    for number in 0..20_000 {
        add(&running.endpoint, &format!("item{number}")).await;
    }
    let mut stalled = running.connect().await;
    stalled
        .write_all(b"GET /collections/notes/complete HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    add(&running.endpoint, "meanwhile").await;
    let alive = running
        .exchange("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .await;
    assert_eq!(status(&alive), "200");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let rest = read_all(&mut stalled).await;
    assert!(!rest.ends_with("0\r\n\r\n"), "the answer was cut off");
    assert!(running.endpoint.collection(&notes()).await.unwrap().sent.get() == 0);
}

#[tokio::test]
async fn connections_beyond_the_bound_wait_for_room() {
    let running =
        run(Limits { connections: 1, head_time: Duration::from_secs(5), ..limits() }).await;
    let first = running.connect().await;
    let mut second = running.connect().await;
    second
        .write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut byte = [0];
    let early = timeout(Duration::from_millis(300), second.read(&mut byte)).await;
    assert!(early.is_err(), "there was room for one only");
    drop(first);
    let answer = read_all(&mut second).await;
    assert!(answer.contains("200 OK"), "{answer}");
}
