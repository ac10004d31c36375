//! Writing the result of a batch of updates, with one statement for each table.

use std::collections::BTreeMap;

use deadpool_postgres::Transaction;
use feedsync_core::{By, ItemId, Update};

use super::acts::{Acts, INSERT_ACTS};
use super::arrays::{ItemBlobs, ItemVersions, Items, Ledger};
use super::batch::AbortReason;
use super::collections::{self, CollectionRow};
use super::pipeline::{Parameter, Pipeline};
use super::remotes;
use super::rows::{self, micros, text};
use crate::collection::Collection;
use crate::columns::history_text;
use crate::error::StoreError;
use crate::identity::{Identity, LedgerEntry};
use crate::order::Moment;
use crate::people::AuditAction;
use crate::plan::Plan;
use crate::remote::{RemoteId, RemoteState};
use crate::stored::{Discarded, DiscardedId, StoredItem};

const DELETE_ITEMS: &str = "DELETE FROM items WHERE collection = $1 AND number = ANY($2)";
const DELETE_CONFLICTS: &str = "DELETE FROM conflicts WHERE collection = $1 AND number = ANY($2)";
const DELETE_BLOBS: &str = "DELETE FROM item_blobs WHERE collection = $1 AND number = ANY($2)";

const WRITE_PURGED: &str = "
    INSERT INTO purged (collection, id, vector)
    SELECT $1, * FROM unnest($2::text[], $3::text[])
    ON CONFLICT (collection, id) DO UPDATE SET vector = excluded.vector";

const RECOVERED: [&str; 3] = [
    "DELETE FROM discarded WHERE collection = $1 AND place = ANY($2)",
    "DELETE FROM discarded_versions WHERE collection = $1 AND place = ANY($2)",
    "DELETE FROM discarded_blobs WHERE collection = $1 AND place = ANY($2)",
];

const INSERT_DISCARDED: &str = "
    INSERT INTO discarded (collection, place, id, at, reason)
    SELECT $1, * FROM unnest($2::bigint[], $3::text[], $4::bigint[], $5::text[])";

const INSERT_DISCARDED_VERSIONS: &str = "
    INSERT INTO discarded_versions (collection, place, ordinal, updates, deleted, noconflicts,
                                    history, format, payload, sync_foreign)
    SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::boolean[],
                             $6::boolean[], $7::text[], $8::text[], $9::text[], $10::text[])";

const INSERT_DISCARDED_BLOBS: &str = "
    INSERT INTO discarded_blobs (collection, place, digest)
    SELECT $1, * FROM unnest($2::bigint[], $3::bytea[])";

const ADVANCE: &str = "
    UPDATE collections SET last = $2, horizon = $3, sent = $4, live = $5, deleted = $6,
                           conflicted = $7, edited = $8, bytes = $9 WHERE id = $1";

/// Corrects moments of change that were written while the clock was ahead: their items get moments before `$3`, in their
/// order.
const REDATE: &str = "
    UPDATE items SET edited = $3 - ahead.place
      FROM (SELECT number, row_number() OVER (ORDER BY number DESC) AS place
              FROM items WHERE collection = $1 AND edited > $2) ahead
     WHERE items.collection = $1 AND items.number = ahead.number";

/// The difference between the stored state and the result of a batch.
pub(super) struct Changes {
    /// Whether there is anything to write.
    pub(super) is_any: bool,
    /// Whether subscribers of the collection see any change.
    pub(super) has_visible_changes: bool,
    id: i64,
    collection: Collection,
    /// The incarnation before the batch, and the number of retired ones.
    before: (By, usize),
    minted: Vec<(By, Moment)>,
    /// The stored rows to remove.
    gone: BTreeMap<ItemId, StoredItem>,
    items: BTreeMap<ItemId, Option<StoredItem>>,
    purged: BTreeMap<ItemId, Vec<Update>>,
    issued: BTreeMap<(ItemId, By), LedgerEntry>,
    discarded: Vec<Discarded>,
    recovered: Vec<DiscardedId>,
    remotes: BTreeMap<RemoteId, RemoteState>,
    acts: Vec<(Moment, AuditAction)>,
    /// Set when the clock was ahead and has been corrected ([`Plan::redated`]).
    redated: Option<Moment>,
}

impl Changes {
    pub(super) fn new(collection_row: &CollectionRow, identity: &Identity) -> Self {
        Self {
            is_any: false,
            has_visible_changes: false,
            id: collection_row.id,
            collection: collection_row.collection.clone(),
            before: (identity.by.clone(), identity.retired.len()),
            minted: Vec::new(),
            gone: BTreeMap::new(),
            items: BTreeMap::new(),
            purged: BTreeMap::new(),
            issued: BTreeMap::new(),
            discarded: Vec::new(),
            recovered: Vec::new(),
            remotes: BTreeMap::new(),
            acts: Vec::new(),
            redated: None,
        }
    }

