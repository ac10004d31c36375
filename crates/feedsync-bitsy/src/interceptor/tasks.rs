//! Background tasks and their results.

use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, StatusCode};

use super::round_response::Exchange;
use super::step::{Outcome, OverlayEdit, Step, Task, TaskId};
use super::stored::{Content, Entity, Representation, Stored};
use super::{Interceptor, Policy, SubscriptionId};
use crate::authentication::Partition;
use crate::cache_headers::{self, Timing};
use crate::location::Location;
use crate::outbox::{EditId, Progress, Settlement};
use crate::subscription::round::Fetch;
use crate::subscription::state::State;
use crate::time::Time;

/// Purpose of a task.
#[derive(Debug)]
pub(super) struct RunningTask {
    pub(super) task: Task,
    pub(super) purpose: TaskPurpose,
}

#[derive(Debug)]
pub(super) enum TaskPurpose {
    /// A request of a round.
    Fetch { stored_subscription: SubscriptionId, round: u64, fetch: Fetch, requested: Time },
    /// Sending of an edit.
    Send { edit: EditId },
    /// Check whether an edit was carried out.
    Verify { edit: EditId },
    /// Request for the result of an edit, at the address that its server named.
    Ask { edit: EditId },
    /// Search in a feed for members that were created in it.
    Find { partition: Partition, feed: Location },
    /// Request for the representation that a server made of an edit.
    Learn { stored_subscription: SubscriptionId, location: Location },
}

/// Parts of a new task.
pub(super) struct Request {
    pub(super) partition: Partition,
    pub(super) method: Method,
    pub(super) location: Location,
    /// The feed that leads to the address, or the address that an application named.
    pub(super) source: Location,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Content>,
}

