//! One transaction for many updates of one collection.
//!
//! Under the lock of the collection's row, everything that the updates name is read at once. Their decisions
//! run one after the other, in memory, each on the result of those before it. The result of all of them is
//! written at once. A decision that fails or panics leaves the state before it unchanged, like a rollback to
//! a savepoint. A batch therefore takes the same few round trips whatever its size.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Client, Transaction};
use feedsync_core::ItemId;
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;
use tokio_postgres::error::SqlState;

use super::collections::{self, CollectionRow};
use super::node::Node;
use super::pipeline::Pipeline;
use super::queue::{Task, Work};
use super::rows::{self, get, parsed};
use super::write::{self, Changes};
use super::{pool, read, schema};
use crate::collection::Collection;
use crate::columns;
use crate::decision::{Decide, Entry, Snapshot};
use crate::environment::Environment;
use crate::error::StoreError;
use crate::identity::Identity;
use crate::name::CollectionName;
use crate::plan::plan;
use crate::stored::DiscardedId;

/// Maximum number of attempts at a transaction that concurrent transactions made fail.
pub(super) const ATTEMPTS: u32 = 8;

/// Number of keys above which one lock over all items replaces one lock for each: the server's lock table is
/// limited.
const MAX_ITEM_LOCKS: usize = 512;

/// Key of the lock over all items.
const ALL_ITEMS: i64 = 0x6665_6564_7379_6e64;

const LOCK_ALL_ITEMS: &str = "SELECT pg_advisory_xact_lock($1)";
const SHARE_ALL_ITEMS: &str = "SELECT pg_advisory_xact_lock_shared($1)";
const LOCK_ITEMS: &str = "SELECT pg_advisory_xact_lock(item) FROM unnest($1::bigint[]) item";

const ENDPOINT: &str = "SELECT name, ARRAY(SELECT by FROM incarnations ORDER BY ordinal),
                               next_discarded, place,
                               left(pg_walfile_name(pg_current_wal_lsn()), 8),
                               (SELECT oldest_compatible FROM schema)
                          FROM endpoint";

const PURGED: &str = "SELECT id, vector FROM purged
                       WHERE collection = (SELECT id FROM collections WHERE name = $1)
                         AND id = ANY($2)";

/// Queues a write; the future is ready when the write is durable.
pub(super) async fn submit(
    node: Arc<Node>,
    name: CollectionName,
    work: Work,
) -> Result<Collection, StoreError> {
    let (answer, outcome) = oneshot::channel();
    if node.queues.push(&name, Task { work, answer }) {
        tokio::spawn(commit_all(node, name));
    }
    let ended = |_| StoreError::Unknown("a store task ended without a result".to_owned());
    outcome.await.map_err(ended)?
}

async fn commit_all(node: Arc<Node>, name: CollectionName) {
    loop {
        let tasks = node.queues.next(&name);
        if tasks.is_empty() {
            return;
        }
        // In its own task: if it panics, the waiting callers get an error, and the following tasks are still
        // run.
        let _ = tokio::spawn(run_batch(node.clone(), name.clone(), tasks)).await;
    }
}

/// Runs tasks, commits, and sends their results.
async fn run_batch(node: Arc<Node>, name: CollectionName, mut tasks: Vec<Task>) {
    match commit(&node, &name, &mut tasks).await {
        Ok((outcomes, has_visible_changes)) => {
            if has_visible_changes {
                node.changed(&name);
            }
            for (task, outcome) in tasks.into_iter().zip(outcomes) {
                // The caller may have dropped its future.
                let _ = task.answer.send(outcome);
            }
        }
        // The database rejects a value that one of the tasks wrote. Each task is retried alone, so that only
        // that one fails.
        Err(error) if tasks.len() > 1 && is_data_error(&error) => {
            for task in tasks {
                Box::pin(run_batch(node.clone(), name.clone(), vec![task])).await;
            }
        }
        Err(error) => {
            for task in tasks {
                let _ = task.answer.send(Err(copy(&error)));
            }
        }
    }
}

/// Result of each task, and whether subscribers of the collection see any change.
type Outcomes = (Vec<Result<Collection, StoreError>>, bool);

