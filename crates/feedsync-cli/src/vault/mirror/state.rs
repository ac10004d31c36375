//! State of a mirror: the content that each note and its file had in common last.
//!
//! The state is a file in the data directory. It is written after the files and notes that it describes, so that after a
//! crash it is at most too old. Then both sides have the same content, and the next pass records it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::stamp::Stamp;
use feedsync_store::Digest;

const VERSION: u64 = 1;

/// A note and its file, as they were mirrored last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Path of the file below the directory.
    pub(super) path: String,
    /// Revision of the note.
    pub(super) revision: String,
    /// Hash of the content of both.
    pub(super) hash: Digest,
    /// Stamp of the file.
    pub(super) stamp: Stamp,
    /// Whether a pass has begun to change the note or the file. If it was interrupted, either may have been written, and
    /// edited again since.
    pub(super) is_pending: bool,
}

/// State of a mirror.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct MirrorState {
    /// Name of the database.
    pub(super) database: String,
    /// Epoch of the database: it differs after the database was created again or restored.
    pub(super) epoch: String,
    /// Notes by the id of their document.
    pub(super) entries: BTreeMap<String, Entry>,
}

impl MirrorState {
    /// Parses a stored state. `None` if it is damaged or of another version.
    pub(super) fn read(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text).ok()?;
        if value["version"] != VERSION {
            return None;
        }
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let entry = |value: &Value| {
            Some(Entry {
                path: text(&value["path"])?,
                revision: text(&value["revision"])?,
                hash: value["hash"].as_str()?.parse().ok()?,
                stamp: Stamp::read(&value["stamp"])?,
                is_pending: value["pending"].as_bool()?,
            })
        };
        let entries = value["entries"].as_object()?.iter();
        Some(Self {
            database: text(&value["database"])?,
            epoch: text(&value["epoch"])?,
            entries: entries
                .map(|(id, it)| Some((id.clone(), entry(it)?)))
                .collect::<Option<_>>()?,
        })
    }

    /// Returns the text that is stored.
    pub(super) fn text(&self) -> String {
        let entry = |it: &Entry| {
            let (hash, stamp) = (it.hash.to_string(), it.stamp.value());
            let (path, revision, pending) = (&it.path, &it.revision, it.is_pending);
            json!({
                "path": path, "revision": revision, "hash": hash, "stamp": stamp, "pending": pending,
            })
        };
        let entries: serde_json::Map<_, _> =
            self.entries.iter().map(|(id, it)| (id.clone(), entry(it))).collect();
        let (database, epoch) = (&self.database, &self.epoch);
        json!({ "version": VERSION, "database": database, "epoch": epoch, "entries": entries })
            .to_string()
    }

    /// Whether some note had this content when it was mirrored last.
    pub(super) fn has_content(&self, hash: Digest) -> bool {
        self.entries.values().any(|entry| entry.hash == hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_state_is_read_as_it_was() {
        let entry = Entry {
            path: "Grüße/Tag \"1\".md".to_owned(),
            revision: "3-abc".to_owned(),
            hash: Digest::of(b"text"),
            stamp: Stamp {
                size: 4,
                modified: -1,
                changed: 1_800_000_000_123_456_789,
                inode: u64::MAX,
            },
            is_pending: true,
        };
        let entries = [("grüße/tag \"1\".md".to_owned(), entry)].into();
        let state = MirrorState { database: "notes".to_owned(), epoch: "1".to_owned(), entries };
        assert_eq!(MirrorState::read(&state.text()), Some(state.clone()));
        assert!(state.has_content(Digest::of(b"text")));
        assert!(!state.has_content(Digest::of(b"other")));
        let text = state.text();
        for damaged in [
            "",
            "{}",
            &text[..text.len() - 1],
            &text.replace("\"version\":1", "\"version\":2"),
            &text.replace(&entry_hash(&state), "00"),
        ] {
            assert_eq!(MirrorState::read(damaged), None, "{damaged}");
        }
    }

    fn entry_hash(state: &MirrorState) -> String {
        state.entries.values().map(|entry| entry.hash.to_string()).collect()
    }
}
