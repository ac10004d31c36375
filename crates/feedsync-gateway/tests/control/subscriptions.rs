//! Tests of the subscriptions of programs and of pages.

use http::Method;
use serde_json::{Value, json};

use crate::world::{ATOM, World, feed};

const FEED: &str = "http://feeds.example.org/news";

#[tokio::test]
async fn a_subscription_is_made_read_changed_and_ended() {
    let world = World::new(&[]);
    let wanted = json!({
        "feed": "../news",
        "base": "http://feeds.example.org/app/",
        "headers": [
            { "name": "Authorization", "value": "Bearer secret" },
            { "name": "Accept-Language", "value": "da" },
        ],
        "interval": 5,
        "follows": ["Enclosure"],
        "proxy": null,
    });
    let made = world.program(Method::POST, "/subscriptions", wanted).await;
    assert_eq!(made.header(http::header::LOCATION), "/subscriptions/1");
    assert!(!made.text.contains("secret"), "secrets are not told");
    let made = made.ok(201);
    let told = |name: &str| made[name].clone();
    assert_eq!(
        [told("id"), told("feed"), told("state"), told("status"), told("interval")],
        [json!("1"), json!(FEED), json!("READY"), json!(3), json!(5)]
    );
    assert_eq!(made["follows"], json!(["enclosure"]));
    assert_eq!(made["headers"][0], json!({ "name": "Authorization", "value": null }));
    assert_eq!(made["headers"][1], json!({ "name": "Accept-Language", "value": "da" }));

    let get = |path: &'static str| world.program(Method::GET, path, Value::Null);
    let list = get("/subscriptions").await.ok(200);
    assert_eq!(list.as_array().unwrap().len(), 1);
    let date = ("date", "Tue, 14 Nov 2023 22:00:00 GMT");
    world.interceptor_handle.answers(Method::GET, FEED, (200, &[ATOM, date], &feed(&[])));
    world.interceptor_handle.run();
    let view = get("/subscriptions/1").await.ok(200);
    assert_eq!((&view["state"], &view["status"]), (&json!("WAITING"), &json!(2)));
    assert_eq!(view["lastUpdated"], 1_699_999_200_000_u64, "by the clock of its server");
    assert!(view["stamp"].as_u64() > made["stamp"].as_u64());
    let counts = [&made["count"], &view["count"], &list[0]["count"]];
    assert!(counts.iter().all(|count| count.is_string() && *count == counts[0]), "{counts:?}");
    // Each gateway has its own counter.
    let others = World::new(&[]);
    let other = others.program(Method::POST, "/subscriptions", json!({ "feed": FEED })).await;
    assert_ne!(other.ok(201)["count"], made["count"]);

    let changed = json!({ "interval": 7, "proxy": "http://feeds.example.org/proxy.xml" });
    let changed = world.program(Method::PATCH, "/subscriptions/1", changed).await.ok(200);
    assert_eq!(changed["interval"], 7);
    assert_eq!(changed["proxy"], "http://feeds.example.org/proxy.xml");
    let kept = world.program(Method::PATCH, "/subscriptions/1", json!({})).await.ok(200);
    assert_eq!(kept["proxy"], "http://feeds.example.org/proxy.xml");
    let taken = json!({ "proxy": null });
    let taken = world.program(Method::PATCH, "/subscriptions/1", taken).await.ok(200);
    assert_eq!(taken["proxy"], Value::Null);

    let post = |path: &'static str| world.program(Method::POST, path, Value::Null);
    assert_eq!(post("/subscriptions/1/pause").await.ok(200)["state"], "PAUSED");
    assert_eq!(post("/subscriptions/1/resume").await.ok(200)["state"], "READY");
    let follows = "/subscriptions/1/follows/http%3A%2F%2Fexample.org%2FRel";
    let put = world.program(Method::PUT, follows, Value::Null).await.ok(200);
    assert_eq!(put["follows"], json!(["enclosure", "http://example.org/rel"]));
    let gone = world.program(Method::DELETE, follows, Value::Null).await.ok(200);
    assert_eq!(gone["follows"], json!(["enclosure"]));

    world.program(Method::DELETE, "/subscriptions/1", Value::Null).await.ok(204);
    get("/subscriptions/1").await.problem(404, "not-found");
    assert_eq!(get("/subscriptions").await.ok(200), json!([]));
}

