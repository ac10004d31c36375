//! `_db_updates`: created, changed and removed databases.

use std::time::Duration;

use futures_util::StreamExt as _;
use http::Method;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::Couch;

const PATIENCE: Duration = Duration::from_secs(10);

/// Events of a response: `type name`.
fn events(said: &Value) -> Vec<String> {
    let rows = said["results"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    rows.map(|row| format!("{} {}", text(&row["type"]), text(&row["db_name"]))).collect()
}

#[tokio::test]
async fn events_are_listed_after_a_position() {
    let couch = Couch::new().await;
    couch.put("/db/a", "{}").await;
    let (status, first) = couch.get("/_db_updates").await;
    assert_eq!((status, events(&first)), (200, vec!["updated db".to_owned()]));
    assert_eq!(first["results"][0]["seq"], first["last_seq"]);
    couch.put("/new", "").await;
    couch.ask(Method::DELETE, "/db", "").await;
    let since = first["last_seq"].as_str().unwrap();
    let (_, later) = couch.get(&format!("/_db_updates?since={since}")).await;
    assert_eq!(events(&later), ["deleted db", "created new"]);
    let (_, part) = couch.get(&format!("/_db_updates?since={since}&limit=1")).await;
    assert_eq!(events(&part), ["deleted db"]);
    let rest = part["last_seq"].as_str().unwrap();
    let (_, rest) = couch.get(&format!("/_db_updates?since={rest}")).await;
    assert_eq!(
        (events(&rest), &rest["last_seq"]),
        (vec!["created new".to_owned()], &later["last_seq"])
    );
    let (_, now) = couch.get("/_db_updates?since=now").await;
    assert_eq!((events(&now).len(), &now["last_seq"]), (0, &later["last_seq"]));
    // A position that this process does not know stands for the beginning.
    let (_, all) = couch.get("/_db_updates?since=2-0123456789abcdef").await;
    assert_eq!(events(&all), ["deleted db", "created new"]);
    assert_eq!(couch.get("/_db_updates?feed=other").await.0, 400);
    assert_eq!(couch.post("/_db_updates", "{}").await.0, 405);
}

#[tokio::test]
async fn a_waiting_request_gets_the_next_event() {
    let couch = Couch::new().await;
    let (_, first) = couch.get("/_db_updates").await;
    let since = first["last_seq"].as_str().unwrap();
    let path = format!("/_db_updates?feed=longpoll&since={since}");
    let wait = couch.get(&path);
    let write = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        couch.put("/db/a", "{}").await;
    };
    let ((status, said), ()) =
        timeout(PATIENCE, async { tokio::join!(wait, write) }).await.unwrap();
    assert_eq!((status, events(&said)), (200, vec!["updated db".to_owned()]));
    // Without an event it ends.
    let path = "/_db_updates?feed=longpoll&since=now&timeout=500";
    let (_, none) = timeout(PATIENCE, couch.get(path)).await.unwrap();
    assert_eq!((events(&none).len(), &none["last_seq"]), (0, &said["last_seq"]));
}

#[tokio::test]
async fn a_continuous_feed_has_lines_and_heartbeats() {
    let couch = Couch::new().await;
    let path = "/_db_updates?feed=continuous&heartbeat=1000";
    let response = couch.send(Method::GET, path, &[], "").await;
    assert_eq!(response.status(), 200);
    let mut pieces = response.into_body().into_data_stream();
    let mut next = async || timeout(PATIENCE, pieces.next()).await.unwrap().unwrap().unwrap();
    let line: Value = serde_json::from_slice(&next().await).unwrap();
    assert_eq!((&line["type"], &line["db_name"]), (&json!("created"), &json!("db")));
    assert_eq!(&next().await[..], b"\n");
    couch.put("/new", "").await;
    let line = loop {
        let piece = next().await;
        if &piece[..] != b"\n" {
            break serde_json::from_slice::<Value>(&piece).unwrap();
        }
    };
    assert_eq!((&line["type"], &line["db_name"]), (&json!("created"), &json!("new")));
}
