//! Tests of the mapping that `docs/mapping.md` defines for each format.

use feedsync_core::{Format, Payload};

use super::compose;
use crate::entry::{ALTERNATE, Category, ContentType, ENCLOSURE, Entry, FEED, Link, Person, entry};
use crate::json::check;
use crate::options::{Limits, Mode};
use crate::xml::{Namespace, Tree};

fn full() -> Entry {
    let some = |text: &str| Some(text.to_owned());
    Entry {
        id: some("urn:x:1"),
        title: some("Milk & <eggs>"),
        content: some("Get \"milk\" & eggs < 3\n\tsoon"),
        content_type: ContentType::Text,
        summary: some("short & sweet"),
        author: Some(Person {
            name: some("Ray O'Zzie"),
            email: some("ray@h"),
            uri: some("http://h/r"),
        }),
        published: "2005-05-21T09:43:33Z".parse().ok(),
        updated: "2006-01-02T03:04:05Z".parse().ok(),
        links: vec![
            Link::new(ALTERNATE, "http://h/?a=1&b=2"),
            Link {
                media_type: some("audio/mpeg"),
                length: Some(5),
                ..Link::new(ENCLOSURE, "http://h/a.mp3")
            },
            Link { title: some("the \"feed\""), ..Link::new(FEED, "http://h/feed") },
        ],
        categories: vec![
            Category { term: "food".into(), scheme: some("urn:s"), label: some("Food") },
            Category { term: "home".into(), ..Category::default() },
        ],
    }
}

/// Reduces an entry to the fields that a format can hold.
fn held(format: Format, mut entry: Entry) -> Entry {
    match format {
        Format::Atom | Format::Json | Format::Pox => {}
        Format::Rss => {
            if let Some(author) = &mut entry.author {
                author.uri = None;
            }
            entry.links.retain(|link| link.rel == ALTERNATE || link.rel == ENCLOSURE);
            entry.links.iter_mut().for_each(|link| link.title = None);
            entry.categories.iter_mut().for_each(|category| category.label = None);
        }
        Format::Opml => {
            entry.id = None;
            entry.author = None;
            entry.updated = None;
            entry.links = vec![
                Link {
                    media_type: Some("application/rss+xml".into()),
                    ..Link::new(FEED, "http://h/feed")
                },
                Link::new(ALTERNATE, "http://h/?a=1&b=2"),
            ];
            for category in &mut entry.categories {
                *category = Category { term: category.term.clone(), ..Category::default() };
            }
        }
    }
    entry
}

#[test]
fn every_field_is_held_or_left_out_as_the_mapping_says() {
    for format in Format::ALL {
        assert_eq!(entry(&compose(format, &full())), held(format, full()), "{format}");
    }
}

#[test]
fn content_of_every_type_is_held_or_left_out_as_the_mapping_says() {
    let html = "<p>a &amp; <b>b</b></p>";
    for (kind, content) in [
        (ContentType::Html, html),
        (ContentType::Xhtml, html),
        (ContentType::Xhtml, "<p>unclosed"),
        (ContentType::Xhtml, "</div><div>"),
        (ContentType::Other("image/png".into()), "iVBORw0KGgo="),
        (ContentType::Other("text/markdown".into()), "*a* < b"),
        (ContentType::Other("image/svg+xml".into()), "<svg xmlns=\"urn:svg\"/>"),
        (ContentType::Other("application/xml".into()), "<a>"),
    ] {
        let given = Entry {
            content: Some(content.into()),
            content_type: kind.clone(),
            title: Some("t".into()),
            ..Entry::default()
        };
        for format in Format::ALL {
            let read = entry(&compose(format, &given));
            let read = (read.content_type, read.content.unwrap_or_default());
            let stands_alone = content == html || content.starts_with("<svg");
            let expected = match (&kind, format) {
                (_, Format::Json) => (kind.clone(), content.to_owned()),
                (ContentType::Xhtml, Format::Atom | Format::Pox) if !stands_alone => {
                    (ContentType::Html, content.to_owned())
                }
                (ContentType::Other(name), Format::Atom | Format::Pox)
                    if name.ends_with("/xml") =>
                {
                    (ContentType::Text, content.to_owned())
                }
                (_, Format::Atom | Format::Pox) => (kind.clone(), content.to_owned()),
                (ContentType::Other(name), _) if !name.starts_with("text/") => {
                    (ContentType::Text, String::new())
                }
                (ContentType::Other(_), _) => (ContentType::Text, content.to_owned()),
                (_, Format::Rss) => (ContentType::Html, content.to_owned()),
                (_, Format::Opml) => (ContentType::Text, crate::markup::plain(content)),
            };
            assert_eq!(read, expected, "{format} {content}");
        }
    }
}

