//! Hubs and replicas of the tests.

use std::net::SocketAddr;

use feedsync::{Collection, Conflict, ItemId, Payload, Replica};
use feedsync_server::{Config, Serving, serve};
use serde_json::{Value, json};

/// A hub with an empty collection `todo`.
pub(crate) struct Hub {
    pub(crate) todo: Collection,
    address: SocketAddr,
    _serving: Serving,
}

impl Hub {
    pub(crate) async fn new() -> Self {
        Self::with(Config::default()).await
    }

    /// A hub with other settings, at an address of this machine.
    pub(crate) async fn with(config: Config) -> Self {
        let todo = todo().await;
        let config = Config { listen: vec![([127, 0, 0, 1], 0).into()], ..config };
        let endpoint = todo.replica().endpoint().clone();
        let serving = serve(endpoint, config, std::future::pending()).await.unwrap();
        Self { address: serving.address(), todo, _serving: serving }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/collections/todo", self.address)
    }
}

/// A collection of a new replica in memory.
pub(crate) async fn todo() -> Collection {
    Replica::in_memory().collection("todo").await.unwrap()
}

/// Address of this machine at which nobody listens.
pub(crate) fn nowhere() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}/collections/todo", listener.local_addr().unwrap())
}

/// The one conflict of a collection.
pub(crate) async fn only_conflict(todo: &Collection) -> Conflict {
    let mut conflicts = todo.conflicts().await.unwrap().into_iter();
    let (conflict, others) = (conflicts.next().unwrap(), conflicts.count());
    assert_eq!(others, 0);
    conflict
}

/// Edits an item twice from one state, so that it has a conflict; its id.
pub(crate) async fn conflicting(todo: &Collection, one: Value, other: Value) -> ItemId {
    let id = todo.add(one.clone()).await.unwrap();
    let mut stale = todo.get(&id).await.unwrap().unwrap();
    let first = |item: &mut Value| {
        *item = one.clone();
        item["edited"] = json!(true);
    };
    todo.change(&id, first).await.unwrap();
    *stale = other;
    todo.update(&stale).await.unwrap();
    id
}

/// Titles of the live items, sorted.
pub(crate) async fn titles(todo: &Collection) -> Vec<String> {
    let items = todo.items().await.unwrap();
    let mut titles: Vec<_> = items.iter().map(|item| title(item).to_owned()).collect();
    titles.sort();
    titles
}

pub(crate) fn title(item: &Value) -> &str {
    item["title"].as_str().unwrap()
}

pub(crate) fn titled(title: &str) -> Value {
    json!({ "title": title })
}

/// All versions of all items, as texts in an order of their own.
pub(crate) async fn versions(todo: &Collection) -> Vec<String> {
    let bytes = todo.of::<Payload>();
    let page = bytes.page(None, 1_000).await.unwrap();
    assert!(!page.more);
    let mut found: Vec<String> = page
        .changes
        .iter()
        .map(|change| match change {
            feedsync::Change::Put(item) => {
                format!("{} {:?} {} {:?}", item.id(), item.when(), item.text(), item.by())
            }
            feedsync::Change::Deleted(id) => format!("{id} deleted"),
            other => panic!("{other:?}"),
        })
        .collect();
    for conflict in bytes.conflicts().await.unwrap() {
        let versions = conflict.versions().iter();
        let versions = versions.map(|it| (it.content.text(), it.deleted, it.when, &it.by));
        found.push(format!("{} {:?}", conflict.id(), versions.collect::<Vec<_>>()));
    }
    found.sort();
    found
}
