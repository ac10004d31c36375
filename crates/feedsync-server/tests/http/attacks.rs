//! Attacks from outside: with paths and hosts, with forms of a page of another site, with endless
//! bodies and heads.

use std::net::SocketAddr;
use std::time::Duration;

use axum::body::Body;
use feedsync_core::Format;
use feedsync_server::{Config, Limits, Right, rights, serve};
use http::{Method, StatusCode};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::hub::{TestHub, add, bytes, create, endpoint, feed, hub, json, request, until};
use crate::members::set;
use crate::offer::packed;

/// State of the hub that an attack could have changed.
async fn state(hub: &TestHub) -> (String, usize) {
    let collections = hub.endpoint.store().collections().await.unwrap();
    (until(&hub.endpoint).await, collections.len())
}

#[tokio::test]
async fn tricks_with_paths_lead_nowhere() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    for path in [
        "/collections/../healthz",
        "/collections/notes/../../healthz",
        "/collections/%2e%2e/healthz",
        "/collections/notes/%2e%2e/%2e%2e/etc/passwd",
        "/collections/notes%2fchanges",
        "/collections/notes%5c..%5c..",
        "/collections/notes%00",
        "/collections/notes%00.atom",
        "/collections//notes",
        "//collections/notes",
        "/collections/notes/",
        "/collections/notes;a=b",
        "/collections/NOTES",
        "/collections/%6eotes%20",
        "/collections/notes/items/..%2f..%2fa",
        "/collections/notes/items/a%2fmedia%2fx",
        "/collections/notes/items/%ff",
        "/collections/notes/items/a/media/..%2f..%2fhub.sqlite",
        "/pages/assets/..%2f..%2fCargo.toml",
        "/pages/assets/../../Cargo.toml",
        "/pages/assets/%2e%2e",
        "/blobs/..%2f..%2fetc%2fpasswd",
        "/healthz/..",
        "/%68ealthz%00",
    ] {
        for method in [Method::GET, Method::PUT, Method::DELETE] {
            let answer = hub.call(method.clone(), path, &[]).await;
            let status = answer.status();
            assert!(status.is_client_error(), "{method} {path}: {status}");
            let said = String::from_utf8_lossy(&bytes(answer).await).into_owned();
            assert!(!said.contains("root:") && !said.contains("[package]"), "{path}: {said}");
        }
    }
    assert_eq!(hub.feed("/collections/notes/changes").await.feed.items.len(), 1);
}

#[tokio::test]
async fn tricks_with_hosts_reach_nothing_and_get_into_no_link() {
    let hub = hub().await;
    for host in [
        "evil.example",
        "localhost.evil.example",
        "evil.example:4287",
        "localhost:4287@evil.example",
        "evil.example#localhost",
        "localhost evil.example",
        "127.0.0.1.nip.io",
        "0x7f.1",
        "2130706433",
        "[::ffff:8.8.8.8]",
        "localhost:99999",
        "\"localhost\"",
        "localhost/evil",
    ] {
        let answer = hub.call(Method::GET, "/service", &[("host", host)]).await;
        let refused = [StatusCode::MISDIRECTED_REQUEST, StatusCode::BAD_REQUEST];
        assert!(refused.contains(&answer.status()), "{host}: {}", answer.status());
    }
    // The host in an absolute request target takes precedence over the Host header.
    let absolute = "http://evil.example/service";
    let answer = hub.call(Method::GET, absolute, &[("host", "localhost:4287")]).await;
    assert_eq!(answer.status(), StatusCode::MISDIRECTED_REQUEST);
    // Only trusted proxies may declare the name of the hub.
    let said = [
        ("x-forwarded-host", "evil.example"),
        ("x-forwarded-proto", "gopher"),
        ("forwarded", "host=evil.example;proto=gopher"),
        ("x-original-url", "/collections/evil"),
        ("x-rewrite-url", "/collections/evil"),
        ("x-http-method-override", "DELETE"),
    ];
    let answer = hub.call(Method::GET, "/service", &said).await;
    assert_eq!(answer.status(), StatusCode::OK);
    let document = String::from_utf8(bytes(answer).await.to_vec()).unwrap();
    assert!(!document.contains("evil") && !document.contains("gopher"), "{document}");
    let answer = hub.call(Method::POST, "/collections/notes", &said).await;
    assert!(answer.status().is_client_error());
    assert_eq!(hub.endpoint.store().collections().await.unwrap().len(), 1);
}

/// A path of the route table with a value for each of its segments.
fn filled(template: &str) -> String {
    let segment = |segment: &str| match segment {
        "{collection}" => "notes".to_owned(),
        segment if segment.starts_with('{') => "a".to_owned(),
        segment => segment.to_owned(),
    };
    template.split('/').map(segment).collect::<Vec<_>>().join("/")
}

