//! Tests of the gateway as a proxy.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::support::{Answer, DEADLINE, Gateway, Origin, config, find, knowing};

const OK: &str =
    "HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nLocation: /x\r\nContent-Length: 2\r\n\r\nok";

/// Requests a tunnel; returns the connection and the head of the response.
async fn connect(gateway: &Gateway, authority: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    let request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while find(&head, b"\r\n\r\n").is_none() {
        assert_ne!(timeout(DEADLINE, stream.read_buf(&mut head)).await.unwrap().unwrap(), 0);
    }
    (stream, String::from_utf8(head).unwrap())
}

#[tokio::test]
async fn the_whole_address_names_the_origin() {
    let origin = Origin::saying(OK).await;
    let gateway = Gateway::with(&[], &[&origin.address.to_string()]).await;
    let answer = gateway
        .get(&format!("{}a/../b?q", origin.url()), &["Host: elsewhere.example", "Cookie: c=d"])
        .await;
    assert_eq!((answer.status(), answer.text().as_str()), (200, "ok"));
    // The response is unchanged, since the application knows that it uses a proxy.
    assert_eq!(answer.values("set-cookie"), ["a=b"]);
    assert_eq!(answer.values("location"), ["/x"]);
    assert_eq!(answer.values("content-security-policy"), [""; 0]);
    let got = origin.only();
    assert!(got.starts_with("GET /a/../b?q HTTP/1.1\r\n"), "{got}");
    let host = format!("Host: {}\r\n", origin.address);
    assert!(
        got.contains(&host) && !got.contains("elsewhere") && got.contains("Cookie: c=d"),
        "{got}"
    );
}

#[tokio::test]
async fn a_tunnel_carries_bytes_both_ways() {
    let far = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let authority = far.local_addr().unwrap().to_string();
    let gateway = Gateway::with(&[], &[&authority]).await;
    let ((mut near, head), (mut far, _)) =
        tokio::join!(connect(&gateway, &authority), async { far.accept().await.unwrap() });
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(!head.to_lowercase().contains("content-length"), "{head}");
    near.write_all(b"\x16\x03\x01 not http").await.unwrap();
    let mut bytes = [0; 12];
    far.read_exact(&mut bytes).await.unwrap();
    assert_eq!(&bytes, b"\x16\x03\x01 not http");
    // One direction may end while the other continues.
    near.shutdown().await.unwrap();
    assert_eq!(far.read(&mut bytes).await.unwrap(), 0);
    far.write_all(b"and back").await.unwrap();
    drop(far);
    let mut rest = Vec::new();
    timeout(DEADLINE, near.read_to_end(&mut rest)).await.unwrap().unwrap();
    assert_eq!(rest, b"and back");
}

#[tokio::test]
async fn a_tunnel_ends_with_the_gateway() {
    let far = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let authority = far.local_addr().unwrap().to_string();
    let gateway = Gateway::with(&[], &[&authority]).await;
    let (mut near, _) = connect(&gateway, &authority).await;
    gateway.stop().await;
    let mut rest = Vec::new();
    // The connection may be reset or closed.
    let _ = timeout(DEADLINE, near.read_to_end(&mut rest)).await.unwrap();
    assert!(rest.is_empty());
}

#[tokio::test]
async fn a_silent_tunnel_ends() {
    let far = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let authority = far.local_addr().unwrap().to_string();
    let mut config = config(&[], &[&authority]);
    config.limits.tunnel_pause = std::time::Duration::from_millis(50);
    let gateway = Gateway::of(config, knowing(&[])).await;
    let (mut near, _) = connect(&gateway, &authority).await;
    let mut rest = Vec::new();
    let _ = timeout(DEADLINE, near.read_to_end(&mut rest)).await.unwrap();
    assert!(rest.is_empty());
}

#[tokio::test]
async fn a_tunnel_leads_to_few_ports_and_never_here() {
    let far = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = far.local_addr().unwrap().port();
    let gateway = Gateway::with(&[], &["*", "localhost", "127.0.0.1:1"]).await;
    for (authority, status) in [
        (format!("localhost:{port}"), 403),
        ("example.org:25".to_owned(), 403),
        ("example.org:80".to_owned(), 403),
        (format!("localhost:{}", gateway.address.port()), 508),
        (gateway.address.to_string(), 508),
        ("localhost".to_owned(), 400),
        ("127.0.0.1:1".to_owned(), 502),
        ("user@localhost:443".to_owned(), 400),
    ] {
        let (_, head) = connect(&gateway, &authority).await;
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{authority}: {head}");
    }
}

#[tokio::test]
async fn requests_that_loop_are_detected() {
    let gateway = Gateway::with(&[], &["*"]).await;
    let answer = gateway.get("http://example.org/", &["Via: 1.0 other, 1.1 feedsync"]).await;
    assert_eq!(answer.status(), 508);
    let tunnel = "CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\nVia: 1.1 feedsync\r\nConnection: close\r\n\r\n";
    assert_eq!(gateway.raw(tunnel).await.status(), 508);
    let path = format!("/http/{}/", gateway.address);
    assert_eq!(gateway.get(&path, &[]).await.status(), 508);
    // Through a name that resolves to the gateway.
    let config = config(&["here=http://here.example:1/"], &["here.example:1"]);
    let listen = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let config = feedsync_gateway::Config { listen, ..config };
    let gateway = Gateway::of(config, knowing(&[("here.example", listen)])).await;
    let answer = gateway.get("/here/", &[]).await;
    assert_eq!(answer.status(), 508, "{answer:?}");
    // Detected before anything was sent.
    assert!(
        answer.text().contains("here.example:1 is the address of the gateway itself"),
        "{answer:?}"
    );
    assert_eq!(answer.values("via"), [""; 0]);
}

#[tokio::test]
async fn requests_at_their_last_hop_are_answered_locally() {
    let origin = Origin::saying(OK).await;
    let gateway = Gateway::before(&origin).await;
    let options = gateway.ask("OPTIONS", "/o/", &["Max-Forwards: 0"]).await;
    assert_eq!(options.status(), 204);
    assert!(options.values("allow")[0].contains("DELETE"));
    assert_eq!(gateway.ask("OPTIONS", "*", &[]).await.status(), 204);
    let secret = ["Max-Forwards: 0", "Authorization: Basic secret", "X-Seen: yes"];
    let trace = gateway.ask("TRACE", "/o/", &secret).await;
    assert_eq!(trace.values("content-type"), ["message/http"]);
    assert!(trace.text().contains("x-seen: yes") && !trace.text().contains("secret"), "{trace:?}");
    assert!(origin.received().is_empty());
    assert_eq!(gateway.ask("OPTIONS", "/o/", &["Max-Forwards: 5"]).await.status(), 200);
    assert!(origin.only().contains("Max-Forwards: 4\r\n"), "{}", origin.only());
    // `Max-Forwards` has no effect on other methods.
    let answer: Answer = gateway.get("/o/", &["Max-Forwards: 0"]).await;
    assert_eq!(answer.status(), 200);
}
