//! Edits and replicated revisions as they become documents of a store.

mod attachments;
mod compaction;
mod dropped;
mod history;
mod validation;
mod views;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use feedsync_couch::{Attachment, DatabaseName, Json};
use feedsync_store::{
    ChangeNumber, EndpointName, LoadedDocument, MemoryStore, SelectBodies, StoredDocument,
    SystemEnvironment,
};
use proptest::prelude::*;

use super::validation::Author;
use super::*;

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

struct Room {
    endpoint: Endpoint,
    databases: Arc<dyn Databases>,
    name: DatabaseName,
}

impl Room {
    fn new() -> Self {
        let name = EndpointName::new("tester").unwrap();
        let store = Arc::new(MemoryStore::new(&name, Arc::new(SystemEnvironment)));
        let endpoint = Endpoint::new(store, Arc::new(SystemEnvironment));
        let databases = endpoint.databases();
        let name = "notes".parse().unwrap();
        wait(databases.create_database(&name, Default::default())).unwrap();
        Self { endpoint, databases, name }
    }

    fn write(&self, documents: &[&str], edits: Edits) -> Result<Vec<String>, Refusal> {
        let new = |text: &&str| {
            let json = Json::read(text.as_bytes().to_vec()).unwrap();
            let sent = Submission::read(json.root())?;
            let id = sent.id.clone().unwrap();
            Ok(NewDocument { id, sent, followed: BTreeMap::new() })
        };
        let documents = documents.iter().map(new).collect::<Result<Vec<_>, Refusal>>()?;
        let database = wait(self.databases.database(&self.name)).unwrap().unwrap();
        let writer = self.endpoint.documents_writer(Author::SERVER);
        let written = wait(writer.write(&database, documents, edits));
        match written {
            // A single refused document is refused as its request would be.
            Ok(written)
                if matches!(&written[..], [Err(refusal)]
                    if !matches!(refusal.kind, RefusalKind::Conflict | RefusalKind::Forbidden)) =>
            {
                Err(written.into_iter().find_map(Result::err).unwrap())
            }
            Ok(written) => Ok(written
                .into_iter()
                .map(|one| {
                    one.map_or_else(|refusal| refusal.kind.error().to_owned(), |it| it.to_string())
                })
                .collect()),
            Err(DocumentsError::Refused(refusal)) => Err(refusal),
            Err(DocumentsError::Store(error)) => panic!("{error}"),
        }
    }

    fn changes(&self) -> Vec<LoadedDocument> {
        let all: SelectBodies = Box::new(|document: &StoredDocument| {
            document.tree.leaves().into_iter().map(|leaf| leaf.revision.clone()).collect()
        });
        let read = self.databases.document_changes(
            &self.name,
            ChangeNumber::ZERO,
            99,
            None,
            all,
            u64::MAX,
        );
        wait(read).unwrap().documents
    }

    fn last(&self) -> u64 {
        wait(self.databases.database(&self.name)).unwrap().unwrap().last.get()
    }

    fn attachments(&self, document: usize) -> Vec<Attachment> {
        let read = &self.changes()[document];
        let winner = read.document.tree.winner().unwrap().revision.clone();
        read.bodies[&winner].attachments.to_vec()
    }
}

/// Each write of a document visits all its leaves, so their number is bounded. One more leaf is refused
/// alone.
#[test]
fn leaf_above_the_maximum_is_refused_alone() {
    let room = Room::new();
    let leaf = |number: u32| format!("{{\"_id\":\"a\",\"_rev\":\"1-{number:032x}\"}}");
    let leaves: Vec<String> = (0..10_000).map(leaf).collect();
    let leaves: Vec<&str> = leaves.iter().map(|leaf| &**leaf).collect();
    assert_eq!(room.write(&leaves, Edits::Replicated).unwrap().len(), 10_000);
    let more = [&*leaf(10_000), "{\"_id\":\"b\",\"_rev\":\"1-b\"}", &leaf(7)];
    let written = room.write(&more, Edits::Replicated).unwrap();
    assert_eq!(written, ["forbidden", "1-b", &format!("1-{:032x}", 7)]);
    // A child of a leaf does not add a leaf.
    let next =
        format!("{{\"_id\":\"a\",\"_revisions\":{{\"start\":2,\"ids\":[\"x\",\"{:032x}\"]}}}}", 7);
    assert_eq!(room.write(&[&next], Edits::Replicated).unwrap(), ["2-x"]);
}

