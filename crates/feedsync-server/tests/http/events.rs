//! Events: sent at once, resumable, and without gaps.

use std::collections::HashSet;
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use feedsync_core::Format;
use feedsync_server::{Config, Limits};
use feedsync_store::Moment;
use futures_util::StreamExt as _;
use http::{Method, StatusCode};
use serde_json::Value;

use crate::hub::{TestHub, add, create, delete, edit, hub, hub_with, notes, text, until};

const EVENTS: &str = "/collections/notes/events";

/// Client of a stream, which parses events as a browser does.
pub(crate) struct Follower {
    body: BodyDataStream,
    buffer: String,
    last_id: String,
}

#[derive(Debug)]
pub(crate) struct Event {
    kind: String,
    pub(crate) id: String,
    pub(crate) data: Value,
}

impl Follower {
    pub(crate) async fn begin(hub: &TestHub, path: &str, headers: &[(&str, &str)]) -> Self {
        let response = hub.call(Method::GET, path, headers).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(text(&response, "content-type"), "text/event-stream");
        assert_eq!(text(&response, "cache-control"), "no-store");
        assert_eq!(text(&response, "content-length"), "");
        assert_eq!(text(&response, "content-encoding"), "");
        let body = response.into_body().into_data_stream();
        Self { body, buffer: String::new(), last_id: String::new() }
    }

    /// The next block of lines, whatever it contains.
    pub(crate) async fn block(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.buffer.find("\n\n") {
                let rest = self.buffer.split_off(end + 2);
                return Some(std::mem::replace(&mut self.buffer, rest));
            }
            let part = self.body.next().await?.unwrap();
            self.buffer.push_str(std::str::from_utf8(&part).unwrap());
        }
    }

    /// The next event; none when the stream ends.
    pub(crate) async fn event(&mut self) -> Option<Event> {
        loop {
            let block = self.block().await?;
            let (mut kind, mut data) = ("message", None);
            for line in block.lines() {
                match line.split_once(": ") {
                    Some(("id", id)) => self.last_id = id.to_owned(),
                    Some(("event", name)) => kind = name,
                    Some(("data", json)) => data = Some(serde_json::from_str(json).unwrap()),
                    _ => {}
                }
            }
            let kind = kind.to_owned();
            if let Some(data) = data {
                return Some(Event { kind, id: self.last_id.clone(), data });
            }
        }
    }
}

#[tokio::test]
async fn each_change_is_an_event_whose_id_is_its_place() {
    let hub = hub().await;
    add(&hub.endpoint, "before").await;
    let mut follower = Follower::begin(&hub, EVENTS, &[("accept-encoding", "gzip")]).await;
    let first = follower.block().await.unwrap();
    assert_eq!(first, format!("retry: 3000\nid: {}\n\n", until(&hub.endpoint).await));
    add(&hub.endpoint, "a").await;
    let added = until(&hub.endpoint).await;
    let event = follower.event().await.unwrap();
    assert_eq!((event.kind.as_str(), &event.id), ("message", &added));
    assert_eq!(event.data, serde_json::json!({"until": added, "id": "a", "deleted": false}));
    delete(&hub.endpoint, "a").await;
    let event = follower.event().await.unwrap();
    assert_eq!((event.id, &event.data["deleted"]), (until(&hub.endpoint).await, &true.into()));
}

#[tokio::test]
async fn a_follower_resumes_after_the_last_event_and_the_header_wins() {
    let hub = hub().await;
    let start = until(&hub.endpoint).await;
    add(&hub.endpoint, "a").await;
    let seen = until(&hub.endpoint).await;
    add(&hub.endpoint, "b").await;
    add(&hub.endpoint, "c").await;
    let path = format!("{EVENTS}?since={start}");
    let mut by_query = Follower::begin(&hub, &path, &[]).await;
    assert_eq!(by_query.event().await.unwrap().data["id"], "a");
    let mut by_header = Follower::begin(&hub, &path, &[("last-event-id", &seen)]).await;
    assert_eq!(by_header.event().await.unwrap().data["id"], "b");
    assert_eq!(by_header.event().await.unwrap().data["id"], "c");
    // The client knows where to resume before it ever receives an event.
    let mut silent = Follower::begin(&hub, EVENTS, &[]).await;
    let id = silent.block().await.unwrap();
    assert!(id.contains(&until(&hub.endpoint).await));
}

#[tokio::test]
async fn unknown_last_event_id_gets_a_reset_and_then_changes() {
    let hub = hub().await;
    let first = until(&hub.endpoint).await;
    add(&hub.endpoint, "a").await;
    delete(&hub.endpoint, "a").await;
    hub.feed("/collections/notes/changes").await; // only changes that were shown are purged
    let retention = feedsync_endpoint::Retention { changed_before: Moment::MAX, live: false };
    hub.endpoint.purge(&notes(), retention).await.unwrap();
    let now = until(&hub.endpoint).await;
    let ahead = format!("{}9", &now[..now.len() - 1]);
    for lost in [first.as_str(), "nobody's", &ahead] {
        let mut follower = Follower::begin(&hub, EVENTS, &[("last-event-id", lost)]).await;
        let event = follower.event().await.unwrap();
        assert_eq!((event.kind.as_str(), &event.data["until"]), ("reset", &now.clone().into()));
        assert_eq!(event.id, now);
    }
    let mut follower = Follower::begin(&hub, EVENTS, &[("last-event-id", "x")]).await;
    follower.event().await.unwrap();
    add(&hub.endpoint, "b").await;
    assert_eq!(follower.event().await.unwrap().data["id"], "b");
}

