//! Visibility of drafts: only editors see them, where a collection honours them (RFC 5023 13.1.1).

use axum::body::Body;
use feedsync_core::{Base, Edit, Format, ItemId, Payload};
use feedsync_store::Digest;
use http::{Method, StatusCode};
use tower::ServiceExt as _;

use super::world::{World, bearer, collection};
use crate::hub::{bytes, path, request, text};
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

/// An entry with a title and more elements, perhaps as a draft.
fn entry(title: &str, draft: bool, more: &str) -> String {
    let draft = if draft { "yes" } else { "no" };
    format!(
        "<entry xmlns='http://www.w3.org/2005/Atom' xmlns:app='http://www.w3.org/2007/app'>\
         <id>urn:x:{title}</id><title>{title}</title><updated>2026-11-20T10:00:00Z</updated>\
         <app:control><app:draft>{draft}</app:draft></app:control>{more}</entry>"
    )
}

async fn add(world: &World, name: &str, title: &str, draft: bool, more: &str) -> ItemId {
    let id = ItemId::new(title).unwrap();
    let payload = Payload::from_parsed(Format::Atom, entry(title, draft, more));
    world.endpoint.add(&collection(name), id.clone(), Default::default(), payload).await.unwrap();
    id
}

/// Status and body of a response to a user.
async fn answer(world: &World, path: &str, authorization: Option<&str>) -> (StatusCode, String) {
    let headers: Vec<_> = authorization.map(|value| ("authorization", value)).into_iter().collect();
    let response = world.ask(Method::GET, path, &headers).await;
    let status = response.status();
    (status, String::from_utf8_lossy(&bytes(response).await).into_owned())
}

#[tokio::test]
async fn drafts_stand_in_no_listing_page_or_search_of_those_who_may_not_edit() {
    let world = World::in_memory().await;
    let reader = bearer(&world.access("rita").await);
    let editor = bearer(&world.access("eddy").await);
    for (name, audience) in [
        ("drafty", vec![(Some(&*reader), false), (Some(&*editor), true)]),
        ("news", vec![(None, false), (Some(&*reader), false), (Some(&*editor), true)]),
        // Where drafts are not honoured, they are ordinary entries.
        ("open", vec![(None, true), (Some(&*reader), true), (Some(&*editor), true)]),
    ] {
        add(&world, name, "shownitem", false, "").await;
        add(&world, name, "secretitem", true, "").await;
        let listing = format!("/collections/{name}");
        let pages = format!("/pages/collections/{name}");
        let mut tags = Vec::new();
        for (authorization, sees) in audience {
            for path in ["", ".atom", ".rss", ".json", ".opml", ".xml"]
                .map(|suffix| format!("{listing}{suffix}"))
                .into_iter()
                .chain(
                    ["?limit=1", "?after=0", "?limit=1&after=1"].map(|q| format!("{listing}{q}")),
                )
                .chain(["", "?q=item", "?deleted=1"].map(|query| format!("{pages}{query}")))
                .chain(["/".to_owned()])
            {
                let (status, text) = answer(&world, &path, authorization).await;
                assert_eq!(status, StatusCode::OK, "{path} {authorization:?}");
                let shown = text.contains("secretitem");
                assert!(!shown || sees, "{path} {authorization:?}: {text}");
                if !path.contains("limit=1") && path != "/" {
                    assert_eq!(shown, sees, "{path} {authorization:?}");
                    assert!(text.contains("shownitem"), "{path} {authorization:?}");
                }
            }
            // A search for words of a draft finds nothing, and its links reveal nothing.
            let (_, found) = answer(&world, &format!("{pages}?q=secretitem"), authorization).await;
            assert_eq!(found.contains("/items/secretitem"), sees, "{found}");
            for address in
                ["/items/secretitem", "/items/secretitem/conflicts", "/items/secretitem/as/x"]
            {
                let (status, text) =
                    answer(&world, &format!("{listing}{address}"), authorization).await;
                assert_eq!(status != StatusCode::NOT_FOUND, sees, "{address}: {text}");
            }
            let item = answer(&world, &format!("{pages}/items/secretitem"), authorization).await;
            assert_eq!(item.0 != StatusCode::NOT_FOUND, sees, "{}", item.1);

            let headers: Vec<_> =
                authorization.map(|value| ("authorization", value)).into_iter().collect();
            let response = world.ask(Method::GET, &listing, &headers).await;
            let caching = text(&response, "cache-control");
            if name == "open" {
                assert!(caching.starts_with("public"), "one audience: {caching}");
                continue;
            }
            assert_eq!(caching, "private, no-cache");
            let vary: Vec<_> = response.headers().get_all("vary").iter().collect();
            let vary = format!("{vary:?}");
            for name in ["Accept", "Accept-Encoding", "Authorization", "Cookie"] {
                assert!(vary.contains(name), "{vary}");
            }
            let tag = text(&response, "etag").to_owned();
            for (other_tag, other_sees) in &tags {
                assert_eq!(tag == *other_tag, sees == *other_sees, "two audiences, two tags");
            }
            tags.push((tag, sees));
        }
        // A tag of one audience never validates for the other.
        if let Some((held, _)) = tags.iter().find(|(_, sees)| !sees) {
            let headers = [("authorization", &*editor), ("if-none-match", &**held)];
            let response = world.ask(Method::GET, &listing, &headers).await;
            assert_eq!(response.status(), StatusCode::OK);
        }
    }
}

