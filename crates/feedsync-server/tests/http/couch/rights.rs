//! Access rights to databases.

use feedsync_endpoint::{Actor, Settings};
use feedsync_store::{CollectionChange, NewCollection, Scope, TokenKind};
use futures_util::StreamExt as _;
use http::Method;
use serde_json::json;

use super::{JSON, said, send};
use crate::access::world::{World, basic, bearer, user};
use tempfile::TempDir;

const PASSWORD: &str = "correct horse battery";

/// A database is for its creator and for the users whom it names; other users do not learn its content.
#[tokio::test]
async fn a_database_is_for_those_whom_it_names() {
    let directory = TempDir::new().unwrap();
    let world = World::in_database(directory.path()).await;
    for name in ["owen", "eddy", "root"] {
        world.password(name, PASSWORD).await;
    }
    let as_whom = |name: &str| basic(name, PASSWORD);
    let ask = async |name: &str, method: Method, path: &str, body: &str| {
        let authorization = as_whom(name);
        let headers = [JSON, ("authorization", &*authorization)];
        said(send(&world.router, method, path, &headers, body.to_owned()).await).await
    };
    let (get, put, delete) = (Method::GET, Method::PUT, Method::DELETE);
    assert_eq!(ask("owen", put.clone(), "/mine", "").await.0, 201);
    assert_eq!(ask("owen", put.clone(), "/mine/x", "{}").await.0, 201);
    assert_eq!(ask("root", put.clone(), "/ours", "").await.0, 201);
    for (name, path, status) in [
        ("owen", "/mine/x", 200),
        ("eddy", "/mine/x", 404),
        ("eddy", "/mine", 404),
        ("root", "/mine/x", 200),
        ("owen", "/ours", 404),
        ("owen", "/none", 404),
    ] {
        assert_eq!(ask(name, get.clone(), path, "").await.0, status, "{name} {path}");
    }
    assert_eq!(ask("eddy", get.clone(), "/_all_dbs", "").await.1, json!([]));
    assert_eq!(ask("owen", get.clone(), "/_all_dbs", "").await.1, json!(["mine"]));
    assert_eq!(ask("root", get.clone(), "/_all_dbs", "").await.1, json!(["mine", "ours"]));
    // A member may not change `_security`.
    let named = r#"{"admins":{"names":["owen"]},"members":{"names":["eddy"]}}"#;
    assert_eq!(ask("owen", put.clone(), "/mine/_security", named).await.0, 200);
    assert_eq!(ask("eddy", get.clone(), "/mine/x", "").await.0, 200);
    assert_eq!(ask("eddy", put.clone(), "/mine/_security", "{}").await.0, 403);
    assert_eq!(ask("eddy", delete.clone(), "/mine", "").await.0, 403);
    assert_eq!(ask("eddy", Method::POST, "/mine/_purge", "{}").await.0, 403);
    let open = r#"{"admins":{"names":["owen"]},"members":{"names":[],"roles":[]}}"#;
    ask("owen", put, "/mine/_security", open).await;
    assert_eq!(ask("eddy", get.clone(), "/mine/x", "").await.0, 200);
    // All others are refused: without a sign-in, or with a restricted token.
    for path in
        ["/", "/mine", "/mine/x", "/mine/_changes", "/_all_dbs", "/none", "/_node/_local/_config"]
    {
        let (status, told) = said(send(&world.router, get.clone(), path, &[], "").await).await;
        assert_eq!((status, &told["error"]), (401, &json!("unauthorized")), "{path}");
    }
    let scope = Scope { role: None, collection: Some(crate::access::world::collection("notes")) };
    let bounded = bearer(&world.token("owen", TokenKind::Access, scope).await);
    let headers = [("authorization", &*bounded)];
    let (status, _) = said(send(&world.router, get.clone(), "/mine/x", &headers, "").await).await;
    assert_eq!(status, 404);
    // A slow request does not write into a new database of the same name.
    let authorization = as_whom("eddy");
    let headers = [JSON, ("authorization", &*authorization)];
    let (sender, receiver) = tokio::sync::oneshot::channel::<&'static str>();
    let slow = futures_util::stream::once(async { receiver.await.map_err(std::io::Error::other) });
    let slow = axum::body::Body::from_stream(slow);
    let write = send(&world.router, Method::PUT, "/mine/intruder", &headers, slow);
    let replace = async {
        tokio::task::yield_now().await;
        assert_eq!(ask("owen", delete.clone(), "/mine", "").await.0, 200);
        assert_eq!(ask("owen", Method::PUT, "/mine", "").await.0, 201);
        sender.send("{}").unwrap();
    };
    let (written, ()) = tokio::join!(write, replace);
    assert_eq!(written.status(), 404);
    assert_eq!(ask("owen", get.clone(), "/mine/intruder", "").await.0, 404);
    assert_eq!(ask("owen", delete, "/mine", "").await.0, 200);
    let (status, session) = said(send(&world.router, get, "/_session", &[], "").await).await;
    assert_eq!((status, &session["userCtx"]["name"]), (200, &json!(null)));
}

