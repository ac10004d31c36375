//! Positions of outlines: observed, claimed and written.

use crate::support::{reread, written};
use feedsync_core::{Format, Item, Payload};
use feedsync_formats::{Document, FeedWriter, OutlinePosition, ReadOptions, nest, read};

const SX: &str = "xmlns:sx='http://feedsync.org/2007/feedsync'";

fn sync(id: &str) -> String {
    format!("<sx:sync id='{id}' updates='1'><sx:history sequence='1' by='{id}'/></sx:sync>")
}

fn opml(body: &str) -> String {
    format!("<opml version='2.0' {SX}><head/><body>{body}</body></opml>")
}

/// Returns an item with this id, parent and position.
fn item(id: &str, parent: Option<&str>, position: Option<u64>) -> Item<Payload> {
    let text = opml(&format!("<outline text='{id}'>{}</outline>", sync(id)));
    let mut item = reread(Format::Opml, &text).items.remove(0);
    let parent = parent.map(|parent| format!(" fs:parent=\"{parent}\"")).unwrap_or_default();
    let position = position.map(|at| format!(" fs:position=\"{at}\"")).unwrap_or_default();
    let text = format!("<outline xmlns:fs=\"urn:feedsync:1\"{parent}{position} text='{id}'/>");
    item.winner.payload = item.winner.payload.with_parsed_text(text);
    item
}

/// Formats the nesting of the written outlines as `a(b c(d)) e`.
fn nesting(text: &str) -> String {
    let body = &text[text.find("<body>").unwrap()..text.find("</body>").unwrap()];
    let mut out = String::new();
    for piece in body.split('<').skip(2) {
        if let Some(at) = piece.find(" text='") {
            if out.ends_with(|last: char| last.is_alphanumeric()) {
                out.push('(');
            } else if out.ends_with(')') {
                out.push(' ');
            }
            out.extend(piece[at + 7..].chars().take_while(|&character| character != '\''));
        } else if piece.starts_with("/outline") {
            out.push(')');
        }
    }
    // `out` has a closing bracket for every element. Those of leaves are removed.
    let mut shown = String::new();
    let mut open = 0;
    for (index, character) in out.char_indices() {
        match character {
            '(' => {
                open += 1;
                shown.push('(');
            }
            ')' if out[..index].ends_with(|last: char| last.is_alphanumeric()) => {}
            ')' if open > 0 => {
                open -= 1;
                shown.push(')');
            }
            other => shown.push(other),
        }
    }
    shown
}

#[test]
fn the_place_of_an_outline_is_observed_and_part_of_its_payload() {
    let body = format!(
        "<outline text='a'>{}<outline text='furniture'><outline text='b'>{}</outline></outline>\
         <outline text='c'>{}</outline></outline>\n<outline text='d'>{}</outline>",
        sync("a"),
        sync("b"),
        sync("c"),
        sync("d")
    );
    let feed = reread(Format::Opml, &opml(&body));
    let payloads: Vec<_> =
        feed.items.iter().map(|item| item.winner.payload.text().to_string()).collect();
    assert_eq!(
        payloads,
        [
            "<outline xmlns:fs=\"urn:feedsync:1\" fs:position=\"0\" text='a'/>",
            "<outline xmlns:fs=\"urn:feedsync:1\" fs:parent=\"a\" fs:position=\"0\" text='b'/>",
            "<outline xmlns:fs=\"urn:feedsync:1\" fs:parent=\"a\" fs:position=\"1\" text='c'/>",
            "<outline xmlns:fs=\"urn:feedsync:1\" fs:position=\"1\" text='d'/>",
        ]
    );
    assert_eq!(feed.plain_items, 1);
    assert_eq!(nesting(&written(Format::Opml, &feed.items, None)), "a(b c) d");
}

#[test]
fn a_claim_counts_more_than_what_is_observed() {
    let body = format!(
        "<outline text='a' xmlns:fs='urn:feedsync:1' fs:position='7' fs:parent='z'>{}</outline>",
        sync("a")
    );
    let feed = reread(Format::Opml, &opml(&body));
    assert_eq!(
        feed.items[0].winner.payload.text(),
        "<outline text='a' xmlns:fs='urn:feedsync:1' fs:position='7' fs:parent='z'/>"
    );
}

