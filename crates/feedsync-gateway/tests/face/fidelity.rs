//! Tests that requests and responses pass through unchanged.

use crate::support::{Answer, Gateway, Origin};

#[tokio::test]
async fn status_headers_and_bytes_are_those_of_the_origin() {
    let origin = Origin::saying(
        "HTTP/1.1 299 Quite Fine\r\nDate: Sat, 01 Jan 2000 00:00:00 GMT\r\nX-Twice: b\r\nETag: W/\"x\"\r\n\
         x-twice: a\r\nContent-Type: application/atom+xml;charset=\"utf-8\"\r\nContent-Encoding: gzip\r\n\
         Warning: 199 - \"a, b\"\r\nContent-Length: 7\r\n\r\n\x1f\r\n\0abc",
    )
    .await;
    let gateway = Gateway::before(&origin).await;
    let path = format!("/http/{}/a", origin.address);
    let answer = gateway.get(&path, &[]).await;
    let head: Vec<_> = answer.head.lines().collect();
    assert_eq!(head[0], "HTTP/1.1 299 Quite Fine");
    for line in [
        "Date: Sat, 01 Jan 2000 00:00:00 GMT",
        "ETag: W/\"x\"",
        "Content-Type: application/atom+xml;charset=\"utf-8\"",
        "Content-Encoding: gzip",
        "Warning: 199 - \"a, b\"",
        "Content-Length: 7",
    ] {
        assert!(head.contains(&line), "{line}: {head:?}");
    }
    assert_eq!(answer.values("x-twice"), ["b", "a"]);
    assert_eq!(answer.values("via"), ["1.1 feedsync"]);
    assert_eq!(answer.values("transfer-encoding"), [""; 0]);
    assert_eq!(answer.body, b"\x1f\r\n\0abc");
}

