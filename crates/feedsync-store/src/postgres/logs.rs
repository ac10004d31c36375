//! Implementation of [`Logs`]. A change of a log locks the row of its collection, like any change of the
//! collection.

use async_trait::async_trait;
use deadpool_postgres::{Client, Transaction};
use futures_util::FutureExt as _;

use super::log_rows::{self, BYTES, LENGTH};
use super::node::Node;
use super::pipeline::Pipeline;
use super::rows::{get, micros, parsed};
use super::{PostgresStore, acts, collections, pool, schema};
use crate::blob::Digest;
use crate::digests;
use crate::environment::Environment;
use crate::error::StoreError;
use crate::log::{
    Append, Change, Expected, Generation, Log, LogOutcome, LogPosition, LogRequest, LogSnapshot,
    Logs, NewGeneration, NewSnapshot, StoredLogState,
};
use crate::name::CollectionName;
use crate::order::Moment;
use crate::people::AuditAction;
use crate::transfer::TransferredLog;

impl PostgresStore {
    async fn change_log(
        &self,
        collection: &CollectionName,
        asked: LogRequest,
    ) -> Result<LogOutcome, StoreError> {
        let name = collection.clone();
        self.run(|node| async move {
            let hash = tokio::task::spawn_blocking(move || (asked.digest(), asked));
            let (digest, asked) =
                hash.await.map_err(|error| StoreError::Database(Box::new(error)))?;
            let mut client = node.connection().await?;
            loop {
                let transaction = schema::STORE.writing(&mut client, &node.address).await?;
                collections::lock(&transaction, &name).await?;
                if collections::has_moved(&transaction).await? {
                    drop(transaction);
                    node.settle(&mut client).await?;
                    continue;
                }
                let mut gone = Vec::new();
                let outcome = change(&transaction, &node, &name, asked, digest, &mut gone).await?;
                pool::commit(transaction).await?;
                drop(client);
                if matches!(outcome, LogOutcome::Done(_)) {
                    node.changed(&name);
                }
                for key in gone {
                    // Bytes that are not removed now are swept later.
                    let _ = node.remove_log_bytes(key).await;
                }
                return Ok(outcome);
            }
        })
        .await
    }
}

impl Node {
    /// Removes the bytes of a generation that is no longer referred to, piece by piece, without locking the
    /// log.
    async fn remove_log_bytes(&self, key: log_rows::Key) -> Result<(), StoreError> {
        let remove = || {
            self.write(move |transaction, _| {
                async move { log_rows::remove_bytes(transaction, key).await }.boxed()
            })
        };
        while remove().await? {}
        Ok(())
    }
}

#[async_trait]
impl Logs for PostgresStore {
    async fn log(&self, collection: &CollectionName) -> Result<Option<Log>, StoreError> {
        let name = collection.clone();
        self.run(|node| async move {
            let (_, log) = log_rows::find(&node.connection().await?, &name).await?;
            Ok(log)
        })
        .await
    }

    async fn append_to_log(
        &self,
        collection: &CollectionName,
        append: Append,
    ) -> Result<LogOutcome, StoreError> {
        self.change_log(collection, LogRequest::Append(append)).await
    }

    async fn begin_log_generation(
        &self,
        collection: &CollectionName,
        new: NewGeneration,
    ) -> Result<LogOutcome, StoreError> {
        self.change_log(collection, LogRequest::Generation(new)).await
    }

    async fn remove_log(
        &self,
        collection: &CollectionName,
        expected: Expected,
        act: Option<AuditAction>,
    ) -> Result<LogOutcome, StoreError> {
        self.change_log(collection, LogRequest::Removal(expected, act)).await
    }

    async fn read_log(
        &self,
        collection: &CollectionName,
        generation: Generation,
        from: u64,
        most: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let name = collection.clone();
        self.run(move |node| async move {
            read(&mut node.connection().await?, &name, generation, from, most).await
        })
        .await
    }

    async fn put_log_snapshot(
        &self,
        collection: &CollectionName,
        new: NewSnapshot,
    ) -> Result<LogOutcome, StoreError> {
        self.change_log(collection, LogRequest::Snapshot(new)).await
    }

    async fn log_snapshot(
        &self,
        collection: &CollectionName,
    ) -> Result<Option<(LogSnapshot, Vec<u8>)>, StoreError> {
        let name = collection.clone();
        self.run(|node| async move {
            let mut client = node.connection().await?;
            let transaction = pool::snapshot(&mut client).await?;
            let (collection, log) = log_rows::find(&transaction, &name).await?;
            let Some(snapshot) = log.and_then(|log| log.snapshot) else { return Ok(None) };
            let sql = "SELECT content FROM log_snapshots WHERE collection = $1";
            let row = transaction.query_one(sql, &[&collection]).await?;
            let content = digests::snapshot(&snapshot, get(&row, 0)?)?;
            Ok(Some((snapshot, content)))
        })
        .await
    }

    async fn sweep_logs(&self, ended_before: Moment) -> Result<u64, StoreError> {
        self.run(move |node| async move {
            let sql = "SELECT DISTINCT c.name FROM log_generations g
                         JOIN collections c ON c.id = g.collection WHERE g.ended < $1";
            let rows = node.connection().await?.query(sql, &[&micros(ended_before)]).await?;
            let mut swept = 0;
            for row in &rows {
                let name: CollectionName = parsed(row, 0)?;
                let round = node.write(move |transaction, _| {
                    async move { sweep(transaction, &name, ended_before).await }.boxed()
                });
                swept += match round.await {
                    // The collection was dropped or renamed meanwhile.
                    Err(StoreError::NoCollection(_)) => 0,
                    count => count?,
                };
            }
            let orphaned_generations =
                log_rows::orphaned_generations(&node.connection().await?).await?;
            for key in orphaned_generations {
                node.remove_log_bytes(key).await?;
            }
            Ok(swept)
        })
        .await
    }
}

