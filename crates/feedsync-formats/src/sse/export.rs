//! Creates an SSE document from items of FeedSync (D1 to D7).

use std::collections::{HashMap, VecDeque};

use feedsync_core::sse::{
    Claim, Conflict, Date, DowngradeLoss, Downgraded, Item, NAMESPACE, Tree, TreePosition, VERSION,
    downgrade, order,
};
use feedsync_core::{Format, ItemId, Payload, RelatedKind};

use super::claim;
use super::sync_text::{push_conflict, push_stamp};
use crate::atom::ATOM;
use crate::details::{push_markup, push_rss, push_texts};
use crate::head::FeedHead;
use crate::mapping::project;
use crate::payload::{Default, OWN, PayloadTag, push_attribute, push_declaration, write};
use crate::xml::escape_text;

/// Maximum nesting. Deeper outlines are written at the root, and their claim contains their position.
const MAX_NESTING: usize = 64;

/// A document that was created, and the losses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exported {
    /// The document, in UTF-8.
    pub text: String,
    /// Losses of each item that has any.
    pub losses: Vec<(ItemId, Vec<DowngradeLoss>)>,
}

/// Time bounds of a document (2.1).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Dates {
    /// Items that changed at or after this date are in the document. `None` if all items are (S6).
    pub since: Option<Date>,
    /// Items that changed after this date are not in the document (S7).
    pub until: Option<Date>,
    /// Number of days for which the publisher keeps changes (S10).
    pub window: Option<u64>,
}

/// Writes items as an SSE document.
///
/// `format` is RSS, or any other format for OPML. Payloads of other formats are projected. Outlines are written at
/// their claimed positions, all other items in the given order. The window of the head is left out, since its bounds
/// are no dates (D7), and the bounds in `dates` are written. Related feeds are written.
pub fn export<'i>(
    format: Format,
    head: &FeedHead<'_>,
    dates: &Dates,
    items: impl IntoIterator<Item = &'i feedsync_core::Item<Payload>>,
) -> Exported {
    let format = if format == Format::Rss { format } else { Format::Opml };
    let mut losses = Vec::new();
    let mut claims = Vec::new();
    let mut down = HashMap::new();
    for (index, item) in items.into_iter().enumerate() {
        let has_foreign = item.versions().any(|version| version.payload.sync_foreign().is_some());
        let mut projected = item.clone();
        projected.winner.payload = project(&item.id, &item.winner, format);
        for (version, own) in projected.conflicts.iter_mut().zip(&item.conflicts) {
            version.payload = project(&item.id, own, format);
        }
        let claimed = claim::of_outline(&projected.winner.payload);
        let Downgraded { item, losses: mut lost } = downgrade(projected);
        if has_foreign && !lost.contains(&DowngradeLoss::Foreign) {
            lost.push(DowngradeLoss::Foreign);
        }
        if !lost.is_empty() {
            losses.push((item.id.clone(), lost));
        }
        let position =
            claimed.clone().unwrap_or(TreePosition { parent: None, index: index as u64 });
        claims.push(Claim { id: item.id.clone(), position });
        down.insert(item.id.clone(), (item, claimed));
    }
    let export = Export { items: down, tree: order(&claims) };
    let mut text = String::new();
    if format == Format::Rss {
        export.rss(&mut text, head, dates);
    } else {
        export.opml(&mut text, head, dates);
    }
    Exported { text, losses }
}

struct Export {
    items: HashMap<ItemId, (Item<Payload>, Option<TreePosition>)>,
    tree: Tree,
}

impl Export {
    fn rss(&self, out: &mut String, head: &FeedHead<'_>, dates: &Dates) {
        begin(out, "rss");
        out.push_str("<channel>\n");
        push_element(out, "title", head.title);
        let link = head.links.iter().find(|link| link.rel == "alternate").map(|link| link.href);
        push_element(out, "link", link.or(head.self_link).unwrap_or(head.id));
        push_rss(out, head);
        push_element(out, "lastBuildDate", &Date::from(head.updated).to_string());
        push_markup(out, head, Format::Rss, &Default::None);
        push_sharing(out, head, dates);
        for id in self.children(None) {
            self.item(out, id, None);
        }
        out.push_str("</channel>\n</rss>\n");
    }

