//! A database in memory, with its reads and writes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use feedsync_couch::{AttachmentDigest, BodyRef, DocumentId, LocalId, Revision, Tree};

#[cfg(feature = "queries")]
use super::indexing::Indexing;
#[cfg(feature = "queries")]
use super::views::ViewSet;
use crate::database;
use crate::database::{
    Database, DecideDocuments, DocumentChanges, DocumentEntry, DocumentRequest, DocumentWrite,
    DocumentsSnapshot, EndedRevision, Kind, LoadedDocument, LocalDocument, SelectBodies, SkipKind,
    StoredBody, StoredDocument, WriteOrigin,
};
use crate::error::StoreError;
use crate::name::UserId;
use crate::order::{ChangeNumber, Moment};

/// A database with its contents.
#[derive(Debug, Clone)]
pub(in crate::memory) struct DatabaseContents {
    pub(in crate::memory) database: Database,
    /// The user to whom the database is charged.
    pub(in crate::memory) owner: Option<UserId>,
    pub(super) next_body: u64,
    pub(super) documents: BTreeMap<DocumentId, Document>,
    pub(super) bodies: BTreeMap<u64, StoredBody>,
    /// The writes that made bodies of leaves, where they are known.
    pub(super) origins: BTreeMap<u64, WriteOrigin>,
    /// Ended revisions, by the numbers of their bodies.
    pub(super) ended: BTreeMap<u64, EndedRevision>,
    pub(super) local: BTreeMap<LocalId, LocalDocument>,
    pub(super) attachments: BTreeMap<AttachmentDigest, (Moment, Arc<[u8]>)>,
    #[cfg(feature = "queries")]
    pub(super) indexing: Indexing,
    /// Shared with the copy on which an update of documents works.
    #[cfg(feature = "queries")]
    pub(super) view_sets: Arc<Vec<ViewSet>>,
}

#[derive(Debug, Clone)]
pub(super) struct Document {
    pub(super) number: ChangeNumber,
    pub(super) tree: Tree<BodyRef>,
    pub(super) kind: Kind,
}

impl Document {
    pub(super) fn is_deleted(&self) -> bool {
        self.tree.winner().is_some_and(|leaf| leaf.content.is_deleted)
    }
}

impl DatabaseContents {
    pub(super) fn new(database: Database) -> Self {
        Self {
            database,
            owner: None,
            next_body: 1,
            documents: BTreeMap::new(),
            bodies: BTreeMap::new(),
            origins: BTreeMap::new(),
            ended: BTreeMap::new(),
            local: BTreeMap::new(),
            attachments: BTreeMap::new(),
            #[cfg(feature = "queries")]
            indexing: Indexing::default(),
            #[cfg(feature = "queries")]
            view_sets: Arc::default(),
        }
    }

    /// Number of bytes that are not replicated: local documents and access rules.
    pub(in crate::memory) fn local_bytes(&self) -> u64 {
        let local = self.local.values().map(|document| document.body.len());
        let security = self.database.security.as_ref().map_or(0, String::len);
        (local.sum::<usize>() + security) as u64
    }

    pub(super) fn stored(&self, id: &DocumentId) -> Option<StoredDocument> {
        let Document { number, tree, .. } = self.documents.get(id)?;
        Some(StoredDocument { id: id.clone(), number: *number, tree: tree.clone() })
    }

    /// A document with its chosen bodies, if the page has room for it.
    pub(super) fn read(
        &self,
        document: StoredDocument,
        choose: &SelectBodies,
        left: &mut database::PageBudget,
    ) -> Option<LoadedDocument> {
        let chosen = choose(&document);
        let body = |revision: Revision| {
            let place = document.tree.content(&revision)?.body;
            Some((revision, self.bodies[&place.number].clone()))
        };
        let is_taken = left.fits(&document, &chosen);
        let bodies = chosen.into_iter().filter_map(body).collect();
        is_taken.then_some(LoadedDocument { document, bodies })
    }

    /// Documents, until the page is full.
    pub(super) fn read_all(
        &self,
        documents: impl Iterator<Item = Option<StoredDocument>>,
        choose: &SelectBodies,
        most_bytes: u64,
    ) -> Vec<Option<LoadedDocument>> {
        let mut left = database::PageBudget::of(most_bytes);
        let mut read = Vec::new();
        for document in documents {
            let is_there = document.is_some();
            let document = document.and_then(|it| self.read(it, choose, &mut left));
            if is_there && document.is_none() {
                break;
            }
            read.push(document);
        }
        read
    }

