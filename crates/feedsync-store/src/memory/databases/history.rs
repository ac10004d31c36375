//! The history of a database in memory.

use std::ops::Bound;
use std::sync::Arc;

use async_trait::async_trait;
use feedsync_couch::{BodyRef, DatabaseName, DocumentId, Revision};

use super::{DatabaseContents, MemoryStore};
use crate::database::{
    Database, EndedPosition, EndedRevision, PageBudget, PastDocument, PastDocuments, PastLeaf,
    PastPage, PastRange, StoredDocument, WriteEffect, WriteOrigin,
};
use crate::error::StoreError;
use crate::order::{Epoch, Moment};

#[async_trait]
impl PastDocuments for MemoryStore {
    async fn documents_at(
        &self,
        name: &DatabaseName,
        moment: Moment,
        range: PastRange,
        most_bytes: u64,
    ) -> Result<PastPage, StoreError> {
        self.with_database(name, |contents| Ok(contents.documents_at(moment, range, most_bytes)))
    }

    async fn ended_revisions(
        &self,
        name: &DatabaseName,
        of: Option<&DocumentId>,
        before: Option<EndedPosition>,
        most: usize,
    ) -> Result<Vec<EndedRevision>, StoreError> {
        self.with_database(name, |contents| {
            let Some(since) = contents.database.past.since else { return Ok(Vec::new()) };
            let is_meant = |row: &&EndedRevision| {
                row.ended.moment > since
                    && of.is_none_or(|of| row.id == *of)
                    && before.is_none_or(|before| row.position() < before)
            };
            let mut found: Vec<_> = contents.ended.values().filter(is_meant).cloned().collect();
            found.sort_by_key(|row| std::cmp::Reverse(row.position()));
            found.truncate(most);
            Ok(found)
        })
    }

    async fn leaf_origins(
        &self,
        name: &DatabaseName,
        id: &DocumentId,
    ) -> Result<Vec<(Revision, WriteOrigin)>, StoreError> {
        self.with_database(name, |contents| {
            let document = contents.documents.get(id);
            let leaves = document.iter().flat_map(|document| document.tree.leaves());
            let origin = |number: &u64| contents.origins.get(number).cloned();
            let origins = leaves.filter_map(|leaf| {
                Some((leaf.revision.clone(), origin(&leaf.content.body.number)?))
            });
            Ok(origins.collect())
        })
    }

    async fn drop_and_keep_database(
        &self,
        name: &DatabaseName,
        epoch: Epoch,
        author: Option<Arc<str>>,
    ) -> Result<bool, StoreError> {
        let is_kept = {
            let mut state = self.state();
            let database = &mut state.database_mut(name)?.database;
            database.require(epoch)?;
            let is_kept = database.is_kept_when_dropped();
            if is_kept {
                database.drop_now(self.environment.now(), author)?;
            }
            let contents = state.databases_by_name.remove(name).filter(|_| is_kept);
            let contents = contents.map(|contents| (contents.database.name.clone(), contents));
            state.databases_by_name.extend(contents);
            is_kept
        };
        self.database_notifier.notify_subscribers(name);
        Ok(is_kept)
    }

    async fn undrop_database(&self, kept: &DatabaseName, epoch: Epoch) -> Result<bool, StoreError> {
        let name = {
            let mut state = self.state();
            let mut database = state.database_mut(kept)?.database.clone();
            database.require(epoch)?;
            if !database.undrop(self.environment.now())
                || state.databases_by_name.contains_key(&database.name)
            {
                return Ok(false);
            }
            let name = database.name.clone();
            if let Some(mut contents) = state.databases_by_name.remove(kept) {
                contents.database = database;
                state.databases_by_name.insert(name.clone(), contents);
            }
            name
        };
        self.database_notifier.notify_subscribers(&name);
        Ok(true)
    }

    async fn dropped_databases(
        &self,
        name: Option<&DatabaseName>,
    ) -> Result<Vec<Database>, StoreError> {
        let state = self.state();
        let all = state.databases_by_name.values().map(|contents| &contents.database);
        let mut found: Vec<_> = all
            .filter_map(|database| Some((database.dropped.as_ref()?, database)))
            .filter(|(dropped, _)| name.is_none_or(|name| dropped.name == *name))
            .collect();
        found
            .sort_by_key(|(dropped, database)| std::cmp::Reverse((dropped.moment, database.epoch)));
        Ok(found.into_iter().map(|(_, database)| database.clone()).collect())
    }

    async fn expire_history(
        &self,
        name: &DatabaseName,
        ended_before: Moment,
        most: usize,
    ) -> Result<bool, StoreError> {
        let now = self.environment.now();
        let mut state = self.state();
        if state.database_mut(name)?.database.was_dropped_by(ended_before) {
            state.databases_by_name.remove(name);
            return Ok(false);
        }
        drop(state);
        self.with_database(name, |contents| {
            let through = contents.database.expire(ended_before, now);
            let is_due = |row: &&EndedRevision| row.ended.moment <= through;
            let mut due: Vec<_> =
                contents.ended.values().filter(is_due).map(EndedRevision::position).collect();
            due.sort();
            due.truncate(most);
            due.iter().for_each(|position| contents.remove_ended(position.body));
            if due.len() < most && !contents.database.keeps_history() {
                // Nobody asks any more who wrote the present revisions.
                contents.origins.clear();
            }
            Ok(due.len() == most)
        })
    }
}

