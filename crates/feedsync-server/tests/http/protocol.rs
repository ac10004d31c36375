//! HTTP rules for every response: the order of conditions, the content of a 304, dates and headers, and
//! unsupported features (RFC 9110, RFC 3229).

use std::collections::HashSet;

use axum::body::Body;
use http::{Method, Response, StatusCode, header};

use crate::hub::{TestHub, add, bytes, hub, path, text};
use crate::members::{ENTRY, send, set};

/// Addresses of every kind of response that has a tag; the last one is media.
async fn tagged(hub: &TestHub) -> Vec<String> {
    set(hub, r#"{"accept": ["image/*", "application/atom+xml;type=entry"]}"#).await;
    add(&hub.endpoint, "a").await;
    let headers = [("content-type", "image/png"), ("slug", "cat.png")];
    let made = send(hub, Method::POST, "/collections/notes", &headers, "picture").await;
    let member = path(text(&made, "location")).to_owned();
    let notes = "/collections/notes";
    let mut paths: Vec<_> = ["", ".rss", "?limit=1", "/changes", "/complete", "/settings"]
        .map(|path| format!("{notes}{path}"))
        .into();
    paths.extend(["/service", "/collections"].map(str::to_owned));
    paths.push(format!("{notes}/categories"));
    paths.push(member.clone());
    paths.push(format!("{member}/media/cat.png"));
    paths
}

async fn ask(hub: &TestHub, path: &str, headers: &[(&str, &str)]) -> Response<Body> {
    hub.call(Method::GET, path, headers).await
}

/// AH4: `If-Match` before `If-None-Match`, both before `Range`; dates are ignored beside tags.
#[tokio::test]
async fn conditions_are_weighed_in_their_order() {
    const OLD: &str = "Thu, 01 Jan 2015 00:00:00 GMT";
    const LATE: &str = "Fri, 01 Jan 2038 00:00:00 GMT";
    let hub = hub().await;
    for path in tagged(&hub).await {
        let tag = text(&ask(&hub, &path, &[]).await, "etag").to_owned();
        let (is, other) = (&*tag, "\"other\"");
        let match_ = |value| ("if-match", value);
        let none = |value| ("if-none-match", value);
        for (headers, expected) in [
            (vec![match_(other), none(is)], 412),
            (vec![match_(is), none(is)], 304),
            (vec![match_(is), none(other)], 200),
            (vec![match_("*"), none("*")], 304),
            (vec![match_(is), ("if-unmodified-since", OLD)], 200),
            (vec![none(other), ("if-modified-since", LATE)], 200),
            (vec![none(is), ("if-modified-since", OLD)], 304),
            (vec![none(is), ("range", "bytes=0-1")], 304),
            (vec![match_(other), ("range", "bytes=0-1")], 412),
            (vec![("if-none-match", "W/\"other\""), none(is)], 304),
        ] {
            let answer = ask(&hub, &path, &headers).await;
            assert_eq!(answer.status().as_u16(), expected, "{path}: {headers:?}");
        }
    }
}

/// AH4, AH7: wherever a date of the last change is sent, a condition on it counts; each change has a later one.
#[tokio::test]
async fn dates_are_conditions_wherever_they_are_sent() {
    const OLD: &str = "Thu, 01 Jan 2015 00:00:00 GMT";
    let hub = hub().await;
    let mut dated = Vec::new();
    for path in tagged(&hub).await {
        let full = ask(&hub, &path, &[]).await;
        let date = text(&full, "last-modified").to_owned();
        if date.is_empty() {
            continue;
        }
        for method in [Method::GET, Method::HEAD] {
            let held = hub.call(method, &path, &[("if-modified-since", &date)]).await;
            assert_eq!(held.status(), StatusCode::NOT_MODIFIED, "{path}");
            assert_eq!(text(&held, "etag"), text(&full, "etag"), "{path}");
            assert!(bytes(held).await.is_empty(), "{path}");
        }
        for (name, value, expected) in [
            ("if-modified-since", OLD, 200),
            ("if-modified-since", "yesterday", 200),
            ("if-unmodified-since", OLD, 412),
            ("if-unmodified-since", &*date, 200),
        ] {
            let answer = ask(&hub, &path, &[(name, value)]).await;
            assert_eq!(answer.status().as_u16(), expected, "{path}: {name}: {value}");
        }
        dated.push((path, date));
    }
    let names: Vec<_> = dated.iter().map(|(path, _)| path.rsplit('/').next().unwrap()).collect();
    assert_eq!(names[..5], ["notes", "notes.rss", "notes?limit=1", "changes", "complete"]);
    assert_eq!(dated.len(), 6, "and a member: {names:?}");
    let changed = feedsync_store::CollectionChange {
        title: Some("Another title".to_owned()),
        ..Default::default()
    };
    hub.endpoint.store().change_collection(&crate::hub::notes(), changed).await.unwrap();
    for (path, date) in &dated[..5] {
        let answer = ask(&hub, path, &[("if-modified-since", date)]).await;
        assert_eq!(answer.status(), StatusCode::OK, "{path}: the title is another one");
    }
}

/// AH3: a proxy that compresses marks tags in its own way; the hub recognizes and repeats them.
#[tokio::test]
async fn tags_marked_by_proxies_are_known_wherever_there_are_tags() {
    let hub = hub().await;
    for path in tagged(&hub).await {
        let tag = text(&ask(&hub, &path, &[]).await, "etag").trim_matches('"').to_owned();
        for marked in ["W/\"{}\"", "\"{}-gzip\"", "\"{}-br\"", "W/\"{}--gzip\""] {
            let marked = marked.replace("{}", &tag);
            let held = ask(&hub, &path, &[("if-none-match", &marked)]).await;
            assert_eq!(held.status(), StatusCode::NOT_MODIFIED, "{path}: {marked}");
            assert_eq!(text(&held, "etag"), marked.trim_start_matches("W/"), "{path}");
        }
        let weak = format!("W/\"{tag}\"");
        let refused = ask(&hub, &path, &[("if-match", &weak)]).await;
        assert_eq!(refused.status(), StatusCode::PRECONDITION_FAILED, "{path}: RFC 9110 13.1.1");
    }
}

/// AH5: a request for a missing resource, without a right or of an unsupported kind is refused before
/// conditions are checked.
#[tokio::test]
async fn a_condition_counts_only_where_the_request_could_succeed() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    let stale = ("if-match", "\"other\"");
    let entry = "<entry xmlns='http://www.w3.org/2005/Atom'><title>t</title></entry>";
    let member = "/collections/notes/items/a";
    for (method, path, kind, body, expected) in [
        (Method::PUT, "/collections/notes/items/none", ENTRY, entry, 404),
        (Method::PUT, "/collections/none/items/a", ENTRY, entry, 404),
        (Method::PUT, member, "text/plain", entry, 415),
        (Method::PUT, member, ENTRY, "<entry", 400),
        (Method::PATCH, member, ENTRY, entry, 405),
        (Method::PUT, member, ENTRY, entry, 412),
        (Method::DELETE, "/collections/notes/items/none", ENTRY, "", 404),
        (Method::DELETE, member, ENTRY, "", 412),
        (Method::PUT, "/collections/notes", "text/plain", "{}", 415),
        (Method::PUT, "/collections/notes", "application/json", "[]", 400),
        (Method::PUT, "/collections/notes", "application/json", "{}", 412),
        (Method::GET, "/collections/notes/items/none", "", "", 404),
        (Method::GET, member, "", "", 412),
    ] {
        let headers = [("content-type", kind), stale];
        let answer = send(&hub, method.clone(), path, &headers, body).await;
        assert_eq!(answer.status().as_u16(), expected, "{method} {path} {kind}");
    }
    let deleted = hub.call(Method::DELETE, member, &[]).await;
    assert_eq!(deleted.status(), StatusCode::NO_CONTENT);
    let again = hub.call(Method::DELETE, member, &[stale]).await;
    assert_eq!(again.status(), StatusCode::GONE, "a tombstone is before a condition");
}

