//! Addresses that serve databases only, and characters that an address must not contain, over sockets.

use std::net::SocketAddr;
use std::time::Duration;

use feedsync_server::{Config, Serving, serve};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::hub::endpoint;

async fn serving(config: Config) -> Serving {
    let listen = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
    serve(endpoint("hub"), Config { listen, ..config }, std::future::pending()).await.unwrap()
}

/// Head and body of the response to a request with this target and this text after its request line.
async fn ask(address: SocketAddr, line: &str, rest: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let host = if rest.contains("Host:") { "" } else { "Host: localhost\r\n" };
    let rest = if rest.is_empty() { "\r\n" } else { rest };
    let text = format!("{line} HTTP/1.1\r\n{host}Connection: close\r\n{rest}");
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    timeout(Duration::from_secs(20), stream.read_to_end(&mut bytes)).await.unwrap().unwrap();
    let answer = String::from_utf8(bytes).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_ascii_lowercase(), body.to_owned())
}

#[tokio::test]
async fn databases_are_at_the_root_of_a_listener() {
    let couch_listen = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
    let public_base = Some("http://localhost:1/hub".parse().unwrap());
    let serving = serving(Config { couch_listen, public_base, ..Config::default() }).await;
    let [couch] = serving.couch_addresses() else { panic!("one") };
    let (head, body) = ask(*couch, "GET /", "").await;
    assert!(head.starts_with("http/1.1 200") && body.contains("\"couchdb\":\"Welcome\""), "{head}");
    assert!(head.contains("x-content-type-options: nosniff"), "{head}");
    let (head, _) = ask(*couch, "PUT /db", "").await;
    assert!(head.starts_with("http/1.1 201"), "{head}");
    assert!(head.contains("location: http://localhost/db"), "{head}");
    let (head, body) = ask(*couch, "POST /_session", "Content-Type: application/json\r\nContent-Length: 29\r\n\r\n{\"name\":\"a\",\"password\":\"b\"}  ").await;
    assert!(head.contains("set-cookie: authsession=open; path=/;"), "{head} {body}");
    // The hub serves the same database; the database address serves nothing else of the hub.
    let (head, _) = ask(serving.address(), "GET /couch/db", "").await;
    assert!(head.starts_with("http/1.1 200"), "{head}");
    let (head, _) = ask(serving.address(), "PUT /couch/other", "").await;
    assert!(head.contains("location: http://localhost:1/hub/couch/other"), "{head}");
    for (path, status) in
        [("/healthz", 404), ("/couch/db", 404), ("/pages/login", 404), ("/_utils", 404)]
    {
        let (head, body) = ask(*couch, &format!("GET {path}"), "").await;
        assert!(head.starts_with(&format!("http/1.1 {status}")), "{path}: {head}");
        assert!(body.contains("\"error\":\"not_found\""), "{path}: {body}");
    }
    // Pages of admitted origins may read these responses too, other pages may not.
    for (origin, status) in [("app://obsidian.md", 401), ("https://elsewhere.example", 403)] {
        let (head, body) = ask(*couch, "GET /db", &format!("Origin: {origin}\r\n\r\n")).await;
        assert!(head.starts_with(&format!("http/1.1 {status}")), "{head}");
        assert_eq!(head.contains(&format!("access-control-allow-origin: {origin}")), status == 401);
        assert!(body.contains("\"error\":"), "{body}");
    }
    let preflight = "Origin: app://obsidian.md\r\nAccess-Control-Request-Method: COPY\r\n\r\n";
    let (head, _) = ask(*couch, "OPTIONS /db/x", preflight).await;
    assert!(
        head.starts_with("http/1.1 204") && head.contains("access-control-allow-methods: copy"),
        "{head}"
    );
    let (head, _) = ask(*couch, "GET /", "Host: elsewhere.example\r\n\r\n").await;
    assert!(head.starts_with("http/1.1 421"), "{head}");
}

#[tokio::test]
async fn databases_are_at_the_root_of_a_host() {
    let couch_hosts = vec!["couch.localhost".to_owned()];
    let serving = serving(Config { couch_hosts, ..Config::default() }).await;
    let couch = "Host: couch.localhost:5984\r\n\r\n";
    let (head, _) = ask(serving.address(), "PUT /db", couch).await;
    assert!(head.contains("location: http://couch.localhost:5984/db"), "{head}");
    let (_, body) = ask(serving.address(), "GET /_all_dbs", couch).await;
    assert!(body.contains("\"db\""), "{body}");
    let (head, _) = ask(serving.address(), "GET /healthz", "").await;
    assert!(head.starts_with("http/1.1 200"), "{head}");
}

/// Clients send characters such as `"` unencoded, and CouchDB accepts them.
#[tokio::test]
async fn bare_characters_in_an_address_are_understood() {
    let serving = serving(Config::default()).await;
    let address = serving.address();
    assert!(ask(address, "PUT /couch/db", "").await.0.starts_with("http/1.1 201"));
    let odd = "a\"<>`^{|}\\\u{e4}";
    let (head, body) =
        ask(address, &format!("PUT /couch/db/{odd}"), "Content-Length: 2\r\n\r\n{}").await;
    assert!(head.starts_with("http/1.1 201"), "{head} {body}");
    assert!(body.contains(r#""id":"a\"<>`^{|}\\ä""#), "{body}");
    for query in ["key=\"a\"", "keys=[\"a\",\"b\"]", "startkey=\"a\"&endkey=\"a\u{fff0}\""] {
        let (head, body) = ask(address, &format!("GET /couch/db/_all_docs?{query}"), "").await;
        assert!(
            head.starts_with("http/1.1 200") && body.contains("\"rows\":["),
            "{query}: {head} {body}"
        );
    }
    // One connection, with bodies that contain text like request lines.
    let mut stream = TcpStream::connect(address).await.unwrap();
    let body = "{\"a\":\"GET /\\\"<\\\" HTTP/1.1\",\r\n\r\n\"b\":1}";
    for (line, body) in [
        ("PUT /couch/db/\"1\"", body),
        ("GET /couch/db/\"1\"", ""),
        ("GET /couch/db/_all_docs?key=\"none\"", ""),
    ] {
        let head = format!(
            "{line} HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: \"<\"\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        for piece in format!("{head}{body}").as_bytes().chunks(7) {
            stream.write_all(piece).await.unwrap();
        }
        let mut answer = Vec::new();
        let mut piece = [0; 4096];
        while !answer.ends_with(b"\n") && !answer.ends_with(b"0\r\n\r\n") {
            let read =
                timeout(Duration::from_secs(20), stream.read(&mut piece)).await.unwrap().unwrap();
            assert_ne!(read, 0, "the connection stays open");
            answer.extend_from_slice(&piece[..read]);
        }
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.starts_with("HTTP/1.1 20"), "{line}: {answer}");
        if line.starts_with("GET /couch/db/\"1\"") {
            assert!(answer.contains(r#""a":"GET /\"<\" HTTP/1.1""#), "{answer}");
        }
    }
}
