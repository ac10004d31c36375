use proptest::prelude::*;

use super::*;

/// Puts every address into brackets.
fn marked(document: &str) -> String {
    let change = |address: WrittenAddress<'_>| Some(format!("[{}]", address.raw));
    let changed = with_addresses(document.as_bytes(), &Limits::default(), change);
    changed.map_or_else(|| document.to_owned(), |bytes| String::from_utf8(bytes).unwrap())
}

/// Checks that the addresses in brackets, and no others, are found in the document without the brackets.
fn check(expected: &str) {
    assert_eq!(marked(&expected.replace(['[', ']'], "")), expected);
}

#[test]
fn addresses_of_atom_are_found_and_identifiers_and_content_stay() {
    check(
        "<?xml version='1.0'?>\n<!-- href='x' --><feed xmlns='http://www.w3.org/2005/Atom' \
         xmlns:app='http://www.w3.org/2007/app' xml:base='[http://o/]'>\
         <id>http://o/id</id><icon> [/i] </icon><logo/><logo>[l]</logo>\
         <link rel = 'next' href = \"[http://o/?a=1&amp;b]\" title='http://o/'/>\
         <author><name>http://o/</name><uri>[u]</uri></author><generator uri='http://o/g'>g</generator>\
         <app:collection href='[c]'><app:categories href='[k]' scheme='http://o/s'/></app:collection>\
         <entry><category scheme='http://o/s' term='t'/><content type='image/png' src='[s]'/></entry>\
         <entry><title type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'><a href='t'>t</a>\
         </div></title><content type='application/xml' xml:base='[b]'><x href='x'><link href='y'/></x>\
         </content><link href='[after]'/></entry></feed>",
    );
}

#[test]
fn addresses_of_service_and_category_documents_are_found() {
    check(
        "<service xmlns='http://www.w3.org/2007/app' xmlns:atom='http://www.w3.org/2005/Atom' \
         xml:base='[http://o/]'><workspace><atom:title>http://o/</atom:title><collection href='[main]'>\
         <atom:title>t</atom:title><accept>image/*</accept><categories href='[cats]'/></collection>\
         </workspace></service>",
    );
    check("<categories xmlns='http://www.w3.org/2007/app' href='[a]' scheme='b'/>");
}

#[test]
fn addresses_of_rss_are_found() {
    check(
        "<rss version='2.0' xmlns:atom='http://www.w3.org/2005/Atom' \
         xmlns:content='http://purl.org/rss/1.0/modules/content/' \
         xmlns:wfw='http://wellformedweb.org/CommentAPI/' xmlns:m='http://search.yahoo.com/mrss/'>\
         <channel><link>\n [http://o/]\n</link><atom:link rel='self' href='[f]'/><docs>[d]</docs>\
         <image><url>[p]</url><link>[c]</link></image>\
         <item><guid>http://o/1</guid><link><!-- c -->[http://o/1]</link><comments>[c]</comments>\
         <wfw:commentRss>[r]</wfw:commentRss><source url='[s]'>x</source>\
         <enclosure url='[e]' length='1' type='audio/mpeg'/><m:content url='[m]'/>\
         <content:encoded>&lt;a href='x'></content:encoded></item></channel></rss>",
    );
    check(
        "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' \
         xmlns='http://purl.org/rss/1.0/'><channel rdf:about='http://o/'><link>[http://o/]</link>\
         <items><rdf:Seq><rdf:li resource='http://o/1'/></rdf:Seq></items></channel>\
         <item rdf:about='http://o/1'><link>[http://o/1]</link></item></rdf:RDF>",
    );
}

#[test]
fn addresses_in_cdata_sections_are_found() {
    let document = "<rss><channel><link><![CDATA[ http://o/?a&b ]]></link></channel></rss>";
    let mut found = Vec::new();
    with_addresses(document.as_bytes(), &Limits::default(), |address| {
        found.push((address.raw.to_owned(), address.notation, address.text().into_owned()));
        None
    });
    let expected = ("http://o/?a&b".to_owned(), Notation::CData, "http://o/?a&b".to_owned());
    assert_eq!(found, [expected]);
}

#[test]
fn addresses_of_outlines_are_found() {
    check(
        "<opml version='2.0'><head><docs>[d]</docs></head><body><outline text='http://o/' \
         xmlUrl='[a]' HTMLURL='[b]' url='[c]' href='d'/></body></opml>",
    );
}

