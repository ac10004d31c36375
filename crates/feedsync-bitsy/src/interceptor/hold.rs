//! Edits that are put off or held, and edits that pass them (BITSY 3.5, R-B34, R-B35).
//!
//! A response that puts an edit off delays that edit and later ones of the same resource. Other edits of the
//! collection pass it, one at a time. A new member waits if it is similar to one that may have been created.
//! Otherwise a search for one of them could find the other.

use std::collections::BTreeSet;

use super::decide::is_pending;
use super::round_response::Exchange;
use super::send::DeliveryState;
use super::settle::of_edit;
use super::step::{Change, Step};
use super::stored::{Content, Entity, Stored};
use super::tasks::TaskPurpose;
use super::{Interceptor, SubscriptionId};
use crate::event::ErrorId;
use crate::fingerprint::Fingerprint;
use crate::outbox::{Edit, EditId, Progress, SendDecision, Settlement, wait};
use crate::profile::Profile;
use crate::propagation::Method;
use crate::time::Time;

/// Number of broken connections after which the delay before an edit grows no longer.
const MAX_LOSSES: u32 = 9;

impl DeliveryState {
    /// Notes that the connection broke after the edit was sent. The first time the network may be at fault.
    /// Later the edit itself may be, and others are sent before it.
    pub(super) fn connection_lost(&mut self, now: Time, random: u64) {
        self.losses = self.losses.saturating_add(1);
        if self.losses > 1 {
            self.not_before = Some(now.after(wait(self.losses.min(MAX_LOSSES), random)));
        }
    }

    /// Whether the edit has to wait for a time.
    pub(super) fn waits(&self, now: Time) -> bool {
        self.not_before.is_some_and(|time| time > now)
    }
}

impl Interceptor {
    /// Returns the edits to send now, at most one of each queue.
    pub(super) fn sendable<S: Stored>(
        &self,
        stored: &S,
        now: Time,
    ) -> Result<Vec<EditId>, S::Error> {
        let busy: BTreeSet<EditId> =
            self.tasks.values().filter_map(|it| it.purpose.edit()).collect();
        // The strict profile sends requests in their order.
        let stays = match self.settings.profile {
            Profile::Resilient => SendDecision::Passed,
            Profile::Strict => SendDecision::Blocks,
        };
        let mut failed = None;
        let due = self.outbox.due_if(now, |edit| {
            let to = &edit.requested.location;
            if busy.contains(&edit.id) {
                return SendDecision::Blocks;
            }
            let waits = self.delivery_states.get(&edit.id).is_some_and(|trail| trail.waits(now));
            // A temporary address has no server. The member is looked for in its feed.
            if waits || is_pending(to) {
                return stays;
            }
            if !self.reachability.may_try(to, now) {
                return if to.is_same_origin(&edit.requested.queue) {
                    SendDecision::Blocks
                } else {
                    stays
                };
            }
            match self.may_be_confused(stored, edit) {
                Ok(true) => stays,
                Ok(false) => SendDecision::Now,
                Err(error) => {
                    failed.get_or_insert(error);
                    SendDecision::Blocks
                }
            }
        });
        failed.map_or(Ok(due), Err)
    }

    /// Whether the server of an edit is paced at this time.
    pub(super) fn is_paced(&self, id: EditId, now: Time) -> bool {
        let edit = self.outbox.edit(id);
        edit.is_some_and(|edit| {
            self.reachability.paced_until(&edit.requested.location, now).is_some()
        })
    }

