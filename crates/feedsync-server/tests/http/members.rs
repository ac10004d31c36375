//! Members, edited as an AtomPub client does (RFC 5023 9).

use axum::body::Body;
use feedsync::{Creation, Edit, Format, ItemId};
use feedsync_endpoint::Settings;
use feedsync_formats::entry;
use feedsync_store::{CollectionChange, PageLimit, Selection, StoredItem};
use http::{Method, Response, StatusCode};

use crate::hub::{
    TestHub, add, bytes, delete, edit, hub, json, link, notes, path, payload, request, text,
};

pub(crate) const ENTRY: &str = "application/atom+xml;type=entry";
const ATOM: &str = "xmlns=\"http://www.w3.org/2005/Atom\"";

/// Sets `notes` to what a JSON object says.
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

async fn post(hub: &TestHub, headers: &[(&str, &str)], inside: &str) -> Response<Body> {
    let headers = [&[("content-type", ENTRY)], headers].concat();
    let body = format!("<entry {ATOM}>{inside}</entry>");
    send(hub, Method::POST, "/collections/notes", &headers, body).await
}

async fn put(
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

/// The body of an answer of that status.
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

async fn last(hub: &TestHub) -> u64 {
    hub.endpoint.collection(&notes()).await.unwrap().last.get()
}

/// The text of an element without attributes.
fn element<'a>(text: &'a str, name: &str) -> &'a str {
    let start = text.split_once(&format!("<{name}")).expect(name).1;
    start.split_once('>').unwrap().1.split_once('<').unwrap().0
}

