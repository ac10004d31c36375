//! The state as items of a FeedSync collection: one outline for each feed. Any program that reads OPML can
//! read the subscriptions, and the document of the feed in the outline holds the rest for our programs.
//!
//! ```xml
//! <outline text="Example" type="rss" xmlUrl="https://example.org/feed" category="/News">
//!   <state xmlns="urn:feedsync:reader:1">{"feed":"https://example.org/feed",...}</state>
//! </outline>
//! ```
//!
//! The state of an item is the join of all its versions, the winner and the conflicts, so there is nothing to
//! choose. A feed without a subscription is a deleted item, which retains its marks.
//!
//! Changes that another program made in the outline itself have no stamp. They get the time of the version,
//! and a device that is named after the version's authoring line. Another text is a new title, another
//! category a new folder, another address a move, and a deletion the end of the subscription. An outline
//! without a document is a subscription. All this is a function of the version, so that the result is the
//! same everywhere. If such a program removed data from a document, the next replica that has the data writes
//! it again.

use feedsync_core::{
    By, Creation, Edit, History, Item, ItemId, Payload, Sequence, Update, Version,
};
use feedsync_formats::extension;

use crate::address::FeedAddress;
use crate::article::hash;
use crate::document::{DocumentError, document_id, read_document};
use crate::feed::FeedState;

mod outline;

use outline::{STATE, outline, revised, state_in_version};

/// The namespace of our elements in outlines.
pub const READER_NAMESPACE: &str = "urn:feedsync:reader:1";

/// Maximum number of updates that the history of a resolution contains.
const MAX_RESOLUTION_UPDATES: usize = 4_096;

/// The id of the item of a feed, the same for every user: that of its document.
pub fn item_id(feed: &FeedAddress) -> ItemId {
    ItemId::new(&document_id(feed)).unwrap_or_else(|_| unreachable!("hexadecimal digits are legal"))
}

/// The first version of the item of a feed.
pub fn new_item(feed: &FeedAddress, state: &FeedState) -> (ItemId, Creation, Payload) {
    let creation = Creation { noconflicts: None, deleted: !state.is_subscribed() };
    (item_id(feed), creation, outline(feed, state))
}

/// Returns the feed of an item, and the joined state of all versions. `known` is the feed of the item if the
/// caller knows it; a deletion may no longer state it. An item with the id of one of these feeds belongs to
/// that feed. `None` if the item belongs to no feed, or to several. Fails if an item has a document of a
/// later version; such an item must not be written either.
pub fn read_item(
    item: &Item<Payload>,
    known: Option<&FeedAddress>,
) -> Result<Option<(FeedAddress, FeedState)>, DocumentError> {
    let mut feeds: Vec<FeedAddress> = Vec::new();
    for version in item.versions() {
        feeds.extend(feed_of(version)?);
    }
    feeds.sort_unstable();
    feeds.dedup();
    let named = feeds.iter().chain(known).find(|feed| item_id(feed) == item.id);
    let feed = match (named, &feeds[..]) {
        // If its outline has another address, the feed moved there.
        (Some(feed), _) => Some(feed),
        (None, []) => known,
        (None, [feed]) => Some(feed),
        (None, _) => None,
    };
    let Some(feed) = feed.cloned() else { return Ok(None) };
    let mut state = FeedState::default();
    for version in item.versions() {
        state.join(state_in_version(version, &feed)?);
    }
    Ok(Some((feed, state)))
}

/// The edit that adds `state` to an item. `None` if the item already includes it, or does not belong to
/// exactly one feed.
pub fn edit(
    item: &Item<Payload>,
    feed: &FeedAddress,
    state: &FeedState,
) -> Result<Option<Edit<Payload>>, DocumentError> {
    let Some((known, mut joined)) = read_item(item, Some(feed))? else { return Ok(None) };
    if known != *feed {
        return Ok(None);
    }
    joined.join(state.clone());
    let payload = revised(&item.winner.payload, feed, &joined);
    let deleted = !joined.is_subscribed();
    let is_said = payload == item.winner.payload && deleted == item.winner.deleted;
    Ok((!is_said).then_some(Edit { payload: Some(payload), deleted: Some(deleted) }))
}

