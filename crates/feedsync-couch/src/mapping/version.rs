//! Mapping between leaves of documents and versions of items.

use std::collections::HashMap;

use feedsync_core::{
    History, Item, ItemId, MAX_INCOMING_UPDATES, Payload, Timestamp, Update, Updates, Version,
};
use feedsync_formats::json::{self, Kind, Node};
use feedsync_formats::{Blob, ReadOptions, blobs, blobs_member, empty_payload};

use super::body::{self, BLOBS, DocumentContents, VERSION};
use super::signature::{encodes_update, revision_of_update, update_of};
use crate::revision::{Revision, Signature};
use crate::tree::{Path, Tree};

/// Path length above which the history is also stored in the document, because replicas retain a thousand
/// revisions.
const LONG: usize = 500;

/// A version of an item as a leaf of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedRevision {
    /// The revision with its ancestors, as far as they form one line.
    pub path: Path,
    /// Whether it is a deletion.
    pub is_deleted: bool,
    /// Its body: a JSON object without special members.
    pub body: String,
    /// Its attachments.
    pub attachments: Vec<Blob>,
}

impl MappedRevision {
    /// The part of the path down to the first revision that the tree has. The tree knows the ancestors of
    /// that revision; the rest of this path is a guess.
    pub fn path_into<B>(&self, tree: &Tree<B>) -> Path {
        let known = self.path.revisions().skip(1).position(|revision| tree.contains(&revision));
        match known {
            Some(before) => self.path.clone().shortened(before + 2),
            None => self.path.clone(),
        }
    }
}

/// Why a value cannot be mapped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MappingError {
    /// The generation or name of a revision exceeds the limits of an update.
    #[error("the generation of the revision {0} is too large for an update of an item")]
    Revision(Revision),
    /// The names in an update cannot form a revision.
    #[error("the `by` of an update of {0} is too long for a revision")]
    Update(ItemId),
    /// A payload cannot be a document.
    #[error("the item {0} has members whose names are reserved in documents")]
    Payload(ItemId),
    /// A document cannot be a payload.
    #[error("the document cannot become an item: {0}")]
    Document(String),
}

/// The version for a leaf. Attachments are identified by their contents.
pub fn version_of(
    id: &ItemId,
    path: &Path,
    is_deleted: bool,
    body: &str,
    attachments: &[Blob],
) -> Result<Version<Payload>, MappingError> {
    let newest = path.newest();
    let by_path =
        by_path(path, is_deleted).ok_or_else(|| MappingError::Revision(newest.clone()))?;
    let DocumentContents { mut members, version } = body::contents(body);
    if !attachments.is_empty() {
        if !members.is_empty() {
            members.push(',');
        }
        members.push_str(&blobs_member(attachments));
    }
    let told = version.filter(|it| encodes_update(&newest) && it.kind() == Kind::Object);
    if let Some(told) = told {
        let version = read(id, &members, told.raw());
        let is_it = |version: &Version<Payload>| {
            let dot = version.dot();
            (
                dot.is_same(&by_path.history.updates()[0]),
                dot.when(),
                version.updates,
                version.deleted,
            ) == (true, by_path.history.updates()[0].when(), by_path.updates, is_deleted)
        };
        if let Some(version) = version.ok().filter(is_it) {
            return Ok(version);
        }
    }
    let mut item = String::new();
    let plain = Version {
        updates: by_path.updates,
        deleted: is_deleted,
        noconflicts: None,
        history: by_path.history,
        payload: empty_payload(feedsync_core::Format::Json),
    };
    let plain = Item { id: id.clone(), winner: plain, conflicts: Vec::new() };
    json::Writer::new().item(&mut item, &plain);
    let sync = Node::root(&item).member("sync").map_or("{}", |sync| sync.value.raw());
    read(id, &members, sync)
}

/// The leaf for a version.
pub fn revision_of(
    id: &ItemId,
    version: &Version<Payload>,
) -> Result<MappedRevision, MappingError> {
    let path = path_of(version).ok_or_else(|| MappingError::Update(id.clone()))?;
    let unsaid = || MappingError::Payload(id.clone());
    let alone = Item { id: id.clone(), winner: version.clone(), conflicts: Vec::new() };
    let mut item = String::new();
    json::Writer::new().item(&mut item, &alone);
    let item = Node::root(&item);
    let attachments = blobs(&version.payload);
    let listed = item.member(BLOBS).map_or(0, |list| list.value.elements().count().max(1));
    let mut names: Vec<&str> = attachments.iter().map(|blob| &*blob.name).collect();
    names.sort_unstable();
    names.dedup();
    if listed != attachments.len() || names.len() != listed {
        return Err(unsaid());
    }
    let mut members = body::members(item).ok_or_else(unsaid)?;
    if let Some(sync) = item.member("sync")
        && encodes_update(&path.newest())
        && !follows_from(&path, version)
    {
        if !members.is_empty() {
            members.push(',');
        }
        json::push_string(&mut members, VERSION);
        members.push(':');
        members.push_str(sync.value.raw());
    }
    let body = format!("{{{members}}}");
    Ok(MappedRevision { path, is_deleted: version.deleted, body, attachments })
}

