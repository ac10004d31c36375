//! Conflicts side by side, and their resolution (FeedSync 3.4).

use feedsync_core::{Base, Edit, Format, ItemId};
use feedsync_formats::entry;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::hub::{TestHub, add, hub, json as answer, notes, payload, text};
use crate::members::{expect, send, set};

const CONFLICTS: &str = "/collections/notes/items/a/conflicts";

/// A hub whose item `a` has a winner and a number of conflicts, all edits of its first version.
async fn divided(conflicts: usize) -> TestHub {
    let hub = hub().await;
    let base = Base::from(&add(&hub.endpoint, "a").await.winner);
    for number in 0..=conflicts {
        let edit = Edit::from(payload(Format::Atom, &format!("version {number}")));
        let id = ItemId::new("a").unwrap();
        hub.endpoint.edit(&notes(), &id, Some(base.clone()), edit).await.unwrap();
    }
    hub
}

async fn titles(hub: &TestHub) -> Vec<String> {
    let item = hub.endpoint.item(&notes(), &ItemId::new("a").unwrap()).await.unwrap().item;
    let conflicts = item.ranked_conflicts().into_iter().map(|(_, version)| version);
    let versions = std::iter::once(&item.winner).chain(conflicts);
    versions.map(|version| entry(&version.payload).title.unwrap()).collect()
}

async fn resolve(hub: &TestHub, decision: &Value) -> http::Response<axum::body::Body> {
    let headers = [("content-type", "application/json")];
    send(hub, Method::POST, CONFLICTS, &headers, decision.to_string()).await
}

#[tokio::test]
async fn conflicts_are_shown_side_by_side_and_one_is_taken() {
    let hub = divided(2).await;
    let before = titles(&hub).await;
    let shown = answer(hub.get(CONFLICTS).await).await;
    let places: Vec<_> = shown["versions"].as_array().unwrap().iter().collect();
    assert_eq!(places.len(), 3);
    for (version, title) in places.iter().zip(&before) {
        assert!(version["entry"].as_str().unwrap().contains(title), "{version}");
    }
    assert_eq!((&places[0]["version"], &places[2]["version"]), (&json!("winner"), &json!(2)));
    let decision = json!({ "base": shown["base"], "resolve": [2], "keep": 2 });
    let resolved = resolve(&hub, &decision).await;
    assert!(!text(&resolved, "etag").is_empty());
    let told = expect(resolved, StatusCode::OK).await;
    assert!(told.contains(&before[2]), "{told}");
    assert_eq!(titles(&hub).await, [before[2].clone(), before[1].clone()]);
    let again = resolve(&hub, &decision).await;
    assert_eq!(again.status(), StatusCode::PRECONDITION_FAILED);
}

#[tokio::test]
async fn a_merged_version_resolves_all() {
    let hub = divided(3).await;
    let shown = answer(hub.get(CONFLICTS).await).await;
    let merged = "<entry xmlns='http://www.w3.org/2005/Atom'><title>merged</title></entry>";
    let decision = json!({
        "base": shown["base"], "resolve": "all", "keep": { "content": merged },
    });
    expect(resolve(&hub, &decision).await, StatusCode::OK).await;
    assert_eq!(titles(&hub).await, ["merged"]);
}