#[test]
fn a_summary_alone_shows_as_content_where_both_share_a_place() {
    let given = Entry { summary: Some("short".into()), ..Entry::default() };
    for format in Format::ALL {
        let read = entry(&compose(format, &given));
        let shared = matches!(format, Format::Rss | Format::Opml);
        let shown = if shared { read.content } else { read.summary };
        assert_eq!(shown.as_deref(), Some("short"), "{format}");
    }
}

#[test]
fn an_author_of_rss_is_an_address_with_a_name_or_a_name_alone() {
    for (name, email, expected) in [
        (Some("Anna"), Some("a@x.org"), "<author>a@x.org (Anna)</author>"),
        (None, Some("a@x.org"), "<author>a@x.org</author>"),
        (Some("Anna"), None, "<dc:creator>Anna</dc:creator>"),
        (Some("A (B)"), Some("a@x.org"), "<author>a@x.org (A (B))</author>"),
        (Some("A)("), Some("a@x.org"), "<dc:creator>A)(</dc:creator>"),
        (Some("Anna"), Some("(a@x.org"), "<dc:creator>Anna</dc:creator>"),
        (None, Some("nobody"), ""),
    ] {
        let [name, email] = [name, email].map(|text| text.map(str::to_owned));
        let author = Some(Person { name: name.clone(), email: email.clone(), uri: None });
        let written = Entry { title: Some("t".to_owned()), author, ..Entry::default() };
        let payload = compose(Format::Rss, &written);
        let (_, rest) = payload.text().split_once("</title>").unwrap();
        assert_eq!(rest, format!("{expected}</item>"));
        let read = entry(&payload).author.unwrap_or_default();
        let held = |what: Option<String>| what.filter(|what| expected.contains(&**what));
        assert_eq!((read.name, read.email), (held(name), held(email)));
    }
}

#[test]
fn a_summary_comes_before_the_content_of_rss() {
    let text = compose(Format::Rss, &full()).shared_text();
    let (description, content) =
        (text.find("<description>").unwrap(), text.find("<content:encoded>").unwrap());
    assert!(description < content, "{text}");
}

#[test]
fn one_enclosure_of_the_web_is_an_enclosure_of_rss_and_the_others_are_links() {
    let enclosure = |href| Link::new(ENCLOSURE, href);
    let given = Entry {
        title: Some("t".into()),
        links: vec![
            enclosure("ftp://h/a"),
            Link { media_type: Some("audio/ogg".into()), ..enclosure("HTTPS://h/b") },
            Link { length: Some(7), title: Some("c".into()), ..enclosure("http://h/c") },
            enclosure("relative"),
        ],
        ..Entry::default()
    };
    let text = compose(Format::Rss, &given).shared_text();
    let (_, rest) = text.split_once("</title>").unwrap();
    assert_eq!(
        rest,
        "<enclosure url=\"HTTPS://h/b\" length=\"0\" type=\"audio/ogg\"/>\
         <atom:link rel=\"enclosure\" href=\"ftp://h/a\"/>\
         <atom:link rel=\"enclosure\" href=\"http://h/c\" title=\"c\" length=\"7\"/>\
         <atom:link rel=\"enclosure\" href=\"relative\"/></item>"
    );
    let links = entry(&compose(Format::Rss, &given)).links;
    assert_eq!(links.len(), 4);
    assert_eq!(links[2], given.links[2], "a link holds more than an enclosure");
}

