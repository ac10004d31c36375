//! Projections lose no byte, and edits of a projection take effect.

use feedsync_core::{
    By, Format, History, Item, ItemId, Payload, Sequence, Update, Updates, Version,
};

use super::{carry_native, project, restore};
use crate::entry::entry;
use crate::json::{check, push_unmapped, read_unmapped};
use crate::options::{Limits, Mode, ReadOptions};
use crate::random::Random;
use crate::revise::{Revision, revise};
use crate::xml::Tree;

mod corpora;
mod documents;

fn version(format: Format, text: &str, sequence: u32) -> Version<Payload> {
    let by = By::new("a'(1)").unwrap();
    let when = "2026-01-02T03:04:05Z".parse().unwrap();
    let sequence = Sequence::new(sequence).unwrap();
    Version {
        updates: Updates::FIRST,
        deleted: false,
        noconflicts: None,
        history: History::new(Update::signed(sequence, when, by)),
        payload: Payload::from_parsed(format, text),
    }
}

fn id() -> ItemId {
    ItemId::new("item?1").unwrap()
}

/// Payloads of every format that are difficult to project.
const NATIVES: [(Format, &str); 13] = [
    (Format::Json, "{}"),
    (Format::Json, "{ \"title\" : \"a\\u0000\\ud83d\\ude00]]>\", \"x\":[1.50,{\"y\":null}] }"),
    (Format::Json, "{\r\n\t\"title\": \"\u{fffe}\u{ffff}\\\\ & <b> \u{85}\u{2028}\u{7f}\"}"),
    (Format::Json, "{\"body\":\"fs:native urn:feedsync:1 \\uFFFE\"}"),
    (
        Format::Atom,
        "<entry xmlns=\"http://www.w3.org/2005/Atom\"><id>urn:x:1</id><title>a &amp; b</title>\
         <updated>2005-05-21T09:43:33.5+02:00</updated>\r\n<!-- c --><content type=\"xhtml\">\
         <div xmlns=\"http://www.w3.org/1999/xhtml\"><p>x]]&gt;</p></div></content></entry>",
    ),
    (
        Format::Atom,
        "<a:entry xmlns:a='http://www.w3.org/2005/Atom' xmlns:x=\"urn:x\" xml:lang='de' x:y=\"1\">\
         <a:title type='html'>&lt;b&gt;bold&lt;/b&gt;</a:title><x:foreign><![CDATA[<&]]></x:foreign>\
         <a:content src=\"pic.png\" type=\"image/png\"/></a:entry>",
    ),
    (Format::Rss, "<item/>"),
    (
        Format::Rss,
        "<item xmlns:content=\"http://purl.org/rss/1.0/modules/content/\"><title>AT&amp;T</title>\
         <description><![CDATA[short <b>one</b>]]></description><guid>http://h/1</guid>\
         <pubDate>Sat, 21 May 2005 09:43:33 GMT</pubDate><content:encoded>&lt;p&gt;long</content:encoded>\
         <enclosure url=\"http://h/a.mp3\" length=\"5\" type=\"audio/mpeg\"/></item>",
    ),
    (Format::Opml, "<outline text='it&apos;s \"here\"' xmlUrl=\"http://h/f?a=1&amp;b=2\"/>"),
    (
        Format::Opml,
        "<outline text=\"a&#10;b\" _note=\"n\" description=\"d\" category=\"/a/b,c\"></outline>",
    ),
    (Format::Pox, "<item><subject>Buy groceries</subject><body>Get milk and eggs</body></item>"),
    (
        Format::Pox,
        "<n:note xmlns:n=\"urn:n\" n:k=\"&#9;\"><!-- <sync> --><n:body>x<b/>y</n:body></n:note>",
    ),
    (Format::Pox, "<e\n/>"),
];

fn well_formed(payload: &Payload) {
    match payload.format() {
        Format::Json => assert_eq!(check(payload.text(), 32).map(|flaws| flaws.len()), Ok(0)),
        _ => {
            let parsed = Tree::parse(payload.text(), Mode::Strict, &Limits::default());
            assert!(parsed.is_ok(), "{}", payload.text());
        }
    }
}

fn json_foreign() -> std::sync::Arc<str> {
    "\"x\":{\"y\":\"\u{ffff}\\\\\"},\"z\":1".into()
}

#[test]
fn a_projection_restores_the_native_bytes_under_the_same_dot() {
    for (format, text) in NATIVES {
        for to in Format::ALL {
            let mut native = version(format, text, 7);
            for foreign in [None, Some("<sync xmlns:x=\"urn:x\" x:a=\"&lt;\"/>".into())] {
                let foreign = match (format, foreign) {
                    (Format::Json, Some(_)) => Some(json_foreign()),
                    (_, foreign) => foreign,
                };
                native.payload = native.payload.with_sync_foreign(foreign);
                let projected = project(&id(), &native, to);
                assert_eq!(projected.format(), to);
                well_formed(&projected);
                let read = Version { payload: projected, ..native.clone() };
                assert_eq!(restore(read), native, "{format} to {to}: {text}");
            }
        }
    }
}

