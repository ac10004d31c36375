//! Offline reading: the articles that a browser stores, and the marks that it sends later.

use axum::body::Body;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::hub::{bytes, text};
use crate::newsroom::{ARRIVAL_TIME, Newsroom, PASSWORD, article};
use crate::pages_reading::{FEED, HOME, LIST, done, reading, seen};
use crate::visitor::Visitor;

const OFFLINE: &str = "/pages/reading/offline";

async fn told(visitor: &Visitor, path: &str) -> Value {
    let answer = visitor.ask(Method::GET, path, &[], Body::empty()).await;
    assert_eq!(answer.status(), StatusCode::OK, "{path}");
    assert_eq!(text(&answer, "content-type"), "application/json", "{path}");
    serde_json::from_slice(&bytes(answer).await).unwrap()
}

async fn list(visitor: &Visitor) -> Value {
    told(visitor, &format!("{OFFLINE}/list?days=365&articles=50")).await
}

/// Numbers of the listed articles with their marks.
fn rows(list: &Value) -> Vec<(i64, i64)> {
    let rows = list["articles"].as_array().unwrap().iter();
    rows.map(|row| (row[0].as_i64().unwrap(), row[3].as_i64().unwrap())).collect()
}

/// A mark as the script of the page makes it.
fn record(sequence: u64, act: &str, article: &str, at: u64) -> String {
    let object = json!({"kind": "article", "id": article, "feed": FEED});
    json!({
        "v": 1, "id": format!("00000000000000aa:{sequence}"), "ts": format!("{ARRIVAL_TIME}.{sequence}"),
        "obj": object, "act": act, "at": at,
    })
    .to_string()
}

async fn send(visitor: &Visitor, form: &str, lines: &[String]) -> StatusCode {
    let origin = ("origin", "http://localhost:4287");
    let headers = [("x-feedsync-form", form), ("content-type", "application/x-ndjson"), origin];
    let body = Body::from(lines.join("\n"));
    visitor.ask(Method::POST, &format!("{OFFLINE}/changes"), &headers, body).await.status()
}

#[tokio::test]
async fn a_browser_keeps_the_newest_articles_of_each_feed_and_all_starred_ones() {
    let (room, anna) = reading(30).await;
    let other = "https://other.example/feed";
    done(&anna, HOME, &[("action", "subscribe"), ("address", other), ("folder", "Far")]).await;
    room.publish(other, vec![article("o", "Other.", "", 9_000)], ARRIVAL_TIME).await;
    done(&anna, LIST, &[("read", "30")]).await;
    done(&anna, LIST, &[("star", "2")]).await;
    let few = told(&anna, &format!("{OFFLINE}/list?days=365&articles=3")).await;
    assert_eq!(rows(&few), [(31, 0), (30, 1), (29, 0), (28, 0), (2, 2)]);
    assert_eq!((&few["user"], few["feeds"].as_array().unwrap().len()), (&json!("anna"), 2));
    let folders: Vec<_> =
        few["feeds"].as_array().unwrap().iter().map(|feed| &feed["folder"]).collect();
    assert!(folders.contains(&&json!("Far")) && folders.contains(&&json!("")), "{folders:?}");
    // Older articles are left out.
    let recent = told(&anna, &format!("{OFFLINE}/list?days=1")).await;
    assert!(rows(&recent).iter().all(|(_, marks)| *marks == 2), "{recent}");
    // Nothing of it is another user's.
    let bob = Visitor::signed_in(&room.router, "bob", PASSWORD).await;
    let of_bob = list(&bob).await;
    assert!(of_bob["feeds"].as_array().unwrap().is_empty() && rows(&of_bob).is_empty());
    assert_eq!(told(&bob, &format!("{OFFLINE}/contents?numbers=1,2")).await, json!([]));
    for bad in ["list?days=x", "list?articles=-1", "contents", "contents?numbers=1,x"] {
        let answer = anna.get(&format!("{OFFLINE}/{bad}")).await;
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{bad}");
    }
}

