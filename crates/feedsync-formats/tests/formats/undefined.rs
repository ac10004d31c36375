//! References that XML does not define, such as `&nbsp;`. Strict reading refuses the document. Tolerant reading
//! stores well-formed items and reports the change.

use crate::support::assert_fixed_point;
use feedsync_core::{Item, Payload};
use feedsync_formats::{Document, Mode, ReadOptions, Reading, Severity, read, read_plain, sse};

const FEED: &str = "<!DOCTYPE rss [<!ENTITY own '<b>'>]>\n\
    <rss version='2.0' xmlns:sx='http://feedsync.org/2007/feedsync'><channel>\n\
    <title>caf&eacute; &own;</title>\n\
    <item><title a='&own;'>a&nbsp;b</title><!-- &nbsp; --><x><![CDATA[&nbsp;]]></x>\
    <sx:sync id='i' updates='1' xmlns:y='urn:y' y:z='&mdash;'><sx:history sequence='1' by='a'/>\
    </sx:sync></item>\n\
    <item><title>plain&hellip;</title></item>\n\
    <item><title>good &amp; &#160;</title>\
    <sx:sync id='j' updates='1'><sx:history sequence='1' by='a'/></sx:sync></item>\n\
    </channel></rss>";

fn tolerant(text: &str) -> Reading {
    read(text.as_bytes(), None, &ReadOptions::tolerant()).unwrap()
}

fn retitled(item: &Item<Payload>) -> Item<Payload> {
    let mut item = item.clone();
    item.winner.payload =
        item.winner.payload.with_parsed_text(item.winner.payload.text().replace("good", "better"));
    item
}

#[test]
fn an_undefined_reference_becomes_an_html_character_or_text_in_payloads() {
    assert!(read(FEED.as_bytes(), None, &ReadOptions::strict()).is_err());
    let reading = tolerant(FEED);
    assert_eq!(reading.title.as_deref(), Some("caf\u{e9} &own;"));
    let first = &reading.feed.items[0].winner.payload;
    assert_eq!(
        first.text(),
        "<item><title a='&amp;own;'>a\u{a0}b</title><!-- &nbsp; --><x><![CDATA[&nbsp;]]></x></item>"
    );
    let foreign = "<sync xmlns:y=\"urn:y\" y:z='\u{2014}'/>";
    assert_eq!(first.sync_foreign(), Some(foreign));
    let last = &reading.feed.items[1].winner.payload;
    assert_eq!(last.text(), "<item><title>good &amp; &#160;</title></item>");
    // The written feed is read in strict mode.
    assert_fixed_point(reading.format, &reading.feed.items);
}

#[test]
fn each_item_with_undefined_references_is_reported_with_line_and_column() {
    let warnings: Vec<_> = tolerant(FEED)
        .diagnostics
        .into_iter()
        .map(|remark| {
            let at = (remark.position.line, remark.position.column);
            assert_eq!((remark.severity, remark.clause), (Severity::Warning, "XML 1.0 4.1"));
            (at, remark.item, remark.message)
        })
        .collect();
    assert_eq!(
        warnings,
        [
            (
                (4, 17),
                Some("i".to_owned()),
                "the reference &own; is not defined and was taken for text; so are 2 more in this \
                 element"
                    .to_owned()
            ),
            (
                (5, 19),
                None,
                "the reference &hellip; is not defined and was taken for U+2026".to_owned()
            ),
        ]
    );
}

#[test]
fn a_document_keeps_the_references_of_unedited_parts() {
    let document = Document::read(FEED.as_bytes(), &ReadOptions::tolerant()).unwrap();
    let items = &document.feed().items;
    assert_eq!(document.to_bytes_with(items), FEED.as_bytes());
    let edited = document.to_bytes_with(&[items[0].clone(), retitled(&items[1])]);
    let edited = String::from_utf8(edited).unwrap();
    let (before, _) = FEED.split_once("<item><title>good").unwrap();
    assert!(edited.starts_with(before), "{edited}");
    assert!(edited.contains("better &amp; &#160;"), "{edited}");
}

#[test]
fn plain_items_and_those_of_sse_are_well_formed_too() {
    let options = ReadOptions::tolerant();
    let plain = read_plain(FEED.as_bytes(), &options).unwrap();
    assert_eq!(plain.payloads[0].text(), "<item><title>plain\u{2026}</title></item>");
    let text = "<opml version='2.0' xmlns:sx='http://www.microsoft.com/schemas/rss/sse'><head/><body>\n\
        <outline text='a'><outline text='b&nbsp;'><sx:sync id='i' version='1'>\
        <sx:history by='a'/></sx:sync></outline></outline></body></opml>";
    let document = sse::Document::read(text.as_bytes(), &options).unwrap();
    assert_eq!(document.as_bytes(), text.as_bytes());
    let item = document.items().next().unwrap();
    assert!(item.payload.text().contains("text='b\u{a0}'"), "{}", item.payload.text());
    let [warning] = document.diagnostics() else { panic!("{:?}", document.diagnostics()) };
    assert_eq!((warning.position.line, warning.position.column), (2, 35));
    let strict = ReadOptions { mode: Mode::Strict, ..options };
    assert!(sse::Document::read(text.as_bytes(), &strict).is_err());
}
