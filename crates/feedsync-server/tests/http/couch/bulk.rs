//! `_bulk_docs` of replicated revisions: it accepts what CouchDB accepts, and refuses documents individually.

use http::Method;
use serde_json::{Value, json};

use super::Couch;

/// Rows of the response to these documents with `new_edits=false`.
async fn replicated(couch: &Couch, documents: &[Value]) -> Vec<Value> {
    let body = json!({"docs": documents, "new_edits": false}).to_string();
    let (status, rows) = couch.post("/db/_bulk_docs", &body).await;
    assert_eq!(status, 201, "{rows}");
    serde_json::from_value(rows).unwrap()
}

#[tokio::test]
async fn revisions_that_couchdb_takes_are_taken() {
    for couch in Couch::on_both_backends().await {
        for (id, given, kept) in [
            ("empty", "1-", "1-"),
            ("odd", "1-a b~\"\\\u{e4}", "1-a b~\"\\\u{e4}"),
            ("long", "3-0123456789abcdef0123456789abcdef0", "3-0123456789abcdef0123456789abcdef0"),
            ("upper", "2-967A00DFF5E02ADD41819138ABB3284D", "2-967a00dff5e02add41819138abb3284d"),
            ("beyond", "9007199254740993-a", "9007199254740993-a"),
            ("last", "18446744073709551614-a", "18446744073709551614-a"),
            ("zeros", "007-a", "7-a"),
        ] {
            let rows = replicated(&couch, &[json!({"_id": id, "_rev": given, "n": 1})]).await;
            assert_eq!(rows, Vec::<Value>::new(), "{given}");
            let (status, document) = couch.get(&format!("/db/{id}?revs=true")).await;
            assert_eq!((status, &document["_rev"]), (200, &json!(kept)), "{given}");
            let asked = json!({id: [given]}).to_string();
            assert_eq!(couch.post("/db/_revs_diff", &asked).await, (200, json!({})), "{given}");
        }
        // An edit continues from there; after the last generation there is none.
        let (status, told) = couch.put("/db/empty?rev=1-", "{}").await;
        assert_eq!(status, 201, "{told}");
        assert!(told["rev"].as_str().unwrap().starts_with("2-"), "{told}");
        assert_eq!(couch.put("/db/last?rev=18446744073709551614-a", "{}").await.0, 409);
        let path = r#"{"_id":"empty","_revisions":{"start":3,"ids":["","x",""]}}"#;
        couch.replicate(path).await;
        let all = couch.get("/db/empty?rev=3-&revs=true").await.1;
        assert_eq!(all["_revisions"]["ids"], json!(["", "x", ""]));
    }
}

/// An error in one document does not affect the others.
#[tokio::test]
async fn a_document_that_is_refused_leaves_the_others_alone() {
    let faulty = [
        (json!({"_id": "f", "_rev": "x"}), "bad_request"),
        (json!({"_id": "f", "_rev": "0-a"}), "bad_request"),
        (json!({"_id": "f", "_rev": "-1-a"}), "bad_request"),
        (json!({"_id": "f", "_rev": "99999999999999999999-a"}), "bad_request"),
        (json!({"_id": "f", "_rev": format!("1-{}", "z".repeat(32))}), "bad_request"),
        (json!({"_id": "f", "_rev": 1}), "bad_request"),
        (json!({"_id": "f"}), "bad_request"),
        (json!({"_id": "_f", "_rev": "1-a"}), "illegal_docid"),
        (json!({"_id": 1, "_rev": "1-a"}), "illegal_docid"),
        (json!({"_id": "f", "_rev": "1-a", "_bad": 1}), "doc_validation"),
        (json!({"_id": "f", "_revisions": {"start": 1, "ids": ["a", "b"]}}), "doc_validation"),
        (json!({"_id": "f", "_rev": "1-a", "_attachments": {"a": {"data": "?"}}}), "bad_request"),
        (json!({"_id": "f", "_rev": "1-a", "_attachments": {"a": {"stub": true}}}), "missing_stub"),
        (
            json!({"_id": "f", "_rev": "1-a", "_attachments": {"a": {"follows": true}}}),
            "bad_request",
        ),
        (json!({"_id": "_local/f", "_rev": "x"}), "bad_request"),
        (json!([]), "bad_request"),
    ];
    for couch in Couch::on_both_backends().await {
        for (at, (faulty, error)) in faulty.iter().enumerate() {
            let [before, after] = ["before", "after"].map(|name| format!("{name}{at}"));
            let good = |id: &str| json!({"_id": id, "_rev": "1-a"});
            let rows = replicated(&couch, &[good(&before), faulty.clone(), good(&after)]).await;
            assert_eq!(rows.len(), 1, "{faulty}: {rows:?}");
            assert_eq!(rows[0]["error"], *error, "{faulty}: {rows:?}");
            assert_eq!(
                rows[0]["id"],
                *faulty.get("_id").filter(|id| id.is_string()).unwrap_or(&Value::Null)
            );
            assert!(rows[0]["reason"].is_string());
            for id in [before, after] {
                assert_eq!(couch.get(&format!("/db/{id}")).await.0, 200, "{faulty}");
            }
        }
        assert_eq!(couch.get("/db/f").await.0, 404);
        // An invalid document among edits refuses all of them, as in CouchDB.
        let body = json!({"docs": [{"_id": "new"}, {"_id": "_f"}]}).to_string();
        assert_eq!(couch.post("/db/_bulk_docs", &body).await.0, 400);
        assert_eq!(couch.get("/db/new").await.0, 404);
    }
}

