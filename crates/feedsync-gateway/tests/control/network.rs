//! Tests of the network policy.

use http::Method;
use serde_json::{Value, json};

use crate::world::{ATOM, World, feed};

const FEED: &str = "http://example.org/feed";

#[tokio::test]
async fn only_operators_set_the_network_policy() {
    let world = World::new(&["http://other.test"]);
    world.program(Method::POST, "/subscriptions", json!({ "feed": FEED })).await.ok(201);
    let network = || world.program(Method::GET, "/network", Value::Null);
    let told = |policy: &str, reached: bool| json!({ "policy": policy, "origins": [{ "origin": "http://example.org", "reached": reached }] });
    assert_eq!(network().await.ok(200), told("auto", true));
    let put = |policy: &str| {
        let value = json!({ "policy": policy });
        let world = &world;
        async move { world.program(Method::PUT, "/network", value).await }
    };
    assert_eq!(put("offline").await.ok(200), told("offline", false));
    world.interceptor_handle.answers(Method::GET, FEED, (200, &[ATOM], &feed(&[])));
    world.interceptor_handle.run();
    let state = || async {
        let view = world.program(Method::GET, "/subscriptions/1", Value::Null).await.ok(200);
        view["state"].as_str().unwrap().to_owned()
    };
    assert_eq!(state().await, "READY", "nothing was asked for");
    assert_eq!(put("auto").await.ok(200), told("auto", true));
    world.interceptor_handle.run();
    assert_eq!(state().await, "WAITING");
    // A page sees no servers of subscriptions that are hidden from it.
    let page = world.page("http://other.test", Method::GET, "/network", Value::Null).await;
    assert_eq!(page.ok(200)["origins"], json!([]));
    put("sometimes").await.problem(400, "bad-request");
}

#[tokio::test]
async fn everything_is_fetched_at_once_but_for_what_is_paused() {
    let world = World::new(&[]);
    for name in ["feed", "paused"] {
        let feed_at = format!("http://example.org/{name}");
        world.interceptor_handle.answers(Method::GET, &feed_at, (200, &[ATOM], &feed(&[])));
        world.program(Method::POST, "/subscriptions", json!({ "feed": feed_at })).await.ok(201);
    }
    world.interceptor_handle.run();
    world.program(Method::POST, "/subscriptions/2/pause", Value::Null).await.ok(200);
    world.program(Method::POST, "/refresh", Value::Null).await.ok(204);
    let list = world.program(Method::GET, "/subscriptions", Value::Null).await.ok(200);
    assert_eq!((&list[0]["state"], &list[1]["state"]), (&json!("READY"), &json!("PAUSED")));
}

#[tokio::test]
async fn a_server_that_was_not_reached_is_told_and_tried_again_when_asked() {
    let world = World::new(&[]);
    world.program(Method::POST, "/subscriptions", json!({ "feed": FEED })).await.ok(201);
    world.interceptor_handle.run();
    let network = || world.program(Method::GET, "/network", Value::Null);
    assert_eq!(network().await.ok(200)["origins"][0]["reached"], false);
    world.interceptor_handle.answers(Method::GET, FEED, (200, &[ATOM], &feed(&[])));
    world.interceptor_handle.run();
    assert_eq!(network().await.ok(200)["origins"][0]["reached"], false, "it is not time yet");
    world.program(Method::PUT, "/network", json!({ "policy": "online" })).await.ok(200);
    world.interceptor_handle.run();
    let view = world.program(Method::GET, "/subscriptions/1", Value::Null).await.ok(200);
    assert_eq!(view["state"], "WAITING");
    assert_eq!(network().await.ok(200)["origins"][0]["reached"], true);
}
