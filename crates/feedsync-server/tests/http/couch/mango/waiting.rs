//! Queries while indexes are built or removed.

use futures_util::StreamExt as _;
use http::Method;
use serde_json::{Value, json};

use super::super::{Couch, JSON};

fn documents(count: usize) -> Value {
    (0..count).map(|at| json!({"_id": format!("{at:05}"), "n": at})).collect()
}

/// A query waits for the index, and other requests go on.
#[tokio::test]
async fn a_query_waits_until_its_index_is_built() {
    let couch = Couch::holding(documents(6_000)).await;
    let design = json!({"language": "query", "views": {"n": {"map": {"fields": {"n": "asc"}}, "options": {}}}});
    assert_eq!(couch.put("/db/_design/n", &design.to_string()).await.0, 201);
    let name = "db".parse().unwrap();
    let databases = couch.hub.endpoint.databases();
    // A query without an index does not wait.
    let unindexed = couch.find(json!({"selector": {"_id": {"$lt": "00002"}}})).await;
    assert_eq!(unindexed["docs"].as_array().unwrap().len(), 2);
    assert!(!databases.indexes(&name).await.unwrap().are_built);
    let query = || couch.find(json!({"selector": {"n": {"$gte": 5_998}}}));
    let written = couch.put("/db/other", "{}");
    let (one, other, (status, _)) = tokio::join!(query(), query(), written);
    for found in [one, other] {
        assert_eq!(found["docs"].as_array().unwrap().len(), 2);
        assert!(found.get("warning").is_none(), "{found}");
    }
    assert_eq!(status, 201);
    assert!(databases.indexes(&name).await.unwrap().are_built);
}

/// The index is built after it was created, without a query.
#[tokio::test]
async fn an_index_is_built_in_the_background() {
    let couch = Couch::holding(documents(100)).await;
    couch.index("n", json!(["n"])).await;
    let name = "db".parse().unwrap();
    let databases = couch.hub.endpoint.databases();
    let built = async {
        while !databases.indexes(&name).await.unwrap().are_built {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), built).await.unwrap();
}

/// If an index is removed during a response, another one with the same order replaces it; otherwise the response is
/// aborted, so that the client knows that it is incomplete.
#[tokio::test]
async fn an_index_may_be_replaced_during_a_response() {
    for (fields, is_continued) in [(json!(["n"]), true), (json!(["n", "_id"]), false)] {
        let couch = Couch::holding(documents(2_500)).await;
        couch.index("n", json!(["n"])).await;
        let query = json!({"selector": {"n": {"$gte": 0}}, "limit": 10_000}).to_string();
        let response = couch.send(Method::POST, "/db/_find", &[JSON], query).await;
        assert_eq!(response.status(), 200);
        let mut pieces = response.into_body().into_data_stream();
        let mut text = pieces.next().await.unwrap().unwrap().to_vec();
        assert_eq!(couch.ask(Method::DELETE, "/db/_index/n/json/n", "").await.0, 200);
        couch.index("m", fields).await;
        let mut is_aborted = false;
        while let Some(piece) = pieces.next().await {
            match piece {
                Ok(piece) => text.extend_from_slice(&piece),
                Err(_) => is_aborted = true,
            }
        }
        assert_eq!(is_aborted, !is_continued);
        if is_continued {
            let told: Value = serde_json::from_slice(&text).unwrap();
            let numbers: Vec<_> = told["docs"]
                .as_array()
                .unwrap()
                .iter()
                .map(|it| it["n"].as_u64().unwrap())
                .collect();
            assert_eq!(numbers, (0..2_500).collect::<Vec<_>>());
        }
    }
}
