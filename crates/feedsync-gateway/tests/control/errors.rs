//! Tests of errors and of pending edits.

use http::{Method, header};
use serde_json::{Value, json};

use crate::world::{ATOM, BEGINNING, World, feed};

const FEED: &str = "http://example.org/feed";
const MEMBER: &str = "http://example.org/entry";
const OLD: &str =
    "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:entry</id><title>Old</title></entry>";
const MINE: &str =
    "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:entry</id><title>Mine</title></entry>";

const THEIRS: &str =
    "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:entry</id><title>Theirs</title></entry>";

/// A subscription with a stored member, without a network.
async fn offline() -> World {
    let world = World::new(&[]);
    let tag = ("etag", "\"1\"");
    world.interceptor_handle.answers(Method::GET, FEED, (200, &[ATOM], &feed(&["entry"])));
    world.interceptor_handle.answers(Method::GET, MEMBER, (200, &[ATOM, tag], OLD));
    let wanted = json!({ "feed": FEED, "follows": ["edit"] });
    world.program(Method::POST, "/subscriptions", wanted).await.ok(201);
    world.interceptor_handle.run();
    world.program(Method::PUT, "/network", json!({ "policy": "offline" })).await.ok(200);
    world
}

async fn online(world: &World) {
    world.program(Method::PUT, "/network", json!({ "policy": "online" })).await.ok(200);
    world.interceptor_handle.run();
}

#[tokio::test]
async fn edits_are_listed_in_order_and_can_be_retried_or_discarded() {
    let world = offline().await;
    assert_eq!(world.interceptor_handle.edit(Method::PUT, MEMBER, &[ATOM], MINE), 200);
    assert_eq!(world.interceptor_handle.edit(Method::POST, FEED, &[ATOM], MINE), 201);
    let list = world.program(Method::GET, "/outbox", Value::Null).await.ok(200);
    let of = |at: usize| {
        ["id", "method", "location", "progress", "tries", "length"].map(|it| list[at][it].clone())
    };
    let length = json!(MINE.len());
    assert_eq!(
        of(0),
        [json!("1"), json!("PUT"), json!(MEMBER), json!("queued"), json!(0), length.clone()]
    );
    assert_eq!(of(1), [json!("2"), json!("POST"), json!(FEED), json!("queued"), json!(0), length]);
    let view = world.program(Method::GET, "/subscriptions/1", Value::Null).await.ok(200);
    assert_eq!((&view["edits"], &view["errors"]), (&json!(2), &json!(0)));

    let busy = ("retry-after", "3600");
    world.interceptor_handle.answers(Method::PUT, MEMBER, (503, &[busy], ""));
    world.interceptor_handle.answers(Method::POST, FEED, (503, &[busy], ""));
    online(&world).await;
    let list = world.program(Method::GET, "/outbox", Value::Null).await.ok(200);
    assert_eq!((&list[0]["progress"], &list[0]["tries"]), (&json!("waiting"), &json!(1)));
    assert_eq!(list[0]["until"], BEGINNING + 3_600_000);
    world.interceptor_handle.answers(Method::PUT, MEMBER, (200, &[ATOM], MINE));
    world.interceptor_handle.run();
    assert_eq!(world.program(Method::GET, "/outbox", Value::Null).await.ok(200)[0]["id"], "1");
    world.program(Method::POST, "/outbox/1/retry", Value::Null).await.ok(204);
    world.interceptor_handle.answers(Method::GET, MEMBER, (200, &[ATOM, ("etag", "\"1\"")], OLD));
    world.interceptor_handle.run();
    let list = world.program(Method::GET, "/outbox", Value::Null).await.ok(200);
    assert_eq!(list[0]["id"], "2", "the first has arrived: {list}");
    world.program(Method::DELETE, "/outbox/2", Value::Null).await.ok(204);
    assert_eq!(world.program(Method::GET, "/outbox", Value::Null).await.ok(200), json!([]));
    world.program(Method::DELETE, "/outbox/2", Value::Null).await.problem(404, "not-found");
}

