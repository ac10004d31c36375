//! `_replicate`, `_active_tasks` and `_scheduler`: replications that the hub carries out.

mod documents;
mod remote;
mod rights;

use std::time::Duration;

use feedsync_fetch::{Fetcher, Policy, Private};
use feedsync_server::{Config, serve};
use feedsync_store::History;
use http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use super::served::replicating;
use super::{Couch, JSON, said, send};
use crate::hub::{TestHub, bytes, hub_in};

const SECOND: Duration = Duration::from_secs(1);

async fn couch() -> Couch {
    let directory = TempDir::new().unwrap();
    let TestHub { endpoint, .. } = hub_in(directory.path()).await;
    Couch::over(replicating(endpoint), Config::default(), directory).await
}

impl Couch {
    async fn start(&self, request: &Value) -> (u16, Value) {
        self.post("/_replicate", &request.to_string()).await
    }

    /// Waits until a document exists.
    async fn await_document(&self, path: &str) {
        let find = async {
            while self.get(path).await.0 != 200 {
                sleep(SECOND / 50).await;
            }
        };
        timeout(10 * SECOND, find).await.unwrap();
    }

    /// Ids and revisions of all leaves of a database.
    async fn leaves(&self, database: &str) -> Vec<(Value, Value)> {
        let changes = self.get(&format!("/{database}/_changes?style=all_docs")).await.1;
        let rows = changes["results"].as_array().unwrap().iter();
        let mut leaves: Vec<_> =
            rows.map(|row| (row["id"].clone(), row["changes"].clone())).collect();
        leaves.sort_by_key(|(id, _)| id.to_string());
        leaves
    }
}

/// Two leaves of `a`, one of them with an attachment, a deleted document, and one with a number.
const DOCUMENTS: &str = r#"{"_id":"a","_rev":"1-a","_attachments":{"t":{"data":"aGVsbG8="}}},
    {"_id":"a","_rev":"1-b"},{"_id":"b","_rev":"1-c","_deleted":true},{"_id":"c","_rev":"1-d","n":1.0}"#;

#[tokio::test]
async fn a_database_of_the_hub_is_replicated_into_another_one() {
    let couch = couch().await;
    couch.replicate(DOCUMENTS).await;
    let request = json!({"source": "db", "target": "copy", "create_target": true});
    let (status, report) = couch.start(&request).await;
    assert_eq!((status, &report["ok"], &report["no_changes"]), (200, &json!(true), &Value::Null));
    assert_eq!(report["replication_id_version"], 4);
    let history = &report["history"][0];
    for (name, count) in [
        ("missing_checked", 4),
        ("missing_found", 4),
        ("docs_read", 4),
        ("docs_written", 4),
        ("doc_write_failures", 0),
    ] {
        assert_eq!(history[name], count, "{name}: {report}");
    }
    assert_eq!(history["session_id"], report["session_id"]);
    assert_eq!(history["recorded_seq"], report["source_last_seq"]);
    assert!(history["start_time"].as_str().unwrap().ends_with(" GMT"), "{report}");
    assert_eq!(couch.leaves("copy").await, couch.leaves("db").await);
    let attachment = couch.send(Method::GET, "/copy/a/t?rev=1-a", &[], "").await;
    assert_eq!(&bytes(attachment).await[..], b"hello");
    // The next one begins at the checkpoint.
    let (status, again) = couch.start(&request).await;
    assert_eq!((status, &again["no_changes"]), (200, &json!(true)));
    assert_eq!(again["history"][0]["start_last_seq"], report["source_last_seq"]);
    assert_ne!(again["session_id"], report["session_id"]);
    // Without checkpoints it compares everything, and with a position it begins there.
    let request = json!({"source": "db", "target": "copy", "use_checkpoints": false});
    let (_, all) = couch.start(&request).await;
    assert_eq!(
        (&all["history"][0]["missing_checked"], &all["history"][0]["docs_read"]),
        (&json!(4), &json!(0))
    );
    let request = json!({"source": "db", "target": "copy", "since_seq": report["source_last_seq"]});
    assert_eq!(couch.start(&request).await.1["no_changes"], true);
}

