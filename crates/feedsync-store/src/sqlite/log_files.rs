//! The bytes of logs: one plain file for each generation, `logs/{collection}-{generation}.log`.
//!
//! The committed length of a log is in the database, and only that length counts. An append writes at the
//! committed length, under the database's lock, and the file is synchronized before the transaction commits.
//! Acknowledged bytes are therefore durable. Bytes after the committed length are invalid: the next append
//! truncates them, or the next process that opens the store. In the latter case complete lines may have been
//! committed before an older database was restored, so the log continues in a new generation. A file is
//! removed after the commit that removed its generation. Its name is never used again, since no generation
//! is.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::location::{self, failed};
use crate::error::StoreError;
use crate::log::Generation;
use crate::owned;

/// Size of the pieces in which a line end is searched, in bytes.
const CHUNK_BYTES: usize = 1 << 16;

/// A generation of a collection's log.
pub(super) type Key = (i64, Generation);

/// The files of logs, and their changes by the current transaction.
pub(super) struct LogFiles {
    /// Directory of the store.
    parent: PathBuf,
    directory: PathBuf,
    pending: Mutex<Pending>,
}

#[derive(Default)]
struct Pending {
    written: BTreeMap<Key, PendingFile>,
    gone: BTreeSet<Key>,
    has_new: bool,
}

struct PendingFile {
    file: File,
    is_new: bool,
    /// End of the generation if the transaction commits.
    length: u64,
}

/// Reader of a generation.
pub(super) struct LogReader {
    path: PathBuf,
    file: File,
}

impl LogReader {
    /// The next bytes. If the file has fewer, returns those with an error.
    pub(super) fn next(&mut self, count: usize) -> (Vec<u8>, Option<StoreError>) {
        let mut bytes = Vec::with_capacity(count);
        let fault = match (&self.file).take(count as u64).read_to_end(&mut bytes) {
            Ok(read) if read < count => Some(too_short(&self.path)),
            Ok(_) => None,
            Err(error) => Some(failed(&self.path, error)),
        };
        (bytes, fault)
    }
}

impl LogFiles {
    /// The log files of the store in a directory.
    pub(super) fn of(store: &Path) -> Self {
        let (parent, directory) = (store.to_owned(), store.join("logs"));
        Self { parent, directory, pending: Mutex::default() }
    }

    pub(super) fn path(&self, key: Key) -> PathBuf {
        self.directory.join(name(key))
    }

    /// Bytes of a generation; `None` if its file does not exist. Fails if the file has fewer bytes.
    pub(super) fn read(
        &self,
        key: Key,
        from: u64,
        count: usize,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let Some(mut reader) = self.reader(key, from)? else { return Ok(None) };
        match reader.next(count) {
            (bytes, None) => Ok(Some(bytes)),
            (_, Some(fault)) => Err(fault),
        }
    }

