//! Faulty web feeds: an example document for each kind of fault.

use feedsync_formats::{ContentType, PublishedFeed, ReadOptions, read_published};

const AT: &str = "http://site.example/feed.xml";

pub(crate) fn read_as(document: &[u8], charset: Option<&str>) -> PublishedFeed {
    let options = ReadOptions { base: Some(AT), ..ReadOptions::tolerant() };
    read_published(document, charset, &options)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(document)))
}

fn read(document: &str) -> PublishedFeed {
    read_as(document.as_bytes(), None)
}

fn rss(item: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rss version=\"2.0\"><channel><title>T</title>\
         <link>http://site.example/</link><description>d</description><item>{item}</item></channel></rss>"
    )
}

fn atom(entry: &str) -> String {
    format!(
        "<feed xmlns=\"http://www.w3.org/2005/Atom\" xmlns:media=\"http://search.yahoo.com/mrss/\"><title>T</title>\
         <id>urn:f</id><updated>2026-11-01T00:00:00Z</updated><entry><id>u:1</id>{entry}</entry></feed>"
    )
}

fn titles(feed: &PublishedFeed) -> Vec<&str> {
    feed.entries.iter().map(|entry| entry.title.as_deref().unwrap_or_default()).collect()
}

/// Returns all texts of the entries.
fn texts(feed: &PublishedFeed) -> String {
    format!("{:?}", feed.entries)
}

/// Returns a text in UTF-32.
fn utf_32(text: &str, is_little: bool) -> Vec<u8> {
    let unit = |character: char| match is_little {
        true => u32::from(character).to_le_bytes(),
        false => u32::from(character).to_be_bytes(),
    };
    text.chars().flat_map(unit).collect()
}

#[test]
fn utf_32_documents_are_read() {
    let document = rss("<title>Grüße 😀</title>").replace("UTF-8", "UTF-32");
    for is_little in [true, false] {
        for mark in ["", "\u{feff}"] {
            let bytes = utf_32(&format!("{mark}{document}"), is_little);
            for charset in [None, Some("utf-32"), Some("utf-8")] {
                let feed = read_as(&bytes, charset);
                assert_eq!((titles(&feed), &feed.repaired_fault), (vec!["Grüße 😀"], &None));
            }
            // A document that is cut off inside a character is read up to that character.
            let feed = read_as(&bytes[..bytes.len() - 2], None);
            assert_eq!(titles(&feed), ["Grüße 😀"]);
            assert!(feed.repaired_fault.is_some());
        }
    }
    let json = "{\"items\":[{\"id\":\"1\",\"title\":\"J\"}]}";
    assert_eq!(titles(&read_as(&utf_32(json, true), None)), ["J"]);
}

#[test]
fn names_in_capitals_are_read() {
    let lower = rss(
        "<title>A</title><link>http://site.example/a</link><guid isPermaLink=\"false\">g</guid>\
         <pubDate>Sat, 21 Nov 2026 10:00:00 GMT</pubDate><description>Words</description>\
         <enclosure url=\"http://site.example/a.mp3\" type=\"audio/mpeg\" length=\"5\"/>",
    );
    let expected = read(&lower);
    let respelt = |spell: fn(&str) -> String| {
        let names = [
            "rss",
            "channel",
            "item",
            "title",
            "link",
            "guid",
            "pubDate",
            "description",
            "enclosure",
            "isPermaLink",
            "url",
            "type",
            "length",
            "version",
        ];
        names.iter().fold(lower.clone(), |document, name| {
            let name_of = |before: &str, after: &str| {
                (format!("{before}{name}{after}"), format!("{before}{}{after}", spell(name)))
            };
            let edges = [("<", ">"), ("</", ">"), ("<", " "), (" ", "=\"")];
            // The XML declaration stays unchanged.
            let (head, body) = document.split_once("?>").unwrap();
            let body = edges.iter().fold(body.to_owned(), |body, (before, after)| {
                let (from, to) = name_of(before, after);
                body.replace(&from, &to)
            });
            format!("{head}?>{body}")
        })
    };
    let first = |name: &str| name[..1].to_uppercase() + &name[1..];
    for document in [respelt(str::to_uppercase), respelt(first)] {
        let feed = read(&document);
        assert_eq!(feed.title, expected.title, "{document}");
        assert_eq!(feed.entries, expected.entries, "{document}");
        assert!(feed.repaired_fault.is_some());
    }
    // Only the root in capitals, only items in capitals, and a document that is cut off.
    for document in [
        lower.replace("<rss", "<RSS").replace("</rss", "</RSS"),
        lower.replace("<item>", "<ITEM>").replace("</item>", "</Item>"),
        lower
            .replace("<item>", "<ITEM>")
            .replace("</item></channel></rss>", "</ITEM><ITEM><title>B"),
    ] {
        assert_eq!(titles(&read(&document)), ["A"], "{document}");
    }
}

