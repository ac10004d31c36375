//! Background tasks and their results.

use crate::interceptor::context::Context;
use crate::interceptor::settings::Policy;
use crate::interceptor::state::State;
use crate::interceptor::step::{Outcome, Step, Task, TaskId};
use crate::interceptor::stored::Stored;
use crate::interceptor::tasks::{NewTasks, TaskPurpose};
use crate::outbox::EditId;
use crate::time::Time;

impl State {
    /// Returns the tasks to begin in the background, at most as many as there is room for in addition to the
    /// running ones. They may begin when the step is stored.
    pub fn begin<S: Stored>(
        &mut self,
        cx: Context<'_, S>,
        room: usize,
    ) -> Result<(Vec<Task>, Step), S::Error> {
        let room = room.saturating_sub(self.tasks.len());
        if self.policy == Policy::Offline {
            return Ok((Vec::new(), Step::default()));
        }
        let sendable = self.delivery().sendable(cx)?;
        let known = self.fetcher().known(cx, room)?;
        let (mut draft, mut tasks) = (cx.draft(), NewTasks { room, all: Vec::new() });
        let mut delivery = self.delivery();
        delivery.begin_sending(&mut draft, &mut tasks, sendable);
        delivery.note_more(&mut draft);
        delivery.begin_checks(&draft, &mut tasks);
        let mut fetcher = self.fetcher();
        fetcher.begin_learning(&draft, &mut tasks);
        fetcher.begin_searches(&draft, &mut tasks);
        fetcher.begin_fetches(&mut draft, &mut tasks, known);
        Ok((tasks.all, draft.step))
    }

    /// Applies the result of a task.
    pub fn finished<S: Stored>(
        &mut self,
        cx: Context<'_, S>,
        id: TaskId,
        outcome: Outcome,
    ) -> Result<Step, S::Error> {
        let Some(running) = self.tasks.remove(&id) else { return Ok(Step::default()) };
        if self.outdated.remove(&id) {
            // The resource has changed during the request, so it is requested again.
            match running.purpose {
                TaskPurpose::Fetch { round, fetch, .. } => self.fetcher().fetch_again(round, fetch),
                TaskPurpose::Learn { stored_subscription, location } => {
                    self.requested.insert((stored_subscription, location));
                }
                TaskPurpose::Send { .. }
                | TaskPurpose::Verify { .. }
                | TaskPurpose::Ask { .. }
                | TaskPurpose::Find { .. } => {}
            }
            return Ok(Step::default());
        }
        let finished = match &running.purpose {
            TaskPurpose::Fetch { .. } | TaskPurpose::Find { .. } | TaskPurpose::Learn { .. } => {
                self.fetcher().finished(cx, &running, outcome)
            }
            TaskPurpose::Send { .. } | TaskPurpose::Verify { .. } | TaskPurpose::Ask { .. } => {
                self.delivery().finished(cx, &running, outcome)
            }
        };
        match finished {
            Ok(mut step) => {
                self.count(&mut step);
                Ok(step)
            }
            Err(error) => {
                self.tasks.insert(id, running);
                Err(error)
            }
        }
    }

    /// Time at which [`begin`](Self::begin) has more to do, if nothing else happens.
    pub fn next_wake(&self, now: Time) -> Option<Time> {
        if self.policy == Policy::Offline {
            return None;
        }
        let due = self
            .stored_subscriptions
            .values()
            .filter_map(|stored_subscription| stored_subscription.subscription.due());
        let away = self.reachability.next_wake(now).filter(|_| self.has_work());
        let checks = self.delivery_states.values().filter_map(|trail| trail.not_before);
        let checks = checks.filter(|time| *time > now);
        let searches = self.finding.values().map(|finding| finding.not_before);
        let searches = searches.filter(|time| *time > now);
        let due = due.chain(self.accounts.next_wake(now));
        due.chain(self.outbox.next_wake(now)).chain(away).chain(checks).chain(searches).min()
    }

    /// Whether an edit is being sent or looked for.
    pub(crate) fn is_busy(&self, id: EditId) -> bool {
        self.tasks.values().any(|running| running.purpose.edit() == Some(id))
    }

    /// The edit that a task is sending.
    pub(crate) fn edit_of(&self, task: TaskId) -> Option<EditId> {
        match self.tasks.get(&task)?.purpose {
            TaskPurpose::Send { edit } => Some(edit),
            _ => None,
        }
    }

    fn has_work(&self) -> bool {
        self.outbox.edits().next().is_some()
            || !self.in_progress.is_empty()
            || !self.requested.is_empty()
            || !self.accounts.waiting().is_empty()
            || self
                .stored_subscriptions
                .values()
                .any(|stored_subscription| stored_subscription.subscription.is_ready())
    }

    /// Number of the next task.
    pub fn next_task(&self) -> TaskId {
        TaskId(self.next_task)
    }

    /// Sets the number of the next task, so that no task has the number of one that an earlier instance
    /// began.
    pub fn name_tasks_from(&mut self, first: u64) {
        self.next_task = first;
    }

    /// Takes over the tasks of edits from an earlier instance. These edits are busy until the tasks end. Only
    /// tasks before `until` had begun.
    pub fn take_over(&mut self, before: Self, until: TaskId) {
        self.reachability.watch_as(&before.reachability);
        let of_edits = before.tasks.into_iter().filter(|(id, running)| {
            let edit = running.purpose.edit().and_then(|edit| self.outbox.edit(edit));
            *id < until && edit.is_some()
        });
        self.tasks = of_edits.collect();
    }
}
