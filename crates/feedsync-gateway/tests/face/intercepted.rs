//! Interception of https: which connections it applies to, and the requests inside.

use std::time::Duration;

use feedsync_gateway::Config;
use feedsync_gateway::upstream::Origins;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::secure::{SecureApplication, SecureOrigin, TestAuthority, is_intercepted, rest, tunnel};
use crate::support::{DEADLINE, Gateway, config, knowing};

const SITE: &str = "site.example";

struct World {
    authority: TestAuthority,
    origin: SecureOrigin,
    /// Authority of the origin.
    at: String,
    data: TempDir,
    gateway: Gateway,
}

impl World {
    /// A gateway that may reach an origin because of this pattern, in which `{}` is its port.
    async fn allowing(pattern: &str) -> Self {
        let authority = TestAuthority::new();
        let origin = SecureOrigin::start(&authority, &[SITE]).await;
        Self::with(pattern, authority, origin).await
    }

    async fn with(pattern: &str, authority: TestAuthority, origin: SecureOrigin) -> Self {
        let data = tempfile::tempdir().unwrap();
        let port = origin.address.port();
        let allow = pattern.replace("{}", &port.to_string());
        let config = Config {
            intercept: Some(data.path().to_owned()),
            ..config(&[], &[&*allow, &format!("127.0.0.1:{port}")])
        };
        let names = knowing(&[(SITE, origin.address), ("other.example", origin.address)]);
        let origins = Origins { roots: vec![authority.root()], ..names };
        let gateway = Gateway::of(config, origins).await;
        Self { authority, origin, at: format!("{SITE}:{port}"), data, gateway }
    }

    fn application(&self) -> SecureApplication {
        SecureApplication::trusting(&self.authority, Some(self.data.path()))
    }

    fn get(&self, path: &str) -> String {
        format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.at)
    }

    fn exemptions(&self) -> Vec<String> {
        let interception = self.gateway.serving().proxy().tls_interception().unwrap();
        let all = interception.exemptions();
        all.iter().map(|it| format!("{} {}: {}", it.authority, it.application, it.reason)).collect()
    }
}

#[tokio::test]
async fn requests_inside_reach_the_origin_over_https() {
    let world = World::allowing("site.example:{}").await;
    let mut stream = world.application().connect(&world.gateway, &world.at, SITE).await.unwrap();
    assert!(is_intercepted(&stream));
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    for path in ["/a/../b?q", "/c"] {
        let request = world.get(path).replace("Connection: close", "Cookie: c=d");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\nok") {
            assert_ne!(stream.read_buf(&mut head).await.unwrap(), 0);
        }
        assert!(head.starts_with(b"HTTP/1.1 200 "));
    }
    let [first, second] = &world.origin.received()[..] else { panic!("two requests") };
    assert!(first.starts_with("GET /a/../b?q HTTP/1.1\r\n"), "{first}");
    assert!(first.contains(&format!("Host: {}\r\n", world.at)), "{first}");
    assert!(first.contains("Cookie: c=d\r\n") && first.contains("1.1 feedsync"), "{first}");
    assert!(second.starts_with("GET /c HTTP/1.1\r\n"), "{second}");
}

#[tokio::test]
async fn a_request_for_another_host_returns_421() {
    let world = World::allowing("site.example:{}").await;
    let ask = async |request: &str| {
        let request = format!("{request}Connection: close\r\n\r\n");
        world.application().ask(&world.gateway, &world.at, &request).await
    };
    let at = &world.at;
    for (request, status) in [
        ("GET / HTTP/1.1\r\nHost: other.example\r\n".to_owned(), 421),
        ("GET / HTTP/1.1\r\nHost: site.example\r\n".to_owned(), 421),
        (format!("GET https://other.example/ HTTP/1.1\r\nHost: {at}\r\n"), 421),
        (format!("GET http://{at}/ HTTP/1.1\r\nHost: {at}\r\n"), 421),
        (format!("GET https://{at}/ HTTP/1.1\r\nHost: other.example\r\n"), 421),
        ("GET / HTTP/1.1\r\n".to_owned(), 421),
        (format!("GET / HTTP/1.1\r\nHost: {at}\r\nHost: {at}\r\n"), 400),
        (format!("CONNECT {at} HTTP/1.1\r\nHost: {at}\r\n"), 400),
    ] {
        let answer = ask(&request).await;
        // HTTP/1.1 requires a host, and the HTTP library passes such requests on.
        let expected = if request.matches("Host").count() == 0 { 200 } else { status };
        assert_eq!(answer.status(), expected, "{request}: {answer:?}");
    }
    for request in [
        format!("GET https://{at}/ HTTP/1.1\r\nHost: {at}\r\n"),
        format!("GET / HTTP/1.1\r\nHost: {}\r\n", at.to_uppercase()),
        "GET / HTTP/1.0\r\n".to_owned(),
    ] {
        assert_eq!(ask(&request).await.status(), 200, "{request}");
    }
}

