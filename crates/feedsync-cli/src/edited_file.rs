//! Feeds in files, which commands read, search and edit in place.
//!
//! A file is replaced as a whole or not at all. Commands that edit the same file wait for each other. If
//! another program wrote to the file between reading and replacing, nothing is written.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use feedsync_core::{Item, Payload};
use feedsync_endpoint::{FeedDocument, nearest};
use feedsync_formats::{Limits, ReadOptions, sse};

use crate::context::typed_id;
use crate::failure::{Failure, warn};
use crate::invocation::{command, quoted};
use crate::source::{NetworkAccess, Source, Target};
use crate::view;

/// Maximum number of items that are searched for a similar name.
const MAX_SEARCHED_ITEMS: usize = 2_000;

/// Reads a feed from a file, from standard input (`-`), or from an address. Returns its name, too.
pub(crate) async fn read(
    name: &str,
    way: &NetworkAccess,
) -> Result<(String, FeedDocument), Failure> {
    let source = Source::load(name, way).await?;
    let feed = feed(&source.name, &source.bytes)?;
    Ok((source.name, feed))
}

/// Reads the feed of a file that can be edited.
pub(crate) fn read_file(name: &str) -> Result<FeedDocument, Failure> {
    let opened = OpenedFile::open(name)?.ok_or_else(|| no_file(name))?;
    feed(name, &opened.bytes)
}

/// Edits the feed of a file. `begin` creates the feed if the file does not exist; without `begin` that is an
/// error.
pub(crate) fn edit<T>(
    name: &str,
    begin: Option<&dyn Fn() -> Result<FeedDocument, Failure>>,
    change: impl FnOnce(&mut FeedDocument) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let opened = OpenedFile::open(name)?;
    let mut feed = match (&opened, begin) {
        (Some(opened), _) => feed(name, &opened.bytes)?,
        (None, Some(begin)) => begin()?,
        (None, None) => return Err(no_file(name)),
    };
    for refused in feed.refused() {
        warn(&format!("{name}:{}", refused.reason));
    }
    let changed = change(&mut feed)?;
    let bytes = checked(name, &feed)?;
    match opened {
        Some(opened) => opened.replace(name, &bytes)?,
        None => {
            let mut target = Target::open(Some(Path::new(name)))?;
            target.write(&bytes)?;
            target.finish_new()?;
        }
    }
    Ok(changed)
}

/// Command line of `feedsync file` for the same file, for advice.
pub(crate) fn file_command(verb: &str, name: &str, more: &str) -> String {
    let arguments = format!("file {verb} {} {more}", quoted(name));
    command(arguments.trim_end())
}

/// Finds the item with this id, or the only item whose id begins with it.
pub(crate) fn find<'f>(
    feed: &'f FeedDocument,
    name: &str,
    id: &str,
) -> Result<&'f Item<Payload>, Failure> {
    typed_id(id)?;
    let begins = |item: &&Item<Payload>| item.id.as_str().starts_with(id);
    let found: Vec<_> = feed.items().iter().filter(begins).collect();
    if let Some(exact) = found.iter().find(|item| item.id.as_str() == id) {
        return Ok(exact);
    }
    let mut refused = feed.refused().iter();
    if let Some(refused) = refused.find(|refused| refused.id.as_deref() == Some(id)) {
        return Err(Failure::refused(format!("{name}:{}", refused.reason)));
    }
    match found[..] {
        [item] => return Ok(item),
        [one, other, ..] => {
            let message =
                format!("more than one item of {name} begins with {id}: {}, {}", one.id, other.id);
            return Err(Failure::usage(message).hint("type more of the id"));
        }
        [] => {}
    }
    // The user may have typed an id or a title.
    let items = feed.items().iter().take(MAX_SEARCHED_ITEMS);
    let names: Vec<_> = items
        .flat_map(|item| {
            [(item.id.to_string(), &item.id), (view::title(&item.winner.payload), &item.id)]
        })
        .collect();
    let near = nearest(id, names.iter().map(|(name, _)| name.as_str()));
    let meant = names.iter().find(|(name, _)| Some(name.as_str()) == near);
    let meant = meant.map(|(_, id)| format!("; did you mean {id}?")).unwrap_or_default();
    Err(Failure::not_found(format!("there is no item {id} in {name}{meant}"))
        .hint(format!("see them all: {}", file_command("ls", name, "--all"))))
}

fn no_file(name: &str) -> Failure {
    Failure::not_found(format!("{name}: there is no such file"))
        .hint(format!("begin one: {}", file_command("add", name, "--title T")))
}

/// Reads a feed of FeedSync. For any other document, the failure says what is wrong and what to do.
fn feed(name: &str, bytes: &[u8]) -> Result<FeedDocument, Failure> {
    if sse::uses_sse(bytes, &ReadOptions::tolerant()) {
        let convert = command(&format!("file convert {} --to FORMAT -o OUT", quoted(name)));
        return Err(Failure::refused(format!("{name} is SSE, and not FeedSync"))
            .hint(format!("make a FeedSync feed of it first: {convert}")));
    }
    let feed = FeedDocument::read(bytes).map_err(|error| Failure::document(name, &error))?;
    if feed.is_plain() {
        let message = format!("{name} is a plain feed: none of its items has sync information");
        let import = command(&format!("import NAME {}", quoted(name)));
        let export = command("export NAME -o OUT");
        return Err(Failure::refused(message).hint(format!(
            "take its items into a collection, and write that as a feed: {import}; {export}"
        )));
    }
    Ok(feed)
}