#[tokio::test]
async fn contents_are_safe_and_in_the_order_of_the_request() {
    let (room, anna) = reading(2).await;
    let hostile =
        "<p onclick=x>Words<script>alert(1)</script><img src=https://far.example/p.png></p>";
    room.publish(FEED, vec![article("bad", "Bad <b>", hostile, 3)], ARRIVAL_TIME).await;
    let contents = told(&anna, &format!("{OFFLINE}/contents?numbers=3,99,1")).await;
    let contents = contents.as_array().unwrap();
    let numbers: Vec<_> = contents.iter().map(|one| one["number"].as_i64().unwrap()).collect();
    assert_eq!(numbers, [3, 1]);
    assert_eq!((&contents[0]["title"], &contents[0]["name"]), (&json!("Bad <b>"), &json!("bad")));
    assert_eq!(contents[0]["link"], "https://news.example/bad");
    let html = contents[0]["html"].as_str().unwrap();
    assert!(
        html.starts_with("<p>Words") && !html.contains("script") && !html.contains("src"),
        "{html}"
    );
    let many: Vec<_> = (1..=101).map(|number| number.to_string()).collect();
    let answer = anna.get(&format!("{OFFLINE}/contents?numbers={}", many.join(","))).await;
    assert_eq!(answer.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn marks_of_a_browser_arrive_once_and_in_their_order() {
    let (room, anna) = reading(4).await;
    let first = list(&anna).await;
    let form = first["form"].as_str().unwrap();
    let at = |number: i64| {
        let rows = first["articles"].as_array().unwrap();
        rows.iter().find(|row| row[0] == number).unwrap()[2].as_u64().unwrap()
    };
    let lines = [
        record(1, "read", "n1", at(1)),
        record(2, "read", "n2", at(2)),
        record(3, "star", "n3", at(3)),
        record(4, "unread", "n2", at(2)),
    ];
    assert_eq!(send(&anna, form, &lines).await, StatusCode::NO_CONTENT);
    assert_eq!(rows(&list(&anna).await), [(4, 0), (3, 2), (2, 0), (1, 1)]);
    assert_eq!(room.unread("anna").await, ["Title 2.", "Title 3.", "Title 4."]);
    // The response was lost, and the browser sends the marks again after another device made a newer one.
    done(&anna, LIST, &[("unread", "1")]).await;
    let log = room.log("anna").await;
    assert_eq!(send(&anna, form, &lines).await, StatusCode::NO_CONTENT);
    assert_eq!(room.log("anna").await, log, "nothing arrives twice");
    assert_eq!(rows(&list(&anna).await), [(4, 0), (3, 2), (2, 0), (1, 0)]);
}

#[tokio::test]
async fn marks_of_another_page_or_with_a_fault_change_nothing() {
    let (room, anna) = reading(2).await;
    let bob = Visitor::signed_in(&room.router, "bob", PASSWORD).await;
    let (of_anna, of_bob) = (list(&anna).await, list(&bob).await);
    let form = of_anna["form"].as_str().unwrap();
    let mark = record(1, "read", "n1", ARRIVAL_TIME);
    let log = room.log("anna").await;
    for other in ["", "x", of_bob["form"].as_str().unwrap()] {
        let status = send(&anna, other, std::slice::from_ref(&mark)).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{other}");
    }
    let subscribe = json!({
        "v": 1, "id": "00000000000000aa:2", "ts": "1.0", "act": "subscribe",
        "obj": {"kind": "feed", "id": "https://other.example/"},
    });
    for bad in ["{}".to_owned(), subscribe.to_string()] {
        let lines = [mark.clone(), bad];
        assert_eq!(send(&anna, form, &lines).await, StatusCode::BAD_REQUEST, "{lines:?}");
    }
    assert_eq!(room.log("anna").await, log);
    assert_eq!(room.unread("anna").await.len(), 2);
    assert_eq!(send(&Visitor::new(&room.router), form, &[mark]).await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn the_pages_are_an_application_that_a_browser_can_install() {
    let room = Newsroom::of(&["anna"]).await;
    let anna = Visitor::signed_in(&room.router, "anna", PASSWORD).await;
    let page = seen(&anna, OFFLINE).await;
    assert!(page.contains("rel=\"manifest\" href=\"/pages/reading.webmanifest\""), "{page}");
    let nobody = Visitor::new(&room.router);
    let answer = nobody.ask(Method::GET, "/pages/reading.webmanifest", &[], Body::empty()).await;
    assert_eq!(text(&answer, "content-type"), "application/manifest+json");
    let manifest: Value = serde_json::from_slice(&bytes(answer).await).unwrap();
    assert_eq!((&manifest["scope"], &manifest["start_url"]), (&json!(HOME), &json!(OFFLINE)));
    let answer = nobody.ask(Method::GET, "/pages/reading-worker.js", &[], Body::empty()).await;
    assert_eq!(text(&answer, "content-type"), "text/javascript; charset=utf-8");
    let worker = String::from_utf8(bytes(answer).await.to_vec()).unwrap();
    let (settings, _) = worker.split_once(";\n").unwrap();
    let settings: Value =
        serde_json::from_str(settings.strip_prefix("self.FEEDSYNC = ").unwrap()).unwrap();
    let store = settings["store"].as_str().unwrap();
    assert!(page.contains(&format!("src=\"{store}\"")), "{page}");
    // The worker stores what the page names.
    let assets: Vec<_> = page.split('"').filter(|part| part.contains("/pages/assets/")).collect();
    assert_eq!(assets.len(), 5, "{assets:?}");
    for asset in assets {
        assert_eq!(nobody.get(asset).await.status(), StatusCode::OK, "{asset}");
    }
}
