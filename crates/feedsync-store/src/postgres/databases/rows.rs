//! Rows of databases.

use std::sync::Arc;

use deadpool_postgres::{GenericClient, Transaction};
use feedsync_couch::DatabaseName;
use tokio_postgres::Row;

use super::indexes::INDEX_VERSION;
use crate::columns::moment;
use crate::database::{Database, Dropped, History, HistoryState, NewDatabase};
use crate::environment::Environment;
use crate::error::StoreError;
use crate::order::{Epoch, Moment};
use crate::postgres::pipeline::{Parameter, Pipeline};
use crate::postgres::rows::{get, maybe_moment, micros, number, parsed};
use crate::postgres::{charges, collections};

macro_rules! select_databases {
    ($rest:literal) => {
        concat!(
            "SELECT id, name, epoch_began, epoch_tail, created, last, next_body, documents, deleted, purges, \
             revisions_kept, security, bytes, superseded, indexes, index_version, history_seconds, history_since, \
             history_last, history_bytes, dropped_name, dropped_at, dropped_by, \
             coalesce(named_at, created) FROM databases ",
            $rest
        )
    };
}

pub(super) const BY_NAME: &str = select_databases!("WHERE name = $1");

/// The same for a store that need not be settled first, because its identification has not changed since it
/// was.
pub(super) const BY_NAME_SETTLED: &str = select_databases!(
    "WHERE name = $1 AND EXISTS
       (SELECT 1 FROM endpoint WHERE right(place, 8) = left(pg_walfile_name(pg_current_wal_lsn()), 8))"
);
const ALL_DROPPED: &str = select_databases!(
    "WHERE dropped_name IS NOT NULL AND name IS NOT NULL ORDER BY dropped_at DESC, id DESC"
);
pub(super) const DROPPED_OF: &str = select_databases!(
    "WHERE dropped_name = $1 AND name IS NOT NULL ORDER BY dropped_at DESC, id DESC"
);
const AFTER: &str = select_databases!("WHERE name > $1 ORDER BY name LIMIT $2");

/// Locks the row that creations of databases lock.
const LOCK_ENDPOINT: &str = "SELECT 1 FROM endpoint FOR UPDATE";

/// Locks a database: others cannot change or drop it until the transaction ends. Its values must be read by a
/// later statement.
pub(super) const LOCK: &str = "SELECT id FROM databases WHERE name = $1 FOR NO KEY UPDATE";

/// Locks a database so that others cannot drop it until the transaction ends.
pub(super) const LOCK_SHARED: &str = "SELECT id FROM databases WHERE name = $1 FOR KEY SHARE";

/// Locks a database so that others can only read it until the transaction ends.
pub(super) const LOCK_EXCLUSIVE: &str = "SELECT id FROM databases WHERE name = $1 FOR UPDATE";

/// Writes the changed columns of a database.
pub(super) const WRITE: &str = "
    UPDATE databases SET last = $2, next_body = $3, documents = $4, deleted = $5, purges = $6,
                         revisions_kept = $7, bytes = $8, superseded = $9, indexes = $10,
                         index_version = $11, history_last = $12, history_bytes = $13,
                         security = $14, history_seconds = $15, history_since = $16
     WHERE id = $1";

/// A database with the internal columns of its row.
#[derive(Debug, Clone)]
pub(super) struct DatabaseRow {
    pub(super) id: i64,
    pub(super) next_body: u64,
    pub(super) database: Database,
    pub(super) indexing: Indexing,
}

/// The indexes of a database: their number, and the version of their rows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Indexing {
    pub(super) count: u64,
    pub(super) version: u32,
}

/// Finds a database by one of the statements above.
pub(super) async fn find(
    client: &impl GenericClient,
    how: &'static str,
    name: &DatabaseName,
) -> Result<Option<DatabaseRow>, StoreError> {
    let statement = client.prepare_cached(how).await?;
    client.query_opt(&statement, &[&name.as_str()]).await?.as_ref().map(database_row).transpose()
}

