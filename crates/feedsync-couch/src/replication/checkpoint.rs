//! How far a replication is, as both sides keep it in a local document (section 8).
//!
//! Both sides keep the same list of places that were passed, each under a name of its own. A replication goes on at the
//! newest place that both have: where one side was put back to what it was before, that is a place it still knew then.

use std::fmt::Write as _;

use feedsync_formats::json::{Kind, Node, push_string};
use sha2::{Digest as _, Sha256};

use super::Place;
use crate::json::{Json, integer, text};

/// So many places are kept, the newest ones.
pub const MOST_CHECKPOINTS: usize = 50;

/// How far a replication is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// The places that were passed, the newest first.
    pub passed: Vec<Passed>,
}

/// A place that was passed: all that changed up to it has been written, and is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passed {
    /// The name of this place; no other has it.
    pub session: String,
    /// Where it is.
    pub place: Place,
    /// Where the replication began that came here.
    pub began_at: Place,
    /// When it began, and when it was here, as text for people.
    pub times: (String, String),
    /// What it did.
    pub worked: Worked,
}

/// What a replication did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Worked {
    /// Revisions that were asked for.
    pub checked: u64,
    /// Of those, what was missing.
    pub missing: u64,
    /// Documents that were read.
    pub read: u64,
    /// Documents that were written.
    pub written: u64,
    /// Documents that were refused.
    pub refused: u64,
}

impl Checkpoint {
    /// Reads a local document; one that nobody of this protocol wrote passed nothing.
    pub fn read(document: &Json) -> Self {
        let history = document.root().member("history").filter(|it| it.value.kind() == Kind::Array);
        let passed = history
            .map(|it| it.value.elements().take(MOST_CHECKPOINTS).filter_map(passed).collect());
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

    /// The newest place that both sides have passed.
    pub fn common<'a>(&'a self, other: &Self) -> Option<&'a Passed> {
        let is_there = |passed: &&Passed| {
            let same = |it: &&Passed| it.session == passed.session;
            other.passed.iter().find(same).is_some_and(|it| it.place == passed.place)
        };
        self.passed.iter().find(is_there)
    }

    /// Another place was passed.
    pub fn pass(&mut self, passed: Passed) {
        self.passed.insert(0, passed);
        self.passed.truncate(MOST_CHECKPOINTS);
    }
}

fn passed(node: Node<'_>) -> Option<Passed> {
    let of = |name: &str| Some(text(node.member(name)?.value)?.into_owned());
    let count = |name: &str| node.member(name).and_then(|it| integer(it.value)).unwrap_or_default();
    let place = |name: &str| node.member(name).and_then(|it| Place::read(it.value));
    Some(Passed {
        session: of("session_id")?,
        place: place("recorded_seq")?,
        began_at: place("start_last_seq").unwrap_or_else(Place::beginning),
        times: (of("start_time").unwrap_or_default(), of("end_time").unwrap_or_default()),
        worked: Worked {
            checked: count("missing_checked"),
            missing: count("missing_found"),
            read: count("docs_read"),
            written: count("docs_written"),
            refused: count("doc_write_failures"),
        },
    })
}

fn push_passed(out: &mut String, passed: &Passed) {
    let Passed { session, place, began_at, times, worked } = passed;
    out.push_str("{\"session_id\":");
    push_string(out, session);
    out.push_str(",\"start_time\":");
    push_string(out, &times.0);
    out.push_str(",\"end_time\":");
    push_string(out, &times.1);
    let Worked { checked, missing, read, written, refused } = worked;
    let _ = write!(
        out,
        ",\"start_last_seq\":{},\"end_last_seq\":{place},\"recorded_seq\":{place},\"missing_checked\":{checked},\
         \"missing_found\":{missing},\"docs_read\":{read},\"docs_written\":{written},\"doc_write_failures\":{refused}}}",
        began_at.as_json(),
        place = place.as_json(),
    );
}

/// The id of the local document in which a replication keeps how far it is: the same for the same sides and filter.
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

    fn passed(number: u64) -> Passed {
        Passed {
            session: format!("s{number}"),
            place: Place::of_text(&format!("{number}-x")),
            began_at: Place::beginning(),
            times: ("then".to_owned(), "now".to_owned()),
            worked: Worked { checked: number, missing: 4, read: 3, written: 2, refused: 1 },
        }
    }

    fn reread(checkpoint: &Checkpoint) -> Checkpoint {
        Checkpoint::read(&Json::read(checkpoint.document(Some("0-1")).into_bytes()).unwrap())
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut checkpoint = Checkpoint::default();
        assert_eq!(reread(&checkpoint), checkpoint);
        for number in 0..60 {
            checkpoint.pass(passed(number));
        }
        assert_eq!(checkpoint.passed.len(), MOST_CHECKPOINTS);
        assert_eq!(reread(&checkpoint), checkpoint);
        let document = Json::read(checkpoint.document(None).into_bytes()).unwrap();
        let of = |name| document.root().member(name).unwrap().value.raw().to_owned();
        assert_eq!((&*of("session_id"), &*of("source_last_seq")), ("\"s59\"", "\"59-x\""));
        assert!(document.root().member("_rev").is_none());
    }

    #[test]
    fn what_couchdb_and_others_wrote_is_read() {
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
    fn a_replication_goes_on_where_both_sides_were() {
        let of =
            |numbers: &[u64]| Checkpoint { passed: numbers.iter().map(|it| passed(*it)).collect() };
        let place =
            |one: &[u64], other: &[u64]| of(one).common(&of(other)).map(|it| it.place.clone());
        let at = |number: u64| Some(passed(number).place);
        assert_eq!(place(&[3, 2, 1], &[3, 2, 1]), at(3));
        // One side was not told any more, or was put back.
        assert_eq!(place(&[2, 1], &[3, 2, 1]), at(2));
        assert_eq!(place(&[5, 4, 3, 2], &[9, 3, 1]), at(3));
        assert_eq!(place(&[2], &[3]), None);
        assert_eq!(place(&[], &[1]), None);
        // One name of two places says nothing.
        let mut other = of(&[3, 2]);
        other.passed[0].place = passed(7).place;
        assert_eq!(of(&[3, 2]).common(&other).map(|it| it.place.clone()), at(2));
    }

    #[test]
    fn replications_of_other_sides_have_other_ids() {
        let ids = [("a", "b", ""), ("b", "a", ""), ("ab", "", ""), ("a", "b", "x")];
        let ids: std::collections::BTreeSet<String> = ids
            .iter()
            .map(|(source, target, filter)| replication_id(source, target, filter))
            .collect();
        assert_eq!(ids.len(), 4);
        assert!(ids.iter().all(|id| id.len() == 32));
    }
}
