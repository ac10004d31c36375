//! Only administrators of the hub start, see and cancel replications.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use feedsync_endpoint::documents::functions::{Call, CallError, DesignFunctions, DesignSource};
use feedsync_server::{Config, router};
use feedsync_store::{Scope, TokenKind};
use http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::time::{sleep, timeout};

use super::super::served::replicating;
use super::super::{Couch, said, send};
use super::{SECOND, ask};
use crate::access::world::{World, bearer, collection, user};
use crate::hub::TestHub;

/// A hub with users that carries out replications.
async fn couch() -> (Couch, World) {
    let directory = TempDir::new().unwrap();
    let world = World::in_database(directory.path()).await;
    let hub = TestHub {
        router: router(replicating(world.endpoint.clone()), Config::default()),
        endpoint: world.endpoint.clone(),
    };
    let couch = Couch { hub, _directory: directory };
    let root = bearer(&world.access("root").await);
    for name in ["/db", "/copy"] {
        assert_eq!(ask(&couch, &root, Method::PUT, name, &Value::Null).await.0, 201);
    }
    (couch, world)
}

#[tokio::test]
async fn other_users_start_no_replications_and_nothing_is_requested() {
    let (couch, world) = couch().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/db", listener.local_addr().unwrap());
    let scope = Scope { role: None, collection: Some(collection("notes")) };
    let owen = bearer(&world.access("owen").await);
    let bounded = bearer(&world.token("root", TokenKind::Access, scope).await);
    let request = json!({"source": address, "target": "db", "continuous": true});
    let cancel = json!({"replication_id": "x", "cancel": true});
    for credentials in [&owen, &bounded] {
        for body in [&request, &cancel] {
            let (status, report) =
                ask(&couch, credentials, Method::POST, "/_replicate", body).await;
            assert_eq!((status, &report["error"]), (401, &json!("unauthorized")));
        }
        for path in ["/_active_tasks", "/_scheduler/jobs", "/_scheduler/jobs/x", "/_scheduler/docs"]
        {
            assert_eq!(
                ask(&couch, credentials, Method::GET, path, &Value::Null).await.0,
                401,
                "{path}"
            );
        }
    }
    let response =
        send(&couch.hub.router, Method::POST, "/_replicate", &[super::JSON], request.to_string())
            .await;
    assert_eq!(said(response).await.0, 401);
    assert!(timeout(SECOND / 2, listener.accept()).await.is_err());
    // The same request of an administrator is sent.
    let root = bearer(&world.access("root").await);
    assert_eq!(ask(&couch, &root, Method::POST, "/_replicate", &request).await.0, 202);
    timeout(10 * SECOND, listener.accept()).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_replication_ends_when_its_user_no_longer_administers_the_hub() {
    let (couch, world) = couch().await;
    let (root, owen) = (bearer(&world.access("root").await), bearer(&world.access("owen").await));
    let request = json!({"source": "db", "target": "copy", "continuous": true});
    world.endpoint.set_administrator(&user("owen"), true).await.unwrap();
    assert_eq!(ask(&couch, &root, Method::POST, "/_replicate", &request).await.0, 202);
    world.endpoint.set_administrator(&user("root"), false).await.unwrap();
    let end = async {
        while ask(&couch, &owen, Method::GET, "/_active_tasks", &Value::Null).await.1 != json!([]) {
            sleep(SECOND / 10).await;
        }
    };
    timeout(10 * SECOND, end).await.unwrap();
}

/// Refuses documents with `"bad"`, and records the users on whose behalf documents are written.
#[derive(Default)]
struct Judge(Mutex<Vec<Value>>);

#[async_trait]
impl DesignFunctions for Judge {
    async fn call(&self, _: &DesignSource, call: &Call<'_>) -> Result<String, CallError> {
        let Call::Validate { updates, user, .. } = call else { unreachable!("{call:?}") };
        self.0.lock().unwrap().push(serde_json::from_str(user).unwrap());
        let results = updates.iter().map(|(document, _)| match document.contains("bad") {
            true => json!({"forbidden": "bad"}),
            false => Value::Null,
        });
        Ok(Value::Array(results.collect()).to_string())
    }
}

/// `validate_doc_update` of the target gets the user of the request, and may refuse documents.
#[tokio::test]
async fn documents_are_written_on_behalf_of_the_user() {
    let (couch, world) = couch().await;
    let judge = Arc::new(Judge::default());
    let endpoint = world.endpoint.clone().with_functions(Arc::clone(&judge) as _);
    let hub = TestHub {
        router: router(replicating(endpoint), Config::default()),
        endpoint: world.endpoint.clone(),
    };
    let couch = Couch { hub, ..couch };
    let root = bearer(&world.access("root").await);
    let put = async |path: &str, body: Value| {
        assert_eq!(ask(&couch, &root, Method::PUT, path, &body).await.0, 201, "{path}");
    };
    put("/db/a", json!({"n": "bad"})).await;
    put("/db/b", json!({"n": "good"})).await;
    put("/copy/_design/d", json!({"validate_doc_update": "judge"})).await;
    let request = json!({"source": "db", "target": "copy"});
    let (status, report) = ask(&couch, &root, Method::POST, "/_replicate", &request).await;
    let history = &report["history"][0];
    let counts = (&history["docs_written"], &history["doc_write_failures"]);
    assert_eq!((status, counts), (200, (&json!(1), &json!(1))));
    assert_eq!(ask(&couch, &root, Method::GET, "/copy/a", &Value::Null).await.0, 404);
    assert_eq!(ask(&couch, &root, Method::GET, "/copy/b", &Value::Null).await.0, 200);
    let users = judge.0.lock().unwrap();
    assert!(!users.is_empty());
    let expected = json!({"db": "copy", "name": "root", "roles": ["_admin"]});
    assert!(users.iter().all(|user| *user == expected), "{users:?}");
}
