//! Projection of an item into another format, and restoring it without loss (`docs/mapping.md`).
//!
//! Every version is stored in the format and with the bytes in which it was received. In a feed of another format it
//! is written as a projection. The projection contains the fields that all formats share, the list of its blobs, and
//! the extension `fs:native` at the end of the item. The extension contains the native text and its dot. A peer that
//! knows the extension restores the native version under the same dot. Other peers keep the extension as foreign
//! markup (2.1 rule 7). After such a peer has edited the item, the dot in the extension is no longer the topmost
//! update, and the extension is void.

mod json;
mod xml;

use feedsync_core::{Format, ItemId, Payload, Update, Version};

use crate::blobs::{blobs, extension};
use crate::compose::compose_with;
use crate::entry::{Entry, absolute};
use crate::json as feedsync_json;
use crate::payload::OWN;
use crate::read_payload::item_span;

/// Returns the payload as it is written to a feed of the given format: unchanged if it has that format, otherwise its
/// projection. An entry without an id gets one that is made from the item's id.
pub fn project(id: &ItemId, version: &Version<Payload>, to: Format) -> Payload {
    let native = &version.payload;
    if native.format() == to {
        return native.clone();
    }
    let entry = shown(id, version);
    // Foreign markup of `sync` is written to `sync` again if both formats are XML or both are JSON. Otherwise it is
    // stored in the extension, with the native text.
    let same_family = (native.format() == Format::Json) == (to == Format::Json);
    let sync = native.sync_foreign().filter(|_| !same_family);
    let carried = Native::of(version, sync);
    let mut end = extension(&blobs(native), to);
    match to {
        Format::Json => {
            if !end.is_empty() {
                end.push(',');
            }
            end.push_str(&json::member(&carried));
        }
        _ => end.push_str(&xml::element(&carried)),
    }
    compose_with(to, &entry, &end).with_sync_foreign_of(native)
}

/// Returns the entry that a projection contains. It always has an id, and a date if one is known.
pub(crate) fn shown(id: &ItemId, version: &Version<Payload>) -> Entry {
    let mut entry = absolute(&version.payload);
    entry.id.get_or_insert_with(|| item_urn(id));
    if entry.updated.is_none() && entry.published.is_none() {
        entry.updated = version.dot().when();
    }
    entry
}

/// Returns the payload of an item that takes no part in sharing, as it is written to a feed of the given format. The
/// native text is left out, since without a dot a reader could not detect that it is void.
pub(crate) fn project_plain(native: &Payload, to: Format) -> Payload {
    if native.format() == to {
        return native.clone();
    }
    compose_with(to, &absolute(native), &extension(&blobs(native), to))
}

/// Restores a projection that was read. A native text whose dot is the version's topmost update replaces the
/// projection. Any other extension of that name is void and is removed.
pub fn restore(mut version: Version<Payload>) -> Version<Payload> {
    let text = version.payload.text();
    let found = match version.payload.format() {
        Format::Json => json::find(text),
        _ => xml::find(text),
    };
    let Some(found) = found else { return version };
    let native = found.natives.iter().find(|native| native.matches_dot(version.dot()));
    match native.and_then(Native::payload) {
        Some(mut native) => {
            if native.sync_foreign().is_none() {
                native = native.with_sync_foreign_of(&version.payload);
            }
            version.payload = native;
        }
        None => version.payload = version.payload.with_parsed_text(found.rest),
    }
    version
}

/// Returns a projection in JSON as the payload of another version with the same content: its native text, if it is not
/// void, gets the dot of that version. Any other payload stays as it is. A program that stores projections
/// ([`read_unmapped`](crate::json::read_unmapped)) calls this when it keeps the content of a version in a new one.
pub fn carry_native(payload: &Payload, from: &Update, to: &Update) -> Payload {
    if payload.format() != Format::Json {
        return payload.clone();
    }
    let found = json::find(payload.text());
    let native = found.into_iter().flat_map(|found| found.natives);
    let Some(native) = native.into_iter().find(|native| native.matches_dot(from)) else {
        return payload.clone();
    };
    let native = Native {
        sequence: to.sequence().to_string(),
        when: to.when().map(|when| when.to_string()),
        by: to.by().map(|by| by.to_string()),
        ..native
    };
    payload.with_parsed_text(json::with(payload.text(), &native))
}

/// The content of an extension.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Native {
    format: String,
    sequence: String,
    when: Option<String>,
    by: Option<String>,
    /// Foreign markup of `sync`, if the projection cannot hold it in its own `sync`.
    sync: Option<String>,
    text: String,
}

/// The extensions in a payload, and the payload without them.
struct Found {
    natives: Vec<Native>,
    rest: String,
}

impl Native {
    fn of(version: &Version<Payload>, sync: Option<&str>) -> Self {
        let dot = version.dot();
        Self {
            format: version.payload.format().name().to_owned(),
            sequence: dot.sequence().to_string(),
            when: dot.when().map(|when| when.to_string()),
            by: dot.by().map(|by| by.to_string()),
            sync: sync.map(str::to_owned),
            text: version.payload.text().to_string(),
        }
    }

    fn matches_dot(&self, dot: &Update) -> bool {
        self.sequence == dot.sequence().to_string()
            && self.when == dot.when().map(|when| when.to_string())
            && self.by.as_deref() == dot.by().map(|by| by.as_str())
    }

    /// Returns the native payload if it is a valid item of its format. A peer may have written anything.
    fn payload(&self) -> Option<Payload> {
        let format: Format = self.format.parse().ok()?;
        let sync_sound = match &self.sync {
            None => true,
            Some(members) if format == Format::Json => {
                members.starts_with('"') && item_span(format, &format!("{{{members}}}")).is_ok()
            }
            Some(markup) => xml::is_foreign(markup),
        };
        let is_whole = item_span(format, &self.text).ok()? == (0..self.text.len());
        // Its bytes stay as they are, canonical or not: equal dots mean equal payloads.
        (sync_sound && is_whole).then(|| {
            let payload = Payload::from_parsed(format, self.text.as_str());
            payload.with_sync_foreign(self.sync.as_deref())
        })
    }
}

/// Returns an id for an entry that has none: a URN made from its item's id. Characters that would end the URN are
/// encoded.
pub fn item_urn(id: &ItemId) -> String {
    format!("urn:feedsync:item:{}", id.as_str().replace('#', "%23").replace('?', "%3F"))
}

#[cfg(test)]
mod tests;
