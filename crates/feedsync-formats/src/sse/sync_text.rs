//! Writes an `sx:sync` that is edited in place or moved to another document.

use std::ops::Range;

use feedsync_core::sse::{
    Date, NAMESPACE, NAMESPACE_AS_PRINTED, Stamp, TreePosition, VersionNumber,
};
use feedsync_core::{By, Payload};

use super::claim;
use super::document::Document;
use super::plan::{Record, SyncEdit};
use super::read::Entry;
use crate::payload::{
    Default, OWN, PayloadTag, push_attribute, push_declaration, write as write_payload,
};

/// Destination of an `sx:sync`.
pub(super) struct SyncDestination<'d> {
    /// Prefixes and namespaces that are declared there.
    pub(super) declared: &'d [(String, String)],
    /// Spelling of SSE's namespace there.
    pub(super) spelling: &'d str,
    /// New claimed position of the item.
    pub(super) position: Option<&'d TreePosition>,
}

/// Appends the edited `sx:sync` of an item that stays at its position.
pub(super) fn push_edited_sync(
    out: &mut String,
    document: &Document,
    entry: &Entry,
    edit: &SyncEdit<'_>,
) {
    push_sync(out, document, entry, edit, None);
}

/// Appends the edited `sx:sync` of an item from another document. All its inherited declarations are added, and the
/// mark that the item inherits nothing.
pub(super) fn push_moved_sync(
    out: &mut String,
    document: &Document,
    entry: &Entry,
    edit: &SyncEdit<'_>,
    moved: &SyncDestination<'_>,
) {
    push_sync(out, document, entry, edit, Some(moved));
}

fn push_sync(
    out: &mut String,
    document: &Document,
    entry: &Entry,
    edit: &SyncEdit<'_>,
    moved: Option<&SyncDestination<'_>>,
) {
    let text = &document.text;
    let sync = &entry.sync;
    out.push_str(&text[sync.span.start..sync.name.end]);
    if let Some(moved) = moved {
        for (prefix, iri) in &sync.inherited {
            let is_sse = [NAMESPACE, NAMESPACE_AS_PRINTED].contains(&iri.as_str());
            let iri = if is_sse { moved.spelling } else { iri };
            if !moved.declared.iter().any(|(known, other)| known == prefix && other == iri) {
                push_declaration(out, prefix, iri);
            }
        }
    }
    let mut cuts: Vec<Range<usize>> = Vec::new();
    if edit.flag {
        cuts.extend(sync.conflict.clone());
    }
    let position = edit.position.as_ref().or(moved.and_then(|moved| moved.position));
    if moved.is_some() || position.is_some() {
        cuts.extend(sync.claim.iter().cloned());
    }
    cuts.sort_by_key(|cut| cut.start);
    let mut cursor = sync.name.end;
    for cut in cuts {
        out.push_str(text[cursor..cut.start].trim_end());
        cursor = cut.end;
    }
    out.push_str(text[cursor..sync.tag.end - 1].trim_end());
    if edit.flag {
        push_attribute(out, "conflict", "true");
    }
    if moved.is_some() || position.is_some() {
        let prefix = sync.own_prefix.clone().unwrap_or_else(|| {
            let prefix = free_prefix(&text[sync.span.clone()]);
            push_declaration(out, &prefix, OWN);
            prefix
        });
        if moved.is_some() || entry.self_contained {
            push_attribute(out, &format!("{prefix}:self-contained"), "true");
        }
        if let Some(position) = position {
            claim::push(out, &prefix, entry.item.version, position);
        }
    }
    out.push('>');
    match &edit.records {
        None => out.push_str(&text[sync.content.clone()]),
        Some(records) => push_content(out, document, entry, records),
    }
    out.push_str(&text[sync.content.end..sync.span.end]);
}

/// Returns a prefix for FeedSync's extension namespace that the text neither uses nor declares.
fn free_prefix(text: &str) -> String {
    let is_free = |prefix: &String| {
        !text.contains(&format!("{prefix}:")) && !text.contains(&format!(":{prefix}"))
    };
    let others = (1..=text.len()).map(|number| format!("fs{number}"));
    std::iter::once("fs".to_owned()).chain(others).find(is_free).unwrap_or_default()
}

/// Appends the content of an `sx:sync`, with other records in its `sx:conflicts`.
fn push_content(out: &mut String, document: &Document, entry: &Entry, records: &[Record<'_>]) {
    let text = &document.text;
    let sync = &entry.sync;
    let name = &text[sync.name.clone()];
    let prefix = name.split_once(':').map_or("", |(prefix, _)| prefix);
    let colon = if prefix.is_empty() { "" } else { ":" };
    let mut new = String::new();
    for record in records {
        if let Record::New { version, stamp, payload } = record {
            new.push('\n');
            let default = Default::of(sync.default.as_deref());
            let names = format!("{prefix}{colon}");
            push_conflict(&mut new, &names, *version, stamp, Some(payload), &default);
        }
    }
    let known = sync.conflicts.as_ref().filter(|(_, known)| !known.is_empty());
    let Some((_, known)) = known else {
        let end = sync.conflicts.as_ref().map_or(sync.content.end, |(list, _)| list.start);
        let before = text[sync.content.start..end].trim_end();
        let after = sync.conflicts.as_ref().map_or(end, |(list, _)| list.end);
        let list = format!("{prefix}{colon}conflicts");
        out.push_str(&format!("{before}\n<{list}>{new}\n</{list}>"));
        out.push_str(&text[before.len() + sync.content.start..end]);
        out.push_str(&text[after..sync.content.end]);
        return;
    };
    let mut cursor = sync.content.start;
    for (index, span) in known.iter().enumerate() {
        if !records.contains(&Record::Existing(index)) {
            out.push_str(text[cursor..span.start].trim_end());
            cursor = span.end;
        }
    }
    let end = known.last().map_or(cursor, |span| span.end);
    out.push_str(&text[cursor..end]);
    out.push_str(&new);
    out.push_str(&text[end..sync.content.end]);
}

/// Appends an `sx:conflict` with its data (5.2, R-S5). `prefix` includes the colon.
pub(super) fn push_conflict(
    out: &mut String,
    prefix: &str,
    version: VersionNumber,
    stamp: &Stamp,
    payload: Option<&Payload>,
    default: &Default,
) {
    out.push_str(&format!("<{prefix}conflict"));
    push_attribute(out, "version", &version.to_string());
    push_stamp(out, stamp);
    let Some(payload) = payload else {
        out.push_str("/>");
        return;
    };
    out.push('>');
    let text = payload.text();
    if *default == Default::None {
        out.push_str(text);
    } else {
        write_payload(out, text, &PayloadTag::read(text), default, |_, _| {});
    }
    out.push_str(&format!("</{prefix}conflict>"));
}

pub(super) fn push_stamp(out: &mut String, stamp: &Stamp) {
    if let Some(when) = stamp.when().map(Date::to_string) {
        push_attribute(out, "when", &when);
    }
    if let Some(by) = stamp.by().map(By::as_str) {
        push_attribute(out, "by", by);
    }
}