#[tokio::test]
async fn local_documents_ignore_attachments() {
    for couch in Couch::on_both_backends().await {
        let body = r#"{"n":1,"_attachments":{"a":{"data":"aGVsbG8="}}}"#;
        assert_eq!(couch.put("/db/_local/x", body).await.0, 201);
        let expected = json!({"_id": "_local/x", "_rev": "0-1", "n": 1});
        assert_eq!(couch.get("/db/_local/x").await, (200, expected));
    }
}

/// A stub is not valid once compaction has removed the only revision that named the attachment.
#[tokio::test]
async fn a_stub_of_an_attachment_that_compaction_dropped_returns_412() {
    for couch in Couch::on_both_backends().await {
        let with = r#"{"_attachments":{"a":{"content_type":"text/plain","data":"aGVsbG8="}}}"#;
        let revision = couch.put("/db/x", with).await.1["rev"].clone();
        let digest = couch.get("/db/x").await.1["_attachments"]["a"]["digest"].clone();
        let path = format!("/db/x?rev={}", revision.as_str().unwrap());
        assert_eq!(couch.put(&path, "{}").await.0, 201);
        let stub = json!({"_attachments": {"a": {"stub": true, "digest": digest}}}).to_string();
        assert_eq!(couch.put("/db/early", &stub).await.0, 201, "a kept revision names it");
        let early = couch.get("/db/early").await.1["_rev"].clone();
        let path = format!("/db/early?rev={}", early.as_str().unwrap());
        assert_eq!(couch.ask(Method::DELETE, &path, "").await.0, 200);
        assert_eq!(couch.post("/db/_compact", "").await.0, 202);
        while couch.get("/db").await.1["compact_running"] == true {
            tokio::task::yield_now().await;
        }
        let (status, told) = couch.put("/db/late", &stub).await;
        assert_eq!((status, &told["error"]), (412, &json!("missing_stub")));
    }
}

/// Missing design documents and functions are 404, with CouchDB's reasons; existing functions are not
/// executed.
#[tokio::test]
async fn missing_functions_are_not_found() {
    for couch in Couch::on_both_backends().await {
        let design = r#"{"filters":{"f":"function() {}"},"views":{"v":{"map":"function() {}"}}}"#;
        couch.put("/db/_design/d", design).await;
        couch.put("/db/_design/empty", "{}").await;
        let gone = couch.put("/db/_design/gone", "{}").await.1["rev"].clone();
        let path = format!("/db/_design/gone?rev={}", gone.as_str().unwrap());
        assert_eq!(couch.ask(Method::DELETE, &path, "").await.0, 200);
        for (path, status, reason) in [
            ("/db/_changes?filter=none/f", 404, "missing"),
            ("/db/_changes?filter=gone/f", 404, "deleted"),
            ("/db/_changes?filter=empty/f", 404, "missing json key: filters"),
            ("/db/_changes?filter=d/none", 404, "missing json key: none"),
            ("/db/_changes?filter=d/v", 404, "missing json key: v"),
            ("/db/_changes?filter=d/f", 501, "not executed"),
            ("/db/_changes?filter=_view&view=none/v", 404, "missing"),
            ("/db/_changes?filter=_view&view=d/none", 404, "missing_named_view"),
            ("/db/_changes?filter=_view&view=d/v", 501, "not executed"),
            ("/db/_design/none/_view/v", 404, "missing"),
            ("/db/_design/gone/_view/v", 404, "deleted"),
            ("/db/_design/empty/_view/v", 404, "missing_named_view"),
            ("/db/_design/d/_view/none", 404, "missing_named_view"),
            ("/db/_design/d/_view/v", 501, "not executed"),
            ("/db/_design/d/_show/s", 404, "missing json key: shows"),
            ("/db/_design/d/_update/u", 404, "missing json key: updates"),
            ("/db/_design/d/_list/l/v", 404, "missing json key: lists"),
            ("/db/_design/none/_info", 404, "missing"),
            ("/db/_design/d/_none/x", 404, "missing handler"),
        ] {
            let (found, said) = couch.get(path).await;
            assert_eq!(found, status, "{path}: {said}");
            assert!(said["reason"].as_str().unwrap().contains(reason), "{path}: {said}");
        }
    }
}

/// `descending` begins at the newest change, whatever `since` says.
#[tokio::test]
async fn descending_changes_ignore_since() {
    for couch in Couch::on_both_backends().await {
        for id in ["a", "b", "c"] {
            couch.put(&format!("/db/{id}"), "{}").await;
        }
        let last = couch.get("/db").await.1["update_seq"].clone();
        for since in ["now", "0", last.as_str().unwrap()] {
            let path = format!("/db/_changes?descending=true&since={since}");
            let (_, all) = couch.get(&path).await;
            let ids: Vec<&str> = all["results"]
                .as_array()
                .unwrap()
                .iter()
                .map(|it| it["id"].as_str().unwrap())
                .collect();
            assert_eq!(ids, ["c", "b", "a"], "{since}");
            let (_, one) = couch.get(&format!("{path}&limit=1")).await;
            assert_eq!(one["results"].as_array().unwrap().len(), 1);
            assert_eq!(one["results"][0]["id"], "c");
        }
        assert_eq!(couch.get("/db/_changes?since=now").await.1["results"], json!([]));
    }
}
