//! Errors have the status and the words that clients depend on (section 11), and change nothing.

use axum::body::Body;
use futures_util::StreamExt as _;
use http::Method;
use serde_json::json;

use super::{Couch, JSON, said, send};
use crate::hub::{bytes, text};

#[tokio::test]
async fn invalid_requests_return_couchdb_errors() {
    let couch = Couch::new().await;
    couch.put("/db/gone", "{}").await;
    let (_, gone) = couch.get("/db/gone").await;
    let path = format!("/db/gone?rev={}", gone["_rev"].as_str().unwrap());
    assert_eq!(couch.ask(Method::DELETE, &path, "").await.0, 200);
    let (get, put, post, delete) = (Method::GET, Method::PUT, Method::POST, Method::DELETE);
    let none = "{\"docs\":[]}";
    for (method, path, body, status, error, reason) in [
        (
            &put,
            "/db",
            "",
            412,
            "file_exists",
            "The database could not be created, the file already exists.",
        ),
        (&put, "/Db", "", 400, "illegal_database_name", "Name: 'Db'. Only lowercase"),
        (&put, "/_x", "", 400, "illegal_database_name", ""),
        (&get, "/none", "", 404, "not_found", "Database does not exist."),
        (&get, "/none/x", "", 404, "not_found", "Database does not exist."),
        (&delete, "/db?rev=1-a", "", 400, "bad_request", ""),
        (&get, "/db/x", "", 404, "not_found", "missing"),
        (&get, "/db/gone", "", 404, "not_found", "deleted"),
        (&get, "/db/x?rev=1", "", 400, "bad_request", "Invalid rev format"),
        (
            &put,
            "/db/_x",
            "{}",
            400,
            "illegal_docid",
            "Only reserved document ids may start with underscore.",
        ),
        (&put, "/db/x", "[]", 400, "bad_request", "Document must be a JSON object"),
        (&put, "/db/x", "{", 400, "bad_request", "invalid UTF-8 JSON"),
        (&put, "/db/x", "{\"_x\":1}", 400, "doc_validation", "Bad special document member: _x"),
        (
            &put,
            "/db/x?rev=1-a",
            "{\"_rev\":\"1-b\"}",
            400,
            "bad_request",
            "Document rev from request body and query string have different values",
        ),
        (
            &put,
            "/db/x?new_edits=false",
            "{}",
            400,
            "bad_request",
            "When `new_edits: false`, the document needs `_rev` or `_revisions` specified",
        ),
        (
            &put,
            "/db/x",
            "{\"_attachments\":{\"a\":{\"stub\":true}}}",
            412,
            "missing_stub",
            "Invalid attachment stub in x for a",
        ),
        (
            &put,
            "/db/x",
            "{\"_attachments\":{\"a\":{\"data\":\"?\"}}}",
            400,
            "bad_request",
            "Invalid attachment data for a",
        ),
        (&delete, "/db/x", "", 404, "not_found", "missing"),
        (
            &post,
            "/db/_bulk_docs",
            "{}",
            400,
            "bad_request",
            "POST body must include `docs` parameter.",
        ),
        (
            &post,
            "/db/_bulk_docs",
            "{\"docs\":1}",
            400,
            "bad_request",
            "`docs` parameter must be an array.",
        ),
        (
            &post,
            "/db/_bulk_docs",
            "{\"docs\":[1]}",
            400,
            "bad_request",
            "Document must be a JSON object",
        ),
        (&post, "/db/_bulk_get", "{}", 400, "bad_request", "Missing JSON list of 'docs'."),
        (&post, "/db/_revs_diff", "[]", 400, "bad_request", "Request body must be a JSON object"),
        (&post, "/db/_revs_diff", "{\"x\":1}", 400, "bad_request", ""),
        (&post, "/db/_revs_diff", "{\"x\":[\"1\"]}", 400, "bad_request", "Invalid rev format"),
        (
            &get,
            "/db/_changes?since=x",
            "",
            400,
            "bad_request",
            "Malformed sequence supplied in 'since' parameter.",
        ),
        (&get, "/db/_changes?feed=x", "", 400, "bad_request", ""),
        (&get, "/db/_changes?heartbeat=0", "", 400, "bad_request", ""),
        (
            &get,
            "/db/_changes?filter=x",
            "",
            400,
            "bad_request",
            "`filter` must be of the form `designname/filtername`",
        ),
        (&get, "/db/_changes?filter=x/y", "", 404, "not_found", "missing"),
        (&get, "/db/x/a", "", 404, "not_found", "missing"),
        (&get, "/db/_local/x", "", 404, "not_found", "missing"),
        (&put, "/db/_local/x", "{\"_rev\":\"1-a\"}", 400, "bad_request", "Invalid rev format"),
        (&delete, "/db/_local/x", "", 404, "not_found", "missing"),
        (&put, "/db/_revs_limit", "0", 400, "bad_request", ""),
        (&post, "/db/_find", "{}", 400, "missing_required_key", "Missing required key: selector"),
        (&post, "/db/_find", "{\"selector\":{\"a\":{\"$x\":1}}}", 400, "bad_request", ""),
        (&post, "/db/_search", "{}", 501, "not_implemented", ""),
        (&post, "/db/_all_docs/queries", "{}", 400, "bad_request", "`queries`"),
        (&get, "/db/_all_docs?keys=%5B%5D&key=1", "", 400, "query_parse_error", "incompatible"),
        (&post, "/_session", "{}", 400, "bad_request", "request body must contain a username"),
        (&get, "/db/_design/x/_view/y", "", 404, "not_found", "missing"),
        (&post, "/db/_design/x/_view/y", "{}", 404, "not_found", "missing"),
        (&delete, "/db/_bulk_docs", none, 405, "method_not_allowed", "Only POST allowed"),
        (&put, "/", "{}", 405, "method_not_allowed", "Only GET,HEAD allowed"),
        (&put, "/db?partitioned=true", "", 412, "file_exists", ""),
        (&put, "/parts?partitioned=true", "", 501, "not_implemented", "Partitioned databases"),
        (&put, "/parts?partitioned=x", "", 400, "query_parse_error", "partitioned"),
        (&get, "/parts", "", 404, "not_found", "Database does not exist."),
        (&get, "/db/%ff", "", 404, "not_found", ""),
    ] {
        let (found, said) = couch.ask(method.clone(), path, body).await;
        let place = format!("{method} {path} {body}: {said}");
        assert_eq!((found, said["error"].as_str()), (status, Some(error)), "{place}");
        assert!(said["reason"].as_str().unwrap().contains(reason), "{place}");
    }
    let (_, info) = couch.get("/db").await;
    assert_eq!((&info["doc_count"], &info["doc_del_count"]), (&json!(0), &json!(1)));
}

