//! Drafts are for those who may edit, where a collection honours them (RFC 5023 13.1.1).

use axum::body::Body;
use http::{Method, StatusCode};
use tower::ServiceExt as _;

use super::world::{World, bearer};
use crate::hub::{path, request, text};
use crate::members::{ENTRY, body};

const DRAFT: &str = "<entry xmlns='http://www.w3.org/2005/Atom' \
                     xmlns:app='http://www.w3.org/2007/app'><title>d</title>\
                     <app:control><app:draft>yes</app:draft><x/></app:control></entry>";

#[tokio::test]
async fn a_draft_is_seen_by_editors_alone_and_where_there_are_none_by_all() {
    let world = World::in_memory().await;
    let (editor, reader) = (world.access("eddy").await, world.access("rita").await);
    let (editor, reader) = (bearer(&editor), bearer(&reader));
    for (collection, seen) in [("drafty", 404), ("notes", 200)] {
        let headers = [("content-type", ENTRY), ("authorization", &*editor)];
        let address = format!("/collections/{collection}");
        let made = request(Method::POST, &address, &headers, Body::from(DRAFT));
        let made = world.router.clone().oneshot(made).await.unwrap();
        assert_eq!(made.status(), StatusCode::CREATED);
        let member = path(text(&made, "location")).to_owned();
        let told = body(made).await;
        assert!(
            told.contains("<name>eddy</name>") && told.contains("<x/></app:control>"),
            "{told}"
        );
        assert_eq!(world.get(&member, &editor).await, 200);
        assert_eq!(world.get(&format!("{member}/conflicts"), &editor).await, 200);
        assert_eq!(world.get(&member, &reader).await, seen, "{collection}");
        assert_eq!(world.get(&format!("{member}/conflicts"), &reader).await, seen, "{collection}");
    }
}
