//! What can be wrong with a file: what SQLite itself finds, and rows that belong to nothing or are counted wrongly.
//!
//! Rows of databases and documents refer to one another without foreign keys, since what was dropped goes piece by piece.

use rusqlite::Connection;

use crate::error::StoreError;

/// Rows that there are none of in a sound file, each kind with its name.
const IMPOSSIBLE: [(&str, &str); 8] = [
    (
        "documents of no database",
        "SELECT 1 FROM documents t WHERE NOT EXISTS (SELECT 1 FROM databases d WHERE d.id = t.database)",
    ),
    (
        "documents with a number that their database has not reached",
        "SELECT 1 FROM documents t JOIN databases d ON d.id = t.database WHERE t.number > d.last",
    ),
    (
        "databases whose count of documents is wrong",
        "SELECT 1 FROM databases d WHERE name IS NOT NULL AND (documents, deleted) <>
           (SELECT count(*) FILTER (WHERE NOT t.deleted), count(*) FILTER (WHERE t.deleted)
              FROM documents t WHERE t.database = d.id)",
    ),
    (
        "what documents say, of no database",
        "SELECT 1 FROM bodies t WHERE NOT EXISTS (SELECT 1 FROM databases d WHERE d.id = t.key >> 40)",
    ),
    (
        "what documents say under a number that their database has not given out",
        "SELECT 1 FROM bodies t JOIN databases d ON d.id = t.key >> 40
          WHERE t.key & ((1 << 40) - 1) >= d.next_body",
    ),
    (
        "local documents of no database",
        "SELECT 1 FROM local_documents t WHERE NOT EXISTS (SELECT 1 FROM databases d WHERE d.id = t.database)",
    ),
    (
        "attachments of no database",
        "SELECT 1 FROM attachments t WHERE NOT EXISTS (SELECT 1 FROM databases d WHERE d.id = t.database)",
    ),
    (
        "attachments that nothing names and that are said to be named",
        "SELECT 1 FROM attachment_uses t JOIN databases d ON d.id = t.key >> 40
          WHERE d.name IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM bodies b WHERE b.key = t.key AND b.attachments IS NOT NULL)",
    ),
];

/// What SQLite itself finds wrong with a file, of whatever version, one line each.
pub(super) fn file(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut faults = Vec::new();
    let mut statement = connection.prepare("PRAGMA integrity_check")?;
    let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
    for line in lines {
        faults.extend(Some(line?).filter(|line| line != "ok"));
    }
    let mut statement = connection.prepare("PRAGMA foreign_key_check")?;
    let tables = statement.query_map([], |row| row.get::<_, String>(0))?;
    for table in tables {
        faults.push(format!("a row of {} refers to nothing", table?));
    }
    Ok(faults)
}

/// Rows that cannot be, one line for each kind of them.
pub(super) fn rows(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut faults = Vec::new();
    for (what, sql) in IMPOSSIBLE {
        let count: i64 =
            connection.query_row(&format!("SELECT count(*) FROM ({sql})"), [], |row| row.get(0))?;
        if count > 0 {
            faults.push(format!("{what}: {count}"));
        }
    }
    Ok(faults)
}
