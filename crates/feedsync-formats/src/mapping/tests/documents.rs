//! The mapping in whole documents: items of every format with conflicts of mixed formats, written in every format and
//! read again.

use feedsync_core::{
    By, Feed, Format, History, Item, ItemId, Payload, Sequence, Update, Updates, Version,
};

use super::NATIVES;
use crate::entry::{Category, ContentType, Entry, Link, Person, entry};
use crate::head::FeedHead;
use crate::options::ReadOptions;
use crate::random::Random;
use crate::revise::{Revision, revise};
use crate::{Document, FeedWriter, compose, read};

fn document(format: Format, items: &[Item<Payload>]) -> String {
    let head = FeedHead {
        id: "urn:feed",
        title: "a feed",
        updated: "2026-01-02T03:04:05Z".parse().unwrap(),
        author: "me",
        details: None,
        self_link: None,
        next: None,
        links: &[],
        complete: false,
        sharing: None,
    };
    let (mut writer, mut out) = (FeedWriter::new(format), String::new());
    writer.begin(&mut out, &head);
    for item in items {
        writer.item(&mut out, item);
    }
    writer.end(&mut out);
    out
}

fn feed(format: Format, text: &str) -> Feed {
    let reading = read(text.as_bytes(), Some(format), &ReadOptions::strict());
    let reading = reading.unwrap_or_else(|error| panic!("{format}: {error}\n{text}"));
    assert_eq!(reading.refused, [], "{text}");
    reading.feed
}

/// Returns the items after writing and reading a document of the format, in the order of their ids.
pub(super) fn through(format: Format, items: &[Item<Payload>]) -> Vec<Item<Payload>> {
    let mut items = feed(format, &document(format, items)).items;
    items.sort_by(|left, right| left.id.cmp(&right.id));
    items
}

fn text(random: &mut Random) -> String {
    const PIECES: [&str; 24] = [
        "milk",
        " ",
        "sx:sync",
        "fs:native",
        "urn:feedsync:1",
        "xmlns:sx=\"urn:y\"",
        "<b>",
        "</b>",
        "&amp;",
        "&",
        "]]>",
        "\r\n",
        "\t",
        "\"",
        "'",
        "\\u0000",
        "\\",
        "é",
        "\u{1f600}",
        "\u{fffe}",
        "\0",
        "<!--",
        "</entry>",
        "{\"sync\":1}",
    ];
    (0..random.below(6)).map(|_| *random.of(&PIECES)).collect()
}

fn random_payload(random: &mut Random, format: Format) -> Payload {
    let natives: Vec<_> = NATIVES.iter().filter(|(native, _)| *native == format).collect();
    if random.below(3) == 0 {
        return Payload::from_parsed(format, random.of(&natives).1);
    }
    let mut some = || (random.below(3) > 0).then(|| text(random));
    let author = Person { name: some(), email: some(), uri: some() };
    let mut given = Entry {
        id: some(),
        title: some(),
        content: some(),
        summary: some(),
        author: Some(author),
        links: some().map(|href| Link::new("alternate", &href)).into_iter().collect(),
        categories: some()
            .map(|term| Category { term, ..Category::default() })
            .into_iter()
            .collect(),
        ..Entry::default()
    };
    given.content_type =
        random.of(&[ContentType::Text, ContentType::Html, ContentType::Xhtml]).clone();
    compose(format, &given)
}

fn random_version(random: &mut Random, format: Format, by: &str) -> Version<Payload> {
    let by = By::new(by).unwrap();
    let when = "2026-01-02T03:04:05Z".parse().unwrap();
    let number = 1 + random.below(9) as u32;
    Version {
        updates: Updates::new(number).unwrap(),
        deleted: random.below(4) == 0,
        noconflicts: *random.of(&[None, None, Some(false)]),
        history: History::new(Update::signed(Sequence::new(number).unwrap(), when, by)),
        payload: random_payload(random, format),
    }
}

/// Returns an item whose versions all have one format, as read from a feed of that format: canonical.
fn random_item(random: &mut Random, format: Format, id: ItemId) -> Item<Payload> {
    let winner = random_version(random, format, "a");
    let mut conflicts = Vec::new();
    for by in ["b'", "c"].into_iter().take(random.below(3)) {
        let mut conflict = random_version(random, format, by);
        conflict.noconflicts = winner.noconflicts;
        conflicts.push(conflict);
    }
    let written = Item { id, winner, conflicts };
    through(format, &[written]).remove(0)
}

