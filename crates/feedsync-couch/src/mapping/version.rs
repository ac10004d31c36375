//! Leaves of documents as versions of items, and back.

use std::collections::HashMap;

use feedsync::{
    History, Item, ItemId, MAX_INCOMING_UPDATES, Payload, Timestamp, Update, Updates, Version,
};
use feedsync_formats::json::{self, Kind, Node};
use feedsync_formats::{Blob, ReadOptions, blobs, blobs_member};

use super::body::{self, BLOBS, Said, VERSION};
use super::line::{is_told, revision_of_update, update_of};
use crate::revision::{Revision, Signature};
use crate::tree::{Path, Tree};

/// A path of more revisions is told in the document, too: replicas keep a thousand.
const LONG: usize = 500;

/// A version of an item as the leaf of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MappedRevision {
    /// The revision, and what it followed as far as that is one line.
    pub path: Path,
    /// Whether it is a deletion.
    pub is_deleted: bool,
    /// What it says: a JSON object without special members.
    pub body: String,
    /// Its attachments.
    pub attachments: Vec<Blob>,
}

impl MappedRevision {
    /// Its path up to what is in a tree already: what that one followed is known there, and here it is a guess.
    pub fn path_into<B>(&self, tree: &Tree<B>) -> Path {
        let known = self.path.revisions().skip(1).position(|revision| tree.contains(&revision));
        match known {
            Some(before) => self.path.clone().shortened(before + 2),
            None => self.path.clone(),
        }
    }
}

/// What one side cannot say of the other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MappingError {
    /// The generation of a revision, or its name, is beyond what an update can have.
    #[error("the revision {0} is beyond what an update of an item can be")]
    Revision(Revision),
    /// An update has names that make no revision.
    #[error("an update of {0} has names that are too long for a revision")]
    Update(ItemId),
    /// A payload says something that is no document.
    #[error("the item {0} has members that mean something else in a document")]
    Payload(ItemId),
    /// A document says something that is no payload.
    #[error("the document cannot be an item: {0}")]
    Document(String),
}

/// The version that a leaf is. Its attachments are told by what they hold.
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
    let Said { mut members, version } = body::said(body);
    if !attachments.is_empty() {
        if !members.is_empty() {
            members.push(',');
        }
        members.push_str(&blobs_member(attachments));
    }
    let told = version.filter(|it| is_told(&newest) && it.kind() == Kind::Object);
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
        payload: Payload::new(feedsync::Format::Json, "{}"),
    };
    let plain = Item { id: id.clone(), winner: plain, conflicts: Vec::new() };
    json::Writer::new().item(&mut item, &plain);
    let sync = Node::root(&item).member("sync").map_or("{}", |sync| sync.value.raw());
    read(id, &members, sync)
}

/// The leaf that a version is.
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
        && is_told(&path.newest())
        && !is_told_by(&path, version)
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

/// What a path tells of a version.
struct ByPath {
    updates: Updates,
    history: History,
}

/// A deletion that was made as a revision counts for little, and has no time, so that whatever is there wins beside it,
/// at endpoints that know nothing of revisions, too. What was made otherwise says so itself.
fn by_path(path: &Path, is_deleted: bool) -> Option<ByPath> {
    let newest = path.newest();
    let mut updates = path.revisions().map(|revision| update_of(&revision));
    let mut dot = updates.next()??;
    let mut count = u32::try_from(newest.generation()).ok()?;
    if !is_told(&newest) {
        match is_deleted {
            true => count = 1,
            false => {
                // When it was made nobody says; a time that says nothing wins against none.
                let when = Timestamp::from_unix_seconds(0);
                dot = Update::new(dot.sequence(), when, dot.by().cloned()).ok()?;
            }
        }
    }
    (u64::from(count) <= u64::from(MAX_INCOMING_UPDATES)).then_some(())?;
    // What is too long to be an update covers nothing that there is.
    let history = std::iter::once(dot).chain(updates.flatten()).collect();
    Some(ByPath { updates: Updates::new(count).ok()?, history: History::from_updates(history)? })
}

/// The path of a version: its own revision, one that it followed, and those before that one for as long as nothing else
/// can have been: where two of a generation are known, nobody can tell which of them it was.
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

/// Whether all that a version says of itself follows from its path.
fn is_told_by(path: &Path, version: &Version<Payload>) -> bool {
    let Some(ByPath { updates, history }) = by_path(path, version.deleted) else { return false };
    let is_same = |(one, other): (&Update, &Update)| {
        let times = (one.when(), other.when());
        one.is_same(other)
            && other.foreign().is_none()
            && (times.0 == times.1
                || other.by().is_some_and(|by| by.as_str().starts_with(feedsync::line::REVISIONS)))
    };
    updates == version.updates
        && path.signatures().len() <= LONG
        && version.noconflicts.is_none()
        && version.payload.sync_foreign.is_none()
        && history.updates().len() == version.history.updates().len()
        && history.updates().iter().zip(version.history.updates()).all(is_same)
}

/// Reads a version as feeds have it.
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
        _ => Err(refused("it tells the history of another item".to_owned())),
    }
}
