//! For any items, the written document is a valid JSON Feed, and is the same each time.
//!
//! A failure names its seed; `FEEDSYNC_SEED` runs that one alone. `FEEDSYNC_LONG` runs more of them.

use feedsync_core::{
    By, Format, History, Item, ItemId, Payload, Sequence, Update, Updates, Version,
};
use feedsync_formats::{FeedHead, JsonFeedWriter, Link};
use feedsync_test::corpora::{corpora, fixtures};
use feedsync_test::json_feed::faults;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

fn item(number: usize, payload: Payload) -> Item<Payload> {
    let when = "2026-01-02T03:04:05Z".parse().ok().filter(|_| number % 3 != 1);
    let by = By::new("a'(1)").ok().filter(|_| number % 3 != 2);
    let update = Update::new(Sequence::new(1).unwrap(), when, by).unwrap();
    let winner = Version {
        updates: Updates::FIRST,
        deleted: number % 5 == 4,
        noconflicts: None,
        history: History::new(update),
        payload,
    };
    Item { id: ItemId::new(&format!("item?{number}")).unwrap(), winner, conflicts: Vec::new() }
}

fn written(payloads: &[Payload], title: &str, links: &[Link]) -> String {
    let head = FeedHead {
        id: "urn:x:feed",
        title,
        updated: "2026-01-02T03:04:05Z".parse().unwrap(),
        author: title,
        details: None,
        self_link: Some("http://h/f.feed.json"),
        next: Some("http://h/f.feed.json?before=1"),
        links: &[],
        complete: false,
        sharing: None,
    };
    let (mut writer, mut out) = (JsonFeedWriter::new(), String::new());
    writer.begin(&mut out, &head);
    for (number, payload) in payloads.iter().enumerate() {
        writer.item(&mut out, &item(number, payload.clone()), links);
    }
    writer.end(&mut out);
    out
}

#[test]
fn every_document_becomes_a_valid_json_feed() {
    let mut count = 0;
    for document in fixtures().into_iter().chain(corpora()) {
        let payloads = document.payloads();
        count += payloads.len();
        let feed = written(&payloads, "a title", &[]);
        assert_eq!(faults(&feed), Vec::<String>::new(), "{}", document.path.display());
        assert_eq!(feed.matches("\n{\"id\":").count(), payloads.len());
        assert_eq!(written(&payloads, "a title", &[]), feed, "{}", document.path.display());
    }
    eprintln!("{count} items");
    assert!(count > 10);
}

/// Pieces of texts: the words of the formats and of HTML, and input that is difficult for writers.
const PIECES: [&str; 44] = [
    "<entry xmlns=\"http://www.w3.org/2005/Atom\" xml:base=\"http://h/a/\">",
    "<item xml:lang=\"x y\">",
    "<outline text=\"",
    "</entry>",
    "</item>",
    "<title>",
    "</title>",
    "<title type=\"html\">",
    "<id>",
    "</id>",
    "<updated>2005-05-21T09:43:33+02:00</updated>",
    "<published>0001-01-01T00:00:00Z</published>",
    "<pubDate>Sat, 21 May 2005 09:43:33 EDT</pubDate>",
    "<author><name>",
    "</name><uri>x</uri></author>",
    "<link href=\"relative\"/>",
    "<link rel=\"related\" href=\"a b:c\"/>",
    "<link rel=\"enclosure\" href=\"//x/y\" length=\"99999999999999999999\"/>",
    "<enclosure url=\"HTTP://x/y\" length=\"18446744073709551615\"/>",
    "<category term=\"\"/>",
    "<category>c</category>",
    "<content type=\"html\" xml:base=\"b/\">",
    "<content type=\"xhtml\"><div xmlns=\"http://www.w3.org/1999/xhtml\">",
    "<content type=\"image/png\">",
    "</div>",
    "</content>",
    "&lt;img src=x srcset=\"a, b 2x\">",
    "<![CDATA[<a href='y'>]]>",
    "\"/>",
    "{\"title\":\"",
    "\",\"language\":\"de\",\"links\":[{\"rel\":\"enclosure\",\"href\":\"http://h\"}],\"x\":\"",
    "\",\"content\":{\"a\":[1]},\"author\":\"",
    "\"}",
    "\\ud800\\u0000\\n",
    "\"",
    "\\",
    "\u{0}\u{1b}\u{7f}",
    "\u{2028}\u{fffe}\u{ffff}",
    "\u{1f600}é",
    "&amp;&#x26;&bogus;",
    "<!-- ",
    "-->",
    "text",
    "\r\n\t ",
];

#[test]
fn any_items_are_written_as_a_valid_json_feed() {
    let rounds = if std::env::var_os("FEEDSYNC_LONG").is_some() { 200_000 } else { 5_000 };
    let seeds = match std::env::var("FEEDSYNC_SEED") {
        Ok(seed) => {
            let seed: u64 = seed.parse().unwrap();
            seed..seed + 1
        }
        Err(_) => 0..rounds,
    };
    let known: Vec<Payload> = fixtures().iter().flat_map(|document| document.payloads()).collect();
    for seed in seeds {
        let mut random = SmallRng::seed_from_u64(seed);
        let text = |random: &mut SmallRng| {
            let count = random.random_range(0..12);
            (0..count).map(|_| *PIECES.choose(random).unwrap()).collect::<String>()
        };
        let mut payloads = Vec::new();
        for _ in 0..3 {
            let format = *Format::ALL.choose(&mut random).unwrap();
            let made = match random.random_bool(0.5) {
                true => text(&mut random),
                false => {
                    // A valid payload, except for the inserted text.
                    let sound = known.choose(&mut random).unwrap().text();
                    let mut at = random.random_range(0..=sound.len());
                    while !sound.is_char_boundary(at) {
                        at -= 1;
                    }
                    format!("{}{}{}", &sound[..at], text(&mut random), &sound[at..])
                }
            };
            payloads.push(Payload::from_parsed(format, made));
        }
        let title = text(&mut random);
        let links = [Link::new("alternate", &text(&mut random)), Link::new("enclosure", &title)];
        let feed = written(&payloads, &title, &links);
        assert_eq!(faults(&feed), Vec::<String>::new(), "FEEDSYNC_SEED={seed}: {feed}");
    }
}
