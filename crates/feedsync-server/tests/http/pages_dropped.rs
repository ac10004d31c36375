//! The page of dropped databases, and what a drop means for applications.

use feedsync_couch::DatabaseName;
use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::access::world::World;
use crate::pages_history::{ask, kept, text, write};
use crate::pages_sessions::{SECRET, goes_to, visitor};
use crate::visitor::{Visitor, hidden, html};

const DROPPED: &str = "/pages/dropped";

/// A hub on which `owen` dropped the database `plans`, which has a document.
async fn dropped() -> World {
    dropped_after().await.0
}

/// The same, with a time at which the database had the document.
async fn dropped_after() -> (World, String) {
    let world = kept().await;
    write(&world, "milk", Some("two litres")).await;
    // The clock of the hub goes on by a second each time it is read.
    let time = world.endpoint.environment().now().timestamp().unwrap().to_string();
    assert_eq!(ask(&world, "owen", (Method::DELETE, "/plans"), Value::Null).await.0, 200);
    (world, time)
}

/// The name under which the first listed database is kept.
async fn kept_as(visitor: &Visitor) -> String {
    hidden(&visitor.page(DROPPED).await, "database").unwrap()
}

#[tokio::test]
async fn a_dropped_database_is_brought_back() {
    let world = dropped().await;
    assert_eq!(ask(&world, "owen", (Method::GET, "/plans"), Value::Null).await.0, 404);
    let owner = visitor(&world, "owen").await;
    assert!(owner.page("/pages/databases").await.contains("Dropped databases</a> (1)"));
    let page = owner.page(DROPPED).await;
    for shown in ["<bdi>plans</bdi>", "by <bdi>owen</bdi>", "kept for 30 days", "documents: 1"] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    let kept = kept_as(&owner).await;
    let fields = [("action", "undrop"), ("database", &*kept)];
    let foreign = owner.send(DROPPED, &fields).await;
    assert_eq!(foreign.status(), StatusCode::FORBIDDEN, "without the token of the form");
    assert_eq!(text(&world, "milk").await, None);
    goes_to(&owner.post(DROPPED, &fields).await, "/pages/database?name=plans");
    assert_eq!(text(&world, "milk").await.as_deref(), Some("two litres"));
    assert!(owner.page(DROPPED).await.contains("There is no dropped database"));
    assert_eq!(owner.post(DROPPED, &fields).await.status(), StatusCode::NOT_FOUND, "once only");
}

