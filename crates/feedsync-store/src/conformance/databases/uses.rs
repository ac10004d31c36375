//! Operations on databases.

use std::ops::Range;

use feedsync_couch::{
    Attachment, AttachmentDigest, Content, DatabaseName, DocumentId, Graft, LocalId, Path,
};
use proptest::prelude::*;

use super::everything::BEGAN;
use crate::conformance::wait;
use crate::{
    Database, DatabaseChange, Databases, DatabasesExt as _, DocumentRequest, DocumentWrite,
    DocumentsSnapshot, Epoch, History, Kind, LocalDocument, Moment, NewDatabase, StoredBody,
};

/// An operation on databases.
#[derive(Debug, Clone)]
pub struct Use(Operation);

impl Use {
    pub(super) fn create(name: u8) -> Self {
        Self(Operation::Create(name))
    }

    /// Applies the operation; returns the result as text.
    pub fn carry_out(&self, databases: &(impl Databases + ?Sized)) -> String {
        let said = |result: Result<Option<Database>, _>| match result {
            Ok(database) => format!("{database:?}"),
            Err(error) => format!("{error}"),
        };
        match self.0.clone() {
            Operation::Create(name) => {
                let security = (name == 1).then(|| "{\"a\":1}".to_owned());
                let history = match name {
                    1 => History::Kept { seconds: 60 },
                    _ => History::Off,
                };
                said(wait(
                    databases.create_database(
                        &named(name),
                        NewDatabase { security, history, owner: None },
                    ),
                ))
            }
            Operation::Drop(name) => said(
                wait(databases.drop_database(&named(name), epoch_of(databases, name)))
                    .map(|()| None),
            ),
            Operation::DropAndKeep(name) => {
                let author = Some("ada".into()).filter(|_| name == 1);
                let (from, epoch) = (named(name), epoch_of(databases, name));
                match wait(databases.drop_and_keep_database(&from, epoch, author)) {
                    Ok(is_kept) => is_kept.to_string(),
                    Err(error) => error.to_string(),
                }
            }
            Operation::Undrop(name) => {
                let kept = wait(databases.dropped_databases(Some(&named(name))));
                let Some(kept) = kept.expect("they can be read").into_iter().next() else {
                    return String::new();
                };
                let undropped = databases.undrop_database(&kept.name, kept.epoch);
                wait(undropped).expect("it exists").to_string()
            }
            Operation::Change(name, kept) => {
                let history = match kept {
                    1 | 2 => Some(History::Off),
                    3 => None,
                    kept => Some(History::Kept { seconds: kept }),
                };
                let security = Some(format!("{{\"{kept}\":1}}")).filter(|_| kept.is_multiple_of(2));
                let change = DatabaseChange { revisions_kept: Some(kept), security, history };
                said(
                    wait(databases.change_database(
                        &named(name),
                        epoch_of(databases, name),
                        change,
                    ))
                    .map(Some),
                )
            }
            Operation::Write(name, arrivals) => {
                let all = (0..5).map(wanted).collect();
                let write = wait(databases.decide_documents(&named(name), all, move |snapshot| {
                    let known: Vec<_> = (0..5)
                        .map(|document| format!("{:?}", snapshot.document(&id(document))))
                        .collect();
                    (join(snapshot, &arrivals), known)
                }));
                let write = write.map_err(|error| error.to_string());
                format!("{write:?}")
            }
            Operation::Purge(name, document) => {
                let write = wait(databases.update_documents(
                    &named(name),
                    vec![wanted(document)],
                    Box::new(move |snapshot| purge(snapshot, document)),
                ));
                said(write.map(Some))
            }
            Operation::Compact(name, most) => {
                let (mut after, mut rounds) = (None, Vec::new());
                loop {
                    match wait(databases.compact_documents(&named(name), after.as_ref(), most)) {
                        Ok(Some(last)) => {
                            rounds.push(last.to_string());
                            after = Some(last);
                        }
                        Ok(None) => return format!("{rounds:?}"),
                        Err(error) => return error.to_string(),
                    }
                }
            }
            Operation::Local(name, id, revision) => {
                let id: LocalId = format!("{id}/%").parse().expect("an id");
                let document = revision.map(|revision| LocalDocument {
                    revision,
                    body: format!("{{\"r\":{revision}}}"),
                });
                let epoch = epoch_of(databases, name);
                let put = wait(databases.put_local_document(&named(name), epoch, &id, document));
                put.map_or_else(|error| error.to_string(), |was_there| was_there.to_string())
            }
            Operation::Attach(name, byte) => {
                let (bytes, digest) = attached(byte);
                let put = wait(databases.put_attachment(&named(name), &digest, bytes));
                put.map_or_else(|error| error.to_string(), |is_it| is_it.to_string())
            }
            Operation::SweepAttachments(name, is_of_all) => {
                let before = if is_of_all { Moment::MAX } else { Moment::from_micros(1) };
                let swept = wait(databases.sweep_attachments(name.map(named).as_ref(), before));
                swept.map_or_else(|error| error.to_string(), |count| count.to_string())
            }
            #[cfg(feature = "queries")]
            Operation::BuildIndexes(name, most) => {
                let built = wait(databases.build_indexes(&named(name), most));
                built.map_or_else(|error| error.to_string(), |is_more| is_more.to_string())
            }
            Operation::Expire(name, micros, most) => {
                let before = Moment::from_micros(BEGAN + micros);
                let expired = wait(databases.expire_history(&named(name), before, most));
                expired.map_or_else(|error| error.to_string(), |is_more| is_more.to_string())
            }
            Operation::Sweep => {
                while wait(databases.sweep_databases()).expect("it can be swept") {}
                String::new()
            }
        }
    }
}

