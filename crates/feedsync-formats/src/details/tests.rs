//! Properties of details: details that are written read back the same in each format, whatever a head contains.

mod examples;
mod hostile;

use feedsync_core::Format;

use super::*;
use crate::head::FeedHead;
use crate::options::ReadOptions;
use crate::random::Random;
use crate::write::FeedWriter;
use crate::{Reading, read, sse};

const XML: [Format; 4] = [Format::Atom, Format::Rss, Format::Opml, Format::Pox];

/// Returns a feed without items.
fn written(format: Format, details: Option<&FeedDetails>) -> String {
    let head = head(details);
    let (mut writer, mut out) = (FeedWriter::new(format), String::new());
    writer.begin(&mut out, &head);
    writer.end(&mut out);
    out
}

fn head(details: Option<&FeedDetails>) -> FeedHead<'_> {
    FeedHead {
        id: "urn:x:f",
        title: "A <title> & more",
        updated: "2026-01-02T03:04:05Z".parse().unwrap(),
        author: "desk",
        details,
        self_link: Some("http://example.com/a?b&c"),
        next: None,
        links: &[],
        complete: true,
        sharing: None,
    }
}

#[track_caller]
fn reread(format: Format, text: &str) -> Reading {
    let reading = read(text.as_bytes(), Some(format), &ReadOptions::strict())
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!((reading.diagnostics.len(), reading.refused.len()), (0, 0), "{reading:?}\n{text}");
    assert_eq!(reading.title.as_deref(), Some("A <title> & more"), "{text}");
    assert!(reading.feed.items.is_empty() && reading.feed.plain_items == 0, "{text}");
    reading
}

const WORDS: [&str; 12] = [
    "plain",
    "a < b",
    "&amp;",
    "<b>x</b>",
    "]]>",
    "\"'",
    "\u{e9}\u{1f600}",
    "(x",
    "a@b.example",
    "{\"a\":1}",
    "\\u0041",
    "\u{a0}",
];

const PIECES: [&str; 16] = [
    "<m:x xmlns:m='urn:m'/>",
    "<m:x xmlns:m=\"urn:m\" m:a='1' b=\"&lt;&quot;\">text &amp; <m:y/>\r\n</m:x>",
    "<x xmlns='urn:d'>\n <y xmlns=''/>\t</x>",
    "<x xmlns='urn:d' xmlns:q='urn:q'>q:name <!-- q:x --><![CDATA[<q:z>]]><?p q:a?></x>",
    "<itunes:image xmlns:itunes=\"http://www.itunes.com/dtds/podcast-1.0.dtd\" href=\"http://h/a.png\"></itunes:image>",
    "<sx:x xmlns:sx='urn:not-feedsync' fs:a='1' xmlns:fs='urn:not-ours'/>",
    "<atom:logo xmlns:atom='http://www.w3.org/2005/Atom'>http://h/l.png</atom:logo>",
    "<category xmlns=\"http://www.w3.org/2005/Atom\" term=\"a\"/>",
    "<category term='b' xmlns='http://www.w3.org/2005/Atom'/>",
    "<dc:rights xmlns:dc=\"http://purl.org/dc/elements/1.1/\" xml:lang='de'>R</dc:rights>",
    "<x:title xmlns:x='urn:x' xml:base='http://h/'>t</x:title>",
    "<x:link xmlns:x='urn:x'>\u{1f600}&#10;</x:link>",
    "<x:sync xmlns:x='urn:x' id='1'/>",
    "<script xmlns='http://www.w3.org/1999/xhtml'>1 &lt; 2</script>",
    "<x:subtitle xmlns:x='urn:x'>s</x:subtitle>",
    "<x:author xmlns:x='urn:x'><x:name>n</x:name></x:author>",
];

const OWN_OF_RSS: [&str; 4] = [
    "<category domain='d'>c</category>",
    "<image><url>http://h/i.png</url><title>t</title><link>http://h/</link></image>",
    "<language>de-AT</language>",
    "<rating>x &amp; y</rating>",
];

const MEMBERS: [&str; 6] = [
    "\"icon\": \"http://h/i.png\"",
    "\"a\":[1, {\"b\" : null}]",
    "\"\\u0062\":\"<x>\\u0000\"",
    "\"c\":\"\u{fffe}\"",
    "\"native\":{}",
    "\"xmlns\":true",
];

