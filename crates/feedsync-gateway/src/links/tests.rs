use feedsync_formats::{Limits, with_addresses};
use proptest::prelude::*;

use super::*;

fn links() -> Links {
    let mounts = [
        "notes=https://example.org/notes/",
        "odd=http://odd.example/a&b/it's/",
        "whole=http://whole.example/",
    ];
    let mounts = mounts.map(|mount| mount.parse().unwrap()).to_vec();
    let origin = "https://example.org/notes/feed".parse().unwrap();
    Links::new("localhost:99", origin, Reachable::new(mounts, Vec::new()))
}

fn written(raw: &str, notation: Notation) -> WrittenAddress<'_> {
    WrittenAddress { raw, notation }
}

/// Checks an address in the document of the origin, the shown one, and the way back.
fn check(notation: Notation, raw: &str, shown: &str) {
    let links = links();
    let found = links.shown(written(raw, notation));
    assert_eq!(found.as_deref().unwrap_or(raw), shown, "{raw}");
    let back = links.original(written(shown, notation));
    assert_eq!(back.as_deref().unwrap_or(shown), raw, "{shown}");
}

#[test]
fn addresses_of_the_origin_and_of_mounts_lead_through_the_gateway() {
    for (raw, shown) in [
        ("https://example.org/notes/", "http://localhost:99/notes/"),
        ("https://example.org/notes/1?a=%2f&amp;b#c", "http://localhost:99/notes/1?a=%2f&amp;b#c"),
        ("https://example.org/notes", "http://localhost:99/https/example.org/notes"),
        ("https://example.org/other/", "http://localhost:99/https/example.org/other/"),
        ("https://example.org", "http://localhost:99/https/example.org/#"),
        ("https://example.org?x", "http://localhost:99/https/example.org?x"),
        ("https://example.org/notes/../x", "http://localhost:99/https/example.org/notes/../x"),
        ("http://whole.example", "http://localhost:99/whole/#"),
        ("http://whole.example/", "http://localhost:99/whole/"),
        ("http://whole.example/#", "http://localhost:99/http://whole.example/#"),
        ("http://odd.example/a&amp;b/it&#39;s/1", "http://localhost:99/odd/1"),
        (
            "http://odd.example/a&amp;b/it's/1",
            "http://localhost:99/http/odd.example/a&amp;b/it's/1",
        ),
        // Unusual spellings.
        ("HTTPS://Example.ORG/notes/", "http://localhost:99/HTTPS://Example.ORG/notes/"),
        ("https://example.org:443/notes/", "http://localhost:99/https/example.org:443/notes/"),
        ("https:&#x2F;&#x2F;example.org/", "http://localhost:99/https:&#x2F;&#x2F;example.org/"),
    ] {
        check(Notation::Markup, raw, shown);
    }
}

#[test]
fn other_addresses_stay() {
    for raw in [
        "",
        "notes/1",
        "/notes/1",
        "//example.org/notes/1",
        "http://example.org/notes/1",
        "https://www.example.org/notes/1",
        "https://user@example.org/notes/1",
        "https://example.org.evil.example/notes/",
        "http://odd.example/else",
        "mailto:a@example.org",
        "urn:x",
        "https:/example.org/",
        "http://localhost:99",
        "http://localhost:99/",
        "http://localhost:99/unknown/1",
        "http://localhost:99/http/",
        "http://localhost/notes/1",
    ] {
        check(Notation::Markup, raw, raw);
    }
}

#[test]
fn addresses_of_the_gateway_in_documents_of_the_origin_are_told_apart() {
    for raw in [
        "http://localhost:99/notes/1",
        "http://localhost:99/whole/#",
        "http://localhost:99/http/elsewhere.example/",
        "http://localhost:99/http://localhost:99/notes/1",
    ] {
        check(Notation::Markup, raw, &format!("http://localhost:99/{raw}"));
    }
}

#[test]
fn escaped_slashes_stay_escaped() {
    for (raw, shown) in [
        (r"https:\/\/example.org\/notes\/a\/b", r"http:\/\/localhost:99\/notes\/a\/b"),
        (r"https:\/\/example.org\/x", r"http:\/\/localhost:99\/https\/example.org\/x"),
        (r"http:\/\/whole.example", r"http:\/\/localhost:99\/whole\/#"),
        (r"https:\/\/example.org", r"http:\/\/localhost:99\/https\/example.org\/#"),
        (r"https://example.org\/x", r"http://localhost:99/https/example.org\/x"),
        (r"https:\u002f/example.org/", r"http://localhost:99/https:\u002f/example.org/"),
    ] {
        check(Notation::Json, raw, shown);
    }
}