    /// Replaces the collection by its new state.
    pub(super) fn advance(&mut self, collection: &Collection) {
        self.is_any |= self.collection != *collection;
        self.has_visible_changes |= collection.has_changes_since(&self.collection);
        self.collection = collection.clone();
    }

    /// Records an item before and after an update. The state before the first update is the stored one.
    pub(super) fn item(
        &mut self,
        id: &ItemId,
        before: Option<StoredItem>,
        after: Option<StoredItem>,
    ) {
        if let Some(before) = before.filter(|_| !self.items.contains_key(id)) {
            self.gone.insert(id.clone(), before);
        }
        self.items.insert(id.clone(), after);
    }

    /// Records the other results of an update.
    pub(super) fn add(&mut self, plan: Plan) {
        self.advance(&plan.collection);
        self.is_any = true;
        self.redated = self.redated.or(plan.redated);
        let all = plan.identity.retired.into_iter().chain([plan.identity.by]);
        let known = self.before.1 + 1 + self.minted.len();
        self.minted.extend(all.skip(known).map(|by| (by, plan.now)));
        self.purged.extend(plan.purged);
        let key = |(item, issued): (ItemId, LedgerEntry)| ((item, issued.by.clone()), issued);
        self.issued.extend(plan.issued.into_iter().map(key));
        self.discarded.extend(plan.discarded);
        self.recovered.extend(plan.recovered);
        self.remotes.extend(plan.remotes);
        self.acts.extend(plan.acts.into_iter().map(|act| (plan.now, act)));
    }
}

