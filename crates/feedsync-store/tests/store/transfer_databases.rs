//! Databases of documents are moved with their store, and return the same results afterwards.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use feedsync_couch::{
    Attachment, AttachmentDigest, BodyRef, Content, DatabaseName, DocumentId, LocalId, Path, Tree,
};
use feedsync_store::conformance::databases::{Use, everything, for_any_two_uses, named};
use feedsync_store::conformance::samples::ALL;
use feedsync_store::conformance::wait;
use feedsync_store::{
    ChangeNumber, Database, DatabaseChange, DatabasesExt as _, Digest, DocumentRequest,
    DocumentWrite, DocumentsSnapshot, Epoch, History, Kind, LocalDocument, Moment, NewDatabase,
    PageLimit, StoreError, StoredBody, Transfer, transfer,
};

use crate::transfer::{Kept, environment, memory, postgres, sqlite, tester};

fn epoch(store: &dyn Transfer) -> Epoch {
    wait(store.database(&notes())).unwrap().unwrap().epoch
}

fn notes() -> DatabaseName {
    "notes".parse().unwrap()
}

fn id(text: &str) -> DocumentId {
    text.parse().unwrap()
}

fn local(text: &str) -> LocalId {
    text.parse().unwrap()
}

pub(crate) fn body(text: &str, attached: &[&[u8]]) -> StoredBody {
    let attachment = |bytes: &&[u8]| Attachment {
        name: String::from_utf8(bytes.to_vec()).unwrap(),
        content_type: "text/plain".to_owned(),
        generation: 1,
        digest: AttachmentDigest::of(bytes),
        length: bytes.len() as u64,
    };
    StoredBody { text: text.into(), attachments: attached.iter().map(attachment).collect() }
}