fn details(random: &mut Random, format: Format) -> FeedDetails {
    let mut text = || {
        let words: Vec<&str> = (0..random.below(4)).map(|_| *random.of(&WORDS)).collect();
        Some(head_line(&words.join(" "))).filter(|text| !text.is_empty())
    };
    let (subtitle, rights, author) = (text(), text(), text());
    let mut markup = HeadMarkup::none(format);
    for _ in 0..random.below(5) {
        let choices = match format {
            Format::Json => &MEMBERS[..],
            Format::Rss if random.below(3) == 0 => &OWN_OF_RSS,
            _ => &PIECES,
        };
        let piece = *random.of(choices);
        // A member that occurs twice is refused the second time.
        let _ = markup.push(piece);
    }
    FeedDetails { subtitle, rights, author, markup: markup.some(), left_out: 0 }
}

/// Returns the details that are read from a feed of another format.
fn held(details: &FeedDetails, format: Format) -> FeedDetails {
    let pieces = details.markup.iter().flat_map(|markup| markup.pieces_for(format));
    let markup = HeadMarkup::new(format, pieces).ok();
    FeedDetails { markup, ..details.clone() }
}

#[test]
fn details_read_from_a_feed_are_those_that_were_written_into_it() {
    let mut random = Random(0xde7a);
    for round in 0..4_000 {
        let format = Format::ALL[round % Format::ALL.len()];
        let details = details(&mut random, format);
        let text = written(format, Some(&details));
        assert_eq!(reread(format, &text).details, details, "{text}");
    }
}

#[test]
fn other_formats_hold_the_texts_and_all_markup_of_their_family() {
    let mut random = Random(0xface);
    for round in 0..2_000 {
        let format = Format::ALL[round % Format::ALL.len()];
        let details = details(&mut random, format);
        for other in Format::ALL {
            let text = written(other, Some(&details));
            let found = reread(other, &text).details;
            assert_eq!(found, held(&details, other), "{format} in {other}: {text}");
            // Convert them back into the first format.
            let back = reread(format, &written(format, Some(&found))).details;
            assert_eq!(back, held(&held(&details, other), format));
        }
    }
}

#[test]
fn pieces_of_markup_come_out_as_they_went_in() {
    for piece in PIECES {
        for format in XML {
            let markup = HeadMarkup::new(format, [piece]).unwrap();
            let again = HeadMarkup::new(format, [&*markup.pieces()[0]]).unwrap();
            assert_eq!(markup, again, "canonical text is a fixed point");
            assert!(XML.into_iter().all(|to| markup.pieces_for(to).count() == 1), "{piece}");
            assert_eq!(markup.pieces_for(Format::Json).count(), 0);
        }
    }
    for piece in OWN_OF_RSS {
        let markup = HeadMarkup::new(Format::Rss, [piece]).unwrap();
        assert_eq!(markup.pieces(), [piece]);
        let holding = Format::ALL.into_iter().filter(|to| markup.pieces_for(*to).count() == 1);
        assert_eq!(holding.collect::<Vec<_>>(), [Format::Rss]);
        assert!(HeadMarkup::new(Format::Atom, [piece]).is_err());
    }
    for piece in MEMBERS {
        let markup = HeadMarkup::new(Format::Json, [piece]).unwrap();
        assert_eq!(markup.pieces(), [piece]);
        assert!(XML.into_iter().all(|to| markup.pieces_for(to).count() == 0));
    }
}

#[test]
fn documents_of_sse_hold_the_same_details() {
    let mut random = Random(0x55e);
    for round in 0..1_000 {
        let format = [Format::Rss, Format::Opml][round % 2];
        let details = details(&mut random, format);
        let head = head(Some(&details));
        let text = sse::export(format, &head, &sse::Dates::default(), &[]).text;
        let found = sse::read_as_feed(text.as_bytes(), &ReadOptions::strict()).unwrap();
        assert_eq!(found.reading.details, details, "{text}");
        assert_eq!(found.reading.title.as_deref(), Some(head.title));
    }
}

#[test]
fn a_placeholder_author_is_not_a_detail_of_the_feed() {
    for format in Format::ALL {
        for details in [None, Some(&FeedDetails::default())] {
            let text = written(format, details);
            assert!(reread(format, &text).details.is_empty(), "{text}");
            let is_said = matches!(format, Format::Atom | Format::Opml | Format::Json);
            assert_eq!(text.contains("desk"), is_said, "{text}");
        }
        let named = FeedDetails { author: Some("Ray".to_owned()), ..FeedDetails::default() };
        let text = written(format, Some(&named));
        assert!(text.contains("Ray") && !text.contains("desk") && !text.contains("stand-in"));
    }
}
