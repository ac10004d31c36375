//! Reading a FeedSync JSON document.

use std::collections::HashSet;
use std::ops::Range;

use feedsync::{
    By, Feed, Format, History, Item, ItemId, Payload, Sequence, Update, Updates, Version,
};

use super::node::{Kind, Member, Node};
use super::payload::{SYNC, without};
use super::place::Places;
use super::scan::{self, Flaw};
use crate::diagnostic::{Diagnostic, ReadError, Severity};
use crate::mapping;
use crate::options::{Mode, ReadOptions};
use crate::reading::{Reading, Refused};

/// Reads a document: UTF-8, a byte order mark is skipped.
pub fn read(bytes: &[u8], options: &ReadOptions<'_>) -> Result<Reading, ReadError> {
    parse(text_of(bytes, options)?, options).map(|parsed| parsed.reading)
}

/// A reading and where its items stand in the text.
pub(super) struct Parsed {
    pub(super) reading: Reading,
    /// The array of items, brackets included.
    pub(super) array: Range<usize>,
    /// Every element of the array, and the item read from it: its place among the feed's items.
    pub(super) slots: Vec<(Range<usize>, Option<usize>)>,
}

/// The document's text without its byte order mark.
pub(super) fn text_of<'a>(
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
    let mut reader = Reader::new(text, options);
    let flaws = scan::check(text, options.limits.depth)
        .map_err(|malformed| reader.refuse_document(malformed.offset, malformed.message))?;
    reader.document(flaws)
}

/// Why an item is refused.
pub(super) struct Fault {
    pub(super) offset: usize,
    pub(super) clause: &'static str,
    pub(super) message: String,
}

pub(super) fn fault(offset: usize, clause: &'static str, message: impl Into<String>) -> Fault {
    Fault { offset, clause, message: message.into() }
}

pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) options: &'a ReadOptions<'a>,
    places: Places<'a>,
    pub(super) diagnostics: Vec<Diagnostic>,
    versions: usize,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, options: &'a ReadOptions<'a>) -> Self {
        let places = Places::new(text);
        Self { text, options, places, diagnostics: Vec::new(), versions: 0 }
    }

    fn document(&mut self, flaws: Vec<(usize, Flaw)>) -> Result<Parsed, ReadError> {
        let root = Node::root(self.text);
        if root.kind() != Kind::Object {
            return Err(self.refuse_document(root.start(), NOT_A_COLLECTION.into()));
        }
        let Some(items) = root.member("items") else {
            return Err(self.refuse_document(root.start(), NOT_A_COLLECTION.into()));
        };
        let array = items.value.span();
        if let Some(&(offset, flaw)) = flaws.iter().find(|(offset, _)| !array.contains(offset)) {
            return Err(self.refuse_document(offset, flaw.message().into()));
        }
        let elements = self
            .list(&items, "R-P3")
            .map_err(|fault| self.refuse_document(fault.offset, fault.message))?;
        let title = root.member("title").and_then(|title| title.value.string());
        let sharing = self.sharing(root);
        let mut parsed = Parsed {
            reading: Reading {
                format: Format::Json,
                feed: Feed { sharing, ..Feed::default() },
                title: title.map(std::borrow::Cow::into_owned),
                diagnostics: Vec::new(),
                refused: Vec::new(),
            },
            array,
            slots: Vec::with_capacity(elements.len()),
        };
        self.items(&elements, &flaws, &mut parsed)?;
        parsed.reading.diagnostics = std::mem::take(&mut self.diagnostics);
        Ok(parsed)
    }

    fn items(
        &mut self,
        elements: &[Node<'a>],
        mut flaws: &[(usize, Flaw)],
        parsed: &mut Parsed,
    ) -> Result<(), ReadError> {
        let mut seen = HashSet::new();
        for (index, &element) in elements.iter().enumerate() {
            let own = flaws.partition_point(|(offset, _)| *offset < element.end());
            let flaw =
                flaws[..own].first().map(|&(offset, flaw)| fault(offset, "R-P9", flaw.message()));
            flaws = &flaws[own..];
            let remarks = self.diagnostics.len();
            let mut outcome = flaw.map_or_else(|| self.item(element), Err);
            if let Ok(Some(item)) = &outcome
                && !seen.insert(item.id.clone())
            {
                let twice =
                    fault(element.start(), "FeedSync 2.4", "this id occurs twice in the feed");
                match self.options.mode {
                    Mode::Strict => outcome = Err(twice),
                    Mode::Tolerant => self.warn(twice),
                }
            }
            if self.versions > self.options.limits.items {
                let message = format!("more than {} items", self.options.limits.items);
                return Err(self.refuse_document(element.start(), message));
            }
            let id = raw_id(element);
            for remark in &mut self.diagnostics[remarks..] {
                remark.item.clone_from(&id);
            }
            let feed = &mut parsed.reading.feed;
            let mut slot = None;
            match outcome {
                Ok(Some(item)) => {
                    slot = Some(feed.items.len());
                    feed.items.push(item);
                }
                Ok(None) => feed.plain_items += 1,
                Err(fault) => {
                    let mut reason = self.diagnostic(Severity::Fault, fault);
                    reason.item.clone_from(&id);
                    parsed.reading.refused.push(Refused { id, index, reason });
                }
            }
            parsed.slots.push((element.span(), slot));
        }
        Ok(())
    }

    /// One element of `items`; `None` if it does not take part (R-P8).
    fn item(&mut self, element: Node<'a>) -> Result<Option<Item<Payload>>, Fault> {
        let Some((id, winner, nested)) = self.version(element)? else { return Ok(None) };
        let mut conflicts = Vec::new();
        // Conflicts inside conflicts are against 2.6; they are taken as one flat set (R-F10).
        let mut waiting: Vec<Node<'a>> = nested;
        waiting.reverse();
        while let Some(element) = waiting.pop() {
            let Some((own, version, nested)) = self.version(element)? else {
                return Err(fault(element.start(), "FeedSync 2.6", "a conflict has no \"sync\""));
            };
            if own != id {
                let message = format!("a conflict has the id {own:?}, its item has {id:?}");
                return Err(fault(element.start(), "FeedSync 2.6", message));
            }
            if !nested.is_empty() {
                let message = "a conflict has conflicts itself; they are taken as the item's";
                self.remark(fault(element.start(), "FeedSync 2.6", message));
            }
            if version.noconflicts != winner.noconflicts {
                let message = "a conflict and its item differ in \"noconflicts\"";
                self.remark(fault(element.start(), "FeedSync 2.4", message));
            }
            conflicts.push(version);
            waiting.extend(nested.into_iter().rev());
        }
        if winner.noconflicts == Some(true) && !conflicts.is_empty() {
            let message = "an item with \"noconflicts\" has conflicts";
            self.remark(fault(element.start(), "FeedSync 2.4", message));
        }
        Ok(Some(Item { id, winner, conflicts }))
    }

    /// An item or a conflict: its id, the version, and the elements of its `conflicts`.
    #[allow(clippy::type_complexity)]
    fn version(
        &mut self,
        item: Node<'a>,
    ) -> Result<Option<(ItemId, Version<Payload>, Vec<Node<'a>>)>, Fault> {
        self.versions += 1;
        if item.kind() != Kind::Object {
            return Err(fault(item.start(), "R-P8", "an item must be an object"));
        }
        let Some(sync) = item.member(SYNC) else { return Ok(None) };
        if sync.value.kind() == Kind::Null {
            self.warn(fault(sync.start, "R-P7", "\"sync\" is null, which counts as absent"));
            return Ok(None);
        }
        if sync.value.kind() != Kind::Object {
            return Err(fault(sync.value.start(), "R-P8", "\"sync\" must be an object"));
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
        let mut payload = Payload::new(Format::Json, without(item, SYNC));
        if !parts.foreign.is_empty() {
            payload.sync_foreign = Some(parts.foreign.join(",").into());
        }
        let version = mapping::restore(Version {
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
            return Err(fault(member.start, "FeedSync 2.5", message));
        }
        let updates =
            entries.into_iter().map(|entry| self.update(entry)).collect::<Result<_, _>>()?;
        let empty = || fault(member.start, "FeedSync 2.4", "\"history\" must not be empty");
        History::from_updates(updates).ok_or_else(empty).map(Some)
    }

    fn update(&mut self, entry: Node<'a>) -> Result<Update, Fault> {
        if entry.kind() != Kind::Object {
            return Err(fault(
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
            .map_err(|unsigned| fault(entry.start(), "FeedSync 2.5", unsigned.to_string()))?;
        Ok(if foreign.is_empty() { update } else { update.with_foreign(foreign.join(",")) })
    }

    /// The elements of an array; a single object in its place is a fault, or a warning in tolerant
    /// mode; `null` is none (R-P7).
    pub(super) fn list(
        &mut self,
        member: &Member<'a>,
        clause: &'static str,
    ) -> Result<Vec<Node<'a>>, Fault> {
        let not_array = || {
            let message = format!("{:?} must be an array", member.name);
            fault(member.value.start(), clause, message)
        };
        match member.value.kind() {
            Kind::Array => Ok(member.value.elements().collect()),
            Kind::Null if member.name != "items" => {
                self.warn_null(member);
                Ok(Vec::new())
            }
            Kind::Object if self.options.mode == Mode::Tolerant => {
                self.warn(not_array());
                Ok(vec![member.value])
            }
            _ => Err(not_array()),
        }
    }

    pub(super) fn diagnostic(&mut self, severity: Severity, fault: Fault) -> Diagnostic {
        let Fault { offset, clause, message } = fault;
        Diagnostic { severity, position: self.places.at(offset), clause, message, item: None }
    }

    pub(super) fn warn(&mut self, fault: Fault) {
        let warning = self.diagnostic(Severity::Warning, fault);
        self.diagnostics.push(warning);
    }

    /// A fault that refuses nothing: in tolerant mode a warning.
    pub(super) fn remark(&mut self, fault: Fault) {
        let severity = match self.options.mode {
            Mode::Strict => Severity::Fault,
            Mode::Tolerant => Severity::Warning,
        };
        let remark = self.diagnostic(severity, fault);
        self.diagnostics.push(remark);
    }

    fn refuse_document(&mut self, offset: usize, message: String) -> ReadError {
        ReadError::Document { position: self.places.at(offset), message }
    }
}

const NOT_A_COLLECTION: &str = "a FeedSync JSON document is an object with an array \"items\"";

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
    fault(offset, clause, format!("{name:?} is missing"))
}

/// The id that an item claims, for the report.
fn raw_id(item: Node<'_>) -> Option<String> {
    let id = item.member(SYNC)?.value.member("id")?.value;
    id.string().map(std::borrow::Cow::into_owned)
}
