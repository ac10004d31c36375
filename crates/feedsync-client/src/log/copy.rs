//! A copy of a log in a file, kept up to date by what is new.
//!
//! The file holds whole lines of the log as it is; how far it goes stands beside it, in `{file}.position`. What is
//! behind that in the file after a crash is cut off. A log that turns out to be another one, or its next generation,
//! is copied anew: then the copy holds what that one holds.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use feedsync_log::{Event, Position, RecordId, Session, Start};
use serde::{Deserialize, Serialize};

use super::{Follower, LogError};
use crate::whole_file::{Readers, beside, replace_by};

/// A copy of a log, which nobody else writes meanwhile.
#[derive(Debug)]
pub struct LogCopy {
    path: PathBuf,
    known: Known,
    /// Bytes that came in this session.
    added: u64,
    _lock: File,
}

/// What stands beside the copy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    /// How far the log was read: so many bytes of the file are its copy.
    position: Position,
    /// Whether the file is a copy of ours, be it empty.
    #[serde(default)]
    begun: bool,
}

/// Why a copy could not be kept.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A file.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// What stands beside the copy is not what was written.
    #[error("{path}: {reason}; remove it and the copy to begin anew")]
    Position {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl LogCopy {
    /// The copy in this file; it begins where there is none. Waits until nobody else writes it.
    pub fn open(path: &Path) -> Result<Self, CopyError> {
        let guard = beside(path, ".lock");
        let locked = File::create(&guard).and_then(|file| file.lock().map(|()| file));
        let lock = locked.map_err(|source| CopyError::File { path: guard, source })?;
        let beside = beside(path, ".position");
        let known: Known = match fs::read(&beside) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| CopyError::Position {
                path: beside.clone(),
                reason: error.to_string(),
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Known::default(),
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

    /// A session that goes on where the copy ends.
    pub fn session(&self) -> Session {
        Session::new(Some(self.known.position.clone()), Start::Copy)
    }

    /// How many bytes this session added.
    pub fn added(&self) -> u64 {
        self.added
    }

    /// How many bytes the copy has.
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
        self.remember(Known { position: position.clone(), begun: true })?;
        self.added += bytes.len() as u64;
        Ok(())
    }

    fn remember(&mut self, known: Known) -> io::Result<()> {
        let (position, partial) =
            (beside(&self.path, ".position"), beside(&self.path, ".position.partial"));
        replace_by(&position, &partial, &serde_json::to_vec(&known)?, Readers::AsUsual)?;
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
            // What it held is of another log.
            Event::Restarted => self.remember(Known { begun: true, ..Known::default() }),
            _ => Ok(()),
        };
        done.map_err(|source| CopyError::File { path: self.path.clone(), source })
    }
}
