//! Replications of documents from their beginning to their end.

use std::time::Duration;

use feedsync_endpoint::Endpoint;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::sleep;

use super::super::super::served::Served;
use crate::hub::{TestHub, hub_in};

const JOB: &str = "/_replicator/job";
const STATE: &str = "/_scheduler/docs/_replicator/job";

/// A hub with the databases `db`, which has the document `first`, and `_replicator`.
async fn hub() -> (Served, Endpoint, TempDir) {
    let directory = TempDir::new().unwrap();
    let TestHub { endpoint, .. } = hub_in(directory.path()).await;
    let hub = Served::over(&endpoint).await;
    for (path, body) in
        [("/db", Value::Null), ("/_replicator", Value::Null), ("/db/first", json!({}))]
    {
        assert_eq!(hub.put(path, body).await.0, 201, "{path}");
    }
    (hub, endpoint, directory)
}

/// Waits until a document exists.
async fn await_document(hub: &Served, path: &str) {
    hub.await_that("", path, |status, _| status == 200).await;
}

async fn await_state(hub: &Served, state: &str) -> Value {
    hub.await_that("", STATE, |_, found| found["state"] == state).await
}

fn continuous(target: &str) -> Value {
    json!({"source": "db", "target": target, "create_target": true, "continuous": true})
}

#[tokio::test]
async fn a_document_is_replicated_once_and_shows_the_outcome() {
    let (hub, ..) = hub().await;
    assert_eq!(hub.get("/_scheduler/docs").await.1["docs"], json!([]));
    let document = json!({"source": "db", "target": "copy", "create_target": true});
    assert_eq!(hub.put(JOB, document).await.0, 201);
    let has_ended = |_: u16, found: &Value| found["_replication_state"] == "completed";
    let ended = hub.await_that("", JOB, has_ended).await;
    assert_eq!(hub.get("/copy/first").await.0, 200);
    assert!(ended["_rev"].as_str().unwrap().starts_with("2-"), "{ended}");
    assert!(ended["_replication_id"].is_string() && ended["_replication_state_time"].is_string());
    let stats = &ended["_replication_stats"];
    assert_eq!((&stats["docs_written"], &stats["doc_write_failures"]), (&json!(1), &json!(0)));
    let shown = hub.get(STATE).await.1;
    for (name, expected) in [
        ("state", json!("completed")),
        ("database", json!("_replicator")),
        ("doc_id", json!("job")),
        ("id", Value::Null),
        ("source", json!("db")),
        ("target", json!("copy")),
        ("error_count", json!(0)),
        ("info", stats.clone()),
    ] {
        assert_eq!(shown[name], expected, "{name}: {shown}");
    }
    // What the hub writes starts nothing.
    assert_eq!(hub.put("/db/second", json!({})).await.0, 201);
    sleep(Duration::from_millis(1_500)).await;
    assert_eq!(hub.get(JOB).await.1["_rev"], ended["_rev"]);
    assert_eq!(hub.get("/copy/second").await.0, 404);
    // An edit without the state starts it again, with the new options.
    let document = json!({
        "_rev": ended["_rev"], "source": "db", "target": "other", "create_target": true,
        "doc_ids": ["second"],
    });
    assert_eq!(hub.put(JOB, document).await.0, 201);
    let ended = hub.await_that("", JOB, has_ended).await;
    assert!(ended["_rev"].as_str().unwrap().starts_with("4-"), "{ended}");
    assert_eq!((hub.get("/other/second").await.0, hub.get("/other/first").await.0), (200, 404));
    let all = hub.get("/_scheduler/docs/_replicator?states=completed,failed").await.1;
    assert_eq!((&all["total_rows"], &all["docs"][0]["doc_id"]), (&json!(1), &json!("job")));
    assert_eq!(hub.get("/_scheduler/docs?states=running").await.1["docs"], json!([]));
    assert_eq!(hub.get("/_scheduler/docs/_replicator/none").await.0, 404);
    assert_eq!(hub.get("/_scheduler/docs/other").await.0, 404);
}

