//! Heads of feeds as found on the web.

use super::*;
use crate::{Document, read_plain};

fn details_of(text: &str) -> FeedDetails {
    read(text.as_bytes(), None, &ReadOptions::tolerant())
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
        .details
}

fn pieces(details: &FeedDetails) -> Vec<&str> {
    details.markup.iter().flat_map(|markup| markup.pieces()).map(String::as_str).collect()
}

#[test]
fn the_head_of_an_atom_feed_is_read() {
    let text = "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:m='urn:m' xmlns:unused='urn:u' xml:lang='en'>\
        <id>urn:x</id><title>T</title><updated>2026-01-02T03:04:05Z</updated>\
        <subtitle type='html'>A &lt;b>bold&lt;/b>\n word</subtitle><rights>R</rights>\
        <author><name>Ann</name><email>a@example.org</email></author><author><name>Bob</name></author>\
        <generator>g</generator><link rel='self' href='http://h/'/><category term='c'/><icon>/i.png</icon>\
        <m:x m:a='1'/><entry><m:inside/><title>e</title></entry><m:y>after</m:y></feed>";
    let details = details_of(text);
    assert_eq!(details.subtitle.as_deref(), Some("A bold word"));
    assert_eq!(details.rights.as_deref(), Some("R"));
    assert_eq!(details.author.as_deref(), Some("Ann, Bob"));
    assert_eq!(details.left_out, 0);
    assert_eq!(
        pieces(&details),
        [
            "<category xmlns=\"http://www.w3.org/2005/Atom\" xml:lang=\"en\" term='c'/>",
            "<icon xmlns=\"http://www.w3.org/2005/Atom\" xml:lang=\"en\">/i.png</icon>",
            "<m:x xmlns=\"http://www.w3.org/2005/Atom\" xmlns:m=\"urn:m\" xml:lang=\"en\" m:a='1'/>",
            "<m:y xmlns=\"http://www.w3.org/2005/Atom\" xmlns:m=\"urn:m\" xml:lang=\"en\">after</m:y>",
        ]
    );
    let plain = read_plain(text.as_bytes(), &ReadOptions::tolerant()).unwrap();
    assert_eq!(plain.details, details);
}

#[test]
fn the_channel_of_an_rss_feed_is_read() {
    let details = details_of(
        "<rss version='2.0' xmlns:itunes='http://www.itunes.com/dtds/podcast-1.0.dtd' \
         xmlns:atom='http://www.w3.org/2005/Atom' xmlns:fh='http://purl.org/syndication/history/1.0'>\
         <channel><title>T</title><link>http://h/</link><description>About &amp;lt;it&amp;gt;</description>\
         <copyright>C</copyright><managingEditor>ann@example.org (Ann A.)</managingEditor><ttl>60</ttl>\
         <language>de</language><generator>g</generator><fh:complete/><atom:link href='http://h/' rel='self'/>\
         <itunes:image href='http://h/i.png'/><image><url>http://h/p.png</url></image>\
         <item><title>i</title></item></channel></rss>",
    );
    assert_eq!(details.subtitle.as_deref(), Some("About <it>"));
    assert_eq!(details.rights.as_deref(), Some("C"));
    assert_eq!(details.author.as_deref(), Some("Ann A."));
    assert_eq!(
        pieces(&details),
        [
            "<language>de</language>",
            "<itunes:image xmlns:itunes=\"http://www.itunes.com/dtds/podcast-1.0.dtd\" href='http://h/i.png'/>",
            "<image><url>http://h/p.png</url></image>",
        ]
    );
    let named = "<rss version='2.0'><channel><title>T</title><description>T</description>\
        <managingEditor>x@example.org</managingEditor>\
        <dc:creator xmlns:dc='http://purl.org/dc/elements/1.1/'>Ann</dc:creator></channel></rss>";
    let details = details_of(named);
    assert_eq!((details.subtitle, details.author.as_deref()), (None, Some("Ann")));
}

