//! `_find`: results, the choice of an index, warnings and statistics.

use serde_json::json;

use super::super::Couch;
use super::{ids, people};

const UNINDEXED: &str = "No matching index found, create an index to optimize query time.";
const MANY_EXAMINED: &str = "The number of documents examined is high in proportion to the number of results returned. \
                             Consider adding a more specific index to improve this.";

#[tokio::test]
async fn a_query_has_the_same_results_with_and_without_an_index() {
    let couch = Couch::holding(people()).await;
    let queries = [
        (json!({"age": 33}), "ann dan"),
        (json!({"age": {"$gt": 21, "$lte": 48}}), "ann cyd dan"),
        (json!({"age": {"$gte": null}}), "ann bob cyd dan eve"),
        (json!({"age": {"$exists": true}, "manager": true}), "ann dan"),
        (json!({"name.last": "Hall"}), "ann cyd"),
        (json!({"name": {"first": {"$gt": "C"}}}), "cyd dan eve fay"),
        (json!({"company": "Acme", "manager": {"$exists": true}}), "ann bob"),
        (json!({"$and": [{"age": {"$gt": 0}}, {"age": {"$lt": 30}}]}), "bob"),
        (json!({"$or": [{"age": 21}, {"age": 48}]}), "bob cyd"),
        (json!({"age": {"$in": [48, 21]}}), "bob cyd"),
        (json!({"age": {"$gt": 40, "$lt": 20}}), ""),
        (json!({"name.first": {"$regex": "^[AB]"}}), "ann bob"),
        (json!({}), "ann bob cyd dan eve fay"),
    ];
    for (selector, expected) in &queries {
        assert_eq!(couch.found(json!({"selector": selector})).await, *expected, "{selector}");
    }
    for fields in [
        json!(["age"]),
        json!(["age", "manager"]),
        json!(["name.last"]),
        json!(["name.first"]),
        json!(["company", "manager"]),
    ] {
        couch.index(&fields.to_string().replace(['[', ']', '"'], ""), fields).await;
    }
    let (mut used, mut unused) = (0, 0);
    for (selector, expected) in &queries {
        let response = couch.find(json!({"selector": selector})).await;
        let mut found: Vec<_> = ids(&response).split_whitespace().map(str::to_owned).collect();
        found.sort();
        assert_eq!(found.join(" "), *expected, "{selector}");
        let is_warned = response["warning"] == UNINDEXED;
        assert_eq!(couch.used(json!({"selector": selector})).await.is_null(), is_warned);
        *(if is_warned { &mut unused } else { &mut used }) += 1;
    }
    assert!(used >= 10 && unused >= 1, "{used} {unused}");
}

#[tokio::test]
async fn an_index_sorts_in_both_directions() {
    let couch = Couch::holding(people()).await;
    couch.index("age", json!(["age"])).await;
    couch.index("last-first", json!(["name.last", "name.first"])).await;
    for (sort, expected) in [
        (json!(["age"]), "eve bob ann dan cyd"),
        (json!([{"age": "desc"}]), "cyd dan ann bob eve"),
        (json!(["name.last", "name.first"]), "ann cyd bob dan eve fay"),
        (json!([{"name.last": "desc"}, {"name.first": "desc"}]), "fay eve dan bob cyd ann"),
    ] {
        let query = json!({"selector": {"_id": {"$gt": null}}, "sort": sort});
        assert_eq!(couch.found(query).await, expected, "{sort}");
    }
    let query = json!({"selector": {"name.last": "Hall"}, "sort": [{"name.first": "desc"}], "fields": ["_id", "name.first"]});
    let expected =
        json!([{"_id": "cyd", "name": {"first": "Cyd"}}, {"_id": "ann", "name": {"first": "Ann"}}]);
    assert_eq!(couch.find(query).await["docs"], expected);
    for sort in [json!(["company"]), json!(["name.first"]), json!(["name.first", "name.last"])] {
        let query = json!({"selector": {"age": {"$gt": null}}, "sort": sort});
        let (status, error, reason) = couch.refusal("_find", query).await;
        assert_eq!((status, &*error), (400, "no_usable_index"));
        assert_eq!(reason, "No index exists for this sort, try indexing by the sort fields.");
    }
}

