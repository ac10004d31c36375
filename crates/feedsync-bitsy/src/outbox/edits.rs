//! Edits with indexes by number, resource and queue (`queue`). The work for an edit does not grow with the
//! number of waiting edits.

use std::collections::HashMap;

use super::edit::{Edit, EditId};
use crate::authentication::Partition;
use crate::collections::{SortedMap, SortedSet};
use crate::location::Location;

/// Partition and location.
type Key = (Partition, Location);

/// The edits that are not settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edits<B> {
    all: SortedMap<EditId, Edit<B>>,
    resources: HashMap<Location, SortedSet<EditId>>,
    queues: SortedMap<Key, SortedSet<EditId>>,
}

impl<B> Default for Edits<B> {
    fn default() -> Self {
        Self { all: SortedMap::new(), resources: HashMap::new(), queues: SortedMap::new() }
    }
}

impl<B> Edits<B> {
    /// All edits, in their order.
    pub(super) fn all(&self) -> impl DoubleEndedIterator<Item = &Edit<B>> {
        self.all.values()
    }

    /// Returns an edit.
    pub(super) fn get(&self, id: EditId) -> Option<&Edit<B>> {
        self.all.get(&id)
    }

    /// Returns an edit for changes of anything but its resource, partition and queue.
    pub(super) fn get_mut(&mut self, id: EditId) -> Option<&mut Edit<B>> {
        self.all.get_mut(&id)
    }

    /// Edits of a resource in all partitions, in their order.
    pub(super) fn at(&self, resource: &Location) -> impl DoubleEndedIterator<Item = &Edit<B>> {
        let ids = self.resources.get(resource).into_iter().flatten();
        ids.filter_map(|id| self.all.get(id))
    }

    /// Edits of a resource in one partition, in their order.
    pub(super) fn of(
        &self,
        partition: Partition,
        resource: &Location,
    ) -> impl DoubleEndedIterator<Item = &Edit<B>> {
        self.at(resource).filter(move |edit| edit.requested.partition == partition)
    }

    /// Edits of each queue, in their order.
    pub(super) fn queues(&self) -> impl Iterator<Item = impl Iterator<Item = &Edit<B>>> {
        self.queues.values().map(|ids| ids.iter().filter_map(|id| self.all.get(id)))
    }

    /// Edits of one queue, in their order.
    pub(super) fn on(
        &self,
        partition: Partition,
        queue: &Location,
    ) -> impl Iterator<Item = &Edit<B>> {
        let ids = self.queues.get(&(partition, queue.clone())).into_iter().flatten();
        ids.filter_map(|id| self.all.get(id))
    }

    /// Whether a queue has edits.
    pub(super) fn has(&self, partition: Partition, queue: &Location) -> bool {
        self.queues.contains_key(&(partition, queue.clone()))
    }

    pub(super) fn insert(&mut self, edit: Edit<B>) {
        let (id, requested) = (edit.id, &edit.requested);
        self.resources.entry(requested.resource.clone()).or_default().insert(id);
        let queue = (requested.partition, requested.queue.clone());
        self.queues.entry(queue).or_default().insert(id);
        self.all.insert(id, edit);
    }

    pub(super) fn remove(&mut self, id: EditId) -> Option<Edit<B>> {
        let edit = self.all.remove(&id)?;
        let resource = &edit.requested.resource;
        if let Some(ids) = self.resources.get_mut(resource) {
            ids.remove(&id);
            if ids.is_empty() {
                self.resources.remove(resource);
            }
        }
        let queue = (edit.requested.partition, edit.requested.queue.clone());
        if let Some(ids) = self.queues.get_mut(&queue) {
            ids.remove(&id);
            if ids.is_empty() {
                self.queues.remove(&queue);
            }
        }
        Some(edit)
    }

    /// Changes an edit and updates the indexes.
    pub(super) fn change(&mut self, id: EditId, change: impl FnOnce(&mut Edit<B>)) {
        if let Some(mut edit) = self.remove(id) {
            change(&mut edit);
            self.insert(edit);
        }
    }
}
