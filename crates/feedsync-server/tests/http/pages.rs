//! Pages for people: collections and items, and the effects of their forms.

use axum::body::Body;
use feedsync_core::{Edit, Format, ItemId, Payload};
use feedsync_formats::entry;
use feedsync_server::{Config, Limits};
use http::{Method, Response, StatusCode};

use crate::hub::{
    TestHub, add, create, delete, edit, hub, hub_with, notes, payload, request, text,
};
use crate::visitor::{self, Visitor, html};

const LIST: &str = "/pages/collections/notes";
pub(crate) const ITEM: &str = "/pages/collections/notes/items/a";

pub(crate) async fn page(hub: &TestHub, path: &str) -> String {
    let response = hub.get(path).await;
    assert_eq!(response.status(), StatusCode::OK, "{path}");
    html(response).await
}

pub(crate) async fn post(hub: &TestHub, path: &str, fields: &[(&str, &str)]) -> Response<Body> {
    Visitor::new(&hub.router).post(path, fields).await
}

/// Value of the first hidden field of a name.
pub(crate) fn hidden(page: &str, name: &str) -> String {
    visitor::hidden(page, name).unwrap_or_else(|| panic!("no {name} in {page}"))
}

pub(crate) async fn item(hub: &TestHub) -> feedsync_core::Item<Payload> {
    hub.endpoint.item(&notes(), &ItemId::new("a").unwrap()).await.unwrap().item
}

/// An item with a conflict: the winner's content is `theirs`, the conflict's `ours`.
pub(crate) async fn conflicted(hub: &TestHub) {
    let before = add(&hub.endpoint, "a").await;
    edit(&hub.endpoint, "a", "theirs once").await;
    edit(&hub.endpoint, "a", "theirs").await;
    let base = feedsync_core::Base::from(&before.winner);
    let change = Edit::from(payload(Format::Atom, "ours"));
    let id = ItemId::new("a").unwrap();
    let edited = hub.endpoint.edit(&notes(), &id, Some(base), change).await.unwrap().item;
    assert_eq!(edited.conflicts.len(), 1);
    assert_eq!(title(&edited.winner), "theirs");
}

pub(crate) fn title(version: &feedsync_core::Version<Payload>) -> String {
    entry(&version.payload).title.unwrap()
}

pub(crate) fn goes_to(response: &Response<Body>, place: &str) {
    assert_eq!(response.status(), StatusCode::SEE_OTHER);
    assert_eq!(text(response, "location"), place);
}