#[test]
fn the_original_link_takes_precedence_over_feedburners() {
    let link = |entry: &str| read(&rss(entry)).entries[0].link().map(str::to_owned);
    let burnt = "<title>a</title><link>http://feeds.example/~r/1</link>";
    let original =
        "<feedburner:origLink xmlns:feedburner=\"http://rssnamespace.org/feedburner/ext/1.0\">";
    let with = |to: &str| link(&format!("{burnt}{original}{to}</feedburner:origLink>"));
    assert_eq!(with("http://site.example/1").as_deref(), Some("http://site.example/1"));
    assert_eq!(with("HTTPS://site.example/1").as_deref(), Some("HTTPS://site.example/1"));
    for other in ["", "/1", "javascript:alert(1)"] {
        assert_eq!(with(other).as_deref(), Some("http://feeds.example/~r/1"), "{other}");
    }
    let undeclared = "<feedburner:origLink>http://site.example/1</feedburner:origLink>";
    assert_eq!(link(&format!("{burnt}{undeclared}")).as_deref(), Some("http://site.example/1"));
    let entry = format!(
        "<title>a</title><link href='http://feeds.example/~r/1'/>{original}http://site.example/1</feedburner:origLink>"
    );
    assert_eq!(read(&atom(&entry)).entries[0].link(), Some("http://site.example/1"));
}

#[test]
fn feeds_with_undeclared_prefixes_are_read() {
    for part in [
        "<foo:bar>z</foo:bar>",
        "<dc:creator>z</dc:creator>",
        "<snf-x:logo>z</snf-x:logo>",
        "<description foo:x=\"1\">z</description>",
        "<a xmlns:q=\"u\"/><q:b/>",
    ] {
        let item = format!("<title>a</title><guid isPermaLink=\"false\">1</guid>{part}");
        let feed = read(&rss(&item));
        assert_eq!(titles(&feed), ["a"], "{part}");
        assert!(feed.repaired_fault.is_some(), "{part}");
    }
    let creator = read(&rss("<title>a</title><dc:creator>z</dc:creator>"));
    assert_eq!(creator.entries[0].author.as_ref().unwrap().name.as_deref(), Some("z"));
}

#[test]
fn feeds_with_bare_ampersands_are_read() {
    for (title, expected) in [("AT&T", "AT&T"), ("Q & A", "Q & A"), ("a&b;c&#x3;", "a&b;c")] {
        let of_rss = rss(&format!(
            "<title>{title}</title><guid isPermaLink=\"false\">urn:1</guid><link>http://h/?a=1&b=2</link>"
        ));
        let of_atom = atom(&format!(
            "<title type=\"text\">{title}</title><link href=\"http://h/?a=1&b=2\"/>"
        ));
        for document in [of_rss, of_atom] {
            let feed = read(&document);
            assert_eq!(titles(&feed), [expected]);
            assert_eq!(feed.entries[0].link(), Some("http://h/?a=1&b=2"));
        }
    }
}

#[test]
fn feeds_with_text_around_the_root_are_read() {
    let whole = rss("<title>a</title><guid isPermaLink=\"false\">1</guid>");
    let root = &whole[whole.find("<rss").unwrap()..];
    for document in [
        format!("{whole}\n<script defer src=\"x\"></script>"),
        format!("{whole}<rss version=\"2.0\"></rss>"),
        format!("{whole} <!-- 0.3 s --> trailing & text"),
        format!(
            "<br />\n<b>Warning</b>: mysql_connect() in <b>/x.php</b> on line <b>3</b><br />\n{whole}"
        ),
        format!("Notice: undefined index\n{root}"),
        format!("<rss version=\"2.0\"></rss>{root}"),
        format!("<!DOCTYPE html><script>if (a < b) {{ x(\"<rss>\") }}</script>{root}"),
        format!("\u{feff}\n\n{whole}\0"),
    ] {
        let feed = read(&document);
        assert_eq!(titles(&feed), ["a"], "{document}");
        assert_eq!(feed.title.as_deref(), Some("T"));
    }
}

