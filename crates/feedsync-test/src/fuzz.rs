//! Bodies of the fuzz targets: functions of bytes that panic where an invariant is violated. `fuzz/` runs
//! them under cargo-fuzz, and `tests/fuzz.rs` on mutated documents in every run.
//!
//! The invariant is always the same: reading never panics, and what was read is a fixed point. Unedited, it
//! is written with the same bytes, and what is written reads back as the same.

mod couch;
mod newsreading;
mod reader;

use std::fmt::{Debug, Display};
use std::str::FromStr;

use feedsync_core::{By, Format, Item, ItemId, Payload, Sharing, Timestamp, sse};
use feedsync_formats::{
    Document, FeedDetails, FeedHead, FeedWriter, ReadOptions, Reading, entry, read,
    sse as sse_documents,
};

pub use couch::{couch, parts};
pub use newsreading::{dates, newsreader, published};
pub use reader::{document, records, snapshot, subscriptions};

/// Body of a fuzz target; returns the number of items or values that it read and checked.
pub type Body = fn(&[u8]) -> usize;

/// All bodies, with the names of their targets.
pub const TARGETS: [(&str, Body); 13] = [
    ("feed", feed),
    ("pox", pox),
    ("sse", sse),
    ("values", values),
    ("records", records),
    ("document", document),
    ("snapshot", snapshot),
    ("subscriptions", subscriptions),
    ("published", published),
    ("dates", dates),
    ("newsreader", newsreader),
    ("couch", couch),
    ("parts", parts),
];

/// Reads Atom, RSS, OPML, POX and JSON, distinguished by content, in both modes.
pub fn feed(bytes: &[u8]) -> usize {
    let mut read = 0;
    for options in [ReadOptions::strict(), ReadOptions::tolerant()] {
        let Ok(document) = Document::read(bytes, &options) else { continue };
        let items = &document.feed().items;
        assert_eq!(document.to_bytes_with(items), bytes, "unedited bytes change");
        check_whole(bytes, document.reading(), &options);
        items.iter().for_each(|item| check_item(item, &options));
        read += items.len();
    }
    read
}

/// Reads any XML as a collection of plain elements.
pub fn pox(bytes: &[u8]) -> usize {
    let mut count = 0;
    for options in [ReadOptions::strict(), ReadOptions::tolerant()] {
        let Ok(reading) = read(bytes, Some(Format::Pox), &options) else { continue };
        reading.feed.items.iter().for_each(|item| check_item(item, &options));
        count += reading.feed.items.len();
    }
    count
}

/// Reads SSE documents, RSS and OPML, in both modes. Merged with itself a document stays as it is, or breaks
/// its cycles once.
pub fn sse(bytes: &[u8]) -> usize {
    let mut read = 0;
    for options in [ReadOptions::strict(), ReadOptions::tolerant()] {
        let Ok(document) = sse_documents::Document::read(bytes, &options) else { continue };
        assert_eq!(document.as_bytes(), bytes, "unedited bytes change");
        read += document.items().count();
        document.upgraded().for_each(drop);
        let Ok(merged) = document.merge(&document) else { continue };
        if merged.moved.is_empty() {
            assert_eq!(merged.bytes, bytes, "merged with itself it changes");
        }
        let again = sse_documents::Document::read(&merged.bytes, &options)
            .unwrap_or_else(|error| panic!("merged it does not read: {error}"));
        assert_eq!(again.items().count(), document.items().count());
    }
    read
}

/// Reads identifiers, timestamps and dates, between the quotes and tags of a document. A valid one is written
/// as it was.
pub fn values(bytes: &[u8]) -> usize {
    let text = String::from_utf8_lossy(bytes);
    text.split(['"', '\'', '<', '>']).map(value).sum()
}

fn value(text: &str) -> usize {
    let mut read =
        round_trip::<ItemId>(text) + round_trip::<By>(text) + round_trip::<sse::Date>(text);
    if let Ok(timestamp) = Timestamp::parse_tolerant(text) {
        assert_eq!(timestamp.to_string(), text);
        let again = Timestamp::from_unix_seconds(timestamp.unix_seconds());
        assert_eq!(again.map(Timestamp::unix_seconds), Some(timestamp.unix_seconds()));
        assert_eq!(Timestamp::parse(text).is_ok(), timestamp.is_strict());
        read += 1;
    }
    read
}

/// Checks that a valid text is written as it was.
pub fn round_trip<T: FromStr + Display + PartialEq + Debug>(text: &str) -> usize {
    let Ok(value) = text.parse::<T>() else { return 0 };
    assert_eq!(value.to_string(), text);
    assert_eq!(text.parse::<T>().ok(), Some(value));
    1
}

/// Checks that a document reads alike with and without its bytes kept. Then it checks that all its items and
/// its sharing information, written as one feed in their own format, are the same feed.
fn check_whole(bytes: &[u8], reading: &Reading, options: &ReadOptions<'_>) {
    assert_eq!(read(bytes, None, options).as_ref(), Ok(reading));
    let format = reading.format;
    let feed = &reading.feed;
    let details = FeedDetails { left_out: 0, ..reading.details.clone() };
    let written = write(format, &feed.items, feed.sharing.as_ref(), Some(&details));
    let again = read(written.as_bytes(), Some(format), options)
        .unwrap_or_else(|error| panic!("{format}: {error}: {written}"));
    let (mut left, mut right) = (again.feed.items, feed.items.clone());
    if format == Format::Opml {
        // Outlines are read back in the order of their positions.
        left.sort_by_cached_key(|item| format!("{item:?}"));
        right.sort_by_cached_key(|item| format!("{item:?}"));
    }
    assert_eq!(left, right, "{format}: {written}");
    assert_eq!(again.feed.sharing, feed.sharing, "{format}: {written}");
    assert_eq!(again.details, details, "{format}: {written}");
}

/// Checks that an item written in its own format is the same item. In another format it is one item of the
/// same id and versions, and its native payload is restored.
fn check_item(item: &Item<Payload>, options: &ReadOptions<'_>) {
    for version in item.versions() {
        let _ = entry(&version.payload);
    }
    let native = item.winner.payload.format();
    for format in Format::ALL {
        let written = write(format, std::slice::from_ref(item), None, None);
        let reading = read(written.as_bytes(), Some(format), options)
            .unwrap_or_else(|error| panic!("{format}: {error}: {written}"));
        let [again] = &reading.feed.items[..] else {
            panic!("{format}: {:?} {:?}: {written}", reading.feed.items, reading.refused)
        };
        if format == native {
            assert_eq!(again, item, "{format}: {written}");
            continue;
        }
        assert_eq!(again.id, item.id);
        for (again, version) in again.versions().zip(item.versions()) {
            assert!(again.dot().is_same(version.dot()), "{format}: {written}");
            assert_eq!(again.payload.text(), version.payload.text(), "{format}: {written}");
        }
    }
}

fn write(
    format: Format,
    items: &[Item<Payload>],
    sharing: Option<&Sharing>,
    details: Option<&FeedDetails>,
) -> String {
    let head = FeedHead {
        id: "urn:feed",
        title: "A \"feed\" & more",
        updated: Timestamp::from_unix_seconds(0).unwrap_or_else(|| unreachable!("1970")),
        author: "nobody",
        details,
        self_link: None,
        next: None,
        links: &[],
        complete: false,
        sharing,
    };
    let (mut writer, mut out) = (FeedWriter::new(format), String::new());
    writer.begin(&mut out, &head);
    items.iter().for_each(|item| writer.item(&mut out, item));
    writer.end(&mut out);
    out
}
