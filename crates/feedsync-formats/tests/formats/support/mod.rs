//! Helpers that several test files use.

use feedsync_core::{Feed, Format, Item, Payload, Sharing};
use feedsync_formats::{FeedHead, FeedWriter, HeadLink, ReadOptions, read};

/// Returns a feed as [`FeedWriter`] writes it.
pub(crate) fn written(
    format: Format,
    items: &[Item<Payload>],
    sharing: Option<&Sharing>,
) -> String {
    let head = FeedHead {
        id: "urn:uuid:60a76c80-d399-11d9-b93c-0003939e0aaa",
        title: "A & B",
        updated: "2005-05-21T11:43:33Z".parse().unwrap(),
        author: "Ray <Ozzie>",
        details: None,
        self_link: Some("http://example.com/a?b&c"),
        next: Some("http://example.com/next"),
        links: &[HeadLink {
            rel: "alternate",
            href: "http://example.com/",
            media_type: Some("text/html"),
        }],
        complete: false,
        sharing,
    };
    let mut writer = FeedWriter::new(format);
    let mut out = String::new();
    writer.begin(&mut out, &head);
    for item in items {
        writer.item(&mut out, item);
    }
    writer.end(&mut out);
    out
}

/// Reads a feed that [`FeedWriter`] wrote. It must have no faults.
#[track_caller]
pub(crate) fn reread(format: Format, text: &str) -> Feed {
    let reading = read(text.as_bytes(), Some(format), &ReadOptions::strict())
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert!(reading.refused.is_empty(), "{:?}\n{text}", reading.refused);
    reading.feed
}

/// Asserts that items are unchanged after writing and reading. The order of outlines may change.
#[track_caller]
pub(crate) fn assert_fixed_point(format: Format, items: &[Item<Payload>]) {
    let text = written(format, items, None);
    let mut read = reread(format, &text).items;
    let mut items = items.to_vec();
    if format == Format::Opml {
        read.sort_by(|left, right| left.id.cmp(&right.id));
        items.sort_by(|left, right| left.id.cmp(&right.id));
    }
    assert_eq!(read, items, "{text}");
}

/// A small deterministic random generator (xorshift).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    pub(crate) fn pick<'p>(&mut self, pieces: &[&'p str]) -> &'p str {
        pieces[self.below(pieces.len())]
    }

    pub(crate) fn some(&mut self, pieces: &[&str]) -> String {
        (0..self.below(3)).map(|_| self.pick(pieces)).collect()
    }
}
