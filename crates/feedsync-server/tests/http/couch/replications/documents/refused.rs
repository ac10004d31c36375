//! Documents that are refused, users who cannot use them, and what is not shown.

use feedsync_store::DatabaseChange;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::super::served::Served;
use super::super::remote::{Log, OtherHub, PASSWORD};
use crate::access::world::{World, basic, bearer, user};

const JOB: &str = "/_replicator/job";

/// A hub with users, and the credentials of the administrator `root`, who created `db` and `_replicator`.
async fn hub() -> (Served, World, String, TempDir) {
    let directory = TempDir::new().unwrap();
    let world = World::in_database(directory.path()).await;
    let hub = Served::over(&world.endpoint).await;
    let root = bearer(&world.access("root").await);
    for path in ["/db", "/_replicator"] {
        assert_eq!(hub.ask(&root, "PUT", path, &Value::Null).await.0, 201);
    }
    (hub, world, root, directory)
}

#[tokio::test]
async fn documents_that_cannot_be_replications_are_refused_on_every_way_in() {
    let (hub, _world, root, _directory) = hub().await;
    let missing = json!({"source": "db"});
    for body in [
        &missing,
        &json!({"source": "db", "target": "x", "filter": "d/f"}),
        &json!({"source": "db", "target": "x", "doc_id": []}),
        &json!({"source": "db", "target": "x", "continuous": 1}),
    ] {
        let (status, refused) = hub.ask(&root, "PUT", JOB, body).await;
        assert_eq!((status, &refused["error"]), (403, &json!("forbidden")), "{body} {refused}");
    }
    let (status, refused) = hub.ask(&root, "POST", "/_replicator", &missing).await;
    assert_eq!((status, &refused["reason"]), (403, &json!("Missing required parameter: target")));
    let good = json!({"_id": "good", "source": "db", "target": "x"});
    let bad = json!({"_id": "bad", "_rev": "1-a", "target": "x"});
    let body = json!({"docs": [good, {"_id": "bad", "target": "x"}]});
    let (status, rows) = hub.ask(&root, "POST", "/_replicator/_bulk_docs", &body).await;
    assert_eq!(
        (status, &rows[0]["ok"], &rows[1]["error"]),
        (201, &json!(true), &json!("forbidden"))
    );
    let body = json!({"docs": [bad], "new_edits": false});
    let (_, rows) = hub.ask(&root, "POST", "/_replicator/_bulk_docs", &body).await;
    assert_eq!((&rows[0]["id"], &rows[0]["error"]), (&json!("bad"), &json!("forbidden")));
    assert_eq!(hub.ask(&root, "GET", "/_replicator/bad", &Value::Null).await.0, 404);
    // So is a replication that writes there.
    assert_eq!(hub.ask(&root, "PUT", "/db/bad", &json!({"n": 1})).await.0, 201);
    let request = json!({"source": "db", "target": "_replicator"});
    let (status, report) = hub.ask(&root, "POST", "/_replicate", &request).await;
    assert_eq!((status, &report["history"][0]["doc_write_failures"]), (200, &json!(1)));
    assert_eq!(hub.ask(&root, "PUT", "/_replicator/_design/d", &json!({})).await.0, 201);
    let rows = hub.ask(&root, "GET", "/_scheduler/docs", &Value::Null).await.1;
    assert_eq!((&rows["total_rows"], &rows["docs"][0]["doc_id"]), (&json!(1), &json!("good")));
}

#[tokio::test]
async fn only_administrators_use_the_database() {
    let (hub, world, root, _directory) = hub().await;
    let owen = bearer(&world.access("owen").await);
    let document = json!({"source": "db", "target": "x"});
    for (method, path, body, status) in [
        ("GET", "/_replicator", &Value::Null, 404),
        ("PUT", "/_replicator", &Value::Null, 401),
        ("GET", "/_replicator/_all_docs", &Value::Null, 404),
        ("GET", "/_replicator/_changes", &Value::Null, 404),
        ("PUT", JOB, &document, 404),
        ("GET", "/_replicator/_local/feedsync-replicator", &Value::Null, 404),
        ("GET", "/_scheduler/docs/_replicator", &Value::Null, 401),
        ("GET", "/_scheduler/docs/_replicator/job", &Value::Null, 401),
        ("GET", "/_db_updates", &Value::Null, 401),
    ] {
        assert_eq!(hub.ask(&owen, method, path, body).await.0, status, "{method} {path}");
        assert_eq!(hub.ask("", method, path, body).await.0, 401, "{method} {path}");
    }
    let listed = |names: &Value| names.as_array().unwrap().contains(&json!("_replicator"));
    for (user, is_listed) in [(&owen, false), (&root, true)] {
        let (_, names) = hub.ask(user, "GET", "/_all_dbs", &Value::Null).await;
        assert_eq!(listed(&names), is_listed, "{names}");
    }
    // Access rules do not change that.
    let everybody = json!({"admins": {"names": ["owen"]}, "members": {"names": ["owen"]}});
    let security = "/_replicator/_security";
    assert_eq!(hub.ask(&root, "PUT", security, &everybody).await.0, 403);
    let (_, rules) = hub.ask(&root, "GET", security, &Value::Null).await;
    assert_eq!(rules["members"]["roles"], json!(["_admin"]));
    // Neither do those that another program wrote into the store.
    let databases = world.endpoint.databases();
    let database = databases.database(&"_replicator".parse().unwrap()).await.unwrap().unwrap();
    let change = DatabaseChange { security: Some(everybody.to_string()), ..Default::default() };
    databases.change_database(&database.name, database.epoch, change).await.unwrap();
    for path in ["/_replicator", "/_replicator/_all_docs"] {
        assert_eq!(hub.ask(&owen, "GET", path, &Value::Null).await.0, 404, "{path}");
    }
}

