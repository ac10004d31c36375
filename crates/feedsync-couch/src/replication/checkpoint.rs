//! Checkpoints of a replication, which both sides store in a local document (section 8).
//!
//! Both sides store the same list of passed positions, each with a unique name. A replication continues at
//! the newest position that both lists contain. If one side was restored to an earlier state, this is a
//! position that it knew in that state.

use std::fmt::Write as _;

use feedsync_formats::json::{Kind, Node, push_string};
use sha2::{Digest as _, Sha256};

use super::UpdateSequence;
use crate::json::{Json, integer, text};

/// Maximum number of stored positions, the newest ones.
pub const MAX_CHECKPOINTS: usize = 50;

/// Progress of a replication.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// The passed positions, the newest first.
    pub passed: Vec<CheckpointEntry>,
}

/// A passed position: all changes up to it have been written and are durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointEntry {
    /// Unique name of this entry.
    pub session: String,
    /// The position.
    pub place: UpdateSequence,
    /// Position at which that run of the replication began.
    pub began_at: UpdateSequence,
    /// Start of the run and time of the entry, as text for people.
    pub times: (String, String),
    /// Statistics of the run.
    pub stats: ReplicationStats,
}

/// Statistics of a replication.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReplicationStats {
    /// Number of revisions that were checked.
    pub checked: u64,
    /// Number of those that were missing.
    pub missing: u64,
    /// Number of documents that were read.
    pub read: u64,
    /// Number of documents that were written.
    pub written: u64,
    /// Number of documents that were rejected.
    pub refused: u64,
}

impl Checkpoint {
    /// Parses a local document; a document that is not a checkpoint has no passed positions.
    pub fn read(document: &Json) -> Self {
        let history = document.root().member("history").filter(|it| it.value.kind() == Kind::Array);
        let passed = history
            .map(|it| it.value.elements().take(MAX_CHECKPOINTS).filter_map(passed).collect());
        Self { passed: passed.unwrap_or_default() }
    }

    /// The local document, with the revision that it replaces.
    pub fn document(&self, revision: Option<&str>) -> String {
        let mut out = String::from("{");
        if let Some(revision) = revision {
            out.push_str("\"_rev\":");
            push_string(&mut out, revision);
            out.push(',');
        }
        if let Some(newest) = self.passed.first() {
            out.push_str("\"session_id\":");
            push_string(&mut out, &newest.session);
            let _ = write!(out, ",\"source_last_seq\":{},", newest.place.as_json());
        }
        out.push_str("\"replication_id_version\":4,\"history\":[");
        for (at, passed) in self.passed.iter().enumerate() {
            out.push_str(if at > 0 { "," } else { "" });
            push_passed(&mut out, passed);
        }
        out.push_str("]}");
        out
    }

    /// The newest position that both sides have passed.
    pub fn common<'a>(&'a self, other: &Self) -> Option<&'a CheckpointEntry> {
        let is_there = |passed: &&CheckpointEntry| {
            let same = |it: &&CheckpointEntry| it.session == passed.session;
            other.passed.iter().find(same).is_some_and(|it| it.place == passed.place)
        };
        self.passed.iter().find(is_there)
    }

    /// Adds a passed position.
    pub fn pass(&mut self, passed: CheckpointEntry) {
        self.passed.insert(0, passed);
        self.passed.truncate(MAX_CHECKPOINTS);
    }
}

fn passed(node: Node<'_>) -> Option<CheckpointEntry> {
    let of = |name: &str| Some(text(node.member(name)?.value)?.into_owned());
    let count = |name: &str| node.member(name).and_then(|it| integer(it.value)).unwrap_or_default();
    let place = |name: &str| node.member(name).and_then(|it| UpdateSequence::read(it.value));
    Some(CheckpointEntry {
        session: of("session_id")?,
        place: place("recorded_seq")?,
        began_at: place("start_last_seq").unwrap_or_else(UpdateSequence::beginning),
        times: (of("start_time").unwrap_or_default(), of("end_time").unwrap_or_default()),
        stats: ReplicationStats {
            checked: count("missing_checked"),
            missing: count("missing_found"),
            read: count("docs_read"),
            written: count("docs_written"),
            refused: count("doc_write_failures"),
        },
    })
}

