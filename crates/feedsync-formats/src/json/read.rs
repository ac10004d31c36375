//! Reading a FeedSync JSON document.

use std::collections::HashSet;
use std::ops::Range;

use feedsync_core::{
    By, Feed, Format, History, Item, ItemId, Payload, Sequence, Update, Updates, Version,
};

use super::node::{Kind, Member, Node};
use super::payload::{SYNC, without};
use super::scan::{self, Flaw};
use crate::details::{FeedDetails, read_json};
use crate::diagnostic::{ReadError, Severity};
use crate::mapping;
use crate::options::{Mode, ReadOptions};
use crate::reading::{Reading, Refused};
use crate::remarks::{Fault, PositionConverter, Remarks};

/// Reads a document in UTF-8. A byte order mark is skipped.
pub fn read(bytes: &[u8], options: &ReadOptions<'_>) -> Result<Reading, ReadError> {
    parse(text_of(bytes, options)?, options).map(|parsed| parsed.reading)
}

/// Reads a document like [`read`], but leaves every payload as the JSON object in the document: a projection keeps its
/// native text in the member `fs:native`. Details of the feed are not read. A program that only uses this function and
/// [`push_unmapped`](super::push_unmapped) links no other format.
pub fn read_unmapped(bytes: &[u8], options: &ReadOptions<'_>) -> Result<Reading, ReadError> {
    let unmapped = Conversion { restore: |version| version, details: |_| FeedDetails::default() };
    parse_with(text_of(bytes, options)?, options, unmapped).map(|parsed| parsed.reading)
}

/// The parts of reading that depend on other formats. They are function pointers, so that a program that does not read
/// them does not link them.
#[derive(Clone, Copy)]
struct Conversion {
    restore: fn(Version<Payload>) -> Version<Payload>,
    details: fn(Node<'_>) -> FeedDetails,
}

/// The result of reading, with the positions of the items in the text.
pub(super) struct Parsed {
    pub(super) reading: Reading,
    /// Byte range of the array of items, including the brackets.
    pub(super) array: Range<usize>,
    /// Byte range of each element of the array, and the index of the item that was read from it.
    pub(super) slots: Vec<(Range<usize>, Option<usize>)>,
}

/// The document's text without its byte order mark.
pub(crate) fn text_of<'a>(
    bytes: &'a [u8],
    options: &ReadOptions<'_>,
) -> Result<&'a str, ReadError> {
    if bytes.len() > options.limits.bytes {
        return Err(ReadError::TooLarge { limit: options.limits.bytes });
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| ReadError::Encoding {
        offset: error.valid_up_to(),
        message: "FeedSync JSON is UTF-8, and this byte is not".into(),
    })
}

pub(super) fn parse(text: &str, options: &ReadOptions<'_>) -> Result<Parsed, ReadError> {
    parse_with(text, options, Conversion { restore: mapping::restore, details: read_json })
}

fn parse_with(
    text: &str,
    options: &ReadOptions<'_>,
    conversion: Conversion,
) -> Result<Parsed, ReadError> {
    let mut reader = Reader {
        text,
        conversion,
        options,
        remarks: Remarks::new(options.mode),
        versions: 0,
        slots: Vec::new(),
    };
    let mut places = PositionConverter::new(text);
    let mut refuse = |fault: Fault| {
        let reason = places.diagnostic(Severity::Fault, fault, None);
        ReadError::Document { position: reason.position, message: reason.message }
    };
    let flaws = scan::check(text, options.limits.depth)
        .map_err(|malformed| refuse(Fault::new(malformed.offset, "RFC 8259", malformed.message)))?;
    let (mut reading, array, refused) = reader.document(&flaws).map_err(&mut refuse)?;
    reading.diagnostics = reader.remarks.into_diagnostics(&mut places);
    for (id, index, fault) in refused {
        let reason = places.diagnostic(Severity::Fault, fault, id.clone());
        reading.refused.push(Refused { id, index, reason });
    }
    Ok(Parsed { reading, array, slots: reader.slots })
}

/// Refused items: the claimed id, the index in the array, and the reason.
type RefusedItems = Vec<(Option<String>, usize, Fault)>;

pub(super) struct Reader<'a> {
    text: &'a str,
    conversion: Conversion,
    pub(super) options: &'a ReadOptions<'a>,
    pub(super) remarks: Remarks,
    versions: usize,
    slots: Vec<(Range<usize>, Option<usize>)>,
}

impl<'a> Reader<'a> {
    /// Reads the document, except its diagnostics, and the positions of its items.
    fn document(
        &mut self,
        flaws: &[(usize, Flaw)],
    ) -> Result<(Reading, Range<usize>, RefusedItems), Fault> {
        let root = Node::root(self.text);
        let items = if root.kind() == Kind::Object { root.member("items") } else { None };
        let Some(items) = items else {
            let message =
                "not a feed: a FeedSync JSON document is an object with an array \"items\"";
            return Err(Fault::new(root.start(), "R-P3", message));
        };
        let array = items.value.span();
        if let Some(&(offset, flaw)) = flaws.iter().find(|(offset, _)| !array.contains(offset)) {
            return Err(Fault::new(offset, "R-P9", flaw.message()));
        }
        let elements = self.list(&items, "R-P3")?;
        let mut feed = Feed { sharing: self.sharing(root), ..Feed::default() };
        let refused = self.items(&elements, flaws, &mut feed)?;
        let title = root.member("title").and_then(|title| title.value.string());
        let reading = Reading {
            format: Format::Json,
            feed,
            title: title.map(std::borrow::Cow::into_owned),
            details: (self.conversion.details)(root),
            diagnostics: Vec::new(),
            refused: Vec::new(),
        };
        Ok((reading, array, refused))
    }

