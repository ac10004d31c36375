//! Projection of an item into another format, and back without loss (`docs/mapping.md`).
//!
//! Every version keeps the format and bytes it arrived in. Written into a feed of another format it
//! becomes a projection: what all formats can say, the list of its blobs, and the native text under
//! its dot in an extension that ends the item, `fs:native`. Who knows the extension restores the native version under the
//! same dot. Who does not keeps it as foreign markup (2.1 rule 7); once such a peer edits the item,
//! the dot in the extension is no longer the topmost update, and the extension is void.

mod json;
mod xml;

use feedsync_core::{Format, ItemId, Payload, Update, Version};

use crate::blobs::{blobs, extension};
use crate::compose::compose_with;
use crate::entry::{Entry, absolute};
use crate::json as feedsync_json;
use crate::options::Limits;
use crate::payload::OWN;

/// The payload as a feed of the given format carries it: itself if it is of that format, else its
/// projection. The item's id becomes the name of an entry that has none.
pub fn project(id: &ItemId, version: &Version<Payload>, to: Format) -> Payload {
    let native = &version.payload;
    if native.format == to {
        return native.clone();
    }
    let entry = shown(id, version);
    // Foreign markup of `sync` stays in its place where that has the same shape, else it travels
    // with the text that it came with.
    let same_family = (native.format == Format::Json) == (to == Format::Json);
    let sync = native.sync_foreign.as_deref().filter(|_| !same_family);
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
    let mut payload = compose_with(to, &entry, &end);
    if same_family {
        payload.sync_foreign.clone_from(&native.sync_foreign);
    }
    payload
}

/// What a projection shows: an entry that has a name and, as far as it is known, a date.
pub(crate) fn shown(id: &ItemId, version: &Version<Payload>) -> Entry {
    let mut entry = absolute(&version.payload);
    entry.id.get_or_insert_with(|| item_urn(id));
    if entry.updated.is_none() && entry.published.is_none() {
        entry.updated = version.dot().when();
    }
    entry
}

/// The payload of an item that takes no part in sharing, as a feed of the given format carries it. The
/// native text stays behind: without a dot nothing would tell when it is void.
pub(crate) fn project_plain(native: &Payload, to: Format) -> Payload {
    if native.format == to {
        return native.clone();
    }
    compose_with(to, &absolute(native), &extension(&blobs(native), to))
}

/// The reading side: a native text whose dot is the version's topmost update takes the place of the
/// projection; any other extension of that name is void and goes.
pub fn restore(mut version: Version<Payload>) -> Version<Payload> {
    let text = &version.payload.text;
    let found = match version.payload.format {
        Format::Json => json::find(text),
        _ => xml::find(text),
    };
    let Some(found) = found else { return version };
    let native = found.natives.iter().find(|native| native.is_of(version.dot()));
    match native.and_then(Native::payload) {
        Some(mut native) => {
            if native.sync_foreign.is_none() {
                native.sync_foreign = version.payload.sync_foreign.take();
            }
            version.payload = native;
        }
        None => version.payload.text = found.rest.into(),
    }
    version
}

/// What an extension says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Native {
    format: String,
    sequence: String,
    when: Option<String>,
    by: Option<String>,
    /// Foreign markup of `sync`, where the projection cannot hold it there.
    sync: Option<String>,
    text: String,
}

/// Extensions in a payload, and the payload without them.
struct Found {
    natives: Vec<Native>,
    rest: String,
}

impl Native {
    fn of(version: &Version<Payload>, sync: Option<&str>) -> Self {
        let dot = version.dot();
        Self {
            format: version.payload.format.name().to_owned(),
            sequence: dot.sequence().to_string(),
            when: dot.when().map(|when| when.to_string()),
            by: dot.by().map(|by| by.to_string()),
            sync: sync.map(str::to_owned),
            text: version.payload.text.to_string(),
        }
    }

    fn is_of(&self, dot: &Update) -> bool {
        self.sequence == dot.sequence().to_string()
            && self.when == dot.when().map(|when| when.to_string())
            && self.by.as_deref() == dot.by().map(|by| by.as_str())
    }

    /// The native payload, if it is what an item of its format can be: a peer may have written
    /// anything.
    fn payload(&self) -> Option<Payload> {
        let format: Format = self.format.parse().ok()?;
        let sound = match format {
            Format::Json => json::is_item(&self.text),
            _ => xml::is_item(format, &self.text),
        };
        let sync_sound = match &self.sync {
            None => true,
            Some(members) if format == Format::Json => {
                members.starts_with('"') && json::is_item(&format!("{{{members}}}"))
            }
            Some(markup) => xml::is_foreign(markup),
        };
        (sound && sync_sound).then(|| Payload {
            format,
            text: self.text.as_str().into(),
            sync_foreign: self.sync.as_deref().map(Into::into),
        })
    }
}

/// Bounds of a native text, which has to fit inside a document as the conflict of an item.
fn limits() -> Limits {
    let limits = Limits::default();
    Limits { depth: limits.depth - 16, ..limits }
}

/// The name of an entry that has none: a URN that its item's id makes. What would end it is encoded.
pub fn item_urn(id: &ItemId) -> String {
    format!("urn:feedsync:item:{}", id.as_str().replace('#', "%23").replace('?', "%3F"))
}

#[cfg(test)]
mod tests;
