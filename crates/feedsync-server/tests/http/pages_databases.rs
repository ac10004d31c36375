//! Pages of databases: what is shown to whom, and the effects of their forms.

use axum::body::Body;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::access::world::{World, basic};
use crate::hub::request;
use crate::pages_sessions::{SECRET, goes_to, visitor, world};
use crate::visitor::{Visitor, hidden, html};
use tower::ServiceExt as _;

const DOCUMENT: &str = "/pages/document?name=plans&id=a%2Fb";

/// Status and JSON of a request to databases by `owen`.
async fn ask(world: &World, method: Method, path: &str, body: &str) -> (u16, Value) {
    let authorization = basic("owen", SECRET);
    let headers = [("authorization", &*authorization), ("content-type", "application/json")];
    let request = request(method, &format!("/couch{path}"), &headers, Body::from(body.to_owned()));
    let answer = world.router.clone().oneshot(request).await.unwrap();
    let status = answer.status().as_u16();
    (status, serde_json::from_slice(&crate::hub::bytes(answer).await).unwrap_or(Value::Null))
}

/// A hub on which `owen` has the database `plans` with the document `a/b`, which has two conflicts.
async fn planned() -> World {
    let world = world().await;
    assert_eq!(ask(&world, Method::PUT, "/plans", "").await.0, 201);
    let leaf = |at: u8, text: &str| {
        json!({
            "_id": "a/b", "_revisions": {"start": 2, "ids": [format!("{at:032x}"), "0a"]}, "text": text,
            "_attachments": {"note.txt": {"content_type": "text/plain", "data": "aGVsbG8="}}
        })
    };
    let docs = [leaf(3, "buy <b>milk</b>"), leaf(2, "buy bread"), leaf(1, "buy tea")];
    let body = json!({"new_edits": false, "docs": docs}).to_string();
    assert_eq!(ask(&world, Method::POST, "/plans/_bulk_docs", &body).await.0, 201);
    let design = json!({
        "views": {"by_text": {"map": "function (doc) { emit(doc.text); }"}},
        "validate_doc_update": "function () {}"
    });
    assert_eq!(ask(&world, Method::PUT, "/plans/_design/d", &design.to_string()).await.0, 201);
    let index = r#"{"index": {"fields": ["text"]}, "name": "texts"}"#;
    assert_eq!(ask(&world, Method::POST, "/plans/_index", index).await.0, 200);
    world
}

/// The revisions of the leaves of the document that are not deleted.
async fn leaves(world: &World) -> Vec<String> {
    let (_, document) = ask(world, Method::GET, "/plans/a%2Fb?conflicts=true", "").await;
    let conflicts = document["_conflicts"].as_array().cloned().unwrap_or_default();
    let all = std::iter::once(document["_rev"].clone()).chain(conflicts);
    all.filter_map(|revision| revision.as_str().map(str::to_owned)).collect()
}

#[tokio::test]
async fn databases_are_shown_to_those_who_may_use_them() {
    let world = planned().await;
    let owner = visitor(&world, "owen").await;
    let list = owner.page("/pages/databases").await;
    assert!(list.contains("/pages/database?name=plans\""), "{list}");
    assert!(list.contains("/couch/NAME"), "{list}");
    let page = owner.page("/pages/database?name=plans").await;
    for shown in ["by_text", "texts", ">owen<", "validates", "2 conflicts", "a/b"] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    // This hub executes no functions.
    assert!(page.contains("nothing is validated"), "{page}");
    let conflicted = owner.page("/pages/database?name=plans&conflicts=1").await;
    assert!(conflicted.contains("2 conflicts"), "{conflicted}");
    let later = owner.page("/pages/database?name=plans&from=a0").await;
    assert!(!later.contains("2 conflicts"), "{later}");
    for other in ["eddy", "nora"] {
        let other = visitor(&world, other).await;
        assert!(!other.page("/pages/databases").await.contains("plans"));
        for path in ["/pages/database?name=plans", DOCUMENT] {
            assert_eq!(other.get(path).await.status(), StatusCode::NOT_FOUND, "{path}");
        }
    }
    let root = visitor(&world, "root").await;
    assert!(root.page("/pages/databases").await.contains("plans"));
    let stranger = Visitor::new(&world.router);
    for path in ["/pages/databases", "/pages/database?name=plans", DOCUMENT] {
        assert_eq!(stranger.get(path).await.status(), StatusCode::SEE_OTHER, "{path}");
    }
    for missing in [
        "/pages/database",
        "/pages/database?name=None",
        "/pages/database?name=none",
        "/pages/document?name=plans&id=none",
        "/pages/document?name=plans&id=_local",
    ] {
        assert_eq!(owner.get(missing).await.status(), StatusCode::NOT_FOUND, "{missing}");
    }
}