/// Writes documents of `notes`, one after another: the revisions of a path, oldest first, and the body of the
/// newest.
pub(crate) fn join(
    store: &dyn Transfer,
    documents: Vec<(DocumentId, Vec<&'static str>, bool, StoredBody)>,
) {
    let wanted = |(id, ..): &(DocumentId, _, _, _)| DocumentRequest {
        id: id.clone(),
        with_attachments: false,
    };
    let all = documents.iter().map(wanted).collect();
    let decide = move |snapshot: &DocumentsSnapshot| {
        let numbered = documents.iter().zip(snapshot.next_body()..);
        let write =
            |((id, path, is_deleted, body), number): (&(_, Vec<&str>, bool, StoredBody), u64)| {
                let mut tree: Tree<BodyRef> = snapshot.document(id).unwrap().tree.clone();
                let signatures = path.iter().rev().map(|text| text.parse().unwrap()).collect();
                let place = body.place(number);
                let path = Path::new(path.len() as u64, signatures).unwrap();
                let graft = tree.graft(&path, Content { is_deleted: *is_deleted, body: place });
                let is_kept = tree.content(&path.newest()).is_some_and(|it| it.body == place);
                DocumentWrite {
                    id: DocumentId::clone(id),
                    tree,
                    is_change: graft.is_change(),
                    kind: Some(Kind::Text("note".to_owned())),
                    bodies: if is_kept { vec![(number, body.clone())] } else { Vec::new() },
                    is_purge: false,
                    author: None,
                }
            };
        (numbered.map(write).collect(), ())
    };
    wait(store.decide_documents(&notes(), all, decide)).unwrap();
}

fn purge(store: &dyn Transfer, id: &DocumentId) {
    let wanted = vec![DocumentRequest { id: id.clone(), with_attachments: false }];
    let id = id.clone();
    let decide = move |snapshot: &DocumentsSnapshot| {
        let mut tree = snapshot.document(&id).unwrap().tree.clone();
        tree.purge(&[tree.winner().unwrap().revision.clone()]);
        let (kind, bodies) = (None, Vec::new());
        (
            vec![DocumentWrite {
                id: id.clone(),
                tree,
                is_change: false,
                kind,
                bodies,
                is_purge: true,
                author: None,
            }],
            (),
        )
    };
    wait(store.decide_documents(&notes(), wanted, decide)).unwrap();
}

/// Fills databases with data of every kind, and with more rows than one batch of a transfer.
pub(crate) fn fill(store: &dyn Transfer) {
    wait(store.create_database(&notes(), NewDatabase::with_security("{\"admins\":{}}".to_owned())))
        .unwrap()
        .unwrap();
    wait(store.create_database(&"empty".parse().unwrap(), Default::default())).unwrap().unwrap();
    let change = DatabaseChange { revisions_kept: Some(7), ..Default::default() };
    wait(store.change_database(&notes(), epoch(store), change)).unwrap();
    let one = |name: String| (id(&name), vec!["a"], false, body("{}", &[]));
    join(store, (0..450).map(|number| one(format!("{number:03}"))).collect());
    let history = Some(History::Kept { seconds: 60 });
    let change = DatabaseChange { history, ..Default::default() };
    wait(store.change_database(&notes(), epoch(store), change)).unwrap();
    let attached: [&[u8]; 2] = [b"one", b"two"];
    for bytes in [attached[0], attached[1], b"named by nothing"] {
        let digest = AttachmentDigest::of(bytes);
        assert!(wait(store.put_attachment(&notes(), &digest, bytes.to_vec())).unwrap());
    }
    join(
        store,
        vec![
            (id("001"), vec!["a", "b"], false, body("{\"n\":\"\\u0000\"}", &attached)),
            (id("002"), vec!["a", "b"], true, body("{}", &[])),
            (id("003"), vec!["a", "b"], false, body("{\"n\":1.0}", &attached[..1])),
            (id("\u{1f600}\0"), vec!["x", "b"], false, body("{\"n\":\"\0\"}", &attached[1..])),
        ],
    );
    join(store, vec![(id("003"), vec!["c"], false, body("{\"n\":2}", &[]))]);
    join(store, vec![(id("003"), vec!["a", "b", "c"], false, body("{\"n\":3}", &[]))]);
    let long = "long".repeat(500);
    let long = |end: &str| (id(&format!("{long}{end}")), vec!["a"], false, body("{}", &[]));
    join(store, ["1", "2", "3"].map(long).into());
    let large = format!("\"{}\"", "x".repeat(700_000));
    let large = |name: &str| (id(name), vec!["a"], false, body(&format!("{{\"n\":{large}}}"), &[]));
    join(store, ["large1", "large2", "large3"].map(large).into());
    // The last body and the last number are removed, and must not be issued again.
    join(store, vec![one("purged".to_owned())]);
    purge(store, &id("purged"));
    let epoch = epoch(store);
    for (name, revision) in [("one", 1), ("two/%", 7), ("gone", 1)] {
        let document = LocalDocument { revision, body: format!("{{\"at\":\"{name}\0\"}}") };
        wait(store.put_local_document(&notes(), epoch, &local(name), Some(document))).unwrap();
    }
    wait(store.put_local_document(&notes(), epoch, &local("gone"), None)).unwrap();
    let dropped = "dropped".parse().unwrap();
    let gone = wait(store.create_database(&dropped, Default::default())).unwrap().unwrap();
    wait(store.put_attachment(&dropped, &AttachmentDigest::of(b"gone"), b"gone".into())).unwrap();
    wait(store.drop_database(&dropped, gone.epoch)).unwrap();
}

/// Everything that is moved of databases, as text.
pub(crate) fn contents(store: &dyn Transfer) -> Vec<String> {
    let mut lines = Vec::new();
    for database in wait(store.databases(None, 9)).unwrap() {
        let name = database.name.clone();
        let epoch: Epoch = "0".repeat(25).parse().unwrap();
        lines.push(format!("{:?}", Database { epoch, ..database }));
        lines.push(format!("{}", wait(store.next_body(&name)).unwrap()));
        let documents = wait(store.ordered_documents(&name, ChangeNumber::ZERO, ALL)).unwrap();
        lines.extend(documents.iter().map(|moved| format!("{moved:?}")));
        for (number, body) in wait(store.bodies(&name, 0, ALL)).unwrap() {
            let text = Digest::of(body.text.as_bytes());
            lines.push(format!("{number} {text} {:?}", body.attachments));
        }
        lines.push(format!("{:?}", wait(store.body_origins(&name, 0, 999)).unwrap()));
        lines.push(format!("{:?}", wait(store.all_ended(&name, 0, 999)).unwrap()));
        for digest in wait(store.attachments(&name, None, 99)).unwrap() {
            lines.push(format!("{:?}", wait(store.attachment(&name, &digest)).unwrap()));
        }
        let mut local = wait(store.local_documents(&name, None, ALL)).unwrap();
        local.sort_by(|(one, _), (other, _)| one.cmp(other));
        lines.push(format!("{local:?}"));
    }
    lines
}

pub(crate) fn epochs(store: &dyn Transfer) -> Vec<Epoch> {
    wait(store.databases(None, 99)).unwrap().iter().map(|database| database.epoch).collect()
}

/// Results of reads, without the epochs of databases, which the names of dropped ones contain, too.
fn without_epochs(store: &dyn Transfer, lines: Vec<String>) -> Vec<String> {
    let epochs: Vec<_> = epochs(store).iter().map(|epoch| format!("{epoch:?}")).collect();
    let cut = |line: String| {
        let line = epochs.iter().fold(line, |line, epoch| line.replace(epoch, "EPOCH"));
        let mut parts = line.split("$dropped-");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |line, rest| line + "$dropped-EPOCH" + rest.get(25..).unwrap_or(rest))
    };
    lines.into_iter().map(cut).collect()
}

