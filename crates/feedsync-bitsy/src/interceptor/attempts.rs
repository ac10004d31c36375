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

use std::collections::BTreeMap;

use super::Interceptor;
use super::decide::Proposed;
use super::step::{Change, Step};
use super::stored::{Content, Entity, Stored};
use crate::authentication::Partition;
use crate::fingerprint::Fingerprint;
use crate::location::Location;
use crate::outbox::Edit;
use crate::propagation::Method;

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
pub(super) struct Attempts(BTreeMap<(Partition, Location), Vec<Content>>);

impl Attempts {
    pub(super) fn restored(rows: Vec<Attempt>) -> Self {
        let mut attempts = Self::default();
        for Attempt { partition, location, content } in rows {
            attempts.0.entry((partition, location)).or_default().push(content);
        }
        attempts
    }

    /// Contents that were sent for a resource.
    pub(super) fn of(&self, partition: Partition, location: &Location) -> &[Content] {
        self.0.get(&(partition, location.clone())).map_or(&[], Vec::as_slice)
    }

    /// All attempts.
    pub(super) fn all(&self) -> impl Iterator<Item = (Partition, Location, Content)> {
        self.0.iter().flat_map(|((partition, location), contents)| {
            contents.iter().map(|content| (*partition, location.clone(), *content))
        })
    }

    pub(super) fn contents(&self) -> impl Iterator<Item = Content> {
        self.0.values().flatten().copied()
    }

    pub(super) fn forget_all(&mut self, partition: Partition) {
        self.0.retain(|(who, _), _| *who != partition);
    }
}

impl Interceptor {
    /// Notes that an edit is about to be sent. The note is stored before sending, but need not survive a
    /// power cut. The result is passed to [`Self::forwarded`].
    pub fn begin_forward(&mut self, proposed: &Proposed, entity: Option<&Entity>) -> Step {
        let mut step = Step::default();
        let Some(entity) = entity.filter(|_| proposed.method == Method::Put) else { return step };
        let (partition, location) = (proposed.partition, proposed.location.clone());
        self.attempt(&mut step, Attempt { partition, location, content: entity.content });
        step
    }

    /// Notes that a discarded edit may have been carried out.
    pub(super) fn note_discarded(&mut self, step: &mut Step, edit: &Edit<Entity>) {
        let requested = &edit.requested;
        let body =
            requested.body.as_ref().filter(|_| requested.method == Method::Put && edit.tries > 0);
        let (partition, location) = (requested.partition, requested.location.clone());
        let attempt = body.map(|body| Attempt { partition, location, content: body.content });
        attempt.into_iter().for_each(|attempt| self.attempt(step, attempt));
    }

    fn attempt(&mut self, step: &mut Step, attempt: Attempt) {
        self.remove_attempt(step, &attempt);
        let key = (attempt.partition, attempt.location.clone());
        let of = self.attempts.0.entry(key).or_default();
        of.push(attempt.content);
        let oldest = (of.len() > MAX_ATTEMPTS).then(|| of.remove(0));
        step.changes.extend(oldest.map(|content| {
            Change::AttemptRemoved(Box::new(Attempt { content, ..attempt.clone() }))
        }));
        step.changes.push(Change::Attempt(Box::new(attempt)));
    }

    /// Whether an edit that was refused for its base may have been made on content that was sent from here.
    pub(super) fn may_rebase(&self, edit: &Edit<Entity>) -> bool {
        let requested = &edit.requested;
        let is_rebased = self.delivery_states.get(&edit.id).is_some_and(|trail| trail.is_rebased);
        requested.base.is_some()
            && !requested.is_conditional
            && !is_rebased
            && !self.attempts.of(requested.partition, &requested.location).is_empty()
    }

    /// Whether the present content was sent from here.
    pub(super) fn is_attempted<S: Stored>(
        &self,
        stored: &S,
        edit: &Edit<Entity>,
        theirs: Content,
        address: &Location,
    ) -> Result<bool, S::Error> {
        let fingerprint = |content| Ok(Fingerprint::of_entry(&stored.content(&content)?, address));
        let there = fingerprint(theirs)?;
        for attempt in self.attempts.of(edit.requested.partition, &edit.requested.location) {
            let ours = fingerprint(*attempt)?;
            let kept =
                ours.zip(there.as_ref()).is_some_and(|(ours, there)| ours.is_stored_as(there));
            if *attempt == theirs || kept {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the present content may be that of the refused edit itself. An earlier attempt may have
    /// arrived after the gateway looked for it.
    pub(super) fn may_be_own_content(edit: &Edit<Entity>) -> bool {
        edit.requested.method == Method::Put && edit.tries > 1
    }

    /// Whether an attempt for a resource may still arrive: there is one, and the server has the same content
    /// as before.
    pub(super) fn may_arrive<S: Stored>(
        &self,
        stored: &S,
        (partition, location): (Partition, &Location),
        there: Content,
    ) -> Result<bool, S::Error> {
        if self.attempts.of(partition, location).is_empty() {
            return Ok(false);
        }
        let known = stored.representation(partition, location)?;
        Ok(known.is_some_and(|known| known.content == there))
    }

    /// Removes an attempt whose result is known.
    pub(super) fn remove_attempt(&mut self, step: &mut Step, attempt: &Attempt) {
        let key = (attempt.partition, attempt.location.clone());
        let Some(of) = self.attempts.0.get_mut(&key) else { return };
        let before = of.len();
        of.retain(|content| *content != attempt.content);
        if of.len() < before {
            step.changes.push(Change::AttemptRemoved(Box::new(attempt.clone())));
        }
        if of.is_empty() {
            self.attempts.0.remove(&key);
        }
    }

    /// Removes the attempts for a resource whose present content is known. They stay while edits wait,
    /// because these may name the previous content.
    pub(super) fn clear_attempts(
        &mut self,
        step: &mut Step,
        partition: Partition,
        location: &Location,
    ) {
        if self.attempts.of(partition, location).is_empty()
            || self.outbox.last(partition, location).is_some()
        {
            return;
        }
        let of = self.attempts.0.remove(&(partition, location.clone())).unwrap_or_default();
        step.changes.extend(of.into_iter().map(|content| {
            let location = location.clone();
            Change::AttemptRemoved(Box::new(Attempt { partition, location, content }))
        }));
    }
}
