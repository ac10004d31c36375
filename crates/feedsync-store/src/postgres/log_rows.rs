//! Rows of logs, and their bytes.

use deadpool_postgres::{GenericClient, Transaction};
use tokio_postgres::Row;

use super::rows::{digest, get, micros, parsed, text};
use crate::columns::{moment, parse};
use crate::environment::Environment;
use crate::error::StoreError;
use crate::log::{
    EndedGeneration, Generation, KeyedAppend, Log, LogPosition, LogSnapshot, MAX_APPEND_KEYS,
};
use crate::name::CollectionName;

/// Reads a log at one moment, in one statement.
const FIND: &str = "
    SELECT c.id, l.generation, l.length, l.media_type, l.removed, l.began, l.changed,
           s.generation, s.covers, s.media_type, s.digest, octet_length(s.content)::bigint, s.stored,
           ARRAY(SELECT g.generation FROM log_generations g WHERE g.collection = c.id
                  ORDER BY g.generation),
           ARRAY(SELECT g.length FROM log_generations g WHERE g.collection = c.id
                  ORDER BY g.generation),
           ARRAY(SELECT g.ended FROM log_generations g WHERE g.collection = c.id
                  ORDER BY g.generation)
      FROM collections c
      LEFT JOIN logs l ON l.collection = c.id
      LEFT JOIN log_snapshots s ON s.collection = c.id
     WHERE c.name = $1";

/// Committed length of a generation, if it is stored.
pub(super) const LENGTH: &str = "
    SELECT c.id, (SELECT l.length FROM logs l
                   WHERE l.collection = c.id AND l.generation = $2 AND NOT l.removed
                  UNION ALL
                  SELECT g.length FROM log_generations g
                   WHERE g.collection = c.id AND g.generation = $2)
      FROM collections c WHERE c.name = $1";

/// Bytes from one offset to another: the row that contains the first, and the following ones.
pub(super) const BYTES: &str = "
    SELECT substring(b.bytes FROM least(greatest($3 - b.start, 0), octet_length(b.bytes))::int + 1
                              FOR ($4 - greatest(b.start, $3))::int)
      FROM log_bytes b, (SELECT id FROM collections WHERE name = $1) c
     WHERE b.collection = c.id AND b.generation = $2 AND b.start < $4
       AND b.start >= (SELECT coalesce(max(f.start), 0) FROM log_bytes f
                        WHERE f.collection = c.id AND f.generation = $2 AND f.start <= $3)
     ORDER BY b.start";

/// Maximum number of bytes in a row.
const ROW: usize = 1 << 16;

/// Merges the rows that begin between two offsets into one, if they are complete.
const JOIN: &str = "
    WITH joined AS (
      SELECT min(start) AS first, string_agg(bytes, ''::bytea ORDER BY start) AS bytes
        FROM log_bytes
       WHERE collection = $1 AND generation = $2 AND start >= $3 AND start < $4
      HAVING count(*) > 1 AND sum(octet_length(bytes)) = $4 - min(start)
    ), gone AS (
      DELETE FROM log_bytes b USING joined j
       WHERE b.collection = $1 AND b.generation = $2 AND b.start > j.first AND b.start < $4
    )
    UPDATE log_bytes b SET bytes = j.bytes FROM joined j
     WHERE b.collection = $1 AND b.generation = $2 AND b.start = j.first";

/// Generations that have bytes and are in no other table. The query steps from one generation to the next.
const ORPHANED_GENERATIONS: &str = "
    WITH RECURSIVE here AS (
      (SELECT collection, generation FROM log_bytes ORDER BY collection, generation LIMIT 1)
      UNION ALL
      SELECT n.* FROM here h, LATERAL (
        SELECT b.collection, b.generation FROM log_bytes b
         WHERE (b.collection, b.generation) > (h.collection, h.generation)
         ORDER BY b.collection, b.generation LIMIT 1) n
    )
    SELECT collection, generation FROM here h
     WHERE NOT EXISTS (SELECT FROM logs l WHERE l.collection = h.collection
                          AND l.generation = h.generation AND NOT l.removed)
       AND NOT EXISTS (SELECT FROM log_generations g WHERE g.collection = h.collection
                          AND g.generation = h.generation)";

