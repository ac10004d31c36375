//! Parsing a feed, compared to a pass over its XML events and to another parser of the same bytes.

use std::hint::black_box;

use feedsync_core::{By, Format, Stamp, Timestamp};
use feedsync_formats::{FeedHead, FeedWriter, ReadOptions, read};
use quick_xml::NsReader;
use quick_xml::events::Event;

use crate::measure::{interleaved, ratio};
use crate::sample::{Random, item, payload};

const ENTRIES: usize = 2_000;

pub(crate) fn run() {
    let text = feed();
    let megabytes = text.len() as f64 / 1e6;
    let options = [ReadOptions::strict(), ReadOptions::tolerant()];
    let read_as = |options: &ReadOptions| {
        let reading = read(text.as_bytes(), None, options).expect("a feed");
        assert_eq!(reading.feed.items.len(), ENTRIES);
        black_box(reading);
    };
    let times = interleaved(&mut [
        (&mut || (), &mut |()| event_pass(&text)),
        (&mut || (), &mut |()| read_as(&options[0])),
        (&mut || (), &mut |()| read_as(&options[1])),
        (&mut || (), &mut |()| {
            let feed = feed_rs::parser::parse(text.as_bytes()).expect("a feed");
            assert_eq!(feed.entries.len(), ENTRIES);
            black_box(feed);
        }),
    ]);
    println!(
        "## Reading Atom with FeedSync: {ENTRIES} entries, three updates each, {megabytes:.2} MB\n"
    );
    println!("| | processor time | MB a second | against the pass | against feed-rs |");
    println!("|---|---|---|---|---|");
    let names = [
        "NsReader, every attribute",
        "`feedsync_formats::read`, strict",
        "`feedsync_formats::read`, tolerant",
        "feed-rs",
    ];
    for (name, this) in names.iter().zip(&times) {
        println!(
            "| {name} | {this} | {:.0} | {:.2} | {:.2} |",
            megabytes / this.median().as_secs_f64(),
            ratio(this, &times[0]),
            ratio(this, &times[3]),
        );
    }
    println!();
}

/// The minimum work of a reader that visits everything.
fn event_pass(text: &str) {
    let mut reader = NsReader::from_str(text);
    loop {
        match reader.read_resolved_event().expect("well-formed") {
            (namespace, Event::Start(tag) | Event::Empty(tag)) => {
                black_box(namespace);
                for attribute in tag.attributes() {
                    black_box(attribute.expect("well-formed").value);
                }
            }
            (_, Event::Eof) => return,
            event => {
                black_box(event);
            }
        }
    }
}

/// Entries as a hub publishes them.
fn feed() -> String {
    let mut random = Random(1);
    let mut writer = FeedWriter::new(Format::Atom);
    let mut out = String::new();
    let updated = Timestamp::parse("2025-01-01T00:00:00Z").expect("a date");
    let head = FeedHead {
        id: "urn:uuid:60a76c80-d399-11d9-b93c-0003939e0aaa",
        title: "To Do List",
        updated,
        author: "Ray Ozzie",
        details: None,
        self_link: None,
        next: None,
        links: &[],
        complete: false,
        sharing: None,
    };
    writer.begin(&mut out, &head);
    for _ in 0..ENTRIES {
        let (high, low) = (random.next(), random.next());
        let id = feedsync_core::ItemId::new(&format!("{high:016x}{low:016x}")).expect("a valid id");
        let mut item = item(id, &mut random);
        for by in ["desk.1f2e3d4c5b6a7988", "phone.a1b2c3d4e5f60718"] {
            let stamp = Stamp::new(updated, By::new(by).expect("a valid by"));
            item.update(&stamp, payload(&mut random).into()).expect("room");
        }
        writer.item(&mut out, &item);
    }
    writer.end(&mut out);
    out
}
