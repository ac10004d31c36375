//! Items of an XML feed: `sx:sync`, payload and conflicts, one by one. A fault in an item refuses only that item
//! (R-F8).

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use feedsync_core::{Feed, Format, Item, ItemId, Payload, Version};

use crate::context::Context;
use crate::diagnostic::Severity;
use crate::mapping::restore;
use crate::options::{Mode, ReadOptions};
use crate::payload::{Extraction, extract};
use crate::reading::Refused;
use crate::remarks::{Fault, PositionConverter, Remarks};
use crate::sync::{Signers, Stamp, SyncReader, sync_of};
use crate::xml::{Element, Namespace, XmlError, define_references};

/// Byte range of an item in the text, and its index in the feed if it was read.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    pub(crate) span: Range<usize>,
    pub(crate) item: Option<usize>,
}

/// The items read so far.
pub(crate) struct Items<'o> {
    pub(crate) format: Format,
    pub(crate) options: &'o ReadOptions<'o>,
    pub(crate) remarks: Remarks,
    pub(crate) feed: Feed,
    pub(crate) slots: Vec<Slot>,
    /// Whether the document states that its items are self-contained, see [`crate::payload`].
    pub(crate) self_contained: bool,
    refused: Vec<(Option<String>, usize, Fault)>,
    seen: HashSet<ItemId>,
    versions: usize,
    signers: Signers,
    /// Buffer in which payloads are built.
    scratch: String,
}

/// Additional data about an item: for outlines, the nested items and the claims of its position.
#[derive(Debug, Clone, Default)]
pub(crate) struct Extras {
    /// Spans of nested elements that are separate items, in ascending order.
    pub(crate) cuts: Vec<Range<usize>>,
    /// Attributes to add, see [`Extraction::claims`].
    pub(crate) claims: Vec<(&'static str, String)>,
}

/// A version of an item, and its list of conflicts.
struct Stamped<'t, 'a> {
    id: ItemId,
    version: Version<Payload>,
    nested: Option<Nested<'t, 'a>>,
}

/// A list of conflicts that is not read yet.
struct Nested<'t, 'a> {
    list: Element<'t, 'a>,
    /// The context that its items inherit.
    context: Context<'a>,
    self_contained: bool,
}

impl<'o> Items<'o> {
    pub(crate) fn new(format: Format, options: &'o ReadOptions<'o>) -> Self {
        Self {
            format,
            options,
            remarks: Remarks::new(options.mode),
            feed: Feed::default(),
            slots: Vec::new(),
            self_contained: false,
            refused: Vec::new(),
            seen: HashSet::new(),
            versions: 0,
            signers: Signers::default(),
            scratch: String::new(),
        }
    }

    /// Reads one item element and returns its id if it takes part in sharing. Returns an error if a limit is
    /// exceeded.
    pub(crate) fn take<'a>(
        &mut self,
        element: Element<'_, 'a>,
        context: &Context<'a>,
        extras: &Extras,
    ) -> Result<Option<ItemId>, XmlError> {
        let first_remark = self.remarks.len();
        let start = element.span().start;
        if self.options.mode == Mode::Tolerant {
            self.remarks.warn_of_undefined(element, &extras.cuts);
        }
        let mut outcome = self.item(element, context, extras);
        context.check(start)?;
        if self.versions > self.options.limits.items {
            let message = format!("more than {} items", self.options.limits.items);
            return Err(XmlError::new(start, message));
        }
        if let Ok(Some(item)) = &outcome
            && !self.seen.insert(item.id.clone())
        {
            let message = format!("the id {:?} occurs twice in the feed", item.id.as_str());
            let twice = Fault::new(start, "FeedSync 2.4", message);
            match self.options.mode {
                Mode::Strict => outcome = Err(twice),
                Mode::Tolerant => self.remarks.warn(twice),
            }
        }
        let mut slot = Slot { span: element.span(), item: None };
        let id = match outcome {
            Ok(Some(item)) => {
                slot.item = Some(self.feed.items.len());
                let id = item.id.clone();
                self.feed.items.push(item);
                self.remarks.about(first_remark, Some(id.as_str()));
                Some(id)
            }
            Ok(None) => {
                self.feed.plain_items += 1;
                None
            }
            Err(fault) => {
                let id = raw_id(element);
                self.remarks.about(first_remark, id.as_deref());
                self.refused.push((id, self.slots.len(), fault));
                None
            }
        };
        self.slots.push(slot);
        Ok(id)
    }