#[tokio::test]
async fn documents_are_selected_by_ids_or_by_a_selector() {
    let couch = couch().await;
    couch.replicate(DOCUMENTS).await;
    for (target, name, selection, expected) in [
        ("ids", "doc_ids", json!(["b", "c", "none"]), vec!["b", "c"]),
        ("selected", "selector", json!({"n": 1}), vec!["c"]),
    ] {
        let request =
            json!({"source": "db", "target": target, "create_target": true, name: selection});
        assert_eq!(couch.start(&request).await.0, 200);
        let found: Vec<Value> = couch.leaves(target).await.into_iter().map(|(id, _)| id).collect();
        assert_eq!(found, expected);
    }
}

#[tokio::test]
async fn invalid_replications_return_couchdb_errors() {
    let couch = couch().await;
    for (request, status, error) in [
        (json!({"source": "none", "target": "db"}), 404, "db_not_found"),
        (json!({"source": "db", "target": "none"}), 404, "db_not_found"),
        (json!({"source": "db", "target": "x", "doc_id": ["a"]}), 400, "bad_request"),
        (json!({"source": "db", "target": "x", "winning_revs_only": true}), 501, "not_implemented"),
        (json!({"source": "db", "target": "ftp://a.example/"}), 400, "bad_request"),
        (json!({"source": "http://127.0.0.1:1/db", "target": "db"}), 500, "replication_error"),
        (json!({"replication_id": "none", "cancel": true}), 404, "not_found"),
        (json!({"source": "db", "target": "x", "cancel": true}), 404, "not_found"),
    ] {
        let (found, report) = couch.start(&request).await;
        assert_eq!((found, &report["error"]), (status, &json!(error)), "{request} {report}");
    }
    let missing = couch.start(&json!({"source": "none", "target": "db"})).await.1;
    assert_eq!(missing["reason"], "could not open none");
    for name in ["Host", "content-length", "Transfer-Encoding", "a b"] {
        let source = json!({"url": "http://127.0.0.1:1/db", "headers": {name: "x"}});
        let (status, _) = couch.start(&json!({"source": source, "target": "db"})).await;
        assert_eq!(status, 400, "{name}");
    }
    assert_eq!(couch.get("/_replicate").await.0, 405);
    // A hub that does not carry out replications.
    let (status, _) = Couch::new().await.start(&json!({"source": "db", "target": "db"})).await;
    assert_eq!(status, 501);
}

/// A dropped database that is kept for its history is neither read nor written.
#[tokio::test]
async fn a_dropped_database_is_not_replicated() {
    let couch = couch().await;
    couch.replicate(DOCUMENTS).await;
    let endpoint = &couch.hub.endpoint;
    let database = async |name: &str| {
        let name = name.parse().unwrap();
        endpoint.databases().database(&name).await.unwrap().unwrap()
    };
    let history = History::Kept { seconds: 60 };
    endpoint.set_history(&database("db").await, history).await.unwrap();
    couch.put("/copy", "").await;
    assert!(endpoint.drop_database(&database("db").await, None).await.unwrap());
    let kept = endpoint.dropped_databases(None).await.unwrap().remove(0).name;
    for request in [
        json!({"source": kept.as_str(), "target": "copy"}),
        json!({"source": "copy", "target": kept.as_str()}),
        json!({"source": "copy", "target": kept.as_str(), "create_target": true}),
    ] {
        let (status, report) = couch.start(&request).await;
        assert!([404, 412].contains(&status), "{request} {report}");
    }
}