fn push_passed(out: &mut String, passed: &CheckpointEntry) {
    let CheckpointEntry { session, place, began_at, times, stats } = passed;
    out.push_str("{\"session_id\":");
    push_string(out, session);
    out.push_str(",\"start_time\":");
    push_string(out, &times.0);
    out.push_str(",\"end_time\":");
    push_string(out, &times.1);
    let ReplicationStats { checked, missing, read, written, refused } = stats;
    let _ = write!(
        out,
        ",\"start_last_seq\":{},\"end_last_seq\":{place},\"recorded_seq\":{place},\"missing_checked\":{checked},\
         \"missing_found\":{missing},\"docs_read\":{read},\"docs_written\":{written},\"doc_write_failures\":{refused}}}",
        began_at.as_json(),
        place = place.as_json(),
    );
}

/// Id of the local document of a replication's checkpoint, a function of the two sides and the filter.
pub fn replication_id(source: &str, target: &str, filter: &str) -> String {
    let mut hash = Sha256::new();
    for part in ["feedsync", source, target, filter] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize()[..16].iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(number: u64) -> CheckpointEntry {
        CheckpointEntry {
            session: format!("s{number}"),
            place: UpdateSequence::of_text(&format!("{number}-x")),
            began_at: UpdateSequence::beginning(),
            times: ("then".to_owned(), "now".to_owned()),
            stats: ReplicationStats {
                checked: number,
                missing: 4,
                read: 3,
                written: 2,
                refused: 1,
            },
        }
    }

    fn reread(checkpoint: &Checkpoint) -> Checkpoint {
        Checkpoint::read(&Json::read(checkpoint.document(Some("0-1")).into_bytes()).unwrap())
    }

    #[test]
    fn checkpoint_round_trips() {
        let mut checkpoint = Checkpoint::default();
        assert_eq!(reread(&checkpoint), checkpoint);
        for number in 0..60 {
            checkpoint.pass(passed(number));
        }
        assert_eq!(checkpoint.passed.len(), MAX_CHECKPOINTS);
        assert_eq!(reread(&checkpoint), checkpoint);
        let document = Json::read(checkpoint.document(None).into_bytes()).unwrap();
        let of = |name| document.root().member(name).unwrap().value.raw().to_owned();
        assert_eq!((&*of("session_id"), &*of("source_last_seq")), ("\"s59\"", "\"59-x\""));
        assert!(document.root().member("_rev").is_none());
    }

    #[test]
    fn checkpoints_of_couchdb_and_others_are_read() {
        let read = |text: &str| Checkpoint::read(&Json::read(text.as_bytes().to_vec()).unwrap());
        let couchdb = read(
            r#"{"_id":"_local/x","session_id":"a","source_last_seq":"5-g1","history":
                [{"session_id":"a","recorded_seq":"5-g1","docs_read":2},{"no":1},{"session_id":"b","recorded_seq":3}]}"#,
        );
        let sessions: Vec<&str> = couchdb.passed.iter().map(|it| &*it.session).collect();
        assert_eq!(sessions, ["a", "b"]);
        assert_eq!(couchdb.passed[1].place.as_json(), "3");
        for text in ["{}", "[]", "{\"history\":1}", "{\"history\":[[],{}]}"] {
            assert_eq!(read(text), Checkpoint::default(), "{text}");
        }
    }

    #[test]
    fn replication_continues_at_the_newest_common_position() {
        let of =
            |numbers: &[u64]| Checkpoint { passed: numbers.iter().map(|it| passed(*it)).collect() };
        let place =
            |one: &[u64], other: &[u64]| of(one).common(&of(other)).map(|it| it.place.clone());
        let at = |number: u64| Some(passed(number).place);
        assert_eq!(place(&[3, 2, 1], &[3, 2, 1]), at(3));
        // One side was not updated, or was restored.
        assert_eq!(place(&[2, 1], &[3, 2, 1]), at(2));
        assert_eq!(place(&[5, 4, 3, 2], &[9, 3, 1]), at(3));
        assert_eq!(place(&[2], &[3]), None);
        assert_eq!(place(&[], &[1]), None);
        // An entry whose name has different positions on both sides is ignored.
        let mut other = of(&[3, 2]);
        other.passed[0].place = passed(7).place;
        assert_eq!(of(&[3, 2]).common(&other).map(|it| it.place.clone()), at(2));
    }

    #[test]
    fn replication_ids_depend_on_sides_and_filter() {
        let ids = [("a", "b", ""), ("b", "a", ""), ("ab", "", ""), ("a", "b", "x")];
        let ids: std::collections::BTreeSet<String> = ids
            .iter()
            .map(|(source, target, filter)| replication_id(source, target, filter))
            .collect();
        assert_eq!(ids.len(), 4);
        assert!(ids.iter().all(|id| id.len() == 32));
    }
}