#[derive(Debug, Clone)]
enum Operation {
    Create(u8),
    Drop(u8),
    DropAndKeep(u8),
    Undrop(u8),
    Change(u8, u64),
    Write(u8, Vec<Arrival>),
    Purge(u8, u8),
    Compact(u8, usize),
    Local(u8, u8, Option<u64>),
    Expire(u8, u64, usize),
    Sweep,
    Attach(u8, u8),
    SweepAttachments(Option<u8>, bool),
    #[cfg(feature = "queries")]
    BuildIndexes(u8, usize),
}

/// Epoch of a database; an arbitrary one if it does not exist.
fn epoch_of(databases: &(impl Databases + ?Sized), name: u8) -> Epoch {
    let there = wait(databases.database(&named(name))).expect("it can be read");
    there.map_or(Epoch::begin(None, Moment::MAX, 0), |it| it.epoch)
}

/// A replicated path of revisions.
#[derive(Debug, Clone)]
struct Arrival {
    document: u8,
    start: u64,
    signatures: Vec<u8>,
    is_deleted: bool,
    kind: u8,
    attachments: u8,
}

/// A sequence of operations.
pub(super) fn uses(count: Range<usize>) -> impl Strategy<Value = Vec<Use>> {
    prop::collection::vec(operation().prop_map(Use), count)
}

/// An operation on indexes, where there are any.
fn operation_on_indexes() -> BoxedStrategy<Operation> {
    #[cfg(feature = "queries")]
    return (0..2u8, 1..4usize)
        .prop_map(|(name, most)| Operation::BuildIndexes(name, most))
        .boxed();
    #[cfg(not(feature = "queries"))]
    Just(Operation::Sweep).boxed()
}

fn operation() -> impl Strategy<Value = Operation> {
    let name = || 0..2u8;
    let arrival =
        (0..5u8, 1..4u64, prop::collection::vec(0..3u8, 1..4), any::<bool>(), 0..4u8, 0..3u8)
            .prop_map(|(document, start, mut signatures, is_deleted, kind, attachments)| {
                signatures.truncate(start as usize);
                Arrival { document, start, signatures, is_deleted, kind, attachments }
            });
    prop_oneof![
        2 => name().prop_map(Operation::Create),
        1 => name().prop_map(Operation::Drop),
        2 => name().prop_map(Operation::DropAndKeep),
        2 => name().prop_map(Operation::Undrop),
        1 => (name(), 1..9u64).prop_map(|(name, kept)| Operation::Change(name, kept)),
        12 => (name(), prop::collection::vec(arrival, 0..5))
            .prop_map(|(name, arrivals)| Operation::Write(name, arrivals)),
        2 => (name(), 0..5u8).prop_map(|(name, document)| Operation::Purge(name, document)),
        2 => (name(), 1..4usize).prop_map(|(name, most)| Operation::Compact(name, most)),
        3 => (name(), 0..3u8, prop::option::of(1..9u64))
            .prop_map(|(name, id, revision)| Operation::Local(name, id, revision)),
        1 => (name(), 0..20u64, 1..4usize)
            .prop_map(|(name, micros, most)| Operation::Expire(name, micros, most)),
        1 => Just(Operation::Sweep),
        4 => operation_on_indexes(),
        2 => (name(), 0..4u8).prop_map(|(name, bytes)| Operation::Attach(name, bytes)),
        2 => (prop::option::of(name()), any::<bool>())
            .prop_map(|(name, is_of_all)| Operation::SweepAttachments(name, is_of_all)),
    ]
}

/// Names of the databases in the tests.
pub fn named(name: u8) -> DatabaseName {
    format!("database/{name}").parse().expect("a name")
}

