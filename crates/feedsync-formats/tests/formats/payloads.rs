//! The payload is the item's own element, self-contained and without `sx:sync`, with every other byte unchanged. Also
//! tests where foreign markup is written.

use crate::support::{assert_fixed_point, reread, written};
use feedsync_core::{Format, Item, Payload};
use feedsync_formats::{Document, ReadOptions, read};

const ATOM: &str = "xmlns='http://www.w3.org/2005/Atom'";
const SX: &str = "xmlns:sx='http://feedsync.org/2007/feedsync'";
const SYNC: &str = "<sx:sync id='i' updates='1'><sx:history sequence='1' by='a'/></sx:sync>";

/// Reads a feed with one item.
#[track_caller]
fn item_of(text: &str) -> Item<Payload> {
    let mut reading = read(text.as_bytes(), None, &ReadOptions::strict()).unwrap();
    assert_eq!(reading.refused, []);
    assert_eq!(reading.feed.items.len(), 1, "{text}");
    assert_fixed_point(reading.format, &reading.feed.items);
    reading.feed.items.remove(0)
}

#[track_caller]
fn payload_of(text: &str) -> String {
    item_of(text).winner.payload.text().to_string()
}

fn atom(root: &str, entry: &str) -> String {
    format!("<feed {ATOM} {SX}{root}>{}</feed>", entry.replace("SYNC", SYNC))
}

fn rss(root: &str, item: &str) -> String {
    format!("<rss {SX}{root}><channel>{}</channel></rss>", item.replace("SYNC", SYNC))
}

const DECLARED: &str = "<entry xmlns=\"http://www.w3.org/2005/Atom\"";

#[test]
fn every_byte_but_sync_and_the_white_space_before_it_stays() {
    let inside =
        "\n<title  type = 'text'>A &amp;amp; &#66;</title ><!-- c --><![CDATA[ ]]><?p i?>\r\n";
    assert_eq!(
        payload_of(&atom("", &format!("<entry\tc='\"' >{inside}\t SYNC {inside}</entry>"))),
        format!("{DECLARED}\tc='\"' >{} {inside}</entry>", inside.trim_end())
    );
}

#[test]
fn an_element_without_content_ends_in_a_slash() {
    assert_eq!(payload_of(&rss("", "<item>\n SYNC</item>")), "<item/>");
    assert_eq!(payload_of(&rss("", "<item a='1' >SYNC</item >")), "<item a='1' />");
    assert_eq!(payload_of(&rss("", "<item>SYNC\n</item>")), "<item>\n</item>");
}

#[test]
fn inherited_declarations_follow_the_name_in_a_fixed_order() {
    let root = " xml:space='preserve' xml:lang='en' xmlns:b='urn:b' xmlns:a='urn:&quot;a' \
                xml:base='http://h/d/' xmlns:unused='urn:unused'";
    assert_eq!(
        payload_of(&atom(root, "<entry z='1'><a:x/><y b:q='1'/>SYNC</entry>")),
        format!(
            "{DECLARED} xmlns:a=\"urn:&quot;a\" xmlns:b=\"urn:b\" xml:base=\"http://h/d/\" \
             xml:lang=\"en\" xml:space=\"preserve\" z='1'><a:x/><y b:q='1'/></entry>"
        )
    );
}

#[test]
fn declarations_of_the_item_itself_are_not_inherited() {
    let root = " xmlns:a='urn:a' xml:lang='en' xml:base='http://h/d/e'";
    let entry = "<entry xmlns:a='urn:own' xml:lang='' xml:base='../f'><a:x/>SYNC</entry>";
    assert_eq!(
        payload_of(&atom(root, entry)),
        format!("{DECLARED} xmlns:a='urn:own' xml:lang='' xml:base='http://h/f'><a:x/></entry>")
    );
}

#[test]
fn a_prefix_that_only_a_value_names_is_kept() {
    let payload = payload_of(&rss(" xmlns:q='urn:q'", "<item><type>q:name</type>SYNC</item>"));
    assert_eq!(payload, "<item xmlns:q=\"urn:q\"><type>q:name</type></item>");
}

