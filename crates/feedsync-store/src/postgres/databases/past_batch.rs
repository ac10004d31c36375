//! The history in a transaction of many updates.
//!
//! Updates run in memory. Whether the history keeps a body that left its tree is only known when the results are written,
//! since rows of earlier transactions are not read before. The counts of bytes are then corrected, from the update on
//! that removed the body.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use deadpool_postgres::Transaction;
use feedsync_couch::{BodyRef, DocumentId};

use super::documents::Keys;
use super::past_rows::{self, EndedColumns, OriginColumns, ended_columns};
use crate::database::{Database, EndedRevision, WriteEffect, WriteOrigin};
use crate::error::StoreError;
use crate::postgres::pipeline::Pipeline;

/// Each row is looked up by its key, even if the server's statistics suggest otherwise.
pub(super) const FORGET: &str = concat!(
    "DELETE FROM ended_revisions WHERE ctid = ANY(ARRAY(
       SELECT e.ctid FROM unnest($2::bytea[], $3::bytea[]) w (head, digest),
              LATERAL (SELECT ctid FROM ended_revisions t
                        WHERE t.database = $1 AND t.head = w.head AND t.digest = w.digest
                       OFFSET 0) e)) RETURNING ",
    ended_columns!()
);

/// The history as the updates of a transaction leave it.
#[derive(Default)]
pub(super) struct PastBatch {
    /// The writes that made the stored leaves of the documents.
    stored: HashMap<u64, WriteOrigin>,
    /// The writes that made new bodies.
    new: BTreeMap<u64, WriteOrigin>,
    /// New rows, by the numbers of their bodies.
    ended: BTreeMap<u64, EndedRevision>,
    /// Stored bodies that left their trees, with the numbers of the updates.
    gone: BTreeMap<u64, (usize, BodyRef)>,
    /// Stored bodies whose leaf ended.
    moved: BTreeSet<u64>,
    /// Documents whose history is removed, with the number of the update.
    forgotten: BTreeMap<DocumentId, usize>,
}

/// Result of one update.
#[derive(Default)]
pub(super) struct DraftPast {
    new: BTreeMap<u64, WriteOrigin>,
    /// New rows, and changed rows of earlier updates; `None` for those that are removed.
    ended: BTreeMap<u64, Option<EndedRevision>>,
    forgotten: BTreeSet<DocumentId>,
}

/// A correction of counts that holds from an update on.
pub(super) struct Correction {
    pub(super) update: usize,
    held: u64,
    released: u64,
}

impl Correction {
    pub(super) fn apply(&self, database: &mut Database) {
        database.hold(self.held);
        database.release(self.released);
    }
}

impl PastBatch {
    pub(super) fn new(stored: HashMap<u64, WriteOrigin>) -> Self {
        Self { stored, ..Self::default() }
    }

    /// Takes the result of an update, and the stored bodies that it removed.
    pub(super) fn take(&mut self, draft: DraftPast, update: usize) {
        let DraftPast { new, ended, forgotten } = draft;
        self.new.extend(new);
        for (number, row) in ended {
            match row {
                Some(row) => {
                    if self.new.remove(&number).is_none() {
                        self.moved.insert(number);
                    }
                    self.ended.insert(number, row);
                }
                None => drop(self.ended.remove(&number)),
            }
        }
        self.forgotten.extend(forgotten.into_iter().map(|id| (id, update)));
    }

    /// Removes a body that is not stored yet.
    pub(super) fn drop_new(&mut self, number: u64) {
        self.new.remove(&number);
    }

    /// Removes a stored body, unless the history keeps it.
    pub(super) fn drop_stored(&mut self, body: BodyRef, update: usize) {
        self.gone.insert(body.number, (update, body));
    }