    /// Those changes that are not skipped, until the page is full.
    pub(super) fn changes<'a>(
        &'a self,
        order: impl Iterator<Item = (&'a DocumentId, &'a Document)>,
        (most, begin): (usize, ChangeNumber),
        skip_kind: Option<&SkipKind>,
        choose: &SelectBodies,
        most_bytes: u64,
    ) -> DocumentChanges {
        let mut left = database::PageBudget::of(most_bytes);
        let (mut documents, mut reached, mut is_end) = (Vec::new(), begin, true);
        for (id, document) in order {
            let kind = Kind::of_column(document.kind.to_column().as_deref());
            if documents.len() < most && skip_kind.is_some_and(|it| it(id, &kind)) {
                reached = document.number;
                continue;
            }
            let is_full = documents.len() == most;
            let read = self.stored(id).filter(|_| !is_full);
            let Some(read) = read.and_then(|it| self.read(it, choose, &mut left)) else {
                is_end = false;
                break;
            };
            documents.push(read);
            reached = document.number;
        }
        // A full page is not the end.
        is_end &= documents.len() < most;
        DocumentChanges { database: self.database.clone(), documents, reached, is_end }
    }

    pub(super) fn update(
        &mut self,
        wanted: Vec<DocumentRequest>,
        mut decide: DecideDocuments,
        now: Moment,
    ) -> Result<bool, StoreError> {
        let found = |wanted: DocumentRequest| {
            let found = self.documents.get(&wanted.id).map(|Document { number, tree, .. }| {
                let attachments = tree.bodies().filter_map(|(revision, content)| {
                    let kept = self.bodies[&content.body.number].attachments.clone();
                    (wanted.with_attachments && !kept.is_empty()).then(|| (revision.clone(), kept))
                });
                let attachments = attachments.collect();
                DocumentEntry { tree: tree.clone(), number: *number, attachments }
            });
            (wanted.id, found.unwrap_or_default())
        };
        let snapshot = DocumentsSnapshot {
            database: self.database.clone(),
            documents: wanted.into_iter().map(found).collect(),
            next_body: self.next_body,
        };
        let writes = decide(&snapshot);
        let before = self.database.last;
        let mut is_purge = false;
        let moment = match writes.is_empty() {
            true => None,
            false => self.database.begin_write(now),
        };
        for write in writes {
            if !snapshot.documents.contains_key(&write.id) {
                let reason = format!("{} is not among the documents of the update", write.id);
                return Err(StoreError::Decision(reason));
            }
            is_purge |= self.put(write, snapshot.next_body, moment)?;
        }
        self.database.purges += u64::from(is_purge);
        Ok(self.database.last > before || is_purge)
    }

    /// Digests of the attachments that bodies name, some more than once.
    pub(super) fn named_attachments(&self) -> impl Iterator<Item = &AttachmentDigest> {
        let named = self.bodies.values().flat_map(|body| body.attachments.iter());
        named.map(|attachment| &attachment.digest)
    }

    /// Whether a body that a tree names has an attachment.
    pub(super) fn is_named_by_tree(&self, digest: &AttachmentDigest) -> bool {
        let is_held = |number: &u64| self.ended.get(number).is_some_and(|row| row.is_held);
        let bodies = self.bodies.iter().filter(|(number, _)| !is_held(number));
        let mut named = bodies.flat_map(|(_, body)| body.attachments.iter());
        named.any(|attachment| attachment.digest == *digest)
    }

    pub(super) fn sweep_attachments(&mut self, stored_before: Moment) -> u64 {
        let named: BTreeSet<_> = self.named_attachments().cloned().collect();
        let before = self.attachments.len();
        self.attachments
            .retain(|digest, (stored, _)| *stored >= stored_before || named.contains(digest));
        (before - self.attachments.len()) as u64
    }

    /// Applies a write; returns whether it removed leaves (a purge).
    pub(super) fn put(
        &mut self,
        write: DocumentWrite,
        first_body: u64,
        moment: Option<Moment>,
    ) -> Result<bool, StoreError> {
        let before = self.documents.get(&write.id);
        let (mut number, before, kind) =
            before.map(|it| (it.number, it.tree.clone(), it.kind.clone())).unwrap_or_default();
        let counted = self.database.count(&before, &write, first_body)?;
        let origin = moment.map(|moment| WriteOrigin { moment, author: write.author.clone() });
        #[cfg(feature = "queries")]
        let winner_before = self.winner(&before);
        self.apply_to_history(&write.id, &counted, origin.as_ref());
        for (place, body) in write.bodies {
            if place < first_body || self.bodies.insert(place, body).is_some() {
                return Err(StoreError::Decision(format!("the body {place} is there already")));
            }
            self.next_body = self.next_body.max(place + 1);
            self.origins.extend(origin.clone().map(|origin| (place, origin)));
        }
        if counted.is_change {
            let next = self.database.last.next();
            number = next
                .ok_or_else(|| StoreError::DatabaseNumbersExhausted(self.database.name.clone()))?;
            self.database.last = number;
        }
        let is_purge = before.leaves().iter().any(|leaf| !write.tree.contains(leaf.revision));
        #[cfg(feature = "queries")]
        {
            let winner = self.winner(&write.tree);
            self.indexing.apply(&write.id, winner_before.as_ref(), winner.as_ref());
        }
        match write.tree.is_empty() {
            true => {
                #[cfg(feature = "queries")]
                self.remove_from_views(&write.id);
                self.documents.remove(&write.id);
            }
            false => {
                let kind = write.kind.unwrap_or(kind);
                self.documents.insert(write.id, Document { number, tree: write.tree, kind });
            }
        }
        Ok(is_purge)
    }
}
