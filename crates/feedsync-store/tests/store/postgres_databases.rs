//! Databases of documents that several nodes share, and ids that PostgreSQL cannot index as a whole.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

use feedsync_couch::{
    Attachment, AttachmentDigest, BodyRef, Content, DatabaseName, DocumentId, Path, Revision, Tree,
};
use feedsync_store::conformance::{TestEnvironment, wait};
use feedsync_store::{
    ChangeNumber, DatabaseChange, Databases, DatabasesExt as _, DocumentRange, DocumentRequest,
    DocumentWrite, DocumentsSnapshot, EndpointName, Environment as _, Epoch, Kind, LocalDocument,
    MemoryStore, Moment, Notices, PostgresStore, SelectBodies, SkipKind, StoreError, StoredBody,
    StoredDocument, SystemEnvironment,
};
use feedsync_test::postgres::Cluster;

pub(super) fn notes() -> &'static DatabaseName {
    static NOTES: LazyLock<DatabaseName> = LazyLock::new(|| "notes".parse().unwrap());
    &NOTES
}

pub(super) fn open(url: &str) -> PostgresStore {
    wait(PostgresStore::open(url, Arc::new(SystemEnvironment))).unwrap()
}

/// A store with a database, opened by several nodes, and the name of the server's database.
pub(super) fn nodes(count: usize) -> (String, Vec<Arc<PostgresStore>>) {
    let url = Cluster::shared().database();
    let name = EndpointName::new("tester").unwrap();
    let first = wait(PostgresStore::init(&url, &name, Arc::new(SystemEnvironment))).unwrap();
    wait(first.create_database(notes(), Default::default())).unwrap().unwrap();
    let others = (1..count).map(|_| open(&url));
    let nodes = std::iter::once(first).chain(others).map(Arc::new).collect();
    (url.rsplit('=').next().unwrap().to_owned(), nodes)
}

pub(super) fn wanted(ids: &[DocumentId]) -> Vec<DocumentRequest> {
    ids.iter().map(|id| DocumentRequest { id: id.clone(), with_attachments: true }).collect()
}

pub(super) fn kept(text: &str, attachments: &[Attachment]) -> StoredBody {
    StoredBody { text: text.into(), attachments: attachments.into() }
}

/// The next revision of a document, after the current one.
fn next(
    snapshot: &DocumentsSnapshot,
    id: &DocumentId,
    number: u64,
    body: StoredBody,
    kind: Kind,
) -> DocumentWrite {
    let mut tree: Tree<BodyRef> = snapshot.document(id).unwrap().tree.clone();
    let signature = format!("{number:032x}").parse().unwrap();
    let path = match tree.winner().map(|leaf| leaf.revision.clone()) {
        Some(parent) => Path::child(&parent, signature).unwrap(),
        None => Path::new(1, vec![signature]).unwrap(),
    };
    let place = body.place(number);
    tree.graft(&path, Content { is_deleted: false, body: place });
    let bodies = vec![(number, body)];
    DocumentWrite {
        id: id.clone(),
        tree,
        is_change: true,
        kind: Some(kind),
        bodies,
        is_purge: false,
        author: None,
    }
}

/// Writes the next revision of each document.
pub(super) fn edit(
    databases: &dyn Databases,
    ids: &[DocumentId],
    body: &StoredBody,
    kind: &Kind,
) -> ChangeNumber {
    let (all, body, kind) = (ids.to_vec(), body.clone(), kind.clone());
    let decide = move |snapshot: &DocumentsSnapshot| {
        let numbers = snapshot.next_body()..;
        let write = |(id, number)| next(snapshot, id, number, body.clone(), kind.clone());
        (all.iter().zip(numbers).map(write).collect(), ())
    };
    wait(databases.decide_documents(notes(), wanted(ids), decide)).unwrap().0.last
}

pub(super) fn epoch(databases: &dyn Databases) -> Epoch {
    wait(databases.database(notes())).unwrap().unwrap().epoch
}

fn none() -> SelectBodies {
    Box::new(|_: &StoredDocument| Vec::new())
}