/// At the maximum number of revisions, leaves can still be edited, but no older ancestors are added.
#[test]
fn document_at_maximum_revisions_takes_edits_but_no_new_paths() {
    let room = Room::new();
    let path = |leaf: u32, before: u32| {
        let before = (0..999).map(|number| format!("\"{before:x}.{number:x}\""));
        let ids: Vec<String> = std::iter::once(format!("\"{leaf}\"")).chain(before).collect();
        format!("{{\"_id\":\"a\",\"_revisions\":{{\"start\":1000,\"ids\":[{}]}}}}", ids.join(","))
    };
    let paths: Vec<String> = (0..100).map(|number| path(number, number)).collect();
    let paths: Vec<&str> = paths.iter().map(|it| &**it).collect();
    let written = room.write(&paths, Edits::Replicated).unwrap();
    assert!(written.iter().all(|it| it.starts_with("1000-")));
    let count = || room.changes()[0].document.tree.len();
    assert_eq!(count(), 100_000);
    let edit = "{\"_id\":\"a\",\"_revisions\":{\"start\":1001,\"ids\":[\"b\",\"7\",\"odd\"]}}";
    let more = [&*path(3, 300), &path(300, 300), edit];
    let written = room.write(&more, Edits::Replicated).unwrap();
    assert_eq!(written, ["1000-3", "forbidden", "1001-b"]);
    assert_eq!(count(), 100_000, "the oldest goes for the newest");
}

#[test]
fn places_write_the_same_text_as_a_single_position() {
    let room = Room::new();
    let database = wait(room.databases.database(&room.name)).unwrap().unwrap();
    let places = sequence::SequenceWriter::of(&database);
    for number in [ChangeNumber::ZERO, ChangeNumber::new(7), ChangeNumber::MAX] {
        let mut out = String::from(" ");
        places.push(&mut out, number);
        let alone = feedsync_couch::quoted(&sequence::text(&database, number));
        assert_eq!(out, format!(" {alone}"));
    }
}

