//! Collections created, changed and removed over HTTP.

use axum::body::Body;
use feedsync_endpoint::{Actor, Endpoint, Settings};
use feedsync_server::{Config, router};
use feedsync_store::{
    AuditSelection, CollectionName, GrantFilter, NewCollection, Role, User, UserName,
};
use http::{Method, Response, StatusCode, header};
use serde_json::{Value, json};

use crate::hub::{TestHub, add, endpoint, hub, json, notes, request, text};

const PICTURES: &str = "/collections/pictures";

async fn put(hub: &TestHub, path: &str, body: &str, headers: &[(&str, &str)]) -> Response<Body> {
    let mut all = vec![("content-type", "application/json")];
    all.extend(headers);
    hub.send(request(Method::PUT, path, &all, body.to_owned().into())).await
}

async fn refused(response: Response<Body>, status: StatusCode) -> Value {
    assert_eq!(response.status(), status);
    assert_eq!(text(&response, "content-type"), "application/problem+json");
    json(response).await
}

#[tokio::test]
async fn a_collection_is_described_created_changed_and_removed() {
    let hub = hub().await;
    let description = r#"{"title": "Pictures", "format": "json", "accept": ["image/*"],
        "categories": {"fixed": true, "list": [{"term": "a"}]}, "keep": {"age": "90d"}}"#;
    let created = put(&hub, PICTURES, description, &[]).await;
    assert_eq!(created.status(), StatusCode::CREATED);
    assert_eq!(text(&created, "location"), "http://localhost:4287/collections/pictures");
    let settings = format!("{PICTURES}/settings");
    let place = format!("http://localhost:4287{settings}");
    assert_eq!(text(&created, "content-location"), place);
    let tag = text(&created, "etag").to_owned();
    let read = hub.get(&settings).await;
    assert_eq!(text(&read, "etag"), tag);
    let described = json(read).await;
    assert_eq!(described, json(created).await);
    for (member, value) in [
        ("name", json!("pictures")),
        ("title", json!("Pictures")),
        ("format", json!("json")),
        ("accept", json!(["image/*"])),
        ("keep", json!({"age": "90d", "count": null, "tombstones": null})),
        ("drafts", json!(false)),
    ] {
        assert_eq!(described[member], value, "{member}");
    }
    assert_eq!(described.as_object().unwrap().len(), 3 + Settings::NAMES.len());

    let again = put(&hub, PICTURES, &described.to_string(), &[]).await;
    assert_eq!(again.status(), StatusCode::OK);
    assert_eq!(text(&again, "location"), "");
    assert_eq!(text(&again, "etag"), tag, "what was read can be written back");

    let changed = put(&hub, PICTURES, r#"{"public": true}"#, &[]).await;
    assert_eq!(changed.status(), StatusCode::OK);
    let changed = json(changed).await;
    assert_eq!((&changed["title"], &changed["public"]), (&json!("pictures"), &json!(true)));
    assert_eq!(changed["accept"], json!(["application/atom+xml;type=entry"]), "its default");

    let removed = hub.call(Method::DELETE, PICTURES, &[]).await;
    assert_eq!(removed.status(), StatusCode::NO_CONTENT);
    for (method, path) in
        [(Method::GET, PICTURES), (Method::GET, &settings), (Method::DELETE, PICTURES)]
    {
        assert_eq!(hub.call(method, path, &[]).await.status(), StatusCode::NOT_FOUND, "{path}");
    }
}

#[tokio::test]
async fn changing_a_collection_touches_nothing_that_it_holds() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    let before = hub.endpoint.collection(&notes()).await.unwrap();
    let unknown = [("colour".to_owned(), "blue".to_owned())].into();
    let change = feedsync_store::CollectionChange { settings: Some(unknown), ..Default::default() };
    hub.endpoint.store().change_collection(&notes(), change).await.unwrap();
    put(&hub, "/collections/notes", r#"{"title": "Notes", "drafts": true}"#, &[]).await;
    let after = hub.endpoint.collection(&notes()).await.unwrap();
    assert_eq!((after.live, after.last, &after.feed_id), (1, before.last, &before.feed_id));
    assert_eq!((&*after.title, &*after.settings["drafts"]), ("Notes", "true"));
    assert_eq!(after.settings["colour"], "blue", "what a newer program set stays");
}