#[test]
fn addresses_of_json_feeds_are_found() {
    let expected = r#" {"version": "https://jsonfeed.org/version/1.1", "title": "url", "feed_url": "<a>",
        "home_page_url" : "<b>", "hubs": [{"type": "x", "url": "<c>"}], "author": {"url": "<d>"},
        "items": [{"id": "http://o/1", "url": "<http:\/\/o\/1>", "content_html": "url", "_x": {"url": "x"},
        "\u0069mage": "<e>", "tags": ["url"], "attachments": [{"url": "<f>", "size": 1}]}]}"#;
    let document = expected.replace(['<', '>'], "");
    let change = |address: WrittenAddress<'_>| Some(format!("<{}>", address.raw));
    let changed = with_addresses(document.as_bytes(), &Limits::default(), change);
    assert_eq!(String::from_utf8(changed.unwrap()).unwrap(), expected);
}

#[test]
fn an_item_with_sync_data_keeps_the_addresses_of_its_payload() {
    let fs = "xmlns:fs='urn:feedsync:1' xmlns:sx='http://feedsync.org/2007/feedsync'";
    let sync = "<sx:sync id='i' updates='1'><sx:history sequence='1' by='a'/></sx:sync>";
    for synced in [true, false] {
        let link = if synced { "http://o/page" } else { "[http://o/page]" };
        let sync = if synced { sync } else { "" };
        check(&format!(
            "<feed xmlns='http://www.w3.org/2005/Atom' {fs}><sx:sharing><sx:related link='[c]' \
             type='complete'/></sx:sharing><link rel='next' href='[n]'/><entry><link href='{link}'/>\
             <content src='[m]' fs:served='true'/>{sync}<link rel='edit' href='[e]'/>\
             <link rel='http://www.iana.org/assignments/relation/edit-media' href='[f]'/></entry>\
             <link rel='self' href='[s]'/></feed>"
        ));
    }
    // The server that has the media of an item also owns their address.
    for (src, media) in [("[m]", "<link rel='edit-media' href='[f]'/>"), ("m", "")] {
        check(&format!(
            "<entry xmlns='http://www.w3.org/2005/Atom' {fs}><content src='{src}'/>{sync}{media}</entry>"
        ));
    }
}

#[test]
fn other_documents_stay() {
    for document in [
        "",
        "{",
        "{}",
        r#"{"version": "1", "url": "http://o/"}"#,
        "<html xmlns='http://www.w3.org/1999/xhtml'><a href='http://o/'/></html>",
        "<feed><link href='http://o/'/></feed>",
        "no document",
    ] {
        check(document);
    }
    let deep = format!("{}{}", "<a>".repeat(300), "</a>".repeat(300));
    check(&format!("<rss><channel><link>[a]</link>{deep}<link>b</link></channel></rss>"));
    let (open, close) = ("{\"a\":".repeat(300), "}".repeat(300));
    let version = "\"version\":\"https://jsonfeed.org/version/1\"";
    check(&format!("{{{version},\"url\":\"http://o/\",\"a\":{open}1{close}}}"));
}

#[test]
fn addresses_before_a_fault_are_found() {
    check("<rss><channel><link>[a]</link><x:y/><link>b</link></channel></rss>");
}