/// The database in the result of [`BY_NAME`].
pub(super) fn found(rows: &[Row], name: &DatabaseName) -> Result<DatabaseRow, StoreError> {
    database_row(rows.first().ok_or_else(|| StoreError::NoDatabase(name.clone()))?)
}

/// Locks the database in one of the ways above until the transaction ends.
pub(super) async fn lock(
    transaction: &Transaction<'_>,
    how: &'static str,
    name: &DatabaseName,
) -> Result<DatabaseRow, StoreError> {
    let name_text = name.as_str();
    loop {
        let mut pipeline = Pipeline::default();
        pipeline.add(how, vec![&name_text]);
        pipeline.add(BY_NAME, vec![&name_text]);
        let [locked, rows] = pipeline.run_all(transaction).await?;
        let database_row = found(&rows, name)?;
        if is_row_of(&locked, &database_row)? {
            return Ok(database_row);
        }
    }
}

/// Whether the locked row is the database's. If the row gives up its name while the lock is awaited, nothing
/// is locked, although another row may have the name by then.
pub(super) fn is_row_of(locked: &[Row], database_row: &DatabaseRow) -> Result<bool, StoreError> {
    Ok(locked.first().map(|row| get::<i64>(row, 0)).transpose()? == Some(database_row.id))
}

pub(super) async fn after(
    client: &impl GenericClient,
    after: Option<&DatabaseName>,
    most: usize,
) -> Result<Vec<Database>, StoreError> {
    let statement = client.prepare_cached(AFTER).await?;
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let rows = client.query(&statement, &[&after.map_or("", DatabaseName::as_str), &most]).await?;
    rows.iter().map(|row| Ok(database_row(row)?.database)).collect()
}

fn database_row(row: &Row) -> Result<DatabaseRow, StoreError> {
    let count = |column| Ok::<_, StoreError>(get::<i64>(row, column)? as u64);
    let database = Database {
        name: parsed(row, 1)?,
        epoch: Epoch::stored(moment(get(row, 2)?), get::<i64>(row, 3)? as u32),
        created: moment(get(row, 4)?),
        named: moment(get(row, 23)?),
        last: number(row, 5)?,
        documents: count(7)?,
        deleted: count(8)?,
        purges: count(9)?,
        revisions_kept: count(10)?,
        security: get::<Option<&[u8]>>(row, 11)?
            .map(|bytes| text(bytes).map(str::to_owned))
            .transpose()?,
        bytes: count(12)?,
        superseded: count(13)?,
        history: match get::<Option<i64>>(row, 16)? {
            None => History::Off,
            Some(seconds) => History::Kept { seconds: seconds as u64 },
        },
        past: HistoryState {
            since: maybe_moment(row, 17)?,
            last: moment(get(row, 18)?),
            bytes: count(19)?,
        },
        dropped: match get::<Option<&str>>(row, 20)? {
            None => None,
            Some(_) => Some(Dropped {
                name: parsed(row, 20)?,
                moment: moment(get(row, 21)?),
                author: get::<Option<&str>>(row, 22)?.map(Arc::from),
            }),
        },
    };
    let indexing = Indexing { count: count(14)?, version: get::<i64>(row, 15)? as u32 };
    Ok(DatabaseRow { id: get(row, 0)?, next_body: count(6)?, database, indexing })
}

/// Decodes bytes that were UTF-8 when they were stored.
pub(super) fn text(bytes: &[u8]) -> Result<&str, StoreError> {
    std::str::from_utf8(bytes).map_err(|error| StoreError::Damaged(format!("a text: {error}")))
}

