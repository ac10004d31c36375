//! Tests of what applications of different domains and with different credentials see of each other (BITSY 4.4).

use http::Method;
use serde_json::{Value, json};

use crate::world::{ATOM, World, feed};

const OWN: &str = "https://example.org";
const BELOW: &str = "https://app.example.org";
const OTHER: &str = "https://elsewhere.net";
const FEED: &str = "https://feeds.example.org/news";

fn origins() -> World {
    World::new(&[OWN, BELOW, OTHER])
}

async fn ids(world: &World, headers: &[(&str, &str)], path: &str) -> Vec<String> {
    let list = world.by(Method::GET, path, headers, Value::Null).await.ok(200);
    let id = |one: &Value| one["id"].as_str().unwrap().to_owned();
    list.as_array().unwrap().iter().map(id).collect()
}

#[tokio::test]
async fn pages_see_subscriptions_of_their_domain_and_their_own() {
    let world = origins();
    world.program(Method::POST, "/subscriptions", json!({ "feed": FEED })).await.ok(201);
    let list = |origin| {
        let world = &world;
        async move { ids(world, &[("origin", origin)], "/subscriptions").await }
    };
    assert_eq!(list(OWN).await, ["1"], "it contains the domain of the feed");
    assert_eq!(list(BELOW).await, [""; 0], "it is beside it");
    assert_eq!(list(OTHER).await, [""; 0]);
    let made = world.page(OTHER, Method::POST, "/subscriptions", json!({ "feed": FEED })).await;
    assert_eq!(made.ok(201)["id"], "1");
    assert_eq!(list(OTHER).await, ["1"]);
    assert_eq!(list(BELOW).await, [""; 0]);
    // For callers that may not see it, the subscription does not exist.
    for (method, path, value) in [
        (Method::GET, "/subscriptions/1", Value::Null),
        (Method::PATCH, "/subscriptions/1", json!({ "interval": 1 })),
        (Method::DELETE, "/subscriptions/1", Value::Null),
        (Method::POST, "/subscriptions/1/pause", Value::Null),
        (Method::POST, "/subscriptions/1/resume", Value::Null),
        (Method::PUT, "/subscriptions/1/follows/related", Value::Null),
        (Method::DELETE, "/subscriptions/1/follows/related", Value::Null),
        (Method::GET, "/subscriptions/1/errors", Value::Null),
    ] {
        world.page(BELOW, method, path, value).await.problem(404, "not-found");
    }
    // A public suffix does not contain the names below it.
    let world = World::new(&["https://github.io", "https://anna.github.io"]);
    let feed = json!({ "feed": "https://anna.github.io/feed" });
    world.program(Method::POST, "/subscriptions", feed).await.ok(201);
    assert_eq!(ids(&world, &[("origin", "https://github.io")], "/subscriptions").await, [""; 0]);
    assert_eq!(ids(&world, &[("origin", "https://anna.github.io")], "/subscriptions").await, ["1"]);
}

#[tokio::test]
async fn other_credentials_hide_errors_and_edits() {
    let world = origins();
    let headers = json!([{ "name": "Authorization", "value": "Bearer anna" }]);
    let wanted = json!({ "feed": FEED, "headers": headers });
    let made = world.page(OTHER, Method::POST, "/subscriptions", wanted).await.ok(201);
    assert_eq!(made["headers"][0]["value"], "Bearer anna", "it has shown it itself");
    let member = "https://feeds.example.org/one";
    world.interceptor_handle.answers(Method::GET, FEED, (200, &[ATOM], &feed(&["one"])));
    world.interceptor_handle.answers(Method::GET, member, (200, &[ATOM], "<entry/>"));
    world.interceptor_handle.run();
    world.program(Method::PUT, "/network", json!({ "policy": "offline" })).await.ok(200);
    let entry = "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:one</id><title>Anna's</title></entry>";
    let by_anna = [ATOM, ("authorization", "Bearer anna")];
    assert_eq!(world.interceptor_handle.edit(Method::PUT, member, &by_anna, entry), 200);

    let anna = [("origin", OTHER)];
    let domain = [("origin", OWN)];
    let stranger = [("origin", BELOW)];
    let shown = [("origin", BELOW), ("authorization", "Bearer anna")];
    assert_eq!(ids(&world, &anna, "/outbox").await, ["1"]);
    assert_eq!(ids(&world, &shown, "/outbox").await, ["1"], "it shows the credentials");
    for who in [&domain[..], &stranger] {
        assert_eq!(ids(&world, who, "/outbox").await, [""; 0], "{who:?}");
        let drop = world.by(Method::DELETE, "/outbox/1", who, Value::Null).await;
        drop.problem(404, "not-found");
    }
    world.program(Method::PUT, "/network", json!({ "policy": "auto" })).await.ok(200);
    world.interceptor_handle.answers(Method::PUT, member, (409, &[], "not so"));
    world.interceptor_handle.run();
    assert_eq!(ids(&world, &anna, "/outbox").await, [""; 0]);
    assert_eq!(ids(&world, &anna, "/errors").await, ["1"]);
    assert_eq!(ids(&world, &shown, "/errors").await, ["1"]);
    for who in [&domain[..], &stranger] {
        assert_eq!(ids(&world, who, "/errors").await, [""; 0], "{who:?}");
        for (method, path) in [
            (Method::GET, "/errors/1"),
            (Method::GET, "/errors/1/mine"),
            (Method::DELETE, "/errors/1"),
            (Method::POST, "/errors/1/retry"),
        ] {
            world.by(method, path, who, Value::Null).await.problem(404, "not-found");
        }
    }
    // The domain sees the subscription, but none of its contents.
    let told = world.by(Method::GET, "/subscriptions/1", &domain, Value::Null).await.ok(200);
    assert_eq!(told["headers"][0], json!({ "name": "Authorization", "value": null }));
    assert_eq!((told.get("edits"), told.get("errors")), (None, None));
    assert_eq!(ids(&world, &domain, "/subscriptions/1/errors").await, [""; 0]);
    // The domain cannot take a hold either, which would give it the access of the creator.
    for (method, path, value) in [
        (Method::PATCH, "/subscriptions/1", json!({ "interval": 1 })),
        (Method::PATCH, "/subscriptions/1", json!({ "proxy": "http://app.example.org/proxy.xml" })),
        (Method::PUT, "/subscriptions/1/follows/related", Value::Null),
    ] {
        world.by(method, path, &domain, value).await.problem(403, "credentials");
    }
    assert_eq!(ids(&world, &domain, "/errors").await, [""; 0]);
}

