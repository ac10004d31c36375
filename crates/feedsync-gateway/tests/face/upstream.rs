//! Tests of requests to origins: delivery status of errors, connection reuse, and certificates.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use feedsync_gateway::proxy::Body;
use feedsync_gateway::target::{Mode, Target};
use feedsync_gateway::upstream::{NotSent, Origins, Refused, UpstreamError};
use http::Request;
use http_body_util::BodyExt as _;
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::support::{Gateway, Origin, config, knowing, message};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

fn target(url: &str) -> Target {
    let location = url.parse().unwrap();
    Target { location, mode: Mode::Forward, path: "/".parse().unwrap() }
}

async fn failure(gateway: &Gateway, url: &str) -> UpstreamError {
    let request = Request::post("/").body(Body::from(Bytes::from_static(b"body"))).unwrap();
    gateway.serving().proxy().exchange(&target(url), request).await.unwrap_err()
}

#[tokio::test]
async fn an_error_tells_whether_something_may_have_arrived() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let breaking = Origin::saying_and_closing("").await;
    let names = [("lan.example", "10.0.0.1:80".parse().unwrap())];
    let authorities = [closed, silent.local_addr().unwrap(), breaking.address];
    let mut allow = authorities.map(|address| address.to_string()).to_vec();
    allow.extend(["*".to_owned(), "nowhere.example".to_owned()]);
    let allow: Vec<_> = allow.iter().map(String::as_str).collect();
    let mut config = config(&[], &allow);
    config.limits.answer_time = Duration::from_millis(100);
    config.limits.connect_time = Duration::from_secs(1);
    let gateway = Gateway::of(config, knowing(&names)).await;
    let of = async |url: &str| failure(&gateway, url).await;

    let error = of(&format!("http://{closed}/")).await;
    assert!(matches!(error, UpstreamError::NotSent(NotSent::Connect { .. })), "{error:?}");
    assert!(!error.may_have_arrived());
    let error = of("http://nowhere.example/").await;
    assert!(matches!(error, UpstreamError::NotSent(NotSent::Resolve { .. })), "{error:?}");
    let error = of("http://lan.example/").await;
    assert!(matches!(error, UpstreamError::Refused(Refused::Private { .. })), "{error:?}");
    assert!(!error.may_have_arrived());
    // Nothing is sent to an origin that does not speak TLS.
    let error = of(&format!("https://{}/", silent.local_addr().unwrap())).await;
    assert!(matches!(error, UpstreamError::NotSent(NotSent::Late(_))), "{error:?}");

    let error = of(&format!("http://{}/", breaking.address)).await;
    assert!(matches!(error, UpstreamError::Broken { .. }), "{error:?}");
    assert!(error.may_have_arrived());
    let error = of(&format!("http://{}/", silent.local_addr().unwrap())).await;
    assert!(matches!(error, UpstreamError::NoResponse(_)), "{error:?}");
    assert!(error.may_have_arrived());
    assert_eq!(gateway.get(&format!("http://{closed}/"), &[]).await.status(), 502);
    let late = format!("http://{}/", silent.local_addr().unwrap());
    assert_eq!(gateway.get(&late, &[]).await.status(), 504);
}

/// An origin that counts its connections, and closes each silently after some requests.
async fn counting(requests: usize) -> (String, Arc<std::sync::atomic::AtomicUsize>) {
    counting_and_saying(requests, OK).await
}

/// Like `counting`, with another response.
async fn counting_and_saying(
    requests: usize,
    answer: &'static str,
) -> (String, Arc<std::sync::atomic::AtomicUsize>) {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(async move {
                for _ in 0..requests {
                    if message(&mut stream).await.is_none() {
                        return;
                    }
                    stream.write_all(answer.as_bytes()).await.unwrap();
                }
                // The next request is read, and not answered.
                message(&mut stream).await;
            });
        }
    });
    (url, connections)
}

