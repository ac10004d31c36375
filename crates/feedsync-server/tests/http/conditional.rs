//! Entity tags, conditions and codings.

use std::collections::HashSet;
use std::io::Read as _;

use flate2::read::GzDecoder;
use http::{Method, StatusCode};

use crate::hub::{TestHub, add, bytes, delete, hub, json, notes, text};

const FEEDS: [&str; 3] =
    ["/collections/notes", "/collections/notes/changes", "/collections/notes/complete"];

async fn tag(hub: &TestHub, path: &str, headers: &[(&str, &str)]) -> String {
    let response = hub.call(Method::GET, path, headers).await;
    assert_eq!(response.status(), StatusCode::OK);
    text(&response, "etag").to_owned()
}

#[tokio::test]
async fn a_representation_that_did_not_change_is_not_sent_again() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    for path in FEEDS.into_iter().chain(["/", "/collections"]) {
        let held = tag(&hub, path, &[]).await;
        for method in [Method::GET, Method::HEAD] {
            let condition = [("if-none-match", held.as_str())];
            let response = hub.call(method, path, &condition).await;
            assert_eq!(response.status(), StatusCode::NOT_MODIFIED, "{path}");
            assert_eq!(text(&response, "etag"), held);
            assert_eq!(text(&response, "content-length"), "", "{path}");
            for name in ["cache-control", "vary"] {
                assert_ne!(text(&response, name), "", "{path} {name}");
            }
            assert!(bytes(response).await.is_empty());
        }
        let other = [("if-none-match", "\"other\"")];
        assert_eq!(hub.call(Method::GET, path, &other).await.status(), StatusCode::OK);
        let response = hub.call(Method::GET, path, &[("if-match", "\"other\"")]).await;
        assert_eq!(response.status(), StatusCode::PRECONDITION_FAILED);
        assert_eq!(text(&response, "etag"), held);
    }
}

#[tokio::test]
async fn the_tag_changes_with_whatever_the_bytes_depend_on() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    for path in FEEDS {
        let mut tags = HashSet::new();
        let accepts = ["application/atom+xml", "application/rss+xml", "application/json"];
        for accept in accepts {
            assert!(tags.insert(tag(&hub, path, &[("accept", accept)]).await));
        }
        for suffix in ["?limit=1", "?limit=2"] {
            assert!(tags.insert(tag(&hub, &format!("{path}{suffix}"), &[]).await));
        }
        assert!(tags.insert(tag(&hub, path, &[("host", "localhost:1")]).await));
        let before = tag(&hub, path, &[]).await;
        assert!(!tags.insert(before.clone()), "no Accept gives Atom");
        let title = Some(format!("A title for {path}"));
        let change = feedsync_store::CollectionChange { title, ..Default::default() };
        hub.endpoint.store().change_collection(&notes(), change).await.unwrap();
        assert!(tags.insert(tag(&hub, path, &[]).await));
        add(&hub.endpoint, &format!("b{}", path.len())).await;
        assert!(tags.insert(tag(&hub, path, &[]).await));
        delete(&hub.endpoint, &format!("b{}", path.len())).await;
        assert!(tags.insert(tag(&hub, path, &[]).await));
        hub.feed("/collections/notes/changes").await; // only changes that were shown are purged
        let retention = feedsync_endpoint::Retention {
            changed_before: feedsync_store::Moment::MAX,
            live: false,
        };
        hub.endpoint.purge(&notes(), retention).await.unwrap();
        assert!(tags.insert(tag(&hub, path, &[]).await));
    }
}

#[tokio::test]
async fn two_answers_of_one_state_have_the_same_bytes_and_tag() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    for path in FEEDS {
        let (one, other) = (hub.get(path).await, hub.get(path).await);
        assert_eq!(text(&one, "etag"), text(&other, "etag"));
        assert_eq!(bytes(one).await, bytes(other).await);
    }
}

#[tokio::test]
async fn an_answer_that_was_kept_is_the_one_that_is_made_anew() {
    let hub = hub().await;
    let headers = |response: &http::Response<axum::body::Body>| {
        let mut headers = response.headers().clone();
        // Each request has its own id; no date is sent until the second of the last change is over.
        headers.remove("x-request-id");
        headers.remove("last-modified");
        headers
    };
    let mut former = Vec::new();
    for round in 0..3 {
        add(&hub.endpoint, &format!("item{round}")).await;
        let path = "/collections/notes?limit=2";
        let (made, kept) = (hub.get(path).await, hub.get(path).await);
        assert_eq!(headers(&made), headers(&kept));
        let (made, kept) = (bytes(made).await, bytes(kept).await);
        assert_eq!(made, kept);
        assert_ne!(made, former);
        let fresh = feedsync_server::router(hub.endpoint.clone(), Default::default());
        let anew = TestHub { router: fresh, endpoint: hub.endpoint.clone() }.get(path).await;
        assert_eq!(bytes(anew).await, kept);
        former = kept.to_vec();
    }
}

#[tokio::test]
async fn a_packed_answer_has_a_tag_of_its_own_and_any_coding_is_current() {
    let hub = hub().await;
    for number in 0..50 {
        add(&hub.endpoint, &format!("item{number}")).await;
    }
    for path in FEEDS {
        let plain = hub.get(path).await;
        let packed = hub.call(Method::GET, path, &[("accept-encoding", "gzip")]).await;
        assert_eq!(text(&packed, "content-encoding"), "gzip");
        assert_eq!(text(&packed, "vary"), text(&plain, "vary"));
        let (one, other) = (text(&plain, "etag").to_owned(), text(&packed, "etag").to_owned());
        assert_ne!(one, other);
        assert_eq!(other, format!("{}-gz\"", one.strip_suffix('"').unwrap()));
        for held in [&one, &other] {
            for coding in ["gzip", "identity"] {
                let headers = [("if-none-match", held.as_str()), ("accept-encoding", coding)];
                let response = hub.call(Method::GET, path, &headers).await;
                assert_eq!(response.status(), StatusCode::NOT_MODIFIED);
                assert_eq!(text(&response, "etag"), held);
            }
        }
        let plain = bytes(plain).await;
        let packed = bytes(packed).await;
        assert!(packed.len() < plain.len() / 2);
        let mut unpacked = Vec::new();
        GzDecoder::new(&packed[..]).read_to_end(&mut unpacked).unwrap();
        assert_eq!(unpacked, plain);
        for refused in ["identity", "gzip;q=0", "br"] {
            let response = hub.call(Method::GET, path, &[("accept-encoding", refused)]).await;
            assert_eq!(text(&response, "content-encoding"), "", "{refused}");
        }
    }
}

#[tokio::test]
async fn a_problem_is_not_stored_by_caches() {
    let hub = hub().await;
    let response = hub.get("/collections/none").await;
    assert_eq!(text(&response, "cache-control"), "no-store");
    assert_eq!(json(response).await["title"], "Not found");
}