#[tokio::test]
async fn a_collection_that_begins_anew_resets_and_one_that_is_gone_ends_the_stream() {
    let hub = hub().await;
    let mut follower = Follower::begin(&hub, EVENTS, &[]).await;
    follower.block().await.unwrap();
    hub.endpoint.store().drop_collection(&notes()).await.unwrap();
    create(&hub.endpoint, "notes", Format::Atom).await;
    let event = follower.event().await.unwrap();
    assert_eq!((event.kind.as_str(), event.id), ("reset", until(&hub.endpoint).await));
    hub.endpoint.store().drop_collection(&notes()).await.unwrap();
    assert!(follower.event().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_says_that_it_is_alive() {
    let hub = hub().await;
    let mut follower = Follower::begin(&hub, EVENTS, &[]).await;
    follower.block().await.unwrap();
    let began = tokio::time::Instant::now();
    for beats in 1..=3 {
        assert_eq!(follower.block().await.unwrap(), ":\n\n");
        assert_eq!(began.elapsed().as_secs(), 20 * beats);
    }
}

/// A client that stops reading is sent no more than its socket holds. It loses its position in the
/// shared queue, never a change: when it reads on, or reconnects with its last id, it gets each change
/// that still exists.
#[tokio::test]
async fn a_follower_that_reads_slowly_loses_its_place_in_the_queue_and_no_change() {
    let hub = hub().await;
    let mut slow = Follower::begin(&hub, EVENTS, &[]).await;
    let mut quick = Follower::begin(&hub, EVENTS, &[]).await;
    slow.block().await.unwrap();
    quick.block().await.unwrap();
    for number in 0..100 {
        let id = format!("n{number}");
        add(&hub.endpoint, &id).await;
        // Each change is a batch of its own: many more than the queue holds for the slow client.
        assert_eq!(quick.event().await.unwrap().data["id"], id);
    }
    edit(&hub.endpoint, "n0", "moved to its new place").await;
    let mut seen = Vec::new();
    while seen.last().is_none_or(|id| id != "n0") {
        let event = slow.event().await.unwrap();
        assert_eq!(event.kind, "message");
        seen.push(event.data["id"].as_str().unwrap().to_owned());
    }
    let all: Vec<_> = (1..100).map(|number| format!("n{number}")).chain(["n0".into()]).collect();
    assert_eq!(seen, all);
    add(&hub.endpoint, "after").await;
    assert_eq!(slow.event().await.unwrap().data["id"], "after");
}

#[tokio::test]
async fn more_followers_than_allowed_are_asked_to_come_back() {
    let limits = Limits { followers: 2, ..Limits::default() };
    let hub = hub_with(Config { limits, ..Config::default() }).await;
    let open = [hub.get(EVENTS).await, hub.get(EVENTS).await];
    let refused = hub.get(EVENTS).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(text(&refused, "retry-after"), "5");
    drop(open);
    assert_eq!(hub.get(EVENTS).await.status(), StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn under_many_writers_followers_that_reconnect_miss_and_repeat_nothing() {
    writers_and_a_follower(hub().await).await;
}

/// Eight writers edit while one client reads and reconnects after every few events.
pub(crate) async fn writers_and_a_follower(hub: TestHub) {
    const WRITERS: usize = 8;
    const EDITS: usize = 50;
    let start = until(&hub.endpoint).await;
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let endpoint = hub.endpoint.clone();
            tokio::spawn(async move {
                add(&endpoint, &format!("w{writer}")).await;
                for count in 1..EDITS {
                    edit(&endpoint, &format!("w{writer}"), &format!("edit {count}")).await;
                    if count % 7 == 0 {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                }
            })
        })
        .collect();
    let mut seen = HashSet::new();
    let mut place = start;
    'connections: loop {
        let mut follower = Follower::begin(&hub, EVENTS, &[("last-event-id", &place)]).await;
        for _ in 0..17 {
            let event = follower.event().await.unwrap();
            assert_eq!(event.kind, "message");
            assert!(event.id > place, "{} after {place}", event.id);
            assert!(seen.insert(event.id.clone()));
            place = event.id;
            let number: usize = place[26..].parse().unwrap();
            // An item that changes again moves to its new position: only the newest must be seen.
            if number == WRITERS * EDITS {
                break 'connections;
            }
        }
        drop(follower);
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let collection = hub.endpoint.collection(&notes()).await.unwrap();
    for writer in 0..WRITERS {
        let id = format!("w{writer}").parse().unwrap();
        let number = hub.endpoint.item(&notes(), &id).await.unwrap().number;
        assert!(seen.contains(&collection.until(number).to_string()), "w{writer}");
    }
}

#[tokio::test]
async fn head_of_a_stream_has_its_headers_and_takes_no_place() {
    let limits = Limits { followers: 1, ..Limits::default() };
    let hub = hub_with(Config { limits, ..Config::default() }).await;
    for _ in 0..3 {
        let head = hub.send(crate::hub::request(Method::HEAD, EVENTS, &[], Body::empty())).await;
        assert_eq!(head.status(), StatusCode::OK);
        assert_eq!(text(&head, "content-type"), "text/event-stream");
    }
}