/// The values of a version that follow from its path.
struct ByPath {
    updates: Updates,
    history: History,
}

/// A deletion that was made as a revision counts for little and has no time. Therefore any concurrent version
/// wins, also at endpoints that do not know revisions. Other deletions state their own values.
fn by_path(path: &Path, is_deleted: bool) -> Option<ByPath> {
    let newest = path.newest();
    let mut updates = path.revisions().map(|revision| update_of(&revision));
    let mut dot = updates.next()??;
    let mut count = u32::try_from(newest.generation()).ok()?;
    if !encodes_update(&newest) {
        match is_deleted {
            true => count = 1,
            false => {
                // The time of the revision is unknown; a time without meaning wins against none.
                let when = Timestamp::from_unix_seconds(0);
                dot = Update::new(dot.sequence(), when, dot.by().cloned()).ok()?;
            }
        }
    }
    (u64::from(count) <= u64::from(MAX_INCOMING_UPDATES)).then_some(())?;
    // A revision that is too long for an update covers no existing update.
    let history = std::iter::once(dot).chain(updates.flatten()).collect();
    Some(ByPath { updates: Updates::new(count).ok()?, history: History::from_updates(history)? })
}

/// The path of a version: its own revision, one that it followed, and earlier ones as long as they are
/// unambiguous. If two revisions of a generation are known, it is unknown which of them is the ancestor.
fn path_of(version: &Version<Payload>) -> Option<Path> {
    let updates = version.history.updates();
    let newest = revision_of_update(version.dot(), version.updates.get().into())?;
    let mut known: HashMap<u64, u32> = HashMap::new();
    for update in &updates[1..] {
        *known.entry(update.sequence().get().into()).or_default() += 1;
    }
    let mut signatures: Vec<Signature> = vec![newest.signature().clone()];
    let mut generation = newest.generation();
    for update in &updates[1..] {
        let before = generation - 1;
        if u64::from(update.sequence().get()) != before {
            break;
        }
        let is_certain = known.get(&before) == Some(&1);
        if !is_certain && signatures.len() > 1 {
            break;
        }
        let Some(revision) = revision_of_update(update, before) else { break };
        signatures.push(revision.signature().clone());
        generation = before;
        if !is_certain {
            break;
        }
    }
    Path::new(newest.generation(), signatures).ok()
}

/// Whether all values of a version follow from its path.
fn follows_from(path: &Path, version: &Version<Payload>) -> bool {
    let Some(ByPath { updates, history }) = by_path(path, version.deleted) else { return false };
    let is_same = |(one, other): (&Update, &Update)| {
        let times = (one.when(), other.when());
        one.is_same(other)
            && other.foreign().is_none()
            && (times.0 == times.1
                || other
                    .by()
                    .is_some_and(|by| by.as_str().starts_with(feedsync_core::line::REVISIONS)))
    };
    updates == version.updates
        && path.signatures().len() <= LONG
        && version.noconflicts.is_none()
        && version.payload.sync_foreign().is_none()
        && history.updates().len() == version.history.updates().len()
        && history.updates().iter().zip(version.history.updates()).all(is_same)
}

/// Parses a version as it is in feeds.
fn read(id: &ItemId, members: &str, sync: &str) -> Result<Version<Payload>, MappingError> {
    let comma = if members.is_empty() { "" } else { "," };
    let feed = format!("{{\"items\":[{{{members}{comma}\"sync\":{sync}}}]}}");
    let refused = |reason: String| MappingError::Document(reason);
    let reading = json::read(feed.as_bytes(), &ReadOptions::tolerant())
        .map_err(|error| refused(error.to_string()))?;
    if let Some(fault) = reading.refused.into_iter().next() {
        return Err(refused(fault.reason.message));
    }
    let mut items = reading.feed.items.into_iter();
    match (items.next(), items.next()) {
        (Some(item), None) if item.id == *id && item.conflicts.is_empty() => Ok(item.winner),
        _ => Err(refused("it contains the history of another item".to_owned())),
    }
}