/// Creates a member and gives its path, its tag and its text.
async fn created(hub: &TestHub, inside: &str) -> (String, String, String) {
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
async fn what_a_client_sends_is_kept_and_what_the_hub_owns_is_replaced() {
    let hub = hub().await;
    let foreign = "<x:y xmlns:x='urn:x' a='1'><!-- c --></x:y><link rel='edit' href='http://other/'/>\
                   <app:edited xmlns:app='http://www.w3.org/2007/app'>1999-01-01T00:00:00Z</app:edited>";
    let own = "<id>urn:x:1</id><title>a</title><updated>2020-01-01T00:00:00Z</updated>";
    let (address, _, told) = created(&hub, &format!("{own}{foreign}")).await;
    assert_eq!(address, "/collections/notes/items/urn:x:1");
    assert!(told.contains("<x:y xmlns:x='urn:x' a='1'><!-- c --></x:y>"), "{told}");
    assert!(told.contains(own) && !told.contains("other") && !told.contains("1999"), "{told}");
    let stored = hub.endpoint.item(&notes(), &ItemId::new("urn:x:1").unwrap()).await.unwrap();
    let text = &stored.item.winner.payload.text;
    for owned in ["edited", "rel='edit'", "alternate", "rel=\"edit\""] {
        assert!(!text.contains(owned), "{owned}: {text}");
    }
    // What the client leaves out goes, what the hub owns comes back.
    let body = format!("<entry {ATOM}>{own}</entry>");
    let changed = expect(put(&hub, &address, &[], body).await, StatusCode::OK).await;
    assert!(!changed.contains("x:y") && changed.contains("rel=\"edit\""), "{changed}");
    assert!(!changed.contains("2020-01-01"), "a date that stayed is the hub's: {changed}");
    // What a client puts is kept, too.
    let other = foreign.replace("a='1'", "a='2'");
    let body = format!("<entry {ATOM}>{own}{other}</entry>");
    let changed = expect(put(&hub, &address, &[], body).await, StatusCode::OK).await;
    assert!(changed.contains("<x:y xmlns:x='urn:x' a='2'><!-- c --></x:y>"), "{changed}");
    assert_eq!(published(&changed), published(&told));
}

/// When an entry says that it was published.
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
async fn a_stale_edit_is_refused_with_the_current_tag_and_changes_nothing() {
    let hub = hub().await;
    let (address, tag, told) = created(&hub, "<title>one</title>").await;
    let two = put(&hub, &address, &[("if-match", &tag)], told.replace("one", "two")).await;
    let current = text(&two, "etag").to_owned();
    for stale in [&*tag, "\"unknown\"", &*format!("W/{current}"), "nonsense"] {
        let three = told.replace("one", "three");
        let refused = put(&hub, &address, &[("if-match", stale)], three).await;
        assert_eq!(text(&refused, "etag"), current, "{stale}");
        assert_eq!(text(&refused, "content-type"), "application/problem+json");
        assert_eq!(refused.status(), StatusCode::PRECONDITION_FAILED, "{stale}");
        let refused = hub.call(Method::DELETE, &address, &[("if-match", stale)]).await;
        assert_eq!(refused.status(), StatusCode::PRECONDITION_FAILED, "{stale}");
    }
    let none = put(&hub, &address, &[("if-none-match", "*")], told.clone()).await;
    assert_eq!(none.status(), StatusCode::PRECONDITION_FAILED);
    let now = body(hub.get(&address).await).await;
    assert!(now.contains("<title>two</title>"), "{now}");
    // A date beside If-Match does not count; alone it does.
    let old = ("if-unmodified-since", "Thu, 01 Jan 2015 00:00:00 GMT");
    let alone = put(&hub, &address, &[old], now.replace("two", "four")).await;
    assert_eq!(alone.status(), StatusCode::PRECONDITION_FAILED);
    let beside = [("if-match", &*current), old];
    expect(put(&hub, &address, &beside, now.replace("two", "four")).await, StatusCode::OK).await;
    let late = ("if-unmodified-since", "Fri, 01 Jan 2038 00:00:00 GMT");
    let now = body(hub.get(&address).await).await;
    expect(put(&hub, &address, &[late], now).await, StatusCode::OK).await;
    let any = [("if-match", "*")];
    let gone = hub.call(Method::DELETE, &address, &any).await;
    assert_eq!(gone.status(), StatusCode::NO_CONTENT);
}

#[tokio::test]
async fn a_collection_may_demand_to_be_told_what_an_edit_is_based_on() {
    let hub = hub().await;
    let (address, tag, told) = created(&hub, "<title>one</title>").await;
    set(&hub, r#"{"preconditions": true}"#).await;
    let two = told.replace("one", "two");
    let without_sync = two.split("<sx:sync").next().unwrap().to_owned() + "</entry>";
    let date = [("if-unmodified-since", "Fri, 01 Jan 2038 00:00:00 GMT")];
    for refused in [
        put(&hub, &address, &[], without_sync.clone()).await,
        put(&hub, &address, &date, without_sync).await,
        hub.call(Method::DELETE, &address, &[]).await,
    ] {
        assert_eq!(text(&refused, "etag"), tag);
        assert_eq!(refused.status(), StatusCode::PRECONDITION_REQUIRED);
        assert_eq!(json(refused).await["header"], "If-Match");
    }
    expect(put(&hub, &address, &[("if-match", &tag)], two).await, StatusCode::OK).await;
}

#[tokio::test]
async fn an_edit_of_an_older_version_is_kept_beside_the_winner_where_that_is_wished() {
    let hub = hub().await;
    let (address, tag, told) = created(&hub, "<id>urn:x:1</id><title>one</title>").await;
    let mut current = (tag.clone(), told.clone());
    for (was, title) in [("one", "two"), ("two", "three")] {
        let body = current.1.replace(was, title);
        let response = put(&hub, &address, &[("if-match", &current.0)], body).await;
        current = (text(&response, "etag").to_owned(), expect(response, StatusCode::OK).await);
    }
    set(&hub, r#"{"keep_stale_edits": true}"#).await;
    let unknown = put(&hub, &address, &[("if-match", "\"0.0\"")], told.clone()).await;
    assert_eq!(unknown.status(), StatusCode::PRECONDITION_FAILED);
    let kept = put(&hub, &address, &[("if-match", &tag)], told.replace("one", "other")).await;
    assert_eq!(
        link(&kept, "urn:feedsync:1:conflicts").unwrap(),
        format!("http://localhost:4287{address}/conflicts")
    );
    let shown = expect(kept, StatusCode::OK).await;
    assert!(shown.contains("<title>three</title>"), "{shown}");
    let stored = hub.endpoint.item(&notes(), &ItemId::new("urn:x:1").unwrap()).await.unwrap();
    let titles = stored.item.versions().map(|version| entry(&version.payload).title.unwrap());
    assert_eq!(titles.collect::<Vec<_>>(), ["three", "other"]);
    let lines: Vec<_> = stored.item.versions().map(|version| version.dot().by().cloned()).collect();
    assert_ne!(lines[0], lines[1], "a fresh line of edits");
    // A conflict beside the winner makes no edit of the winner stale.
    let named = [("if-match", &*current.0)];
    let again = put(&hub, &address, &named, current.1.replace("three", "four")).await;
    expect(again, StatusCode::OK).await;
    let stale = hub.call(Method::DELETE, &address, &[("if-match", &tag)]).await;
    assert_eq!(stale.status(), StatusCode::PRECONDITION_FAILED);
}

#[tokio::test]
async fn what_an_entry_says_of_its_history_names_its_base_and_no_more() {
    let hub = hub().await;
    let (address, tag, told) = created(&hub, "<id>urn:x:1</id><title>one</title>").await;
    let two = told.replace("one", "two");
    expect(put(&hub, &address, &[], two.clone()).await, StatusCode::OK).await;
    // Its sx:sync is now of an older version.
    let stale = put(&hub, &address, &[], told.replace("one", "three")).await;
    assert_eq!(stale.status(), StatusCode::PRECONDITION_FAILED);
    let current = hub.get(&address).await;
    let current_tag = text(&current, "etag").to_owned();
    assert_ne!(current_tag, tag);
    // If-Match decides where both speak.
    let both =
        put(&hub, &address, &[("if-match", &current_tag)], told.replace("one", "three")).await;
    let now = expect(both, StatusCode::OK).await;
    let higher = now.replace("sequence=\"3\"", "sequence=\"9\"").replace("three", "four");
    assert_eq!(put(&hub, &address, &[], higher).await.status(), StatusCode::CONFLICT);
    let other = now.replace("id=\"urn:x:1\"", "id=\"urn:x:2\"");
    assert_eq!(put(&hub, &address, &[], other).await.status(), StatusCode::CONFLICT);
    let renamed = now.replace("<id>urn:x:1</id>", "<id>urn:x:3</id>");
    assert_eq!(put(&hub, &address, &[], renamed).await.status(), StatusCode::CONFLICT);
    let nameless = now.replace("<id>urn:x:1</id>", "").replace("three", "five");
    let kept = expect(put(&hub, &address, &[], nameless).await, StatusCode::OK).await;
    assert!(kept.contains("<id>urn:x:1</id>"), "{kept}");
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
    let id = ItemId::new("urn:x:1").unwrap();
    assert!(hub.endpoint.item(&notes(), &id).await.unwrap().item.winner.deleted);
    let back = post(&hub, &[], own).await;
    assert_eq!(path(text(&back, "location")), address);
    expect(back, StatusCode::CREATED).await;
    let winner = hub.endpoint.item(&notes(), &id).await.unwrap().item.winner;
    assert_eq!((winner.deleted, winner.history.updates().len()), (false, 3));
}

#[tokio::test]
async fn the_same_entry_again_makes_nothing_and_another_of_its_id_gets_a_new_one() {
    let hub = hub().await;
    let own = "<id>urn:x:1</id><title>one</title>";
    let (address, tag, told) = created(&hub, own).await;
    let before = last(&hub).await;
    let again = post(&hub, &[], own).await;
    assert_eq!((path(text(&again, "location")), text(&again, "etag")), (&*address, &*tag));
    assert_eq!(expect(again, StatusCode::CREATED).await, told);
    assert_eq!(last(&hub).await, before);
    let (other, _, told) = created(&hub, "<id>urn:x:1</id><title>two</title>").await;
    assert!(other != address && told.contains("<id>urn:uuid:"), "{told}");

    let key = [("idempotency-key", "k1")];
    let first = post(&hub, &key, "<title>three</title>").await;
    let (place, tag) = (text(&first, "location").to_owned(), text(&first, "etag").to_owned());
    let before = last(&hub).await;
    let again = post(&hub, &key, "<title>three</title>").await;
    assert_eq!((text(&again, "location"), text(&again, "etag")), (&*place, &*tag));
    assert_eq!(again.status(), StatusCode::CREATED);
    assert_eq!(last(&hub).await, before);
    for (key, title) in [("k2", "three"), ("k1", "four")] {
        let other =
            post(&hub, &[("idempotency-key", key)], &format!("<title>{title}</title>")).await;
        assert_ne!(text(&other, "location"), place, "{key} {title}");
    }
    let (one, ..) = created(&hub, "<title>five</title>").await;
    let (two, ..) = created(&hub, "<title>five</title>").await;
    assert_ne!(one, two);
}

#[tokio::test]
async fn a_body_that_is_no_entry_is_refused_and_changes_nothing() {
    let hub = hub().await;
    let before = last(&hub).await;
    let entry = format!("<entry {ATOM}><title>a</title></entry>");
    let feed = format!(
        "<feed {ATOM}><id>urn:x:f</id><title/><updated>2026-01-01T00:00:00Z</updated></feed>"
    );
    let deep = format!("<entry {ATOM}>{}", "<x>".repeat(1_000));
    let doctype = format!("<!DOCTYPE entry [<!ENTITY a \"b\">]>{entry}");
    let draft = format!(
        "<entry {ATOM} xmlns:app='http://www.w3.org/2007/app'><app:control><app:draft>maybe</app:draft>\
         </app:control></entry>"
    );
    for (kind, body, status) in [
        (ENTRY, "<entry", StatusCode::BAD_REQUEST),
        (ENTRY, "", StatusCode::BAD_REQUEST),
        (ENTRY, "<title>\u{1}</title>", StatusCode::BAD_REQUEST),
        (ENTRY, &deep, StatusCode::BAD_REQUEST),
        (ENTRY, &doctype, StatusCode::BAD_REQUEST),
        (ENTRY, "<item/>", StatusCode::UNPROCESSABLE_ENTITY),
        (ENTRY, &draft, StatusCode::UNPROCESSABLE_ENTITY),
        (ENTRY, &feed, StatusCode::BAD_REQUEST),
        ("application/atom+xml;type=feed", &entry, StatusCode::BAD_REQUEST),
        ("application/atom+xml; type=other", &entry, StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("application/xml", &entry, StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("text/plain", &entry, StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("image/png", "x", StatusCode::UNSUPPORTED_MEDIA_TYPE),
    ] {
        let headers = [("content-type", kind)];
        let response =
            send(&hub, Method::POST, "/collections/notes", &headers, body.to_owned()).await;
        if status == StatusCode::UNSUPPORTED_MEDIA_TYPE {
            assert_eq!(text(&response, "accept"), ENTRY, "{kind}");
        }
        let problem = expect(response, status).await;
        if status == StatusCode::UNPROCESSABLE_ENTITY {
            assert!(problem.contains("\"line\":1"), "{problem}");
        }
    }
    for id in ["relative", "two words", &format!("urn:{}", "x".repeat(2_000))] {
        let refused = post(&hub, &[], &format!("<id>{id}</id><title/>")).await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST, "{id}");
    }
    let large = vec![b' '; (8 << 20) + 1];
    let headers = [("content-type", ENTRY)];
    let refused = send(&hub, Method::POST, "/collections/notes", &headers, large).await;
    assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(last(&hub).await, before);
    for (kind, body) in
        [("application/atom+xml", &entry), ("Application/Atom+XML ; Type=\"Entry\"", &entry)]
    {
        let headers = [("content-type", kind)];
        let response = send(&hub, Method::POST, "/collections/notes", &headers, body.clone()).await;
        expect(response, StatusCode::CREATED).await;
    }
    for kind in ["application/atom+xml", "application/atom+xml;type=feed"] {
        let headers = [("content-type", kind)];
        let response = send(&hub, Method::POST, "/collections/notes", &headers, feed.clone()).await;
        assert_eq!(json(response).await["counts"]["added"], 0, "{kind} is merged");
    }
}

#[tokio::test]
async fn only_what_a_collection_accepts_is_created() {
    let hub = hub().await;
    set(&hub, r#"{"accept": ["image/*", "Text/Plain"]}"#).await;
    let refused = post(&hub, &[], "<title>a</title>").await;
    assert_eq!(text(&refused, "accept"), "image/*, Text/Plain");
    assert_eq!(refused.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    set(&hub, r#"{"accept": []}"#).await;
    assert_eq!(post(&hub, &[], "<title>a</title>").await.status(), StatusCode::FORBIDDEN);
    set(&hub, r#"{"categories": {"fixed": true, "list": [{"term": "food"}]}}"#).await;
    let other = "<title>a</title><category term='drink'/>";
    let refused = post(&hub, &[], other).await;
    assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(json(refused).await["category"], "drink");
    let (address, _, told) = created(&hub, "<title>a</title><category term='food'/>").await;
    let refused = put(&hub, &address, &[], told.replace("food", "drink")).await;
    assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    // What was written elsewhere is merged, whatever its categories.
    let other = crate::hub::endpoint("other");
    crate::hub::create(&other, "notes", Format::Atom).await;
    let mut item = add(&other, "m").await;
    let with_category =
        item.winner.payload.text.replace("</entry>", "<category term=\"drink\"/></entry>");
    item.winner.payload.text = with_category.into();
    let merged = hub.post("application/atom+xml", crate::hub::feed(Format::Atom, &[item])).await;
    assert_eq!(json(merged).await["counts"]["added"], 1);
    let told = body(hub.get("/collections/notes/items/m").await).await;
    assert!(told.contains("drink"), "{told}");
}

#[tokio::test]
async fn a_slug_is_seen_in_the_address_for_people_and_stays() {
    let hub = hub().await;
    let response = post(&hub, &[("slug", "The Beach at S%C3%A8te")], "<title>a</title>").await;
    let place = text(&response, "location").to_owned();
    let told = expect(response, StatusCode::CREATED).await;
    let page = format!("{place}/as/The-Beach-at-S%C3%A8te");
    assert!(
        told.contains(&format!("rel=\"alternate\" type=\"text/html\" href=\"{page}\"")),
        "{told}"
    );
    let there = hub.get(path(&page)).await;
    assert_eq!((there.status(), text(&there, "location")), (StatusCode::SEE_OTHER, &*place));
    let bare = format!("<entry {ATOM}><title>b</title></entry>");
    let told = expect(put(&hub, path(&place), &[], bare).await, StatusCode::OK).await;
    assert_eq!(told.matches("rel=\"alternate\"").count(), 1);
    assert!(told.contains(&page), "{told}");
    let ignored = post(&hub, &[("slug", "%FF")], "<title>c</title>").await;
    expect(ignored, StatusCode::CREATED).await;
}

#[tokio::test]
async fn of_64_writers_on_one_version_exactly_one_wins() {
    let hub = hub().await;
    let (address, tag, told) = created(&hub, "<title>one</title>").await;
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..64 {
        let (router, body) = (hub.router.clone(), told.replace("one", &format!("w{number}")));
        let headers = [("content-type", ENTRY), ("if-match", &*tag)];
        let request = request(Method::PUT, &address, &headers, Body::from(body));
        writers.spawn(async move {
            tower::ServiceExt::oneshot(router, request).await.unwrap().status()
        });
    }
    let statuses = writers.join_all().await;
    let count = |status| statuses.iter().filter(|found| **found == status).count();
    let counts = (count(StatusCode::OK), count(StatusCode::PRECONDITION_FAILED));
    assert_eq!(counts, (1, 63), "{statuses:?}");
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
    assert!(!winner.payload.text.contains("native"), "{}", winner.payload.text);
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
