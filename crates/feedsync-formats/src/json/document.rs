//! A whole JSON document whose items can be replaced in place.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use feedsync_core::{Feed, Format, Item, Payload};

use super::node::Node;
use super::payload::{SYNC, without};
use super::read::{Parsed, parse, text_of};
use super::write::{push_item, push_sync};
use crate::diagnostic::{Diagnostic, ReadError};
use crate::options::ReadOptions;
use crate::reading::{Reading, Refused};
use crate::stale_window::without_json_window;

/// A document with its source: all parts that are not replaced are written unchanged.
pub struct Document {
    bytes: Vec<u8>,
    byte_order_mark: usize,
    parsed: Parsed,
}

impl Document {
    /// Reads a document and stores its bytes.
    pub fn read(bytes: &[u8], options: &ReadOptions<'_>) -> Result<Self, ReadError> {
        let text = text_of(bytes, options)?;
        let parsed = parse(text, options)?;
        Ok(Self { bytes: bytes.to_vec(), byte_order_mark: bytes.len() - text.len(), parsed })
    }

    /// Returns the complete result of reading.
    pub fn reading(&self) -> &Reading {
        &self.parsed.reading
    }

    /// Returns the feed with the items that take part in sharing.
    pub fn feed(&self) -> &Feed {
        &self.parsed.reading.feed
    }

    /// Returns the remarks, in document order.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.parsed.reading.diagnostics
    }

    /// Returns the items that could not be read. They keep their position and bytes.
    pub fn refused(&self) -> &[Refused] {
        &self.parsed.reading.refused
    }

    /// Returns the document with these items.
    ///
    /// An item that is equal to the one that was read keeps its bytes. One that differs replaces
    /// the item with its id. A new item is appended. Items that are not named stay, also refused
    /// and plain ones. If an id occurs more often in the document than in `items`, the surplus is
    /// removed, since its versions are in the named item. Payloads of other formats are projected.
    pub fn to_bytes_with(&self, items: &[Item<Payload>]) -> Vec<u8> {
        let text = std::str::from_utf8(&self.bytes[self.byte_order_mark..]).unwrap_or_default();
        let mut named: HashMap<&str, Vec<&Item<Payload>>> = HashMap::new();
        for item in items.iter().rev() {
            named.entry(item.id.as_str()).or_default().push(item);
        }
        let Parsed { reading, array, slots } = &self.parsed;
        let mut out = self.bytes[..self.byte_order_mark].to_vec();
        // In tolerant mode a single item may be in the place of the array.
        let is_array = text[array.clone()].starts_with('[');
        let start = array.start + usize::from(is_array);
        let mut list = List::new(text, start);
        for (span, slot) in slots {
            let old = slot.map(|slot| &reading.feed.items[slot]);
            let waiting = old.and_then(|old| named.get_mut(old.id.as_str()));
            match (old, waiting.map(Vec::pop)) {
                (Some(old), Some(Some(new))) if old != new => {
                    let mut written = String::new();
                    replace(&mut written, Node::root(&text[span.clone()]), new);
                    list.element(span.clone(), Some(&written));
                }
                (_, Some(None)) => {
                    list.skip(span.clone());
                }
                _ => list.element(span.clone(), None),
            }
        }
        let known: HashSet<&str> = reading.feed.items.iter().map(|item| item.id.as_str()).collect();
        for item in items.iter().filter(|item| !known.contains(item.id.as_str())) {
            let mut written = String::new();
            push_item(&mut written, item);
            list.append(&written);
        }
        let (open, close) = if is_array || list.count == 1 { ("", "") } else { ("[", "]") };
        for part in [&text[..start], open, &list.out, close, &text[list.end..]] {
            out.extend_from_slice(part.as_bytes());
        }
        if out == self.bytes {
            return out;
        }
        let written = std::str::from_utf8(&out[self.byte_order_mark..]).unwrap_or_default();
        match without_json_window(written) {
            Some(written) => [&out[..self.byte_order_mark], written.as_bytes()].concat(),
            None => out,
        }
    }
}

/// Writes the item in place of the old one. If the payload is the same, only `sync` is replaced.
fn replace(out: &mut String, old: Node<'_>, item: &Item<Payload>) {
    match old.member(SYNC) {
        Some(sync)
            if item.winner.payload.format() == Format::Json
                && without(old, SYNC) == *item.winner.payload.text() =>
        {
            out.push_str(&old.raw()[..sync.value.start() - old.start()]);
            push_sync(out, item);
            out.push_str(&old.raw()[sync.value.end() - old.start()..]);
        }
        _ => push_item(out, item),
    }
}

/// The content of an array that is rewritten with its original blanks and commas.
struct List<'a> {
    text: &'a str,
    /// Offset up to which the source was read.
    end: usize,
    out: String,
    first_lead: Option<&'a str>,
    later_lead: Option<&'a str>,
    count: usize,
}

impl<'a> List<'a> {
    fn new(text: &'a str, start: usize) -> Self {
        Self { text, end: start, out: String::new(), first_lead: None, later_lead: None, count: 0 }
    }

    fn element(&mut self, span: Range<usize>, written: Option<&str>) {
        let text = self.text;
        let lead = self.skip(span.clone());
        let lead = if self.count == 0 { self.first_lead.unwrap_or(lead) } else { lead };
        self.out.push_str(lead);
        self.out.push_str(written.unwrap_or(&text[span]));
        self.count += 1;
    }

    /// Skips an element and returns the text before it.
    fn skip(&mut self, span: Range<usize>) -> &'a str {
        let lead = &self.text[self.end..span.start];
        self.end = span.end;
        if self.first_lead.is_none() {
            self.first_lead = Some(lead);
        } else if self.later_lead.is_none() {
            self.later_lead = Some(lead);
        }
        lead
    }

    fn append(&mut self, written: &str) {
        let first_lead = self.first_lead.unwrap_or_default();
        if self.count > 0 {
            match self.later_lead {
                Some(lead) => self.out.push_str(lead),
                None => {
                    self.out.push(',');
                    self.out.push_str(first_lead);
                }
            }
        } else {
            self.out.push_str(first_lead);
        }
        self.out.push_str(written);
        self.count += 1;
    }
}