/// AP64: every request that a form of another site can send, to every address that accepts a POST.
#[tokio::test]
async fn forms_of_another_site_change_nothing_wherever_they_are_posted() {
    let hub = hub().await;
    set(&hub, r#"{"accept": ["*/*", "application/atom+xml;type=entry"]}"#).await;
    add(&hub.endpoint, "a").await;
    let client = endpoint("client");
    create(&client, "notes", Format::Atom).await;
    let document = feed(Format::Atom, &[add(&client, "b").await]);
    let before = state(&hub).await;
    let posted = rights().into_iter().filter(|(_, method, _)| method == Method::POST);
    let paths: Vec<_> = posted.map(|(path, ..)| path).collect();
    assert!(paths.len() > 5, "{paths:?}");
    for template in paths {
        let path = filled(&template);
        for (kind, body) in [
            ("text/plain", document.clone()),
            ("multipart/form-data; boundary=x", format!("--x\r\n\r\n{document}\r\n--x--\r\n")),
            ("application/x-www-form-urlencoded", "action=delete&title=x&base=".to_owned()),
        ] {
            for says in [
                [("origin", "http://evil.example")],
                [("origin", "null")],
                [("sec-fetch-site", "cross-site")],
                [("sec-fetch-site", "same-site")],
            ] {
                let headers = [&says[..], &[("content-type", kind)]].concat();
                let form = request(Method::POST, &path, &headers, Body::from(body.clone()));
                let answer = hub.send(form).await;
                assert_eq!(answer.status(), StatusCode::FORBIDDEN, "{kind} to {path}: {says:?}");
            }
        }
    }
    assert_eq!(state(&hub).await, before);
}

/// Old browsers send no Origin, but their forms have the wrong media type too.
#[tokio::test]
async fn a_form_is_no_document_whoever_sends_it() {
    let hub = hub().await;
    let client = endpoint("client");
    create(&client, "notes", Format::Atom).await;
    let document = feed(Format::Atom, &[add(&client, "b").await]);
    let before = state(&hub).await;
    let documents = rights().into_iter().filter(|(path, method, right)| {
        method == Method::POST && *right == Right::Edit && path.starts_with("/collections/")
    });
    for (template, ..) in documents {
        let path = filled(&template);
        for kind in ["text/plain", "multipart/form-data; boundary=x", "", "*/*", "text/xml2"] {
            let headers = [("content-type", kind)];
            let form = request(Method::POST, &path, &headers, Body::from(document.clone()));
            let answer = hub.send(form).await;
            assert_eq!(answer.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE, "{kind} to {path}");
            assert_eq!(json(answer).await["status"], 415);
        }
    }
    assert_eq!(state(&hub).await, before);
}

/// A hub on a socket with short timeouts, which disconnects a client only because of the tested
/// limits.
async fn running(limits: Limits) -> (feedsync_endpoint::Endpoint, feedsync_server::Serving) {
    let endpoint = endpoint("hub");
    create(&endpoint, "notes", Format::Atom).await;
    let listen = vec![SocketAddr::from(([127, 0, 0, 1], 0))];
    let config = Config { listen, limits, ..Config::default() };
    let serving = serve(endpoint.clone(), config, std::future::pending()).await.unwrap();
    (endpoint, serving)
}

async fn healthy(address: SocketAddr) -> bool {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(head).await.unwrap();
    let mut answer = String::new();
    let read = timeout(Duration::from_secs(5), stream.read_to_string(&mut answer)).await;
    read.is_ok() && answer.starts_with("HTTP/1.1 200 ")
}

#[tokio::test]
async fn heads_that_drip_hold_nobody_up_and_are_given_up() {
    let limits = Limits { head_time: Duration::from_secs(2), ..Limits::default() };
    let (_endpoint, serving) = running(limits).await;
    let address = serving.address();
    let began = Instant::now();
    let mut drips = Vec::new();
    for _ in 0..300 {
        let stream = TcpStream::connect(address).await.unwrap();
        drips.push(tokio::spawn(async move {
            let (mut reader, mut writer) = stream.into_split();
            let drip = async {
                let head = "GET /collections HTTP/1.1\r\nHost: localhost\r\n";
                let endless = head.chars().chain("X-A: b\r\n".chars().cycle());
                for character in endless {
                    if writer.write_all(&[character as u8]).await.is_err() {
                        return;
                    }
                    tokio::time::sleep(Duration::from_millis(40)).await;
                }
            };
            let mut answer = Vec::new();
            tokio::select! {
                () = drip => {}
                _ = reader.read_to_end(&mut answer) => {}
            }
            answer
        }));
    }
    assert!(healthy(address).await, "meanwhile");
    for drip in drips {
        let answer = timeout(Duration::from_secs(15), drip).await.expect("given up").unwrap();
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.is_empty() || answer.contains(" 408 "), "{answer}");
    }
    assert!(began.elapsed() >= Duration::from_secs(1), "they were waited for");
    assert!(healthy(address).await, "afterwards");
}