    fn items(
        &mut self,
        elements: &[Node<'a>],
        mut flaws: &[(usize, Flaw)],
        feed: &mut Feed,
    ) -> Result<RefusedItems, Fault> {
        let mut refused = RefusedItems::new();
        let mut seen = HashSet::new();
        for (index, &element) in elements.iter().enumerate() {
            let own = flaws.partition_point(|(offset, _)| *offset < element.end());
            let flaw = flaws[..own].first();
            let flaw = flaw.map(|&(offset, flaw)| Fault::new(offset, "R-P9", flaw.message()));
            flaws = &flaws[own..];
            let first_remark = self.remarks.len();
            let mut outcome = flaw.map_or_else(|| self.item(element), Err);
            if let Ok(Some(item)) = &outcome
                && !seen.insert(item.id.clone())
            {
                let message = format!("the id {:?} occurs twice in the feed", item.id.as_str());
                let twice = Fault::new(element.start(), "FeedSync 2.4", message);
                match self.options.mode {
                    Mode::Strict => outcome = Err(twice),
                    Mode::Tolerant => self.remarks.warn(twice),
                }
            }
            if self.versions > self.options.limits.items {
                let message = format!("more than {} items", self.options.limits.items);
                return Err(Fault::new(element.start(), "R-P3", message));
            }
            if self.remarks.len() > first_remark {
                self.remarks.about(first_remark, raw_id(element).as_deref());
            }
            let mut slot = None;
            match outcome {
                Ok(Some(item)) => {
                    slot = Some(feed.items.len());
                    feed.items.push(item);
                }
                Ok(None) => feed.plain_items += 1,
                Err(fault) => refused.push((raw_id(element), index, fault)),
            }
            self.slots.push((element.span(), slot));
        }
        Ok(refused)
    }

    /// Reads one element of `items`. Returns `None` if it does not take part in sharing (R-P8).
    fn item(&mut self, element: Node<'a>) -> Result<Option<Item<Payload>>, Fault> {
        let Some((id, winner, nested)) = self.version(element)? else { return Ok(None) };
        let mut conflicts = Vec::new();
        // Conflicts nested in conflicts violate 2.6. They are read as one flat set (R-F10).
        let mut waiting: Vec<Node<'a>> = nested;
        waiting.reverse();
        while let Some(element) = waiting.pop() {
            let Some((own, version, nested)) = self.version(element)? else {
                return Err(Fault::new(
                    element.start(),
                    "FeedSync 2.6",
                    "a conflict has no \"sync\"",
                ));
            };
            if own != id {
                let message = format!("a conflict has the id {own:?}, its item has {id:?}");
                return Err(Fault::new(element.start(), "FeedSync 2.6", message));
            }
            if !nested.is_empty() {
                let message = "a conflict has conflicts itself; they are taken as the item's";
                self.remarks.remark(Fault::new(element.start(), "FeedSync 2.6", message));
            }
            if version.noconflicts != winner.noconflicts {
                let message = "a conflict and its item differ in \"noconflicts\"";
                self.remarks.remark(Fault::new(element.start(), "FeedSync 2.4", message));
            }
            conflicts.push(version);
            waiting.extend(nested.into_iter().rev());
        }
        if winner.noconflicts == Some(true) && !conflicts.is_empty() {
            let message = "an item with \"noconflicts\" has conflicts";
            self.remarks.remark(Fault::new(element.start(), "FeedSync 2.4", message));
        }
        Ok(Some(Item { id, winner, conflicts }))
    }

    /// Reads an item or a conflict. Returns its id, its version, and the elements of its
    /// `conflicts`.
    #[allow(clippy::type_complexity)]
    fn version(
        &mut self,
        item: Node<'a>,
    ) -> Result<Option<(ItemId, Version<Payload>, Vec<Node<'a>>)>, Fault> {
        self.versions += 1;
        if item.kind() != Kind::Object {
            return Err(Fault::new(item.start(), "R-P8", "an item must be an object"));
        }
        let Some(sync) = item.member(SYNC) else { return Ok(None) };
        if sync.value.kind() == Kind::Null {
            self.remarks.warn(Fault::new(
                sync.start,
                "R-P7",
                "\"sync\" is null, which counts as absent",
            ));
            return Ok(None);
        }
        if sync.value.kind() != Kind::Object {
            return Err(Fault::new(sync.value.start(), "R-P8", "\"sync\" must be an object"));
        }
        let payload = without(item, SYNC);
        if Node::root(&payload)
            .is_deeper_than(self.options.limits.depth.saturating_sub(ENCLOSING_LEVELS))
        {
            return Err(Fault::new(item.start(), "R-P9", "nested too deep to become a conflict"));
        }
        let at = sync.start;
        let mut parts = Parts::default();
        for member in sync.value.members() {
            match &*member.name {
                "id" => parts.id = self.identifier(&member, ItemId::new, ItemId::has_reserved)?,
                "updates" => parts.updates = self.counter(&member)?,
                "deleted" => parts.deleted = self.boolean(&member)?,
                "noconflicts" => parts.noconflicts = self.boolean(&member)?,
                "history" => parts.history = self.history(&member)?,
                "conflicts" => parts.conflicts = self.list(&member, "FeedSync 2.6")?,
                _ => parts.foreign.push(member.raw()),
            }
        }
        let id = parts.id.ok_or_else(|| missing(at, "id"))?;
        let foreign = (!parts.foreign.is_empty()).then(|| parts.foreign.join(","));
        let payload = Payload::from_parsed(Format::Json, payload).with_sync_foreign(foreign);
        let version = (self.conversion.restore)(Version {
            updates: parts.updates.ok_or_else(|| missing(at, "updates"))?,
            deleted: parts.deleted == Some(true),
            noconflicts: parts.noconflicts,
            history: parts.history.ok_or_else(|| missing(at, "history"))?,
            payload,
        });
        Ok(Some((id, version, parts.conflicts)))
    }

    fn history(&mut self, member: &Member<'a>) -> Result<Option<History>, Fault> {
        if member.value.kind() == Kind::Null {
            self.warn_null(member);
            return Ok(None);
        }
        let entries = self.list(member, "FeedSync 2.5")?;
        if entries.len() > self.options.limits.history {
            let message = format!("more than {} updates", self.options.limits.history);
            return Err(Fault::new(member.start, "FeedSync 2.5", message));
        }
        let updates =
            entries.into_iter().map(|entry| self.update(entry)).collect::<Result<_, _>>()?;
        let empty = || Fault::new(member.start, "FeedSync 2.4", "\"history\" must not be empty");
        History::from_updates(updates).ok_or_else(empty).map(Some)
    }

    fn update(&mut self, entry: Node<'a>) -> Result<Update, Fault> {
        if entry.kind() != Kind::Object {
            return Err(Fault::new(
                entry.start(),
                "FeedSync 2.5",
                "an entry of \"history\" must be an object",
            ));
        }
        let (mut sequence, mut when, mut by, mut foreign) = (None, None, None, Vec::new());
        for member in entry.members() {
            match &*member.name {
                "sequence" => sequence = self.counter::<Sequence>(&member)?,
                "when" => when = self.timestamp(&member)?,
                "by" => by = self.identifier(&member, By::new, By::has_reserved)?,
                _ => foreign.push(member.raw()),
            }
        }
        let sequence = sequence.ok_or_else(|| missing(entry.start(), "sequence"))?;
        let update = Update::new(sequence, when, by)
            .map_err(|unsigned| Fault::new(entry.start(), "FeedSync 2.5", unsigned.to_string()))?;
        Ok(if foreign.is_empty() { update } else { update.with_foreign(foreign.join(",")) })
    }

    /// Returns the elements of an array. A single object instead of an array is a fault, or a
    /// warning in tolerant mode. `null` gives an empty list (R-P7).
    pub(super) fn list(
        &mut self,
        member: &Member<'a>,
        clause: &'static str,
    ) -> Result<Vec<Node<'a>>, Fault> {
        let not_array = || {
            let message = format!("{:?} must be an array", member.name);
            Fault::new(member.value.start(), clause, message)
        };
        match member.value.kind() {
            Kind::Array => Ok(member.value.elements().collect()),
            Kind::Null if member.name != "items" => {
                self.warn_null(member);
                Ok(Vec::new())
            }
            Kind::Object if self.options.mode == Mode::Tolerant => {
                self.remarks.warn(not_array());
                Ok(vec![member.value])
            }
            _ => Err(not_array()),
        }
    }
}

/// Number of levels around a conflict: the document, its items, an item, `sync`, `conflicts`. An
/// item that is accepted as a winner must also fit as a conflict. Otherwise the document that is
/// written could not be read.
const ENCLOSING_LEVELS: usize = 5;

#[derive(Default)]
struct Parts<'a> {
    id: Option<ItemId>,
    updates: Option<Updates>,
    deleted: Option<bool>,
    noconflicts: Option<bool>,
    history: Option<History>,
    conflicts: Vec<Node<'a>>,
    foreign: Vec<&'a str>,
}

fn missing(offset: usize, name: &str) -> Fault {
    let clause = if name == "sequence" { "FeedSync 2.5" } else { "FeedSync 2.4" };
    Fault::new(offset, clause, format!("{name:?} is missing"))
}

/// Returns the id that an item claims, for the report.
fn raw_id(item: Node<'_>) -> Option<String> {
    let id = item.member(SYNC)?.value.member("id")?.value;
    id.string().map(std::borrow::Cow::into_owned)
}