#[test]
fn every_mount_changes_the_fingerprint() {
    let of = |mounts: &[&str]| {
        let mounts = mounts.iter().map(|mount| mount.parse().unwrap()).collect();
        let origin = "http://a/".parse().unwrap();
        Links::new("localhost", origin, Reachable::new(mounts, Vec::new())).fingerprint()
    };
    let marks = [of(&[]), of(&["a=http://a/"]), of(&["a=http://b/"]), of(&["b=http://a/"])];
    for (at, mark) in marks.iter().enumerate() {
        assert_eq!(mark.len(), 8);
        assert!(!marks[..at].contains(mark), "{marks:?}");
    }
}

/// Parts of addresses, in all notations.
const PARTS: [&str; 30] = [
    "http://localhost:99/",
    "https://example.org/notes/",
    "http://",
    "https://",
    "HTTP://",
    "https:",
    "/",
    "//",
    "example.org",
    "notes",
    "notes/",
    "whole/",
    "whole.example",
    "http/",
    "https/",
    "#",
    "?",
    "\\/",
    "http:\\/\\/localhost:99\\/",
    "https:\\/\\/example.org\\/notes\\/",
    "\\u002f",
    "&#47;",
    "&#x3a;",
    "&amp;",
    "odd/",
    "odd.example/a&amp;b/it&#39;s/",
    "..",
    "%2e",
    ":443",
    "ä",
];

/// Beginnings of addresses that are mapped, or almost.
const STARTS: [&str; 12] = [
    "",
    "http://localhost:99/",
    "http:\\/\\/localhost:99\\/",
    "https://example.org",
    "https:\\/\\/example.org\\/notes\\/",
    "https://example.org/notes/",
    "http://whole.example",
    "http://whole.example/",
    "http://localhost:99/whole/",
    "http://localhost:99/https/example.org",
    "http://odd.example/a&amp;b/it&#39;s/",
    "http://localhost:99/http://localhost:99/",
];

fn addresses() -> impl Strategy<Value = String> {
    let parts = prop::collection::vec(prop::sample::select(&PARTS[..]), 0..4);
    (prop::sample::select(&STARTS[..]), parts)
        .prop_map(|(start, parts)| start.to_owned() + &parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn mapping_an_address_there_and_back_is_the_identity(raw in addresses(), notation in 0..3) {
        let notation = [Notation::Markup, Notation::CData, Notation::Json][notation as usize];
        let links = links();
        let shown = links.shown(written(&raw, notation)).unwrap_or_else(|| raw.clone());
        let back = links.original(written(&shown, notation));
        prop_assert_eq!(back.as_deref().unwrap_or(&shown), &raw, "{}", shown);
    }

    #[test]
    fn mapping_documents_there_and_back_is_the_identity(
        raws in prop::collection::vec(addresses(), 1..8),
        format in 0..6,
    ) {
        let json = |raw: &String| raw.replace('&', "");
        let xml = |raw: &String| raw.replace('<', "");
        let all = |part: &dyn Fn(String) -> String, of: &dyn Fn(&String) -> String| {
            raws.iter().map(|raw| part(of(raw))).collect::<String>()
        };
        let document = match format {
            0 => format!("<feed xmlns='http://www.w3.org/2005/Atom'>{}</feed>",
                all(&|raw| format!("<entry><link rel='edit' href='{raw}'/><icon>{raw}</icon></entry>"), &xml)),
            1 => format!("<service xmlns='http://www.w3.org/2007/app'>{}</service>",
                all(&|raw| format!("<collection href=\"{raw}\"/>"), &xml)),
            2 => format!("<categories xmlns='http://www.w3.org/2007/app' href='{}'/>", raws[0]),
            3 => format!("<rss><channel>{}</channel></rss>",
                all(&|raw| format!("<link>{raw}</link><link><![CDATA[{raw}]]></link><enclosure url='{raw}'/>"), &xml)),
            4 => format!("<opml><body>{}</body></opml>",
                all(&|raw| format!("<outline xmlUrl='{raw}'/>"), &xml)),
            _ => format!("{{\"version\":\"https://jsonfeed.org/version/1.1\",\"items\":[{}{{}}]}}",
                all(&|raw| format!("{{\"url\":\"{raw}\"}},"), &json)),
        };
        let (links, limits) = (links(), Limits::default());
        let shown = with_addresses(document.as_bytes(), &limits, |address| links.shown(address));
        let shown = shown.unwrap_or_else(|| document.clone().into_bytes());
        let back = with_addresses(&shown, &limits, |address| links.original(address));
        let back = String::from_utf8(back.unwrap_or(shown)).unwrap();
        prop_assert_eq!(back, document);
    }
}
