//! Background tasks and their results.

use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, StatusCode};

use super::answers::Exchange;
use super::step::{Outcome, Shown, Step, Task, TaskId};
use super::stored::{Content, Entity, Representation, Stored};
use super::{Interceptor, KeepingId, Policy};
use crate::answer::{self, Timing};
use crate::authentication::Partition;
use crate::location::Location;
use crate::outbox::{EditId, Progress, Settlement};
use crate::subscription::round::Fetch;
use crate::subscription::state::State;
use crate::time::Time;

/// Purpose of a task.
#[derive(Debug)]
pub(super) struct Errand {
    pub(super) task: Task,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    /// A request of a round.
    Fetch { keeping: KeepingId, round: u64, fetch: Fetch, asked: Time },
    /// Sending of an edit.
    Send { edit: EditId },
    /// Check whether an edit was carried out.
    Look { edit: EditId },
    /// Request for the result of an edit, at the address that its server named.
    Ask { edit: EditId },
    /// Search in a feed for members that were created in it.
    Find { partition: Partition, feed: Location },
    /// Request for the representation that a server made of an edit.
    Learn { keeping: KeepingId, location: Location },
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
        for id in self.leaving(stored, now)? {
            if tasks.len() < room && !self.is_paced(id, now) {
                tasks.extend(self.errand_of(&mut step, id, now));
            }
        }
        let awaited: Vec<EditId> = self.awaited.iter().copied().collect();
        for id in awaited {
            let Some(edit) = self.outbox.edit(id).cloned() else {
                self.awaited.remove(&id);
                continue;
            };
            let trail = self.trails.get(&id);
            let waits = trail.and_then(|trail| trail.not_before).is_some_and(|time| time > now);
            let may_ask = !waits && self.reach.may_try(&edit.asked.location, now);
            if tasks.len() < room && may_ask && !self.is_busy(id) {
                self.awaited.remove(&id);
                let look = self.look(&edit);
                tasks.extend(look.map(|look| self.under_way(look, What::Look { edit: id })));
            }
        }
        let asked: Vec<(KeepingId, Location)> = self.asked.iter().take(room).cloned().collect();
        for (keeping, location) in asked {
            let kept = self.keepings.get(&keeping);
            if kept.is_none_or(|kept| kept.subscription.state() == State::Closed) {
                self.asked.remove(&(keeping, location));
            } else if tasks.len() < room && self.reach.may_try(&location, now) {
                self.asked.remove(&(keeping, location.clone()));
                let what = What::Learn { keeping, location: location.clone() };
                let request = self.question(keeping, location);
                tasks.push(self.under_way(request, what));
            }
        }
        self.finds(&mut tasks, room, now);
        self.fetches(stored, &mut step, &mut tasks, room, now)?;
        Ok((tasks, step))
    }

    /// Time at which [`begin`](Self::begin) has more to do, if nothing else happens.
    pub fn wakes(&self, now: Time) -> Option<Time> {
        if self.policy == Policy::Offline {
            return None;
        }
        let due = self.keepings.values().filter_map(|keeping| keeping.subscription.due());
        let away = self.reach.wakes(now).filter(|_| self.has_work());
        let looks = self.trails.values().filter_map(|trail| trail.not_before);
        let looks = looks.filter(|time| *time > now);
        let finds = self.finding.values().map(|finding| finding.not_before);
        let finds = finds.filter(|time| *time > now);
        let due = due.chain(self.accounts.wakes(now));
        due.chain(self.outbox.wakes(now)).chain(away).chain(looks).chain(finds).min()
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
        let Some(Errand { task, what }) = self.tasks.remove(&id) else { return Ok(step) };
        if self.outdated.remove(&id) {
            // The resource has changed during the request, so it is requested again.
            match what {
                What::Fetch { keeping, round, fetch, .. } => {
                    self.fetch_again((keeping, round), fetch)
                }
                What::Learn { keeping, location } => drop(self.asked.insert((keeping, location))),
                What::Send { .. } | What::Look { .. } | What::Ask { .. } | What::Find { .. } => {}
            }
            return Ok(step);
        }
        match what {
            What::Fetch { keeping, round, fetch, asked } => {
                let of = (keeping, round);
                let asked = (&task, asked);
                self.fetched(stored, &mut step, of, fetch, asked, outcome, now, random)?;
            }
            What::Find { partition, feed } => {
                self.found_in(stored, &mut step, (partition, &feed), &task, outcome, now, random)?;
            }
            What::Learn { keeping, location } => {
                self.learned(&mut step, keeping, &location, outcome, now, random);
            }
            What::Send { edit } | What::Look { edit } | What::Ask { edit } => {
                let Some(edit) = self.outbox.edit(edit).cloned() else { return Ok(step) };
                let (status, headers, content) = match outcome {
                    Outcome::Answered { status, headers, content } => (status, headers, content),
                    Outcome::Lost { perhaps_arrived } => {
                        self.reach.lost(&task.location, now, random);
                        let trail = self.trails.entry(edit.id).or_default();
                        trail.forget_ways();
                        let was_sent = matches!(what, What::Send { .. });
                        if was_sent && perhaps_arrived {
                            trail.breaks_off(now, random);
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
                    Outcome::NoRoom => {
                        self.look_later(&mut step, &edit, now, random);
                        return Ok(step);
                    }
                };
                self.reach.answered(&task.location);
                let (task, headers) = (&task, &headers);
                let exchange = Exchange { task, asked: now, status, headers, content };
                match what {
                    What::Send { .. } => {
                        self.sent(stored, &mut step, &edit, exchange, now, random)?
                    }
                    What::Ask { .. } => {
                        self.told_of(stored, &mut step, &edit, exchange, now, random)?
                    }
                    _ => self.looked(stored, &mut step, &edit, exchange, now, random)?,
                }
            }
        }
        self.count(&mut step);
        Ok(step)
    }

    /// Whether the server of an address is considered reachable.
    pub fn is_reached(&self, location: &Location) -> bool {
        self.reach.is_here(location)
    }

    /// Takes over the tasks of edits from an earlier instance. These edits are busy until the tasks end. Only
    /// tasks before `until` had begun.
    pub fn take_over(&mut self, before: Self, until: TaskId) {
        self.reach.watch_as(&before.reach);
        let of_edits = before.tasks.into_iter().filter(|(id, errand)| match errand.what {
            What::Send { edit } | What::Look { edit } | What::Ask { edit } => {
                *id < until && self.outbox.edit(edit).is_some()
            }
            What::Fetch { .. } | What::Find { .. } | What::Learn { .. } => false,
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
            true => drop(self.reach.answered(location)),
            false => self.reach.lost(location, now, random),
        }
    }

    /// Whether an edit is being sent or looked for.
    pub(super) fn is_busy(&self, id: EditId) -> bool {
        self.tasks.values().any(|errand| match errand.what {
            What::Send { edit } | What::Look { edit } | What::Ask { edit } => edit == id,
            What::Fetch { .. } | What::Find { .. } | What::Learn { .. } => false,
        })
    }

    /// The edit that a task is sending.
    pub(super) fn edit_of(&self, task: TaskId) -> Option<EditId> {
        match self.tasks.get(&task)?.what {
            What::Send { edit } => Some(edit),
            _ => None,
        }
    }

    fn has_work(&self) -> bool {
        self.outbox.edits().next().is_some()
            || !self.underway.is_empty()
            || !self.asked.is_empty()
            || !self.accounts.waiting().is_empty()
            || self.keepings.values().any(|keeping| keeping.subscription.is_ready())
    }

    pub(super) fn under_way(&mut self, request: Request, what: What) -> Task {
        let id = TaskId(self.next_task);
        self.next_task += 1;
        let Request { partition, method, location, source, headers, body } = request;
        let task = Task { id, partition, method, location, source, headers, body };
        self.tasks.insert(id, Errand { task: task.clone(), what });
        task
    }

    /// A GET request that is not part of a round.
    pub(super) fn question(&self, id: KeepingId, location: Location) -> Request {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let mut partition = Partition::public();
        let mut source = location.clone();
        if let Some(keeping) = self.keepings.get(&id) {
            let subscription = &keeping.subscription;
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
        id: KeepingId,
        location: &Location,
        outcome: Outcome,
        now: Time,
        random: u64,
    ) {
        let Some(keeping) = self.keepings.get(&id) else { return };
        let partition = keeping.subscription.partition();
        let Outcome::Answered { status, headers, content } = outcome else {
            if matches!(outcome, Outcome::Lost { .. }) {
                self.reach.lost(location, now, random);
                self.asked.insert((id, location.clone()));
            }
            return;
        };
        self.reach.answered(location);
        // If the resource was edited meanwhile, the response may be outdated.
        if status != StatusCode::OK || self.outbox.last(partition, location).is_some() {
            return;
        }
        let headers = answer::kept(&headers, Timing::at(now));
        let shown = self.shown.at(location).find(|shown| {
            let is_it = shown.partition == partition && shown.resource == *location;
            is_it && shown.entity.is_some()
        });
        if let Some(shown) = shown.cloned() {
            let entity = Some(Entity { headers: headers.clone(), content });
            self.shows_now(step, Shown { entity, ..shown });
        }
        let representation = Representation { status, headers, content, fetched: now, also: None };
        self.represent(step, partition, location, Some(representation));
    }
}