#[test]
fn a_payload_of_the_wanted_format_is_not_projected() {
    for (format, text) in NATIVES {
        let native = version(format, text, 1);
        assert_eq!(project(&id(), &native, format), native.payload);
        assert_eq!(restore(native.clone()), native);
    }
}

#[test]
fn after_an_edit_by_a_peer_that_knows_one_format_the_extension_is_void_and_the_edit_shows() {
    for (format, text) in NATIVES {
        for to in Format::ALL.into_iter().filter(|to| *to != format) {
            let native = version(format, text, 7);
            let projected = project(&id(), &native, to);
            let revision = Revision {
                title: Some("edited <title> & more".into()),
                content: Some("edited content".into()),
                ..Revision::default()
            };
            // The peer keeps the markup that it does not know and adds a new update.
            let edited =
                Version { payload: revise(&projected, &revision).unwrap(), ..version(to, "", 8) };
            assert!(edited.payload.text().contains("native"), "{}", edited.payload.text());
            let read = restore(edited);
            assert_eq!(read.payload.format(), to);
            assert!(!read.payload.text().contains("native\""), "{}", read.payload.text());
            assert!(!read.payload.text().contains("<fs:"), "{}", read.payload.text());
            well_formed(&read.payload);
            let view = entry(&read.payload);
            assert_eq!(view.title.as_deref(), Some("edited <title> & more"));
            assert_eq!(view.content.as_deref(), Some("edited content"));
            // The result is an ordinary payload, which is projected like any other.
            let onward = Version { payload: project(&id(), &read, format), ..read.clone() };
            assert_eq!(restore(onward), read);
        }
    }
}

#[test]
fn an_element_left_without_content_is_closed_as_reading_closes_it() {
    let native = version(Format::Pox, "<x/>", 1);
    let outline = project(&id(), &native, Format::Opml);
    assert!(outline.text().ends_with("</fs:native></outline>"), "{}", outline.text());
    let void = restore(Version { payload: outline, ..version(Format::Opml, "", 2) });
    assert!(void.payload.text().ends_with("\"/>"), "{}", void.payload.text());
}

#[test]
fn a_peer_that_writes_the_extension_its_own_way_is_understood() {
    let native = version(Format::Json, "{\"title\":\"<é>\"}", 7);
    let rewritten = "<item><title>x</title>\n  <own:native by=\"a&apos;(1)\" xmlns:own='urn:feedsync:1' \
         when='2026-01-02T03:04:05Z' sequence='7' format='json' more=\"\"><![CDATA[{\"title\":\"<]]>\
         &#233;<![CDATA[>\"}]]></own:native>\n<later/></item>";
    assert_eq!(restore(version(Format::Pox, rewritten, 7)), native);
    let void = restore(version(Format::Pox, rewritten, 8));
    assert_eq!(void.payload.text(), "<item><title>x</title>\n<later/></item>");
}

#[test]
fn an_extension_that_holds_no_item_of_its_format_is_void() {
    for (format, text) in [
        ("json", "[1]"),
        ("json", "{\"a\":1,\"a\":2}"),
        ("json", "{\"sync\":{}}"),
        ("json", " {}"),
        ("json", "{} {}"),
        ("json", "{\"fs:native\":{}}"),
        ("atom", "<entry/>"),
        ("rss", "<item></item><item/>"),
        ("rss", "<item><x:y/></item>"),
        ("rss", "<item>&nbsp;</item>"),
        ("rss", "<entry/>"),
        ("rss", "<item><s:sync xmlns:s=\"http://feedsync.org/2007/feedsync\"/></item>"),
        ("rss", "<item><f:native xmlns:f=\"urn:feedsync:1\"/></item>"),
        ("rss", "<item><s:sync xmlns:s=\"http://www.microsoft.com/schemas/rss/sse\"/></item>"),
        ("rss", "<item xmlns=\"urn:x\"/>"),
        ("atom", "<feed xmlns=\"http://www.w3.org/2005/Atom\"/>"),
        ("opml", "<item/>"),
        ("opml", "<outline><outline/></outline>"),
        ("pox", "<a/> "),
        ("pox", "</item>"),
        ("pox", ""),
        ("yaml", "a: 1"),
    ] {
        let native = super::Native {
            format: format.into(),
            text: text.into(),
            ..super::Native::of(&version(Format::Json, "{}", 7), None)
        };
        let object = format!("{{\"t\":1,{}}}", super::json::member(&native));
        let read = restore(version(Format::Json, &object, 7));
        assert_eq!(
            (read.payload.format(), read.payload.text()),
            (Format::Json, "{\"t\":1}"),
            "{text}"
        );
        let element = format!("<i><t/>{}</i>", super::xml::element(&native));
        let read = restore(version(Format::Pox, &element, 7));
        assert_eq!(
            (read.payload.format(), read.payload.text()),
            (Format::Pox, "<i><t/></i>"),
            "{text}"
        );
    }
    for sync in ["x", "<a", "<a/><b/>", "\"a\":1}", "<x:a/>"] {
        let native = super::Native::of(&version(Format::Rss, "<item/>", 7), Some(sync));
        let object = format!("{{\"t\":1,{}}}", super::json::member(&native));
        assert_eq!(
            restore(version(Format::Json, &object, 7)).payload.text(),
            "{\"t\":1}",
            "{sync}"
        );
    }
}

