//! One transaction for many updates of one database's documents.
//!
//! Under the lock of the database's row, all documents that the updates require are read at once. Their
//! decisions run one after the other, in memory, each on the result of those before it. The result of all of
//! them is written at once. A decision that fails or panics leaves the state before it unchanged. When the
//! results are large, the remaining decisions run in the next transaction.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Client, Transaction};
use feedsync_couch::{DatabaseName, DocumentId};
use tokio::sync::oneshot;

use super::batch_state::{DocumentBatchState, MAX_BATCH_BYTES};
use super::documents::{self, BY_KEYS, Document, Keys};
use super::indexes::Upkeep;
use super::past_batch::PastBatch;
use super::rows::{self, BY_NAME, LOCK};
use super::task::DocumentTask;
use super::{past_rows, write};
use crate::database::{Database, DecideDocuments, DocumentRequest};
use crate::error::StoreError;
use crate::postgres::batch::{ATTEMPTS, AbortReason, copy, is_data_error, is_transient};
use crate::postgres::node::Node;
use crate::postgres::pipeline::Pipeline;
use crate::postgres::rows::get;
use crate::postgres::{pool, schema};

const ENDPOINT: &str = "SELECT place, left(pg_walfile_name(pg_current_wal_lsn()), 8),
                               (SELECT oldest_compatible FROM schema)
                          FROM endpoint";

/// Queues an update; the future is ready when the update is durable.
pub(super) async fn submit(
    node: Arc<Node>,
    name: DatabaseName,
    wanted: Vec<DocumentRequest>,
    decide: DecideDocuments,
) -> Result<Database, StoreError> {
    let (answer, outcome) = oneshot::channel();
    if node.document_queues.push(&name, DocumentTask { wanted, decide, answer }) {
        tokio::spawn(commit_all(node, name));
    }
    let ended = |_| StoreError::Unknown("a store task ended without a result".to_owned());
    outcome.await.map_err(ended)?
}

async fn commit_all(node: Arc<Node>, name: DatabaseName) {
    loop {
        let tasks = node.document_queues.next(&name);
        if tasks.is_empty() {
            return;
        }
        // In its own task: if it panics, the waiting callers get an error, and the following tasks are still
        // run.
        let _ = tokio::spawn(run_batch(node.clone(), name.clone(), tasks)).await;
    }
}

/// Runs tasks, commits, and sends their results.
async fn run_batch(node: Arc<Node>, name: DatabaseName, mut tasks: Vec<DocumentTask>) {
    while !tasks.is_empty() {
        match commit(&node, &name, &mut tasks).await {
            Ok(Committed { outcomes, has_visible_changes }) => {
                if has_visible_changes {
                    node.database_changed(&name);
                }
                for (task, outcome) in tasks.drain(..outcomes.len()).zip(outcomes) {
                    // The caller may have dropped its future.
                    let _ = task.answer.send(outcome);
                }
            }
            // The server rejects a value that one of the tasks wrote. Each task is retried alone, so that
            // only that one fails.
            Err(error) if tasks.len() > 1 && is_data_error(&error) => {
                for task in tasks.drain(..) {
                    Box::pin(run_batch(node.clone(), name.clone(), vec![task])).await;
                }
            }
            Err(error) => {
                for task in tasks.drain(..) {
                    let _ = task.answer.send(Err(copy(&error)));
                }
            }
        }
    }
}

/// Results of the first tasks.
struct Committed {
    outcomes: Vec<Result<Database, StoreError>>,
    /// Whether subscribers of the database see any change.
    has_visible_changes: bool,
}

