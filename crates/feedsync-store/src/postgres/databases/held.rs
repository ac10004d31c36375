//! The part of a database that some updates require; first as stored, then as the updates leave it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};

use feedsync_couch::{DocumentId, Revision};

use super::batch::DocumentTask;
use super::documents::{Document, Named};
use super::rows::Room;
use crate::database::{
    Database, DocumentWrite, DocumentsSnapshot, FoundDocument, KeptBody, StoredDocument, Wanted,
};
use crate::error::StoreError;
use crate::order::Number;

/// Size of results, in bytes, after which they are committed before further decisions run.
pub(super) const MOST_BYTES: u64 = 32 << 20;

pub(super) struct Held {
    pub(super) room: Room,
    /// The stored numbers of documents that are changed.
    pub(super) stored: BTreeMap<DocumentId, Number>,
    documents: BTreeMap<DocumentId, Document>,
    attachments: HashMap<u64, Named>,
    pub(super) changed: BTreeSet<DocumentId>,
    /// New bodies that documents still refer to.
    pub(super) bodies: BTreeMap<u64, KeptBody>,
    /// Numbers of stored bodies to remove.
    pub(super) gone: BTreeSet<u64>,
    pub(super) new_bytes: u64,
    pub(super) is_changed: bool,
    pub(super) is_news: bool,
}

/// Result of one update; dropped if the update fails.
struct Draft {
    room: Room,
    documents: BTreeMap<DocumentId, Option<Document>>,
    bodies: BTreeMap<u64, KeptBody>,
    gone: Vec<u64>,
    is_purge: bool,
}

impl Held {
    pub(super) fn new(
        room: Room,
        documents: BTreeMap<DocumentId, Document>,
        attachments: HashMap<u64, Named>,
    ) -> Self {
        let number =
            |(id, document): (&DocumentId, &Document)| (id.clone(), document.stored.number);
        Self {
            room,
            stored: documents.iter().map(number).collect(),
            documents,
            attachments,
            changed: BTreeSet::new(),
            bodies: BTreeMap::new(),
            gone: BTreeSet::new(),
            new_bytes: 0,
            is_changed: false,
            is_news: false,
        }
    }

    /// The current state of a document.
    pub(super) fn document(&self, id: &DocumentId) -> Option<&Document> {
        self.documents.get(id)
    }

    fn snapshot(&self, wanted: &[Wanted]) -> DocumentsSnapshot {
        let found = |Wanted { id, with_attachments }: &Wanted| {
            let found = self.documents.get(id).map(|Document { stored, .. }| FoundDocument {
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
            database: self.room.database.clone(),
            documents: wanted.iter().map(found).collect(),
            next_body: self.room.next_body,
        }
    }

    fn attachments_of(&self, document: &StoredDocument) -> BTreeMap<Revision, Named> {
        let named = document.tree.bodies().filter_map(|(revision, content)| {
            let number = content.body.number;
            let new = self.bodies.get(&number).map(|body| &body.attachments);
            let named = new.or_else(|| self.attachments.get(&number))?;
            (!named.is_empty()).then(|| (revision.clone(), named.clone()))
        });
        named.collect()
    }

    /// Runs one task and applies its result to this state.
    pub(super) fn ask(&mut self, task: &mut DocumentTask) -> Result<Database, StoreError> {
        let snapshot = self.snapshot(&task.wanted);
        // This state is still unchanged, so a panic leaves nothing half-done.
        let writes = catch_unwind(AssertUnwindSafe(|| (task.decide)(&snapshot)))
            .map_err(|_| StoreError::Decision("the decision panicked".to_owned()))?;
        if writes.is_empty() {
            return Ok(snapshot.database);
        }
        let mut draft = Draft {
            room: self.room.clone(),
            documents: BTreeMap::new(),
            bodies: BTreeMap::new(),
            gone: Vec::new(),
            is_purge: false,
        };
        for write in writes {
            if !snapshot.documents.contains_key(&write.id) {
                let reason = format!("{} is not among the documents of the update", write.id);
                return Err(StoreError::Decision(reason));
            }
            draft.put(write, &self.documents, snapshot.next_body)?;
        }
        Ok(self.take(draft))
    }

    fn take(&mut self, draft: Draft) -> Database {
        let Draft { mut room, documents, bodies, gone, is_purge } = draft;
        room.database.purges += u64::from(is_purge);
        self.is_changed = true;
        self.is_news |= is_purge || room.database.last > self.room.database.last;
        self.room = room;
        for (id, document) in documents {
            match document {
                Some(document) => drop(self.documents.insert(id.clone(), document)),
                None => drop(self.documents.remove(&id)),
            }
            self.changed.insert(id);
        }
        self.new_bytes += bodies.values().map(KeptBody::length).sum::<u64>();
        self.bodies.extend(bodies);
        for number in gone {
            if self.bodies.remove(&number).is_none() {
                self.gone.insert(number);
            }
        }
        self.room.database.clone()
    }
}

impl Draft {
    /// Applies one write to the draft.
    fn put(
        &mut self,
        write: DocumentWrite,
        stored: &BTreeMap<DocumentId, Document>,
        first_body: u64,
    ) -> Result<(), StoreError> {
        let database = &mut self.room.database;
        let DocumentWrite { id, .. } = &write;
        let found = self.documents.get(id).map_or_else(|| stored.get(id), Option::as_ref).cloned();
        let (before, mut number, kind) = match found {
            None => Default::default(),
            Some(Document { stored, kind, .. }) => (stored.tree, stored.number, kind),
        };
        self.is_purge |= before.leaves().iter().any(|leaf| !write.tree.contains(leaf.revision));
        let counted = database.count(&before, &write)?;
        if counted.is_change {
            let next = database.last.next();
            number = next.ok_or_else(|| StoreError::DatabaseSpent(database.name.clone()))?;
            database.last = number;
        }
        for gone in counted.gone {
            if self.bodies.remove(&gone).is_none() {
                self.gone.push(gone);
            }
        }
        for (number, body) in write.bodies {
            if number < first_body || self.bodies.insert(number, body).is_some() {
                return Err(StoreError::Decision(format!("the body {number} is there already")));
            }
            self.room.next_body = self.room.next_body.max(number + 1);
        }
        let document = write.tree.winner().map(|winner| winner.content.is_deleted);
        let document = document.map(|is_deleted| Document {
            is_deleted,
            kind: match write.kind {
                Some(kind) => kind.to_column().map(String::into_bytes),
                None => kind,
            },
            stored: StoredDocument { id: write.id.clone(), number, tree: write.tree.clone() },
        });
        self.documents.insert(write.id, document);
        Ok(())
    }
}
