use super::*;

fn version(text: &str, place: usize) -> String {
    versions(text).nth(place).unwrap().text
}

/// Returns the version in which only characters are repaired, and the one whose structure is
/// repaired.
fn both(text: &str) -> [String; 2] {
    [version(text, 0), version(text, 1)]
}

#[test]
fn well_formed_documents_stay_as_they_are() {
    for text in [
        "<rss version=\"2.0\"><channel><item><title>a &amp; b &#8211; &nbsp;</title><guid isPermaLink=\"false\">urn:1</guid>\
         <description><![CDATA[<p>x</p> & ]]&]]></description></item></channel></rss>",
        "<feed xmlns=\"http://www.w3.org/2005/Atom\"><entry><author><name>n</name></author><link href=\"a?b&amp;c\"/>\
         <content type=\"xhtml\"><div xmlns=\"http://www.w3.org/1999/xhtml\"><p>a <b>c</b></p><title>x</title></div>\
         </content></entry></feed>",
    ] {
        assert_eq!(both(text), [text, text]);
    }
}

#[test]
fn characters_are_escaped_and_text_around_the_root_is_removed() {
    for (text, expected) in [
        (
            "<rss a=\"1\">AT&T &bogus &amp; R&D;</rss>",
            "<rss a=\"1\">AT&amp;T &amp;bogus &amp; R&D;</rss>",
        ),
        (
            "<rss><guid x=\"false\">urn</guid>a & b</rss>",
            "<rss><guid x=\"false\">urn</guid>a &amp; b</rss>",
        ),
        (
            "<rss a='x&y' b=\"'<'\">1 < 2 <3 ]]></rss>",
            "<rss a=\"x&amp;y\" b=\"'&lt;'\">1 &lt; 2 &lt;3 ]]&gt;</rss>",
        ),
        ("<rss>a&#0;b&#x1F;c&#xD800;d&#99999999;</rss>", "<rss>abcd</rss>"),
        ("<rss>&#;&#x;&#65;</rss>", "<rss>&amp;#;&#65;</rss>"),
        (
            "<br/>\n<b>Warning</b>: x<?xml version=\"1.0\"?><!-- <rss> --><rss>a</rss>\n<script defer src=\"x\"></script>",
            "<rss>a</rss>",
        ),
        ("<script>if (a<rss) b</script><rss>a<!-- -- --><?php & ?></rss>tail", "<rss>a</rss>"),
        (
            "<rss><a b=c d e=\"f\"g=\"h\" b=2/></rss>",
            "<rss><a b=\"c\" d=\"\" e=\"f\" g=\"h\"/></rss>",
        ),
        ("<rss><a b=\"c>d</a></rss>", "<rss><a b=\"c\">d</a></rss>"),
        ("<rss>List<String> of <b</rss>", "<rss>List<String> of &lt;b</rss>"),
    ] {
        assert_eq!(version(text, 0), expected, "{text}");
    }
}

#[test]
fn missing_prefixes_are_declared_at_the_root_alone() {
    for (text, declared) in [
        (
            "<rss\n><dc:date/><my-q:w/><xml:x/></rss>",
            "<rss xmlns:dc=\"http://purl.org/dc/elements/1.1/\" xmlns:my-q=\"urn:undeclared:my-q\"><dc:date/><my-q:w/><xml:x/></rss>",
        ),
        (
            "<rss><a foo:x=\"1\"/></rss>",
            "<rss xmlns:foo=\"urn:undeclared:foo\"><a foo:x=\"1\"/></rss>",
        ),
        (
            "<rss xmlns:a=\"\" xmlns:xml=\"x\" xmlns:xmlns=\"y\" xmlns:b=\"u\" xmlns=\"\"><b:c/></rss>",
            "<rss xmlns:b=\"u\" xmlns=\"\"><b:c/></rss>",
        ),
        (
            "<rss xmlns:dc=\"d\"><a xmlns:b='i&quot;'/><b:c/><dc:d/></rss>",
            "<rss xmlns:b=\"i&quot;\" xmlns:dc=\"d\"><a xmlns:b=\"i&quot;\"/><b:c/><dc:d/></rss>",
        ),
    ] {
        assert_eq!(version(text, 0), declared, "{text}");
    }
}

