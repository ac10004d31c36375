//! Media RSS, iTunes and FeedBurner in entries.

use feedsync_core::{Format, Payload};

use crate::entry::{ContentType, Entry, Link, Person, shown};

fn item(inside: &str) -> Entry {
    let text = format!(
        "<item xmlns:m='http://search.yahoo.com/mrss/' xmlns:n='http://search.yahoo.com/mrss' \
         xmlns:i='http://www.itunes.com/DTDs/Podcast-1.0.dtd' xmlns:x='urn:x' \
         xmlns:f='http://rssnamespace.org/feedburner/ext/1.0' xml:base='http://h/'>{inside}</item>"
    );
    shown(&Payload::from_parsed(Format::Rss, text), &[])
}

fn enclosure(href: &str, media_type: &str) -> Link {
    let media_type = Some(media_type.to_owned()).filter(|it| !it.is_empty());
    Link { media_type, ..Link::new("enclosure", href) }
}

#[test]
fn media_have_types_lengths_and_durations() {
    let entry = item(
        "<m:content url='a' type='audio/mpeg' medium='video' fileSize='7' duration='1:01'>\
         <m:thumbnail url='t'/></m:content><n:content url='b' medium='video' fileSize='x'/>\
         <m:content url='c' medium='image'/><m:content url='d' medium='audio'/>\
         <m:content url='e' medium='document'/><m:content/><m:thumbnail/>\
         <i:image href='u'/><x:content url='f'/><m:group url='g'><m:content url='h'/></m:group>",
    );
    let first =
        Link { length: Some(7), duration: Some(61), ..enclosure("http://h/a", "audio/mpeg") };
    let more = [
        ("b", "video/*"),
        ("c", "image/*"),
        ("d", "audio/*"),
        ("e", ""),
        ("h", ""),
        ("t", "image/*"),
        ("u", "image/*"),
    ];
    let more = more.map(|(href, media_type)| enclosure(&format!("http://h/{href}"), media_type));
    assert_eq!(entry.links, [&[first][..], &more[..]].concat());
}

#[test]
fn media_of_an_entry_are_named_once_and_nest_and_number_to_a_maximum() {
    let entry = item(
        "<enclosure url='a' type='audio/mpeg' length='3'/><m:content url='a' duration='5'/>\
         <m:content url='a' duration='6'/><m:content url='b'/><m:content url='b'/>",
    );
    let first =
        Link { length: Some(3), duration: Some(5), ..enclosure("http://h/a", "audio/mpeg") };
    assert_eq!(entry.links, [first, enclosure("http://h/b", "")]);
    let nested = |depth: usize| {
        let (start, end) = ("<m:group>".repeat(depth), "</m:group>".repeat(depth));
        item(&format!("{start}<m:content url='a'/>{end}")).links.len()
    };
    assert_eq!([nested(0), nested(3), nested(4), nested(5)], [1, 1, 0, 0]);
    let many = |count: usize| {
        let all = (0..count).map(|number| format!("<m:content url='{number}'/>"));
        item(&all.collect::<String>()).links.len()
    };
    assert_eq!([many(99), many(100), many(101)], [99, 100, 100]);
}

#[test]
fn the_duration_of_itunes_is_that_of_the_first_medium_that_is_no_picture() {
    for (duration, seconds) in [
        ("90", Some(90)),
        ("1:30", Some(90)),
        (" 01 : 01:30.9 ", Some(3_690)),
        ("1", Some(1)),
        ("0", None),
        ("0:00", None),
        ("0:0:1:0", None),
        ("1:x", None),
        ("99999999999", None),
        ("99999999:0:0", None),
    ] {
        let entry = item(&format!(
            "<m:content url='p' type='image/png'/><m:content url='a'/><m:content url='b'/>\
             <i:duration>{duration}</i:duration>"
        ));
        let durations: Vec<_> = entry.links.iter().map(|link| link.duration).collect();
        assert_eq!(durations, [None, seconds, None], "{duration}");
    }
    let own = item("<m:content url='a' duration='7'/><i:duration>8</i:duration>");
    assert_eq!(own.links[0].duration, Some(7));
}

#[test]
fn title_author_and_text_of_the_modules_count_where_the_entry_has_none() {
    let entry = item(
        "<m:title>T</m:title><i:title>U</i:title><m:credit>A</m:credit><i:author>B</i:author>\
         <m:description type='html'>&lt;a href='x'>d&lt;/a></m:description>\
         <m:text>e</m:text><i:summary>s</i:summary>",
    );
    assert_eq!(entry.title.as_deref(), Some("T"));
    let author = Person { name: Some("A".to_owned()), ..Person::default() };
    assert_eq!(entry.author, Some(author));
    assert_eq!(entry.content.as_deref(), Some("<a href='http://h/x'>d</a>"));
    assert_eq!((entry.content_type, entry.summary), (ContentType::Html, None));
    let first = item(
        "<i:title>U</i:title><m:title>T</m:title><i:author>B</i:author><m:credit>A</m:credit>",
    );
    assert_eq!(first.title.as_deref(), Some("U"));
    assert_eq!(first.author.unwrap().name.as_deref(), Some("B"));
    let own = item(
        "<title>O</title><author>o@h (O)</author><description>o</description><m:title>T</m:title>\
         <m:credit>A</m:credit><m:text>t</m:text>",
    );
    assert_eq!(own.title.as_deref(), Some("O"));
    assert_eq!(own.author.unwrap().name.as_deref(), Some("O"));
    assert_eq!(own.content.as_deref(), Some("o"));
    for (inside, content) in [
        ("<m:text>&lt;b>t</m:text>", "<b>t"),
        ("<m:text type='plain'>t</m:text><m:text>u</m:text>", "t"),
        ("<m:text type='a/b'>t</m:text>", "t"),
        ("<m:description/><m:text>u</m:text>", "u"),
        ("<i:subtitle>s</i:subtitle><i:summary>t</i:summary>", "t"),
        ("<i:summary>t</i:summary><i:subtitle>s</i:subtitle>", "t"),
        ("<i:summary/><i:subtitle>s</i:subtitle><i:subtitle>u</i:subtitle>", "s"),
    ] {
        let entry = item(inside);
        assert_eq!(entry.content.as_deref(), Some(content), "{inside}");
        assert_eq!(entry.content_type, ContentType::Text, "{inside}");
    }
    assert_eq!(item("<x:title>x</x:title><x:text>x</x:text>").content, None);
}

#[test]
fn the_link_that_feedburner_replaced_is_the_link_of_the_entry() {
    for (original, link) in [
        ("https://o/1", "https://o/1"),
        ("HTTP://o/1", "HTTP://o/1"),
        ("/1", "http://h/own"),
        ("ftp://o/1", "http://h/own"),
        ("", "http://h/own"),
    ] {
        let entry = item(&format!("<link>/own</link><f:origLink>{original}</f:origLink>"));
        assert_eq!(entry.link(), Some(link), "{original}");
    }
    let entry = item("<f:other>http://o/1</f:other><x:origLink>http://o/2</x:origLink>");
    assert_eq!(entry.link(), None);
    let two = item("<f:origLink>http://o/1</f:origLink><f:origLink>http://o/2</f:origLink>");
    assert_eq!(two.link(), Some("http://o/1"));
}
