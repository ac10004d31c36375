//! Detection of an older state of the database that was restored at the same location.
//!
//! A nonce is stored both in the database and in the file `feedsync.life` next to it. Both are renewed
//! together: with the first commit of a process, with one commit in each minute in which it writes, and when
//! it ends after having written. An older copy of the database therefore has another nonce than the file.
//! When a store is opened:
//!
//! - If both are equal, the database is in its last state.
//! - If they differ, or only one of them exists, the database was restored (possibly to a version without
//!   nonces), or the process crashed between the two writes. The store continues as a new incarnation in new
//!   epochs. Peers then have to read the complete feed, and nothing is lost.
//! - If neither exists, the database is older than nonces, or its creation was interrupted after its first commit; it
//!   continues unchanged.
//!
//! Before the database commits, the file is synchronized and renamed into place, both under the database's
//! lock. A crash between these steps leaves the nonces unequal: this causes a needless new incarnation, but
//! never an undetected old state. A process that finds them unequal while it writes leaves them so for the
//! next one that opens the store. Several processes may have the store open: each checks under the lock, and
//! those that opened it earlier have already checked.
//!
//! Three cases are not detected: the database and `feedsync.life` copied together and restored together over
//! the existing files; a disk or machine reset to a snapshot; and a copy made in the last minute of a process
//! that was then killed. In these cases the ledger and the peers limit the damage. An endpoint that receives
//! its own `by` with a higher sequence than it has issued mints a new incarnation. A subscriber whose `until`
//! is above a collection's last change is out of sync and reads everything. If the file of a log was not
//! restored too, it is longer than the database states, and the log continues in a new generation.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::location;
use crate::environment::{Environment as _, SystemEnvironment};
use crate::error::StoreError;

const FILE: &str = "feedsync.life";

/// Interval after which a process that writes renews the nonces.
const RENEWAL_PERIOD: Duration = Duration::from_secs(60);

/// Whether a directory held a store whose database is missing or empty, although other files of the store
/// exist.
pub(super) fn is_lost(directory: &Path) -> bool {
    let wal = directory.join(format!("{}-wal", location::FILE));
    !location::exists(directory) && (exists(directory) || location::has_content(&wal))
}

/// Whether a directory has a file with a nonce.
pub(super) fn exists(directory: &Path) -> bool {
    location::has_content(&directory.join(FILE))
}

/// Whether the nonces in the database and in the file are equal.
pub(super) fn agrees(connection: &Connection, directory: &Path) -> Result<bool, StoreError> {
    let stored: Option<String> =
        connection.query_row("SELECT life FROM endpoint", [], |row| row.get(0))?;
    let file = directory.join(FILE);
    let beside = match fs::read(&file) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(location::failed(&file, error)),
    };
    Ok(stored.map(String::into_bytes) == beside)
}

/// Writes a new nonce into both; the caller must commit immediately.
pub(super) fn begin(connection: &Connection, directory: &Path) -> Result<(), StoreError> {
    // The nonce only has to be unique, even between simulations with the same seed, so it uses the system's
    // randomness.
    let system = SystemEnvironment;
    let nonce = format!("{:016x}{:016x}", system.random(), system.random());
    connection.prepare_cached("UPDATE endpoint SET life = ?1")?.execute([&nonce])?;
    let file = directory.join(FILE);
    let partial = directory.join(format!("{FILE}.partial"));
    write(&partial, &nonce).map_err(|error| location::failed(&partial, error))?;
    fs::rename(&partial, &file).map_err(|error| location::failed(&file, error))?;
    location::sync_directory(directory)
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

/// Schedule of renewals in a process that writes.
pub(super) struct NonceRenewal {
    directory: PathBuf,
    renewed: Option<Instant>,
    written_since: bool,
}

impl NonceRenewal {
    pub(super) fn new(directory: PathBuf) -> Self {
        Self { directory, renewed: None, written_since: false }
    }

    /// Renews the nonces if that is due; must be the last step before a commit. Returns whether it renewed
    /// them.
    pub(super) fn renew_if_due(&self, connection: &Connection) -> Result<bool, StoreError> {
        let due = self.renewed.is_none_or(|renewed| renewed.elapsed() >= RENEWAL_PERIOD);
        let renews = due && agrees(connection, &self.directory)?;
        if renews {
            begin(connection, &self.directory)?;
        }
        Ok(renews)
    }

    /// Records a commit; must be called after it.
    pub(super) fn committed(&mut self, renewed: bool) {
        self.written_since = !renewed;
        if renewed {
            self.renewed = Some(Instant::now());
        }
    }

    /// Renews the nonces at the end of a process, so that copies made since the last renewal are detected as
    /// old.
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
