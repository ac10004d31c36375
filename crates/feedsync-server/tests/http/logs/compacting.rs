//! Compaction: the next generation, and the fate of the previous one (LR46).

use std::sync::Arc;

use feedsync_store::Moment;
use http::{Method, StatusCode};

use super::{LOG, begun, generation, grown, held, length, post, send};
use crate::hub::{bytes, hub, json, link, path, text};

#[tokio::test]
async fn a_compacted_log_goes_on_in_another_generation_and_the_one_before_stays_for_a_while() {
    let hub = hub().await;
    let one = begun(&hub, "1\n").await;
    let two = grown(&hub, &one, "2\n").await;
    let own = format!("{LOG}/{}", generation(&two));
    let current = hub.get(&own).await;
    assert_eq!((text(&current, "etag"), link(&current, "successor-version")), (&*two, None));

    let stale = send(&hub, Method::PUT, LOG, &[("if-match", &one)], "12\n").await;
    assert_eq!(stale.status(), StatusCode::PRECONDITION_FAILED);
    assert_eq!(json(stale).await["etag"], two);
    let compacted = send(&hub, Method::PUT, LOG, &[("if-match", &two)], "12\n").await;
    assert_eq!(compacted.status(), StatusCode::NO_CONTENT);
    let three = text(&compacted, "etag").to_owned();
    assert_eq!(text(&compacted, "log-generation"), generation(&three));
    assert_eq!(length(&three), 3);
    assert_ne!(generation(&three), generation(&two));
    assert_eq!(held(&hub).await, "12\n");

    // A client of the former generation notices by the tag and the generation, and cannot append to
    // it.
    let asked = [("if-none-match", &*two), ("range", "bytes=4-")];
    let shorter = hub.call(Method::GET, LOG, &asked).await;
    assert_eq!(shorter.status(), StatusCode::RANGE_NOT_SATISFIABLE);
    assert_eq!(text(&shorter, "log-generation"), generation(&three));
    let late = post(&hub, &[("if-match", &two)], "3\n").await;
    assert_eq!(late.status(), StatusCode::PRECONDITION_FAILED);

    let former = hub.call(Method::GET, &own, &[("range", "bytes=2-")]).await;
    assert_eq!(former.status(), StatusCode::PARTIAL_CONTENT);
    assert_eq!(text(&former, "etag"), two);
    assert_eq!(path(&link(&former, "successor-version").unwrap()), LOG);
    assert_eq!(bytes(former).await, "2\n");
    let unchanged = hub.call(Method::GET, &own, &[("if-none-match", &two)]).await;
    assert_eq!(unchanged.status(), StatusCode::NOT_MODIFIED);
    for method in [Method::POST, Method::PUT, Method::DELETE] {
        let refused = send(&hub, method, &own, &[("if-match", &two)], "3\n").await;
        assert_eq!(refused.status(), StatusCode::METHOD_NOT_ALLOWED);
    }

    let covers = [("log-covers", &*three)];
    let snapshot = send(&hub, Method::PUT, "/logs/notes/snapshot", &covers, "s").await;
    assert_eq!(snapshot.status(), StatusCode::CREATED);
    assert_eq!(hub.endpoint.store().sweep_logs(Moment::MAX).await.unwrap(), 1);
    for method in [Method::GET, Method::HEAD] {
        let swept = hub.call(method, &own, &[]).await;
        assert_eq!(swept.status(), StatusCode::GONE);
        assert_eq!(path(&link(&swept, "successor-version").unwrap()), LOG);
        assert_eq!(path(&link(&swept, "snapshot").unwrap()), "/logs/notes/snapshot");
    }
    assert_eq!(held(&hub).await, "12\n");
}

#[tokio::test]
async fn a_generation_that_never_was_is_not_found() {
    let hub = hub().await;
    let tag = begun(&hub, "1\n").await;
    let (number, tail) = generation(&tag).split_once('.').unwrap();
    let later = number.parse::<u64>().unwrap() + 1;
    for name in
        [&*format!("{later}.{tail}"), number, "0.00000000", "x", "%2e", &tag.replace('"', "")]
    {
        let none = hub.get(&format!("{LOG}/{name}")).await;
        assert_eq!(none.status(), StatusCode::NOT_FOUND, "{name}");
    }
    let other = if tail == "00000000" { "00000001" } else { "00000000" };
    let gone = hub.get(&format!("{LOG}/{number}.{other}")).await;
    assert_eq!(gone.status(), StatusCode::GONE, "of another life of the log");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_generation_that_goes_while_it_is_asked_for_says_what_followed() {
    let hub = hub().await;
    let mut tag = begun(&hub, "1\n").await;
    for _ in 0..50 {
        let own = format!("{LOG}/{}", generation(&tag));
        let compacted = send(&hub, Method::PUT, LOG, &[("if-match", &tag)], "1\n").await;
        tag = text(&compacted, "etag").to_owned();
        let store = Arc::clone(hub.endpoint.store());
        let sweeping = tokio::spawn(async move { store.sweep_logs(Moment::MAX).await.unwrap() });
        loop {
            let answer = hub.get(&own).await;
            if answer.status() != StatusCode::OK {
                assert_eq!(answer.status(), StatusCode::GONE);
                assert_eq!(path(&link(&answer, "successor-version").unwrap()), LOG);
                break;
            }
        }
        assert_eq!(sweeping.await.unwrap(), 1);
    }
}
