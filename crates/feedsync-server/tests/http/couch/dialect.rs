//! Requests of CouchDB drivers besides replication, over both backends.

use http::Method;
use serde_json::{Value, json};

use super::{Couch, said};
use crate::hub::{bytes, text};

/// Keys of a listing, `null` for each one that was not found.
fn ids(listing: &Value) -> Vec<Option<&str>> {
    let rows = listing["rows"].as_array().unwrap_or_else(|| panic!("{listing}"));
    rows.iter().map(|row| row["id"].as_str()).collect()
}

async fn with_documents(couch: &Couch) {
    for id in ["a", "b", "c", "d"] {
        couch.put(&format!("/db/{id}"), "{}").await;
    }
    for id in ["_design/x", "_design/y"] {
        couch.put(&format!("/db/{id}"), "{}").await;
    }
    let gone = couch.put("/db/aa", "{}").await.1["rev"].clone();
    let path = format!("/db/aa?rev={}", gone.as_str().unwrap());
    assert_eq!(couch.ask(Method::DELETE, &path, "").await.0, 200);
}

#[tokio::test]
async fn listings_take_key_and_keys_in_every_form() {
    for couch in Couch::on_both_backends().await {
        with_documents(&couch).await;
        let one = [Some("b")];
        assert_eq!(ids(&couch.get("/db/_all_docs?key=%22b%22").await.1), one);
        assert_eq!(ids(&couch.post("/db/_all_docs", r#"{"key":"b"}"#).await.1), one);
        assert_eq!(ids(&couch.post("/db/_all_docs?key=%22b%22", "{}").await.1), one);
        let several = [Some("c"), None, Some("a")];
        let path = "/db/_all_docs?keys=%5B%22c%22,%22none%22,%22a%22%5D";
        let body = r#"{"keys":["c","none","a"]}"#;
        for listing in [couch.get(path).await, couch.post("/db/_all_docs", body).await] {
            assert_eq!((listing.0, ids(&listing.1)), (200, several.to_vec()));
            assert_eq!((&listing.1["total_rows"], &listing.1["offset"]), (&json!(6), &json!(null)));
            assert_eq!(listing.1["rows"][1], json!({"key": "none", "error": "not_found"}));
        }
        let body = r#"{"startkey":"b","limit":2,"include_docs":true}"#;
        let (_, listing) = couch.post("/db/_all_docs", body).await;
        assert_eq!(ids(&listing), [Some("b"), Some("c")]);
        assert_eq!(listing["rows"][0]["doc"]["_id"], "b");
        let designs = [Some("_design/x"), Some("_design/y")];
        for (path, expected) in [
            ("/db/_design_docs", &designs[..]),
            ("/db/_design_docs?descending=true&limit=1", &designs[1..]),
            ("/db/_design_docs?startkey=%22_design/y%22", &designs[1..]),
            ("/db/_design_docs?key=%22_design/x%22", &designs[..1]),
            ("/db/_design_docs?endkey=%22b%22", &designs[..]),
            ("/db/_design_docs?startkey=%22b%22", &[]),
        ] {
            let (status, listing) = couch.get(path).await;
            assert_eq!((status, ids(&listing)), (200, expected.to_vec()), "{path}");
            assert_eq!(listing["total_rows"], 2, "{path}");
        }
        let (_, listing) = couch.post("/db/_design_docs", r#"{"keys":["_design/y"]}"#).await;
        assert_eq!(ids(&listing), designs[1..]);
    }
}

#[tokio::test]
async fn offset_counts_the_rows_before() {
    for couch in Couch::on_both_backends().await {
        with_documents(&couch).await;
        // In their order: _design/x, _design/y, a, b, c, d.
        for (query, offset) in [
            ("", 0),
            ("skip=2", 2),
            ("skip=99", 6),
            ("startkey=%22a%22", 2),
            ("startkey=%22b%22", 3),
            ("startkey=%22b%22&skip=1", 4),
            ("startkey=%22zz%22", 6),
            ("key=%22c%22", 4),
            ("endkey=%22b%22", 0),
            ("descending=true", 0),
            ("descending=true&startkey=%22b%22", 2),
            ("descending=true&startkey=%22b%22&skip=1", 3),
        ] {
            let (status, listing) = couch.get(&format!("/db/_all_docs?{query}")).await;
            assert_eq!((status, &listing["offset"]), (200, &json!(offset)), "{query}");
            assert_eq!(listing["total_rows"], 6, "{query}");
        }
    }
}

#[tokio::test]
async fn local_documents_are_listed() {
    for couch in Couch::on_both_backends().await {
        for id in ["b", "a", "c/d"] {
            couch.put(&format!("/db/_local/{id}"), r#"{"n":1}"#).await;
        }
        couch.put("/db/_local/a", r#"{"_rev":"0-1"}"#).await;
        let (status, all) = couch.get("/db/_local_docs").await;
        assert_eq!(
            (status, all),
            (
                200,
                json!({"total_rows": null, "offset": null, "rows": [
                    {"id": "_local/a", "key": "_local/a", "value": {"rev": "0-2"}},
                    {"id": "_local/b", "key": "_local/b", "value": {"rev": "0-1"}},
                    {"id": "_local/c/d", "key": "_local/c/d", "value": {"rev": "0-1"}},
                ]})
            )
        );
        let [a, b, c] = ["_local/a", "_local/b", "_local/c/d"].map(Some);
        for (query, expected) in [
            ("descending=true", vec![c, b, a]),
            ("descending=true&skip=1&limit=1", vec![b]),
            ("limit=1&skip=1", vec![b]),
            ("startkey=%22_local/b%22", vec![b, c]),
            ("key=%22_local/b%22", vec![b]),
            ("limit=0", vec![]),
            ("keys=%5B%22_local/c/d%22,%22_local/none%22,%22a%22%5D", vec![c, None, None]),
        ] {
            let (_, listing) = couch.get(&format!("/db/_local_docs?{query}")).await;
            assert_eq!(ids(&listing), expected, "{query}");
        }
        let (_, listing) = couch.get("/db/_local_docs?include_docs=true&limit=2&skip=1").await;
        assert_eq!(listing["rows"][0]["doc"], json!({"_id": "_local/b", "_rev": "0-1", "n": 1}));
    }
}

#[tokio::test]
async fn queries_are_answered_in_their_order() {
    for couch in Couch::on_both_backends().await {
        with_documents(&couch).await;
        couch.put("/db/_local/l", "{}").await;
        let body =
            r#"{"queries":[{"keys":["d","none"]},{"startkey":"a","limit":2},{"limit":0},{}]}"#;
        let (status, all) = couch.post("/db/_all_docs/queries", body).await;
        assert_eq!((status, all["results"].as_array().unwrap().len()), (200, 4));
        assert_eq!(ids(&all["results"][0]), [Some("d"), None]);
        assert_eq!(ids(&all["results"][1]), [Some("a"), Some("b")]);
        assert_eq!(all["results"][1]["offset"], 2);
        assert_eq!(ids(&all["results"][2]), []);
        assert_eq!(ids(&all["results"][3]).len(), 6);
        let (_, designs) = couch.post("/db/_design_docs/queries", r#"{"queries":[{}]}"#).await;
        assert_eq!(ids(&designs["results"][0]), [Some("_design/x"), Some("_design/y")]);
        let (_, local) = couch.post("/db/_local_docs/queries", r#"{"queries":[{},{}]}"#).await;
        assert_eq!(ids(&local["results"][1]), [Some("_local/l")]);
        assert_eq!(
            couch.post("/db/_all_docs/queries", r#"{"queries":[]}"#).await.1,
            json!({"results": []})
        );
        for body in
            ["{}", r#"{"queries":1}"#, r#"{"queries":[1]}"#, r#"{"queries":[{"limit":"x"}]}"#]
        {
            assert_eq!(couch.post("/db/_all_docs/queries", body).await.0, 400, "{body}");
        }
        assert_eq!(couch.get("/db/_all_docs/queries").await.0, 405);
    }
}

#[tokio::test]
async fn a_document_is_copied() {
    let copy = || Method::from_bytes(b"COPY").unwrap();
    for couch in Couch::on_both_backends().await {
        let document =
            r#"{"n":1,"_attachments":{"a":{"content_type":"text/plain","data":"aGVsbG8="}}}"#;
        let first = couch.put("/db/x", document).await.1["rev"].clone();
        let first = first.as_str().unwrap();
        let path = format!("/db/x?rev={first}");
        couch.put(&path, r#"{"n":2}"#).await;
        let send = async |path: &str, destination: &str| {
            couch.send(copy(), path, &[("destination", destination)], "").await
        };
        let copied = send("/db/x", "new%2Fid").await;
        assert_eq!(copied.status(), 201);
        assert!(text(&copied, "location").ends_with("/couch/db/new%2Fid"));
        let tag = text(&copied, "etag").to_owned();
        let (_, told) = said(copied).await;
        assert_eq!((&told["ok"], &told["id"]), (&json!(true), &json!("new/id")));
        assert_eq!(tag, format!("\"{}\"", told["rev"].as_str().unwrap()));
        assert_eq!(couch.get("/db/new%2Fid").await.1["n"], 2);
        // An older revision, copied over an existing document, with its attachments.
        let target = format!("new%2Fid?rev={}", told["rev"].as_str().unwrap());
        assert_eq!(send(&path, "new%2Fid").await.status(), 409);
        assert_eq!(send(&path, &target).await.status(), 201);
        let (_, both) = couch.get("/db/new%2Fid").await;
        assert_eq!((&both["n"], &both["_attachments"]["a"]["length"]), (&json!(1), &json!(5)));
        let attached = couch.send(Method::GET, "/db/new%2Fid/a", &[], "").await;
        assert_eq!(&*bytes(attached).await, b"hello");
        for (path, destination, status) in [
            ("/db/none", "y", 404),
            ("/db/x?rev=9-z", "y", 404),
            ("/db/x", "http://example.org/y", 400),
            ("/db/x", "_local/y", 400),
            ("/db/x", "y?rev=x", 400),
            ("/none/x", "y", 404),
            ("/db", "y", 405),
            ("/", "y", 405),
        ] {
            assert_eq!(send(path, destination).await.status(), status, "{path} {destination}");
        }
        assert_eq!(couch.send(copy(), "/db/x", &[], "").await.status(), 400);
        let other = Method::from_bytes(b"PATCH").unwrap();
        let refused = couch.send(other, "/db/x", &[], "").await;
        assert!(text(&refused, "allow").contains("COPY"), "{refused:?}");
        assert_eq!(refused.status(), 405);
    }
}

#[tokio::test]
async fn databases_are_listed_with_what_is_known_of_them() {
    for couch in Couch::on_both_backends().await {
        for name in ["a", "b", "c"] {
            couch.put(&format!("/{name}"), "").await;
        }
        couch.put("/b/x", "{}").await;
        let info = couch.get("/b").await.1;
        for (query, expected) in [
            ("", json!(["a", "b", "c", "db"])),
            ("?descending=true", json!(["db", "c", "b", "a"])),
            (
                "?descending=true&startkey=%22c%22&endkey=%22a%22&inclusive_end=true",
                json!(["c", "b", "a"]),
            ),
            ("?startkey=%22b%22&limit=2", json!(["b", "c"])),
            ("?startkey=%22b%22&endkey=%22c%22&inclusive_end=false", json!(["b"])),
            ("?key=%22b%22", json!(["b"])),
            ("?skip=3", json!(["db"])),
        ] {
            assert_eq!(couch.get(&format!("/_all_dbs{query}")).await.1, expected, "{query}");
        }
        let (status, all) = couch.get("/_dbs_info?startkey=%22b%22&limit=1").await;
        assert_eq!((status, all), (200, json!([{"key": "b", "info": info}])));
        let (status, some) = couch.post("/_dbs_info", r#"{"keys":["none","b","_x"]}"#).await;
        let none = |key: &str| json!({"key": key, "error": "not_found"});
        assert_eq!(status, 200);
        assert_eq!(some, json!([none("none"), {"key": "b", "info": info}, none("_x")]));
        let many = json!({"keys": vec!["a"; 101]}).to_string();
        for body in ["{}", r#"{"keys":1}"#, &many] {
            assert_eq!(couch.post("/_dbs_info", body).await.0, 400, "{body}");
        }
    }
}

#[tokio::test]
async fn figures_are_those_of_requests_to_databases() {
    let couch = Couch::new().await;
    couch.put("/db/x", "{}").await;
    assert_eq!(couch.get("/db/none").await.0, 404);
    let (status, all) = couch.get("/_node/_local/_stats").await;
    assert_eq!(status, 200);
    let httpd = &all["couchdb"];
    assert_eq!(httpd["httpd_request_methods"]["PUT"]["value"], 2);
    assert_eq!(
        httpd["httpd_status_codes"]["404"],
        json!({"value": 1, "type": "counter", "desc": "number of HTTP 404 responses"})
    );
    assert_eq!(httpd["httpd"]["requests"]["value"], 3);
    let (_, one) = couch.get("/_node/nonode@nohost/_stats/couchdb/httpd/requests").await;
    assert_eq!(one["value"], 4);
    assert_eq!(couch.get("/_node/_local/_stats/couchdb/none").await.0, 404);
    assert!(couch.get("/_node/_local/_system").await.1["uptime"].is_u64());
    let page = couch.send(Method::GET, "/_node/_local/_prometheus", &[], "").await;
    assert!(text(&page, "content-type").starts_with("text/plain"));
    let page = String::from_utf8(bytes(page).await.to_vec()).unwrap();
    assert!(page.contains("couchdb_httpd_request_methods{method=\"PUT\"} 2\n"), "{page}");
    assert!(page.contains("# TYPE couchdb_uptime_seconds counter\n"), "{page}");
    assert_eq!(couch.get("/_node/_local").await.1, json!({"name": "nonode@nohost"}));
    assert_eq!(couch.get("/_node/other/_stats").await.0, 404);
}

#[tokio::test]
async fn a_database_is_one_shard() {
    let couch = Couch::new().await;
    let node = "nonode@nohost";
    let shards = json!({"shards": {"00000000-ffffffff": [node]}});
    assert_eq!(couch.get("/db/_shards").await, (200, shards));
    let one = json!({"range": "00000000-ffffffff", "nodes": [node]});
    assert_eq!(couch.get("/db/_shards/x%2Fy").await, (200, one));
    assert_eq!(couch.post("/db/_sync_shards", "").await, (202, json!({"ok": true})));
    assert_eq!(couch.get("/none/_shards").await.0, 404);
}

#[tokio::test]
async fn writes_with_batch_ok_answer_202_and_are_stored() {
    for couch in Couch::on_both_backends().await {
        let put = couch.put("/db/a?batch=ok", "{\"n\":1}").await;
        assert_eq!(put, (202, json!({"ok": true, "id": "a"})));
        let read = couch.get("/db/a").await.1;
        assert_eq!(read["n"], 1);
        let (status, posted) = couch.post("/db?batch=ok", "{\"_id\":\"b\"}").await;
        assert_eq!((status, posted), (202, json!({"ok": true, "id": "b"})));
        assert_eq!(couch.get("/db/b").await.0, 200);
        // An invalid write is refused all the same.
        assert_eq!(couch.put("/db/a?batch=ok", "{}").await.0, 409);
        let path = format!("/db/a?batch=ok&rev={}", read["_rev"].as_str().unwrap());
        let deleted = couch.ask(Method::DELETE, &path, "").await;
        assert_eq!(deleted, (202, json!({"ok": true, "id": "a"})));
        assert_eq!(couch.get("/db/a").await.0, 404);
        assert_eq!(couch.put("/db/c?batch=no", "{}").await.0, 201);
    }
}

#[tokio::test]
async fn purged_infos_are_empty_and_have_a_limit() {
    for couch in Couch::on_both_backends().await {
        let none = (200, json!({"purged_infos": []}));
        assert_eq!(couch.get("/db/_purged_infos").await, none);
        assert_eq!(couch.get("/db/_purged_infos_limit").await, (200, json!(1_000)));
        for path in ["/db/_purged_infos", "/db/_purged_infos_limit"] {
            assert_eq!(couch.post(path, "{}").await.0, 405, "{path}");
        }
        assert_eq!(couch.get("/none/_purged_infos").await.0, 404);
    }
}
