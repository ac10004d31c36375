//! Upkeep of indexes by the writes of a batch.
//!
//! Each write of a design document changes the definitions, in the order of the writes. The rows change once, from
//! the winners before the batch to those after it: an index that begins in the batch contains no documents yet.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use deadpool_postgres::Transaction;
use feedsync_couch::{BodyRef, DocumentId, Tree};

use super::definitions::{self, DefinitionChanges, Definitions, is_current};
use super::rows::{INSERT, IndexRow, REMOVE, RowColumns};
use super::winners::{WinnerRef, count_within, texts};
use crate::database::indexing::{BUILD_BYTES, MaintainedIndex, Winner, row_changes};
use crate::database::{IndexId, StoredBody};
use crate::error::StoreError;
use crate::postgres::databases::batch_state::DocumentBatchState;
use crate::postgres::databases::documents::Document;
use crate::postgres::databases::rows::{DatabaseRow, Indexing};
use crate::postgres::pipeline::Pipeline;

/// The indexes to which the writes of a batch are applied.
pub(in crate::postgres::databases) struct Upkeep {
    is_current: bool,
    /// The indexes that were stored before the batch.
    stored: Vec<IndexId>,
    definitions: Definitions,
    /// Bodies of the leaves of stored design documents.
    designs: HashMap<u64, Arc<str>>,
    /// The winners before the batch of documents that it changes.
    replaced: BTreeMap<DocumentId, Option<WinnerRef>>,
}

/// The definitions as one update leaves them, if it changes them.
#[derive(Default)]
pub(in crate::postgres::databases) struct DraftUpkeep(Option<Definitions>);

impl Upkeep {
    /// Reads what the decisions on some documents may require.
    pub(in crate::postgres::databases) async fn load(
        transaction: &Transaction<'_>,
        database_row: &DatabaseRow,
        documents: &BTreeMap<DocumentId, Document>,
    ) -> Result<Self, StoreError> {
        let DatabaseRow { id, indexing, .. } = *database_row;
        let is_current = is_current(indexing);
        let (mut indexes, mut designs) = (Vec::new(), HashMap::new());
        if is_current {
            indexes = definitions::all(transaction, id, indexing).await?;
            let designs_of = documents.values().filter(|it| it.stored.id.is_design());
            let leaves = designs_of.flat_map(|document| document.stored.tree.leaves());
            let leaves = leaves.filter(|leaf| !leaf.content.is_deleted);
            let numbers: Vec<i64> = leaves.map(|leaf| leaf.content.body.number as i64).collect();
            designs = texts(transaction, id, &numbers).await?;
        }
        Ok(Self {
            is_current,
            stored: indexes.iter().map(|index| index.id).collect(),
            definitions: Definitions::of(indexes),
            designs,
            replaced: BTreeMap::new(),
        })
    }

    /// Notes the winner of a document before the batch changes it for the first time.
    pub(in crate::postgres::databases) fn replace(
        &mut self,
        id: &DocumentId,
        before: Option<&Document>,
    ) {
        if !self.stored.is_empty() && !id.is_design() {
            let winner = before.and_then(|before| WinnerRef::of(&before.stored.tree));
            self.replaced.insert(id.clone(), winner);
        }
    }

    /// Applies the changes of an update, also to the row of its database.
    pub(in crate::postgres::databases) fn take(
        &mut self,
        draft: DraftUpkeep,
        indexing: &mut Indexing,
    ) {
        if let Some(definitions) = draft.0 {
            self.definitions = definitions;
        }
        match self.is_current {
            true => indexing.count = self.definitions.indexes.len() as u64,
            // A program of the other version does not know of this write, and must begin again, too.
            false => indexing.version = 0,
        }
    }

    /// The documents with another winner than before the batch.
    fn changed_winners(&self, held: &DocumentBatchState) -> Vec<WinnerChange> {
        let changes = self.replaced.iter().map(|(id, before)| WinnerChange {
            id: id.clone(),
            before: before.clone(),
            after: held.document(id).and_then(|it| WinnerRef::of(&it.stored.tree)),
        });
        changes.filter(WinnerChange::has_effect).collect()
    }

