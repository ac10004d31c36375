use feedsync_core::{By, Creation, Format, Item, ItemId, Stamp, Timestamp};

use super::*;
use crate::{FeedHead, FeedWriter, compose, entry, read};

const ATOM: &str = "http://www.w3.org/2005/Atom";

/// Writes a feed with an item of this content, and returns the content as a peer reads it.
fn through_a_feed(payload: &Payload) -> Payload {
    let when = Timestamp::parse("2026-01-02T03:04:05Z").unwrap();
    let stamp = Stamp::new(when, By::new("a").unwrap());
    let id = ItemId::new("x").unwrap();
    let item = Item::create(id, Creation::default(), &stamp, payload.clone()).unwrap();
    let head = FeedHead {
        id: "urn:feed",
        title: "a feed",
        updated: when,
        author: "me",
        details: None,
        self_link: None,
        next: None,
        links: &[],
        complete: true,
        sharing: None,
    };
    let (mut writer, mut text) = (FeedWriter::new(payload.format()), String::new());
    writer.begin(&mut text, &head);
    writer.item(&mut text, &item);
    writer.end(&mut text);
    let reading = read(text.as_bytes(), Some(payload.format()), &ReadOptions::strict()).unwrap();
    assert!(reading.refused.is_empty(), "{text}");
    let [item] = &reading.feed.items[..] else { panic!("{text}") };
    item.winner.payload.clone()
}

#[test]
fn accepted_text_comes_back_from_a_feed_byte_for_byte() {
    for (format, text) in [
        (Format::Atom, format!("<entry xmlns=\"{ATOM}\"><title>a &lt;b</title></entry>")),
        (Format::Atom, format!("<a:entry xmlns:a=\"{ATOM}\"/>")),
        (Format::Rss, "<item><title>é</title><x:y xmlns:x=\"urn:x\"/></item>".to_owned()),
        (Format::Opml, "<outline text=\"a\"/>".to_owned()),
        (Format::Pox, "<contact name='Anna'><tel>1</tel></contact>".to_owned()),
        (Format::Pox, "<item/>".to_owned()),
        (Format::Pox, "<a xmlns=\"urn:x\">\n<!-- c --><b/></a>".to_owned()),
        (Format::Json, "{ \"title\" : \"a\", \"n\":[1.50,{\"sync\":1}] }".to_owned()),
    ] {
        let payload = read_payload(format, &text).unwrap();
        assert_eq!(payload.format(), format);
        assert_eq!(payload.text(), text, "{format}");
        assert_eq!(payload.sync_foreign(), None);
        assert_eq!(through_a_feed(&payload), payload, "{format}");
    }
}

#[test]
fn empty_and_composed_items_are_read_as_they_are() {
    for format in Format::ALL {
        let empty = empty_payload(format);
        assert_eq!(read_payload(format, empty.text()).as_ref(), Ok(&empty));
        let title = Some("a\u{0}<&>\"é".to_owned());
        let composed = compose(format, &crate::Entry { title, ..entry(&empty) });
        assert_eq!(read_payload(format, composed.text()).as_ref(), Ok(&composed));
    }
}

#[test]
fn space_and_declarations_around_an_item_are_left_out() {
    let pox = read_payload(Format::Pox, "<?xml version=\"1.0\"?>\n<!-- c --><a/>\n").unwrap();
    assert_eq!(pox.text(), "<a/>");
    assert_eq!(read_payload(Format::Json, " {\"a\":1}\n").unwrap().text(), "{\"a\":1}");
}

#[test]
fn text_that_would_break_a_feed_is_refused_with_the_place() {
    let deep = format!("{}{}", "<a>".repeat(250), "</a>".repeat(250));
    let deep_list = format!("{{\"a\":{}{}}}", "[".repeat(250), "]".repeat(250));
    for (format, wrong) in [
        (Format::Pox, ""),
        (Format::Pox, "text"),
        (Format::Pox, "<a>"),
        (Format::Pox, "</feed><a/>"),
        (Format::Pox, "<a/><b/>"),
        (Format::Pox, "<a/>text"),
        (Format::Pox, "<x:a/>"),
        (Format::Pox, "<a b='1' b='2'/>"),
        (Format::Pox, "<a>\u{1}</a>"),
        (Format::Pox, "<a>&nbsp;</a>"),
        (Format::Pox, "<!DOCTYPE a><a/>"),
        (Format::Pox, &deep),
        (Format::Json, ""),
        (Format::Json, "{"),
        (Format::Json, "{}{}"),
        (Format::Json, "<a/>"),
        (Format::Json, "{\"a\":1,\"a\":2}"),
        (Format::Json, "{\"a\":\"\\ud800\"}"),
        (Format::Json, &deep_list),
    ] {
        let refused = read_payload(format, wrong);
        assert!(matches!(refused, Err(PayloadError::Read(_))), "{format} {wrong}: {refused:?}");
    }
    let refused = read_payload(Format::Json, "{\n\"a\":1,\n\"a\":2}").unwrap_err().to_string();
    assert!(refused.starts_with("3:"), "{refused}");
}

#[test]
fn text_of_another_format_is_refused() {
    for (format, wrong) in [
        (Format::Atom, "<entry/>"),
        (Format::Atom, "<item/>"),
        (Format::Rss, "<a/>"),
        (Format::Rss, "<item xmlns=\"urn:x\"/>"),
        (Format::Opml, "<a/>"),
    ] {
        let refused = read_payload(format, wrong);
        assert!(matches!(refused, Err(PayloadError::OtherFormat { .. })), "{wrong}: {refused:?}");
    }
    let feed = format!("<feed xmlns=\"{ATOM}\"><entry/></feed>");
    let refused = read_payload(Format::Atom, &feed).unwrap_err();
    assert_eq!(refused.to_string(), "the element `feed` is not an item of the format atom");
    assert_eq!(read_payload(Format::Json, "[]"), Err(PayloadError::NoObject));
    assert!(read_payload(Format::Opml, "{}").is_err());
}

#[test]
fn elements_and_members_that_feedsync_adds_are_refused() {
    let with = |name: &str| format!("<item><s:{name} xmlns:s=\"{}\"/></item>", namespace(name));
    for (format, wrong, name) in [
        (Format::Json, "{\"a\":1,\"sync\":{}}".to_owned(), "sync"),
        (Format::Json, "{\"fs:native\":1}".to_owned(), "fs:native"),
        (Format::Rss, with("sync"), "sync"),
        (Format::Pox, with("sync"), "sync"),
        (Format::Rss, with("native"), "fs:native"),
        (
            Format::Rss,
            "<item><sync xmlns=\"http://www.microsoft.com/schemas/rss/sse\"/></item>".to_owned(),
            "sync",
        ),
    ] {
        assert_eq!(read_payload(format, &wrong), Err(PayloadError::Reserved(name)), "{wrong}");
    }
    let tree = "<outline text=\"a\"><outline text=\"b\"/></outline>";
    assert_eq!(read_payload(Format::Opml, tree), Err(PayloadError::ChildOutlines));
}

fn namespace(name: &str) -> &'static str {
    match name {
        "sync" => crate::payload::FEEDSYNC,
        _ => crate::payload::OWN,
    }
}
