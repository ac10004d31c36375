//! `_index`: creation, list and deletion of indexes.

use http::Method;
use serde_json::{Value, json};

use super::super::Couch;

const DEFINITION: &str = r#"{"index":{"fields":["foo"]},"name":"foo-index","type":"json"}"#;

#[tokio::test]
async fn an_index_is_created_listed_and_deleted() {
    let couch = Couch::new().await;
    let (status, created) = couch.post("/db/_index", DEFINITION).await;
    let design = created["id"].as_str().unwrap().to_owned();
    assert_eq!(
        (status, &created["result"], &created["name"]),
        (200, &json!("created"), &json!("foo-index"))
    );
    assert!(design.starts_with("_design/") && design.len() == 48, "{design}");
    let (status, again) = couch.post("/db/_index", DEFINITION).await;
    assert_eq!(
        (status, again),
        (200, json!({"result": "exists", "id": design, "name": "foo-index"}))
    );
    let all_documents = json!({
        "ddoc": null, "name": "_all_docs", "type": "special", "def": {"fields": [{"_id": "asc"}]}
    });
    let index = json!({
        "ddoc": design, "name": "foo-index", "type": "json", "partitioned": false,
        "def": {"fields": [{"foo": "asc"}]}
    });
    let listed = couch.get("/db/_index").await;
    assert_eq!(listed, (200, json!({"total_rows": 2, "indexes": [all_documents, index]})));
    // The index is a view of a document.
    let (status, document) = couch.get(&format!("/db/{design}")).await;
    assert_eq!((status, &document["language"]), (200, &json!("query")));
    assert_eq!(document["views"]["foo-index"]["map"]["fields"], json!({"foo": "asc"}));
    let deleted =
        couch.ask(Method::DELETE, &format!("/db/_index/{design}/json/foo-index"), "").await;
    assert_eq!(deleted, (200, json!({"ok": true})));
    assert_eq!(couch.get(&format!("/db/{design}")).await.0, 404);
    assert_eq!(couch.get("/db/_index").await.1["total_rows"], 1);
}

#[tokio::test]
async fn an_index_is_deleted_under_each_spelling_of_its_design_document() {
    let couch = Couch::new().await;
    for spelling in ["_design/d", "_design%2Fd", "d"] {
        couch.index("d", json!(["a"])).await;
        for (path, status) in [
            (format!("/db/_index/{spelling}/json/none"), 404),
            (format!("/db/_index/{spelling}/text/d"), 404),
            ("/db/_index/none/json/d".to_owned(), 404),
            (format!("/db/_index/{spelling}/json/d"), 200),
            (format!("/db/_index/{spelling}/json/d"), 404),
        ] {
            assert_eq!(couch.ask(Method::DELETE, &path, "").await.0, status, "{path}");
        }
    }
    for (method, path) in [
        (Method::GET, "/db/_index/foo"),
        (Method::PUT, "/db/_index"),
        (Method::GET, "/db/_index/_bulk_delete"),
        (Method::GET, "/db/_index/d/json/d"),
        (Method::GET, "/db/_explain"),
    ] {
        assert_eq!(couch.ask(method, path, "").await.0, 405, "{path}");
    }
}

