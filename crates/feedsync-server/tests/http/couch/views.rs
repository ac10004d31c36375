//! Views, with a substitute for the engine: a map function names the member of documents that holds their rows.

use std::sync::Arc;

use async_trait::async_trait;
use feedsync_endpoint::documents::functions::{Call, CallError, DesignFunctions, DesignSource};
use feedsync_server::Config;
use http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Couch, JSON, said, send};
use crate::access::world::{World, basic};
use crate::hub::{TestHub, endpoint_over_postgres, hub_in};

const PASSWORD: &str = "correct horse battery";

struct Engine;

#[async_trait]
impl DesignFunctions for Engine {
    async fn call(&self, design: &DesignSource, call: &Call<'_>) -> Result<String, CallError> {
        let source: Value = serde_json::from_str(&design.source).unwrap();
        let views = source["views"].as_object().unwrap();
        let result = match call {
            Call::Map { documents } => {
                let mut result = Vec::new();
                for document in *documents {
                    let document: Value = serde_json::from_str(document).unwrap();
                    let of_view = |view: &Value| match view["map"].as_str().unwrap() {
                        "fault" => Err(CallError::Compilation("it cannot be compiled".to_owned())),
                        name => Ok(document.get(name).cloned().unwrap_or_else(|| json!([]))),
                    };
                    result.push(views.values().map(of_view).collect::<Result<Vec<_>, _>>()?);
                }
                json!(result)
            }
            // The function counts, and so its reductions are added.
            Call::Reduce { lists, is_again, .. } => {
                let count = |values: &str| -> u64 {
                    let values: Vec<Value> = serde_json::from_str(values).unwrap();
                    match is_again {
                        true => values.iter().map(|value| value.as_u64().unwrap()).sum(),
                        false => values.len() as u64,
                    }
                };
                json!(lists.iter().map(|list| count(&list.values)).collect::<Vec<_>>())
            }
            other => unreachable!("{other:?}"),
        };
        Ok(result.to_string())
    }
}

const DESIGN: &str = r#"{"_id":"_design/d","_rev":"1-d","views":{
    "a":{"map":"a"},"b":{"map":"b","reduce":"_sum"},"c":{"map":"b","reduce":"count"}}}"#;

const DOCUMENTS: &str = r#"
    {"_id":"one","_rev":"1-a","a":[["k",1],["l",{"_id":"two"}]],"b":[[["x",1],2],[["x",2],3]]},
    {"_id":"two","_rev":"1-a","a":[["k",2],["m",{"_id":"gone"}]],"b":[[["y",1],5]]},
    {"_id":"three","_rev":"1-a","a":[[3,null],["n",{"_id":"two","_rev":"1-b"}]],"b":[[["x",1],7],[null,11]]},
    {"_id":"two","_rev":"1-b","a":[["lost",1]]},
    {"_id":"gone","_rev":"2-g","_revisions":{"start":2,"ids":["g","f"]},"_deleted":true,"a":[["deleted",1]]}"#;

/// Hubs over both kinds of stores, with the same documents.
async fn hubs() -> [Couch; 2] {
    let directory = TempDir::new().unwrap();
    let TestHub { endpoint, .. } = hub_in(directory.path()).await;
    let all = [(endpoint, directory), (endpoint_over_postgres("hub"), TempDir::new().unwrap())];
    let mut hubs = Vec::new();
    for (endpoint, directory) in all {
        let endpoint = endpoint.with_functions(Arc::new(Engine));
        let couch = Couch::over(endpoint, Config::default(), directory).await;
        couch.replicate(DESIGN).await;
        couch.replicate(DOCUMENTS).await;
        hubs.push(couch);
    }
    hubs.try_into().unwrap_or_else(|_| unreachable!("there are two"))
}

/// The keys of a response.
fn keys(said: &Value) -> Vec<Value> {
    said["rows"].as_array().unwrap().iter().map(|row| row["key"].clone()).collect()
}

