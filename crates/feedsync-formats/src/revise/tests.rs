//! A revision changes the named fields and nothing else.

use feedsync_core::{Format, Payload};

use super::{ReviseError, Revision, revise};
use crate::entry::{ContentType, entry};

fn change(title: Option<&str>, content: Option<&str>) -> Revision {
    Revision {
        title: title.map(str::to_owned),
        content: content.map(str::to_owned),
        ..Revision::default()
    }
}

fn dated() -> Revision {
    Revision {
        updated: "2026-01-02T03:04:05Z".parse().ok(),
        ..change(Some("N & <n>"), Some("new\n\"text\""))
    }
}

#[test]
fn only_what_is_revised_changes() {
    for (format, before, after) in [
        (
            Format::Atom,
            "<entry xmlns=\"http://www.w3.org/2005/Atom\"><!-- a --> <x:y xmlns:x='u' />\n\
             <title type=\"html\" xml:lang='de'>&lt;b&gt;</title><updated>2005-05-21T09:43:33Z </updated>\
             <content src='a' type='image/png'/><title xmlns=\"\">other</title></entry>",
            "<entry xmlns=\"http://www.w3.org/2005/Atom\"><!-- a --> <x:y xmlns:x='u' />\n\
             <title type=\"text\" xml:lang='de'>N &amp; &lt;n&gt;</title><updated>2026-01-02T03:04:05Z</updated>\
             <content type='text'>new\n\"text\"</content><title xmlns=\"\">other</title></entry>",
        ),
        (
            Format::Atom,
            "<a:entry xmlns:a=\"http://www.w3.org/2005/Atom\">\n  <a:id>i</a:id>\n</a:entry>",
            "<a:entry xmlns:a=\"http://www.w3.org/2005/Atom\">\n  <a:id>i</a:id>\n  \
             <a:title>N &amp; &lt;n&gt;</a:title>\n  <a:content>new\n\"text\"</a:content>\n  \
             <a:updated>2026-01-02T03:04:05Z</a:updated>\n</a:entry>",
        ),
        (
            Format::Rss,
            "<item><pubDate>x</pubDate><title><![CDATA[a]]></title><description>d</description></item>",
            "<item><pubDate>x</pubDate><title>N &#x26; &#x3C;n&gt;</title>\
             <description>new\n\"text\"</description></item>",
        ),
        (
            Format::Rss,
            "<item xmlns:c=\"http://purl.org/rss/1.0/modules/content/\" xmlns:a=\"http://www.w3.org/2005/Atom\">\
             <description>d</description><c:encoded/><a:updated>x</a:updated></item>",
            "<item xmlns:c=\"http://purl.org/rss/1.0/modules/content/\" xmlns:a=\"http://www.w3.org/2005/Atom\">\
             <description>d</description><c:encoded>new\n\"text\"</c:encoded>\
             <a:updated>2026-01-02T03:04:05Z</a:updated><title>N &#x26; &#x3C;n&gt;</title></item>",
        ),
        (
            Format::Rss,
            "<item/>",
            "<item><title>N &#x26; &#x3C;n&gt;</title><description>new\n\"text\"</description></item>",
        ),
        (
            Format::Opml,
            "<outline x='1' text='old' title='old' ><a/></outline>",
            "<outline x='1' text='N &amp; &lt;n&gt;' title='N &amp; &lt;n&gt;' \
             description=\"new&#10;&quot;text&quot;\" ><a/></outline>",
        ),
        (
            Format::Opml,
            "<outline text=\"a\" title=\"b\" _note=\"n\" description=\"d\"/>",
            "<outline text=\"N &amp; &lt;n&gt;\" title=\"b\" _note=\"new&#10;&quot;text&quot;\" description=\"d\"/>",
        ),
        (
            Format::Pox,
            "<item>\n<subject type='main'>a</subject>\n<body type='note'>b<br/></body><modified/></item>",
            "<item>\n<subject type='main'>N &amp; &lt;n&gt;</subject>\n\
             <body type='note'>new\n\"text\"</body><modified>2026-01-02T03:04:05Z</modified></item>",
        ),
        (
            Format::Json,
            "{ \"x\" : 1.50, \"subject\":null , \"body\" : [1], \"updated\":\"\" ,\"y\":{} }",
            "{ \"x\" : 1.50, \"subject\":\"N & <n>\" , \"body\" : \"new\\n\\\"text\\\"\", \
             \"updated\":\"2026-01-02T03:04:05Z\" ,\"y\":{} }",
        ),
        (
            Format::Json,
            "{\n \"x\": 1\n}",
            "{\n \"x\": 1,\n \"title\":\"N & <n>\",\n \"content\":\"new\\n\\\"text\\\"\"\n}",
        ),
    ] {
        let payload = Payload::from_parsed(format, before);
        let revised = revise(&payload, &dated()).unwrap();
        assert_eq!(revised.text(), after);
        let view = entry(&revised);
        assert_eq!(view.title.as_deref(), Some("N & <n>"), "{after}");
        assert_eq!(
            (view.content.as_deref(), view.content_type),
            (Some("new\n\"text\""), ContentType::Text)
        );
        assert_eq!(revise(&revised, &dated()).unwrap(), revised);
        assert_eq!(revise(&payload, &Revision::default()).unwrap(), payload);
    }
}

