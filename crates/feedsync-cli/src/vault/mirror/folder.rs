//! The directory of a mirror: its files, and how they are replaced and deleted.
//!
//! Nothing outside of the directory is read or written: symbolic links are not followed. A file is replaced as a whole, and
//! only if it still has the content that the decision was about.

mod replace;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::path::{System, check};
use super::stamp::Stamp;
use super::state::MirrorState;
use super::trouble::{MAX_FILE_BYTES, Trouble};
use feedsync_store::Digest;

pub(super) use replace::{Expected, NewFile};

/// Beginning of the names of files that a mirror makes for a moment. They are hidden, so they never become notes.
const PREFIX: &str = ".feedsync-mirror-";
/// A new file before it gets its name.
const NEW: &str = ".feedsync-mirror-new-";
/// A replaced or deleted file until its content was checked.
const OLD: &str = ".feedsync-mirror-old-";

/// Maximum nesting depth of directories.
const MAX_DEPTH: usize = 64;

/// Maximum number of listings that begin anew because a directory was renamed or removed meanwhile.
const MAX_RENAMES: usize = 3;

/// The directory of a mirror.
#[derive(Debug, Clone)]
pub(super) struct Folder {
    root: PathBuf,
}

/// Files of a directory.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Stamps of the files that could be notes, by path.
    pub(super) files: BTreeMap<String, Stamp>,
    /// Paths of symbolic links, of things that are not files, and of directories that are too deep. They are not read.
    pub(super) obstacles: BTreeSet<String>,
    /// Paths of directories.
    pub(super) directories: BTreeSet<String>,
    /// Files that cannot be notes, with the reasons.
    pub(super) left_out: Vec<(String, Trouble)>,
    /// Files that an interrupted pass left, by their path.
    pub(super) leftovers: Vec<PathBuf>,
}

impl Listing {
    /// Whether something that is not a file is at a path, or something that is not a directory is in its way.
    pub(super) fn is_obstructed(&self, path: &str) -> bool {
        let mut parents = path.match_indices('/').map(|(at, _)| &path[..at]);
        self.obstacles.contains(path)
            || self.directories.contains(path)
            || parents.any(|it| self.obstacles.contains(it) || self.files.contains_key(it))
    }
}

impl Folder {
    /// A directory that exists.
    pub(super) fn new(root: PathBuf) -> Self {
        Self { root }
    }

    fn place(&self, path: &str) -> PathBuf {
        path.split('/').fold(self.root.clone(), |place, name| place.join(name))
    }

    /// Lists the files. Fails if a directory cannot be read: its files must not look deleted. A directory that is renamed
    /// meanwhile is looked for again.
    pub(super) fn list(&self) -> io::Result<Listing> {
        let mut attempts = 0;
        loop {
            match self.list_once() {
                Err(error) if error.kind() == io::ErrorKind::NotFound && attempts < MAX_RENAMES => {
                    attempts += 1;
                }
                listed => return listed,
            }
        }
    }

    fn list_once(&self) -> io::Result<Listing> {
        let mut listing = Listing::default();
        let mut directories = vec![(self.root.clone(), String::new(), 0)];
        while let Some((directory, prefix, depth)) = directories.pop() {
            let entries = fs::read_dir(&directory).map_err(|error| named(&directory, error))?;
            for entry in entries {
                let entry = entry.map_err(|error| named(&directory, error))?;
                let Some(name) = entry.file_name().to_str().map(str::to_owned) else {
                    let shown = format!("{prefix}{}", entry.file_name().display());
                    listing.left_out.push((shown, Trouble::File("its name is not UTF-8".into())));
                    continue;
                };
                if name.starts_with(PREFIX) {
                    listing.leftovers.push(entry.path());
                    continue;
                }
                let path = format!("{prefix}{name}");
                let metadata = match entry.metadata() {
                    // It was deleted while the directory was read.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    metadata => metadata.map_err(|error| named(&entry.path(), error))?,
                };
                if metadata.is_dir() && !name.starts_with('.') {
                    match depth < MAX_DEPTH {
                        true => {
                            directories.push((entry.path(), format!("{path}/"), depth + 1));
                            listing.directories.insert(path);
                        }
                        false => drop(listing.obstacles.insert(path)),
                    }
                } else if metadata.is_file() {
                    match check(&path, System::HERE).map_err(Trouble::from) {
                        Ok(()) => drop(listing.files.insert(path, Stamp::of(&metadata))),
                        Err(trouble) if trouble.is_expected() => {}
                        Err(trouble) => listing.left_out.push((path, trouble)),
                    }
                } else if !name.starts_with('.') {
                    listing.obstacles.insert(path);
                }
            }
        }
        Ok(listing)
    }

    /// Reads a file with the stamp of the content.
    pub(super) fn read(&self, path: &str) -> Result<(Vec<u8>, Stamp), Trouble> {
        let place = self.place(path);
        let there = fs::symlink_metadata(&place)?;
        if !there.is_file() {
            return Err(Trouble::Obstructed);
        }
        let mut file = File::open(&place)?;
        let before = file.metadata()?;
        if Stamp::of(&before) != Stamp::of(&there) {
            return Err(Trouble::Busy);
        }
        let mut bytes = Vec::new();
        (&mut file).take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(Trouble::TooLarge);
        }
        let stamp = Stamp::of(&file.metadata()?);
        match stamp == Stamp::of(&before) && stamp.size == bytes.len() as u64 {
            true => Ok((bytes, stamp)),
            false => Err(Trouble::Busy),
        }
    }

    /// Clears what an interrupted pass left. A replaced file with an unknown content was edited at that moment: it becomes
    /// a file of a conflict. Returns the paths of such files.
    pub(super) fn clear(
        &self,
        listing: &Listing,
        state: &MirrorState,
        date: &str,
    ) -> Result<Vec<String>, Trouble> {
        let mut saved = Vec::new();
        for leftover in &listing.leftovers {
            let name = leftover.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let Some(name) = name.strip_prefix(OLD) else {
                fs::remove_file(leftover)?;
                continue;
            };
            if fs::symlink_metadata(leftover)?.is_file()
                && state.has_content(Digest::of(&fs::read(leftover)?))
            {
                fs::remove_file(leftover)?;
                continue;
            }
            let directory =
                leftover.parent().and_then(|parent| parent.strip_prefix(&self.root).ok());
            let directory = directory.map(slashed).unwrap_or_default();
            let name = name.split_once('-').map_or(name, |(_, name)| name);
            saved.push(self.save(leftover, &format!("{directory}{name}"), date)?);
        }
        Ok(saved)
    }
}

/// A relative directory with slashes, also behind it.
fn slashed(directory: &Path) -> String {
    directory.iter().map(|name| format!("{}/", name.display())).collect()
}

fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
