//! Snapshots: the state of a log, for new readers (LR44, LR45).

use feedsync_server::{Config, Limits};
use http::{Method, StatusCode};

use super::{LOG, begun, generation, grown, send};
use crate::hub::{TestHub, bytes, hub_with, json, link, path, text};

const SNAPSHOT: &str = "/logs/notes/snapshot";

async fn hub() -> TestHub {
    let limits = Limits { log_snapshot_bytes: 1_000, ..Limits::default() };
    hub_with(Config { limits, ..Config::default() }).await
}

async fn put(hub: &TestHub, covers: &str, body: &str) -> http::Response<axum::body::Body> {
    let headers = [("log-covers", covers), ("content-type", "application/json")];
    send(hub, Method::PUT, SNAPSHOT, &headers, body.to_owned()).await
}

#[tokio::test]
async fn a_snapshot_says_what_it_covers_and_whoever_begins_reads_on_from_there() {
    let hub = hub().await;
    let one = begun(&hub, "1\n").await;
    let two = grown(&hub, &one, "2\n").await;
    let state = format!("{{\"sum\": 1, \"pad\": \"{}\"}}", " ".repeat(400));
    assert_eq!(hub.get(SNAPSHOT).await.status(), StatusCode::NOT_FOUND);
    let first = put(&hub, &one, &state).await;
    assert_eq!(first.status(), StatusCode::CREATED);
    assert_eq!(text(&first, "log-covers"), one);
    let tag = text(&first, "etag").to_owned();
    let log = hub.get(LOG).await;
    assert_eq!(path(&link(&log, "snapshot").unwrap()), SNAPSHOT);

    let read = hub.get(SNAPSHOT).await;
    assert_eq!(text(&read, "content-type"), "application/json");
    assert_eq!((text(&read, "etag"), text(&read, "log-covers")), (&*tag, &*one));
    assert_eq!(text(&read, "content-security-policy"), "default-src 'none'; sandbox");
    assert_eq!(bytes(read).await, state);
    for held in [tag.clone(), format!("W/{tag}")] {
        let held = hub.call(Method::GET, SNAPSHOT, &[("if-none-match", &held)]).await;
        assert_eq!(held.status(), StatusCode::NOT_MODIFIED);
        assert_eq!((text(&held, "etag"), text(&held, "log-covers")), (&*tag, &*one));
    }
    let packed = hub.call(Method::GET, SNAPSHOT, &[("accept-encoding", "gzip")]).await;
    assert_eq!(text(&packed, "content-encoding"), "gzip");
    let head = hub.call(Method::HEAD, SNAPSHOT, &[]).await;
    assert_eq!((head.status(), text(&head, "etag")), (StatusCode::OK, &*tag));
    let other = hub.call(Method::GET, SNAPSHOT, &[("if-match", "\"x\"")]).await;
    assert_eq!(other.status(), StatusCode::PRECONDITION_FAILED);

    let later = put(&hub, &two, "{}").await;
    assert_eq!(later.status(), StatusCode::NO_CONTENT);
    assert_eq!(text(&hub.get(SNAPSHOT).await, "log-covers"), two);
}

/// The snapshot that covers most stays, and none may cover more than the log.
#[tokio::test]
async fn a_snapshot_of_less_or_of_what_is_not_in_the_log_is_refused() {
    let hub = hub().await;
    let one = begun(&hub, "1\n").await;
    let two = grown(&hub, &one, "2\n").await;
    assert_eq!(put(&hub, &two, "{}").await.status(), StatusCode::CREATED);
    let ahead = two.replace("-4", "-6");
    let other = two.replace('.', ".f").replacen(generation(&two), "9.00000000", 1);
    let weak = format!("W/{two}");
    for covers in [&*one, &two, &weak, &ahead, &other.replace(".f", ".")] {
        let refused = put(&hub, covers, "[]").await;
        assert_eq!(refused.status(), StatusCode::CONFLICT, "{covers}");
        assert_eq!(text(&refused, "log-generation"), generation(&two));
        assert_eq!(json(refused).await["etag"], two);
    }
    for covers in ["", "x", "*", two.trim_matches('"'), "\"1.0-1\"", "\""] {
        let refused = put(&hub, covers, "[]").await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{covers}");
        assert_eq!(json(refused).await["header"], "log-covers");
    }
    let three = grown(&hub, &two, "3\n").await;
    let silent = send(&hub, Method::PUT, SNAPSHOT, &[], "[]").await;
    assert_eq!(silent.status(), StatusCode::PRECONDITION_REQUIRED);
    let form = [("log-covers", &*three), ("content-type", "text/plain")];
    let form = send(&hub, Method::PUT, SNAPSHOT, &form, "[]").await;
    assert_eq!(form.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let large = put(&hub, &three, &" ".repeat(1_001)).await;
    assert_eq!(large.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(bytes(hub.get(SNAPSHOT).await).await, "{}");
}

/// RFC 9110 13.1: a conditional request replaces only the snapshot that it names.
#[tokio::test]
async fn a_snapshot_is_replaced_where_it_is_what_was_said() {
    let hub = hub().await;
    let one = begun(&hub, "1\n").await;
    let two = grown(&hub, &one, "2\n").await;
    let put = async |covers: &str, condition: (&str, &str)| {
        let headers = [("log-covers", covers), ("content-type", "application/json"), condition];
        send(&hub, Method::PUT, SNAPSHOT, &headers, "{}".to_owned()).await
    };
    let refused = StatusCode::PRECONDITION_FAILED;
    assert_eq!(put(&one, ("if-match", "*")).await.status(), refused);
    let made = put(&one, ("if-none-match", "*")).await;
    assert_eq!(made.status(), StatusCode::CREATED);
    assert_eq!(put(&two, ("if-none-match", "*")).await.status(), refused);
    assert_eq!(put(&two, ("if-match", "\"x\"")).await.status(), refused);
    let tag = text(&made, "etag").to_owned();
    assert_eq!(put(&two, ("if-match", &tag)).await.status(), StatusCode::NO_CONTENT);
}