async fn commit(
    node: &Node,
    name: &DatabaseName,
    tasks: &mut [DocumentTask],
) -> Result<Committed, StoreError> {
    for attempt in 1.. {
        let mut client = pool::connection(&node.pool).await?;
        let stopped = match attempt_once(&mut client, node, name, tasks).await {
            Ok(committed) => return Ok(committed),
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
        let pause = node.environment.random() % 10 + u64::from(attempt);
        tokio::time::sleep(Duration::from_millis(pause)).await;
    }
    Err(StoreError::Database("no attempt was made".into()))
}

async fn attempt_once(
    client: &mut Client,
    node: &Node,
    name: &DatabaseName,
    tasks: &mut [DocumentTask],
) -> Result<Committed, AbortReason> {
    let transaction = pool::transaction(client).await?;
    let mut wanted: BTreeMap<&DocumentId, bool> = BTreeMap::new();
    for DocumentRequest { id, with_attachments } in tasks.iter().flat_map(|task| &task.wanted) {
        *wanted.entry(id).or_default() |= with_attachments;
    }
    let held = load(&transaction, node, name, &wanted).await?;
    drop(wanted);
    let Some(mut held) = held else {
        let nowhere = |_: &DocumentTask| Err(StoreError::NoDatabase(name.clone()));
        return Ok(Committed {
            outcomes: tasks.iter().map(nowhere).collect(),
            has_visible_changes: false,
        });
    };
    let mut outcomes = Vec::with_capacity(tasks.len());
    for (number, task) in tasks.iter_mut().enumerate() {
        outcomes.push(held.run_task(task, (number, node.environment.now())));
        if held.new_bytes >= MAX_BATCH_BYTES {
            break;
        }
    }
    if held.is_changed {
        for correction in held.settle_history(&transaction).await? {
            let later = outcomes.iter_mut().skip(correction.update);
            later.flatten().for_each(|database| correction.apply(database));
        }
        write::write(&transaction, &held).await?;
        pool::commit(transaction).await?;
    }
    Ok(Committed { outcomes, has_visible_changes: held.has_visible_changes })
}

/// Locks and reads in one round trip: the statements are pipelined, and each reads what was committed when
/// the lock was acquired. Further round trips read attachments, if they are requested, indexes, if there are any, and the
/// writes that made the leaves, if a history is kept.
async fn load(
    transaction: &Transaction<'_>,
    node: &Node,
    name: &DatabaseName,
    wanted: &BTreeMap<&DocumentId, bool>,
) -> Result<Option<DocumentBatchState>, AbortReason> {
    let keys = Keys::of(wanted.keys().copied());
    let name_text = name.as_str();
    let mut pipeline = Pipeline::default();
    pipeline.add(schema::SHARE_SETUP_LOCK, vec![&schema::SETUP_LOCK]);
    pipeline.add(LOCK, vec![&name_text]);
    pipeline.add(BY_NAME, vec![&name_text]);
    pipeline.add(ENDPOINT, vec![]);
    pipeline.add(BY_KEYS, vec![&name_text, &keys.heads, &keys.digests]);
    let [_, locked, found, endpoint, documents] = pipeline.run_all(transaction).await?;

    let endpoint = endpoint
        .first()
        .ok_or_else(|| StoreError::Damaged("a store without endpoint".to_owned()))?;
    let (place, timeline): (&str, &str) = (get(endpoint, 0)?, get(endpoint, 1)?);
    if !place.ends_with(timeline) {
        return Err(AbortReason::Moved);
    }
    schema::STORE.check(&node.address, get(endpoint, 2)?)?;
    if found.is_empty() {
        return Ok(None);
    }
    let database_row = rows::found(&found, name)?;
    if !rows::is_row_of(&locked, &database_row)? {
        return Err(AbortReason::Renamed);
    }
    let mut stored: BTreeMap<DocumentId, Document> = BTreeMap::new();
    for row in &documents {
        let document = documents::document(row)?;
        stored.insert(document.stored.id.clone(), document);
    }
    let with_attachments =
        stored.values().filter(|document| wanted.get(&document.stored.id) == Some(&true));
    let bodies: Vec<i64> = with_attachments
        .flat_map(|document| document.stored.tree.bodies())
        .map(|(_, content)| content.body.number as i64)
        .collect();
    let attachments = documents::all_attachments(transaction, database_row.id, &bodies).await?;
    let upkeep = Upkeep::load(transaction, &database_row, &stored).await?;
    let mut leaves: Vec<i64> = Vec::new();
    if database_row.database.keeps_history() {
        let all = stored.values().flat_map(|document| document.stored.tree.leaves());
        leaves.extend(all.map(|leaf| leaf.content.body.number as i64));
    }
    let origins = past_rows::origins(transaction, database_row.id, &leaves).await?;
    let past = PastBatch::new(origins);
    Ok(Some(DocumentBatchState::new(database_row, stored, attachments, (upkeep, past))))
}
