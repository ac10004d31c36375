//! Every route with every method, in every format.

use axum::body::Body;
use feedsync_core::Format;
use feedsync_formats::media_type;
use http::{Method, StatusCode};

use crate::hub::{add, add_document, bytes, delete, hub, ids, json, reading, text};

const FEEDS: [&str; 3] =
    ["/collections/notes", "/collections/notes/changes", "/collections/notes/complete"];

#[tokio::test]
async fn every_route_answers_its_methods_and_names_them() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    let digest = hub.endpoint.store().put_blob(b"blob".to_vec()).await.unwrap();
    let blob = format!("/blobs/{digest}");
    add_document(&hub.endpoint, "plans", r#"{"_id":"a","_rev":"1-a"}"#).await;
    let mut routes = vec![
        ("/".to_owned(), "GET, HEAD, OPTIONS"),
        ("/collections".to_owned(), "GET, HEAD, OPTIONS"),
        ("/service".to_owned(), "GET, HEAD, OPTIONS"),
        ("/collections/notes/categories".to_owned(), "GET, HEAD, OPTIONS"),
        ("/collections/notes/settings".to_owned(), "GET, HEAD, OPTIONS"),
        ("/collections/notes/events".to_owned(), "GET, HEAD, OPTIONS"),
        ("/healthz".to_owned(), "GET, HEAD, OPTIONS"),
        ("/limits".to_owned(), "GET, HEAD, OPTIONS"),
        ("/metrics".to_owned(), "GET, HEAD, OPTIONS"),
        ("/pages/remotes".to_owned(), "GET, HEAD, OPTIONS"),
        ("/pages/databases".to_owned(), "GET, HEAD, OPTIONS"),
        ("/pages/dropped".to_owned(), "GET, HEAD, OPTIONS, POST"),
        ("/pages/database?name=plans".to_owned(), "GET, HEAD, OPTIONS"),
        ("/pages/history?name=plans".to_owned(), "GET, HEAD, OPTIONS, POST"),
        ("/pages/document?name=plans&id=a".to_owned(), "GET, HEAD, OPTIONS, POST"),
        ("/pages/collections/notes".to_owned(), "GET, HEAD, OPTIONS, POST"),
        ("/pages/collections/notes/items/a".to_owned(), "GET, HEAD, OPTIONS, POST"),
        ("/pages/collections/notes/people".to_owned(), "GET, HEAD, OPTIONS, POST"),
        ("/pages/login".to_owned(), "GET, HEAD, OPTIONS, POST"),
        ("/pages/account".to_owned(), "GET, HEAD, OPTIONS, POST"),
        ("/pages/users".to_owned(), "GET, HEAD, OPTIONS, POST"),
        ("/pages/limits".to_owned(), "GET, HEAD, OPTIONS"),
        (blob, "GET, HEAD, OPTIONS, PUT"),
    ];
    for suffix in ["", ".atom", ".rss", ".opml", ".json", ".xml"] {
        let changes = format!("/collections/notes/changes{suffix}");
        let allow = "DELETE, GET, HEAD, OPTIONS, POST, PUT";
        routes.push((format!("/collections/notes{suffix}"), allow));
        routes.push((changes, "GET, HEAD, OPTIONS, POST"));
        routes.push((format!("/collections/notes/complete{suffix}"), "GET, HEAD, OPTIONS"));
    }
    for (path, allow) in &routes {
        let options = hub.call(Method::OPTIONS, path, &[]).await;
        assert_eq!(options.status(), StatusCode::NO_CONTENT, "{path}");
        assert_eq!(text(&options, "allow"), *allow, "{path}");
        assert_eq!(text(&options, "content-length"), "", "{path}");

        // Pages are made for one browser.
        let form = format!("feedsync-form={}", "0a".repeat(32));
        let browser = [("cookie", &*form)];
        let get = hub.call(Method::GET, path, &browser).await;
        assert_eq!(get.status(), StatusCode::OK, "{path}");
        assert_eq!(text(&get, "x-content-type-options"), "nosniff", "{path}");

        let head = hub.call(Method::HEAD, path, &browser).await;
        assert_eq!(head.status(), StatusCode::OK, "{path}");
        let without_length = |response: &http::Response<Body>| {
            let mut headers = response.headers().clone();
            headers.remove("content-length");
            headers.remove("x-request-id");
            headers
        };
        assert_eq!(without_length(&head), without_length(&get), "{path}");
        assert!(bytes(head).await.is_empty(), "{path}");

        for method in ["POST", "PUT", "DELETE", "PATCH", "TRACE", "PROPFIND"] {
            if allow.contains(method) {
                continue;
            }
            let method: Method = method.parse().unwrap();
            let other = hub.call(method.clone(), path, &[]).await;
            assert_eq!(other.status(), StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
            assert_eq!(text(&other, "allow"), *allow, "{method} {path}");
            let page = path == "/" || path.starts_with("/pages/");
            let kind = if page { "text/html; charset=utf-8" } else { "application/problem+json" };
            assert_eq!(text(&other, "content-type"), kind, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn missing_resources_return_a_problem() {
    let hub = hub().await;
    for path in [
        "/nothing",
        "/collections/",
        "/collections/none",
        "/collections/none/changes",
        "/collections/none/complete",
        "/collections/none/events",
        "/collections/Notes",
        "/collections/notes.txt",
        "/collections/notes/changes.txt",
        "/collections/notes.json/changes",
        "/collections/notes/changes/more",
        "/collections/%FF/changes",
        "/blobs/abc",
        "/blobs/ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    ] {
        let response = hub.get(path).await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{path}");
        assert_eq!(text(&response, "content-type"), "application/problem+json", "{path}");
        let problem = json(response).await;
        assert_eq!(problem["status"], 404, "{path}");
        for member in ["type", "title", "detail"] {
            assert!(problem[member].is_string(), "{path} {member}");
        }
    }
}

#[tokio::test]
async fn every_feed_comes_in_every_format_by_suffix_and_by_accept() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    add(&hub.endpoint, "b").await;
    delete(&hub.endpoint, "b").await;
    for feed in FEEDS {
        for (format, suffix) in [
            (Format::Atom, "atom"),
            (Format::Rss, "rss"),
            (Format::Opml, "opml"),
            (Format::Json, "json"),
            (Format::Pox, "xml"),
        ] {
            let by_suffix = hub.get(&format!("{feed}.{suffix}")).await;
            let accept = [("accept", media_type(format))];
            let by_accept = hub.call(Method::GET, feed, &accept).await;
            let who = "Authorization, Cookie";
            assert_eq!(text(&by_suffix, "vary"), format!("Accept-Encoding, {who}"));
            assert_eq!(text(&by_accept, "vary"), format!("Accept, Accept-Encoding, {who}"));
            for response in [by_suffix, by_accept] {
                let kind = text(&response, "content-type").split(';').next().unwrap().to_owned();
                assert_eq!(kind, media_type(format), "{feed}");
                let place = format!("http://localhost:4287{feed}.{suffix}");
                assert_eq!(text(&response, "content-location"), place);
                let reading = reading(&bytes(response).await);
                assert_eq!(reading.format, format, "{feed}");
                let expected: &[&str] = if feed.ends_with("notes") { &["a"] } else { &["a", "b"] };
                assert_eq!(ids(&reading), expected, "{feed} {format}");
            }
        }
    }
}

#[tokio::test]
async fn a_format_that_nobody_writes_is_not_acceptable() {
    let hub = hub().await;
    let response =
        hub.call(Method::GET, "/collections/notes/changes", &[("accept", "image/png")]).await;
    assert_eq!(response.status(), StatusCode::NOT_ACCEPTABLE);
    assert_eq!(text(&response, "vary"), "Accept, Accept-Encoding");
    let problem = json(response).await;
    assert!(problem["available"].as_array().unwrap().contains(&"application/atom+xml".into()));
}

#[tokio::test]
async fn programs_are_told_the_collections() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    let list = json(hub.get("/collections").await).await;
    assert_eq!(
        list,
        serde_json::json!([{
            "name": "notes",
            "title": "The notes & more",
            "format": "atom",
            "items": 1,
            "changes": "http://localhost:4287/collections/notes/changes",
        }])
    );
    assert_eq!(json(hub.get("/healthz").await).await["status"], "ok");
}

#[tokio::test]
async fn links_are_made_with_the_public_base() {
    let config = feedsync_server::Config {
        public_base: Some("https://feeds.example.org/anna/".parse().unwrap()),
        ..Default::default()
    };
    let hub = crate::hub::hub_with(config).await;
    let settings = [("public".to_owned(), "true".to_owned())].into();
    let public =
        feedsync_store::CollectionChange { settings: Some(settings), ..Default::default() };
    hub.endpoint.change_collection(&crate::hub::notes(), public).await.unwrap();
    let changes = "/collections/notes/changes";
    let response = hub.call(Method::GET, changes, &[("host", "feeds.example.org")]).await;
    let base = "https://feeds.example.org/anna/collections/notes";
    assert_eq!(crate::hub::link(&response, "self").unwrap(), format!("{base}/changes"));
    let reading = reading(&bytes(response).await);
    let complete = reading.feed.sharing.unwrap().complete().unwrap().to_owned();
    assert_eq!(complete, format!("{base}/complete"));
}