    /// Opens a generation for reading from an offset on; `None` if its file does not exist. The reader still
    /// works after the file is removed.
    pub(super) fn reader(&self, key: Key, from: u64) -> Result<Option<LogReader>, StoreError> {
        let path = self.path(key);
        let open = |path: &Path| {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(from))?;
            Ok::<_, io::Error>(file)
        };
        match open(&path) {
            Ok(file) => Ok(Some(LogReader { path, file })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&path, error)),
        }
    }

    /// Bytes of a generation if they are in the system's page cache; never waits for the disk.
    #[cfg(target_os = "linux")]
    pub(super) fn read_cached(&self, key: Key, from: u64, count: usize) -> Option<Vec<u8>> {
        use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
        use rustix::io::{ReadWriteFlags, preadv2};
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = openat2(CWD, self.path(key), flags, Mode::empty(), ResolveFlags::CACHED).ok()?;
        let mut bytes = vec![0; count];
        let parts = &mut [io::IoSliceMut::new(&mut bytes)];
        let read = preadv2(&file, parts, from, ReadWriteFlags::NOWAIT).ok()?;
        (read == count).then_some(bytes)
    }

    /// Always `None`: this system cannot read from its page cache only.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn read_cached(&self, _: Key, _: u64, _: usize) -> Option<Vec<u8>> {
        None
    }

    /// Writes at the committed end of an existing generation.
    pub(super) fn append(&self, key: Key, at: u64, bytes: &[u8]) -> Result<(), StoreError> {
        self.write(key, at, bytes, false)
    }

    /// Creates the file of a new generation.
    pub(super) fn begin(&self, key: Key, bytes: &[u8]) -> Result<(), StoreError> {
        if !self.directory.exists() {
            owned::make_directory(&self.directory)
                .map_err(|error| failed(&self.directory, error))?;
        }
        // The process that created the directory may have crashed before it synchronized the parent.
        location::sync_directory(&self.parent)?;
        self.write(key, 0, bytes, true)
    }

    fn write(&self, key: Key, at: u64, bytes: &[u8], is_new: bool) -> Result<(), StoreError> {
        let mut pending = self.pending();
        if !pending.written.contains_key(&key) {
            let written = self.open(key, at, is_new)?;
            pending.has_new |= is_new;
            pending.written.insert(key, written);
        }
        if let Some(written) = pending.written.get_mut(&key) {
            let file = &mut written.file;
            let done = file.seek(SeekFrom::Start(at)).and_then(|_| file.write_all(bytes));
            done.map_err(|error| failed(&self.path(key), error))?;
            written.length = at + bytes.len() as u64;
        }
        Ok(())
    }

    fn open(&self, key: Key, committed: u64, is_new: bool) -> Result<PendingFile, StoreError> {
        let path = self.path(key);
        let mut options = OpenOptions::new();
        options.write(true).create(is_new);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound if !is_new => missing(&path),
            _ => failed(&path, error),
        })?;
        let metadata = file.metadata().map_err(|error| failed(&path, error))?;
        if metadata.len() < committed {
            return Err(too_short(&path));
        }
        Ok(PendingFile { file, is_new, length: committed })
    }

    /// Schedules files for removal after the commit.
    pub(super) fn forget(&self, keys: impl IntoIterator<Item = Key>) {
        self.pending().gone.extend(keys);
    }

    /// Synchronizes written files; must be called before the commit.
    pub(super) fn sync(&self) -> Result<(), StoreError> {
        let mut pending = self.pending();
        for (key, PendingFile { file, length, .. }) in &pending.written {
            cut(file, *length)
                .and_then(|()| file.sync_data())
                .map_err(|error| failed(&self.path(*key), error))?;
        }
        if std::mem::take(&mut pending.has_new) {
            location::sync_directory(&self.directory)?;
        }
        Ok(())
    }

    /// Removes scheduled files; must be called after the commit. Files that cannot be removed now are removed
    /// by a later sweep.
    pub(super) fn committed(&self) {
        for key in self.take().gone {
            let _ = fs::remove_file(self.path(key));
        }
    }

    /// Undoes changes; must be called when nothing was committed. The lock is already released, so another
    /// process may have appended at the same offset. Therefore nothing is truncated here; the next append
    /// does that. The name of a new file is used by no other process, so new files are removed.
    pub(super) fn rolled_back(&self) {
        for (key, written) in self.take().written {
            if written.is_new {
                // A file that cannot be removed now is removed by a later sweep.
                let _ = fs::remove_file(self.path(key));
            }
        }
    }

    /// Forgets the changes of a transaction whose outcome is unknown; its bytes may be committed, so nothing
    /// is truncated.
    pub(super) fn left_open(&self) {
        self.take();
    }

    /// Generations that have a file, with the lengths of the files.
    pub(super) fn found(&self) -> Result<BTreeMap<Key, u64>, StoreError> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(failed(&self.directory, error)),
        };
        let mut found = BTreeMap::new();
        for entry in entries {
            let entry = entry.map_err(|error| failed(&self.directory, error))?;
            // Files with other names are not logs of this store. Files that are removed meanwhile are
            // skipped.
            if let Some(key) = entry.file_name().to_str().and_then(key)
                && let Ok(metadata) = entry.metadata()
            {
                found.insert(key, metadata.len());
            }
        }
        Ok(found)
    }

    /// Removes a file that a crash left. It may already be gone, if the process that removed the generation
    /// removes it concurrently.
    pub(super) fn remove(&self, key: Key) -> Result<(), StoreError> {
        let path = self.path(key);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(&path, error)),
            _ => Ok(()),
        }
    }

    /// Truncates bytes that a crash left.
    pub(super) fn cut(&self, key: Key, length: u64) -> Result<(), StoreError> {
        let path = self.path(key);
        let file = OpenOptions::new().write(true).open(&path);
        file.and_then(|file| cut(&file, length)).map_err(|error| failed(&path, error))
    }

    /// Whether there is a line feed after an offset.
    pub(super) fn has_line_behind(&self, key: Key, from: u64) -> Result<bool, StoreError> {
        let Some(mut reader) = self.reader(key, from)? else { return Ok(false) };
        loop {
            match reader.next(CHUNK_BYTES) {
                (bytes, _) if bytes.contains(&b'\n') => return Ok(true),
                (_, Some(_)) => return Ok(false),
                (_, None) => {}
            }
        }
    }

    /// Gives a generation's file a second name, or copies it if the file system has no hard links. The result
    /// is synchronized, since the original may have been copied here without being durable.
    pub(super) fn link(&self, from: Key, to: Key) -> Result<(), StoreError> {
        let (from, to) = (self.path(from), self.path(to));
        if !from.exists() {
            return Ok(());
        }
        fs::hard_link(&from, &to)
            .or_else(|_| fs::copy(&from, &to).map(drop))
            .and_then(|()| File::open(&to)?.sync_all())
            .map_err(|error| failed(&to, error))?;
        location::sync_directory(&self.directory)
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Pending {
        std::mem::take(&mut self.pending())
    }
}

/// Error for a required file that does not exist.
pub(super) fn missing(path: &Path) -> StoreError {
    StoreError::Damaged(format!("the log file {} is missing", path.display()))
}

/// Error for a file that is shorter than the committed length.
pub(super) fn too_short(path: &Path) -> StoreError {
    StoreError::Damaged(format!("the log file {} is too short", path.display()))
}

fn cut(file: &File, length: u64) -> io::Result<()> {
    if file.metadata()?.len() > length { file.set_len(length) } else { Ok(()) }
}

fn name((collection, generation): Key) -> String {
    format!("{collection}-{generation}.log")
}

/// Parses the name of a log file.
fn key(text: &str) -> Option<Key> {
    let (collection, generation) = text.strip_suffix(".log")?.split_once('-')?;
    let key = (collection.parse().ok()?, generation.parse().ok()?);
    (name(key) == text).then_some(key)
}
