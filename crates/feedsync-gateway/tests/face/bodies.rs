//! Tests of bodies: streaming in both directions, and broken messages.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::support::{Answer, DEADLINE, Gateway, Origin, config, find, knowing};

/// A listener, and a gateway that mounts it.
async fn listening() -> (TcpListener, Gateway) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mount = format!("o=http://{}/", listener.local_addr().unwrap());
    (listener, Gateway::with(&[&mount], &[]).await)
}

async fn asked(gateway: &Gateway, method: &str, lines: &str) -> TcpStream {
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    let head = format!("{method} /o/ HTTP/1.1\r\nHost: {}\r\n{lines}\r\n", gateway.address);
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// Reads until this text has arrived.
async fn until(stream: &mut TcpStream, what: &str) -> String {
    let mut bytes = Vec::new();
    while find(&bytes, what.as_bytes()).is_none() {
        let read = timeout(DEADLINE, stream.read_buf(&mut bytes)).await.unwrap().unwrap();
        assert_ne!(read, 0, "{what}: {}", String::from_utf8_lossy(&bytes));
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[tokio::test]
async fn received_bytes_are_forwarded_at_once() {
    let (listener, gateway) = listening().await;
    let mut near = asked(&gateway, "POST", "Transfer-Encoding: chunked\r\n").await;
    near.write_all(b"5\r\nfirst\r\n").await.unwrap();
    let (mut far, _) = listener.accept().await.unwrap();
    until(&mut far, "first").await;
    near.write_all(b"6\r\nsecond\r\n0\r\n\r\n").await.unwrap();
    until(&mut far, "second\r\n0\r\n\r\n").await;
    far.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
        .await
        .unwrap();
    until(&mut near, "1\r\na\r\n").await;
    far.write_all(b"1\r\nb\r\n0\r\n\r\n").await.unwrap();
    until(&mut near, "1\r\nb\r\n0\r\n\r\n").await;
}

#[tokio::test]
async fn an_answer_that_breaks_off_never_looks_whole() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n",
    ] {
        let origin = Origin::saying_and_closing(answer).await;
        let gateway = Gateway::before(&origin).await;
        let mut stream = asked(&gateway, "GET", "").await;
        let got = Answer::rest(&mut stream).await;
        let whole = got.body.ends_with(b"0\r\n\r\n") || got.values("content-length") == ["4"];
        assert!(got.status() == 200 && !whole, "{answer:?}: {got:?}");
        if answer.contains("Content-Length") {
            assert_eq!(got.text(), "half");
        }
    }
}

#[tokio::test]
async fn a_request_that_breaks_off_never_looks_whole() {
    for (lines, part) in
        [("Content-Length: 10\r\n", "half"), ("Transfer-Encoding: chunked\r\n", "4\r\nhalf\r\n")]
    {
        let (listener, gateway) = listening().await;
        let mut near = asked(&gateway, "PUT", lines).await;
        near.write_all(part.as_bytes()).await.unwrap();
        let (mut far, _) = listener.accept().await.unwrap();
        let mut got = until(&mut far, "half").await;
        drop(near);
        let mut rest = Vec::new();
        let _ = timeout(DEADLINE, far.read_to_end(&mut rest)).await.unwrap();
        got.push_str(&String::from_utf8_lossy(&rest));
        assert!(got.trim_end().ends_with("half"), "{got}");
    }
}

#[tokio::test]
async fn an_application_that_goes_away_is_not_read_for() {
    let (listener, gateway) = listening().await;
    let near = asked(&gateway, "GET", "").await;
    let (mut far, _) = listener.accept().await.unwrap();
    until(&mut far, "\r\n\r\n").await;
    far.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await.unwrap();
    drop(near);
    let endless = async { while far.write_all(b"1\r\nx\r\n").await.is_ok() {} };
    timeout(DEADLINE, endless).await.unwrap();
}

/// Neither side reads more than it can forward.
#[tokio::test]
async fn a_slow_reader_fills_no_memory() {
    let (listener, gateway) = listening().await;
    let near = asked(&gateway, "GET", "").await;
    let (mut far, _) = listener.accept().await.unwrap();
    until(&mut far, "\r\n\r\n").await;
    let length = 1u64 << 40;
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
    far.write_all(head.as_bytes()).await.unwrap();
    let written = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&written);
    let writing = tokio::spawn(async move {
        let part = vec![0; 64 << 10];
        while let Ok(more) = far.write(&part).await {
            counted.fetch_add(more, Ordering::Relaxed);
        }
    });
    // Until the buffers of the system are full, which is only detectable by waiting.
    let mut before = usize::MAX;
    while before != written.load(Ordering::Relaxed) {
        before = written.load(Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    assert!(before < 64 << 20, "{before}");
    drop(near);
    timeout(DEADLINE, writing).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_body_waits_until_it_is_wanted() {
    let (listener, gateway) = listening().await;
    let lines = "Content-Length: 4\r\nExpect: 100-continue\r\n";
    let mut near = asked(&gateway, "PUT", lines).await;
    let (mut far, _) = listener.accept().await.unwrap();
    let head = until(&mut far, "\r\n\r\n").await;
    assert!(head.contains("Expect: 100-continue"), "{head}");
    far.write_all(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n").await.unwrap();
    assert!(until(&mut near, "\r\n\r\n").await.starts_with("HTTP/1.1 100 Continue\r\n"));
    near.write_all(b"body").await.unwrap();
    until(&mut far, "body").await;
    far.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
    assert!(until(&mut near, "\r\n\r\n").await.starts_with("HTTP/1.1 204"));
}

#[tokio::test]
async fn a_body_that_is_not_wanted_is_not_asked_for() {
    let (listener, gateway) = listening().await;
    let lines = "Content-Length: 4\r\nExpect: 100-continue\r\n";
    let mut near = asked(&gateway, "PUT", lines).await;
    let (mut far, _) = listener.accept().await.unwrap();
    until(&mut far, "\r\n\r\n").await;
    far.write_all(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno").await.unwrap();
    let answer = Answer::rest(&mut near).await;
    assert_eq!((answer.status(), answer.text().as_str()), (401, "no"));
    // The origin gets neither the body nor another request in its place.
    let mut rest = Vec::new();
    let _ = timeout(DEADLINE, far.read_to_end(&mut rest)).await.unwrap();
    assert!(rest.is_empty(), "{rest:?}");
}

#[tokio::test]
async fn an_origin_that_knows_no_expectation_gets_the_body_soon() {
    let origin = Origin::saying("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let gateway = Gateway::before(&origin).await;
    let lines = "Content-Length: 4\r\nExpect: 100-continue\r\nConnection: close\r\n";
    let mut near = asked(&gateway, "PUT", lines).await;
    assert!(until(&mut near, "\r\n\r\n").await.starts_with("HTTP/1.1 100 Continue\r\n"));
    near.write_all(b"body").await.unwrap();
    assert_eq!(Answer::rest(&mut near).await.status(), 200);
    assert!(origin.only().ends_with("body"));
}

#[tokio::test]
async fn a_body_reaches_methods_that_usually_have_none() {
    let origin = Origin::saying("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    let gateway = Gateway::before(&origin).await;
    for method in ["GET", "DELETE", "REPORT"] {
        let lines = "Transfer-Encoding: chunked\r\nConnection: close\r\n";
        let mut near = asked(&gateway, method, lines).await;
        near.write_all(b"4\r\nbody\r\n0\r\nX-Late: 1\r\n\r\n").await.unwrap();
        assert_eq!(Answer::rest(&mut near).await.status(), 200);
    }
    for got in origin.received() {
        assert!(got.ends_with("\r\n\r\n4\r\nbody\r\n0\r\n\r\n"), "{got}");
    }
}

#[tokio::test]
async fn silence_ends_a_body() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mount = format!("o=http://{}/", listener.local_addr().unwrap());
    let mut config = config(&[&mount], &[]);
    config.limits.origin_pause = Duration::from_millis(100);
    config.limits.body_pause = Duration::from_millis(100);
    let gateway = Gateway::of(config, knowing(&[])).await;
    let mut near = asked(&gateway, "GET", "").await;
    let (mut far, _) = listener.accept().await.unwrap();
    until(&mut far, "\r\n\r\n").await;
    far.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf").await.unwrap();
    assert_eq!(Answer::rest(&mut near).await.text(), "half");
    let mut near = asked(&gateway, "PUT", "Content-Length: 9\r\n").await;
    near.write_all(b"half").await.unwrap();
    let (mut far, _) = listener.accept().await.unwrap();
    let mut got = Vec::new();
    let _ = timeout(DEADLINE, far.read_to_end(&mut got)).await.unwrap();
    assert!(got.ends_with(b"\r\n\r\nhalf"));
    assert_eq!(Answer::rest(&mut near).await.status(), 408);
}

#[tokio::test]
async fn an_answer_that_has_begun_ends_before_the_gateway_does() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mount = format!("o=http://{}/", listener.local_addr().unwrap());
    let mut config = config(&[&mount], &[]);
    config.limits.drain_time = DEADLINE;
    let gateway = Gateway::of(config, knowing(&[])).await;
    let idle = TcpStream::connect(gateway.address).await.unwrap();
    let address = gateway.address;
    let mut near = asked(&gateway, "GET", "").await;
    let (mut far, _) = listener.accept().await.unwrap();
    until(&mut far, "\r\n\r\n").await;
    let stopping = tokio::spawn(gateway.stop());
    // The listener no longer accepts connections.
    let refused = async { while TcpStream::connect(address).await.is_ok() {} };
    timeout(DEADLINE, refused).await.unwrap();
    far.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone").await.unwrap();
    assert_eq!(Answer::rest(&mut near).await.text(), "done");
    timeout(DEADLINE, stopping).await.unwrap().unwrap();
    drop(idle);
}
