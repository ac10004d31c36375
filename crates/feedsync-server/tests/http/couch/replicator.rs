//! Requests of CouchDB's replicator, which pulls from a hub, over both backends.

use feedsync_couch::multipart::Kind;
use http::{HeaderMap, Method};
use serde_json::{Value, json};

use super::parts::{parts, read};
use super::{Couch, JSON, said};
use crate::hub::text;

/// `open_revs` as CouchDB's replicator sends it, with the ancestors from `_revs_diff` of the target.
fn open_revs(id: &str, revision: &str, since: &[&str]) -> String {
    let list = |revisions: &[&str]| {
        let quoted: Vec<String> = revisions.iter().map(|it| format!("%22{it}%22")).collect();
        format!("%5B{}%5D", quoted.join("%2C"))
    };
    let path = format!("/db/{id}?revs=true&open_revs={}&latest=true", list(&[revision]));
    if since.is_empty() { path } else { format!("{path}&atts_since={}", list(since)) }
}

const MIXED: [(&str, &str); 1] = [("accept", "multipart/mixed")];

/// A revision with unchanged attachments only is sent as JSON: after `multipart/related` CouchDB waits for a
/// part, and stops for 300 seconds if none comes.
#[tokio::test]
async fn a_revision_with_stubs_alone_is_sent_as_json() {
    for couch in Couch::on_both_backends().await {
        let first = r#"{"_id":"x","_rev":"1-a","_attachments":{
            "a.txt":{"content_type":"text/plain","revpos":1,"data":"aGVsbG8="}}}"#;
        let second = r#"{"_id":"x","_revisions":{"start":2,"ids":["b","a"]},"n":2,"_attachments":{
            "a.txt":{"stub":true,"revpos":1}}}"#;
        let third = r#"{"_id":"x","_revisions":{"start":3,"ids":["c","b","a"]},"_attachments":{
            "a.txt":{"stub":true,"revpos":1},
            "b.txt":{"content_type":"text/plain","revpos":3,"data":"Yg=="}}}"#;
        couch.replicate(first).await;
        couch.replicate(second).await;
        for accept in [&MIXED[..], &[("accept", "multipart/mixed, multipart/related")], &[]] {
            let path = open_revs("x", "2-b", &["1-a"]);
            let (kind, found) = parts(couch.send(Method::GET, &path, accept, "").await).await;
            assert_eq!((kind, found.len()), (Kind::Mixed, 1));
            assert_eq!(found[0].0, "application/json");
            let document: Value = serde_json::from_slice(&found[0].1).unwrap();
            assert_eq!(document["_attachments"]["a.txt"]["stub"], true);
            assert_eq!(document["_revisions"], json!({"start": 2, "ids": ["b", "a"]}));
            // A client without any revision gets the content.
            let path = open_revs("x", "2-b", &[]);
            let (_, found) = parts(couch.send(Method::GET, &path, accept, "").await).await;
            let (kind, related) = read(&found[0].0, &found[0].1);
            assert_eq!((kind, &related[1].1[..]), (Kind::Related, &b"hello"[..]));
        }
        // The same for one revision: `multipart/related` only if a part follows.
        let since = "/db/x?attachments=true&atts_since=%5B%221-a%22%5D";
        for accept in [&[("accept", "multipart/related")][..], &[("accept", "*/*")], &[]] {
            let answer = couch.send(Method::GET, since, accept, "").await;
            assert_eq!(text(&answer, "content-type"), "application/json");
            let (status, document) = said(answer).await;
            assert_eq!((status, &document["_attachments"]["a.txt"]["stub"]), (200, &json!(true)));
        }
        // If one attachment is new, only that one follows.
        couch.replicate(third).await;
        let path = open_revs("x", "3-c", &["2-b", "1-a"]);
        let (_, found) = parts(couch.send(Method::GET, &path, &MIXED, "").await).await;
        let (kind, related) = read(&found[0].0, &found[0].1);
        assert_eq!((kind, related.len(), &related[1].1[..]), (Kind::Related, 2, &b"b"[..]));
        let document: Value = serde_json::from_slice(&related[0].1).unwrap();
        assert_eq!(document["_attachments"]["a.txt"]["stub"], true);
        assert_eq!(document["_attachments"]["b.txt"]["follows"], true);
    }
}

