//! Writes `sx:sync`, `sx:sharing` and an item with them.

use feedsync_core::{Format, Item, ItemId, Payload, RelatedKind, Sharing, Update, Version};

use super::foreign;
use crate::mapping::project;
use crate::payload::{Default, FEEDSYNC, OWN, PayloadTag, push_attribute, push_declaration, write};

/// Context of the position at which an item is written.
#[derive(Debug, Clone)]
pub(crate) struct OutputContext {
    /// Format of the document. Payloads of other formats are projected.
    pub(crate) format: Format,
    /// Default namespace in scope.
    pub(crate) default: Default,
    /// Prefix of FeedSync in scope. `None` if each `sx:sync` has to declare one.
    pub(crate) prefix: Option<String>,
    /// Whether the document states that its items are self-contained.
    pub(crate) self_contained: bool,
}

/// Appends an item: its winner's element with `sx:sync` as the last child. `inside` may append more
/// after it.
pub(crate) fn push_item(
    out: &mut String,
    item: &Item<Payload>,
    place: &OutputContext,
    inside: impl FnOnce(&mut String, &OutputContext),
) {
    push_version(out, &item.id, &item.winner, &item.conflicts, place, inside);
}

fn push_version(
    out: &mut String,
    id: &ItemId,
    version: &Version<Payload>,
    conflicts: &[Version<Payload>],
    place: &OutputContext,
    inside: impl FnOnce(&mut String, &OutputContext),
) {
    let payload = project(id, version, place.format);
    let text = payload.text();
    let tag = PayloadTag::read(text);
    write(out, text, &tag, &place.default, |out, default| {
        let mut place = OutputContext { default, ..place.clone() };
        let redeclared = |prefix: &String| tag.raw(&format!("xmlns:{prefix}")).is_some();
        if place.prefix.as_ref().is_some_and(redeclared) {
            place.prefix = None;
        }
        out.push('\n');
        push_sync(out, id, version, payload.sync_foreign(), conflicts, &place);
        inside(out, &place);
    });
}

fn push_sync(
    out: &mut String,
    id: &ItemId,
    version: &Version<Payload>,
    foreign: Option<&str>,
    conflicts: &[Version<Payload>],
    place: &OutputContext,
) {
    let foreign = foreign.and_then(foreign::parts);
    let declared =
        |prefix: &str| foreign.as_ref().and_then(|parts| parts.tag.raw(&format!("xmlns:{prefix}")));
    let taken = |prefix: &str, iri: &str| {
        let updates = version.history.updates().iter().filter_map(Update::foreign);
        declared(prefix).is_some_and(|raw| raw != iri)
            || updates.filter_map(foreign::parts).any(|parts| {
                parts.tag.raw(&format!("xmlns:{prefix}")).is_some_and(|raw| raw != iri)
            })
    };
    let known = place.prefix.as_deref().filter(|prefix| !taken(prefix, FEEDSYNC));
    let prefix =
        &known.map_or_else(|| free_prefix("sx", |prefix| taken(prefix, FEEDSYNC)), str::to_owned);
    out.push('<');
    out.push_str(prefix);
    out.push_str(":sync");
    if known.is_none() && declared(prefix).is_none() {
        push_declaration(out, prefix, FEEDSYNC);
    }
    push_attribute(out, "id", id.as_str());
    push_attribute(out, "updates", &version.updates.to_string());
    if version.deleted {
        push_attribute(out, "deleted", "true");
    }
    if let Some(noconflicts) = version.noconflicts {
        push_attribute(out, "noconflicts", if noconflicts { "true" } else { "false" });
    }
    if !place.self_contained {
        let own = free_prefix("fs", |prefix| taken(prefix, OWN));
        if declared(&own).is_none() {
            push_declaration(out, &own, OWN);
        }
        push_attribute(out, &format!("{own}:self-contained"), "true");
    }
    let mut default = place.default.clone();
    if let Some(parts) = &foreign {
        default = push_foreign_attributes(out, parts, default);
    }
    out.push('>');
    for update in version.history.updates() {
        push_history(out, update, prefix, &default);
    }
    if !conflicts.is_empty() {
        out.push_str(&format!("<{prefix}:conflicts>"));
        let nested = OutputContext { default, prefix: Some(prefix.to_owned()), ..place.clone() };
        for conflict in conflicts {
            out.push('\n');
            push_version(out, id, conflict, &[], &nested, |_, _| {});
        }
        out.push_str(&format!("</{prefix}:conflicts>"));
    }
    if let Some(parts) = &foreign {
        out.push_str(parts.children);
    }
    out.push_str(&format!("</{prefix}:sync>"));
}

/// Returns the prefix, with a number if it is taken.
fn free_prefix(wanted: &str, taken: impl Fn(&str) -> bool) -> String {
    let mut prefix = wanted.to_owned();
    let mut number = 0;
    while taken(&prefix) {
        number += 1;
        prefix = format!("{wanted}{number}");
    }
    prefix
}

/// Appends the foreign attributes to the start tag. Returns the default namespace inside it.
fn push_foreign_attributes(
    out: &mut String,
    parts: &foreign::Parts<'_>,
    default: Default,
) -> Default {
    let declared = parts.tag.raw("xmlns");
    let has_elements = parts.children.contains('<');
    let inside = match declared {
        Some(raw) => Default::Declared(format!(" xmlns=\"{raw}\"")),
        None if has_elements && default != Default::None => {
            push_declaration(out, "", "");
            Default::None
        }
        None => default,
    };
    out.push_str(parts.attributes);
    inside
}

fn push_history(out: &mut String, update: &Update, prefix: &str, default: &Default) {
    out.push('<');
    out.push_str(prefix);
    out.push_str(":history");
    push_attribute(out, "sequence", &update.sequence().to_string());
    if let Some(when) = update.when() {
        push_attribute(out, "when", &when.to_string());
    }
    if let Some(by) = update.by() {
        push_attribute(out, "by", by.as_str());
    }
    let foreign = update.foreign().and_then(foreign::parts);
    if let Some(parts) = &foreign {
        push_foreign_attributes(out, parts, default.clone());
    }
    match foreign.map(|parts| parts.children).filter(|children| !children.is_empty()) {
        Some(children) => out.push_str(&format!(">{children}</{prefix}:history>")),
        None => out.push_str("/>"),
    }
}

/// Appends `sx:sharing` with the prefix `sx` (2.2).
pub(crate) fn push_sharing(out: &mut String, sharing: &Sharing) {
    out.push_str("<sx:sharing");
    if let Some(window) = &sharing.window {
        push_attribute(out, "since", &window.since);
        push_attribute(out, "until", &window.until);
    }
    if let Some(expires) = sharing.expires {
        push_attribute(out, "expires", &expires.to_string());
    }
    if sharing.related.is_empty() {
        out.push_str("/>\n");
        return;
    }
    out.push('>');
    for related in &sharing.related {
        out.push_str("<sx:related");
        push_attribute(out, "link", &related.link);
        if let Some(title) = &related.title {
            push_attribute(out, "title", title);
        }
        let kind = match related.kind {
            RelatedKind::Complete => "complete",
            RelatedKind::Aggregated => "aggregated",
        };
        push_attribute(out, "type", kind);
        out.push_str("/>");
    }
    out.push_str("</sx:sharing>\n");
}