#[tokio::test]
async fn an_index_follows_changes_of_documents() {
    let couch = Couch::holding(people()).await;
    couch.index("age", json!(["age"])).await;
    let query = json!({"selector": {"age": {"$gt": 30}}});
    assert_eq!(couch.found(query.clone()).await, "ann dan cyd");
    let (_, cyd) = couch.get("/db/cyd").await;
    let young = json!({"_id": "cyd", "_rev": cyd["_rev"], "age": 3}).to_string();
    assert_eq!(couch.put("/db/cyd", &young).await.0, 201);
    let (_, dan) = couch.get("/db/dan").await;
    let gone = format!("/db/dan?rev={}", dan["_rev"].as_str().unwrap());
    assert_eq!(couch.ask(http::Method::DELETE, &gone, "").await.0, 200);
    couch.write(json!([{"_id": "gus", "age": 31}, {"_id": "_design/x", "age": 40}])).await;
    assert_eq!(couch.found(query).await, "gus ann");
    couch.index("age", json!(["age", "_id"])).await;
    assert_eq!(couch.found(json!({"selector": {"age": 3}})).await, "cyd");
}

#[tokio::test]
async fn warnings_tell_which_index_was_not_used() {
    let couch = Couch::holding(people()).await;
    couch.index("age", json!(["age"])).await;
    couch.index("company", json!(["company", "manager"])).await;
    let warning = async |query| couch.find(query).await["warning"].clone();
    let design =
        "_design/company was not used because it does not contain a valid index for this query.";
    let named =
        "_design/company, company was not used because it is not a valid index for this query.";
    let none =
        "_design/_all_docs was not used because it does not contain a valid index for this query.";
    for (query, expected) in [
        (json!({"selector": {"age": 33}}), json!(null)),
        (json!({"selector": {"age": 33}, "use_index": "age"}), json!(null)),
        (json!({"selector": {"age": 33}, "use_index": "company"}), json!(design)),
        (
            json!({"selector": {"age": 33}, "use_index": ["_design/company", "company"]}),
            json!(named),
        ),
        (
            json!({"selector": {"company": "Zeta"}, "use_index": "_design/company"}),
            json!(format!("{design}\n{UNINDEXED}")),
        ),
        (json!({"selector": {"age": 33}, "use_index": "_all_docs"}), json!(none)),
        (json!({"selector": {"company": "Zeta"}}), json!(UNINDEXED)),
    ] {
        assert_eq!(warning(query.clone()).await, expected, "{query}");
    }
    let refusal = couch.refusal(
        "_find",
        json!({"selector": {"age": 33}, "use_index": "company", "allow_fallback": false}),
    );
    let (status, error, reason) = refusal.await;
    assert_eq!((status, &*error), (400, "invalid_index"));
    assert_eq!(
        reason,
        "_design/company specified by `use_index` could not be found or it is not suitable."
    );
    let (status, error, _) =
        couch.refusal("_find", json!({"selector": {"q": 1}, "allow_fallback": false})).await;
    assert_eq!((status, &*error), (400, "no_usable_index"));
    couch.write((0..10).map(|at| json!({"_id": format!("x{at}"), "age": 1})).collect()).await;
    let query = json!({"selector": {"age": 1, "none": {"$exists": false}, "manager": true}});
    assert_eq!(warning(query).await, json!(null));
    couch.write(json!([{"_id": "y", "age": 1}])).await;
    let query = json!({"selector": {"age": 1, "name.first": {"$regex": "x"}}});
    assert_eq!(warning(query).await, json!(MANY_EXAMINED));
}

#[tokio::test]
async fn statistics_count_what_was_read() {
    let couch = Couch::holding(people()).await;
    couch.index("age", json!(["age"])).await;
    let statistics = async |selector, limit| {
        let query = json!({"selector": selector, "limit": limit, "execution_stats": true});
        let told = couch.find(query).await["execution_stats"].clone();
        assert!(told["execution_time_ms"].as_f64().unwrap() > 0.0, "{told}");
        assert_eq!(told["total_quorum_docs_examined"], 0);
        ["total_keys_examined", "total_docs_examined", "results_returned"]
            .map(|name| told[name].as_u64().unwrap())
    };
    assert_eq!(statistics(json!({"age": {"$gt": 21}}), 25).await, [3, 3, 3]);
    assert_eq!(statistics(json!({"age": {"$gt": 21}}), 2).await, [2, 2, 2]);
    assert_eq!(statistics(json!({"age": {"$gt": 21}, "manager": true}), 25).await, [3, 3, 2]);
    // Without an index, the design document is a key, too.
    assert_eq!(statistics(json!({"manager": true}), 25).await, [7, 6, 2]);
    let query = json!({"selector": {"age": 33}, "execution_stats": false});
    assert!(couch.find(query).await.get("execution_stats").is_none());
}

