//! The part of a database that some updates require; first as stored, then as the updates leave it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};

use deadpool_postgres::Transaction;
use feedsync_couch::{BodyRef, DocumentId, Revision};

use super::documents::{AttachmentList, Document};
use super::indexes::{DraftUpkeep, Upkeep};
use super::past_batch::{Correction, DraftPast, PastBatch};
use super::rows::DatabaseRow;
use super::task::DocumentTask;
use crate::database::{
    Database, DocumentEntry, DocumentRequest, DocumentWrite, DocumentsSnapshot, StoredBody,
    StoredDocument, WriteOrigin,
};
use crate::error::StoreError;
use crate::order::{ChangeNumber, Moment};

/// Size of results, in bytes, after which they are committed before further decisions run.
pub(super) const MAX_BATCH_BYTES: u64 = 32 << 20;

pub(super) struct DocumentBatchState {
    pub(super) database_row: DatabaseRow,
    /// The stored numbers of documents that are changed.
    pub(super) stored: BTreeMap<DocumentId, ChangeNumber>,
    documents: BTreeMap<DocumentId, Document>,
    attachments: HashMap<u64, AttachmentList>,
    pub(super) changed: BTreeSet<DocumentId>,
    /// Documents that were removed, even if they were written again.
    pub(super) removed: BTreeSet<DocumentId>,
    /// New bodies that documents still refer to.
    pub(super) bodies: BTreeMap<u64, StoredBody>,
    /// Numbers of stored bodies to remove, once the history is settled.
    pub(super) gone: BTreeSet<u64>,
    pub(super) upkeep: Upkeep,
    pub(super) past: PastBatch,
    pub(super) new_bytes: u64,
    pub(super) is_changed: bool,
    pub(super) has_visible_changes: bool,
}

/// Result of one update; dropped if the update fails.
struct Draft {
    database_row: DatabaseRow,
    documents: BTreeMap<DocumentId, Option<Document>>,
    bodies: BTreeMap<u64, StoredBody>,
    gone: Vec<BodyRef>,
    removed: Vec<DocumentId>,
    upkeep: DraftUpkeep,
    past: DraftPast,
    moment: Option<Moment>,
    is_purge: bool,
}

impl DocumentBatchState {
    pub(super) fn new(
        database_row: DatabaseRow,
        documents: BTreeMap<DocumentId, Document>,
        attachments: HashMap<u64, AttachmentList>,
        (upkeep, past): (Upkeep, PastBatch),
    ) -> Self {
        let number =
            |(id, document): (&DocumentId, &Document)| (id.clone(), document.stored.number);
        Self {
            database_row,
            stored: documents.iter().map(number).collect(),
            documents,
            attachments,
            changed: BTreeSet::new(),
            removed: BTreeSet::new(),
            bodies: BTreeMap::new(),
            gone: BTreeSet::new(),
            upkeep,
            past,
            new_bytes: 0,
            is_changed: false,
            has_visible_changes: false,
        }
    }

    /// The current state of a document.
    pub(super) fn document(&self, id: &DocumentId) -> Option<&Document> {
        self.documents.get(id)
    }

    /// Removes histories of purged documents, and finds the bodies that the history keeps. Returns corrections of the
    /// tasks' results.
    pub(super) async fn settle_history(
        &mut self,
        transaction: &Transaction<'_>,
    ) -> Result<Vec<Correction>, StoreError> {
        let DatabaseRow { id, database, .. } = &mut self.database_row;
        let of = (*id, database.keeps_history());
        let (corrections, gone) = self.past.settle(transaction, of).await?;
        self.gone = gone;
        corrections.iter().for_each(|correction| correction.apply(database));
        Ok(corrections)
    }

    fn snapshot(&self, wanted: &[DocumentRequest]) -> DocumentsSnapshot {
        let found = |DocumentRequest { id, with_attachments }: &DocumentRequest| {
            let found = self.documents.get(id).map(|Document { stored, .. }| DocumentEntry {
                tree: stored.tree.clone(),
                number: stored.number,
                attachments: match with_attachments {
                    true => self.attachments_of(stored),
                    false => BTreeMap::new(),
                },
            });
            (id.clone(), found.unwrap_or_default())
        };
        DocumentsSnapshot {
            database: self.database_row.database.clone(),
            documents: wanted.iter().map(found).collect(),
            next_body: self.database_row.next_body,
        }
    }

    fn attachments_of(&self, document: &StoredDocument) -> BTreeMap<Revision, AttachmentList> {
        let named = document.tree.bodies().filter_map(|(revision, content)| {
            let number = content.body.number;
            let new = self.bodies.get(&number).map(|body| &body.attachments);
            let named = new.or_else(|| self.attachments.get(&number))?;
            (!named.is_empty()).then(|| (revision.clone(), named.clone()))
        });
        named.collect()
    }

