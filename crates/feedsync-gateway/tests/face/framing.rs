//! Tests that both sides agree on the end of a message (RFC 9112 6.3, 11.2).

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{Answer, Gateway, Origin, config, knowing};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

async fn sent(lines: &str, body: &str) -> (Answer, Vec<String>) {
    let origin = Origin::saying(OK).await;
    let gateway = Gateway::before(&origin).await;
    let head = format!("POST /o/ HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", gateway.address);
    let answer = gateway.raw(format!("{head}{lines}\r\n{body}")).await;
    (answer, origin.received())
}

#[tokio::test]
async fn two_lengths_are_refused() {
    for lines in [
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: 5, 6\r\n",
        "Content-Length: 5, 5\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: -5\r\n",
        "Content-Length: 0x5\r\n",
        "Content-Length: 5 5\r\n",
        "Content-Length: \r\n",
        "Content-Length: 99999999999999999999\r\n",
    ] {
        let (answer, received) = sent(lines, "hello").await;
        assert_eq!(answer.status(), 400, "{lines}");
        assert!(received.is_empty(), "{lines}: {received:?}");
    }
}

#[tokio::test]
async fn codings_that_are_not_plainly_chunked_are_refused() {
    for lines in [
        "Transfer-Encoding: gzip\r\n",
        "Transfer-Encoding: chunked, gzip\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding:\x0bchunked\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding\r\n : chunked\r\n",
        "X: y\r\n Transfer-Encoding: chunked\r\n",
    ] {
        let (answer, received) = sent(lines, "0\r\n\r\n").await;
        assert!(matches!(answer.status(), 400 | 501), "{lines}: {answer:?}");
        assert!(received.is_empty(), "{lines}: {received:?}");
    }
}

/// The request is not forwarded, and bytes after its head are not treated as a request: the connection is closed.
#[tokio::test]
async fn a_length_beside_a_coding_is_refused() {
    let coding = "Transfer-Encoding: chunked\r\n";
    for lines in
        [format!("Content-Length: 3\r\n{coding}"), format!("{coding}Content-Length: 44\r\n")]
    {
        let origin = Origin::saying(OK).await;
        let gateway = Gateway::before(&origin).await;
        let hidden = format!("GET /o/hidden HTTP/1.1\r\nHost: {}\r\n\r\n", gateway.address);
        let head = format!("POST /o/ HTTP/1.1\r\nHost: {}\r\n", gateway.address);
        let first = format!("{head}Content-Length: 5\r\n\r\nhello");
        let answer = gateway.raw(format!("{head}{lines}\r\n0\r\n\r\n{hidden}")).await;
        assert_eq!(answer.status(), 400, "{answer:?}");
        assert!(!answer.text().contains("HTTP/1.1"), "one answer: {answer:?}");
        assert!(origin.received().is_empty());
        // The same holds on a connection that already served a request.
        let mut stream = TcpStream::connect(gateway.address).await.unwrap();
        stream.write_all(first.as_bytes()).await.unwrap();
        let mut answered = [0; 12];
        stream.read_exact(&mut answered).await.unwrap();
        assert_eq!(&answered, b"HTTP/1.1 200");
        stream.write_all(format!("{head}{lines}\r\n0\r\n\r\n{hidden}").as_bytes()).await.unwrap();
        let rest = Answer::rest(&mut stream).await;
        assert!(rest.text().contains("HTTP/1.1 400 "), "{rest:?}");
        assert_eq!(origin.received().len(), 1);
    }
}

/// After a chunked request the gateway cannot see the length. The coding counts and no length is forwarded. Bytes
/// after the end are not treated as a request, since the connection is closed (RFC 9112 6.1, 6.3).
#[tokio::test]
async fn a_length_beside_a_coding_hides_no_request() {
    let coding = "Transfer-Encoding: chunked\r\n";
    let origin = Origin::saying(OK).await;
    let gateway = Gateway::before(&origin).await;
    let hidden = format!("GET /o/hidden HTTP/1.1\r\nHost: {}\r\n\r\n", gateway.address);
    let head = format!("POST /o/ HTTP/1.1\r\nHost: {}\r\n", gateway.address);
    let first = format!("{head}{coding}\r\n0\r\n\r\n");
    let second = format!("{head}Content-Length: 3\r\n{coding}\r\n0\r\n\r\n{hidden}");
    let answer = gateway.raw(format!("{first}{second}")).await;
    assert!(!answer.text().contains("HTTP/1.1 400"), "{answer:?}");
    let received = origin.received();
    assert_eq!(received.len(), 2, "{received:?}");
    let got = received[1].to_lowercase();
    assert!(!got.contains("content-length"), "{got}");
    assert!(
        got.contains("transfer-encoding: chunked") && got.ends_with("\r\n\r\n0\r\n\r\n"),
        "{got}"
    );
}

