//! User identity is an id: rights of a name do not pass to the next user of that name, and a name that the
//! hub derives gives nobody a right.

use std::collections::BTreeMap;

use axum::body::Body;
use feedsync_endpoint::{NewUser, Password, reading_collection};
use feedsync_store::{Grant, GrantFilter, NewCollection, Role};
use http::Method;
use tower::ServiceExt as _;

use super::world::{basic, collection, user};
use crate::hub::{bytes, request};
use crate::newsroom::{Newsroom, PASSWORD};

const FEED: &str = "https://news.example/feed";

impl Newsroom {
    /// Status, headers except the time, and body of a response to a user.
    async fn answer(
        &self,
        name: &str,
        method: Method,
        path: &str,
        body: &str,
    ) -> (u16, Vec<String>, String) {
        let authorization = basic(name, PASSWORD);
        let media_type =
            if path.starts_with("/logs") { "application/x-ndjson" } else { "application/json" };
        let mut headers = vec![("content-type", media_type)];
        if path.starts_with("/logs") && method == Method::POST {
            headers.push(("if-none-match", "*"));
        }
        if name != "nobody" {
            headers.push(("authorization", &*authorization));
        }
        let sent = request(method, path, &headers, Body::from(body.to_owned()));
        let response = self.router.clone().oneshot(sent).await.unwrap();
        let status = response.status().as_u16();
        let varies = ["date", "x-request-id", "content-length"];
        let headers =
            response.headers().iter().filter(|(name, _)| !varies.contains(&name.as_str()));
        let headers = headers.map(|(name, value)| format!("{name}: {value:?}")).collect();
        let mut text = String::from_utf8_lossy(&bytes(response).await).into_owned();
        // Each response contains the id of its request.
        const REQUEST: &str = "urn:feedsync:1:request:";
        if let Some(start) = text.find(REQUEST) {
            let rest = &text[start + REQUEST.len()..];
            let is_of_id = |sign: char| sign.is_ascii_hexdigit() || sign == '-';
            let length = rest.find(|sign| !is_of_id(sign)).unwrap_or(rest.len());
            text.replace_range(start..start + REQUEST.len() + length, "");
        }
        (status, headers, text)
    }

    pub(super) async fn status(&self, name: &str, method: Method, path: &str, body: &str) -> u16 {
        self.answer(name, method, path, body).await.0
    }

    /// Subscribes a user to a feed; returns the status.
    pub(super) async fn subscribe(&self, name: &str) -> u16 {
        let body = format!("{{\"feed_url\":\"{FEED}\",\"category_id\":1}}");
        self.status(name, Method::POST, "/reader/miniflux/v1/feeds", &body).await
    }

    /// Number of feeds that a user sees.
    async fn feeds(&self, name: &str) -> usize {
        let (status, _, text) =
            self.answer(name, Method::GET, "/reader/miniflux/v1/feeds", "").await;
        assert_eq!(status, 200, "{text}");
        serde_json::from_str::<Vec<serde_json::Value>>(&text).unwrap().len()
    }

    pub(super) async fn add(&self, name: &str) {
        let password = Some(Password::new(PASSWORD).unwrap());
        let new =
            NewUser { name: user(name), password, administrator: false, databases_only: false };
        self.endpoint.add_user(new).await.unwrap();
        self.pause().await;
    }

    pub(super) async fn remove(&self, name: &str) {
        self.endpoint.remove_user(&user(name)).await.unwrap();
        self.pause().await;
    }

    /// Waits until the hub reads rights again.
    pub(super) async fn pause(&self) {
        tokio::time::pause();
        tokio::time::advance(std::time::Duration::from_millis(1_050)).await;
        tokio::time::resume();
    }

    async fn grants(&self, name: &str) -> Vec<(String, Role)> {
        let name = collection(name);
        let grants = self.endpoint.store().grants(GrantFilter::Collection(&name)).await.unwrap();
        grants.into_iter().map(|grant| (grant.user.to_string(), grant.role)).collect()
    }

