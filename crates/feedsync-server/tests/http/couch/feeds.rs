//! `_changes` in all its forms.

use std::time::Duration;

use axum::body::Body;
use futures_util::StreamExt as _;
use http::{Method, Response};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{Couch, JSON};
use crate::hub::{bytes, text};

/// A database with three documents and a conflict.
async fn filled() -> Couch {
    let couch = Couch::new().await;
    couch
        .replicate(
            r#"{"_id":"a","_rev":"1-a","type":"plain"},{"_id":"b","_rev":"1-b","type":"leaf"},
               {"_id":"c","_rev":"1-c","type":"leaf"},{"_id":"a","_rev":"2-z","_deleted":true},
               {"_id":"_design/d","_rev":"1-d","filters":{"f":"function(){}"}},
               {"_id":"g","_rev":"2-g","_deleted":true}"#,
        )
        .await;
    couch
}

fn ids(said: &Value) -> Vec<&str> {
    said["results"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn changes_are_told_in_their_order() {
    let couch = filled().await;
    let (_, all) = couch.get("/db/_changes").await;
    assert_eq!(ids(&all), ["a", "b", "c", "_design/d", "g"]);
    assert_eq!(all["pending"], 0);
    assert_eq!(all["results"][0]["changes"], json!([{"rev": "1-a"}]));
    assert_eq!(all["results"][0].get("deleted"), None);
    assert_eq!(all["results"][4]["deleted"], true);
    // A resolution appears as the deleted leaf (CG7).
    let (_, leaves) = couch.get("/db/_changes?style=all_docs").await;
    assert_eq!(leaves["results"][0]["changes"], json!([{"rev": "1-a"}, {"rev": "2-z"}]));
    let (_, part) = couch.get("/db/_changes?limit=2").await;
    assert_eq!((ids(&part), &part["pending"]), (vec!["a", "b"], &json!(3)));
    let place = part["last_seq"].as_str().unwrap();
    let (_, rest) = couch.get(&format!("/db/_changes?since={place}")).await;
    assert_eq!(ids(&rest), ["c", "_design/d", "g"]);
    let (_, none) = couch.get(&format!("/db/_changes?since={place}&limit=0")).await;
    assert_eq!((ids(&none), &none["pending"]), (vec![], &json!(3)));
    assert_eq!(none["last_seq"], place);
    let (_, newest) = couch.get("/db/_changes?descending=true&limit=2").await;
    assert_eq!(ids(&newest), ["g", "_design/d"]);
    let (_, now) = couch.get("/db/_changes?since=now&limit=1").await;
    assert_eq!((ids(&now), &now["last_seq"]), (vec![], &all["last_seq"]));
    let (_, documents) = couch.get("/db/_changes?include_docs=true&conflicts=true").await;
    let first = json!({"_id": "a", "_rev": "1-a", "type": "plain"});
    assert_eq!(documents["results"][0]["doc"], first);
    let gone = json!({"_id": "g", "_rev": "2-g", "_deleted": true});
    assert_eq!(documents["results"][4]["doc"], gone);
}

/// Pages are read ahead: each row appears once and in order, whatever other parameters are given.
#[tokio::test]
async fn pages_follow_one_another() {
    let couch = Couch::new().await;
    let document =
        |at: usize| format!("{{\"_id\":\"{at:04}\",\"_rev\":\"1-a\",\"is_odd\":{}}}", at % 2 == 1);
    couch.replicate(&(0..2_500).map(document).collect::<Vec<_>>().join(",")).await;
    let all: Vec<String> = (0..2_500).map(|at| format!("{at:04}")).collect();
    let told = async |query: &str, body: &str| -> Vec<String> {
        let (_, said) = couch.post(&format!("/db/_changes?{query}"), body).await;
        ids(&said).into_iter().map(str::to_owned).collect()
    };
    assert_eq!(told("", "{}").await, all);
    assert_eq!(told("limit=1000", "{}").await, all[..1_000]);
    assert_eq!(told("limit=2300&include_docs=true", "{}").await, all[..2_300]);
    let newest: Vec<String> = all.iter().rev().take(2_400).cloned().collect();
    assert_eq!(told("descending=true&limit=2400", "{}").await, newest);
    // A limit counts the rows that are sent, not those that are read.
    let odd: Vec<String> = all.iter().skip(1).step_by(2).cloned().collect();
    let selector = r#"{"selector":{"is_odd":true}}"#;
    assert_eq!(told("filter=_selector&limit=1200", selector).await, odd[..1_200]);
    assert_eq!(told("filter=_selector", selector).await, odd);
    // If a limit ends the response within a page that was read, the next one continues after the
    // last row that was sent.
    let (mut since, mut walked) = ("0".to_owned(), Vec::new());
    while walked.len() < odd.len() {
        let path = format!("/db/_changes?filter=_selector&limit=300&since={since}");
        let (_, said) = couch.post(&path, selector).await;
        let last = said["results"].as_array().unwrap().last().unwrap();
        if said["results"].as_array().unwrap().len() == 300 {
            assert_eq!(last["seq"], said["last_seq"]);
        }
        walked.extend(ids(&said).into_iter().map(str::to_owned));
        since = said["last_seq"].as_str().unwrap().to_owned();
    }
    assert_eq!(walked, odd);
    // A document that changes during the read appears at its new position.
    let response = couch.send(Method::GET, "/db/_changes", &[], "").await;
    let mut open = response.into_body().into_data_stream();
    let mut whole = String::new();
    whole.push_str(&piece(&mut open).await.unwrap());
    whole.push_str(&piece(&mut open).await.unwrap());
    couch
        .replicate(r#"{"_id":"1500","_rev":"2-b","_revisions":{"start":2,"ids":["b","a"]}}"#)
        .await;
    while let Some(more) = piece(&mut open).await {
        whole.push_str(&more);
    }
    let said: Value = serde_json::from_str(&whole).unwrap();
    let last = said["results"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["id"], &last["changes"]), (&json!("1500"), &json!([{"rev": "2-b"}])));
    assert_eq!((&last["seq"], &said["pending"]), (&said["last_seq"], &json!(0)));
    let mut there = ids(&said);
    there.sort_unstable();
    there.dedup();
    assert_eq!(there, all);
}

/// Filtered changes are skipped, and the sequence number advances past them (CG8, CL32, CL33).
#[tokio::test]
async fn filters_let_through_and_advance() {
    let couch = filled().await;
    let all = couch.get("/db/_changes").await.1;
    let ask =
        async |query: &str, body: &str| couch.post(&format!("/db/_changes?{query}"), body).await;
    let (_, notes) = ask("filter=_selector", r#"{"selector":{"type":{"$ne":"leaf"}}}"#).await;
    assert_eq!(ids(&notes), ["a", "_design/d", "g"]);
    let (_, leaves) = ask("filter=_selector", r#"{"selector":{"type":"leaf"}}"#).await;
    assert_eq!((ids(&leaves), &leaves["last_seq"]), (vec!["b", "c"], &all["last_seq"]));
    let (_, none) = ask("filter=_selector", r#"{"selector":{"type":"none"}}"#).await;
    assert_eq!(
        (ids(&none), &none["last_seq"], &none["pending"]),
        (vec![], &all["last_seq"], &json!(0))
    );
    // Only the selected leaves are sent.
    let (_, told) =
        ask("filter=_selector&style=all_docs", r#"{"selector":{"_deleted":true}}"#).await;
    assert_eq!(told["results"][0]["changes"], json!([{"rev": "2-z"}]));
    let (_, named) = ask("filter=_doc_ids", r#"{"doc_ids":["c","none"]}"#).await;
    assert_eq!(ids(&named), ["c"]);
    assert_eq!(ids(&couch.get("/db/_changes?filter=_design").await.1), ["_design/d"]);
    // Functions are not executed, and a request that names one is refused instead of getting all
    // changes.
    assert_eq!(couch.get("/db/_changes?filter=d/f").await.0, 501);
    assert_eq!(couch.get("/db/_changes?filter=d/none").await.0, 404);
}

/// Next piece of a feed, as text.
async fn piece(feed: &mut Feed) -> Option<String> {
    let next = timeout(Duration::from_secs(10), feed.next()).await.expect("something is sent");
    next.map(|bytes| String::from_utf8(bytes.unwrap().to_vec()).unwrap())
}

type Feed = axum::body::BodyDataStream;

fn feed(response: Response<Body>) -> Feed {
    assert_eq!(text(&response, "x-accel-buffering"), "no");
    assert_eq!(text(&response, "cache-control"), "no-store");
    response.into_body().into_data_stream()
}

#[tokio::test]
async fn a_long_poll_ends_with_the_first_change_that_is_meant() {
    let couch = filled().await;
    let first = couch.get("/db/_changes?feed=longpoll&since=0&limit=1").await.1;
    assert_eq!(ids(&first), ["a"], "what is there is told at once");
    let path = "/db/_changes?feed=longpoll&since=now&heartbeat=20&filter=_selector";
    let selector = r#"{"selector":{"type":{"$ne":"leaf"}}}"#;
    let mut open = feed(couch.send(Method::POST, path, &[JSON], selector).await);
    assert_eq!(piece(&mut open).await.unwrap(), "{\"results\":[\n");
    assert_eq!(piece(&mut open).await.unwrap(), "\n", "a heartbeat");
    couch.put("/db/leaf", r#"{"type":"leaf"}"#).await;
    couch.put("/db/note", r#"{"type":"plain"}"#).await;
    let mut rest = String::new();
    while let Some(more) = piece(&mut open).await {
        rest.push_str(&more);
    }
    let told: Value = serde_json::from_str(&format!("{{\"results\":[{rest}")).unwrap();
    assert_eq!(ids(&told), ["note"]);
    // Without heartbeats it ends by itself, at its current position (CL35).
    let ended = couch.get("/db/_changes?feed=longpoll&since=now&timeout=20").await.1;
    assert_eq!((ids(&ended), &ended["pending"]), (vec![], &json!(0)));
}

#[tokio::test]
async fn a_continuous_feed_goes_on() {
    let couch = filled().await;
    let path = "/db/_changes?feed=continuous&since=0&limit=6&heartbeat=20";
    let mut open = feed(couch.send(Method::GET, path, &[], "").await);
    let rows = piece(&mut open).await.unwrap();
    assert_eq!(rows.lines().count(), 5);
    couch.put("/db/x", "{}").await;
    let mut rest = String::new();
    while let Some(more) = piece(&mut open).await {
        rest.push_str(&more);
    }
    let lines: Vec<Value> = rest
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((&lines[0]["id"], lines.len()), (&json!("x"), 2));
    assert_eq!(lines[1], json!({"last_seq": lines[0]["seq"], "pending": 0}));
    // The first download of a new device: as many changes as requested, then the end (CL38).
    let path = "/db/_changes?feed=continuous&include_docs=true&style=all_docs&since=0&limit=10000&timeout=20";
    let whole = bytes(couch.send(Method::GET, path, &[], "").await).await;
    let whole = String::from_utf8(whole.to_vec()).unwrap();
    assert_eq!(whole.lines().count(), 7);
    assert!(whole.lines().last().unwrap().starts_with("{\"last_seq\":"));
}

/// A descending feed ends at the oldest change in every mode, in the format of that mode.
#[tokio::test]
async fn the_newest_first_come_as_they_are_asked_for() {
    let couch = filled().await;
    let told = async |feed: &str| {
        let path = format!("/db/_changes?feed={feed}&descending=true&limit=2&heartbeat=20");
        let answer = couch.send(Method::GET, &path, &[], "").await;
        String::from_utf8(bytes(answer).await.to_vec()).unwrap()
    };
    let lines: Vec<Value> =
        told("continuous").await.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["id"], &lines[1]["id"]), (&json!("g"), &json!("_design/d")));
    assert!(lines[2]["last_seq"].is_string() && lines.len() == 3);
    assert_eq!(told("eventsource").await.matches("data: ").count(), 2);
    for feed in ["normal", "longpoll"] {
        let whole: Value = serde_json::from_str(&told(feed).await).unwrap();
        assert_eq!(ids(&whole), ["g", "_design/d"]);
    }
    let all =
        couch.send(Method::GET, "/db/_changes?feed=continuous&descending=true", &[], "").await;
    assert_eq!(bytes(all).await.split(|byte| *byte == b'\n').count(), 5 + 2);
}

#[tokio::test]
async fn a_browser_is_told_as_events() {
    let couch = filled().await;
    let path = "/db/_changes?feed=eventsource&heartbeat=20";
    let since = couch.get("/db/_changes?limit=4").await.1["last_seq"].as_str().unwrap().to_owned();
    let response = couch.send(Method::GET, path, &[("last-event-id", &since)], "").await;
    assert_eq!(text(&response, "content-type"), "text/event-stream");
    let mut open = feed(response);
    let event = piece(&mut open).await.unwrap();
    let data = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    let row: Value = serde_json::from_str(data).unwrap();
    assert_eq!(row["id"], "g");
    assert!(event.contains(&format!("id: {}", row["seq"])) && event.ends_with("\n\n"));
    assert_eq!(piece(&mut open).await.unwrap(), "event: heartbeat\ndata: \n\n");
}

/// Skipped changes postpone neither heartbeats nor the end (CL34, CL35).
#[tokio::test]
async fn skipped_changes_delay_neither_heartbeats_nor_timeouts() {
    let couch = filled().await;
    let path = "/db/_changes?feed=longpoll&since=now&heartbeat=100&filter=_selector";
    let selector = r#"{"selector":{"type":{"$ne":"leaf"}}}"#;
    let mut open = feed(couch.send(Method::POST, path, &[JSON], selector).await);
    assert!(piece(&mut open).await.is_some());
    let path = "/db/_changes?feed=longpoll&since=now&timeout=200&filter=_selector";
    let ends = bytes(couch.send(Method::POST, path, &[JSON], selector).await);
    let beat = piece(&mut open);
    let writes = async {
        for number in 0.. {
            couch.put(&format!("/db/leaf-{number}"), r#"{"type":"leaf"}"#).await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        () = writes => unreachable!("they go on"),
        (beat, ended) = async { tokio::join!(beat, ends) } => {
            assert_eq!(beat.as_deref(), Some("\n"));
            assert!(!ended.is_empty());
        }
    }
}

/// A feed of a deleted database is aborted, so that its client notices (CL21).
#[tokio::test]
async fn a_feed_ends_with_its_database() {
    let couch = filled().await;
    let path = "/db/_changes?feed=continuous&since=now&heartbeat=60000";
    let mut open = feed(couch.send(Method::GET, path, &[], "").await);
    let waits = tokio::spawn(async move { open.next().await });
    tokio::task::yield_now().await;
    assert_eq!(couch.ask(Method::DELETE, "/db", "").await.0, 200);
    assert_eq!(couch.put("/db", "").await.0, 201);
    assert!(timeout(Duration::from_secs(10), waits).await.unwrap().unwrap().unwrap().is_err());
}

/// A sequence number of another incarnation of the database, as after a restored backup, loses no
/// changes (CG14).
#[tokio::test]
async fn a_place_of_another_life_means_the_beginning() {
    let couch = filled().await;
    for place in ["3-0176366800012345600000000", "999", "3"] {
        let (_, told) = couch.get(&format!("/db/_changes?since={place}")).await;
        assert_eq!(ids(&told).len(), 5, "{place}");
    }
}
