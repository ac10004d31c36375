//! Rows of logs, and the contract of [`Logs`] on the threads of a [`SqliteStore`].

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use rusqlite::{Connection, Row, params};

use super::log_files::{self, Key, LogFiles};
use super::rows::parsed;
use super::{SqliteStore, collections, people};
use crate::blob::Digest;
use crate::columns::moment;
use crate::environment::Environment;
use crate::error::StoreError;
use crate::log::{
    Append, Asked, Change, Ended, Expected, Found, Generation, KEYS_KEPT, Keyed, Log, LogOutcome,
    LogPlace, LogSnapshot, Logs, NewGeneration, NewSnapshot,
};
use crate::name::CollectionName;
use crate::order::Moment;
use crate::people::Act;

/// What is known of a collection's log.
#[derive(Debug)]
pub(super) struct KnownLog {
    collection: i64,
    log: Option<Log>,
}

impl KnownLog {
    fn length_of(&self, generation: Generation) -> Option<u64> {
        self.log.as_ref()?.length_of(generation)
    }
}

impl SqliteStore {
    async fn change_log(
        &self,
        collection: &CollectionName,
        asked: Asked,
    ) -> Result<LogOutcome, StoreError> {
        let hash = move |_: &Connection| (asked.digest(), asked);
        let (digest, asked) = self.readers.run(hash).await?;
        let (environment, files) = (Arc::clone(&self.environment), Arc::clone(&self.files));
        let name = collection.clone();
        let outcome = self
            .writer
            .run(move |connection| change(connection, &files, &*environment, &name, asked, digest))
            .await?;
        if matches!(outcome, LogOutcome::Done(_)) {
            self.bell.ring(collection);
        }
        Ok(outcome)
    }

    async fn known_log(&self, name: &CollectionName) -> Result<Arc<KnownLog>, StoreError> {
        match self.known.log(name)? {
            Ok(known) => Ok(known),
            Err(version) => {
                let known = Arc::new(self.read_known_log(name).await?);
                self.known.learn_log(version, name, &known);
                Ok(known)
            }
        }
    }

    async fn read_known_log(&self, name: &CollectionName) -> Result<KnownLog, StoreError> {
        let name = name.clone();
        self.readers
            .read(move |connection| {
                let collection = collections::require(connection, &name)?.id;
                Ok(KnownLog { collection, log: find(connection, collection)? })
            })
            .await
    }
}

#[async_trait]
impl Logs for SqliteStore {
    async fn log(&self, collection: &CollectionName) -> Result<Option<Log>, StoreError> {
        Ok(self.known_log(collection).await?.log.clone())
    }

    async fn append_to_log(
        &self,
        collection: &CollectionName,
        append: Append,
    ) -> Result<LogOutcome, StoreError> {
        self.change_log(collection, Asked::Append(append)).await
    }

    async fn begin_log_generation(
        &self,
        collection: &CollectionName,
        new: NewGeneration,
    ) -> Result<LogOutcome, StoreError> {
        self.change_log(collection, Asked::Generation(new)).await
    }

    async fn remove_log(
        &self,
        collection: &CollectionName,
        expected: Expected,
        act: Option<Act>,
    ) -> Result<LogOutcome, StoreError> {
        self.change_log(collection, Asked::Removal(expected, act)).await
    }

    async fn read_log(
        &self,
        collection: &CollectionName,
        generation: Generation,
        from: u64,
        most: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let known = self.known_log(collection).await?;
        let Some(length) = known.length_of(generation) else { return Ok(None) };
        let rest = usize::try_from(length.saturating_sub(from)).unwrap_or(usize::MAX);
        let count = rest.min(most);
        if count == 0 {
            return Ok(Some(Vec::new()));
        }
        let (key, files) = ((known.collection, generation), Arc::clone(&self.files));
        let read = self.readers.run(move |_| files.read(key, from, count)).await??;
        if read.is_some() {
            return Ok(read);
        }
        // It was forgotten since it was looked for, or else it is lost.
        match self.read_known_log(collection).await?.length_of(generation) {
            Some(_) => Err(log_files::missing(&self.files.path(key))),
            None => Ok(None),
        }
    }