#[test]
fn truncated_feeds_keep_their_complete_articles() {
    let whole = "<rss version='2.0'><channel><title>T</title><item><title>a</title><description>é &amp; x</description>\
                 </item>\n<item><title>b</title><guid isPermaLink='false'>2</guid></item>\n</channel></rss>";
    let ends: Vec<_> = whole.match_indices("</item>").map(|(at, end)| at + end.len()).collect();
    for cut in whole.find("<channel>").unwrap() + 9..whole.len() {
        let document = &whole.as_bytes()[..cut];
        let complete = ends.iter().filter(|end| **end <= cut).count();
        if complete == 0 {
            let options = ReadOptions::tolerant();
            assert!(read_published(document, None, &options).is_err(), "nothing of it is complete");
            continue;
        }
        let feed = read_as(document, None);
        assert_eq!(titles(&feed), ["a", "b"][..complete], "{}", String::from_utf8_lossy(document));
        assert!(!texts(&feed).contains('\u{fffd}'));
    }
    let json = r#"{"version":"https://jsonfeed.org/version/1.1","title":"T","items":[{"id":"1","title":"a"},{"id":"2","title":"b"}]}"#;
    assert_eq!(titles(&read(&json[..json.len() - 3])), ["a"]);
    assert_eq!(titles(&read(&format!("Warning: x {json} <!-- y -->"))), ["a", "b"]);
}

#[test]
fn bytes_are_decoded_with_the_first_encoding_that_fits() {
    let western = b"caf\xe9 na\xefve \x93q\x94";
    let document = |encoding: &str, title: &[u8]| {
        let declaration = match encoding {
            "" => String::new(),
            encoding => format!("<?xml version=\"1.0\" encoding=\"{encoding}\"?>"),
        };
        let head =
            format!("{declaration}<rss version=\"2.0\"><channel><title>T</title><item><title>");
        [head.as_bytes(), title, b"</title></item></channel></rss>"].concat()
    };
    let (russian, _, _) = encoding_rs::KOI8_R.encode("привет");
    let (japanese, _, _) = encoding_rs::ISO_2022_JP.encode("日本");
    let utf_8 = "café “q” 日本".as_bytes();
    for (encoding, charset, title, expected) in [
        ("UTF-8", None, &western[..], "café naïve “q”"),
        ("", None, western, "café naïve “q”"),
        ("us-ascii", None, western, "café naïve “q”"),
        ("no-such", None, western, "café naïve “q”"),
        ("UTF-8", Some("windows-1252"), western, "café naïve “q”"),
        ("UTF-8", Some("koi8-r"), &russian, "привет"),
        ("koi8-r", Some("utf-8"), &russian, "привет"),
        ("", Some("koi8-r"), &russian, "привет"),
        ("", Some("iso-2022-jp"), &japanese, "日本"),
        ("us-ascii", None, utf_8, "café “q” 日本"),
        ("iso-8859-1", None, utf_8, "café “q” 日本"),
        ("windows-1251", Some("utf-8"), b"\xef\xf0", "пр"),
        ("shift_jis", None, b"\x93\xfa\x96{ \xff", "日本 ÿ"),
        ("UTF-8", None, b"\xd0\x9f\xd1\x80 \xe9", "Пр é"),
    ] {
        let feed = read_as(&document(encoding, title), charset);
        assert_eq!(titles(&feed), [expected], "{encoding} {charset:?}");
    }
}

