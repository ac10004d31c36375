//! The page of a database's history: what it lists, and the effects of its forms.

use axum::body::Body;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::access::world::{World, basic};
use crate::hub::request;
use crate::pages_sessions::{SECRET, goes_to, visitor, world};
use crate::visitor::{Visitor, hidden, html};

const HISTORY: &str = "/pages/history?name=plans";

/// Status and JSON of a request to databases by a user.
pub(crate) async fn ask(
    world: &World,
    user: &str,
    call: (Method, &str),
    body: Value,
) -> (u16, Value) {
    let authorization = basic(user, SECRET);
    let headers = [("authorization", &*authorization), ("content-type", "application/json")];
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = request(call.0, &format!("/couch{}", call.1), &headers, Body::from(body));
    let answer = world.router.clone().oneshot(request).await.unwrap();
    let status = answer.status().as_u16();
    (status, serde_json::from_slice(&crate::hub::bytes(answer).await).unwrap_or(Value::Null))
}

/// The text of a document; `None` if it is not there.
pub(crate) async fn text(world: &World, id: &str) -> Option<String> {
    let path = format!("/plans/{id}");
    let (_, document) = ask(world, "owen", (Method::GET, &path), Value::Null).await;
    document["text"].as_str().map(str::to_owned)
}

/// Writes a new text of a document, or deletes it.
pub(crate) async fn write(world: &World, id: &str, text: Option<&str>) {
    let path = format!("/plans/{id}");
    let (_, before) = ask(world, "owen", (Method::GET, &path), Value::Null).await;
    let mut document = json!({ "text": text, "_deleted": text.is_none() });
    if let Some(revision) = before["_rev"].as_str() {
        document["_rev"] = json!(revision);
    }
    assert_eq!(ask(world, "owen", (Method::PUT, &path), document).await.0, 201);
}

/// A hub on which `owen` has the database `plans`, of which `eddy` is a member, and which keeps its history.
pub(crate) async fn kept() -> World {
    let world = world().await;
    assert_eq!(ask(&world, "owen", (Method::PUT, "/plans"), Value::Null).await.0, 201);
    let group = |names: Value| json!({ "names": names, "roles": [] });
    let security =
        json!({ "admins": group(json!(["owen"])), "members": group(json!(["owen", "eddy"])) });
    let path = "/plans/_security";
    assert_eq!(ask(&world, "owen", (Method::PUT, path), security).await.0, 200);
    let owner = visitor(&world, "owen").await;
    let page = owner.page(HISTORY).await;
    assert!(page.contains("keeps no history"), "{page}");
    let keep = [("action", "keep"), ("days", "30")];
    goes_to(&owner.post(HISTORY, &keep).await, &format!("{HISTORY}&said=kept"));
    world
}

