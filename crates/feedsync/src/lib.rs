//! Collections of items that several devices and people edit, online or offline, without losing an edit.
//!
//! A [`Replica`] is the data of an application on one device. It has collections of items. All edits are local,
//! durable and immediate. When there is a network, a collection syncs with a hub, over plain HTTP and feeds that other
//! programs can read too.
//!
//! > An edit that nobody superseded or resolved is never lost: not by a merge, a crash, a restored backup, a copied
//! > directory or a stale editor.
//!
//! # Quick start
//!
//! The crates are not published yet. Until then use `feedsync = { path = "…/crates/feedsync" }` instead of a version.
//!
//! ```toml
//! [dependencies]
//! feedsync = "0.1"
//! serde = { version = "1", features = ["derive"] } # for types of your own
//! serde_json = "1"
//! tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
//! ```
//!
//! ```
//! use serde_json::{Value, json};
//!
//! fn merge_titles(one: &Value, other: &Value) -> Value {
//!     let title = |item: &Value| item["title"].as_str().unwrap_or_default().to_owned();
//!     let mut merged = one.clone(); // keeps all other members
//!     if title(one) != title(other) {
//!         merged["title"] = json!(format!("{} / {}", title(one), title(other)));
//!     }
//!     merged
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), feedsync::Error> {
//! # let directory = tempfile::tempdir().unwrap();
//! # std::env::set_current_dir(&directory).unwrap();
//! # let hub = feedsync::Replica::in_memory();
//! # hub.collection("todo").await?;
//! # let config = feedsync_server::Config { listen: vec![([127, 0, 0, 1], 0).into()], ..Default::default() };
//! # let serving = feedsync_server::serve(hub.endpoint().clone(), config, std::future::pending()).await.unwrap();
//!     let replica = feedsync::Replica::open("todo-data").await?; // SQLite by default
//!     let todo = replica.collection("todo").await?;
//!     let id = todo.add(json!({"title": "Milk", "done": false})).await?;
//!
//!     let hub = "https://hub.example/collections/todo";
//! # let hub = &*format!("http://{}/collections/todo", serving.address());
//!     todo.sync(hub).await?; // offline: an error value, nothing lost
//!
//!     for item in todo.items().await? {
//!         println!("{}", item["title"].as_str().unwrap_or_default());
//!     }
//!     for conflict in todo.conflicts().await? {
//!         todo.resolve(conflict.keep_both(merge_titles)).await?;
//!     }
//!     let milk = todo.change(&id, |item| item["done"] = json!(true)).await?;
//!     todo.delete(&milk).await?;
//! # assert_eq!(todo.sync(hub).await?.sent, 1);
//!     Ok(())
//! }
//! ```
//!
//! A hub is the program `feedsync serve`, which listens on `http://127.0.0.1:4287`, or
//! [your own server](#a-hub-in-an-axum-application). Create the collection at the hub first (`feedsync collection create todo`);
//! otherwise a sync fails with [`Error::NotFound`]. The crate needs Rust 1.95, and a C compiler for SQLite.
//!
//! # Offline
//!
//! No edit waits for a network. [`Collection::sync`] without one is an error value, and the next call continues:
//!
//! ```
//! # #[tokio::main]
//! # async fn main() -> Result<(), feedsync::Error> {
//! # use serde_json::json;
//! # let todo = feedsync::Replica::in_memory().collection("todo").await?;
//! # todo.add(json!({"title": "Milk"})).await?;
//! # let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
//! # let hub = format!("http://{}/collections/todo", listener.local_addr().unwrap());
//! # drop(listener);
//! match todo.sync(&hub).await {
//!     Ok(report) => println!("{} received, {} sent", report.received, report.sent),
//!     Err(error) if error.is_offline() => println!("{error}; the edits stay here"),
//!     Err(error) => return Err(error),
//! }
//! # assert_eq!(todo.items().await?.len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! [`Collection::follow`] synchronizes whenever either side has changes, and waits longer after each failure.
//! [`Error`] lists the other faults by culprit: the caller, the remote, this device.
//!
//! # Conflicts
//!
//! Edits of different items never conflict. If two replicas edit one item without knowing of each other, all of them
//! show the same version, and keep the other one. [`Collection::conflicts`] lists such items. [`Conflict`] has the
//! versions, and the ways to resolve them: keep one, merge, or replace. A resolution is an edit: it travels, and nobody
//! is asked again. Only if two replicas resolve one conflict before they sync, their resolutions conflict, even with equal
//! content ([`Collection::resolve`]).
//!
//! To edit or delete what somebody has seen, keep the [`Item`] and give it to [`Collection::update`] or
//! [`Collection::delete`]: if it has changed meanwhile, both edits are kept, and [`Edited::outcome`] says so. A
//! command-line program or a web form keeps a [`VersionToken`] instead ([`Item::token`]).
//! [`Collection::change`] changes the latest version in one step, and [`Collection::delete_latest`] deletes by id,
//! whatever the item has become.
//!
//! FeedSync's rule chooses the version that is shown, and not the time of the call. So a deletion may hide an edit until
//! the conflict is resolved: [limits and rules](Collection#edits).
//!
//! # Changes
//!
//! [`Collection::watch`] returns changes as they happen, whoever makes them: this program, a synchronization, or
//! another process.
//!
//! ```
//! # #[tokio::main]
//! # async fn main() -> Result<(), feedsync::Error> {
//! # use serde_json::json;
//! use feedsync::Change;
//!
//! # let todo = feedsync::Replica::in_memory().collection("todo").await?;
//! let mut watch = todo.watch().await?;
//! # todo.add(json!({"title": "Milk"})).await?;
//! # let mut shown = 0;
//! loop {
//!     match watch.next().await? {
//!         Change::Put(item) => println!("{}", item["title"]),
//!         Change::Deleted(id) => println!("{id} is gone"),
//!         Change::Restarted => println!("forget all items: they follow"),
//!         Change::Complete => println!("these are all items"),
//!         _ => {}
//!     }
//! # shown += 1;
//! # if shown == 1 { break }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Content and formats
//!
//! Items are JSON objects, unless the collection says otherwise:
//!
//! | content | what it is |
//! |---|---|
//! | [`serde_json::Value`] | any JSON object; the default |
//! | [`Json<T>`] | a type of the application, by serde |
//! | [`Entry`] | title, content, links: what Atom, RSS, OPML, XML and JSON have in common |
//! | [`Payload`] | the bytes |
//! | a type that implements [`Content`] | a format of the application |
//!
//! Every item keeps the format and the bytes in which it was written, on every replica. A hub shows a collection to feed
//! readers as Atom, RSS, OPML or JSON, whatever is in it. An object has `title` and `content` if feed readers are to
//! show them.
//!
//! # Files
//!
//! [`Collection::to_feed`] and [`Collection::merge_feed`] need no hub: a shared folder, mail or a USB stick is enough.
//!
//! # A hub in an axum application
//!
//! `feedsync_server` is a hub as a [`Router`](https://docs.rs/axum/latest/axum/struct.Router.html). The application
//! serves it behind its own routes, and edits the same replica:
//!
//! ```toml
//! [dependencies]
//! feedsync = "0.1"
//! feedsync-server = "0.1"
//! axum = "0.8"
//! tokio = { version = "1", features = ["macros", "net", "rt-multi-thread"] }
//! ```
//!
//! ```no_run
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use axum::{Router, routing::get};
//!
//! let replica = feedsync::Replica::in_memory();
//! let todo = replica.collection("todo").await?;
//!
//! let config = feedsync_server::Config::default();
//! let hub = feedsync_server::router(replica.endpoint().clone(), config);
//! let count = || async move { todo.count().await.unwrap_or(0).to_string() };
//! let application: Router = Router::new().route("/count", get(count)).fallback_service(hub);
//!
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
//! axum::serve(listener, application).await?; // others sync with http://127.0.0.1:8080/collections/todo
//! # Ok(())
//! # }
//! ```
//!
//! A hub without users answers this machine only. The example `hub` is the whole program. An application that needs no
//! routes of its own calls `feedsync_server::serve` with the endpoint of the replica and a [`Config`]; its documentation
//! has the users and TLS.
//!
//! [`Config`]: https://docs.rs/feedsync-server/latest/feedsync_server/struct.Config.html
//!
//! # Tests
//!
//! [`Replica::in_memory`] has all guarantees of the others, needs no files, and ends with the process. Two of them and a
//! hub in one test show how an application behaves when people edit at the same time. [`Replica::new`] takes a clock
//! and random numbers too.
//!
//! # Features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `sqlite` | yes | [`Replica::open`]: a replica in a directory |
//! | `http` | yes | [`Collection::sync`], [`Collection::follow`], [`Replica::sign_in`] |
//! | `postgres` | no | `Replica::open_postgres`: a replica that several processes share |
//! | `couch` | no | `Collection::replicate`: the same items as documents of a CouchDB database |
//!
//! Without any of them a replica is in memory, and syncs as feeds.
//!
//! Host names with letters beyond ASCII take 21 of the crates below. An application that needs none of them can leave
//! those crates out: `cargo update -p idna_adapter --precise 1.0.0`.
//!
//! # Examples
//!
//! `examples/` has whole programs: `todo` (a to-do list in a terminal), `subscriptions` (a shared list of feeds),
//! `bridge` (between a collection and a todo.txt file), `hub` (a hub in an axum application) and `files` (peers with
//! nothing but a shared folder).

mod collection;
mod conflict;
mod content;
#[cfg(feature = "couch")]
mod couch;
mod edited;
mod error;
mod feed;
mod item;
mod listing;
mod memory;
#[cfg(feature = "http")]
mod remotes;
mod replica;
mod report;
#[cfg(feature = "http")]
mod sync;
mod token;
mod watch;

#[doc(inline)]
pub use feedsync_core::{
    EditError, Format, IdentifierError, ItemId, Payload, Refusal, ResolveError, Timestamp,
    TimestampError, UnknownFormat,
};
#[doc(inline)]
pub use feedsync_endpoint::{EditFailure, EditOutcome, Endpoint, EndpointError};
#[cfg(feature = "http")]
#[doc(inline)]
pub use feedsync_fetch::LoginError;
#[doc(inline)]
pub use feedsync_formats::{
    Category, ContentType, Entry, Link, PayloadError, Person, ReadError, compose, entry,
    read_payload,
};
#[doc(inline)]
pub use feedsync_store::{Environment, Store, StoreError, UntilError as PositionError};

pub use collection::Collection;
pub use conflict::{Conflict, Conflicts, Resolution, Version};
pub use content::{Content, ContentError, Json, Target};
#[cfg(feature = "couch")]
pub use couch::Replicated;
pub use edited::Edited;
pub use error::Error;
pub use feed::MAX_FEED_BYTES;
pub use item::{Item, Items};
pub use listing::{Change, MAX_BYTES, MAX_ITEMS, Page, Position};
#[cfg(feature = "http")]
pub use remotes::Remote;
pub use replica::{NameError, Replica, ReplicaName};
pub use report::{RefusedItem, SyncReport};
#[cfg(feature = "http")]
pub use sync::{Following, Login};
pub use token::{VersionToken, VersionTokenError};
pub use watch::Watch;

#[cfg(all(doctest, feature = "sqlite", feature = "http"))]
#[doc = include_str!("../README.md")]
struct Readme;