    /// Whether a search for an earlier new member could find this one.
    fn may_be_confused<S: Stored>(
        &self,
        stored: &S,
        edit: &Edit<Entity>,
    ) -> Result<bool, S::Error> {
        let (requested, id) = (&edit.requested, edit.id);
        let Some(ours) = requested.body.as_ref().filter(|_| requested.method == Method::Post)
        else {
            return Ok(false);
        };
        let before = self.outbox.on(requested.partition, &requested.queue);
        let before = before.take_while(|other| other.id < id);
        let before =
            before.filter(|other| other.requested.method == Method::Post && other.tries > 0);
        for theirs in before.filter_map(|other| other.requested.body.as_ref()) {
            if self.are_alike(stored, ours.content, theirs.content, edit)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn are_alike<S: Stored>(
        &self,
        stored: &S,
        ours: Content,
        theirs: Content,
        edit: &Edit<Entity>,
    ) -> Result<bool, S::Error> {
        if ours == theirs {
            return Ok(true);
        }
        let fingerprint =
            |it| Ok(Fingerprint::of_entry(&stored.content(&it)?, &edit.requested.location));
        let both = fingerprint(ours)?.zip(fingerprint(theirs)?);
        Ok(both.is_some_and(|(ours, theirs)| ours.may_match(&theirs)))
    }

    /// Holds an edit that its server refuses for lack of credentials, and reports this as an error. No other
    /// credentials are known here.
    pub(super) fn hold_edit(
        &mut self,
        step: &mut Step,
        edit: &Edit<Entity>,
        exchange: &Exchange<'_>,
        now: Time,
        random: u64,
    ) {
        let requested = &edit.requested;
        let previous = requested.previous.as_ref().map(|previous| previous.content);
        let interaction = of_edit(edit, exchange.interaction(now));
        let whose = (requested.partition, &requested.feed);
        // An earlier error about the same edit is replaced.
        self.clear_held_error(step, edit);
        let error = self.interacted(step, whose, interaction, Some(previous));
        self.outbox.stall(edit.id, exchange.status, error, now);
        self.awaited.remove(&edit.id);
        self.settle(step, edit, Settlement::NeedsCredentials, now, random);
        self.refresh(step, requested.partition, &requested.feed, &requested.queue, now);
    }

    /// The held edit that an error reports.
    pub(super) fn held_by(&self, error: ErrorId) -> Option<EditId> {
        let of = |edit: &&Edit<Entity>| {
            edit.progress == Progress::Held
                && edit.stall.is_some_and(|stall| stall.error == Some(error))
        };
        self.outbox.edits().find(of).map(|edit| edit.id)
    }

    /// Removes the error that reports an edit as held.
    pub(super) fn clear_held_error(&mut self, step: &mut Step, edit: &Edit<Entity>) {
        let error = edit.stall.and_then(|stall| stall.error);
        let cleared = error.and_then(|error| self.errors.clear(error));
        step.changes.extend(cleared.map(|error| Change::ErrorRemoved(error.id)));
    }

    /// Releases the edits that wait for credentials.
    pub(super) fn released(&mut self, step: &mut Step, id: SubscriptionId) {
        let Some(stored_subscription) = self.stored_subscriptions.get(&id) else { return };
        let partition = stored_subscription.subscription.partition();
        let is_held = |edit: &&Edit<Entity>| {
            edit.requested.partition == partition && edit.progress == Progress::Held
        };
        let hold_edit: Vec<EditId> =
            self.outbox.edits().filter(is_held).map(|edit| edit.id).collect();
        for edit in hold_edit {
            self.release_edit(step, edit);
        }
    }

    /// Releases an edit that was put off or held, to be sent in its order.
    fn release_edit(&mut self, step: &mut Step, id: EditId) {
        let Some(edit) = self.outbox.edit(id).cloned() else { return };
        if self.outbox.release_one(id) {
            self.clear_held_error(step, &edit);
            self.store_edit(step, id);
        }
    }

    /// Retries a waiting edit now.
    pub fn retry_now(&mut self, id: EditId) -> Step {
        let mut step = Step { is_durable: true, ..Step::default() };
        let Some(edit) = self.outbox.edit(id).cloned() else { return step };
        if self.is_busy(id) {
            return step;
        }
        self.reachability.decided(&edit.requested.location);
        // An edit that was never sent keeps its order. An accepted one is left to its server.
        if !matches!(edit.progress, Progress::Queued | Progress::Accepted) {
            self.delivery_states.remove(&id);
            self.release_edit(&mut step, id);
            self.store_edit(&mut step, id);
        }
        step
    }

    /// Retries all these waiting edits now.
    pub fn retry_all_now(&mut self, ids: impl IntoIterator<Item = EditId>) -> Step {
        let mut all = Step::default();
        for step in ids.into_iter().map(|id| self.retry_now(id)) {
            all.is_durable |= step.is_durable;
            all.changes.extend(step.changes);
        }
        all
    }
}

impl TaskPurpose {
    /// The edit that a task sends or looks for.
    fn edit(&self) -> Option<EditId> {
        match self {
            Self::Send { edit } | Self::Verify { edit } | Self::Ask { edit } => Some(*edit),
            Self::Fetch { .. } | Self::Find { .. } | Self::Learn { .. } => None,
        }
    }
}
