//! Pictures of articles: browsers load them from the hub, which fetches only those that an article shows.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use feedsync_test::site::{Act, Site, answer, document, redirect};
use futures_util::future::join_all;
use http::{Method, StatusCode};

use crate::hub::{bytes, text};
use crate::newsroom::{ARRIVAL_TIME, Newsroom, PASSWORD, article};
use crate::pages_reading::{FEED, HOME, LIST, done, reading, seen};
use crate::visitor::Visitor;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nthe rest";

/// Addresses of the pictures of an article, as its page shows them.
async fn shown(visitor: &Visitor, article: u64) -> Vec<String> {
    let page = seen(visitor, &format!("{LIST}/{article}?pictures=1")).await;
    let begin = format!("src=\"{LIST}/{article}/pictures/");
    let addresses = page.split(&*begin).skip(1).map(|rest| rest.split('"').next().unwrap());
    addresses.map(|name| format!("{LIST}/{article}/pictures/{name}")).collect()
}

/// Publishes an article with these pictures. Each has its address as its description.
async fn publish(room: &Newsroom, name: &str, pictures: &[String]) {
    let content: String = pictures
        .iter()
        .map(|address| format!("<p><img src='{address}' alt='{address}'>"))
        .collect();
    room.publish(FEED, vec![article(name, name, &content, 1)], ARRIVAL_TIME).await;
}

#[tokio::test]
async fn picture_of_an_article_is_fetched_once_and_sent_in_a_sandbox() {
    let (room, anna) = reading(0).await;
    let site = Site::start(|_| document("text/html", PNG)).await;
    publish(&room, "n1", &[site.url("/cat.png?a=1&b=2")]).await;
    let [address] = &shown(&anna, 1).await[..] else { panic!("one picture") };
    // Looking at the page loads nothing.
    assert_eq!(site.targets(), [""; 0]);
    let mut tags = Vec::new();
    for _ in 0..2 {
        let answer = anna.get(address).await;
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(text(&answer, "content-type"), "image/png");
        assert_eq!(text(&answer, "cache-control"), "private, max-age=86400");
        assert_eq!(text(&answer, "content-security-policy"), "default-src 'none'; sandbox");
        assert_eq!(text(&answer, "x-content-type-options"), "nosniff");
        tags.push(text(&answer, "etag").to_owned());
        assert_eq!(bytes(answer).await, PNG);
    }
    assert_eq!(tags[0], tags[1]);
    let known = [("if-none-match", &*tags[0])];
    let again = anna.ask(Method::GET, address, &known, Body::empty()).await;
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    let head = anna.ask(Method::HEAD, address, &[], Body::empty()).await;
    assert_eq!((head.status(), text(&head, "content-type")), (StatusCode::OK, "image/png"));
    // The server learns nothing about the reader.
    let asked = site.asked();
    let [asked] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!(asked.target, "/cat.png?a=1&b=2");
    for header in ["cookie", "referer", "authorization", "x-forwarded-for"] {
        assert!(!asked.headers.contains_key(header), "{header}");
    }
}