/// Number of rows of bytes that are removed in one transaction.
const DELETE_ROWS: i64 = 64;

/// A generation of a collection's log.
pub(super) type Key = (i64, Generation);

/// The log of a collection, and the collection's id.
pub(super) async fn find(
    client: &impl GenericClient,
    name: &CollectionName,
) -> Result<(i64, Option<Log>), StoreError> {
    let statement = client.prepare_cached(FIND).await?;
    let row = client.query_opt(&statement, &[&name.as_str()]).await?;
    let row = row.ok_or_else(|| StoreError::NoCollection(name.clone()))?;
    Ok((get(&row, 0)?, log(&row)?))
}

fn log(row: &Row) -> Result<Option<Log>, StoreError> {
    if get::<Option<&str>>(row, 1)?.is_none() {
        return Ok(None);
    }
    let generations: Vec<&str> = get(row, 13)?;
    let (lengths, ends): (Vec<i64>, Vec<i64>) = (get(row, 14)?, get(row, 15)?);
    let earlier = generations.iter().zip(lengths.into_iter().zip(ends));
    let earlier = earlier.map(|(generation, (length, ended))| {
        Ok((parse(generation)?, EndedGeneration { length: length as u64, at: moment(ended) }))
    });
    Ok(Some(Log {
        place: place(row, 1)?,
        media_type: get(row, 3)?,
        removed: get(row, 4)?,
        began: moment(get(row, 5)?),
        changed: moment(get(row, 6)?),
        earlier: earlier.collect::<Result<_, StoreError>>()?,
        snapshot: snapshot(row)?,
    }))
}

/// A position, read from two columns from `first` on.
fn place(row: &Row, first: usize) -> Result<LogPosition, StoreError> {
    let length: i64 = get(row, first + 1)?;
    Ok(LogPosition { generation: parsed(row, first)?, length: length as u64 })
}

fn snapshot(row: &Row) -> Result<Option<LogSnapshot>, StoreError> {
    if get::<Option<&str>>(row, 7)?.is_none() {
        return Ok(None);
    }
    Ok(Some(LogSnapshot {
        covers: place(row, 7)?,
        media_type: get(row, 9)?,
        digest: digest(row, 10)?,
        length: get::<i64>(row, 11)? as u64,
        stored: moment(get(row, 12)?),
    }))
}

/// The greatest generation number of dropped logs.
pub(super) async fn last_dropped(client: &impl GenericClient) -> Result<u64, StoreError> {
    let statement = client.prepare_cached("SELECT last_dropped_generation FROM endpoint").await?;
    Ok(get::<i64>(&client.query_one(&statement, &[]).await?, 0)? as u64)
}

/// Records the generation of a collection's log before the collection is dropped, so that logs created later
/// get greater numbers.
pub(super) async fn drop_with(
    transaction: &Transaction<'_>,
    collection: i64,
) -> Result<(), StoreError> {
    let sql =
        "UPDATE endpoint SET last_dropped_generation = greatest(last_dropped_generation, l.number)
                 FROM (SELECT split_part(generation, '.', 1)::bigint AS number
                         FROM logs WHERE collection = $1) l";
    transaction.execute(sql, &[&collection]).await?;
    Ok(())
}

/// The append that had a key.
pub(super) async fn keyed(
    client: &impl GenericClient,
    collection: i64,
    key: &str,
) -> Result<Option<KeyedAppend>, StoreError> {
    let sql = "SELECT generation, ends, key, digest, length
                 FROM log_keys WHERE collection = $1 AND key = $2";
    let statement = client.prepare_cached(sql).await?;
    let row = client.query_opt(&statement, &[&collection, &key]).await?;
    row.as_ref().map(read_keyed).transpose()
}