/// The caller has locked the collection. Generations that are no longer stored are added to `gone`.
async fn change(
    transaction: &Transaction<'_>,
    node: &Node,
    name: &CollectionName,
    asked: LogRequest,
    digest: Option<Digest>,
    gone: &mut Vec<log_rows::Key>,
) -> Result<LogOutcome, StoreError> {
    let (collection, log) = log_rows::find(transaction, name).await?;
    let before: Vec<Generation> =
        log.iter().flat_map(Log::generations).map(|(generation, _)| generation).collect();
    let known = match asked.key() {
        Some(key) => log_rows::keyed(transaction, collection, key).await?,
        None => None,
    };
    let last_dropped = match &log {
        Some(_) => 0,
        None => log_rows::last_dropped(transaction).await?,
    };
    let (now, tail) = (node.environment.now(), node.environment.random() as u32);
    let change = match asked.decide(StoredLogState { log, known, last_dropped, now, tail }, digest)
    {
        Ok(change) => change,
        Err(outcome) => return Ok(*outcome),
    };
    let Change { log, begins, bytes, key, snapshot, act } = change;
    log_rows::write(transaction, collection, &log).await?;
    if begins || log.removed {
        log_rows::write_earlier(transaction, collection, &log).await?;
    }
    if log.removed {
        for sql in [
            "DELETE FROM log_keys WHERE collection = $1",
            "DELETE FROM log_snapshots WHERE collection = $1",
        ] {
            transaction.execute(sql, &[&collection]).await?;
        }
    }
    if !bytes.is_empty() {
        let start = log.place.length - bytes.len() as u64;
        let key = (collection, log.place.generation);
        log_rows::write_bytes(transaction, key, start, &bytes).await?;
    }
    if let Some(key) = key {
        log_rows::write_key(transaction, collection, &key).await?;
    }
    if let (Some(snapshot), Some(content)) = (&log.snapshot, snapshot) {
        log_rows::write_snapshot(transaction, collection, snapshot, &content).await?;
    }
    acts::record(transaction, now, act).await?;
    let orphaned_generations =
        before.into_iter().filter(|generation| log.length_of(*generation).is_none());
    gone.extend(orphaned_generations.map(|generation| (collection, generation)));
    Ok(LogOutcome::Done(log))
}

/// Length and bytes are read from one snapshot.
async fn read(
    client: &mut Client,
    name: &CollectionName,
    generation: Generation,
    from: u64,
    most: usize,
) -> Result<Option<Vec<u8>>, StoreError> {
    let transaction = pool::snapshot(client).await?;
    let from = i64::try_from(from).unwrap_or(i64::MAX);
    let to = from.saturating_add(i64::try_from(most.min(MAX_READ_BYTES)).unwrap_or(i64::MAX));
    let (name_text, generation) = (name.as_str(), generation.to_string());
    let mut pipeline = Pipeline::default();
    pipeline.add(LENGTH, vec![&name_text, &generation]);
    pipeline.add(BYTES, vec![&name_text, &generation, &from, &to]);
    let [found, rows] = pipeline.run_all(&transaction).await?;
    let row = found.first().ok_or_else(|| StoreError::NoCollection(name.clone()))?;
    let Some(length) = get::<Option<i64>>(row, 1)? else { return Ok(None) };
    let mut bytes = Vec::new();
    for row in &rows {
        bytes.extend_from_slice(get(row, 0)?);
    }
    if bytes.len() as i64 == to.min(length).saturating_sub(from).max(0) {
        Ok(Some(bytes))
    } else {
        Err(StoreError::Damaged(format!("bytes of the log {name} are missing")))
    }
}

/// Maximum number of bytes of one read.
const MAX_READ_BYTES: usize = 1 << 30;

async fn sweep(
    transaction: &Transaction<'_>,
    name: &CollectionName,
    ended_before: Moment,
) -> Result<u64, StoreError> {
    collections::lock(transaction, name).await?;
    let (collection, log) = log_rows::find(transaction, name).await?;
    let Some(mut log) = log else { return Ok(0) };
    let before = log.earlier.len();
    log.earlier.retain(|_, ended| ended.at >= ended_before);
    log_rows::write_earlier(transaction, collection, &log).await?;
    Ok((before - log.earlier.len()) as u64)
}

/// Creates a log of a store that is moved here, without its bytes.
pub(super) async fn begin_transferred(
    transaction: &Transaction<'_>,
    environment: &dyn Environment,
    name: &CollectionName,
    moved: TransferredLog,
) -> Result<(), StoreError> {
    let TransferredLog { log, keys, snapshot } = moved;
    let collection = collections::require(transaction, name).await?.id;
    let log = log.moved(environment.random() as u32, environment.now());
    log_rows::write(transaction, collection, &log).await?;
    for key in &keys {
        log_rows::write_key(transaction, collection, key).await?;
    }
    if let (Some(snapshot), Some(content)) = (&log.snapshot, snapshot) {
        log_rows::write_snapshot(transaction, collection, snapshot, &content).await?;
    }
    Ok(())
}

/// Appends a piece of the bytes of such a log.
pub(super) async fn extend_transferred(
    transaction: &Transaction<'_>,
    name: &CollectionName,
    bytes: &[u8],
) -> Result<(), StoreError> {
    let (collection, log) = log_rows::find(transaction, name).await?;
    let Some(mut log) = log else { return Ok(()) };
    let LogPosition { generation, length } = log.place;
    log_rows::write_bytes(transaction, (collection, generation), length, bytes).await?;
    log.place.length += bytes.len() as u64;
    log_rows::write(transaction, collection, &log).await
}