fn values(said: &Value) -> Vec<Value> {
    said["rows"].as_array().unwrap().iter().map(|row| row["value"].clone()).collect()
}

#[tokio::test]
async fn a_view_has_rows_in_the_order_of_their_keys() {
    for couch in hubs().await {
        let (status, all) = couch.get("/db/_design/d/_view/a").await;
        let two = json!({"_id": "two"});
        let rows = json!([
            {"id": "three", "key": 3, "value": null},
            {"id": "one", "key": "k", "value": 1},
            {"id": "one", "key": "l", "value": two},
            {"id": "two", "key": "lost", "value": 1},
            {"id": "three", "key": "n", "value": {"_id": "two", "_rev": "1-b"}},
        ]);
        assert_eq!((status, &all), (200, &json!({"total_rows": 5, "offset": 0, "rows": rows})));
        for (query, expected, offset) in [
            ("descending=true", json!(["n", "lost", "l", "k", 3]), json!(0)),
            ("startkey=%22k%22&endkey=%22l%22", json!(["k", "l"]), json!(1)),
            ("startkey=%22k%22&endkey=%22l%22&inclusive_end=false", json!(["k"]), json!(1)),
            ("key=%22l%22", json!(["l"]), json!(2)),
            ("skip=1&limit=2", json!(["k", "l"]), json!(1)),
            ("startkey=%22l%22&descending=true&limit=1", json!(["l"]), json!(2)),
            ("keys=%5B%22n%22,3,%22none%22,%22n%22%5D", json!(["n", 3, "n"]), Value::Null),
            ("keys=%5B%22n%22,3%5D&skip=1", json!([3]), Value::Null),
            ("keys=%5B%22l%22%5D", json!(["l"]), json!(2)),
            ("startkey=%22k%22&startkey_docid=p", json!(["l", "lost", "n"]), json!(2)),
            ("limit=0", json!([]), json!(0)),
            ("skip=9", json!([]), json!(5)),
        ] {
            let (status, found) = couch.get(&format!("/db/_design/d/_view/a?{query}")).await;
            assert_eq!((status, json!(keys(&found))), (200, expected), "{query}");
            assert_eq!((&found["total_rows"], &found["offset"]), (&json!(5), &offset), "{query}");
        }
        let posted = couch.post("/db/_design/d/_view/a", r#"{"keys":["l"]}"#).await;
        assert_eq!((posted.0, keys(&posted.1)), (200, vec![json!("l")]));
        let (_, unsorted) = couch.get("/db/_design/d/_view/a?sorted=false&update_seq=true").await;
        assert!(unsorted.get("total_rows").is_none() && unsorted["update_seq"].is_string());
    }
}

#[tokio::test]
async fn rows_show_their_documents_or_those_that_they_name() {
    for couch in hubs().await {
        let path = "/db/_design/d/_view/a?include_docs=true&conflicts=true";
        let (_, all) = couch.get(path).await;
        let shown: Vec<_> = all["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                let document = &row["doc"];
                (
                    document["_id"].as_str(),
                    document["_rev"].as_str(),
                    document.get("_conflicts").is_some(),
                )
            })
            .collect();
        let expected = [
            ("three", "1-a", false),
            ("one", "1-a", false),
            ("two", "1-b", true),
            ("two", "1-b", true),
            ("two", "1-b", true),
        ];
        let expected =
            expected.map(|(id, revision, conflicts)| (Some(id), Some(revision), conflicts));
        assert_eq!(shown, expected);
        couch
            .replicate(r#"{"_id":"two","_revisions":{"start":2,"ids":["c","b"]},"_deleted":true}"#)
            .await;
        let (_, all) = couch.get("/db/_design/d/_view/a?include_docs=true&key=%22m%22").await;
        assert_eq!(all["rows"][0]["doc"], Value::Null);
        assert_eq!(all["rows"][0]["value"], json!({"_id": "gone"}));
    }
}

#[tokio::test]
async fn reductions_are_those_of_all_rows_or_of_groups() {
    for couch in hubs().await {
        for (query, expected) in [
            ("b", json!([{"key": null, "value": 23}])),
            (
                "b?group=true",
                json!([
                    {"key": null, "value": 11}, {"key": ["x", 1], "value": 9}, {"key": ["x", 2], "value": 3},
                ]),
            ),
            (
                "b?group_level=1&descending=true",
                json!([{"key": ["x"], "value": 12}, {"key": null, "value": 11}]),
            ),
            ("b?group_level=1&skip=1&limit=1", json!([{"key": ["x"], "value": 12}])),
            ("b?startkey=%5B%22x%22%5D&endkey=%5B%22x%22,1%5D", json!([{"key": null, "value": 9}])),
            ("b?key=7", json!([])),
            ("c", json!([{"key": null, "value": 4}])),
            ("c?group_level=1", json!([{"key": null, "value": 1}, {"key": ["x"], "value": 3}])),
            (
                "c?keys=%5B%5B%22x%22,2%5D,null%5D&group=true",
                json!([
                    {"key": ["x", 2], "value": 1}, {"key": null, "value": 1},
                ]),
            ),
        ] {
            let (status, found) = couch.get(&format!("/db/_design/d/_view/{query}")).await;
            assert_eq!((status, found), (200, json!({"rows": expected})), "{query}");
        }
        let (_, found) = couch.get("/db/_design/d/_view/c?reduce=false&limit=1").await;
        assert_eq!((&found["total_rows"], values(&found)), (&json!(4), vec![json!(11)]));
        let queries =
            r#"{"queries":[{"key":null},{"reduce":false,"limit":1},{"group":true,"limit":1}]}"#;
        let (status, found) = couch.post("/db/_design/d/_view/b/queries", queries).await;
        let found: Vec<_> = found["results"].as_array().unwrap().iter().map(values).collect();
        assert_eq!((status, found), (200, vec![vec![json!(11)]; 3]));
    }
}

#[tokio::test]
async fn rows_follow_writes_unless_the_request_says_otherwise() {
    for couch in hubs().await {
        let count = async |query: &str| {
            let (status, found) = couch.get(&format!("/db/_design/d/_view/a{query}")).await;
            assert_eq!(status, 200, "{found}");
            found["total_rows"].clone()
        };
        assert_eq!(count("?update=false").await, 0);
        assert_eq!(count("?stale=ok").await, 0);
        assert_eq!(count("").await, 5);
        couch.replicate(r#"{"_id":"four","_rev":"1-a","a":[[1,1],[1,1]]}"#).await;
        assert_eq!(count("?update=lazy").await, 5);
        let mut tries = 0;
        while count("?update=false").await != 7 && tries < 100 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            tries += 1;
        }
        assert_eq!(count("?update=false").await, 7);
        // A purge has no change number.
        let purge = couch.post("/db/_purge", r#"{"four":["1-a"]}"#).await;
        assert_eq!(purge.0, 201, "{}", purge.1);
        assert_eq!(count("?update=false").await, 5);
        // Another version of the design document has rows of its own.
        let changed =
            DESIGN.replace("1-d", "2-d").replace(r#""a":{"map":"a"}"#, r#""a":{"map":"b"}"#);
        couch.replicate(&changed).await;
        assert_eq!(count("?update=false").await, 0);
        assert_eq!(count("").await, 4);
        assert_eq!(couch.post("/db/_view_cleanup", "{}").await, (202, json!({"ok": true})));
        let (_, info) = couch.get("/db/_design/d/_info").await;
        assert_eq!(info["name"], "d");
        assert_eq!(info["view_index"]["updates_pending"]["total"], 0);
        // A database that is created again has no rows.
        assert_eq!(couch.ask(Method::DELETE, "/db", "").await.0, 200);
        couch.put("/db", "").await;
        couch.replicate(&changed).await;
        assert_eq!(count("").await, 0);
    }
}

#[tokio::test]
async fn large_results_are_sent_in_pieces() {
    for couch in hubs().await {
        let text = "x".repeat(3_000);
        let rows: Vec<Value> = (0..40).map(|at| json!([at, text])).collect();
        let document = |number: usize| {
            json!({"_id": format!("large{number:02}"), "_rev": "1-a", "a": rows, "b": [[[number % 3, number], 1]]}).to_string()
        };
        let documents: Vec<String> = (0..90).map(document).collect();
        couch.replicate(&documents.join(",")).await;
        let (_, found) = couch.get("/db/_design/d/_view/a?endkey=39").await;
        let found: Vec<_> = found["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| (row["key"].as_u64(), row["id"].clone()))
            .collect();
        let expected = (0..40).flat_map(|at| {
            let three = (at == 3).then(|| json!("three"));
            (0..90)
                .map(|number| json!(format!("large{number:02}")))
                .chain(three)
                .map(move |id| (Some(at), id))
        });
        assert_eq!(found, expected.collect::<Vec<_>>());
        let path = "/db/_design/d/_view/a?keys=%5B7,8%5D&include_docs=true&skip=85&limit=10";
        let (_, found) = couch.get(path).await;
        let found: Vec<_> = found["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| {
                assert_eq!(row["id"], row["doc"]["_id"]);
                (row["key"].as_u64().unwrap(), row["id"].as_str().unwrap().to_owned())
            })
            .collect();
        let expected = (85..95).map(|at| (7 + at / 90, format!("large{:02}", at % 90)));
        assert_eq!(found, expected.collect::<Vec<_>>());
        let (_, found) = couch.get("/db/_design/d/_view/b?group_level=1").await;
        assert_eq!(values(&found), [json!(11), json!(30), json!(30), json!(30), json!(12)]);
    }
}

/// The response to many keys is that of each key, one after the other. One of them has more rows than a page.
#[tokio::test]
async fn many_keys_are_answered_in_their_order() {
    for couch in hubs().await {
        let document = |number: usize| {
            let key = if number < 1_300 { 7 } else { 100 + number / 2 };
            let rows = json!([[key, number], [[key], 1]]);
            json!({"_id": format!("many{number:04}"), "_rev": "1-a", "a": rows, "b": [[key, 1]]})
                .to_string()
        };
        let documents: Vec<String> = (0..2_000).map(document).collect();
        couch.replicate(&documents.join(",")).await;
        // Keys twice, keys without rows, and the large one three times.
        let keys: Vec<Value> = (0..1_500)
            .map(|at: usize| match at {
                0 | 700 | 1_499 => json!(7),
                _ if at.is_multiple_of(5) => json!("none"),
                _ if at.is_multiple_of(7) => json!([750 + at]),
                _ => json!(730 + at % 400),
            })
            .collect();
        let ask = async |view: &str, query: &str, keys: &[Value]| {
            let body = json!({"keys": keys}).to_string();
            let (status, found) =
                couch.post(&format!("/db/_design/d/_view/{view}?{query}"), &body).await;
            assert_eq!(status, 200, "{found}");
            found["rows"].as_array().unwrap().clone()
        };
        for (view, query) in [
            ("a", "include_docs=true"),
            ("a", "descending=true"),
            ("b", "reduce=false"),
            ("b", "group=true"),
            ("c", "group=true"),
        ] {
            let mut of_key = std::collections::HashMap::new();
            let mut expected = Vec::new();
            for key in &keys {
                if !of_key.contains_key(key) {
                    of_key.insert(key, ask(view, query, std::slice::from_ref(key)).await);
                }
                expected.extend(of_key[key].iter().cloned());
            }
            assert_eq!(ask(view, query, &keys).await, expected, "{view} {query}");
            for (skip, limit) in [(3, 2), (0, 1_301), (1_290, 40)] {
                let query = format!("{query}&skip={skip}&limit={limit}");
                let some: Vec<Value> = expected.iter().skip(skip).take(limit).cloned().collect();
                assert_eq!(ask(view, &query, &keys).await, some, "{view} {query}");
            }
        }
    }
}

#[tokio::test]
async fn invalid_requests_return_couchdb_errors() {
    for couch in hubs().await {
        couch
            .replicate(r#"{"_id":"_design/faulty","_rev":"1-d","views":{"v":{"map":"fault"}}}"#)
            .await;
        for (path, status, error) in [
            ("d/_view/none", 404, "not_found"),
            ("none/_view/a", 404, "not_found"),
            ("d/_view", 404, "not_found"),
            ("d/_view/a?reduce=true", 400, "query_parse_error"),
            ("d/_view/a?group=true", 400, "query_parse_error"),
            ("d/_view/b?include_docs=true", 400, "query_parse_error"),
            ("d/_view/a?startkey=2&endkey=1", 400, "query_parse_error"),
            ("d/_view/a?key=x", 400, "query_parse_error"),
            ("d/_view/a?limit=-1", 400, "query_parse_error"),
            ("d/_view/b?keys=%5B1,2%5D", 400, "query_parse_error"),
            ("faulty/_view/v", 500, "compilation_error"),
        ] {
            let (found, said) = couch.get(&format!("/db/_design/{path}")).await;
            assert_eq!((found, &said["error"]), (status, &json!(error)), "{path} {said}");
        }
        for body in ["{}", r#"{"queries":1}"#, r#"{"queries":[{"group":true}]}"#] {
            assert_eq!(couch.post("/db/_design/d/_view/a/queries", body).await.0, 400, "{body}");
        }
        let (status, said) = couch.post("/db/_design/d/_view/a", r#"{"queries":[{}]}"#).await;
        assert_eq!((status, &said["error"]), (400, &json!("bad_request")));
        assert_eq!(couch.ask(Method::PUT, "/db/_design/d/_view/a", "{}").await.0, 405);
        assert_eq!(couch.post("/db/_temp_view", "{}").await.0, 410);
    }
}

#[tokio::test]
async fn members_read_views_and_administrators_clean_up() {
    let directory = TempDir::new().unwrap();
    let world = World::in_database(directory.path()).await;
    for name in ["owen", "eddy", "nora"] {
        world.password(name, PASSWORD).await;
    }
    let ask = async |name: &str, method: Method, path: &str, body: &str| {
        let authorization = basic(name, PASSWORD);
        let headers = [JSON, ("authorization", &*authorization)];
        said(send(&world.router, method, path, &headers, body.to_owned()).await).await.0
    };
    assert_eq!(ask("owen", Method::PUT, "/mine", "").await, 201);
    let named = r#"{"admins":{"names":["owen"]},"members":{"names":["eddy"]}}"#;
    assert_eq!(ask("owen", Method::PUT, "/mine/_security", named).await, 200);
    let design = r#"{"views":{"a":{"map":"a"}}}"#;
    assert_eq!(ask("owen", Method::PUT, "/mine/_design/d", design).await, 201);
    // This hub executes no functions.
    for (method, path) in [
        (Method::GET, "/mine/_design/d/_view/a"),
        (Method::GET, "/mine/_design/d/_info"),
        (Method::POST, "/mine/_view_cleanup"),
    ] {
        assert_eq!(ask("nora", method.clone(), path, "{}").await, 404, "{path}");
        let anonymous = send(&world.router, method.clone(), path, &[JSON], "{}").await;
        assert_eq!(anonymous.status(), 401, "{path}");
        let is_cleaning = method == Method::POST;
        let expected = if is_cleaning { 403 } else { 501 };
        assert_eq!(ask("eddy", method.clone(), path, "{}").await, expected, "{path}");
        assert_eq!(ask("owen", method, path, "{}").await, if is_cleaning { 202 } else { 501 });
    }
}
