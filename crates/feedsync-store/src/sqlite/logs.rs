//! Implementation of [`Logs`] on the threads of a [`SqliteStore`].

use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::Connection;

use super::log_files::{self, Key, LogFiles};
use super::read_cache::CachedLog;
use super::rows::parsed;
use super::{SqliteStore, acts, collections, log_rows};
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

/// Maximum number of bytes that are read on the caller's thread, if they are in the page cache: another
/// thread costs more.
const INLINE_READ_BYTES: usize = 64 << 10;

impl SqliteStore {
    async fn change_log(
        &self,
        collection: &CollectionName,
        asked: LogRequest,
    ) -> Result<LogOutcome, StoreError> {
        let hash = move |_: &Connection| (asked.digest(), asked);
        let (digest, asked) = self.readers.run(hash).await?;
        let (environment, files) = (Arc::clone(&self.environment), Arc::clone(&self.files));
        let name = collection.clone();
        let outcome = match asked {
            LogRequest::Removal(expected, act) => {
                let remove = move |connection: &_| {
                    let asked = LogRequest::Removal(expected.clone(), act.clone());
                    change(connection, &files, &*environment, &name, asked, digest)
                };
                self.writer.run_without_growth(remove).await?
            }
            asked => {
                let write = move |connection: &_| {
                    change(connection, &files, &*environment, &name, asked, digest)
                };
                self.writer.run(write).await?
            }
        };
        if matches!(outcome, LogOutcome::Done(_)) {
            self.notifier.notify_subscribers(collection);
        }
        Ok(outcome)
    }

    async fn cached_log(&self, name: &CollectionName) -> Result<Arc<CachedLog>, StoreError> {
        match self.known.log(name)? {
            Ok(known) => Ok(known),
            Err(version) => {
                let known = Arc::new(self.read_log_uncached(name).await?);
                self.known.cache_log(version, name, &known);
                Ok(known)
            }
        }
    }

    async fn read_log_uncached(&self, name: &CollectionName) -> Result<CachedLog, StoreError> {
        let name = name.clone();
        self.readers
            .read(move |connection| {
                let collection = collections::require(connection, &name)?.id;
                Ok(CachedLog { collection, log: log_rows::find(connection, collection)? })
            })
            .await
    }
}

#[async_trait]
impl Logs for SqliteStore {
    async fn log(&self, collection: &CollectionName) -> Result<Option<Log>, StoreError> {
        Ok(self.cached_log(collection).await?.log.clone())
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
        let known = self.cached_log(collection).await?;
        let Some(length) = known.length_of(generation) else { return Ok(None) };
        let rest = usize::try_from(length.saturating_sub(from)).unwrap_or(usize::MAX);
        let count = rest.min(most);
        if count == 0 {
            return Ok(Some(Vec::new()));
        }
        let (key, files) = ((known.collection, generation), Arc::clone(&self.files));
        if count <= INLINE_READ_BYTES
            && let Some(held) = files.read_cached(key, from, count)
        {
            return Ok(Some(held));
        }
        let read = self.readers.run(move |_| files.read(key, from, count)).await??;
        if read.is_some() {
            return Ok(read);
        }
        // Either the generation was removed after it was looked up, or its file is lost.
        match self.read_log_uncached(collection).await?.length_of(generation) {
            Some(_) => Err(log_files::missing(&self.files.path(key))),
            None => Ok(None),
        }
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
        self.readers
            .read(move |connection| {
                let collection = collections::require(connection, &name)?.id;
                let Some(snapshot) = log_rows::snapshot(connection, collection)? else {
                    return Ok(None);
                };
                let content = log_rows::snapshot_content(connection, collection)?;
                let content =
                    content.map(|bytes| digests::snapshot(&snapshot, bytes)).transpose()?;
                Ok(content.map(|content| (snapshot, content)))
            })
            .await
    }

    async fn sweep_logs(&self, ended_before: Moment) -> Result<u64, StoreError> {
        let files = Arc::clone(&self.files);
        self.writer
            .run_without_growth(move |connection| sweep(connection, &files, ended_before))
            .await
    }
}

