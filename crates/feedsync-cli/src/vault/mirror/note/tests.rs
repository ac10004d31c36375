use proptest::prelude::*;

use super::*;
use crate::vault::mirror::chunk_id::chunk_id;

fn head(path: &str) -> NoteHead {
    let (created, modified) = (1_700_000_000_000, 1_800_000_000_000);
    NoteHead { path: path.to_owned(), is_deleted: false, is_text: is_text(path), created, modified }
}

/// Content that comes out of the pieces, each as a JSON string.
fn content(is_text: bool, pieces: &[&str]) -> Result<Vec<u8>, Trouble> {
    let mut content = ContentBuilder::new(is_text);
    pieces.iter().try_for_each(|piece| content.push(Node::root(piece)))?;
    content.finish()
}

/// Writes a file as documents and reads it back from them.
fn through_documents(path: &str, bytes: &[u8]) -> Vec<u8> {
    let split = SplitContent::of(path, bytes).unwrap();
    let children: Vec<_> = split.pieces.iter().map(|piece| chunk_id(piece)).collect();
    let note = split.note(&head(path), &children);
    let body = Node::root(&note);
    let read = NoteHead::read(&path.to_lowercase(), body).unwrap();
    assert_eq!(read, head(path));
    assert_eq!(NoteContent::read(body), Ok(NoteContent::Chunks(children)));
    assert_eq!(body.member("size").unwrap().value.raw(), bytes.len().to_string());
    let chunks: Vec<_> = split.pieces.iter().map(|piece| chunk(piece)).collect();
    let mut content = ContentBuilder::new(read.is_text);
    for chunk in &chunks {
        assert_eq!(Node::root(chunk).member("type").unwrap().value.raw(), "\"leaf\"");
        content.push(Node::root(chunk).member("data").unwrap().value).unwrap();
    }
    content.finish().unwrap()
}