#[test]
fn heads_of_opml_pox_and_json_are_read() {
    let details = details_of(
        "<opml version='2.0'><head><title>T</title><ownerName>Ann</ownerName><ownerEmail>a@h</ownerEmail>\
         <m:title xmlns:m='urn:m'>m</m:title><expansionState>1</expansionState></head><body/></opml>",
    );
    assert_eq!(details.author.as_deref(), Some("Ann"));
    assert_eq!(pieces(&details), ["<m:title xmlns:m='urn:m'>m</m:title>"]);
    let details = details_of(
        "<contacts xmlns='urn:c' xmlns:sx='http://feedsync.org/2007/feedsync' xmlns:m='urn:m' title='T' rights='R'>\
         <contact>no item yet</contact><m:x/><sx:sharing since='1' until='2'/></contacts>",
    );
    assert_eq!(details.rights.as_deref(), Some("R"));
    assert_eq!(pieces(&details), ["<m:x xmlns=\"urn:c\" xmlns:m=\"urn:m\"/>"]);
    let details = details_of(
        "{\"version\":\"https://jsonfeed.org/version/1.1\",\"title\":\"T\",\"description\":\"D\",\
         \"authors\":[{\"name\":\"Ann\"},{\"name\":\"Bob\"}],\"icon\":\"http://h/i\",\"feed_url\":\"http://h/f\",\
         \"_feedsync\":{\"id\":\"x\"},\"_own\":{\"a\":1},\"items\":[]}",
    );
    assert_eq!(details.subtitle.as_deref(), Some("D"));
    assert_eq!(details.author.as_deref(), Some("Ann, Bob"));
    assert_eq!(pieces(&details), ["\"icon\":\"http://h/i\"", "\"_own\":{\"a\":1}"]);
}

#[test]
fn references_and_bases_of_a_feed_go_along_with_its_markup() {
    let text = "<!DOCTYPE rss [<!ENTITY x 'secret'>]><rss version='2.0' xml:base='http://h/a/'><channel>\
        <title>T</title><m:x xmlns:m='urn:m' xml:base='b/'>&eacute; &x;</m:x></channel></rss>";
    let details = details_of(text);
    assert_eq!(
        pieces(&details),
        ["<m:x xmlns:m='urn:m' xml:base='http://h/a/b/'>\u{e9} &amp;x;</m:x>"]
    );
    let options = ReadOptions { base: Some("http://example.org/f"), ..ReadOptions::tolerant() };
    let text = "<rss version='2.0'><channel><m:x xmlns:m='urn:m'/></channel></rss>";
    let details = read(text.as_bytes(), None, &options).unwrap().details;
    assert_eq!(pieces(&details), ["<m:x xml:base=\"http://example.org/f\" xmlns:m='urn:m'/>"]);
}

#[test]
fn a_document_that_is_edited_keeps_the_head_that_it_has() {
    let item = "<sx:sync id=\"a\" updates=\"1\"><sx:history sequence=\"1\" by=\"x\"/></sx:sync>";
    let feedsync = "xmlns:sx=\"http://feedsync.org/2007/feedsync\"";
    let head = "<m:x xmlns:m='urn:m'>&#x20;</m:x><?pi?><!-- c -->";
    let text =
        format!("<rss version='2.0' {feedsync}><channel>{head}<item>{item}</item></channel></rss>");
    let options = ReadOptions::strict();
    let document = Document::read(text.as_bytes(), &options).unwrap();
    let mut items = document.feed().items.clone();
    items[0].id = feedsync_core::ItemId::new("b").unwrap();
    let edited = String::from_utf8(document.to_bytes_with(&items)).unwrap();
    assert!(edited.contains(head) && edited.contains("id=\"b\""), "{edited}");
}

#[test]
fn details_are_in_the_elements_that_validators_expect() {
    let details = FeedDetails {
        subtitle: Some("S & T".to_owned()),
        rights: Some("R".to_owned()),
        author: Some("Ann".to_owned()),
        markup: None,
        left_out: 0,
    };
    let rss = written(Format::Rss, Some(&details));
    for part in [
        "<description>S &#x26; T</description>",
        "<copyright>R</copyright>",
        "<dc:creator xmlns:dc=\"http://purl.org/dc/elements/1.1/\">Ann</dc:creator>",
    ] {
        assert_eq!(rss.matches(part).count(), 1, "{rss}");
    }
    let atom = written(Format::Atom, Some(&details));
    assert!(atom.contains("<subtitle>S &amp; T</subtitle>\n<rights>R</rights>\n"), "{atom}");
    assert!(atom.contains("<author><name>Ann</name></author>"), "{atom}");
    assert!(written(Format::Opml, Some(&details)).contains("<ownerName>Ann</ownerName>"));
    let json = written(Format::Json, Some(&details));
    assert!(
        json.contains("\"author\":{\"name\":\"Ann\"},\"subtitle\":\"S & T\",\"rights\":\"R\",")
    );
    for format in Format::ALL {
        let text = written(format, Some(&details));
        let diagnostics = crate::validate(text.as_bytes()).findings;
        assert!(diagnostics.is_empty(), "{diagnostics:?}\n{text}");
    }
}
