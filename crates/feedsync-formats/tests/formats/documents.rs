//! Documents, and properties that readers, writers and views share.

use feedsync_core::{Format, Payload};
use feedsync_formats::{
    ContentType, Document, Entry, FeedHead, FeedWriter, OutlinePosition, ReadError, ReadOptions,
    compose, detect, entry, json, read, read_plain,
};

use crate::support::{reread, written};

/// Feeds with a faulty item, a plain item, a good item with a title, and a remark.
fn flawed() -> [(Format, String); 2] {
    let sx = "xmlns:sx='http://feedsync.org/2007/feedsync'";
    let history = "<sx:history sequence='1' by='a'/>";
    let xml = format!(
        "<rss version='2.0' {sx}><channel><title>T</title><item><sx:sync id='x'/></item><item/>\
         <item><title>&unknown;</title><sx:sync id='good' updates='1'>{history}</sx:sync></item>\
         </channel></rss>"
    );
    let json = "{\"title\":\"T\",\"items\":[{\"sync\":{\"id\":\"x\"}},{},{\"sync\":{\"id\":\"good\",\
         \"updates\":\"1\",\"deleted\":null,\"history\":[{\"sequence\":\"1\",\"by\":\"a\"}]}}]}";
    [(Format::Rss, xml), (Format::Json, json.to_owned())]
}

#[test]
fn a_document_gives_the_same_result_as_reading() {
    let options = ReadOptions::tolerant();
    for (format, text) in flawed() {
        let reading = read(text.as_bytes(), Some(format), &options).unwrap();
        assert_eq!(reading.diagnostics.len(), 1, "{:?}", reading.diagnostics);
        assert_eq!((reading.refused.len(), reading.feed.items.len()), (1, 1), "{format}");
        let document = Document::read(text.as_bytes(), &options).unwrap();
        assert_eq!(document.format(), format);
        assert_eq!(document.feed(), &reading.feed);
        assert_eq!(document.diagnostics(), reading.diagnostics);
        assert_eq!(document.refused(), reading.refused);
        assert_eq!(document.reading(), &reading);
        if format == Format::Json {
            let document = json::Document::read(text.as_bytes(), &options).unwrap();
            assert_eq!(document.feed(), &reading.feed);
            assert_eq!(document.diagnostics(), reading.diagnostics);
            assert_eq!(document.refused(), reading.refused);
        }
    }
}

fn titled(format: Format, title: &str) -> Payload {
    let content = Some(format!("content of {title}"));
    compose(format, &Entry { title: Some(title.to_owned()), content, ..Entry::default() })
}

fn titles(payloads: &[Payload]) -> Vec<String> {
    payloads.iter().map(|payload| entry(payload).title.unwrap_or_default()).collect()
}

#[test]
fn plain_items_stay_plain_in_every_format() {
    let head = FeedHead {
        id: "urn:x:feed",
        title: "T",
        updated: "2005-05-21T11:43:33Z".parse().unwrap(),
        author: "A",
        details: None,
        self_link: None,
        next: None,
        links: &[],
        complete: false,
        sharing: None,
    };
    let shared = |format| {
        let (_, text) = &flawed()[0];
        let item = read(text.as_bytes(), None, &ReadOptions::tolerant()).unwrap().feed.items;
        // After writing it once, its payload has this format.
        reread(format, &written(format, &item, None)).items
    };
    for from in Format::ALL {
        for to in Format::ALL {
            let payloads = [titled(from, "one & two"), titled(from, "<three>")];
            let mut writer = FeedWriter::new(to);
            let mut text = String::new();
            writer.begin(&mut text, &head);
            for payload in &payloads {
                writer.plain(&mut text, payload);
            }
            for item in shared(to) {
                writer.item(&mut text, &item);
            }
            writer.end(&mut text);
            let feed = reread(to, &text);
            assert_eq!(feed.items.len(), 1, "{from} to {to}: {text}");
            if to == Format::Pox {
                // Any element may be an item in POX, so items that take no part are not counted.
                assert_eq!(text.matches("<title>one &amp; two</title>").count(), 1, "{text}");
                assert_eq!(text.matches("<title>&lt;three&gt;</title>").count(), 1, "{text}");
                continue;
            }
            assert_eq!(feed.plain_items, 2, "{from} to {to}: {text}");
            // Plain items have no native text, since without a dot a reader could not detect that
            // it is void.
            let plain = read_plain(text.as_bytes(), &ReadOptions::strict()).unwrap().payloads;
            assert!(plain.iter().all(|payload| !payload.text().contains("native")), "{text}");
            assert_eq!(titles(&plain), ["one & two", "<three>"], "{from} to {to}: {text}");
            let contents = |payloads: &[Payload]| -> Vec<_> {
                payloads.iter().map(|payload| entry(payload).plain_content()).collect()
            };
            assert_eq!(contents(&plain), contents(&payloads), "{from} to {to}: {text}");
            if from == to && from == Format::Json {
                assert_eq!(plain, payloads);
            }
        }
    }
}

#[test]
fn the_place_of_an_outline_names_its_item() {
    for (format, text) in flawed() {
        for item in
            read(text.as_bytes(), Some(format), &ReadOptions::tolerant()).unwrap().feed.items
        {
            assert_eq!(item.id.as_str(), "good");
            assert_eq!(OutlinePosition::of(&item).id(), &item.id);
        }
    }
}