#[tokio::test]
async fn invalid_subscriptions_are_refused_with_the_invalid_part() {
    let world = World::new(&[]);
    for (wanted, part) in [
        (json!({ "feed": "news" }), "feed"),
        (json!({ "feed": "ftp://example.org/" }), "feed"),
        (json!({ "feed": "http://u:p@example.org/" }), "feed"),
        (json!({ "feed": FEED, "base": "nowhere" }), "base"),
        (json!({ "feed": FEED, "follows": ["a b"] }), "follows"),
        (json!({ "feed": FEED, "proxy": "urn:x" }), "proxy"),
        (json!({ "feed": FEED, "headers": [{ "name": "a b", "value": "" }] }), "headers"),
        (json!({ "feed": FEED, "headers": [{ "name": "a", "value": "x\r\ny: z" }] }), "headers"),
    ] {
        let answer = world.program(Method::POST, "/subscriptions", wanted.clone()).await;
        let problem = answer.problem(422, "bad-subscription");
        assert_eq!(problem["part"], part, "{wanted}");
    }
    for (wanted, word) in [
        (json!({}), "feed"),
        (json!({ "feed": FEED, "intervall": 1 }), "intervall"),
        (json!({ "feed": FEED, "interval": 65_536 }), "65536"),
        (json!({ "feed": FEED, "interval": -1 }), "-1"),
        (json!([]), "invalid"),
    ] {
        let answer = world.program(Method::POST, "/subscriptions", wanted).await;
        let problem = answer.problem(400, "bad-request");
        assert!(problem["detail"].as_str().unwrap().contains(word), "{problem}");
    }
    let bearer = format!("Bearer {}", world.token);
    let headers = [("host", "localhost"), ("authorization", &*bearer)];
    let plain = world.send(Method::POST, "/subscriptions", &headers, "{}").await;
    plain.problem(415, "media-type");
    let large =
        json!({ "feed": FEED, "headers": [{ "name": "a", "value": "x".repeat(300 << 10) }] });
    world.program(Method::POST, "/subscriptions", large).await.problem(413, "too-large");
    world.program(Method::POST, "/subscriptions", json!({ "feed": FEED })).await.ok(201);
    for (path, value, kind) in [
        ("/subscriptions/1", json!({ "proxy": "x" }), "bad-proxy"),
        ("/subscriptions/1", json!({ "interval": "x" }), "bad-request"),
    ] {
        let answer = world.program(Method::PATCH, path, value).await;
        answer.problem(if kind == "bad-proxy" { 422 } else { 400 }, kind);
    }
    let odd = world.program(Method::PUT, "/subscriptions/1/follows/a%20b", Value::Null).await;
    odd.problem(422, "bad-relation");
    let list = world.program(Method::GET, "/subscriptions", Value::Null).await.ok(200);
    assert_eq!(list[0]["follows"], json!([]), "nothing was changed");
}