#[tokio::test]
async fn a_document_is_shown_with_its_conflicts_and_one_of_them_is_kept() {
    let world = planned().await;
    let owner = visitor(&world, "owen").await;
    let page = owner.page(DOCUMENT).await;
    let [winner, second, third] = &leaves(&world).await[..] else { panic!("three leaves") };
    for shown in [&**winner, &**second, &**third, "note.txt", "5 bytes", "buy &#60;b&#62;milk"] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    assert!(page.contains("<ins>tea") || page.contains("<ins>bread"), "{page}");
    assert!(page.contains("/couch/plans/a%2Fb/note.txt\" download"), "{page}");
    let seen = hidden(&page, "seen").unwrap();
    let fields = [("action", "keep"), ("keep", &**second), ("seen", &*seen)];
    // Nobody else resolves them.
    let other = visitor(&world, "eddy").await;
    assert_eq!(other.post(DOCUMENT, &fields).await.status(), StatusCode::NOT_FOUND);
    let foreign = owner.send(DOCUMENT, &fields).await;
    assert_eq!(foreign.status(), StatusCode::FORBIDDEN, "without the token of the form");
    assert_eq!(leaves(&world).await.len(), 3);
    let none = [("action", "keep"), ("keep", "9-x"), ("seen", &*seen)];
    assert_eq!(owner.post(DOCUMENT, &none).await.status(), StatusCode::CONFLICT);
    let done = owner.post(DOCUMENT, &fields).await;
    goes_to(&done, &format!("{DOCUMENT}&said=resolved"));
    assert_eq!(leaves(&world).await, [second.as_str()]);
    let (_, kept) = ask(&world, Method::GET, "/plans/a%2Fb", "").await;
    assert_eq!(kept["text"], "buy bread");
    assert!(kept["_attachments"]["note.txt"].is_object());
    // A form that saw other leaves changes nothing.
    let again = owner.post(DOCUMENT, &fields).await;
    assert_eq!(again.status(), StatusCode::CONFLICT);
    assert!(html(again).await.contains("has changed since"));
}

#[tokio::test]
async fn a_document_is_edited_and_deleted() {
    let world = planned().await;
    let owner = visitor(&world, "owen").await;
    let seen = async || hidden(&owner.page(DOCUMENT).await, "seen").unwrap();
    let before = seen().await;
    let text = r#"{"text": "<script>alert(1)</script>", "number": 1.0, "_attachments": {"note.txt": {"stub": true}}}"#;
    for (refused, status) in [
        ("{", StatusCode::BAD_REQUEST),
        ("[]", StatusCode::BAD_REQUEST),
        (r#"{"_wrong": 1}"#, StatusCode::BAD_REQUEST),
        (r#"{"_attachments": {"other.txt": {"stub": true}}}"#, StatusCode::PRECONDITION_FAILED),
    ] {
        let fields = [("action", "edit"), ("document", refused), ("seen", &*before)];
        let answer = owner.post(DOCUMENT, &fields).await;
        assert_eq!(answer.status(), status, "{refused}");
        let page = html(answer).await;
        assert!(page.contains("Nothing was saved"), "{page}");
        let typed = refused.replace('"', "&#34;");
        assert!(page.contains(&typed), "the input is shown again: {page}");
    }
    assert_eq!(seen().await, before);
    let fields = [("action", "edit"), ("document", text), ("seen", &*before)];
    goes_to(&owner.post(DOCUMENT, &fields).await, &format!("{DOCUMENT}&said=edited"));
    let (_, edited) = ask(&world, Method::GET, "/plans/a%2Fb", "").await;
    assert_eq!(edited["text"], "<script>alert(1)</script>");
    assert!(edited["_attachments"]["note.txt"].is_object());
    let page = owner.page(DOCUMENT).await;
    assert!(page.contains("1.0") && !page.contains("<script>alert"), "{page}");
    // The input of an outdated form is not lost.
    let stale = owner.post(DOCUMENT, &fields).await;
    assert_eq!(stale.status(), StatusCode::CONFLICT);
    assert!(html(stale).await.contains("alert(1)"));
    let seen = seen().await;
    let delete = [("action", "delete"), ("seen", &*seen)];
    goes_to(&owner.post(DOCUMENT, &delete).await, "/pages/database?name=plans&said=deleted");
    assert_eq!(ask(&world, Method::GET, "/plans/a%2Fb", "").await.0, 404);
    let page = owner.page(DOCUMENT).await;
    assert!(page.contains("badge\">deleted") && page.contains("Restore"), "{page}");
}

/// A database of many documents is shown in pages.
#[tokio::test]
async fn documents_are_shown_in_pages() {
    let world = world().await;
    assert_eq!(ask(&world, Method::PUT, "/many", "").await.0, 201);
    let docs: Vec<Value> = (0..120).map(|at| json!({"_id": format!("d{at:03}")})).collect();
    let body = json!({"docs": docs}).to_string();
    assert_eq!(ask(&world, Method::POST, "/many/_bulk_docs", &body).await.0, 201);
    let owner = visitor(&world, "owen").await;
    let mut path = "/pages/database?name=many".to_owned();
    let mut counts = Vec::new();
    loop {
        let page = owner.page(&path).await;
        counts.push(page.matches("/pages/document?name=many").count());
        let Some((_, next)) = page.split_once("rel=\"next\" href=\"") else { break };
        path = next.split('"').next().unwrap().replace("&#38;", "&").replace("&amp;", "&");
    }
    assert_eq!(counts, [50, 50, 20]);
    let conflicted = owner.page("/pages/database?name=many&conflicts=1").await;
    assert!(conflicted.contains("No document has conflicts"), "{conflicted}");
}
