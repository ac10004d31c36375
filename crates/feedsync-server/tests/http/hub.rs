//! A hub over a store in memory, and what its answers hold.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::body::{Body, Bytes};
use feedsync_aggregator::{Library, PostgresLibrary, SqliteLibrary};
use feedsync_core::{Creation, Edit, Format, Item, ItemId, Payload};
use feedsync_couch::{Json, Submission};
use feedsync_endpoint::Endpoint;
use feedsync_endpoint::documents::validation::Author;
use feedsync_endpoint::documents::{Edits, NewDocument};
use feedsync_formats::{Entry, FeedHead, FeedWriter, ReadOptions, Reading, compose};
use feedsync_server::{Config, router};
use feedsync_store::conformance::wait;
use feedsync_store::{
    Collection, CollectionName, EndpointName, Environment, MemoryStore, Moment, NewCollection,
    PostgresStore, SqliteStore, Store,
};
use feedsync_test::postgres::Cluster;
use futures_util::StreamExt as _;
use http::{Method, Request, Response, StatusCode, header};
use serde_json::Value;
use tower::ServiceExt as _;

/// A clock that goes on by a second at each look, and random numbers that never repeat.
pub(crate) struct Clockwork {
    ticks: AtomicU64,
    seed: u64,
}

impl Environment for Clockwork {
    fn now(&self) -> Moment {
        let seconds = 1_763_668_000 + self.ticks.fetch_add(1, Ordering::Relaxed);
        Moment::from_micros(seconds * 1_000_000)
    }

    fn random(&self) -> u64 {
        let count = self.ticks.fetch_add(1, Ordering::Relaxed);
        (count.wrapping_add(self.seed)).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31)
    }
}

pub(crate) struct TestHub {
    pub(crate) endpoint: Endpoint,
    pub(crate) router: Router,
}

fn environment(name: &str) -> Arc<dyn Environment> {
    let seed = name.bytes().map(u64::from).sum::<u64>() << 32;
    Arc::new(Clockwork { ticks: AtomicU64::new(0), seed })
}

/// A hub as [`hub`] makes it, over a database.
pub(crate) async fn hub_in(directory: &Path) -> TestHub {
    let environment = environment("hub");
    let name = EndpointName::new("hub").unwrap();
    let store = SqliteStore::init(directory, &name, Arc::clone(&environment)).unwrap();
    let endpoint = Endpoint::new(Arc::new(store), environment);
    create(&endpoint, "notes", Format::Atom).await;
    TestHub { router: router(endpoint.clone(), Config::default()), endpoint }
}

/// An endpoint over a new store: in memory, or in a database of PostgreSQL where [`OVER_POSTGRES`] says so.
pub(crate) fn endpoint(name: &str) -> Endpoint {
    if std::env::var_os(OVER_POSTGRES).is_some() {
        return endpoint_over_postgres(name);
    }
    let environment = environment(name);
    let name = EndpointName::new(name).unwrap();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new(&name, Arc::clone(&environment)));
    Endpoint::new(store, environment)
}

/// An endpoint over a new database of PostgreSQL.
pub(crate) fn endpoint_over_postgres(name: &str) -> Endpoint {
    let environment = environment(name);
    let name = EndpointName::new(name).unwrap();
    let make = || {
        let url = Cluster::shared().database();
        wait(PostgresStore::init(&url, &name, Arc::clone(&environment))).unwrap()
    };
    // Where a test's executor runs nothing else can be waited for.
    let store = std::thread::scope(|scope| scope.spawn(make).join()).unwrap();
    Endpoint::new(Arc::new(store), environment)
}

/// A new library: in a directory, or in a database of PostgreSQL where [`OVER_POSTGRES`] says so.
pub(crate) fn library(directory: &Path) -> Arc<dyn Library> {
    if std::env::var_os(OVER_POSTGRES).is_none() {
        return Arc::new(SqliteLibrary::open(directory).unwrap());
    }
    let open = || {
        let url = Cluster::shared().database();
        wait(PostgresLibrary::open(&url)).unwrap()
    };
    Arc::new(std::thread::scope(|scope| scope.spawn(open).join()).unwrap())
}

/// The variable with which all these tests run over PostgreSQL.
pub(crate) const OVER_POSTGRES: &str = "FEEDSYNC_TEST_OVER_POSTGRES";

pub(crate) fn notes() -> CollectionName {
    CollectionName::new("notes").unwrap()
}

/// A hub named `hub` with an empty collection of Atom entries, `notes`.
pub(crate) async fn hub() -> TestHub {
    hub_with(Config::default()).await
}

pub(crate) async fn hub_with(config: Config) -> TestHub {
    let endpoint = endpoint("hub");
    create(&endpoint, "notes", Format::Atom).await;
    TestHub { router: router(endpoint.clone(), config), endpoint }
}

pub(crate) async fn create(endpoint: &Endpoint, name: &str, format: Format) -> Collection {
    let new = NewCollection {
        name: CollectionName::new(name).unwrap(),
        title: format!("The {name} & more"),
        format,
        settings: Default::default(),
    };
    endpoint.store().create_collection(new).await.unwrap()
}

pub(crate) fn payload(format: Format, title: &str) -> Payload {
    let entry = Entry {
        id: Some(format!("urn:x:{}", title.replace(' ', "-"))),
        title: Some(title.to_owned()),
        content: Some(format!("What {title} says")),
        updated: Some("2026-11-20T10:00:00Z".parse().unwrap()),
        ..Entry::default()
    };
    compose(format, &entry)
}

