//! Edits in the outbox, and contents that were sent with unknown results.

use crate::authentication::Partition;
use crate::interceptor::attempts::Attempt;
use crate::interceptor::context::Context;
use crate::interceptor::state::State;
use crate::interceptor::step::{Change, Step};
use crate::interceptor::stored::{Content, Entity, Stored};
use crate::interceptor::stored_subscription::SubscriptionId;
use crate::location::Location;
use crate::outbox::{Edit, EditId, Progress};
use crate::propagation;

impl State {
    pub(crate) fn store_edit(&mut self, step: &mut Step, id: EditId) {
        self.ahead.remove(&id);
        self.notes.remove(&id);
        if let Some(edit) = self.outbox.edit(id) {
            step.changes.push(Change::Edit(Box::new(edit.clone())));
        }
    }

    /// Releases the edits that wait for credentials.
    pub(super) fn released(&mut self, step: &mut Step, id: SubscriptionId) {
        let Some(stored_subscription) = self.stored_subscriptions.get(&id) else { return };
        let partition = stored_subscription.subscription.partition();
        let is_held = |edit: &&Edit<Entity>| {
            edit.requested.partition == partition && edit.progress == Progress::Held
        };
        let held: Vec<EditId> = self.outbox.edits().filter(is_held).map(|edit| edit.id).collect();
        for edit in held {
            self.release_edit(step, edit);
        }
    }

    /// Releases an edit that was put off or held, to be sent in its order.
    pub(crate) fn release_edit(&mut self, step: &mut Step, id: EditId) {
        let Some(edit) = self.outbox.edit(id).cloned() else { return };
        if self.outbox.release_one(id) {
            self.clear_held_error(step, &edit);
            self.store_edit(step, id);
        }
    }

    /// Notes that a discarded edit may have been carried out.
    pub(crate) fn note_discarded(&mut self, step: &mut Step, edit: &Edit<Entity>) {
        let requested = &edit.requested;
        let body = requested
            .body
            .as_ref()
            .filter(|_| requested.method == propagation::Method::Put && edit.tries > 0);
        let (partition, location) = (requested.partition, requested.location.clone());
        let attempt = body.map(|body| Attempt { partition, location, content: body.content });
        attempt.into_iter().for_each(|attempt| self.attempt(step, attempt));
    }

    /// Whether an attempt for a resource may still arrive: there is one, and the server has the same content
    /// as before.
    pub(crate) fn may_arrive<S: Stored>(
        &self,
        cx: Context<'_, S>,
        (partition, location): (Partition, &Location),
        there: Content,
    ) -> Result<bool, S::Error> {
        if self.attempts.of(partition, location).is_empty() {
            return Ok(false);
        }
        let known = cx.stored.representation(partition, location)?;
        Ok(known.is_some_and(|known| known.content == there))
    }

    /// Notes that a content is about to be sent, or was sent with an unknown result.
    pub(crate) fn attempt(&mut self, step: &mut Step, attempt: Attempt) {
        self.remove_attempt(step, &attempt);
        let oldest = self.attempts.add(&attempt);
        step.changes.extend(oldest.map(|oldest| Change::AttemptRemoved(Box::new(oldest))));
        step.changes.push(Change::Attempt(Box::new(attempt)));
    }

    /// Removes an attempt whose result is known.
    pub(crate) fn remove_attempt(&mut self, step: &mut Step, attempt: &Attempt) {
        if self.attempts.remove(attempt) {
            step.changes.push(Change::AttemptRemoved(Box::new(attempt.clone())));
        }
    }

    /// Removes the attempts for a resource whose present content is known. They stay while edits wait,
    /// because these may name the previous content.
    pub(crate) fn clear_attempts(
        &mut self,
        step: &mut Step,
        partition: Partition,
        location: &Location,
    ) {
        if self.outbox.last(partition, location).is_some() {
            return;
        }
        step.changes.extend(self.attempts.take(partition, location).into_iter().map(|content| {
            let location = location.clone();
            Change::AttemptRemoved(Box::new(Attempt { partition, location, content }))
        }));
    }
}