    /// Creates a collection in a way that an earlier version allowed to all users.
    async fn squat(&self, name: &str, roles: &[(&str, Role)]) {
        let new = NewCollection {
            name: collection(name),
            title: "old".to_owned(),
            format: feedsync_core::Format::Opml,
            settings: BTreeMap::from([("public".to_owned(), "true".to_owned())]),
        };
        self.endpoint.store().create_collection(new).await.unwrap();
        for (of, role) in roles {
            let grant = Grant { user: user(of), collection: collection(name), role: *role };
            self.endpoint.store().grant(grant).await.unwrap();
        }
    }
}

#[tokio::test]
async fn reading_collections_are_reserved_for_their_users() {
    let room = Newsroom::of(&["anna", "mallory", "victim"]).await;
    let (put, post) = (Method::PUT, Method::POST);
    assert_eq!(room.status("anna", put.clone(), "/collections/secret", "{}").await, 201);
    let taken = room.answer("mallory", put.clone(), "/collections/secret", "{}").await;
    let no_log = room.answer("mallory", post.clone(), "/logs/secret", "x\n").await;
    assert_eq!((taken.0, no_log.0), (403, 404));
    for name in ["reading", "reading-victim", "reading-", "reading-anybody"] {
        let path = format!("/collections/{name}");
        assert_eq!(room.answer("mallory", put.clone(), &path, "{}").await, taken, "{name}");
        assert_eq!(room.status("anna", put.clone(), &path, "{}").await, 403, "{name}");
        let refused = room.answer("mallory", post.clone(), &format!("/logs/{name}"), "x\n").await;
        assert_eq!(refused.2, no_log.2.replace("secret", name));
        assert_eq!(room.status("anna", post.clone(), &format!("/logs/{name}"), "x\n").await, 403);
        let path = format!("/couch/{name}");
        for who in ["mallory", "anna"] {
            assert_eq!(room.status(who, put.clone(), &path, "").await, 412, "{who} {path}");
        }
    }
    assert_eq!(room.endpoint.store().collections().await.unwrap().len(), 1);

    // The user may create it, as a device does that begins with the log, and nobody else gets a role.
    assert_eq!(room.status("victim", post, "/logs/reading-victim", "x\n").await, 201);
    assert_eq!(room.grants("reading-victim").await, [("victim".to_owned(), Role::Owner)]);
    let grant = Grant {
        user: user("mallory"),
        collection: collection("reading-victim"),
        role: Role::Reader,
    };
    assert!(room.endpoint.grant(grant).await.is_err());
    room.pause().await;
    assert_eq!(room.status("mallory", Method::GET, "/logs/reading-victim", "").await, 404);
}

#[tokio::test]
async fn a_collection_that_another_user_made_first_is_renamed_and_not_used() {
    use Role::{Editor, Owner, Reader};
    for roles in [
        &[("mallory", Owner)][..],
        &[("mallory", Owner), ("victim", Editor)],
        &[("mallory", Owner), ("victim", Owner)],
        &[("mallory", Reader)],
        &[],
    ] {
        let room = Newsroom::of(&["anna", "mallory", "victim"]).await;
        room.squat("reading-victim", roles).await;
        assert_eq!(room.subscribe("victim").await, 201, "{roles:?}");
        assert_eq!(room.feeds("victim").await, 1);
        assert_eq!(room.grants("reading-victim").await, [("victim".to_owned(), Owner)]);
        for who in ["mallory", "nobody"] {
            let status = room.status(who, Method::GET, "/logs/reading-victim", "").await;
            assert!(matches!(status, 401 | 404), "{who} {status}");
        }
        // The former collection keeps its roles.
        assert_eq!(room.grants("former-1-reading-victim").await.len(), roles.len());
    }
}

#[tokio::test]
async fn a_users_own_reading_collection_is_taken_over_and_roles_of_others_end() {
    let room = Newsroom::of(&["anna", "mallory", "victim"]).await;
    room.squat("reading-victim", &[("mallory", Role::Reader), ("victim", Role::Owner)]).await;
    let before = room.endpoint.collection(&collection("reading-victim")).await.unwrap();
    assert_eq!(room.subscribe("victim").await, 201);
    let after = room.endpoint.collection(&collection("reading-victim")).await.unwrap();
    assert_eq!(before.feed_id, after.feed_id);
    assert_eq!(room.grants("reading-victim").await, [("victim".to_owned(), Role::Owner)]);
    for who in ["mallory", "nobody"] {
        let status = room.status(who, Method::GET, "/logs/reading-victim", "").await;
        assert!(matches!(status, 401 | 404), "{who} {status}");
    }
    // A role that an earlier version granted meanwhile ends at the next use.
    let user = user("mallory");
    let grant = Grant { user, collection: collection("reading-victim"), role: Role::Owner };
    room.endpoint.store().grant(grant).await.unwrap();
    assert_eq!(room.feeds("victim").await, 1);
    assert_eq!(room.grants("reading-victim").await, [("victim".to_owned(), Role::Owner)]);
}

