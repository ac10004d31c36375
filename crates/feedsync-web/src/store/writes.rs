//! Rows that a step writes.

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::collections::{SortedMap, SortedSet};
use feedsync_bitsy::interceptor::{Belonging, Change, Content, Representation, Step};
use feedsync_bitsy::location::Location;
use serde_json::Value;

use super::key::{self, Needed};
use super::loaded::{Loaded, ReadError};
use super::row;
use super::state_rows::{RowChange, StateRows};
use super::sweep::candidate;
use crate::codec::{AddressRow, belonging_value};

/// Rows to write in one transaction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Writes {
    /// Text of each row; none deletes it.
    pub rows: SortedMap<String, Option<String>>,
    /// Contents that the rows refer to now. Their bytes must be stored with the rows, unless they are stored
    /// already.
    pub contents: SortedSet<Content>,
    /// Whether the rows must survive a power cut before anybody learns of them.
    pub is_durable: bool,
}

/// A step that is being turned into writes. This may need rows that are not loaded. Then it goes on after they are.
#[derive(Debug)]
pub struct PendingStep {
    step: Step,
    next: usize,
    writes: Writes,
}

impl PendingStep {
    /// Begins with the first change of a step.
    pub fn new(step: Step) -> Self {
        let writes = Writes { is_durable: step.is_durable, ..Writes::default() };
        Self { step, next: 0, writes }
    }

    /// The step.
    pub fn into_step(self) -> Step {
        self.step
    }
}

/// Loaded rows and the rows of the state, which a step changes together.
pub(super) struct Writer<'w> {
    pub(super) loaded: &'w mut Loaded,
    pub(super) state_rows: &'w mut StateRows,
    /// Whether an edit of an address waits, so that its representation is kept.
    pub(super) is_edited: &'w dyn Fn(Partition, &Location) -> bool,
}