#[test]
fn unknown_default_namespaces_are_those_of_the_format() {
    let item =
        "<title>a</title><link>http://h/1</link><description>x</description><author>n</author>";
    for namespace in [
        "https://cyber.harvard.edu/rss/rss.html",
        "http://blogs.law.harvard.edu/tech/rss",
        "http://www.w3.org/2005/Atom",
        "urn:none",
    ] {
        let document = rss(item).replace("<rss ", &format!("<rss xmlns=\"{namespace}\" "));
        let feed = read(&document);
        assert_eq!((titles(&feed), feed.title.as_deref()), (vec!["a"], Some("T")), "{namespace}");
        assert_eq!(feed.entries[0].link(), Some("http://h/1"));
        assert_eq!(feed.entries[0].content.as_deref(), Some("x"));
        assert_eq!(feed.site.as_deref(), Some("http://site.example/"));
    }
    let entry = "<title>a</title><link href=\"http://h/1\"/><summary>x</summary><author><name>n</name></author>";
    for namespace in ["http://purl.org/atom/ns#", "urn:none", ""] {
        let feed = read(&atom(entry).replace("http://www.w3.org/2005/Atom", namespace));
        assert_eq!(titles(&feed), ["a"], "{namespace}");
        assert_eq!(feed.entries[0].link(), Some("http://h/1"));
        assert_eq!(feed.entries[0].author.as_ref().unwrap().name.as_deref(), Some("n"));
    }
}

#[test]
fn a_blank_article_is_counted_and_left_out() {
    let feed = read(&rss("<guid isPermaLink='false'>1</guid></item><item><title>a</title>"));
    assert_eq!((titles(&feed), feed.blank), (vec!["a"], 1));
    let feed = read(&rss("<enclosure url='http://h/a.mp3'/>"));
    assert_eq!((feed.entries.len(), feed.blank), (1, 0));
}

#[test]
fn text_in_titles_that_is_no_element_of_html_stays() {
    for (title, expected) in [
        ("List&lt;String&gt; in Java", "List<String> in Java"),
        ("&lt;b>bold&lt;/b> Vec&lt;T>", "bold Vec<T>"),
        ("<![CDATA[Map<K, V> & more]]>", "Map<K, V> & more"),
        ("a &lt; b > c", "a < b > c"),
    ] {
        assert_eq!(titles(&read(&rss(&format!("<title>{title}</title>")))), [expected]);
    }
    let html = atom("<title type='html'>List&lt;String> in &lt;i>Java&lt;/i></title>");
    assert_eq!(titles(&read(&html)), ["List<String> in Java"]);
}

#[test]
fn all_references_of_an_entry_are_resolved_against_one_base() {
    let markup = "&lt;img src=\"w.png\" srcset=\"a.png 1x, b.png 2x\">&lt;video poster=\"/p.jpg\">&lt;/video>&lt;a href=\"../c\">";
    let expected = |base: &str| {
        format!(
            "<img src=\"{base}w.png\" srcset=\"{base}a.png 1x, {base}b.png 2x\">\
             <video poster=\"http://site.example/p.jpg\"></video><a href=\"http://site.example/blog/c\">"
        )
    };
    let post = "http://site.example/blog/post/";
    let of_rss =
        format!("<link>{post}</link><enclosure url=\"m.mp3\"/><description>{markup}</description>");
    let relative = of_rss.replace(post, "blog/post/");
    let of_atom = atom(&format!(
        "<content type=\"html\">{markup}</content><link rel=\"enclosure\" href=\"m.mp3\"/><link href=\"{post}\"/>"
    ));
    let with_base = of_atom
        .replace(post, "http://other.example/")
        .replace("<entry>", &format!("<entry xml:base=\"{post}\">"));
    let with_path = with_base.replace(post, "/blog/post/");
    let html = markup.replace("&lt;", "<").replace('"', "\\\"");
    let json = |around: &str| {
        format!(
            "{{\"home_page_url\":\"http://site.example/\",\"items\":[{{\"id\":\"1\",{around}\"content_html\":\"{html}\",\
         \"attachments\":[{{\"url\":\"m.mp3\"}}]}}]}}"
        )
    };
    for document in [
        rss(&of_rss),
        rss(&relative),
        of_atom,
        with_base,
        with_path,
        json(&format!("\"url\":\"{post}\",")),
    ] {
        let feed = read(&document);
        let entry = &feed.entries[0];
        assert_eq!(entry.content.as_deref(), Some(&*expected(post)), "{document}");
        let media = entry.links.iter().find(|link| link.rel == "enclosure").unwrap();
        assert_eq!(media.href, format!("{post}m.mp3"), "{document}");
    }
    // If the entry has no link, the site is the base, and without a site the feed's address.
    let of_site =
        rss("<description>&lt;img src=w.png></description>").replace(".example/<", ".example/s/<");
    assert_eq!(
        read(&of_site).entries[0].content.as_deref(),
        Some("<img src=\"http://site.example/s/w.png\">")
    );
    let of_feed = of_site.replace("<link>http://site.example/s/</link>", "");
    assert_eq!(
        read(&of_feed).entries[0].content.as_deref(),
        Some("<img src=\"http://site.example/w.png\">")
    );
}