pub(super) fn all() -> SelectBodies {
    Box::new(|document: &StoredDocument| {
        let kept: Vec<Revision> = document.tree.bodies().map(|(it, _)| it.clone()).collect();
        kept
    })
}

/// Reads changes page by page until the writers are done; returns every document with its last number.
fn follow(
    databases: &dyn Databases,
    writing: &AtomicUsize,
    waits: bool,
) -> BTreeMap<DocumentId, ChangeNumber> {
    let mut seen = BTreeMap::new();
    let mut through = ChangeNumber::ZERO;
    let mut notices = databases.subscribe_to_database(notes());
    loop {
        let is_done = writing.load(Ordering::SeqCst) == 0;
        let skip_kind: Option<SkipKind> =
            waits.then(|| -> SkipKind { Box::new(|_: &DocumentId, _: &Kind| false) });
        let page = databases.document_changes(notes(), through, 50, skip_kind, all(), 4_000);
        let page = wait(page).unwrap();
        let mut last = through;
        for read in page.documents {
            let document = read.document;
            assert!(document.number > last, "{} after {last}", document.number);
            last = document.number;
            let before = seen.insert(document.id.clone(), document.number);
            let is_shared = document.id.as_str().starts_with("shared");
            assert!(before.is_none() || is_shared, "{} came twice", document.id);
        }
        assert!(page.reached >= last && page.database.last >= page.reached);
        let is_idle = page.reached == through;
        through = page.reached;
        if is_done && is_idle {
            return seen;
        }
        if is_idle && waits {
            let pause = Duration::from_millis(50);
            let _ = wait(async { tokio::time::timeout(pause, notices.next()).await });
        }
    }
}

/// Two documents in each update, one of which all writers share. No reader finds a change at or below the
/// number that it has read, and every edit follows the previous one.
#[test]
fn nodes_that_share_a_database_of_documents_write_one_order() {
    let (_, nodes) = nodes(3);
    let writing = Arc::new(AtomicUsize::new(1));
    let followers: Vec<_> = (0..4)
        .map(|number| {
            let (store, writing) = (nodes[number % 3].clone(), writing.clone());
            thread::spawn(move || follow(&*store, &writing, number % 2 == 0))
        })
        .collect();
    let writers: Vec<_> = (0..18)
        .map(|writer| {
            let store = nodes[writer % 3].clone();
            thread::spawn(move || {
                let mut said = BTreeMap::new();
                for count in 0..20 {
                    let own: DocumentId = format!("own-{writer}-{count}").parse().unwrap();
                    let shared = format!("shared-{}", count % 3).parse().unwrap();
                    let body = kept("{\"a\":1}", &[]);
                    let last = edit(&*store, &[shared, own.clone()], &body, &Kind::None);
                    said.insert(own, last);
                }
                said
            })
        })
        .collect();
    let mut said = BTreeMap::new();
    writers.into_iter().for_each(|writer| said.append(&mut writer.join().unwrap()));
    writing.store(0, Ordering::SeqCst);
    for follower in followers {
        let mut seen = follower.join().unwrap();
        seen.retain(|id, _| id.as_str().starts_with("own"));
        assert_eq!(seen, said, "no follower misses or repeats a change");
    }
    let mut numbers: Vec<u64> = said.values().map(|number| number.get()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=360).map(|update| update * 2).collect::<Vec<u64>>(), "no gap");
    let shared: Vec<DocumentId> =
        (0..3).map(|number| format!("shared-{number}").parse().unwrap()).collect();
    let page = wait(nodes[1].documents(notes(), &shared, none(), u64::MAX)).unwrap();
    let edits = page.documents.iter().flatten().map(|read| {
        let tree = &read.document.tree;
        assert_eq!(tree.leaves().len(), 1, "each edit was made on the one before");
        tree.winner().unwrap().revision.generation()
    });
    assert_eq!(edits.sum::<u64>(), 360);
    assert_eq!(wait(nodes[0].check()).unwrap(), Vec::<String>::new());
}

fn receives_notice(notices: &mut Notices) -> bool {
    let soon = Duration::from_secs(5);
    wait(async { tokio::time::timeout(soon, notices.next()).await }) == Ok(true)
}

