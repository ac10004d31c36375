//! Tests that signed entries stay valid: stored bytes are the received bytes (BITSY 4.2).

use http::Method;
use serde_json::json;

use crate::kept::{Kept, Site};
use crate::support::config;

/// An entry with a signature (RFC 4287 5.1), in a notation that no serialiser would reproduce.
fn signed(title: &str) -> String {
    format!(
        "<?xml version='1.0'  encoding=\"UTF-8\" ?>\r\n<!-- before -->\n<a:entry   xmlns:a='http://www.w3.org/2005/Atom'\n\
         xmlns:unused=\"urn:unused\" ><a:title\ttype=\"text\" >{title} &#x41;&amp;<![CDATA[<b>]]></a:title >\
         <a:id>urn:e</a:id><a:updated>2026-01-01T00:00:00.000Z</a:updated><a:author><a:name/></a:author>\
         <Signature xmlns=\"http://www.w3.org/2000/09/xmldsig#\"><SignedInfo>\n  <Reference URI=''>\
         <DigestValue>\n AAAA=\n</DigestValue></Reference></SignedInfo><SignatureValue> ÄÖ=\r\n</SignatureValue>\
         </Signature>\n\n</a:entry>\n<?after all?>\n"
    )
}

#[tokio::test]
async fn signed_entries_are_stored_and_sent_unchanged() {
    let site = Site::start().await;
    let (feed, entry) = (site.url("/feed"), site.url("/entry"));
    let document = format!(
        "<feed xmlns=\"http://www.w3.org/2005/Atom\"  ><id>urn:f</id><title>F</title\n>\
         <updated>2026-01-01T00:00:00Z</updated><Signature  xmlns='http://www.w3.org/2000/09/xmldsig#'/>\
         <entry><id>urn:e</id><title>E</title><updated>2026-01-01T00:00:00Z</updated>\
         <link rel='edit' href=\"{entry}\"/></entry></feed>\r\n"
    );
    let kind = "Content-Type: application/atom+xml\r\n";
    site.answers("GET /feed", 200, kind, &document);
    site.answers("GET /entry", 200, kind, &signed("Theirs"));
    let config = config(&[], &[&site.address.to_string()]);
    let kept = Kept::of(config.clone()).await;
    kept.subscribe(json!({ "feed": feed, "follows": ["edit"] })).await;
    kept.network("offline").await;
    let kept = kept.again(&config).await;
    assert_eq!(kept.ask("GET", &feed, &[]).await.text(), document);
    assert_eq!(kept.ask("GET", &entry, &[]).await.text(), signed("Theirs"));

    let put = kept.send("PUT", &entry, &[], &signed("Mine")).await;
    assert_eq!((put.status(), put.text()), (200, signed("Mine")));
    let kept = kept.again(&config).await;
    assert_eq!(kept.ask("GET", &entry, &[]).await.text(), signed("Mine"));
    site.answers("PUT /entry", 204, "", "");
    site.answers("GET /entry", 200, kind, &signed("Mine"));
    kept.network("online").await;
    kept.comes("/outbox", |edits| edits.as_array().unwrap().is_empty()).await;
    let sent = site.received("PUT /entry");
    let (_, body) = sent[0].split_once("\r\n\r\n").unwrap();
    assert_eq!(body, signed("Mine"), "its server can verify it");
    assert_eq!(kept.told(Method::GET, "/errors", None).await, json!([]));
}
