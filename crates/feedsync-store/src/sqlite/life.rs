//! How an older state of the database, put back where it was, is told from the last one.
//!
//! A nonce stands both in the database and in the file `feedsync.life` beside it. Both are renewed
//! together: with the first commit of a process, with one in each minute in which it writes, and
//! when it ends after having written. So an older copy of the database holds another nonce than the
//! file. What a store finds when it is opened means:
//!
//! - Both are equal: this is the state that was left here.
//! - They differ, or only one of them is there: the database was put back (also one of before there
//!   were nonces), or the process died between the two writes. The store goes on as a new
//!   incarnation in new epochs; that costs peers a complete feed and loses nothing.
//! - Neither is there: the database is from before there were nonces, and stays what it was.
//!
//! The file is renamed into place, synchronised, before the database commits, and both under the
//! database's lock. So whoever dies between them leaves them unequal: a needless new incarnation,
//! never an old state that goes unnoticed. A process that finds them unequal while it writes leaves
//! them so for the next one that opens the store. That several processes have it open is no
//! difference: each looks under the lock, and those that opened it earlier have already looked.
//!
//! Not noticed in this way: the database and `feedsync.life` copied together and put back together
//! over the files that are there, a disk or a machine put back to a snapshot, and a copy made in the
//! last minute of a process that was then killed. There the ledger and the peers remain: an endpoint
//! that meets its own `by` above what it has issued mints a new incarnation, and a subscriber whose
//! `until` is above a collection's last change is out of step and reads all. A log whose file was not put
//! back too is longer than the database knows, and goes on in a new generation.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::{SqliteStore, place};
use crate::environment::{Environment as _, SystemEnvironment};
use crate::error::StoreError;

const FILE: &str = "feedsync.life";

/// A process that writes renews the nonces after so long.
const PERIOD: Duration = Duration::from_secs(60);

impl SqliteStore {
    /// Whether a directory held a store whose database is gone or empty: files that a store has beside it are still
    /// there.
    pub fn is_lost(directory: &Path) -> bool {
        let has_content = |name: &str| {
            directory.join(name).metadata().is_ok_and(|file| file.is_file() && file.len() > 0)
        };
        let wal = format!("{}-wal", place::FILE);
        !Self::exists(directory) && (has_content(FILE) || has_content(&wal))
    }
}

/// Whether the database holds the nonce that the file beside it holds.
pub(super) fn agrees(connection: &Connection, directory: &Path) -> Result<bool, StoreError> {
    let stored: Option<String> =
        connection.query_row("SELECT life FROM endpoint", [], |row| row.get(0))?;
    let file = directory.join(FILE);
    let beside = match fs::read(&file) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(place::failed(&file, error)),
    };
    Ok(stored.map(String::into_bytes) == beside)
}

/// Writes a fresh nonce into both; to be committed at once.
pub(super) fn begin(connection: &Connection, directory: &Path) -> Result<(), StoreError> {
    // Of no consequence but to be another one: not even a simulated world may draw it twice.
    let system = SystemEnvironment;
    let nonce = format!("{:016x}{:016x}", system.random(), system.random());
    connection.prepare_cached("UPDATE endpoint SET life = ?1")?.execute([&nonce])?;
    let file = directory.join(FILE);
    let partial = directory.join(format!("{FILE}.partial"));
    write(&partial, &nonce).map_err(|error| place::failed(&partial, error))?;
    fs::rename(&partial, &file).map_err(|error| place::failed(&file, error))?;
    place::sync_directory(directory)
}

fn write(file: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(file)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// When a process that writes renews the nonces.
pub(super) struct Life {
    directory: PathBuf,
    renewed: Option<Instant>,
    written_since: bool,
}

impl Life {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory, renewed: None, written_since: false }
    }

    /// To be called last before a commit; true if the commit renews.
    pub(super) fn renew_if_due(&self, connection: &Connection) -> Result<bool, StoreError> {
        let due = self.renewed.is_none_or(|renewed| renewed.elapsed() >= PERIOD);
        let renews = due && agrees(connection, &self.directory)?;
        if renews {
            begin(connection, &self.directory)?;
        }
        Ok(renews)
    }

    /// To be called when it is committed.
    pub(super) fn committed(&mut self, renewed: bool) {
        self.written_since = !renewed;
        if renewed {
            self.renewed = Some(Instant::now());
        }
    }

    /// Renews at the end of a process, so that a copy made since the last time is known as old.
    pub(super) fn end(&self, connection: &mut Connection) -> Result<(), StoreError> {
        if self.written_since {
            let transaction =
                connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
            if agrees(&transaction, &self.directory)? {
                begin(&transaction, &self.directory)?;
            }
            transaction.commit()?;
        }
        Ok(())
    }
}
