//! Items read back exactly as they were written. Random documents are made with foreign markup,
//! prefixes, bases and conflicts everywhere. Their items are read, then written and read again, in
//! their own format, in every other format and in another document.

use crate::support::{Random, assert_fixed_point, reread, written};
use feedsync_core::{Format, History, Item, Payload, Update};
use feedsync_formats::{Document, ReadOptions, read};

const ROOT_ATTRIBUTES: [&str; 8] = [
    " xmlns:m='urn:media'",
    " xmlns:q='urn:q'",
    " xml:lang='en'",
    " xml:base='http://example.com/a/'",
    " xml:space=\"preserve\"",
    " xmlns:fs='urn:feedsync:1'",
    " version='2.0'",
    " xmlns:fs='urn:other'",
];
const ITEM_ATTRIBUTES: [&str; 9] = [
    " xmlns:m=\"urn:own\"",
    " xmlns:n='urn:n' n:a='1'",
    " xml:base='b/../c/'",
    " xml:base=\"http://example.org/'\"",
    " xml:lang=\"\"",
    " xmlns:sx='urn:not-feedsync'",
    "\n\ttext='m:x &amp; &#10; y' ",
    " xmlns:fs='urn:what'",
    " type=\"a>b\"",
];
const CONTENT: [&str; 17] = [
    "<title>A &lt; B</title>",
    "<title type='text'>m:thing q:name sx:sync fs:native</title>",
    "<!-- a comment with m:x -->",
    "<![CDATA[ sx: <x> ]]>",
    "<?target m:data?>",
    "\n  ",
    "\r\n",
    "text ",
    "<m:thing xmlns:m='urn:inner' m:a='b'/>",
    "<n:thing xmlns:n='urn:n'>n:x</n:thing>",
    "<plain/>",
    "<content xml:base='d'>x</content>",
    "<f:x xmlns:f='http://feedsync.org/2007/feedsync'/>",
    "<a:x xmlns:a='http://feedsync.org/2007/feedsync' xmlns='urn:d'><y/></a:x>",
    "&amp;&#x9;",
    "<h xmlns='urn:h'> </h>",
    "é\u{1f600}",
];
const FOREIGN_ATTRIBUTES: [&str; 4] =
    [" unknown='1'", " xmlns:z='urn:z' z:a=\"&quot;\"", " FEED:id='x'", " xml:lang='de'"];
const FOREIGN_CHILDREN: [&str; 7] = [
    "<plain>x</plain>",
    "<z:x xmlns:z='urn:z'/>",
    "<!-- note -->",
    "\n",
    "<FEED:unknown/>",
    "<w xmlns=''/>",
    "<named type='m:x'>q:y fs:z FEED:a</named>",
];

struct Feed<'r> {
    random: &'r mut Random,
    format: Format,
    /// Prefix of FeedSync.
    prefix: &'static str,
    serial: usize,
}

impl Feed<'_> {
    fn name(&mut self) -> &'static str {
        match self.format {
            Format::Atom => "entry",
            Format::Rss => "item",
            Format::Opml => "outline",
            _ => ["item", "note", "é"][self.random.below(3)],
        }
    }

    fn sync(&mut self, id: usize, conflicts: &str) -> String {
        let prefix = self.prefix;
        let foreign = |text: String| text.replace("FEED", prefix);
        let once = |random: &mut Random| match random.below(4) {
            0 => random.pick(&FOREIGN_ATTRIBUTES).to_owned(),
            _ => String::new(),
        };
        let attributes = foreign(once(self.random));
        let children = match self.random.below(3) {
            0 => foreign(self.random.some(&FOREIGN_CHILDREN)),
            _ => String::new(),
        };
        let of_history = foreign(once(self.random));
        let inside = match self.random.below(4) {
            0 => foreign(self.random.some(&FOREIGN_CHILDREN)),
            _ => String::new(),
        };
        self.serial += 1;
        let serial = self.serial;
        let flags = self.random.pick(&["", "", " deleted='true'", " deleted='false'"]);
        let conflicts = match conflicts {
            "" => String::new(),
            conflicts => format!("<{prefix}:conflicts>{conflicts}</{prefix}:conflicts>"),
        };
        format!(
            "<{prefix}:sync id='i{id}' updates='2'{flags}{attributes}>\
             <{prefix}:history sequence='{serial}' by='a{serial}'{of_history}>{inside}</{prefix}:history>\
             {conflicts}<{prefix}:history sequence='1' when='2005-05-21T11:43:33Z'/>{children}\
             </{prefix}:sync>"
        )
    }

    /// Returns an item. Outlines contain other outlines down to `depth`.
    fn item(&mut self, id: usize, conflicts: usize, depth: usize) -> String {
        let name = self.name();
        let attributes = match self.random.below(3) {
            0 => self.random.pick(&ITEM_ATTRIBUTES),
            _ => "",
        };
        // A prefix that the item itself declares for another namespace cannot be FeedSync's prefix.
        let attributes =
            if attributes.contains(&format!("xmlns:{}=", self.prefix)) { "" } else { attributes };
        let before = self.random.some(&CONTENT);
        let after = self.random.some(&CONTENT);
        let inner: String =
            (0..conflicts).map(|_| self.item(id, 0, 0)).collect::<Vec<_>>().join("\n");
        let sync = self.sync(id, &inner);
        let outlines: String = match (self.format, depth) {
            (Format::Opml, 1..) => (0..self.random.below(3))
                .map(|child| self.item(id * 10 + child + 1, 0, depth - 1))
                .collect(),
            _ => String::new(),
        };
        format!("<{name}{attributes}>{before}{outlines}{sync}{after}</{name}>")
    }

    fn document(&mut self) -> String {
        let mut root = String::new();
        for attribute in ROOT_ATTRIBUTES {
            let name = |text: &str| text.trim().split('=').next().unwrap().to_owned();
            if self.random.below(3) == 0 && !root.contains(&name(attribute)) {
                root.push_str(attribute);
            }
        }
        let default = match self.format {
            Format::Atom => " xmlns='http://www.w3.org/2005/Atom'",
            Format::Pox => self.random.pick(&["", " xmlns='urn:d'"]),
            _ => "",
        };
        let feedsync = format!(" xmlns:{}='http://feedsync.org/2007/feedsync'", self.prefix);
        let count = 1 + self.random.below(3);
        let items: String = (1..=count)
            .map(|id| {
                let conflicts = self.random.below(3);
                self.item(id, conflicts, 2) + "\n"
            })
            .collect();
        let (open, close) = match self.format {
            Format::Atom => ("<feed", "</feed>"),
            Format::Rss => ("<rss", "</channel></rss>"),
            Format::Opml => ("<opml", "</body></opml>"),
            _ => ("<things", "</things>"),
        };
        let inner = match self.format {
            Format::Rss => "<channel>",
            Format::Opml => "<head/><body>",
            _ => "",
        };
        format!("{open}{default}{feedsync}{root}>{inner}{items}{close}")
    }
}