#[test]
fn foreign_markup_of_sync_that_holds_no_members_of_json_makes_the_extension_void() {
    for (sync, restored) in [
        ("\"a\":1", true),
        ("\"a\":1,\"b\":{} ", true),
        ("", false),
        (" ", false),
        (" \"a\":1", false),
        ("\"a\"", false),
        ("\"a\":1,", false),
        ("\"a\":1,\"a\":2", false),
        ("\"a\":1},{\"b\":2", false),
        ("a:1", false),
        ("<a/>", false),
    ] {
        let mut native = version(Format::Json, "{\"u\":2}", 7);
        let carried = super::Native::of(&native, Some(sync));
        let element = format!("<i><t/>{}</i>", super::xml::element(&carried));
        let read = restore(version(Format::Pox, &element, 7)).payload;
        native.payload = native.payload.with_sync_foreign(Some(sync));
        let void = Payload::from_parsed(Format::Pox, "<i><t/></i>");
        assert_eq!(read, if restored { native.payload } else { void }, "{sync}");
    }
}

#[test]
fn a_native_text_that_is_too_deep_to_be_a_conflict_is_void() {
    for (depth, restored) in [(240, true), (241, false)] {
        let text = "{\"a\":".repeat(depth - 1) + "{}" + &"}".repeat(depth - 1);
        let native = version(Format::Json, &text, 7);
        let read =
            restore(Version { payload: project(&id(), &native, Format::Pox), ..native.clone() });
        assert_eq!(read == native, restored);
        let text = "<a>".repeat(depth) + &"</a>".repeat(depth);
        let native = version(Format::Pox, &text, 7);
        let read =
            restore(Version { payload: project(&id(), &native, Format::Json), ..native.clone() });
        assert_eq!(read == native, restored);
    }
}

#[test]
fn mutated_projections_never_panic_and_restoring_twice_changes_nothing() {
    const PIECES: [&str; 14] =
        ["<", ">", "/>", "\"", "'", "&", "&#0;", "{", "}", ",", "\\", "<fs:native", "</item>", "é"];
    let (mut native, mut void) = (0, 0);
    for round in 0..20_000u64 {
        let mut random = Random(round);
        let (format, text) = *random.of(&NATIVES);
        let to = *random.of(&Format::ALL);
        let mut projected = project(&id(), &version(format, text, 7), to).text().to_owned();
        for _ in 0..random.below(3) {
            let text = projected.clone();
            let mut place = || text.floor_char_boundary(random.below(text.len() + 1));
            let (first, second) = (place(), place());
            let range = first.min(second)..first.max(second).min(first.min(second) + 9);
            match random.below(2) {
                0 => projected.insert_str(first, PIECES[random.below(PIECES.len())]),
                _ if projected.is_char_boundary(range.end) => projected.replace_range(range, ""),
                _ => {}
            }
        }
        let read = restore(version(to, &projected, 7));
        let _ = entry(&read.payload);
        let title = Revision { title: Some("t".into()), ..Revision::default() };
        let _ = revise(&read.payload, &title);
        assert_eq!(restore(read.clone()), read, "round {round}: {projected}");
        let lost = to != format && read.payload.format() == to;
        void += usize::from(lost);
        native += usize::from(to != format && !lost);
    }
    assert!(native > 1_000 && void > 1_000, "{native} restored, {void} not");
}

#[test]
fn a_dot_that_differs_in_any_part_is_another_dot() {
    let native = version(Format::Json, "{\"title\":\"x\"}", 7);
    let projected = project(&id(), &native, Format::Rss);
    let sequence = Sequence::new(7).unwrap();
    let when = "2026-01-02T03:04:05Z".parse().ok();
    let by = |text| By::new(text).ok();
    for (update, same) in [
        (Update::new(sequence, when, by("a'(1)")), true),
        (Update::new(sequence, None, by("a'(1)")), false),
        (Update::new(sequence, when, None), false),
        (Update::new(sequence, when, by("b")), false),
        (Update::new(sequence, "2026-01-02T03:04:06Z".parse().ok(), by("a'(1)")), false),
        (Update::new(Sequence::FIRST, when, by("a'(1)")), false),
    ] {
        let update = update.unwrap();
        let read = restore(Version {
            payload: projected.clone(),
            history: History::new(update.clone()),
            ..native.clone()
        });
        assert_eq!(read.payload == native.payload, same, "{update:?}");
    }
}

