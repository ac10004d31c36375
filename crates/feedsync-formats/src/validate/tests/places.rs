//! Each element is inserted at each position, and exactly the wrong positions are reported.

use crate::diagnostic::{Position, Severity};
use crate::validate::validate;

/// A document of each shape. `[name]` marks a position.
const HOSTS: [(&str, &str); 5] = [
    (
        "atom",
        "<feed xmlns='http://www.w3.org/2005/Atom' {ns}>[feed]<title>t[foreign]</title>\
         <entry><id>urn:x:1</id>[item]<x:a xmlns:x='urn:x'>[foreign]</x:a>\
         <content type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'>[foreign]</div></content>\
         <source>[source]</source></entry><entry><fs:sync id='i' updates='1'>[fs sync]\
         <fs:history sequence='1' when='2007-01-01T00:00:00Z' by='a'>[fs history]</fs:history>\
         </fs:sync></entry><entry><fs:sync id='j' updates='1'>\
         <fs:history sequence='1' when='2007-01-01T00:00:00Z' by='a'/>\
         <fs:conflicts>[fs conflicts]<entry>[version]</entry><x:a xmlns:x='urn:x'>[foreign]</x:a></fs:conflicts></fs:sync></entry>{more}\
         <x:entry xmlns:x='urn:x'>[foreign]</x:entry></feed>",
    ),
    (
        "rss",
        "<rss version='2.0' {ns}>[root]<channel>[feed]<title>t[foreign]</title><item>[item]\
         <description>[foreign]</description></item><item><fs:sync id='i' updates='1'>[fs sync]\
         <fs:history sequence='1' when='2007-01-01T00:00:00Z' by='a'>[fs history]</fs:history>\
         </fs:sync></item><item><fs:sync id='j' updates='1'>\
         <fs:history sequence='1' when='2007-01-01T00:00:00Z' by='a'/>\
         <fs:conflicts>[fs conflicts]<item>[version]</item><x>[foreign]</x></fs:conflicts></fs:sync></item>{more}\
         <item>{sse}</item></channel><x>[foreign]<item>[foreign]</item></x></rss>",
    ),
    (
        "opml",
        "<opml version='2.0' {ns}>[root]<head>[feed]<title>t[foreign]</title></head><body>[root]\
         <outline text='a'>[item]<outline text='b'>[item]</outline></outline>\
         <outline text='c'><fs:sync id='i' updates='1'>[fs sync]\
         <fs:history sequence='1' when='2007-01-01T00:00:00Z' by='a'>[fs history]</fs:history>\
         </fs:sync></outline><outline text='d'><fs:sync id='j' updates='1'>\
         <fs:history sequence='1' when='2007-01-01T00:00:00Z' by='a'/><fs:conflicts>[fs conflicts]\
         <x>[foreign]</x><outline text='e'>[version]<outline text='f'>[foreign]</outline></outline></fs:conflicts>\
         </fs:sync></outline><outline text='g'>{sse}</outline>\
         <x:outline xmlns:x='urn:x'>[foreign]</x:outline></body>\
         <x>[foreign]<outline text='h'>[foreign]</outline></x></opml>",
    ),
    (
        "pox",
        "<tasks {ns}>[feed]<task>[item]<name>[foreign]</name></task>\
         <task><fs:sync id='i' updates='1'>[fs sync]\
         <fs:history sequence='1' when='2007-01-01T00:00:00Z' by='a'>[fs history]</fs:history>\
         </fs:sync></task><task><fs:sync id='j' updates='1'>\
         <fs:history sequence='1' when='2007-01-01T00:00:00Z' by='a'/>\
         <fs:conflicts>[fs conflicts]<note>[version]</note></fs:conflicts></fs:sync></task>{more}</tasks>",
    ),
    (
        "entry",
        "<entry xmlns='http://www.w3.org/2005/Atom' {ns}>[item]<id>urn:x:1[foreign]</id>\
         <source>[source]</source>{more}</entry>",
    ),
];

