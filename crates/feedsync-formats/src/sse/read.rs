//! Reads an SSE document: its items with their positions, and all text around them as offsets.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use feedsync_core::sse::{Item, Sharing, TreePosition};
use feedsync_core::{ItemId, Payload};

use super::observed::{Sibling, indexes};
use super::sharing::read_sharing;
use super::sync::{
    Kind, SyncSource, furniture_of, is_inner, is_sse, payload_of, read_sync, sync_of,
};
use crate::context::Context;
use crate::details::{FeedDetails, HeadReader};
use crate::diagnostic::{Diagnostic, ReadError, Severity};
use crate::options::{Mode, ReadOptions};
use crate::reading::Refused;
use crate::remarks::{Fault, PositionConverter, Remarks};
use crate::sync::is_self_contained;
use crate::xml::{Attribute, Element, Namespace, Tree, XmlError};

/// The content of a document.
pub(super) struct Parsed {
    pub(super) kind: Kind,
    pub(super) sharing: Option<Sharing>,
    pub(super) title: Option<String>,
    pub(super) details: FeedDetails,
    /// All nodes. The first is the root: `channel` or `body`.
    pub(super) nodes: Vec<Node>,
    pub(super) entries: Vec<Entry>,
    /// Prefixes and namespaces that the root declares for the nodes in it.
    pub(super) declared: Vec<(String, String)>,
    pub(super) plain_items: usize,
    pub(super) refused: Vec<Refused>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// The root, an item, or furniture: an element that could be an item but is none.
pub(super) struct Node {
    /// Parent node. The root is its own parent.
    pub(super) parent: usize,
    pub(super) span: Range<usize>,
    pub(super) content: Range<usize>,
    /// Text of the element outside any document, without its child nodes and its `sx:sync`, and
    /// without inherited properties.
    pub(super) alone: Arc<str>,
    /// Whether the element inherits only the declarations of the root.
    pub(super) under_root_context: bool,
    /// Default namespace inside the element.
    pub(super) default: Option<String>,
    /// Index of its item, if it is one.
    pub(super) entry: Option<usize>,
    /// Child nodes, in document order.
    pub(super) children: Vec<usize>,
}

/// An item with its position.
pub(super) struct Entry {
    pub(super) item: Item<Payload>,
    /// Claimed position, or the observed one if there is no claim.
    pub(super) position: TreePosition,
    pub(super) claimed: bool,
    /// Whether the item inherits nothing. It then has no position other than a claimed one.
    pub(super) self_contained: bool,
    pub(super) node: usize,
    pub(super) sync: SyncSource,
}

/// Reads the text of a document.
pub(super) fn parse(text: &str, options: &ReadOptions<'_>) -> Result<Parsed, ReadError> {
    let (tree, namespaces) = Tree::parse(text, options.mode, &options.limits)
        .map_err(|error| error.into_read_error(text))?;
    let root = tree.root();
    let (kind, container, head) = match root.local() {
        "rss" => {
            let channel = root.child(root.namespace(), "channel");
            (Kind::rss(root.namespace()), channel, channel)
        }
        "opml" => {
            let part = |name| root.child(Namespace::NONE, name);
            (Kind::OPML, part("body"), part("head"))
        }
        _ => {
            return Err(ReadError::UnknownFormat {
                found: format!("the element {:?}", root.name()),
            });
        }
    };
    let Some(container) = container else {
        let message = format!("{} has neither a channel nor a body", root.name());
        return Err(XmlError::new(root.span().start, message).into_read_error(text));
    };
    let context = Context::outside(options);
    let context = context.enter(text, root.attributes());
    let context = context.enter(text, container.attributes());
    let mut reading = Reading {
        text,
        options,
        kind,
        self_contained: is_self_contained(text, root.attributes()),
        remarks: Remarks::new(options.mode),
        nodes: vec![node(container, 0, Arc::from(""), true, &context)],
        entries: Vec::new(),
        ids: HashSet::new(),
        siblings: HashMap::new(),
        plain_items: 0,
        refused: Vec::new(),
        read: 0,
        of_feedsync: None,
    };
    let sharing = reading.sharing(head);
    reading.walk(container, 0, None, true, &context)?;
    for siblings in reading.siblings.values() {
        let claims: Vec<Sibling<'_>> = siblings
            .iter()
            .map(|&index| &reading.entries[index])
            .map(|entry| (&entry.item.id, entry.claimed.then_some(entry.position.index)))
            .collect();
        for (&index, found) in siblings.iter().zip(indexes(&claims)) {
            reading.entries[index].position.index = found;
        }
    }
    if let Some(offset) = reading.of_feedsync.filter(|_| !reading.entries.is_empty()) {
        let message = "this item uses FeedSync, but others in the document use SSE";
        reading.remarks.remark(Fault::new(offset, "SSE 1.1", message));
    }
    let title = head.and_then(|head| head.child(head.namespace(), "title"));
    let title = title.map(|title| title.text().into_owned());
    let mut details = HeadReader::new(kind.format, root.namespace(), reading.self_contained);
    if let Some(head) = head {
        let around = Context::outside(options);
        let around = around.enter(text, root.attributes());
        let around = around.enter(text, head.attributes());
        let is_other = |child: &Element<'_, '_>| {
            !kind.is(*child) && !is_sse(*child, "sharing") && !child.is(head.namespace(), "title")
        };
        head.children()
            .filter(is_other)
            .for_each(|child| details.element(child, &namespaces, &around));
    }
    let details = details.finish(title.as_deref());
    let mut places = PositionConverter::new(text);
    let mut refused = Vec::with_capacity(reading.refused.len());
    for (index, fault, id) in reading.refused {
        let reason = places.diagnostic(Severity::Fault, fault, id.clone());
        refused.push(Refused { id, index, reason });
    }
    Ok(Parsed {
        kind,
        sharing,
        title,
        details,
        nodes: reading.nodes,
        entries: reading.entries,
        declared: context
            .prefixes
            .iter()
            .map(|declaration| (declaration.prefix.to_owned(), declaration.iri.to_string()))
            .collect(),
        plain_items: reading.plain_items,
        refused,
        diagnostics: reading.remarks.into_diagnostics(&mut places),
    })
}

struct Reading<'a, 'o> {
    text: &'a str,
    options: &'o ReadOptions<'o>,
    kind: Kind,
    self_contained: bool,
    remarks: Remarks,
    nodes: Vec<Node>,
    entries: Vec<Entry>,
    ids: HashSet<ItemId>,
    /// Entries that are children of each item and claim no position.
    siblings: HashMap<Option<ItemId>, Vec<usize>>,
    plain_items: usize,
    refused: Vec<(usize, Fault, Option<String>)>,
    /// Number of items and records so far, including plain and refused ones.
    read: usize,
    /// Offset of the first `sx:sync` of FeedSync.
    of_feedsync: Option<usize>,
}

impl<'a> Reading<'a, '_> {
    fn sharing(&mut self, head: Option<Element<'_, 'a>>) -> Option<Sharing> {
        let mut found = head?.children().filter(|child| is_sse(*child, "sharing"));
        let sharing = read_sharing(found.next()?, &mut self.remarks);
        if let Some(second) = found.next() {
            let message = "a second sx:sharing, which is ignored";
            self.remarks.remark(Fault::new(second.span().start, "SSE 2.1", message));
        }
        Some(sharing)
    }

