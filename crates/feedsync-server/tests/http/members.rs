//! Members edited by an AtomPub client (RFC 5023 9).

use axum::body::Body;
use feedsync_core::{Creation, Edit, Format, ItemId};
use feedsync_endpoint::Settings;
use feedsync_formats::entry;
use feedsync_store::{CollectionChange, PageLimit, Selection, StoredItem};
use http::{Method, Response, StatusCode};

use crate::hub::{TestHub, add, bytes, delete, edit, hub, notes, path, payload, request, text};

pub(crate) const ENTRY: &str = "application/atom+xml;type=entry";
pub(crate) const ATOM: &str = "xmlns=\"http://www.w3.org/2005/Atom\"";

/// Applies settings, given as a JSON object, to `notes`.
pub(crate) async fn set(hub: &TestHub, settings: &str) {
    let settings: Settings = serde_json::from_str(settings).unwrap();
    let mut stored = Default::default();
    settings.write(&mut stored);
    let change = CollectionChange { settings: Some(stored), ..CollectionChange::default() };
    hub.endpoint.store().change_collection(&notes(), change).await.unwrap();
}

pub(crate) async fn send(
    hub: &TestHub,
    method: Method,
    address: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Response<Body> {
    hub.send(request(method, address, headers, body.into())).await
}

pub(crate) async fn post(hub: &TestHub, headers: &[(&str, &str)], inside: &str) -> Response<Body> {
    let headers = [&[("content-type", ENTRY)], headers].concat();
    let body = format!("<entry {ATOM}>{inside}</entry>");
    send(hub, Method::POST, "/collections/notes", &headers, body).await
}

pub(crate) async fn put(
    hub: &TestHub,
    address: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> Response<Body> {
    let headers = [&[("content-type", ENTRY)], headers].concat();
    send(hub, Method::PUT, address, &headers, body).await
}

pub(crate) async fn body(response: Response<Body>) -> String {
    String::from_utf8(bytes(response).await.to_vec()).unwrap()
}

/// Body of a response with that status.
pub(crate) async fn expect(response: Response<Body>, status: StatusCode) -> String {
    let found = response.status();
    let text = body(response).await;
    assert_eq!(found, status, "{text}");
    text
}

/// The live items of `notes`, newest change first.
pub(crate) async fn items(hub: &TestHub) -> Vec<StoredItem> {
    let limit = PageLimit::items(9);
    hub.endpoint.store().listing(&notes(), &Selection::default(), limit).await.unwrap().items
}

pub(crate) async fn last(hub: &TestHub) -> u64 {
    hub.endpoint.collection(&notes()).await.unwrap().last.get()
}

/// Text of an element without attributes.
fn element<'a>(text: &'a str, name: &str) -> &'a str {
    let start = text.split_once(&format!("<{name}")).expect(name).1;
    start.split_once('>').unwrap().1.split_once('<').unwrap().0
}

/// Creates a member, and returns its path, its tag and its text.
pub(crate) async fn created(hub: &TestHub, inside: &str) -> (String, String, String) {
    let response = post(hub, &[], inside).await;
    let (place, tag) = (text(&response, "location").to_owned(), text(&response, "etag").to_owned());
    let body = expect(response, StatusCode::CREATED).await;
    (path(&place).to_owned(), tag, body)
}