#[tokio::test]
async fn every_page_is_html_under_a_strict_policy_and_names_its_files_for_ever() {
    let hub = hub().await;
    conflicted(&hub).await;
    for path in [
        "/",
        LIST,
        ITEM,
        "/pages/collections/notes/people",
        "/pages/remotes",
        "/pages/databases",
        "/pages/dropped",
        "/pages/database?name=none",
        "/pages/history?name=none",
        "/pages/login",
        "/pages/account",
        "/pages/users",
        "/pages/limits",
        "/pages/none",
        "/pages/collections/none",
    ] {
        let response = hub.get(path).await;
        let policy = text(&response, "content-security-policy").to_owned();
        for rule in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "form-action 'self'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
        ] {
            assert!(policy.split("; ").any(|part| part == rule), "{path}: {policy}");
        }
        let page = html(response).await;
        assert!(!page.contains("<style") && !page.contains(" style="), "{path}");
        assert!(!page.contains("<script>") && !page.contains(" onclick"), "{path}");
        assert!(page.contains("<html lang=\"en\">") && page.contains("<h1"), "{path}");
    }
    let home = page(&hub, "/").await;
    for (begin, kind) in
        [("href=\"/pages/assets/", "text/css"), ("src=\"/pages/assets/", "text/javascript")]
    {
        let name = home.split_once(begin).unwrap().1.split('"').next().unwrap();
        let path = format!("/pages/assets/{name}");
        let response = hub.get(&path).await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        assert!(text(&response, "content-type").starts_with(kind), "{path}");
        assert!(text(&response, "cache-control").contains("immutable"), "{path}");
        let tag = [("if-none-match", text(&response, "etag"))];
        let again = hub.call(Method::GET, &path, &tag).await;
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED, "{path}");
    }
    assert_eq!(hub.get("/pages/assets/style-0.css").await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_first_page_has_the_numbers_of_every_collection() {
    let hub = hub().await;
    conflicted(&hub).await;
    add(&hub.endpoint, "b").await;
    delete(&hub.endpoint, "b").await;
    create(&hub.endpoint, "empty", Format::Rss).await;
    let response = hub.get("/").await;
    let tag = [("if-none-match", text(&response, "etag"))];
    assert_eq!(hub.call(Method::GET, "/", &tag).await.status(), StatusCode::NOT_MODIFIED);
    let page = html(response).await;
    let row = page.split_once("data-live=\"notes\"").unwrap().1.split("</tr>").next().unwrap();
    assert!(row.contains("The notes &#38; more"), "{row}");
    for number in ["data-label=\"Items\">1<", "data-label=\"Deleted\">1<", "1 conflicts in"] {
        assert!(row.contains(number), "{number}: {row}");
    }
    assert!(page.contains("data-live=\"empty\""));
    assert!(page.contains("/collections/notes/events"));
}

#[tokio::test]
async fn a_new_item_comes_from_a_form_and_nothing_typed_is_lost() {
    let hub = hub().await;
    let made = post(&hub, LIST, &[("title", "Milk & more"), ("content", "two\r\nlitres")]).await;
    assert_eq!(made.status(), StatusCode::SEE_OTHER);
    let place = text(&made, "location").to_owned();
    let shown = page(&hub, &place).await;
    assert!(shown.contains("The item was created."));
    assert!(shown.contains("<h1><bdi>Milk &#38; more</bdi>"), "{shown}");
    assert!(shown.contains("two\nlitres"));
    for (fields, field) in [
        (vec![("title", " "), ("content", "")], "new-title-error"),
        (vec![("title", "bad\u{1}"), ("content", "kept words")], "new-title-error"),
        (vec![("title", "kept words"), ("content", "bad\u{1}")], "new-content-error"),
    ] {
        let refused = post(&hub, LIST, &fields).await;
        assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
        let page = html(refused).await;
        assert!(page.contains(&format!("id=\"{field}\"")), "{page}");
        assert!(fields.iter().all(|(_, value)| page.contains(value.trim())), "{page}");
        assert!(page.contains("id=\"new\" open"));
    }
    assert_eq!(hub.endpoint.collection(&notes()).await.unwrap().live, 1);
}

#[tokio::test]
async fn items_are_searched_filtered_and_paged_by_key() {
    let hub = hub().await;
    conflicted(&hub).await;
    for number in 0..60 {
        add(&hub.endpoint, &format!("n{number}")).await;
    }
    delete(&hub.endpoint, "n7").await;
    let links = |page: &str| page.matches("/pages/collections/notes/items/").count();
    let first = page(&hub, LIST).await;
    assert_eq!(links(&first), 50);
    let older = first.split_once("rel=\"next\" href=\"").unwrap().1.split('"').next().unwrap();
    let older = older.replace("&#38;", "&");
    // Items that arrive meanwhile change no page.
    add(&hub.endpoint, "later").await;
    assert_eq!(links(&page(&hub, &older).await), 10);
    assert_eq!(links(&page(&hub, &format!("{LIST}?q=note+n4")).await), 11);
    assert_eq!(links(&page(&hub, &format!("{LIST}?conflicts=1")).await), 1);
    assert_eq!(links(&page(&hub, &format!("{LIST}?q=note+n7")).await), 0);
    assert_eq!(links(&page(&hub, &format!("{LIST}?q=note+n7&deleted=1")).await), 1);
    assert_eq!(hub.get(&format!("{LIST}?before=x")).await.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn an_edit_of_what_was_seen_is_saved_and_a_stale_one_is_kept_beside() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    let seen = page(&hub, ITEM).await;
    let (base, kind) = (hidden(&seen, "base"), hidden(&seen, "kind"));
    let form = |title: &'static str| {
        [
            ("action", "edit"),
            ("base", base.as_str()),
            ("kind", kind.as_str()),
            ("title", title),
            ("content", "typed"),
        ]
    };
    goes_to(&post(&hub, ITEM, &form("one")).await, &format!("{ITEM}?said=edited"));
    assert_eq!(title(&item(&hub).await.winner), "one");
    goes_to(&post(&hub, ITEM, &form("two")).await, &format!("{ITEM}?said=beside"));
    let both = item(&hub).await;
    let mut titles: Vec<_> = both.versions().map(title).collect();
    titles.sort();
    assert_eq!(titles, ["one", "two"]);
    let forged = base.replace("hub.", "other.");
    let fields =
        [("action", "edit"), ("base", &*forged), ("kind", "text"), ("title", "kept words")];
    let refused = post(&hub, ITEM, &fields).await;
    assert_eq!(refused.status(), StatusCode::CONFLICT);
    let page = html(refused).await;
    assert!(page.contains("value=\"kept words\"") && page.contains("has changed since"), "{page}");
    assert_eq!(item(&hub).await, both);
}

#[tokio::test]
async fn untouched_fields_stay_identical() {
    let hub = hub().await;
    let id = ItemId::new("a").unwrap();
    let text = "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:x:a</id><title>T</title>\
                <updated>2026-11-20T10:00:00Z</updated><content type=\"html\">&lt;p>a\r\nb&lt;/p>\
                </content><x:y xmlns:x=\"urn:x\"/></entry>";
    let payload = Payload::from_parsed(Format::Atom, text);
    hub.endpoint.add(&notes(), id, Default::default(), payload).await.unwrap();
    let seen = page(&hub, ITEM).await;
    let (base, kind) = (hidden(&seen, "base"), hidden(&seen, "kind"));
    assert!(seen.contains("Content (HTML)"));
    let fields = [
        ("action", "edit"),
        ("base", &*base),
        ("kind", &*kind),
        ("title", "T"),
        ("content", "<p>a\r\nb</p>"),
    ];
    let refused = post(&hub, ITEM, &fields).await;
    assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert!(html(refused).await.contains("You have not changed anything yet."));
    let fields = [
        ("action", "edit"),
        ("base", &*base),
        ("kind", &*kind),
        ("title", "U"),
        ("content", "<p>a\r\nb</p>"),
    ];
    goes_to(&post(&hub, ITEM, &fields).await, &format!("{ITEM}?said=edited"));
    let now = item(&hub).await.winner;
    let now = now.payload.text();
    assert!(now.contains("&lt;p>a\r\nb&lt;/p>") && now.contains("<title>U</title>"), "{now}");
}

#[tokio::test]
async fn an_item_is_deleted_and_restored_by_who_saw_it_as_it_is() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    let old = page(&hub, ITEM).await;
    edit(&hub.endpoint, "a", "changed").await;
    let form = |page: &str, action: &'static str| {
        [
            ("action", action.to_owned()),
            ("seen", hidden(page, "seen")),
            ("base", hidden(page, "base")),
        ]
    };
    fn borrowed<'f>(form: &'f [(&'static str, String); 3]) -> Vec<(&'static str, &'f str)> {
        form.iter().map(|(name, value)| (*name, value.as_str())).collect()
    }
    let stale = post(&hub, ITEM, &borrowed(&form(&old, "delete"))).await;
    assert_eq!(stale.status(), StatusCode::CONFLICT);
    let now = html(stale).await;
    assert!(!item(&hub).await.winner.deleted);
    let deleted = post(&hub, ITEM, &borrowed(&form(&now, "delete"))).await;
    goes_to(&deleted, &format!("{ITEM}?said=deleted"));
    let gone = page(&hub, ITEM).await;
    assert!(gone.contains(">Restore</button>") && !gone.contains(">Delete</button>"));
    goes_to(
        &post(&hub, ITEM, &borrowed(&form(&gone, "restore"))).await,
        &format!("{ITEM}?said=restored"),
    );
    assert!(!item(&hub).await.winner.deleted);
}