/// Members of a database may create and delete its indexes. For others there is no database.
#[tokio::test]
async fn administrators_of_a_database_change_indexes_and_members_use_them() {
    let directory = TempDir::new().unwrap();
    let world = World::in_database(directory.path()).await;
    for name in ["owen", "eddy"] {
        world.password(name, PASSWORD).await;
    }
    let ask = async |name: &str, method: Method, path: &str, body: &str| {
        let authorization = basic(name, PASSWORD);
        let headers = [JSON, ("authorization", &*authorization)];
        said(send(&world.router, method, path, &headers, body.to_owned()).await).await
    };
    let (post, delete) = (Method::POST, Method::DELETE);
    assert_eq!(ask("owen", Method::PUT, "/mine", "").await.0, 201);
    let requests = [
        (&post, "/mine/_index", r#"{"index":{"fields":["a"]},"ddoc":"d","name":"n"}"#),
        (&Method::GET, "/mine/_index", ""),
        (&post, "/mine/_find", r#"{"selector":{"a":1}}"#),
        (&post, "/mine/_explain", r#"{"selector":{"a":1}}"#),
        (&delete, "/mine/_index/d/json/n", ""),
        (&post, "/mine/_index/_bulk_delete", r#"{"docids":[]}"#),
    ];
    for (method, path, body) in requests {
        let (status, told) = ask("eddy", method.clone(), path, body).await;
        let reason = json!("Database does not exist.");
        assert_eq!((status, &told["reason"]), (404, &reason), "{method} {path}");
        let (status, _) =
            said(send(&world.router, method.clone(), path, &[JSON], body).await).await;
        assert_eq!(status, 401, "{method} {path}");
        assert_eq!(ask("owen", method.clone(), path, body).await.0, 200, "{method} {path}");
    }
    let named = r#"{"admins":{"names":["owen"]},"members":{"names":["eddy"]}}"#;
    assert_eq!(ask("owen", Method::PUT, "/mine/_security", named).await.0, 200);
    let (method, path, body) = requests[0];
    let (status, told) = ask("eddy", method.clone(), path, body).await;
    assert_eq!((status, &told["error"]), (403, &json!("forbidden")));
    assert_eq!(ask("owen", method.clone(), path, body).await.0, 200);
    for (method, path, body) in &requests[1..4] {
        assert_eq!(ask("eddy", (*method).clone(), path, body).await.0, 200, "{method} {path}");
    }
    let (method, path, body) = requests[4];
    let (status, told) = ask("eddy", method.clone(), path, body).await;
    assert_eq!((status, &told["error"]), (403, &json!("forbidden")));
    let (_, told) =
        ask("eddy", Method::POST, "/mine/_index/_bulk_delete", r#"{"docids":["_design/d"]}"#).await;
    assert_eq!((&told["success"], &told["fail"][0]["id"]), (&json!([]), &json!("_design/d")));
    let (_, listed) = ask("eddy", Method::GET, "/mine/_index", "").await;
    assert_eq!(listed["total_rows"], 2);
}

/// A user whose access is revoked during a request, or during its response, reads no more.
#[tokio::test]
async fn changes_end_after_access_is_revoked() {
    let directory = TempDir::new().unwrap();
    let world = World::in_database(directory.path()).await;
    for name in ["owen", "eddy"] {
        world.password(name, PASSWORD).await;
    }
    let [owen, eddy] = ["owen", "eddy"].map(|name| basic(name, PASSWORD));
    let [owen, eddy] = [[JSON, ("authorization", &*owen)], [JSON, ("authorization", &*eddy)]];
    let own = async |method: Method, path: &str, body: String| {
        let (status, told) = said(send(&world.router, method, path, &owen, body).await).await;
        assert!(matches!(status, 200 | 201), "{path}: {told}");
    };
    let names = async |names: &str| {
        let security =
            format!("{{\"admins\":{{\"names\":[\"owen\"]}},\"members\":{{\"names\":[{names}]}}}}");
        own(Method::PUT, "/mine/_security", security).await;
    };
    own(Method::PUT, "/mine", String::new()).await;
    let list = |each: &dyn Fn(u32) -> String| (0..2_500).map(each).collect::<Vec<_>>().join(",");
    let documents = format!("{{\"docs\":[{}]}}", list(&|id| format!("{{\"_id\":\"{id}\"}}")));
    own(Method::POST, "/mine/_bulk_docs", documents).await;
    let asked = format!("{{\"docs\":[{}]}}", list(&|id| format!("{{\"id\":\"{id}\"}}")));
    let all = "{\"selector\":{},\"limit\":10000}".to_owned();
    for (path, body) in [
        ("_all_docs", "{}".to_owned()),
        ("_bulk_get", asked),
        ("_find", all),
        ("_changes", "{}".to_owned()),
    ] {
        let path = format!("/mine/{path}");
        names("\"owen\",\"eddy\"").await;
        let (sender, receiver) = tokio::sync::oneshot::channel::<String>();
        let slow =
            futures_util::stream::once(async { receiver.await.map_err(std::io::Error::other) });
        let slow = axum::body::Body::from_stream(slow);
        let read = send(&world.router, Method::POST, &path, &eddy, slow);
        let meanwhile = async {
            tokio::task::yield_now().await;
            names("\"owen\"").await;
            sender.send(body.clone()).unwrap();
        };
        let (answer, ()) = tokio::join!(read, meanwhile);
        assert_eq!(answer.status(), 404, "{path}");

        names("\"owen\",\"eddy\"").await;
        let answer = send(&world.router, Method::POST, &path, &eddy, body).await;
        let mut told = answer.into_body().into_data_stream();
        assert!(told.next().await.expect("something").is_ok(), "{path}");
        names("\"owen\"").await;
        if path.ends_with("_changes") {
            // Rights are checked again every second.
            tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
        }
        let rest: Vec<_> = told.collect().await;
        assert!(rest.last().is_some_and(Result::is_err), "{path}: {}", rest.len());
    }
}

/// The database of a collection is for the editors of that collection, whatever `_security` names.
#[tokio::test]
async fn the_database_of_a_collection_is_for_its_editors() {
    let world = World::in_memory().await;
    let notes = crate::access::world::collection("notes");
    let set = async |documents: bool| {
        let mut settings = Default::default();
        Settings { documents, ..Settings::default() }.write(&mut settings);
        let settings = Some(settings);
        let change = CollectionChange { settings, ..CollectionChange::default() };
        world.endpoint.change_collection(&notes, change).await.unwrap();
    };
    set(true).await;
    let bridge = world.endpoint.open_as_database(&notes).await.unwrap();
    world.endpoint.synchronize_bridge(&bridge).await.unwrap();
    for name in ["rita", "eddy", "owen", "root", "nora"] {
        world.password(name, PASSWORD).await;
    }
    let ask = async |name: &str, method: Method, path: &str, body: &str| {
        let authorization = basic(name, PASSWORD);
        let headers = [JSON, ("authorization", &*authorization)];
        said(send(&world.router, method, path, &headers, body.to_owned()).await).await
    };
    let (get, put, post, delete) = (Method::GET, Method::PUT, Method::POST, Method::DELETE);
    for (name, reads, limits) in [
        ("rita", 404, 404),
        ("eddy", 200, 403),
        ("owen", 200, 200),
        ("root", 200, 200),
        ("nora", 404, 404),
    ] {
        assert_eq!(ask(name, get.clone(), "/notes/a", "").await.0, reads, "{name}");
        assert_eq!(ask(name, put.clone(), "/notes/_revs_limit", "1001").await.0, limits, "{name}");
        // With fewer revisions, versions of items would look like conflicts.
        let (status, told) = ask(name, put.clone(), "/notes/_revs_limit", "999").await;
        let refused = if reads == 200 { 403 } else { 404 };
        assert_eq!(status, refused, "{name}");
        let reason = told["reason"].as_str().unwrap();
        assert_eq!(reason.contains("set at least 1000 revisions"), limits == 200, "{reason}");
        // Actions that belong to the collection are refused for its database.
        for (method, path) in
            [(&delete, "/notes"), (&put, "/notes/_security"), (&post, "/notes/_purge")]
        {
            let (status, _) = ask(name, method.clone(), path, "{}").await;
            assert_eq!(status, refused, "{name} {method} {path}");
        }
        for method in [&get, &put, &delete] {
            let (status, _) = ask(name, method.clone(), "/notes/_local/fs:collection", "{}").await;
            assert_eq!(status, refused, "{name} {method}");
        }
    }
    // A token for this collection opens it, and one for another collection does not.
    for (name, status) in [("notes", 200), ("open", 404)] {
        let of = Some(crate::access::world::collection(name));
        let scope = Scope { role: None, collection: of };
        let bounded = bearer(&world.token("eddy", TokenKind::Access, scope).await);
        let headers = [("authorization", &*bounded)];
        let answer = send(&world.router, get.clone(), "/notes/a", &headers, "").await;
        assert_eq!(said(answer).await.0, status, "{name}");
    }
    // A request cannot turn a database into that of a collection.
    assert_eq!(ask("owen", put.clone(), "/own", "").await.0, 201);
    let said_so = r#"{"fs:collection":"open"}"#;
    assert_eq!(ask("owen", put, "/own/_security", said_so).await.0, 400);
    // Once it is closed, it is for administrators.
    let private = async || {
        assert_eq!(ask("eddy", get.clone(), "/notes/a", "").await.0, 404);
        assert_eq!(ask("owen", get.clone(), "/notes/a", "").await.0, 404);
        assert_eq!(ask("root", get.clone(), "/notes/a", "").await.0, 200);
    };
    set(false).await;
    private().await;
    set(true).await;
    assert_eq!(ask("eddy", get.clone(), "/notes/a", "").await.0, 200);
    let diary = crate::access::world::collection("diary");
    let renamed = CollectionChange { name: Some(diary), ..CollectionChange::default() };
    world.endpoint.change_collection(&notes, renamed).await.unwrap();
    // The database is removed with its collection, and the name is free. Rights are read again after a
    // second.
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    assert_eq!(ask("eddy", get.clone(), "/diary/a", "").await.0, 200);
    let new = NewCollection {
        name: notes.clone(),
        title: String::new(),
        format: feedsync_core::Format::Json,
        settings: Default::default(),
    };
    let owen = Actor { user: Some(user("owen")), ..Actor::default() };
    world.endpoint.on_behalf_of(owen).create_collection(new).await.unwrap();
    set(true).await;
    world.endpoint.open_as_database(&notes).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    assert_eq!(ask("owen", get.clone(), "/notes", "").await.0, 200);
    for name in ["owen", "root"] {
        assert_eq!(ask(name, get.clone(), "/notes/a", "").await.0, 404, "{name}");
    }
    assert_eq!(ask("eddy", get, "/notes", "").await.0, 404);
}
