//! Operations on views, and the rows and documents in them.

use feedsync_couch::{Content, DocumentId, Path, Tree};
use proptest::prelude::*;

use crate::conformance::wait;
use crate::{
    Database, Databases, DatabasesExt as _, DocumentRequest, DocumentWrite, DocumentsSnapshot,
    StoredBody, ViewRow, ViewsSignature,
};

/// Number of views of each design document.
pub(super) const VIEWS: usize = 2;

#[derive(Debug, Clone)]
pub(super) enum Operation {
    Recreate(u8),
    Write(u8, u8),
    Purge(u8, Vec<u8>),
    Begin(u8, u8),
    Update(Update),
    /// Stores the contents of some nodes: those whose number in their level has a bit.
    Reduce {
        name: u8,
        views: u8,
        level: u8,
        chosen: u8,
    },
    /// Drops views, except those whose number has a bit.
    Drop(u8, u8),
    Sweep,
}

#[derive(Debug, Clone)]
pub(super) struct Update {
    pub(super) name: u8,
    pub(super) views: u8,
    pub(super) is_stale: bool,
    /// Documents with their rows, each of them a view and its properties.
    pub(super) documents: Vec<(u8, Vec<(usize, Emitted)>)>,
}

/// Key, level and value of a row.
#[derive(Debug, Clone)]
pub(super) struct Emitted(u8, u8, u8);

pub(super) fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let name = || prop_oneof![5 => Just(0_u8), 1 => Just(1)];
    let views = || prop_oneof![4 => Just(0_u8), 1 => 1..3_u8];
    let level = prop_oneof![3 => Just(0_u8), 2 => Just(1), 1 => 2..5_u8];
    let row = (0..VIEWS, (0..7_u8, level, 0..3_u8).prop_map(|(k, l, v)| Emitted(k, l, v)));
    let rows = prop::collection::vec(row, 0..6);
    let documents = prop::collection::btree_map(0..6_u8, rows, 0..4);
    let update = (name(), views(), prop::bool::weighted(0.1), documents).prop_map(
        |(name, views, is_stale, documents)| Update {
            name,
            views,
            is_stale,
            documents: documents.into_iter().collect(),
        },
    );
    let operation = prop_oneof![
        1 => name().prop_map(Operation::Recreate),
        4 => (name(), 0..6_u8).prop_map(|(name, document)| Operation::Write(name, document)),
        3 => (name(), prop::collection::vec(0..6_u8, 1..3))
            .prop_map(|(name, documents)| Operation::Purge(name, documents)),
        1 => (name(), views()).prop_map(|(name, views)| Operation::Begin(name, views)),
        10 => update.prop_map(Operation::Update),
        10 => (name(), views(), 1..5_u8, any::<u8>()).prop_map(|(name, views, level, chosen)| {
            Operation::Reduce { name, views, level, chosen }
        }),
        1 => (name(), 0..8_u8).prop_map(|(name, kept)| Operation::Drop(name, kept)),
        1 => Just(Operation::Sweep),
    ];
    let begin = (0..6_u8).map(|document| Operation::Write(0, document));
    let begin: Vec<_> =
        [Operation::Recreate(0), Operation::Begin(0, 0)].into_iter().chain(begin).collect();
    prop::collection::vec(operation, 1..40)
        .prop_map(move |operations| [begin.clone(), operations].concat())
}

pub(super) fn signature(views: u8) -> ViewsSignature {
    ViewsSignature([views; 32])
}

/// Ids of documents, among them long ones that begin equally, and one with NUL.
pub(super) fn id(document: u8) -> DocumentId {
    let id = match document {
        0 => "a\0".to_owned(),
        1 | 2 => format!("{}{document}", "long".repeat(300)),
        other => format!("{other}\u{e4}"),
    };
    id.parse().expect("an id")
}

/// A row of a document. Long ones begin equally, too.
pub(super) fn row(document: u8, emitted: &Emitted) -> ViewRow {
    let Emitted(key, level, value) = *emitted;
    let position = match key {
        0 => vec![0, document],
        5 | 6 => [&[9; 1_600][..], &[key, document]].concat(),
        _ => vec![key, 0, document, 0xff],
    };
    let (key, value) = (format!("\"k{key}\\u0000\""), format!("{value}{document}"));
    ViewRow { position, level, document: id(document), key, value }
}

pub(super) fn write(store: &(impl Databases + ?Sized), database: &Database, document: u8) {
    let decide = move |snapshot: &DocumentsSnapshot| {
        let (id, number) = (id(document), snapshot.next_body());
        let mut tree = snapshot.document(&id).expect("it is wanted").tree.clone();
        let body = StoredBody { text: "{}".into(), attachments: Vec::new().into() };
        let signature = format!("{number:x}").parse().expect("a signature");
        let path = Path::new(1, vec![signature]).expect("a path");
        tree.graft(&path, Content { is_deleted: false, body: body.place(number) });
        let bodies = vec![(number, body)];
        (
            vec![DocumentWrite {
                id,
                tree,
                is_change: true,
                kind: None,
                bodies,
                is_purge: false,
                author: None,
            }],
            (),
        )
    };
    let write = store.decide_documents(&database.name, vec![wanted(document)], decide);
    wait(write).expect("it is written");
}

/// Removes documents with all their revisions.
pub(super) fn purge(store: &(impl Databases + ?Sized), database: &Database, documents: &[u8]) {
    let all: Vec<u8> = documents.to_vec();
    let decide = move |snapshot: &DocumentsSnapshot| {
        let is_there = |id: &DocumentId| {
            snapshot.document(id).is_some_and(|document| !document.tree.is_empty())
        };
        let removal = |id| DocumentWrite {
            id,
            tree: Tree::default(),
            is_change: true,
            kind: None,
            bodies: Vec::new(),
            is_purge: true,
            author: None,
        };
        let there = all.iter().map(|document| id(*document)).filter(is_there);
        (there.map(removal).collect(), ())
    };
    let wanted = documents.iter().map(|document| wanted(*document)).collect();
    wait(store.decide_documents(&database.name, wanted, decide)).expect("they are removed");
}

fn wanted(document: u8) -> DocumentRequest {
    DocumentRequest { id: id(document), with_attachments: false }
}