    /// Adds the nodes in an element. `above` is the nearest item around them.
    fn walk(
        &mut self,
        element: Element<'_, 'a>,
        parent: usize,
        above: Option<&ItemId>,
        under_root_context: bool,
        context: &Context<'a>,
    ) -> Result<(), ReadError> {
        let kind = self.kind;
        for child in element.children().filter(|child| kind.is(*child)) {
            self.count(child)?;
            let inside = context.enter(self.text, child.attributes());
            let index = self.nodes.len();
            let found = self.entry(child, index, above, context, &inside);
            let checked = context.check(child.span().start);
            checked.map_err(|error| error.into_read_error(self.text))?;
            let alone = match &found {
                Some(entry) => entry.item.payload.shared_text(),
                None => furniture_of(child, self.kind, context, self.self_contained).into(),
            };
            self.nodes.push(node(child, parent, alone, under_root_context, &inside));
            self.nodes[parent].children.push(index);
            let id = found.as_ref().map(|entry| entry.item.id.clone());
            if let Some(entry) = found {
                self.nodes[index].entry = Some(self.entries.len());
                self.entries.push(entry);
            }
            if self.kind == Kind::OPML {
                let under = under_root_context && is_plain(child.attributes());
                self.walk(child, index, id.as_ref().or(above), under, &inside)?;
            }
        }
        Ok(())
    }

