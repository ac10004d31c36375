//! Writes a feed piece by piece.

use feedsync_core::{Format, Item, Payload};

use crate::app::{self, AppCollection};
use crate::head::FeedHead;
use crate::mapping::project_plain;
use crate::outlines::{OutlinePosition, nest};
use crate::payload::{self, Default, FEEDSYNC, OWN, PayloadTag, push_attribute, push_declaration};
use crate::sync::{OutputContext, push_item};
use crate::{atom, json, opml, pox, rss};

/// Returns an item as an Atom entry document, with its `sx:sync`.
pub fn entry_document(item: &Item<Payload>) -> String {
    let place = OutputContext {
        format: Format::Atom,
        default: Default::None,
        prefix: None,
        self_contained: false,
    };
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n");
    push_item(&mut out, item, &place, |_, _| {});
    out.push('\n');
    out
}

/// Writes a feed to a `String` that the caller drains: the head once, any number of items, the end once. A feed of
/// any size is therefore written in constant memory.
///
/// OPML nests its outlines, so outlines that are passed as items are held in memory until the end. A caller with too
/// many outlines [nests](crate::nest) their positions first and then appends them one by one.
///
/// The output reads back as the same feed, byte for byte in every payload.
#[derive(Debug)]
pub struct FeedWriter {
    format: Format,
    json: json::Writer,
    /// Outlines that are held until the end.
    held: Vec<Item<Payload>>,
    /// Outlines without their end tags yet, the innermost last.
    open: Vec<opml::Open>,
    place: OutputContext,
    /// The collection element in the head of an Atom feed.
    collection: String,
}

impl FeedWriter {
    /// Creates a writer for a new feed.
    pub fn new(format: Format) -> Self {
        let default = (format == Format::Atom).then_some(atom::ATOM);
        Self {
            format,
            json: json::Writer::new(),
            held: Vec::new(),
            open: Vec::new(),
            place: OutputContext {
                format,
                default: Default::of(default),
                prefix: Some("sx".to_owned()),
                self_contained: true,
            },
            collection: String::new(),
        }
    }

    /// Returns the writer with a collection that the head of an Atom feed names. Clients create entries in that
    /// collection (RFC 5023 8.3.5).
    #[must_use]
    pub fn of_collection(self, collection: &AppCollection) -> Self {
        Self { collection: app::in_feed(collection), ..self }
    }

    /// Appends everything before the first item.
    pub fn begin(&mut self, out: &mut String, head: &FeedHead<'_>) {
        if self.format == Format::Json {
            return self.json.begin(out, head);
        }
        let mut declarations = String::new();
        push_declaration(&mut declarations, "sx", FEEDSYNC);
        push_declaration(&mut declarations, "fs", OWN);
        push_attribute(&mut declarations, "fs:self-contained", "true");
        out.push_str("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n");
        match self.format {
            Format::Atom => {
                atom::begin(out, head, &declarations);
                out.push_str(&self.collection);
            }
            Format::Rss => rss::begin(out, head, &declarations),
            Format::Opml => opml::begin(out, head, &declarations),
            Format::Pox | Format::Json => pox::begin(out, head, &declarations),
        }
    }

    /// Appends the next item.
    pub fn item(&mut self, out: &mut String, item: &Item<Payload>) {
        match self.format {
            Format::Json => self.json.item(out, item),
            Format::Opml => self.held.push(item.clone()),
            Format::Atom | Format::Rss | Format::Pox => {
                push_item(out, item, &self.place, |_, _| {});
                out.push('\n');
            }
        }
    }

    /// Appends an item that takes no part in sharing, and that also takes none in the output. Such outlines precede
    /// those that take part.
    pub fn plain(&mut self, out: &mut String, item: &Payload) {
        let payload = project_plain(item, self.format);
        match self.format {
            Format::Json => self.json.plain(out, &payload),
            Format::Atom | Format::Rss | Format::Opml | Format::Pox => {
                let tag = PayloadTag::read(payload.text());
                payload::write(out, payload.text(), &tag, &self.place.default, |_, _| {});
                out.push('\n');
            }
        }
    }

    /// Appends the next of the nested outlines, at the given depth inside the outlines that were appended before. In
    /// a format without outlines, appends the next item.
    pub fn outline(&mut self, out: &mut String, item: &Item<Payload>, depth: usize) {
        if self.format != Format::Opml {
            return self.item(out, item);
        }
        self.close(out, depth);
        let place = self.open.last().map_or(&self.place, |open| &open.place);
        let open = opml::open(out, item, place);
        self.open.push(open);
    }

    /// Appends everything after the last item.
    pub fn end(&mut self, out: &mut String) {
        match self.format {
            Format::Json => self.json.end(out),
            Format::Atom => out.push_str("</feed>\n"),
            Format::Rss => out.push_str("</channel></rss>\n"),
            Format::Pox => out.push_str("</items>\n"),
            Format::Opml => {
                let held = std::mem::take(&mut self.held);
                let places: Vec<_> = held.iter().map(OutlinePosition::of).collect();
                for nested in nest(&places) {
                    self.outline(out, &held[nested.index], nested.depth);
                }
                self.close(out, 0);
                out.push_str("\n</body></opml>\n");
            }
        }
    }

    /// Appends end tags until at most the given number of outlines are open.
    fn close(&mut self, out: &mut String, depth: usize) {
        while self.open.len() > depth
            && let Some(open) = self.open.pop()
        {
            out.push_str(&open.end);
        }
    }
}
