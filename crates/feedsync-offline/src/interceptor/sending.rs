//! Edits on their way, in the background (BITSY 3.5).
//!
//! What may have arrived is looked for before it is sent again: a POST in its feed, a PUT where it was put. An
//! answer that a captive portal may have given is believed once its server has been seen (C43).

use feedsync_formats::{MemberFeed, ReadOptions};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};

use super::asking;
use super::carrying::{Answered, CarriedOut};
use super::fetching::{self, Exchange, Request};
use super::step::{Change, Outcome, Step, Task, TaskId};
use super::stored::{Content, Entity, Representation, Stored};
use super::{Interceptor, KeepingId, Policy};
use crate::answer;
use crate::authentication::Partition;
use crate::event::Interaction;
use crate::headers::AUTHORIZATION;
use crate::likeness::Likeness;
use crate::location::Location;
use crate::outbox::{Edit, EditId, Ended, Progress, Settlement, wait};
use crate::profile::Profile;
use crate::propagation::{self, Done, Verdict};
use crate::subscription::outcome::HOPS;
use crate::subscription::round::Fetch;
use crate::time::Time;

/// By what a server that knows it tells that a POST is the one of before.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// What a server is to call a new member (RFC 5023 9.7).
const SLUG: HeaderName = HeaderName::from_static("slug");

/// What a task is for.
#[derive(Debug)]
pub(super) struct Errand {
    task: Task,
    what: What,
}

#[derive(Debug)]
pub(super) enum What {
    /// A request of a round.
    Fetch { keeping: KeepingId, round: u64, fetch: Fetch },
    /// An edit.
    Send { edit: EditId },
    /// Whether an edit was carried out.
    Look { edit: EditId },
    /// What became of an edit, where its server said that this is told.
    Ask { edit: EditId },
    /// What a server made of an edit.
    Learn { keeping: KeepingId, location: Location },
}

/// What is known of an edit that is being sent, until it is settled. It is not stored: an edit of which
/// nothing is known is looked for.
#[derive(Debug, Clone, Default)]
pub(super) struct Trail {
    /// It is known not to have arrived.
    is_missing: bool,
    /// A server said that it carried it out, and may not have been the right one.
    is_claimed: bool,
    /// Where it goes instead.
    to: Option<Location>,
    /// Where is told what became of it.
    told_at: Option<Location>,
    /// Where it is looked for instead.
    look_at: Option<Location>,
    /// It is looked for again then.
    not_before: Option<Time>,
    hops: usize,
}

