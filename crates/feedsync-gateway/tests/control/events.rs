//! Tests of the event stream (BITSY 2.2): the traces of the document.

use std::time::Duration;

use axum::body::BodyDataStream;
use futures_util::StreamExt as _;
use http::Method;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::world::{ATOM, World, feed};

const PAGE: &str = "http://www.example.com";
const FEED: &str = "http://www.example.com/feed";

/// Client of an event stream.
struct Follower {
    body: BodyDataStream,
    text: String,
}

impl Follower {
    async fn of(world: &World, headers: &[(&str, &str)]) -> Self {
        let headers = [&[("host", "localhost:5024")], headers].concat();
        let answer = world.raw(Method::GET, "/events?page=1", &headers, "").await;
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        Self { body: answer.into_body().into_data_stream(), text: String::new() }
    }

    /// Reads the next event, with its name.
    async fn next(&mut self) -> (String, Value) {
        timeout(Duration::from_secs(20), self.read()).await.expect("something is told")
    }

    async fn read(&mut self) -> (String, Value) {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let line = |name: &str| {
                    let mut lines = block.lines();
                    lines.find_map(|line| line.strip_prefix(name)).map(str::to_owned)
                };
                let event = line("event: ").zip(line("data: "));
                self.text = rest.to_owned();
                if let Some((name, data)) = event {
                    return (name, serde_json::from_str(&data).unwrap());
                }
                continue;
            }
            let bytes = self.body.next().await.expect("the stream goes on").unwrap();
            self.text.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    /// Skips events up to the next one of this name.
    async fn until(&mut self, name: &str) -> Value {
        loop {
            let (told, data) = self.next().await;
            if told == name {
                return data;
            }
        }
    }

    /// Collects events up to the end of a round, formatted as in the examples of the document.
    async fn trace(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let (name, data) = self.next().await;
            let (status, location) =
                (&data["status"], data["location"].as_str().unwrap_or_default());
            match &*name {
                "state" if *status == 2 => {
                    lines.push(format!("Completed subscription to {location}"))
                }
                "state" if *status == 0 => lines.push(format!("Error subscribing to {location}")),
                "sync" if status.as_u64() >= Some(500) => {
                    lines.push(format!("Server error when fetching {location} with code {status}"));
                }
                "sync" => {
                    lines.push(format!("Error when fetching {location} with code {status}"));
                }
                _ => {}
            }
            if name == "state" && (*status == 2 || *status == 0) {
                return lines;
            }
        }
    }
}

async fn subscribed(world: &World) -> Follower {
    let wanted = json!({ "feed": FEED, "follows": ["enclosure"] });
    world.page(PAGE, Method::POST, "/subscriptions?page=1", wanted).await.ok(201);
    let mut follower = Follower::of(world, &[("origin", PAGE)]).await;
    follower.until("filled").await;
    follower
}

fn linked() -> String {
    feed(&[]).replace(
        "</feed>",
        "<entry><id>urn:e</id><title>E</title><updated>2024-01-01T00:00:00Z</updated>\
         <link rel=\"enclosure\" href=\"http://www.example.com/feed/invalid\"/></entry></feed>",
    )
}

#[tokio::test]
async fn rounds_are_reported_as_in_the_examples_of_the_document() {
    let invalid = "http://www.example.com/feed/invalid";
    for (status, headers, expected) in [
        (
            200,
            &[("content-type", "text/plain")][..],
            vec!["Completed subscription to http://www.example.com/feed"],
        ),
        (
            404,
            &[],
            vec![
                "Error when fetching http://www.example.com/feed/invalid with code 404",
                "Error subscribing to http://www.example.com/feed",
            ],
        ),
        (
            503,
            &[("retry-after", "120")],
            vec![
                "Server error when fetching http://www.example.com/feed/invalid with code 503",
                "Completed subscription to http://www.example.com/feed",
            ],
        ),
    ] {
        let world = World::new(&[PAGE]);
        world.interceptor_handle.answers(Method::GET, FEED, (200, &[ATOM], &linked()));
        world.interceptor_handle.answers(Method::GET, invalid, (status, headers, "it"));
        let mut follower = subscribed(&world).await;
        world.interceptor_handle.run();
        assert_eq!(follower.trace().await, expected);
    }
}

#[tokio::test]
async fn changed_state_is_sent_before_the_event() {
    let world = World::new(&[PAGE]);
    world.interceptor_handle.answers(Method::GET, FEED, (404, &[("x-why", "no")], "not here"));
    let mut follower = subscribed(&world).await;
    world.interceptor_handle.run();
    let mut names = Vec::new();
    let mut paused = false;
    let (mut error, mut sync, mut view) = (Value::Null, Value::Null, Value::Null);
    while !paused {
        let (name, data) = follower.next().await;
        match &*name {
            "error" => error = data,
            "sync" => sync = data,
            "subscription" => view = data,
            "state" => paused = data["status"] == 0,
            _ => {}
        }
        names.push(name);
    }
    let at = |name: &str| names.iter().position(|other| other == name);
    assert!(at("error").unwrap() < at("sync").unwrap(), "{names:?}");
    assert!(at("subscription").unwrap() < at("state").unwrap(), "{names:?}");
    assert_eq!((&error["response"]["text"], &error["status"]), (&json!("not here"), &json!(404)));
    assert_eq!(error["subscriptions"], json!(["1"]));
    assert_eq!(sync["responseHeaders"], "X-Why: no");
    world.page(PAGE, Method::DELETE, "/errors/1", Value::Null).await.ok(204);
    assert_eq!(follower.until("error-gone").await, json!({ "id": "1" }));
    world.page(PAGE, Method::DELETE, "/subscriptions/1?page=1", Value::Null).await.ok(204);
    assert_eq!(follower.until("state").await["status"], 4);
    let gone = follower.until("subscription-gone").await;
    assert_eq!(gone["id"], "1");
    assert!(gone["stamp"].as_u64() > view["stamp"].as_u64(), "{gone} {view}");
    assert_eq!(gone["count"], view["count"]);
}