/// AH6: a 304 has the headers of the 200, without a body.
#[tokio::test]
async fn a_304_has_the_headers_that_caches_need() {
    let hub = hub().await;
    for path in tagged(&hub).await {
        let full = ask(&hub, &path, &[]).await;
        let tag = text(&full, "etag").to_owned();
        for method in [Method::GET, Method::HEAD] {
            let held = hub.call(method, &path, &[("if-none-match", &tag)]).await;
            assert_eq!(held.status(), StatusCode::NOT_MODIFIED, "{path}");
            for name in ["etag", "cache-control", "content-location", "last-modified", "expires"] {
                assert_eq!(text(&held, name), text(&full, name), "{path}: {name}");
            }
            let vary = |answer: &Response<Body>| -> Vec<String> {
                let values = answer.headers().get_all(header::VARY).iter();
                let values = values.flat_map(|value| value.to_str().unwrap().split(','));
                let mut names: Vec<_> = values.map(|name| name.trim().to_lowercase()).collect();
                names.sort();
                names
            };
            assert_eq!(vary(&held), vary(&full), "{path}");
            assert_eq!(text(&held, "content-length"), "", "{path}");
            assert!(bytes(held).await.is_empty(), "{path}");
        }
    }
}

/// AH7, AH36: dates are IMF-fixdates and not in the future, tags are quoted, no header is repeated.
#[tokio::test]
async fn headers_are_well_formed_and_stand_once() {
    let hub = hub().await;
    let mut paths = tagged(&hub).await;
    paths.extend(["/", "/limits", "/metrics", "/healthz", "/nothing"].map(str::to_owned));
    for path in paths {
        for headers in [&[][..], &[("accept-encoding", "gzip")], &[("accept", "text/html")]] {
            let answer = ask(&hub, &path, headers).await;
            let tag = text(&answer, "etag");
            if !tag.is_empty() {
                let inner = tag.strip_prefix('"').and_then(|tag| tag.strip_suffix('"'));
                assert!(inner.is_some_and(|tag| !tag.contains('"')), "{path}: {tag}");
            }
            let date = text(&answer, "last-modified");
            if !date.is_empty() {
                let read = httpdate::parse_http_date(date).unwrap();
                assert_eq!(httpdate::fmt_http_date(read), date, "{path}");
                assert!(read <= std::time::SystemTime::now(), "{path}: {date}");
            }
            let mut names = HashSet::new();
            for name in answer.headers().keys().filter(|name| *name != header::LINK) {
                assert!(names.insert(name.clone()));
                let values: Vec<_> = answer.headers().get_all(name).iter().collect();
                assert!(values.len() == 1 || name == header::VARY, "{path}: {name} {values:?}");
            }
            for name in [header::CACHE_CONTROL, header::VARY] {
                let values = answer.headers().get_all(&name).iter();
                let mut seen = HashSet::new();
                for directive in values.flat_map(|value| value.to_str().unwrap().split(',')) {
                    let directive = directive.trim().to_lowercase();
                    assert!(seen.insert(directive.clone()), "{path}: {name} has {directive} twice");
                }
            }
            for link in answer.headers().get_all(header::LINK) {
                let link = link.to_str().unwrap();
                assert!(link.starts_with("<http://localhost:4287/"), "{path}: {link}");
                let (_, relation) = link.split_once(">; rel=\"").unwrap();
                assert!(relation.ends_with('"'), "{path}: {link}");
            }
        }
    }
}