/// Some publishers delete the content with the item.
#[tokio::test]
async fn an_item_that_was_deleted_with_its_content_is_restored_with_a_new_one() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    let blank = Payload::from_parsed(Format::Atom, "<entry><title/></entry>");
    let edit = Edit { payload: Some(blank), deleted: Some(true) };
    hub.endpoint.edit(&notes(), &ItemId::new("a").unwrap(), None, edit).await.unwrap();
    let blank = page(&hub, ITEM).await;
    assert!(blank.contains("its content was dropped"), "{blank}");
    assert_eq!(blank.matches(">Restore</button>").count(), 1);
    let (seen, base) = (hidden(&blank, "seen"), hidden(&blank, "base"));
    let restore = |seen: &str, title: &'static str| {
        let fields = [
            ("action", "restore"),
            ("seen", seen),
            ("base", &base),
            ("title", title),
            ("content", ""),
            ("kind", "text"),
        ];
        fields.map(|(name, value)| (name, value.to_owned()))
    };
    fn borrowed<'f>(form: &'f [(&'static str, String)]) -> Vec<(&'static str, &'f str)> {
        form.iter().map(|(name, value)| (*name, value.as_str())).collect()
    }
    for (seen, title, status, said) in [
        (&*seen, " ", StatusCode::UNPROCESSABLE_ENTITY, "Enter a title or a content"),
        ("x", "Milk", StatusCode::CONFLICT, "value=\"Milk\""),
    ] {
        let refused = post(&hub, ITEM, &borrowed(&restore(seen, title))).await;
        assert_eq!(refused.status(), status);
        let shown = html(refused).await;
        assert!(shown.contains(said), "{shown}");
        assert!(item(&hub).await.winner.deleted);
    }
    let restored = post(&hub, ITEM, &borrowed(&restore(&seen, "Milk"))).await;
    goes_to(&restored, &format!("{ITEM}?said=restored"));
    let now = item(&hub).await.winner;
    assert!(!now.deleted && now.payload.text().contains(">Milk</"), "{}", now.payload.text());
}