/// Several leaves of one document, each in the necessary form: a deletion, one with stubs, one with content,
/// and a missing one.
#[tokio::test]
async fn each_of_several_revisions_has_the_form_that_it_needs() {
    for couch in Couch::on_both_backends().await {
        let attachment = r#""_attachments":{"a":{"revpos":1,"data":"aGVsbG8="}}"#;
        let revisions = |ids: &str| format!(r#""_revisions":{{"start":2,"ids":[{ids},"a"]}}"#);
        let stub = r#""_attachments":{"a":{"stub":true,"revpos":1}}"#;
        let other = r#""_attachments":{"a":{"revpos":2,"data":"b3RoZXI="}}"#;
        couch.replicate(&format!(r#"{{"_id":"x","_rev":"1-a",{attachment}}}"#)).await;
        for (id, rest) in [("b", stub), ("c", other), ("d", "\"_deleted\":true")] {
            let revisions = revisions(&format!("\"{id}\""));
            couch.replicate(&format!(r#"{{"_id":"x",{revisions},{rest}}}"#)).await;
        }
        let open = "%5B%222-b%22%2C%222-c%22%2C%222-d%22%2C%222-e%22%5D";
        let path =
            format!("/db/x?revs=true&open_revs={open}&latest=true&atts_since=%5B%221-a%22%5D");
        let (kind, found) = parts(couch.send(Method::GET, &path, &MIXED, "").await).await;
        let types: Vec<&str> =
            found.iter().map(|(kind, _)| kind.split(';').next().unwrap()).collect();
        let json = "application/json";
        assert_eq!((kind, types), (Kind::Mixed, vec![json, "multipart/related", json, json]));
        let (_, related) = read(&found[1].0, &found[1].1);
        assert_eq!(&related[1].1[..], b"other");
        assert_eq!(found[3].1, b"{\"missing\":\"2-e\"}");
    }
}

/// Requests that CouchDB sends up to its checkpoint, in recorded order.
#[tokio::test]
async fn a_pull_by_couchdb_finds_everything() {
    for couch in Couch::on_both_backends().await {
        couch.put("/db/plain", r#"{"n":1}"#).await;
        let with = r#"{"_attachments":{"a":{"content_type":"text/plain","data":"aGVsbG8="}}}"#;
        let attached = couch.put("/db/attached", with).await.1["rev"].clone();
        let attached = attached.as_str().unwrap();
        couch.put("/db/_design/d", r#"{"views":{}}"#).await;
        let database = couch.get("/db/").await;
        assert_eq!(database.0, 200);
        let start_time = &database.1["instance_start_time"];
        assert!(start_time.is_string() && database.1["update_seq"].is_string());
        let place = "/db/_local/9c1a2b3c4d5e6f708192a3b4c5d6e7f8";
        assert_eq!(couch.get(place).await.0, 404);
        let changes =
            couch.get("/db/_changes?feed=normal&style=all_docs&since=0&timeout=10000").await.1;
        let rows = changes["results"].as_array().unwrap();
        assert_eq!((rows.len(), &changes["pending"]), (3, &json!(0)));
        let wanted = |row: &Value| json!({"id": row["id"], "rev": row["changes"][0]["rev"]});
        let body = json!({"docs": rows.iter().map(wanted).collect::<Vec<_>>()}).to_string();
        let path = "/db/_bulk_get?latest=true&revs=true&attachments=false";
        let found = couch.post(path, &body).await.1["results"].clone();
        assert_eq!(found.as_array().unwrap().len(), 3);
        assert!(found.as_array().unwrap().iter().all(|it| it["docs"][0]["ok"].is_object()));
        let path = open_revs("attached", attached, &[]);
        let (_, documents) = parts(couch.send(Method::GET, &path, &MIXED, "").await).await;
        let (_, related) = read(&documents[0].0, &documents[0].1);
        assert_eq!(&related[1].1[..], b"hello");
        let commit = couch.post("/db/_ensure_full_commit", "").await;
        assert_eq!((commit.0, &commit.1["instance_start_time"]), (201, start_time));
        let checkpoint =
            r#"{"session_id":"s","source_last_seq":"3","replication_id_version":4,"history":[]}"#;
        let headers = [JSON, ("x-couch-full-commit", "false")];
        let put = couch.send(Method::PUT, place, &headers, checkpoint.to_owned()).await;
        assert_eq!(said(put).await.0, 201);
        let last = changes["last_seq"].as_str().unwrap();
        let pending = couch.get(&format!("/db/_changes?since={last}&limit=0")).await.1;
        assert_eq!((&pending["pending"], &pending["results"]), (&json!(0), &json!([])));
        let head: HeaderMap = couch.send(Method::HEAD, "/db/", &[], "").await.headers().clone();
        assert_eq!(head["content-type"], "application/json");
    }
}
