//! Conversion of each part of an item. `feedsync_test` tests that any item gives a valid feed.

use feedsync_core::{
    By, Format, History, Related, RelatedKind, Sequence, Sharing, Update, Updates, Window,
};

use super::*;
use crate::head::HeadLink;

fn item(format: Format, text: &str) -> Item<Payload> {
    let when = "2026-01-02T03:04:05Z".parse().unwrap();
    let update = Update::signed(Sequence::new(3).unwrap(), when, By::new("desk.x1").unwrap());
    let winner = Version {
        updates: Updates::FIRST,
        deleted: false,
        noconflicts: None,
        history: History::new(update),
        payload: Payload::from_parsed(format, text),
    };
    Item { id: ItemId::new("item_1").unwrap(), winner, conflicts: Vec::new() }
}

/// Returns the members of an item without the last one, which is always the same.
fn members(format: Format, text: &str) -> String {
    let mut out = String::new();
    JsonFeedWriter::new().item(&mut out, &item(format, text), &[]);
    let sync = ",\"_feedsync\":{\"id\":\"item_1\",\"updates\":\"1\",\"sequence\":\"3\",\
                \"when\":\"2026-01-02T03:04:05Z\",\"by\":\"desk.x1\"}}";
    out.strip_prefix("\n{").and_then(|rest| rest.strip_suffix(sync)).unwrap_or(&out).to_owned()
}

#[test]
fn a_feed_contains_the_metadata_that_identifies_it() {
    let sharing = Sharing {
        window: Some(Window { since: "1".into(), until: "3".into() }),
        related: vec![Related {
            link: "http://h/complete".into(),
            title: None,
            kind: RelatedKind::Complete,
        }],
        ..Sharing::default()
    };
    let link = |rel, href| HeadLink { rel, href, media_type: None };
    let head = FeedHead {
        id: "urn:x:f",
        title: "a \"feed\"",
        updated: "2026-01-02T03:04:05Z".parse().unwrap(),
        author: "hub",
        details: None,
        self_link: Some("http://h/f"),
        next: Some("http://h/f?page=2"),
        links: &[link(CHANGES_RELATION, "http://h/changes"), link("alternate", "http://h/")],
        complete: false,
        sharing: Some(&sharing),
    };
    let written = |head: &FeedHead<'_>| {
        let (mut writer, mut out) = (JsonFeedWriter::new(), String::new());
        writer.begin(&mut out, head);
        writer.item(&mut out, &item(Format::Json, "{}"), &[]);
        writer.item(&mut out, &item(Format::Json, "{}"), &[]);
        writer.end(&mut out);
        out
    };
    let whole = written(&head);
    let (begin, items) = whole.split_once("\"items\":[\n").unwrap();
    assert_eq!(
        begin,
        "{\"version\":\"https://jsonfeed.org/version/1.1\",\"title\":\"a \\\"feed\\\"\",\
         \"home_page_url\":\"http://h/\",\"feed_url\":\"http://h/f\",\
         \"next_url\":\"http://h/f?page=2\",\"authors\":[{\"name\":\"hub\"}],\
         \"_feedsync\":{\"id\":\"urn:x:f\",\"changes\":\"http://h/changes\",\
         \"complete\":\"http://h/complete\",\"since\":\"1\",\"until\":\"3\"},"
    );
    assert!(items.ends_with("}}\n]}\n") && items.contains("}},\n{\"id\""), "{items}");
    let same = written(&FeedHead { next: head.self_link, ..head });
    assert!(!same.contains("next_url"), "a feed is not its own next page");
}

#[test]
fn an_entry_of_atom_becomes_an_item_with_everything_absolute() {
    let entry = "<entry xmlns=\"http://www.w3.org/2005/Atom\" xml:base=\"http://h/a/\" xml:lang=\"de-AT\">\
        <id>urn:x:1</id><title type=\"html\">AT&amp;amp;T &lt;b&gt;x&lt;/b&gt;</title>\
        <published>2005-05-21T09:43:33+02:00</published><updated>2006-01-02T03:04:05.5Z</updated>\
        <author><name>Ray</name><uri>../ray</uri></author><link href=\"1\"/>\
        <link rel=\"related\" href=\"//other/x\"/><summary>short</summary>\
        <link rel=\"enclosure\" href=\"a.mp3\" type=\"audio/mpeg\" length=\"5\" title=\"t\"/>\
        <link rel=\"enclosure\" href=\"b.bin\"/><category term=\"food\" label=\"Food\"/>\
        <content type=\"html\" xml:base=\"c/\">&lt;img src=\"p.png\"&gt;</content></entry>";
    assert_eq!(
        members(Format::Atom, entry),
        "\"id\":\"urn:x:1\",\"url\":\"http://h/a/1\",\"external_url\":\"http://other/x\",\
         \"title\":\"AT&T x\",\"content_html\":\"<img src=\\\"http://h/a/c/p.png\\\">\",\
         \"summary\":\"short\",\"date_published\":\"2005-05-21T07:43:33Z\",\
         \"date_modified\":\"2006-01-02T03:04:05Z\",\
         \"authors\":[{\"name\":\"Ray\",\"url\":\"http://h/ray\"}],\"tags\":[\"food\"],\
         \"attachments\":[{\"url\":\"http://h/a/a.mp3\",\"mime_type\":\"audio/mpeg\",\
         \"title\":\"t\",\"size_in_bytes\":5},\
         {\"url\":\"http://h/a/b.bin\",\"mime_type\":\"application/octet-stream\"}],\
         \"language\":\"de-AT\""
    );
}

#[test]
fn absent_parts_of_an_item_are_omitted_except_the_text() {
    let date = "\"date_modified\":\"2026-01-02T03:04:05Z\"";
    for (format, payload, expected) in [
        (Format::Json, "{}", "\"id\":\"urn:feedsync:item:item_1\",\"content_text\":\"\","),
        (Format::Json, "{\"id\":5,\"summary\":\"s\"}", "\"id\":\"5\",\"content_text\":\"s\","),
        (
            Format::Json,
            "{\"id\":\"x\",\"summary\":\"s\",\"content\":\"iVBO\",\"content_type\":\"image/png\",\
             \"url\":\"relative\",\"links\":[{\"rel\":\"enclosure\",\"href\":\"relative\"}],\
             \"language\":\"no tag\"}",
            "\"id\":\"x\",\"content_text\":\"s\",",
        ),
        (
            Format::Opml,
            "<outline text=\"a &lt;b>\"/>",
            "\"id\":\"urn:feedsync:item:item_1\",\"title\":\"a <b>\",\"content_text\":\"\",",
        ),
    ] {
        assert_eq!(members(format, payload), format!("{expected}{date}"), "{payload}");
    }
}

#[test]
fn deleted_items_are_marked_and_links_of_the_server_follow_their_own() {
    let mut item = item(Format::Json, "{\"url\":\"http://h/own\"}");
    item.winner.deleted = true;
    let mut out = String::new();
    let media = Link { media_type: Some("image/png".into()), ..Link::new(ENCLOSURE, "http://h/m") };
    let links = [Link::new("alternate", "http://h/page"), media];
    JsonFeedWriter::new().item(&mut out, &item, &links);
    for part in [
        "\"url\":\"http://h/own\"",
        "\"content_text\":\"\"",
        "\"deleted\":\"true\"",
        "\"attachments\":[{\"url\":\"http://h/m\",\"mime_type\":\"image/png\"}]",
    ] {
        assert_eq!(out.matches(part).count(), 1, "{part} in {out}");
    }
}