    async fn row_changes(
        &self,
        transaction: &Transaction<'_>,
        held: &DocumentBatchState,
    ) -> Result<RowChanges, StoreError> {
        let mut changes = RowChanges::default();
        if self.definitions.indexes.is_empty() {
            return Ok(changes);
        }
        let changed = self.changed_winners(held);
        let mut left = &changed[..];
        while !left.is_empty() {
            let count = count_within(left.iter().map(WinnerChange::length), BUILD_BYTES);
            let (piece, others) = left.split_at(count);
            left = others;
            let stored = stored_bodies(piece, held);
            let mut texts = texts(transaction, held.database_row.id, &stored).await?;
            for number in piece.iter().flat_map(WinnerChange::bodies) {
                if let Some(body) = held.bodies.get(&number) {
                    texts.insert(number, body.text.clone());
                }
            }
            changes.add(&self.definitions.indexes, piece, &texts);
        }
        Ok(changes)
    }
}

/// A document with the winners before and after a batch.
struct WinnerChange {
    id: DocumentId,
    before: Option<WinnerRef>,
    after: Option<WinnerRef>,
}

impl WinnerChange {
    fn winners(&self) -> impl Iterator<Item = &WinnerRef> {
        self.before.iter().chain(&self.after)
    }

    fn has_effect(&self) -> bool {
        let revision = |winner: &WinnerRef| winner.revision.clone();
        self.before.as_ref().map(revision) != self.after.as_ref().map(revision)
    }

    fn length(&self) -> u64 {
        self.winners().map(|winner| winner.length).sum()
    }

    fn bodies(&self) -> impl Iterator<Item = u64> {
        self.winners().map(|winner| winner.number)
    }
}

/// Numbers of the stored bodies of winners.
fn stored_bodies(changes: &[WinnerChange], held: &DocumentBatchState) -> Vec<i64> {
    let numbers = changes.iter().flat_map(WinnerChange::bodies);
    let stored = numbers.filter(|number| !held.bodies.contains_key(number));
    stored.map(|number| number as i64).collect()
}

/// Rows that a batch removes and adds.
#[derive(Default)]
struct RowChanges {
    removed: Vec<IndexRow>,
    added: Vec<IndexRow>,
}

impl RowChanges {
    fn add(
        &mut self,
        indexes: &[MaintainedIndex],
        changes: &[WinnerChange],
        texts: &HashMap<u64, Arc<str>>,
    ) {
        for WinnerChange { id, before, after } in changes {
            let winner = |it: &Option<WinnerRef>| it.as_ref()?.with_text(texts);
            let (before, after) = (winner(before), winner(after));
            for change in row_changes(indexes, id, before.as_ref(), after.as_ref()) {
                let row = |key| IndexRow { index: change.index, key, id: id.clone() };
                self.removed.extend(change.removed.map(row));
                self.added.extend(change.added.map(row));
            }
        }
    }
}

impl DraftUpkeep {
    /// Applies a write of a document. Its body is among new ones, or is stored.
    pub(in crate::postgres::databases) fn put(
        &mut self,
        upkeep: &Upkeep,
        id: &DocumentId,
        tree: &Tree<BodyRef>,
        new: [&BTreeMap<u64, StoredBody>; 2],
    ) {
        if !upkeep.is_current || !id.is_design() {
            return;
        }
        let winner = WinnerRef::of(tree).and_then(|WinnerRef { revision, number, .. }| {
            let new = new.into_iter().find_map(|bodies| bodies.get(&number));
            let text = new.map(|body| &body.text).or_else(|| upkeep.designs.get(&number))?;
            Some(Winner { revision, text: text.clone() })
        });
        let definitions = self.0.get_or_insert_with(|| upkeep.definitions.clone());
        definitions.define(id, winner.as_ref());
    }
}

/// Changes of a batch to the tables of indexes.
pub(in crate::postgres::databases) struct IndexChanges {
    definitions: DefinitionChanges,
    removed: RowColumns,
    added: RowColumns,
}

impl IndexChanges {
    /// Reads the bodies of winners that the batch replaces. They are still stored.
    pub(in crate::postgres::databases) async fn of(
        transaction: &Transaction<'_>,
        held: &DocumentBatchState,
    ) -> Result<Self, StoreError> {
        let upkeep = &held.upkeep;
        let RowChanges { removed, added } = upkeep.row_changes(transaction, held).await?;
        Ok(Self {
            definitions: upkeep.definitions.changes_since(&upkeep.stored),
            removed: RowColumns::of(removed),
            added: RowColumns::of(added),
        })
    }

    pub(in crate::postgres::databases) fn add_to<'b>(
        &'b self,
        pipeline: &mut Pipeline<'b>,
        database: &'b i64,
    ) {
        self.definitions.add_to(pipeline, database);
        self.removed.add_to(pipeline, REMOVE);
        self.added.add_to(pipeline, INSERT);
    }
}