#[tokio::test]
async fn stream_begins_with_the_current_state_and_repeats_no_past_events() {
    let world = World::new(&[PAGE]);
    world.interceptor_handle.answers(Method::GET, FEED, (500, &[], "broken"));
    world.page(PAGE, Method::POST, "/subscriptions", json!({ "feed": FEED })).await.ok(201);
    world.interceptor_handle.run();
    let mut follower = Follower::of(&world, &[("origin", PAGE)]).await;
    let (name, all) = follower.next().await;
    assert_eq!(name, "all");
    assert_eq!(all["subscriptions"][0]["stamp"], all["stamp"]);
    assert_eq!(all["subscriptions"][0]["count"], all["count"]);
    assert!(all["count"].as_str().is_some_and(|count| !count.is_empty()), "{all}");
    let (_, later) = Follower::of(&world, &[("origin", PAGE)]).await.next().await;
    assert_eq!(later["count"], all["count"]);
    assert!(later["stamp"].as_u64() > all["stamp"].as_u64(), "{later}");
    assert_eq!(
        (&all["subscriptions"][0]["state"], &all["errors"]),
        (&json!("PAUSED"), &json!(["1"]))
    );
    assert_eq!(all["proxies"], json!(["{http://purl.org/BITSY/xdp}xd", "{urn:feedsync:1}map"]));
    assert_eq!(follower.next().await.0, "error");
    assert_eq!(follower.next().await.0, "filled");
    world.program(Method::POST, "/subscriptions/1/pause", Value::Null).await.ok(200);
    world.program(Method::PATCH, "/subscriptions/1", json!({ "interval": 3 })).await.ok(200);
    let (name, view) = follower.next().await;
    assert_eq!(
        (&*name, &view["interval"]),
        ("subscription", &json!(3)),
        "what changed without an event"
    );
}

#[tokio::test]
async fn followers_get_only_visible_events() {
    let other = "http://elsewhere.test";
    let world = World::new(&[PAGE, other]);
    let headers = json!([{ "name": "Authorization", "value": "Bearer x" }]);
    let private = json!({ "feed": FEED, "headers": headers });
    world.interceptor_handle.answers(Method::GET, FEED, (404, &[], "secret"));
    let mut domain = Follower::of(&world, &[("origin", PAGE)]).await;
    let mut stranger = Follower::of(&world, &[("origin", other)]).await;
    let mut program = {
        let bearer = format!("Bearer {}", world.token);
        Follower::of(&world, &[("authorization", &bearer)]).await
    };
    for follower in [&mut domain, &mut stranger, &mut program] {
        follower.until("filled").await;
    }
    world.program(Method::POST, "/subscriptions", private).await.ok(201);
    world.interceptor_handle.run();
    let last = json!({ "feed": "http://elsewhere.test/feed" });
    world.page(other, Method::POST, "/subscriptions", last).await.ok(201);

    assert_eq!(program.until("sync").await["response"]["text"], "secret");
    // The domain gets the states of the subscription, and nothing of its contents.
    let mut heard = Vec::new();
    loop {
        let (name, data) = domain.next().await;
        assert!(!data.to_string().contains("secret") && !data.to_string().contains("Bearer"));
        let is_end = name == "state" && data["status"] == 0;
        heard.push(name);
        if is_end {
            break;
        }
    }
    assert!(
        !heard.contains(&"sync".to_owned()) && !heard.contains(&"error".to_owned()),
        "{heard:?}"
    );
    // The first event for the stranger concerns its own subscription.
    let (name, view) = stranger.next().await;
    assert_eq!((&*name, &view["id"]), ("subscription", &json!("2")));
}

#[tokio::test]
async fn edits_are_reported_when_they_succeed_or_are_refused() {
    let world = World::new(&[PAGE]);
    let entry = "http://www.example.com/feed/entry";
    let text =
        "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:e</id><title>E</title></entry>";
    world.interceptor_handle.answers(Method::GET, FEED, (200, &[ATOM], &feed(&["/feed/entry"])));
    world.interceptor_handle.answers(Method::GET, entry, (200, &[ATOM, ("etag", "\"1\"")], text));
    let mut follower = subscribed(&world).await;
    world.interceptor_handle.run();
    for (status, answer) in [(200, text), (409, "no")] {
        world.program(Method::PUT, "/network", json!({ "policy": "offline" })).await.ok(200);
        assert_eq!(world.interceptor_handle.edit(Method::PUT, entry, &[ATOM], text), 200);
        let length = answer.len().to_string();
        let headers = [ATOM, ("content-length", &*length)];
        world.interceptor_handle.answers(Method::PUT, entry, (status, &headers, answer));
        world.program(Method::PUT, "/network", json!({ "policy": "online" })).await.ok(200);
        world.interceptor_handle.run();
        let told = follower.until("sync").await;
        assert_eq!((&told["status"], &told["location"]), (&json!(status), &json!(entry)));
        assert_eq!(
            told["responseHeaders"],
            format!("Content-Type: application/atom+xml\nContent-Length: {length}")
        );
        assert_eq!(told["request"]["text"], text);
    }
}