/// The media type is required exactly where CouchDB requires it (section 2).
#[tokio::test]
async fn bodies_are_said_to_be_json() {
    let couch = Couch::new().await;
    for path in ["_bulk_docs", "_bulk_get", "_revs_diff", "_changes", "_find", "_index"] {
        let path = format!("/db/{path}");
        let sent = [("content-type", "text/plain")];
        let response = couch.send(Method::POST, &path, &sent, "{\"docs\":[]}").await;
        let (status, told) = said(response).await;
        assert_eq!((status, &told["error"]), (415, &json!("bad_content_type")), "{path}");
    }
    let response = couch.send(Method::PUT, "/db/x", &[], "{}").await;
    assert_eq!(response.status(), 201);
    // An application that sends all requests through one function declares the type of empty bodies too
    // (CL7).
    assert_eq!(couch.send(Method::GET, "/db/x", &[JSON], "").await.status(), 200);
}

#[tokio::test]
async fn server_information_is_stable() {
    let couch = Couch::new().await;
    let (status, welcome) = couch.get("/").await;
    assert_eq!((status, &welcome["couchdb"]), (200, &json!("Welcome")));
    assert_eq!(welcome["uuid"].as_str().unwrap().len(), 32);
    assert_eq!(couch.get("").await.1, welcome, "with a slash and without");
    let database = couch.get("/db").await.1;
    assert_eq!(couch.get("/db/").await.1, database);
    let commit = couch.post("/db/_ensure_full_commit", "").await;
    assert_eq!(
        commit,
        (201, json!({"ok": true, "instance_start_time": database["instance_start_time"]}))
    );
    assert_eq!(couch.get("/_up").await, (200, json!({"status": "ok", "seeds": {}})));
    let session = couch.get("/_session").await.1;
    assert_eq!((&session["ok"], &session["userCtx"]["name"]), (&json!(true), &json!(null)));
    let all = couch.get("/_all_dbs").await.1;
    assert_eq!(all, json!(["db"]));
    let uuids = couch.get("/_uuids?count=3").await.1;
    assert_eq!(uuids["uuids"].as_array().unwrap().len(), 3);
}

