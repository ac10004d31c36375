//! Contents by digest: those that no step needs yet, and those that are too large for the database.
//!
//! [PinnedContent](super::PinnedContent) contents are readable at once. They stay while they are held. If no step that needs them
//! is stored by then, the next [sweep](super::Store::sweep) deletes them. Small contents stay in memory and are
//! written with the step that needs them. Large contents, and small ones when memory is full, are written to
//! files and synchronised before a step can need them.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use feedsync_bitsy::interceptor::{Content, Digest};
use feedsync_store::owned;
use rusqlite::{Connection, OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};

use super::error::StoreError;

/// Maximum size of contents in the database, in bytes.
pub(super) const MAX_INLINE_BYTES: usize = 64 << 10;

/// Maximum total size of contents in memory, in bytes.
const MAX_MEMORY_BYTES: usize = 8 << 20;

/// Suffix of incomplete files.
const PARTIAL: &str = ".partial";

/// Stored contents, opened for reading.
#[derive(Debug)]
pub enum Opened {
    /// Contents in memory.
    Bytes(Bytes),
    /// Contents in a file, which must be [verified](Unchecked::check) before use.
    File(Unchecked),
}

/// File that was not yet verified against its digest. It stays readable even if the contents are deleted
/// meanwhile.
#[derive(Debug)]
pub struct Unchecked {
    file: File,
    content: Content,
    contents: Arc<Contents>,
}

impl Unchecked {
    /// Number of bytes.
    pub fn length(&self) -> u64 {
        self.content.length
    }

    /// Verifies the file against its digest; takes time in proportion to its size.
    pub fn check(self) -> Result<File, StoreError> {
        let Self { mut file, content, contents } = self;
        let path = contents.path(&content.digest);
        let failed = |source| StoreError::file(&path, source);
        let found = digest_of(&mut file).map_err(failed)?;
        file.rewind().map_err(failed)?;
        if found == content { Ok(file) } else { Err(contents.corrupt(content.digest)) }
    }
}

/// Digest and length of a file, from its current position to its end.
pub(super) fn digest_of(file: &mut File) -> io::Result<Content> {
    let (mut digest, mut length) = (Sha256::new(), 0);
    let mut part = vec![0; MAX_INLINE_BYTES];
    loop {
        match file.read(&mut part)? {
            0 => return Ok(Content { digest: Digest(digest.finalize().into()), length }),
            read => {
                digest.update(&part[..read]);
                length += read as u64;
            }
        }
    }
}

/// Held contents, and the directory of the files.
#[derive(Debug)]
pub(super) struct Contents {
    directory: PathBuf,
    waiting: Mutex<Waiting>,
    /// Digests whose contents were found damaged or missing, until they are handled.
    damaged: Mutex<HashSet<Digest>>,
}

#[derive(Debug, Default)]
struct Waiting {
    known: HashMap<Digest, Known>,
    /// Contents that are no longer held and that no step has needed.
    dropped: HashSet<Digest>,
    in_memory: usize,
    /// Number in the name of the next incomplete file.
    next: u64,
}

#[derive(Debug)]
struct Known {
    tier: ContentTier,
    holders: usize,
    length: u64,
}

#[derive(Debug)]
enum ContentTier {
    Memory(Bytes),
    File,
    /// The database has the contents.
    Stored,
}

impl Contents {
    /// Opens a directory. Incomplete files of an earlier process are deleted.
    pub(super) fn open(directory: PathBuf) -> Result<Arc<Self>, StoreError> {
        for entry in entries(&directory)? {
            if entry.to_string_lossy().ends_with(PARTIAL) {
                fs::remove_file(&entry).map_err(|source| StoreError::file(&entry, source))?;
            }
        }
        Ok(Arc::new(Self { directory, waiting: Mutex::default(), damaged: Mutex::default() }))
    }

    /// Whether contents fit into memory.
    pub(super) fn fits_in_memory(&self, length: usize) -> bool {
        length <= MAX_INLINE_BYTES && self.waiting().in_memory + length <= MAX_MEMORY_BYTES
    }

