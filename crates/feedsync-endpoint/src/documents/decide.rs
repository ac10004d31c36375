//! Decides how submitted documents change the stored ones, as a pure function of the stored state.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use feedsync_couch::{
    ANY_TYPE, Attachment, AttachmentDigest, BodyRef, Content, DocumentId, Fingerprint, Graft, Path,
    Refusal, RefusalKind, Revision, Tree, edited, signature,
};
use feedsync_store::{DocumentEntry, DocumentWrite, DocumentsSnapshot, Kind, StoredBody};

use super::{
    Elsewhere, PreparedAttachment, PreparedDocument, RevisionOrigin, StoredAttachment, Written,
};

/// Maximum number of leaves and of revisions of a document: each write visits all of them.
const MAX_LEAVES: usize = 10_000;
const MAX_REVISIONS: usize = 100_000;

/// State of a document during a decision. Several writes of one document see those before them.
struct Draft<'a> {
    found: &'a DocumentEntry,
    elsewhere: Option<&'a Elsewhere>,
    tree: Tree<BodyRef>,
    /// New bodies, by number and revision.
    bodies: Vec<(u64, Revision, StoredBody)>,
    kinds: BTreeMap<Revision, Kind>,
    is_written: bool,
    is_change: bool,
    /// Whether the document has reached its maximum number of leaves; `None` if the leaves have to be counted
    /// again.
    is_full: Option<bool>,
}

pub(super) fn decide(
    snapshot: &DocumentsSnapshot,
    documents: &[PreparedDocument],
    elsewhere: Option<&Elsewhere>,
) -> Result<(Vec<DocumentWrite>, Written), Refusal> {
    let mut drafts: BTreeMap<&DocumentId, Draft<'_>> = BTreeMap::new();
    // Documents get their sequence numbers in the order of their last write.
    let mut order: Vec<&DocumentId> = Vec::new();
    let mut next = snapshot.next_body();
    let revisions_kept = usize::try_from(snapshot.database().revisions_kept).unwrap_or(usize::MAX);
    let mut written = Vec::with_capacity(documents.len());
    for document in documents {
        let draft = match drafts.entry(&document.id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(free) => {
                let found = snapshot.document(&document.id).ok_or_else(|| {
                    RefusalKind::Internal.with_reason(format!(
                        "internal error: {} was not read before the decision",
                        document.id
                    ))
                })?;
                free.insert(Draft::of(found, elsewhere))
            }
        };
        let was_change = draft.is_change;
        let done = draft.write(document, &mut next, revisions_kept);
        match done {
            Err(refusal) if !concerns_one_document(&refusal, &document.made, elsewhere) => {
                return Err(refusal);
            }
            done => written.push(done),
        }
        if draft.is_change && !was_change {
            order.push(&document.id);
        }
    }
    // Documents that get no sequence number come first: only the order of the others matters.
    let silent = drafts.iter().filter(|(_, draft)| draft.is_written && !draft.is_change);
    let order: Vec<&DocumentId> = silent.map(|(id, _)| *id).chain(order).collect();
    let mut writes = Vec::with_capacity(order.len());
    for id in order {
        if let Some(draft) = drafts.remove(id) {
            writes.push(draft.into_write(id));
        }
    }
    Ok((writes, written))
}

/// Whether a refusal concerns one document alone: a conflict, or a replicated document. A missing attachment
/// is first looked up in other documents. Until then it ends the decision.
fn concerns_one_document(
    refusal: &Refusal,
    made: &RevisionOrigin,
    elsewhere: Option<&Elsewhere>,
) -> bool {
    match refusal.kind {
        RefusalKind::Conflict | RefusalKind::Forbidden => true,
        RefusalKind::MissingStub => {
            elsewhere.is_some() && matches!(made, RevisionOrigin::Elsewhere(_))
        }
        RefusalKind::Internal => false,
        _ => matches!(made, RevisionOrigin::Elsewhere(_)),
    }
}

impl<'a> Draft<'a> {
    fn of(found: &'a DocumentEntry, elsewhere: Option<&'a Elsewhere>) -> Self {
        Self {
            found,
            elsewhere,
            tree: found.tree.clone(),
            bodies: Vec::new(),
            kinds: BTreeMap::new(),
            is_written: false,
            is_change: false,
            is_full: None,
        }
    }