impl DatabaseContents {
    fn documents_at(&self, moment: Moment, range: PastRange, most_bytes: u64) -> PastPage {
        if let Some(unknown) = self.database.unknown(moment) {
            return unknown;
        }
        let (ids, most): (Vec<DocumentId>, _) = match range {
            PastRange::Ids(ids) => (ids, None),
            PastRange::After { after, most } => {
                let after = after.map_or(Bound::Unbounded, Bound::Excluded);
                let ids = self.documents.range::<DocumentId, _>((after, Bound::Unbounded));
                (ids.take(most).map(|(id, _)| id.clone()).collect(), Some(most))
            }
        };
        let mut is_end = most != Some(ids.len());
        let (mut documents, mut last) = (Vec::new(), None);
        let mut left = PageBudget::of(most_bytes);
        for id in ids {
            if let Some(document) = self.stored(&id) {
                let leaves = self.leaves_at(&document, moment);
                if !left.fits_past(&document, &leaves) {
                    is_end = false;
                    break;
                }
                let body = |leaf: &PastLeaf| self.bodies[&leaf.content.body.number].clone();
                let leaves = leaves.into_iter().map(|leaf| {
                    let body = body(&leaf);
                    leaf.with(body)
                });
                let leaves = leaves.collect();
                documents.push(PastDocument { document, leaves });
                last = Some(id);
            }
        }
        let (database, last) = (Box::new(self.database.clone()), last.filter(|_| !is_end));
        PastPage::Known { database, documents, last }
    }

    fn leaves_at(&self, document: &StoredDocument, moment: Moment) -> Vec<PastLeaf> {
        let present = document.tree.leaves().into_iter().map(|leaf| PastLeaf {
            revision: leaf.revision.clone(),
            content: *leaf.content,
            written: self.origins.get(&leaf.content.body.number).cloned(),
        });
        let ended = self.ended.values();
        let ended = ended.filter(|row| row.id == document.id && row.ended.moment > moment);
        let mut leaves: Vec<_> = present.chain(ended.map(EndedRevision::leaf)).collect();
        leaves.retain(|leaf| leaf.was_there(moment));
        PastLeaf::sort(&mut leaves);
        leaves
    }

    /// Applies a write to the history, and removes the bodies that neither the tree nor the history names.
    pub(super) fn apply_to_history(
        &mut self,
        id: &DocumentId,
        effect: &WriteEffect,
        origin: Option<&WriteOrigin>,
    ) {
        if effect.is_forgotten {
            let of_document = self.ended.values().filter(|row| row.id == *id);
            let numbers: Vec<_> = of_document.map(|row| row.content.body.number).collect();
            numbers.into_iter().for_each(|number| self.remove_ended(number));
        }
        if let Some(origin) = origin {
            for (revision, content) in &effect.ended {
                let number = content.body.number;
                let row = EndedRevision {
                    id: id.clone(),
                    revision: revision.clone(),
                    content: *content,
                    written: self.origins.remove(&number),
                    ended: origin.clone(),
                    is_held: false,
                };
                self.ended.insert(number, row);
            }
        }
        for body in &effect.gone {
            self.let_go(body);
        }
    }

    /// Removes a body that left its tree, unless the history keeps it.
    fn let_go(&mut self, body: &BodyRef) {
        let is_kept = self.database.keeps_history();
        match self.ended.get_mut(&body.number).filter(|_| is_kept) {
            Some(row) => {
                row.is_held = true;
                self.database.hold(body.whole());
            }
            None => {
                self.bodies.remove(&body.number);
                self.origins.remove(&body.number);
            }
        }
    }

    fn remove_ended(&mut self, number: u64) {
        let Some(row) = self.ended.remove(&number) else { return };
        if row.is_held {
            self.bodies.remove(&number);
            self.database.release(row.content.body.whole());
        }
    }

    pub(in crate::memory) fn body_origins(
        &self,
        after: u64,
        limit: usize,
    ) -> Vec<(u64, WriteOrigin)> {
        let origins = self.origins.range((Bound::Excluded(after), Bound::Unbounded)).take(limit);
        origins.map(|(number, origin)| (*number, origin.clone())).collect()
    }

    pub(in crate::memory) fn all_ended(&self, after: u64, limit: usize) -> Vec<EndedRevision> {
        let ended = self.ended.range((Bound::Excluded(after), Bound::Unbounded)).take(limit);
        ended.map(|(_, row)| row.clone()).collect()
    }

    pub(in crate::memory) fn take_origins(&mut self, origins: Vec<(u64, WriteOrigin)>) {
        self.origins.extend(origins);
    }

    pub(in crate::memory) fn take_ended(&mut self, ended: Vec<EndedRevision>) {
        self.ended.extend(ended.into_iter().map(|row| (row.content.body.number, row)));
    }
}
