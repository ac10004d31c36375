//! Edits that are sent to their servers while their applications wait. The content of a PUT is noted before
//! it is sent. So it is not taken for another client's edit if this process ends before the response arrives.
//!
//! Such an edit was not acknowledged, and it is not sent again. If its server has carried it out, a later
//! edit from here names an outdated entity tag and is refused (412). The gateway then reads the resource. If
//! the content was sent from here, the edit is made on top of it, unless its application named the entity tag
//! itself.
//!
//! A request may arrive after its sender has ended, and after the resource was read. So an attempt is removed
//! only when the resource has changed.

use crate::authentication::Partition;
use crate::collections::SortedMap;
use crate::interceptor::stored::Content;
use crate::location::Location;

/// Maximum number of attempts for a resource.
const MAX_ATTEMPTS: usize = 8;

/// Content that was sent to replace a resource, with an unknown result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Partition of the application.
    pub partition: Partition,
    /// Address of the resource.
    pub location: Location,
    /// Content that was sent.
    pub content: Content,
}

/// Attempts with unknown results.
#[derive(Debug, Default)]
pub(crate) struct Attempts(SortedMap<(Partition, Location), Vec<Content>>);

impl Attempts {
    pub(crate) fn restored(rows: Vec<Attempt>) -> Self {
        let mut attempts = Self::default();
        for Attempt { partition, location, content } in rows {
            attempts.0.entry((partition, location)).or_default().push(content);
        }
        attempts
    }

    /// Contents that were sent for a resource.
    pub(crate) fn of(&self, partition: Partition, location: &Location) -> &[Content] {
        self.0.get(&(partition, location.clone())).map_or(&[], Vec::as_slice)
    }

    /// All attempts.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Partition, Location, Content)> {
        self.0.iter().flat_map(|((partition, location), contents)| {
            contents.iter().map(|content| (*partition, location.clone(), *content))
        })
    }

    pub(crate) fn contents(&self) -> impl Iterator<Item = Content> {
        self.0.values().flatten().copied()
    }

    pub(crate) fn forget_all(&mut self, partition: Partition) {
        self.0.retain(|(who, _), _| *who != partition);
    }

    /// Adds an attempt. Returns the oldest one if it is removed for it.
    pub(crate) fn add(&mut self, attempt: &Attempt) -> Option<Attempt> {
        let of = self.0.entry((attempt.partition, attempt.location.clone())).or_default();
        of.push(attempt.content);
        let oldest = (of.len() > MAX_ATTEMPTS).then(|| of.remove(0))?;
        Some(Attempt { content: oldest, ..attempt.clone() })
    }

    /// Removes an attempt. Returns whether it was there.
    pub(crate) fn remove(&mut self, attempt: &Attempt) -> bool {
        let key = (attempt.partition, attempt.location.clone());
        let Some(of) = self.0.get_mut(&key) else { return false };
        let before = of.len();
        of.retain(|content| *content != attempt.content);
        let was_there = of.len() < before;
        if of.is_empty() {
            self.0.remove(&key);
        }
        was_there
    }

    /// Removes the attempts for a resource.
    pub(crate) fn take(&mut self, partition: Partition, location: &Location) -> Vec<Content> {
        self.0.remove(&(partition, location.clone())).unwrap_or_default()
    }
}
