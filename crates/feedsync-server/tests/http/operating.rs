//! Operation of a hub: health, metrics, request ids, limits, encryption.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use feedsync_core::Format;
use feedsync_endpoint::{Endpoint, NewToken, NewUser};
use feedsync_server::configuration::Audience;
use feedsync_server::{Config, Limits, ServeError, Serving, Tls, serve};
use feedsync_store::{CollectionChange, TokenKind, UserName};
use http::{Method, StatusCode};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use crate::hub::{add, bytes, create, endpoint, feed, hub, hub_with, json, notes, request, text};

struct Running {
    endpoint: Endpoint,
    serving: Serving,
    stop: oneshot::Sender<()>,
    /// Credentials of two administrators.
    people: [String; 2],
}

/// Adds an administrator; returns the header line that signs them in.
async fn signing_in(endpoint: &Endpoint, name: &str) -> String {
    let name = UserName::new(name).unwrap();
    let new =
        NewUser { name: name.clone(), password: None, administrator: true, databases_only: false };
    endpoint.add_user(new).await.unwrap();
    let (kind, label, scope) = (TokenKind::Access, String::new(), Default::default());
    let new = NewToken { user: name, kind, label, scope, expires: None };
    let token = endpoint.issue_token(new).await.unwrap().0;
    format!("Authorization: Bearer {}\r\n", token.as_str())
}

/// A hub on a free port that trusts a proxy on this machine; its collection is public.
async fn run(config: Config) -> Running {
    let endpoint = endpoint("hub");
    create(&endpoint, "notes", Format::Atom).await;
    let settings = [("public".to_owned(), "true".to_owned())].into();
    let public = CollectionChange { settings: Some(settings), ..Default::default() };
    endpoint.change_collection(&notes(), public).await.unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let config = Config {
        listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
        trusted_proxies: vec!["127.0.0.1/32".parse().unwrap()],
        ..config
    };
    let shutdown = async {
        let _ = stopped.await;
    };
    let people = [signing_in(&endpoint, "anna").await, signing_in(&endpoint, "ben").await];
    let serving = serve(endpoint.clone(), config, shutdown).await.unwrap();
    Running { endpoint, serving, stop, people }
}

impl Running {
    /// Requests a path on behalf of an address; returns the whole response.
    async fn ask(&self, path: &str, on_behalf_of: &str) -> String {
        let head = format!("X-Forwarded-For: {on_behalf_of}\r\n");
        let mut stream = TcpStream::connect(self.serving.address()).await.unwrap();
        exchange(&mut stream, path, &head).await
    }
}

async fn exchange(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    path: &str,
    head: &str,
) -> String {
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{head}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    timeout(Duration::from_secs(10), stream.read_to_end(&mut bytes)).await.unwrap().unwrap();
    String::from_utf8(bytes).unwrap()
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

/// A header of a raw response.
fn header<'a>(answer: &'a str, name: &str) -> &'a str {
    let mut lines = answer.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value)
}

#[tokio::test]
async fn one_client_that_asks_too_often_is_told_when_to_come_back_and_others_are_not() {
    let limits = Limits { client_requests: 1, client_burst: 2, ..Limits::default() };
    let running = run(Config { limits, ..Config::default() }).await;
    for expected in ["200", "200", "429"] {
        let answer = running.ask("/healthz", "2001:db8::1").await;
        assert_eq!(status(&answer), expected, "{answer}");
        if expected == "429" {
            assert_eq!(header(&answer, "retry-after"), "1");
            assert!(answer.contains("urn:feedsync:1:problem:too-many-requests"), "{answer}");
        }
    }
    assert_eq!(status(&running.ask("/healthz", "2001:db8::2").await), "429", "one /64");
    assert_eq!(status(&running.ask("/healthz", "2001:db8:0:1::1").await), "200");
    assert_eq!(status(&running.ask("/healthz", "192.0.2.1").await), "200");
    sleep(Duration::from_millis(1_100)).await;
    assert_eq!(status(&running.ask("/healthz", "2001:db8::1").await), "200");
}

