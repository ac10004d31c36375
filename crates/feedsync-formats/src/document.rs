//! A whole document with its source, for commands that work on files.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use feedsync_core::{Feed, Format, Item, Payload};

use crate::diagnostic::{Diagnostic, ReadError};
use crate::feed::{self, Parsed};
use crate::json;
use crate::moved::moved;
use crate::options::ReadOptions;
use crate::payload::{Default, PayloadTag};
use crate::read::looks_like_json;
use crate::reading::{Reading, Refused};
use crate::stale_window::without_window;
use crate::sync::{OutputContext, push_item};
use crate::xml::check_is_xml;
use crate::xml::{Encoding, decode};

/// A document with its source: all parts that are not replaced are written unchanged, in the document's own encoding.
pub struct Document(Kind);

enum Kind {
    Json(Box<json::Document>),
    Xml(Box<XmlDocument>),
}

struct XmlDocument {
    bytes: Vec<u8>,
    text: String,
    encoding: Encoding,
    parsed: Parsed,
}

impl Document {
    /// Reads a document and stores its bytes.
    pub fn read(bytes: &[u8], options: &ReadOptions<'_>) -> Result<Self, ReadError> {
        if looks_like_json(bytes) {
            return json::Document::read(bytes, options)
                .map(|document| Self(Kind::Json(Box::new(document))));
        }
        let (text, encoding) = decode(bytes, options)?;
        check_is_xml(&text)?;
        let parsed = feed::parse(&text, None, options)?;
        let text = text.into_owned();
        let document = XmlDocument { bytes: bytes.to_vec(), text, encoding, parsed };
        Ok(Self(Kind::Xml(Box::new(document))))
    }

    /// Returns the complete result of reading.
    pub fn reading(&self) -> &Reading {
        match &self.0 {
            Kind::Json(document) => document.reading(),
            Kind::Xml(document) => &document.parsed.reading,
        }
    }

    /// Format of the document.
    pub fn format(&self) -> Format {
        self.reading().format
    }

    /// Returns the feed with the items that take part in sharing.
    pub fn feed(&self) -> &Feed {
        &self.reading().feed
    }

    /// Remarks, in document order.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.reading().diagnostics
    }

    /// Returns the items that could not be read. They keep their position and bytes.
    pub fn refused(&self) -> &[Refused] {
        &self.reading().refused
    }

    /// Returns the document with these items.
    ///
    /// An item that is equal to the one that was read keeps its bytes. One that differs replaces the item with its
    /// id. A new item is appended. Items that are not named stay, also refused and plain ones. If an id occurs more
    /// often in the document than in `items`, the surplus is removed, since its versions are in the named item.
    /// Payloads of another format are projected.
    ///
    /// Outlines keep their nesting, except outlines that are written and claim another parent: these move there, with
    /// their children. A document that changes loses its window (4.2.3), since only its publisher knows the next one.
    pub fn to_bytes_with(&self, items: &[Item<Payload>]) -> Vec<u8> {
        match &self.0 {
            Kind::Json(document) => document.to_bytes_with(items),
            Kind::Xml(document) => document.to_bytes_with(items),
        }
    }
}

/// Changes of items, by slot. Unchanged items have no entry.
type Changes<'i> = HashMap<usize, Change<'i>>;

#[derive(Clone, Copy)]
enum Change<'i> {
    Replace(&'i Item<Payload>),
    Remove,
}

impl XmlDocument {
    fn to_bytes_with(&self, items: &[Item<Payload>]) -> Vec<u8> {
        let changes = self.changes(items);
        let known: HashSet<&str> =
            self.parsed.reading.feed.items.iter().map(|item| item.id.as_str()).collect();
        let new: Vec<_> = items.iter().filter(|item| !known.contains(item.id.as_str())).collect();
        if changes.is_empty() && new.is_empty() {
            return self.bytes.clone();
        }
        let mut out = String::with_capacity(self.text.len());
        let mut from = 0;
        let end = &self.parsed.end;
        let mut slot = 0;
        while slot < self.parsed.slots.len() {
            let span = self.parsed.slots[slot].span.clone();
            if changes.contains_key(&slot) {
                out.push_str(&self.text[from..span.start]);
                slot = self.push_changed(&mut out, slot, &changes);
                from = span.end;
            } else {
                slot += 1;
            }
        }
        out.push_str(&self.text[from..end.offset]);
        if end.empty.is_some() && !new.is_empty() {
            out.push('>');
        }
        for item in &new {
            push_item(&mut out, item, &self.place(), |_, _| {});
            out.push('\n');
        }
        match &end.empty {
            Some(name) if !new.is_empty() => {
                out.push_str(&format!("</{name}>"));
                out.push_str(&self.text[end.offset + 2..]);
            }
            _ => out.push_str(&self.text[end.offset..]),
        }
        if self.parsed.reading.format == Format::Opml {
            let changed = changes.keys().filter_map(|slot| self.parsed.slots[*slot].item);
            let changed = changed.map(|item| self.parsed.reading.feed.items[item].id.as_str());
            let ids = changed.chain(new.iter().map(|item| item.id.as_str())).collect();
            out = moved(out, &ids);
        }
        let has_window =
            self.parsed.reading.feed.sharing.as_ref().is_some_and(|it| it.window.is_some());
        self.encoding.encode(&if has_window { without_window(out) } else { out })
    }