#[test]
fn every_encoding_keeps_its_bytes() {
    let document = |name: &str| {
        format!(
            "<?xml version='1.0' encoding='{name}'?><rss><channel><title>Käse &#8364; \u{a0}</title>\
             <link>http://o/ä</link></channel></rss>"
        )
    };
    let utf16 = |text: String, order: fn(u16) -> [u8; 2]| {
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(order).collect::<Vec<u8>>()
    };
    let latin = |text: String| text.chars().map(|c| u8::try_from(c).unwrap()).collect::<Vec<u8>>();
    let replace = |address: WrittenAddress<'_>| Some(address.raw.replacen("o/", "longer/", 1));
    type Encode<'a> = &'a dyn Fn(String) -> Vec<u8>;
    let encode: [(&str, Encode<'_>); 5] = [
        ("utf-8", &|text| text.into_bytes()),
        ("utf-16", &|text| utf16(text, u16::to_le_bytes)),
        ("utf-16", &|text| utf16(text, u16::to_be_bytes)),
        ("iso-8859-1", &latin),
        ("windows-1252", &latin),
    ];
    for (name, encode) in encode {
        let (old, new) = (document(name), document(name).replacen("//o/", "//longer/", 1));
        let changed = with_addresses(&encode(old), &Limits::default(), replace);
        assert_eq!(changed.unwrap(), encode(new), "{name}");
    }
    // A byte that is not UTF-8.
    assert_eq!(with_addresses(b"<rss><link>a\xff</link></rss>", &Limits::default(), replace), None);
}

/// Parts of documents, from which the property test builds well-formed and other documents.
const PARTS: [&str; 34] = [
    "<feed xmlns='http://www.w3.org/2005/Atom'>",
    "</feed>",
    "<entry>",
    "</entry>",
    "<rss>",
    "</rss>",
    "<channel>",
    "</channel>",
    "<link href='http://o/a&amp;b'/>",
    "<link href=\"/\"/>",
    "<link>",
    "</link>",
    "http://o/b",
    " ",
    "<![CDATA[http://o/c]]>",
    "<!-- http://o/ -->",
    "<icon>",
    "</icon>",
    "<content src='http://o/'/>",
    "<title>",
    "</title>",
    "ä&#228;",
    "<outline xmlUrl='http://o/x'/>",
    "<opml>",
    "</opml>",
    "{\"version\":\"https://jsonfeed.org/version/1\",",
    "\"url\":",
    "\"http:\\/\\/o\\/\"",
    ",",
    "\"items\":[{",
    "}]",
    "}",
    "\"\\u0068ttp://o\"",
    "<sync xmlns='http://feedsync.org/2007/feedsync'/>",
];

fn documents() -> impl Strategy<Value = String> {
    let parts = prop::collection::vec(prop::sample::select(&PARTS[..]), 0..24);
    let wrapped = (parts, 0..5).prop_map(|(parts, root)| {
        let inside = parts.concat();
        match root {
            0 => format!("{}{inside}</feed>", PARTS[0]),
            1 => format!("<rss>{inside}</rss>"),
            2 => format!("<opml>{inside}</opml>"),
            3 => format!("{}{inside}", PARTS[25]),
            _ => inside,
        }
    });
    // Well-formed documents of each format, with addresses of any characters.
    let address = "[a-z:/?#&<>\"'\\\\ é%.]{0,12}";
    let formed = (prop::collection::vec(address, 1..6), 0..4).prop_map(|(addresses, format)| {
        let xml = |text: &str| {
            let mut escaped = String::new();
            crate::xml::escape_attribute(&mut escaped, text);
            escaped.replace('\'', "&#39;")
        };
        let all = |part: &dyn Fn(&str) -> String| {
            addresses.iter().map(|address| part(address)).collect::<String>()
        };
        match format {
            0 => format!("{}{}</feed>", PARTS[0], all(&|a| format!("<link href='{}'/>", xml(a)))),
            1 => format!(
                "<rss><channel>{}</channel></rss>",
                all(&|a| { format!("<link>{}</link><link><![CDATA[{a}]]></link>", xml(a)) })
            ),
            2 => format!(
                "<opml><body>{}</body></opml>",
                all(&|a| { format!("<outline htmlUrl=\"{}\"/>", xml(a)) })
            ),
            _ => {
                let items = all(&|a| {
                    let mut quoted = String::new();
                    crate::json::push_string(&mut quoted, a);
                    format!("{{\"url\":{quoted}}},")
                });
                format!("{}\"items\":[{items}{{}}]}}", PARTS[25])
            }
        }
    });
    prop_oneof![wrapped, formed]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn replacing_addresses_there_and_back_is_the_identity(document in documents()) {
        let there = |address: WrittenAddress<'_>| Some(format!("http://gateway/{}", address.raw));
        let back = |address: WrittenAddress<'_>| {
            address.raw.strip_prefix("http://gateway/").map(str::to_owned)
        };
        let (bytes, limits) = (document.as_bytes(), Limits::default());
        if let Some(changed) = with_addresses(bytes, &limits, there) {
            prop_assert_ne!(&changed, bytes);
            let returned = with_addresses(&changed, &limits, back);
            prop_assert_eq!(returned.as_deref(), Some(bytes));
            // Only the addresses differ.
            let text = String::from_utf8(changed).unwrap();
            prop_assert_eq!(text.replace("http://gateway/", ""), document);
        }
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        with_addresses(&bytes, &Limits::default(), |address| Some(address.text().into_owned()));
    }
}
