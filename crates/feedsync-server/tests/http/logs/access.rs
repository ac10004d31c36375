//! Rights to a log: those to the collection of its name (LR39).

use axum::body::Body;
use feedsync_server::{Config, Limits, router};
use feedsync_store::AuditSelection;
use http::{Method, Response, StatusCode};
use tower::ServiceExt as _;

use super::RECORDS;
use crate::access::world::{World, bearer, collection, user};
use crate::hub::{json, request, text};

async fn send(
    world: &World,
    who: &str,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
) -> Response<Body> {
    let authorization = bearer(&world.access(who).await);
    let given = [("authorization", &*authorization), ("content-type", RECORDS)];
    let request = request(method, path, &[headers, &given].concat(), Body::from("1\n"));
    world.router.clone().oneshot(request).await.unwrap()
}

const BEGIN: [(&str, &str); 1] = [("if-none-match", "*")];

#[tokio::test]
async fn new_log_creates_a_collection_that_its_author_owns() {
    let world = World::in_memory().await;
    let begun = send(&world, "nora", Method::POST, "/logs/journal", &BEGIN).await;
    assert_eq!(begun.status(), StatusCode::CREATED);
    let made = world.endpoint.collection(&collection("journal")).await.unwrap();
    assert_eq!(made.title, "journal");
    for (who, status) in [
        ("nora", StatusCode::NO_CONTENT),
        ("root", StatusCode::NO_CONTENT),
        ("owen", StatusCode::NOT_FOUND),
    ] {
        let any = [("if-match", "*")];
        let answer = send(&world, who, Method::POST, "/logs/journal", &any).await;
        assert_eq!(answer.status(), status, "{who}");
    }
    let removed = send(&world, "nora", Method::DELETE, "/logs/journal", &[("if-match", "*")]).await;
    assert_eq!(removed.status(), StatusCode::NO_CONTENT);
    let nora = user("nora");
    let acts = AuditSelection { user: Some(&nora), limit: 10, ..Default::default() };
    let acts = world.endpoint.store().acts(acts).await.unwrap();
    let mut actions: Vec<_> = acts.iter().map(|recorded| &*recorded.act.action).collect();
    actions.sort_unstable();
    assert_eq!(actions, ["begin-log", "create", "remove-log"]);
}

/// A refused request creates no collection either.
#[tokio::test]
async fn only_a_log_that_begins_makes_a_collection_and_within_the_quota() {
    let mut world = World::in_memory().await;
    let limits = Limits { owned_collections: 1, ..Limits::default() };
    world.router = router(world.endpoint.clone(), Config { limits, ..Config::default() });
    for headers in [&[("if-match", "*")][..], &[("if-match", "\"x\"")], &[]] {
        let refused = send(&world, "nora", Method::POST, "/logs/new", headers).await;
        assert!(refused.status().is_client_error(), "{headers:?}");
    }
    let nora = bearer(&world.access("nora").await);
    let torn = [("authorization", &*nora), BEGIN[0], ("content-type", RECORDS)];
    let torn = request(Method::POST, "/logs/new", &torn, Body::from("1"));
    let torn = world.router.clone().oneshot(torn).await.unwrap();
    assert_eq!(torn.status(), StatusCode::BAD_REQUEST);
    assert!(world.endpoint.collection(&collection("new")).await.is_err());
    let begun = send(&world, "nora", Method::POST, "/logs/one", &BEGIN).await;
    assert_eq!(begun.status(), StatusCode::CREATED);
    let refused = send(&world, "nora", Method::POST, "/logs/two", &BEGIN).await;
    assert_eq!(refused.status(), StatusCode::INSUFFICIENT_STORAGE);
    assert_eq!(json(refused).await["limit"], "owned_collections");
    assert!(world.endpoint.collection(&collection("two")).await.is_err());
    assert_eq!(send(&world, "rita", Method::POST, "/logs/notes", &BEGIN).await.status(), 403);
    assert_eq!(send(&world, "eddy", Method::POST, "/logs/notes", &BEGIN).await.status(), 201);
}

/// Equal keys of two users are different keys.
#[tokio::test]
async fn idempotency_keys_of_users_are_separate() {
    let world = World::in_memory().await;
    let keyed = [BEGIN[0], ("idempotency-key", "1")];
    let begun = send(&world, "eddy", Method::POST, "/logs/notes", &keyed).await;
    assert_eq!(begun.status(), StatusCode::CREATED);
    let again = send(&world, "eddy", Method::POST, "/logs/notes", &keyed).await;
    assert_eq!(text(&again, "log-offset"), "0-2");
    let other = send(&world, "owen", Method::POST, "/logs/notes", &keyed).await;
    assert_eq!(other.status(), StatusCode::PRECONDITION_FAILED);
}