#[tokio::test]
async fn a_continuous_document_follows_edits_of_itself_until_it_is_deleted() {
    let (hub, ..) = hub().await;
    let begun = hub.put(JOB, continuous("a")).await.1;
    await_document(&hub, "/a/first").await;
    let shown = await_state(&hub, "running").await;
    let jobs = hub.get("/_scheduler/jobs").await.1;
    let job = &jobs["jobs"][0];
    assert_eq!((&jobs["total_rows"], &job["id"]), (&json!(1), &shown["id"]));
    let tasks = hub.get("/_active_tasks").await.1;
    for shown in [job, &tasks[0]] {
        assert_eq!((&shown["database"], &shown["doc_id"]), (&json!("_replicator"), &json!("job")));
    }
    let cancel = json!({"replication_id": shown["id"], "cancel": true});
    assert_eq!(hub.ask("", "POST", "/_replicate", &cancel).await.0, 403);
    // The new revision replaces the replication.
    let mut edit = continuous("b");
    edit["_rev"] = begun["rev"].clone();
    let edited = hub.put(JOB, edit).await.1;
    await_document(&hub, "/b/first").await;
    assert_eq!(hub.put("/db/second", json!({})).await.0, 201);
    await_document(&hub, "/b/second").await;
    assert_eq!(hub.get("/a/second").await.0, 404);
    let path = format!("{JOB}?rev={}", edited["rev"].as_str().unwrap());
    assert_eq!(hub.ask("", "DELETE", &path, &Value::Null).await.0, 200);
    hub.await_that("", "/_active_tasks", |_, found| *found == json!([])).await;
    assert_eq!(hub.put("/db/third", json!({})).await.0, 201);
    sleep(Duration::from_millis(500)).await;
    assert_eq!((hub.get("/b/third").await.0, hub.get(STATE).await.0), (404, 404));
    // So does the removal of the database.
    assert_eq!(hub.put("/_replicator/other", continuous("a")).await.0, 201);
    await_document(&hub, "/a/third").await;
    assert_eq!(hub.ask("", "DELETE", "/_replicator", &Value::Null).await.0, 200);
    hub.await_that("", "/_active_tasks", |_, found| *found == json!([])).await;
}

#[tokio::test]
async fn replications_go_on_after_a_restart() {
    let (hub, endpoint, _directory) = hub().await;
    assert_eq!(hub.put(JOB, continuous("copy")).await.0, 201);
    await_document(&hub, "/copy/first").await;
    hub.stop().await;
    let hub = Served::over(&endpoint).await;
    assert_eq!(hub.put("/db/second", json!({})).await.0, 201);
    await_document(&hub, "/copy/second").await;
    await_state(&hub, "running").await;
}

#[tokio::test]
async fn a_replication_that_fails_is_tried_again_after_a_pause() {
    let (hub, ..) = hub().await;
    let document = json!({"source": "db", "target": "later", "continuous": true});
    assert_eq!(hub.put(JOB, document).await.0, 201);
    let shown = await_state(&hub, "crashing").await;
    assert_eq!(
        (&shown["error_count"], &shown["info"]),
        (&json!(1), &json!({"error": "could not open later"}))
    );
    assert!(shown["id"].is_null() && shown["last_updated"].is_string(), "{shown}");
    // The failure is not written into the document.
    assert!(hub.get(JOB).await.1.get("_replication_state").is_none());
    assert_eq!(hub.put("/later", Value::Null).await.0, 201);
    await_document(&hub, "/later/first").await;
    await_state(&hub, "running").await;
    // A second document with the same replication does not run beside it.
    let same = json!({"source": "db", "target": "later", "continuous": true});
    assert_eq!(hub.put("/_replicator/same", same).await.0, 201);
    let path = "/_scheduler/docs/_replicator/same";
    let shown = hub.await_that("", path, |_, found| found["state"] == "crashing").await;
    assert_eq!(shown["info"]["error"], "the same replication is running");
    assert_eq!(hub.get("/_scheduler/jobs").await.1["total_rows"], 1);
}