/// Creates a database; `None` if one of this name exists.
pub(super) async fn create(
    transaction: &Transaction<'_>,
    environment: &dyn Environment,
    name: DatabaseName,
    new: NewDatabase,
) -> Result<Option<Database>, StoreError> {
    // Concurrent creations wait for each other, because an epoch must be later than all others of the store.
    transaction.query(LOCK_ENDPOINT, &[]).await?;
    if find(transaction, BY_NAME, &name).await?.is_some() {
        return Ok(None);
    }
    let epoch = collections::begin_epoch(transaction, environment).await?;
    let owner = new.owner.clone();
    let database = Database::created(name.clone(), new, epoch, environment.now());
    insert(transaction, &database, INDEX_VERSION).await?;
    if (database.keeps_history() || owner.is_some())
        && let Some(mut row) = find(transaction, BY_NAME, &name).await?
    {
        row.database.clone_from(&database);
        write(transaction, &row).await?;
        if let Some(owner) = &owner {
            charges::charge_database(transaction, row.id, owner).await?;
        }
    }
    Ok(Some(database))
}

/// Gives up the name of a database. Its contents are swept later.
pub(super) async fn drop(
    transaction: &Transaction<'_>,
    name: &DatabaseName,
    epoch: Epoch,
) -> Result<(), StoreError> {
    let database_row = lock(transaction, LOCK_EXCLUSIVE, name).await?;
    database_row.database.require(epoch)?;
    remove(transaction, database_row.id).await
}

/// Removes a database. Its contents are swept later.
pub(super) async fn remove(transaction: &Transaction<'_>, id: i64) -> Result<(), StoreError> {
    let sql = "UPDATE databases SET name = NULL WHERE id = $1";
    transaction.execute(sql, &[&id]).await?;
    Ok(())
}

/// Inserts an empty database, whose indexes have a version.
pub(super) async fn insert(
    transaction: &Transaction<'_>,
    database: &Database,
    index_version: u32,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO databases (name, epoch_began, epoch_tail, created, last, next_body, documents, deleted,
                                      purges, revisions_kept, bytes, superseded, security, index_version,
                                      dropped_name, dropped_at, dropped_by, named_at)
               VALUES ($1, $2, $3, $4, 0, 1, 0, 0, 0, $5, 0, 0, $6, $7, $8, $9, $10, $11)";
    let statement = transaction.prepare_cached(sql).await?;
    let security = database.security.as_ref().map(String::as_bytes);
    let (dropped_name, dropped_at, dropped_by) = dropped_columns(database.dropped.as_ref());
    let values: [Parameter<'_>; 11] = [
        &database.name.as_str(),
        &micros(database.epoch.began()),
        &i64::from(database.epoch.tail()),
        &micros(database.created),
        &(database.revisions_kept as i64),
        &security,
        &i64::from(index_version),
        &dropped_name,
        &dropped_at,
        &dropped_by,
        &micros(database.named),
    ];
    transaction.execute(&statement, &values).await?;
    Ok(())
}

/// Drops a database, and keeps it under another name if it keeps its history. Returns whether it is kept.
pub(super) async fn drop_and_keep(
    transaction: &Transaction<'_>,
    (name, epoch): (&DatabaseName, Epoch),
    now: Moment,
    author: Option<Arc<str>>,
) -> Result<bool, StoreError> {
    let mut database_row = lock(transaction, LOCK_EXCLUSIVE, name).await?;
    database_row.database.require(epoch)?;
    if !database_row.database.is_kept_when_dropped() {
        remove(transaction, database_row.id).await?;
        return Ok(false);
    }
    database_row.database.drop_now(now, author)?;
    write_name(transaction, &database_row).await?;
    Ok(true)
}

/// Gives a dropped database its name back. Returns the name, unless another database has it or the database was not dropped.
pub(super) async fn undrop(
    transaction: &Transaction<'_>,
    (kept, epoch): (&DatabaseName, Epoch),
    now: Moment,
) -> Result<Option<DatabaseName>, StoreError> {
    // Nobody creates a database meanwhile.
    transaction.query(LOCK_ENDPOINT, &[]).await?;
    let mut database_row = lock(transaction, LOCK_EXCLUSIVE, kept).await?;
    database_row.database.require(epoch)?;
    if !database_row.database.undrop(now)
        || find(transaction, BY_NAME, &database_row.database.name).await?.is_some()
    {
        return Ok(None);
    }
    write_name(transaction, &database_row).await?;
    Ok(Some(database_row.database.name))
}