    /// Runs a task of a number and applies its result to this state.
    pub(super) fn run_task(
        &mut self,
        task: &mut DocumentTask,
        (number, now): (usize, Moment),
    ) -> Result<Database, StoreError> {
        let snapshot = self.snapshot(&task.wanted);
        // This state is still unchanged, so a panic leaves nothing half-done.
        let writes = catch_unwind(AssertUnwindSafe(|| (task.decide)(&snapshot)))
            .map_err(|_| StoreError::Decision("the decision panicked".to_owned()))?;
        if writes.is_empty() {
            return Ok(snapshot.database);
        }
        let mut database_row = self.database_row.clone();
        let moment = database_row.database.begin_write(now);
        let mut draft = Draft {
            database_row,
            documents: BTreeMap::new(),
            bodies: BTreeMap::new(),
            gone: Vec::new(),
            removed: Vec::new(),
            upkeep: DraftUpkeep::default(),
            past: DraftPast::default(),
            moment,
            is_purge: false,
        };
        for write in writes {
            if !snapshot.documents.contains_key(&write.id) {
                let reason = format!("{} is not among the documents of the update", write.id);
                return Err(StoreError::Decision(reason));
            }
            draft.put(write, self, snapshot.next_body)?;
        }
        Ok(self.take(draft, number))
    }

    fn take(&mut self, draft: Draft, task: usize) -> Database {
        let Draft { mut database_row, documents, bodies, gone, removed, upkeep, past, .. } = draft;
        let is_purge = draft.is_purge;
        database_row.database.purges += u64::from(is_purge);
        self.upkeep.take(upkeep, &mut database_row.indexing);
        self.is_changed = true;
        self.has_visible_changes |=
            is_purge || database_row.database.last > self.database_row.database.last;
        self.database_row = database_row;
        for (id, document) in documents {
            let before = match document {
                Some(document) => self.documents.insert(id.clone(), document),
                None => self.documents.remove(&id),
            };
            if !self.changed.contains(&id) {
                self.upkeep.replace(&id, before.as_ref());
                self.changed.insert(id);
            }
        }
        self.removed.extend(removed);
        self.new_bytes += bodies.values().map(StoredBody::length).sum::<u64>();
        self.bodies.extend(bodies);
        self.past.take(past, task);
        for body in gone {
            match self.bodies.remove(&body.number) {
                Some(_) => self.past.drop_new(body.number),
                None => self.past.drop_stored(body, task),
            }
        }
        self.database_row.database.clone()
    }
}

impl Draft {
    /// Applies one write to the draft.
    fn put(
        &mut self,
        write: DocumentWrite,
        held: &DocumentBatchState,
        first_body: u64,
    ) -> Result<(), StoreError> {
        let database = &mut self.database_row.database;
        let DocumentWrite { id, .. } = &write;
        let found =
            self.documents.get(id).map_or_else(|| held.document(id), Option::as_ref).cloned();
        let (before, mut number, kind) = match found {
            None => Default::default(),
            Some(Document { stored, kind, .. }) => (stored.tree, stored.number, kind),
        };
        self.is_purge |= before.leaves().iter().any(|leaf| !write.tree.contains(leaf.revision));
        let counted = database.count(&before, &write, first_body)?;
        let origin = self.moment.map(|moment| WriteOrigin { moment, author: write.author.clone() });
        if counted.is_change {
            let next = database.last.next();
            number =
                next.ok_or_else(|| StoreError::DatabaseNumbersExhausted(database.name.clone()))?;
            database.last = number;
        }
        for gone in self.past.put(&held.past, (id, database), &counted, origin.as_ref()) {
            if self.bodies.remove(&gone.number).is_none() {
                self.gone.push(gone);
            }
        }
        for (number, body) in write.bodies {
            if number < first_body || self.bodies.insert(number, body).is_some() {
                return Err(StoreError::Decision(format!("the body {number} is there already")));
            }
            self.database_row.next_body = self.database_row.next_body.max(number + 1);
            origin.iter().for_each(|origin| self.past.made(number, origin));
        }
        self.upkeep.put(&held.upkeep, &write.id, &write.tree, [&self.bodies, &held.bodies]);
        let document = write.tree.winner().map(|winner| winner.content.is_deleted);
        let document = document.map(|is_deleted| Document {
            is_deleted,
            kind: match write.kind {
                Some(kind) => kind.to_column().map(String::into_bytes),
                None => kind,
            },
            stored: StoredDocument { id: write.id.clone(), number, tree: write.tree.clone() },
        });
        if document.is_none() {
            self.removed.push(write.id.clone());
        }
        self.documents.insert(write.id, document);
        Ok(())
    }
}