#[test]
fn a_note_has_the_members_that_the_plugin_writes() {
    let split = SplitContent::of("Grüße/Tag \"1\".md", "Grüße\r\n".as_bytes()).unwrap();
    let note = split.note(&head("Grüße/Tag \"1\".md"), &["h:a".to_owned()]);
    assert_eq!(
        note,
        r#"{"children":["h:a"],"path":"Grüße/Tag \"1\".md","ctime":1700000000000,"mtime":1800000000000,"size":9,"type":"plain","eden":{}}"#
    );
    let split = SplitContent::of("picture.png", &[0, 255, 10]).unwrap();
    assert_eq!(split.pieces, ["AP8K"]);
    assert!(split.note(&head("picture.png"), &[]).contains(r#""size":3,"type":"newnote""#));
    assert_eq!(chunk("a\"b\n"), r#"{"data":"a\"b\n","type":"leaf"}"#);
    assert_eq!(SplitContent::of("note.md", &[0xFF]), Err(Trouble::NotUtf8));
    assert_eq!(SplitContent::of("NOTE.MD", &[0xFF]).unwrap().pieces, ["/w=="]);
}

#[test]
fn documents_that_are_not_notes_are_told_apart() {
    let read = |text: &str| NoteHead::read("id.md", Node::root(text));
    for other in [
        r#"{"type":"versioninfo","version":12}"#,
        r#"{"type":"leaf","data":"x"}"#,
        r#"{"type":7,"data":"x"}"#,
        r#"{"views":{}}"#,
        "{}",
    ] {
        assert_eq!(read(other), None, "{other}");
    }
    let early = read(r#"{"data":"x","mtime":1.5e3,"ctime":-4}"#).unwrap();
    assert_eq!((early.path.as_str(), early.modified, early.created), ("id.md", 1_500, 0));
    let deleted = read(r#"{"type":"newnote","path":"/_Id.md","deleted":true}"#).unwrap();
    assert!(deleted.is_deleted && deleted.is_text);
    assert_eq!(deleted.path, "_Id.md");
    assert!(!read(r#"{"type":"newnote","path":"x.png","deleted":"yes"}"#).unwrap().is_deleted);
}

#[test]
fn binary_content_is_base64_of_each_piece_or_of_all_together() {
    for pieces in [&[r#""AAEC""#, r#""AwQ=""#][..], &[r#""AA==""#, r#""AQI=""#, r#""AwQ=""#]] {
        assert_eq!(content(false, pieces).unwrap(), [0, 1, 2, 3, 4]);
    }
    assert_eq!(content(false, &[r#""AAECA""#, r#""wQ""#, r#""=""#]).unwrap(), [0, 1, 2, 3, 4]);
    assert_eq!(content(false, &[]).unwrap(), b"");
    assert_eq!(content(false, &[r#""AAECA""#]), Err(Trouble::NotBase64));
    assert_eq!(content(false, &[r#""AA=A""#]), Err(Trouble::NotBase64));
    assert_eq!(content(false, &[r#""üüü""#]), Err(Trouble::NotBase64));
    assert_eq!(content(false, &[r#""%abc""#]), Err(Trouble::OldEncoding));
    assert_eq!(content(true, &[r#""%abc""#]).unwrap(), b"%abc");
    assert_eq!(content(true, &[r#""\u000eLZ\u001dxyz""#]), Err(Trouble::Compressed));
    assert_eq!(content(true, &["{}"]), Err(Trouble::Damaged));
}

#[test]
fn early_notes_contain_their_content() {
    for (text, bytes) in [
        (r#"{"type":"notes","data":"a\nb","path":"x.md"}"#, "a\nb"),
        (r#"{"type":"notes","data":["a","b"],"path":"x.md","children":["h:1"]}"#, "ab"),
        (r#"{"data":["YQ==","Yg=="],"path":"x.bin"}"#, "ab"),
    ] {
        let body = Node::root(text);
        assert_eq!(NoteContent::read(body), Ok(NoteContent::Inline));
        let mut content = ContentBuilder::new(NoteHead::read("x", body).unwrap().is_text);
        content.push_inline(body).unwrap();
        assert_eq!(content.finish().unwrap(), bytes.as_bytes());
    }
}

#[test]
fn damaged_and_excessive_notes_are_refused() {
    let read = |text: &str| NoteContent::read(Node::root(text));
    assert_eq!(read(r#"{"type":"plain","children":7}"#), Err(Trouble::Damaged));
    assert_eq!(read(r#"{"type":"plain","children":["h:1",7]}"#), Err(Trouble::Damaged));
    let many = |count| {
        let children = vec!["\"h:1\""; count].join(",");
        read(&format!(r#"{{"type":"plain","children":[{children}]}}"#))
    };
    assert!(matches!(many(MAX_CHUNKS), Ok(NoteContent::Chunks(ids)) if ids.len() == MAX_CHUNKS));
    assert_eq!(many(MAX_CHUNKS + 1), Err(Trouble::TooManyChunks));
    let piece = format!("\"{}\"", "x".repeat(30 << 20));
    assert_eq!(content(true, &[&*piece; 4]), Err(Trouble::TooLarge));
}

#[test]
fn a_deletion_marks_the_body_and_keeps_the_chunks() {
    let body = r#"{"children":["h:a"],"path":"Note.md","mtime":1,"x":"\ud800","type":"plain"}"#;
    let marked = deleted(Node::root(body), 9);
    assert_eq!(
        marked,
        r#"{"children":["h:a"],"path":"Note.md","x":"\ud800","type":"plain","mtime":9,"deleted":true}"#
    );
    assert_eq!(deleted(Node::root(&marked), 9), marked);
    assert!(NoteHead::read("note.md", Node::root(&marked)).unwrap().is_deleted);
}

#[test]
fn chunks_within_the_note_are_found() {
    let body = r#"{"eden":{"h:1":{"data":"x","epoch":2},"h:2":{"epoch":2}},"type":"plain"}"#;
    let chunks = chunks_within(Node::root(body));
    let found: Vec<_> = chunks.iter().map(|(id, data)| (&**id, data.raw())).collect();
    assert_eq!(found, [("h:1", "\"x\"")]);
    assert!(chunks_within(Node::root("{}")).is_empty());
}

proptest! {
    #[test]
    fn a_text_file_comes_back_byte_for_byte(text in "(\\PC|[\r\n\t\0\u{feff}\u{2028}\"\\\\]){0,600}") {
        prop_assert_eq!(through_documents("Ordner/Notiz.md", text.as_bytes()), text.as_bytes());
    }

    #[test]
    fn a_binary_file_comes_back_byte_for_byte(
        bytes in proptest::collection::vec(any::<u8>(), 0..600),
        repeats in 1_usize..1_500,
    ) {
        let bytes = bytes.repeat(repeats);
        prop_assert_eq!(through_documents("picture.PNG", &bytes), bytes);
    }
}
