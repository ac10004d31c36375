//! Full texts of articles: the hub fetches the web page of an article when a form or a newsreader asks for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Html;
use feedsync_aggregator::NewArticle;
use feedsync_test::site::{Act, Answer, Site, answer, document, redirect};
use futures_util::future::join_all;
use http::{Method, Response, StatusCode};
use serde_json::Value;
use tower::ServiceExt as _;

use crate::access::world::basic;
use crate::browsing::faults;
use crate::hub::{bytes, request, text};
use crate::newsroom::{ARRIVAL_TIME, Newsroom, PASSWORD, article};
use crate::pages_reading::{FEED, HOME, LIST, done, reading, seen};
use crate::visitor::{Visitor, html};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nthe rest";

/// Web page of an article, with scripts and a picture.
const PAGE: &str = "<!DOCTYPE html><html><head><title>A title</title><script>alert(1)</script></head>\
    <body onload=alert(1)><nav><a href=/other>Other articles</a></nav><article><h1>A title</h1>\
    <p onclick=alert(1)>The ferry left at noon, since fog lay over the harbour, and the crew had to wait.</p>\
    <p><a href='javascript:alert(1)'>A link</a> and <a href='../map'>another one</a> of the harbour, with commas, too.</p>\
    <img src=cat.png onerror=alert(1) alt='A cat'><iframe src=//evil.example></iframe>\
    <p>Nobody had expected that, least of all the captain, who knew the river like no other.</p>\
    <style>p { background: url(//evil.example) }</style></article></body></html>";

const BEGIN: &str = "The ferry left at noon";

fn linked(name: &str, link: &str) -> NewArticle {
    let mut new = article(name, name, "<p>An excerpt</p>", 1);
    new.text.link = Some(link.to_owned());
    new
}

/// A hub on which anna reads an article with this link.
async fn reading_of(link: &str) -> (Newsroom, Visitor) {
    let (room, anna) = reading(0).await;
    room.publish(FEED, vec![linked("n1", link)], ARRIVAL_TIME).await;
    (room, anna)
}

async fn load(visitor: &Visitor, article: u64) -> Response<Body> {
    visitor.post(&format!("{LIST}/{article}"), &[("action", "full-text")]).await
}

/// Response of Miniflux's interface with the full text of an article.
async fn fetched(room: &Newsroom, name: &str, path: &str) -> (StatusCode, Value) {
    let authorization = basic(name, PASSWORD);
    let headers = [("authorization", &*authorization)];
    let path = format!("/reader/miniflux/v1/entries/{path}");
    let asked = request(Method::GET, &path, &headers, Body::empty());
    let answer = room.router.clone().oneshot(asked).await.unwrap();
    let status = answer.status();
    (status, serde_json::from_slice(&bytes(answer).await).unwrap())
}

#[tokio::test]
async fn full_text_is_loaded_once_by_a_form_and_shown_without_anything_active() {
    let site = Site::start(|asked| match &*asked.target {
        "/moved" => redirect(301, "/articles/one.html"),
        "/articles/cat.png" => document("image/png", PNG),
        _ => document("text/html; charset=utf-8", PAGE),
    })
    .await;
    let (_room, anna) = reading_of(&site.url("/moved")).await;
    let before = seen(&anna, &format!("{LIST}/1")).await;
    assert!(before.contains("An excerpt") && before.contains("Load full text"), "{before}");
    // An address alone loads nothing.
    let unloaded = seen(&anna, &format!("{LIST}/1?text=full")).await;
    assert!(unloaded.contains("An excerpt") && unloaded.contains("is not stored any more"));
    assert_eq!(site.targets(), [""; 0]);

    let to = done(&anna, &format!("{LIST}/1?pictures=1"), &[("action", "full-text")]).await;
    assert_eq!(to, format!("{LIST}/1?pictures=1&text=full"));
    let page = seen(&anna, &to).await;
    assert!(page.contains(BEGIN) && page.contains("like no other"), "{page}");
    assert!(!page.contains("An excerpt") && !page.contains("Load full text"), "{page}");
    assert!(
        page.contains(&format!("<a href=\"{LIST}/1?pictures=1\">Show the text of the feed</a>"))
    );
    for active in ["alert(1)", "onerror", "onclick", "javascript:", "evil.example", "<iframe"] {
        assert!(!page.contains(active), "{active}: {page}");
    }
    // Addresses are those of the page after its redirect.
    assert!(page.contains(&format!("href=\"{}\"", site.url("/map"))), "{page}");

    // Pictures of the full text come from the hub.
    let begin = format!("src=\"{LIST}/1/pictures/");
    let name = page.split(&*begin).nth(1).unwrap().split('"').next().unwrap();
    let picture = anna.get(&format!("{LIST}/1/pictures/{name}")).await;
    assert_eq!((picture.status(), text(&picture, "content-type")), (StatusCode::OK, "image/png"));
    assert_eq!(bytes(picture).await, PNG);

    // Without pictures they are descriptions.
    let plain = seen(&anna, &format!("{LIST}/1?text=full")).await;
    assert!(plain.contains(BEGIN) && !plain.contains("src=\"/pages/reading/articles"), "{plain}");
    assert!(plain.contains("alt=\"A cat\"") && !plain.contains("cat.png"), "{plain}");

    // It is cached, and marks lead back to it.
    done(&anna, &format!("{LIST}/1"), &[("action", "full-text")]).await;
    let to = done(&anna, &format!("{LIST}/1?text=full"), &[("action", "star")]).await;
    assert!(to.starts_with(&format!("{LIST}/1?text=full&said=")), "{to}");
    assert_eq!(site.targets(), ["/moved", "/articles/one.html", "/articles/cat.png"]);
    // The server learns nothing about the reader.
    for asked in site.asked() {
        for header in ["cookie", "referer", "authorization", "x-forwarded-for"] {
            assert!(!asked.headers.contains_key(header), "{header}");
        }
    }
}