async fn commit(
    node: &Node,
    name: &CollectionName,
    tasks: &mut [Task],
) -> Result<Outcomes, StoreError> {
    let mut locks_all = false;
    for attempt in 1.. {
        let mut client = pool::connection(&node.pool).await?;
        let stopped = match attempt_once(&mut client, node, name, tasks, locks_all).await {
            Ok(outcomes) => return Ok(outcomes),
            Err(stopped) => stopped,
        };
        let error = match stopped {
            AbortReason::Moved => match node.settle(&mut client).await {
                Ok(()) => continue,
                Err(error) => error,
            },
            AbortReason::Renamed => continue,
            AbortReason::Failed(error) => error,
        };
        if attempt == ATTEMPTS || !is_transient(&error) {
            return Err(error);
        }
        locks_all |= code(&error) == Some(&SqlState::OUT_OF_MEMORY);
        let pause = node.environment.random() % 10 + u64::from(attempt);
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
    Err(StoreError::Database("no attempt was made".into()))
}

/// Reason why nothing was committed.
pub(super) enum AbortReason {
    /// The database was moved: a server took over from another, or was restored.
    Moved,
    /// Another collection or database took the name while the lock was awaited.
    Renamed,
    Failed(StoreError),
}

impl<E: Into<StoreError>> From<E> for AbortReason {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

async fn attempt_once(
    client: &mut Client,
    node: &Node,
    name: &CollectionName,
    tasks: &mut [Task],
    locks_all: bool,
) -> Result<Outcomes, AbortReason> {
    let transaction = pool::transaction(client).await?;
    let keys: BTreeSet<&ItemId> = tasks.iter().flat_map(|task| keys_of(&task.work)).collect();
    let held = load(&transaction, node, name, &keys, locks_all).await?;
    drop(keys);
    let Some(mut held) = held else {
        let nowhere = |_: &Task| Err(StoreError::NoCollection(name.clone()));
        return Ok((tasks.iter().map(nowhere).collect(), false));
    };
    let mut changes = Changes::new(&held.collection_row, &held.identity);
    let outcomes = tasks
        .iter_mut()
        .map(|task| held.run_task(&mut task.work, &node.environment, &mut changes))
        .collect();
    if !changes.is_any {
        return Ok((outcomes, false));
    }
    write::write(&transaction, &changes).await?;
    pool::commit(transaction).await?;
    Ok((outcomes, changes.has_visible_changes))
}

fn keys_of(work: &Work) -> &[ItemId] {
    match work {
        Work::Update { keys, .. } => keys,
        Work::Sent(_) => &[],
    }
}

/// The stored values of a collection and of the keys of some updates; first as stored, then as the updates
/// leave them.
struct BatchState {
    collection_row: CollectionRow,
    identity: Identity,
    next_discarded: DiscardedId,
    entries: BTreeMap<ItemId, Entry>,
}

/// Locks and reads in one round trip: the statements are pipelined, and each reads what was committed when
/// the preceding locks were acquired.
async fn load(
    transaction: &Transaction<'_>,
    node: &Node,
    name: &CollectionName,
    keys: &BTreeSet<&ItemId>,
    locks_all: bool,
) -> Result<Option<BatchState>, AbortReason> {
    let name = name.as_str();
    let ids: Vec<&str> = keys.iter().map(|key| key.as_str()).collect();
    let mut item_locks: Vec<i64> = ids.iter().map(|id| lock_of(id)).collect();
    item_locks.sort_unstable();
    item_locks.dedup();
    let locks_all = locks_all || item_locks.len() > MAX_ITEM_LOCKS;
    let lock_all = if locks_all { LOCK_ALL_ITEMS } else { SHARE_ALL_ITEMS };
    if locks_all {
        item_locks.clear();
    }
    let mut pipeline = Pipeline::default();
    pipeline.add(schema::SHARE_SETUP_LOCK, vec![&schema::SETUP_LOCK]);
    pipeline.add(collections::LOCK, vec![&name]);
    pipeline.add(lock_all, vec![&ALL_ITEMS]);
    pipeline.add(LOCK_ITEMS, vec![&item_locks]);
    pipeline.add(collections::BY_NAME, vec![&name]);
    pipeline.add(ENDPOINT, vec![]);
    pipeline.add(read::BY_IDS, vec![&name, &ids]);
    pipeline.add(PURGED, vec![&name, &ids]);
    pipeline.add(read::ISSUED, vec![&ids]);
    let [_, locked, _, _, collection, endpoint, items, purged, issued] =
        pipeline.run_all(transaction).await?;

    let endpoint = endpoint
        .first()
        .ok_or_else(|| StoreError::Damaged("a store without endpoint".to_owned()))?;
    let (place, timeline): (&str, &str) = (get(endpoint, 3)?, get(endpoint, 4)?);
    if !place.ends_with(timeline) {
        return Err(AbortReason::Moved);
    }
    schema::STORE.check(&node.address, get(endpoint, 5)?)?;
    let Some(row) = collection.first() else { return Ok(None) };
    let collection_row = collections::collection_row(row)?;
    if !collections::is_row_of(locked.first(), &collection_row)? {
        return Err(AbortReason::Renamed);
    }
    let mut entries: BTreeMap<ItemId, Entry> =
        keys.iter().map(|key| ((*key).clone(), Entry::default())).collect();
    for stored in rows::stored(transaction, collection_row.id, &items).await? {
        if let Some(entry) = entries.get_mut(&stored.item.id) {
            entry.item = Some(stored);
        }
    }
    for row in &purged {
        if let Some(entry) = entries.get_mut(&parsed::<ItemId>(row, 0)?) {
            entry.purged = columns::updates(get(row, 1)?)?;
        }
    }
    for row in &issued {
        if let Some(entry) = entries.get_mut(&parsed::<ItemId>(row, 0)?) {
            entry.issued.push(read::issued(row)?);
        }
    }
    Ok(Some(BatchState {
        collection_row,
        identity: collections::read_identity(endpoint, 0)?,
        next_discarded: DiscardedId(get::<i64>(endpoint, 2)? as u64),
        entries,
    }))
}

/// Key of an item's lock; two items may share one.
fn lock_of(id: &str) -> i64 {
    let digest = Sha256::digest(id.as_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&digest[..8]);
    i64::from_be_bytes(bytes)
}

impl BatchState {
    /// Runs one task and applies its result to this state.
    fn run_task(
        &mut self,
        work: &mut Work,
        environment: &Arc<dyn Environment>,
        changes: &mut Changes,
    ) -> Result<Collection, StoreError> {
        match work {
            Work::Sent(up_to) => {
                let collection = &mut self.collection_row.collection;
                collection.sent = collection.sent.max((*up_to).min(collection.last));
                changes.advance(collection);
                Ok(collection.clone())
            }
            Work::Update { keys, decide } => self.decide(keys, decide, environment, changes),
        }
    }

    fn decide(
        &mut self,
        keys: &[ItemId],
        decide: &mut Decide,
        environment: &Arc<dyn Environment>,
        changes: &mut Changes,
    ) -> Result<Collection, StoreError> {
        let entry =
            |key: &ItemId| (key.clone(), self.entries.get(key).cloned().unwrap_or_default());
        let snapshot = Snapshot {
            identity: self.identity.clone(),
            collection: self.collection_row.collection.clone(),
            now: environment.now(),
            entries: keys.iter().map(entry).collect(),
            environment: Arc::clone(environment),
        };
        // This state is still unchanged, so a panic leaves nothing half-done.
        let writes = catch_unwind(AssertUnwindSafe(|| decide(&snapshot)))
            .map_err(|_| StoreError::Decision("the decision panicked".to_owned()))?;
        if writes.is_empty() {
            return Ok(snapshot.collection);
        }
        let plan = plan(snapshot, self.next_discarded, writes)?;
        self.collection_row.collection = plan.collection.clone();
        self.identity = plan.identity.clone();
        self.next_discarded.0 += plan.discarded.len() as u64;
        for (id, item) in &plan.items {
            let entry = self.entries.entry(id.clone()).or_default();
            let before = std::mem::replace(&mut entry.item, item.clone());
            changes.item(id, before, item.clone());
        }
        for (id, vector) in &plan.purged {
            self.entries.entry(id.clone()).or_default().purged = vector.clone();
        }
        for (id, issued) in &plan.issued {
            let rows = &mut self.entries.entry(id.clone()).or_default().issued;
            match rows.binary_search_by(|row| row.by.cmp(&issued.by)) {
                Ok(place) => rows[place] = issued.clone(),
                Err(place) => rows.insert(place, issued.clone()),
            }
        }
        changes.add(plan);
        Ok(self.collection_row.collection.clone())
    }
}

fn code(error: &StoreError) -> Option<&SqlState> {
    pool::failure(error)?.0.code()
}

/// Whether another attempt may succeed: a concurrent transaction conflicted, or the connection is older than
/// a restart of the server.
pub(super) fn is_transient(error: &StoreError) -> bool {
    let was_cut = pool::failure(error).is_some_and(|failure| failure.0.is_closed());
    was_cut
        || code(error).is_some_and(|code| {
            [
                &SqlState::T_R_SERIALIZATION_FAILURE,
                &SqlState::T_R_DEADLOCK_DETECTED,
                &SqlState::OUT_OF_MEMORY,
            ]
            .contains(&code)
        })
}

/// Whether the written value is at fault (a data exception), not the server.
pub(super) fn is_data_error(error: &StoreError) -> bool {
    code(error).is_some_and(|code| code.code().starts_with("22") || code.code().starts_with("54"))
}

/// A copy of an error, for each waiting caller.
pub(super) fn copy(error: &StoreError) -> StoreError {
    match (error, pool::failure(error)) {
        (StoreError::Unknown(why), _) => StoreError::Unknown(why.clone()),
        (StoreError::Full, _) => StoreError::Full,
        (StoreError::Damaged(what), _) => StoreError::Damaged(what.clone()),
        (StoreError::Newer { path, found, known }, _) => {
            StoreError::Newer { path: path.clone(), found: *found, known: *known }
        }
        (_, Some(failure)) => StoreError::Database(Box::new(failure.clone())),
        (other, None) => StoreError::Database(other.to_string().into()),
    }
}
