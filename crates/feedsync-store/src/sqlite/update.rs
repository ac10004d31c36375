//! Updates of items: reading the keys, and storing the plan.

use std::collections::BTreeSet;
use std::sync::Arc;

use feedsync_core::{ItemId, Sequence, Update};
use rusqlite::{Connection, params};

use super::collections::{self, CollectionRow};
use super::rows::{self, item_columns, parsed};
use super::{acts, remotes};
use crate::collection::Collection;
use crate::columns;
use crate::decision::{Decide, Entry, Snapshot};
use crate::environment::Environment;
use crate::error::StoreError;
use crate::identity::LedgerEntry;
use crate::name::CollectionName;
use crate::order::Moment;
use crate::plan::{Plan, plan};
use crate::stored::{Discarded, DiscardedId, StoredItem};

/// The collection and the item ids of an update.
pub(super) struct UpdateRequest<'a> {
    pub(super) name: &'a CollectionName,
    pub(super) keys: &'a [ItemId],
    /// Whether the disk is full; then an update that adds something is rejected.
    pub(super) is_full: bool,
}

/// Reads, decides and writes in the caller's savepoint. Returns the resulting collection, and whether its
/// subscribers see a change.
pub(super) fn update(
    connection: &Connection,
    environment: &Arc<dyn Environment>,
    asked: &UpdateRequest<'_>,
    decide: &mut Decide,
) -> Result<(Collection, bool), StoreError> {
    let UpdateRequest { name, keys, is_full } = *asked;
    let CollectionRow { id, collection } = collections::require(connection, name)?;
    let mut snapshot = Snapshot {
        identity: collections::identity(connection)?,
        collection,
        now: environment.now(),
        entries: Default::default(),
        environment: Arc::clone(environment),
    };
    let memory = NonEmptyTables::of(connection, id)?;
    for key in keys {
        let entry = entry(connection, id, key, memory)?;
        snapshot.entries.insert(key.clone(), entry);
    }
    let writes = decide(&snapshot);
    if writes.is_empty() {
        return Ok((snapshot.collection, false));
    }
    let former = snapshot.collection.clone();
    let before = snapshot.identity.by.clone();
    let stored = |(id, entry): (&ItemId, &Entry)| entry.item.as_ref().map(|_| id.clone());
    let stored: BTreeSet<ItemId> = snapshot.entries.iter().filter_map(stored).collect();
    let now = snapshot.now;
    let plan = plan(snapshot, next_discarded(connection)?, writes)?;
    if is_full && !plan.is_without_growth() {
        return Err(StoreError::Full);
    }
    if plan.identity.by != before {
        let known = plan.identity.retired.iter().position(|by| *by == before);
        let minted = &plan.identity.retired[known.map_or(0, |known| known + 1)..];
        for by in minted.iter().chain([&plan.identity.by]) {
            collections::reincarnate(connection, by, now)?;
        }
    }
    for key in plan.items.keys().filter(|key| stored.contains(*key)) {
        // Also removes the conflicts and the blob references of the item.
        connection
            .prepare_cached("DELETE FROM items WHERE collection = ?1 AND id = ?2")?
            .execute(params![id, key.as_str()])?;
    }
    let after = apply(connection, id, plan)?;
    let has_visible_changes = after.has_changes_since(&former);
    Ok((after, has_visible_changes))
}

/// Whether the tables of purged vectors and of the ledger have rows. A subscriber that neither purges nor
/// edits has none, and need not query them for each item of a first pull.
#[derive(Clone, Copy)]
struct NonEmptyTables {
    has_purged: bool,
    has_issued: bool,
}

impl NonEmptyTables {
    fn of(connection: &Connection, collection: i64) -> Result<Self, StoreError> {
        Ok(Self {
            has_purged: connection
                .prepare_cached("SELECT 1 FROM purged WHERE collection = ?1 LIMIT 1")?
                .exists([collection])?,
            has_issued: connection.prepare_cached("SELECT 1 FROM ledger LIMIT 1")?.exists([])?,
        })
    }
}

fn entry(
    connection: &Connection,
    collection: i64,
    key: &ItemId,
    memory: NonEmptyTables,
) -> Result<Entry, StoreError> {
    let purged = if memory.has_purged { purged(connection, collection, key)? } else { Vec::new() };
    let issued = if memory.has_issued { issued(connection, key)? } else { Vec::new() };
    Ok(Entry { item: item(connection, collection, key)?, purged, issued })
}

fn purged(
    connection: &Connection,
    collection: i64,
    key: &ItemId,
) -> Result<Vec<Update>, StoreError> {
    let mut statement =
        connection.prepare_cached("SELECT vector FROM purged WHERE collection = ?1 AND id = ?2")?;
    let mut found = statement.query(params![collection, key.as_str()])?;
    match found.next()? {
        Some(row) => columns::updates(&row.get::<_, String>(0)?),
        None => Ok(Vec::new()),
    }
}

pub(super) fn item(
    connection: &Connection,
    collection: i64,
    id: &ItemId,
) -> Result<Option<StoredItem>, StoreError> {
    let mut statement = connection.prepare_cached(concat!(
        "SELECT ",
        item_columns!(),
        " FROM items WHERE collection = ?1 AND id = ?2"
    ))?;
    let mut found = statement.query(params![collection, id.as_str()])?;
    found.next()?.map(|row| rows::stored(connection, row)).transpose()
}