/// AD16, AD17, AD21: there are no deltas by instance manipulation; a request for one gets the whole response.
#[tokio::test]
async fn delta_requests_get_the_whole_response() {
    let hub = hub().await;
    add(&hub.endpoint, "a").await;
    let feed = "/collections/notes";
    let known = text(&ask(&hub, feed, &[]).await, "etag").to_owned();
    let asks = [("a-im", "feed"), ("if-none-match", &*known)];
    let same = ask(&hub, feed, &asks).await;
    assert_eq!(same.status(), StatusCode::NOT_MODIFIED);
    add(&hub.endpoint, "b").await;
    let answer = ask(&hub, feed, &asks).await;
    assert_eq!(answer.status(), StatusCode::OK);
    for name in ["im", "delta-base"] {
        assert_eq!(text(&answer, name), "", "{name}");
    }
    let whole = bytes(ask(&hub, feed, &[]).await).await;
    assert_eq!(bytes(answer).await, whole);
}

/// A signature is stored to the byte, and is no reason to refuse an edit (AT20). The same holds for a source
/// (AT18), markup that a browser would run (AT21), and the language and base of an entry (AT19).
#[tokio::test]
async fn entry_content_comes_back_to_the_byte_even_if_signed_or_unclean() {
    let hub = hub().await;
    let inside = "<title>t</title><id>urn:x:1</id><updated>2026-01-01T00:00:00Z</updated>\
        <source><id>urn:x:feed</id><title>From elsewhere</title>\
        <updated>2026-01-01T00:00:00Z</updated></source>\
        <content type='html'>&lt;script>alert(1)&lt;/script>&lt;p onclick='x()' style='a'></content>\
        <ds:Signature xmlns:ds='http://www.w3.org/2000/09/xmldsig#'><ds:SignedInfo>\n <ds:x/>\
        </ds:SignedInfo><ds:SignatureValue>YQ==</ds:SignatureValue></ds:Signature>";
    let entry = format!(
        "<entry xmlns='http://www.w3.org/2005/Atom' xml:lang='de' xml:base='http://example.org/a/'>\
         {inside}</entry>"
    );
    let headers = [("content-type", ENTRY)];
    let made = send(&hub, Method::POST, "/collections/notes", &headers, entry.clone()).await;
    assert_eq!(made.status(), StatusCode::CREATED);
    let member = path(text(&made, "location")).to_owned();
    let shown = async |path: &str| {
        let answer = ask(&hub, path, &[("accept", "application/atom+xml")]).await;
        String::from_utf8(bytes(answer).await.to_vec()).unwrap()
    };
    for path in [&*member, "/collections/notes", "/collections/notes/changes"] {
        let document = shown(path).await;
        for part in [
            &inside[inside.find("<source").unwrap()..],
            "xml:lang=\"de\"",
            "xml:base=\"http://example.org/a/\"",
        ] {
            let other = part.replace('"', "'");
            assert!(document.contains(part) || document.contains(&other), "{path}: {document}");
        }
        let head = document.split("<entry").next().unwrap();
        assert!(!head.contains("xml:base"), "the feed itself has no base: {head}");
    }
    let edited = entry.replace("<title>t<", "<title>other<");
    let edited = send(&hub, Method::PUT, &member, &headers, edited).await;
    assert_eq!(edited.status(), StatusCode::OK);
    assert!(shown(&member).await.contains("<ds:SignatureValue>YQ=="));
}
