//! Reads `sx:sync` and its content (2.3 to 2.5, 5.1, 5.2).

use std::ops::Range;

use feedsync_core::sse::{Conflict, History, Item, TreePosition};
use feedsync_core::{Format, Payload};

use super::attributes::Attributes;
use super::claim;
use crate::context::Context;
use crate::options::ReadOptions;
use crate::payload::{Extraction, OWN, extract};
use crate::remarks::{Fault, Remarks};
use crate::xml::{Element, Namespace, define_references};

/// Type of the elements that can be items of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) format: Format,
    namespace: Namespace,
}

impl Kind {
    /// RSS items of a channel in this namespace.
    pub(super) fn rss(namespace: Namespace) -> Self {
        Self { format: Format::Rss, namespace }
    }

    /// OPML outlines.
    pub(super) const OPML: Self = Self { format: Format::Opml, namespace: Namespace::NONE };

    /// Whether an element has this type.
    pub(super) fn is(self, element: Element<'_, '_>) -> bool {
        let name = if self.format == Format::Opml { "outline" } else { "item" };
        element.is(self.namespace, name)
    }
}

/// Positions of an `sx:sync` and its parts in the document, for editing it.
#[derive(Debug, Clone)]
pub(super) struct SyncSource {
    pub(super) span: Range<usize>,
    /// Range of the start tag, including `<` and `>`.
    pub(super) tag: Range<usize>,
    /// Range of the name as written, with its prefix.
    pub(super) name: Range<usize>,
    /// Range between the tags. It is empty at the end of the tag for `<sx:sync/>`, which has no
    /// history.
    pub(super) content: Range<usize>,
    /// Ranges of the attributes that an edit replaces: `conflict`, and FeedSync's claim.
    pub(super) conflict: Option<Range<usize>>,
    pub(super) claim: Vec<Range<usize>>,
    /// Prefixes and namespaces that the element uses and does not declare.
    pub(super) inherited: Vec<(String, String)>,
    /// Prefix of FeedSync's extension namespace, if it is used.
    pub(super) own_prefix: Option<String>,
    /// Default namespace inside the element.
    pub(super) default: Option<String>,
    /// Range of `sx:conflicts`, and of each `sx:conflict` in it.
    pub(super) conflicts: Option<(Range<usize>, Vec<Range<usize>>)>,
}

/// The data of an `sx:sync`.
pub(super) struct Sync {
    /// The item, without its payload.
    pub(super) item: Item<()>,
    /// Records of the versions that lost.
    pub(super) conflicts: Vec<Conflict<Payload>>,
    /// Claimed position.
    pub(super) claim: Option<TreePosition>,
    pub(super) self_contained: bool,
    pub(super) source: SyncSource,
}

/// Whether the element is an SSE element with that name.
pub(super) fn is_sse(element: Element<'_, '_>, local: &str) -> bool {
    element.namespace().is_sse() && element.local() == local
}

/// Returns the `sx:sync` of an item. Two of them, or another one of FeedSync, are a fault (R-F11,
/// R-P11).
pub(super) fn sync_of<'t, 'a>(item: Element<'t, 'a>) -> Result<Option<Element<'t, 'a>>, Fault> {
    let sync = only_child(item, "sync", "SSE 2.3")?;
    match item.child(Namespace::FEEDSYNC, "sync") {
        Some(other) if sync.is_some() => {
            let message = "an item uses SSE and FeedSync at the same time";
            Err(Fault::new(other.span().start, "SSE 2.3", message))
        }
        _ => Ok(sync),
    }
}

fn only_child<'t, 'a>(
    parent: Element<'t, 'a>,
    local: &str,
    clause: &'static str,
) -> Result<Option<Element<'t, 'a>>, Fault> {
    let mut found = parent.children().filter(|child| is_sse(*child, local));
    let first = found.next();
    match found.next() {
        Some(second) => {
            let message = format!("a second {} in one {}", second.name(), parent.name());
            Err(Fault::new(second.span().start, clause, message))
        }
        None => Ok(first),
    }
}

/// Reads an `sx:sync`. `context` is its inherited context.
pub(super) fn read_sync<'a>(
    sync: Element<'_, 'a>,
    context: &Context<'a>,
    kind: Kind,
    options: &ReadOptions<'_>,
    remarks: &mut Remarks,
) -> Result<Sync, Fault> {
    let mut attributes = Attributes::new(sync, "SSE 2.3", remarks);
    let id = attributes.item_id("id")?;
    let version = attributes.version("version")?;
    let deleted = attributes.flag("deleted")?;
    let conflict = attributes.flag("conflict")?;
    let history = read_history(sync, options, remarks)?;
    let mut conflicts = Vec::new();
    if let Some(list) = only_child(sync, "conflicts", "SSE 5.1")? {
        let inner = context.enter(sync.document(), sync.attributes());
        let inner = inner.enter(sync.document(), list.attributes());
        for record in list.children().filter(|child| is_sse(*child, "conflict")) {
            conflicts.push(read_conflict(record, &inner, kind, remarks)?);
        }
        if conflicts.is_empty() {
            let message = "sx:conflicts holds at least one sx:conflict";
            remarks.remark(Fault::new(list.span().start, "SSE 5.1", message));
        }
    }
    let item = Item { id, version, deleted, conflict, history, conflicts: Vec::new(), payload: () };
    Ok(Sync {
        claim: claim::read(sync, version),
        self_contained: crate::sync::is_self_contained(sync.document(), sync.attributes()),
        source: source(sync, context),
        conflicts,
        item,
    })
}