/// An edit of a current leaf succeeds. Any other edit is a conflict and does not affect the rest.
#[test]
fn edits_are_made_in_their_order() {
    let room = Room::new();
    let first = room
        .write(&[r#"{"_id":"a","x":1}"#, r#"{"_id":"b"}"#, r#"{"_id":"a","x":2}"#], Edits::New)
        .unwrap();
    assert!(first[0].starts_with("1-") && first[1].starts_with("1-"));
    assert_eq!(first[2], "conflict");
    let second = room
        .write(&[&format!(r#"{{"_id":"a","_rev":"{}","x":2}}"#, first[0])], Edits::New)
        .unwrap();
    assert!(second[0].starts_with("2-"));
    let stale = format!(r#"{{"_id":"a","_rev":"{}","x":3}}"#, first[0]);
    assert_eq!(room.write(&[&stale], Edits::New).unwrap(), ["conflict"]);
    assert_eq!(room.last(), 3, "a conflict takes no place in the order");
    let gone = format!(r#"{{"_id":"a","_rev":"{}","_deleted":true,"why":"x"}}"#, second[0]);
    assert!(room.write(&[&gone], Edits::New).unwrap()[0].starts_with("3-"));
    assert!(
        room.write(&[r#"{"_id":"a"}"#], Edits::New).unwrap()[0].starts_with("4-"),
        "made again"
    );
}

/// The same edit made on two hubs is one revision.
#[test]
fn the_same_edit_is_no_conflict() {
    let write =
        |room: &Room| room.write(&[r#"{"_id":"a","x":[1,{"b":1,"a":2}]}"#], Edits::New).unwrap();
    let (one, other) = (Room::new(), Room::new());
    let revision = write(&one);
    assert_eq!(revision, write(&other));
}

/// A revision that the database has takes no new sequence number. Otherwise two continuous replications in opposite
/// directions would never end (CG6).
#[test]
fn known_revision_gets_no_new_sequence_number() {
    let room = Room::new();
    let sent = [r#"{"_id":"a","_rev":"2-b","_revisions":{"start":2,"ids":["b","a"]},"x":1}"#];
    for _ in 0..2 {
        assert_eq!(room.write(&sent, Edits::Replicated).unwrap(), ["2-b"]);
        assert_eq!(room.last(), 1);
    }
    let inner = [r#"{"_id":"a","_rev":"1-a"}"#];
    assert_eq!(room.write(&inner, Edits::Replicated).unwrap(), ["1-a"]);
    assert_eq!(room.last(), 1);
    let other = [r#"{"_id":"a","_rev":"2-c","_revisions":{"start":2,"ids":["c","a"]}}"#];
    room.write(&other, Edits::Replicated).unwrap();
    assert_eq!(room.last(), 2);
    assert_eq!(room.changes()[0].document.tree.leaves().len(), 2);
}

/// An invalid document causes the request to be refused, and nothing of it is stored.
#[test]
fn a_faulty_edit_refuses_the_whole_batch() {
    let room = Room::new();
    let faulty = r#"{"_id":"b","_attachments":{"n":{"stub":true}}}"#;
    room.write(&[r#"{"_id":"a","_rev":"1-a"}"#, faulty], Edits::New).unwrap_err();
    assert_eq!(room.changes(), []);
}

#[test]
fn a_faulty_replicated_document_is_refused_alone() {
    for (faulty, refused) in [
        (r#"{"_id":"b"}"#, "bad_request"),
        (
            r#"{"_id":"b","_rev":"1-a","_attachments":{"n":{"stub":true,"revpos":1}}}"#,
            "missing_stub",
        ),
        (r#"{"_id":"b","_rev":"1-a","_attachments":{"n":{"follows":true}}}"#, "bad_request"),
    ] {
        let room = Room::new();
        let sent = [r#"{"_id":"a","_rev":"1-a"}"#, faulty, r#"{"_id":"c","_rev":"1-a"}"#];
        assert_eq!(room.write(&sent, Edits::Replicated).unwrap(), ["1-a", refused, "1-a"]);
        let ids: Vec<_> = room.changes().iter().map(|read| read.document.id.to_string()).collect();
        assert_eq!(ids, ["a", "c"], "{faulty}");
    }
}

#[test]
fn attachments_are_brought_kept_and_left_out() {
    let room = Room::new();
    let one = room
        .write(
            &[r#"{"_id":"a","_attachments":{"n":{"content_type":"text/plain","data":"aGk="}}}"#],
            Edits::New,
        )
        .unwrap();
    let brought = room.attachments(0);
    let facts =
        |it: &Attachment| (it.name.clone(), it.content_type.clone(), it.generation, it.length);
    assert_eq!(facts(&brought[0]), ("n".to_owned(), "text/plain".to_owned(), 1, 2));
    let held = wait(room.databases.attachment(&room.name, &brought[0].digest)).unwrap();
    assert_eq!(held.as_deref(), Some(&b"hi"[..]));
    let kept = format!(
        r#"{{"_id":"a","_rev":"{}","_attachments":{{"n":{{"stub":true,"revpos":1}},"m":{{"data":""}}}}}}"#,
        one[0]
    );
    let two = room.write(&[&kept], Edits::New).unwrap();
    let both: Vec<_> = room.attachments(0).iter().map(facts).collect();
    assert_eq!(both[0], facts(&brought[0]));
    assert_eq!(both[1], ("m".to_owned(), "application/octet-stream".to_owned(), 2, 0));
    let wrong = format!(
        r#"{{"_id":"a","_rev":"{}","_attachments":{{"n":{{"stub":true,"revpos":2}}}}}}"#,
        two[0]
    );
    assert_eq!(room.write(&[&wrong], Edits::New).unwrap_err().kind, RefusalKind::MissingStub);
    let without = format!(r#"{{"_id":"a","_rev":"{}"}}"#, two[0]);
    room.write(&[&without], Edits::New).unwrap();
    assert_eq!(room.attachments(0), []);
    // In a replicated document the generation is the stated one, and 0 where none is stated.
    let sent = r#"{"_id":"b","_rev":"3-c","_attachments":{"n":{"data":"aGk=","revpos":2},"m":{"data":""}}}"#;
    room.write(&[sent], Edits::Replicated).unwrap();
    let generations: Vec<_> = room.attachments(1).iter().map(|it| it.generation).collect();
    assert_eq!(generations, [2, 0]);
    let child = r#"{"_id":"b","_rev":"5-e","_revisions":{"start":5,"ids":["e","d","c"]},
                    "_attachments":{"n":{"stub":true,"revpos":2}}}"#;
    room.write(&[child], Edits::Replicated).unwrap();
    assert_eq!(room.attachments(1)[0].digest, brought[0].digest);
}

/// A database of which more than half is superseded is compacted automatically, and no other is.
#[test]
fn mostly_superseded_database_is_compacted_automatically() {
    let name = EndpointName::new("tester").unwrap();
    let store = Arc::new(MemoryStore::new(&name, Arc::new(SystemEnvironment)));
    let endpoint = Endpoint::new(store, Arc::new(SystemEnvironment));
    let databases = endpoint.databases();
    let room = |name: &str| {
        let name: DatabaseName = name.parse().unwrap();
        wait(databases.create_database(&name, Default::default())).unwrap();
        Room { endpoint: endpoint.clone(), databases: Arc::clone(&databases), name }
    };
    let rooms = [room("large"), room("small")];
    for (room, length) in rooms.iter().zip([600_000, 1_000]) {
        let mut revision = String::new();
        for number in 0..3 {
            let long = "x".repeat(length);
            let text = format!(r#"{{"_id":"a"{revision},"n":{number},"long":"{long}"}}"#);
            let written = room.write(&[&text], Edits::New).unwrap();
            revision = format!(r#","_rev":"{}""#, written[0]);
        }
    }
    let superseded = || -> Vec<u64> {
        let read =
            |room: &Room| wait(room.databases.database(&room.name)).unwrap().unwrap().superseded;
        rooms.iter().map(read).collect()
    };
    assert!(superseded().iter().all(|bytes| *bytes > 0));
    assert_eq!(wait(endpoint.compact_databases()).unwrap(), 1);
    assert!(superseded()[0] == 0 && superseded()[1] > 0);
    assert_eq!(wait(endpoint.compact_databases()).unwrap(), 0);
}

/// A stub stands for an attachment of an ancestor, or for stored content of the same digest.
#[test]
fn a_stub_takes_nothing_of_another_branch() {
    let room = Room::new();
    let one = r#"{"_id":"a","_revisions":{"start":2,"ids":["b","r"]},"_attachments":{"f":{"data":"QUFBQQ==","revpos":2}}}"#;
    room.write(&[one], Edits::Replicated).unwrap();
    let digest = room.attachments(0)[0].digest.clone();
    let stub = |digest: &str| {
        format!(
            r#"{{"_id":"a","_revisions":{{"start":3,"ids":["c","z","r"]}},"_attachments":{{"f":{{"stub":true,"revpos":2{digest}}}}}}}"#
        )
    };
    for other in ["", r#","digest":"md5-DIFFERENT""#] {
        let refused = room.write(&[&stub(other)], Edits::Replicated).unwrap_err();
        assert_eq!(refused.kind, RefusalKind::MissingStub);
    }
    room.write(&[&stub(&format!(r#","digest":"{digest}""#))], Edits::Replicated).unwrap();
    assert_eq!(room.attachments(0)[0].digest, digest);
}

/// A path that is longer than the number of revisions kept costs no more than that number.
#[test]
fn long_path_costs_no_more_than_revisions_kept() {
    let room = Room::new();
    let ids: Vec<String> =
        (0..200_000).map(|number| format!("{:?}", format!("{number:x}"))).collect();
    let long =
        format!(r#"{{"_id":"a","_revisions":{{"start":200000,"ids":[{}]}}}}"#, ids.join(","));
    room.write(&[&long], Edits::Replicated).unwrap();
    assert_eq!(room.changes()[0].document.tree.len(), 1_000);
}

/// Documents of a type can be skipped if their type is certain.
#[test]
fn kind_is_that_of_the_only_leaf() {
    let room = Room::new();
    let kinds = || {
        let kinds = Arc::new(std::sync::Mutex::new(Vec::new()));
        let seen = Arc::clone(&kinds);
        let skip_kind: feedsync_store::SkipKind = Box::new(move |_, kind| {
            seen.lock().unwrap().push(kind.clone());
            true
        });
        let none: SelectBodies = Box::new(|_| Vec::new());
        let zero = ChangeNumber::ZERO;
        let read = room.databases.document_changes(&room.name, zero, 9, Some(skip_kind), none, 0);
        wait(read).unwrap();
        Arc::into_inner(kinds).unwrap().into_inner().unwrap()
    };
    let text = |text: &str| Kind::Text(text.to_owned());
    let write = |documents: &[&str]| room.write(documents, Edits::Replicated).unwrap();
    write(&[r#"{"_id":"a","_rev":"1-a","type":"leaf"}"#, r#"{"_id":"b","_rev":"1-a"}"#]);
    write(&[r#"{"_id":"c","_rev":"1-a","type":1}"#, r#"{"_id":"d","_rev":"1-a","type":"\ud800"}"#]);
    assert_eq!(kinds(), [text("leaf"), Kind::None, Kind::Unknown, Kind::Unknown]);
    write(&[r#"{"_id":"a","_rev":"1-b","type":"leaf"}"#]);
    assert_eq!(kinds()[3], Kind::Unknown, "there are two leaves");
    write(&[r#"{"_id":"a","_rev":"2-c","_revisions":{"start":2,"ids":["c","a"]},"type":"x"}"#]);
    assert_eq!(kinds()[3], Kind::Unknown);
    // Added ancestors do not change the type.
    write(&[r#"{"_id":"b","_rev":"2-b","type":"y"}"#]);
    write(&[r#"{"_id":"e","_rev":"2-b","type":"z"}"#]);
    write(&[r#"{"_id":"e","_rev":"2-b","_revisions":{"start":2,"ids":["b","a"]},"type":"z"}"#]);
    assert_eq!(kinds().last(), Some(&text("z")));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    /// Replicated documents give the same result in any order and any grouping.
    #[test]
    fn arrivals_commute_in_any_grouping(
        arrivals in prop::collection::vec((0..3_u8, prop::collection::vec(0..2_u8, 1..4), any::<bool>()), 1..10),
        groups in prop::collection::vec(1..4_usize, 10),
        order in prop::collection::vec(any::<prop::sample::Index>(), 10),
    ) {
        let text = |(document, signatures, is_deleted): &(u8, Vec<u8>, bool)| {
            // A revision has the same content wherever it comes from.
            let ids: Vec<_> = (0..signatures.len()).map(|at| format!("\"{:?}\"", &signatures[..=at])).collect();
            let ids: Vec<_> = ids.iter().rev().cloned().collect();
            let is_deleted = *is_deleted && signatures[0] == 1;
            let ids: Vec<_> = ids.iter().map(|id| id.replace('"', "").replace([' ', ','], "_")).map(|id| format!("\"{id}{}\"", u8::from(is_deleted))).collect();
            format!(
                r#"{{"_id":"d{document}","_deleted":{is_deleted},"_revisions":{{"start":{},"ids":[{}]}},"says":{}}}"#,
                signatures.len(),
                ids.join(","),
                ids[0],
            )
        };
        let texts: Vec<String> = arrivals.iter().map(text).collect();
        let mut shuffled = texts.clone();
        for (at, index) in order.iter().enumerate().take(texts.len()) {
            shuffled.swap(at, index.index(texts.len()));
        }
        let (one, other) = (Room::new(), Room::new());
        let all: Vec<&str> = texts.iter().map(String::as_str).collect();
        one.write(&all, Edits::Replicated).unwrap();
        let mut rest: Vec<&str> = shuffled.iter().map(String::as_str).collect();
        for group in groups {
            let now: Vec<&str> = rest.drain(..group.min(rest.len())).collect();
            other.write(&now, Edits::Replicated).unwrap();
        }
        other.write(&rest, Edits::Replicated).unwrap();
        let state = |room: &Room| {
            let said = |read: &LoadedDocument| {
                let leaves: Vec<_> = read
                    .document
                    .tree
                    .leaves()
                    .iter()
                    .map(|leaf| {
                        let path = read.document.tree.path(leaf.revision).unwrap();
                        (path, leaf.content.is_deleted, read.bodies[leaf.revision].clone().text)
                    })
                    .collect();
                (read.document.id.clone(), leaves)
            };
            room.changes().iter().map(said).collect::<BTreeMap<_, _>>()
        };
        prop_assert_eq!(state(&one), state(&other));
        let numbers: BTreeSet<_> = other.changes().iter().map(|it| it.document.number).collect();
        prop_assert_eq!(numbers.len(), other.changes().len(), "each has a place of its own");
    }
}