    fn write(
        &mut self,
        document: &PreparedDocument,
        next: &mut u64,
        revisions_kept: usize,
    ) -> Result<Revision, Refusal> {
        let (path, attachments) = match &document.made {
            RevisionOrigin::Here { base, fingerprint } => {
                self.edited(document, base.as_ref(), *fingerprint)?
            }
            RevisionOrigin::Elsewhere(path) => {
                let reach = match self.tree.len() < MAX_REVISIONS {
                    // The path may extend the stored tree further back than revisions are kept (section 1,
                    // inserting a path).
                    true => self.tree.reach(path, revisions_kept),
                    // At the bound, a known revision gets no older ancestors, and a new one only its parent.
                    false if self.tree.contains(&path.newest()) => 1,
                    false => 2,
                };
                let path = path.clone().shortened(reach);
                // A known revision can only gain ancestors.
                let attachments = match self.tree.contains(&path.newest()) {
                    true => Arc::from([]),
                    false => self.attachments(document, &path, path.start())?,
                };
                (path, attachments)
            }
        };
        let revision = path.newest();
        let follows = path.revisions().nth(1).is_some_and(|it| self.tree.is_leaf(&it));
        if !follows && !self.tree.contains(&revision) {
            self.check_leaf_count()?;
        }
        let body = StoredBody { text: Arc::clone(&document.text), attachments };
        let place = body.place(*next);
        let graft =
            self.tree.graft(&path, Content { is_deleted: document.is_deleted, body: place });
        if graft == Graft::Added {
            self.bodies.push((*next, revision.clone(), body));
            self.kinds.insert(revision.clone(), document.kind.clone());
            *next += 1;
        }
        self.is_written |= graft != Graft::Known;
        self.is_change |= graft.is_change();
        if graft.is_change() && !follows {
            self.is_full = None;
        }
        self.tree.stem(revisions_kept);
        Ok(revision)
    }

    /// Refuses a new leaf if the document has reached a maximum.
    fn check_leaf_count(&mut self) -> Result<(), Refusal> {
        let tree = &self.tree;
        let count = || tree.len() >= MAX_LEAVES && tree.leaves().len() >= MAX_LEAVES;
        let is_full = *self.is_full.get_or_insert_with(count) || tree.len() >= MAX_REVISIONS;
        let reason = format_args!(
            "A document can have at most {MAX_LEAVES} leaf revisions and {MAX_REVISIONS} revisions"
        );
        if is_full { Err(RefusalKind::Forbidden.with_reason(reason)) } else { Ok(()) }
    }

    /// Returns the path of an edit, and the attachments that the document has from then on.
    fn edited(
        &self,
        document: &PreparedDocument,
        base: Option<&Revision>,
        fingerprint: Fingerprint,
    ) -> Result<(Path, Arc<[Attachment]>), Refusal> {
        let mut attachments: Result<Arc<[Attachment]>, Refusal> = Ok(Arc::from([]));
        let path = edited(&self.tree, base, document.is_deleted, |parent| {
            let generation = parent.map_or(1, |parent| parent.generation() + 1);
            let path = parent.map(Path::root);
            attachments = match path {
                _ if document.attachments.is_empty() => Ok(Arc::from([])),
                Some(path) => self.attachments(document, &path, generation),
                None => self.resolved(document, &[], generation),
            };
            let attachments = attachments.as_deref().unwrap_or_default();
            signature(parent, document.is_deleted, fingerprint, attachments)
        })?;
        Ok((path, attachments?))
    }

    /// Returns the attachments of a document of a generation whose ancestors are the revisions of a path.
    fn attachments(
        &self,
        document: &PreparedDocument,
        path: &Path,
        generation: u64,
    ) -> Result<Arc<[Attachment]>, Refusal> {
        let newest_known = path.revisions().find(|revision| self.tree.contains(revision));
        let before = newest_known.and_then(|revision| self.tree.path(&revision));
        let before: Vec<Revision> = before.iter().flat_map(Path::revisions).collect();
        self.resolved(document, &before, generation)
    }