#[tokio::test]
async fn only_readers_of_an_article_load_and_see_its_full_text() {
    let site = Site::start(|_| document("text/html", PAGE)).await;
    let (room, anna) = reading_of(&site.url("/one")).await;
    let bob = Visitor::signed_in(&room.router, "bob", PASSWORD).await;
    assert_eq!(load(&bob, 1).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(load(&anna, 77).await.status(), StatusCode::NOT_FOUND);
    let (status, _) = fetched(&room, "bob", "1/fetch-content").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    let nobody = Visitor::new(&room.router);
    assert_ne!(load(&nobody, 1).await.status(), StatusCode::OK);
    // A form of another site lacks the token.
    let forged = anna.send(&format!("{LIST}/1"), &[("action", "full-text")]).await;
    assert_eq!(forged.status(), StatusCode::FORBIDDEN);
    assert_eq!(site.targets(), [""; 0]);

    assert_eq!(load(&anna, 1).await.status(), StatusCode::SEE_OTHER);
    let answer = bob.get(&format!("{LIST}/1?text=full")).await;
    assert_eq!(answer.status(), StatusCode::NOT_FOUND);
    done(&bob, HOME, &[("action", "subscribe"), ("address", FEED)]).await;
    let page = seen(&bob, &format!("{LIST}/1?text=full")).await;
    assert!(page.contains(BEGIN), "the hub has it already: {page}");
    assert_eq!(site.targets(), ["/one"]);
}

/// Failures name the reason, and the page still shows the text of the feed.
#[tokio::test]
async fn documents_without_an_article_and_refused_addresses_are_named() {
    let private = Site::start(|_| document("text/html", PAGE)).await;
    // The hub of the test fetches from 127.0.0.1 as from public addresses, but not from other private addresses.
    let secret = private.url("/secret").replace("127.0.0.1", "127.0.0.2");
    let target = secret.clone();
    let site = Site::start(move |asked| page_at(&asked.target, &target)).await;
    let (room, anna) = reading(0).await;
    let cases = [
        (site.url("/film"), "leads to video/mp4, not to a web page"),
        (site.url("/large"), "larger than 5 MiB"),
        (site.url("/packed"), "larger than 5 MiB"),
        (site.url("/endless"), "leads to video/mp4, not to a web page"),
        (site.url("/empty"), "text of an article was found"),
        (site.url("/missing"), "the server answered 404"),
        (site.url("/redirect"), "is not a public address"),
        (secret, "is not a public address"),
        ("https://no-such-host.invalid/".to_owned(), "could not be fetched"),
        ("mailto:anna@example.org".to_owned(), "has no link to a web page"),
    ];
    for (number, (link, _)) in cases.iter().enumerate() {
        room.publish(FEED, vec![linked(&format!("n{number}"), link)], ARRIVAL_TIME).await;
    }
    for (number, (link, reason)) in (1..).zip(&cases) {
        for _ in 0..2 {
            let answer = load(&anna, number).await;
            let status = answer.status();
            assert!(status.is_server_error() || status.as_u16() == 422, "{link}: {status}");
            let page = html(answer).await;
            assert!(page.contains(reason) && page.contains("An excerpt"), "{link}: {page}");
            assert_eq!(faults(&page), Vec::<String>::new(), "{link}");
        }
        let (status, refusal) = fetched(&room, "anna", &format!("{number}/fetch-content")).await;
        assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR, "{link}");
        assert!(refusal["error_message"].as_str().unwrap().contains(reason), "{link}: {refusal}");
    }
    assert_eq!(private.targets(), [""; 0]);
    let paths = ["/film", "/large", "/packed", "/endless", "/empty", "/missing", "/redirect"];
    assert_eq!(site.targets(), paths, "failures are cached");
}