#[test]
fn the_heading_of_an_entry_is_its_title_or_else_its_text() {
    let some = |text: &str| Some(text.to_owned());
    let html = ContentType::Html;
    let image = ContentType::Other("image/png".to_owned());
    for (title, content, content_type, summary, heading) in [
        (some("T"), some("c"), ContentType::Text, some("s"), some("T")),
        (None, some("c"), ContentType::Text, some("s"), some("c")),
        (None, some("<b>c</b> &amp; d"), html, some("s"), some("c & d")),
        (None, some("iVBORw0KGgo="), image, some("s"), some("s")),
        (None, None, ContentType::Text, some("s"), some("s")),
        (None, None, ContentType::Text, None, None),
    ] {
        let entry = Entry { title, content, content_type, summary, ..Entry::default() };
        assert_eq!(entry.heading(), heading, "{entry:?}");
    }
}

#[test]
fn a_member_of_json_has_its_name_in_quotes_as_it_stands() {
    let text = "{ \"a\" : 1, \"\\u0062\\\"\":\"x\",\"\":{}}";
    let quoted: Vec<_> = json::Node::root(text).members().map(|member| member.quoted()).collect();
    assert_eq!(quoted, ["\"a\"", "\"\\u0062\\\"\"", "\"\""]);
}

#[test]
fn a_document_removes_the_surplus_of_an_id_that_occurs_twice() {
    let history = "<sx:history sequence='1' by='a'/>";
    let item = |title: &str, id: &str| {
        format!(
            "<item><title>{title}</title><sx:sync id='{id}' updates='1'>{history}</sx:sync></item>"
        )
    };
    let feed = |items: &[String]| {
        format!(
            "<rss version='2.0' xmlns:sx='http://feedsync.org/2007/feedsync'><channel>{}\
             </channel></rss>",
            items.concat()
        )
    };
    let twice = feed(&[item("one", "a"), item("other", "b"), item("two", "a"), item("three", "a")]);
    let document = Document::read(twice.as_bytes(), &ReadOptions::tolerant()).unwrap();
    let items = document.feed().items.clone();
    assert_eq!(items.len(), 4);
    for (named, left) in [
        (vec![], vec!["one", "other", "two", "three"]),
        (vec![items[1].clone()], vec!["one", "other", "two", "three"]),
        (vec![items[0].clone()], vec!["one", "other"]),
        (vec![items[0].clone(), items[2].clone()], vec!["one", "other", "two"]),
        (items.clone(), vec!["one", "other", "two", "three"]),
    ] {
        let edited = document.to_bytes_with(&named);
        let read = read(&edited, None, &ReadOptions::tolerant()).unwrap();
        let payloads: Vec<_> =
            read.feed.items.into_iter().map(|item| item.winner.payload).collect();
        assert_eq!(titles(&payloads), left);
    }
}

#[test]
fn plain_xml_is_read_as_pox_only_where_it_names_feedsync_or_that_is_wanted() {
    let options = ReadOptions::strict();
    let named = "<all xmlns:sx='http://feedsync.org/2007/feedsync'><x/></all>";
    let unnamed = "<all><x/></all>";
    assert_eq!((detect(named.as_bytes()), detect(unnamed.as_bytes())), (Some(Format::Pox), None));
    assert!(matches!(
        read(unnamed.as_bytes(), None, &options),
        Err(ReadError::UnknownFormat { .. })
    ));
    for text in [named, unnamed] {
        let reading = read(text.as_bytes(), Some(Format::Pox), &options).unwrap();
        assert_eq!((reading.format, reading.feed.items.len()), (Format::Pox, 0), "{text}");
        for format in [Format::Atom, Format::Rss, Format::Opml] {
            let refused = read(text.as_bytes(), Some(format), &options).unwrap_err();
            assert!(refused.to_string().contains("<all>"), "{refused}");
        }
    }
}

#[test]
fn a_document_without_a_root_is_of_no_format() {
    for text in ["<!-- c -->", "<?xml version='1.0'?>", "<?target?>\n", ""] {
        assert_eq!(detect(text.as_bytes()), None, "{text}");
        assert!(read(text.as_bytes(), None, &ReadOptions::tolerant()).is_err(), "{text}");
    }
}

#[test]
fn a_feed_outside_the_namespace_of_atom_is_read_in_tolerant_mode_only() {
    for text in ["<feed/>", "<feed xmlns='urn:x'/>", "<RDF/>", "<RDF xmlns='urn:x'/>"] {
        let format = if text.starts_with("<feed") { Format::Atom } else { Format::Rss };
        assert_eq!(detect(text.as_bytes()), Some(format), "{text}");
        let read = |options| read(text.as_bytes(), None, &options).map(|reading| reading.format);
        assert_eq!(read(ReadOptions::tolerant()), Ok(format), "{text}");
        assert!(
            matches!(read(ReadOptions::strict()), Err(ReadError::UnknownFormat { .. })),
            "{text}"
        );
    }
}

#[test]
fn a_declaration_of_utf_16_in_single_bytes_is_taken_for_utf_8_in_tolerant_mode_only() {
    for name in ["utf-16", "UTF-16", "UTF-16LE", "utf-16be"] {
        let text = format!(
            "<?xml version='1.0' encoding='{name}'?>\
             <rss version='2.0'><channel><title>caf\u{e9}</title></channel></rss>"
        );
        let reading = read(text.as_bytes(), None, &ReadOptions::tolerant()).unwrap();
        assert_eq!(reading.title.as_deref(), Some("caf\u{e9}"), "{name}");
        assert!(read(text.as_bytes(), None, &ReadOptions::strict()).is_err(), "{name}");
    }
    for name in ["utf-32", "iso-2022-kr", "x"] {
        let text = format!("<?xml version='1.0' encoding='{name}'?><rss version='2.0'/>");
        for options in [ReadOptions::strict(), ReadOptions::tolerant()] {
            let refused = read(text.as_bytes(), None, &options).unwrap_err();
            assert!(matches!(refused, ReadError::Encoding { .. }), "{refused}");
        }
    }
}