    /// Returns the attachments, given the ancestors, newest first. A stub that matches none of these may
    /// match an attachment of any revision.
    fn resolved(
        &self,
        document: &PreparedDocument,
        before: &[Revision],
        generation: u64,
    ) -> Result<Arc<[Attachment]>, Refusal> {
        let resolve = |sent: &PreparedAttachment| {
            let known = before.iter().find_map(|it| {
                let named = self.kept(it)?.iter().find(|kept| kept.name == sent.name)?;
                Some((it.generation(), named))
            });
            let brought = |digest: &AttachmentDigest| {
                introduced_generation(&document.made, generation, sent, (known, digest))
            };
            let new = |digest: &AttachmentDigest, length: u64| Attachment {
                name: sent.name.clone(),
                content_type: sent.content_type.clone().unwrap_or_else(|| ANY_TYPE.to_owned()),
                generation: brought(digest),
                digest: digest.clone(),
                length,
            };
            if let Some(StoredAttachment { digest, length }) = &sent.stored {
                return Ok(new(digest, *length));
            }
            // Equal digests mean equal content, in any revision. A stub without a digest matches an
            // ancestor's attachment by name alone, and by generation if it has one: generations may be those
            // of earlier content.
            let is_named = |kept: &&Attachment| {
                kept.name == sent.name
                    && sent.generation.is_none_or(|generation| generation == kept.generation)
            };
            let is_same = |kept: &&Attachment| sent.digest.as_ref() == Some(&kept.digest);
            let came_of = || before.iter().filter_map(|it| self.kept(it)).flatten();
            let all = self.tree.bodies().filter_map(|(it, _)| self.kept(it)).flatten();
            let kept = match &sent.digest {
                None => came_of().find(is_named),
                Some(_) => {
                    let kept = came_of().find(|kept| is_named(kept) && is_same(kept));
                    kept.or_else(|| came_of().chain(all).find(is_same))
                }
            };
            let Some(kept) = kept else {
                let found = sent.digest.as_ref().and_then(|it| self.elsewhere?.get_key_value(it));
                let refuse = || {
                    RefusalKind::MissingStub.with_reason(format_args!(
                        "Invalid attachment stub in {} for {}",
                        document.id, sent.name
                    ))
                };
                return found.map(|(digest, length)| new(digest, *length)).ok_or_else(refuse);
            };
            let content_type = sent.content_type.as_ref().unwrap_or(&kept.content_type);
            // Under another name, or after different content of that name, it is new in this revision.
            let stays = known.filter(|(_, known)| known.digest == kept.digest);
            let generation =
                stays.map_or_else(|| brought(&kept.digest), |(_, known)| known.generation);
            Ok(Attachment {
                name: sent.name.clone(),
                content_type: content_type.clone(),
                generation,
                ..kept.clone()
            })
        };
        document.attachments.iter().map(resolve).collect()
    }

    fn kept(&self, revision: &Revision) -> Option<&[Attachment]> {
        let new = self.bodies.iter().find(|(_, it, _)| it == revision);
        let new = new.map(|(_, _, body)| &*body.attachments);
        new.or_else(|| self.found.attachments.get(revision).map(|it| &**it))
    }

    fn into_write(self, id: &DocumentId) -> DocumentWrite {
        let leaves = self.tree.leaves();
        let kind = match &leaves[..] {
            [leaf] => self.kinds.get(leaf.revision).cloned(),
            _ => Some(Kind::Unknown),
        };
        // If the document had several leaves before, the type of the remaining one is not known.
        let kind = kind.or_else(|| self.is_change.then_some(Kind::Unknown));
        let kept: HashSet<u64> =
            self.tree.bodies().map(|(_, content)| content.body.number).collect();
        let Self { tree, bodies, is_change, .. } = self;
        let bodies = bodies.into_iter().filter(|(number, ..)| kept.contains(number));
        let bodies = bodies.map(|(number, _, body)| (number, body)).collect();
        DocumentWrite {
            id: id.clone(),
            tree,
            is_change,
            kind,
            bodies,
            is_purge: false,
            author: None,
        }
    }
}

/// Returns the generation of an attachment in a revision of the given generation. For an edit made here it is
/// that generation. For a replicated revision it is the stated one (0 if none is stated). The exception is an
/// ancestor of that generation or later that has different content under the name. With the stated
/// generation, a client that has that ancestor would get a stub and keep the former content.
fn introduced_generation(
    made: &RevisionOrigin,
    generation: u64,
    sent: &PreparedAttachment,
    (known, digest): (Option<(u64, &Attachment)>, &AttachmentDigest),
) -> u64 {
    let said = match made {
        RevisionOrigin::Here { .. } => return generation,
        RevisionOrigin::Elsewhere(_) => sent.generation.unwrap_or(0),
    };
    match known {
        Some((at, known)) if known.digest != *digest && said <= at => generation,
        _ => said,
    }
}
