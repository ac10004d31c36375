//! Feeds of the corpora, each broken in each of the ways that occur in feeds of the web, at positions that a
//! seed chooses. A newsreader still reads their articles, and never fewer than a reader that repairs nothing.
//!
//! Without `FEEDSYNC_CORPORA` the feeds are those below. A sample is read unless `FEEDSYNC_LONG` is set. The
//! table of shares is in `docs/formats.md`.

use std::ops::Range;

use feedsync_formats::{Entry, PublishedFeed, ReadOptions, read_plain, read_published};
use feedsync_test::corpora::{Document, corpora};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// Number of feeds that a run reads of each corpus, and their maximum length in bytes, unless all are read.
const SAMPLE_SIZE: usize = 250;
const MAX_FEED_BYTES: usize = 64 << 10;

/// Number of articles that the fault may affect.
const MAX_AFFECTED: usize = 1;

const OWN: [&str; 3] = [
    "<?xml version=\"1.0\"?><rss version=\"2.0\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\"><channel><title>Tom &amp; Co</title>\
     <link>http://h.example/</link><description>d</description><item><title>One</title><guid isPermaLink=\"false\">urn:1</guid>\
     <description><![CDATA[<p class=\"x\">caf\u{e9} & more</p>]]></description><dc:creator>n</dc:creator></item><item>\
     <title>Two</title><link>http://h.example/2?a=1&amp;b=2</link><enclosure url=\"http://h.example/2.mp3\" length=\"1\" \
     type=\"audio/mpeg\"/></item><item><title>Three</title></item></channel></rss>",
    "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title type=\"text\">T</title><id>urn:f</id><entry><id>urn:1</id><title>One</title>\
     <link rel=\"alternate\" href=\"http://h.example/1\"/><content type=\"xhtml\"><div xmlns=\"http://www.w3.org/1999/xhtml\"><p>\
     na\u{ef}ve <b>x</b></p></div></content></entry><entry><id>urn:2</id><title type=\"html\">Two &amp;amp; more</title></entry></feed>",
    "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns=\"http://purl.org/rss/1.0/\"><channel><title>T</title>\
     </channel><item><title>One</title><link>http://h.example/1</link></item><item><title>Deux \u{e0} \u{201c}q\u{201d}</title></item></rdf:RDF>",
];

/// A way to break a feed: returns the broken bytes, and the minimum number of articles that must remain.
/// `None` if it does not apply.
type Break = fn(&Feed, &mut SmallRng) -> Option<(Vec<u8>, usize)>;

const WAYS: [(&str, Break); 7] = [
    ("a bare `&`", |feed, random| feed.with(random, " & ")),
    ("an undeclared prefix", |feed, random| feed.with(random, "<zq:new/>")),
    ("text before the root", |feed, _| {
        feed.around("<br />\n<b>Warning</b>: x & y in <b>/a.php</b> on line <b>3</b><br />\n", "")
    }),
    ("text after the root", |feed, _| {
        feed.around("", "\n<script src=\"x\" defer></script><!-- 1 -- 2 --> & more")
    }),
    ("a forbidden reference", |feed, random| {
        let put = *["&#0;", "&#x1F;", "&#xFFFE;", "\u{8}"].choose(random)?;
        feed.with(random, put)
    }),
    ("a truncated end", |feed, random| feed.truncated(random)),
    ("a wrong charset label", |feed, random| feed.mislabelled(random)),
];

/// A feed that can be read without repair, as text without its XML declaration.
struct Feed {
    text: String,
    /// Offset of its root element.
    root: usize,
    entries: Vec<Entry>,
    /// Ranges of characters between tags.
    places: Vec<Range<usize>>,
    /// Offsets of the ends of its articles.
    ends: Vec<usize>,
}

fn options() -> ReadOptions<'static> {
    ReadOptions { base: Some("http://h.example/feed"), ..ReadOptions::tolerant() }
}

