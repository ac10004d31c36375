//! `_explain`: the index of a query, and the reasons against others.

use serde_json::json;

use super::super::Couch;
use super::people;

#[tokio::test]
async fn a_query_is_explained_as_in_couchdbs_documentation() {
    let couch = Couch::new().await;
    couch.index("year", json!(["year"])).await;
    let query = json!({
        "selector": {"year": {"$gt": 2010}}, "fields": ["_id", "_rev", "year", "title"], "sort": [{"year": "asc"}],
        "limit": 2, "skip": 0
    });
    let expected = json!({
        "dbname": "db",
        "index": {
            "ddoc": "_design/year", "name": "year", "type": "json", "partitioned": false,
            "def": {"fields": [{"year": "asc"}]}
        },
        "partitioned": false,
        "selector": {"year": {"$gt": 2010}},
        "opts": {
            "use_index": [], "bookmark": "nil", "limit": 2, "skip": 0, "sort": {"year": "asc"},
            "fields": ["_id", "_rev", "year", "title"], "partition": "", "r": 1, "conflicts": false,
            "stale": false, "update": true, "stable": false, "execution_stats": false, "allow_fallback": true
        },
        "limit": 2,
        "skip": 0,
        "fields": ["_id", "_rev", "year", "title"],
        "mrargs": {
            "include_docs": true, "view_type": "map", "reduce": false, "partition": null, "start_key": [2010],
            "end_key": ["<MAX>"], "direction": "fwd", "stable": false, "update": true, "conflicts": "undefined"
        },
        "covering": false,
        "index_candidates": [{
            "index": {
                "ddoc": null, "name": "_all_docs", "type": "special", "def": {"fields": [{"_id": "asc"}]}
            },
            "analysis": {
                "usable": false, "reasons": [{"name": "field_mismatch"}], "ranking": 1, "covering": null
            }
        }],
        "selector_hints": [{"type": "json", "indexable_fields": ["year"], "unindexable_fields": []}]
    });
    assert_eq!(couch.explained(query).await, expected);
}

#[tokio::test]
async fn the_best_index_is_used() {
    let couch = Couch::holding(people()).await;
    for (name, fields) in [
        ("age", json!(["age"])),
        ("company-manager", json!(["company", "manager"])),
        ("foo", json!(["foo"])),
        ("foo-bar", json!(["foo", "bar"])),
        ("manager", json!(["manager"])),
        ("name", json!(["name.last", "name.first"])),
    ] {
        couch.index(name, fields).await;
    }
    for (query, expected) in [
        (json!({"selector": {"age": 123}}), json!("age")),
        (json!({"selector": {"name.first": "Ann", "name.last": "none"}}), json!("name")),
        (
            json!({"selector": {"name.first": {"$gt": "a", "$lt": "z"}, "name.last": "Foo"}}),
            json!("name"),
        ),
        (
            json!({"selector": {"company": {"$gt": "a"}, "$or": [{"manager": "Foo"}, {"manager": "Bar"}]}}),
            json!("company-manager"),
        ),
        (
            json!({"selector": {"name.first": "Ann", "name.last": "x", "age": {"$gt": 1}}, "use_index": "_design/age"}),
            json!("age"),
        ),
        (json!({"selector": {"manager": {"$exists": true}}}), json!("manager")),
        (json!({"selector": {"company": "Acme"}}), json!(null)),
        (json!({"selector": {"company": "Acme", "manager": {"$exists": false}}}), json!(null)),
        (
            json!({"selector": {"foo": {"$gt": null}}, "sort": ["foo", "bar"], "use_index": "foo"}),
            json!("foo-bar"),
        ),
        (
            json!({"selector": {"foo": {"$gt": null}, "bar": {"$gt": null}}, "use_index": "foo"}),
            json!("foo"),
        ),
        (
            json!({"selector": {"manager": {"$gt": null}}, "sort": [{"manager": "desc"}]}),
            json!("manager"),
        ),
    ] {
        let expected =
            expected.as_str().map_or(json!(null), |name| json!(format!("_design/{name}")));
        assert_eq!(couch.used(query.clone()).await, expected, "{query}");
    }
}

#[tokio::test]
async fn a_sort_order_without_an_index_is_explained() {
    let couch = Couch::holding(people()).await;
    let told = couch.explained(json!({"selector": {"age": 23}, "sort": ["company"]})).await;
    assert_eq!(told["index"], json!(null));
    assert_eq!(
        told["index_candidates"][0]["analysis"]["reasons"],
        json!([{"name": "field_mismatch"}])
    );
    let told = couch.explained(json!({"selector": {"age": 23}})).await;
    assert_eq!(
        (&told["index"]["name"], &told["index_candidates"]),
        (&json!("_all_docs"), &json!([]))
    );
}

/// Reasons and rankings of an index among several.
#[tokio::test]
async fn unused_indexes_are_listed_with_their_ranking() {
    let couch = Couch::holding(people()).await;
    for name in ["age", "manager", "company"] {
        couch.index(name, json!([name])).await;
    }
    let told = couch.explained(json!({"selector": {"age": 23, "company": {"$ne": 1}}})).await;
    let told = told["index_candidates"].as_array().unwrap();
    let summary = |name: &str| {
        let found = told.iter().find(|it| it["index"]["name"] == name).unwrap();
        let analysis = &found["analysis"];
        (
            analysis["usable"].clone(),
            analysis["reasons"][0]["name"].clone(),
            analysis["covering"].clone(),
        )
    };
    assert_eq!(summary("manager"), (json!(false), json!("field_mismatch"), json!(false)));
    assert_eq!(summary("_all_docs"), (json!(true), json!("unfavored_type"), json!(null)));
    assert!(told.iter().all(|it| it["analysis"]["ranking"].as_u64() > Some(0)));
}