#[tokio::test]
async fn the_hub_makes_reading_collections_private_when_it_starts() {
    let room = Newsroom::of(&["anna", "mallory", "victim"]).await;
    room.squat("reading-victim", &[("mallory", Role::Owner), ("victim", Role::Editor)]).await;
    room.squat("reading-anna", &[("anna", Role::Owner), ("mallory", Role::Editor)]).await;
    room.endpoint.secure_readings().await.unwrap();
    for name in ["reading-victim", "reading-anna"] {
        let status = room.status("mallory", Method::GET, &format!("/logs/{name}"), "").await;
        assert_eq!(status, 404, "{name}");
    }
}

#[tokio::test]
async fn a_later_user_of_the_same_name_inherits_nothing() {
    let room = Newsroom::of(&["anna", "bob"]).await;
    let (get, put) = (Method::GET, Method::PUT);
    assert_eq!(room.subscribe("bob").await, 201);
    assert_eq!(room.status("bob", put.clone(), "/collections/plans", "{}").await, 201);
    assert_eq!(room.status("bob", put.clone(), "/couch/own", "").await, 201);
    assert_eq!(room.status("anna", put.clone(), "/couch/shared", "").await, 201);
    let security = r#"{"admins":{"names":["bob"]},"members":{"names":["bob"]}}"#;
    let path = "/couch/shared/_security";
    assert_eq!(room.status("anna", put.clone(), path, security).await, 200);
    // `_security` may contain a name before there is a user of that name.
    let path = "/couch/own/_security";
    let security = r#"{"admins":{"names":["bob","carl"]},"members":{"names":["bob","carl"]}}"#;
    assert_eq!(room.status("bob", put.clone(), path, security).await, 200);
    let log = room.endpoint.store().log(&reading_collection(Some(&user("bob")))).await.unwrap();
    assert!(log.is_some());

    room.remove("bob").await;
    room.add("bob").await;
    room.add("carl").await;
    for name in ["bob", "carl"] {
        for path in ["/collections/plans", "/logs/reading-bob", "/couch/own", "/couch/shared"] {
            assert_eq!(room.status(name, get.clone(), path, "").await, 404, "{name} {path}");
        }
        let all = room.answer(name, get.clone(), "/couch/_all_dbs", "").await;
        assert_eq!((all.0, all.2.trim()), (200, "[]"));
        assert_eq!(room.feeds(name).await, 0, "{name}");
    }
    // The remaining resources belong to the administrator.
    for path in ["/collections/plans", "/couch/own", "/couch/shared"] {
        assert_eq!(room.status("anna", get.clone(), path, "").await, 200, "{path}");
    }
}

#[tokio::test]
async fn a_reading_that_is_removed_does_not_come_back() {
    let room = Newsroom::of(&["anna", "bob"]).await;
    assert_eq!(room.subscribe("bob").await, 201);
    assert_eq!(room.status("bob", Method::DELETE, "/collections/reading-bob", "").await, 204);
    assert_eq!(room.feeds("bob").await, 0);
}