#[test]
fn siblings_are_written_by_position_and_id_and_children_in_their_parents() {
    let items = [
        item("c", None, Some(1)),
        item("e", Some("b"), Some(0)),
        item("b", None, Some(1)),
        item("a", None, Some(2)),
        item("f", Some("e"), Some(5)),
        item("0", None, None),
    ];
    let text = written(Format::Opml, &items, None);
    assert_eq!(nesting(&text), "b(e(f)) c a 0");
    let mut read = reread(Format::Opml, &text).items;
    read.sort_by_key(|read| items.iter().position(|item| item.id == read.id));
    assert_eq!(read, items);
}

#[test]
fn an_appended_outline_is_complete_except_for_its_end_tag() {
    let items = [item("a", None, Some(0)), item("b", Some("a"), Some(0)), item("c", None, Some(1))];
    let places: Vec<_> = items.iter().map(OutlinePosition::of).collect();
    let mut writer = FeedWriter::new(Format::Opml);
    let mut parts = Vec::new();
    for nested in nest(&places) {
        let mut out = String::new();
        writer.outline(&mut out, &items[nested.index], nested.depth);
        parts.push(out);
    }
    let mut end = String::new();
    writer.end(&mut end);
    assert!(parts[1].starts_with("\n<outline") && !parts[1].contains("</outline>"), "{parts:?}");
    assert!(parts[2].starts_with("</outline></outline>\n<outline"), "{parts:?}");
    let whole = parts.concat() + &end;
    assert_eq!(nesting(&format!("<body>{whole}")), "a(b) c");
    assert!(written(Format::Opml, &items, None).ends_with(&whole));
}

#[test]
fn a_child_of_a_deleted_or_unknown_parent_shows_at_the_root_and_keeps_its_claim() {
    let mut items =
        [item("a", None, Some(0)), item("b", Some("a"), Some(0)), item("c", Some("?"), None)];
    items[0].winner.deleted = true;
    let text = written(Format::Opml, &items, None);
    assert_eq!(nesting(&text), "a b c");
    assert!(text.contains("fs:parent=\"a\""));
    assert!(text.contains("deleted=\"true\""));
}

#[test]
fn the_lowest_id_of_each_cycle_shows_at_the_root() {
    let cycle = |order: [usize; 6]| {
        let all = [
            item("c", Some("b"), None),
            item("b", Some("a"), None),
            item("a", Some("c"), None),
            item("t", Some("c"), None),
            item("s", Some("s"), None),
            item("u", Some("s"), None),
        ];
        let items: Vec<_> = order.iter().map(|&index| all[index].clone()).collect();
        nesting(&written(Format::Opml, &items, None))
    };
    assert_eq!(cycle([0, 1, 2, 3, 4, 5]), "a(b(c(t))) s(u)");
    assert_eq!(cycle([5, 3, 1, 0, 4, 2]), "a(b(c(t))) s(u)");
}

#[test]
fn a_chain_that_is_too_long_to_nest_is_written_and_read_all_the_same() {
    let name = |index: usize| format!("n{index:05}");
    let items: Vec<_> = (0..3_000)
        .map(|index| item(&name(index), (index > 0).then(|| name(index - 1)).as_deref(), None))
        .collect();
    let text = written(Format::Opml, &items, None);
    let mut read = reread(Format::Opml, &text).items;
    read.sort_by(|left, right| left.id.cmp(&right.id));
    assert_eq!(read, items);
}

#[test]
fn an_edited_outline_keeps_the_outlines_in_it() {
    let text = opml(&format!(
        "<outline text='a'><outline text='furniture'/>\n<outline text='b'>{}</outline>{}</outline>",
        sync("b"),
        sync("a")
    ));
    let document = Document::read(text.as_bytes(), &ReadOptions::strict()).unwrap();
    let mut edited = document.feed().items[0].clone();
    let payload = edited.winner.payload.text().replace("text='a'", "text='new'");
    edited.winner.payload = edited.winner.payload.with_parsed_text(payload);
    let bytes = document.to_bytes_with(std::slice::from_ref(&edited));
    let after = read(&bytes, None, &ReadOptions::strict()).unwrap().feed;
    assert_eq!(after.items, [edited, document.feed().items[1].clone()]);
    assert_eq!(after.plain_items, 1);
    assert!(String::from_utf8(bytes).unwrap().contains("<outline text='b'><sx:sync id='b'"));
}