/// All stored keyed appends of a log, oldest first.
pub(super) async fn all_keyed(
    client: &impl GenericClient,
    name: &CollectionName,
) -> Result<Vec<KeyedAppend>, StoreError> {
    let sql = "SELECT generation, ends, key, digest, length FROM log_keys
                WHERE collection = (SELECT id FROM collections WHERE name = $1) ORDER BY ordinal";
    client.query(sql, &[&name.as_str()]).await?.iter().map(read_keyed).collect()
}

fn read_keyed(row: &Row) -> Result<KeyedAppend, StoreError> {
    Ok(KeyedAppend {
        end: place(row, 0)?,
        key: get(row, 2)?,
        digest: digest(row, 3)?,
        length: get::<i64>(row, 4)? as u64,
    })
}

pub(super) async fn write(
    transaction: &Transaction<'_>,
    collection: i64,
    log: &Log,
) -> Result<(), StoreError> {
    let sql =
        "INSERT INTO logs (collection, generation, length, media_type, removed, began, changed)
               VALUES ($1, $2, $3, $4, $5, $6, $7)
               ON CONFLICT (collection) DO UPDATE
               SET generation = excluded.generation, length = excluded.length,
                   media_type = excluded.media_type, removed = excluded.removed,
                   began = excluded.began, changed = excluded.changed";
    let statement = transaction.prepare_cached(sql).await?;
    let LogPosition { generation, length } = log.place;
    transaction
        .execute(
            &statement,
            &[
                &collection,
                &generation.to_string(),
                &(length as i64),
                &text(&log.media_type),
                &log.removed,
                &micros(log.began),
                &micros(log.changed),
            ],
        )
        .await?;
    Ok(())
}

/// Writes the list of earlier generations.
pub(super) async fn write_earlier(
    transaction: &Transaction<'_>,
    collection: i64,
    log: &Log,
) -> Result<(), StoreError> {
    let generations: Vec<String> = log.earlier.keys().map(Generation::to_string).collect();
    let lengths: Vec<i64> = log.earlier.values().map(|ended| ended.length as i64).collect();
    let ends: Vec<i64> = log.earlier.values().map(|ended| micros(ended.at)).collect();
    transaction
        .execute("DELETE FROM log_generations WHERE collection = $1", &[&collection])
        .await?;
    transaction
        .execute(
            "INSERT INTO log_generations (collection, generation, length, ended)
             SELECT $1, * FROM unnest($2::text[], $3::bigint[], $4::bigint[])",
            &[&collection, &generations, &lengths, &ends],
        )
        .await?;
    Ok(())
}

/// Writes bytes of a generation, from an offset on. When the generation grows into the next block of the
/// maximum row size, the short rows of the previous block are merged into one. An append therefore writes its
/// bytes twice, and a read touches few rows.
pub(super) async fn write_bytes(
    transaction: &Transaction<'_>,
    (collection, generation): Key,
    start: u64,
    bytes: &[u8],
) -> Result<(), StoreError> {
    let generation = generation.to_string();
    let rows: Vec<&[u8]> = bytes.chunks(ROW).collect();
    let starts: Vec<i64> = (start as i64..).step_by(ROW).take(rows.len()).collect();
    let sql = "INSERT INTO log_bytes (collection, generation, start, bytes)
               SELECT $1, $2, * FROM unnest($3::bigint[], $4::bytea[])";
    let statement = transaction.prepare_cached(sql).await?;
    transaction.execute(&statement, &[&collection, &generation, &starts, &rows]).await?;
    let (row, end) = (ROW as u64, start + bytes.len() as u64);
    if start / row < end / row {
        let (first, start) = ((start - start % row) as i64, start as i64);
        let statement = transaction.prepare_cached(JOIN).await?;
        transaction.execute(&statement, &[&collection, &generation, &first, &start]).await?;
    }
    Ok(())
}

