//! Attachments and multipart documents (section 9).

use std::io::Write as _;

use feedsync_couch::multipart::{Event, Kind, Limits, Parser, boundary};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::StreamExt as _;
use http::{Method, Response};
use serde_json::{Value, json};

use super::{Couch, said};
use crate::hub::{bytes, text};

/// Parts of a multipart response: the type and the content of each.
pub(super) async fn parts(response: Response<axum::body::Body>) -> (Kind, Vec<(String, Vec<u8>)>) {
    let content_type = text(&response, "content-type").to_owned();
    let body = bytes(response).await;
    read(&content_type, &body)
}

pub(super) fn read(content_type: &str, body: &[u8]) -> (Kind, Vec<(String, Vec<u8>)>) {
    let (kind, boundary) = boundary(content_type).unwrap();
    let mut parser = Parser::new(&boundary, Limits::default());
    let mut found: Vec<(String, Vec<u8>)> = Vec::new();
    let mut rest = body;
    while let Some(event) = parser.next(&mut rest).unwrap() {
        match event {
            Event::Part(headers) => {
                found.push((headers.content_type().unwrap_or_default().to_owned(), Vec::new()));
            }
            Event::Content(content) => found.last_mut().unwrap().1.extend_from_slice(content),
            Event::PartEnd | Event::End => {}
        }
    }
    parser.finish().unwrap();
    (kind, found)
}