#[tokio::test]
async fn refused_edit_is_an_error_with_all_sides_and_can_be_repeated_or_cleared() {
    let world = offline().await;
    let edited = [ATOM, ("if-match", "\"1\"")];
    assert_eq!(world.interceptor_handle.edit(Method::PUT, MEMBER, &edited, MINE), 200);
    let theirs = ("content-type", "text/plain; charset=utf-8");
    world.interceptor_handle.answers(
        Method::PUT,
        MEMBER,
        (409, &[theirs], "somebody else was quicker"),
    );
    world.interceptor_handle.answers(
        Method::GET,
        MEMBER,
        (200, &[ATOM, ("etag", "\"2\"")], THEIRS),
    );
    online(&world).await;
    let list = world.program(Method::GET, "/errors", Value::Null).await.ok(200);
    let error = &list[0];
    assert_eq!(
        ["id", "status", "method", "location", "feed", "isEdit", "subscriptions"]
            .map(|name| error[name].clone()),
        [
            json!("1"),
            json!(409),
            json!("PUT"),
            json!(MEMBER),
            json!(FEED),
            json!(true),
            json!(["1"])
        ]
    );
    assert!(
        error["requestHeaders"].as_str().unwrap().contains("Content-Type: application/atom+xml")
    );
    let whole = world.program(Method::GET, "/errors/1", Value::Null).await.ok(200);
    assert_eq!(whole["request"]["text"], MINE);
    assert_eq!(whole["response"]["text"], "somebody else was quicker");
    assert_eq!(
        (&whole["theirs"]["text"], &whole["theirs"]["status"]),
        (&json!(THEIRS), &json!(200))
    );
    let of = world.program(Method::GET, "/subscriptions/1/errors", Value::Null).await.ok(200);
    assert_eq!(of, list);
    for (side, text) in
        [("mine", MINE), ("base", OLD), ("theirs", THEIRS), ("answer", "somebody else was quicker")]
    {
        let path = format!("/errors/1/{side}");
        let answer = world.program(Method::GET, &path, Value::Null).await;
        assert_eq!((answer.status, &*answer.text), (200, text), "{side}");
        assert_eq!(answer.header(header::CONTENT_DISPOSITION), "attachment");
        assert!(answer.header(header::CONTENT_SECURITY_POLICY).contains("sandbox"));
    }
    let none = world.program(Method::GET, "/errors/1/yours", Value::Null).await;
    none.problem(404, "not-found");

    world.program(Method::POST, "/errors/1/retry", Value::Null).await.ok(204);
    assert_eq!(world.program(Method::GET, "/errors", Value::Null).await.ok(200), json!([]));
    let queued = world.program(Method::GET, "/outbox", Value::Null).await.ok(200);
    assert_eq!((&queued[0]["method"], &queued[0]["location"]), (&json!("PUT"), &json!(MEMBER)));
    world.interceptor_handle.run();
    let again = world.program(Method::GET, "/errors", Value::Null).await.ok(200);
    assert_eq!(again[0]["id"], "2");
    world.program(Method::DELETE, "/errors/2", Value::Null).await.ok(204);
    assert_eq!(world.program(Method::GET, "/errors", Value::Null).await.ok(200), json!([]));
    world.program(Method::DELETE, "/errors/2", Value::Null).await.problem(404, "not-found");
}

#[tokio::test]
async fn failed_fetch_is_no_edit_and_resume_retries_it() {
    let world = World::new(&[]);
    world.program(Method::POST, "/subscriptions", json!({ "feed": FEED })).await.ok(201);
    world.interceptor_handle.answers(Method::GET, FEED, (500, &[], "\u{1}broken"));
    world.interceptor_handle.run();
    let view = world.program(Method::GET, "/subscriptions/1", Value::Null).await.ok(200);
    assert_eq!((&view["state"], &view["errors"]), (&json!("PAUSED"), &json!(1)));
    let answer = world.program(Method::POST, "/errors/1/retry", Value::Null).await;
    answer.problem(409, "conflict");
    world.program(Method::GET, "/errors/1/mine", Value::Null).await.problem(404, "not-found");
    world.program(Method::DELETE, "/errors/1", Value::Null).await.ok(204);
    world.interceptor_handle.answers(Method::GET, FEED, (200, &[ATOM], &feed(&[])));
    world.program(Method::POST, "/subscriptions/1/resume", Value::Null).await.ok(200);
    world.interceptor_handle.run();
    let view = world.program(Method::GET, "/subscriptions/1", Value::Null).await.ok(200);
    assert_eq!((&view["state"], &view["errors"]), (&json!("WAITING"), &json!(0)));
}