fn page_at(path: &str, secret: &str) -> Answer {
    let large = || [PAGE.as_bytes(), &vec![b' '; 5 << 20]].concat();
    match path {
        "/film" => document("video/mp4", vec![0; 10_000]),
        "/large" => document("text/html", large()),
        "/packed" => {
            let packed = feedsync_test::site::gzipped(&large());
            let headers = [("content-encoding", "gzip"), ("content-type", "text/html")];
            answer(200, &headers, packed)
        }
        "/endless" => {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nConnection: close\r\n\r\n";
            vec![Act::Send(head.into()), Act::Forever(vec![0; 64 << 10])]
        }
        "/empty" => document("text/html", "<html><form><input name=user></form></html>"),
        "/redirect" => redirect(302, secret),
        _ => answer(404, &[], "none"),
    }
}

#[tokio::test]
async fn miniflux_clients_get_the_full_text_and_the_stored_article_stays() {
    let site = Site::start(|_| document("text/html", PAGE)).await;
    let (room, _anna) = reading_of(&site.url("/articles/one")).await;
    for path in ["1/fetch-content", "1/fetch-content?update_content=true"] {
        let (status, fetched) = fetched(&room, "anna", path).await;
        assert_eq!((status, &fetched["reading_time"]), (StatusCode::OK, &Value::from(1)));
        let content = fetched["content"].as_str().unwrap();
        assert!(content.contains(BEGIN) && content.contains("like no other"), "{content}");
        assert!(
            content.contains(&format!("src=\"{}\"", site.url("/articles/cat.png"))),
            "{content}"
        );
        for active in ["alert(1)", "onerror", "javascript:", "<iframe", "<style"] {
            assert!(!content.contains(active), "{active}: {content}");
        }
        let stored = room.told("anna", "miniflux/v1/entries/1").await;
        assert_eq!(stored["content"], "<p>An excerpt</p>");
    }
    assert_eq!(site.targets(), ["/articles/one"]);
}

/// One user has four pages fetched at once, and others do not wait for them.
#[tokio::test]
async fn number_of_pages_that_are_fetched_for_a_user_at_once_is_bounded() {
    let (room, anna) = reading(0).await;
    let (current, highest) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (running, most) = (Arc::clone(&current), Arc::clone(&highest));
    let router = Router::new().fallback(move || {
        most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let running = Arc::clone(&running);
        async move {
            tokio::time::sleep(Duration::from_millis(200)).await;
            running.fetch_sub(1, Ordering::SeqCst);
            Html(PAGE)
        }
    });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let all = (0..20).map(|number| linked(&format!("n{number}"), &format!("{base}/{number}")));
    room.publish(FEED, all.collect(), ARRIVAL_TIME).await;
    let bob = Visitor::signed_in(&room.router, "bob", PASSWORD).await;
    done(&bob, HOME, &[("action", "subscribe"), ("address", FEED)]).await;
    let load_all = async |visitor: &Visitor, articles: std::ops::Range<u64>| {
        for answer in join_all(articles.map(|article| load(visitor, article))).await {
            assert_eq!(answer.status(), StatusCode::SEE_OTHER);
        }
    };
    load_all(&anna, 1..9).await;
    assert_eq!(highest.swap(0, Ordering::SeqCst), 4);
    // The hub fetches eight at once.
    tokio::join!(load_all(&anna, 9..13), load_all(&bob, 13..21));
    let highest = highest.load(Ordering::SeqCst);
    assert!((5..=8).contains(&highest), "{highest}");
    assert_eq!(current.load(Ordering::SeqCst), 0);
}
