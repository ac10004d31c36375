//! Members created by AtomPub clients, and refusals (RFC 5023 9.2).

use std::collections::HashSet;

use feedsync_core::{Format, ItemId};
use http::{Method, StatusCode};

use crate::hub::{add, bytes, hub, json, notes, path, request, text};
use crate::members::{ATOM, ENTRY, body, created, expect, last, post, put, send, set};

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

/// The charset of a media type takes precedence over the XML declaration (RFC 7303).
#[tokio::test]
async fn charset_of_a_media_type_counts_for_entries_and_feeds() {
    let hub = hub().await;
    let entry = b"<entry xmlns='http://www.w3.org/2005/Atom'><title>caf\xe9</title><content>x</content></entry>";
    let post = async |path: &str, kind: &str, body: &[u8]| {
        let headers = [("content-type", kind)];
        let answer = hub.send(request(Method::POST, path, &headers, body.to_vec().into())).await;
        (answer.status().as_u16(), String::from_utf8(bytes(answer).await.to_vec()).unwrap())
    };
    let named = "application/atom+xml;type=entry;charset=iso-8859-1";
    let (status, told) = post("/collections/notes", named, entry).await;
    assert_eq!(status, 201, "{told}");
    assert!(told.contains("caf\u{e9}"), "{told}");
    let (status, told) = post("/collections/notes", "application/atom+xml;type=entry", entry).await;
    assert_eq!(status, 400, "{told}");
    let feed = b"<?xml version='1.0' encoding='utf-8'?><feed xmlns='http://www.w3.org/2005/Atom' \
        xmlns:sx='http://feedsync.org/2007/feedsync'><entry><id>urn:x:1</id><title>na\xefve</title>\
        <updated>2026-01-01T00:00:00Z</updated><sx:sync id='i1' updates='1'>\
        <sx:history sequence='1' by='b' when='2026-01-01T00:00:00Z'/></sx:sync></entry></feed>";
    let named = "application/atom+xml; charset=\"windows-1252\"";
    let (status, told) = post("/collections/notes/changes", named, feed).await;
    assert_eq!(status, 200, "{told}");
    let shown = bytes(hub.get("/collections/notes/changes").await).await;
    assert!(String::from_utf8(shown.to_vec()).unwrap().contains("na\u{ef}ve"));
}

/// Feed validators treat `atom:id` and `sx:sync/@id` as ids of one kind: within a feed none may repeat
/// another.
#[tokio::test]
async fn ids_of_entries_and_of_their_items_never_repeat_each_other() {
    let hub = hub().await;
    let own =
        ["urn:uuid:60a76c80-d399-11d9-b93c-0003939e0af6", "tag:x.example,2005:1", "urn:isbn:1"];
    let own = own.into_iter().chain(["http://x.example/1?a#b", "urn:x:%20"]);
    let mut all = HashSet::new();
    let mut count = 0;
    for id in own.map(|id| format!("<id>{id}</id>")).chain([String::new(), String::new()]) {
        let (address, _, told) = created(&hub, &format!("{id}<title>one</title>")).await;
        let after = |text: &'static str| told.split_once(text).expect(text).1;
        let sync = after("<sx:sync").split_once(" id=\"").unwrap().1;
        let ends = [(after("<id>"), '<'), (sync, '"')];
        for id in ends.map(|(text, end)| text.split(end).next().unwrap()) {
            assert!(all.insert(id.to_owned()), "{id} twice");
            count += 1;
        }
        if !id.is_empty() {
            let (again, ..) = created(&hub, &format!("{id}<title>one</title>")).await;
            assert_eq!(again, address, "the same entry is the same member");
        }
    }
    assert_eq!((count, all.len()), (14, 14));
}

/// A member that an earlier release named by its whole `atom:id` is found again under that name.
#[tokio::test]
async fn a_member_of_an_earlier_release_is_found_again() {
    let hub = hub().await;
    let entry = |title: &str| format!("<id>urn:x:1</id><title>{title}</title>");
    created(&hub, &entry("one")).await;
    let payload = hub.endpoint.store().item(&notes(), &ItemId::new("entry:urn:x:1").unwrap()).await;
    let payload = payload.unwrap().expect("it has another id than the entry").item.winner.payload;
    let old = crate::hub::hub_with(Default::default()).await;
    let former = ItemId::new("urn:x:1").unwrap();
    old.endpoint.add(&notes(), former.clone(), Default::default(), payload).await.unwrap();
    let (found, ..) = created(&old, &entry("one")).await;
    assert!(found.ends_with("/items/urn:x:1"), "{found}");
    old.call(Method::DELETE, &found, &[]).await;
    let (back, ..) = created(&old, &entry("two")).await;
    assert_eq!(back, found, "a deleted one comes back under its name");
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
    // Items of other endpoints are merged, whatever their categories.
    let other = crate::hub::endpoint("other");
    crate::hub::create(&other, "notes", Format::Atom).await;
    let mut item = add(&other, "m").await;
    let with_category =
        item.winner.payload.text().replace("</entry>", "<category term=\"drink\"/></entry>");
    item.winner.payload = item.winner.payload.with_parsed_text(with_category);
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
