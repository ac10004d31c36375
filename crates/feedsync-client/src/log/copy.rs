//! A copy of a log in a file, which is updated with new records.
//!
//! The file holds whole lines of the log, unchanged. The length of the valid copy is stored in
//! `{file}.position`. Bytes after it, as a crash may leave, are cut off. A log that turns out to be another
//! one, or its next generation, is copied from its beginning. The copy then holds what that log holds.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use feedsync_log::{Event, Position, RecordId, Session, Start};
use serde::{Deserialize, Serialize};

use super::{Follower, LogError};
use crate::atomic_file::{FileReaders, beside, replace_by};

/// A copy of a log. A lock excludes other writers.
#[derive(Debug)]
pub struct LogCopy {
    path: PathBuf,
    known: CopyState,
    /// Number of bytes that this session added.
    added: u64,
    _lock: File,
}

/// Content of the file `.position`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct CopyState {
    /// Position up to which the log was read, which is the length of the copy.
    position: Position,
    /// Whether the file is a copy of a log, even if it is empty.
    #[serde(default)]
    begun: bool,
}

/// Reason for failing to update a copy.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The log could not be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Message of the system.
        source: io::Error,
    },
    /// The file `.position` is invalid or does not fit the copy.
    #[error("{path}: {reason}; remove this file and the copy to start again")]
    Position {
        /// Path of the file.
        path: PathBuf,
        /// The fault in it.
        reason: String,
    },
}

impl LogCopy {
    /// Opens the copy in a file, or starts one if there is none. Waits until no other process writes it.
    pub fn open(path: &Path) -> Result<Self, CopyError> {
        let guard = beside(path, ".lock");
        let locked = File::create(&guard).and_then(|file| file.lock().map(|()| file));
        let lock = locked.map_err(|source| CopyError::File { path: guard, source })?;
        let beside = beside(path, ".position");
        let known: CopyState = match fs::read(&beside) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| CopyError::Position {
                path: beside.clone(),
                reason: error.to_string(),
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => CopyState::default(),
            Err(source) => return Err(CopyError::File { path: beside, source }),
        };
        let length = fs::metadata(path).map_or(0, |file| file.len());
        if length < known.position.offset {
            let reason = "the copy is shorter than it was".to_owned();
            return Err(CopyError::Position { path: beside, reason });
        }
        if !known.begun && length > 0 {
            let reason = "there is a file that is no copy of a log".to_owned();
            return Err(CopyError::Position { path: path.to_owned(), reason });
        }
        Ok(Self { path: path.to_owned(), known, added: 0, _lock: lock })
    }

    /// Returns a session that continues at the end of the copy.
    pub fn session(&self) -> Session {
        Session::new(Some(self.known.position.clone()), Start::Copy)
    }

    /// Returns the number of bytes that this session added.
    pub fn added(&self) -> u64 {
        self.added
    }

    /// Returns the length of the copy in bytes.
    pub fn length(&self) -> u64 {
        self.known.position.offset
    }

    fn append(&mut self, bytes: &[u8], position: &Position) -> io::Result<()> {
        let mut file =
            OpenOptions::new().write(true).create(true).truncate(false).open(&self.path)?;
        file.set_len(self.length())?;
        file.seek(SeekFrom::Start(self.length()))?;
        file.write_all(bytes)?;
        file.sync_all()?;
        self.remember(CopyState { position: position.clone(), begun: true })?;
        self.added += bytes.len() as u64;
        Ok(())
    }

    fn remember(&mut self, known: CopyState) -> io::Result<()> {
        let (position, partial) =
            (beside(&self.path, ".position"), beside(&self.path, ".position.partial"));
        replace_by(&position, &partial, &serde_json::to_vec(&known)?, FileReaders::ProcessDefault)?;
        self.known = known;
        Ok(())
    }
}

impl Follower for LogCopy {
    type Error = CopyError;

    fn waiting(&mut self, _: &Session) -> Result<Vec<(RecordId, String)>, CopyError> {
        Ok(Vec::new())
    }

    fn apply(&mut self, event: Event, session: &mut Session) -> Result<(), CopyError> {
        let done = match event {
            Event::Lines(bytes) => self.append(&bytes, session.position()),
            // The former content is of another log.
            Event::Restarted => self.remember(CopyState { begun: true, ..CopyState::default() }),
            _ => Ok(()),
        };
        done.map_err(|source| CopyError::File { path: self.path.clone(), source })
    }
}