fn published(bytes: &[u8]) -> Option<PublishedFeed> {
    read_published(bytes, None, &options()).ok()
}

impl Feed {
    fn of(document: &Document) -> Option<Self> {
        let text = String::from_utf8(document.bytes.clone()).ok()?;
        let text = text.trim_start_matches('\u{feff}').to_owned();
        let text = match text.find("?>").filter(|_| text.starts_with("<?xml ")) {
            Some(end) => text[end + 2..].trim_start().to_owned(),
            None => text,
        };
        // JSON has other faults, and a document type must be before the root.
        if !text.starts_with('<') || text.contains("<!DOCTYPE") || text.contains("<?xml ") {
            return None;
        }
        let feed = published(text.as_bytes())?;
        let is_whole = feed.repaired_fault.is_none() && feed.blank == 0 && !feed.entries.is_empty();
        let plain = read_plain(text.as_bytes(), &options()).ok()?.payloads.len();
        let (root, places, ends) = parts(&text)?;
        // All of its articles are plain items, and end where this test expects it.
        let is_plain =
            plain == feed.entries.len() && ends.len() == plain && !text.contains('\u{fffd}');
        (is_whole && is_plain).then_some(Self { text, root, entries: feed.entries, places, ends })
    }

    fn with(&self, random: &mut SmallRng, put: &str) -> Option<(Vec<u8>, usize)> {
        let place = self.places.choose(random)?;
        let at = self.text.floor_char_boundary(random.random_range(place.start..=place.end));
        let text = [&self.text[..at], put, &self.text[at..]].concat();
        // Inside a reference it would be another fault.
        let near = &self.text[self.text.floor_char_boundary(at.saturating_sub(12))..at];
        let is_inside = near.rfind('&').is_some_and(|sign| !near[sign..].contains(';'));
        (!is_inside).then_some((text.into_bytes(), self.entries.len()))
    }

    fn around(&self, before: &str, after: &str) -> Option<(Vec<u8>, usize)> {
        let text = [before, "<?xml version=\"1.0\"?>", &self.text, after].concat();
        Some((text.into_bytes(), self.entries.len()))
    }

    fn truncated(&self, random: &mut SmallRng) -> Option<(Vec<u8>, usize)> {
        let cut = random.random_range(*self.ends.first()?..self.text.len());
        let complete = self.ends.iter().filter(|end| **end <= cut).count();
        Some((self.text.as_bytes()[..cut].to_vec(), complete))
    }

    fn mislabelled(&self, random: &mut SmallRng) -> Option<(Vec<u8>, usize)> {
        if self.text.is_ascii() {
            return None;
        }
        let (western, _, is_other) = encoding_rs::WINDOWS_1252.encode(&self.text);
        let (label, bytes) = match random.random_range(0..3) {
            0 if !is_other => ("UTF-8", &*western),
            0 | 1 => ("us-ascii", self.text.as_bytes()),
            _ => ("iso-8859-1", self.text.as_bytes()),
        };
        let declaration = format!("<?xml version=\"1.0\" encoding=\"{label}\"?>");
        Some(([declaration.as_bytes(), bytes].concat(), self.entries.len()))
    }
}