/// A database that is created again is a different one, and keeps no data of the first (CG15).
#[tokio::test]
async fn a_database_that_is_made_again_begins_anew() {
    let couch = Couch::new().await;
    couch.put("/db/x", "{}").await;
    couch.put("/db/_local/c", "{\"a\":1}").await;
    let before = couch.get("/db").await.1;
    let place = before["update_seq"].as_str().unwrap().to_owned();
    assert_eq!(couch.ask(Method::DELETE, "/db/", "").await, (200, json!({"ok": true})));
    assert_eq!(couch.get("/db").await.0, 404);
    assert_eq!(couch.put("/db/", "").await.0, 201);
    assert_eq!(couch.get("/db/_local/c").await.0, 404);
    couch.put("/db/y", "{}").await;
    let after = couch.get(&format!("/db/_changes?since={place}")).await.1;
    assert_eq!(after["results"][0]["id"], "y", "a place of another life means its beginning");
    assert_ne!(couch.get("/db").await.1["instance_start_time"], before["instance_start_time"]);
}

/// The comparison uses the database as it is when the request body is complete, however long that takes.
#[tokio::test]
async fn revisions_are_missing_if_the_database_was_recreated_during_the_request() {
    let couch = Couch::new().await;
    couch.replicate(r#"{"_id":"x","_rev":"1-a"}"#).await;
    let asked = r#"{"x":["1-a"]}"#;
    assert_eq!(couch.post("/db/_revs_diff", asked).await, (200, json!({})));
    let router = couch.hub.router.clone();
    let slow = futures_util::stream::once(async move {
        for (method, expected) in [(Method::DELETE, 200), (Method::PUT, 201)] {
            let done = send(&router, method, "/db", &[JSON], String::new()).await;
            assert_eq!(done.status().as_u16(), expected);
        }
        Ok::<_, std::io::Error>(asked)
    });
    let body = Body::from_stream(slow);
    let response = couch.send(Method::POST, "/db/_revs_diff", &[JSON], body).await;
    assert_eq!(response.status().as_u16(), 404, "it was another one");
    let missing = json!({"x": {"missing": ["1-a"]}});
    assert_eq!(couch.post("/db/_revs_diff", asked).await, (200, missing.clone()));
    couch.replicate(r#"{"_id":"x","_rev":"1-a"}"#).await;
    couch.post("/db/_purge", asked).await;
    assert_eq!(couch.post("/db/_revs_diff", asked).await, (200, missing));
}

#[tokio::test]
async fn a_database_is_set_as_it_is_asked_to_be() {
    let couch = Couch::new().await;
    assert_eq!(couch.get("/db/_revs_limit").await, (200, json!(1_000)));
    assert_eq!(couch.put("/db/_revs_limit", "3").await, (200, json!({"ok": true})));
    assert_eq!(couch.get("/db/_revs_limit").await.1, json!(3));
    couch.replicate(r#"{"_id":"x","_revisions":{"start":5,"ids":["e","d","c","b","a"]}}"#).await;
    let path = couch.get("/db/x?revs=true").await.1;
    assert_eq!(path["_revisions"], json!({"start": 5, "ids": ["e", "d", "c"]}));
    let security = r#"{"members":{"names":["a"],"roles":[]}}"#;
    assert_eq!(couch.put("/db/_security", security).await.0, 200);
    assert_eq!(
        couch.get("/db/_security").await.1,
        serde_json::from_str::<serde_json::Value>(security).unwrap()
    );
    let (status, purged) = couch.post("/db/_purge", r#"{"x":["5-e","4-d"],"y":["1-a"]}"#).await;
    assert_eq!((status, &purged["purged"]), (201, &json!({"x": ["5-e"], "y": []})));
    assert_eq!(couch.get("/db/x").await.0, 404);
    assert_eq!(couch.get("/db/_changes").await.1["results"], json!([]));
}

/// A replicated path may descend from a stored leaf by ancestors that are no longer stored: that revision is
/// no leaf any more (CG10).
#[tokio::test]
async fn a_path_longer_than_what_is_kept_ends_what_it_came_of() {
    let couch = Couch::new().await;
    couch.put("/db/_revs_limit", "3").await;
    couch.replicate(r#"{"_id":"x","_rev":"1-a"},{"_id":"y","_rev":"1-a"}"#).await;
    let ids = r#"{"start":6,"ids":["f","e","d","c","b","a"]}"#;
    couch
        .replicate(&format!(
            r#"{{"_id":"x","_deleted":true,"_revisions":{ids}}},{{"_id":"y","_revisions":{ids}}}"#
        ))
        .await;
    let (status, said) = couch.get("/db/x").await;
    assert_eq!((status, &said["reason"]), (404, &json!("deleted")));
    let (_, said) = couch.get("/db/y?revs=true&conflicts=true").await;
    let path = json!({"start": 6, "ids": ["f", "e", "d"]});
    assert_eq!(said, json!({"_id": "y", "_rev": "6-f", "_revisions": path}));
}

/// A document that is named twice is purged once, and the response reports the remaining leaves.
#[tokio::test]
async fn document_named_twice_is_purged_once() {
    let couch = Couch::new().await;
    couch
        .replicate(r#"{"_id":"x","_rev":"1-a"},{"_id":"x","_rev":"1-b"},{"_id":"x","_rev":"1-c"}"#)
        .await;
    let before = couch.get("/db").await.1["update_seq"].clone();
    let (status, purged) = couch.post("/db/_purge", r#"{"x":["1-c"],"x":["1-b"]}"#).await;
    assert_eq!((status, &purged["purged"]["x"]), (201, &json!(["1-b", "1-c"])));
    assert_eq!(couch.get("/db/x?conflicts=true").await, (200, json!({"_id": "x", "_rev": "1-a"})));
    let path = format!("/db/_changes?since={}", before.as_str().unwrap());
    assert_eq!(couch.get(&path).await.1["results"][0]["changes"], json!([{"rev": "1-a"}]));
}

/// An invalid `_security` would name nobody, or everybody.
#[tokio::test]
async fn whom_a_database_names_is_said_so_that_it_can_be_understood() {
    let couch = Couch::new().await;
    for security in [
        r#"[]"#,
        r#"{"members":"anna"}"#,
        r#"{"members":{"names":"anna"}}"#,
        r#"{"members":{"names":["anna",1]}}"#,
        r#"{"members":{"roles":"x"}}"#,
        r#"{"admins":{"names":null}}"#,
    ] {
        let (status, told) = couch.put("/db/_security", security).await;
        assert_eq!((status, &told["error"]), (400, &json!("bad_request")), "{security}");
    }
    assert_eq!(couch.put("/db/_security", "{}").await.0, 200);
}

/// Compaction frees the space of superseded revisions (CL43, CL44).
#[tokio::test]
async fn compaction_gives_space_back() {
    let couch = Couch::new().await;
    let mut revision = String::new();
    for number in 0..4 {
        let path = format!("/db/x?rev={revision}");
        let path = if number == 0 { "/db/x" } else { &path };
        let body = format!("{{\"n\":{number},\"long\":\"{}\"}}", "x".repeat(1_000));
        revision = couch.put(path, &body).await.1["rev"].as_str().unwrap().to_owned();
    }
    let size = async || couch.get("/db").await.1["sizes"]["file"].as_u64().unwrap();
    let before = size().await;
    assert!(before > 4_000);
    let info = couch.get("/db/x?revs_info=true").await.1;
    let old = info["_revs_info"][3]["rev"].as_str().unwrap();
    assert_eq!(couch.get(&format!("/db/x?rev={old}")).await.1["n"], 0);
    assert_eq!(couch.post("/db/_compact", "").await, (202, json!({"ok": true})));
    assert!(size().await < before / 3);
    assert_eq!(couch.get(&format!("/db/x?rev={old}")).await.0, 404);
    assert_eq!(couch.get("/db/x").await.1["n"], 3);
    assert_eq!(couch.get("/db").await.1["compact_running"], false);
}

/// HEAD has the headers of GET, without a body.
#[tokio::test]
async fn heads_are_those_of_answers() {
    let couch = Couch::new().await;
    couch.put("/db/x", "{\"a\":1}").await;
    for path in ["/", "/db", "/db/", "/db/x", "/db/none", "/none", "/_all_dbs"] {
        let get = couch.send(Method::GET, path, &[], "").await;
        let head = couch.send(Method::HEAD, path, &[], "").await;
        assert_eq!(get.status(), head.status(), "{path}");
        assert_eq!(text(&get, "content-type"), text(&head, "content-type"));
        assert_eq!(text(&get, "etag"), text(&head, "etag"));
        assert!(bytes(head).await.is_empty());
    }
}

/// All databases are listed, however many (one read returns a thousand).
#[tokio::test]
async fn all_databases_are_listed() {
    let couch = Couch::new().await;
    let databases = couch.hub.endpoint.databases();
    let names: Vec<String> = (0..1_100).map(|it| format!("d{it:04}")).collect();
    for name in &names {
        databases.create_database(&name.parse().unwrap(), Default::default()).await.unwrap();
    }
    let all = couch.get("/_all_dbs").await.1;
    assert_eq!(all.as_array().unwrap().len(), 1_101);
    assert_eq!((&all[0], &all[1_100]), (&json!("d0000"), &json!("db")));
    assert_eq!(couch.get("/_all_dbs?skip=1099&limit=1").await.1, json!(["d1099"]));
    assert_eq!(couch.get("/_all_dbs?skip=1101").await.1, json!([]));
    assert_eq!(couch.get("/_all_dbs?limit=0").await.1, json!([]));
}

/// If the database was replaced by another one meanwhile, the response is aborted, so that the client knows
/// that it is incomplete.
#[tokio::test]
async fn an_answer_breaks_off_where_the_rest_cannot_be_told() {
    let ids: Vec<String> = (0..2_500).map(|at| format!("{at:04}")).collect();
    let list =
        |each: &dyn Fn(&String) -> String| ids.iter().map(each).collect::<Vec<_>>().join(",");
    let keys = format!("{{\"keys\":[{}]}}", list(&|id| format!("\"{id}\"")));
    let documents = format!("{{\"docs\":[{}]}}", list(&|id| format!("{{\"id\":\"{id}\"}}")));
    let couch = Couch::new().await;
    for (path, body) in [
        ("_all_docs", "{}"),
        ("_all_docs?include_docs=true", &keys),
        ("_bulk_get", &documents),
        ("_find", "{\"selector\":{},\"limit\":10000}"),
        ("_changes", "{}"),
    ] {
        couch.replicate(&list(&|id| format!("{{\"_id\":\"{id}\",\"_rev\":\"1-a\"}}"))).await;
        let path = format!("/db/{path}");
        let answer = couch.send(Method::POST, &path, &[JSON], body.to_owned()).await;
        assert_eq!(answer.status(), 200, "{path}");
        let mut told = answer.into_body().into_data_stream();
        assert!(told.next().await.expect("something").is_ok(), "{path}");
        assert_eq!(couch.ask(Method::DELETE, "/db", "").await.0, 200);
        assert_eq!(couch.put("/db", "").await.0, 201);
        couch.replicate("{\"_id\":\"2499\",\"_rev\":\"1-other\"}").await;
        let mut rest = Vec::new();
        while let Some(piece) = told.next().await {
            rest.push(piece.map(|bytes| String::from_utf8_lossy(&bytes).contains("1-other")));
        }
        assert!(rest.last().is_some_and(Result::is_err), "{path}: {rest:?}");
        assert!(rest.iter().flatten().all(|is_of_other| !is_of_other), "{path}");
        assert_eq!(couch.ask(Method::DELETE, "/db", "").await.0, 200);
        assert_eq!(couch.put("/db", "").await.0, 201);
    }
}
