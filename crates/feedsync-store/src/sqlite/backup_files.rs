//! Files of a data directory in a backup, beside the store: settings, logins, articles.

use std::fs::{self, File};
use std::io::{BufReader, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};

use rusqlite::{Connection, params};

use super::{copy, location};
use crate::error::StoreError;

/// Size of the pieces of files in a backup, in bytes. An increment repeats the pieces that changed.
const PIECE_BYTES: usize = 64 << 10;

/// A file that a backup holds beside the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupFile {
    /// Name in the backup: a path below the data directory, with `/` between its parts.
    pub name: String,
    /// File with its content. It must not change while the backup is made.
    pub content: PathBuf,
}

/// Whether a backup holds files beside the store.
pub(super) fn contains_files(connection: &Connection) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM sqlite_schema WHERE name = 'backup_files'";
    Ok(connection.prepare(sql)?.exists([])?)
}

/// Adds files to a backup.
pub(super) fn pack(backup: &mut Connection, files: &[BackupFile]) -> Result<(), StoreError> {
    let transaction = backup.transaction()?;
    transaction.execute_batch(
        "-- Files beside the store, piece by piece: only a backup has them.
         CREATE TABLE backup_files (
           name  TEXT    NOT NULL,
           start INTEGER NOT NULL,
           bytes BLOB    NOT NULL,
           PRIMARY KEY (name, start)
         ) STRICT;",
    )?;
    let sql = "INSERT INTO backup_files (name, start, bytes) VALUES (?1, ?2, ?3)";
    let mut insert = transaction.prepare(sql)?;
    for BackupFile { name, content } in files {
        let failed = |error| location::failed(content, error);
        let mut file = BufReader::new(File::open(content).map_err(failed)?);
        let mut start = 0;
        loop {
            let mut piece = Vec::new();
            let most = PIECE_BYTES as u64;
            file.by_ref().take(most).read_to_end(&mut piece).map_err(failed)?;
            // An empty file has one empty piece.
            if !piece.is_empty() || start == 0 {
                insert.execute(params![name, start, piece])?;
            }
            start += piece.len() as i64;
            if piece.len() < PIECE_BYTES {
                break;
            }
        }
    }
    drop(insert);
    Ok(transaction.commit()?)
}

/// Writes the files of a backup into a directory, readable by the owner only. Files that exist there stay. Returns
/// their names.
pub(super) fn unpack(backup: &Connection, directory: &Path) -> Result<Vec<String>, StoreError> {
    if !contains_files(backup)? {
        return Ok(Vec::new());
    }
    let mut names = backup.prepare("SELECT DISTINCT name FROM backup_files ORDER BY name")?;
    let names: Vec<String> = names.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut stayed = Vec::new();
    for name in names {
        let path = directory.join(inside(&name)?);
        if path.exists() {
            stayed.push(name);
            continue;
        }
        let parent = location::parent(&path);
        location::make_directory(&parent)?;
        // A restore that is interrupted leaves no file that looks complete.
        let partial = copy::with_suffix(&path, ".partial");
        copy::remove(&partial)?;
        location::make_file(&partial)?;
        write(backup, &name, &partial)?;
        fs::rename(&partial, &path).map_err(|error| location::failed(&path, error))?;
        location::sync_directory(&parent)?;
    }
    Ok(stayed)
}

fn write(backup: &Connection, name: &str, path: &Path) -> Result<(), StoreError> {
    let failed = |error| location::failed(path, error);
    let mut file = fs::OpenOptions::new().write(true).open(path).map_err(failed)?;
    let sql = "SELECT bytes FROM backup_files WHERE name = ?1 ORDER BY start";
    let mut pieces = backup.prepare(sql)?;
    let mut pieces = pieces.query([name])?;
    while let Some(row) = pieces.next()? {
        let bytes = row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?;
        file.write_all(bytes).map_err(failed)?;
    }
    file.sync_all().map_err(failed)
}

/// The path of a name, which must stay below the data directory. A backup may come from anywhere.
fn inside(name: &str) -> Result<PathBuf, StoreError> {
    let path = PathBuf::from(name);
    let is_inside = path.components().all(|part| matches!(part, Component::Normal(_)));
    let is_store = name.starts_with("feedsync.") && name != "feedsync.toml";
    if name.is_empty() || !is_inside || is_store || name.contains(['\\', ':', '\0']) {
        let fault = format!("it holds a file of the invalid name {name:?}");
        return Err(StoreError::Damaged(fault));
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(files: &[(&str, &[u8])]) -> (tempfile::TempDir, Connection) {
        let directory = tempfile::tempdir().unwrap();
        let file = |(number, (name, bytes)): (usize, &(&str, &[u8]))| {
            let content = directory.path().join(number.to_string());
            fs::write(&content, bytes).unwrap();
            BackupFile { name: (*name).to_owned(), content }
        };
        let files: Vec<_> = files.iter().enumerate().map(file).collect();
        let mut backup = Connection::open_in_memory().unwrap();
        pack(&mut backup, &files).unwrap();
        (directory, backup)
    }

    #[test]
    fn files_come_back_as_they_were_and_existing_ones_stay() {
        let long = vec![7; 3 * PIECE_BYTES];
        let (directory, backup) = packed(&[
            ("articles.sqlite3", &long),
            ("empty", b""),
            ("authority/key.pem", b"secret"),
            ("feedsync.toml", b"of the backup"),
        ]);
        let target = directory.path().join("target");
        fs::create_dir(&target).unwrap();
        fs::write(target.join("feedsync.toml"), "of the machine").unwrap();
        fs::write(target.join("empty.partial"), "of an interrupted restore").unwrap();
        assert_eq!(unpack(&backup, &target).unwrap(), ["feedsync.toml"]);
        assert_eq!(fs::read(target.join("articles.sqlite3")).unwrap(), long);
        assert_eq!(fs::read(target.join("empty")).unwrap(), b"");
        assert_eq!(fs::read(target.join("authority/key.pem")).unwrap(), b"secret");
        assert_eq!(fs::read(target.join("feedsync.toml")).unwrap(), b"of the machine");
        assert!(!target.join("empty.partial").exists());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |name: &str| fs::metadata(target.join(name)).unwrap().permissions().mode();
            assert_eq!(mode("authority/key.pem") & 0o777, 0o600);
            assert_eq!(mode("authority") & 0o777, 0o700);
        }
    }

    #[test]
    fn a_backup_without_files_has_none() {
        let directory = tempfile::tempdir().unwrap();
        let backup = Connection::open_in_memory().unwrap();
        assert_eq!(unpack(&backup, directory.path()).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn no_file_leaves_the_directory_or_replaces_the_store() {
        let names = [
            "../x",
            "/etc/x",
            "a/../../x",
            "",
            "feedsync.db",
            "feedsync.db-wal",
            "c:x",
            "a\\b",
            ".",
        ];
        for name in names {
            let (directory, backup) = packed(&[(name, b"x")]);
            let target = directory.path().join("target");
            fs::create_dir(&target).unwrap();
            let error = unpack(&backup, &target).unwrap_err();
            assert!(matches!(error, StoreError::Damaged(_)), "{name}: {error}");
            assert_eq!(fs::read_dir(&target).unwrap().count(), 0, "{name}");
        }
    }
}