/// As a device does it that replaces the database of all devices.
#[tokio::test]
async fn documents_of_a_dropped_database_are_written_into_the_new_one() {
    let world = dropped().await;
    let owner = visitor(&world, "owen").await;
    let kept = kept_as(&owner).await;
    assert_eq!(ask(&world, "owen", (Method::PUT, "/plans"), Value::Null).await.0, 201);
    write(&world, "tea", Some("green")).await;
    let taken = owner.post(DROPPED, &[("action", "undrop"), ("database", &*kept)]).await;
    assert_eq!(taken.status(), StatusCode::CONFLICT);
    assert!(html(taken).await.contains("There is a new database or a collection plans by now."));
    let fields = [("action", "restore"), ("database", &*kept)];
    let done = "/pages/history?name=plans&said=restored-1-0-0";
    goes_to(&owner.post(DROPPED, &fields).await, done);
    assert_eq!(text(&world, "milk").await.as_deref(), Some("two litres"));
    assert_eq!(text(&world, "tea").await.as_deref(), Some("green"));
    let unknown = owner.post(DROPPED, &[("action", "x"), ("database", &*kept)]).await;
    assert_eq!(unknown.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_dropped_database_is_deleted_for_good_once_that_is_confirmed() {
    let world = dropped().await;
    let owner = visitor(&world, "owen").await;
    let kept = kept_as(&owner).await;
    let fields = [("action", "forget"), ("database", &*kept)];
    let refused = owner.post(DROPPED, &fields).await;
    assert_eq!(refused.status(), StatusCode::CONFLICT);
    assert!(html(refused).await.contains("Nothing was deleted"));
    let confirmed = [fields.as_slice(), &[("confirm", "1")]].concat();
    goes_to(&owner.post(DROPPED, &confirmed).await, DROPPED);
    assert!(owner.page(DROPPED).await.contains("There is no dropped database"));
}

/// The name under which a database is kept opens nothing, and is not listed or taken by a client.
#[tokio::test]
async fn a_dropped_database_is_for_no_application() {
    let world = dropped().await;
    let owner = visitor(&world, "owen").await;
    let kept = kept_as(&owner).await.replace('$', "%24");
    let document = json!({ "_id": "x" });
    for user in ["owen", "eddy", "root"] {
        for (method, path, body) in [
            (Method::GET, String::new(), Value::Null),
            (Method::GET, "/milk".to_owned(), Value::Null),
            (Method::GET, "/_changes".to_owned(), Value::Null),
            (Method::GET, "/_security".to_owned(), Value::Null),
            (Method::POST, String::new(), document.clone()),
            (Method::PUT, "/_local/x".to_owned(), document.clone()),
            (Method::DELETE, String::new(), Value::Null),
        ] {
            let (status, _) =
                ask(&world, user, (method.clone(), &format!("/{kept}{path}")), body).await;
            assert_eq!(status, 404, "{user} {method} {path}");
        }
        let (status, listed) = ask(&world, user, (Method::GET, "/_all_dbs"), Value::Null).await;
        assert_eq!((status, listed.to_string().contains("plans")), (200, false), "{listed}");
        let created = ask(&world, user, (Method::PUT, &format!("/{kept}")), Value::Null).await;
        assert!([401, 412].contains(&created.0), "{user} {created:?}");
        let updates = ask(&world, user, (Method::GET, "/_db_updates"), Value::Null).await.1;
        assert!(!updates.to_string().contains("$dropped"), "{updates}");
    }
    for path in ["database", "history"] {
        let answer = owner.get(&format!("/pages/{path}?name={kept}")).await;
        assert_eq!(answer.status(), StatusCode::NOT_FOUND, "{path}");
    }
    let document = owner.get(&format!("/pages/document?name={kept}&id=milk")).await;
    assert_eq!(document.status(), StatusCode::NOT_FOUND);
}

/// Administrators of the former database bring it back, and nobody reads it through a new database of its name.
#[tokio::test]
async fn rights_to_the_former_database_apply() {
    let (world, time) = dropped_after().await;
    let owner = visitor(&world, "owen").await;
    let kept = kept_as(&owner).await;
    for user in ["eddy", "nora"] {
        let other = visitor(&world, user).await;
        assert!(other.page(DROPPED).await.contains("There is no dropped database"), "{user}");
        assert!(!other.page("/pages/databases").await.contains("Dropped"), "{user}");
        for action in ["undrop", "restore"] {
            let refused = other.post(DROPPED, &[("action", action), ("database", &*kept)]).await;
            assert_eq!(refused.status(), StatusCode::NOT_FOUND, "{user} {action}");
        }
    }
    assert_eq!(ask(&world, "root", (Method::PUT, "/plans"), Value::Null).await.0, 201);
    let group = |names: Value| json!({ "names": names, "roles": [] });
    let security = json!({ "admins": group(json!(["nora"])), "members": group(json!(["nora"])) });
    let path = (Method::PUT, "/plans/_security");
    assert_eq!(ask(&world, "root", path, security).await.0, 200);
    let other = visitor(&world, "nora").await;
    let keep = [("action", "keep"), ("days", "30")];
    let history = "/pages/history?name=plans";
    goes_to(&other.post(history, &keep).await, &format!("{history}&said=kept"));
    for time in [&*time, "2001-01-01T00:00"] {
        let fields = [("action", "restore-all"), ("time", time)];
        let refused = other.post(history, &fields).await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{time}");
        assert!(html(refused).await.contains("does not reach back"), "{time}");
    }
    let (_, all) = ask(&world, "nora", (Method::GET, "/plans/_all_docs"), Value::Null).await;
    assert_eq!(all["rows"], json!([]));
    // An administrator of the hub may use both.
    let root = visitor(&world, "root").await;
    let fields = [("action", "restore-all"), ("time", &*time)];
    goes_to(&root.post(history, &fields).await, &format!("{history}&said=restored-1-0-0"));
}

/// A user of databases alone replaces the database of the user's own name, as the note plugin does it, and the former one is
/// kept.
#[tokio::test]
async fn a_vault_that_its_user_replaces_is_kept() {
    let world = World::in_memory().await;
    world.password("data", SECRET).await;
    let name: DatabaseName = "data".parse().unwrap();
    for number in 0..2 {
        let created = ask(&world, "data", (Method::PUT, "/data"), Value::Null).await;
        assert_eq!(created.0, 201, "{created:?}");
        let written =
            ask(&world, "data", (Method::PUT, "/data/note"), json!({ "n": number })).await;
        assert_eq!(written.0, 201, "{written:?}");
        assert_eq!(ask(&world, "data", (Method::DELETE, "/data"), Value::Null).await.0, 200);
        let kept = world.endpoint.dropped_databases(Some(&name)).await.unwrap();
        let authors: Vec<_> =
            kept.iter().map(|kept| kept.dropped.clone().unwrap().author.unwrap()).collect();
        assert_eq!(authors.len(), number + 1);
        assert!(authors.iter().all(|author| &**author == "data"));
    }
}