pub(super) fn id(document: u8) -> DocumentId {
    ["a", "B", "a/\u{e4}", "_design/x", "\u{1f600}"][usize::from(document)].parse().expect("an id")
}

fn wanted(document: u8) -> DocumentRequest {
    DocumentRequest { id: id(document), with_attachments: document.is_multiple_of(2) }
}

fn path(arrival: &Arrival) -> Path {
    let signature = |digit: &u8| digit.to_string().repeat(1 + 31 * usize::from(digit % 2));
    let signatures =
        arrival.signatures.iter().map(|it| signature(it).parse().expect("a signature"));
    Path::new(arrival.start, signatures.collect()).expect("a path")
}

/// The content of an attachment, and its digest. Two of the four contents have the same MD5 digest (X. Wang
/// and H. Yu, How to break MD5 and other hash functions, 2005).
pub(super) fn attached(number: u8) -> (Vec<u8>, AttachmentDigest) {
    let block = "d131dd02c5e6eec4693d9a0698aff95c2fcab58712467eab4004583eb8fb7f89\
                 55ad340609f4b30283e488832571415a085125e8f7cdc99fd91dbdf280373c5b\
                 d8823e3156348f5bae6dacd436c919c6dd53e2b487da03fd02396306d248cda0\
                 e99f33420f577ee8ce54b67080a80d1ec69821bcb6a8839396f9652b6ff72a70";
    let pairs = (0..block.len()).step_by(2);
    let mut block: Vec<u8> = pairs
        .map(|at| u8::from_str_radix(&block[at..at + 2], 16).expect("hexadecimal digits"))
        .collect();
    if number == 3 {
        for place in [19, 45, 59, 83, 109, 123] {
            block[place] ^= 0x80;
        }
    }
    let bytes = if number.is_multiple_of(3) { block } else { vec![number] };
    let digest = AttachmentDigest::of(&bytes);
    (bytes, digest)
}

fn body(arrival: &Arrival) -> StoredBody {
    let attachment = |number: u8| Attachment {
        name: format!("n{number}\""),
        content_type: "text/plain".to_owned(),
        generation: arrival.start,
        digest: attached(number).1,
        length: attached(number).0.len() as u64,
    };
    let text = format!("{{\"type\":\"{}\",\"u\":\"\\u00e4\"}}", arrival.kind);
    #[cfg(feature = "queries")]
    let text = match id(arrival.document).is_design() {
        // Any of the indexes, or several.
        true => super::indexes::design(u64::from(arrival.kind) * 4 + arrival.start),
        false => text,
    };
    let attachments: Vec<_> = (0..arrival.attachments).map(attachment).collect();
    StoredBody { text: text.into(), attachments: attachments.into() }
}

fn kind(arrival: &Arrival) -> Option<Kind> {
    Some(match arrival.kind {
        0 => Kind::Unknown,
        1 => Kind::None,
        2 => return None,
        other => Kind::Text(other.to_string()),
    })
}

/// Joins replicated paths, each in its own write, so that one document may be written twice.
fn join(snapshot: &DocumentsSnapshot, arrivals: &[Arrival]) -> Vec<DocumentWrite> {
    let mut next = snapshot.next_body();
    let mut writes: Vec<DocumentWrite> = Vec::new();
    for arrival in arrivals {
        let id = id(arrival.document);
        let before = writes.iter().rev().find(|write| write.id == id).map(|write| &write.tree);
        let found = &snapshot.document(&id).expect("it is wanted").tree;
        let mut tree = before.unwrap_or(found).clone();
        let (body, path) = (body(arrival), path(arrival));
        let place = body.place(next);
        let content = Content { is_deleted: arrival.is_deleted, body: place };
        let graft = tree.graft(&path, content);
        if graft == Graft::Known {
            continue;
        }
        let mut bodies = Vec::new();
        if graft == Graft::Added {
            bodies.push((next, body));
            next += 1;
        }
        tree.stem(usize::try_from(snapshot.database().revisions_kept).expect("a small number"));
        writes.push(DocumentWrite {
            id,
            tree,
            is_change: graft.is_change(),
            kind: kind(arrival),
            bodies,
            is_purge: false,
            author: (arrival.kind % 2 == 1).then(|| "anna".into()),
        });
    }
    writes
}

fn purge(snapshot: &DocumentsSnapshot, document: u8) -> Vec<DocumentWrite> {
    let id = id(document);
    let mut tree = snapshot.document(&id).expect("it is wanted").tree.clone();
    let Some(winner) = tree.winner().map(|leaf| leaf.revision.clone()) else { return Vec::new() };
    tree.purge(&[winner]);
    vec![DocumentWrite {
        id,
        tree,
        is_change: false,
        kind: None,
        bodies: Vec::new(),
        is_purge: true,
        author: None,
    }]
}