#[test]
fn the_prefix_of_feedsync_in_a_text_is_not_a_use_of_it() {
    let payload = payload_of(&rss("", "<item><title>about sx:sync</title>SYNC</item>"));
    assert_eq!(payload, "<item><title>about sx:sync</title></item>");
    let payload = payload_of(&rss("", "<item><sx:other/>SYNC</item>"));
    assert!(
        payload.starts_with("<item xmlns:sx=\"http://feedsync.org/2007/feedsync\"><sx:other/>")
    );
}

#[test]
fn a_conflict_inherits_from_the_item_around_it() {
    let conflict = SYNC.replace("by='a'", "by='b'");
    let sync = SYNC.replace(
        "</sx:sync>",
        &format!(
            "<sx:conflicts><item><link href='rel'/><m:x/>{conflict}</item></sx:conflicts></sx:sync>"
        ),
    );
    let text = rss(
        " xml:base='http://h/'",
        &format!("<item xmlns:m='urn:m' xml:base='winner/' xml:lang='de'>{sync}</item>"),
    );
    let item = item_of(&text);
    assert_eq!(
        item.conflicts[0].payload.text(),
        "<item xmlns:m=\"urn:m\" xml:base=\"http://h/winner/\" xml:lang=\"de\">\
         <link href='rel'/><m:x/></item>"
    );
    // After promotion it stays unchanged, and inherits nothing from another winner in the feed that is written.
    let mut promoted = item.clone();
    std::mem::swap(&mut promoted.winner, &mut promoted.conflicts[0]);
    assert_fixed_point(Format::Rss, &[promoted]);
}

#[test]
fn the_base_of_the_document_counts_only_where_one_is_given() {
    let text = rss("", "<item>SYNC</item>");
    let options = ReadOptions { base: Some("http://h/feed.xml"), ..ReadOptions::strict() };
    let reading = read(text.as_bytes(), None, &options).unwrap();
    let payload = reading.feed.items[0].winner.payload.text();
    assert_eq!(payload, "<item xml:base=\"http://h/feed.xml\"/>");
    assert_eq!(payload_of(&text), "<item/>");
}

#[test]
fn an_item_in_another_or_no_namespace_comes_back_from_a_feed_with_a_default() {
    let text = format!(
        "<a:feed xmlns:a='http://www.w3.org/2005/Atom' {SX}><a:entry><plain/>{SYNC}</a:entry></a:feed>"
    );
    let payload = payload_of(&text);
    assert_eq!(payload, "<a:entry xmlns:a=\"http://www.w3.org/2005/Atom\"><plain/></a:entry>");
    let written = written(Format::Atom, &[item_of(&text)], None);
    assert!(written.contains("<a:entry xmlns=\"\" xmlns:a="), "{written}");
}

