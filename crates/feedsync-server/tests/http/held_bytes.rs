//! Quota of bytes for a user: everything that the user created counts, and nothing else.

use feedsync_endpoint::Actor;
use feedsync_server::Limits;
use feedsync_store::{Grant, Role, UserId, UserName};
use http::Method;

use crate::hub::{TestHub, bytes, request};
use crate::quotas::people;

/// Quota of the user of [`Held`], in bytes.
const HELD: usize = 10_000;

/// A user's hub: a collection with a database and a log, and a database of their own.
struct Held {
    hub: TestHub,
    bearer: String,
    /// The first member of the collection.
    member: String,
    /// Revision of a document in the collection's database.
    revision: String,
    _directory: tempfile::TempDir,
}

impl Held {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let limits = Limits { owned_bytes: HELD, ..Limits::default() };
        let (hub, bearer) = people(directory.path(), limits).await;
        let bearer = bearer("anna");
        let mut held = Self {
            hub,
            bearer,
            member: String::new(),
            revision: String::new(),
            _directory: directory,
        };
        let documents = r#"{"documents":true}"#.to_owned();
        assert_eq!(held.ask("PUT /collections/mine", documents).await.0, 201);
        held.hub.endpoint.open_as_database(&"mine".parse().unwrap()).await.unwrap();
        assert_eq!(held.ask("PUT /couch/own", String::new()).await.0, 201);
        assert_eq!(held.ask("POST /logs/mine", lines(1)).await.0, 201);
        let (status, place, _) = held.ask("POST /collections/mine", entry(1)).await;
        assert_eq!(status, 201);
        held.member = place[place.find("/collections").unwrap()..].to_owned();
        let told = held.ask("PUT /couch/mine/base", "{}".to_owned()).await.2;
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        held.revision = told["rev"].as_str().unwrap().to_owned();
        held
    }

    async fn ask(&self, way: &str, body: String) -> (u16, String, String) {
        let (method, path) = way.split_once(' ').unwrap();
        let (path, kind) = match (path.replace("MEMBER", &self.member), path) {
            (path, "/collections/mine") if method == "PUT" => (path, "application/json"),
            (path, of) if of.starts_with("/collections") || of == "MEMBER" => {
                (path, "application/atom+xml")
            }
            (path, of) if of.starts_with("/couch") && !of.contains('?') => {
                (path, "application/json")
            }
            (path, _) => (path, "application/x-ndjson"),
        };
        let path = path.replace("REVISION", &self.revision);
        let mut headers = vec![("authorization", &*self.bearer), ("content-type", kind)];
        let log = self.hub.endpoint.store().log(&"mine".parse().unwrap()).await;
        let covers = log.ok().flatten().map(|log| format!("\"{}\"", log.place)).unwrap_or_default();
        match (method, &*path) {
            ("POST", path) if path.starts_with("/logs") => headers.push(("if-none-match", "*")),
            ("PUT", "/logs/mine") => headers.push(("if-match", &covers)),
            ("PUT", "/logs/mine/snapshot") => headers.push(("log-covers", &covers)),
            _ => {}
        }
        let asked = request(method.parse().unwrap(), &path, &headers, body.into());
        let answer = self.hub.send(asked).await;
        let status = answer.status().as_u16();
        let place = answer.headers().get("location").map(|it| it.to_str().unwrap().to_owned());
        let told = String::from_utf8_lossy(&bytes(answer).await).into_owned();
        (status, place.unwrap_or_default(), told)
    }

    /// Appends lines to the log under a key.
    async fn append(&self, key: &str, lines: String) -> u16 {
        let headers = [
            ("authorization", &*self.bearer),
            ("content-type", "application/x-ndjson"),
            ("if-match", "*"),
            ("idempotency-key", key),
        ];
        let asked = request(Method::POST, "/logs/mine", &headers, lines.into());
        self.hub.send(asked).await.status().as_u16()
    }

    async fn bytes(&self) -> u64 {
        let store = self.hub.endpoint.store();
        let anna = id(&self.hub, &UserName::new("anna").unwrap()).await;
        store.usage(&anna).await.unwrap().bytes()
    }
}

async fn id(hub: &TestHub, name: &UserName) -> UserId {
    hub.endpoint.store().user(name).await.unwrap().unwrap().id
}

fn lines(length: usize) -> String {
    format!("{}\n", "x".repeat(length))
}