/// Writes in one round trip, except for rare changes. Rows are removed before new ones are inserted.
pub(super) async fn write(
    transaction: &Transaction<'_>,
    changes: &Changes,
) -> Result<(), AbortReason> {
    let id = &changes.id;
    let numbers = |which: fn(&StoredItem) -> bool| -> Vec<i64> {
        let gone = changes.gone.values().filter(|stored| which(stored));
        gone.map(|stored| stored.number.get() as i64).collect()
    };
    let gone = numbers(|_| true);
    let gone_conflicts = numbers(|stored| !stored.item.conflicts.is_empty());
    let gone_blobs = numbers(|stored| !stored.blobs.is_empty());
    let items = Items::of(changes.items.values().flatten());
    let purged: Vec<&str> = changes.purged.keys().map(ItemId::as_str).collect();
    let vectors: Vec<String> = changes.purged.values().map(|vector| history_text(vector)).collect();
    let ledger = Ledger::of(&changes.issued);
    let acts = Acts::of(&changes.acts);
    let counts = counts(&changes.collection);

    let mut pipeline = Pipeline::default();
    pipeline.add_for(gone.len(), DELETE_ITEMS, vec![id, &gone]);
    pipeline.add_for(gone_conflicts.len(), DELETE_CONFLICTS, vec![id, &gone_conflicts]);
    pipeline.add_for(gone_blobs.len(), DELETE_BLOBS, vec![id, &gone_blobs]);
    items.add_to(&mut pipeline, id);
    pipeline.add_for(purged.len(), WRITE_PURGED, vec![id, &purged, &vectors]);
    ledger.add_to(&mut pipeline);
    pipeline.add_for(changes.acts.len(), INSERT_ACTS, acts.parameters());
    let mut advance: Vec<Parameter<'_>> = vec![id];
    advance.extend(counts.iter().map(|count| count as Parameter<'_>));
    pipeline.add(ADVANCE, advance);
    pipeline.run(transaction).await?;

    if let Some(now) = changes.redated {
        let (last, now) = (micros(changes.collection.edited), micros(now));
        transaction.execute(REDATE, &[id, &last, &now]).await?;
    }
    for (remote, state) in &changes.remotes {
        remotes::write_state(transaction, *remote, state).await?;
    }
    if !changes.recovered.is_empty() {
        let places: Vec<i64> = changes.recovered.iter().map(|place| place.0 as i64).collect();
        for sql in RECOVERED {
            transaction.execute(sql, &[id, &places]).await?;
        }
    }
    if !changes.discarded.is_empty() {
        discard(transaction, *id, &changes.discarded).await?;
    }
    if !changes.minted.is_empty() {
        reincarnate(transaction, changes).await?;
    }
    Ok(())
}

/// Inserts items as they are, each with its number.
pub(super) async fn insert_items(
    transaction: &Transaction<'_>,
    collection: i64,
    items: &[StoredItem],
) -> Result<(), StoreError> {
    let items = Items::of(items.iter());
    let mut pipeline = Pipeline::default();
    items.add_to(&mut pipeline, &collection);
    pipeline.run(transaction).await?;
    Ok(())
}

/// Writes rows of the ledger.
pub(super) async fn write_ledger(
    transaction: &Transaction<'_>,
    issued: &BTreeMap<(ItemId, By), LedgerEntry>,
) -> Result<(), StoreError> {
    let ledger = Ledger::of(issued);
    let mut pipeline = Pipeline::default();
    ledger.add_to(&mut pipeline);
    pipeline.run(transaction).await?;
    Ok(())
}

/// Writes the vectors of purged items.
pub(super) async fn write_purged(
    transaction: &Transaction<'_>,
    collection: i64,
    rows: &[(ItemId, Vec<Update>)],
) -> Result<(), StoreError> {
    let ids: Vec<&str> = rows.iter().map(|(id, _)| id.as_str()).collect();
    let vectors: Vec<String> = rows.iter().map(|(_, vector)| history_text(vector)).collect();
    transaction.execute(WRITE_PURGED, &[&collection, &ids, &vectors]).await?;
    Ok(())
}

/// Writes the changes of an update to its collection.
pub(super) async fn advance(
    transaction: &Transaction<'_>,
    id: i64,
    collection: &Collection,
) -> Result<(), StoreError> {
    let counts = counts(collection);
    let mut all: Vec<Parameter<'_>> = vec![&id];
    all.extend(counts.iter().map(|count| count as Parameter<'_>));
    transaction.execute(ADVANCE, &all).await?;
    Ok(())
}

/// The values of the statement [`ADVANCE`].
fn counts(collection: &Collection) -> [i64; 8] {
    [
        collection.last.get(),
        collection.horizon.get(),
        collection.sent.get(),
        collection.live,
        collection.deleted,
        collection.conflicted,
        collection.edited.micros(),
        collection.bytes,
    ]
    .map(|count| count as i64)
}

/// Puts items on the recoverable list. Their ids are assigned here, in the order of commits, since all
/// collections share the sequence of ids.
async fn discard(
    transaction: &Transaction<'_>,
    collection: i64,
    discarded: &[Discarded],
) -> Result<(), StoreError> {
    let count = discarded.len() as i64;
    let row = transaction
        .query_one(
            "UPDATE endpoint SET next_discarded = next_discarded + $1 RETURNING next_discarded",
            &[&count],
        )
        .await?;
    let first = rows::get::<i64>(&row, 0)? - count;
    insert_discarded(transaction, collection, (first..).zip(discarded)).await
}

/// Inserts items into the recoverable list, with their ids.
pub(super) async fn insert_discarded(
    transaction: &Transaction<'_>,
    collection: i64,
    discarded: impl Iterator<Item = (i64, &Discarded)>,
) -> Result<(), StoreError> {
    let (mut places, mut ids, mut moments) = (Vec::new(), Vec::new(), Vec::new());
    let mut reasons = Vec::new();
    let (mut versions, mut blobs) = (ItemVersions::default(), ItemBlobs::default());
    for (place, discarded) in discarded {
        places.push(place);
        ids.push(discarded.item.id.as_str());
        moments.push(micros(discarded.at));
        reasons.push(text(&discarded.reason));
        versions.push(place, discarded.item.versions());
        blobs.push(place, &discarded.blobs);
    }
    let all: Vec<Parameter<'_>> = vec![&collection, &places, &ids, &moments, &reasons];
    let mut pipeline = Pipeline::default();
    pipeline.add_for(places.len(), INSERT_DISCARDED, all);
    versions.add_to(&mut pipeline, INSERT_DISCARDED_VERSIONS, &collection);
    blobs.add_to(&mut pipeline, INSERT_DISCARDED_BLOBS, &collection);
    pipeline.run(transaction).await?;
    Ok(())
}

/// Begins incarnations, unless another node did so since ours was read. In that case the decisions were based
/// on a retired incarnation, and must run again.
async fn reincarnate(transaction: &Transaction<'_>, changes: &Changes) -> Result<(), AbortReason> {
    transaction.query("SELECT 1 FROM endpoint FOR UPDATE", &[]).await?;
    if collections::identity(transaction).await?.by != changes.before.0 {
        return Err(AbortReason::Moved);
    }
    for (by, began) in &changes.minted {
        collections::reincarnate(transaction, by, *began).await?;
    }
    Ok(())
}
