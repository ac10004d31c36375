//! Import of the entries of a plain feed, one that takes no part in sharing; only ever done on request.
//!
//! The first update of an entry is derived from its payload alone, with `by` being `import.{hash}`. So two
//! endpoints that import one entry make the same version and have nothing to merge. If they saw different
//! texts of it, neither supersedes the other, and the result is a conflict.
//!
//! A repeated import updates what changed *in the feed* and keeps what a person edited here. This requires
//! knowing which payload the last import had, so each import states it: a later one signs with a fresh
//! authoring line `{name}.import-{hash}-{random}`. That needs no storage, survives backups, and is
//! replicated: another endpoint that imports the same feed sees what was imported here and does not repeat
//! it. The random tail ensures that a line has one editor, even where two copies of a store import the same
//! text.
//!
//! A later import continues from the result of the last one. If somebody has edited the item since, both
//! versions are kept, as a conflict, and the next import continues on the imported version. An item that a
//! person deleted stays deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use feedsync_core::{
    Base, By, Creation, Edit, EditError, History, Incorporation, Item, ItemId, Payload, Refusal,
    Sequence, Stamp, Timestamp, Update, Updates, bounded, incorporate, line,
};
use feedsync_store::{
    CollectionName, Digest, ItemStoreExt, Origin, PageLimit, Put, Snapshot, StoredItem, Write,
};

use crate::endpoint::{Endpoint, blobs_of, cleaned};
use crate::error::{EditFailure, EndpointError};
use crate::incorporate::{Counts, ItemOutcome, ItemReport, within_bounds};

/// An entry of a plain feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainItem {
    /// Id of the entry, the same at each reading.
    pub id: ItemId,
    /// Content of the entry.
    pub payload: Payload,
    /// Date of the entry itself.
    pub when: Option<Timestamp>,
}

impl PlainItem {
    /// Creates an entry with the id that every importer gives it: its own `atom:id` or `guid`, encoded.
    /// Without a suitable one, the id is `h` and a hash of link and title. If it has neither, the hash is
    /// over the whole entry.
    pub fn new(payload: Payload) -> Self {
        ImportEntry::new(payload).item
    }

    /// Creates the entries of one feed. Entries without an id of their own may share link and title but
    /// differ in content. Then they are different entries, and the id of each is a hash of its whole content.
    pub fn of_feed(payloads: impl IntoIterator<Item = Payload>) -> Vec<Self> {
        let named: Vec<ImportEntry> = payloads.into_iter().map(ImportEntry::new).collect();
        let mut first = BTreeMap::new();
        let mut ambiguous = BTreeSet::new();
        for ImportEntry { item, .. } in named.iter().filter(|named| named.is_hashed) {
            let text = content(&item.payload);
            if *first.entry(item.id.clone()).or_insert(text) != text {
                ambiguous.insert(item.id.clone());
            }
        }
        let settle =
            |ImportEntry { item, is_hashed }| match is_hashed && ambiguous.contains(&item.id) {
                true => Self { id: hashed(&content(&item.payload).to_string()), ..item },
                false => item,
            };
        named.into_iter().map(settle).collect()
    }
}

/// An entry, and whether its id is a hash.
struct ImportEntry {
    item: PlainItem,
    is_hashed: bool,
}

impl ImportEntry {
    fn new(payload: Payload) -> Self {
        let payload = cleaned(payload);
        let entry = feedsync_formats::entry(&payload);
        let own = entry.id.as_deref().and_then(|own| ItemId::encoded(own).ok());
        let is_hashed = own.is_none();
        let id = own.unwrap_or_else(|| {
            let link = entry.link().or_else(|| entry.links.first().map(|link| &*link.href));
            let link = link.unwrap_or_default();
            let title = entry.title.as_deref().unwrap_or_default();
            match link.is_empty() && title.trim().is_empty() {
                true => hashed(&content(&payload).to_string()),
                false => hashed(&format!("{link}\n{title}")),
            }
        });
        let when = entry.updated.or(entry.published);
        Self { item: PlainItem { id, payload, when }, is_hashed }
    }
}

/// Digest of the whole content of an entry.
fn content(payload: &Payload) -> Digest {
    Digest::of(format!("{}\n{}", payload.format(), payload.text()).as_bytes())
}

