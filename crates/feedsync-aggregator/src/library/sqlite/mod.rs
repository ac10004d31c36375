//! A library in one SQLite file.
//!
//! One thread writes, and commits queued work together. Other threads read snapshots without waiting for it.
//! Several processes may have the file open; its lock serialises their writes. A commit that assigns numbers is
//! synchronised to the disk before it becomes visible (write-ahead log, `synchronous = FULL`). Other commits do
//! not wait for the disk (`NORMAL`). The tables are defined in `migrations/`.

mod articles;
mod columns;
#[cfg(feature = "postgres")]
mod export;
mod feeds;
mod icons;
mod library;
mod list;
mod lookups;
mod polling;
mod schema;
mod search;
mod settle;
mod subscriptions;
mod sweep;

use std::path::{Path, PathBuf};

#[cfg(feature = "postgres")]
use feedsync_reader_api::{ArticleNumber, FeedNumber};
use feedsync_store::owned;
use feedsync_store::sqlite_support::{ReadPool, Writer};
use rusqlite::backup::Backup;

use crate::library::error::LibraryError;
use schema::{SCHEMA, SETTINGS};

#[cfg(feature = "postgres")]
pub(crate) use export::{ExportedArticle, ExportedFeed};

/// Name of the file in the directory.
const FILE: &str = "articles.sqlite3";

/// A library in the file `articles.sqlite3` of a directory. Dropping it writes the queued work and waits for its
/// threads.
pub struct SqliteLibrary {
    readers: ReadPool<LibraryError>,
    /// Dropped last: the last connection to close the file checkpoints the log completely.
    writer: Writer<LibraryError>,
}

impl SqliteLibrary {
    /// Opens or creates the library of a directory, and creates the directory if necessary. New files are
    /// readable by their owner only.
    pub fn open(directory: &Path) -> Result<Self, LibraryError> {
        let failed = |source| LibraryError::file(directory, source);
        owned::make_directory(directory).map_err(failed)?;
        let file = directory.join(FILE);
        owned::make_file(&file).map_err(|source| LibraryError::file(&file, source))?;
        let mut connection = SETTINGS.connect(&file)?;
        SCHEMA.open(&mut connection, &file)?;
        owned::sync_directory(directory).map_err(failed)?;
        let threads = std::thread::available_parallelism().map_or(2, |count| count.get());
        let readers: Result<_, _> =
            (0..threads.clamp(2, 4)).map(|_| SETTINGS.connect_reader(&file)).collect();
        Ok(Self {
            readers: ReadPool::start("feedsync-articles", readers?)?,
            writer: Writer::start("feedsync-articles", connection, ())?,
        })
    }

    /// Opens the library of a directory like [`SqliteLibrary::open`]. A damaged or foreign file is renamed to the
    /// returned name, and a new library is created, for which feeds are fetched again. Nothing is deleted.
    pub fn open_or_set_aside(directory: &Path) -> Result<(Self, Option<PathBuf>), LibraryError> {
        let opened = match Self::check(directory) {
            Ok(()) => Self::open(directory),
            Err(error) => Err(error),
        };
        match opened {
            Ok(library) => Ok((library, None)),
            Err(error) if error.is_damage(&directory.join(FILE)) => {
                let aside = set_aside(directory)?;
                Ok((Self::open(directory)?, Some(aside)))
            }
            Err(error) => Err(error),
        }
    }

    /// Name of its file in a directory.
    pub const FILE: &'static str = FILE;

    /// Copies the library of a directory, while it is in use, into a file; returns whether there is a library.
    pub fn copy(directory: &Path, target: &Path) -> Result<bool, LibraryError> {
        let file = directory.join(FILE);
        if !file.exists() {
            return Ok(false);
        }
        let source = SETTINGS.connect_reader(&file)?;
        let mut target = SETTINGS.connect(target)?;
        // A single step is a snapshot of one moment.
        Backup::new(&source, &mut target)?.step(-1)?;
        target.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
        Ok(true)
    }

    /// Checks the library of a directory without changing it. A missing library is valid.
    pub fn check(directory: &Path) -> Result<(), LibraryError> {
        let file = directory.join(FILE);
        if !file.exists() || file.metadata().is_ok_and(|found| found.is_file() && found.len() == 0)
        {
            return Ok(());
        }
        schema::check(&SETTINGS.connect_reader(&file)?)
    }
}

/// Its rows as they are. The calls of one export see the same state only if nobody writes meanwhile.
#[cfg(feature = "postgres")]
impl SqliteLibrary {
    pub(crate) async fn last_numbers(&self) -> Result<(i64, i64), LibraryError> {
        self.readers.read(export::last_numbers).await
    }

    pub(crate) async fn export_feeds(&self) -> Result<Vec<ExportedFeed>, LibraryError> {
        self.readers.read(export::feeds).await
    }

    pub(crate) async fn export_subscriptions(
        &self,
    ) -> Result<Vec<(String, FeedNumber)>, LibraryError> {
        self.readers.read(export::subscriptions).await
    }

    pub(crate) async fn export_articles(
        &self,
        after: ArticleNumber,
        most: usize,
    ) -> Result<Vec<ExportedArticle>, LibraryError> {
        self.readers.read(move |connection| export::articles_after(connection, after, most)).await
    }
}

/// Renames the library and the files of SQLite beside it; returns the new name.
fn set_aside(directory: &Path) -> Result<PathBuf, LibraryError> {
    let name = |number: u64, end: &str| directory.join(format!("{FILE}.damaged-{number}{end}"));
    let is_free = |number: &u64| !name(*number, "").exists();
    let number = (1..).find(is_free).unwrap_or_default();
    for end in ["-wal", "-shm", ""] {
        let file = directory.join(format!("{FILE}{end}"));
        if file.exists() {
            std::fs::rename(&file, name(number, end))
                .map_err(|source| LibraryError::file(&file, source))?;
        }
    }
    Ok(name(number, ""))
}