#[tokio::test]
async fn a_database_does_not_take_the_name_of_a_collection() {
    let room = Newsroom::of(&["anna", "mallory", "victim"]).await;
    let (get, put) = (Method::GET, Method::PUT);
    assert_eq!(room.status("victim", put.clone(), "/collections/plans", "{}").await, 201);
    assert_eq!(room.status("mallory", put.clone(), "/couch/plans", "").await, 412);
    let bridged = r#"{"documents":true}"#;
    assert_eq!(room.status("victim", put.clone(), "/collections/plans", bridged).await, 200);
    room.endpoint.open_as_database(&collection("plans")).await.unwrap();
    assert_eq!(room.status("victim", get.clone(), "/couch/plans", "").await, 200);
    assert_eq!(room.status("mallory", get.clone(), "/couch/plans", "").await, 404);
    // The next collection of that name has another, empty database.
    assert_eq!(room.status("victim", put.clone(), "/couch/plans/x", "{\"a\":1}").await, 201);
    assert_eq!(room.status("victim", Method::DELETE, "/collections/plans", "").await, 204);
    assert_eq!(room.status("anna", get.clone(), "/couch/plans", "").await, 404);
    assert_eq!(room.status("mallory", put.clone(), "/collections/plans", bridged).await, 201);
    room.endpoint.open_as_database(&collection("plans")).await.unwrap();
    assert_eq!(room.status("mallory", get.clone(), "/couch/plans", "").await, 200);
    assert_eq!(room.status("mallory", get, "/couch/plans/x", "").await, 404);
}

#[tokio::test]
async fn a_collection_gives_no_right_to_a_database_that_was_there_before() {
    let room = Newsroom::of(&["anna", "mallory", "victim"]).await;
    let (get, put) = (Method::GET, Method::PUT);
    assert_eq!(room.status("victim", put.clone(), "/couch/plans", "").await, 201);
    assert_eq!(room.status("victim", put.clone(), "/couch/plans/x", "{}").await, 201);
    assert_eq!(room.status("mallory", put.clone(), "/collections/plans", "{}").await, 201);
    let bridged = r#"{"documents":true}"#;
    assert_eq!(room.status("mallory", put, "/collections/plans", bridged).await, 409);
    assert!(room.endpoint.open_as_database(&collection("plans")).await.is_err());
    assert_eq!(room.status("mallory", get.clone(), "/couch/plans/x", "").await, 404);
    assert_eq!(room.status("victim", get.clone(), "/couch/plans/x", "").await, 200);
    assert_eq!(room.status("victim", get, "/collections/plans", "").await, 404);
}

#[tokio::test]
async fn the_first_user_gets_what_was_read_before_at_once() {
    let room = Newsroom::of(&[]).await;
    let local = async |method: Method, path: &str, body: &str| {
        let headers = [("content-type", "application/json")];
        let sent = request(method, path, &headers, Body::from(body.to_owned()));
        room.router.clone().oneshot(sent).await.unwrap().status().as_u16()
    };
    assert_eq!(local(Method::PUT, "/collections/plans", "{}").await, 201);
    let feed = format!("{{\"feed_url\":\"{FEED}\",\"category_id\":1}}");
    assert_eq!(local(Method::POST, "/reader/miniflux/v1/feeds", &feed).await, 201);
    let article = crate::newsroom::article("n1", "Title 1.", "<p>Some words</p>", 1);
    room.publish(FEED, vec![article], crate::newsroom::ARRIVAL_TIME).await;
    let star = "/reader/miniflux/v1/entries/1/bookmark";
    assert_eq!(local(Method::PUT, star, "").await, 204);

    let new = |name: &str, administrator| {
        let password = Some(Password::new(PASSWORD).unwrap());
        NewUser { name: user(name), password, administrator, databases_only: false }
    };
    room.endpoint.add_user(new("anna", true)).await.unwrap();
    assert!(room.endpoint.open_reading_collection(None).await.is_err());
    // The hub checked a moment ago whether there are users.
    assert_eq!(room.feeds("anna").await, 1);
    let starred = "/reader/miniflux/v1/entries?starred=true";
    let (_, _, entries) = room.answer("anna", Method::GET, starred, "").await;
    assert!(entries.contains("Title 1."), "{entries}");
    assert_eq!(room.status("anna", Method::GET, "/collections/plans", "").await, 200);
    assert_eq!(room.grants("reading-anna").await, [("anna".to_owned(), Role::Owner)]);
    room.endpoint.add_user(new("berta", true)).await.unwrap();
    room.pause().await;
    assert_eq!(room.feeds("berta").await, 0);
}