    /// Removes the histories of purged documents, and finds the bodies that the history keeps. Returns the corrections,
    /// and the numbers of the bodies to remove.
    pub(super) async fn settle(
        &self,
        transaction: &Transaction<'_>,
        (database, keeps_history): (i64, bool),
    ) -> Result<(Vec<Correction>, BTreeSet<u64>), StoreError> {
        let mut corrections = Vec::new();
        let mut gone: BTreeSet<u64> = self.gone.keys().copied().collect();
        if !self.forgotten.is_empty() {
            let keys = Keys::of(self.forgotten.keys());
            let statement = transaction.prepare_cached(FORGET).await?;
            let rows =
                transaction.query(&statement, &[&database, &keys.heads, &keys.digests]).await?;
            for row in &rows {
                let EndedRevision { id, content, is_held, .. } = past_rows::ended(row)?;
                if is_held {
                    let update = self.forgotten.get(&id).copied().unwrap_or_default();
                    let released = content.body.whole();
                    corrections.push(Correction { update, held: 0, released });
                    gone.insert(content.body.number);
                }
            }
        }
        if keeps_history {
            let numbers: Vec<i64> = self.gone.keys().map(|number| *number as i64).collect();
            for number in past_rows::hold(transaction, database, &numbers).await? {
                gone.remove(&number);
                if let Some((update, body)) = self.gone.get(&number) {
                    let (update, held) = (*update, body.whole());
                    corrections.push(Correction { update, held, released: 0 });
                }
            }
        }
        Ok((corrections, gone))
    }

    /// The columns of the new rows, and the stored bodies whose origins are removed.
    pub(super) fn columns(&self) -> PastColumns<'_> {
        PastColumns {
            origins: OriginColumns::of(&self.new),
            ended: EndedColumns::of(self.ended.values()),
            moved: self.moved.iter().map(|number| *number as i64).collect(),
        }
    }
}

pub(super) struct PastColumns<'a> {
    origins: OriginColumns<'a>,
    ended: EndedColumns<'a>,
    pub(super) moved: Vec<i64>,
}

impl PastColumns<'_> {
    pub(super) fn add_to<'b>(&'b self, pipeline: &mut Pipeline<'b>, database: &'b i64) {
        self.origins.add_to(pipeline, database);
        self.ended.add_to(pipeline, database);
    }
}

impl DraftPast {
    /// Notes the write that made a new body.
    pub(super) fn made(&mut self, number: u64, origin: &WriteOrigin) {
        self.new.insert(number, origin.clone());
    }

    /// Applies a write to the history. Returns the bodies that may have to be removed.
    pub(super) fn put(
        &mut self,
        held: &PastBatch,
        (id, database): (&DocumentId, &mut Database),
        effect: &WriteEffect,
        origin: Option<&WriteOrigin>,
    ) -> Vec<BodyRef> {
        let mut gone = Vec::new();
        if effect.is_forgotten {
            self.forgotten.insert(id.clone());
            for row in self.rows(held).into_values().filter(|row| row.id == *id) {
                self.ended.insert(row.content.body.number, None);
                if row.is_held {
                    database.release(row.content.body.whole());
                    gone.push(row.content.body);
                }
            }
        }
        if let Some(origin) = origin {
            for (revision, content) in &effect.ended {
                let number = content.body.number;
                let written = held.new.get(&number).or_else(|| held.stored.get(&number)).cloned();
                let row = EndedRevision {
                    id: id.clone(),
                    revision: revision.clone(),
                    content: *content,
                    written,
                    ended: origin.clone(),
                    is_held: false,
                };
                self.ended.insert(number, Some(row));
            }
        }
        for body in &effect.gone {
            let row = match self.ended.get(&body.number) {
                Some(row) => row.clone(),
                None => held.ended.get(&body.number).cloned(),
            };
            match row {
                Some(row) => {
                    database.hold(body.whole());
                    self.ended.insert(body.number, Some(EndedRevision { is_held: true, ..row }));
                }
                None => {
                    self.new.remove(&body.number);
                    gone.push(*body);
                }
            }
        }
        gone
    }

    /// The rows that the transaction adds.
    fn rows(&self, held: &PastBatch) -> BTreeMap<u64, EndedRevision> {
        let mut rows = held.ended.clone();
        for (number, row) in &self.ended {
            match row {
                Some(row) => drop(rows.insert(*number, row.clone())),
                None => drop(rows.remove(number)),
            }
        }
        rows
    }
}
