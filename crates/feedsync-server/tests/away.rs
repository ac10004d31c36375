//! A hub whose database becomes unavailable and returns (AH27).

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use feedsync_core::Format;
use feedsync_endpoint::Endpoint;
use feedsync_server::{Config, router};
use feedsync_store::{
    CollectionName, EndpointName, NewCollection, PostgresStore, SystemEnvironment,
};
use feedsync_test::postgres::Cluster;
use http::{Method, Request, Response, StatusCode};
use tower::ServiceExt as _;

const ENTRY: &str = "<entry xmlns='http://www.w3.org/2005/Atom'><title>T</title></entry>";

async fn ask(hub: &Router, method: Method, path: &str) -> Response<Body> {
    let body = if method == Method::POST { ENTRY } else { "" };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", "localhost")
        .header("content-type", "application/atom+xml;type=entry")
        .body(Body::from(body))
        .unwrap();
    hub.clone().oneshot(request).await.unwrap()
}

async fn live(endpoint: &Endpoint) -> u64 {
    endpoint.collection(&CollectionName::new("notes").unwrap()).await.unwrap().live
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_store_is_away_a_hub_says_so_and_does_nothing_by_half() {
    let cluster = Cluster::start();
    let environment = Arc::new(SystemEnvironment);
    let name = EndpointName::new("hub").unwrap();
    let store = PostgresStore::init(&cluster.database(), &name, environment.clone()).await.unwrap();
    let endpoint = Endpoint::new(Arc::new(store), environment);
    let name = CollectionName::new("notes").unwrap();
    let (title, settings) = ("Notes".to_owned(), Default::default());
    let new = NewCollection { name, title, format: Format::Atom, settings };
    endpoint.store().create_collection(new).await.unwrap();
    let hub = router(endpoint.clone(), Config::default());
    assert_eq!(ask(&hub, Method::GET, "/healthz").await.status(), StatusCode::OK);
    let notes = "/collections/notes";
    assert_eq!(ask(&hub, Method::POST, notes).await.status(), StatusCode::CREATED);
    let before = live(&endpoint).await;

    cluster.control(&["-m", "immediate", "stop"]);
    for (method, path) in [(Method::GET, "/healthz"), (Method::GET, notes), (Method::POST, notes)] {
        let answer = ask(&hub, method.clone(), path).await;
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE, "{method} {path}");
        assert_eq!(answer.headers()["retry-after"], "5", "{method} {path}");
        assert_eq!(answer.headers()["cache-control"], "no-store", "{method} {path}");
        let body = axum::body::to_bytes(answer.into_body(), 1 << 20).await.unwrap();
        let said = String::from_utf8_lossy(&body).to_lowercase();
        for inside in ["postgres", "sql", "socket", "/tmp", "panicked"] {
            assert!(!said.contains(inside), "{inside} in {said}");
        }
    }

    cluster.control(&["-l", "server.log", "start"]);
    let mut health = StatusCode::SERVICE_UNAVAILABLE;
    for _ in 0..100 {
        health = ask(&hub, Method::GET, "/healthz").await.status();
        if health == StatusCode::OK {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert_eq!(health, StatusCode::OK, "it comes back by itself");
    assert_eq!(live(&endpoint).await, before);
    assert_eq!(ask(&hub, Method::POST, notes).await.status(), StatusCode::CREATED);
    assert_eq!(live(&endpoint).await, before + 1);
}