fn drain_notices(notices: &mut Notices) {
    let quiet = Duration::from_millis(1_500);
    while wait(async { tokio::time::timeout(quiet, notices.next()).await }).is_ok() {}
}

/// Changes and the removal of a database notify subscribers on another node, by a notification and also by
/// polling once a second.
#[test]
fn changes_and_removal_of_a_database_are_noticed_on_another_node() {
    let (name, nodes) = nodes(2);
    let mut notices = nodes[0].subscribe_to_database(notes());
    let mut of_others = nodes[0].subscribe_to_database(&"others".parse().unwrap());
    for number in 0..2 {
        drain_notices(&mut notices);
        let id = format!("a{number}").parse().unwrap();
        edit(&*nodes[1], &[id], &kept("{}", &[]), &Kind::None);
        assert!(receives_notice(&mut notices));
    }
    drain_notices(&mut notices);
    drain_notices(&mut of_others);
    // Polling would find no change.
    Cluster::shared().sql(&name, "SELECT pg_notify('feedsync_databases', 'another notes')");
    assert!(receives_notice(&mut notices));
    wait(nodes[1].drop_database(notes(), epoch(&*nodes[1]))).unwrap();
    assert!(receives_notice(&mut notices));
    let quiet = async { tokio::time::timeout(Duration::from_millis(100), of_others.next()).await };
    assert!(wait(quiet).is_err(), "who follows another database hears nothing");
}

/// Ids up to the maximum length, with NUL, with shared prefixes, and with lengths around that of the index
/// key. They are read in byte order and complete.
#[test]
fn any_id_is_kept_in_the_order_of_its_bytes() {
    let (_, nodes) = nodes(1);
    let store: Arc<dyn Databases> = nodes[0].clone();
    let model =
        MemoryStore::new(&EndpointName::new("tester").unwrap(), Arc::new(TestEnvironment::new(1)));
    let model: Arc<dyn Databases> = Arc::new(model);
    wait(model.create_database(notes(), Default::default())).unwrap();
    let random = |length: usize| -> String {
        let digits = (0..length).map(|_| {
            let number = SystemEnvironment.random() % 94 + 33;
            char::from(u8::try_from(number).unwrap())
        });
        digits.collect()
    };
    let head = format!("a{}", random(1_023));
    let mut ids: Vec<String> =
        ["\0", "a\0b", "a", "B", "\u{e4}", "\u{1f600}", "\u{ffff}"].map(str::to_owned).into();
    ids.extend((0..40).map(|_| format!("{head}{}", random(6_000))));
    ids.extend(["", "\0", "\0\0", "a", "\u{e4}"].map(|rest| format!("{head}{rest}")));
    ids.extend([
        head[..1_023].to_owned(),
        format!("{}\u{e4}", &head[..1_023]),
        format!("b{}", random(7_167)),
    ]);
    let ids: Vec<DocumentId> = ids.iter().map(|id| id.parse().unwrap()).collect();
    let bounds = |bound: usize| {
        let id = ids[bound].to_string();
        [Bound::Unbounded, Bound::Included(id.clone()), Bound::Excluded(id)]
    };
    for databases in [&*store, &*model] {
        for (number, id) in ids.iter().enumerate() {
            let kind = if number % 2 == 0 { Kind::Text("\0x".to_owned()) } else { Kind::None };
            edit(databases, std::slice::from_ref(id), &kept("{\"\0\":\"\\u0000\"}", &[]), &kind);
        }
    }
    let ids_of = |databases: &dyn Databases, range: DocumentRange| {
        let page = wait(databases.documents_by_id(notes(), range, all(), u64::MAX)).unwrap();
        let documents = page.documents.into_iter().flatten();
        documents.map(|it| (it.document, it.bodies)).collect::<Vec<_>>()
    };
    for (from, to) in [(1, 3), (10, 20), (47, 48), (49, 50), (50, 8), (5, 54)] {
        for from in bounds(from) {
            for to in bounds(to) {
                for (is_descending, skip) in [(false, 0), (true, 7)] {
                    let (from, to) = (from.clone(), to.clone());
                    let live_only = skip == 7;
                    let range =
                        DocumentRange { from, to, is_descending, live_only, skip, most: 37 };
                    assert_eq!(ids_of(&*store, range.clone()), ids_of(&*model, range));
                }
            }
        }
    }
    let page = |databases: &dyn Databases| {
        let skip_kind: SkipKind = Box::new(|id: &DocumentId, kind: &Kind| {
            *kind == Kind::Text("\0x".to_owned()) || id.as_str().ends_with('a')
        });
        let page = databases.document_changes(
            notes(),
            ChangeNumber::ZERO,
            99,
            Some(skip_kind),
            all(),
            9_999,
        );
        wait(page).unwrap().documents
    };
    assert_eq!(page(&*store), page(&*model));
    let again = wait(store.documents(notes(), &ids, none(), u64::MAX)).unwrap().documents;
    assert!(again.iter().zip(&ids).all(|(read, id)| read.as_ref().unwrap().document.id == *id));

    let local = format!("\0{}", random(7_000)).parse().unwrap();
    let document = LocalDocument { revision: 7, body: "{\"\0\":1}".to_owned() };
    for was_there in [false, true] {
        let put = store.put_local_document(notes(), epoch(&*store), &local, Some(document.clone()));
        assert_eq!(wait(put).unwrap(), was_there);
    }
    assert_eq!(wait(store.local_document(notes(), &local)).unwrap(), Some(document));
    let security = Some("{\"\0\":1}".to_owned());
    let change = DatabaseChange { security: security.clone(), ..Default::default() };
    assert_eq!(
        wait(store.change_database(notes(), epoch(&*store), change)).unwrap().security,
        security
    );
    assert_eq!(wait(nodes[0].check()).unwrap(), Vec::<String>::new());
}

