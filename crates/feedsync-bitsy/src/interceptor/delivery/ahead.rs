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
use crate::interceptor::stored::{Content, Entity};
use crate::interceptor::tasks::TaskPurpose;
use crate::outbox::{Edit, EditId, Progress};
use crate::propagation;

/// Maximum number of edits of a queue that are noted at once.
const MAX_NOTED: usize = 16;

impl Delivery<'_> {
    /// Takes back the notes of edits that were not sent, because they will not be sent soon.
    pub fn rest(&mut self) -> Step {
        let mut step = Step::default();
        let notes = std::mem::take(&mut self.state.notes);
        for id in std::mem::take(&mut self.state.ahead).into_iter().chain(notes.into_keys()) {
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
        let next = self.after(id)?;
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

    /// Body of the edit after the one that a task sends, which may be read before it is needed.
    pub fn body_after(&self, task: TaskId) -> Option<Content> {
        let next = self.after(self.state.edit_of(task)?)?;
        next.requested.body.as_ref().map(|body| body.content)
    }

    /// The edit after this one in its queue.
    fn after(&self, id: EditId) -> Option<&Edit<Entity>> {
        self.queue_after(self.state.outbox.edit(id)?).next()
    }

    /// Notes that an edit is being sent, and that its followers in the queue will be.
    pub(super) fn noted(&mut self, step: &mut Step, edit: &Edit<Entity>) {
        if self.state.ahead.remove(&edit.id) {
            return;
        }
        self.state.notes.remove(&edit.id);
        step.changes.push(Change::Edit(Box::new(edit.clone())));
        step.is_durable = true;
        let after = self.queue_after(edit).take(MAX_NOTED - 1);
        let after = after.take_while(|other| self.may_be_noted(other)).map(|other| other.id);
        for id in after.collect::<Vec<_>>() {
            self.note(step, id);
            // The task waits for this step, so that no response comes before it is durable.
            self.state.ahead.insert(id);
        }
    }

    /// Notes more edits of the queues that are being sent, before their notes run out. They may leave once the step is
    /// durable.
    pub(crate) fn note_more(&mut self, step: &mut Step) {
        let sending = self.state.tasks.values().filter_map(|running| match running.purpose {
            TaskPurpose::Send { edit } => self.state.outbox.edit(edit),
            _ => None,
        });
        let mut more = Vec::new();
        for edit in sending {
            let is_noted = |other: &&Edit<Entity>| self.state.ahead.contains(&other.id);
            let noted = self.queue_after(edit).take_while(is_noted).count();
            let after = self.queue_after(edit).skip(noted).take(MAX_NOTED);
            let is_new = |other: &&Edit<Entity>| {
                self.may_be_noted(other) && !self.state.notes.contains_key(&other.id)
            };
            let ids: Vec<EditId> = after.take_while(is_new).map(|other| other.id).collect();
            // A short queue is noted when it comes to a halt, all at once.
            if (1..=MAX_NOTED / 2).contains(&noted) && ids.len() >= MAX_NOTED / 2 {
                more.extend(ids);
            }
        }
        if more.is_empty() {
            return;
        }
        step.is_durable = true;
        self.state.note_steps += 1;
        for id in more {
            self.note(step, id);
            self.state.notes.insert(id, self.state.note_steps);
        }
    }

    /// Stores an edit as sent, although it waits.
    fn note(&mut self, step: &mut Step, id: EditId) {
        self.state.outbox.renew(id, self.state.counters.generation);
        let Some(mut other) = self.state.outbox.edit(id).cloned() else { return };
        other.mark_sending();
        step.changes.push(Change::Edit(Box::new(other)));
    }

    /// Edits after this one in its queue.
    fn queue_after(&self, edit: &Edit<Entity>) -> impl Iterator<Item = &Edit<Entity>> {
        let (id, requested) = (edit.id, &edit.requested);
        let queue = self.state.outbox.on(requested.partition, &requested.queue);
        queue.filter(move |other| other.id > id)
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