fn hashed(name: &str) -> ItemId {
    let mut digest = Digest::of(name.as_bytes()).to_string();
    digest.truncate(HASH_DIGITS);
    ItemId::new(&format!("h{digest}"))
        .unwrap_or_else(|_| unreachable!("letters and digits make an identifier"))
}

/// Outcome of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// Number of entries for each outcome.
    pub counts: Counts,
    /// Number of items that were deleted because the feed no longer has them; only when mirroring.
    pub deleted: u64,
    /// Number of entries that repeat an earlier one of the feed, word for word.
    pub repeated: u64,
    /// Ids of entries that were left out: an earlier one of the feed has the same id and other content.
    pub left_out: Vec<ItemId>,
    /// Reports of all entries that were not left out, in the feed's order.
    pub items: Vec<ItemReport>,
}

/// Maximum number of entries in one transaction.
const BATCH: usize = 500;

impl Endpoint {
    /// Imports the entries of a plain feed, batch by batch. An import after an interruption changes only what
    /// the interrupted one did not.
    ///
    /// With `mirror`, items that an import made and that are not among the entries are deleted.
    pub async fn import(
        &self,
        collection: &CollectionName,
        entries: Vec<PlainItem>,
        mirror: bool,
    ) -> Result<Imported, EndpointError> {
        let mut imported = Imported::default();
        let mut seen = BTreeMap::new();
        let mut different = Vec::new();
        for entry in entries {
            let entry = PlainItem { payload: cleaned(entry.payload), ..entry };
            let text = content(&entry.payload);
            match seen.get(&entry.id) {
                None => {
                    seen.insert(entry.id.clone(), text);
                    different.push(entry);
                }
                Some(known) if *known == text => imported.repeated += 1,
                Some(_) => imported.left_out.push(entry.id),
            }
        }
        let seen: BTreeSet<_> = seen.into_keys().collect();
        let mut entries = different.into_iter().peekable();
        while entries.peek().is_some() {
            let batch: Arc<Vec<_>> = Arc::new(entries.by_ref().take(BATCH).collect());
            for report in self.import_batch(collection, batch).await? {
                imported.counts.count(report.outcome);
                imported.items.push(report);
            }
        }
        if mirror {
            imported.deleted = self.delete_absent(collection, &seen).await?;
        }
        Ok(imported)
    }

    async fn import_batch(
        &self,
        collection: &CollectionName,
        batch: Arc<Vec<PlainItem>>,
    ) -> Result<Vec<ItemReport>, EndpointError> {
        let keys = batch.iter().map(|entry| entry.id.clone()).collect();
        let (_, reports) = self
            .store
            .decide(collection, keys, move |snapshot| {
                let mut writes = Vec::new();
                let mut reports = Vec::with_capacity(batch.len());
                for entry in batch.iter() {
                    match import_one(snapshot, entry, &mut writes) {
                        Ok(outcome) => reports.push(ItemReport { id: entry.id.clone(), outcome }),
                        Err(error) => return (Vec::new(), Err(error)),
                    }
                }
                (writes, Ok(reports))
            })
            .await?;
        reports
    }

    async fn delete_absent(
        &self,
        collection: &CollectionName,
        present: &BTreeSet<ItemId>,
    ) -> Result<u64, EndpointError> {
        let mut deleted = 0;
        let mut after: Option<ItemId> = None;
        loop {
            let limit = PageLimit::items(BATCH);
            let page = self.store.items_by_id(collection, after.as_ref(), limit).await?;
            let absent: Vec<_> = page
                .items
                .iter()
                .map(|stored| &stored.item)
                .filter(|item| !present.contains(&item.id) && is_imported(item))
                .map(|item| item.id.clone())
                .collect();
            if !absent.is_empty() {
                deleted += self.delete_batch(collection, absent).await?;
            }
            after = page.items.last().map(|stored| stored.item.id.clone());
            if !page.more {
                return Ok(deleted);
            }
        }
    }

    async fn delete_batch(
        &self,
        collection: &CollectionName,
        ids: Vec<ItemId>,
    ) -> Result<u64, EndpointError> {
        let (_, deleted) = self
            .store
            .decide(collection, ids.clone(), move |snapshot| {
                let mut writes = Vec::new();
                let mut deleted = 0;
                for stored in ids.iter().filter_map(|id| snapshot.item(id)) {
                    let Some(last) = last_import(&stored.item) else { continue };
                    if !is_imported(&stored.item) {
                        continue; // it was changed in the meantime
                    }
                    match continue_import(snapshot, stored, last, GONE, Edit::delete(), &mut writes)
                    {
                        Ok(ItemOutcome::Refused(_)) => {}
                        Ok(_) => deleted += 1,
                        Err(error) => return (Vec::new(), Err(error)),
                    }
                }
                (writes, Ok(deleted))
            })
            .await?;
        deleted
    }
}

