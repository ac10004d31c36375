//! A vault as plain files: notes that are not encrypted and a directory, kept the same in both directions.
//!
//! Each pass compares every note and its file with what they had in common last ([`decision`]), and brings them in line. No edit is
//! lost: a file that was edited on both sides becomes two files. Contents are read one at a time, so the memory does not grow
//! with the vault.
//!
//! The order of writes survives a crash at any point: chunks, then the note; a new file, its name, its directory; and the state
//! last. A state that is too old only makes the next pass compare contents again.

mod chunk_id;
mod decision;
mod folder;
mod note;
mod notes;
mod pass;
mod path;
mod plan;
mod report;
mod split;
mod stamp;
mod state;
#[cfg(test)]
mod tests;
mod text;
mod trouble;

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use feedsync_client::{FileReaders, replace_file};
use feedsync_couch::DatabaseName;
use feedsync_endpoint::Endpoint;
use feedsync_store::{Digest, Notices};

use crate::failure::{Failure, warn};
use folder::Folder;
use notes::{NoteDatabase, StoredNotes};
use state::MirrorState;

pub(crate) use pass::PassOptions;
pub(crate) use report::Report;

/// Directory of the states within the data directory.
const STATES: &str = "mirrors";

/// Digits of the name of a state, which follows from the path of the directory.
const NAME_DIGITS: usize = 32;

/// A vault and a directory.
pub(crate) struct Mirror {
    folder: Folder,
    notes: NoteDatabase,
    stored: StoredNotes,
    state: MirrorState,
    /// The state as it is stored; `None` if none or a damaged one is.
    saved: Option<MirrorState>,
    state_path: PathBuf,
    /// Keeps other processes from mirroring the same directory.
    _lock: File,
}

/// Places of a mirror in the file system.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places<'a> {
    /// Data directory, which has the states of mirrors.
    pub(crate) data: &'a Path,
    /// Directory with the files.
    pub(crate) directory: &'a Path,
}

impl Mirror {
    /// Opens a mirror, and creates the directory if it was never mirrored. `is_confirmed` accepts that the directory or the
    /// database is not the one that was mirrored last.
    pub(crate) async fn open(
        endpoint: &Endpoint,
        name: &DatabaseName,
        places: Places<'_>,
        is_confirmed: bool,
    ) -> Result<Self, Failure> {
        let notes = NoteDatabase::open(endpoint, name).await?;
        let states = places.data.join(STATES);
        fs::create_dir_all(&states).map_err(|error| file_failure(&states, &error))?;
        let root = resolved(places.directory)?;
        check_apart(&root, &resolved(places.data)?)?;
        let hash = Digest::of(root.as_os_str().as_encoded_bytes()).to_string();
        let state_path = states.join(format!("{}.json", &hash[..NAME_DIGITS]));
        let lock = lock(&state_path.with_extension("lock"), &root)?;
        let text = match fs::read_to_string(&state_path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            Err(error) => return Err(file_failure(&state_path, &error)),
        };
        let saved = MirrorState::read(&text);
        if saved.is_none() && !text.is_empty() {
            warn(
                "the state of the mirror is damaged: files and notes are compared as if for the first time",
            );
        }
        let before = saved.clone().filter(|state| !state.entries.is_empty());
        let mut state = MirrorState {
            database: name.to_string(),
            epoch: notes.epoch(),
            entries: Default::default(),
        };
        if let Some(mut before) = before {
            // A new epoch also begins after a crash, and when the store was moved. Then the database is the same.
            let may_be_same = before.epoch != state.epoch && before.database == state.database;
            if may_be_same && notes.knows(&before.entries).await? {
                before.epoch.clone_from(&state.epoch);
            }
            state.entries = check_same(&before, &state, is_confirmed)?.unwrap_or_default();
        }
        let shown = root.display();
        if !root.exists() {
            if !state.entries.is_empty() && !is_confirmed {
                let count = state.entries.len();
                return Err(Failure::refused(format!(
                    "{shown} is gone, so all {count} mirrored notes would be deleted from the vault"
                ))
                .hint("is the disk there? To delete them: --yes. To write all files anew, name another directory"));
            }
            fs::create_dir_all(&root).map_err(|error| file_failure(&root, &error))?;
        }
        if !root.is_dir() {
            return Err(Failure::usage(format!("{shown} is not a directory")));
        }
        Ok(Self {
            folder: Folder::new(root),
            notes,
            stored: StoredNotes::new(),
            state,
            saved,
            state_path,
            _lock: lock,
        })
    }

    /// Subscribes to notices of changes in the vault.
    pub(crate) fn notices(&self) -> Notices {
        self.notes.notices()
    }

    /// Stores the state, durably, if it changed.
    fn save(&mut self) -> Result<(), Failure> {
        if self.saved.as_ref() != Some(&self.state) {
            replace_file(&self.state_path, self.state.text().as_bytes(), FileReaders::Owner)
                .map_err(|error| file_failure(&self.state_path, &error))?;
            self.saved = Some(self.state.clone());
        }
        Ok(())
    }
}

/// Entries of a stored state that are still meaningful: none, with a confirmation, if the database is another one.
fn check_same(
    before: &MirrorState,
    now: &MirrorState,
    is_confirmed: bool,
) -> Result<Option<std::collections::BTreeMap<String, state::Entry>>, Failure> {
    let refusal = if before.database != now.database {
        format!("the directory mirrors the vault {}, and not {}", before.database, now.database)
    } else if before.epoch != now.epoch {
        format!("the vault {} was created again or restored since it was mirrored", now.database)
    } else {
        return Ok(Some(before.entries.clone()));
    };
    match is_confirmed {
        // As in a first pass, nothing is deleted, and different contents are conflicts.
        true => Ok(None),
        false => Err(Failure::refused(refusal)
            .hint("to merge all files and all notes: --yes. Nothing is deleted then, and deleted notes may come back")),
    }
}

/// Refuses a directory that would contain the data directory, or would be in it.
fn check_apart(root: &Path, data: &Path) -> Result<(), Failure> {
    match data.starts_with(root) || root.starts_with(data) {
        true => Err(Failure::usage("the directory and the data directory are within each other")),
        false => Ok(()),
    }
}

/// Absolute path without symbolic links. The last parts need not exist.
fn resolved(path: &Path) -> Result<PathBuf, Failure> {
    let absolute = std::path::absolute(path).map_err(|error| file_failure(path, &error))?;
    let mut missing = Vec::new();
    let mut there = absolute.as_path();
    loop {
        match (fs::canonicalize(there), there.parent(), there.file_name()) {
            (Ok(there), ..) => {
                return Ok(missing.iter().rev().fold(there, |path, it| path.join(it)));
            }
            (Err(error), Some(parent), Some(name)) if error.kind() == ErrorKind::NotFound => {
                missing.push(name);
                there = parent;
            }
            (Err(error), ..) => return Err(file_failure(path, &error)),
        }
    }
}

fn lock(path: &Path, root: &Path) -> Result<File, Failure> {
    let file = File::options().create(true).append(true).open(path);
    let file = file.map_err(|error| file_failure(path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(Failure::refused(format!("another process mirrors {}", root.display())))
        }
        Err(TryLockError::Error(error)) => Err(file_failure(path, &error)),
    }
}

fn file_failure(path: &Path, error: &std::io::Error) -> Failure {
    Failure::file(&path.display().to_string(), error)
}