#[tokio::test]
async fn one_client_has_so_many_event_streams_and_requests_at_once() {
    let limits = Limits { client_followers: 1, client_concurrency: 2, ..Limits::default() };
    let running = run(Config { limits, ..Config::default() }).await;
    let open = async |address: &str| {
        let mut stream = TcpStream::connect(running.serving.address()).await.unwrap();
        let head = format!(
            "GET /collections/notes/events HTTP/1.1\r\nHost: localhost\r\n\
             X-Forwarded-For: {address}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut begin = [0; 12];
        stream.read_exact(&mut begin).await.unwrap();
        (String::from_utf8(begin.to_vec()).unwrap(), stream)
    };
    let (first, _stream) = open("192.0.2.1").await;
    assert_eq!(first, "HTTP/1.1 200");
    assert_eq!(open("192.0.2.1").await.0, "HTTP/1.1 429");
    let (other, _other) = open("192.0.2.2").await;
    assert_eq!(other, "HTTP/1.1 200");
    // The stream counts as a concurrent request: one more is left.
    assert_eq!(status(&running.ask("/healthz", "192.0.2.1").await), "200");
}

#[tokio::test]
async fn one_client_sends_so_many_bodies_at_once_and_leaves_room_for_others() {
    let limits = Limits { client_uploads: 2, uploads: 4, ..Limits::default() };
    let running = run(Config { limits, ..Config::default() }).await;
    let send = async |who: usize| {
        let mut stream = TcpStream::connect(running.serving.address()).await.unwrap();
        let head = format!(
            "POST /collections/notes/changes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\
             Content-Type: application/atom+xml\r\n{}\r\n<",
            running.people[who]
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut begin = [0; 12];
        let answered = timeout(Duration::from_millis(500), stream.read_exact(&mut begin)).await;
        let begin = answered.is_ok().then(|| String::from_utf8(begin.to_vec()).unwrap());
        (begin, stream)
    };
    let mut waiting = Vec::new();
    for expected in [None, None, Some("HTTP/1.1 429")] {
        let (answer, stream) = send(0).await;
        assert_eq!(answer.as_deref(), expected);
        waiting.push(stream);
    }
    let (other, _other) = send(1).await;
    assert_eq!(other, None, "another client is read");
}

#[tokio::test]
async fn a_collection_takes_no_more_items_than_it_may_and_changes_of_what_it_has() {
    let limits = Limits { collection_items: 2, ..Limits::default() };
    let hub = hub_with(Config { limits, ..Config::default() }).await;
    let client = endpoint("client");
    create(&client, "notes", Format::Atom).await;
    let mut items = Vec::new();
    for id in ["a", "b", "c"] {
        items.push(add(&client, id).await);
    }
    let kind = "application/atom+xml";
    assert_eq!(hub.post(kind, feed(Format::Atom, &items[..2])).await.status(), StatusCode::OK);
    let refused = hub.post(kind, feed(Format::Atom, &items)).await;
    assert_eq!(refused.status(), StatusCode::INSUFFICIENT_STORAGE);
    let problem = json(refused).await;
    assert_eq!(problem["type"], "urn:feedsync:1:problem:quota");
    assert_eq!(problem["limit"], "collection_items");
    assert_eq!(hub.endpoint.collection(&notes()).await.unwrap().live, 2);
    let changed = crate::hub::edit(&client, "a", "another title").await;
    assert_eq!(hub.post(kind, feed(Format::Atom, &[changed])).await.status(), StatusCode::OK);
    // Deleted items do not count.
    crate::hub::delete(&client, "c").await;
    let id = feedsync_core::ItemId::new("c").unwrap();
    let deleted = client.item(&notes(), &id).await.unwrap().item;
    assert_eq!(hub.post(kind, feed(Format::Atom, &[deleted])).await.status(), StatusCode::OK);
    let collection = hub.endpoint.collection(&notes()).await.unwrap();
    assert_eq!((collection.live, collection.deleted), (2, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_add_items_at_once_come_to_no_more_than_a_collection_may_have() {
    let limits = Limits { collection_items: 5, ..Limits::default() };
    let hub = hub_with(Config { limits, ..Config::default() }).await;
    let entry = |number: usize| {
        format!(
            "<entry xmlns=\"http://www.w3.org/2005/Atom\"><title>{number}</title>\
             <id>urn:x:{number}</id></entry>"
        )
    };
    let requests = (0..40).map(|number| {
        let headers = [("content-type", "application/atom+xml;type=entry")];
        let path = "/collections/notes";
        hub.send(request(Method::POST, path, &headers, entry(number).into()))
    });
    let answers = futures_util::future::join_all(requests).await;
    let made = answers.iter().filter(|answer| answer.status() == StatusCode::CREATED).count();
    let full = StatusCode::INSUFFICIENT_STORAGE;
    let refused = answers.iter().filter(|answer| answer.status() == full).count();
    assert_eq!((made, refused), (5, 35));
    assert_eq!(hub.endpoint.collection(&notes()).await.unwrap().live, 5);
}

#[tokio::test]
async fn the_bounds_are_shown() {
    let limits = Limits { body_bytes: 3 << 20, ..Limits::default() };
    let hub = hub_with(Config { limits, ..Config::default() }).await;
    let shown = json(hub.get("/limits").await).await;
    assert_eq!(shown["body_bytes"]["value"], "3 MiB");
    assert_eq!(shown["client_burst"]["value"], 200);
    assert!(shown["heartbeat"]["doc"].as_str().unwrap().contains("event stream"));
}

#[tokio::test]
async fn requests_have_an_id_that_only_a_trusted_proxy_may_give() {
    let hub = hub().await;
    let first = hub.call(Method::GET, "/none", &[("x-request-id", "mine")]).await;
    let id = text(&first, "x-request-id").to_owned();
    assert!(!id.is_empty() && id != "mine");
    let instance = json(first).await["instance"].clone();
    assert_eq!(instance, format!("urn:feedsync:1:request:{id}"));
    assert_ne!(text(&hub.get("/healthz").await, "x-request-id"), id);

    let running = run(Config::default()).await;
    for (given, kept) in [("abc-1.2_Z", true), ("a b", false), ("<x>", false), ("", false)] {
        let head = format!("X-Request-Id: {given}\r\n");
        let mut stream = TcpStream::connect(running.serving.address()).await.unwrap();
        let answer = exchange(&mut stream, "/none", &head).await;
        assert_eq!(header(&answer, "x-request-id") == given, kept, "{answer}");
        let instance = format!("urn:feedsync:1:request:{}", header(&answer, "x-request-id"));
        assert!(answer.contains(&instance), "{answer}");
    }
}

#[tokio::test]
async fn metrics_tell_what_happened_with_labels_of_ours_only() {
    let hub = hub().await;
    let client = endpoint("client");
    create(&client, "notes", Format::Atom).await;
    let item = add(&client, "a").await;
    hub.post("application/atom+xml", feed(Format::Atom, &[item])).await;
    hub.get("/collections/notes/changes").await;
    hub.get("/collections/s3cret").await;
    hub.get("/s3cret?token=s3cret").await;
    hub.call(Method::from_bytes(b"S3CRET").unwrap(), "/healthz", &[]).await;
    let page = hub.get("/metrics").await;
    assert!(text(&page, "content-type").starts_with("text/plain; version=0.0.4"));
    let page = String::from_utf8(bytes(page).await.to_vec()).unwrap();
    assert!(!page.to_lowercase().contains("s3cret"), "{page}");
    let changes = "route=\"/collections/{collection}/changes\"";
    for line in [
        format!("feedsync_requests_total{{{changes},method=\"GET\",status=\"2xx\"}} 1"),
        format!("feedsync_requests_total{{{changes},method=\"POST\",status=\"2xx\"}} 1"),
        "feedsync_requests_total{route=\"none\",method=\"GET\",status=\"4xx\"} 1".to_owned(),
        "feedsync_requests_total{route=\"/healthz\",method=\"other\",status=\"4xx\"} 1".to_owned(),
        format!("feedsync_request_seconds_count{{{changes},method=\"POST\"}} 1"),
        format!("feedsync_request_seconds_bucket{{{changes},method=\"POST\",le=\"+Inf\"}} 1"),
        "feedsync_merged_items_total{outcome=\"added\"} 1".to_owned(),
        "feedsync_merged_items_total{outcome=\"conflict\"} 0".to_owned(),
        "feedsync_items 1".to_owned(),
        "feedsync_conflicted_items 0".to_owned(),
        "feedsync_changes 1".to_owned(),
        "feedsync_followers 0".to_owned(),
        "feedsync_uploads 0".to_owned(),
        "feedsync_requests_underway 1".to_owned(),
        "feedsync_store_seconds_count{operation=\"update\"} 1".to_owned(),
    ] {
        assert!(page.lines().any(|other| other == line), "{line} in {page}");
    }
    // Every line belongs to an announced family.
    let mut family = "";
    for line in page.lines() {
        match line.strip_prefix("# TYPE ") {
            Some(typed) => family = typed.split(' ').next().unwrap(),
            None => assert!(line.starts_with("# HELP ") || line.starts_with(family), "{line}"),
        }
    }
}

#[tokio::test]
async fn metrics_are_for_administrators_unless_they_are_public() {
    for (metrics, expected) in
        [(Audience::Administrators, StatusCode::UNAUTHORIZED), (Audience::Public, StatusCode::OK)]
    {
        let hub = hub_with(Config { metrics, ..Config::default() }).await;
        let user = feedsync_store::User {
            id: feedsync_store::UserId::new("a1").unwrap(),
            name: UserName::new("anna").unwrap(),
            password: None,
            administrator: true,
            disabled: false,
            databases_only: false,
            created: feedsync_store::Moment::from_micros(0),
        };
        hub.endpoint.store().add_user(user).await.unwrap();
        assert_eq!(hub.get("/metrics").await.status(), expected);
    }
}

#[tokio::test]
async fn a_hub_that_is_about_to_stop_says_so_and_finishes_what_it_began() {
    let limits = Limits { drain_notice: Duration::from_secs(3), ..Limits::default() };
    let running = run(Config { limits, ..Config::default() }).await;
    assert_eq!(status(&running.ask("/healthz", "192.0.2.1").await), "200");
    let client = endpoint("client");
    create(&client, "notes", Format::Atom).await;
    let body = feed(Format::Atom, &[add(&client, "a").await]);
    let mut stream = TcpStream::connect(running.serving.address()).await.unwrap();
    let head = format!(
        "POST /collections/notes/changes HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\
         Content-Type: application/atom+xml\r\n{}\r\n",
        body.len(),
        running.people[0]
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let (first, rest) = body.split_at(body.len() / 2);
    stream.write_all(first.as_bytes()).await.unwrap();
    let address = running.serving.address();
    running.stop.send(()).unwrap();
    sleep(Duration::from_millis(200)).await;
    let mut asking = TcpStream::connect(address).await.unwrap();
    let health = exchange(&mut asking, "/healthz", "").await;
    assert_eq!(status(&health), "503", "{health}");
    let mut asking = TcpStream::connect(address).await.unwrap();
    let other = exchange(&mut asking, "/collections", "").await;
    assert_eq!(status(&other), "200", "it still answers: {other}");
    let refused = async {
        while TcpStream::connect(address).await.is_ok() {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(Duration::from_secs(10), refused).await.expect("no more connections are taken");
    stream.write_all(rest.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    timeout(Duration::from_secs(5), stream.read_to_end(&mut answer)).await.unwrap().unwrap();
    assert_eq!(status(&String::from_utf8(answer).unwrap()), "200");
    timeout(Duration::from_secs(5), running.serving.finished()).await.unwrap().unwrap();
    assert_eq!(running.endpoint.collection(&notes()).await.unwrap().live, 1);
}

#[tokio::test]
async fn with_a_certificate_every_connection_is_encrypted() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    std::fs::write(path("hub.pem"), made.cert.pem()).unwrap();
    std::fs::write(path("hub.key"), made.signing_key.serialize_pem()).unwrap();
    let tls =
        Tls { certificate: Some(path("hub.pem")), key: Some(path("hub.key")), ..Tls::default() };
    let limits = Limits { head_time: Duration::from_secs(3), ..Limits::default() };
    let running = run(Config { tls: tls.clone(), limits, ..Config::default() }).await;

    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(made.cert.pem().as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut client = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    client.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let connector = tokio_rustls::TlsConnector::from(Arc::new(client));
    let stream = TcpStream::connect(running.serving.address()).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = connector.connect(name, stream).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    let answer = exchange(&mut stream, "/collections/notes/changes", "").await;
    assert_eq!(status(&answer), "200", "{answer}");
    assert!(
        answer.contains("<https://localhost/collections/notes/changes>; rel=\"self\""),
        "{answer}"
    );

    assert_eq!(header(&answer, "strict-transport-security"), "max-age=31536000");

    // Connections without TLS get no response, nor do silent ones.
    let mut plain = TcpStream::connect(running.serving.address()).await.unwrap();
    plain.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    let mut said = Vec::new();
    timeout(Duration::from_secs(5), plain.read_to_end(&mut said)).await.unwrap().ok();
    assert!(!String::from_utf8_lossy(&said).contains("HTTP"), "{said:?}");
    let mut silent = TcpStream::connect(running.serving.address()).await.unwrap();
    said.clear();
    timeout(Duration::from_secs(5), silent.read_to_end(&mut said)).await.unwrap().ok();

    std::fs::write(path("hub.key"), "nothing").unwrap();
    let config = Config { tls, ..Config::default() };
    let refused = serve(endpoint("hub"), config, std::future::pending()).await.unwrap_err();
    assert!(matches!(refused, ServeError::Certificate(_)), "{refused}");
    assert!(refused.to_string().contains("hub.key: the file contains no private key"), "{refused}");
}

#[tokio::test]
async fn browsers_are_told_to_stay_with_https_where_the_hub_is_reached_by_it() {
    let base =
        |base: &str| Config { public_base: Some(base.parse().unwrap()), ..Config::default() };
    let secure = hub_with(base("https://feeds.example.org")).await.get("/healthz").await;
    assert_eq!(text(&secure, "strict-transport-security"), "max-age=31536000");
    let plain = hub_with(base("http://feeds.example.org")).await.get("/healthz").await;
    assert_eq!(text(&plain, "strict-transport-security"), "");
    let never = Config { https_only_time: Duration::ZERO, ..base("https://feeds.example.org") };
    let never = hub_with(never).await.get("/healthz").await;
    assert_eq!(text(&never, "strict-transport-security"), "");
    // A trusted proxy declares the scheme of the request.
    let running = run(Config::default()).await;
    for (scheme, expected) in [("https", "max-age=31536000"), ("http", "")] {
        let mut stream = TcpStream::connect(running.serving.address()).await.unwrap();
        let head = format!("X-Forwarded-Proto: {scheme}\r\n");
        let answer = exchange(&mut stream, "/healthz", &head).await;
        assert_eq!(header(&answer, "strict-transport-security"), expected, "{answer}");
    }
}

#[tokio::test]
async fn a_hub_listens_on_several_addresses() {
    let listen = vec!["127.0.0.1:0".parse().unwrap(), "127.0.0.2:0".parse().unwrap()];
    let config = Config { listen, ..Config::default() };
    let serving = serve(endpoint("hub"), config, std::future::pending()).await.unwrap();
    assert_eq!(serving.addresses().len(), 2);
    for address in serving.addresses() {
        let mut stream = TcpStream::connect(address).await.unwrap();
        assert_eq!(status(&exchange(&mut stream, "/healthz", "").await), "200", "{address}");
    }
}

#[tokio::test]
async fn too_many_headers_are_refused_as_such() {
    let running = run(Config::default()).await;
    let many: String = (0..200).map(|number| format!("X-{number}: y\r\n")).collect();
    let mut stream = TcpStream::connect(running.serving.address()).await.unwrap();
    assert_eq!(status(&exchange(&mut stream, "/healthz", &many).await), "431");
}