fn import_one(
    snapshot: &Snapshot,
    entry: &PlainItem,
    writes: &mut Vec<Write>,
) -> Result<ItemOutcome, EndpointError> {
    let hash = hash(entry);
    let Some(stored) = snapshot.item(&entry.id) else {
        return first_import(snapshot, entry, &hash, writes);
    };
    let winner = &stored.item.winner;
    match last_import(&stored.item) {
        None if winner.payload == entry.payload => Ok(ItemOutcome::Unchanged),
        None => first_import(snapshot, entry, &hash, writes),
        Some(last) if last.mark == hash => Ok(ItemOutcome::Unchanged),
        Some(last) if last.mark == GONE => {
            let edit = Edit { payload: Some(entry.payload.clone()), deleted: Some(false) };
            continue_import(snapshot, stored, last, &hash, edit, writes)
        }
        Some(_) if winner.deleted => Ok(ItemOutcome::Unchanged),
        Some(last) => {
            let edit = Edit::from(entry.payload.clone());
            continue_import(snapshot, stored, last, &hash, edit, writes)
        }
    }
}

/// Makes the version that every importer derives from this entry, merged with the stored item.
fn first_import(
    snapshot: &Snapshot,
    entry: &PlainItem,
    hash: &str,
    writes: &mut Vec<Write>,
) -> Result<ItemOutcome, EndpointError> {
    let by = line_named(&format!("{}{hash}", line::IMPORTS));
    let stamp =
        Stamp::partial(entry.when, Some(by)).map_err(|error| EditFailure::Edit(error.into()))?;
    let item = Item::create(entry.id.clone(), Creation::default(), &stamp, entry.payload.clone())
        .map_err(EditFailure::from)?;
    let stored = snapshot.item(&entry.id);
    let purged = snapshot.entry(&entry.id).map(|entry| entry.purged.clone());
    let purged = purged.and_then(History::from_updates);
    let local = stored.map(|stored| &stored.item);
    let merged = incorporate(local, purged.as_ref(), item);
    let (outcome, item) = match within_bounds(merged, local) {
        Incorporation::Unchanged => return Ok(ItemOutcome::Unchanged),
        Incorporation::Refused(refusal) => return Ok(ItemOutcome::Refused(refusal)),
        Incorporation::Added(item) => (ItemOutcome::Added, item),
        Incorporation::Updated(item) => (ItemOutcome::Updated, item),
        Incorporation::Conflict(item) => (ItemOutcome::Conflict, item),
    };
    let created_here = stored.is_none_or(|stored| stored.created_here);
    let origin = stored.map_or(Origin::Here, |stored| match stored.origin {
        Origin::Here => Origin::Here,
        _ => Origin::Mixed,
    });
    writes.push(Write::Put(Put { blobs: blobs_of(&item), item, created_here, origin }));
    Ok(outcome)
}

/// Makes one more import on top of the last: an update of the winner if the winner is the result of the last
/// import, else a version beside it.
fn continue_import(
    snapshot: &Snapshot,
    stored: &StoredItem,
    last: LastImport,
    mark: &str,
    edit: Edit<Payload>,
    writes: &mut Vec<Write>,
) -> Result<ItemOutcome, EndpointError> {
    let mut item = stored.item.clone();
    let when = snapshot.now().timestamp().ok_or(EndpointError::Clock)?;
    // An authoring line of one update is never extended, so the ledger need not list it.
    let stamp = Stamp::new(when, later_line(snapshot, mark));
    let made = if *item.winner.dot() == last.update {
        item.update(&stamp, edit).map(|()| item)
    } else {
        let payload = edit.payload.unwrap_or_else(|| item.winner.payload.clone());
        let deleted = edit.deleted.unwrap_or(false);
        item.branch(last.base(&stored.item), &stamp, payload, deleted)
    };
    let item = match made {
        Err(EditError::UpdatesExhausted) => {
            let updates = stored.item.winner.updates.get().saturating_add(1);
            return Ok(ItemOutcome::Refused(Refusal::UpdatesTooHigh { updates }));
        }
        made => made.map_err(EditFailure::from)?,
    };
    let item = match bounded(item, Some(&stored.item)) {
        Ok(item) => item,
        Err(refusal) => return Ok(ItemOutcome::Refused(refusal)),
    };
    let alone = item.conflicts.is_empty();
    let origin = if alone || stored.origin == Origin::Here { Origin::Here } else { Origin::Mixed };
    writes.push(Write::Put(Put {
        blobs: blobs_of(&item),
        item,
        created_here: stored.created_here,
        origin,
    }));
    Ok(if alone { ItemOutcome::Updated } else { ItemOutcome::Conflict })
}