    fn place(&self) -> OutputContext {
        let end = &self.parsed.end;
        OutputContext {
            format: self.parsed.reading.format,
            default: Default::of(end.default.as_deref()),
            prefix: end.prefix.clone(),
            self_contained: end.self_contained,
        }
    }

    fn changes<'i>(&self, items: &'i [Item<Payload>]) -> Changes<'i> {
        let mut named: HashMap<&str, Vec<&Item<Payload>>> = HashMap::new();
        for item in items.iter().rev() {
            named.entry(item.id.as_str()).or_default().push(item);
        }
        let mut changes = HashMap::new();
        for (index, slot) in self.parsed.slots.iter().enumerate() {
            let Some(old) = slot.item.map(|item| &self.parsed.reading.feed.items[item]) else {
                continue;
            };
            match named.get_mut(old.id.as_str()).map(Vec::pop) {
                Some(Some(new)) if new != old => {
                    changes.insert(index, Change::Replace(new));
                }
                Some(None) => {
                    changes.insert(index, Change::Remove);
                }
                _ => {}
            }
        }
        changes
    }

    /// Appends a changed slot with the slots inside it. Returns the first slot after it.
    fn push_changed(&self, out: &mut String, slot: usize, changes: &Changes<'_>) -> usize {
        let span = &self.parsed.slots[slot].span;
        let after = self.parsed.slots[slot..]
            .iter()
            .position(|other| other.span.start >= span.end)
            .map_or(self.parsed.slots.len(), |count| slot + count);
        let inner = |out: &mut String, changes: &Changes<'_>| {
            let mut next = slot + 1;
            while next < after {
                out.push('\n');
                next = if changes.contains_key(&next) {
                    self.push_changed(out, next, changes)
                } else {
                    self.push_unchanged(out, next, changes)
                };
            }
        };
        let old = self.parsed.slots[slot].item.map(|item| &self.parsed.reading.feed.items[item]);
        match (changes.get(&slot), old) {
            (Some(Change::Replace(new)), Some(old)) if inherits_alike(old, new) => {
                push_item(out, new, &self.place(), |out, _| inner(out, changes));
            }
            (Some(Change::Replace(new)), _) => {
                let changes = self.with_all_inside(slot + 1..after, changes);
                push_item(out, new, &self.place(), |out, _| inner(out, &changes));
            }
            _ => inner(out, &self.with_all_inside(slot + 1..after, changes)),
        }
        after
    }

    /// Adds to the changes that every item in these slots is rewritten, since its inherited context changes.
    fn with_all_inside<'c>(&'c self, slots: Range<usize>, changes: &Changes<'c>) -> Changes<'c> {
        let mut all = changes.clone();
        for slot in slots {
            if let Some(item) = self.parsed.slots[slot].item {
                let item = &self.parsed.reading.feed.items[item];
                all.entry(slot).or_insert(Change::Replace(item));
            }
        }
        all
    }

    /// Appends an unchanged slot, with the changes inside it.
    fn push_unchanged(&self, out: &mut String, slot: usize, changes: &Changes<'_>) -> usize {
        let span = &self.parsed.slots[slot].span;
        let mut from = span.start;
        let mut next = slot + 1;
        while self.parsed.slots.get(next).is_some_and(|inner| inner.span.end <= span.end) {
            if changes.contains_key(&next) {
                let inner = self.parsed.slots[next].span.clone();
                out.push_str(&self.text[from..inner.start]);
                next = self.push_changed(out, next, changes);
                from = inner.end;
            } else {
                next += 1;
            }
        }
        out.push_str(&self.text[from..span.end]);
        next
    }
}

/// Whether the children of an outline inherit the same context from both of its versions.
fn inherits_alike(old: &Item<Payload>, new: &Item<Payload>) -> bool {
    let (old, new) = (old.winner.payload.text(), new.winner.payload.text());
    let (old, new) = (PayloadTag::read(old), PayloadTag::read(new));
    old.inherited_attributes().eq(new.inherited_attributes())
}