    async fn put_log_snapshot(
        &self,
        collection: &CollectionName,
        new: NewSnapshot,
    ) -> Result<LogOutcome, StoreError> {
        self.change_log(collection, Asked::Snapshot(new)).await
    }

    async fn log_snapshot(
        &self,
        collection: &CollectionName,
    ) -> Result<Option<(LogSnapshot, Vec<u8>)>, StoreError> {
        let name = collection.clone();
        self.readers
            .read(move |connection| {
                let collection = collections::require(connection, &name)?.id;
                let Some(snapshot) = snapshot(connection, collection)? else { return Ok(None) };
                let content = connection
                    .prepare_cached("SELECT content FROM log_snapshots WHERE collection = ?1")?
                    .query_row([collection], |row| row.get(0))?;
                Ok(Some((snapshot, content)))
            })
            .await
    }

    async fn sweep_logs(&self, ended_before: Moment) -> Result<u64, StoreError> {
        let files = Arc::clone(&self.files);
        self.writer.run(move |connection| sweep(connection, &files, ended_before)).await
    }
}

/// Decides and writes, in the savepoint of its caller. The file comes last: if that fails, nothing else has
/// to be taken back.
fn change(
    connection: &Connection,
    files: &LogFiles,
    environment: &dyn Environment,
    name: &CollectionName,
    asked: Asked,
    digest: Option<Digest>,
) -> Result<LogOutcome, StoreError> {
    let collection = collections::require(connection, name)?.id;
    let log = find(connection, collection)?;
    let before: Vec<Generation> = generations(log.as_ref());
    let known = asked.key().map(|key| keyed(connection, collection, key)).transpose()?.flatten();
    let (now, tail) = (environment.now(), environment.random() as u32);
    let change = match asked.decide(Found { log, known, now, tail }, digest) {
        Ok(change) => change,
        Err(outcome) => return Ok(*outcome),
    };
    let Change { log, begins, bytes, key, snapshot, act } = change;
    write(connection, collection, &log)?;
    if begins || log.removed {
        write_earlier(connection, collection, &log)?;
    }
    if log.removed {
        forget_what_stood_beside(connection, collection)?;
    }
    if let Some(key) = key {
        write_key(connection, collection, &key)?;
    }
    if let (Some(snapshot), Some(content)) = (&log.snapshot, snapshot) {
        write_snapshot(connection, collection, snapshot, &content)?;
    }
    if let Some(act) = &act {
        people::insert_act(connection, now, act)?;
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

fn generations(log: Option<&Log>) -> Vec<Generation> {
    log.map_or(Vec::new(), |log| log.generations().map(|(generation, _)| generation).collect())
}

/// The generations of a collection's log: when the collection goes, their files do.
pub(super) fn keys(connection: &Connection, collection: i64) -> Result<Vec<Key>, StoreError> {
    let generations = generations(find(connection, collection)?.as_ref());
    Ok(generations.into_iter().map(|generation| (collection, generation)).collect())
}

fn find(connection: &Connection, collection: i64) -> Result<Option<Log>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT generation, length, media_type, removed, began, changed
           FROM logs WHERE collection = ?1",
    )?;
    let mut rows = statement.query([collection])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let mut log = Log {
        place: place(row, 0)?,
        media_type: row.get(2)?,
        removed: row.get(3)?,
        began: moment(row.get(4)?),
        changed: moment(row.get(5)?),
        earlier: Default::default(),
        snapshot: snapshot(connection, collection)?,
    };
    let mut statement = connection.prepare_cached(
        "SELECT generation, length, ended FROM log_generations WHERE collection = ?1",
    )?;
    let mut rows = statement.query([collection])?;
    while let Some(row) = rows.next()? {
        let LogPlace { generation, length } = place(row, 0)?;
        log.earlier.insert(generation, Ended { length, at: moment(row.get(2)?) });
    }
    Ok(Some(log))
}