impl Writer<'_> {
    /// Applies the step to the loaded rows, and returns what is to be written.
    pub(super) fn write(&mut self, pending: &mut PendingStep) -> Result<Writes, ReadError> {
        while let Some(change) = pending.step.changes.get(pending.next) {
            self.apply(change, &mut pending.writes)?;
            pending.next += 1;
        }
        Ok(std::mem::take(&mut pending.writes))
    }

    /// Applies one change. Everything that it needs is read first.
    fn apply(&mut self, change: &Change, writes: &mut Writes) -> Result<(), ReadError> {
        match change {
            Change::Representation { partition, location, representation } => {
                let mut row = self.loaded.address(location)?.clone();
                set(&mut row, *partition, representation.as_deref());
                self.put_address(location, row, writes);
            }
            Change::Generation { partition, feed, resources, is_whole } => {
                self.generation((*partition, feed), resources, *is_whole, writes)?;
            }
            Change::PartitionRemoved(partition) => self.forget(*partition, writes)?,
            _ => {}
        }
        for RowChange { key, value, contents } in self.state_rows.changed(change) {
            let before = self.state_rows.replace_contents(&key, contents.clone());
            writes.put(key, value, (before, contents));
        }
        Ok(())
    }

    /// Replaces the relations of addresses to a feed, or adds some.
    fn generation(
        &mut self,
        (partition, feed): (Partition, &Location),
        resources: &SortedMap<Location, Belonging>,
        is_whole: bool,
        writes: &mut Writes,
    ) -> Result<(), ReadError> {
        let whose = (partition, feed.clone());
        let Some(before) = self.loaded.feeds.get(&whose) else {
            return Err(ReadError::Missing(Needed::Feed(partition, feed.clone())));
        };
        let mut changed: Vec<(&Location, Option<&Belonging>)> = Vec::new();
        for (location, belonging) in resources {
            if before.get(location) != Some(belonging) {
                changed.push((location, Some(belonging)));
            }
        }
        if is_whole {
            let gone = before.keys().filter(|location| !resources.contains_key(location));
            changed.extend(gone.map(|location| (location, None)));
        }
        let mut rows = Vec::new();
        for (location, belonging) in changed {
            let mut row = self.loaded.address(location)?.clone();
            match belonging {
                Some(belonging) => drop(row.roles.insert(whose.clone(), belonging.clone())),
                None => drop(row.roles.remove(&whose)),
            }
            let is_kept = row.roles.keys().any(|(who, _)| *who == partition)
                || (self.is_edited)(partition, location);
            if !is_kept {
                row.representations.remove(&partition);
            }
            rows.push((location.clone(), belonging.cloned(), row));
        }
        for (location, belonging, row) in rows {
            let value = belonging.as_ref().map(belonging_value);
            writes.put(key::feed_member(partition, feed, &location), value, Default::default());
            if let Some(all) = self.loaded.feeds.get_mut(&whose) {
                match belonging {
                    Some(belonging) => drop(all.insert(location.clone(), belonging)),
                    None => drop(all.remove(&location)),
                }
            }
            self.put_address(&location, row, writes);
        }
        Ok(())
    }

    /// Deletes everything that is stored for a partition.
    fn forget(&mut self, partition: Partition, writes: &mut Writes) -> Result<(), ReadError> {
        let Some(locations) = self.loaded.partitions.get(&partition) else {
            return Err(ReadError::Missing(Needed::Partition(partition)));
        };
        let mut rows = Vec::new();
        for location in locations {
            rows.push((location.clone(), self.loaded.address(location)?.clone()));
        }
        for (location, mut row) in rows {
            row.representations.remove(&partition);
            let feeds = row.roles.keys().filter(|(who, _)| *who == partition);
            for (_, feed) in feeds {
                writes.put(key::feed_member(partition, feed, &location), None, Default::default());
            }
            row.roles.retain(|(who, _), _| *who != partition);
            self.put_address(&location, row, writes);
        }
        self.loaded.feeds.retain(|(who, _), _| *who != partition);
        self.loaded.partitions.remove(&partition);
        Ok(())
    }

    /// Replaces the row of an address.
    fn put_address(&mut self, location: &Location, row: AddressRow, writes: &mut Writes) {
        let before = self.loaded.addresses.insert(location.clone(), row.clone());
        let before = before.unwrap_or_default();
        if before == row {
            return;
        }
        let partitions = |row: &AddressRow| {
            let of_roles = row.roles.keys().map(|(partition, _)| *partition);
            of_roles.chain(row.representations.keys().copied()).collect::<SortedSet<_>>()
        };
        let (had, has) = (partitions(&before), partitions(&row));
        for partition in had.symmetric_difference(&has) {
            let value = has.contains(partition).then_some(Value::Bool(true));
            let key = key::partition_member(*partition, location);
            writes.put(key, value, Default::default());
        }
        let value = (!row.is_empty()).then(|| row.value());
        let contents = (before.contents().collect(), row.contents().collect());
        writes.put(key::address(location), value, contents);
    }
}

fn set(row: &mut AddressRow, partition: Partition, representation: Option<&Representation>) {
    match representation {
        Some(it) => drop(row.representations.insert(partition, it.clone())),
        None => drop(row.representations.remove(&partition)),
    }
}

impl Writes {
    /// Whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes a row with the contents that it referred to before and refers to now.
    fn put(
        &mut self,
        key: String,
        value: Option<Value>,
        (before, contents): (Vec<Content>, Vec<Content>),
    ) {
        for content in before.iter().filter(|content| !contents.contains(content)) {
            self.rows.insert(key::content_use(content, &key), None);
            self.rows.insert(candidate(&content.digest), Some(String::new()));
        }
        for content in contents.into_iter().filter(|content| !before.contains(content)) {
            self.rows.insert(key::content_use(&content, &key), Some(String::new()));
            self.contents.insert(content);
        }
        let text = value.map(|value| row::text_of(&key, &value));
        self.rows.insert(key, text);
    }
}