/// Malformed chunked bodies that are complete in the view of their sender (RFC 9112 7.1).
const MALFORMED: [&str; 12] = [
    "5\nhello\n0\n\n",
    "-1\r\n\r\n",
    "+5\r\nhello\r\n0\r\n\r\n",
    "0x5\r\nhello\r\n0\r\n\r\n",
    "5 5\r\nhello\r\n0\r\n\r\n",
    "5\r\nhelloX\r\n0\r\n\r\n",
    "5\r\nhello0\r\n\r\n",
    "zz\r\n",
    ";name=value\r\n",
    "\r\nhello\r\n0\r\n\r\n",
    "fffffffffffffffff\r\n",
    "5;name=a\nb\r\nhello\r\n0\r\n\r\n",
];

#[tokio::test]
async fn malformed_chunks_of_a_request_are_a_bad_request_and_end_the_connection() {
    for body in MALFORMED {
        let origin = Origin::saying(OK).await;
        let gateway = Gateway::before(&origin).await;
        let head = format!("POST /o/ HTTP/1.1\r\nHost: {}\r\n", gateway.address);
        // The request does not ask to close the connection, and the application waits.
        let answer = gateway.raw(format!("{head}Transfer-Encoding: chunked\r\n\r\n{body}")).await;
        assert_eq!(answer.status(), 400, "{body:?}: {answer:?}");
        assert_eq!(answer.values("content-type"), ["application/problem+json"]);
        assert!(origin.received().is_empty(), "{body:?}: {:?}", origin.received());
    }
}

#[tokio::test]
async fn extensions_of_chunks_go_no_further() {
    let body = "5;name=value;other=\"a;b\"\r\nhello\r\n0;last\r\nX-Trailer: 1\r\n\r\n";
    let (answer, received) = sent("Transfer-Encoding: chunked\r\n", body).await;
    assert_eq!(answer.text(), "ok");
    assert!(received[0].ends_with("\r\n\r\n5\r\nhello\r\n0\r\n\r\n"), "{received:?}");
    let long = format!("5;{}\r\nhello\r\n0\r\n\r\n", "a".repeat(64 << 10));
    let (answer, received) = sent("Transfer-Encoding: chunked\r\n", &long).await;
    assert_eq!(answer.status(), 400, "{answer:?}");
    assert!(received.is_empty());
}

