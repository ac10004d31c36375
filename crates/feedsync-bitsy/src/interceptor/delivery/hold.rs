//! Edits that are put off or held, and edits that pass them (BITSY 3.5, R-B34, R-B35).
//!
//! A response that puts an edit off delays that edit and later ones of the same resource. Other edits of the
//! collection pass it, one at a time. A new member waits if it is similar to one that may have been created.
//! Otherwise a search for one of them could find the other.

use crate::collections::SortedSet;
use crate::interceptor::context::{Context, Draft};
use crate::interceptor::delivery::Delivery;
use crate::interceptor::document::fingerprint;
use crate::interceptor::exchange::Exchange;
use crate::interceptor::pending::is_pending;
use crate::interceptor::step::Step;
use crate::interceptor::stored::{Content, Entity, Stored};
use crate::outbox::{Edit, EditId, Progress, SendDecision, Settlement};
use crate::profile::Profile;
use crate::propagation;
use crate::time::Time;

impl Delivery<'_> {
    /// Returns the edits to send now, at most one of each queue.
    pub(crate) fn sendable<S: Stored>(&self, cx: Context<'_, S>) -> Result<Vec<EditId>, S::Error> {
        let busy: SortedSet<EditId> =
            self.state.tasks.values().filter_map(|it| it.purpose.edit()).collect();
        // The strict profile sends requests in their order.
        let stays = match self.state.settings.profile {
            Profile::Resilient => SendDecision::Passed,
            Profile::Strict => SendDecision::Blocks,
        };
        let mut failed = None;
        let due = self.state.outbox.due_if(cx.now, |edit| {
            let to = &edit.requested.location;
            if busy.contains(&edit.id) {
                return SendDecision::Blocks;
            }
            let waits =
                self.state.delivery_states.get(&edit.id).is_some_and(|trail| trail.waits(cx.now));
            // A temporary address has no server. The member is looked for in its feed.
            if waits || is_pending(to) {
                return stays;
            }
            if !self.state.reachability.may_try(to, cx.now) {
                return if to.is_same_origin(&edit.requested.queue) {
                    SendDecision::Blocks
                } else {
                    stays
                };
            }
            match self.may_be_confused(cx, edit) {
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
        let edit = self.state.outbox.edit(id);
        edit.is_some_and(|edit| {
            self.state.reachability.paced_until(&edit.requested.location, now).is_some()
        })
    }

    /// Whether a search for an earlier new member could find this one.
    fn may_be_confused<S: Stored>(
        &self,
        cx: Context<'_, S>,
        edit: &Edit<Entity>,
    ) -> Result<bool, S::Error> {
        let (requested, id) = (&edit.requested, edit.id);
        let Some(ours) =
            requested.body.as_ref().filter(|_| requested.method == propagation::Method::Post)
        else {
            return Ok(false);
        };
        let before = self.state.outbox.on(requested.partition, &requested.queue);
        let before = before.take_while(|other| other.id < id);
        let before = before
            .filter(|other| other.requested.method == propagation::Method::Post && other.tries > 0);
        for theirs in before.filter_map(|other| other.requested.body.as_ref()) {
            if self.are_alike(cx, ours.content, theirs.content, edit)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn are_alike<S: Stored>(
        &self,
        cx: Context<'_, S>,
        ours: Content,
        theirs: Content,
        edit: &Edit<Entity>,
    ) -> Result<bool, S::Error> {
        if ours == theirs {
            return Ok(true);
        }
        let address = &edit.requested.location;
        let ours = fingerprint(cx.stored, ours, address)?;
        let both = ours.zip(fingerprint(cx.stored, theirs, address)?);
        Ok(both.is_some_and(|(ours, theirs)| ours.may_match(&theirs)))
    }

    /// Holds an edit that its server refuses for lack of credentials, and reports this as an error. No other
    /// credentials are known here.
    pub(super) fn hold_edit(
        &mut self,
        draft: &mut Draft,
        edit: &Edit<Entity>,
        exchange: &Exchange<'_>,
    ) {
        let requested = &edit.requested;
        let previous = requested.previous.as_ref().map(|previous| previous.content);
        let interaction = self.state.interaction_of(edit, exchange.response(), draft.now);
        let whose = (requested.partition, &requested.feed);
        // An earlier error about the same edit is replaced.
        self.state.clear_held_error(draft, edit);
        let error = self.state.interacted(draft, whose, interaction, Some(previous));
        self.state.outbox.stall(edit.id, exchange.status, error, draft.now);
        self.state.awaited.remove(&edit.id);
        self.settle(draft, edit, Settlement::NeedsCredentials);
        self.state.refresh(draft, requested.partition, &requested.feed, &requested.queue);
    }

    /// Retries a waiting edit now.
    pub fn retry_now(&mut self, id: EditId) -> Step {
        let mut step = Step { is_durable: true, ..Step::default() };
        let Some(edit) = self.state.outbox.edit(id).cloned() else { return step };
        if self.state.is_busy(id) {
            return step;
        }
        self.state.reachability.decided(&edit.requested.location);
        // An edit that was never sent keeps its order. An accepted one is left to its server.
        if !matches!(edit.progress, Progress::Queued | Progress::Accepted) {
            self.state.delivery_states.remove(&id);
            self.state.release_edit(&mut step, id);
            self.state.store_edit(&mut step, id);
        }
        step
    }

    /// Retries all these waiting edits now.
    pub fn retry_all_now(&mut self, ids: impl IntoIterator<Item = EditId>) -> Step {
        let mut all = Step::default();
        for step in ids.into_iter().map(|id| self.retry_now(id)) {
            all.append(step);
        }
        all
    }
}
