//! Documents to read in tests: the fixtures of this project, and the corpora in `FEEDSYNC_CORPORA`.

use std::fs;
use std::path::{Path, PathBuf};

use feedsync_core::Payload;
use feedsync_formats::{ReadOptions, read, read_plain};

/// A document and its file.
#[derive(Debug, Clone)]
pub struct Document {
    /// Path of the file.
    pub path: PathBuf,
    /// Bytes of the file, in any encoding.
    pub bytes: Vec<u8>,
}

impl Document {
    /// Returns the payloads of its items, whether or not they take part in sharing; none if it cannot be
    /// read.
    pub fn payloads(&self) -> Vec<Payload> {
        let options = ReadOptions { base: Some("http://h/feeds/"), ..ReadOptions::tolerant() };
        let shared =
            read(&self.bytes, None, &options).map_or_else(|_| Vec::new(), |read| read.feed.items);
        let plain =
            read_plain(&self.bytes, &options).map_or_else(|_| Vec::new(), |plain| plain.payloads);
        shared.into_iter().map(|item| item.winner.payload).chain(plain).collect()
    }
}

/// Returns the fixtures of this project, by name.
pub fn fixtures() -> Vec<Document> {
    documents(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures")), &|_| true)
}

/// Returns every feed and outline below `FEEDSYNC_CORPORA`, by name. Without that variable it prints a notice
/// and returns none.
pub fn corpora() -> Vec<Document> {
    let Some(folder) = std::env::var_os("FEEDSYNC_CORPORA") else {
        eprintln!("FEEDSYNC_CORPORA is not set: the tests run on the project's own fixtures");
        return Vec::new();
    };
    let is_feed = |path: &Path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("xml" | "atom" | "rss" | "opml" | "rdf" | "json"))
    };
    let found = documents(Path::new(&folder), &is_feed);
    assert!(!found.is_empty(), "FEEDSYNC_CORPORA names a folder without feeds: {folder:?}");
    found
}

fn documents(folder: &Path, is_wanted: &dyn Fn(&Path) -> bool) -> Vec<Document> {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("a folder that can be listed").path())
        .collect();
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            found.extend(documents(&path, is_wanted));
        } else if is_wanted(&path) {
            let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
            found.push(Document { path, bytes });
        }
    }
    found
}