/// A page examines a limited number of changes and states how far it came. A dropped database is removed
/// piece by piece, while another one has its name.
#[test]
fn large_database_is_read_and_dropped_in_pieces() {
    let (name, nodes) = nodes(1);
    let store = &*nodes[0];
    let ids: Vec<DocumentId> =
        (0..100_010).map(|number| format!("{number:06}").parse().unwrap()).collect();
    let digest = AttachmentDigest::of(b"x");
    wait(store.put_attachment(notes(), &digest, b"x".to_vec())).unwrap();
    let attachment = Attachment {
        name: "x".to_owned(),
        content_type: "text/plain".to_owned(),
        generation: 1,
        digest: digest.clone(),
        length: 1,
    };
    let ending = Kind::Text("end".to_owned());
    edit(store, &ids[..100_005], &kept("{}", &[attachment]), &Kind::None);
    edit(store, &ids[100_005..], &kept("{}", &[]), &ending);
    let page = |after: ChangeNumber| {
        let skip_kind: SkipKind = Box::new(|_: &DocumentId, kind: &Kind| *kind == Kind::None);
        wait(store.document_changes(notes(), after, 3, Some(skip_kind), none(), u64::MAX)).unwrap()
    };
    let first = page(ChangeNumber::ZERO);
    assert_eq!((first.documents.len(), first.is_end), (0, false));
    assert_eq!(first.reached, ChangeNumber::new(100_000));
    let second = page(first.reached);
    assert_eq!((second.documents.len(), second.is_end), (3, false));
    let third = page(second.reached);
    assert_eq!((third.documents.len(), third.is_end), (2, true));
    assert_eq!(third.reached, ChangeNumber::new(100_010));
    for (after, count) in [(0, 100_010), (10, 100_000), (100_000, 10)] {
        assert_eq!(wait(store.count_changes(notes(), ChangeNumber::new(after))).unwrap(), count);
    }
    assert_eq!(
        wait(store.sweep_attachments(Some(notes()), Moment::MAX)).unwrap(),
        0,
        "it is named"
    );

    wait(store.put_local_document(
        notes(),
        epoch(store),
        &"x".parse().unwrap(),
        Some(LocalDocument { revision: 1, body: "{}".to_owned() }),
    ))
    .unwrap();
    wait(store.drop_database(notes(), epoch(store))).unwrap();
    let gone = wait(store.document_changes(notes(), ChangeNumber::ZERO, 3, None, none(), u64::MAX));
    assert!(matches!(gone, Err(StoreError::NoDatabase(_))));
    wait(store.create_database(notes(), Default::default())).unwrap().unwrap();
    edit(store, &ids[..1], &kept("{}", &[]), &Kind::None);
    let mut pieces = 0;
    while wait(store.sweep_databases()).unwrap() {
        pieces += 1;
    }
    assert!(pieces > 50, "{pieces}");
    let sql = "SELECT (SELECT count(*) FROM databases), (SELECT count(*) FROM documents),
                      (SELECT count(*) FROM bodies), (SELECT count(*) FROM attachment_uses),
                      (SELECT count(*) FROM attachments), (SELECT count(*) FROM local_documents)";
    let sql = format!("SET search_path = feedsync; {sql}");
    assert_eq!(Cluster::shared().sql(&name, &sql), "1|1|1|0|0|0");
    assert_eq!(wait(store.local_document(notes(), &"x".parse().unwrap())).unwrap(), None);
    assert_eq!(wait(store.check()).unwrap(), Vec::<String>::new());
}