#[test]
fn inside_our_feeds_items_are_small() {
    let text = written(Format::Atom, &[item_of(&atom("", "<entry><id>x</id>SYNC</entry>"))], None);
    let expected = "<entry><id>x</id>\n<sx:sync id=\"i\" updates=\"1\">\
                    <sx:history sequence=\"1\" by=\"a\"/></sx:sync></entry>";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn foreign_markup_on_sync_and_history_travels_with_version_and_update() {
    let sync = "<sx:sync id='i' updates='2' extra='1' m:a=\"2\" xmlns:n='urn:n'>\
                <sx:history sequence='2' by='a' m:b='3'>\n<n:who>x</n:who></sx:history>\
                <n:note>n:x</n:note><sx:future/><!-- c --><sx:history sequence='1' by='b'/></sx:sync>";
    let item = item_of(&rss(" xmlns:m='urn:m'", &format!("<item>{sync}</item>")));
    assert_eq!(
        item.winner.payload.sync_foreign(),
        Some(
            "<sync xmlns:m=\"urn:m\" xmlns:n=\"urn:n\" \
             xmlns:sx=\"http://feedsync.org/2007/feedsync\" extra='1' m:a=\"2\">\
             <n:note>n:x</n:note><sx:future/><!-- c --></sync>"
        )
    );
    let updates = item.winner.history.updates();
    let expected =
        "<history xmlns:m=\"urn:m\" xmlns:n=\"urn:n\" m:b='3'><n:who>x</n:who></history>";
    assert_eq!(updates[0].foreign(), Some(expected));
    assert_eq!(updates[1].foreign(), None);
}

#[test]
fn foreign_markup_keeps_the_prefixes_of_names_in_its_values() {
    let sync = "<sx:sync id='i' updates='1' xmlns:n='urn:n'><note type='m:kind'>sx:sync</note>\
                <sx:history sequence='1' by='a' of='n:thing'/></sx:sync>";
    let item = item_of(&rss(
        " xmlns:m='urn:m' xmlns:unused='urn:unused'",
        &format!("<item>{sync}</item>"),
    ));
    assert_eq!(
        item.winner.payload.sync_foreign(),
        Some("<sync xmlns:m=\"urn:m\"><note type='m:kind'>sx:sync</note></sync>")
    );
    let history = "<history xmlns:n=\"urn:n\" of='n:thing'/>";
    assert_eq!(item.winner.history.updates()[0].foreign(), Some(history));
}

#[test]
fn foreign_markup_that_uses_feedsync_prefixes_is_written() {
    let sync = "<a:sync xmlns:a='http://feedsync.org/2007/feedsync' id='i' updates='1' \
                xmlns:sx='urn:x' sx:q='1' xmlns:fs='urn:y' fs:q='2'>\
                <a:history sequence='1' by='a' xmlns:sx1='urn:z' sx1:q='3'/></a:sync>";
    let text = format!("<rss><channel><item>{sync}</item></channel></rss>");
    let item = item_of(&text);
    let other =
        Document::read(rss(" xml:lang='en'", "").as_bytes(), &ReadOptions::strict()).unwrap();
    let bytes = other.to_bytes_with(std::slice::from_ref(&item));
    let read = reread(Format::Rss, std::str::from_utf8(&bytes).unwrap());
    assert_eq!(read.items, [item]);
}

#[test]
fn sharing_is_the_writers_own_and_reads_back() {
    let text = format!(
        "<feed {ATOM} {SX}><sx:sharing since='1&lt;' until='2' expires='2030-01-01T00:00:00Z' x='y'>\
         <z/><sx:related link='http://h/all?a&amp;b' type='complete' title='A &quot;b&quot;'/>\
         <sx:related link='http://h/b' type='aggregated'/></sx:sharing></feed>"
    );
    let sharing = reread(Format::Atom, &text).sharing.unwrap();
    assert_eq!(sharing.window.as_ref().unwrap().since, "1<");
    for format in Format::ALL {
        let text = written(format, &[], Some(&sharing));
        assert_eq!(reread(format, &text).sharing.as_ref(), Some(&sharing), "{text}");
        assert!(!text.contains("x='y'"));
    }
}

#[test]
fn written_feeds_have_their_title_in_every_format() {
    for format in Format::ALL {
        let text = written(format, &[], None);
        let reading = read(text.as_bytes(), None, &ReadOptions::strict()).unwrap_or_else(|error| {
            panic!("{error}: {text}");
        });
        assert_eq!((reading.format, reading.title.as_deref()), (format, Some("A & B")), "{text}");
    }
}

#[test]
fn written_feeds_name_their_publisher_if_the_format_can_hold_it() {
    for (format, place) in [
        (Format::Atom, "<author fs:stand-in=\"true\"><name>Ray &lt;Ozzie&gt;</name></author>"),
        (Format::Opml, "<ownerName fs:stand-in=\"true\">Ray &lt;Ozzie&gt;</ownerName>"),
        (Format::Json, "\"author\":{\"name\":\"Ray <Ozzie>\",\"fs:stand-in\":\"true\"}"),
    ] {
        let text = written(format, &[], None);
        assert!(text.contains(place), "{text}");
    }
}

#[test]
fn a_document_keeps_its_encoding_prefix_and_everything_around_an_edited_item() {
    let text = format!(
        "<?xml version='1.0' encoding='UTF-16'?>\n<!-- \u{e9} -->\n<rss xmlns:f='http://feedsync.org/2007/feedsync'>\
         <channel><title>t</title>\n<item><title>plain</title></item>\n<item>{}</item>\n</channel></rss>\n",
        SYNC.replace("sx:", "f:")
    );
    let mut bytes = vec![0xff, 0xfe];
    bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    let document = Document::read(&bytes, &ReadOptions::strict()).unwrap();
    assert_eq!(document.to_bytes_with(&document.feed().items), bytes);
    let mut item = document.feed().items[0].clone();
    item.winner.payload =
        item.winner.payload.with_parsed_text("<item><title>\u{20ac}</title></item>");
    let edited = document.to_bytes_with(&[item.clone()]);
    assert_eq!(edited[..2], [0xff, 0xfe]);
    let units: Vec<u16> =
        edited[2..].chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    let edited_text = String::from_utf16(&units).unwrap();
    let at = text.find("<item><f:sync").unwrap();
    assert_eq!(edited_text[..at], text[..at]);
    assert!(edited_text[at..].starts_with("<item><title>\u{20ac}</title>\n<f:sync id=\"i\""));
    assert!(edited_text.ends_with("</item>\n</channel></rss>\n"));
    assert_eq!(Document::read(&edited, &ReadOptions::strict()).unwrap().feed().items, [item]);
}

#[test]
fn new_items_go_to_the_end_of_a_document_even_of_an_empty_one() {
    let new = item_of(&rss("", "<item><title>new</title>SYNC</item>"));
    for text in [
        "<rss version='2.0'><channel><title>t</title></channel></rss>",
        "<rss version='2.0'><channel/></rss>",
        "<rss version='2.0' xmlns:sx='urn:other'><channel></channel></rss>",
    ] {
        let document = Document::read(text.as_bytes(), &ReadOptions::strict()).unwrap();
        let bytes = document.to_bytes_with(std::slice::from_ref(&new));
        let feed = reread(Format::Rss, std::str::from_utf8(&bytes).unwrap());
        assert_eq!(feed.items, std::slice::from_ref(&new));
    }
}

#[test]
fn rss_of_all_ages_is_read_without_taking_part() {
    for text in [
        "<rss version='0.91'><channel><title> a\n b </title><item/></channel><item/></rss>",
        "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' \
         xmlns='http://purl.org/rss/1.0/'><channel><title>a b</title></channel><item/><item/></rdf:RDF>",
    ] {
        let reading = read(text.as_bytes(), None, &ReadOptions::tolerant()).unwrap();
        assert_eq!((reading.format, reading.feed.plain_items), (Format::Rss, 2));
        assert_eq!(reading.title.as_deref(), Some("a b"));
    }
}

#[test]
fn pox_keeps_any_root_and_reports_sync_in_the_wrong_place() {
    let text = format!("<my xmlns='urn:mine' {SX}><n>{SYNC}</n><deep><n>{SYNC}</n></deep></my>");
    let reading = read(text.as_bytes(), None, &ReadOptions::strict()).unwrap();
    assert_eq!(reading.format, Format::Pox);
    assert_eq!(reading.feed.items[0].winner.payload.text(), "<n xmlns=\"urn:mine\"/>");
    assert!(reading.diagnostics[0].message.contains("is in deep"));
}

#[test]
fn a_pox_conflict_keeps_its_own_name() {
    let conflict = format!("<other>{}</other>", SYNC.replace("by='a'", "by='b'"));
    let sync =
        SYNC.replace("</sx:sync>", &format!("<sx:conflicts>{conflict}</sx:conflicts></sx:sync>"));
    let item = item_of(&format!("<my {SX}><n>{sync}</n></my>"));
    assert_eq!(item.conflicts[0].payload.text(), "<other/>");
}