/// Returns the offset of the root, the ranges of characters inside it, and the ends of items and entries.
fn parts(text: &str) -> Option<(usize, Vec<Range<usize>>, Vec<usize>)> {
    let (mut at, mut root, mut depth) = (0, None, 0_usize);
    let (mut places, mut ends) = (Vec::new(), Vec::new());
    while let Some(length) = text[at..].find('<') {
        if depth > 0 && length > 0 {
            places.push(at..at + length);
        }
        at += length;
        let rest = &text[at..];
        let passed = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
        if let Some((_, end)) = passed.iter().find(|(begin, _)| rest.starts_with(begin)) {
            at += rest.find(end)? + end.len();
            continue;
        }
        let mut quote = None;
        let end = rest.char_indices().find(|(_, sign)| match quote {
            Some(mark) => {
                if mark == *sign {
                    quote = None;
                }
                false
            }
            None => {
                if matches!(sign, '"' | '\'') {
                    quote = Some(*sign);
                }
                *sign == '>'
            }
        });
        let tag = &rest[..=end?.0];
        at += tag.len();
        let is_article = |name: &str| matches!(name.rsplit(':').next(), Some("item" | "entry"));
        if let Some(name) = tag.strip_prefix("</") {
            depth = depth.checked_sub(1)?;
            if is_article(name.trim_end_matches('>').trim()) {
                ends.push(at);
            }
        } else {
            root = root.or(Some(at - tag.len()));
            let name = tag[1..].split([' ', '\t', '\n', '\r', '/', '>']).next()?;
            if !tag.ends_with("/>") {
                depth += 1;
            } else if is_article(name) {
                ends.push(at);
            }
        }
    }
    Some((root?, places, ends))
}

/// Returns the number of articles that stayed the same to a reader.
fn same(entries: &[Entry], others: &[Entry]) -> usize {
    let is_same = |(one, other): &(&Entry, &Entry)| {
        one.id == other.id && one.title == other.title && one.link() == other.link()
    };
    entries.iter().zip(others).filter(is_same).count()
}

fn feeds() -> Vec<Feed> {
    let own = OWN.map(|text| Document { path: "own".into(), bytes: text.as_bytes().to_vec() });
    let mut found = corpora();
    if std::env::var_os("FEEDSYNC_LONG").is_none() {
        found.retain(|document| document.bytes.len() <= MAX_FEED_BYTES);
        let step = found.len().div_ceil(SAMPLE_SIZE).max(1);
        // Real feeds are the fewest and the most relevant.
        let is_real = |document: &Document| document.path.to_string_lossy().contains("real-feeds");
        let chosen = found.into_iter().enumerate();
        found = chosen.filter(|(at, it)| at % step == 0 || is_real(it)).map(|(_, it)| it).collect();
    }
    own.into_iter().chain(found).filter_map(|document| Feed::of(&document)).collect()
}

#[test]
fn broken_feeds_give_their_articles() {
    let feeds = feeds();
    assert!(feeds.len() >= OWN.len());
    println!("{} feeds\n| way | feeds | all articles | share |\n|---|---|---|---|", feeds.len());
    let rounds = if std::env::var_os("FEEDSYNC_CORPORA").is_some() { 1 } else { 100 };
    for (way, broken) in WAYS {
        let (mut tried, mut whole) = (0, 0);
        for (number, feed) in (0..).zip(&feeds) {
            for round in 0..rounds {
                let mut random = SmallRng::seed_from_u64(number * 1_000 + round);
                let Some((bytes, expected)) = broken(feed, &mut random) else { continue };
                tried += 1;
                let after = published(&bytes).unwrap_or_default();
                let without =
                    read_plain(&bytes, &options()).map_or(0, |plain| plain.payloads.len());
                let what = || format!("{way}: {}", String::from_utf8_lossy(&bytes));
                assert!(
                    after.entries.len() >= without.min(expected),
                    "worse than unrepaired, {}",
                    what()
                );
                assert!(!format!("{:?}", after.entries).contains('\u{fffd}'), "{}", what());
                let found = same(&after.entries, &feed.entries);
                let is_whole = after.entries.len() == expected && found + MAX_AFFECTED >= expected;
                whole += usize::from(is_whole);
                if !is_whole {
                    let near =
                        &feed.text[feed.root..feed.text.floor_char_boundary(feed.root + 200)];
                    println!("lost, {way}: {} of {expected}, {near:?}", after.entries.len());
                }
            }
        }
        println!("| {way} | {tried} | {whole} | {:.1} % |", 100.0 * whole as f64 / tried as f64);
        assert!(tried > 0 && whole * 100 >= tried * 95, "{way}: {whole} of {tried}");
    }
}