impl Interceptor {
    /// Returns the tasks to begin in the background, at most as many as there is room for in addition to the
    /// running ones. They may begin when the step is stored.
    pub fn begin<S: Stored>(
        &mut self,
        stored: &S,
        room: usize,
        now: Time,
    ) -> Result<(Vec<Task>, Step), S::Error> {
        let (mut tasks, mut step) = (Vec::new(), Step::default());
        let room = room.saturating_sub(self.tasks.len());
        if self.policy == Policy::Offline {
            return Ok((tasks, step));
        }
        for id in self.sendable(stored, now)? {
            if tasks.len() < room && !self.is_paced(id, now) {
                tasks.extend(self.task_for(&mut step, id, now));
            }
        }
        let awaited: Vec<EditId> = self.awaited.iter().copied().collect();
        for id in awaited {
            let Some(edit) = self.outbox.edit(id).cloned() else {
                self.awaited.remove(&id);
                continue;
            };
            let trail = self.delivery_states.get(&id);
            let waits = trail.and_then(|trail| trail.not_before).is_some_and(|time| time > now);
            let may_ask = !waits && self.reachability.may_try(&edit.requested.location, now);
            if tasks.len() < room && may_ask && !self.is_busy(id) {
                self.awaited.remove(&id);
                let verification_request = self.verification_request(&edit);
                tasks.extend(verification_request.map(|verification_request| {
                    self.start_task(verification_request, TaskPurpose::Verify { edit: id })
                }));
            }
        }
        let requested: Vec<(SubscriptionId, Location)> =
            self.requested.iter().take(room).cloned().collect();
        for (stored_subscription, location) in requested {
            let kept = self.stored_subscriptions.get(&stored_subscription);
            if kept.is_none_or(|kept| kept.subscription.state() == State::Closed) {
                self.requested.remove(&(stored_subscription, location));
            } else if tasks.len() < room && self.reachability.may_try(&location, now) {
                self.requested.remove(&(stored_subscription, location.clone()));
                let purpose =
                    TaskPurpose::Learn { stored_subscription, location: location.clone() };
                let request = self.question(stored_subscription, location);
                tasks.push(self.start_task(request, purpose));
            }
        }
        self.searches(&mut tasks, room, now);
        self.fetches(stored, &mut step, &mut tasks, room, now)?;
        Ok((tasks, step))
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

    /// Applies the result of a task. `random` spreads attempts that would otherwise coincide.
    pub fn finished<S: Stored>(
        &mut self,
        stored: &S,
        id: TaskId,
        outcome: Outcome,
        now: Time,
        random: u64,
    ) -> Result<Step, S::Error> {
        let mut step = Step::default();
        let Some(RunningTask { task, purpose }) = self.tasks.remove(&id) else { return Ok(step) };
        if self.outdated.remove(&id) {
            // The resource has changed during the request, so it is requested again.
            match purpose {
                TaskPurpose::Fetch { stored_subscription, round, fetch, .. } => {
                    self.fetch_again((stored_subscription, round), fetch)
                }
                TaskPurpose::Learn { stored_subscription, location } => {
                    self.requested.insert((stored_subscription, location));
                }
                TaskPurpose::Send { .. }
                | TaskPurpose::Verify { .. }
                | TaskPurpose::Ask { .. }
                | TaskPurpose::Find { .. } => {}
            }
            return Ok(step);
        }
        match purpose {
            TaskPurpose::Fetch { stored_subscription, round, fetch, requested } => {
                let of = (stored_subscription, round);
                let requested = (&task, requested);
                self.fetched(stored, &mut step, of, fetch, requested, outcome, now, random)?;
            }
            TaskPurpose::Find { partition, feed } => {
                self.search_result(
                    stored,
                    &mut step,
                    (partition, &feed),
                    &task,
                    outcome,
                    now,
                    random,
                )?;
            }
            TaskPurpose::Learn { stored_subscription, location } => {
                self.learned(&mut step, stored_subscription, &location, outcome, now, random);
            }
            TaskPurpose::Send { edit }
            | TaskPurpose::Verify { edit }
            | TaskPurpose::Ask { edit } => {
                let Some(edit) = self.outbox.edit(edit).cloned() else { return Ok(step) };
                let (status, headers, content) = match outcome {
                    Outcome::ServerResponse { status, headers, content } => {
                        (status, headers, content)
                    }
                    Outcome::Lost { perhaps_arrived } => {
                        self.reachability.lost(&task.location, now, random);
                        let trail = self.delivery_states.entry(edit.id).or_default();
                        trail.forget_redirects();
                        let was_sent = matches!(purpose, TaskPurpose::Send { .. });
                        if was_sent && perhaps_arrived {
                            trail.connection_lost(now, random);
                        }
                        if was_sent || edit.progress != Progress::Accepted {
                            let perhaps_arrived = perhaps_arrived || !was_sent;
                            let lost = Settlement::Lost { perhaps_arrived };
                            self.settle(&mut step, &edit, lost, now, random);
                        } else {
                            self.awaited.insert(edit.id);
                        }
                        return Ok(step);
                    }
                    // The response could not be stored, so its content is unknown.
                    Outcome::OutOfSpace => {
                        self.verify_later(&mut step, &edit, now, random);
                        return Ok(step);
                    }
                };
                self.reachability.answered(&task.location);
                let (task, headers) = (&task, &headers);
                let exchange = Exchange { task, requested: now, status, headers, content };
                match purpose {
                    TaskPurpose::Send { .. } => {
                        self.sent(stored, &mut step, &edit, exchange, now, random)?
                    }
                    TaskPurpose::Ask { .. } => {
                        self.result_received(stored, &mut step, &edit, exchange, now, random)?
                    }
                    _ => self.verified(stored, &mut step, &edit, exchange, now, random)?,
                }
            }
        }
        self.count(&mut step);
        Ok(step)
    }

    /// Whether the server of an address is considered reachable.
    pub fn is_reached(&self, location: &Location) -> bool {
        self.reachability.is_reachable(location)
    }

    /// Takes over the tasks of edits from an earlier instance. These edits are busy until the tasks end. Only
    /// tasks before `until` had begun.
    pub fn take_over(&mut self, before: Self, until: TaskId) {
        self.reachability.watch_as(&before.reachability);
        let of_edits = before.tasks.into_iter().filter(|(id, errand)| match errand.purpose {
            TaskPurpose::Send { edit }
            | TaskPurpose::Verify { edit }
            | TaskPurpose::Ask { edit } => *id < until && self.outbox.edit(edit).is_some(),
            TaskPurpose::Fetch { .. } | TaskPurpose::Find { .. } | TaskPurpose::Learn { .. } => {
                false
            }
        });
        self.tasks = of_edits.collect();
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

    /// Notes whether a request of an application reached its server.
    pub fn reached(&mut self, location: &Location, did: bool, now: Time, random: u64) {
        match did {
            true => drop(self.reachability.answered(location)),
            false => self.reachability.lost(location, now, random),
        }
    }

    /// Whether an edit is being sent or looked for.
    pub(super) fn is_busy(&self, id: EditId) -> bool {
        self.tasks.values().any(|errand| match errand.purpose {
            TaskPurpose::Send { edit }
            | TaskPurpose::Verify { edit }
            | TaskPurpose::Ask { edit } => edit == id,
            TaskPurpose::Fetch { .. } | TaskPurpose::Find { .. } | TaskPurpose::Learn { .. } => {
                false
            }
        })
    }

    /// The edit that a task is sending.
    pub(super) fn edit_of(&self, task: TaskId) -> Option<EditId> {
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

    pub(super) fn start_task(&mut self, request: Request, purpose: TaskPurpose) -> Task {
        let id = TaskId(self.next_task);
        self.next_task += 1;
        let Request { partition, method, location, source, headers, body } = request;
        let task = Task { id, partition, method, location, source, headers, body };
        self.tasks.insert(id, RunningTask { task: task.clone(), purpose });
        task
    }

    /// A GET request that is not part of a round.
    pub(super) fn question(&self, id: SubscriptionId, location: Location) -> Request {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let mut partition = Partition::public();
        let mut source = location.clone();
        if let Some(stored_subscription) = self.stored_subscriptions.get(&id) {
            let subscription = &stored_subscription.subscription;
            partition = subscription.partition();
            source = subscription.feed().clone();
            for (name, value) in subscription.registered().sent(subscription.feed(), &location) {
                headers.insert(name.clone(), value.clone());
            }
        }
        Request { partition, method: Method::GET, location, source, headers, body: None }
    }

    fn learned(
        &mut self,
        step: &mut Step,
        id: SubscriptionId,
        location: &Location,
        outcome: Outcome,
        now: Time,
        random: u64,
    ) {
        let Some(stored_subscription) = self.stored_subscriptions.get(&id) else { return };
        let partition = stored_subscription.subscription.partition();
        let Outcome::ServerResponse { status, headers, content } = outcome else {
            if matches!(outcome, Outcome::Lost { .. }) {
                self.reachability.lost(location, now, random);
                self.requested.insert((id, location.clone()));
            }
            return;
        };
        self.reachability.answered(location);
        // If the resource was edited meanwhile, the response may be outdated.
        if status != StatusCode::OK || self.outbox.last(partition, location).is_some() {
            return;
        }
        let headers = cache_headers::stored_headers(&headers, Timing::at(now));
        let shown = self.shown.at(location).find(|shown| {
            let is_it = shown.partition == partition && shown.resource == *location;
            is_it && shown.entity.is_some()
        });
        if let Some(shown) = shown.cloned() {
            let entity = Some(Entity { headers: headers.clone(), content });
            self.shows_now(step, OverlayEdit { entity, ..shown });
        }
        let representation =
            Representation { status, headers, content, fetched: now, alias_tag: None };
        self.represent(step, partition, location, Some(representation));
    }
}