impl Interceptor {
    /// What is to be done in the background: at most as many requests as there is room for, beside those that
    /// are under way. They are carried out once the step is stored.
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
        for id in self.outbox.due(now) {
            if tasks.len() < room && !self.is_busy(id) {
                tasks.extend(self.errand_of(&mut step, id, now));
            }
        }
        let awaited: Vec<EditId> = self.awaited.iter().copied().collect();
        for id in awaited {
            let Some(edit) = self.outbox.edit(id).cloned() else {
                self.awaited.remove(&id);
                continue;
            };
            if tasks.len() < room
                && self.reach.may_try(&edit.asked.location, now)
                && !self.is_busy(id)
            {
                self.awaited.remove(&id);
                let look = self.look(&edit);
                tasks.extend(look.map(|look| self.under_way(look, What::Look { edit: id })));
            }
        }
        let asked: Vec<(KeepingId, Location)> = self.asked.iter().cloned().collect();
        for (keeping, location) in asked {
            if tasks.len() < room && self.reach.may_try(&location, now) {
                self.asked.remove(&(keeping, location.clone()));
                let what = What::Learn { keeping, location: location.clone() };
                let request = self.question(keeping, location);
                tasks.push(self.under_way(request, what));
            }
        }
        self.fetches(stored, &mut step, &mut tasks, room, now)?;
        Ok((tasks, step))
    }

    /// When [`begin`](Self::begin) has more to do, if nothing else happens.
    pub fn wakes(&self, now: Time) -> Option<Time> {
        if self.policy == Policy::Offline {
            return None;
        }
        let due = self.keepings.values().filter_map(|keeping| keeping.subscription.due());
        let away = self.reach.wakes(now).filter(|_| self.has_work());
        let looks = self.trails.values().filter_map(|trail| trail.not_before);
        let looks = looks.filter(|time| *time > now);
        due.chain(self.outbox.wakes(now)).chain(away).chain(looks).min()
    }

    /// Takes in what became of a task. `random` spreads tries that would otherwise come together.
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
        match what {
            What::Fetch { keeping, round, fetch } => {
                let of = (keeping, round);
                self.fetched(stored, &mut step, of, fetch, &task, outcome, now, random)?;
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
                        let was_sent = matches!(what, What::Send { .. });
                        if was_sent || edit.progress != Progress::Accepted {
                            let perhaps_arrived = perhaps_arrived || !was_sent;
                            let lost = Settlement::Lost { perhaps_arrived };
                            self.settle(&mut step, &edit, lost, now, random);
                        } else {
                            self.awaited.insert(edit.id);
                        }
                        return Ok(step);
                    }
                    Outcome::NoRoom => {
                        self.settle(&mut step, &edit, Settlement::Later(None), now, random);
                        return Ok(step);
                    }
                };
                self.reach.answered(&task.location);
                let exchange = Exchange { task: &task, status, headers: &headers, content };
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

    /// Notes that a request of an application reached its server, or did not.
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
            What::Fetch { .. } | What::Learn { .. } => false,
        })
    }

    fn has_work(&self) -> bool {
        self.outbox.edits().next().is_some()
            || !self.underway.is_empty()
            || !self.asked.is_empty()
            || self.keepings.values().any(|keeping| keeping.subscription.is_ready())
    }

    pub(super) fn under_way(&mut self, request: Request, what: What) -> Task {
        let id = TaskId(self.next_task);
        self.next_task += 1;
        let Request { partition, method, location, headers, body } = request;
        let task = Task { id, partition, method, location, headers, body };
        self.tasks.insert(id, Errand { task: task.clone(), what });
        task
    }

    /// What is to be done for an edit now.
    fn errand_of(&mut self, step: &mut Step, id: EditId, now: Time) -> Option<Task> {
        let edit = self.outbox.edit(id)?.clone();
        let trail = self.trails.get(&id).cloned().unwrap_or_default();
        let to = trail.to.clone().unwrap_or_else(|| edit.asked.location.clone());
        // What has no address of its server's yet is looked for in its feed.
        if !self.reach.may_try(&to, now) || asking::is_pending(&to) {
            return None;
        }
        let is_doubtful = edit.progress == Progress::Doubtful && !trail.is_missing;
        if is_doubtful {
            if trail.not_before.is_some_and(|time| time > now) {
                return None;
            }
            if let Some(at) = trail.told_at {
                let request = self.request(&edit, Method::GET, at, HeaderMap::new());
                return Some(self.under_way(request, What::Ask { edit: id }));
            }
            if let Some(look) = self.look(&edit) {
                return Some(self.under_way(look, What::Look { edit: id }));
            }
        }
        let edit = self.outbox.sends(id)?.clone();
        step.changes.push(Change::Edit(Box::new(edit.clone())));
        step.is_durable = true;
        self.is_ahead = false;
        if let Some(trail) = self.trails.get_mut(&id) {
            trail.is_missing = false;
        }
        let request = self.sending(&edit, to);
        Some(self.under_way(request, What::Send { edit: id }))
    }

    /// The request that an edit is.
    fn sending(&self, edit: &Edit<Entity>, to: Location) -> Request {
        let asked = &edit.asked;
        let mut headers = asked.body.as_ref().map(|body| body.headers.clone()).unwrap_or_default();
        let key = format!("\"{}\"", asked.key);
        let fields = [
            (SLUG, asked.slug.as_deref()),
            (header::IF_MATCH, asked.base.as_deref()),
            (IDEMPOTENCY_KEY, Some(&*key).filter(|_| asked.method == propagation::Method::Post)),
        ];
        for (name, value) in fields {
            let value = value.and_then(|value| HeaderValue::from_str(value).ok());
            headers.extend(value.map(|value| (name, value)));
        }
        let body = asked.body.as_ref().map(|body| body.content);
        Request { body, ..self.request(edit, method(asked.method), to, headers) }
    }

    /// A request for an edit, with what was registered for its feed.
    fn request(
        &self,
        edit: &Edit<Entity>,
        method: Method,
        location: Location,
        mut headers: HeaderMap,
    ) -> Request {
        let partition = edit.asked.partition;
        if let Some(keeping) = self.keeping_of(partition, &edit.asked.feed) {
            let subscription = &keeping.subscription;
            for (name, value) in subscription.registered().sent(subscription.feed(), &location) {
                headers.insert(name.clone(), value.clone());
            }
        }
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        Request { partition, method, location, headers, body: None }
    }

    /// Where to look for an edit that may have been carried out; none if it is as well sent again: what is
    /// deleted.
    fn look(&self, edit: &Edit<Entity>) -> Option<Request> {
        let asked = &edit.asked;
        let is_claimed = self.trails.get(&edit.id).is_some_and(|trail| trail.is_claimed);
        let is_awaited = edit.progress == Progress::Accepted;
        let at = match asked.method {
            propagation::Method::Post => {
                let keeping = self.keeping_of(asked.partition, &asked.feed);
                let moved = keeping.and_then(|keeping| keeping.moved.clone());
                moved.unwrap_or_else(|| asked.feed.clone())
            }
            propagation::Method::Put => asked.location.clone(),
            propagation::Method::Delete if is_awaited => asked.location.clone(),
            propagation::Method::Delete if is_claimed => asked.feed.clone(),
            _ => return None,
        };
        let look_at = self.trails.get(&edit.id).and_then(|trail| trail.look_at.clone());
        Some(self.request(edit, Method::GET, look_at.unwrap_or(at), HeaderMap::new()))
    }

    /// A question that is not part of a round.
    fn question(&self, id: KeepingId, location: Location) -> Request {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let mut partition = Partition::public();
        if let Some(keeping) = self.keepings.get(&id) {
            let subscription = &keeping.subscription;
            partition = subscription.partition();
            for (name, value) in subscription.registered().sent(subscription.feed(), &location) {
                headers.insert(name.clone(), value.clone());
            }
        }
        Request { partition, method: Method::GET, location, headers, body: None }
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
        // Meanwhile it may have been edited again, and is what that made of it.
        if status != StatusCode::OK || self.outbox.last(partition, location).is_some() {
            return;
        }
        let headers = answer::kept(&headers);
        for shown in self.shown.values_mut() {
            if shown.partition == partition && shown.resource == *location && shown.entity.is_some()
            {
                shown.entity = Some(Entity { headers: headers.clone(), content });
                step.changes.push(Change::Shown(Box::new(shown.clone())));
            }
        }
        let representation = Representation { status, headers, content, fetched: now, also: None };
        self.represent(step, partition, location, Some(representation));
    }

    /// Takes in the answer to an edit.
    fn sent<S: Stored>(
        &mut self,
        stored: &S,
        step: &mut Step,
        edit: &Edit<Entity>,
        exchange: Exchange<'_>,
        now: Time,
        random: u64,
    ) -> Result<(), S::Error> {
        let Exchange { status, headers, content, task } = exchange;
        let answered = Answered { status, headers, content };
        let (method, at) = (edit.asked.method, &task.location);
        let verdict = self.verdict(stored, method, at, answered, now)?;
        let is_resilient = self.settings.profile == Profile::Resilient;
        match verdict {
            Verdict::Done(_)
                if is_resilient && status == StatusCode::OK && fetching::is_page(headers) =>
            {
                self.claimed(step, edit, now, random);
            }
            Verdict::Done(done) => self.done(step, edit, done, &exchange, now, random),
            Verdict::Elsewhere { to, again } => {
                let trail = self.trails.entry(edit.id).or_default();
                trail.hops += 1;
                if trail.hops > HOPS {
                    self.refused(step, edit, &exchange, now);
                } else if again {
                    trail.to = Some(to);
                    trail.is_missing = true;
                    self.lost(step, edit, now, random);
                } else if is_resilient && !to.is_same_origin(at) {
                    self.claimed(step, edit, now, random);
                } else {
                    trail.told_at = Some(to);
                    self.lost(step, edit, now, random);
                }
            }
            Verdict::Accepted => {
                self.settle(step, edit, Settlement::Accepted, now, random);
                self.event(step, edit, exchange.interaction(now));
            }
            Verdict::Later(until) => {
                if edit.tries == 1 {
                    self.event(step, edit, exchange.interaction(now));
                }
                // Who answers for a server does not know whether it has done it.
                if matches!(status.as_u16(), 408 | 502 | 504) {
                    self.look_later(step, edit, now, random);
                } else {
                    self.settle(step, edit, Settlement::Later(until), now, random);
                }
            }
            Verdict::NeedsCredentials => {
                self.settle(step, edit, Settlement::NeedsCredentials, now, random);
                self.event(step, edit, exchange.interaction(now));
            }
            Verdict::Refused => self.refused(step, edit, &exchange, now),
        }
        Ok(())
    }

    /// Takes in the answer to the question what became of an edit.
    fn told_of<S: Stored>(
        &mut self,
        stored: &S,
        step: &mut Step,
        edit: &Edit<Entity>,
        exchange: Exchange<'_>,
        now: Time,
        random: u64,
    ) -> Result<(), S::Error> {
        let Exchange { status, headers, content, task } = exchange;
        if !status.is_success() {
            self.refused(step, edit, &exchange, now);
            return Ok(());
        }
        let is_entry = edit.asked.method == propagation::Method::Post
            && Likeness::of_entry(&stored.content(&content)?, &task.location).is_some()
            && fetching::can_be(stored, headers, content)?;
        let member = is_entry.then(|| task.location.clone());
        let done =
            Done { stored: member.iter().cloned().collect(), asks: member.is_none(), member };
        self.done(step, edit, done, &exchange, now, random);
        Ok(())
    }

    /// Takes in what was found where an edit was looked for.
    fn looked<S: Stored>(
        &mut self,
        stored: &S,
        step: &mut Step,
        edit: &Edit<Entity>,
        exchange: Exchange<'_>,
        now: Time,
        random: u64,
    ) -> Result<(), S::Error> {
        let Exchange { status, headers, content, task } = exchange;
        let asked = &edit.asked;
        let is_claimed = self.trails.get(&edit.id).is_some_and(|trail| trail.is_claimed);
        let is_awaited = edit.progress == Progress::Accepted;
        let in_feed = match asked.method {
            propagation::Method::Post => true,
            propagation::Method::Put => false,
            propagation::Method::Delete => !is_awaited,
        };
        let is_gone = matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE);
        if status.is_redirection() {
            let to = headers.get(header::LOCATION).and_then(|to| to.to_str().ok());
            let to = to.and_then(|to| Location::resolve(Some(&task.location), to).ok());
            let trail = self.trails.entry(edit.id).or_default();
            trail.hops += 1;
            trail.look_at = to.filter(|_| trail.hops <= HOPS);
            if trail.look_at.is_none() {
                self.look_later(step, edit, now, random);
            } else if is_awaited {
                self.awaited.insert(edit.id);
            }
            return Ok(());
        }
        let done = match asked.method {
            propagation::Method::Post | propagation::Method::Delete
                if in_feed && status.is_success() =>
            {
                let bytes = stored.content(&content)?;
                let address = fetching::base(headers, &task.location);
                let options =
                    ReadOptions { base: Some(address.as_str()), ..ReadOptions::tolerant() };
                let Ok(document) = MemberFeed::read(&bytes, &options) else {
                    // Not the server that the feed is from.
                    self.trails.remove(&edit.id);
                    self.reach.lost(&task.location, now, random);
                    self.lost(step, edit, now, random);
                    return Ok(());
                };
                let posted =
                    asked.body.as_ref().filter(|_| asked.method == propagation::Method::Post);
                let whose = (asked.partition, &asked.feed);
                let place = match posted {
                    Some(body) => {
                        let posted = (&body.content, asked.generation);
                        self.place_of(stored, whose, posted, &document, &address)?
                    }
                    None => None,
                };
                place.map(|member| Done { member: Some(member), asks: true, ..Done::default() })
            }
            propagation::Method::Put if status.is_success() => {
                let ours = asked.body.as_ref().map(|body| body.content);
                let is_ours = ours == Some(content)
                    || self.says_same(stored, ours, content, &task.location)?;
                is_ours.then(|| Done { stored: vec![asked.location.clone()], ..Done::default() })
            }
            propagation::Method::Delete if is_gone => Some(Done::default()),
            _ => None,
        };
        if let Some(done) = done {
            self.done(step, edit, done, &exchange, now, random);
        } else if is_gone && asked.method == propagation::Method::Put {
            // There is nothing to be replaced.
            self.refused(step, edit, &exchange, now);
        } else if self.is_overtaken(stored, edit, &exchange)? {
            self.refused(step, edit, &exchange, now);
        } else if is_awaited {
            // It is looked for again after the next round.
        } else if is_claimed && status.is_success() {
            let done = Done { asks: true, ..Done::default() };
            self.done(step, edit, done, &exchange, now, random);
        } else if !status.is_success() {
            self.look_later(step, edit, now, random);
        } else {
            self.trails.entry(edit.id).or_default().is_missing = true;
            let lost = Settlement::Lost { perhaps_arrived: false };
            self.settle(step, edit, lost, now, random);
        }
        Ok(())
    }

    /// Whether there is neither what was put nor what it was made on, and no condition will tell the server:
    /// somebody else was there, before or after.
    fn is_overtaken<S: Stored>(
        &self,
        stored: &S,
        edit: &Edit<Entity>,
        exchange: &Exchange<'_>,
    ) -> Result<bool, S::Error> {
        let asked = &edit.asked;
        let is_put = asked.method == propagation::Method::Put && asked.base.is_none();
        let Some(was) = asked.was.as_ref().filter(|_| is_put && exchange.status.is_success())
        else {
            return Ok(false);
        };
        let theirs = exchange.content;
        let at = &exchange.task.location;
        Ok(was.content != theirs && !self.says_same(stored, Some(was.content), theirs, at)?)
    }

    /// Whether two entries say the same.
    fn says_same<S: Stored>(
        &self,
        stored: &S,
        ours: Option<Content>,
        theirs: Content,
        address: &Location,
    ) -> Result<bool, S::Error> {
        let Some(ours) = ours else { return Ok(false) };
        let likeness = |content| {
            let bytes = stored.content(&content)?;
            Ok(Likeness::of_entry(&bytes, address))
        };
        let (ours, theirs) = (likeness(ours)?, likeness(theirs)?);
        Ok(ours.zip(theirs).is_some_and(|(ours, theirs)| ours.says(&theirs)))
    }

    /// Somebody says that an edit was carried out, and may be somebody else than its server.
    fn claimed(&mut self, step: &mut Step, edit: &Edit<Entity>, now: Time, random: u64) {
        self.trails.entry(edit.id).or_default().is_claimed = true;
        self.lost(step, edit, now, random);
    }

    /// An edit that may have arrived is looked for, after a while.
    fn look_later(&mut self, step: &mut Step, edit: &Edit<Entity>, now: Time, random: u64) {
        let trail = self.trails.entry(edit.id).or_default();
        trail.hops += 1;
        let wait = wait(u32::try_from(trail.hops).unwrap_or(u32::MAX), random);
        trail.not_before = Some(now.after(wait));
        self.lost(step, edit, now, random);
    }

    fn lost(&mut self, step: &mut Step, edit: &Edit<Entity>, now: Time, random: u64) {
        let lost = Settlement::Lost { perhaps_arrived: true };
        self.settle(step, edit, lost, now, random);
    }

    /// An edit still waits.
    fn settle(
        &mut self,
        step: &mut Step,
        edit: &Edit<Entity>,
        settlement: Settlement,
        now: Time,
        random: u64,
    ) {
        let Ended { changed, .. } = self.outbox.settle(edit.id, settlement, now, random);
        changed.into_iter().for_each(|id| self.store_edit(step, id));
    }

    /// An edit was carried out.
    fn done(
        &mut self,
        step: &mut Step,
        edit: &Edit<Entity>,
        done: Done,
        exchange: &Exchange<'_>,
        now: Time,
        random: u64,
    ) {
        let asked = &edit.asked;
        let answered = Answered {
            status: exchange.status,
            headers: exchange.headers,
            content: exchange.content,
        };
        let out = CarriedOut {
            partition: asked.partition,
            feed: &asked.feed,
            method: asked.method,
            resource: &asked.resource,
            entity: asked.body.as_ref(),
            generation: asked.generation,
        };
        let (place, tag) = self.carried_out(step, out, &done, answered, now);
        let member = (place != asked.resource).then_some(place);
        let settlement = Settlement::Done { member, tag };
        let ended = self.outbox.settle(edit.id, settlement, now, random);
        self.trails.remove(&edit.id);
        self.is_ahead |= !step.is_durable;
        step.changes.push(Change::EditGone(edit.id));
        ended.changed.into_iter().for_each(|id| self.store_edit(step, id));
        self.event(step, edit, exchange.interaction(now));
        self.refresh(step, asked.partition, &asked.feed, &asked.line, now);
        self.drained(step);
    }

    /// An edit is an error, and what was made on it with it: applications see what the server has.
    fn refused(
        &mut self,
        step: &mut Step,
        edit: &Edit<Entity>,
        exchange: &Exchange<'_>,
        now: Time,
    ) {
        let interaction = exchange.interaction(now);
        let refused = Settlement::Refused;
        let ended = self.outbox.settle(edit.id, refused, now, 0);
        self.trails.remove(&edit.id);
        let asked = &edit.asked;
        if asked.method == propagation::Method::Post {
            self.name(step, asked.partition, &asked.resource, None);
        }
        step.changes.push(Change::EditGone(edit.id));
        let was = asked.was.as_ref().map(|was| was.content);
        let interaction = of_edit(edit, interaction);
        self.interacted(step, (asked.partition, &asked.feed), interaction, Some(was));
        ended.dependents.iter().for_each(|dependent| self.dropped(step, dependent, now));
        // Who looks at the error sees what the server has.
        if asked.method != propagation::Method::Post {
            let keeping = self.keeping_of(asked.partition, &asked.feed).map(|keeping| keeping.id);
            self.asked.extend(keeping.map(|keeping| (keeping, asked.location.clone())));
        }
        self.refresh(step, asked.partition, &asked.feed, &asked.line, now);
        self.drained(step);
    }

    /// An edit cannot be made: what it was made on failed (RFC 4918 11.4). Nobody asked the server.
    fn dropped(&mut self, step: &mut Step, edit: &Edit<Entity>, now: Time) {
        step.changes.push(Change::EditGone(edit.id));
        self.trails.remove(&edit.id);
        let asked = &edit.asked;
        let request = self.sending(edit, asked.location.clone());
        let interaction = Interaction {
            status: StatusCode::FAILED_DEPENDENCY,
            time: now,
            location: asked.location.clone(),
            method: request.method.to_string(),
            request_headers: without_secrets(&request.headers),
            request_body: body(edit),
            response_headers: HeaderMap::new(),
            response_body: None,
        };
        self.record(step, (asked.partition, &asked.feed), interaction, None);
    }

    /// Edits of what is nowhere to be found are errors.
    pub(super) fn orphaned(
        &mut self,
        step: &mut Step,
        partition: Partition,
        pending: &Location,
        now: Time,
    ) {
        while let Some(id) = self.outbox.last(partition, pending).map(|edit| edit.id) {
            let ended = self.outbox.discard(id);
            ended.edit.iter().for_each(|edit| self.dropped(step, edit, now));
        }
    }

    fn event(
        &mut self,
        step: &mut Step,
        edit: &Edit<Entity>,
        interaction: Interaction<Option<Content>>,
    ) {
        let interaction = of_edit(edit, interaction);
        self.interacted(step, (edit.asked.partition, &edit.asked.feed), interaction, None);
    }
}

fn body(edit: &Edit<Entity>) -> Option<Content> {
    edit.asked.body.as_ref().map(|body| body.content)
}

/// An interaction as one of an edit, whatever was asked to find out what became of it (C33).
fn of_edit(
    edit: &Edit<Entity>,
    interaction: Interaction<Option<Content>>,
) -> Interaction<Option<Content>> {
    let (location, method) = (edit.asked.location.clone(), method(edit.asked.method).to_string());
    Interaction { location, method, request_body: body(edit), ..interaction }
}

const fn method(method: propagation::Method) -> Method {
    match method {
        propagation::Method::Post => Method::POST,
        propagation::Method::Put => Method::PUT,
        propagation::Method::Delete => Method::DELETE,
    }
}

/// The headers of a request, without what somebody is known by.
pub(super) fn without_secrets(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    for name in AUTHORIZATION {
        headers.remove(name);
    }
    headers
}
