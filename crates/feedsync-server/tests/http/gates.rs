//! Requests with foreign hosts and foreign origins are refused.

use axum::body::Body;
use http::{Method, Request, StatusCode};

use crate::hub::{add, feed, hub, json, request, text, until};

#[tokio::test]
async fn a_foreign_host_is_refused_on_every_route() {
    let hub = hub().await;
    let routes = [
        "/",
        "/collections",
        "/collections/notes",
        "/collections/notes/changes",
        "/healthz",
        "/no",
    ];
    for path in routes {
        for foreign in ["example.org", "127.0.0.1.example.org:4287", "192.168.0.7"] {
            let response = hub.call(Method::GET, path, &[("host", foreign)]).await;
            assert_eq!(response.status(), StatusCode::MISDIRECTED_REQUEST, "{path} {foreign}");
            assert_eq!(text(&response, "content-type"), "application/problem+json");
        }
    }
    let none = Request::builder().uri("/healthz").body(Body::empty()).unwrap();
    assert_eq!(hub.send(none).await.status(), StatusCode::BAD_REQUEST);
    let two =
        request(Method::GET, "/healthz", &[("host", "localhost"), ("host", "::1")], Body::empty());
    assert_eq!(hub.send(two).await.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_foreign_origin_is_refused_and_changes_nothing() {
    let hub = hub().await;
    let item = add(&crate_endpoint().await, "a").await;
    let body = feed(feedsync_core::Format::Atom, &[item]);
    let before = until(&hub.endpoint).await;
    for origin in ["http://example.org", "null", "http://localhost:3000", "", "file://"] {
        let headers = [("origin", origin), ("content-type", "application/atom+xml")];
        for method in [Method::GET, Method::POST] {
            let request =
                request(method, "/collections/notes/changes", &headers, body.clone().into());
            let response = hub.send(request).await;
            assert_eq!(response.status(), StatusCode::FORBIDDEN, "{origin}");
            assert_eq!(json(response).await["type"], "urn:feedsync:1:problem:foreign-origin");
        }
    }
    let headers = [("sec-fetch-site", "cross-site"), ("content-type", "application/atom+xml")];
    let sneaky = request(Method::POST, "/collections/notes/changes", &headers, body.clone().into());
    assert_eq!(hub.send(sneaky).await.status(), StatusCode::FORBIDDEN);
    assert_eq!(until(&hub.endpoint).await, before);
    let headers = [("origin", "http://localhost:4287"), ("content-type", "application/atom+xml")];
    let own = request(Method::POST, "/collections/notes/changes", &headers, body.into());
    assert_eq!(hub.send(own).await.status(), StatusCode::OK);
}

#[tokio::test]
async fn no_page_of_another_origin_is_told_that_it_may_read() {
    let hub = hub().await;
    let headers = [("origin", "http://example.org"), ("access-control-request-method", "POST")];
    let response = hub.call(Method::OPTIONS, "/collections/notes/changes", &headers).await;
    assert_eq!(response.status(), StatusCode::FORBIDDEN);
    assert_eq!(text(&response, "access-control-allow-origin"), "");
}

async fn crate_endpoint() -> feedsync_endpoint::Endpoint {
    let endpoint = crate::hub::endpoint("client");
    crate::hub::create(&endpoint, "notes", feedsync_core::Format::Atom).await;
    endpoint
}
