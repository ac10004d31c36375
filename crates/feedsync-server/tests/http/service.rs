//! Collections in which AtomPub clients may create members.

use std::collections::BTreeMap;

use feedsync_core::Format;
use feedsync_store::{CollectionChange, CollectionName};
use futures_util::StreamExt as _;
use http::{Method, StatusCode};

use crate::hub::{TestHub, bytes, create, hub, text};

/// Applies settings, given as JSON texts, to a collection, which is created if it does not exist.
pub(crate) async fn set(hub: &TestHub, name: &str, settings: &[(&str, &str)]) {
    let collection = CollectionName::new(name).unwrap();
    if hub.endpoint.store().collection(&collection).await.unwrap().is_none() {
        create(&hub.endpoint, name, Format::Atom).await;
    }
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let settings: BTreeMap<_, _> = settings.iter().map(owned).collect();
    let change = CollectionChange { settings: Some(settings), ..CollectionChange::default() };
    hub.endpoint.store().change_collection(&collection, change).await.unwrap();
}

const CATEGORIES: &str =
    r#"{"fixed": true, "scheme": "urn:s", "list": [{"term": "a&b", "label": "A"}, {"term": "c"}]}"#;

async fn body(hub: &TestHub, path: &str) -> String {
    String::from_utf8(bytes(hub.get(path).await).await.to_vec()).unwrap()
}

#[tokio::test]
async fn the_service_document_tells_where_and_what_may_be_created() {
    let hub = hub().await;
    let accept = r#"["image/*", "application/atom+xml;type=entry"]"#;
    set(&hub, "pictures", &[("accept", accept), ("categories", CATEGORIES)]).await;
    set(&hub, "closed", &[("accept", "[]")]).await;
    let response = hub.get("/service").await;
    assert_eq!(text(&response, "content-type"), "application/atomsvc+xml");
    assert_eq!(text(&response, "cache-control"), "private, no-cache");
    assert_eq!(text(&response, "vary"), "Accept-Encoding, Authorization, Cookie");
    let document = String::from_utf8(bytes(response).await.to_vec()).unwrap();
    let expected = r#"<?xml version="1.0" encoding="utf-8"?>
<service xmlns="http://www.w3.org/2007/app" xmlns:atom="http://www.w3.org/2005/Atom">
<workspace>
<atom:title>hub</atom:title>
<collection href="http://localhost:4287/collections/closed">
<atom:title>The closed &amp; more</atom:title>
<accept/>
</collection>
<collection href="http://localhost:4287/collections/notes">
<atom:title>The notes &amp; more</atom:title>
<accept>application/atom+xml;type=entry</accept>
</collection>
<collection href="http://localhost:4287/collections/pictures">
<atom:title>The pictures &amp; more</atom:title>
<accept>image/*</accept>
<accept>application/atom+xml;type=entry</accept>
<categories fixed="yes" scheme="urn:s">
<atom:category term="a&amp;b" label="A"/>
<atom:category term="c"/>
</categories>
</collection>
</workspace>
</service>
"#;
    assert_eq!(document, expected);
}

#[tokio::test]
async fn a_hub_without_collections_has_an_empty_workspace() {
    let hub = hub().await;
    hub.endpoint.store().drop_collection(&crate::hub::notes()).await.unwrap();
    let document = body(&hub, "/service").await;
    assert!(document.contains("<workspace>\n<atom:title>hub</atom:title>\n</workspace>"));
}

#[tokio::test]
async fn categories_have_a_document_of_their_own() {
    let hub = hub().await;
    let address = "/collections/notes/categories";
    let none = body(&hub, address).await;
    assert!(none.contains("fixed=\"no\">\n</categories>"), "{none}");
    set(&hub, "notes", &[("categories", CATEGORIES)]).await;
    let response = hub.get(address).await;
    assert_eq!(text(&response, "content-type"), "application/atomcat+xml");
    let expected = r#"<?xml version="1.0" encoding="utf-8"?>
<categories xmlns="http://www.w3.org/2007/app" xmlns:atom="http://www.w3.org/2005/Atom" fixed="yes" scheme="urn:s">
<atom:category term="a&amp;b" label="A"/>
<atom:category term="c"/>
</categories>
"#;
    assert_eq!(bytes(response).await, expected);
    let missing = hub.get("/collections/none/categories").await;
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn both_documents_are_sent_once_until_they_change() {
    let hub = hub().await;
    for address in ["/service", "/collections/notes/categories"] {
        let tag = text(&hub.get(address).await, "etag").to_owned();
        let held = [("if-none-match", &*tag)];
        let response = hub.call(Method::GET, address, &held).await;
        assert_eq!(response.status(), StatusCode::NOT_MODIFIED, "{address}");
        assert!(bytes(response).await.is_empty());
        set(&hub, "notes", &[("categories", CATEGORIES), ("accept", "[]")]).await;
        let response = hub.call(Method::GET, address, &held).await;
        assert_eq!(response.status(), StatusCode::OK, "{address}");
        set(&hub, "notes", &[]).await;
    }
}

/// Lists of all collections are built and sent piece by piece. Their tag is that of their bytes.
#[tokio::test]
async fn lists_of_many_collections_are_sent_in_pieces() {
    let hub = hub().await;
    for number in 0..1_200 {
        create(&hub.endpoint, &format!("c{number:04}"), Format::Atom).await;
    }
    for path in ["/collections", "/service"] {
        let response = hub.get(path).await;
        assert_eq!(response.status(), StatusCode::OK);
        let tag = text(&response, "etag").to_owned();
        let whole = String::from_utf8(bytes(response).await.to_vec()).unwrap();
        let count = |part: &str| whole.matches(part).count();
        let at = if path == "/service" { count("<collection ") } else { count("\"name\":") };
        assert_eq!(at, 1_201, "{path}");
        let held = hub.call(Method::GET, path, &[("if-none-match", &tag)]).await;
        assert_eq!(held.status(), StatusCode::NOT_MODIFIED);
        let other = hub.call(Method::GET, path, &[("if-match", "\"other\"")]).await;
        assert_eq!(other.status(), StatusCode::PRECONDITION_FAILED);
        if path == "/collections" {
            let list: serde_json::Value = serde_json::from_str(&whole).unwrap();
            assert_eq!(list[1_200]["name"], "notes");
        }
        // A change during sending aborts the response.
        let response = hub.get(path).await;
        let mut pieces = response.into_body().into_data_stream();
        let first = pieces.next().await.unwrap().unwrap();
        assert!(first.len() < whole.len() / 5, "{path}: {} bytes at once", first.len());
        create(&hub.endpoint, &format!("x{}", path.len()), Format::Atom).await;
        let rest: Vec<_> = pieces.collect().await;
        assert!(rest.last().unwrap().is_err(), "{path}");
        let name = CollectionName::new(&format!("x{}", path.len())).unwrap();
        hub.endpoint.store().drop_collection(&name).await.unwrap();
        let again = hub.get(path).await;
        assert_eq!(text(&again, "etag"), tag);
    }
}