#[tokio::test]
async fn a_description_that_cannot_be_is_refused_by_the_member_at_fault() {
    let hub = hub().await;
    for (body, pointer) in [
        (r#"{"colour": 1}"#, "/colour"),
        (r#"{"a/b~": 1}"#, "/a~1b~0"),
        (r#"{"title": 1}"#, "/title"),
        (r#"{"title": "a\u0000b"}"#, "/title"),
        (r#"{"format": "yaml"}"#, "/format"),
        (r#"{"name": "other"}"#, "/name"),
        (r#"{"accept": ["image"]}"#, "/accept"),
        (r#"{"accept": "image/*"}"#, "/accept"),
        (r#"{"keep": {"age": "soon"}}"#, "/keep"),
        (r#"{"categories": {"list": [{"term": "\uffff"}]}}"#, "/categories"),
        (r#"{"drafts": "yes"}"#, "/drafts"),
    ] {
        let response = put(&hub, PICTURES, body, &[]).await;
        let problem = refused(response, StatusCode::UNPROCESSABLE_ENTITY).await;
        assert_eq!(problem["pointer"], pointer, "{body}");
    }
    let long = format!(r#"{{"title": "{}"}}"#, "x".repeat(1_025));
    let response = put(&hub, PICTURES, &long, &[]).await;
    assert_eq!(refused(response, StatusCode::UNPROCESSABLE_ENTITY).await["pointer"], "/title");
    for body in ["", "[]", "{", "nonsense", &"[".repeat(10_000)] {
        refused(put(&hub, PICTURES, body, &[]).await, StatusCode::BAD_REQUEST).await;
    }
    let problem = refused(put(&hub, PICTURES, "{\n \"a\": }", &[]).await, StatusCode::BAD_REQUEST);
    assert_eq!(problem.await["line"], 2);
    let huge = format!("{}{{}}", " ".repeat(300_000));
    refused(put(&hub, PICTURES, &huge, &[]).await, StatusCode::PAYLOAD_TOO_LARGE).await;
    for path in ["/collections/Pictures", "/collections/pictures.atom", "/collections/9"] {
        refused(put(&hub, path, "{}", &[]).await, StatusCode::NOT_FOUND).await;
    }
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let response = hub.send(request(Method::PUT, PICTURES, &form, "{}".into())).await;
    assert_eq!(text(&response, "accept"), "application/json");
    refused(response, StatusCode::UNSUPPORTED_MEDIA_TYPE).await;
    assert_eq!(hub.endpoint.store().collections().await.unwrap().len(), 1, "nothing was made");
}

#[tokio::test]
async fn a_change_says_if_it_wants_what_it_expects() {
    let hub = hub().await;
    let none = put(&hub, PICTURES, "{}", &[("if-match", "*")]).await;
    refused(none, StatusCode::PRECONDITION_FAILED).await;
    let only_new = [("if-none-match", "*")];
    let created = put(&hub, PICTURES, "{}", &only_new).await;
    assert_eq!(created.status(), StatusCode::CREATED);
    let tag = text(&created, "etag").to_owned();
    let again = put(&hub, PICTURES, "{}", &only_new).await;
    refused(again, StatusCode::PRECONDITION_FAILED).await;
    let expected = [("if-match", &*tag)];
    let changed = put(&hub, PICTURES, r#"{"public": true}"#, &expected).await;
    assert_eq!(changed.status(), StatusCode::OK);
    let current = text(&changed, "etag").to_owned();
    let stale = put(&hub, PICTURES, "{}", &expected).await;
    assert_eq!(stale.headers()[header::ETAG], *current);
    refused(stale, StatusCode::PRECONDITION_FAILED).await;
    let stale = hub.call(Method::DELETE, PICTURES, &expected).await;
    refused(stale, StatusCode::PRECONDITION_FAILED).await;
    let removed = hub.call(Method::DELETE, PICTURES, &[("if-match", &*current)]).await;
    assert_eq!(removed.status(), StatusCode::NO_CONTENT);
}

/// Several nodes with one store: preconditions are checked where the collection is written.
fn nodes(endpoint: &Endpoint) -> Vec<TestHub> {
    let node = || router(endpoint.clone(), Config::default());
    (0..3).map(|_| TestHub { endpoint: endpoint.clone(), router: node() }).collect()
}

#[tokio::test]
async fn of_many_who_change_one_collection_from_one_state_one_succeeds() {
    let hub = hub().await;
    let tag = text(&hub.get("/collections/notes/settings").await, "etag").to_owned();
    let expected = [("if-match", &*tag)];
    let nodes = nodes(&hub.endpoint);
    let changes = (0..16).map(|number| {
        let body = format!(r#"{{"title": "{number}"}}"#);
        let node = &nodes[number % 3];
        async move { put(node, "/collections/notes", &body, &expected).await.status() }
    });
    let statuses = futures_util::future::join_all(changes).await;
    let succeeded = statuses.iter().filter(|status| **status == StatusCode::OK).count();
    assert_eq!(succeeded, 1, "{statuses:?}");
}

#[tokio::test]
async fn of_many_who_make_one_collection_through_several_nodes_one_does() {
    let nodes = nodes(&hub().await.endpoint);
    let only_new = [("if-none-match", "*")];
    let made = (0..16).map(|number| {
        let node = &nodes[number % 3];
        async move { put(node, PICTURES, "{}", &only_new).await.status() }
    });
    let mut statuses = futures_util::future::join_all(made).await;
    statuses.sort();
    assert_eq!(statuses[0], StatusCode::CREATED, "{statuses:?}");
    assert!(statuses[1..].iter().all(|status| *status == StatusCode::PRECONDITION_FAILED));
    // Without a condition the later requests change what the first one created.
    let put = (0..16).map(|number| {
        let node = &nodes[number % 3];
        async move { put(node, "/collections/books", "{}", &[]).await.status() }
    });
    let mut statuses = futures_util::future::join_all(put).await;
    statuses.sort();
    assert_eq!(statuses[15], StatusCode::CREATED, "{statuses:?}");
    assert!(statuses[..15].iter().all(|status| *status == StatusCode::OK), "{statuses:?}");
}

#[tokio::test]
async fn creators_own_their_collection_and_changes_are_recorded() {
    let silent = endpoint("hub");
    let name = UserName::new("anna").unwrap();
    let created = silent.environment().now();
    let user = User {
        id: feedsync_store::UserId::new("a1").unwrap(),
        name: name.clone(),
        password: None,
        administrator: true,
        disabled: false,
        databases_only: false,
        created,
    };
    silent.store().add_user(user).await.unwrap();
    let anna = silent.on_behalf_of(Actor { user: Some(name.clone()), address: None });
    let notes = CollectionName::new("notes").unwrap();
    let (title, format, settings) =
        (String::new(), feedsync_core::Format::Atom, Default::default());
    let new = NewCollection { name: notes.clone(), title, format, settings };
    anna.create_collection(new.clone()).await.unwrap();
    assert!(anna.create_collection(new).await.is_err());
    let grants = silent.store().grants(GrantFilter::User(&name)).await.unwrap();
    assert_eq!((grants.len(), grants[0].role), (1, Role::Owner));
    let mut settings = std::collections::BTreeMap::new();
    settings.insert("public".to_owned(), "true".to_owned());
    let change = feedsync_store::CollectionChange {
        title: Some("Notes".to_owned()),
        settings: Some(settings),
        ..Default::default()
    };
    anna.change_collection(&notes, change.clone()).await.unwrap();
    anna.change_collection(&notes, change).await.unwrap();
    anna.drop_collection(&notes).await.unwrap();
    assert!(anna.drop_collection(&notes).await.is_err());
    let selection = AuditSelection { limit: 9, ..AuditSelection::default() };
    let acts = silent.store().acts(selection).await.unwrap();
    let told: Vec<_> = acts.iter().map(|act| (&*act.act.action, &*act.act.detail)).collect();
    let expected = [("drop", ""), ("set", "public, title"), ("create", "")];
    assert_eq!(told, expected);
    assert!(acts.iter().all(|act| act.act.user.as_ref() == Some(&name)));
}