#[tokio::test]
async fn a_host_of_this_machine_is_not_the_gateway_inside_a_connection() {
    let authority = TestAuthority::new();
    let origin = SecureOrigin::start(&authority, &["127.0.0.1"]).await;
    let world = World::with("site.example:{}", authority, origin).await;
    let at = world.origin.address.to_string();
    let request =
        format!("GET /http/a.example/ HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n");
    let answer = world.application().ask(&world.gateway, &at, &request).await;
    assert_eq!(answer.text(), "ok", "{answer:?}");
    assert!(world.origin.received()[0].starts_with("GET /http/a.example/ "));
}

#[tokio::test]
async fn an_authority_that_only_a_star_allows_is_tunnelled() {
    // The name has a public address here, since a star leads to no private one.
    let world = World::allowing("*:{}").await;
    let answer = {
        let mut stream = tokio::net::TcpStream::connect(world.gateway.address).await.unwrap();
        let request =
            format!("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\nConnection: close\r\n\r\n", world.at);
        stream.write_all(request.as_bytes()).await.unwrap();
        crate::support::Answer::rest(&mut stream).await
    };
    // An interception would have accepted the connection; a tunnel connects first.
    assert_eq!(answer.status(), 403, "{answer:?}");
    assert!(answer.text().contains("private address"), "{answer:?}");
}

#[tokio::test]
async fn connections_that_cannot_be_intercepted_are_tunnelled_untouched() {
    let authority = TestAuthority::new();
    let origin = SecureOrigin::start(&authority, &[SITE, "other.example"]).await;
    let world = World::with("site.example:{}", authority, origin).await;
    let application = world.application();
    // The name of the handshake is another one.
    let stream = application.connect(&world.gateway, &world.at, "other.example").await.unwrap();
    assert!(!is_intercepted(&stream));
    // The application speaks HTTP/2 only.
    let only_h2 = application.clone().speaking(&["h2"]);
    let stream = only_h2.connect(&world.gateway, &world.at, SITE).await.unwrap();
    assert!(!is_intercepted(&stream));
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    for protocols in [&["h2", "http/1.1"][..], &[]] {
        let application = application.clone().speaking(protocols);
        let stream = application.connect(&world.gateway, &world.at, SITE).await.unwrap();
        assert!(is_intercepted(&stream), "{protocols:?}");
    }
    assert_eq!(world.exemptions(), [""; 0]);
}

#[tokio::test]
async fn bytes_that_are_no_tls_are_tunnelled() {
    let data = tempfile::tempdir().unwrap();
    let far = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = far.local_addr().unwrap().to_string();
    let intercept = Some(data.path().to_owned());
    let gateway = Gateway::of(Config { intercept, ..config(&[], &[&at]) }, knowing(&[])).await;
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = far.accept().await {
            tokio::spawn(async move {
                stream.write_all(b"hello ").await.unwrap();
                let mut bytes = [0; 9];
                // The gateway itself connects once, to observe the server.
                if stream.read_exact(&mut bytes).await.is_ok() {
                    stream.write_all(&bytes).await.unwrap();
                }
            });
        }
    });
    for bytes in [b"SSH-2.0-x", b"\x16\x03\x01 no xx", b"\x16\x16\x16\x16\x16\x16\x16\x16\x16"] {
        let mut near = tunnel(&gateway, &at, "x").await;
        near.write_all(bytes).await.unwrap();
        let mut answer = [0; 15];
        timeout(DEADLINE, near.read_exact(&mut answer)).await.unwrap().unwrap();
        assert_eq!(answer[6..], bytes[..]);
    }
    // The server speaks first.
    let mut near = tunnel(&gateway, &at, "x").await;
    let mut answer = [0; 6];
    timeout(DEADLINE, near.read_exact(&mut answer)).await.unwrap().unwrap();
    assert_eq!(&answer, b"hello ");
}