/// Updates that are committed together: one that fails or panics affects no other, and large ones are split
/// into several commits.
#[test]
fn updates_that_are_committed_together_do_not_depend_on_each_other() {
    let (_, nodes) = nodes(2);
    let writers: Vec<_> = (0..24_u64)
        .map(|number| {
            let store = nodes[number as usize % 2].clone();
            thread::spawn(move || {
                let id: DocumentId = format!("{number:02}").parse().unwrap();
                let length = if number < 3 { 20 << 20 } else { 1 };
                let body = kept(&format!("{{\"a\":\"{}\"}}", "a".repeat(length)), &[]);
                let wanted = wanted(std::slice::from_ref(&id));
                let decide = move |snapshot: &DocumentsSnapshot| {
                    let first = snapshot.next_body();
                    let write = next(snapshot, &id, first, body.clone(), Kind::None);
                    match number % 4 {
                        1 => panic!("so it is meant"),
                        2 => {
                            let other = "other".parse().unwrap();
                            vec![write.clone(), DocumentWrite { id: other, ..write }]
                        }
                        3 => vec![next(snapshot, &id, first - 1, body.clone(), Kind::None)],
                        _ => vec![write],
                    }
                };
                let written = wait(store.update_documents(notes(), wanted, Box::new(decide)));
                assert_eq!(written.is_ok(), number % 4 == 0, "{written:?}");
            })
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let page = nodes[0].document_changes(notes(), ChangeNumber::ZERO, 99, None, all(), u64::MAX);
    let page = wait(page).unwrap();
    assert_eq!(
        (page.documents.len(), page.database.documents, page.database.last.get()),
        (6, 6, 6)
    );
    let bytes: usize =
        page.documents.iter().flat_map(|it| it.bodies.values()).map(|body| body.text.len()).sum();
    assert_eq!(bytes as u64, page.database.bytes);
    assert_eq!(wait(nodes[1].check()).unwrap(), Vec::<String>::new());
}

/// A server that took over from another may lack the last commits, so databases continue in another epoch,
/// also for clients that only read.
#[test]
fn databases_on_another_timeline_get_new_epochs() {
    let (name, nodes) = nodes(2);
    let before = epoch(&*nodes[0]);
    let former = "UPDATE feedsync.endpoint SET place = regexp_replace(place, '.{8}$', '00000000')";
    Cluster::shared().sql(&name, former);
    edit(&*nodes[1], &["a".parse().unwrap()], &kept("{}", &[]), &Kind::None);
    let after = epoch(&*nodes[0]);
    assert!(after > before);
    edit(&*nodes[0], &["a".parse().unwrap()], &kept("{}", &[]), &Kind::None);
    assert_eq!(epoch(&*nodes[0]), after, "settled once");
    Cluster::shared().sql(&name, former);
    let read = epoch(&*nodes[1]);
    assert!(read > after, "before anybody writes");
    assert_eq!(epoch(&*nodes[0]), read, "settled once");
    assert_eq!(wait(nodes[0].database(&"none".parse().unwrap())).unwrap(), None);
}
