//! Edits that are noted as sent before their turn comes, so that a line waits for the disk once for several of them
//! (BITSY 3.5).
//!
//! What is noted as sent and not settled when a process ends is in doubt, and looked for before it is sent. What was
//! noted too early is not found, and sent then: that costs a question. So only edits are noted early of which that
//! question tells as much as their server would. Until its turn comes such an edit waits as any other: it may be
//! changed, and whatever is stored of it takes the note back.

use http::{HeaderMap, StatusCode};

use super::background::What;
use super::document::is_page;
use super::step::{Change, Step, Task, TaskId};
use super::stored::Entity;
use super::{Interceptor, Policy};
use crate::outbox::{Edit, Progress};
use crate::propagation::Method;

/// Edits that are noted at once.
const AT_ONCE: usize = 16;

impl Interceptor {
    /// Takes back what was noted of edits whose turn has not come: nobody is going to send them for now.
    pub fn rest(&mut self) -> Step {
        let mut step = Step::default();
        for id in std::mem::take(&mut self.ahead) {
            self.store_edit(&mut step, id);
        }
        step
    }

    /// What may leave now that a server has answered an edit, before that is taken in: the next of its line, if
    /// it is noted as sent and the answer says plainly that the one before was carried out.
    pub fn next_of_line(
        &mut self,
        answered: TaskId,
        status: StatusCode,
        headers: &HeaderMap,
    ) -> Option<Task> {
        let is_plain = matches!(status.as_u16(), 200 | 201 | 204) && !is_page(headers);
        let id = self.edit_of(answered).filter(|id| is_plain && !self.trails.contains_key(id))?;
        let asked = &self.outbox.edit(id)?.asked;
        let next = self.outbox.on(asked.partition, &asked.line).find(|other| other.id > id)?;
        let may_leave = self.ahead.contains(&next.id)
            && self.may_be_noted(next)
            && self.policy == Policy::Auto
            && next.asked.location.is_same_origin(&asked.location);
        let next = Some(next.id).filter(|_| may_leave)?;
        self.ahead.remove(&next);
        let edit = self.outbox.sends(next)?.clone();
        let request = self.sending(&edit, edit.asked.location.clone());
        Some(self.under_way(request, What::Send { edit: next }))
    }

    /// Notes that an edit is being sent, and that those after it on its line are going to be.
    pub(super) fn noted(&mut self, step: &mut Step, edit: &Edit<Entity>) {
        if self.ahead.remove(&edit.id) {
            return;
        }
        step.changes.push(Change::Edit(Box::new(edit.clone())));
        step.is_durable = true;
        let after = self.outbox.on(edit.asked.partition, &edit.asked.line);
        let after = after.filter(|other| other.id > edit.id).take(AT_ONCE - 1);
        let after = after.take_while(|other| self.may_be_noted(other)).map(|other| other.id);
        for id in after.collect::<Vec<_>>() {
            self.outbox.renew(id, self.counters.generation);
            let Some(mut other) = self.outbox.edit(id).cloned() else { continue };
            self.ahead.insert(id);
            other.sends();
            step.changes.push(Change::Edit(Box::new(other)));
        }
    }

    /// What was made on an edit that is not settled is noted with what that comes to, and what is put where
    /// nobody knows what is there is not looked for in vain.
    fn may_be_noted(&self, edit: &Edit<Entity>) -> bool {
        let asked = &edit.asked;
        let is_told = asked.method == Method::Post || asked.base.is_some();
        is_told && edit.progress == Progress::Queued && self.outbox.is_first(edit)
    }
}