pub(crate) async fn add(endpoint: &Endpoint, id: &str) -> Item<Payload> {
    let payload = payload(Format::Atom, &format!("note {id}"));
    let id = ItemId::new(id).unwrap();
    endpoint.add(&notes(), id, Creation::default(), payload).await.unwrap().item
}

pub(crate) async fn edit(endpoint: &Endpoint, id: &str, title: &str) -> Item<Payload> {
    let edit = Edit::from(payload(Format::Atom, title));
    endpoint.edit(&notes(), &ItemId::new(id).unwrap(), None, edit).await.unwrap().item
}

pub(crate) async fn delete(endpoint: &Endpoint, id: &str) {
    endpoint.edit(&notes(), &ItemId::new(id).unwrap(), None, Edit::delete()).await.unwrap();
}

pub(crate) async fn until(endpoint: &Endpoint) -> String {
    let collection = endpoint.collection(&notes()).await.unwrap();
    collection.until(collection.last).to_string()
}

/// A feed of items as a client would offer it.
pub(crate) fn feed(format: Format, items: &[Item<Payload>]) -> String {
    let mut writer = FeedWriter::new(format);
    let mut out = String::new();
    let head = FeedHead {
        id: "urn:x:client",
        title: "client",
        updated: "2026-11-20T10:00:00Z".parse().unwrap(),
        author: "client",
        details: None,
        self_link: None,
        next: None,
        links: &[],
        complete: false,
        sharing: None,
    };
    writer.begin(&mut out, &head);
    for item in items {
        writer.item(&mut out, item);
    }
    writer.end(&mut out);
    out
}

pub(crate) fn request(
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: Body,
) -> Request<Body> {
    let mut request = Request::builder().method(method).uri(path);
    if !headers.iter().any(|(name, _)| *name == "host") {
        request = request.header("host", "localhost:4287");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(body).unwrap()
}

impl TestHub {
    pub(crate) async fn send(&self, request: Request<Body>) -> Response<Body> {
        self.router.clone().oneshot(request).await.unwrap()
    }

    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Response<Body> {
        self.send(request(method, path, headers, Body::empty())).await
    }

    pub(crate) async fn get(&self, path: &str) -> Response<Body> {
        self.call(Method::GET, path, &[]).await
    }

    /// The feed at a path; it must be there.
    pub(crate) async fn feed(&self, path: &str) -> Reading {
        let response = self.get(path).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        reading(&bytes(response).await)
    }

    pub(crate) async fn post(&self, kind: &str, body: impl Into<Body>) -> Response<Body> {
        let headers = [("content-type", kind)];
        self.send(request(Method::POST, "/collections/notes/changes", &headers, body.into())).await
    }
}

pub(crate) async fn bytes(response: Response<Body>) -> Bytes {
    let mut all = Vec::new();
    let mut parts = response.into_body().into_data_stream();
    while let Some(part) = parts.next().await {
        all.extend_from_slice(&part.unwrap());
    }
    all.into()
}

pub(crate) async fn json(response: Response<Body>) -> Value {
    serde_json::from_slice(&bytes(response).await).unwrap()
}

pub(crate) fn reading(bytes: &[u8]) -> Reading {
    let reading = feedsync_formats::read(bytes, None, &ReadOptions::strict());
    reading.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(bytes)))
}

pub(crate) fn ids(reading: &Reading) -> Vec<&str> {
    reading.feed.items.iter().map(|item| item.id.as_str()).collect()
}

/// The window of a feed: since, until.
pub(crate) fn window(reading: &Reading) -> (String, String) {
    let window = reading.feed.sharing.as_ref().and_then(|sharing| sharing.window.clone());
    let window = window.expect("the feed has a window");
    (window.since, window.until)
}

/// The target of a `Link` of a relation.
pub(crate) fn link(response: &Response<Body>, relation: &str) -> Option<String> {
    let end = format!(">; rel=\"{relation}\"");
    let links = response.headers().get_all(header::LINK).iter();
    let mut links = links.filter_map(|value| value.to_str().ok());
    links.find_map(|text| Some(text.strip_suffix(&end)?.strip_prefix('<')?.to_owned()))
}

/// A header as text.
pub(crate) fn text<'a>(response: &'a Response<Body>, name: &str) -> &'a str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

/// The path and query of an absolute address of the hub.
pub(crate) fn path(address: &str) -> &str {
    address.strip_prefix("http://localhost:4287").unwrap_or_else(|| panic!("{address}"))
}

/// Adds a document to a database, which is created if it does not exist.
pub(crate) async fn add_document(endpoint: &Endpoint, name: &str, text: &str) {
    let (databases, name) = (endpoint.databases(), name.parse().unwrap());
    databases.create_database(&name, Default::default()).await.unwrap();
    let database = databases.database(&name).await.unwrap().unwrap();
    let sent = Submission::read(Json::read(text.into()).unwrap().root()).unwrap();
    let document = NewDocument { id: sent.id.clone().unwrap(), sent, followed: BTreeMap::new() };
    let writer = endpoint.documents_writer(Author::SERVER);
    let written = writer.write(&database, vec![document], Edits::Replicated).await.unwrap();
    assert!(written[0].is_ok(), "{written:?}");
}