/// AH25: endless chunked bodies are cut at the limit, for documents and media.
#[tokio::test]
async fn bodies_that_never_end_are_cut_at_the_bound() {
    let limits = Limits { body_bytes: 1 << 20, blob_bytes: 2 << 20, ..Limits::default() };
    let (endpoint, serving) = running(limits).await;
    let hub = TestHub { endpoint: endpoint.clone(), router: axum::Router::new() };
    set(&hub, r#"{"accept": ["image/*", "application/atom+xml;type=entry"]}"#).await;
    let address = serving.address();
    let blob = format!("/blobs/{}?collection=notes", "0".repeat(64));
    for (method, path, kind, most) in [
        ("POST", "/collections/notes/changes", "application/atom+xml", 1 << 20),
        ("POST", "/collections/notes", "application/atom+xml;type=entry", 1 << 20),
        ("POST", "/collections/notes", "image/png", 2 << 20),
        ("PUT", &blob, "application/octet-stream", 2 << 20),
        ("PUT", "/collections/notes", "application/json", 256 << 10),
    ] {
        let stream = TcpStream::connect(address).await.unwrap();
        let (mut reader, mut writer) = stream.into_split();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n\
             Transfer-Encoding: chunked\r\n\r\n"
        );
        writer.write_all(head.as_bytes()).await.unwrap();
        let chunk = format!("8000\r\n{}\r\n", " ".repeat(0x8000));
        let sending = tokio::spawn(async move {
            let mut sent = 0_usize;
            while sent < 256 << 20 && writer.write_all(chunk.as_bytes()).await.is_ok() {
                sent += 0x8000;
            }
            sent
        });
        let mut begin = [0; 12];
        timeout(Duration::from_secs(20), reader.read_exact(&mut begin)).await.unwrap().unwrap();
        assert_eq!(&begin, b"HTTP/1.1 413", "{path} {kind}");
        let mut rest = Vec::new();
        let closed = timeout(Duration::from_secs(10), reader.read_to_end(&mut rest)).await;
        assert!(closed.is_ok(), "the connection is closed: {path} {kind}");
        let sent = timeout(Duration::from_secs(10), sending).await.unwrap().unwrap();
        assert!(sent < most + (16 << 20), "{sent} bytes were taken");
    }
    assert_eq!(endpoint.collection(&crate::hub::notes()).await.unwrap().last.get(), 0);
    assert!(healthy(address).await);
}

/// AH18: compressed bodies are unpacked within limits; where compression is not supported they are
/// refused.
#[tokio::test]
async fn a_bomb_is_refused_wherever_it_is_sent() {
    let hub = hub().await;
    set(&hub, r#"{"accept": ["image/*", "application/atom+xml;type=entry"]}"#).await;
    add(&hub.endpoint, "a").await;
    let before = state(&hub).await;
    let bomb = packed(&vec![b' '; 64 << 20]);
    let blob = format!("/blobs/{}?collection=notes", "0".repeat(64));
    let (notes, member) = ("/collections/notes", "/collections/notes/items/a");
    let entry = "application/atom+xml;type=entry";
    for (method, path, kind, expected) in [
        (Method::POST, "/collections/notes/changes", "application/atom+xml", 413),
        (Method::POST, "/collections/notes/changes", "application/json", 413),
        (Method::POST, "/collections/notes/changes", "text/x-opml", 413),
        (Method::POST, notes, entry, 413),
        (Method::POST, notes, "application/atom+xml;type=feed", 413),
        (Method::PUT, member, entry, 413),
        (Method::PUT, notes, "application/json", 413),
        (Method::POST, notes, "image/png", 415),
        (Method::PUT, &blob, "application/octet-stream", 415),
    ] {
        let headers = [("content-type", kind), ("content-encoding", "gzip")];
        let sent = request(method.clone(), path, &headers, Body::from(bomb.clone()));
        let answer = hub.send(sent).await;
        assert_eq!(answer.status().as_u16(), expected, "{method} {path} {kind}");
    }
    assert_eq!(state(&hub).await, before);
}

/// AH24: a request that its head already rules out is refused before the body is sent.
#[tokio::test]
async fn expect_continue_request_is_refused_by_its_head() {
    let (_endpoint, serving) = running(Limits::default()).await;
    let ask = async |path: &str, headers: &str| {
        let mut stream = TcpStream::connect(serving.address()).await.unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n{headers}\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut begin = [0; 12];
        timeout(Duration::from_secs(5), stream.read_exact(&mut begin)).await.unwrap().unwrap();
        String::from_utf8(begin.to_vec()).unwrap()
    };
    let (changes, atom) = ("/collections/notes/changes", "Content-Type: application/atom+xml\r\n");
    for (path, headers, expected) in [
        (changes, format!("{atom}Content-Length: 10\r\n"), "100"),
        (changes, format!("{atom}Content-Length: 9999999999\r\n"), "413"),
        (changes, "Content-Type: text/plain\r\nContent-Length: 10\r\n".to_owned(), "415"),
        (changes, format!("{atom}Content-Encoding: br\r\nContent-Length: 10\r\n"), "415"),
        ("/collections/none/changes", format!("{atom}Content-Length: 10\r\n"), "404"),
        (changes, format!("Origin: http://evil.example\r\n{atom}Content-Length: 10\r\n"), "403"),
    ] {
        assert_eq!(ask(path, &headers).await, format!("HTTP/1.1 {expected}"), "{headers}");
    }
}