#[tokio::test]
async fn the_origin_gets_what_the_application_sends() {
    let origin = Origin::saying("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n").await;
    let gateway = Gateway::before(&origin).await;
    let request = format!(
        "POST /o/%7ea/b%2fc?x=%41&&y HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nSlug: %c3%a4\r\n\
         X-Twice: b\r\nX-TWICE: a\r\nAccept-Encoding: br\r\nAuthorization: Basic eDp5\r\nCookie: a=b\r\n\
         If-Match: \"1\"\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\na\r\n\0b",
        gateway.address
    );
    assert_eq!(gateway.raw(request).await.status(), 201);
    let got = origin.only();
    assert!(got.starts_with("POST /%7ea/b%2fc?x=%41&&y HTTP/1.1\r\n"), "{got}");
    assert!(got.ends_with("\r\n\r\na\r\n\0b"), "{got}");
    let (head, _) = got.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<_> = head.lines().skip(1).collect();
    lines.sort_unstable();
    let host = format!("Host: {}", origin.address);
    let mut expected = vec![
        host.as_str(),
        "Slug: %c3%a4",
        "X-Twice: b",
        "X-TWICE: a",
        "Accept-Encoding: br",
        "Authorization: Basic eDp5",
        "Cookie: a=b",
        "If-Match: \"1\"",
        "Content-Type: text/plain",
        "Content-Length: 5",
        "via: 1.1 feedsync",
    ];
    expected.sort_unstable();
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn bodyless_responses_keep_their_header() {
    for (method, status) in
        [("HEAD", "200 OK"), ("GET", "304 Not Modified"), ("GET", "204 No Content")]
    {
        let length = if status.starts_with("204") { "" } else { "Content-Length: 1234\r\n" };
        let answer = format!("HTTP/1.1 {status}\r\nETag: \"x\"\r\n{length}\r\n");
        let origin = Origin::saying(answer).await;
        let gateway = Gateway::before(&origin).await;
        for _ in 0..2 {
            // The second one uses the same connection to the origin.
            let answer = gateway.ask(method, "/o/", &[]).await;
            assert!(answer.head.starts_with(&format!("HTTP/1.1 {status}")), "{answer:?}");
            assert_eq!(answer.values("etag"), ["\"x\""]);
            // A 304 response may omit the length (RFC 9110 15.4.5).
            let lengths = if method == "HEAD" { vec!["1234"] } else { vec![] };
            assert_eq!(answer.values("content-length"), lengths, "{answer:?}");
            assert_eq!(answer.values("transfer-encoding"), [""; 0]);
            assert!(answer.body.is_empty());
        }
        assert_eq!(origin.received().len(), 2);
    }
}

#[tokio::test]
async fn statuses_that_nobody_knows_pass() {
    for status in [299, 418, 499, 599, 600, 999] {
        let origin =
            Origin::saying(format!("HTTP/1.1 {status} Odd\r\nContent-Length: 2\r\n\r\nok")).await;
        let gateway = Gateway::before(&origin).await;
        let answer = gateway.get("/o/", &[]).await;
        assert_eq!((answer.status(), answer.text().as_str()), (status, "ok"));
        assert!(answer.head.starts_with(&format!("HTTP/1.1 {status} Odd")), "{answer:?}");
    }
}

#[tokio::test]
async fn no_redirect_is_followed() {
    let origin = Origin::saying(
        "HTTP/1.1 302 Found\r\nLocation: http://elsewhere.example/\r\nContent-Length: 0\r\n\r\n",
    )
    .await;
    let gateway = Gateway::before(&origin).await;
    let answer = gateway.get("/o/", &[]).await;
    assert_eq!(answer.status(), 302);
    // The target of the redirect is not reached by the gateway.
    assert_eq!(answer.values("location"), ["http://elsewhere.example/"]);
    assert_eq!(origin.received().len(), 1);
}

#[tokio::test]
async fn fields_of_one_hop_stay_on_it() {
    let origin = Origin::saying(
        "HTTP/1.1 200 OK\r\nConnection: X-Hop, keep-alive\r\nX-Hop: 1\r\nKeep-Alive: timeout=9\r\n\
         Proxy-Authenticate: Basic realm=x\r\nUpgrade: h2c\r\nTrailer: X-Late\r\nX-Kept: 2\r\n\
         Content-Length: 2\r\n\r\nok",
    )
    .await;
    let gateway = Gateway::before(&origin).await;
    let answer = gateway
        .get(
            "/o/",
            &[
                "Connection: x-mine, content-length",
                "X-Mine: 1",
                "Keep-Alive: 5",
                "TE: trailers",
                "Trailer: x",
                "Upgrade: websocket",
                "Proxy-Connection: keep-alive",
                "Proxy-Authorization: Basic c2VjcmV0",
                "X-Kept: 1",
            ],
        )
        .await;
    for name in ["x-hop", "keep-alive", "proxy-authenticate", "upgrade", "trailer"] {
        assert_eq!(answer.values(name), [""; 0], "{name}");
    }
    assert_eq!(answer.values("x-kept"), ["2"]);
    let got = origin.only().to_lowercase();
    for name in
        ["connection:", "x-mine:", "keep-alive:", "te:", "trailer:", "upgrade:", "authorization:"]
    {
        assert!(!got.lines().any(|line| line.contains(name)), "{name}: {got}");
    }
    assert!(got.contains("x-kept: 1"));
}

#[tokio::test]
async fn an_older_application_is_answered_in_its_way() {
    let origin = Origin::saying(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
    )
    .await;
    let gateway = Gateway::before(&origin).await;
    let answer =
        gateway.raw(format!("GET /o/ HTTP/1.0\r\nHost: {}\r\n\r\n", gateway.address)).await;
    assert_eq!(answer.values("transfer-encoding"), [""; 0]);
    assert_eq!(answer.text(), "abcde");
    let got = origin.only();
    assert!(got.starts_with("GET / HTTP/1.1\r\n") && got.contains("via: 1.0 feedsync"), "{got}");
}

#[tokio::test]
async fn an_older_origin_is_understood() {
    let origin = Origin::saying_and_closing("HTTP/1.0 200 OK\r\n\r\nuntil the end").await;
    let gateway = Gateway::before(&origin).await;
    let answer: Answer = gateway.get("/o/", &[]).await;
    assert_eq!(answer.values("via"), ["1.0 feedsync"]);
    assert_eq!(answer.text(), "D\r\nuntil the end\r\n0\r\n\r\n");
}