/// Results of all reads. The indexes of a database that was moved must be built before.
fn answers(store: &dyn Transfer) -> Vec<String> {
    for name in [named(0), named(1)] {
        while wait(store.build_indexes(&name, 2)).unwrap_or(false) {}
    }
    let answers = (0..2).flat_map(|name| everything(store, &named(name)));
    without_epochs(store, answers.chain(contents(store)).collect())
}

/// Results of later operations, and the contents after them.
fn later(store: &dyn Transfer, uses: &[Use]) -> Vec<String> {
    let mut said = Vec::new();
    for it in uses {
        let answer = vec![it.carry_out(store)];
        said.extend(without_epochs(store, answer));
    }
    [said, answers(store)].concat()
}

/// Transfers between all kinds of stores, one after the other; each store continues as the first one would
/// have.
#[test]
fn databases_are_moved_between_all_kinds_and_answer_as_before() {
    let kinds: [fn(u64) -> Kept; 9] =
        [memory, sqlite, sqlite, postgres, postgres, memory, postgres, sqlite, memory];
    for_any_two_uses(6, |uses, later_uses| {
        let (first, kept) = memory(1);
        uses.iter().for_each(|it| drop(it.carry_out(&*first)));
        let before = answers(&*first);
        let mut stores = vec![(first, kept)];
        for (seed, kind) in (2..).zip(kinds) {
            let (from, _) = stores.last().unwrap();
            let (to, kept) = kind(seed);
            wait(transfer(&**from, &*to, &|_| ())).unwrap();
            are_same(&answers(&*to), &before);
            let (old, new) = (epochs(&**from), epochs(&*to));
            assert!(old.iter().all(|old| new.iter().all(|new| new > old)), "new epochs");
            stores.push((to, kept));
        }
        let should = later(&*stores[0].0, later_uses);
        stores[1..].iter().for_each(|(store, _)| are_same(&later(&**store, later_uses), &should));
    });
}

fn are_same(found: &[String], expected: &[String]) {
    found.iter().zip(expected).for_each(|(found, expected)| assert_eq!(found, expected));
    assert_eq!(found.len(), expected.len());
}

/// Even if the clock is behind that of the old store, no epoch is issued again, also if two databases had the
/// same one.
#[test]
fn each_database_is_in_an_epoch_of_its_own() {
    for kind in [memory, sqlite, postgres] {
        let late = environment(1);
        late.set(Moment::from_micros(1_900_000_000_000_000));
        let from = feedsync_store::MemoryStore::new(&tester(), late);
        fill(&from);
        let (to, _kept) = kind(2);
        wait(transfer(&from, &*to, &|_| ())).unwrap();
        let moved: BTreeSet<_> = epochs(&*to).into_iter().collect();
        assert_eq!(moved.len(), 2);
        assert!(moved.first() > epochs(&from).iter().max(), "also than those of what was dropped");
    }
}