    /// Whether memory is so full that contents will soon have to be written to files.
    pub(super) fn needs_sweep(&self) -> bool {
        self.waiting().in_memory > MAX_MEMORY_BYTES / 2
    }

    /// Holds contents in memory.
    pub(super) fn pin_bytes(self: &Arc<Self>, content: Content, bytes: Bytes) -> PinnedContent {
        let mut waiting = self.waiting();
        let length = bytes.len();
        if waiting.pin(content, ContentTier::Memory(bytes)) {
            waiting.in_memory += length;
        }
        drop(waiting);
        PinnedContent { content, contents: Arc::clone(self) }
    }

    /// Holds the contents of a written and synchronised file, which is moved into the directory.
    pub(super) fn pin_file(
        self: &Arc<Self>,
        content: Content,
        partial: &Path,
    ) -> Result<PinnedContent, StoreError> {
        let path = self.path(&content.digest);
        let parent = path.parent().unwrap_or(&self.directory).to_owned();
        owned::make_directory(&parent).map_err(|source| StoreError::file(&parent, source))?;
        let mut waiting = self.waiting();
        // Existing holders already have the same contents in a readable place.
        if !waiting.known.contains_key(&content.digest) {
            fs::rename(partial, &path).map_err(|source| StoreError::file(&path, source))?;
        }
        waiting.pin(content, ContentTier::File);
        drop(waiting);
        let held = PinnedContent { content, contents: Arc::clone(self) };
        for directory in [&parent, &self.directory] {
            owned::sync_directory(directory)
                .map_err(|source| StoreError::file(directory, source))?;
        }
        Ok(held)
    }

    /// Returns a path for a new incomplete file.
    pub(super) fn partial(&self) -> PathBuf {
        let mut waiting = self.waiting();
        waiting.next += 1;
        self.directory.join(format!("{}{PARTIAL}", waiting.next))
    }

    /// Writes contents that a step needs, unless they are stored.
    pub(super) fn store(
        &self,
        connection: &Connection,
        content: &Content,
    ) -> Result<(), StoreError> {
        if content.length == 0 {
            return Ok(());
        }
        let waits = {
            let waiting = self.waiting();
            waiting.known.get(&content.digest).and_then(|known| match &known.tier {
                ContentTier::Memory(bytes) => Some((known.length, Some(bytes.clone()))),
                ContentTier::File => Some((known.length, None)),
                ContentTier::Stored => None,
            })
        };
        let Some((length, bytes)) = waits else {
            let sql = "SELECT EXISTS (SELECT 1 FROM content WHERE digest = ?1)";
            let mut statement = connection.prepare_cached(sql)?;
            let is_there = statement.query_row([content.digest.0], |row| row.get(0))?;
            return if is_there { Ok(()) } else { Err(StoreError::NoContent(content.digest)) };
        };
        // The existing row of that digest may be damaged.
        let sql = "INSERT INTO content VALUES (?1, ?2, ?3)
             ON CONFLICT (digest) DO UPDATE SET length = excluded.length, bytes = excluded.bytes
             WHERE length <> excluded.length OR bytes IS NOT excluded.bytes";
        let row = params![content.digest.0, length.cast_signed(), bytes.as_deref()];
        connection.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }

    /// Records that the database has these contents now.
    pub(super) fn stored<'c>(&self, contents: impl IntoIterator<Item = &'c Content>) {
        let mut waiting = self.waiting();
        for Content { digest, .. } in contents {
            waiting.dropped.remove(digest);
            let Some(known) = waiting.known.get_mut(digest) else { continue };
            let before = std::mem::replace(&mut known.tier, ContentTier::Stored);
            let is_pinned = known.holders > 0;
            waiting.forget_memory(&before);
            if !is_pinned {
                waiting.known.remove(digest);
            }
        }
    }

    /// Opens contents by digest.
    pub(super) fn open_content(
        self: &Arc<Self>,
        connection: &Connection,
        content: &Content,
    ) -> Result<Opened, StoreError> {
        let Content { digest, length } = content;
        if *length == 0 {
            return Ok(Opened::Bytes(Bytes::new()));
        }
        // Contents leave memory only after the database has them.
        if let Some(Known { tier: ContentTier::Memory(bytes), .. }) =
            self.waiting().known.get(digest)
        {
            return Ok(Opened::Bytes(bytes.clone()));
        }
        let sql = "SELECT bytes FROM content WHERE digest = ?1";
        let mut statement = connection.prepare_cached(sql)?;
        let bytes = statement.query_row([digest.0], |row| row.get(0)).optional()?;
        let bytes: Option<Vec<u8>> = bytes.flatten();
        if let Some(bytes) = bytes {
            return match Content::of(&bytes) == *content {
                true => Ok(Opened::Bytes(bytes.into())),
                false => Err(self.corrupt(*digest)),
            };
        }
        let path = self.path(digest);
        let file = File::open(&path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => {
                self.note_damaged(*digest);
                StoreError::NoContent(*digest)
            }
            _ => StoreError::file(&path, source),
        })?;
        let found = file.metadata().map_err(|source| StoreError::file(&path, source))?.len();
        if found != *length {
            return Err(self.corrupt(*digest));
        }
        Ok(Opened::File(Unchecked { file, content: *content, contents: Arc::clone(self) }))
    }

    fn corrupt(&self, digest: Digest) -> StoreError {
        self.note_damaged(digest);
        StoreError::Corrupt(digest)
    }

    fn note_damaged(&self, digest: Digest) {
        tracing::error!(%digest, "stored bytes are damaged or missing");
        self.damaged.lock().unwrap_or_else(PoisonError::into_inner).insert(digest);
    }

    /// Returns and clears the digests whose contents were found damaged or missing.
    pub(super) fn take_damaged(&self) -> HashSet<Digest> {
        std::mem::take(&mut self.damaged.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Deletes damaged contents, so that intact ones can be stored. Contents that are intact by now or that are
    /// held stay. Those that are still needed are noted as damaged again.
    pub(super) fn forget_damaged(
        &self,
        connection: &Connection,
        digest: &Digest,
        is_needed: bool,
    ) -> Result<(), StoreError> {
        // Locked until the end, so that no intact file is stored meanwhile.
        let waiting = self.waiting();
        if waiting.known.contains_key(digest) || self.is_right(connection, digest)? {
            return Ok(());
        }
        if is_needed {
            self.damaged.lock().unwrap_or_else(PoisonError::into_inner).insert(*digest);
            return Ok(());
        }
        connection.prepare_cached("DELETE FROM content WHERE digest = ?1")?.execute([digest.0])?;
        self.remove(digest)
    }

    /// Whether the database, or else the file, has intact contents of a digest.
    fn is_right(&self, connection: &Connection, digest: &Digest) -> Result<bool, StoreError> {
        let sql = "SELECT bytes FROM content WHERE digest = ?1";
        let mut statement = connection.prepare_cached(sql)?;
        let row: Option<Option<Vec<u8>>> =
            statement.query_row([digest.0], |row| row.get(0)).optional()?;
        let Some(bytes) = row else { return Ok(false) };
        if let Some(bytes) = bytes {
            return Ok(Content::of(&bytes).digest == *digest);
        }
        let path = self.path(digest);
        match File::open(&path).and_then(|mut file| digest_of(&mut file)) {
            Ok(found) => Ok(found.digest == *digest),
            Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(StoreError::file(&path, source)),
        }
    }

    /// Reads contents completely.
    pub(super) fn read(
        self: &Arc<Self>,
        connection: &Connection,
        content: &Content,
    ) -> Result<Vec<u8>, StoreError> {
        match self.open_content(connection, content)? {
            Opened::Bytes(bytes) => Ok(bytes.into()),
            Opened::File(Unchecked { mut file, .. }) => {
                let mut bytes = Vec::new();
                let read = file.read_to_end(&mut bytes);
                read.map_err(|source| StoreError::file(&self.path(&content.digest), source))?;
                let is_whole = Content::of(&bytes) == *content;
                if is_whole { Ok(bytes) } else { Err(self.corrupt(content.digest)) }
            }
        }
    }

    /// Whether contents are held.
    pub(super) fn is_pinned(&self, digest: &Digest) -> bool {
        self.waiting().known.get(digest).is_some_and(|known| known.holders > 0)
    }

    /// Deletes contents that are no longer held and not needed; `is_in_file` tells which files the database
    /// knows.
    pub(super) fn forget_dropped(
        &self,
        is_needed: impl Fn(&Digest) -> bool,
        is_in_file: impl Fn(&Digest) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let mut waiting = self.waiting();
        let over: Vec<Digest> =
            waiting.dropped.iter().filter(|it| !is_needed(it)).copied().collect();
        for digest in over {
            let is_in_file = is_in_file(&digest)?;
            waiting.dropped.remove(&digest);
            if waiting.known.get(&digest).is_some_and(|known| known.holders > 0) {
                continue;
            }
            let Some(known) = waiting.known.remove(&digest) else { continue };
            waiting.forget_memory(&known.tier);
            if matches!(known.tier, ContentTier::File) && !is_in_file {
                self.remove(&digest)?;
            }
        }
        Ok(())
    }

    /// Deletes a file that the database no longer knows, unless it is held again.
    pub(super) fn forget_file(&self, digest: &Digest) -> Result<(), StoreError> {
        let waiting = self.waiting();
        if waiting.known.contains_key(digest) { Ok(()) } else { self.remove(digest) }
    }

    /// Deletes files that the database does not know, which a crashed process left behind.
    pub(super) fn forget_unknown(
        &self,
        is_in_file: impl Fn(&Digest) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        for directory in entries(&self.directory)?.iter().filter(|entry| entry.is_dir()) {
            for file in entries(directory)? {
                let digest = file.file_name().and_then(|name| digest(name.to_str()?));
                if let Some(digest) = digest.filter(|digest| self.path(digest) == file)
                    && !is_in_file(&digest)?
                {
                    self.remove(&digest)?;
                }
            }
        }
        Ok(())
    }

    /// Whether the file of contents exists with the expected length.
    pub(super) fn has_file(&self, content: &Content) -> bool {
        let found = fs::metadata(self.path(&content.digest));
        found.is_ok_and(|found| found.is_file() && found.len() == content.length)
    }

    fn remove(&self, digest: &Digest) -> Result<(), StoreError> {
        let path = self.path(digest);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StoreError::file(&path, error))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn path(&self, digest: &Digest) -> PathBuf {
        path_of(&self.directory, digest)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Adds a holder; returns whether the contents were new.
    fn pin(&mut self, content: Content, tier: ContentTier) -> bool {
        let Content { digest, length } = content;
        self.dropped.remove(&digest);
        if let Some(known) = self.known.get_mut(&digest) {
            known.holders += 1;
            return false;
        }
        self.known.insert(digest, Known { tier, holders: 1, length });
        true
    }

    fn forget_memory(&mut self, tier: &ContentTier) {
        if let ContentTier::Memory(bytes) = tier {
            self.in_memory -= bytes.len();
        }
    }
}

/// Keeps contents in the store at least until it is dropped.
#[derive(Debug)]
#[must_use]
pub struct PinnedContent {
    content: Content,
    contents: Arc<Contents>,
}

impl PinnedContent {
    /// Digest and length of the contents.
    pub fn content(&self) -> Content {
        self.content
    }
}

impl Drop for PinnedContent {
    fn drop(&mut self) {
        let mut waiting = self.contents.waiting();
        let digest = self.content.digest;
        let Some(known) = waiting.known.get_mut(&digest) else { return };
        known.holders -= 1;
        if known.holders > 0 {
            return;
        }
        if matches!(known.tier, ContentTier::Stored) {
            waiting.known.remove(&digest);
        } else {
            waiting.dropped.insert(digest);
        }
    }
}

/// Path of the file of contents below the directory.
pub(super) fn path_of(directory: &Path, digest: &Digest) -> PathBuf {
    let name = digest.to_string();
    directory.join(&name[..2]).join(name)
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let entries = fs::read_dir(directory).and_then(|entries| {
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()
    });
    entries.map_err(|source| StoreError::file(directory, source))
}

fn digest(name: &str) -> Option<Digest> {
    let digest: feedsync_store::Digest = name.parse().ok()?;
    Some(Digest(*digest.as_bytes()))
}