/// Serialises the feed, and checks that every command can read the document again.
fn checked(name: &str, feed: &FeedDocument) -> Result<Vec<u8>, Failure> {
    let bytes = feed.to_bytes();
    let most = Limits::default().bytes;
    if bytes.len() > most {
        return Err(Failure::refused(format!(
            "{name} would have {} bytes, and feeds have at most {most}; nothing was written",
            bytes.len()
        )));
    }
    let unreadable = |why: &str| {
        Failure::refused(format!("{name} could not be read any more ({why}); nothing was written"))
    };
    let read = FeedDocument::read(&bytes).map_err(|error| unreadable(&error.to_string()))?;
    match read.refused().len() > feed.refused().len() || read.items().len() != feed.items().len() {
        true => Err(unreadable("an item would be refused")),
        false => Ok(bytes),
    }
}

/// A file that was read, and the lock that makes other commands wait.
struct OpenedFile {
    path: PathBuf,
    bytes: Vec<u8>,
    _lock: Option<File>,
}

impl OpenedFile {
    /// Locks and reads a file. Symbolic links are resolved. `None` if the file does not exist.
    fn open(name: &str) -> Result<Option<Self>, Failure> {
        if name == "-" || name.starts_with("http://") || name.starts_with("https://") {
            return Err(Failure::usage(format!("{name} is no file that can be edited")));
        }
        let failed = |error| Failure::file(name, &error);
        let path = match fs::canonicalize(name) {
            Ok(path) => path,
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
            Err(_) if fs::symlink_metadata(name).is_ok() => {
                return Err(Failure::not_found(format!("{name} is a link that leads to no file")));
            }
            Err(_) => return Ok(None),
        };
        let metadata = fs::metadata(&path).map_err(failed)?;
        if !metadata.is_file() {
            return Err(Failure::store(format!("{name} is not a regular file")));
        }
        if metadata.permissions().readonly() {
            return Err(Failure::store(format!("{name} is read-only")));
        }
        let lock = locked(&path).map_err(failed)?;
        let bytes = content(&path).map_err(failed)?;
        Ok(Some(Self { path, bytes, _lock: lock }))
    }

    /// Replaces the file, unless it has changed since it was read.
    fn replace(self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        if *bytes == *self.bytes {
            return Ok(());
        }
        let mut target = Target::open(Some(&self.path))?;
        target.write(bytes)?;
        match content(&self.path) {
            Ok(now) if now == self.bytes => target.finish(),
            Ok(_) | Err(_) => Err(Failure::refused(format!(
                "{name} has changed since it was read; nothing was written"
            ))
            .hint("run the command again")),
        }
    }
}

fn content(path: &Path) -> std::io::Result<Vec<u8>> {
    // One byte more than the limit is read, so that the parser reports a file that is too large.
    let limit = Limits::default().bytes as u64 + 1;
    let mut bytes = Vec::new();
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens and locks a file. `None` if the file system does not support locks.
#[cfg(unix)]
fn locked(path: &Path) -> std::io::Result<Option<File>> {
    use std::os::unix::fs::MetadataExt as _;
    loop {
        let file = File::open(path)?;
        match file.lock() {
            Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(None),
            result => result?,
        }
        // The previous owner of the lock may have replaced the file.
        let (ours, there) = (file.metadata()?, fs::metadata(path)?);
        if (ours.dev(), ours.ino()) == (there.dev(), there.ino()) {
            return Ok(Some(file));
        }
    }
}

/// On other systems a locked file could be neither read nor replaced, so there is no lock.
#[cfg(not(unix))]
fn locked(_: &Path) -> std::io::Result<Option<File>> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_another_program_changed_meanwhile_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notes.atom");
        let name = path.to_str().unwrap();
        for theirs in ["old, and more", "new"] {
            fs::write(&path, "old").unwrap();
            let opened = OpenedFile::open(name).unwrap().unwrap();
            fs::write(&path, theirs).unwrap();
            let Err(Failure::Message { code, message, .. }) = opened.replace(name, b"mine") else {
                panic!("{theirs}")
            };
            assert_eq!((code, fs::read(&path).unwrap()), (1, theirs.as_bytes().to_vec()));
            assert!(message.ends_with("has changed since it was read; nothing was written"));
        }
        let opened = OpenedFile::open(name).unwrap().unwrap();
        fs::remove_file(&path).unwrap();
        assert!(opened.replace(name, b"mine").is_err() && !path.exists());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_would_become_too_large_is_not_written() {
        use feedsync_core::{By, Creation, Format, ItemId, Stamp, Timestamp};
        let author = feedsync_endpoint::FileAuthor {
            name: feedsync_store::EndpointName::new("ann").unwrap(),
            now: Timestamp::from_unix_seconds(0).unwrap(),
        };
        let mut feed = FeedDocument::empty(Format::Json, "urn:x", "t", &author).unwrap();
        assert!(checked("n.json", &feed).is_ok());
        // Merging accepts items of any size.
        let text = format!("{{\"title\":\"{}\"}}", "x".repeat(Limits::default().bytes));
        let stamp = Stamp::new(author.now, By::new("x").unwrap());
        let payload = Payload::from_parsed(Format::Json, text);
        let id = ItemId::new("a").unwrap();
        feed.merge([Item::create(id, Creation::default(), &stamp, payload).unwrap()]);
        let Err(Failure::Message { message, .. }) = checked("n.json", &feed) else { panic!() };
        assert!(message.contains("and feeds have at most 67108864"), "{message}");
    }

    /// If two commands create the same file, the second one does not replace it.
    #[test]
    fn a_file_that_appeared_meanwhile_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notes.atom");
        let mut target = Target::open(Some(&path)).unwrap();
        target.write(b"mine").unwrap();
        fs::write(&path, "theirs").unwrap();
        assert!(target.finish_new().is_err());
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
    }
}
