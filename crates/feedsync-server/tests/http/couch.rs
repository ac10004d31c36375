//! `/couch/`: responses to replicators and applications of CouchDB.

mod addresses;
mod answers;
mod assertions;
mod bulk;
mod database_updates;
mod dialect;
mod documents;
mod feeds;
mod filters;
mod mango;
mod origins;
mod parts;
mod replications;
mod replicator;
mod rights;
mod room;
mod served;
mod sessions;
mod users;
mod views;

use axum::Router;
use axum::body::Body;
use feedsync_server::{Config, HubParts, router};
use http::{Method, Response};
use serde_json::Value;
use tempfile::TempDir;
use tower::ServiceExt as _;

use crate::hub::{TestHub, bytes, endpoint_over_postgres, hub_in, request};

/// A hub over a database of its own, with the database `db`.
struct Couch {
    hub: TestHub,
    _directory: TempDir,
}

const JSON: (&str, &str) = ("content-type", "application/json");

impl Couch {
    async fn new() -> Self {
        Self::with(Config::default()).await
    }

    async fn with(config: Config) -> Self {
        let directory = TempDir::new().unwrap();
        let TestHub { endpoint, .. } = hub_in(directory.path()).await;
        Self::over(endpoint, config, directory).await
    }

    /// Two hubs with the same, empty database: over SQLite and over PostgreSQL.
    async fn on_both_backends() -> [Self; 2] {
        let endpoint = endpoint_over_postgres("hub");
        let directory = TempDir::new().unwrap();
        [Self::new().await, Self::over(endpoint, Config::default(), directory).await]
    }

    async fn over(served: impl Into<HubParts>, config: Config, directory: TempDir) -> Self {
        let served = served.into();
        let endpoint = served.endpoint.clone();
        let hub = TestHub { router: router(served, config), endpoint };
        let couch = Self { hub, _directory: directory };
        couch.put("/db", "").await;
        couch
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Body>,
    ) -> Response<Body> {
        send(&self.hub.router, method, path, headers, body).await
    }

    /// Status and JSON of a response.
    async fn ask(&self, method: Method, path: &str, body: &str) -> (u16, Value) {
        let response = self.send(method, path, &[JSON], body.to_owned()).await;
        said(response).await
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        self.ask(Method::GET, path, "").await
    }

    async fn put(&self, path: &str, body: &str) -> (u16, Value) {
        self.ask(Method::PUT, path, body).await
    }

    async fn post(&self, path: &str, body: &str) -> (u16, Value) {
        self.ask(Method::POST, path, body).await
    }

    /// Writes revisions as a replicator does.
    async fn replicate(&self, documents: &str) {
        let body = format!("{{\"docs\":[{documents}],\"new_edits\":false}}");
        let (status, said) = self.post("/db/_bulk_docs", &body).await;
        assert_eq!((status, said), (201, Value::Array(Vec::new())));
    }
}

async fn send(
    router: &Router,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Response<Body> {
    let path = format!("/couch{path}");
    router.clone().oneshot(request(method, &path, headers, body.into())).await.unwrap()
}

async fn said(response: Response<Body>) -> (u16, Value) {
    let status = response.status().as_u16();
    let body = bytes(response).await;
    (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
}