#[test]
fn an_entry_without_a_name_takes_the_name_of_its_item_and_the_date_of_its_update() {
    let native = version(Format::Json, "{\"title\":\"x\"}", 7);
    let view = entry(&project(&id(), &native, Format::Atom));
    assert_eq!(view.id.as_deref(), Some("urn:feedsync:item:item%3F1"));
    assert_eq!(view.updated.map(|date| date.to_string()).as_deref(), Some("2026-01-02T03:04:05Z"));
}

#[test]
fn a_projection_has_no_base_and_so_no_reference_that_needs_one() {
    let atom = "<entry xmlns=\"http://www.w3.org/2005/Atom\" xml:base=\"http://h/a/\"><id>x</id>\
        <link href=\"1\"/><content type=\"xhtml\"><div xmlns=\"http://www.w3.org/1999/xhtml\" \
        xml:base=\"b/\"><img src=\"p.png\"/></div></content></entry>";
    let rss = "<item xmlns:content=\"http://purl.org/rss/1.0/modules/content/\" xml:base=\"http://h/a/b/\">\
        <link>../1</link><content:encoded>&lt;img src=\"p.png\"/></content:encoded></item>";
    let pox = "<item xml:base=\"http://h/a/b/\"><link rel=\"alternate\" href=\"../1\"/>\
        <content type=\"html\">&lt;img src=\"p.png\"/></content></item>";
    for (format, text) in [(Format::Atom, atom), (Format::Rss, rss), (Format::Pox, pox)] {
        let native = version(format, text, 7);
        for to in [Format::Atom, Format::Rss, Format::Pox, Format::Json] {
            if to == format {
                continue;
            }
            let view = entry(&project(&id(), &native, to));
            assert_eq!(view.link(), Some("http://h/a/1"), "{format} to {to}");
            let content = view.content.unwrap();
            assert!(content.starts_with("<img src=\"http://h/a/b/p.png\""), "{to}: {content}");
        }
        assert!(entry(&native.payload).content.unwrap().contains("\"p.png\""), "the view itself");
    }
}

#[test]
fn only_items_without_any_date_are_shown_with_the_date_of_their_update() {
    let dated = |dates: &str| {
        let text = format!("<entry xmlns=\"http://www.w3.org/2005/Atom\">{dates}</entry>");
        let shown = super::shown(&id(), &version(Format::Atom, &text, 1));
        (shown.updated.map(|it| it.to_string()), shown.published.map(|it| it.to_string()))
    };
    let own = Some("2026-01-02T03:04:05Z".to_owned());
    assert_eq!(dated(""), (own, None));
    let date = Some("2005-05-21T09:43:33Z".to_owned());
    assert_eq!(dated("<published>2005-05-21T09:43:33Z</published>"), (None, date.clone()));
    assert_eq!(dated("<updated>2005-05-21T09:43:33Z</updated>"), (date, None));
}

#[test]
fn a_native_text_moves_to_a_version_with_the_same_content() {
    for (format, text) in NATIVES.into_iter().filter(|(format, _)| *format != Format::Json) {
        let (old, new) = (version(format, text, 1), version(format, text, 2));
        let projection = project(&id(), &old, Format::Json);
        let payload = carry_native(&projection, old.dot(), new.dot());
        let restored = restore(Version { payload, ..new.clone() });
        assert_eq!(restored, new, "{text}");
        // A void text does not become valid.
        let payload = carry_native(&projection, new.dot(), old.dot());
        assert_eq!(payload, projection);
    }
}

#[test]
fn unmapped_items_are_written_as_they_were_read() {
    for (format, text) in NATIVES {
        let winner = version(format, text, 1);
        let item = Item { id: id(), winner, conflicts: vec![version(format, text, 2)] };
        let mut document = String::from("{\"items\":[");
        crate::json::Writer::new().item(&mut document, &item);
        let written = document["{\"items\":[".len()..].trim_start().to_owned();
        document.push_str("]}");
        let reading = read_unmapped(document.as_bytes(), &ReadOptions::strict()).unwrap();
        assert_eq!(reading.feed.items[0].winner.payload.format(), Format::Json);
        let mut again = String::new();
        push_unmapped(&mut again, &reading.feed.items[0]);
        assert_eq!(again, written);
    }
}
