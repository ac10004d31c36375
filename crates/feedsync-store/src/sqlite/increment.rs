//! Increments: what changed in a backup since an earlier one, in a file of its own.
//!
//! An increment is a SQLite file with the blocks of the later backup that the earlier one does not have at the same place.
//! Bytes of logs and files beside the store move when the database grows. So the later backup first loses those pieces
//! that both have, and remembers them; they come back from the earlier backup.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use rusqlite::{Connection, OpenFlags, params};
use sha2::{Digest as _, Sha256};

use super::location;
use crate::error::StoreError;

/// Size of a block, in bytes: that of a page of the database.
const BLOCK_BYTES: usize = 4_096;

/// Marks a file as an increment (`application_id`): `fsin`.
const APPLICATION: i64 = 0x6673_696e;

/// Version of the form of an increment (`user_version`).
const VERSION: i64 = 1;

/// Tables with pieces that move, each with the column that is its key beside `start`.
const PIECES: [(&str, &str); 2] = [("log_bytes", "collection"), ("backup_files", "name")];

/// Writes the difference of a later backup to an earlier one. The later backup loses the pieces that both have.
pub(super) fn write(later: &Path, earlier: &Path, increment: &Path) -> Result<(), StoreError> {
    take_common_pieces(later, earlier)?;
    let target = Connection::open(increment)?;
    target.execute_batch(&format!(
        "PRAGMA journal_mode = OFF;
         PRAGMA application_id = {APPLICATION};
         PRAGMA user_version = {VERSION};
         -- Digests (SHA-256) of the earlier backup and of the later one, and the length of the latter.
         CREATE TABLE increment (earlier BLOB NOT NULL, later BLOB NOT NULL, length INTEGER NOT NULL) STRICT;
         -- Blocks of 4,096 bytes, by their place. An empty one has only zeros.
         CREATE TABLE blocks (number INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
         BEGIN;"
    ))?;
    let mut insert = target.prepare("INSERT INTO blocks (number, bytes) VALUES (?1, ?2)")?;
    let (mut before, mut after) = (Blocks::open(earlier)?, Blocks::open(later)?);
    let mut number = 0;
    while let Some(block) = after.next()? {
        let same = before.next()?.is_some_and(|old| old == block);
        if !same {
            let is_zero = block.iter().all(|byte| *byte == 0) && block.len() == BLOCK_BYTES;
            insert.execute(params![number, if is_zero { &[][..] } else { block }])?;
        }
        number += 1;
    }
    drop(insert);
    while before.next()?.is_some() {}
    target.execute(
        "INSERT INTO increment (earlier, later, length) VALUES (?1, ?2, ?3)",
        params![before.digest(), after.digest(), after.length as i64],
    )?;
    target.execute_batch("COMMIT")?;
    target.close().map_err(|(_, error)| error)?;
    sync(increment)
}

/// Makes the later backup of the earlier one and an increment, in an empty file.
pub(super) fn apply(earlier: &Path, increment: &Path, later: &Path) -> Result<(), StoreError> {
    let source = open(increment)?;
    let (before, after, length): (Vec<u8>, Vec<u8>, i64) =
        source.query_row("SELECT earlier, later, length FROM increment", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
    if Blocks::digest_of(earlier)? != before {
        let (increment, earlier) = (increment.display(), earlier.display());
        let fault = format!("{increment} is an increment of another backup than {earlier}");
        return Err(StoreError::Damaged(fault));
    }
    // Every block beyond the end of the earlier backup is in the increment.
    let blocks: i64 = source.query_row("SELECT count(*) FROM blocks", [], |row| row.get(0))?;
    let most = fs::metadata(earlier).map_err(|error| location::failed(earlier, error))?.len()
        + blocks as u64 * BLOCK_BYTES as u64;
    let length = u64::try_from(length).ok().filter(|length| *length <= most);
    let length = length.ok_or_else(|| damaged(increment))?;
    let failed = |error| location::failed(later, error);
    // The mode of the earlier file does not matter: it may be read-only, or readable by others.
    let mut target = fs::OpenOptions::new().write(true).open(later).map_err(failed)?;
    let mut copied = File::open(earlier).map_err(|error| location::failed(earlier, error))?;
    io::copy(&mut copied, &mut target).map_err(failed)?;
    target.set_len(length).map_err(failed)?;
    let mut blocks = source.prepare("SELECT number, bytes FROM blocks ORDER BY number")?;
    let mut blocks = blocks.query([])?;
    while let Some(row) = blocks.next()? {
        let number = u64::try_from(row.get::<_, i64>(0)?).unwrap_or(u64::MAX);
        let place = number.saturating_mul(BLOCK_BYTES as u64);
        if place >= length {
            return Err(damaged(increment));
        }
        let bytes = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        let bytes = if bytes.is_empty() { &[0; BLOCK_BYTES][..] } else { bytes };
        target.seek(SeekFrom::Start(place)).map_err(failed)?;
        target.write_all(bytes).map_err(failed)?;
    }
    target.sync_all().map_err(failed)?;
    drop(target);
    if Blocks::digest_of(later)? != after {
        return Err(damaged(increment));
    }
    put_common_pieces(later, earlier)
}

/// Takes the pieces out of the later backup that are equal in the earlier one.
fn take_common_pieces(later: &Path, earlier: &Path) -> Result<(), StoreError> {
    let connection = attached(later, earlier)?;
    // SQLite overwrites deleted bytes with zeros, and blocks of zeros take no space in an increment.
    connection.execute_batch(
        "PRAGMA main.secure_delete = ON;
         BEGIN;
         CREATE TABLE common_pieces (piece_of TEXT NOT NULL, key NOT NULL, start INTEGER NOT NULL,
                                     PRIMARY KEY (piece_of, key, start));",
    )?;
    for (table, key) in PIECES {
        if !has(&connection, "main", table)? || !has(&connection, "earlier", table)? {
            continue;
        }
        connection.execute_batch(&format!(
            "INSERT INTO common_pieces SELECT '{table}', p.{key}, p.start
               FROM main.{table} p JOIN earlier.{table} e ON e.{key} = p.{key} AND e.start = p.start
              WHERE e.bytes = p.bytes AND p.bytes <> x'';
             UPDATE main.{table} SET bytes = x'' WHERE ({key}, start) IN
               (SELECT key, start FROM common_pieces WHERE piece_of = '{table}');"
        ))?;
    }
    connection.execute_batch("COMMIT")?;
    connection.close().map_err(|(_, error)| error)?;
    Ok(())
}

/// Puts those pieces back.
fn put_common_pieces(later: &Path, earlier: &Path) -> Result<(), StoreError> {
    let connection = attached(later, earlier)?;
    connection.execute_batch("BEGIN")?;
    for (table, key) in PIECES {
        if has(&connection, "main", table)? && has(&connection, "earlier", table)? {
            connection.execute_batch(&format!(
                "UPDATE main.{table} SET bytes =
                   (SELECT e.bytes FROM earlier.{table} e WHERE e.{key} = main.{table}.{key} AND e.start = main.{table}.start)
                  WHERE ({key}, start) IN (SELECT key, start FROM common_pieces WHERE piece_of = '{table}');"
            ))?;
        }
    }
    connection.execute_batch("DROP TABLE common_pieces; COMMIT")?;
    connection.close().map_err(|(_, error)| error)?;
    sync(later)
}

fn attached(later: &Path, earlier: &Path) -> Result<Connection, StoreError> {
    let connection = Connection::open(later)?;
    let path = earlier.to_str().ok_or_else(|| {
        let reason = io::Error::new(io::ErrorKind::InvalidInput, "the path is not UTF-8");
        location::failed(earlier, reason)
    })?;
    connection.execute("ATTACH ?1 AS earlier", [path])?;
    Ok(connection)
}

fn has(connection: &Connection, schema: &str, table: &str) -> Result<bool, StoreError> {
    let sql = format!("SELECT 1 FROM {schema}.sqlite_schema WHERE name = ?1");
    Ok(connection.prepare(&sql)?.exists([table])?)
}

/// Opens an increment.
fn open(increment: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let source = Connection::open_with_flags(increment, flags)?;
    let number = |pragma| source.query_row(pragma, [], |row| row.get::<_, i64>(0)).ok();
    let found = (number("PRAGMA application_id"), number("PRAGMA user_version"));
    match found == (Some(APPLICATION), Some(VERSION)) {
        true => Ok(source),
        false => Err(StoreError::Foreign { path: increment.to_owned() }),
    }
}

fn damaged(increment: &Path) -> StoreError {
    StoreError::Damaged(format!("{} is damaged", increment.display()))
}

fn sync(file: &Path) -> Result<(), StoreError> {
    let synced = File::open(file).and_then(|file| file.sync_all());
    synced.map_err(|error| location::failed(file, error))
}

/// The blocks of a file, one after the other, with their digest.
struct Blocks<'a> {
    path: &'a Path,
    file: io::BufReader<File>,
    block: Vec<u8>,
    digest: Sha256,
    length: u64,
}

impl<'a> Blocks<'a> {
    fn open(path: &'a Path) -> Result<Self, StoreError> {
        let file = File::open(path).map_err(|error| location::failed(path, error))?;
        let file = io::BufReader::with_capacity(1 << 20, file);
        Ok(Self { path, file, block: Vec::new(), digest: Sha256::new(), length: 0 })
    }

    /// Digest of a whole file.
    fn digest_of(path: &'a Path) -> Result<Vec<u8>, StoreError> {
        let mut blocks = Self::open(path)?;
        while blocks.next()?.is_some() {}
        Ok(blocks.digest())
    }

    /// The next block; the last one may be shorter.
    fn next(&mut self) -> Result<Option<&[u8]>, StoreError> {
        self.block.clear();
        let read = self.file.by_ref().take(BLOCK_BYTES as u64).read_to_end(&mut self.block);
        let count = read.map_err(|error| location::failed(self.path, error))?;
        self.digest.update(&self.block);
        self.length += count as u64;
        Ok(Some(&*self.block).filter(|block| !block.is_empty()))
    }

    /// Digest of the blocks so far.
    fn digest(&self) -> Vec<u8> {
        self.digest.clone().finalize().to_vec()
    }
}