/// The version that resolves all conflicts of an item: the join of all its versions. `None` if there are
/// none, or if the item does not belong to exactly one feed.
///
/// It is a function of the dots and payloads of the versions alone. Replicas that resolve the same conflicts
/// make the same version, in an authoring line of its own, and merging two such resolutions leaves one. All
/// replicas may therefore resolve concurrently, without coordination (3.4, last note).
pub fn resolution(item: &Item<Payload>) -> Result<Option<Version<Payload>>, DocumentError> {
    if item.conflicts.is_empty() {
        return Ok(None);
    }
    let Some((feed, state)) = read_item(item, None)? else { return Ok(None) };
    let mut versions: Vec<&Version<Payload>> = item.versions().collect();
    versions.sort_by(|one, other| rank(one).cmp(&rank(other)));
    // There is always a winner, so the list is not empty.
    let Some(highest) = versions.last() else { return Ok(None) };
    let Some(updates) = highest.updates.next() else { return Ok(None) };
    let when = versions.iter().filter_map(|version| version.dot().when()).max();
    let Some(history) = resolved(&versions, Sequence::from(updates), when) else {
        return Ok(None);
    };
    Ok(Some(Version {
        updates,
        deleted: !state.is_subscribed(),
        noconflicts: versions.iter().filter_map(|version| version.noconflicts).max(),
        history,
        payload: revised(&highest.payload, &feed, &state),
    }))
}

/// The feed that a version states.
fn feed_of(version: &Version<Payload>) -> Result<Option<FeedAddress>, DocumentError> {
    let document = extension(&version.payload, READER_NAMESPACE, STATE);
    match document.as_deref().map(read_document) {
        Some(Ok((feed, _))) => Ok(Some(feed)),
        Some(Err(newer @ DocumentError::Newer { .. })) => Err(newer),
        _ => Ok(outline::address(&version.payload)),
    }
}

/// Sort key of versions that is more specific than winning, so that the order is the same everywhere.
fn rank(version: &Version<Payload>) -> impl Ord + '_ {
    let dot = version.dot();
    let payload = (version.payload.format(), version.payload.text());
    (version.updates, dot.when(), dot.by(), dot.sequence(), version.deleted, payload)
}

/// The history of a version that covers all of these; its authoring line is named after them.
fn resolved(
    versions: &[&Version<Payload>],
    sequence: Sequence,
    when: Option<feedsync_core::Timestamp>,
) -> Option<History> {
    let mut said = Vec::new();
    for version in versions {
        let dot = version.dot();
        let by = dot.by().map(By::as_str).unwrap_or_default().to_owned();
        let when = dot.when().map(|when| when.to_string()).unwrap_or_default();
        let deleted = version.deleted.to_string();
        let payload = version.payload.text().to_string();
        said.extend([dot.sequence().to_string(), when, by, deleted, payload]);
    }
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    let by = By::new(&format!("reader.{}", &hash(&said)[..32])).ok()?;
    let mut updates: Vec<Update> =
        versions.iter().flat_map(|version| version.history.updates()).cloned().collect();
    let order = |update: &Update| {
        let foreign = update.foreign().map(str::to_owned);
        (std::cmp::Reverse(update.sequence()), update.by().cloned(), update.when(), foreign)
    };
    updates.sort_by_cached_key(order);
    updates.dedup();
    updates.insert(0, Update::new(sequence, when, Some(by)).ok()?);
    let is_long = updates.len() > MAX_RESOLUTION_UPDATES;
    let mut history = History::from_updates(updates)?;
    if is_long {
        history.clean_up();
    }
    Some(history)
}
