//! Replaces and deletes files, and gives way to edits that happen at the same moment.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use super::{Folder, NEW, OLD};
use crate::vault::mirror::path::conflict_path;
use crate::vault::mirror::stamp::Stamp;
use crate::vault::mirror::trouble::Trouble;
use feedsync_store::Digest;

/// Maximum number of files of conflicts of one date that are tried.
const MAX_COPIES: usize = 1_000;

/// Size in bytes of the part of a name that a temporary name repeats.
const REPEATED_BYTES: usize = 160;

/// Expected state of a path before a file is written there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::vault::mirror) enum Expected {
    /// Nothing.
    Absent,
    /// A file with this content.
    Content(Digest),
}

/// A file to be written.
#[derive(Debug, Clone, Copy)]
pub(in crate::vault::mirror) struct NewFile<'a> {
    /// Path below the directory.
    pub(in crate::vault::mirror) path: &'a str,
    /// Its content.
    pub(in crate::vault::mirror) bytes: &'a [u8],
    /// Time of its last edit in milliseconds since 1970; zero for now.
    pub(in crate::vault::mirror) modified: u64,
}

impl Folder {
    /// Writes a file atomically and durably, with its time. [`Trouble::Busy`] if another content is there: then nothing was
    /// written. `date` names a file for an edit that happened at the same moment.
    pub(in crate::vault::mirror) fn write(
        &self,
        new: NewFile<'_>,
        expected: Expected,
        date: &str,
    ) -> Result<Stamp, Trouble> {
        let place = self.place(new.path);
        self.create_parents(new.path)?;
        let before = match expected {
            Expected::Absent => None,
            Expected::Content(hash) => Some((self.keep(new.path, hash)?, hash)),
        };
        let permissions = match &before {
            None => None,
            Some(_) => Some(fs::symlink_metadata(&place)?.permissions()),
        };
        let partial = temporary(&place, NEW);
        let placed = begin(&partial, new, permissions).and_then(|stamp| {
            match &before {
                None => place_new(&partial, &place)?,
                Some((kept, _)) => {
                    if !kept.is_at(&place) {
                        return Err(Trouble::Busy);
                    }
                    fs::rename(&partial, &place)?;
                }
            }
            sync_directory(&place)?;
            Ok(stamp)
        });
        if placed.is_err() {
            let _ = fs::remove_file(&partial);
        }
        if let Some((kept, hash)) = before {
            self.release(kept, hash, new.path, date)?;
        }
        let placed = placed?;
        // An edit that happened since then must not look like the written content.
        let there = Stamp::of(&fs::symlink_metadata(&place)?);
        Ok(if there.is_same_file(placed) { there } else { placed })
    }

    /// Deletes a file with this content, and directories that are empty then. [`Trouble::Busy`] if it has another content:
    /// then it stays.
    pub(in crate::vault::mirror) fn delete(
        &self,
        path: &str,
        hash: Digest,
        date: &str,
    ) -> Result<(), Trouble> {
        let place = self.place(path);
        if !fs::symlink_metadata(&place)?.is_file() {
            return Err(Trouble::Obstructed);
        }
        let old = temporary(&place, OLD);
        fs::rename(&place, &old)?;
        if Digest::of(&fs::read(&old)?) != hash {
            // If another program has created a new file here, that one stays, and this one gets another name.
            match place_new(&old, &place) {
                Ok(()) => {}
                Err(_) => drop(self.save(&old, path, date)?),
            }
            return Err(Trouble::Busy);
        }
        fs::remove_file(&old)?;
        sync_directory(&place)?;
        let mut parent = place.parent();
        while let Some(directory) = parent.filter(|it| *it != self.root) {
            if fs::remove_dir(directory).is_err() {
                break;
            }
            parent = directory.parent();
        }
        Ok(())
    }

    /// Copies the content of a file to the file of a conflict, and returns its path. A file that has this content already is
    /// that of an interrupted pass.
    pub(in crate::vault::mirror) fn copy(
        &self,
        file: NewFile<'_>,
        date: &str,
    ) -> Result<String, Trouble> {
        for number in 1..=MAX_COPIES {
            let path = conflict_path(file.path, date, number);
            match self.write(NewFile { path: &path, ..file }, Expected::Absent, date) {
                Ok(_) => return Ok(path),
                Err(Trouble::Busy) => {}
                Err(trouble) => return Err(trouble),
            }
            if self.read(&path).is_ok_and(|(bytes, _)| bytes == file.bytes) {
                return Ok(path);
            }
        }
        Err(Trouble::Obstructed)
    }

    /// Renames a file to that of a conflict with another one; returns its path.
    pub(super) fn save(&self, from: &Path, path: &str, date: &str) -> Result<String, Trouble> {
        for number in 1..=MAX_COPIES {
            let path = conflict_path(path, date, number);
            match place_new(from, &self.place(&path)) {
                Err(Trouble::Busy) => {}
                placed => return placed.map(|()| path),
            }
        }
        Err(Trouble::Obstructed)
    }