#[tokio::test]
async fn many_indexes_are_deleted_at_once() {
    let couch = Couch::new().await;
    for name in ["a", "b", "c"] {
        couch.index(name, json!([name])).await;
    }
    couch.post("/db/_index", r#"{"index":{"fields":["x"]},"ddoc":"c","name":"second"}"#).await;
    couch.put("/db/_design/code", r#"{"views":{"v":{"map":"function () {}"}}}"#).await;
    let (status, said) = couch
        .post(
            "/db/_index/_bulk_delete",
            r#"{"docids":["_design/a","c","_design/none","code"],"w":3}"#,
        )
        .await;
    let success = json!([{"id": "_design/a", "ok": true}, {"id": "_design/c", "ok": true}]);
    let fail = json!([
        {"id": "_design/none", "error": "not_found"}, {"id": "_design/code", "error": "not_found"}
    ]);
    assert_eq!((status, said), (200, json!({"success": success, "fail": fail})));
    assert_eq!(couch.index_names().await, ["_all_docs", "b"]);
    for (body, error) in [
        (json!({}), "missing_required_key"),
        (json!({"docids": "a"}), "invalid_bulk_docs"),
        (json!({"docids": [null]}), "invalid_bulk_docs"),
    ] {
        let (status, found, _) = couch.refusal("_index/_bulk_delete", body).await;
        assert_eq!((status, &*found), (400, error));
    }
}

#[tokio::test]
async fn the_list_of_indexes_is_paged() {
    let couch = Couch::new().await;
    for name in ["a", "b", "c", "d", "e"] {
        couch.index(name, json!([name])).await;
    }
    for (query, count) in [
        ("limit=2", 2),
        ("limit=5&skip=4", 2),
        ("skip=5", 1),
        ("skip=6", 0),
        ("skip=100", 0),
        ("limit=10000000", 6),
    ] {
        let (status, listed) = couch.get(&format!("/db/_index?{query}")).await;
        assert_eq!((status, &listed["total_rows"]), (200, &json!(6)));
        assert_eq!(listed["indexes"].as_array().unwrap().len(), count, "{query}");
    }
    for query in ["skip=-1", "limit=0", "limit=x"] {
        let (status, said) = couch.get(&format!("/db/_index?{query}")).await;
        assert_eq!((status, &said["error"]), (500, &json!("invalid_list_index_params")), "{query}");
    }
}

#[tokio::test]
async fn invalid_definitions_are_refused_and_change_nothing() {
    let couch = Couch::new().await;
    let fields = [
        json!(null),
        json!(true),
        json!("bing"),
        json!(2.0),
        json!({"foo": "bar"}),
        json!([{"foo": 2}]),
        json!([{"foo": "asc", "bar": "desc"}]),
        json!([{"foo": "asc"}, {"bar": "desc"}]),
        json!([""]),
    ];
    let fields = fields.into_iter().map(|fields| json!({"index": {"fields": fields}}));
    let with = |member: &str, value: Value| json!({"index": {"fields": ["foo"]}, member: value});
    let others = ["type", "name", "ddoc"].into_iter().flat_map(|member| {
        let values =
            [json!(""), json!(true), json!(1.5), json!({"foo": "bar"}), json!([null, false])];
        values.into_iter().map(move |value| with(member, value))
    });
    let more = [with("type", json!("geo")), with("wrong", json!(1)), json!({})];
    for body in fields.chain(others).chain(more) {
        let (status, error, _) = couch.refusal("_index", body.clone()).await;
        assert_eq!(status, 400, "{body}: {error}");
    }
    let (status, ..) = couch.refusal("_index", with("type", json!("text"))).await;
    assert_eq!(status, 503);
    couch.put("/db/_design/code", r#"{"language":"javascript","views":{}}"#).await;
    let (status, error, _) = couch.refusal("_index", with("ddoc", json!("code"))).await;
    assert_eq!((status, &*error), (400, "invalid_ddoc_lang"));
    assert_eq!(couch.index_names().await, ["_all_docs"]);
}

/// Other members, other indexes and attachments of a design document stay.
#[tokio::test]
async fn a_design_document_keeps_what_is_not_the_index() {
    let couch = Couch::new().await;
    let design = json!({
        "language": "query", "note": 1.0, "views": {"other": {"map": {"fields": {"o": "asc"}}, "options": {}}},
        "_attachments": {"a.txt": {"content_type": "text/plain", "data": "aGk="}}
    });
    assert_eq!(couch.put("/db/_design/d", &design.to_string()).await.0, 201);
    couch.index("d", json!(["a"])).await;
    let (_, document) = couch.get("/db/_design/d").await;
    assert_eq!(
        (&document["note"], document["_attachments"]["a.txt"]["length"].as_u64()),
        (&json!(1.0), Some(2))
    );
    assert_eq!(couch.index_names().await, ["_all_docs", "d", "other"]);
    assert_eq!(couch.ask(Method::DELETE, "/db/_index/d/json/d", "").await.0, 200);
    let (_, document) = couch.get("/db/_design/d").await;
    assert_eq!(document["views"].as_object().unwrap().len(), 1);
    assert!(document["_attachments"]["a.txt"].is_object());
    // An index of the same name replaces the former one.
    couch.index("e", json!(["a"])).await;
    couch.index("e", json!(["b"])).await;
    let (_, listed) = couch.get("/db/_index?skip=2").await;
    assert_eq!(listed["indexes"][0]["def"], json!({"fields": [{"b": "asc"}]}));
    assert_eq!(listed["total_rows"], 3);
}

/// Writers of one design document wait for each other instead of failing.
#[tokio::test]
async fn concurrent_changes_of_a_design_document_are_all_made() {
    let couch = Couch::new().await;
    let create = |name: usize| {
        let body = format!(r#"{{"index":{{"fields":["f{name}"]}},"ddoc":"d","name":"n{name}"}}"#);
        let couch = &couch;
        async move { couch.post("/db/_index", &body).await }
    };
    let created = futures_util::future::join_all((0..6).map(create)).await;
    assert!(
        created.iter().all(|(status, said)| *status == 200 && said["result"] == "created"),
        "{created:?}"
    );
    assert_eq!(couch.index_names().await.len(), 7);
    let delete = |name: usize| {
        let couch = &couch;
        async move { couch.ask(Method::DELETE, &format!("/db/_index/d/json/n{name}"), "").await.0 }
    };
    let deleted = futures_util::future::join_all((0..6).map(delete)).await;
    assert_eq!(deleted, [200; 6]);
    assert_eq!(couch.get("/db/_design/d").await.0, 404);
}

#[tokio::test]
async fn an_index_beyond_the_limit_is_refused_and_changes_nothing() {
    let couch = Couch::new().await;
    let view = |at: usize| {
        (format!("n{at}"), json!({"map": {"fields": {format!("f{at}"): "asc"}}, "options": {}}))
    };
    let views: serde_json::Map<String, Value> = (0..64).map(view).collect();
    couch.put("/db/_design/many", &json!({"language": "query", "views": views}).to_string()).await;
    assert_eq!(couch.index_names().await.len(), 65);
    let (status, error, reason) =
        couch.refusal("_index", json!({"index": {"fields": ["x"]}, "ddoc": "x"})).await;
    assert_eq!((status, &*error), (403, "forbidden"));
    assert_eq!(reason, "a database can have at most 64 indexes: delete one of db first");
    assert_eq!(couch.get("/db/_design/x").await.0, 404);
    assert_eq!(couch.index_names().await.len(), 65);
    // An index that exists can be created again, or be replaced.
    let again = json!({"index": {"fields": ["f0"]}, "ddoc": "many", "name": "n0"}).to_string();
    assert_eq!(couch.post("/db/_index", &again).await.1["result"], "exists");
    let other = json!({"index": {"fields": ["g0"]}, "ddoc": "many", "name": "n0"}).to_string();
    assert_eq!(couch.post("/db/_index", &other).await.1["result"], "created");
    assert_eq!(couch.ask(Method::DELETE, "/db/_index/many/json/n1", "").await.0, 200);
    couch.index("x", json!(["x"])).await;
}