#[tokio::test]
async fn a_continuous_replication_follows_changes_until_it_is_cancelled() {
    let couch = couch().await;
    couch.put("/db/first", "{}").await;
    couch.put("/copy", "").await;
    let request = json!({"source": "db", "target": "copy", "continuous": true});
    let (status, begun) = couch.start(&request).await;
    assert_eq!((status, &begun["ok"]), (202, &json!(true)));
    let id = begun["_local_id"].as_str().unwrap().to_owned();
    assert!(id.ends_with("+continuous"), "{id}");
    couch.await_document("/copy/first").await;
    couch.put("/db/second", "{}").await;
    couch.await_document("/copy/second").await;
    // The same request joins it.
    assert_eq!(couch.start(&request).await, (202, begun));
    let (status, jobs) = couch.get("/_scheduler/jobs").await;
    assert_eq!((status, &jobs["total_rows"], &jobs["offset"]), (200, &json!(1), &json!(0)));
    let job = couch.get(&format!("/_scheduler/jobs/{id}")).await;
    assert_eq!((job.0, &job.1["id"], &job.1["source"]), (200, &json!(id), &json!("db")));
    assert_eq!(job.1, jobs["jobs"][0]);
    assert_eq!(job.1["info"]["docs_written"], 2);
    assert_eq!(job.1["history"][0]["type"], "started");
    assert_eq!(couch.get("/_scheduler/jobs?skip=1").await.1["jobs"], json!([]));
    assert_eq!(
        couch.get("/_scheduler/docs").await.1,
        json!({"total_rows": 0, "offset": 0, "docs": []})
    );
    let (_, tasks) = couch.get("/_active_tasks").await;
    for (name, expected) in [
        ("type", json!("replication")),
        ("replication_id", json!(id)),
        ("source", json!("db")),
        ("target", json!("copy")),
        ("continuous", json!(true)),
        ("docs_read", json!(2)),
        ("docs_written", json!(2)),
        ("doc_write_failures", json!(0)),
        ("changes_pending", json!(0)),
    ] {
        assert_eq!(tasks[0][name], expected, "{name}");
    }
    let mut cancel = request;
    cancel["cancel"] = json!(true);
    assert_eq!(couch.start(&cancel).await, (200, json!({"ok": true, "_local_id": id})));
    couch.put("/db/third", "{}").await;
    sleep(SECOND / 2).await;
    assert_eq!(couch.get("/copy/third").await.0, 404);
    assert_eq!(couch.start(&cancel).await.0, 404);
    assert_eq!(couch.get("/_active_tasks").await.1, json!([]));
    assert_eq!(couch.get(&format!("/_scheduler/jobs/{id}")).await.0, 404);
}

/// A hub that stops ends its replications, which write their checkpoints.
#[tokio::test]
async fn stopping_the_hub_ends_replications() {
    let couch = couch().await;
    couch.put("/db/first", "{}").await;
    couch.put("/copy", "").await;
    let config = Config { listen: vec![([127, 0, 0, 1], 0).into()], ..Config::default() };
    let (stop, stopped) = oneshot::channel::<()>();
    let shutdown = async move { drop(stopped.await) };
    let serving = serve(replicating(couch.hub.endpoint.clone()), config, shutdown).await.unwrap();
    let url = format!("http://{}/couch/_replicate", serving.address());
    let body = json!({"source": "db", "target": "copy", "continuous": true}).to_string();
    let post = feedsync_fetch::Request::post(url.parse().unwrap(), "application/json", body);
    Fetcher::new(Policy::new(Private::Allowed)).unwrap().fetch(post).await.unwrap();
    couch.await_document("/copy/first").await;
    stop.send(()).unwrap();
    timeout(10 * SECOND, serving.finished()).await.unwrap().unwrap();
    for database in ["db", "copy"] {
        let (_, local) = couch.get(&format!("/{database}/_local_docs")).await;
        assert_eq!(local["rows"].as_array().unwrap().len(), 1, "{local}");
    }
    couch.put("/db/second", "{}").await;
    sleep(SECOND / 2).await;
    assert_eq!(couch.get("/copy/second").await.0, 404);
}

async fn ask(
    couch: &Couch,
    authorization: &str,
    method: Method,
    path: &str,
    body: &Value,
) -> (u16, Value) {
    let headers = [JSON, ("authorization", authorization)];
    let body = if body.is_null() { String::new() } else { body.to_string() };
    said(send(&couch.hub.router, method, path, &headers, body).await).await
}
