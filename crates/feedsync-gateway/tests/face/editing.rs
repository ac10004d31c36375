//! Tests of edits through the proxy: order, completion and permission.

use std::time::Duration;

use feedsync_gateway::Config;
use http::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::kept::{ATOM, FEED, Kept, Site, entry};
use crate::support::{Answer, DEADLINE, config, find};

/// A server with a feed, and a gateway that subscribes to it.
async fn keeping(change: impl FnOnce(&mut Config)) -> (Site, Kept) {
    let site = Site::start().await;
    site.answers("GET /feed", 200, ATOM, FEED);
    site.answers("GET /entry", 200, ATOM, &entry("E"));
    let mut config = config(&[], &[&site.address.to_string()]);
    change(&mut config);
    let kept = Kept::of(config).await;
    kept.subscribe(json!({ "feed": site.url("/feed"), "follows": ["edit"] })).await;
    (site, kept)
}

async fn waiting(kept: &Kept) -> usize {
    kept.told(Method::GET, "/outbox", None).await.as_array().unwrap().len()
}

/// Waits until a server received this request.
async fn arrived(site: &Site, asked: &str) {
    let arrived = async {
        while site.received(asked).is_empty() {
            tokio::task::yield_now().await;
        }
    };
    timeout(DEADLINE, arrived).await.unwrap();
}

