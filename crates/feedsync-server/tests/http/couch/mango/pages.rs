//! Pages of results, and their bookmarks.

use serde_json::{Value, json};

use super::super::Couch;
use super::ids;

/// Documents whose keys repeat, so that a page can end between equal keys.
fn documents(count: usize) -> Value {
    (0..count)
        .map(|at| json!({"_id": format!("{at:04}"), "n": at % 4, "odd": at % 2 == 1}))
        .collect()
}

/// All ids that a query returns page by page.
async fn paged(couch: &Couch, query: &Value, limit: usize) -> String {
    let (mut bookmark, mut found) = (json!(null), Vec::new());
    loop {
        let mut query = query.clone();
        query["limit"] = json!(limit);
        query["bookmark"] = bookmark;
        let page = couch.find(query).await;
        let length = page["docs"].as_array().unwrap().len();
        assert!(length <= limit);
        if length == 0 {
            return found.join(" ");
        }
        found.push(ids(&page));
        bookmark = page["bookmark"].clone();
        assert!(bookmark.as_str().is_some_and(|text| {
            text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        }));
    }
}

#[tokio::test]
async fn pages_follow_each_other_without_gaps_or_repetitions() {
    let couch = Couch::holding(documents(23)).await;
    couch.index("n", json!(["n"])).await;
    for query in [
        json!({"selector": {"odd": true}}),
        json!({"selector": {"odd": true}, "sort": [{"_id": "desc"}]}),
        json!({"selector": {"n": {"$gt": null}}}),
        json!({"selector": {"n": {"$gt": null}}, "sort": [{"n": "desc"}]}),
        json!({"selector": {"n": {"$gte": 1, "$lt": 3}, "odd": false}, "sort": ["n"]}),
        json!({"selector": {"n": 2}}),
    ] {
        let whole = couch.found(query.clone()).await;
        assert!(whole.len() > 4, "{query}");
        for limit in [1, 2, 5, 23, 24] {
            assert_eq!(paged(&couch, &query, limit).await, whole, "{query} {limit}");
        }
    }
}

/// More documents than one read returns.
#[tokio::test]
async fn long_results_are_streamed() {
    let couch = Couch::holding(documents(2_600)).await;
    couch.index("n", json!(["n"])).await;
    for (selector, count) in
        [(json!({"n": {"$gte": 0}}), 2_600), (json!({"n": {"$gte": 0}, "odd": true}), 1_300)]
    {
        let query = json!({"selector": selector, "limit": 10_000, "execution_stats": true});
        let found = couch.find(query).await;
        let documents = found["docs"].as_array().unwrap();
        assert_eq!(documents.len(), count);
        assert!(
            documents
                .is_sorted_by_key(|it| (it["n"].as_u64(), it["_id"].as_str().map(str::to_owned)))
        );
        assert_eq!(found["execution_stats"]["total_keys_examined"], 2_600);
    }
    let query = json!({"selector": {"n": {"$gte": 0}}, "skip": 2_598, "sort": [{"n": "desc"}]});
    assert_eq!(couch.found(query).await, "0004 0000");
}

/// The position of a page continues after documents that were deleted or changed.
#[tokio::test]
async fn a_bookmark_outlives_its_document() {
    let couch = Couch::holding(documents(6)).await;
    couch.index("n", json!(["n"])).await;
    let query = |bookmark: &Value| json!({"selector": {"n": {"$gt": null}}, "limit": 2, "bookmark": bookmark});
    let first = couch.find(query(&json!(null))).await;
    assert_eq!(ids(&first), "0000 0004");
    let gone = format!("/db/0004?rev={}", first["docs"][1]["_rev"].as_str().unwrap());
    assert_eq!(couch.ask(http::Method::DELETE, &gone, "").await.0, 200);
    assert_eq!(couch.found(query(&first["bookmark"])).await, "0001 0005");
    // The index is built again with the same fields.
    assert_eq!(couch.ask(http::Method::DELETE, "/db/_index/n/json/n", "").await.0, 200);
    couch.index("m", json!(["n"])).await;
    assert_eq!(couch.found(query(&first["bookmark"])).await, "0001 0005");
}

#[tokio::test]
async fn a_bookmark_of_another_order_is_refused() {
    let couch = Couch::holding(documents(6)).await;
    couch.index("n", json!(["n"])).await;
    couch.index("odd", json!(["odd"])).await;
    let by_key = couch.find(json!({"selector": {"n": 1}, "limit": 1})).await["bookmark"].clone();
    let by_id = couch.find(json!({"selector": {}, "limit": 1})).await["bookmark"].clone();
    for (selector, bookmark) in
        [(json!({}), &by_key), (json!({"odd": true}), &by_key), (json!({"n": 1}), &by_id)]
    {
        let refusal =
            couch.refusal("_find", json!({"selector": selector, "bookmark": bookmark})).await;
        let reason = format!("Invalid bookmark value: {bookmark}");
        assert_eq!(refusal, (400, "invalid_bookmark".to_owned(), reason), "{selector}");
    }
    for nothing in [json!(null), json!(""), json!("nil")] {
        let query = json!({"selector": {"n": 1}, "bookmark": nothing});
        assert_eq!(couch.found(query).await, "0001 0005");
    }
    // Nothing matches, so the page has the bookmark of the request.
    let told = couch.find(json!({"selector": {"n": 9}})).await;
    assert_eq!((&told["docs"], &told["bookmark"]), (&json!([]), &json!("nil")));
}
