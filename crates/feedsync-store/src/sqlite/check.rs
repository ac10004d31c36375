//! Consistency check of a file: faults that SQLite itself finds, dangling rows, and wrong counts.

use feedsync_couch::AttachmentDigest;
use rusqlite::{Connection, ErrorCode};

use crate::blob::Digest;
use crate::digests;
use crate::error::StoreError;
use crate::inconsistencies::INCONSISTENCIES;

/// Further kinds of inconsistent rows, each with a description.
const BACKEND_CHECKS: [(&str, &str); 9] = [
    (
        "document bodies without a database",
        "SELECT 1 FROM bodies t WHERE NOT EXISTS (SELECT 1 FROM databases d WHERE d.id = t.key >> 40)",
    ),
    (
        "document bodies with a number that their database has not issued",
        "SELECT 1 FROM bodies t JOIN databases d ON d.id = t.key >> 40
          WHERE t.key & ((1 << 40) - 1) >= d.next_body",
    ),
    (
        "ended revisions whose body is missing",
        "SELECT 1 FROM ended_revisions t JOIN databases d ON d.id = t.database
          WHERE d.name IS NOT NULL AND t.ended > d.history_since
            AND NOT EXISTS (SELECT 1 FROM bodies b WHERE b.key = t.key)",
    ),
    (
        "writers of bodies that are not stored",
        "SELECT 1 FROM body_origins t JOIN databases d ON d.id = t.key >> 40
          WHERE d.name IS NOT NULL AND NOT EXISTS (SELECT 1 FROM bodies b WHERE b.key = t.key)",
    ),
    (
        "unused attachments that are marked as used",
        "SELECT 1 FROM attachment_uses t JOIN databases d ON d.id = t.key >> 40
          WHERE d.name IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM bodies b WHERE b.key = t.key AND b.attachments IS NOT NULL)",
    ),
    (
        "collections with a wrong byte count",
        "SELECT 1 FROM collections c WHERE bytes <>
           (SELECT coalesce(sum(octet_length(i.payload) + coalesce(octet_length(i.sync_foreign), 0)), 0)
              FROM items i WHERE i.collection = c.id)
           + (SELECT coalesce(sum(octet_length(t.payload) + coalesce(octet_length(t.sync_foreign), 0)), 0)
                FROM items i JOIN conflicts t ON t.change_key = i.change_key WHERE i.collection = c.id)",
    ),
    (
        "databases with a wrong byte count of local documents",
        "SELECT 1 FROM databases d WHERE name IS NOT NULL AND local_bytes <>
           (SELECT coalesce(sum(octet_length(text)), 0) FROM local_documents WHERE database = d.id)",
    ),
    (
        "rows of views without a document",
        "SELECT 1 FROM view_rows r JOIN view_sets s ON s.id = r.view_set
                                   JOIN databases b ON b.id = s.database
          WHERE NOT EXISTS
           (SELECT 1 FROM documents d WHERE d.database = b.id AND d.id = r.document)",
    ),
    (
        "contents of a wrong number of rows in views",
        "SELECT 1 FROM view_nodes n JOIN view_sets s ON s.id = n.view_set
          WHERE s.database IS NOT NULL AND n.rows <>
           (SELECT count(*) FROM view_rows r WHERE r.view_set = n.view_set AND r.view = n.view
               AND r.position >= n.position AND r.position < coalesce(
                 (SELECT m.position FROM view_nodes m
                   WHERE m.view_set = n.view_set AND m.view = n.view AND m.level = n.level
                     AND m.position > n.position ORDER BY m.position LIMIT 1), x'ffff'))",
    ),
];

/// Faults that SQLite itself finds in a file of any version, one line each. If SQLite cannot run its check on
/// the file, that is the fault.
pub(super) fn file(connection: &Connection) -> Result<Vec<String>, StoreError> {
    match integrity(connection) {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
            Ok(vec![error.to_string()])
        }
        faults => Ok(faults?),
    }
}

fn integrity(connection: &Connection) -> Result<Vec<String>, rusqlite::Error> {
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

/// Contents that do not have their digests, one line for each kind.
pub(super) fn digests(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut blobs = Vec::new();
    let mut statement = connection.prepare("SELECT digest, content FROM blobs ORDER BY digest")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let digest: String = row.get(0)?;
        if Digest::of(row.get_ref(1)?.as_bytes().unwrap_or_default()).to_string() != digest {
            blobs.push(digest);
        }
    }
    let mut attachments = Vec::new();
    let mut statement = connection.prepare(
        "SELECT name, digest, content FROM attachments JOIN databases ON databases.id = database
          WHERE name IS NOT NULL ORDER BY name, digest",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (database, text): (String, String) = (row.get(0)?, row.get(1)?);
        let bytes = row.get_ref(2)?.as_bytes().unwrap_or_default();
        if !text.parse().is_ok_and(|digest: AttachmentDigest| digest.is_of(bytes)) {
            attachments.push(format!("{database}/{text}"));
        }
    }
    let mut snapshots = Vec::new();
    let mut statement = connection.prepare(
        "SELECT name, digest, content FROM log_snapshots
           JOIN collections ON collections.id = collection ORDER BY name",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let digest: String = row.get(1)?;
        if Digest::of(row.get_ref(2)?.as_bytes().unwrap_or_default()).to_string() != digest {
            snapshots.push(row.get(0)?);
        }
    }
    let kinds = [("files", blobs), ("attachments", attachments), ("snapshots of logs", snapshots)];
    Ok(kinds.iter().filter_map(|(what, names)| digests::finding(what, names)).collect())
}

/// Inconsistent rows, one line for each kind.
pub(super) fn rows(connection: &Connection) -> Result<Vec<String>, StoreError> {
    let mut faults = Vec::new();
    for (what, sql) in INCONSISTENCIES.into_iter().chain(BACKEND_CHECKS) {
        let count: i64 =
            connection.query_row(&format!("SELECT count(*) FROM ({sql})"), [], |row| row.get(0))?;
        if count > 0 {
            faults.push(format!("{what}: {count}"));
        }
    }
    Ok(faults)
}
