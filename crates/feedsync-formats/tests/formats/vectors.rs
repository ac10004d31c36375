//! The worked examples of FeedSync 1.0.2 and of FeedSync for POX, in `tests/vectors`. Items are
//! inside a feed, and two fragments have their namespaces declared. Every example reads as the
//! model that its text describes. An unedited example is written byte for byte, and its items read
//! back as they were written.

use std::path::Path;

use crate::support::assert_fixed_point;
use feedsync_core::{Format, Item, Payload, RelatedKind, Version};
use feedsync_formats::{Document, Position, ReadError, ReadOptions, Reading, detect, read};

const ID: &str = "item_1_myapp_2005-05-21T11:43:33Z";

fn bytes(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[track_caller]
fn vector(name: &str) -> Reading {
    let bytes = bytes(name);
    let format = match name.rsplit('.').next().unwrap() {
        "atom" => Format::Atom,
        "rss" => Format::Rss,
        _ => Format::Pox,
    };
    assert_eq!(detect(&bytes), Some(format));
    let reading = read(&bytes, None, &ReadOptions::strict()).unwrap();
    assert_eq!(reading.format, format);
    assert_eq!(reading.diagnostics, []);
    assert_eq!(reading.refused, []);
    let document = Document::read(&bytes, &ReadOptions::strict()).unwrap();
    assert_eq!(document.reading(), &reading);
    assert_eq!(document.to_bytes_with(&reading.feed.items), bytes);
    assert_fixed_point(format, &reading.feed.items);
    reading
}

/// Formats the updates as `5GPM7383 12:53:33` and so on, topmost first.
fn history(version: &Version<Payload>) -> Vec<String> {
    version
        .history
        .updates()
        .iter()
        .map(|update| {
            let when = update.when().unwrap().to_string();
            format!("{}{} {}", update.sequence(), update.by().unwrap(), &when[11..19])
        })
        .collect()
}

const THREE: [&str; 3] = ["3JEO2000 11:43:33", "2REO1750 10:43:33", "1REO1750 09:43:33"];

#[track_caller]
fn only(reading: &Reading) -> &Item<Payload> {
    let [item] = &reading.feed.items[..] else { panic!("{:?}", reading.feed.items) };
    assert_eq!(item.id.as_str(), ID);
    assert!(!item.winner.deleted);
    assert_eq!(item.winner.noconflicts, None);
    item
}

#[test]
fn v1_and_v2_the_start_tags_with_the_namespace() {
    assert_eq!(vector("v01-start-tag.atom").feed.items, []);
    assert_eq!(vector("v02-start-tag.rss").feed.items, []);
}

#[test]
fn v2_as_printed_its_typographic_quotes_are_an_error_with_line_and_column() {
    let error = read(&bytes("v02-start-tag-as-printed.rss"), None, &ReadOptions::tolerant());
    let Err(ReadError::Document { position, message }) = error else { panic!("{error:?}") };
    assert_eq!(position, Position { line: 1, column: 14 });
    assert!(message.contains("typographic"), "{message}");
}

#[test]
fn v3_and_v4_a_whole_feed() {
    for name in ["v03-feed.atom", "v04-feed.rss"] {
        let reading = vector(name);
        assert_eq!(reading.title.as_deref(), Some("To Do List"));
        let item = only(&reading);
        assert_eq!(item.winner.updates.get(), 3);
        assert_eq!(history(&item.winner), THREE);
        let sharing = reading.feed.sharing.unwrap();
        let window = sharing.window.clone().unwrap();
        assert_eq!(window.since, "2005-02-13T18:30:02Z");
        assert_eq!(window.until, "2005-05-23T18:30:02Z");
        assert_eq!(sharing.complete(), Some("http://example.com/all.xml"));
        assert_eq!(sharing.related[1].title.as_deref(), Some("To Do List (Jacks Copy)"));
    }
    let atom = vector("v03-feed.atom");
    assert_eq!(
        only(&atom).winner.payload.text(),
        "<entry xmlns=\"http://www.w3.org/2005/Atom\">\n   <title>Buy groceries</title>\n   \
         <content>Get milk, eggs, butter and bread</content>\n   \
         <id>urn:uuid:60a76c80-d399-11d9-b93C-0003939e0aa0</id>\n   \
         <author>\n    <name>Ray Ozzie</name>\n   </author>\n   \
         <updated>2005-05-21T11:43:33Z</updated>\n  </entry>"
    );
}

#[test]
fn v5_and_v6_related_feeds_without_a_window() {
    for name in ["v05-related.atom", "v06-related.rss"] {
        let sharing = vector(name).feed.sharing.unwrap();
        assert_eq!((sharing.window, sharing.expires), (None, None));
        let kinds: Vec<_> = sharing.related.iter().map(|r| (r.kind, r.link.as_str())).collect();
        assert_eq!(
            kinds,
            [
                (RelatedKind::Complete, "http://example.com/all.xml"),
                (RelatedKind::Aggregated, "http://example.com/B.xml")
            ]
        );
    }
}

#[test]
fn v7_v8_v18_and_v20_creation() {
    for name in ["v07-create.atom", "v08-create.rss", "v18-create.pox", "v20-create.atom"] {
        let reading = vector(name);
        let item = only(&reading);
        assert_eq!(item.winner.updates.get(), 1);
        assert_eq!(history(&item.winner), ["1REO1750 09:43:33"]);
    }
    // The blank after the date belongs to the payload.
    let atom = vector("v07-create.atom");
    assert!(only(&atom).winner.payload.text().contains("09:43:33Z </updated>"));
}

#[test]
fn v9_v10_and_v21_an_update_by_the_same_endpoint() {
    for name in ["v09-update.atom", "v10-update.rss", "v21-update.pox", "v21-update.rss"] {
        let reading = vector(name);
        assert_eq!(only(&reading).winner.updates.get(), 2);
        assert_eq!(history(&only(&reading).winner), THREE[1..]);
    }
}

#[test]
fn v11_v12_and_v22_an_update_by_another_endpoint() {
    let reading = vector("v11-update-by-another.atom");
    assert_eq!(history(&only(&reading).winner), THREE);
    // The other three examples print 09:43:33 instead of 11:43:33.
    for name in
        ["v12-update-by-another.rss", "v22-update-by-another.pox", "v22-update-by-another.rss"]
    {
        let reading = vector(name);
        assert_eq!(only(&reading).winner.updates.get(), 3);
        assert_eq!(history(&only(&reading).winner)[0], "3JEO2000 09:43:33");
    }
}

#[test]
fn v13_v14_and_v23_a_conflict() {
    // The first example prints 12:43:33 for both versions. With that time the other version would
    // win.
    for (name, time) in [
        ("v13-conflict.atom", "12:43:33"),
        ("v14-conflict.rss", "12:03:33"),
        ("v23-conflict.pox", "12:03:33"),
        ("v23-conflict.rss", "12:03:33"),
    ] {
        let reading = vector(name);
        let item = only(&reading);
        assert_eq!(history(&item.winner)[0], "4GPM7383 12:43:33");
        assert_eq!(history(&item.winner)[1..], THREE);
        let [conflict] = &item.conflicts[..] else { panic!("{item:?}") };
        assert_eq!(history(conflict)[0], format!("4JEO2000 {time}"));
        assert_eq!(history(conflict)[1..], THREE);
        assert!(item.winner.payload.text().contains("Buy groceries - DONE"));
        assert!(conflict.payload.text().contains("butter and rolls"));
        assert!(!item.winner.payload.text().contains("rolls"));
    }
    let atom = vector("v13-conflict.atom");
    let conflict = &only(&atom).conflicts[0].payload.text();
    assert!(conflict.starts_with("<entry xmlns=\"http://www.w3.org/2005/Atom\">\n    <title>"));
}

#[test]
fn v15_v16_and_v24_a_resolved_conflict() {
    for name in ["v15-resolved.atom", "v16-resolved.rss", "v24-resolved.pox", "v24-resolved.rss"] {
        let reading = vector(name);
        let item = only(&reading);
        assert_eq!(item.winner.updates.get(), 5);
        assert_eq!(item.conflicts, []);
        let order: Vec<String> =
            history(&item.winner).iter().map(|update| update[..2].to_owned()).collect();
        assert_eq!(order, ["5G", "4J", "4G", "3J", "2R", "1R"]);
    }
}

#[test]
fn v17_and_v25_normalised_dates_collate_and_prose_dates_do_not() {
    let window = |since: &str, until: &str| {
        let feed = format!(
            "<feed xmlns='http://www.w3.org/2005/Atom' \
             xmlns:sx='http://feedsync.org/2007/feedsync'>\
             <sx:sharing since='{since}' until='{until}'/></feed>"
        );
        let reading = read(feed.as_bytes(), None, &ReadOptions::tolerant()).unwrap();
        reading.feed.sharing.unwrap().window
    };
    assert!(window("2006-05-02T09:10:33Z", "2006-12-01T09:10:33Z").is_some());
    assert!(window("2 May 2006 09:10:33", "1 December 2006 09:10:33").is_none());
}