async fn with_attachment() -> (Couch, String) {
    let couch = Couch::new().await;
    let document =
        r#"{"n":1,"_attachments":{"a.txt":{"content_type":"text/plain","data":"aGVsbG8="}}}"#;
    let written = couch.put("/db/x", document).await.1;
    (couch, written["rev"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn an_attachment_is_a_resource() {
    let (couch, revision) = with_attachment().await;
    let stub = couch.get("/db/x").await.1["_attachments"]["a.txt"].clone();
    let digest = "md5-XUFAKrxLKna5cZ2REBfFkg==";
    assert_eq!(
        stub,
        json!({"content_type": "text/plain", "revpos": 1, "digest": digest, "length": 5, "stub": true})
    );
    let whole = couch.send(Method::GET, "/db/x/a.txt", &[], "").await;
    assert_eq!(text(&whole, "content-type"), "text/plain");
    assert_eq!(text(&whole, "etag"), "\"XUFAKrxLKna5cZ2REBfFkg==\"");
    assert_eq!(text(&whole, "content-security-policy"), "default-src 'none'; sandbox");
    assert_eq!(text(&whole, "x-content-type-options"), "nosniff");
    assert_eq!(&*bytes(whole).await, b"hello");
    let known = [("if-none-match", "\"XUFAKrxLKna5cZ2REBfFkg==\"")];
    assert_eq!(couch.send(Method::GET, "/db/x/a.txt", &known, "").await.status(), 304);
    let part = couch.send(Method::GET, "/db/x/a.txt", &[("range", "bytes=1-3")], "").await;
    assert_eq!((part.status().as_u16(), text(&part, "content-range")), (206, "bytes 1-3/5"));
    assert_eq!(&*bytes(part).await, b"ell");
    let none = couch.send(Method::GET, "/db/x/a.txt", &[("range", "bytes=9-")], "").await;
    assert_eq!(said(none).await.0, 416);
    assert_eq!(couch.get("/db/x/b.txt").await.1["reason"], "Document is missing attachment");
    // It is stored and removed by an edit of its document.
    let put = async |path: &str, body: &'static str| {
        said(couch.send(Method::PUT, path, &[("content-type", "image/png")], body).await).await
    };
    assert_eq!(put("/db/x/p/q.png", "png").await.0, 409);
    let (status, written) = put(&format!("/db/x/p/q.png?rev={revision}"), "png").await;
    assert_eq!(status, 201);
    let document = couch.get("/db/x").await.1;
    assert_eq!(document["n"], 1);
    assert_eq!(document["_attachments"]["p/q.png"]["revpos"], 2);
    assert_eq!(document["_attachments"]["a.txt"]["revpos"], 1);
    let path = format!("/db/x/a.txt?rev={}", written["rev"].as_str().unwrap());
    assert_eq!(couch.ask(Method::DELETE, &path, "").await.0, 200);
    let document = couch.get("/db/x").await.1;
    assert_eq!(document["_attachments"].as_object().unwrap().len(), 1);
    assert_eq!(couch.get(&format!("/db/x/a.txt?rev={revision}")).await.0, 200, "what it was");
    assert_eq!(put("/db/new/a", "x").await.0, 201, "a document comes with it");
    assert_eq!(put("/db/new2/_a", "x").await.0, 400, "no attachment is called so");
}

/// Attachments are sent in the form that the client accepts (CG12).
#[tokio::test]
async fn attachments_come_with_the_document_or_behind_it() {
    let (couch, revision) = with_attachment().await;
    let path = "/db/x?attachments=true";
    let inline = couch.send(Method::GET, path, &[("accept", "application/json")], "").await;
    assert_eq!(said(inline).await.1["_attachments"]["a.txt"]["data"], "aGVsbG8=");
    for accept in [&[][..], &[("accept", "*/*")], &[("accept", "multipart/related")]] {
        let (kind, found) = parts(couch.send(Method::GET, path, accept, "").await).await;
        assert_eq!((kind, found.len()), (Kind::Related, 2));
        let document: Value = serde_json::from_slice(&found[0].1).unwrap();
        assert_eq!(document["_attachments"]["a.txt"]["follows"], true);
        assert_eq!(found[1], ("text/plain".to_owned(), b"hello".to_vec()));
    }
    // CouchDB requests documents with attachments one by one, and accepts only multipart (CG4).
    let asked = format!("/db/x?revs=true&latest=true&open_revs=%5B%22{revision}%22,%229-x%22%5D");
    let accept = [("accept", "multipart/mixed")];
    // A document without attachments has one part.
    couch.put("/db/plain", "{}").await;
    let plain = couch.send(Method::GET, "/db/plain?attachments=true", &[], "").await;
    assert_eq!(text(&plain, "content-type"), "application/json");
    let (kind, found) = parts(couch.send(Method::GET, &asked, &accept, "").await).await;
    assert_eq!((kind, found.len()), (Kind::Mixed, 2));
    let (inner, related) = read(&found[0].0, &found[0].1);
    assert_eq!((inner, &related[1].1[..]), (Kind::Related, &b"hello"[..]));
    let document: Value = serde_json::from_slice(&related[0].1).unwrap();
    assert_eq!(document["_revisions"]["start"], 1);
    assert_eq!(found[1].0, "application/json; error=\"true\"");
    assert_eq!(found[1].1, b"{\"missing\":\"9-x\"}");
    // A client with the previous revision gets stubs of its attachments.
    let since = format!("{asked}&atts_since=%5B%22{revision}%22");
    let since = since.trim_end_matches('&');
    let (_, stubs) =
        parts(couch.send(Method::GET, &format!("{since}%5D"), &accept, "").await).await;
    assert_eq!(stubs[0].0, "application/json", "no part follows");
    let (_, bulk) = couch.post("/db/_bulk_get?attachments=true", r#"{"docs":[{"id":"x"}]}"#).await;
    assert_eq!(bulk["results"][0]["docs"][0]["ok"]["_attachments"]["a.txt"]["data"], "aGVsbG8=");
}

/// The form in which CouchDB sends documents with attachments (9.4).
#[tokio::test]
async fn a_document_comes_with_its_attachments_behind_it() {
    let couch = Couch::new().await;
    let document = r#"{"_id":"x","_rev":"2-b","_revisions":{"start":2,"ids":["b","a"]},"_attachments":{
        "b.bin":{"follows":true,"content_type":"image/png","length":4,"revpos":2,"digest":"md5-x"},
        "a.txt":{"follows":true,"content_type":"text/plain","length":5,"revpos":1}}}"#;
    let send = async |body: String| {
        let headers = [("content-type", "multipart/related; boundary=\"b\"")];
        said(couch.send(Method::PUT, "/db/x?new_edits=false", &headers, body).await).await
    };
    let body = format!(
        "\r\n--b\r\nContent-Type: application/json\r\n\r\n{document}\r\n\
         --b\r\nContent-Disposition: attachment; filename=\"a.txt\"\r\n\r\nhello\r\n\
         --b\r\nContent-Disposition: attachment; filename=\"b.bin\"\r\n\r\n\r\n--\r\n--b--"
    );
    assert_eq!(send(body.clone()).await, (201, json!({"ok": true, "id": "x", "rev": "2-b"})));
    assert_eq!(send(body).await.0, 201, "and again");
    let stored = couch.send(Method::GET, "/db/x/b.bin", &[], "").await;
    assert_eq!(&*bytes(stored).await, b"\r\n--");
    let stored = couch.send(Method::GET, "/db/x/a.txt", &[], "").await;
    assert_eq!(&*bytes(stored).await, b"hello");
    // A revision whose attachments are stored already names them by stubs.
    let stub = r#"{"_id":"x","_revisions":{"start":3,"ids":["c","b","a"]},"_attachments":{"a.txt":{"stub":true,"revpos":1}}}"#;
    let next = format!("--b\r\nContent-Type: application/json\r\n\r\n{stub}\r\n--b--\r\n");
    assert_eq!(send(next).await.0, 201);
    let document = couch.get("/db/x").await.1;
    assert_eq!(document["_attachments"].as_object().unwrap().len(), 1);
    let lacking =
        "--b\r\n\r\n{\"_rev\":\"1-a\",\"_attachments\":{\"a\":{\"follows\":true}}}\r\n--b--"
            .to_owned();
    assert_eq!(send(lacking).await.0, 400);
    assert_eq!(send("--b\r\n\r\n{\"_rev\":\"1-a\"}".to_owned()).await.0, 400, "it breaks off");
    let named = r#"{"_rev":"1-r","_attachments":{"a":{"follows":true,"length":1}}}"#;
    for part in ["filename=\"other\"\r\n\r\nx", "filename=\"a\"\r\n\r\nxy"] {
        let body = format!(
            "--b\r\n\r\n{named}\r\n--b\r\nContent-Disposition: attachment; {part}\r\n--b--"
        );
        assert_eq!(send(body).await.0, 400, "{part}");
    }
    let missing = r#"{"_rev":"1-q","_attachments":{"z":{"stub":true,"revpos":1}}}"#;
    let (status, told) = send(format!("--b\r\n\r\n{missing}\r\n--b--")).await;
    assert_eq!((status, &told["error"]), (412, &json!("missing_stub")));
}

/// CouchDB stores texts compressed at any ratio, and a document that is refused is never sent again.
#[tokio::test]
async fn an_attachment_may_be_packed_as_well_as_it_can_be() {
    let couch = Couch::new().await;
    let whole = vec![b'0'; 3 << 20];
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&whole).unwrap();
    let packed = encoder.finish().unwrap();
    assert!(packed.len() * 500 < whole.len());
    let document = format!(
        r#"{{"_rev":"1-a","_attachments":{{"a.csv":{{"follows":true,"content_type":"text/csv","length":{},
            "encoding":"gzip","encoded_length":{},"revpos":1}}}}}}"#,
        whole.len(),
        packed.len()
    );
    let head = "Content-Disposition: attachment; filename=\"a.csv\"\r\nContent-Encoding: gzip";
    let mut body = format!("--b\r\n\r\n{document}\r\n--b\r\n{head}\r\n\r\n").into_bytes();
    body.extend(packed);
    body.extend(b"\r\n--b--");
    let headers = [("content-type", "multipart/related; boundary=\"b\"")];
    let answer = couch.send(Method::PUT, "/db/x?new_edits=false", &headers, body).await;
    assert_eq!(said(answer).await.0, 201);
    let stored = couch.send(Method::GET, "/db/x/a.csv", &[], "").await;
    assert!(*bytes(stored).await == *whole);
}