#[tokio::test]
async fn other_credentials_make_a_separate_subscription() {
    let world = World::new(&[OTHER, OWN]);
    for (origin, who) in [(OTHER, "anna"), (OWN, "bert")] {
        let headers = json!([{ "name": "Cookie", "value": format!("who={who}") }]);
        let wanted = json!({ "feed": FEED, "headers": headers });
        world.page(origin, Method::POST, "/subscriptions", wanted).await.ok(201);
    }
    world.interceptor_handle.answers(Method::GET, FEED, (404, &[], "gone"));
    world.interceptor_handle.run();
    let all = world.program(Method::GET, "/errors", Value::Null).await.ok(200);
    assert_eq!(all.as_array().unwrap().len(), 2);
    assert_eq!(ids(&world, &[("origin", OTHER)], "/subscriptions").await, ["1"]);
    // The domain of this origin contains that of the feed.
    assert_eq!(ids(&world, &[("origin", OWN)], "/subscriptions").await, ["1", "2"]);
    for (origin, id) in [(OTHER, "1"), (OWN, "2")] {
        let list = world.page(origin, Method::GET, "/errors", Value::Null).await.ok(200);
        let list = list.as_array().unwrap();
        assert_eq!((list.len(), &list[0]["subscriptions"]), (1, &json!([id])), "{origin}");
    }
}

#[tokio::test]
async fn a_page_of_the_web_subscribes_to_nothing_in_the_local_network() {
    let (web, number) = ("https://app.example.org", "http://93.184.215.14");
    let near = ["http://localhost:3000", "http://app.lan", "http://192.168.1.7"];
    let world = World::new(&[&near[..], &[web, number]].concat());
    for feed in [
        "http://127.0.0.1:8080/feed",
        "http://2130706433/feed",
        "http://[::1]/feed",
        "http://192.168.1.1/feed",
        "http://8.8.8.8/feed",
        "http://localhost/feed",
        "http://nas/feed",
        "http://nas.local/feed",
        "http://nas.lan./feed",
        "http://a.internal/feed",
        "http://box.home.arpa/feed",
    ] {
        let wanted = json!({ "feed": feed });
        for page in [web, number] {
            let refused = world.page(page, Method::POST, "/subscriptions", wanted.clone()).await;
            refused.problem(403, "local-network");
        }
        let with_proxy = json!({ "feed": FEED, "proxy": feed });
        let refused = world.page(web, Method::POST, "/subscriptions", with_proxy).await;
        refused.problem(403, "local-network");
        assert_eq!(
            world.program(Method::GET, "/subscriptions", Value::Null).await.ok(200),
            json!([])
        );
        for origin in near {
            let made = world.page(origin, Method::POST, "/subscriptions", wanted.clone()).await;
            let id = made.ok(201)["id"].clone();
            let path = format!("/subscriptions/{}", id.as_str().unwrap());
            world.page(origin, Method::DELETE, &path, Value::Null).await.ok(204);
        }
        let made = world.program(Method::POST, "/subscriptions", wanted).await.ok(201);
        let path = format!("/subscriptions/{}", made["id"].as_str().unwrap());
        world.program(Method::DELETE, &path, Value::Null).await.ok(204);
    }
    let own = json!({ "feed": format!("{number}/feed") });
    world.page(number, Method::POST, "/subscriptions", own).await.ok(201);
    for feed in ["http://lan.example.org/feed", "https://localhost.example/feed"] {
        let wanted = json!({ "feed": feed });
        world.page(web, Method::POST, "/subscriptions", wanted).await.ok(201);
    }
}