fn read_history(
    sync: Element<'_, '_>,
    options: &ReadOptions<'_>,
    remarks: &mut Remarks,
) -> Result<History, Fault> {
    let history = only_child(sync, "history", "SSE 2.4")?.ok_or_else(|| {
        let message = format!("{} lacks its sx:history", sync.name());
        Fault::new(sync.span().start, "SSE 2.4", message)
    })?;
    let latest = Attributes::new(history, "SSE 2.4", remarks).stamp()?;
    let mut updates = Vec::new();
    for update in history.children().filter(|child| is_sse(*child, "update")) {
        let limit = options.limits.history;
        if updates.len() + 1 >= limit {
            let message = format!("more than {limit} changes of one item");
            return Err(Fault::new(update.span().start, "SSE 2.5", message));
        }
        updates.push(Attributes::new(update, "SSE 2.5", remarks).stamp()?);
    }
    Ok(History { latest, updates })
}

/// Reads a record and its data: the first child that could be an item (R-S5).
fn read_conflict<'a>(
    record: Element<'_, 'a>,
    context: &Context<'a>,
    kind: Kind,
    remarks: &mut Remarks,
) -> Result<Conflict<Payload>, Fault> {
    let mut attributes = Attributes::new(record, "SSE 5.2", remarks);
    let version = attributes.version("version")?;
    let stamp = attributes.stamp()?;
    let context = context.enter(record.document(), record.attributes());
    let data = record.children().find(|child| kind.is(*child));
    let payload = data.map(|data| payload_of(data, kind, &context, false));
    Ok(Conflict { version, stamp, payload })
}

/// Returns the payload of an item: its element without `sx:sync` and without its child outlines.
pub(super) fn payload_of<'a>(
    element: Element<'_, 'a>,
    kind: Kind,
    context: &Context<'a>,
    self_contained: bool,
) -> Payload {
    let is_cut = |child: Element<'_, '_>| is_sse(child, "sync") || is_inner(child, kind);
    Payload::from_parsed(kind.format, alone(element, context, self_contained, is_cut))
}

/// Returns the text of an element that is no item, outside any document, without its child
/// outlines.
pub(super) fn furniture_of<'a>(
    element: Element<'_, 'a>,
    kind: Kind,
    context: &Context<'a>,
    self_contained: bool,
) -> String {
    alone(element, context, self_contained, |child| is_inner(child, kind))
}

/// Whether the element is a child outline, which is not part of its parent.
pub(super) fn is_inner(child: Element<'_, '_>, kind: Kind) -> bool {
    kind == Kind::OPML && kind.is(child)
}

fn alone<'a>(
    element: Element<'_, 'a>,
    context: &Context<'a>,
    self_contained: bool,
    is_cut: impl Fn(Element<'_, '_>) -> bool,
) -> String {
    let cuts: Vec<Range<usize>> =
        element.children().filter(|child| is_cut(*child)).map(|child| child.span()).collect();
    let mut text = String::new();
    let extraction = Extraction { cuts: &cuts, self_contained, claims: &[] };
    extract(&mut text, element, context, extraction);
    define_references(&text).into_owned()
}

fn source<'a>(sync: Element<'_, 'a>, context: &Context<'a>) -> SyncSource {
    let text = sync.document();
    let inside = context.enter(text, sync.attributes());
    let mut used: Vec<&str> = Vec::new();
    for element in std::iter::once(sync).chain(sync.descendants()) {
        used.push(element.prefix());
        used.extend(element.attributes().iter().map(|attribute| attribute.prefix(text)));
    }
    used.sort_unstable();
    used.dedup();
    let is_used = |prefix: &str| used.binary_search(&prefix).is_ok();
    let declares = |prefix: &str| {
        sync.attributes().iter().any(|attribute| attribute.declared_prefix(text) == Some(prefix))
    };
    let inherited = context
        .prefixes
        .iter()
        .filter(|declaration| is_used(declaration.prefix))
        .filter(|declaration| !declares(declaration.prefix))
        .map(|declaration| (declaration.prefix.to_owned(), declaration.iri.clone().into_owned()))
        .collect();
    let own_prefix = inside
        .prefixes
        .iter()
        .find(|known| known.iri == OWN && (declares(known.prefix) || is_used(known.prefix)))
        .map(|known| known.prefix.to_owned());
    let conflicts = sync.children().find(|child| is_sse(*child, "conflicts"));
    SyncSource {
        own_prefix,
        span: sync.span(),
        tag: sync.start_tag_span(),
        name: sync.span().start + 1..sync.name_end(),
        content: sync.content_span(),
        conflict: sync.attribute(Namespace::NONE, "conflict").map(|attribute| attribute.span()),
        claim: sync
            .attributes()
            .iter()
            .filter(|attribute| claim::is_part(attribute, text))
            .map(|attribute| attribute.span())
            .collect(),
        inherited,
        default: inside.default.as_ref().map(|iri| iri.clone().into_owned()),
        conflicts: conflicts.map(|list| {
            let records = list.children().filter(|child| is_sse(*child, "conflict"));
            (list.span(), records.map(|record| record.span()).collect())
        }),
    }
}