#[tokio::test]
async fn private_names_answer_like_missing_names() {
    let room = Newsroom::of(&["anna", "stranger"]).await;
    let put = Method::PUT;
    for (path, body) in [
        ("/collections/private", "{}"),
        ("/couch/privacy", ""),
        ("/couch/privacy/a", "{}"),
        ("/couch/privacy/_local/a", "{}"),
    ] {
        assert_eq!(room.status("anna", put.clone(), path, body).await, 201, "{path}");
    }
    assert_eq!(room.status("anna", Method::POST, "/logs/private", "x\n").await, 201);
    assert_eq!(room.subscribe("anna").await, 201);
    let article = crate::newsroom::article("n1", "Title 1.", "<p>Some words</p>", 1);
    room.publish(FEED, vec![article], crate::newsroom::ARRIVAL_TIME).await;
    let mut compared = 0;
    let mut compare = async |who: &str, method: &Method, there: &str, missing: (&str, &str)| {
        let absent = there.replace(missing.0, missing.1);
        let known = room.answer(who, method.clone(), there, "{}").await;
        let none = room.answer(who, method.clone(), &absent, "{}").await;
        // Pages also contain their address in a query.
        let encoded = [missing.0, missing.1].map(|text| text.replace('/', "%2F"));
        let same =
            |text: &str| text.replace(missing.0, missing.1).replace(&*encoded[0], &encoded[1]);
        let neutral = |(status, headers, text): (u16, Vec<String>, String)| {
            let headers: Vec<_> = headers.iter().map(|it| same(it)).collect();
            (status, headers, same(&text))
        };
        assert_eq!(neutral(known), neutral(none), "{who}: {method} {there}");
        compared += 1;
    };
    for (path, method, right) in feedsync_server::rights() {
        // A user who may create a name learns whether it is free, and nothing else.
        let makes =
            matches!(right, feedsync_server::Right::Create | feedsync_server::Right::Append);
        for who in ["stranger", "nobody"] {
            if path.contains("{collection}") {
                let there = path
                    .replace("{collection}", "private")
                    .replace("{generation}", "1.00000000")
                    .replace("{id}", "a")
                    .replace("{name}", "n");
                // Spellings of an address that name another collection, or none.
                for ending in ["", ".xml", ".none", "%2Exml", ".", "/", "%20"] {
                    if !(makes && who == "stranger" && ending.is_empty()) {
                        let there = format!("{there}{ending}");
                        compare(who, &method, &there, ("private", "missing")).await;
                    }
                }
            } else if path.contains("{number}") {
                let there = path.replace("{number}", "1");
                compare(who, &method, &there, ("/1", "/9")).await;
            } else if path == "/couch/{*path}" {
                for rest in [
                    "",
                    "/a",
                    "/_changes",
                    "/_all_docs",
                    "/_security",
                    "/_bulk_docs",
                    "/_find",
                    "/_local/a",
                    "/_revs_diff",
                    "/_bulk_get",
                    "/_purge",
                    "/_revs_limit",
                    "/_compact",
                    "/a/b",
                    "/_ensure_full_commit",
                    "/_index",
                    "/_index/_bulk_delete",
                    "/_index/_design/a/json/b",
                    "/_explain",
                    "/_design/a",
                    "/_none",
                ] {
                    if rest.is_empty() && method == Method::PUT && who == "stranger" {
                        continue;
                    }
                    let there = format!("/couch/privacy{rest}");
                    compare(who, &method, &there, ("privacy", "missing")).await;
                }
            }
        }
    }
    for (path, method) in [
        ("/reader/miniflux/v1/feeds/1", Method::GET),
        ("/reader/miniflux/v1/feeds/1", Method::PUT),
        ("/reader/miniflux/v1/feeds/1", Method::DELETE),
        ("/reader/miniflux/v1/feeds/1/icon", Method::GET),
        ("/reader/miniflux/v1/feeds/1/entries", Method::GET),
        ("/reader/miniflux/v1/entries/1", Method::GET),
        ("/reader/nextcloud/index.php/apps/news/api/v1-3/feeds/1", Method::DELETE),
        ("/reader/nextcloud/index.php/apps/news/api/v1-3/feeds/1/read", Method::POST),
    ] {
        compare("stranger", &method, path, ("/1", "/9")).await;
    }
    assert!(compared > 80, "{compared}");
}