/// Decides and writes in the caller's savepoint. The file is written last: if that fails, the savepoint
/// undoes everything else.
fn change(
    connection: &Connection,
    files: &LogFiles,
    environment: &dyn Environment,
    name: &CollectionName,
    asked: LogRequest,
    digest: Option<Digest>,
) -> Result<LogOutcome, StoreError> {
    let collection = collections::require(connection, name)?.id;
    let log = log_rows::find(connection, collection)?;
    let before: Vec<Generation> = log_rows::generations(log.as_ref());
    let known =
        asked.key().map(|key| log_rows::keyed(connection, collection, key)).transpose()?.flatten();
    let last_dropped = log_rows::last_dropped(connection)?;
    let (now, tail) = (environment.now(), environment.random() as u32);
    let change = match asked.decide(StoredLogState { log, known, last_dropped, now, tail }, digest)
    {
        Ok(change) => change,
        Err(outcome) => return Ok(*outcome),
    };
    let Change { log, begins, bytes, key, snapshot, act } = change;
    log_rows::write(connection, collection, &log)?;
    if begins || log.removed {
        log_rows::write_earlier(connection, collection, &log)?;
    }
    if log.removed {
        log_rows::delete_side_rows(connection, collection)?;
    }
    if let Some(key) = key {
        log_rows::write_key(connection, collection, &key)?;
    }
    if let (Some(snapshot), Some(content)) = (&log.snapshot, snapshot) {
        log_rows::write_snapshot(connection, collection, snapshot, &content)?;
    }
    if let Some(act) = &act {
        acts::insert_act(connection, now, act)?;
    }
    let current = (collection, log.place.generation);
    if begins {
        files.begin(current, &bytes)?;
    } else if !bytes.is_empty() {
        files.append(current, log.place.length - bytes.len() as u64, &bytes)?;
    }
    let gone = before.into_iter().filter(|generation| log.length_of(*generation).is_none());
    files.forget(gone.map(|generation| (collection, generation)));
    Ok(LogOutcome::Done(log))
}

fn sweep(
    connection: &Connection,
    files: &LogFiles,
    ended_before: Moment,
) -> Result<u64, StoreError> {
    let mut statement = connection
        .prepare("SELECT collection, generation FROM log_generations WHERE ended < ?1")?;
    let mut rows = statement.query([ended_before])?;
    let mut swept: Vec<Key> = Vec::new();
    while let Some(row) = rows.next()? {
        swept.push((row.get(0)?, parsed(row, 1)?));
    }
    connection.execute("DELETE FROM log_generations WHERE ended < ?1", [ended_before])?;
    let count = swept.len() as u64;
    // No other transaction is in progress, so files without a row were left by a crash.
    let known = log_rows::lengths(connection)?;
    let left = files.found()?.into_keys().filter(|key| !known.contains_key(key));
    files.forget(swept.into_iter().chain(left));
    Ok(count)
}

/// Creates a log of a store that is moved here, without its bytes.
pub(super) fn begin_transferred(
    connection: &Connection,
    files: &LogFiles,
    environment: &dyn Environment,
    collection: i64,
    moved: TransferredLog,
) -> Result<(), StoreError> {
    let TransferredLog { log, keys, snapshot } = moved;
    let log = log.moved(environment.random() as u32, environment.now());
    let (removed, generation) = (log.removed, log.place.generation);
    log_rows::write_moved(connection, collection, &TransferredLog { log, keys, snapshot })?;
    if removed { Ok(()) } else { files.begin((collection, generation), &[]) }
}

/// Appends a piece of the bytes of such a log.
pub(super) fn extend_transferred(
    connection: &Connection,
    files: &LogFiles,
    collection: i64,
    bytes: &[u8],
) -> Result<(), StoreError> {
    let Some(mut log) = log_rows::find(connection, collection)? else { return Ok(()) };
    let LogPosition { generation, length } = log.place;
    log.place.length += bytes.len() as u64;
    log_rows::write(connection, collection, &log)?;
    files.append((collection, generation), length, bytes)
}