#[tokio::test]
async fn only_readers_of_an_article_get_only_its_pictures() {
    let (room, anna) = reading(0).await;
    let site = Site::start(|_| document("image/png", PNG)).await;
    publish(&room, "n1", &[site.url("/one.png")]).await;
    publish(&room, "n2", &[site.url("/two.png")]).await;
    let (one, two) = (shown(&anna, 1).await.remove(0), shown(&anna, 2).await.remove(0));
    let missing = anna.get(&format!("{LIST}/77")).await;
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
    let detail = |page: &[u8]| {
        let page = String::from_utf8_lossy(page).into_owned();
        assert!(page.contains("none of your subscriptions has this article"), "{page}");
    };
    detail(&bytes(missing).await);
    let name = |address: &str| address.rsplit('/').next().unwrap().to_owned();
    let foreign = [
        format!("{LIST}/1/pictures/{}", name(&two)),
        format!("{LIST}/77/pictures/{}", name(&one)),
        format!("{LIST}/x/pictures/{}", name(&one)),
        format!("{LIST}/1/pictures/{}", "0".repeat(32)),
        format!("{LIST}/1/pictures/{}", name(&one).to_uppercase()),
        format!("{LIST}/1/pictures/{}?address={}", "0".repeat(32), site.url("/one.png")),
        format!("{LIST}/1/pictures/http%3A%2F%2F127.0.0.1%2Fone.png"),
    ];
    for address in &foreign {
        let answer = anna.get(address).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{address}");
        detail(&bytes(answer).await);
    }
    assert_eq!(site.targets(), [""; 0]);
    assert_eq!(anna.get(&one).await.status(), StatusCode::OK);
    // A user without the subscription gets nothing, although the picture is cached.
    let bob = Visitor::signed_in(&room.router, "bob", PASSWORD).await;
    let answer = bob.get(&one).await;
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
    detail(&bytes(answer).await);
    let nobody = Visitor::new(&room.router);
    assert_eq!(nobody.get(&one).await.status(), StatusCode::SEE_OTHER);
    done(&bob, HOME, &[("action", "subscribe"), ("address", FEED)]).await;
    assert_eq!(bob.get(&one).await.status(), StatusCode::OK);
    assert_eq!(site.targets(), ["/one.png"]);
    // Whoever ends the subscription cannot read the article any more.
    done(&anna, "/pages/reading/feeds/1", &[("action", "unsubscribe")]).await;
    assert_eq!(anna.get(&one).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(bob.get(&one).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn pictures_that_cannot_be_shown_are_problems_and_the_page_shows_their_descriptions() {
    let (room, anna) = reading(0).await;
    let private = Site::start(|_| document("image/png", PNG)).await;
    // The hub of the test fetches from 127.0.0.1 as from public addresses, but not from other private addresses.
    let target = private.url("/secret.png").replace("127.0.0.1", "127.0.0.2");
    let secret = target.clone();
    let site = Site::start(move |asked| match &*asked.target {
        "/a.svg" => document("image/svg+xml", "<svg xmlns='http://www.w3.org/2000/svg'/>"),
        "/svg.png" => document("image/png", "<svg xmlns='http://www.w3.org/2000/svg'/>"),
        "/a.html" => document("image/gif", "<html><script>alert(1)</script>"),
        "/large" => document("image/png", [PNG, &vec![0; 10 << 20]].concat()),
        "/endless" => {
            let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
            vec![Act::Send([head.as_bytes(), PNG].concat()), Act::Forever(vec![0; 64 << 10])]
        }
        "/redirect" => redirect(302, &target),
        "/error" => answer(500, &[], "no"),
        _ => answer(404, &[], "none"),
    })
    .await;
    let paths =
        ["/a.svg", "/svg.png", "/a.html", "/large", "/endless", "/redirect", "/error", "/missing"];
    let mut addresses = paths.map(|path| site.url(path)).to_vec();
    addresses.push(secret);
    addresses.push("http://no-such-host.invalid/a.png".to_owned());
    publish(&room, "n1", &addresses).await;
    let page = seen(&anna, &format!("{LIST}/1?pictures=1")).await;
    let pictures = shown(&anna, 1).await;
    assert_eq!(pictures.len(), addresses.len());
    for (picture, address) in pictures.iter().zip(&addresses) {
        assert!(page.contains(&format!("alt=\"{address}\"")), "{page}");
        for _ in 0..2 {
            let begun = Instant::now();
            let answer =
                anna.ask(Method::GET, picture, &[("accept", "image/*")], Body::empty()).await;
            assert_eq!(answer.status(), StatusCode::BAD_GATEWAY, "{address}");
            let problem = String::from_utf8(bytes(answer).await.to_vec()).unwrap();
            assert!(problem.contains("The picture cannot be fetched"), "{address}: {problem}");
            assert!(begun.elapsed() < Duration::from_secs(10), "{address}");
        }
    }
    assert_eq!(private.targets(), [""; 0]);
    assert_eq!(site.targets(), paths, "failures are cached");
}

/// One user has four pictures fetched at once, and others do not wait for them.
#[tokio::test]
async fn number_of_pictures_that_are_fetched_for_a_user_at_once_is_bounded() {
    let (room, anna) = reading(0).await;
    let (current, highest) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (running, most) = (Arc::clone(&current), Arc::clone(&highest));
    let router = Router::new().fallback(move || {
        most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let running = Arc::clone(&running);
        async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            running.fetch_sub(1, Ordering::SeqCst);
            PNG
        }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let addresses: Vec<_> = (0..20).map(|number| format!("{base}/{number}.png")).collect();
    publish(&room, "n1", &addresses).await;
    let bob = Visitor::signed_in(&room.router, "bob", PASSWORD).await;
    done(&bob, HOME, &[("action", "subscribe"), ("address", FEED)]).await;
    let pictures = shown(&anna, 1).await;
    assert_eq!(pictures.len(), 20);
    let load = async |visitor: &Visitor, pictures: &[String]| {
        for answer in join_all(pictures.iter().map(|picture| visitor.get(picture))).await {
            assert_eq!(answer.status(), StatusCode::OK);
        }
    };
    load(&anna, &pictures[..12]).await;
    assert_eq!(highest.swap(0, Ordering::SeqCst), 4);
    tokio::join!(load(&anna, &pictures[12..16]), load(&bob, &pictures[16..]));
    assert!(highest.load(Ordering::SeqCst) > 4, "{highest:?}");
    assert_eq!(current.load(Ordering::SeqCst), 0);
}