/// However large a database is, only pieces of it are in memory.
#[test]
fn pieces_end_at_either_limit() {
    for kind in [memory, sqlite, postgres] {
        let (store, _kept) = kind(1);
        fill(&*store);
        let (store, name) = (&*store, notes());
        let limits = [(1, usize::MAX), (200, usize::MAX), (200, 1 << 20), (usize::MAX, 1)];
        for limit in limits.map(|(items, bytes)| PageLimit { items: items.min(999), bytes }) {
            let (mut after, mut bodies) = (0, Vec::new());
            loop {
                let piece = wait(store.bodies(&name, after, limit)).unwrap();
                let bytes: usize = piece.iter().map(|(_, body)| body.text.len()).sum();
                assert!(piece.len() <= limit.items && (piece.len() < 2 || bytes <= limit.bytes));
                let Some((last, _)) = piece.last() else { break };
                after = *last;
                bodies.extend(piece);
            }
            assert_eq!(bodies, wait(store.bodies(&name, 0, ALL)).unwrap());
            let (mut after, mut documents) = (ChangeNumber::ZERO, Vec::new());
            loop {
                let piece = wait(store.ordered_documents(&name, after, limit)).unwrap();
                assert!(piece.len() <= limit.items && (piece.len() < 2 || limit.bytes > 1));
                let Some(last) = piece.last() else { break };
                after = last.document.number;
                documents.extend(piece);
            }
            assert_eq!(
                documents,
                wait(store.ordered_documents(&name, ChangeNumber::ZERO, ALL)).unwrap()
            );
            let (mut after, mut locals) = (None, Vec::new());
            loop {
                let piece = wait(store.local_documents(&name, after.as_ref(), limit)).unwrap();
                assert!(piece.len() <= limit.items && (piece.len() < 2 || limit.bytes > 1));
                let Some((last, _)) = piece.last() else { break };
                after = Some(last.clone());
                locals.extend(piece);
            }
            assert_eq!(locals, wait(store.local_documents(&name, None, ALL)).unwrap());
        }
        let (mut after, mut digests) = (None, Vec::new());
        while let [digest] = &wait(store.attachments(&name, after.as_ref(), 1)).unwrap()[..] {
            digests.push(digest.clone());
            after = Some(digest.clone());
        }
        assert_eq!(digests, wait(store.attachments(&name, None, 99)).unwrap());
        assert_eq!(digests.len(), 3);
    }
}

/// Any write to databases during their transfer is detected.
#[test]
fn writes_to_databases_during_a_transfer_are_detected() {
    let writes: [fn(&dyn Transfer); 9] = [
        |store| {
            wait(store.expire_history(&notes(), Moment::MAX.previous(), 1)).unwrap();
        },
        |store| join(store, vec![(id("new"), vec!["a"], false, body("{}", &[]))]),
        |store| join(store, vec![(id("000"), vec!["a", "b"], true, body("{}", &[]))]),
        // Adds only an earlier revision to the tree: the leaf stays the same.
        |store| join(store, vec![(id("\u{1f600}\0"), vec!["y", "b"], false, body("{}", &[]))]),
        |store| purge(store, &id("000")),
        |store| {
            let document = LocalDocument { revision: 8, body: "{}".to_owned() };
            let (name, two) = (notes(), local("two/%"));
            wait(store.put_local_document(&name, epoch(store), &two, Some(document))).unwrap();
        },
        |store| {
            let change = DatabaseChange { security: Some("{}".to_owned()), ..Default::default() };
            wait(store.change_database(&notes(), epoch(store), change)).unwrap();
        },
        |store| {
            drop(wait(store.create_database(&"new".parse().unwrap(), Default::default())).unwrap())
        },
        |store| wait(store.drop_database(&notes(), epoch(store))).unwrap(),
    ];
    for write in writes {
        for kind in [memory, sqlite, postgres] {
            let (from, _kept) = kind(1);
            fill(&*from);
            let (to, _kept) = memory(2);
            let is_written = AtomicBool::new(false);
            let meanwhile = |moved: &feedsync_store::TransferReport| {
                // This runs after all databases were moved.
                if moved.databases == 2 && !is_written.swap(true, Ordering::SeqCst) {
                    thread::scope(|scope| scope.spawn(|| write(&*from)).join().unwrap());
                }
            };
            let moved = wait(transfer(&*from, &*to, &meanwhile));
            assert!(is_written.into_inner());
            let Err(StoreError::Transfer(reason)) = moved else { panic!("{moved:?}") };
            assert!(reason.contains("was changed in the meantime"), "{reason}");
        }
    }
}

#[test]
fn a_store_with_a_database_is_not_empty() {
    for kind in [memory, sqlite, postgres] {
        let (from, _kept) = memory(1);
        let (to, _kept) = kind(2);
        wait(to.create_database(&notes(), Default::default())).unwrap();
        let told = Mutex::new(0);
        let refused = wait(transfer(&*from, &*to, &|_| *told.lock().unwrap() += 1)).unwrap_err();
        assert!(matches!(refused, StoreError::Transfer(_)), "{refused}");
        assert_eq!(told.into_inner().unwrap(), 0);
    }
}