fn entry(length: usize) -> String {
    let content = "x".repeat(length);
    format!(
        "<entry xmlns='http://www.w3.org/2005/Atom'><title>t</title><content>{content}</content></entry>"
    )
}

fn feed(length: usize) -> String {
    let content = "x".repeat(length);
    format!(
        "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:sx='http://feedsync.org/2007/feedsync'>\
         <entry><title>t</title><content>{content}</content><sx:sync id='of-feed' updates='1'>\
         <sx:history sequence='1' by='J'/></sx:sync></entry></feed>"
    )
}

fn object(members: &str, length: usize) -> String {
    format!("{{{members}\"x\":\"{}\"}}", "x".repeat(length))
}

fn bulk(length: usize) -> String {
    format!("{{\"docs\":[{}]}}", object("\"_id\":\"_local/c\",", length))
}

type Made = fn(usize) -> String;

/// Bytes count however they are stored; a request above the quota is refused and leaves nothing.
#[tokio::test]
async fn bytes_of_every_kind_count() {
    let ways: [(&str, Made); 11] = [
        ("POST /collections/mine", entry),
        ("PUT MEMBER", entry),
        ("POST /collections/mine/changes", feed),
        ("PUT /logs/mine", lines),
        ("PUT /logs/mine/snapshot", lines),
        ("PUT /couch/mine/new", |length| object("", length)),
        ("PUT /couch/mine/base/n?rev=REVISION", lines),
        ("PUT /couch/own/_local/a", |length| object("", length)),
        ("POST /couch/own", |length| object("\"_id\":\"_local/b\",", length)),
        ("POST /couch/own/_bulk_docs", bulk),
        ("PUT /couch/own/_security", |length| {
            object("\"members\":{\"names\":[\"anna\"]},", length)
        }),
    ];
    for (way, body) in ways {
        let held = Held::new().await;
        let before = held.bytes().await;
        let (status, _, told) = held.ask(way, body(HELD - 100)).await;
        assert_eq!((status, held.bytes().await), (507, before), "{way}: {told}");
        let (status, _, told) = held.ask(way, body(3_000)).await;
        assert!((200..300).contains(&status), "{way}: {status} {told}");
        assert!(held.bytes().await >= before + 2_900, "{way}");
        let (status, _, told) = held.ask("POST /collections/mine", entry(3_500)).await;
        assert_eq!(status, 507, "after {way}: {told}");
        assert!(told.contains("owned_bytes"), "{told}");
        // A request that enlarges nothing succeeds.
        let (status, _, told) = held.ask("PUT MEMBER", entry(1)).await;
        assert_eq!(status, 200, "{way}: {told}");
        let member = format!("DELETE {}", held.member);
        assert_eq!(held.ask(&member, String::new()).await.0, 204, "{way}");
    }
}