    fn opml(&self, out: &mut String, head: &FeedHead<'_>, dates: &Dates) {
        begin(out, "opml");
        out.push_str("<head>\n");
        push_element(out, "title", head.title);
        push_element(out, "dateModified", &Date::from(head.updated).to_string());
        if let Some(author) = head.details.and_then(|details| details.author.as_deref()) {
            push_element(out, "ownerName", author);
        }
        push_texts(out, head, &format!(" xmlns=\"{ATOM}\""));
        push_markup(out, head, Format::Opml, &Default::None);
        push_sharing(out, head, dates);
        out.push_str("</head>\n<body>\n");
        let mut roots: VecDeque<&ItemId> = self.children(None).iter().collect();
        while let Some(id) = roots.pop_front() {
            self.item(out, id, Some((&mut roots, MAX_NESTING)));
        }
        out.push_str("</body>\n</opml>\n");
    }

    fn children(&self, parent: Option<&ItemId>) -> &[ItemId] {
        self.tree.get(&parent.cloned()).map_or(&[], Vec::as_slice)
    }

    /// Writes an item with its descendants. Items that would be nested too deeply are added to the roots.
    fn item<'s>(
        &'s self,
        out: &mut String,
        id: &ItemId,
        nesting: Option<(&mut VecDeque<&'s ItemId>, usize)>,
    ) {
        let Some((item, position)) = self.items.get(id) else { return };
        let text = item.payload.text();
        write(out, text, &PayloadTag::read(text), &Default::None, |out, default| {
            if let Some((roots, levels)) = nesting {
                for child in self.children(Some(id)) {
                    if levels == 0 {
                        roots.push_back(child);
                    } else {
                        out.push('\n');
                        self.item(out, child, Some((roots, levels - 1)));
                    }
                }
            }
            out.push('\n');
            push_sync(out, item, position.as_ref(), &default);
        });
        out.push('\n');
    }
}

fn begin(out: &mut String, root: &str) {
    out.push_str("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<");
    out.push_str(root);
    push_attribute(out, "version", "2.0");
    push_declaration(out, "sx", NAMESPACE);
    push_declaration(out, "fs", OWN);
    push_attribute(out, "fs:self-contained", "true");
    out.push_str(">\n");
}

fn push_element(out: &mut String, name: &str, text: &str) {
    out.push_str(&format!("<{name}>"));
    escape_text(out, text);
    out.push_str(&format!("</{name}>\n"));
}

fn push_sharing(out: &mut String, head: &FeedHead<'_>, dates: &Dates) {
    out.push_str("<sx:sharing");
    for (name, date) in [("since", &dates.since), ("until", &dates.until)] {
        date.iter().for_each(|date| push_attribute(out, name, &date.to_string()));
    }
    push_attribute(out, "version", VERSION);
    if let Some(days) = dates.window {
        push_attribute(out, "window", &days.to_string());
    }
    out.push('>');
    for related in head.sharing.into_iter().flat_map(|sharing| &sharing.related) {
        out.push_str("<sx:related");
        push_attribute(out, "link", &related.link);
        if let Some(title) = &related.title {
            push_attribute(out, "title", title);
        }
        let complete = related.kind == RelatedKind::Complete;
        push_attribute(out, "type", if complete { "complete" } else { "aggregated" });
        out.push_str("/>");
    }
    out.push_str("</sx:sharing>\n");
}

fn push_sync(
    out: &mut String,
    item: &Item<Payload>,
    position: Option<&TreePosition>,
    default: &Default,
) {
    out.push_str("<sx:sync");
    push_attribute(out, "id", item.id.as_str());
    push_attribute(out, "version", &item.version.to_string());
    if item.deleted {
        push_attribute(out, "deleted", "true");
    }
    if item.conflict {
        push_attribute(out, "conflict", "true");
    }
    if let Some(position) = position {
        claim::push(out, "fs", item.version, position);
    }
    out.push_str("><sx:history");
    push_stamp(out, &item.history.latest);
    if item.history.updates.is_empty() {
        out.push_str("/>");
    } else {
        out.push('>');
        for update in &item.history.updates {
            out.push_str("<sx:update");
            push_stamp(out, update);
            out.push_str("/>");
        }
        out.push_str("</sx:history>");
    }
    if !item.conflicts.is_empty() {
        out.push_str("<sx:conflicts>");
        for Conflict { version, stamp, payload } in &item.conflicts {
            out.push('\n');
            push_conflict(out, "sx:", *version, stamp, payload.as_ref(), default);
        }
        out.push_str("</sx:conflicts>");
    }
    out.push_str("</sx:sync>");
}