/// Two columns from `first` on.
fn place(row: &Row<'_>, first: usize) -> Result<LogPlace, StoreError> {
    let length: i64 = row.get(first + 1)?;
    Ok(LogPlace { generation: parsed(row, first)?, length: length as u64 })
}

fn snapshot(connection: &Connection, collection: i64) -> Result<Option<LogSnapshot>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT generation, covers, media_type, digest, length(content), stored
           FROM log_snapshots WHERE collection = ?1",
    )?;
    let mut rows = statement.query([collection])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(Some(LogSnapshot {
        covers: place(row, 0)?,
        media_type: row.get(2)?,
        digest: parsed(row, 3)?,
        length: row.get::<_, i64>(4)? as u64,
        stored: moment(row.get(5)?),
    }))
}

fn keyed(connection: &Connection, collection: i64, key: &str) -> Result<Option<Keyed>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT generation, ends, key, digest, length
           FROM log_keys WHERE collection = ?1 AND key = ?2",
    )?;
    let mut rows = statement.query(params![collection, key])?;
    rows.next()?.map(read_keyed).transpose()
}

fn read_keyed(row: &Row<'_>) -> Result<Keyed, StoreError> {
    Ok(Keyed {
        end: place(row, 0)?,
        key: row.get(2)?,
        digest: parsed(row, 3)?,
        length: row.get::<_, i64>(4)? as u64,
    })
}

fn write(connection: &Connection, collection: i64, log: &Log) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO logs (collection, generation, length, media_type, removed, began, changed)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (collection) DO UPDATE
             SET generation = excluded.generation, length = excluded.length,
                 media_type = excluded.media_type, removed = excluded.removed,
                 began = excluded.began, changed = excluded.changed",
        )?
        .execute(params![
            collection,
            log.place.generation.to_string(),
            log.place.length as i64,
            log.media_type,
            log.removed,
            log.began,
            log.changed,
        ])?;
    Ok(())
}

fn write_earlier(connection: &Connection, collection: i64, log: &Log) -> Result<(), StoreError> {
    connection.execute("DELETE FROM log_generations WHERE collection = ?1", [collection])?;
    let mut statement = connection.prepare_cached(
        "INSERT INTO log_generations (collection, generation, length, ended)
         VALUES (?1, ?2, ?3, ?4)",
    )?;
    for (generation, Ended { length, at }) in &log.earlier {
        statement.execute(params![collection, generation.to_string(), *length as i64, at])?;
    }
    Ok(())
}

fn forget_what_stood_beside(connection: &Connection, collection: i64) -> Result<(), StoreError> {
    connection.execute("DELETE FROM log_keys WHERE collection = ?1", [collection])?;
    connection.execute("DELETE FROM log_snapshots WHERE collection = ?1", [collection])?;
    Ok(())
}

fn write_key(connection: &Connection, collection: i64, keyed: &Keyed) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO log_keys (collection, key, digest, length, generation, ends)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            collection,
            keyed.key,
            keyed.digest.to_string(),
            keyed.length as i64,
            keyed.end.generation.to_string(),
            keyed.end.length as i64,
        ])?;
    connection
        .prepare_cached(
            "DELETE FROM log_keys WHERE collection = ?1 AND ordinal <=
               (SELECT ordinal FROM log_keys WHERE collection = ?1
                 ORDER BY ordinal DESC LIMIT 1 OFFSET ?2)",
        )?
        .execute(params![collection, KEYS_KEPT as i64])?;
    Ok(())
}