const NAMESPACES: &str = "xmlns:fs='http://feedsync.org/2007/feedsync' \
     xmlns:ss='http://www.microsoft.com/schemas/rss/sse' xmlns:app='http://www.w3.org/2007/app'";

/// Elements for the feed, and an `sx:sync` for an item that takes part in SSE.
const SHARING: &str = "<fs:sharing>[fs sharing]<fs:related link='http://h/' type='complete'>\
     [fs related]</fs:related></fs:sharing>";
const SSE: &str = "<ss:sync id='k' version='2'>[ss sync]\
     <ss:history when='Sat, 21 May 2005 09:43:33 GMT' by='A'>[ss history]\
     <ss:update when='Sat, 21 May 2005 09:43:33 GMT' by='A'>[ss update]</ss:update></ss:history>\
     <ss:conflicts>[ss conflicts]\
     <ss:conflict version='1' when='Sat, 21 May 2005 09:43:33 GMT' by='A'>[ss conflict]\
     {lost}<x:a xmlns:x='urn:x'>[foreign]</x:a></ss:conflict></ss:conflicts></ss:sync>";

/// Each element, and its positions according to the specifications.
const ELEMENTS: [(&str, &[&str]); 15] = [
    ("<fs:sharing/>", &["feed"]),
    ("<fs:related link='http://h/' type='complete'/>", &["fs sharing"]),
    (
        "<fs:sync id='n' updates='1'><fs:history sequence='1' when='2007-01-01T00:00:00Z' by='a'/></fs:sync>",
        &["item", "version"],
    ),
    ("<fs:history sequence='1' when='2007-01-01T00:00:00Z' by='a'/>", &["fs sync"]),
    ("<fs:conflicts/>", &["fs sync"]),
    ("<ss:sharing version='0.91'/>", &["feed"]),
    ("<ss:related link='http://h/' type='complete'/>", &["ss sharing"]),
    (
        "<ss:sync id='n' version='1'><ss:history when='Sat, 21 May 2005 09:43:33 GMT' by='A'/></ss:sync>",
        &["item", "lost"],
    ),
    ("<ss:history when='Sat, 21 May 2005 09:43:33 GMT' by='A'/>", &["ss sync"]),
    ("<ss:update when='Sat, 21 May 2005 09:43:33 GMT' by='A'/>", &["ss history"]),
    ("<ss:conflicts/>", &["ss sync"]),
    ("<ss:conflict version='1' when='Sat, 21 May 2005 09:43:33 GMT' by='A'/>", &["ss conflicts"]),
    ("<app:draft>no</app:draft>", &["app control"]),
    ("<app:accept/>", &["app collection"]),
    ("<app:workspace/>", &["app service"]),
];

/// Returns a document with the additional elements of its shape, with its positions still marked.
fn host(shape: &str, template: &str) -> String {
    let template = template.replace("{ns}", NAMESPACES);
    let template = match shape {
        "rss" => template.replace("{sse}", &SSE.replace("{lost}", "<item>[lost]</item>")),
        "opml" => template.replace("{sse}", &SSE.replace("{lost}", "<outline>[lost]</outline>")),
        _ => template,
    };
    let more = match shape {
        "entry" => String::new(),
        "atom" => {
            "<app:collection href='http://h/c'><title>c</title>[app collection]</app:collection>\
                   <entry><app:control>[app control]</app:control></entry>"
                .to_owned()
        }
        _ => String::new(),
    };
    let feed = match shape {
        "rss" | "opml" => {
            "[feed]".to_owned() + "<ss:sharing version='0.91'>[ss sharing]</ss:sharing>"
        }
        _ => "[feed]".to_owned(),
    };
    template.replace("{more}", &more).replace("[feed]", &feed)
}

