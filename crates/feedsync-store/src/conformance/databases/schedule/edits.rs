//! Random edits of documents.

use std::collections::BTreeMap;
use std::sync::Arc;

use feedsync_couch::{
    Attachment, AttachmentDigest, BodyRef, Content, DocumentId, Graft, Path, Revision, Tree,
};

use super::Schedule;
use crate::{DocumentRequest, DocumentWrite, DocumentsSnapshot, StoredBody};

/// Random numbers of a seed.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The next number below a bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)) % bound.max(1)
    }
}

/// An edit of a document that a decision makes.
#[derive(Debug, Clone)]
pub(super) struct Planned {
    pub(super) id: DocumentId,
    pub(super) edit: u64,
    pub(super) digits: Vec<u64>,
    pub(super) body: StoredBody,
}

/// A revision that a decision added.
pub(super) type Added = (DocumentId, Revision, StoredBody);

pub(super) const EDIT: u64 = 0;
pub(super) const DELETE: u64 = 1;
/// A replicated path.
pub(super) const CONFLICT: u64 = 2;
/// A deletion of a leaf that does not win.
pub(super) const RESOLVE: u64 = 3;
/// A replicated path on the winner that is longer than the stored paths.
pub(super) const LONG: u64 = 4;

pub(super) fn requests() -> Vec<DocumentRequest> {
    let request = |id| DocumentRequest { id, with_attachments: false };
    Schedule::ids().into_iter().map(request).collect()
}

pub(super) fn content(name: &str) -> Vec<u8> {
    format!("content of {name}").into_bytes()
}

pub(super) fn attachment(number: u64) -> Attachment {
    let name = format!("n{number}");
    let (digest, length) = (AttachmentDigest::of(&content(&name)), content(&name).len() as u64);
    Attachment { name, content_type: "text/plain".to_owned(), generation: 1, digest, length }
}

pub(super) fn decide(
    snapshot: &DocumentsSnapshot,
    planned: &[Planned],
    author: Option<Arc<str>>,
) -> (Vec<DocumentWrite>, Vec<Added>) {
    let (mut next, mut trees) = (snapshot.next_body(), BTreeMap::new());
    let (mut writes, mut added) = (Vec::new(), Vec::new());
    for Planned { id, edit, digits, body } in planned {
        let found = &snapshot.document(id).expect("it is requested").tree;
        let tree: &mut Tree<BodyRef> = trees.entry(id).or_insert_with(|| found.clone());
        let Some((path, is_deleted)) = path(tree, *edit, digits, next) else { continue };
        let graft = tree.graft(&path, Content { is_deleted, body: body.place(next) });
        if graft == Graft::Known {
            continue;
        }
        let mut bodies = Vec::new();
        if graft == Graft::Added {
            added.push((id.clone(), path.newest(), body.clone()));
            bodies.push((next, body.clone()));
            next += 1;
        }
        tree.stem(snapshot.database().revisions_kept as usize);
        writes.push(DocumentWrite {
            id: id.clone(),
            tree: tree.clone(),
            is_change: graft.is_change(),
            kind: None,
            bodies,
            is_purge: false,
            author: author.clone(),
        });
    }
    (writes, added)
}

/// The path of an edit, and whether it deletes the document.
fn path(tree: &Tree<BodyRef>, edit: u64, digits: &[u64], unique: u64) -> Option<(Path, bool)> {
    let signature = |text: String| text.parse().expect("a signature");
    let leaves = tree.leaves();
    let replicated = |from: u64| {
        let signatures = digits.iter().take(from as usize).map(|it| signature(format!("r{it}")));
        (Path::new(from, signatures.collect()).expect("a path"), digits[0] == 0)
    };
    let leaf = match edit {
        RESOLVE => leaves.last(),
        _ => leaves.first(),
    };
    let Some(leaf) = leaf else { return Some(replicated(1)) };
    match edit {
        CONFLICT => Some(replicated(1 + digits[3])),
        LONG => {
            let count = 6;
            let start = leaf.revision.generation() + count;
            let new = (0..count).map(|at| signature(format!("l{unique}-{at}")));
            let all = new.chain([leaf.revision.signature().clone()]).collect();
            Some((Path::new(start, all).ok()?, false))
        }
        _ => {
            let signature = signature(format!("e{unique}"));
            Some((Path::child(leaf.revision, signature)?, edit != EDIT))
        }
    }
}
