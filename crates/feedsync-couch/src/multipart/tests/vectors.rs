//! Bodies as CouchDB 3.5 reads and writes them.

use super::*;

#[test]
fn the_answer_to_open_revs() {
    let (outer, inner): (Boundary, Boundary) = ("B".parse().unwrap(), "C".parse().unwrap());
    let mut body = Vec::new();
    let mut revisions = Writer::new(outer.clone());
    revisions.part(&mut body, PartHead::Document);
    body.extend_from_slice(br#"{"_id":"a"}"#);
    revisions.part(&mut body, PartHead::Multipart(Kind::Related, &inner));
    let mut document = Writer::new(inner.clone());
    document.part(&mut body, PartHead::Document);
    body.extend_from_slice(br#"{"_id":"b"}"#);
    let (media_type, is_gzip) = ("text/plain", true);
    document.part(
        &mut body,
        PartHead::Attachment { name: "X/ü \"1\"", media_type, length: 4, is_gzip },
    );
    body.extend_from_slice(b"\x1f\x8b\r\n");
    document.close(&mut body);
    revisions.part(&mut body, PartHead::Missing);
    body.extend_from_slice(br#"{"missing":"3-abc"}"#);
    revisions.close(&mut body);

    let expected = [
        "--B\r\nContent-Type: application/json\r\n\r\n{\"_id\":\"a\"}",
        "\r\n--B\r\nContent-Type: multipart/related; boundary=\"C\"\r\n\r\n",
        "--C\r\nContent-Type: application/json\r\n\r\n{\"_id\":\"b\"}\r\n",
        "--C\r\nContent-Disposition: attachment; filename=\"X/ü \\\"1\\\"\"\r\n",
        "Content-Type: text/plain\r\nContent-Length: 4\r\nContent-Encoding: gzip\r\n\r\n",
        "\x1f<8b>\r\n\r\n--C--",
        "\r\n--B\r\nContent-Type: application/json; error=\"true\"\r\n\r\n{\"missing\":\"3-abc\"}",
        "\r\n--B--",
    ];
    let shown = body.utf8_chunks().map(|chunk| {
        let invalid: String = chunk.invalid().iter().map(|byte| format!("<{byte:02x}>")).collect();
        chunk.valid().to_owned() + &invalid
    });
    assert_eq!(shown.collect::<String>(), expected.concat());

    let revisions = parts(&body, &outer);
    assert_eq!(revisions[0].content, br#"{"_id":"a"}"#);
    let (kind, named) = boundary(revisions[1].headers.content_type().unwrap()).unwrap();
    assert_eq!((kind, &named), (Kind::Related, &inner));
    let document = parts(&revisions[1].content, &named);
    assert_eq!(document[0].content, br#"{"_id":"b"}"#);
    assert_eq!(document[1].content, b"\x1f\x8b\r\n");
    assert_eq!(document[1].headers.filename().as_deref(), Some("X/ü \"1\""));
    assert_eq!(document[1].headers.content_type(), Some("text/plain"));
    assert_eq!(document[1].headers.content_length(), Some(4));
    assert_eq!(document[1].headers.content_encoding(), Some("gzip"));
    let missing = revisions[2].headers.content_type().unwrap();
    assert_eq!(parameter(missing, "error").as_deref(), Some("true"));
    assert_eq!(parameter(revisions[0].headers.content_type().unwrap(), "error"), None);
}

/// A document as CouchDB's replicator puts it, with the line ends that other programs write around it.
#[test]
fn a_document_that_is_put() {
    let body = "--b0\r\nContent-Type: application/json\r\n\r\n{\"_attachments\":{}}\r\n\
        --b0\r\nContent-Disposition: attachment; filename=\"a/b.txt\"\r\nContent-Type: text/plain\r\n\
        Content-Length: 5\r\nContent-Encoding: gzip\r\n\r\n12\r\n3\r\n\
        --b0\r\nContent-Disposition: attachment; filename=\"c\\d\"\r\nContent-Type: image/png\r\n\
        Content-Length: 0\r\n\r\n\r\n--b0--";
    let (kind, named) = boundary("multipart/related; boundary=\"b0\"").unwrap();
    assert_eq!(kind, Kind::Related);
    for (before, after) in [("", ""), ("\r\n", "\r\n"), ("text\r\n\r\n", "\r\ntext\r\n")] {
        let parts = parts(format!("{before}{body}{after}").as_bytes(), &named);
        let contents: Vec<&[u8]> = parts.iter().map(|part| &*part.content).collect();
        assert_eq!(contents, [&b"{\"_attachments\":{}}"[..], b"12\r\n3", b""]);
        assert_eq!(parts[0].headers.filename(), None);
        assert_eq!(parts[1].headers.filename().as_deref(), Some("a/b.txt"));
        assert_eq!(parts[1].headers.content_encoding(), Some("gzip"));
        assert_eq!(parts[1].headers.content_length(), Some(5));
        assert!(parts[2].headers.is_named("c\\d"));
        assert_eq!(parts[2].headers.content_encoding(), None);
    }
}