#[tokio::test]
async fn pages_make_no_more_items_than_a_collection_may_have() {
    let limits = Limits { collection_items: 1, ..Limits::default() };
    let hub = hub_with(Config { limits, ..Config::default() }).await;
    conflicted(&hub).await;
    let typed = [("title", "kept words"), ("content", "and these")];
    let full = post(&hub, LIST, &typed).await;
    assert_eq!(full.status(), StatusCode::INSUFFICIENT_STORAGE);
    let again = html(full).await;
    assert!(again.contains("value=\"kept words\"") && again.contains("and these"), "{again}");
    assert!(again.contains("may have 1"), "{again}");
    // Existing items may be changed; deleted ones come back only within the limit.
    delete(&hub.endpoint, "a").await;
    assert_eq!(post(&hub, LIST, &typed).await.status(), StatusCode::SEE_OTHER);
    let before = item(&hub).await;
    assert!(before.winner.deleted && before.conflicts.len() == 1);
    let shown = page(&hub, ITEM).await;
    let (seen, base, kind) =
        (hidden(&shown, "seen"), hidden(&shown, "base"), hidden(&shown, "kind"));
    for action in ["restore", "take", "merge"] {
        let fields = [
            ("action", action),
            ("seen", &*seen),
            ("base", &*base),
            ("kind", &*kind),
            ("place", "0"),
            ("title", "kept words"),
            ("content", "both"),
        ];
        let full = post(&hub, ITEM, &fields).await;
        assert_eq!(full.status(), StatusCode::INSUFFICIENT_STORAGE, "{action}");
        let again = html(full).await;
        assert!(again.contains("may have 1"), "{action}: {again}");
        assert_eq!(again.contains("value=\"kept words\""), action == "merge");
        assert_eq!(item(&hub).await, before, "{action}");
    }
    let keep = [("action", "keep"), ("seen", &*seen)];
    goes_to(&post(&hub, ITEM, &keep).await, &format!("{ITEM}?said=resolved"));
    assert_eq!(hub.endpoint.collection(&notes()).await.unwrap().live, 1);
}

#[tokio::test]
async fn input_for_a_removed_item_is_offered_as_a_new_item() {
    let hub = hub().await;
    let path = format!("{LIST}/items/none");
    let fields =
        [("action", "edit"), ("base", "1 "), ("title", "kept words"), ("content", "and these")];
    let gone = post(&hub, &path, &fields).await;
    assert_eq!(gone.status(), StatusCode::GONE);
    let page = html(gone).await;
    assert!(page.contains("value=\"kept words\"") && page.contains("and these"), "{page}");
    assert_eq!(post(&hub, &path, &[("action", "delete")]).await.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn forms_of_other_sites_and_what_is_no_form_change_nothing() {
    let hub = hub().await;
    let visitor = Visitor::new(&hub.router);
    let form = visitor.form(LIST).await;
    let cookie = format!("feedsync-form={}", visitor.cookie("feedsync-form").unwrap());
    let kind = ("content-type", "application/x-www-form-urlencoded");
    // The form belongs to this browser, so that the row's fault is the only one.
    let send = async |headers: &[(&str, &str)], fields: &str| {
        let headers = [&[("cookie", &*cookie)], headers].concat();
        let body = format!("{fields}&form={form}");
        hub.send(request(Method::POST, LIST, &headers, body.into())).await.status()
    };
    for (headers, status) in [
        (vec![kind, ("origin", "http://example.org")], StatusCode::FORBIDDEN),
        (vec![kind, ("origin", "null")], StatusCode::FORBIDDEN),
        (vec![kind, ("sec-fetch-site", "cross-site")], StatusCode::FORBIDDEN),
        (vec![("content-type", "text/plain")], StatusCode::UNSUPPORTED_MEDIA_TYPE),
        (vec![], StatusCode::UNSUPPORTED_MEDIA_TYPE),
    ] {
        assert_eq!(send(&headers, "title=x").await, status, "{headers:?}");
    }
    for fields in ["title=%ff", "title=a&title=b", "title=%4"] {
        assert_eq!(send(&[kind], fields).await, StatusCode::BAD_REQUEST, "{fields}");
    }
    assert_eq!(hub.endpoint.collection(&notes()).await.unwrap().last.get(), 0);
    for headers in [vec![kind], vec![kind, ("origin", "http://localhost:4287")]] {
        assert_eq!(send(&headers, "title=x").await, StatusCode::SEE_OTHER, "{headers:?}");
    }
}