#[tokio::test]
async fn connections_are_used_again() {
    let (url, connections) = counting(usize::MAX).await;
    let gateway = Gateway::with(&[&format!("o={url}")], &[]).await;
    for _ in 0..20 {
        assert_eq!(gateway.get("/o/", &[]).await.text(), "ok");
    }
    assert_eq!(connections.load(std::sync::atomic::Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_connection_that_may_be_somebodys_serves_nobody_else() {
    use std::sync::atomic::Ordering;
    let (url, connections) = counting(usize::MAX).await;
    let gateway = Gateway::with(&[&format!("o={url}")], &[]).await;
    for (asked, opened) in [
        (&["Authorization: Basic YTpi"][..], 1),
        (&["Authorization: NTLM TlRMTVNTUAAD"], 1),
        (&[], 2),
        (&["Authorization: negotiate YQ=="], 2),
        (&[], 3),
        (&[], 3),
    ] {
        assert_eq!(gateway.get("/o/", asked).await.text(), "ok");
        assert_eq!(connections.load(Ordering::Relaxed), opened, "{asked:?}");
    }
    let answer = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Negotiate\r\n\
        WWW-Authenticate: NTLM, Digest realm=\"x\"\r\nContent-Length: 2\r\n\r\nno";
    let (url, connections) = counting_and_saying(usize::MAX, answer).await;
    let gateway = Gateway::with(&[&format!("o={url}")], &[]).await;
    for opened in 1..4 {
        let answer = gateway.get("/o/", &[]).await;
        assert_eq!(answer.values("www-authenticate"), ["Digest realm=\"x\""]);
        assert_eq!(connections.load(Ordering::Relaxed), opened);
    }
}

#[tokio::test]
async fn a_connection_that_was_closed_meanwhile_costs_nothing() {
    let (url, connections) = counting(1).await;
    let gateway = Gateway::with(&[&format!("o={url}")], &[]).await;
    for _ in 0..5 {
        assert_eq!(gateway.get("/o/", &[]).await.text(), "ok");
    }
    assert!(connections.load(std::sync::atomic::Ordering::Relaxed) > 1);
    // A request that is not idempotent is not sent again, since it may have arrived.
    let mut failed = None;
    for _ in 0..10 {
        let request = Request::post("/").body(Body::empty()).unwrap();
        match gateway.serving().proxy().exchange(&target(&url), request).await {
            Ok(answer) => drop(answer.into_body().collect().await.unwrap()),
            Err(error) => failed = Some(error),
        }
    }
    let error = failed.expect("a connection was closed while it was written to");
    assert!(error.may_have_arrived(), "{error:?}");
}

#[tokio::test]
async fn concurrent_requests_to_an_origin_are_limited() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mount = format!("o=http://{}/", listener.local_addr().unwrap());
    let mut config = config(&[&mount], &[]);
    config.limits.origin_connections = 2;
    config.limits.connect_time = Duration::from_millis(200);
    let gateway = Arc::new(Gateway::of(config, knowing(&[])).await);
    let asking: Vec<_> = (0..3)
        .map(|_| {
            let gateway = Arc::clone(&gateway);
            tokio::spawn(async move { gateway.get("/o/", &[]).await.status() })
        })
        .collect();
    let (mut first, _) = listener.accept().await.unwrap();
    let (mut second, _) = listener.accept().await.unwrap();
    for stream in [&mut first, &mut second] {
        message(stream).await.unwrap();
    }
    // The third request times out, since neither of the others is answered.
    let mut asking = asking.into_iter().collect::<futures_util::stream::FuturesUnordered<_>>();
    let busy = futures_util::StreamExt::next(&mut asking).await.unwrap().unwrap();
    assert_eq!(busy, 503);
    for stream in [&mut first, &mut second] {
        stream.write_all(OK.as_bytes()).await.unwrap();
    }
    while let Some(status) = futures_util::StreamExt::next(&mut asking).await {
        assert_eq!(status.unwrap(), 200);
    }
}

#[tokio::test]
async fn certificates_of_origins_are_verified() {
    let made = rcgen::generate_simple_self_signed(vec!["secure.example".to_owned()]).unwrap();
    let root = made.cert.der().clone();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![root.clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut bytes = Vec::new();
            while crate::support::find(&bytes, b"\r\n\r\n").is_none() {
                stream.read_buf(&mut bytes).await.unwrap();
            }
            stream.write_all(OK.as_bytes()).await.unwrap();
            let _ = stream.shutdown().await;
        }
    });
    let port = address.port();
    let names = [("secure.example", address), ("other.example", address)];
    let allow = [format!("secure.example:{port}"), format!("other.example:{port}")];
    let allow: Vec<_> = allow.iter().map(String::as_str).collect();
    let origins = Origins { roots: vec![root], ..knowing(&names) };
    let gateway = Gateway::of(config(&[], &allow), origins).await;
    let answer = gateway.get(&format!("/https/secure.example:{port}/"), &[]).await;
    assert_eq!(answer.text(), "ok", "{answer:?}");
    let other = gateway.get(&format!("/https/other.example:{port}/"), &[]).await;
    assert_eq!(other.status(), 502, "{other:?}");
    // Without the root the certificate is not trusted.
    let gateway = Gateway::of(config(&[], &allow), knowing(&names)).await;
    let answer = gateway.get(&format!("/https/secure.example:{port}/"), &[]).await;
    assert_eq!(answer.status(), 502, "{answer:?}");
}

#[tokio::test]
async fn private_addresses_need_a_source_in_their_own_network() {
    let origin = Origin::saying(OK).await;
    let gateway = Gateway::before(&origin).await;
    let own = async |source: &str| {
        let request = Request::new(Body::empty());
        let (location, source) = (origin.url().parse().unwrap(), source.parse().unwrap());
        gateway.serving().proxy().upstream().send_own(&location, &source, request).await
    };
    for source in ["http://feeds.example/feed", "http://93.184.215.14/feed"] {
        let error = own(source).await.unwrap_err();
        assert!(matches!(error, UpstreamError::Refused(Refused::Private { .. })), "{error:?}");
    }
    assert!(origin.received().is_empty());
    for source in [&*format!("{}feed", origin.url()), "http://192.168.0.7/feed"] {
        assert_eq!(own(source).await.unwrap().status(), 200, "{source}");
    }
}