/// Returns each position of a document: its name, the document with the text inserted there, and
/// the offset.
fn at_each_place(host: &str, inserted: &str) -> Vec<(String, String, usize)> {
    let mut all = Vec::new();
    for (index, (open, _)) in host.match_indices('[').enumerate() {
        let name = host[open + 1..].split(']').next().unwrap_or_default().to_owned();
        let mut text = String::new();
        let mut at = 0;
        for (place, part) in host.split('[').enumerate() {
            let rest = if place == 0 { part } else { part.split_once(']').unwrap().1 };
            if place == index + 1 {
                text.push('\n');
                at = text.len();
                text.push_str(inserted);
            }
            text.push_str(rest);
        }
        all.push((name, text, at));
    }
    all
}

#[test]
fn each_element_is_reported_exactly_where_it_does_not_belong() {
    let mut checked = 0;
    let hosts = HOSTS.map(|(shape, template)| (shape, host(shape, template)));
    let sharing = hosts.clone().map(|(shape, host)| {
        (shape, if shape == "entry" { host } else { host.replacen("[feed]", SHARING, 1) })
    });
    for (shape, host) in hosts.into_iter().chain(sharing) {
        for (element, places) in ELEMENTS {
            for (place, text, at) in at_each_place(&host, element) {
                let is_sse = element.starts_with("<ss:");
                // SSE elements are allowed only in SSE documents or SSE elements.
                let is_right = places.contains(&&*place)
                    && (!is_sse || matches!(shape, "rss" | "opml") || place.starts_with("ss"));
                let position = Position::of(&text, at);
                let misplaced: Vec<_> = validate(text.as_bytes())
                    .findings
                    .into_iter()
                    .filter(|it| {
                        it.message.contains(" stands in ")
                            || it.message.contains("which is not an item")
                            || it.message.contains("SSE 0.91 extends")
                    })
                    .collect();
                let expected = if is_right { 0 } else { 1 };
                assert_eq!(
                    misplaced.len(),
                    expected,
                    "{element} in {place}: {misplaced:#?}\n{text}"
                );
                for found in misplaced {
                    assert_eq!(found.position, position, "{element} in {place}\n{text}");
                    let is_warning = element.starts_with("<app:") && place == "foreign";
                    let severity = if is_warning { Severity::Warning } else { Severity::Fault };
                    assert_eq!(found.severity, severity, "{found} in {place}");
                }
                checked += 1;
            }
        }
    }
    assert!(checked > 1_000, "{checked}");
}

#[test]
fn a_second_element_is_reported_where_one_is_allowed() {
    let count = |text: &str| {
        let all = validate(text.as_bytes()).findings;
        all.into_iter().filter(|it| it.message.contains("second sx:")).collect::<Vec<_>>()
    };
    let fs = "http://feedsync.org/2007/feedsync";
    let sse = "http://www.microsoft.com/schemas/rss/sse";
    for (namespace, wrap, once) in [
        (
            fs,
            "<item>@</item>",
            "<sx:sync id='i' updates='1'><sx:history sequence='1' by='a'/></sx:sync>",
        ),
        (
            fs,
            "<item><sx:sync id='i' updates='1'><sx:history sequence='1' by='a'/>@</sx:sync></item>",
            "<sx:conflicts/>",
        ),
        (fs, "@", "<sx:sharing/>"),
        (sse, "@", "<sx:sharing version='0.91'/>"),
        (sse, "<item>@</item>", "<sx:sync id='i' version='1'><sx:history by='a'/></sx:sync>"),
        (sse, "<item><sx:sync id='i' version='1'>@</sx:sync></item>", "<sx:history by='a'/>"),
        (
            sse,
            "<item><sx:sync id='i' version='1'><sx:history by='a'/>@</sx:sync></item>",
            "<sx:conflicts><sx:conflict version='1' by='b'/></sx:conflicts>",
        ),
    ] {
        let feed = |inside: &str| {
            let wrapped = wrap.replace('@', inside);
            format!("<rss version='2.0' xmlns:sx='{namespace}'><channel>{wrapped}</channel></rss>")
        };
        assert_eq!(count(&feed(once)), [], "{once}");
        let twice = feed(&format!("{once}\n{once}"));
        let found = count(&twice);
        assert_eq!(found.len(), 1, "{once}: {found:#?}");
        assert_eq!(
            (found[0].position, found[0].severity),
            (Position { line: 2, column: 1 }, Severity::Fault)
        );
    }
}

