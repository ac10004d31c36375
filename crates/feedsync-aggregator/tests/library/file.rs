//! Tests of the file of a library, and of other files.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use feedsync_aggregator::{Library, LibraryError, Selection, SqliteLibrary};
use rusqlite::Connection;

use crate::samples::{article, at, feeds, told};
use crate::wait;

fn refused(directory: &Path) -> LibraryError {
    SqliteLibrary::open(directory).map(drop).unwrap_err()
}

#[test]
fn foreign_files_are_refused_and_left_unchanged() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("articles.sqlite3");
    fs::write(&file, "a diary, and no database at all\n".repeat(100)).unwrap();
    let before = fs::read(&file).unwrap();
    assert!(matches!(refused(directory.path()), LibraryError::Foreign { .. }));
    assert_eq!(fs::read(&file).unwrap(), before);

    fs::remove_file(&file).unwrap();
    let connection = Connection::open(&file).unwrap();
    connection.execute_batch("CREATE TABLE diary (day TEXT)").unwrap();
    drop(connection);
    let before = fs::read(&file).unwrap();
    assert!(matches!(refused(directory.path()), LibraryError::Foreign { .. }));
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn a_newer_library_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let library: Arc<dyn Library> = Arc::new(SqliteLibrary::open(directory.path()).unwrap());
    drop(library);
    let connection = Connection::open(directory.path().join("articles.sqlite3")).unwrap();
    connection.pragma_update(None, "user_version", 900).unwrap();
    drop(connection);
    let error = refused(directory.path());
    assert!(matches!(error, LibraryError::Newer { found: 900, .. }), "{error}");
}

/// For each lost page, reads that need it report the damage, and others work.
#[test]
fn damage_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let library: Arc<dyn Library> = Arc::new(SqliteLibrary::open(directory.path()).unwrap());
    let feed = feeds(&library, 1)[0];
    let said = "x".repeat(600);
    let articles = (0..100).map(|number| article(&format!("{number}"), Some(number), &said));
    wait(library.settle(feed, told(articles), at(200))).unwrap();
    drop(library);
    let file = directory.path().join("articles.sqlite3");
    let whole = fs::read(&file).unwrap();
    let pages = whole.len() / 4_096;
    assert!(pages > 30, "{pages}");
    let mut told_of = 0;
    for page in 0..pages {
        let mut damaged = whole.clone();
        damaged[page * 4_096..][..4_096].fill(0xff);
        fs::write(&file, &damaged).unwrap();
        let used = SqliteLibrary::open(directory.path()).and_then(|library| {
            let everything = Selection { feeds: vec![feed], most: 900, ..Selection::default() };
            let list = wait(library.list(everything))?;
            let numbers: Vec<_> = list.iter().map(|row| row.number).collect();
            wait(library.articles(&numbers)).map(drop)
        });
        match used {
            Ok(()) => {}
            Err(LibraryError::Damaged(_)) => told_of += 1,
            Err(LibraryError::Foreign { .. }) => assert_eq!(page, 0),
            Err(error) => panic!("page {page}: {error}"),
        }
    }
    // The remaining pages contain indexes that these reads do not use, or nothing.
    assert!(told_of * 5 > pages * 2, "{told_of} of {pages}");
}

#[cfg(unix)]
#[test]
fn files_are_readable_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt as _;
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("data");
    let library: Arc<dyn Library> = Arc::new(SqliteLibrary::open(&directory).unwrap());
    feeds(&library, 1);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    let files: Vec<_> =
        fs::read_dir(&directory).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(files.len() > 1, "{files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{file:?}");
    }
}
