//! Indexes of a database in memory.

use std::collections::{BTreeMap, BTreeSet};

use feedsync_couch::plan::KeyRange;
use feedsync_couch::{BodyRef, DocumentId, Tree};

use super::DatabaseContents;
use crate::database::indexing::{
    MaintainedIndex, Progress, Winner, definition_changes, next_to_build, row_changes, winner_of,
};
use crate::database::{
    IndexId, IndexPage, IndexRange, Indexes, PageBudget, SelectBodies, StoredIndex,
};

type Rows = BTreeSet<(Vec<u8>, DocumentId)>;

/// The indexes of a database, with their rows.
#[derive(Debug, Clone, Default)]
pub(super) struct Indexing {
    indexes: Vec<MaintainedIndex>,
    rows: BTreeMap<IndexId, Rows>,
    next: u64,
    /// The documents were loaded from another store, and their indexes are not known yet.
    is_unknown: bool,
}

impl Indexing {
    pub(super) fn unknown() -> Self {
        Self { is_unknown: true, ..Self::default() }
    }

    pub(super) fn indexes(&self) -> Indexes {
        let mut indexes: Vec<StoredIndex> =
            self.indexes.iter().cloned().map(StoredIndex::from).collect();
        indexes.sort_by_key(|index| index.definition.full_name());
        let are_built = !self.is_unknown && indexes.iter().all(|index| index.is_built);
        Indexes { indexes, are_built }
    }

    /// Applies a change of the winner of a document.
    pub(super) fn apply(
        &mut self,
        id: &DocumentId,
        before: Option<&Winner>,
        after: Option<&Winner>,
    ) {
        if self.is_unknown {
            return;
        }
        if id.is_design() {
            self.define(id, after);
            return;
        }
        for change in row_changes(&self.indexes, id, before, after) {
            let rows = self.rows.entry(change.index).or_default();
            if let Some(key) = change.removed {
                rows.remove(&(key, id.clone()));
            }
            if let Some(key) = change.added {
                rows.insert((key, id.clone()));
            }
        }
    }

    fn define(&mut self, design: &DocumentId, after: Option<&Winner>) {
        let (removed, added) = definition_changes(&self.indexes, design, after);
        self.indexes.retain(|index| !removed.contains(&index.id));
        self.rows.retain(|index, _| !removed.contains(index));
        for definition in added {
            self.next += 1;
            self.indexes.push(MaintainedIndex::begun(IndexId(self.next), definition));
        }
    }
}

impl DatabaseContents {
    /// The winner of a document that is not deleted.
    pub(super) fn winner(&self, tree: &Tree<BodyRef>) -> Option<Winner> {
        let (revision, number) = winner_of(tree)?;
        Some(Winner { revision, text: self.bodies.get(&number)?.text.clone() })
    }

    pub(super) fn build_indexes(&mut self, most: usize) -> bool {
        if self.indexing.is_unknown {
            self.define_indexes();
            return true;
        }
        let Some((after, behind)) = next_to_build(&self.indexing.indexes) else { return false };
        let documents = self.documents.iter().filter(|(id, _)| id.as_str() > after.as_str());
        let piece: Vec<_> = documents.take(most).collect();
        let progress = match piece.last() {
            Some((last, _)) if piece.len() == most => Progress::Through(last.as_str().to_owned()),
            _ => Progress::Complete,
        };
        let rows = behind.iter().map(|index| {
            let winners = piece.iter().filter_map(|(id, it)| Some((*id, self.winner(&it.tree)?)));
            let row = |(id, winner): (&DocumentId, _)| Some((index.key(id, &winner)?, id.clone()));
            (index.id, winners.filter_map(row).collect::<Rows>())
        });
        let rows: Vec<_> = rows.collect();
        for (id, rows) in rows {
            self.indexing.rows.entry(id).or_default().extend(rows);
            let built = self.indexing.indexes.iter_mut().filter(|index| index.id == id);
            built.for_each(|index| index.progress = progress.clone());
        }
        true
    }

    /// Defines the indexes of all design documents.
    fn define_indexes(&mut self) {
        self.indexing = Indexing { next: self.indexing.next, ..Indexing::default() };
        let designs = self.documents.iter().filter(|(id, _)| id.is_design());
        let designs: Vec<_> = designs.map(|(id, it)| (id.clone(), self.winner(&it.tree))).collect();
        for (id, winner) in designs {
            self.indexing.define(&id, winner.as_ref());
        }
    }

    pub(super) fn documents_by_key(
        &self,
        range: &IndexRange,
        choose: &SelectBodies,
        most_bytes: u64,
    ) -> Option<IndexPage> {
        let index = self.indexing.indexes.iter().find(|index| index.id == range.index)?;
        if index.progress != Progress::Complete {
            return None;
        }
        let mut left = PageBudget::of(most_bytes);
        let mut documents = Vec::new();
        for (key, id) in self.rows(range) {
            let read = self.stored(id).and_then(|it| self.read(it, choose, &mut left));
            let Some(read) = read else { break };
            documents.push((key.clone(), read));
        }
        Some(IndexPage { database: self.database.clone(), documents })
    }

    fn rows(&self, range: &IndexRange) -> Vec<&(Vec<u8>, DocumentId)> {
        let IndexRange { keys: KeyRange { start, end }, after, is_descending, most, .. } = range;
        let is_left = |row: &&(Vec<u8>, DocumentId)| {
            let is_within = row.0 >= *start && row.0 < *end;
            is_within
                && after.as_ref().is_none_or(|after| match is_descending {
                    true => *row < after,
                    false => *row > after,
                })
        };
        let rows = self.indexing.rows.get(&range.index).into_iter().flatten();
        let mut rows: Vec<_> = rows.filter(is_left).collect();
        if *is_descending {
            rows.reverse();
        }
        rows.truncate(*most);
        rows
    }
}