#[test]
fn every_item_survives_every_format_byte_for_byte() {
    for round in 0..400u64 {
        let mut random = Random(round);
        let mut items: Vec<Item<Payload>> = Vec::new();
        for format in Format::ALL {
            let id = ItemId::new(&format!("item-{format}")).unwrap();
            items.push(random_item(&mut random, format, id));
        }
        // A merge between peers of many formats leaves conflicts of many formats.
        let lent = random_item(&mut random, *random_format(round), "lent".parse().unwrap());
        if let Some(conflict) = lent.conflicts.into_iter().next() {
            let taker = &mut items[(round % 5) as usize];
            taker.conflicts.retain(|own| own.dot().by() != conflict.dot().by());
            let noconflicts = taker.winner.noconflicts;
            taker.conflicts.push(Version { noconflicts, ..conflict });
        }
        items.sort_by(|left, right| left.id.cmp(&right.id));
        for format in Format::ALL {
            let read = through(format, &items);
            assert_eq!(
                read,
                items,
                "round {round} through {format}:\n{}",
                document(format, &items)
            );
        }
    }
}

#[test]
fn composed_and_revised_payloads_are_canonical() {
    for round in 0..400u64 {
        for format in Format::ALL {
            let mut random = Random(round);
            let mut item = random_item(&mut random, format, "i".parse().unwrap());
            item.conflicts.clear();
            // The native texts of the tests need not be canonical, but composed ones are.
            while NATIVES.iter().any(|(_, text)| *text == item.winner.payload.text()) {
                item.winner.payload = random_payload(&mut random, format);
            }
            assert_eq!(through(format, std::slice::from_ref(&item)), [item.clone()], "{round}");
            let mut some = || (random.below(3) > 0).then(|| text(&mut random));
            let mut revision = Revision { title: some(), content: some(), ..Revision::default() };
            revision.updated = "2026-05-06T07:08:09Z".parse().ok();
            revision.content_type =
                random.of(&[ContentType::Text, ContentType::Html, ContentType::Xhtml]).clone();
            // Characters that XML cannot hold are refused.
            let Ok(payload) = revise(&item.winner.payload, &revision) else { continue };
            item.winner.payload = payload;
            assert_eq!(through(format, std::slice::from_ref(&item)), [item.clone()], "{round}");
            let shown = entry(&item.winner.payload);
            if let Some(title) = revision.title.filter(|title| !title.trim().is_empty()) {
                let title = title.replace("\r\n", "\n").trim().to_owned();
                assert_eq!(
                    shown.title.map(|shown| shown.replace('\r', "")),
                    Some(title),
                    "{round}"
                );
            }
        }
    }
}

fn random_format(round: u64) -> &'static Format {
    &Format::ALL[(round / 5 % 5) as usize]
}

#[test]
fn an_edit_by_a_peer_that_knows_one_format_shows_in_every_other() {
    for round in 0..100u64 {
        for native in Format::ALL {
            for peer in Format::ALL.into_iter().filter(|peer| *peer != native) {
                let mut random = Random(round);
                let item = random_item(&mut random, native, "i".parse().unwrap());
                // The peer reads the projection as an ordinary payload, and does not know the extension.
                let projected = super::project(&item.id, &item.winner, peer);
                let revision = Revision {
                    title: Some("edited".into()),
                    content: Some("by a peer".into()),
                    ..Revision::default()
                };
                let sequence = Sequence::new(100).unwrap();
                let edit = Update::new(sequence, None, By::new("peer").ok()).unwrap();
                let updates = [vec![edit], item.winner.history.updates().to_vec()].concat();
                let edited = Item {
                    winner: Version {
                        payload: revise(&projected, &revision).unwrap(),
                        history: History::from_updates(updates).unwrap(),
                        ..item.winner.clone()
                    },
                    ..item
                };
                let read = through(peer, &[edited]);
                let payload = &read[0].winner.payload;
                assert_eq!(payload.format(), peer, "round {round}: {native} edited in {peer}");
                for trace in ["<fs:native", "\"fs:native\":"] {
                    assert!(!payload.text().contains(trace), "round {round}: {}", payload.text());
                }
                for format in Format::ALL {
                    assert_eq!(through(format, &read), read, "round {round}");
                    let shown = entry(&super::project(&read[0].id, &read[0].winner, format));
                    assert_eq!(shown.title.as_deref(), Some("edited"));
                    assert_eq!(shown.content.as_deref(), Some("by a peer"));
                }
            }
        }
    }
}

#[test]
fn a_document_of_any_format_takes_items_of_any_format() {
    for holder in Format::ALL {
        let mut random = Random(7);
        let own = random_item(&mut random, holder, "own".parse().unwrap());
        let source = document(holder, std::slice::from_ref(&own));
        let document = Document::read(source.as_bytes(), &ReadOptions::strict()).unwrap();
        for guest in Format::ALL {
            let new = random_item(&mut random, guest, "new".parse().unwrap());
            let replaced = random_item(&mut random, guest, "own".parse().unwrap());
            let items = [new, replaced];
            let bytes = document.to_bytes_with(&items);
            let mut read = feed(holder, std::str::from_utf8(&bytes).unwrap()).items;
            read.sort_by(|left, right| left.id.cmp(&right.id));
            assert_eq!(read, items, "{guest} in {holder}");
        }
    }
}