#[test]
fn the_number_of_declared_prefixes_has_a_maximum() {
    let declaring = |count: usize| -> String {
        (0..count).map(|number| format!("<a xmlns:p{number}=\"u{number}\"/>")).collect()
    };
    let using =
        |count: usize| -> String { (0..count).map(|number| format!("<p{number}:b/>")).collect() };
    let text = version(&format!("<rss>{}</rss>", using(70)), 0);
    assert_eq!(text.matches("urn:undeclared:").count(), 64);
    let text = version(&format!("<rss>{}<p63:b/><p64:b/></rss>", declaring(65)), 0);
    assert!(text.starts_with("<rss xmlns:p63=\"u63\" xmlns:p64=\"urn:undeclared:p64\">"), "{text}");
}

#[test]
fn structure_is_balanced() {
    for (text, expected) in [
        (
            "<rss><item><media:content url=\"u\"><media:title>m</media:title><guid>1</guid></item></rss>",
            "<rss xmlns:media=\"http://search.yahoo.com/mrss/\"><item><media:content url=\"u\"><media:title>m</media:title>\
             </media:content><guid>1</guid></item></rss>",
        ),
        (
            "<feed><entry><content type=\"html\">x<id>1</id></entry></feed>",
            "<feed><entry><content type=\"html\">x</content><id>1</id></entry></feed>",
        ),
        (
            "<rss><item><enclosure url=\"u\"><guid>1</guid></item></rss>",
            "<rss><item><enclosure url=\"u\"></enclosure><guid>1</guid></item></rss>",
        ),
        (
            "<rss><item><description>a<br>b<img src=\"x\">c</p></description></item></rss>",
            "<rss><item><description>a<br/>b<img src=\"x\"/>c</description></item></rss>",
        ),
        (
            "<rss><channel><item><title>a<item><title>b</title></item></channel></rss>",
            "<rss><channel><item><title>a</title></item><item><title>b</title></item></channel></rss>",
        ),
        ("<rss><item><Title>a</title></ITEM></rss>", "<rss><item><Title>a</Title></item></rss>"),
        (
            "<rss><item><media:thumbnail url=\"u\"><dc:date>d</dc:date></item></rss>",
            "<rss xmlns:dc=\"http://purl.org/dc/elements/1.1/\" xmlns:media=\"http://search.yahoo.com/mrss/\"><item><media:thumbnail url=\"u\"></media:thumbnail><dc:date>d</dc:date></item></rss>",
        ),
        (
            "<rss xmlns:itunes=\"i\"><item><itunes:author>a<itunes:title>b</itunes:title></item></rss>",
            "<rss xmlns:itunes=\"i\"><item><itunes:author>a</itunes:author>\
             <itunes:title>b</itunes:title></item></rss>",
        ),
        (
            "<rss xmlns:itunes=\"i\"><itunes:owner><itunes:name>n</itunes:owner></rss>",
            "<rss xmlns:itunes=\"i\"><itunes:owner><itunes:name>n</itunes:name></itunes:owner></rss>",
        ),
        (
            "<rss><channel><item><title>a</title></item></rss>",
            "<rss><channel><item><title>a</title></item></channel></rss>",
        ),
        (
            "<rss><channel><title>t</title><item>1</item><item><title>b",
            "<rss><channel><title>t</title><item>1</item></channel></rss>",
        ),
        // An end tag inside an article closes an element outside it only if that is a feed or its
        // root.
        (
            "<rss><channel><x><item>a</x>b</item></x></channel></rss>",
            "<rss><channel><x><item>ab</item></x></channel></rss>",
        ),
        (
            "<rss><channel><item>a</channel>b</rss>c",
            "<rss><channel><item>a</item></channel>b</rss>",
        ),
        ("<rss><channel><item>a</rss>b", "<rss><channel><item>a</item></channel></rss>"),
        ("<feed><entry>a</feed>b<entry/>", "<feed><entry>a</entry></feed>"),
        ("<feed><x><entry>a</x>b</FEED>c", "<feed><x><entry>ab</entry></x></feed>"),
        (
            "<rss><channel><item>1</item><item><description><![CDATA[abc",
            "<rss><channel><item>1</item></channel></rss>",
        ),
        ("<rss><channel><item>1</item", "<rss><channel></channel></rss>"),
        (
            "<rss><item><title><![CDATA[a</title></item><item><title><![CDATA[b]]></title></item></rss>",
            "<rss><item><title><![CDATA[a]]></title></item><item><title><![CDATA[b]]></title></item></rss>",
        ),
    ] {
        assert_eq!(version(text, 1), expected, "{text}");
    }
}