    fn item<'a>(
        &mut self,
        element: Element<'_, 'a>,
        context: &Context<'a>,
        extras: &Extras,
    ) -> Result<Option<Item<Payload>>, Fault> {
        let contained = self.self_contained;
        let read = self.version(element, context, extras, contained)?;
        let Some(Stamped { id, version: winner, nested }) = read else {
            return Ok(None);
        };
        let mut conflicts = Vec::new();
        // Conflicts nested in conflicts violate 2.6. They are read as one flat set (reading 8).
        let mut waiting: Vec<_> = nested.into_iter().collect();
        while let Some(Nested { list, context, self_contained }) = waiting.pop() {
            for child in list.children() {
                if !same_kind(child, element) && !self.may_differ_in_name(child)? {
                    let message = format!("{} in sx:conflicts is not an item", child.name());
                    self.remarks.warn(Fault::new(child.span().start, "FeedSync 2.6", message));
                    continue;
                }
                let start = child.span().start;
                let read = self.version(child, &context, &Extras::default(), self_contained)?;
                let Some(Stamped { id: own, version, nested }) = read else {
                    let message = "a conflict has no sx:sync";
                    return Err(Fault::new(start, "FeedSync 2.6", message));
                };
                if own != id {
                    let message = format!("a conflict has the id {own:?}, its item has {id:?}");
                    return Err(Fault::new(start, "FeedSync 2.6", message));
                }
                if let Some(nested) = nested {
                    let message = "a conflict has conflicts itself; they are taken as the item's";
                    self.remarks.remark(Fault::new(start, "FeedSync 2.6", message));
                    waiting.push(nested);
                }
                if version.noconflicts != winner.noconflicts {
                    let message = "a conflict and its item differ in noconflicts";
                    self.remarks.remark(Fault::new(start, "FeedSync 2.4", message));
                }
                conflicts.push(version);
            }
        }
        if winner.noconflicts == Some(true) && !conflicts.is_empty() {
            let message = "an item with noconflicts has conflicts";
            self.remarks.remark(Fault::new(element.span().start, "FeedSync 2.4", message));
        }
        Ok(Some(Item { id, winner, conflicts }))
    }

    /// Whether a child of `sx:conflicts` is a version of the item although its element name differs.
    ///
    /// This is allowed in POX if the child has an `sx:sync` (R-P2). In other formats such a child is a fault. A child
    /// without an `sx:sync` is unknown markup (R-F10).
    fn may_differ_in_name(&self, child: Element<'_, '_>) -> Result<bool, Fault> {
        let participates = child.child(Namespace::FEEDSYNC, "sync").is_some();
        if participates && self.format != Format::Pox {
            let message =
                format!("a conflict is an element {}, which differs from its item", child.name());
            return Err(Fault::new(child.span().start, "FeedSync 2.6", message));
        }
        Ok(participates)
    }

    /// Reads one version and its list of conflicts. Returns `None` if the element has no `sx:sync`.
    fn version<'t, 'a>(
        &mut self,
        element: Element<'t, 'a>,
        context: &Context<'a>,
        extras: &Extras,
        self_contained: bool,
    ) -> Result<Option<Stamped<'t, 'a>>, Fault> {
        self.versions += 1;
        let Some(sync) = sync_of(element)? else { return Ok(None) };
        if let Some(other) =
            element.children().find(|c| c.local() == "sync" && c.namespace().is_sse())
        {
            let message = "an item has both FeedSync and SSE information";
            return Err(Fault::new(other.span().start, "FeedSync 1.1", message));
        }
        if self.format == Format::Atom && element.namespace() != Namespace::ATOM {
            let message = "the item is not an entry of Atom 1.0: its namespace differs";
            return Err(Fault::new(element.span().start, "FeedSync 2.4", message));
        }
        let text = element.document();
        let inside = context.enter(text, element.attributes());
        let mut reader = SyncReader {
            options: self.options,
            remarks: &mut self.remarks,
            signers: &mut self.signers,
        };
        let stamp = reader.read(sync, &inside, self_contained)?;
        let Stamp { id, updates, deleted, noconflicts, history, foreign, conflicts, .. } = stamp;
        let self_contained = stamp.self_contained;
        let own = [sync.span()];
        let mut all = Vec::new();
        let cuts: &[_] = if extras.cuts.is_empty() {
            &own
        } else {
            all.extend(extras.cuts.iter().cloned().chain(own));
            all.sort_by_key(|cut| cut.start);
            &all
        };
        let claims: &[_] = if self_contained { &[] } else { &extras.claims };
        self.scratch.clear();
        extract(&mut self.scratch, element, context, Extraction { cuts, self_contained, claims });
        let payload: Arc<str> = match self.options.mode {
            Mode::Strict => Arc::from(&*self.scratch),
            Mode::Tolerant => Arc::from(&*define_references(&self.scratch)),
        };
        let version = restore(Version {
            updates,
            deleted,
            noconflicts,
            history,
            payload: Payload::from_parsed(self.format, payload).with_sync_foreign(foreign),
        });
        let nested = conflicts.map(|list| {
            let context = inside.enter(text, sync.attributes());
            let context = context.enter(text, list.attributes()).into_owned();
            Nested { list, context, self_contained }
        });
        Ok(Some(Stamped { id, version, nested }))
    }

    /// Returns the refused items, with lines and columns.
    pub(crate) fn take_refused(&mut self, places: &mut PositionConverter<'_>) -> Vec<Refused> {
        std::mem::take(&mut self.refused)
            .into_iter()
            .map(|(id, index, fault)| {
                let reason = places.diagnostic(Severity::Fault, fault, id.clone());
                Refused { id, index, reason }
            })
            .collect()
    }
}

/// Whether both elements have the same name and namespace.
fn same_kind(child: Element<'_, '_>, item: Element<'_, '_>) -> bool {
    child.local() == item.local() && child.namespace() == item.namespace()
}

/// Returns the id that an item claims, for the report.
fn raw_id(item: Element<'_, '_>) -> Option<String> {
    let sync = item.child(Namespace::FEEDSYNC, "sync")?;
    sync.value("id").map(Cow::into_owned)
}