/// Databases that were dropped and are kept, of a name or all, the last one first.
pub(super) async fn dropped(
    client: &impl GenericClient,
    name: Option<&DatabaseName>,
) -> Result<Vec<Database>, StoreError> {
    let rows = match name {
        Some(name) => {
            let statement = client.prepare_cached(DROPPED_OF).await?;
            client.query(&statement, &[&name.as_str()]).await?
        }
        None => client.query(&client.prepare_cached(ALL_DROPPED).await?, &[]).await?,
    };
    rows.iter().map(|row| Ok(database_row(row)?.database)).collect()
}

/// Writes the name of a database, and whether it was dropped.
async fn write_name(
    transaction: &Transaction<'_>,
    DatabaseRow { id, database, .. }: &DatabaseRow,
) -> Result<(), StoreError> {
    let (dropped_name, dropped_at, dropped_by) = dropped_columns(database.dropped.as_ref());
    let sql = "UPDATE databases SET name = $2, dropped_name = $3, dropped_at = $4, dropped_by = $5, named_at = $6
                WHERE id = $1";
    let values: [Parameter<'_>; 6] = [
        id,
        &database.name.as_str(),
        &dropped_name,
        &dropped_at,
        &dropped_by,
        &micros(database.named),
    ];
    transaction.execute(sql, &values).await?;
    Ok(())
}

/// The columns of how a database was dropped.
fn dropped_columns(dropped: Option<&Dropped>) -> (Option<&str>, Option<i64>, Option<&str>) {
    let name = dropped.map(|dropped| dropped.name.as_str());
    let at = dropped.map(|dropped| micros(dropped.moment));
    (name, at, dropped.and_then(|dropped| dropped.author.as_deref()))
}

pub(super) async fn write(
    transaction: &Transaction<'_>,
    database_row: &DatabaseRow,
) -> Result<(), StoreError> {
    let statement = transaction.prepare_cached(WRITE).await?;
    transaction.execute(&statement, &DatabaseColumns::of(database_row).parameters()).await?;
    Ok(())
}

/// The values of the statement [`WRITE`].
pub(super) struct DatabaseColumns {
    counts: [i64; 13],
    security: Option<Vec<u8>>,
    history: [Option<i64>; 2],
}

impl DatabaseColumns {
    pub(super) fn of(database_row: &DatabaseRow) -> Self {
        let DatabaseRow { id, next_body, database, indexing } = database_row;
        let counts = [
            *id,
            database.last.get() as i64,
            *next_body as i64,
            database.documents as i64,
            database.deleted as i64,
            database.purges as i64,
            database.revisions_kept as i64,
            database.bytes as i64,
            database.superseded as i64,
            indexing.count as i64,
            i64::from(indexing.version),
            micros(database.past.last),
            database.past.bytes as i64,
        ];
        let seconds = database.history.seconds();
        let seconds = seconds.map(|seconds| i64::try_from(seconds).unwrap_or(i64::MAX));
        let history = [seconds, database.past.since.map(micros)];
        Self { counts, security: database.security.clone().map(String::into_bytes), history }
    }

    pub(super) fn parameters(&self) -> Vec<Parameter<'_>> {
        let counts = self.counts.iter().map(|count| count as Parameter<'_>);
        let history = self.history.iter().map(|value| value as Parameter<'_>);
        counts.chain([&self.security as Parameter<'_>]).chain(history).collect()
    }
}

/// Begins new epochs of all databases of a restored store. The caller excludes other writers.
pub(in crate::postgres) async fn settle(
    transaction: &Transaction<'_>,
    environment: &dyn Environment,
) -> Result<(), StoreError> {
    let epoch = collections::begin_epoch(transaction, environment).await?;
    let sql = "UPDATE databases SET epoch_began = $1, epoch_tail = $2";
    let values: [Parameter<'_>; 2] = [&micros(epoch.began()), &i64::from(epoch.tail())];
    transaction.execute(sql, &values).await?;
    Ok(())
}