/// Attachments that the client has are sent as stubs, also in JSON; a client that names known revisions
/// requests all others.
#[tokio::test]
async fn documents_as_json_have_the_attachments_that_are_new() {
    let (couch, revision) = with_attachment().await;
    for (since, member) in [("1-none", "data"), (&*revision, "stub")] {
        for asked in ["", "&open_revs=all", "&attachments=true", "&open_revs=all&attachments=true"]
        {
            let path = format!("/db/x?atts_since=%5B%22{since}%22%5D{asked}");
            let headers = [("accept", "application/json")];
            let (status, told) = said(couch.send(Method::GET, &path, &headers, "").await).await;
            let document = if told.is_array() { &told[0]["ok"] } else { &told };
            let attachment = &document["_attachments"]["a.txt"];
            assert_eq!((status, attachment.get(member).is_some()), (200, true), "{told}");
        }
    }
}

/// Attachments of many documents are sent completely, but only some are in memory at once.
#[tokio::test]
async fn attachments_of_many_documents_come_in_pieces() {
    let couch = Couch::new().await;
    let data = "AAAA".repeat(1 << 20);
    for id in 0..6 {
        let attached = format!(r#"{{"_attachments":{{"a.bin":{{"data":"{data}"}}}}}}"#);
        assert_eq!(couch.put(&format!("/db/{id}"), &attached).await.0, 201);
    }
    for (path, rows) in [("_changes", "results"), ("_all_docs", "rows")] {
        let path = format!("/db/{path}?include_docs=true&attachments=true");
        let answer = couch.send(Method::GET, &path, &[], "").await;
        let pieces: Vec<_> = answer.into_body().into_data_stream().collect().await;
        let pieces: Vec<_> = pieces.into_iter().map(Result::unwrap).collect();
        let largest = pieces.iter().map(|piece| piece.len()).max().unwrap();
        assert!(largest < 14 << 20, "{path}: {largest}");
        let told: Value = serde_json::from_slice(&pieces.concat()).unwrap();
        let told = told[rows].as_array().unwrap();
        assert_eq!(told.len(), 6, "{path}");
        for row in told {
            assert!(row["doc"]["_attachments"]["a.bin"]["data"] == *data, "{path}");
        }
    }
}

/// Information about stored ancestors changes without the document.
#[tokio::test]
async fn revs_info_never_returns_304() {
    let (couch, revision) = with_attachment().await;
    let tag = format!("\"{revision}\"");
    for (path, status) in [("/db/x", 304), ("/db/x?revs_info=true", 200)] {
        let headers = [("if-none-match", &*tag)];
        let answer = couch.send(Method::GET, path, &headers, "").await;
        assert_eq!(answer.status().as_u16(), status, "{path}");
        assert_eq!(answer.headers().contains_key("etag"), status == 304, "{path}");
    }
}

/// White space in Base64 is ignored, and content with a wrong checksum is refused.
#[tokio::test]
async fn attachment_content_matches_its_encoding_and_checksum() {
    let couch = Couch::new().await;
    let wrapped = r#"{"_attachments":{"a":{"data":"YWJj\nZGVm\r\n "}}}"#;
    assert_eq!(couch.put("/db/x", wrapped).await.0, 201);
    let read = couch.send(Method::GET, "/db/x/a", &[], "").await;
    assert_eq!(bytes(read).await, "abcdef".as_bytes());
    for (md5, status) in [("kAFQmDzST7DWlj99KOF/cg==", 201), ("AAAA", 400), ("", 400)] {
        let headers = [("content-type", "text/plain"), ("content-md5", md5)];
        let path = format!("/db/y{status}{}/a", md5.len());
        let sent = couch.send(Method::PUT, &path, &headers, "abc").await;
        let (found, told) = said(sent).await;
        assert_eq!(found, status, "{md5}: {told}");
        assert!(status == 201 || told["error"] == "content_md5_mismatch");
    }
}

/// An entity tag belongs to one representation: a response that may be multipart has none.
#[tokio::test]
async fn responses_with_attachments_never_return_304() {
    let couch = Couch::new().await;
    couch.put("/db/x", r#"{"_attachments":{"a":{"data":"YWJj"}}}"#).await;
    let plain = couch.send(Method::GET, "/db/x", &[], "").await;
    let tag = text(&plain, "etag").to_owned();
    let known = [("if-none-match", &*tag)];
    assert_eq!(couch.send(Method::GET, "/db/x", &known, "").await.status(), 304);
    let parts = couch.send(Method::GET, "/db/x?attachments=true", &known, "").await;
    assert_eq!(parts.status(), 200);
    assert!(!parts.headers().contains_key("etag"));
}