#[test]
fn every_root_is_tried() {
    let text = "<rss></rss><rss>b</rss><feed/>";
    let all: Vec<_> = versions(text).map(|version| version.text).collect();
    assert_eq!(
        all,
        ["<rss></rss>", "<rss></rss>", "<rss>b</rss>", "<rss>b</rss>", "<feed/>", "<feed/>"]
    );
    assert_eq!(versions("no markup & none").count(), 0);
    assert_eq!(versions(&"<rss/>".repeat(4)).count(), 8);
    assert_eq!(versions(&"<rss/>".repeat(6)).count(), 8);
}

#[test]
fn names_in_capitals_are_spelt_as_the_formats_do_in_versions_of_their_own() {
    for (text, spelt) in [
        ("<RSS><ITEM/></rss>", Some("<rss><item/></rss>")),
        ("<rss><item></ITEM></rss>", Some("<rss><item></item></rss>")),
        ("<rss><item/></rss>", None),
        ("<rss><any/></rss>", None),
    ] {
        let all: Vec<_> = versions(text).map(|version| version.text).collect();
        assert_eq!(all.len(), if spelt.is_some() { 4 } else { 2 }, "{all:?}");
        assert_eq!(all.get(2).map(String::as_str), spelt);
    }
}

#[test]
fn json_is_cut_to_its_object_and_its_last_complete_item() {
    for (text, expected) in [
        ("{\"items\":[]}", None),
        ("Warning {x} {\"a\":{\"b\":\"}\\\"\"}} <!-- x -->", Some("{\"a\":{\"b\":\"}\\\"\"}}")),
        ("{\"items\":[{\"id\":1},{\"id\":\"a}", Some("{\"items\":[{\"id\":1}]}")),
        ("{\"items\":[{\"id\":1}", Some("{\"items\":[{\"id\":1}]}")),
        ("{\"items\":[{\"id\":1", None),
        ("{\"items", None),
        ("{\"a\":\"\\\\\"} x", Some("{\"a\":\"\\\\\"}")),
        ("{1} {\"a\":1}", Some("{\"a\":1}")),
    ] {
        assert_eq!(json(text).as_ref().map(|version| &*version.text), expected, "{text}");
    }
}

#[test]
fn repairs_of_hostile_documents_are_linear() {
    for unit in [
        "<a b=\"",
        "<![CDATA[</a>",
        "<!--",
        "<rss ",
        "&",
        "<a><b",
        "<!x[",
        "<?",
        "<a b='<",
        "<item>",
        "</a",
        "<script>",
    ] {
        let text = format!("<rss>{}", unit.repeat(1_000_000 / unit.len()));
        let begin = std::time::Instant::now();
        let longest = versions(&text).map(|version| version.text.len()).max();
        assert!(longest.unwrap_or(0) <= 8 * text.len(), "{unit}");
        // Linear passes take milliseconds. A quadratic pass would take minutes.
        assert!(begin.elapsed().as_secs() < 20, "{unit}: {:?}", begin.elapsed());
    }
}