#[test]
fn the_link_to_a_page_is_preferred_among_several_links() {
    let page = "<link rel=\"alternate\" type=\"text/html\" href=\"http://h/1\"/>";
    let json = "<link rel=\"alternate\" type=\"application/json\" href=\"http://h/1.json\"/>";
    let others = "<link rel=\"edit\" href=\"http://h/e\"/><link rel=\"via\" href=\"http://other.example/\"/>";
    for (links, link) in [
        (format!("{others}{json}{page}"), "http://h/1"),
        (format!("{page}{json}"), "http://h/1"),
        (format!("{json}{others}<link href=\"http://h/2\"/>"), "http://h/2"),
        (format!("{others}{json}"), "http://h/1.json"),
        ("<link rel=\"http://www.iana.org/assignments/relation/alternate\" href=\"http://h/3\"/>".to_owned(), "http://h/3"),
    ] {
        assert_eq!(read(&atom(&links)).entries[0].link(), Some(link), "{links}");
    }
}

#[test]
fn media_and_podcast_modules_are_part_of_an_article() {
    let group = "<title>Vid</title><link href=\"https://h/watch\"/><media:group><media:content url=\"https://h/v\" type=\"video/mp4\" \
                 duration=\"61\" fileSize=\"7\"/><media:thumbnail url=\"https://h/t.jpg\"/><media:description>Line one\nLine \
                 two https://x.example/</media:description></media:group>";
    let feed = read(&atom(group));
    let entry = &feed.entries[0];
    assert_eq!(entry.content.as_deref(), Some("Line one\nLine two https://x.example/"));
    assert_eq!(entry.content_type, ContentType::Text);
    let [_, video, thumbnail] = &entry.links[..] else { panic!("{:?}", entry.links) };
    assert_eq!((&*video.href, video.length, video.duration), ("https://h/v", Some(7), Some(61)));
    assert_eq!(
        (&*thumbnail.href, thumbnail.media_type.as_deref()),
        ("https://h/t.jpg", Some("image/*"))
    );

    let podcast = rss(
        "<title>a</title><enclosure url=\"a.mp3\" type=\"audio/mpeg\" length=\"9\"/><itunes:summary>Long</itunes:summary>\
         <itunes:subtitle>Short</itunes:subtitle><itunes:duration>1:02:03</itunes:duration><itunes:author>n</itunes:author>\
         <itunes:image href=\"i.png\"/>",
    );
    let entry = read(&podcast).entries.remove(0);
    assert_eq!(entry.content.as_deref(), Some("Long"));
    assert_eq!(entry.links[0].duration, Some(3_723));
    assert_eq!(entry.links[1].href, "http://site.example/i.png");
    assert_eq!(entry.author.unwrap().name.as_deref(), Some("n"));
    let own = rss("<description>own</description><itunes:summary>other</itunes:summary>");
    assert_eq!(read(&own).entries[0].content.as_deref(), Some("own"));
}

#[test]
fn dates_of_either_format_are_read_in_the_other() {
    let of_atom = atom("<title>a</title><pubDate>Fri, 28 May 2021 14:00:00 GMT</pubDate>");
    let of_rss = rss("<title>a</title><pubDate>2021-05-28T14:00:00Z</pubDate>");
    let of_dublin =
        rss("<title>a</title><dc:date>28 mai 2021 14h00</dc:date><pubDate>soon</pubDate>");
    for document in [of_atom, of_rss, of_dublin] {
        let published = read(&document).entries[0].published.unwrap();
        assert_eq!(published.to_string(), "2021-05-28T14:00:00Z", "{document}");
    }
}