/// A merged version must satisfy the same rules as a replacement by PUT.
#[tokio::test]
async fn a_merged_version_is_held_to_what_a_put_is() {
    let hub = divided(1).await;
    set(&hub, r#"{"categories": {"fixed": true, "list": [{"term": "food"}]}}"#).await;
    let before = titles(&hub).await;
    let base = answer(hub.get(CONFLICTS).await).await["base"].clone();
    let merge = |inside: &str| {
        let entry = format!("<entry xmlns='http://www.w3.org/2005/Atom'>{inside}</entry>");
        json!({ "base": base, "resolve": "all", "keep": { "content": entry } })
    };
    let title = "<title>merged</title>";
    for (inside, status) in [
        ("<category term='drink'/>", StatusCode::UNPROCESSABLE_ENTITY),
        ("<id>urn:x:other</id>", StatusCode::CONFLICT),
        (
            "<control xmlns='http://www.w3.org/2007/app'><draft>maybe</draft></control>",
            StatusCode::UNPROCESSABLE_ENTITY,
        ),
        ("<title", StatusCode::BAD_REQUEST),
        (
            "<sx:sync xmlns:sx='http://feedsync.org/2007/feedsync' id='b' updates='1'>\
             <sx:history sequence='1' by='x'/></sx:sync>",
            StatusCode::CONFLICT,
        ),
    ] {
        let refused = resolve(&hub, &merge(&format!("{title}{inside}"))).await;
        expect(refused, status).await;
    }
    assert_eq!(titles(&hub).await, before);
    let taken = resolve(&hub, &merge(&format!("{title}<category term='food'/>"))).await;
    let told = expect(taken, StatusCode::OK).await;
    let id = hub.endpoint.item(&notes(), &ItemId::new("a").unwrap()).await.unwrap().item.winner;
    let id = entry(&id.payload).id.unwrap();
    assert_eq!(id, format!("urn:x:{}", before[0].replace(' ', "-")), "{told}");
    for filled in ["<author>", "<updated>"] {
        assert!(told.contains(filled), "{filled}: {told}");
    }
}

#[tokio::test]
async fn a_merge_that_says_what_a_deleted_winner_said_brings_it_back() {
    let hub = hub().await;
    let first = add(&hub.endpoint, "a").await.winner;
    let id = ItemId::new("a").unwrap();
    let base = Base::from(&first);
    let aside = Edit::from(payload(Format::Atom, "aside"));
    hub.endpoint.edit(&notes(), &id, Some(base.clone()), aside).await.unwrap();
    // A concurrent edit and deletion; the longer history wins.
    let other = Edit { payload: Some(first.payload.clone()), deleted: None };
    let other = hub.endpoint.edit(&notes(), &id, Some(base), other).await.unwrap();
    let other = other.item.versions().find(|v| v.payload == first.payload).cloned().unwrap();
    let gone = Edit { payload: None, deleted: Some(true) };
    let item = hub.endpoint.edit(&notes(), &id, Some(Base::from(&other)), gone).await.unwrap();
    assert!(item.item.winner.deleted && item.item.conflicts.len() == 1);
    let shown = answer(hub.get(CONFLICTS).await).await;
    let said = shown["versions"][0]["entry"].clone();
    let decision = json!({ "base": shown["base"], "resolve": "all", "keep": { "content": said } });
    expect(resolve(&hub, &decision).await, StatusCode::OK).await;
    let item = hub.endpoint.item(&notes(), &id).await.unwrap().item;
    assert!(!item.winner.deleted && item.conflicts.is_empty());
}

#[tokio::test]
async fn a_decision_that_cannot_be_is_refused_and_changes_nothing() {
    let hub = divided(1).await;
    let before = titles(&hub).await;
    let base = answer(hub.get(CONFLICTS).await).await["base"].clone();
    for (decision, status) in [
        (
            json!({ "base": "0", "resolve": "all", "keep": "winner" }),
            StatusCode::PRECONDITION_FAILED,
        ),
        (json!({ "base": base, "resolve": "some", "keep": "winner" }), StatusCode::BAD_REQUEST),
        (json!({ "base": base, "resolve": [1], "keep": "loser" }), StatusCode::BAD_REQUEST),
        (json!({ "base": base, "resolve": [0], "keep": "winner" }), StatusCode::CONFLICT),
        (json!({ "base": base, "resolve": [1], "keep": 0 }), StatusCode::CONFLICT),
        (json!({ "base": base, "resolve": [7], "keep": "winner" }), StatusCode::CONFLICT),
        (
            json!({ "base": base, "resolve": [1], "keep": { "content": "<a/>" } }),
            StatusCode::UNPROCESSABLE_ENTITY,
        ),
        (json!([]), StatusCode::PRECONDITION_FAILED),
    ] {
        expect(resolve(&hub, &decision).await, status).await;
    }
    let headers = [("content-type", "text/plain")];
    let form = send(&hub, Method::POST, CONFLICTS, &headers, "{}").await;
    assert_eq!(form.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert_eq!(titles(&hub).await, before);
    let none = hub.get("/collections/notes/items/none/conflicts").await;
    assert_eq!(none.status(), StatusCode::NOT_FOUND);
}