    /// Creates the directories of a file. Fails if something else has one of their names.
    fn create_parents(&self, path: &str) -> Result<(), Trouble> {
        let mut directory = self.root.clone();
        let Some((parents, _)) = path.rsplit_once('/') else { return Ok(()) };
        for name in parents.split('/') {
            directory.push(name);
            match fs::create_dir(&directory) {
                Ok(()) => sync_directory(&directory)?,
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error.into()),
            }
            if !fs::symlink_metadata(&directory)?.is_dir() {
                return Err(Trouble::Obstructed);
            }
        }
        Ok(())
    }

    /// Gives a file that will be replaced a second name, if it has this content.
    pub(super) fn keep(&self, path: &str, hash: Digest) -> Result<KeptFile, Trouble> {
        let (bytes, stamp) = self.read(path)?;
        if Digest::of(&bytes) != hash {
            return Err(Trouble::Busy);
        }
        let place = self.place(path);
        let old = temporary(&place, OLD);
        // Some file systems have no second names. There the stamp alone shows an edit.
        let second = fs::hard_link(&place, &old).is_ok().then_some(old);
        let stamp = match &second {
            // The second name is a change of the metadata.
            Some(old) => Stamp { size: stamp.size, ..Stamp::of(&fs::symlink_metadata(old)?) },
            None => stamp,
        };
        Ok(KeptFile { second, stamp })
    }

    /// Removes the second name of a replaced file. If somebody wrote to the file meanwhile, its content becomes the file of
    /// a conflict.
    pub(super) fn release(
        &self,
        kept: KeptFile,
        hash: Digest,
        path: &str,
        date: &str,
    ) -> Result<(), Trouble> {
        let Some(old) = kept.second else { return Ok(()) };
        let is_replaced = !is_same_file(&old, &self.place(path));
        if is_replaced && Digest::of(&fs::read(&old)?) != hash {
            self.save(&old, path, date)?;
        } else {
            fs::remove_file(&old)?;
        }
        Ok(())
    }
}

/// A file that is about to be replaced.
pub(super) struct KeptFile {
    second: Option<PathBuf>,
    stamp: Stamp,
}

impl KeptFile {
    /// Whether the unchanged file still has its name.
    pub(super) fn is_at(&self, place: &Path) -> bool {
        let there = fs::symlink_metadata(place);
        there.is_ok_and(|there| there.is_file() && Stamp::of(&there) == self.stamp)
    }
}

#[cfg(unix)]
fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let identity = |path| fs::symlink_metadata(path).map(|it| (it.dev(), it.ino())).ok();
    identity(one).is_some_and(|one| Some(one) == identity(other))
}

#[cfg(not(unix))]
fn is_same_file(one: &Path, other: &Path) -> bool {
    // The content decides: the second name of a file that was not replaced has the same one.
    fs::read(one).ok() == fs::read(other).ok()
}

/// Writes a new file under a temporary name.
fn begin(
    partial: &Path,
    new: NewFile<'_>,
    permissions: Option<Permissions>,
) -> Result<Stamp, Trouble> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(partial)?;
    file.write_all(new.bytes)?;
    if let Some(permissions) = permissions {
        file.set_permissions(permissions)?;
    }
    let modified = SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(new.modified));
    if let Some(modified) = modified.filter(|_| new.modified > 0) {
        // A time that the system does not know is no reason to leave the note out.
        let _ = file.set_modified(modified);
    }
    file.sync_all()?;
    Ok(Stamp::of(&file.metadata()?))
}

/// Moves a file to a name that nothing has. [`Trouble::Busy`] if something has it.
fn place_new(from: &Path, to: &Path) -> Result<(), Trouble> {
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from)?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(Trouble::Busy),
        // Some file systems have no second names.
        Err(_) if fs::symlink_metadata(to).is_ok() => return Err(Trouble::Busy),
        Err(_) => fs::rename(from, to)?,
    }
    Ok(())
}

/// Makes the names in the directory of a file durable.
fn sync_directory(place: &Path) -> io::Result<()> {
    match place.parent() {
        Some(parent) if cfg!(unix) => File::open(parent)?.sync_all(),
        _ => Ok(()),
    }
}

/// Returns a name that no other file has, in the same directory. It repeats the name of the file as far as it fits.
fn temporary(place: &Path, prefix: &str) -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = place.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    // The end of a name has the ending.
    let from = (name.len().saturating_sub(REPEATED_BYTES)..).find(|at| name.is_char_boundary(*at));
    let name = &name[from.unwrap_or_default()..];
    let (process, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    place.with_file_name(format!("{prefix}{process}.{number}-{name}"))
}