#[tokio::test]
async fn a_page_that_unsubscribes_ends_nothing_for_another() {
    let world = World::new(&["http://a.example.org", "http://b.example.org"]);
    let (a, b) = ("http://a.example.org", "http://b.example.org");
    let subscribe = |origin, life: &str, interval: u16| {
        let path = format!("/subscriptions?page={life}");
        let wanted = json!({ "feed": FEED, "interval": interval });
        let world = &world;
        async move { world.page(origin, Method::POST, &path, wanted).await.ok(201)["id"].clone() }
    };
    assert_eq!(subscribe(a, "a1", 20).await, "1");
    assert_eq!(subscribe(b, "b1", 10).await, "1", "what fits is shared");
    let interval = |origin| {
        let world = &world;
        async move {
            let answer = world.page(origin, Method::GET, "/subscriptions/1", Value::Null).await;
            if answer.status == 404 { Value::Null } else { answer.ok(200)["interval"].clone() }
        }
    };
    assert_eq!(interval(a).await, 10);
    let end = |origin, life: &str| {
        let path = format!("/subscriptions/1?page={life}");
        let world = &world;
        async move { world.page(origin, Method::DELETE, &path, Value::Null).await.ok(204) }
    };
    end(b, "b1").await;
    assert_eq!(interval(b).await, Value::Null, "it is nothing to that one any more");
    assert_eq!(interval(a).await, 20, "what it asked for is taken back with it");
    // A second page of the same application has its own hold while it is open.
    let headers = [("host", "localhost"), ("origin", a)];
    let followed = world.raw(Method::GET, "/events?page=a1", &headers, "").await;
    assert_eq!(subscribe(a, "a2", 15).await, "1");
    end(a, "a2").await;
    assert_eq!(interval(a).await, 20);
    // The hold of a page that disappeared remains with its application.
    drop(followed);
    tokio::task::yield_now().await;
    assert_eq!(subscribe(a, "a3", 30).await, "1");
    assert_eq!(interval(a).await, 30);
    end(a, "a3").await;
    let all = world.program(Method::GET, "/subscriptions", Value::Null).await.ok(200);
    assert_eq!(all, json!([]));
}

#[tokio::test]
async fn existing_subscription_is_returned_in_its_current_state() {
    let world = World::new(&["http://a.example.org"]);
    let subscribe = || {
        let wanted = json!({ "feed": FEED });
        let world = &world;
        async move {
            let made =
                world.page("http://a.example.org", Method::POST, "/subscriptions", wanted).await;
            let made = made.ok(201);
            (made["id"].clone(), made["state"].clone())
        }
    };
    let one = |state: &str| (json!("1"), json!(state));
    assert_eq!(subscribe().await, one("READY"));
    world.interceptor_handle.begin();
    assert_eq!(subscribe().await, one("FETCHING"));
    world.interceptor_handle.answers(Method::GET, FEED, (200, &[ATOM], &feed(&[])));
    world.program(Method::POST, "/subscriptions/1/pause", Value::Null).await.ok(200);
    assert_eq!(subscribe().await, one("PAUSED"));
    world.program(Method::POST, "/subscriptions/1/resume", Value::Null).await.ok(200);
    world.interceptor_handle.run();
    assert_eq!(subscribe().await, one("WAITING"));
}

#[tokio::test]
async fn an_application_changes_what_it_asked_for_and_nothing_of_others() {
    let world = World::new(&["http://a.example.org", "http://b.example.org"]);
    let (a, b) = ("http://a.example.org", "http://b.example.org");
    for (origin, follows) in [(a, json!(["enclosure"])), (b, json!(["related"]))] {
        let wanted = json!({ "feed": FEED, "interval": 10, "follows": follows });
        world.page(origin, Method::POST, "/subscriptions?page=1", wanted).await.ok(201);
    }
    let path = "/subscriptions/1?page=1";
    let changed = world.page(a, Method::PATCH, path, json!({ "interval": 60 })).await.ok(200);
    assert_eq!(changed["interval"], 10, "the other one wants it oftener");
    let changed = world.page(b, Method::PATCH, path, json!({ "interval": 30 })).await.ok(200);
    assert_eq!(changed["interval"], 30);
    for (origin, relation, left) in [
        (a, "related", json!(["enclosure", "related"])),
        (a, "enclosure", json!(["related"])),
        (b, "related", json!([])),
    ] {
        let path = format!("/subscriptions/1/follows/{relation}?page=1");
        let view = world.page(origin, Method::DELETE, &path, Value::Null).await.ok(200);
        assert_eq!(view["follows"], left);
    }
    // An operator of the gateway ends the subscription for all.
    world.program(Method::DELETE, "/subscriptions/1", Value::Null).await.ok(204);
    world.page(a, Method::GET, path, Value::Null).await.problem(404, "not-found");
}