#[tokio::test]
async fn edits_are_decided_again_after_waiting_for_the_lock() {
    let (site, kept) = keeping(|_| {}).await;
    let member = site.url("/entry");
    // The connection breaks off once the first edit has arrived.
    site.answers_edits(false);
    let first = async { kept.send("PUT", &member, &[], &entry("First")).await };
    let second = async {
        arrived(&site, "PUT /entry").await;
        let request = kept.request("PUT", &member, &["Expect: 100-continue"], &entry("Second"));
        let (head, body) = request.split_at(find(request.as_bytes(), b"\r\n\r\n").unwrap() + 4);
        let mut stream = TcpStream::connect(kept.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        // The request for the body shows that the edit will be sent to its server.
        let mut wanted = [0; 25];
        stream.read_exact(&mut wanted).await.unwrap();
        assert!(wanted.starts_with(b"HTTP/1.1 100 "));
        stream.write_all(body.as_bytes()).await.unwrap();
        site.answers_edits(true);
        Answer::rest(&mut stream).await
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!(
        (first.status(), first.text()),
        (200, entry("First")),
        "it is not known to have failed"
    );
    assert_eq!((second.status(), second.text()), (200, entry("Second")));
    let puts = site.received("PUT /entry");
    assert!(puts.iter().all(|put| put.contains("First")), "it overtook the first: {puts:?}");
    assert!(waiting(&kept).await > 0);
    assert_eq!(kept.ask("GET", &member, &[]).await.text(), entry("Second"));
}

#[tokio::test]
async fn truncated_edits_are_not_accepted() {
    let (site, kept) = keeping(|_| {}).await;
    for network in ["offline", "online"] {
        kept.network(network).await;
        let request = kept.request("POST", &site.url("/feed"), &[], &entry("Half"));
        let mut stream = TcpStream::connect(kept.address).await.unwrap();
        stream.write_all(&request.as_bytes()[..request.len() - 1]).await.unwrap();
        stream.shutdown().await.unwrap();
        let answer = Answer::rest(&mut stream).await;
        assert!(answer.head.is_empty() || answer.status() == 400, "{answer:?}");
        assert_eq!(waiting(&kept).await, 0);
        let feed = kept.ask("GET", &site.url("/feed"), &[]).await;
        assert!(!feed.text().contains("Half"), "{feed:?}");
    }
    assert!(site.received("POST /feed").is_empty());
}

#[tokio::test]
async fn edits_complete_after_the_application_disconnects() {
    let (site, kept) = keeping(|_| {}).await;
    let member = site.url("/entry");
    let theirs = entry("As its server has it");
    site.answers("PUT /entry", 200, ATOM, &theirs);
    site.answers_edits(false);
    let mut stream = TcpStream::connect(kept.address).await.unwrap();
    let request = kept.request("PUT", &member, &[], &entry("Mine"));
    stream.write_all(request.as_bytes()).await.unwrap();
    arrived(&site, "PUT /entry").await;
    drop(stream);
    // Meanwhile the gateway notices that the application is gone.
    sleep(Duration::from_millis(100)).await;
    site.answers_edits(true);
    let shown = async {
        while kept.ask("GET", &member, &[]).await.text() != theirs {
            tokio::task::yield_now().await;
        }
    };
    timeout(DEADLINE, shown).await.expect("what its server has done is known");
    assert_eq!(site.received("PUT /entry").len(), 1);
    assert_eq!(waiting(&kept).await, 0);
}

#[tokio::test]
async fn oversized_response_to_an_edit_is_returned_without_its_body() {
    let (site, kept) = keeping(|config| config.limits.answer_bytes = 600).await;
    let large = "x".repeat(601);
    let headers = "Content-Type: text/plain\r\nETag: \"2\"\r\nContent-Location: /entry\r\n";
    site.answers("PUT /entry", 200, headers, &large);
    let put = kept.send("PUT", &site.url("/entry"), &[], &entry("Mine")).await;
    assert_eq!((put.status(), put.body.len()), (200, 0), "its server has done it");
    assert_eq!(put.values("content-length"), ["0"]);
    for of_the_entity in ["content-type", "content-location"] {
        assert_eq!(put.values(of_the_entity), [""; 0], "there is none");
    }
    let read = kept.ask("GET", &site.url("/entry"), &[]).await;
    assert_eq!(read.text(), entry("Mine"), "it is known here");
    assert_eq!(site.received("PUT /entry").len(), 1);
    assert_eq!(waiting(&kept).await, 0);
    // The created resource is at the address in `Location`, even if the response is too large.
    let headers = "Content-Type: text/plain\r\nLocation: /made\r\n";
    site.answers("POST /feed", 201, headers, &large);
    site.answers("GET /made", 200, ATOM, &entry("Made"));
    let made = kept.send("POST", &site.url("/feed"), &[], &entry("Made")).await;
    assert_eq!((made.status(), made.body.len()), (201, 0));
    assert_eq!(made.values("location"), ["/made"]);
    let feed = kept.ask("GET", &site.url("/feed"), &[]).await;
    assert!(feed.text().contains("Made"), "{feed:?}");
}

#[tokio::test]
async fn pages_of_other_origins_edit_nothing() {
    let allow = "https://app.example";
    let (site, kept) = keeping(|config| config.allow_origins = vec![allow.parse().unwrap()]).await;
    kept.network("offline").await;
    let own = format!("http://{}", site.address);
    let member = site.url("/entry");
    let refused = [
        vec!["Origin: https://evil.example".to_owned()],
        vec!["Origin: null".to_owned()],
        vec!["Origin: https://evil.example".to_owned(), "Sec-Fetch-Site: none".to_owned()],
        vec!["Origin: null".to_owned(), "Sec-Fetch-Site: same-origin".to_owned()],
        vec![format!("Origin: {own}"), "Origin: https://evil.example".to_owned()],
        vec!["Sec-Fetch-Site: cross-site".to_owned()],
        vec!["Sec-Fetch-Site: same-site".to_owned()],
        vec!["Sec-Fetch-Site: cross-site".to_owned(), "Referer: https://evil.example/".to_owned()],
    ];
    for headers in &refused {
        let headers: Vec<_> = headers.iter().map(String::as_str).collect();
        for method in ["PUT", "DELETE"] {
            let answer = kept.send(method, &member, &headers, &entry("Theirs")).await;
            assert_eq!(answer.status(), 403, "{method} {headers:?}");
        }
        let answer = kept.send("POST", &site.url("/feed"), &headers, &entry("Theirs")).await;
        assert_eq!(answer.status(), 403, "{headers:?}");
    }
    assert_eq!(waiting(&kept).await, 0);
    let taken = [
        vec![],
        vec!["Sec-Fetch-Site: none".to_owned()],
        vec!["Sec-Fetch-Site: same-origin".to_owned()],
        vec![format!("Origin: {own}"), "Sec-Fetch-Site: same-origin".to_owned()],
        vec![format!("Origin: {allow}"), "Sec-Fetch-Site: cross-site".to_owned()],
        vec!["Sec-Fetch-Site: cross-site".to_owned(), format!("Referer: {allow}/page")],
    ];
    for headers in &taken {
        let headers: Vec<_> = headers.iter().map(String::as_str).collect();
        let answer = kept.send("PUT", &member, &headers, &entry("Mine")).await;
        assert_eq!(answer.status(), 200, "{headers:?}");
    }
}

#[tokio::test]
async fn created_resources_have_their_own_address_in_reverse_mode() {
    let (site, kept) = keeping(|_| {}).await;
    site.answers("POST /feed", 201, &format!("{ATOM}Location: /made\r\n"), "");
    // The feed does not contain the created entry yet.
    site.answers("GET /feed", 503, "Retry-After: 600\r\n", "");
    let below = |path: &str| format!("/http/{}{path}", site.address);
    let made = kept.send("POST", &below("/feed"), &[], &entry("Made")).await;
    assert_eq!(made.status(), 201);
    let shown = format!("http://{}{}", kept.address, below("/made"));
    assert_eq!(made.values("location"), [shown.as_str()]);
    kept.network("offline").await;
    for address in [below("/made"), site.url("/made")] {
        assert_eq!(kept.ask("GET", &address, &[]).await.text(), entry("Made"), "{address}");
    }
    let put = kept.send("PUT", &below("/made"), &[], &entry("Made again")).await;
    assert_eq!(put.status(), 200);
    let edits = kept.told(Method::GET, "/outbox", None).await;
    assert_eq!(edits[0]["location"], site.url("/made"));
}