/// Partial indexes are used only if the query names them.
#[tokio::test]
async fn a_partial_index_is_used_where_it_is_named() {
    let couch = Couch::holding(people()).await;
    let index = json!({
        "index": {"fields": ["age"], "partial_filter_selector": {"manager": true}}, "ddoc": "managers", "name": "m"
    });
    assert_eq!(couch.post("/db/_index", &index.to_string()).await.1["result"], "created");
    let query = json!({"selector": {"age": {"$gt": 20}}});
    assert_eq!(couch.found(query.clone()).await, "ann bob cyd dan");
    assert!(couch.used(query).await.is_null());
    let named = json!({"selector": {"age": {"$gt": 20}}, "use_index": "managers"});
    assert_eq!(couch.found(named.clone()).await, "ann dan");
    assert_eq!(couch.used(named).await, "_design/managers");
    let (_, listed) = couch.get("/db/_index").await;
    let filter = json!({"manager": {"$eq": true}});
    assert_eq!(listed["indexes"][1]["def"]["partial_filter_selector"], filter);
}

#[tokio::test]
async fn conflicts_are_listed_with_an_index() {
    let couch = Couch::new().await;
    couch.replicate(r#"{"_id":"c","_rev":"1-a","n":1},{"_id":"c","_rev":"1-b","n":2}"#).await;
    couch.index("n", json!(["n"])).await;
    for (query, expected) in [
        (json!({"selector": {"n": 2}, "conflicts": true}), json!(["1-a"])),
        (json!({"selector": {"n": 2}}), json!(null)),
    ] {
        assert_eq!(couch.find(query).await["docs"][0]["_conflicts"], expected);
    }
    assert_eq!(couch.found(json!({"selector": {"n": 1}})).await, "");
}

/// An empty selector finds everything, and an empty combination alone finds nothing.
#[tokio::test]
async fn empty_selectors_mean_what_they_mean_in_couchdb() {
    let couch = Couch::holding(people()).await;
    for is_indexed in [false, true] {
        for (selector, count) in [
            (json!({}), 6),
            (json!({"$or": []}), 0),
            (json!({"$and": []}), 0),
            (json!({"age": 33, "$or": []}), 2),
            (json!({"age": 33, "$and": []}), 2),
            (json!({"age": {"$in": []}}), 0),
            (json!({"age": 33, "company": {"$in": []}}), 0),
            (json!({"age": 33, "company": {"$all": []}}), 0),
        ] {
            let found = couch.find(json!({"selector": selector})).await;
            assert_eq!(found["docs"].as_array().unwrap().len(), count, "{selector} {is_indexed}");
        }
        if !is_indexed {
            couch.index("age", json!(["age"])).await;
        }
    }
}

#[tokio::test]
async fn invalid_queries_return_couchdb_errors() {
    let couch = Couch::new().await;
    for (more, error) in [
        (json!({"selector": []}), "invalid_selector_json"),
        (json!({"limit": -1}), "invalid_non_neg_integer"),
        (json!({"limit": 1.5}), "invalid_non_neg_integer"),
        (json!({"skip": "x"}), "invalid_non_neg_integer"),
        (json!({"sort": true}), "invalid_sort_json"),
        (json!({"sort": [{"a": "asc"}, {"b": "desc"}]}), "unsupported_mixed_sort"),
        (json!({"fields": {"a": 1}}), "bad_request"),
        (json!({"r": 0}), "invalid_pos_integer"),
        (json!({"conflicts": 1}), "invalid_boolean"),
        (json!({"use_index": 1}), "invalid_index_name"),
        (json!({"bookmark": "x"}), "invalid_bookmark"),
        (json!({"other": "x"}), "invalid_key"),
    ] {
        let mut query = json!({"selector": {}});
        query.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        for path in ["_find", "_explain"] {
            let (status, found, reason) = couch.refusal(path, query.clone()).await;
            assert_eq!((status, &*found), (400, error), "{path} {more}: {reason}");
        }
    }
    let query = json!({"selector": {}, "r": 2, "update": false, "stable": true, "stale": "ok", "partition": ""});
    assert_eq!(couch.found(query).await, "");
}
