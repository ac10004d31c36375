//! The outline of a feed: writing, editing and reading it.

use feedsync_core::{Format, Payload, Update, Version};
use feedsync_formats::{
    Entry, Link, attribute, compose, entry, extension, with_attribute, with_extension,
};
use feedsync_log::{Device, Millis, Stamp, Tick};

use super::READER_NAMESPACE;
use crate::action::Action;
use crate::address::FeedAddress;
use crate::article::hash;
use crate::document::{DocumentError, read_document, write_document};
use crate::feed::FeedState;
use crate::names::{Folder, FolderName, Title};

/// The element that holds the document of a feed.
pub(super) const STATE: &str = "state";

/// A new outline.
pub(super) fn outline(feed: &FeedAddress, state: &FeedState) -> Payload {
    let said = OutlineValues::expected(feed, state);
    let bare = Entry {
        title: Some(said.text.clone()),
        links: vec![Link::new("feed", said.address.as_str())],
        ..Entry::default()
    };
    revised(&compose(Format::Opml, &bare), feed, state)
}

/// Writes a state into an outline and preserves its other contents. A payload of another format is replaced
/// by a new outline.
pub(super) fn revised(payload: &Payload, feed: &FeedAddress, state: &FeedState) -> Payload {
    if payload.format() != Format::Opml {
        return outline(feed, state);
    }
    let said = OutlineValues::expected(feed, state);
    let mut payload = with_attribute(payload, "text", Some(&said.text));
    if attribute(&payload, "title").is_some() {
        payload = with_attribute(&payload, "title", Some(&said.text));
    }
    if attribute(&payload, "type").is_none() {
        payload = with_attribute(&payload, "type", Some("rss"));
    }
    payload = with_attribute(&payload, "xmlUrl", Some(said.address.as_str()));
    payload = with_attribute(&payload, "category", said.category.as_deref());
    let document = write_document(feed, state);
    if extension(&payload, READER_NAMESPACE, STATE).as_ref() == Some(&document) {
        return payload;
    }
    with_extension(&payload, READER_NAMESPACE, STATE, &document)
}

/// Address of the feed that an outline states besides its document; `None` if it is not a subscription.
pub(super) fn address(payload: &Payload) -> Option<FeedAddress> {
    if payload.format() != Format::Opml {
        return None;
    }
    let links = entry(payload).links;
    links.iter().find(|link| link.rel == "feed")?.href.parse().ok()
}

/// The state of a feed in a version: its document, and the changes that other programs made besides it.
pub(super) fn state_in_version(
    version: &Version<Payload>,
    feed: &FeedAddress,
) -> Result<FeedState, DocumentError> {
    let payload = &version.payload;
    let document = extension(payload, READER_NAMESPACE, STATE);
    let (mut state, is_written_by_us) = match document.as_deref().map(read_document) {
        Some(Err(newer @ DocumentError::Newer { .. })) => return Err(newer),
        Some(Ok((named, state))) if named == *feed => (state, true),
        // The outline was made by another program, or another program removed, added or damaged its document.
        _ => (FeedState::default(), false),
    };
    let expected = OutlineValues::expected(feed, &state);
    let mut beside = Vec::new();
    if version.deleted == state.is_subscribed() || !is_written_by_us {
        beside.push(match version.deleted {
            true => Action::Unsubscribe,
            false => Action::Subscribe { title: None, folder: None, position: None },
        });
    }
    // In other formats the parts that belong to the feed are unknown, and a deletion may have dropped all of
    // them.
    if let (Format::Opml, Some(address)) = (payload.format(), address(payload)) {
        let text = attribute(payload, "text").filter(|text| *text != expected.text);
        beside.extend(text.and_then(|text| Title::cleaned(&text)).map(|title| {
            let is_title = title.as_str() != expected.address.as_str();
            Action::Rename { title: is_title.then_some(title) }
        }));
        let category = attribute(payload, "category");
        if category != expected.category {
            beside.push(Action::Move { folder: folder(&category.unwrap_or_default()) });
        }
        if address != expected.address {
            beside.push(Action::FeedMoved { to: address });
        }
    }
    let mut stamp = stamp_of(version.dot());
    // The program that changed the outline had its document, so the change is later, whatever the clock says.
    stamp.tick = stamp.tick.max(state.latest().map(Tick::next).unwrap_or_default());
    for action in beside {
        state.join(action.state(stamp.clone()));
    }
    Ok(state)
}

/// Stamp for an update: its author, and the end of its second.
fn stamp_of(update: &Update) -> Stamp {
    let seconds = update.when().map_or(0, |when| when.unix_seconds());
    let millis = u64::try_from(seconds).unwrap_or_default().saturating_mul(1_000);
    // The greatest value would be written as the end of time, so the stamp stays below it.
    let millis = Millis::new(millis).after(999).min(Millis::MAX.before(1));
    let tick = Tick::new(millis, update.sequence().get());
    let by = update.by().map(|by| by.as_str()).unwrap_or_default();
    let name: String = hash(&["by", by]).chars().take(32).collect();
    let device = name.parse().unwrap_or_else(|_| Device::minted(0));
    Stamp { tick, device }
}

/// The values that an outline states besides its document.
struct OutlineValues {
    text: String,
    address: FeedAddress,
    category: Option<String>,
}

impl OutlineValues {
    /// The values that this program writes for a state.
    fn expected(feed: &FeedAddress, state: &FeedState) -> Self {
        let address = state.moved_to().unwrap_or(feed).clone();
        let title = state.title().map(Title::as_str);
        let text = title.unwrap_or(address.as_str()).to_owned();
        Self { text, address, category: category(state.folder()) }
    }
}

/// The folder as an OPML 2.0 category: names with slashes before them. A slash or comma within a name becomes
/// a hyphen.
fn category(folder: &Folder) -> Option<String> {
    let name = |name: &FolderName| format!("/{}", name.as_str().replace(['/', ','], "-"));
    let path: String = folder.names().iter().map(name).collect();
    (!path.is_empty()).then_some(path)
}

/// The folder of the first category that is a path.
fn folder(categories: &str) -> Folder {
    let path = categories.split(',').find_map(|category| category.trim().strip_prefix('/'));
    let names = path.unwrap_or_default().split('/').filter_map(FolderName::cleaned);
    Folder::new(names.collect()).unwrap_or_default()
}