    fn count(&mut self, child: Element<'_, 'a>) -> Result<(), ReadError> {
        let limit = self.options.limits.items;
        if self.read >= limit {
            let message = format!("more than {limit} items");
            let error = XmlError::new(child.span().start, message);
            return Err(error.into_read_error(self.text));
        }
        self.read += 1;
        Ok(())
    }

    /// Returns the item that an element represents. Returns `None` if it takes no part in sharing
    /// or is refused.
    fn entry(
        &mut self,
        element: Element<'_, 'a>,
        node: usize,
        above: Option<&ItemId>,
        context: &Context<'a>,
        inside: &Context<'a>,
    ) -> Option<Entry> {
        let first = self.remarks.len();
        if self.options.mode == Mode::Tolerant {
            let inner = element.children().filter(|child| is_inner(*child, self.kind));
            let cuts: Vec<_> = inner.map(Element::span).collect();
            self.remarks.warn_of_undefined(element, &cuts);
        }
        let index = self.plain_items + self.refused.len() + self.entries.len();
        let sync = match sync_of(element) {
            Ok(Some(sync)) => sync,
            Ok(None) => {
                if let Some(other) = element.child(Namespace::FEEDSYNC, "sync") {
                    self.of_feedsync.get_or_insert(other.span().start);
                }
                self.plain_items += 1;
                return None;
            }
            Err(fault) => {
                self.refused.push((index, fault, None));
                return None;
            }
        };
        let named = sync.value("id").map(|id| id.chars().take(1024).collect::<String>());
        let read = read_sync(sync, inside, self.kind, self.options, &mut self.remarks);
        self.remarks.about(first, named.as_deref());
        let read = read.and_then(|read| {
            if self.ids.insert(read.item.id.clone()) {
                return Ok(read);
            }
            let message = format!("the id {} occurs twice", read.item.id);
            Err(Fault::new(sync.span().start, "SSE 2.3", message))
        });
        let read = match read {
            Ok(read) => read,
            Err(fault) => {
                self.refused.push((index, fault, named));
                return None;
            }
        };
        self.read += read.conflicts.len();
        let seen = TreePosition { parent: above.cloned(), index: 0 };
        let claimed = read.claim.is_some();
        let position = read.claim.unwrap_or(seen);
        if position.parent.as_ref() == above {
            self.siblings.entry(above.cloned()).or_default().push(self.entries.len());
        }
        let self_contained = self.self_contained || read.self_contained;
        let Item { id, version, deleted, conflict, history, .. } = read.item;
        let payload = payload_of(element, self.kind, context, self_contained);
        let conflicts = read.conflicts;
        Some(Entry {
            item: Item { id, version, deleted, conflict, history, conflicts, payload },
            claimed,
            self_contained,
            position,
            node,
            sync: read.source,
        })
    }
}

fn node(
    element: Element<'_, '_>,
    parent: usize,
    alone: Arc<str>,
    under_root_context: bool,
    inside: &Context<'_>,
) -> Node {
    Node {
        parent,
        span: element.span(),
        content: element.content_span(),
        alone,
        under_root_context,
        default: inside.default.as_ref().map(|iri| iri.clone().into_owned()),
        entry: None,
        children: Vec::new(),
    }
}

/// Whether a start tag has no attributes that child elements inherit.
fn is_plain(attributes: &[Attribute]) -> bool {
    !attributes
        .iter()
        .any(|attribute| matches!(attribute.namespace(), Namespace::XMLNS | Namespace::XML))
}