#[tokio::test]
async fn pages_of_a_listing_lead_past_any_number_of_drafts() {
    let world = World::in_memory().await;
    let reader = bearer(&world.access("rita").await);
    let mut shown = Vec::new();
    for number in 0..120 {
        let is_draft = number % 40 != 0;
        add(&world, "drafty", &format!("n{number}"), is_draft, "").await;
        if !is_draft {
            shown.push(format!("n{number}"));
        }
    }
    let mut found = Vec::new();
    let mut next = Some("/collections/drafty?limit=1".to_owned());
    while let Some(address) = next {
        let headers = [("authorization", &*reader)];
        let response = world.ask(Method::GET, &address, &headers).await;
        next = crate::hub::link(&response, "next").map(|link| path(&link).to_owned());
        let text = body(response).await;
        assert!(text.matches("<entry").count() <= 1, "{text}");
        let titles = text.split("<title>n").skip(1);
        found.extend(titles.map(|rest| format!("n{}", rest.split('<').next().unwrap())));
    }
    found.reverse();
    assert_eq!(found, shown);
}

#[tokio::test]
async fn new_drafts_and_draft_conflicts_are_hidden_from_readers() {
    let world = World::in_memory().await;
    let reader = bearer(&world.access("rita").await);
    let editor = bearer(&world.access("eddy").await);
    let name = collection("drafty");
    let id = add(&world, "drafty", "plain", false, "").await;
    let member = "/collections/drafty/items/plain";
    let page = "/pages/collections/drafty/items/plain";
    assert_eq!(world.get(member, &reader).await, 200);
    let before = world.endpoint.item(&name, &id).await.unwrap().item;
    let edited = |title: &str, draft| {
        Edit::from(Payload::from_parsed(Format::Atom, entry(title, draft, "")))
    };
    world.endpoint.edit(&name, &id, None, edited("winner", false)).await.unwrap();
    world.endpoint.edit(&name, &id, None, edited("winneragain", false)).await.unwrap();
    let base = Some(Base::from(&before.winner));
    let item = world.endpoint.edit(&name, &id, base, edited("besideit", true)).await.unwrap().item;
    assert_eq!(
        (item.conflicts.len(), item.winner.payload.text().contains("winneragain")),
        (1, true)
    );
    for (path, authorization, sees) in [
        (page.to_owned(), &reader, false),
        (page.to_owned(), &editor, true),
        (format!("{member}/conflicts"), &reader, false),
        (format!("{member}/conflicts"), &editor, true),
        ("/pages/collections/drafty?conflicts=1".to_owned(), &reader, false),
    ] {
        let (status, text) = answer(&world, &path, Some(authorization)).await;
        assert_eq!((status, text.contains("besideit")), (StatusCode::OK, sees), "{path}: {text}");
        if path.contains("conflicts=1") {
            assert!(!text.contains("/items/plain"), "a filter tells nothing either: {text}");
        }
    }
    world.endpoint.edit(&name, &id, None, edited("now a draft", true)).await.unwrap();
    for path in [member, page] {
        assert_eq!(world.get(path, &reader).await, 404, "{path}");
        assert_eq!(world.get(path, &editor).await, 200, "{path}");
    }
}

#[tokio::test]
async fn media_of_a_draft_are_read_by_editors_alone() {
    let world = World::in_memory().await;
    let blob = world.endpoint.store().put_blob(b"a secret picture".to_vec()).await.unwrap();
    assert_eq!(blob, Digest::of(b"a secret picture"));
    let names = format!(
        "<fs:blob xmlns:fs=\"urn:feedsync:1\" name=\"n\" type=\"image/png\" length=\"16\" \
         sha-256=\"{blob}\"/>"
    );
    add(&world, "drafty", "media", true, &names).await;
    let reader = bearer(&world.access("rita").await);
    let editor = bearer(&world.access("eddy").await);
    for (path, seen) in [
        (format!("/blobs/{blob}"), 200),
        ("/collections/drafty/items/media/media/n".to_owned(), 200),
    ] {
        assert_eq!(world.get(&path, &editor).await, seen, "{path}");
        assert_eq!(world.get(&path, &reader).await, 404, "{path}");
    }
}