#[tokio::test]
async fn a_created_member_is_told_whole_with_the_tag_that_get_has() {
    let hub = hub().await;
    let response = post(&hub, &[], "<title>Bread</title><content>rye</content>").await;
    assert_eq!(response.status(), StatusCode::CREATED);
    let (place, tag) = (text(&response, "location").to_owned(), text(&response, "etag").to_owned());
    assert_eq!(text(&response, "content-location"), place);
    assert_eq!(text(&response, "content-type"), ENTRY);
    let told = body(response).await;
    let got = hub.get(path(&place)).await;
    assert_eq!((text(&got, "etag"), text(&got, "content-type")), (&*tag, ENTRY));
    assert!(!text(&got, "last-modified").is_empty());
    assert_eq!(body(got).await, told);
    assert_eq!(told.matches("rel=\"edit\"").count(), 1);
    assert!(told.contains(&format!("rel=\"edit\" href=\"{place}\"")), "{told}");
    let uuid = told.split_once("<id>urn:uuid:").unwrap().1.split_once("</id>").unwrap().0;
    let lengths: Vec<_> = uuid.split('-').map(str::len).collect();
    assert_eq!(lengths, [8, 4, 4, 4, 12], "{uuid}");
    assert!(uuid.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-')), "{uuid}");
    for filled in ["<name>hub</name>", "<published>2025-11", "<updated>2025-11"] {
        assert!(told.contains(filled), "{filled}: {told}");
    }
    let edited = element(&told, "app:edited");
    assert!(edited.len() == 27 && edited.ends_with('Z'), "{edited}");
    let held = hub.call(Method::GET, path(&place), &[("if-none-match", &tag)]).await;
    assert_eq!(held.status(), StatusCode::NOT_MODIFIED);
    assert_eq!(text(&held, "etag"), tag);
    let head = hub.call(Method::HEAD, path(&place), &[]).await;
    assert_eq!((head.status(), text(&head, "etag")), (StatusCode::OK, &*tag));
    let packed = hub.call(Method::GET, path(&place), &[("accept-encoding", "gzip")]).await;
    let packed = text(&packed, "etag").to_owned();
    assert!(packed.ends_with("-gz\""), "{packed}");
    let body = told.replace("rye", "wheat");
    expect(put(&hub, path(&place), &[("if-match", &packed)], body).await, StatusCode::OK).await;
}

#[tokio::test]
async fn client_elements_are_kept_and_hub_elements_replaced() {
    let hub = hub().await;
    let foreign = "<x:y xmlns:x='urn:x' a='1'><!-- c --></x:y><link rel='edit' href='http://other/'/>\
                   <app:edited xmlns:app='http://www.w3.org/2007/app'>1999-01-01T00:00:00Z</app:edited>";
    let own = "<id>urn:x:1</id><title>a</title><updated>2020-01-01T00:00:00Z</updated>";
    let (address, _, told) = created(&hub, &format!("{own}{foreign}")).await;
    assert_eq!(address, "/collections/notes/items/entry:urn:x:1");
    assert!(told.contains("<x:y xmlns:x='urn:x' a='1'><!-- c --></x:y>"), "{told}");
    assert!(told.contains(own) && !told.contains("other") && !told.contains("1999"), "{told}");
    let stored = hub.endpoint.item(&notes(), &ItemId::new("entry:urn:x:1").unwrap()).await.unwrap();
    let text = stored.item.winner.payload.text();
    for owned in ["edited", "rel='edit'", "alternate", "rel=\"edit\""] {
        assert!(!text.contains(owned), "{owned}: {text}");
    }
    // Elements that the client omits are removed; the hub's elements come back.
    let body = format!("<entry {ATOM}>{own}</entry>");
    let changed = expect(put(&hub, &address, &[], body).await, StatusCode::OK).await;
    assert!(!changed.contains("x:y") && changed.contains("rel=\"edit\""), "{changed}");
    assert!(!changed.contains("2020-01-01"), "a date that stayed is the hub's: {changed}");
    // Elements that a client adds are stored, too.
    let other = foreign.replace("a='1'", "a='2'");
    let body = format!("<entry {ATOM}>{own}{other}</entry>");
    let changed = expect(put(&hub, &address, &[], body).await, StatusCode::OK).await;
    assert!(changed.contains("<x:y xmlns:x='urn:x' a='2'><!-- c --></x:y>"), "{changed}");
    assert_eq!(published(&changed), published(&told));
}

/// Publication date of an entry.
fn published(entry: &str) -> &str {
    let (_, rest) = entry.split_once("<published>").unwrap_or_else(|| panic!("{entry}"));
    rest.split_once("</published>").unwrap().0
}

#[tokio::test]
async fn two_edits_in_a_row_need_no_reading_between() {
    let hub = hub().await;
    let (address, tag, told) = created(&hub, "<title>one</title>").await;
    let response = put(&hub, &address, &[("if-match", &tag)], told.replace("one", "two")).await;
    let second = text(&response, "etag").to_owned();
    assert_eq!(text(&response, "content-location"), format!("http://localhost:4287{address}"));
    let told = expect(response, StatusCode::OK).await;
    assert!(told.contains("<title>two</title>") && second != tag);
    let held = hub.call(Method::GET, &address, &[("if-none-match", &second)]).await;
    assert_eq!(held.status(), StatusCode::NOT_MODIFIED);
    let third = put(&hub, &address, &[("if-match", &second)], told.replace("two", "three")).await;
    expect(third, StatusCode::OK).await;
    let items = items(&hub).await;
    let winner = &items[0].item.winner;
    assert_eq!((winner.history.updates().len(), winner.updates.get()), (3, 3));
}

#[tokio::test]
async fn an_edit_that_changes_nothing_makes_no_update() {
    let hub = hub().await;
    let (address, tag, told) = created(&hub, "<title>one</title> <x:y xmlns:x='urn:x'/>").await;
    let before = last(&hub).await;
    let response = put(&hub, &address, &[("if-match", &tag)], told).await;
    assert_eq!((response.status(), text(&response, "etag")), (StatusCode::OK, &*tag));
    assert_eq!(last(&hub).await, before);
}

#[tokio::test]
async fn a_deleted_member_is_a_tombstone_that_can_come_back() {
    let hub = hub().await;
    let own = "<id>urn:x:1</id><title>one</title>";
    let (address, _, told) = created(&hub, own).await;
    let gone = hub.call(Method::DELETE, &address, &[]).await;
    assert_eq!(gone.status(), StatusCode::NO_CONTENT);
    for (method, content) in [(Method::GET, ""), (Method::DELETE, ""), (Method::PUT, &*told)] {
        let headers = [("content-type", ENTRY), ("if-match", "\"x\"")];
        let response = send(&hub, method.clone(), &address, &headers, content.to_owned()).await;
        assert_eq!(response.status(), StatusCode::GONE, "{method}");
        let none = "/collections/notes/items/none";
        let response = send(&hub, method.clone(), none, &headers, content.to_owned()).await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{method}");
    }
    let id = ItemId::new("entry:urn:x:1").unwrap();
    assert!(hub.endpoint.item(&notes(), &id).await.unwrap().item.winner.deleted);
    let back = post(&hub, &[], own).await;
    assert_eq!(path(text(&back, "location")), address);
    expect(back, StatusCode::CREATED).await;
    let winner = hub.endpoint.item(&notes(), &id).await.unwrap().item.winner;
    assert_eq!((winner.deleted, winner.history.updates().len()), (false, 3));
}

#[tokio::test]
async fn an_item_of_another_format_is_edited_as_an_entry() {
    let hub = hub().await;
    let id = ItemId::new("j").unwrap();
    let json = payload(Format::Json, "note j");
    hub.endpoint.add(&notes(), id.clone(), Creation::default(), json.clone()).await.unwrap();
    let got = hub.get("/collections/notes/items/j").await;
    let tag = text(&got, "etag").to_owned();
    let told = body(got).await;
    let same = put(&hub, "/collections/notes/items/j", &[("if-match", &tag)], told.clone()).await;
    assert_eq!(text(&same, "etag"), tag);
    expect(same, StatusCode::OK).await;
    assert_eq!(hub.endpoint.item(&notes(), &id).await.unwrap().item.winner.payload, json);
    let changed = told.replace("<title>note j", "<title>other");
    expect(
        put(&hub, "/collections/notes/items/j", &[("if-match", &tag)], changed).await,
        StatusCode::OK,
    )
    .await;
    let winner = hub.endpoint.item(&notes(), &id).await.unwrap().item.winner;
    assert_eq!(entry(&winner.payload).title.as_deref(), Some("other"));
    assert!(!winner.payload.text().contains("native"), "{}", winner.payload.text());
}

#[tokio::test]
async fn an_edit_elsewhere_is_seen_by_its_tag() {
    let hub = hub().await;
    add(&hub.endpoint, "a%2Fb").await;
    let address = "/collections/notes/items/a%252Fb";
    let tag = text(&hub.get(address).await, "etag").to_owned();
    edit(&hub.endpoint, "a%2Fb", "other").await;
    let changed = hub.call(Method::GET, address, &[("if-none-match", &tag)]).await;
    assert_eq!(changed.status(), StatusCode::OK);
    delete(&hub.endpoint, "a%2Fb").await;
    assert_eq!(hub.get(address).await.status(), StatusCode::GONE);
    let edit = Edit::undelete();
    hub.endpoint.edit(&notes(), &ItemId::new("a%2Fb").unwrap(), None, edit).await.unwrap();
    assert_eq!(hub.get(address).await.status(), StatusCode::OK);
}