const XML: [Format; 4] = [Format::Atom, Format::Rss, Format::Opml, Format::Pox];

fn documents(seed: u64, count: usize) -> impl Iterator<Item = (Format, String)> {
    let mut random = Random(seed);
    (0..count).map(move |index| {
        let format = XML[index % 4];
        let prefix = ["sx", "a"][random.below(2)];
        (format, Feed { random: &mut random, format, prefix, serial: 0 }.document())
    })
}

#[test]
fn items_are_written_and_read_as_they_were_in_their_own_format() {
    for (format, text) in documents(0x5eed, 4_000) {
        let feed = reread(format, &text);
        assert!(!feed.items.is_empty());
        assert_fixed_point(format, &feed.items);
    }
}

/// Removes the markup on single updates, which is not converted between XML and JSON.
fn without_markup_of_updates(mut item: Item<Payload>) -> Item<Payload> {
    for version in std::iter::once(&mut item.winner).chain(&mut item.conflicts) {
        let updates = version.history.updates().iter().map(|update| {
            let by = update.by().cloned();
            Update::new(update.sequence(), update.when(), by).unwrap()
        });
        version.history = History::from_updates(updates.collect()).unwrap();
    }
    item
}

#[test]
fn items_come_back_from_every_other_format_as_they_were() {
    for (format, text) in documents(0xfeed, 400) {
        let items = reread(format, &text).items;
        for other in Format::ALL {
            let text = written(other, &items, None);
            let mut read = reread(other, &text).items;
            let mut items: Vec<_> = match other {
                Format::Json => items.iter().cloned().map(without_markup_of_updates).collect(),
                _ => items.clone(),
            };
            read.sort_by(|left, right| left.id.cmp(&right.id));
            items.sort_by(|left, right| left.id.cmp(&right.id));
            assert_eq!(read, items, "{format} in {other}: {text}");
        }
    }
}

#[test]
fn documents_keep_unedited_parts_and_write_edited_ones() {
    let mut all = documents(0xd0c, 800).collect::<Vec<_>>().into_iter();
    while let (Some(first), Some(second)) = (all.next(), all.nth(3)) {
        let (format, text) = first;
        let document = Document::read(text.as_bytes(), &ReadOptions::strict()).unwrap();
        assert_eq!(document.to_bytes_with(&document.feed().items), text.as_bytes());
        let mut items = reread(second.0, &second.1).items;
        items.truncate(2);
        let bytes = document.to_bytes_with(&items);
        let options = ReadOptions::strict();
        let read = read(&bytes, Some(format), &options)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&bytes)));
        for item in &items {
            let found = read.feed.items.iter().find(|read| read.id == item.id);
            assert_eq!(found, Some(item), "{text}\n{}", String::from_utf8_lossy(&bytes));
        }
        for old in &document.feed().items {
            if items.iter().all(|item| item.id != old.id) {
                let found = read.feed.items.iter().find(|read| read.id == old.id);
                assert_eq!(found, Some(old), "{text}\n{}", String::from_utf8_lossy(&bytes));
            }
        }
    }
}