/// Replacements of the same size, and changes that revoke rights, succeed even at the quota.
#[tokio::test]
async fn writes_that_add_nothing_are_done_at_the_quota() {
    let held = Held::new().await;
    let security = |more: &str| {
        format!("{{\"admins\":{{\"names\":[\"anna\"]}},\"members\":{{\"names\":[{more}]}}}}")
    };
    for (way, body) in [
        ("PUT /couch/own/_local/a", object("", 1_000)),
        ("PUT /couch/own/_security", security("\"anna\",\"root\"")),
        ("PUT /logs/mine/snapshot", lines(200)),
        ("PUT /logs/mine", lines(1_500)),
    ] {
        assert!(held.ask(way, body).await.0 < 300, "{way}");
    }
    assert!(held.append("\"first\"", lines(200)).await < 300);
    let room = HELD as u64 - held.bytes().await;
    let fill = object("", room as usize - 60);
    assert_eq!(held.ask("PUT /couch/own/fill", fill).await.0, 201);
    assert_eq!(held.ask("PUT /couch/own/_local/b", object("", 100)).await.0, 507);
    // An append whose response was lost is confirmed when it is sent again, and another one is refused.
    assert!(held.append("\"first\"", lines(200)).await < 300);
    assert_eq!(held.append("\"second\"", lines(200)).await, 507);
    // A deletion with members is stored like any revision.
    let kept = object("\"_deleted\":true,", 100);
    assert_eq!(held.ask("PUT /couch/own/gone", kept.clone()).await.0, 507);
    let bulk = |document: &str| format!("{{\"docs\":[{document}]}}");
    assert_eq!(held.ask("POST /couch/own/_bulk_docs", bulk(&kept)).await.0, 507);
    let local = bulk(&object("\"_id\":\"_local/a\",", 1_000));
    for (way, body) in [
        ("POST /couch/own/_bulk_docs", local),
        ("PUT /couch/own/_local/a", object("", 1_000)),
        ("PUT /couch/own/_local/a", object("", 900)),
        ("PUT /couch/own/_security", security("\"anna\"")),
        ("PUT /logs/mine/snapshot", lines(200)),
        ("PUT /logs/mine", lines(700)),
    ] {
        let (status, _, told) = held.ask(way, body).await;
        assert!((200..300).contains(&status), "{way}: {status} {told}");
    }
    assert_eq!(held.ask("PUT /logs/mine", lines(600)).await.0, 507);
    // A new log is refused, and creates no collection.
    assert_eq!(held.ask("POST /logs/new", lines(300)).await.0, 507);
    let new = held.hub.endpoint.store().collection(&"new".parse().unwrap()).await.unwrap();
    assert_eq!(new, None);
    // Items of the same size, smaller ones and deletions; no database stores former revisions here.
    assert_eq!(held.ask("PUT /collections/mine", r#"{"documents":false}"#.to_owned()).await.0, 200);
    assert_eq!(held.ask("PUT MEMBER", entry(2)).await.0, 507);
    let deleted = feed(1_000).replace("updates='1'", "updates='1' deleted='true'");
    assert_eq!(held.ask("POST /collections/mine/changes", deleted).await.0, 507);
    for length in [1, 0] {
        assert_eq!(held.ask("PUT MEMBER", entry(length)).await.0, 200);
    }
    let member = format!("DELETE {}", held.member);
    assert_eq!(held.ask(&member, String::new()).await.0, 204);
}

/// The quota counts only what a user created: not resources with their name, nor those that others made them
/// owner of.
#[tokio::test]
async fn users_are_charged_for_their_own_collections_and_databases_alone() {
    let directory = tempfile::tempdir().unwrap();
    let limits = Limits { owned_bytes: 4_000, ..Limits::default() };
    let (hub, bearer) = people(directory.path(), limits).await;
    let ask = async |who: &str, method: Method, path: &str, body: String| {
        let bearer = bearer(who);
        let is_item = method == Method::POST && path.starts_with("/collections");
        let kind = if is_item { "application/atom+xml" } else { "application/json" };
        let headers = [("authorization", &*bearer), ("content-type", kind)];
        let answer = hub.send(request(method, path, &headers, body.into())).await;
        let status = answer.status().as_u16();
        (status, String::from_utf8_lossy(&bytes(answer).await).into_owned())
    };
    let (put, post) = (Method::PUT, Method::POST);
    // A database of an administrator has the name of a collection that a user creates later.
    assert_eq!(ask("root", put.clone(), "/couch/orders", String::new()).await.0, 201);
    assert_eq!(ask("root", put.clone(), "/couch/orders/a", object("", 5_000)).await.0, 201);
    assert_eq!(ask("anna", put.clone(), "/collections/orders", "{}".to_owned()).await.0, 201);
    for name in ["b", "_local/c"] {
        let path = format!("/couch/orders/{name}");
        let (status, told) = ask("root", put.clone(), &path, object("", 500)).await;
        assert_eq!(status, 201, "{told}");
    }
    assert_eq!(ask("anna", post.clone(), "/collections/orders", entry(3_000)).await.0, 201);
    // A new owner of a full collection keeps their whole own quota.
    let grant = Grant {
        user: UserName::new("otto").unwrap(),
        collection: "orders".parse().unwrap(),
        role: Role::Owner,
    };
    hub.endpoint.grant(grant).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    assert_eq!(ask("otto", post.clone(), "/collections/orders", entry(3_000)).await.0, 507);
    assert_eq!(ask("otto", put, "/collections/own", "{}".to_owned()).await.0, 201);
    assert_eq!(ask("otto", post.clone(), "/collections/own", entry(3_000)).await.0, 201);
    // A user who takes over the collection from its creator is charged for its content.
    let (anna, otto) = (UserName::new("anna").unwrap(), UserName::new("otto").unwrap());
    let orders = "orders".parse().unwrap();
    let acting = hub.endpoint.on_behalf_of(Actor { user: Some(otto), address: None });
    acting.revoke(&anna, &orders).await.unwrap();
    assert_eq!(ask("otto", post, "/collections/own", entry(500)).await.0, 507);
    assert_eq!(hub.endpoint.store().usage(&id(&hub, &anna).await).await.unwrap().bytes(), 0);
}
