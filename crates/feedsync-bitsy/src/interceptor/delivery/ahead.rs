//! Edits that are noted as sent before they are sent, so that a queue waits for the disk once for several
//! edits (BITSY 3.5).
//!
//! An edit that is noted as sent and not settled when a process ends is in doubt. The gateway looks for it on
//! the server before sending it. An edit that was noted too early is not found, and is sent then. This costs
//! one request. So only edits are noted early for which that request tells as much as their server would.
//! Until it is sent, such an edit waits like any other. It may be changed, and storing it again takes the
//! note back.

use http::{HeaderMap, StatusCode};

use crate::interceptor::delivery::Delivery;
use crate::interceptor::document::is_page;
use crate::interceptor::settings::Policy;
use crate::interceptor::step::{Change, Step, Task, TaskId};
use crate::interceptor::stored::Entity;
use crate::interceptor::tasks::TaskPurpose;
use crate::outbox::{Edit, Progress};
use crate::propagation;

/// Maximum number of edits that are noted at once.
const MAX_NOTED: usize = 16;

impl Delivery<'_> {
    /// Takes back the notes of edits that were not sent, because they will not be sent soon.
    pub fn rest(&mut self) -> Step {
        let mut step = Step::default();
        for id in std::mem::take(&mut self.state.ahead) {
            self.state.store_edit(&mut step, id);
        }
        step
    }

    /// Returns the task for the next edit of a queue, before the response to its predecessor is processed.
    /// The next edit must be noted as sent, and the response must say plainly that the predecessor was
    /// carried out.
    pub fn next_in_queue(
        &mut self,
        answered: TaskId,
        status: StatusCode,
        headers: &HeaderMap,
    ) -> Option<Task> {
        let is_plain = matches!(status.as_u16(), 200 | 201 | 204) && !is_page(headers);
        let id = self
            .state
            .edit_of(answered)
            .filter(|id| is_plain && !self.state.delivery_states.contains_key(id))?;
        let requested = &self.state.outbox.edit(id)?.requested;
        let next = self
            .state
            .outbox
            .on(requested.partition, &requested.queue)
            .find(|other| other.id > id)?;
        let may_leave = self.state.ahead.contains(&next.id)
            && self.may_be_noted(next)
            && self.state.policy == Policy::Auto
            && next.requested.location.is_same_origin(&requested.location);
        let next = Some(next.id).filter(|_| may_leave)?;
        self.state.ahead.remove(&next);
        let edit = self.state.outbox.mark_sending(next)?.clone();
        let request = self.state.sending(&edit, edit.requested.location.clone());
        Some(self.state.start_task(request, TaskPurpose::Send { edit: next }))
    }

    /// Notes that an edit is being sent, and that its followers in the queue will be.
    pub(super) fn noted(&mut self, step: &mut Step, edit: &Edit<Entity>) {
        if self.state.ahead.remove(&edit.id) {
            return;
        }
        step.changes.push(Change::Edit(Box::new(edit.clone())));
        step.is_durable = true;
        let after = self.state.outbox.on(edit.requested.partition, &edit.requested.queue);
        let after = after.filter(|other| other.id > edit.id).take(MAX_NOTED - 1);
        let after = after.take_while(|other| self.may_be_noted(other)).map(|other| other.id);
        for id in after.collect::<Vec<_>>() {
            self.state.outbox.renew(id, self.state.counters.generation);
            let Some(mut other) = self.state.outbox.edit(id).cloned() else { continue };
            self.state.ahead.insert(id);
            other.mark_sending();
            step.changes.push(Change::Edit(Box::new(other)));
        }
    }

    /// Whether an edit may be noted early. An edit that builds on an unsettled one is not noted before that
    /// one is settled. An edit of an unknown representation is excluded, because looking for it on the server
    /// tells nothing.
    fn may_be_noted(&self, edit: &Edit<Entity>) -> bool {
        let requested = &edit.requested;
        let is_reported = requested.method == propagation::Method::Post || requested.base.is_some();
        is_reported && edit.progress == Progress::Queued && self.state.outbox.is_first(edit)
    }
}