#[tokio::test]
async fn a_request_that_ends_within_a_chunk_is_not_passed_on() {
    for body in ["5\r\nhel", "5\r\nhello", "5\r\nhello\r\n", "5"] {
        let origin = Origin::saying(OK).await;
        let gateway = Gateway::before(&origin).await;
        let mut stream = TcpStream::connect(gateway.address).await.unwrap();
        let head = format!("POST /o/ HTTP/1.1\r\nHost: {}\r\n", gateway.address);
        let request = format!("{head}Transfer-Encoding: chunked\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let answer = Answer::rest(&mut stream).await;
        assert!(answer.head.is_empty() || answer.status() == 400, "{body:?}: {answer:?}");
        assert!(origin.received().is_empty(), "{body:?}: {:?}", origin.received());
    }
}

#[tokio::test]
async fn malformed_chunks_of_an_origin_are_a_bad_gateway() {
    for body in MALFORMED.iter().filter(|body| !body.contains("hello")).chain(&[
        "",
        "5 5\r\nhello\r\n0\r\n\r\n",
        "\r\nhello\r\n0\r\n\r\n",
    ]) {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let origin = Origin::saying_and_closing(format!("{head}{body}")).await;
        let gateway = Gateway::before(&origin).await;
        let answer = gateway.get("/o/", &[]).await;
        assert_eq!(answer.status(), 502, "{body:?}: {answer:?}");
        assert_eq!(answer.values("content-type"), ["application/problem+json"]);
    }
}

#[tokio::test]
async fn line_breaks_make_no_headers() {
    let origin = Origin::saying(OK).await;
    let gateway = Gateway::before(&origin).await;
    let host = format!("Host: {}", gateway.address);
    for request in [
        format!("GET /o/\rX: y HTTP/1.1\r\n{host}\r\n\r\n"),
        format!("GET /o/\nX: y HTTP/1.1\r\n{host}\r\n\r\n"),
        format!("GET /o/ HTTP/1.1\r\n{host}\r\nX: a\rInjected: b\r\n\r\n"),
        format!("GET /o/ HTTP/1.1\r\n{host}\r\nX: a\0b\r\n\r\n"),
        format!("GET /o/ HTTP/1.1\r\n{host}\r\nX y: a\r\n\r\n"),
        format!("GET /o/ HTTP/1.1\r\n{host}\r\n: a\r\n\r\n"),
        format!("GET  /o/ HTTP/1.1\r\n{host}\r\n\r\n"),
        format!("GET /o/ HTTP/1.1 \r\n{host}\r\n\r\n"),
        format!("GET /o/ HTTP/2.0\r\n{host}\r\n\r\n"),
        format!("GET /o/\r\n{host}\r\n\r\n"),
        format!("GE(T /o/ HTTP/1.1\r\n{host}\r\n\r\n"),
    ] {
        let answer = gateway.raw(&request).await;
        assert_eq!(answer.status(), 400, "{request:?}: {answer:?}");
    }
    // Escaped line breaks stay escaped.
    let answer = gateway.get("/o/a%0d%0aInjected:%20b?c%0d%0ad", &[]).await;
    assert_eq!(answer.status(), 200);
    let got = origin.only();
    assert!(got.starts_with("GET /a%0d%0aInjected:%20b?c%0d%0ad HTTP/1.1\r\n"), "{got}");
}

#[tokio::test]
async fn heads_are_bounded() {
    let origin = Origin::saying(OK).await;
    let gateway = Gateway::before(&origin).await;
    let long = format!("X: {}", "a".repeat(33 << 10));
    assert_eq!(gateway.get("/o/", &[&long]).await.status(), 431);
    let endless = format!("GET /o/ HTTP/1.1\r\nX: {}", "a".repeat(200 << 10));
    let mut stream = TcpStream::connect(gateway.address).await.unwrap();
    // The gateway may close the connection before everything is written.
    let _ = stream.write_all(endless.as_bytes()).await;
    let answer = Answer::rest(&mut stream).await;
    assert!(answer.reset || answer.status() == 431, "{answer:?}");
    let many: Vec<_> = (0..101).map(|n| format!("X-{n}: a")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    assert_eq!(gateway.get("/o/", &many).await.status(), 431);
    let fair = format!("X: {}", "a".repeat(30 << 10));
    assert_eq!(gateway.get("/o/", &[&fair]).await.status(), 200);
    assert_eq!(origin.received().len(), 1);
}

#[tokio::test]
async fn slow_heads_time_out() {
    let mut config = config(&[], &[]);
    config.limits.head_time = std::time::Duration::from_millis(100);
    let gateway = Gateway::of(config, knowing(&[])).await;
    let answer = gateway.raw("GET /o/ HTTP/1.1\r\nHost: loc").await;
    assert!(answer.head.is_empty() || answer.status() == 408, "{answer:?}");
}

#[tokio::test]
async fn answers_that_could_be_read_in_two_ways_are_not_passed_on() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!",
        "HTTP/1.1 200 OK\r\nX: a\rY: b\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX y: a\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        "HTTP/3 200 OK\r\n\r\n",
        "nonsense\r\n\r\n",
        "",
    ] {
        let origin = Origin::saying_and_closing(answer).await;
        let gateway = Gateway::before(&origin).await;
        let got = gateway.get("/o/", &[]).await;
        assert_eq!(got.status(), 502, "{answer:?}: {got:?}");
        assert_eq!(got.values("content-type"), ["application/problem+json"]);
    }
    let huge = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "a".repeat(100 << 10));
    let origin = Origin::saying_and_closing(huge).await;
    let gateway = Gateway::before(&origin).await;
    assert_eq!(gateway.get("/o/", &[]).await.status(), 502);
}

#[tokio::test]
async fn bytes_after_a_response_are_discarded() {
    let hidden = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhidden";
    let origin = Origin::saying(format!("{OK}{hidden}")).await;
    let gateway = Gateway::before(&origin).await;
    for _ in 0..3 {
        assert_eq!(gateway.get("/o/", &[]).await.text(), "ok");
    }
}
