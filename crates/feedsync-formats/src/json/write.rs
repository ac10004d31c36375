//! Writing FeedSync JSON.

use feedsync_core::{Format, Item, ItemId, Payload, RelatedKind, Sharing, Version};

use super::payload::{SYNC, push_with};
use super::string;
use crate::details::push_json;
use crate::head::FeedHead;
use crate::mapping;

/// Writes a document piece by piece to a `String` that the caller drains: the head once, any number of items, the end
/// once.
#[derive(Debug, Default)]
pub struct Writer {
    items: bool,
}

impl Writer {
    /// Creates a writer for a new document.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends everything before the first item.
    pub fn begin(&mut self, out: &mut String, head: &FeedHead<'_>) {
        out.push('{');
        push_text(out, "id", head.id);
        push_text(out, "title", head.title);
        push_text(out, "updated", &head.updated.to_string());
        push_json(out, head);
        out.push_str("\"links\":[");
        let own = [("self", head.self_link), ("next", head.next)];
        let own = own.into_iter().filter_map(|(rel, href)| Some((rel, href?, None)));
        let others = head.links.iter().map(|link| (link.rel, link.href, link.media_type));
        for (rel, href, media_type) in own.chain(others) {
            out.push('{');
            push_text(out, "rel", rel);
            push_text(out, "href", href);
            if let Some(media_type) = media_type {
                push_text(out, "type", media_type);
            }
            close(out, "},");
        }
        close(out, "],");
        if let Some(sharing) = head.sharing {
            string::push(out, "sharing");
            out.push(':');
            push_sharing(out, sharing);
            out.push(',');
        }
        out.push_str("\"items\":[");
    }

    /// Appends the next item.
    pub fn item(&mut self, out: &mut String, item: &Item<Payload>) {
        self.separate(out);
        push_item(out, item);
    }

    /// Appends the next item, which takes no part in sharing.
    pub(crate) fn plain(&mut self, out: &mut String, item: &Payload) {
        self.separate(out);
        out.push_str(item.text());
    }

    fn separate(&mut self, out: &mut String) {
        out.push_str(if self.items { ",\n" } else { "\n" });
        self.items = true;
    }

    /// Appends everything after the last item.
    pub fn end(&mut self, out: &mut String) {
        out.push_str("\n]}\n");
    }
}

/// Appends an item: its payload, projected if it is of another format, with `sync` as the last
/// member.
pub(super) fn push_item(out: &mut String, item: &Item<Payload>) {
    push_version(out, &item.id, &item.winner, &item.conflicts);
}

/// Appends the value of `sync`. Numbers and booleans are written as strings (P8, R-P6). False and absent members are
/// omitted, and foreign members come last.
pub(super) fn push_sync(out: &mut String, item: &Item<Payload>) {
    let foreign = item.winner.payload.sync_foreign();
    push_parts_with(out, (&item.id, &item.winner, &item.conflicts, foreign), push_version);
}

/// Appends an item of [`read_unmapped`](super::read_unmapped), whose payloads are all JSON.
pub fn push_unmapped(out: &mut String, item: &Item<Payload>) {
    push_unmapped_version(out, &item.id, &item.winner, &item.conflicts);
}

fn push_unmapped_version(
    out: &mut String,
    id: &ItemId,
    version: &Version<Payload>,
    conflicts: &[Version<Payload>],
) {
    let payload = &version.payload;
    push_with(out, payload.text(), SYNC, |out| {
        let parts = (id, version, conflicts, payload.sync_foreign());
        push_parts_with(out, parts, push_unmapped_version);
    });
}

fn push_version(
    out: &mut String,
    id: &ItemId,
    version: &Version<Payload>,
    conflicts: &[Version<Payload>],
) {
    let payload = mapping::project(id, version, Format::Json);
    push_with(out, payload.text(), SYNC, |out| {
        push_parts_with(out, (id, version, conflicts, payload.sync_foreign()), push_version);
    });
}

/// Appends one version with the conflicts of its item.
type PushVersion = fn(&mut String, &ItemId, &Version<Payload>, &[Version<Payload>]);

/// The id of an item, a version, its conflicts, and its foreign members.
type SyncParts<'a> = (&'a ItemId, &'a Version<Payload>, &'a [Version<Payload>], Option<&'a str>);

fn push_parts_with(out: &mut String, parts: SyncParts<'_>, push_version: PushVersion) {
    let (id, version, conflicts, foreign) = parts;
    out.push('{');
    push_text(out, "id", id.as_str());
    push_text(out, "updates", &version.updates.to_string());
    if version.deleted {
        push_text(out, "deleted", "true");
    }
    if let Some(noconflicts) = version.noconflicts {
        push_text(out, "noconflicts", if noconflicts { "true" } else { "false" });
    }
    out.push_str("\"history\":[");
    for update in version.history.updates() {
        out.push('{');
        push_text(out, "sequence", &update.sequence().to_string());
        if let Some(when) = update.when() {
            push_text(out, "when", &when.to_string());
        }
        if let Some(by) = update.by() {
            push_text(out, "by", by.as_str());
        }
        push_foreign(out, update.foreign());
        close(out, "},");
    }
    close(out, "],");
    if !conflicts.is_empty() {
        out.push_str("\"conflicts\":[");
        for conflict in conflicts {
            push_version(out, id, conflict, &[]);
            out.push(',');
        }
        close(out, "],");
    }
    push_foreign(out, foreign);
    close(out, "}");
}

/// Appends foreign members of JSON unchanged. Foreign markup of XML cannot be written here.
fn push_foreign(out: &mut String, foreign: Option<&str>) {
    if let Some(members) = foreign.filter(|foreign| foreign.starts_with('"')) {
        out.push_str(members);
        out.push(',');
    }
}

fn push_sharing(out: &mut String, sharing: &Sharing) {
    out.push('{');
    if let Some(window) = &sharing.window {
        push_text(out, "since", &window.since);
        push_text(out, "until", &window.until);
    }
    if let Some(expires) = sharing.expires {
        push_text(out, "expires", &expires.to_string());
    }
    if !sharing.related.is_empty() {
        out.push_str("\"related\":[");
        for related in &sharing.related {
            out.push('{');
            push_text(out, "link", &related.link);
            if let Some(title) = &related.title {
                push_text(out, "title", title);
            }
            push_text(
                out,
                "type",
                match related.kind {
                    RelatedKind::Complete => "complete",
                    RelatedKind::Aggregated => "aggregated",
                },
            );
            close(out, "},");
        }
        close(out, "],");
    }
    close(out, "}");
}

/// Appends `"name":"text",`.
pub(crate) fn push_text(out: &mut String, name: &str, text: &str) {
    string::push(out, name);
    out.push(':');
    string::push(out, text);
    out.push(',');
}

/// Ends a list of members or elements that are each followed by a comma.
pub(crate) fn close(out: &mut String, end: &str) {
    if out.ends_with(',') {
        out.pop();
    }
    out.push_str(end);
}