#[test]
fn a_title_of_rss_is_text_by_the_profile_and_reads_back_as_it_was() {
    for (title, written) in [
        ("AT&T <b>", "AT&#x26;T &#x3C;b&gt;"),
        ("a &amp; <!-- b", "a &#x26;amp; &#x3C;!-- b"),
        ("plain > \"text\"", "plain &gt; \"text\""),
    ] {
        let given = Entry { title: Some(title.into()), ..Entry::default() };
        let payload = compose(Format::Rss, &given);
        assert_eq!(payload.text(), format!("<item><title>{written}</title></item>"));
        assert_eq!(entry(&payload).title.as_deref(), Some(title));
    }
    for (written, title) in [
        ("AT&amp;T &lt;b&gt;x&lt;/b&gt;", "AT&T x"),
        ("AT&amp;amp;T &#x3C;b", "AT&T <b"),
        ("<![CDATA[&#x26; &amp;]]>", "& &"),
    ] {
        let others =
            Payload::from_parsed(Format::Rss, format!("<item><title>{written}</title></item>"));
        assert_eq!(entry(&others).title.as_deref(), Some(title), "{written}");
    }
}

#[test]
fn an_untitled_item_of_rss_has_no_empty_title_beside_its_description() {
    let entry = Entry { content: Some("text".to_owned()), ..Entry::default() };
    let expected = "<item><description>text</description></item>";
    for title in [None, Some(String::new())] {
        let payload = compose(Format::Rss, &Entry { title, ..entry.clone() });
        assert_eq!(payload.text(), expected);
    }
}

#[test]
fn even_an_empty_entry_is_valid_in_every_format() {
    let atom = compose(Format::Atom, &Entry::default()).shared_text();
    let (tree, _) = Tree::parse(&atom, Mode::Strict, &Limits::default()).unwrap();
    for required in ["id", "title", "updated", "author", "content"] {
        assert!(tree.root().child(Namespace::ATOM, required).is_some(), "{required}");
    }
    let text = |format| compose(format, &Entry::default()).shared_text();
    assert_eq!(&*text(Format::Rss), "<item><title></title></item>");
    assert_eq!(&*text(Format::Opml), "<outline text=\"\"/>");
    assert_eq!(&*text(Format::Pox), "<item><title></title></item>");
    assert_eq!(&*text(Format::Json), "{\"title\":\"\"}");
}

#[test]
fn an_rss_item_has_a_guid_that_is_no_link_and_the_right_weekday() {
    let text = compose(Format::Rss, &full()).shared_text();
    assert!(text.contains("<guid isPermaLink=\"false\">urn:x:1</guid>"), "{text}");
    assert!(text.contains("<pubDate>Sat, 21 May 2005 09:43:33 GMT</pubDate>"), "{text}");
}

#[test]
fn an_atom_id_is_an_iri() {
    for (id, expected) in [
        (Some("http://h/1"), "http://h/1"),
        (Some("tag:h,2005:1"), "tag:h,2005:1"),
        (Some("17 b"), "urn:feedsync:name:17%20b"),
        (None, "urn:feedsync:title:t%C3%A9"),
    ] {
        let given =
            Entry { id: id.map(str::to_owned), title: Some("té".into()), ..Entry::default() };
        assert_eq!(entry(&compose(Format::Atom, &given)).id.as_deref(), Some(expected));
    }
}

#[test]
fn any_text_gives_a_well_formed_payload() {
    let awkward = "]]>\0\u{1}\u{b}\u{fffe}\u{85}\r\n\t\"'<&>\\ {[\u{1f600}";
    let some = || Some(awkward.to_owned());
    let given = Entry {
        id: some(),
        title: some(),
        content: some(),
        summary: some(),
        author: Some(Person { name: some(), email: some(), uri: some() }),
        links: vec![Link { media_type: some(), title: some(), ..Link::new(awkward, awkward) }],
        categories: vec![Category { term: awkward.into(), scheme: some(), label: some() }],
        ..Entry::default()
    };
    for kind in [ContentType::Text, ContentType::Html, ContentType::Other(awkward.into())] {
        let given = Entry { content_type: kind, ..given.clone() };
        for format in Format::ALL {
            let text = compose(format, &given).shared_text();
            match format {
                Format::Json => {
                    assert_eq!(check(&text, 8), Ok(vec![]));
                    assert_eq!(entry(&compose(format, &given)).content.as_deref(), Some(awkward));
                }
                _ => {
                    let parsed = Tree::parse(&text, Mode::Strict, &Limits::default());
                    assert!(parsed.is_ok(), "{text}");
                }
            }
        }
    }
}
