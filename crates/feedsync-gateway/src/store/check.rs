//! Verification of all stored bytes against their digests, also while a gateway uses the store.

use std::fs::File;
use std::path::Path;

use feedsync_bitsy::interceptor::{Content, Digest};
use rusqlite::{Connection, OptionalExtension as _};

use super::columns::Columns;
use super::contents::{self, digest_of};
use super::data_directory;
use super::error::StoreError;
use super::schema::SETTINGS;

/// A fault of the stored data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Address, edit or error that the bytes belong to, or the part of the database.
    pub about: String,
    /// Description of the fault.
    pub message: String,
}

/// Verifies all bytes of a gateway's data directory. A directory without a store has no faults.
pub fn check(directory: &Path) -> Result<Vec<Fault>, StoreError> {
    let file = directory.join(data_directory::DATABASE);
    if !file.exists() {
        return Ok(Vec::new());
    }
    let connection = SETTINGS.connect_reader(&file)?;
    let mut faults = Vec::new();
    let mut statement = connection.prepare("PRAGMA quick_check")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let message: String = row.get(0)?;
        if message != "ok" {
            faults.push(Fault { about: file.display().to_string(), message });
        }
    }
    let mut statement = connection.prepare("SELECT digest, length, bytes FROM content")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let mut row = Columns::of(row);
        let content = row.content()?;
        let bytes: Option<Vec<u8>> = row.get()?;
        let found = match bytes {
            Some(bytes) => Ok(Content::of(&bytes)),
            None => {
                let path =
                    contents::path_of(&directory.join(data_directory::CONTENTS), &content.digest);
                File::open(&path).and_then(|mut file| digest_of(&mut file))
            }
        };
        let message = match found {
            Ok(found) if found == content => continue,
            Ok(_) => format!("the stored bytes with the digest {} are damaged", content.digest),
            Err(error) => {
                format!(
                    "the stored bytes with the digest {} cannot be read: {error}",
                    content.digest
                )
            }
        };
        faults.push(Fault { about: owner(&connection, &content.digest)?, message });
    }
    Ok(faults)
}

/// Name of the record that uses the bytes of a digest.
fn owner(connection: &Connection, digest: &Digest) -> Result<String, StoreError> {
    let owners = [
        "SELECT 'edit ' || id || ' of ' || location FROM edit WHERE body = ?1 OR was = ?1",
        "SELECT location FROM representation WHERE content = ?1",
        "SELECT 'error ' || id || ' of ' || location FROM error
             WHERE request_body = ?1 OR response_body = ?1 OR was = ?1",
        "SELECT 'an answer to a newsreader' FROM kept WHERE content = ?1",
    ];
    for sql in owners {
        let owner = connection.prepare_cached(sql)?.query_row([digest.0], |row| row.get(0));
        if let Some(owner) = owner.optional()? {
            return Ok(owner);
        }
    }
    Ok("unused stored bytes".to_owned())
}