#[test]
fn the_type_of_the_content_is_revised_with_it() {
    for format in Format::ALL {
        let payload = crate::compose(format, &crate::Entry::default());
        for (kind, text, shown) in [
            (ContentType::Html, "<p>a &amp; b</p>", "a & b"),
            (ContentType::Xhtml, "<p>a</p>", "a"),
            (ContentType::Text, "<p>", "<p>"),
        ] {
            let revision = Revision { content_type: kind, ..change(None, Some(text)) };
            let view = entry(&revise(&payload, &revision).unwrap());
            assert_eq!(view.plain_content().as_deref(), Some(shown), "{format}");
        }
        let png = ContentType::Other("image/png".into());
        let picture = Revision { content_type: png, ..change(None, Some("iVBO")) };
        let revised = revise(&payload, &picture);
        let has_no_place = matches!(revised, Err(ReviseError::ContentType { .. }));
        assert_eq!(has_no_place, matches!(format, Format::Rss | Format::Opml));
    }
}

#[test]
fn text_of_plain_xml_replaces_content_of_another_type() {
    for kind in ["html", "xhtml", "text", "note", "a/b"] {
        let before = format!("<item><content type='{kind}'>b</content></item>");
        let revised =
            revise(&Payload::from_parsed(Format::Pox, before), &change(None, Some("<p>"))).unwrap();
        let view = entry(&revised);
        assert_eq!(view.content.as_deref(), Some("<p>"), "{kind}");
        assert_eq!(view.content_type, ContentType::Text, "{kind}");
    }
}

#[test]
fn revisions_of_invalid_payloads_and_with_invalid_characters_are_refused() {
    for format in Format::ALL {
        let payload = crate::compose(format, &crate::Entry::default());
        let bell = revise(&payload, &change(Some("a\u{7}"), None));
        match format {
            Format::Json => assert_eq!(entry(&bell.unwrap()).title.as_deref(), Some("a\u{7}")),
            _ => assert_eq!(
                bell.unwrap_err().to_string(),
                "the title contains U+0007, which is not allowed in XML"
            ),
        }
        for broken in ["", "<a", "{", "[1]", "<a></b>"] {
            let broken = revise(&Payload::from_parsed(format, broken), &change(Some("x"), None));
            assert!(matches!(broken, Err(ReviseError::Payload(_))), "{format} {broken:?}");
        }
    }
}

#[test]
fn foreign_markup_of_sync_stays_with_the_payload() {
    let mut payload = Payload::from_parsed(Format::Json, "{}");
    payload = payload.clone().with_sync_foreign(Some("\"x\":1"));
    let revised = revise(&payload, &change(Some("t"), None)).unwrap();
    assert_eq!(revised.sync_foreign(), payload.sync_foreign());
}