#[tokio::test]
async fn a_change_is_listed_with_its_author_and_undone() {
    let world = kept().await;
    write(&world, "milk", Some("two litres")).await;
    write(&world, "milk", Some("none")).await;
    write(&world, "bread", Some("one")).await;
    write(&world, "bread", None).await;
    let member = visitor(&world, "eddy").await;
    let page = member.page(HISTORY).await;
    for shown in
        ["kept for 30 days", "by <bdi>owen</bdi>", "deleted now", "/pages/document?name=plans"]
    {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert_eq!(page.matches(">Undo<").count(), 2);
    // The newest change is the first one.
    for (id, expected) in [("bread", "one"), ("milk", "two litres")] {
        let of = |page: &str| {
            page.split_once(&format!("name=\"id\" value=\"{id}\"")).unwrap().1.to_owned()
        };
        let moment = hidden(&of(&page), "moment").unwrap();
        let fields = [("action", "restore"), ("id", id), ("moment", &*moment)];
        goes_to(&member.post(HISTORY, &fields).await, &format!("{HISTORY}&said=restored-1-0-0"));
        assert_eq!(text(&world, id).await.as_deref(), Some(expected));
    }
    // What the undoing replaced is listed, too.
    let page = member.page(HISTORY).await;
    assert!(page.contains("by <bdi>eddy</bdi>") && !page.contains("deleted now"), "{page}");
}

#[tokio::test]
async fn everything_is_brought_back_after_a_preview() {
    let world = kept().await;
    for id in ["milk", "bread", "tea"] {
        write(&world, id, Some("before")).await;
    }
    // The clock of the hub goes on by a second each time it is read.
    let time = world.endpoint.environment().now().timestamp().unwrap().to_string();
    write(&world, "milk", Some("after")).await;
    write(&world, "bread", None).await;
    write(&world, "new", Some("after")).await;
    let owner = visitor(&world, "owen").await;
    let page = owner.page(&format!("{HISTORY}&time={time}&newer=1")).await;
    for shown in ["2 documents would be as they were then", "1 newer documents would be deleted"] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert_eq!(text(&world, "milk").await.as_deref(), Some("after"), "a preview changes nothing");
    let fields = [("action", "restore-all"), ("time", &*time), ("newer", "1")];
    let foreign = owner.send(HISTORY, &fields).await;
    assert_eq!(foreign.status(), StatusCode::FORBIDDEN, "without the token of the form");
    assert_eq!(text(&world, "milk").await.as_deref(), Some("after"));
    goes_to(&owner.post(HISTORY, &fields).await, &format!("{HISTORY}&said=restored-2-1-0"));
    for (id, expected) in [("milk", Some("before")), ("bread", Some("before")), ("new", None)] {
        assert_eq!(text(&world, id).await.as_deref(), expected, "{id}");
    }
    let page = owner.page(&format!("{HISTORY}&said=restored-2-1-0")).await;
    assert!(page.contains("Documents restored: 2. Deleted: 1."), "{page}");
}

#[tokio::test]
async fn only_administrators_of_a_database_change_the_period_and_confirm_a_loss() {
    let world = kept().await;
    let keep = |days: &'static str| [("action", "keep"), ("days", days)];
    let member = visitor(&world, "eddy").await;
    assert!(!member.page(HISTORY).await.contains("name=\"days\""));
    assert_eq!(member.post(HISTORY, &keep("90")).await.status(), StatusCode::FORBIDDEN);
    let owner = visitor(&world, "owen").await;
    let refused = owner.post(HISTORY, &keep("7")).await;
    assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
    assert!(html(refused).await.contains("older states would be lost"));
    goes_to(&owner.post(HISTORY, &keep("90")).await, &format!("{HISTORY}&said=kept"));
    let confirmed = [keep("0").as_slice(), &[("confirm", "1")]].concat();
    goes_to(&owner.post(HISTORY, &confirmed).await, &format!("{HISTORY}&said=kept"));
    assert!(owner.page(HISTORY).await.contains("keeps no history"));
    for days in ["2", "-1", "x", ""] {
        let fields = [("action", "keep"), ("days", days)];
        assert_eq!(owner.post(HISTORY, &fields).await.status(), StatusCode::BAD_REQUEST, "{days}");
    }
    let other = visitor(&world, "nora").await;
    assert_eq!(other.get(HISTORY).await.status(), StatusCode::NOT_FOUND);
    assert_eq!(other.post(HISTORY, &keep("30")).await.status(), StatusCode::NOT_FOUND);
    let stranger = Visitor::new(&world.router);
    assert_eq!(stranger.get(HISTORY).await.status(), StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_mass_loss_is_announced_on_the_pages_and_wrong_times_are_named() {
    let world = kept().await;
    let docs: Vec<Value> = (0..40).map(|at| json!({ "_id": format!("d{at}") })).collect();
    let bulk = (Method::POST, "/plans/_bulk_docs");
    let (_, written) = ask(&world, "owen", bulk.clone(), json!({ "docs": docs })).await;
    let owner = visitor(&world, "owen").await;
    // The documents are older than the history.
    for (days, confirm) in [("0", "1"), ("30", "")] {
        let fields = [("action", "keep"), ("days", days), ("confirm", confirm)];
        goes_to(&owner.post(HISTORY, &fields).await, &format!("{HISTORY}&said=kept"));
    }
    assert!(!owner.page(HISTORY).await.contains("deleted within an hour"));
    let gone = |one: &Value| json!({ "_id": one["id"], "_rev": one["rev"], "_deleted": true });
    let docs: Vec<Value> = written.as_array().unwrap().iter().take(30).map(gone).collect();
    ask(&world, "owen", bulk, json!({ "docs": docs })).await;
    for path in [HISTORY, "/pages/database?name=plans"] {
        let page = owner.page(path).await;
        assert!(page.contains("documents were deleted within an hour"), "{path}: {page}");
    }
    for (time, said) in [("soon", "is no time"), ("2001-01-01T00:00", "does not reach back")] {
        let answer = owner.get(&format!("{HISTORY}&time={time}")).await;
        assert_eq!(answer.status(), StatusCode::BAD_REQUEST, "{time}");
        assert!(html(answer).await.contains(said), "{time}");
    }
}