#[tokio::test]
async fn an_application_that_refuses_the_certificate_is_tunnelled_from_then_on() {
    let world = World::allowing("site.example:{}").await;
    let strict = SecureApplication {
        name: "strict/1",
        ..SecureApplication::trusting(&world.authority, None)
    };
    let refused = strict.connect(&world.gateway, &world.at, SITE).await;
    assert!(refused.is_err());
    let until = tokio::time::Instant::now() + DEADLINE;
    while world.exemptions().is_empty() && tokio::time::Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let expected = format!(
        "{} strict/1: the application refused the certificate of the gateway (UnknownCA)",
        world.at
    );
    assert_eq!(world.exemptions(), [expected]);
    let stream = strict.connect(&world.gateway, &world.at, SITE).await.unwrap();
    assert!(!is_intercepted(&stream));
    // Others are not affected.
    let stream = world.application().connect(&world.gateway, &world.at, SITE).await.unwrap();
    assert!(is_intercepted(&stream));
}

#[tokio::test]
async fn a_server_that_asks_for_a_client_certificate_is_tunnelled() {
    let authority = TestAuthority::new();
    let origin = SecureOrigin::asking_for_certificates(&authority, &[SITE]).await;
    let world = World::with("site.example:{}", authority, origin).await;
    for _ in 0..2 {
        let stream = world.application().connect(&world.gateway, &world.at, SITE).await.unwrap();
        assert!(!is_intercepted(&stream));
    }
    let expected =
        format!("{} all applications: the server asks for a client certificate", world.at);
    assert_eq!(world.exemptions(), [expected]);
}

#[tokio::test]
async fn an_invalid_certificate_of_the_origin_returns_502_with_the_fault() {
    let authority = TestAuthority::new();
    // The certificate is for another host.
    let origin = SecureOrigin::start(&authority, &["other.example"]).await;
    let world = World::with("site.example:{}", authority, origin).await;
    let answer = world.application().ask(&world.gateway, &world.at, &world.get("/")).await;
    assert_eq!(answer.status(), 502, "{answer:?}");
    assert!(answer.text().contains("urn:feedsync:1:problem:certificate"), "{answer:?}");
    assert!(answer.text().contains("other.example"), "{answer:?}");
    assert_eq!(world.origin.received(), [""; 0]);
}

#[tokio::test]
async fn a_connection_is_accepted_while_its_origin_is_unreachable() {
    let authority = TestAuthority::new();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let data = tempfile::tempdir().unwrap();
    let at = closed.to_string();
    let intercept = Some(data.path().to_owned());
    let gateway = Gateway::of(Config { intercept, ..config(&[], &[&at]) }, knowing(&[])).await;
    let application = SecureApplication::trusting(&authority, Some(data.path()));
    let request = format!("GET / HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n");
    let answer = application.ask(&gateway, &at, &request).await;
    assert_eq!(answer.status(), 502, "{answer:?}");
    assert!(answer.text().contains("cannot connect"), "{answer:?}");
}

#[tokio::test]
async fn intercepted_connections_end_with_the_gateway() {
    let world = World::allowing("site.example:{}").await;
    let mut idle = world.application().connect(&world.gateway, &world.at, SITE).await.unwrap();
    // This connection has not sent its ClientHello.
    let mut opening = tunnel(&world.gateway, &world.at, "x").await;
    world.gateway.stop().await;
    assert!(rest(&mut idle).await.head.is_empty());
    let mut bytes = Vec::new();
    let _ = timeout(DEADLINE, opening.read_to_end(&mut bytes)).await.unwrap();
    assert!(bytes.is_empty());
}
