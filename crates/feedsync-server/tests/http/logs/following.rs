//! Events of a log: its position after each change (LR33).

use axum::body::Body;
use feedsync_server::{Config, Limits};
use http::{Method, StatusCode};
use serde_json::json;

use super::{LOG, begun, generation, grown, length, send};
use crate::events::Follower;
use crate::hub::{TestHub, add, hub, hub_with, request, text};

const EVENTS: &str = "/logs/notes/events";

/// Checks that the next event has this tag.
async fn stands(follower: &mut Follower, tag: &str) {
    let event = follower.event().await.unwrap();
    assert_eq!(event.id, tag.trim_matches('"'));
    let expected = json!({"etag": tag, "generation": generation(tag), "length": length(tag)});
    assert_eq!(event.data, expected);
}

#[tokio::test]
async fn a_follower_is_told_where_the_log_stands_and_each_time_that_it_stands_elsewhere() {
    let hub = hub().await;
    let one = begun(&hub, "1\n").await;
    let mut follower = Follower::begin(&hub, EVENTS, &[("accept-encoding", "gzip")]).await;
    stands(&mut follower, &one).await;
    let two = grown(&hub, &one, "2\n").await;
    stands(&mut follower, &two).await;
    // Changes of the collection alone are no event; of several appends only the last is sent.
    add(&hub.endpoint, "a").await;
    let three = grown(&hub, &two, "3\n").await;
    let four = grown(&hub, &three, "4\n").await;
    stands(&mut follower, &four).await;
    let compacted = send(&hub, Method::PUT, LOG, &[("if-match", &four)], "10\n").await;
    stands(&mut follower, text(&compacted, "etag")).await;
    hub.call(Method::DELETE, LOG, &[("if-match", "*")]).await;
    assert!(follower.event().await.is_none(), "it ends with the log");
}

#[tokio::test]
async fn reconnecting_client_gets_an_event_unless_the_log_is_unchanged() {
    let hub = hub().await;
    let one = begun(&hub, "1\n").await;
    let two = grown(&hub, &one, "2\n").await;
    for last in [one.trim_matches('"'), "9.00000000-2", "nobody's", ""] {
        let mut follower = Follower::begin(&hub, EVENTS, &[("last-event-id", last)]).await;
        stands(&mut follower, &two).await;
    }
    let held = [("last-event-id", two.trim_matches('"'))];
    let mut follower = Follower::begin(&hub, EVENTS, &held).await;
    let three = grown(&hub, &two, "3\n").await;
    stands(&mut follower, &three).await;
}

#[tokio::test(start_paused = true)]
async fn over_a_log_a_silent_stream_says_that_it_is_alive() {
    let hub = hub().await;
    let one = begun(&hub, "1\n").await;
    let held = [("last-event-id", one.trim_matches('"'))];
    let mut follower = Follower::begin(&hub, EVENTS, &held).await;
    assert_eq!(follower.block().await.unwrap(), "retry: 3000\n\n");
    assert_eq!(follower.block().await.unwrap(), ":\n\n");
}

#[tokio::test]
async fn followers_of_logs_take_room_among_those_of_collections() {
    let limits = Limits { followers: 1, ..Limits::default() };
    let hub: TestHub = hub_with(Config { limits, ..Config::default() }).await;
    begun(&hub, "1\n").await;
    for _ in 0..3 {
        let head = hub.send(request(Method::HEAD, EVENTS, &[], Body::empty())).await;
        assert_eq!(head.status(), StatusCode::OK);
        assert_eq!(text(&head, "content-type"), "text/event-stream");
    }
    let open = hub.get(EVENTS).await;
    let refused = hub.get(EVENTS).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(
        hub.get("/collections/notes/events").await.status(),
        StatusCode::SERVICE_UNAVAILABLE
    );
    drop(open);
    assert_eq!(hub.get(EVENTS).await.status(), StatusCode::OK);
}