/// Whether the item exists because a feed had it, and the feed still had it at the last import.
fn is_imported(item: &Item<Payload>) -> bool {
    !item.winner.deleted && last_import(item).is_some_and(|last| last.mark != GONE)
}

/// The latest update of an item that an import made.
struct LastImport {
    update: Update,
    /// The hash of the imported entry, or [`GONE`].
    mark: String,
}

/// Finds the import at the highest sequence over all versions. Sequences rise with `updates`, also where the
/// resolution of a conflict has merged histories.
fn last_import(item: &Item<Payload>) -> Option<LastImport> {
    item.versions()
        .flat_map(|version| version.history.updates())
        .filter_map(|update| Some((update, import_mark(update.by()?)?)))
        .max_by_key(|(update, _)| (update.sequence(), update.when()))
        .map(|(update, mark)| LastImport { update: update.clone(), mark: mark.to_owned() })
}

impl LastImport {
    /// Returns the base of the next import: the version that the last import left. If a version with a longer
    /// history replaced it, the base is the update itself and the updates at lower sequences. A base that
    /// covers too little costs a conflict; one that covers too much loses an edit.
    fn base(&self, item: &Item<Payload>) -> Base {
        let noconflicts = item.winner.noconflicts;
        if let Some(version) = item.versions().find(|version| *version.dot() == self.update) {
            return Base {
                updates: version.updates,
                noconflicts,
                history: version.history.clone(),
            };
        }
        let known =
            item.versions().find(|version| version.history.updates().contains(&self.update));
        let older = known.into_iter().flat_map(|version| version.history.updates());
        let older = older.filter(|update| update.sequence() < self.update.sequence());
        let updates = std::iter::once(&self.update).chain(older).cloned().collect();
        Base {
            updates: updates_at(self.update.sequence()),
            noconflicts,
            history: History::from_updates(updates)
                .unwrap_or_else(|| History::new(self.update.clone())),
        }
    }
}

fn updates_at(sequence: Sequence) -> Updates {
    // Both counters have the same bounds.
    Updates::new(sequence.get()).unwrap_or(Updates::FIRST)
}

/// Replaces the hash for an item that the feed no longer has.
const GONE: &str = "gone";
const HASH_DIGITS: usize = 32;

/// Returns the hash of the entry that an update imported, or [`GONE`]; `None` if no import made the update.
fn import_mark(by: &By) -> Option<&str> {
    let by = by.as_str();
    let mark = match by.strip_prefix(line::IMPORTS) {
        Some(mark) => mark,
        None => by.rsplit_once(line::IMPORTED_AGAIN)?.1.rsplit_once('-')?.0,
    };
    let is_hash = mark.len() == HASH_DIGITS
        && mark.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (is_hash || mark == GONE).then_some(mark)
}

/// Returns the first 128 bits of the SHA-256 of everything in the first version.
fn hash(entry: &PlainItem) -> String {
    let when = entry.when.map(|when| when.to_string()).unwrap_or_default();
    let text = format!("{}\n{when}\n{}", entry.payload.format(), entry.payload.text());
    let mut digest = Digest::of(text.as_bytes()).to_string();
    digest.truncate(HASH_DIGITS);
    digest
}

fn later_line(snapshot: &Snapshot, mark: &str) -> By {
    let minted = snapshot.mint();
    let (name, tail) = minted.as_str().rsplit_once('.').unwrap_or((minted.as_str(), ""));
    line_named(&format!("{name}{}{mark}-{tail}", line::IMPORTED_AGAIN))
}

/// Makes an authoring line of an endpoint's name, a hash and the letters above.
fn line_named(text: &str) -> By {
    By::new(text).unwrap_or_else(|_| unreachable!("a name, a hash and letters make an identifier"))
}

#[cfg(test)]
mod tests;
