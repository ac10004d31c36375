//! Base version of an edit of a member (RFC 5023 9.5, RFC 9110 13).

use std::time::{Duration, UNIX_EPOCH};

use axum::body::Body;
use feedsync_core::ItemId;
use feedsync_formats::entry;
use http::{Method, StatusCode};

use crate::hub::{hub, json, link, notes, request, text};
use crate::members::{ENTRY, body, created, expect, put, set};

#[tokio::test]
async fn a_stale_edit_is_refused_with_the_current_tag_and_changes_nothing() {
    let hub = hub().await;
    let (address, tag, told) = created(&hub, "<title>one</title>").await;
    let two = put(&hub, &address, &[("if-match", &tag)], told.replace("one", "two")).await;
    let current = text(&two, "etag").to_owned();
    for stale in [&*tag, "\"unknown\"", &*format!("W/{current}"), "nonsense"] {
        let three = told.replace("one", "three");
        let refused = put(&hub, &address, &[("if-match", stale)], three).await;
        assert_eq!(text(&refused, "etag"), current, "{stale}");
        assert_eq!(text(&refused, "content-type"), "application/problem+json");
        assert_eq!(refused.status(), StatusCode::PRECONDITION_FAILED, "{stale}");
        let refused = hub.call(Method::DELETE, &address, &[("if-match", stale)]).await;
        assert_eq!(refused.status(), StatusCode::PRECONDITION_FAILED, "{stale}");
    }
    let none = put(&hub, &address, &[("if-none-match", "*")], told.clone()).await;
    assert_eq!(none.status(), StatusCode::PRECONDITION_FAILED);
    let now = body(hub.get(&address).await).await;
    assert!(now.contains("<title>two</title>"), "{now}");
    // A date beside If-Match is ignored; alone it counts.
    let old = ("if-unmodified-since", "Thu, 01 Jan 2015 00:00:00 GMT");
    let alone = put(&hub, &address, &[old], now.replace("two", "four")).await;
    assert_eq!(alone.status(), StatusCode::PRECONDITION_FAILED);
    let beside = [("if-match", &*current), old];
    expect(put(&hub, &address, &beside, now.replace("two", "four")).await, StatusCode::OK).await;
    let now = body(hub.get(&address).await).await;
    // The hub sent a future date while its clock was ahead.
    let future = ("if-unmodified-since", "Fri, 01 Jan 2038 00:00:00 GMT");
    let ahead = put(&hub, &address, &[future], now.clone()).await;
    assert_eq!(ahead.status(), StatusCode::PRECONDITION_FAILED);
    let clock = Duration::from_micros(hub.endpoint.environment().now().micros());
    let soon = UNIX_EPOCH + clock + Duration::from_secs(60);
    let late = ("if-unmodified-since", &*httpdate::fmt_http_date(soon));
    expect(put(&hub, &address, &[late], now).await, StatusCode::OK).await;
    let any = [("if-match", "*")];
    let gone = hub.call(Method::DELETE, &address, &any).await;
    assert_eq!(gone.status(), StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn a_collection_may_demand_to_be_told_what_an_edit_is_based_on() {
    let hub = hub().await;
    let (address, tag, told) = created(&hub, "<title>one</title>").await;
    set(&hub, r#"{"preconditions": true}"#).await;
    let two = told.replace("one", "two");
    let without_sync = two.split("<sx:sync").next().unwrap().to_owned() + "</entry>";
    let date = [("if-unmodified-since", "Fri, 01 Jan 2038 00:00:00 GMT")];
    for refused in [
        put(&hub, &address, &[], without_sync.clone()).await,
        put(&hub, &address, &date, without_sync).await,
        hub.call(Method::DELETE, &address, &[]).await,
    ] {
        assert_eq!(text(&refused, "etag"), tag);
        assert_eq!(refused.status(), StatusCode::PRECONDITION_REQUIRED);
        assert_eq!(json(refused).await["header"], "If-Match");
    }
    expect(put(&hub, &address, &[("if-match", &tag)], two).await, StatusCode::OK).await;
}

#[tokio::test]
async fn an_edit_of_an_older_version_is_kept_beside_the_winner_where_that_is_wished() {
    let hub = hub().await;
    let (address, tag, told) = created(&hub, "<id>urn:x:1</id><title>one</title>").await;
    let mut current = (tag.clone(), told.clone());
    for (was, title) in [("one", "two"), ("two", "three")] {
        let body = current.1.replace(was, title);
        let response = put(&hub, &address, &[("if-match", &current.0)], body).await;
        current = (text(&response, "etag").to_owned(), expect(response, StatusCode::OK).await);
    }
    set(&hub, r#"{"keep_stale_edits": true}"#).await;
    let unknown = put(&hub, &address, &[("if-match", "\"0.0\"")], told.clone()).await;
    assert_eq!(unknown.status(), StatusCode::PRECONDITION_FAILED);
    let kept = put(&hub, &address, &[("if-match", &tag)], told.replace("one", "other")).await;
    assert_eq!(
        link(&kept, "urn:feedsync:1:conflicts").unwrap(),
        format!("http://localhost:4287{address}/conflicts")
    );
    let shown = expect(kept, StatusCode::OK).await;
    assert!(shown.contains("<title>three</title>"), "{shown}");
    let stored = hub.endpoint.item(&notes(), &ItemId::new("entry:urn:x:1").unwrap()).await.unwrap();
    let titles = stored.item.versions().map(|version| entry(&version.payload).title.unwrap());
    assert_eq!(titles.collect::<Vec<_>>(), ["three", "other"]);
    let lines: Vec<_> = stored.item.versions().map(|version| version.dot().by().cloned()).collect();
    assert_ne!(lines[0], lines[1], "a fresh line of edits");
    // A conflict beside the winner does not make an edit of the winner stale.
    let named = [("if-match", &*current.0)];
    let again = put(&hub, &address, &named, current.1.replace("three", "four")).await;
    expect(again, StatusCode::OK).await;
    let stale = hub.call(Method::DELETE, &address, &[("if-match", &tag)]).await;
    assert_eq!(stale.status(), StatusCode::PRECONDITION_FAILED);
}

#[tokio::test]
async fn history_in_an_entry_only_names_its_base() {
    let hub = hub().await;
    let (address, tag, told) = created(&hub, "<id>urn:x:1</id><title>one</title>").await;
    let two = told.replace("one", "two");
    expect(put(&hub, &address, &[], two.clone()).await, StatusCode::OK).await;
    // Its sx:sync is of an older version by now.
    let stale = put(&hub, &address, &[], told.replace("one", "three")).await;
    assert_eq!(stale.status(), StatusCode::PRECONDITION_FAILED);
    let current = hub.get(&address).await;
    let current_tag = text(&current, "etag").to_owned();
    assert_ne!(current_tag, tag);
    // If-Match takes precedence over the entry's claim.
    let both =
        put(&hub, &address, &[("if-match", &current_tag)], told.replace("one", "three")).await;
    let now = expect(both, StatusCode::OK).await;
    let higher = now.replace("sequence=\"3\"", "sequence=\"9\"").replace("three", "four");
    assert_eq!(put(&hub, &address, &[], higher).await.status(), StatusCode::CONFLICT);
    let other = now.replace("id=\"entry:urn:x:1\"", "id=\"entry:urn:x:2\"");
    assert_eq!(put(&hub, &address, &[], other).await.status(), StatusCode::CONFLICT);
    let renamed = now.replace("<id>urn:x:1</id>", "<id>urn:x:3</id>");
    assert_eq!(put(&hub, &address, &[], renamed).await.status(), StatusCode::CONFLICT);
    let nameless = now.replace("<id>urn:x:1</id>", "").replace("three", "five");
    let kept = expect(put(&hub, &address, &[], nameless).await, StatusCode::OK).await;
    assert!(kept.contains("<id>urn:x:1</id>"), "{kept}");
}

#[tokio::test]
async fn of_64_writers_on_one_version_exactly_one_wins() {
    let hub = hub().await;
    let (address, tag, told) = created(&hub, "<title>one</title>").await;
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..64 {
        let (router, body) = (hub.router.clone(), told.replace("one", &format!("w{number}")));
        let headers = [("content-type", ENTRY), ("if-match", &*tag)];
        let request = request(Method::PUT, &address, &headers, Body::from(body));
        writers.spawn(async move {
            tower::ServiceExt::oneshot(router, request).await.unwrap().status()
        });
    }
    let statuses = writers.join_all().await;
    let count = |status| statuses.iter().filter(|found| **found == status).count();
    let counts = (count(StatusCode::OK), count(StatusCode::PRECONDITION_FAILED));
    assert_eq!(counts, (1, 63), "{statuses:?}");
}