/// The rows of the ledger for an item, by authoring line.
pub(super) fn issued(
    connection: &Connection,
    item: &ItemId,
) -> Result<Vec<LedgerEntry>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT \"by\", sequence, shown, incarnation FROM ledger WHERE item = ?1 ORDER BY \"by\"",
    )?;
    let mut found = statement.query([item.as_str()])?;
    let mut issued = Vec::new();
    while let Some(row) = found.next()? {
        let sequence = |number| {
            Sequence::new(number)
                .map_err(|error| StoreError::Damaged(format!("ledger of {item}: {error}")))
        };
        issued.push(LedgerEntry {
            by: parsed(row, 0)?,
            sequence: sequence(row.get(1)?)?,
            shown: row.get::<_, Option<u32>>(2)?.map(sequence).transpose()?,
            incarnation: parsed(row, 3)?,
        });
    }
    Ok(issued)
}

fn next_discarded(connection: &Connection) -> Result<DiscardedId, StoreError> {
    let next: i64 = connection
        .prepare_cached("SELECT next_discarded FROM endpoint")?
        .query_row([], |row| row.get(0))?;
    Ok(DiscardedId(next as u64))
}

/// Stores the result of an update; the former rows of its items must already be removed.
fn apply(connection: &Connection, id: i64, plan: Plan) -> Result<Collection, StoreError> {
    // The items are inserted in the order of their numbers, so that rows are appended to the table.
    let mut stored: Vec<&StoredItem> = plan.items.values().flatten().collect();
    stored.sort_unstable_by_key(|stored| stored.number);
    for stored in stored {
        rows::insert(connection, id, stored)?;
    }
    if let Some(now) = plan.redated {
        redate(connection, id, plan.collection.edited, now)?;
    }
    for (item, vector) in &plan.purged {
        purge(connection, id, item, vector)?;
    }
    for (item, issued) in &plan.issued {
        issue(connection, item, issued)?;
    }
    for DiscardedId(place) in &plan.recovered {
        connection
            .prepare_cached("DELETE FROM discarded WHERE collection = ?1 AND place = ?2")?
            .execute(params![id, *place as i64])?;
    }
    for discarded in &plan.discarded {
        discard(connection, id, discarded)?;
    }
    for act in &plan.acts {
        acts::insert_act(connection, plan.now, act)?;
    }
    for (remote, state) in &plan.remotes {
        remotes::write_state(connection, *remote, state)?;
    }
    collections::advance(connection, id, &plan.collection)?;
    Ok(plan.collection)
}

/// Corrects moments of change later than `last`, which were written while the clock was ahead: their items get moments
/// before `now`, in their order.
fn redate(connection: &Connection, id: i64, last: Moment, now: Moment) -> Result<(), StoreError> {
    connection.execute(
        "UPDATE items SET edited = ?3 - ahead.place
           FROM (SELECT change_key, row_number() OVER (ORDER BY change_key DESC) AS place
                   FROM items
                  WHERE change_key >= ?1 << 40 AND change_key < (?1 + 1) << 40 AND edited > ?2) ahead
          WHERE items.change_key = ahead.change_key",
        params![id, last, now],
    )?;
    Ok(())
}

/// Records the vector of a purged item.
pub(super) fn purge(
    connection: &Connection,
    id: i64,
    item: &ItemId,
    vector: &[Update],
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO purged (collection, id, vector) VALUES (?1, ?2, ?3)",
        )?
        .execute(params![id, item.as_str(), columns::history_text(vector)])?;
    Ok(())
}

/// Writes a row of the ledger.
pub(super) fn issue(
    connection: &Connection,
    item: &ItemId,
    issued: &LedgerEntry,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO ledger (item, \"by\", sequence, shown, incarnation)
             VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (item, \"by\")
             DO UPDATE SET sequence = excluded.sequence, shown = excluded.shown",
        )?
        .execute(params![
            item.as_str(),
            issued.by.as_str(),
            issued.sequence.get(),
            issued.shown.map(Sequence::get),
            issued.incarnation.as_str(),
        ])?;
    Ok(())
}

pub(super) fn discard(
    connection: &Connection,
    id: i64,
    discarded: &Discarded,
) -> Result<(), StoreError> {
    let place = discarded.id.0 as i64;
    let at: Moment = discarded.at;
    connection
        .prepare_cached(
            "INSERT INTO discarded (collection, place, id, at, reason) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![id, place, discarded.item.id.as_str(), at, discarded.reason])?;
    for (ordinal, version) in discarded.item.versions().enumerate() {
        connection
            .prepare_cached(
                "INSERT INTO discarded_versions (collection, place, ordinal, updates, deleted,
                                                 noconflicts, history, format, payload,
                                                 sync_foreign)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            )?
            .execute(params![
                id,
                place,
                ordinal as i64,
                version.updates.get(),
                version.deleted,
                version.noconflicts,
                columns::history_text(version.history.updates()),
                version.payload.format().name(),
                version.payload.text(),
                version.payload.sync_foreign(),
            ])?;
    }
    for digest in &discarded.blobs {
        connection
            .prepare_cached(
                "INSERT INTO discarded_blobs (collection, place, digest) VALUES (?1, ?2, ?3)",
            )?
            .execute(params![id, place, digest.to_string()])?;
    }
    connection
        .prepare_cached("UPDATE endpoint SET next_discarded = max(next_discarded, ?1)")?
        .execute([place + 1])?;
    Ok(())
}