fn write_snapshot(
    connection: &Connection,
    collection: i64,
    snapshot: &LogSnapshot,
    content: &[u8],
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO log_snapshots
               (collection, generation, covers, media_type, digest, stored, content)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            collection,
            snapshot.covers.generation.to_string(),
            snapshot.covers.length as i64,
            snapshot.media_type,
            snapshot.digest.to_string(),
            snapshot.stored,
            content,
        ])?;
    Ok(())
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
    // Nobody else has a transaction under way: what is not known is a crash's.
    let known = lengths(connection)?;
    let left = files.found()?.into_keys().filter(|key| !known.contains_key(key));
    files.forget(swept.into_iter().chain(left));
    Ok(count)
}

/// For each collection with a log, a text that is another one after each change of the log.
pub(super) fn marks(
    connection: &Connection,
) -> Result<HashMap<CollectionName, String>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT c.name, concat_ws(' ', l.generation, l.length, l.removed, s.generation, s.covers)
           FROM logs l JOIN collections c ON c.id = l.collection
           LEFT JOIN log_snapshots s ON s.collection = l.collection",
    )?;
    let mut rows = statement.query([])?;
    let mut marks = HashMap::new();
    while let Some(row) = rows.next()? {
        marks.insert(parsed(row, 0)?, row.get(1)?);
    }
    Ok(marks)
}

/// The committed bytes of every generation that is here.
fn lengths(connection: &Connection) -> Result<BTreeMap<Key, u64>, StoreError> {
    let mut statement = connection.prepare_cached(
        "SELECT collection, generation, length FROM logs WHERE NOT removed
         UNION ALL SELECT collection, generation, length FROM log_generations",
    )?;
    let mut rows = statement.query([])?;
    let mut lengths = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let LogPlace { generation, length } = place(row, 1)?;
        lengths.insert((row.get(0)?, generation), length);
    }
    Ok(lengths)
}

/// Whether a crash left files of no log, or bytes that were never committed.
pub(super) fn is_tidy(connection: &Connection, files: &LogFiles) -> Result<bool, StoreError> {
    let found = files.found()?;
    if found.is_empty() {
        return Ok(true);
    }
    let known = lengths(connection)?;
    Ok(found.iter().all(|(key, found)| known.get(key).is_some_and(|length| found <= length)))
}

/// Removes what a crash left. In a transaction that writes: nobody else has one under way, whose files would
/// look the same.
pub(super) fn tidy(connection: &Connection, files: &LogFiles) -> Result<(), StoreError> {
    let known = lengths(connection)?;
    for (key, found) in files.found()? {
        match known.get(&key) {
            None => files.remove(key)?,
            Some(length) if found > *length => files.cut(key, *length)?,
            Some(_) => {}
        }
    }
    Ok(())
}

/// Every log goes on in a new generation: others may have seen more of the last one. Its file gets another
/// name beside the old one, which is a crash's once this is committed.
pub(super) fn settle(
    connection: &Connection,
    files: &LogFiles,
    environment: &dyn Environment,
) -> Result<(), StoreError> {
    let collections: Vec<i64> = connection
        .prepare("SELECT collection FROM logs WHERE NOT removed ORDER BY collection")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for collection in collections {
        let Some(log) = find(connection, collection)? else { continue };
        let before = log.place.generation;
        let log = log.renewed(environment.random() as u32, environment.now());
        files.link((collection, before), (collection, log.place.generation))?;
        write(connection, collection, &log)?;
        write_earlier(connection, collection, &log)?;
        connection.execute(
            "UPDATE log_snapshots SET generation = ?3 WHERE collection = ?1 AND generation = ?2",
            params![collection, before.to_string(), log.place.generation.to_string()],
        )?;
    }
    Ok(())
}

/// Logs whose files do not hold what is committed, one line each.
pub(super) fn check(connection: &Connection, files: &LogFiles) -> Result<Vec<String>, StoreError> {
    let found = files.found()?;
    let fault = |(key, length): (Key, u64)| match found.get(&key) {
        None => Some(log_files::missing(&files.path(key))),
        Some(found) if *found < length => Some(log_files::too_short(&files.path(key))),
        Some(_) => None,
    };
    Ok(lengths(connection)?.into_iter().filter_map(fault).map(|fault| fault.to_string()).collect())
}