#[tokio::test]
async fn the_owner_must_administer_the_hub_when_a_replication_starts_and_while_it_runs() {
    let (hub, world, root, _directory) = hub().await;
    world.endpoint.set_administrator(&user("owen"), true).await.unwrap();
    let owen = bearer(&world.access("owen").await);
    // The author owns an edit, whatever it says.
    let document = json!({
        "source": "db", "target": "x", "create_target": true, "continuous": true, "owner": "root",
    });
    assert_eq!(hub.ask(&owen, "PUT", JOB, &document).await.0, 201);
    let path = "/_scheduler/docs/_replicator/job";
    hub.await_that(&root, path, |_, found| found["state"] == "running").await;
    assert_eq!(hub.ask(&root, "GET", JOB, &Value::Null).await.1["owner"], "owen");
    world.endpoint.set_administrator(&user("owen"), false).await.unwrap();
    let has_failed = |_: u16, found: &Value| found["_replication_state"] == "failed";
    let failed = hub.await_that(&root, JOB, has_failed).await;
    let reason = "You are not a server admin any more.";
    assert_eq!(
        (&failed["owner"], &failed["_replication_state_reason"]),
        (&json!("owen"), &json!(reason))
    );
    // A replicated document keeps its owner, who does not administer the hub.
    let replicated = json!({
        "_id": "other", "_rev": "1-a", "source": "db", "target": "x", "owner": "owen",
    });
    let nobody = json!({"_id": "nobody", "_rev": "1-a", "source": "db", "target": "x"});
    let body = json!({"docs": [replicated, nobody], "new_edits": false});
    assert_eq!(hub.ask(&root, "POST", "/_replicator/_bulk_docs", &body).await.0, 201);
    for (id, owner) in [("other", "owen"), ("nobody", "null")] {
        let failed = hub.await_that(&root, &format!("/_replicator/{id}"), has_failed).await;
        let reason = format!("the owner of the document, {owner}, is not a server admin");
        assert_eq!(failed["_replication_state_reason"], reason);
    }
    let (_, rows) = hub.ask(&root, "GET", "/_scheduler/docs?states=failed", &Value::Null).await;
    assert_eq!(rows["docs"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn credentials_in_documents_are_neither_shown_nor_logged() {
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(log.clone());
    let (hub, _world, root, _directory) = hub().await;
    let other = OtherHub::new().await;
    let url = format!("http://{}", other.address);
    let encoded = basic("root", PASSWORD).split_once(' ').unwrap().1.to_owned();
    let mut shown = String::new();
    for (id, source) in [
        ("a", json!({"url": url, "auth": {"basic": {"username": "root", "password": PASSWORD}}})),
        ("b", json!(format!("http://root:{PASSWORD}@{}", other.address))),
        ("c", json!({"url": url, "headers": {"Authorization": basic("root", PASSWORD)}})),
        ("d", json!(format!("http://root:{PASSWORD}@127.0.0.1:1/db"))),
        ("e", json!(format!("ftp://root:{PASSWORD}@127.0.0.1:1/db"))),
    ] {
        let continuous = id == "a";
        let document = json!({"source": source, "target": id, "create_target": true, "continuous": continuous});
        let path = format!("/_replicator/{id}");
        assert_eq!(hub.ask(&root, "PUT", &path, &document).await.0, 201);
        let expected = match id {
            "a" => "running",
            "d" => "crashing",
            "e" => "failed",
            _ => "completed",
        };
        let path = format!("/_scheduler/docs/_replicator/{id}");
        hub.await_that(&root, &path, |_, found| found["state"] == expected).await;
        for path in ["/_active_tasks", "/_scheduler/jobs", "/_scheduler/docs"] {
            shown.push_str(&hub.ask(&root, "GET", path, &Value::Null).await.1.to_string());
        }
    }
    assert!(shown.contains(&url), "{shown}");
    let log = log.0.lock().unwrap();
    assert!(!log.is_empty());
    for secret in [PASSWORD, &encoded] {
        assert!(!shown.contains(secret), "{shown}");
        assert!(!log.contains(secret), "{log}");
    }
}