#[test]
fn a_feed_in_content_is_another_document() {
    let sync = "<sx:sync id='i' updates='1'><sx:history sequence='1' when='2007-01-01T00:00:00Z' by='a'/></sx:sync>";
    let feed = |kind: &str| {
        format!(
            "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:sx='http://feedsync.org/2007/feedsync'>\
             <entry><content type='{kind}'><feed><entry>{sync}</entry></feed></content></entry></feed>"
        )
    };
    for (kind, severity) in [
        ("application/atom+xml", Severity::Warning),
        ("xhtml", Severity::Fault),
        ("text", Severity::Fault),
        (" Text/XML ", Severity::Warning),
    ] {
        let found = validate(feed(kind).as_bytes()).findings;
        let found: Vec<_> = found.iter().map(|it| it.severity).collect();
        // The history is at its right position, in its sx:sync.
        assert_eq!(found, [severity], "{kind}");
    }
    // Other elements with such a type contain no document.
    let content = format!("<content type='{}'>", "application/atom+xml");
    for other in [
        "<content xmlns:x='urn:x' x:type='a/xml'>",
        "<link href='l' type='a/xml'>",
        "<x:content xmlns:x='urn:x' type='a/xml'>",
    ] {
        let name = other[1..].split(' ').next().unwrap_or_default();
        let text = feed("application/atom+xml")
            .replace(&content, other)
            .replace("</content>", &format!("</{name}>"));
        let found = validate(text.as_bytes()).findings;
        let found: Vec<_> =
            found.into_iter().filter(|it| it.message.contains(" stands in ")).collect();
        assert!(matches!(&found[..], [one] if one.severity == Severity::Fault), "{found:#?}");
    }
}

#[test]
fn a_misplaced_element_and_its_parent_are_named_with_their_vocabularies_where_these_differ() {
    let sse = "http://www.microsoft.com/schemas/rss/sse";
    let found = |inside: &str| {
        let text = format!(
            "<rss xmlns:f='http://feedsync.org/2007/feedsync' xmlns:s='{sse}'><channel><item>\
             <s:sync id='a' version='1'>{inside}<s:history by='a' when='21 May 2005 09:43:33 GMT'/>\
             </s:sync></item></channel></rss>"
        );
        super::faults(&text).into_iter().find(|it| it.contains(" stands in ")).unwrap()
    };
    let foreign = found("<f:sharing/>");
    assert!(foreign.contains("f:sharing of FeedSync stands in s:sync of SSE"), "{foreign}");
    let own = found("<s:sharing version='0.91'/>");
    assert!(own.contains("s:sharing stands in s:sync, where"), "{own}");
}

#[test]
fn a_misplaced_element_names_its_item_and_costs_one_fault_with_all_in_it() {
    let text = "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:sx='http://feedsync.org/2007/feedsync'>\
         <entry>\n<sx:conflicts><entry><sx:sync id='i' updates='1'>\
         <sx:history sequence='1' when='2007-01-01T00:00:00Z' by='a'/></sx:sync></entry></sx:conflicts>\
         <sx:sync id='i' updates='1'><sx:history sequence='1' when='2007-01-01T00:00:00Z' by='a'/></sx:sync>\
         </entry></feed>";
    let found = super::findings(text);
    let expected = "2:1: fault: item \"i\": sx:conflicts stands in entry, where it has no effect; \
                    its place is sx:sync (FeedSync 2.6)";
    assert_eq!(found, [expected]);
    let other_order =
        text.replace("id='i' updates='1'", "updates='1' x:id='z' xmlns:x='urn:x' id='i'");
    assert_eq!(super::findings(&other_order), [expected]);
    // Readers ignore it, also in strict mode.
    let options = crate::ReadOptions::strict();
    let reading = crate::read(text.as_bytes(), None, &options).unwrap();
    assert_eq!(
        (reading.feed.items.len(), reading.diagnostics, reading.refused),
        (1, vec![], vec![])
    );
}