/// Generations that have bytes but are in no other table.
pub(super) async fn orphaned_generations(
    client: &impl GenericClient,
) -> Result<Vec<Key>, StoreError> {
    let rows = client.query(ORPHANED_GENERATIONS, &[]).await?;
    rows.iter().map(|row| Ok((get(row, 0)?, parsed(row, 1)?))).collect()
}

/// Removes some bytes of such a generation; returns whether there may be more.
pub(super) async fn remove_bytes(
    transaction: &Transaction<'_>,
    (collection, generation): Key,
) -> Result<bool, StoreError> {
    let sql = "DELETE FROM log_bytes WHERE collection = $1 AND generation = $2 AND start IN
                 (SELECT start FROM log_bytes WHERE collection = $1 AND generation = $2
                   ORDER BY start LIMIT $3)";
    let statement = transaction.prepare_cached(sql).await?;
    let generation = generation.to_string();
    let gone = transaction.execute(&statement, &[&collection, &generation, &DELETE_ROWS]).await?;
    Ok(gone == DELETE_ROWS as u64)
}

pub(super) async fn write_key(
    transaction: &Transaction<'_>,
    collection: i64,
    keyed: &KeyedAppend,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO log_keys (collection, key, digest, length, generation, ends)
               VALUES ($1, $2, $3, $4, $5, $6)";
    let statement = transaction.prepare_cached(sql).await?;
    transaction
        .execute(
            &statement,
            &[
                &collection,
                &keyed.key,
                &&keyed.digest.as_bytes()[..],
                &(keyed.length as i64),
                &keyed.end.generation.to_string(),
                &(keyed.end.length as i64),
            ],
        )
        .await?;
    let sql = "DELETE FROM log_keys WHERE collection = $1 AND ordinal <=
                 (SELECT ordinal FROM log_keys WHERE collection = $1
                   ORDER BY ordinal DESC LIMIT 1 OFFSET $2)";
    let statement = transaction.prepare_cached(sql).await?;
    transaction.execute(&statement, &[&collection, &(MAX_APPEND_KEYS as i64)]).await?;
    Ok(())
}

pub(super) async fn write_snapshot(
    transaction: &Transaction<'_>,
    collection: i64,
    snapshot: &LogSnapshot,
    content: &[u8],
) -> Result<(), StoreError> {
    let LogPosition { generation, length } = snapshot.covers;
    transaction.execute("DELETE FROM log_snapshots WHERE collection = $1", &[&collection]).await?;
    transaction
        .execute(
            "INSERT INTO log_snapshots
               (collection, generation, covers, media_type, digest, stored, content)
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
            &[
                &collection,
                &generation.to_string(),
                &(length as i64),
                &text(&snapshot.media_type),
                &&snapshot.digest.as_bytes()[..],
                &micros(snapshot.stored),
                &content,
            ],
        )
        .await?;
    Ok(())
}

/// Continues every log in a new generation, because others may have seen more of the last one. The caller has
/// locked the collections.
pub(super) async fn settle(
    transaction: &Transaction<'_>,
    environment: &dyn Environment,
) -> Result<(), StoreError> {
    let sql = "SELECT c.name FROM logs l JOIN collections c ON c.id = l.collection
                WHERE NOT l.removed ORDER BY c.id";
    for row in &transaction.query(sql, &[]).await? {
        let (collection, log) = find(transaction, &parsed(row, 0)?).await?;
        let Some(log) = log else { continue };
        let before = log.place.generation.to_string();
        let log = log.renewed(environment.random() as u32, environment.now());
        let after = log.place.generation.to_string();
        for sql in [
            "UPDATE log_bytes SET generation = $3 WHERE collection = $1 AND generation = $2",
            "UPDATE log_snapshots SET generation = $3 WHERE collection = $1 AND generation = $2",
        ] {
            transaction.execute(sql, &[&collection, &before, &after]).await?;
        }
        write(transaction, collection, &log).await?;
        write_earlier(transaction, collection, &log).await?;
    }
    Ok(())
}
