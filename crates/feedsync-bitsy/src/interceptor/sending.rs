//! Sending of edits in the background (BITSY 3.5).
//!
//! An edit that may have arrived is looked for before it is sent again: a POST in its feed, a PUT at its
//! address. A response that may come from a captive portal is trusted after its server has been reached
//! (R-B43).

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};

use super::Interceptor;
use super::answers::Exchange;
use super::asking;
use super::background::{Request, What};
use super::carrying::Answered;
use super::document::{can_be, is_page};
use super::fetching::ACCEPT;
use super::looking::AWAIT;
use super::settling::method;
use super::step::{Step, Task};
use super::stored::{Entity, Stored};
use crate::headers::may_go_elsewhere;
use crate::likeness::Likeness;
use crate::location::Location;
use crate::outbox::{Edit, EditId, Ended, Progress, Settlement};
use crate::profile::Profile;
use crate::propagation::{self, Done, Verdict};
use crate::subscription::outcome::HOPS;
use crate::time::Time;

/// Header by which a server recognizes a repeated POST, if it supports it.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Header with the requested name of a new member (RFC 5023 9.7).
const SLUG: HeaderName = HeaderName::from_static("slug");

/// Number of redirections to other origins that are checked before one is final.
const STRAYS: u32 = 2;

/// State of the delivery of an edit, until it is settled. It is not stored, so after a restart a doubtful
/// edit is looked for again.
#[derive(Debug, Clone, Default)]
pub(super) struct Trail {
    /// The edit is known not to have arrived.
    pub(super) is_missing: bool,
    /// The condition of the edit failed, so the present content is requested.
    pub(super) is_unmet: bool,
    /// The edit was made on an attempt from here, and names its entity tag now.
    pub(super) is_rebased: bool,
    /// Number of responses, possibly not of the server, that said that the edit was carried out.
    pub(super) claims: u32,
    /// Number of redirections to another origin, possibly not by the server.
    pub(super) strays: u32,
    /// Number of broken connections after the edit was sent.
    pub(super) losses: u32,
    /// Address to which the edit is sent after a redirection.
    to: Option<Location>,
    /// Address at which the result of the edit is requested.
    told_at: Option<Location>,
    /// Address of the check after a redirection.
    pub(super) look_at: Option<Location>,
    /// Members that may be the result of the edit.
    pub(super) perhaps: Vec<Found>,
    /// Earliest time of the next check.
    pub(super) not_before: Option<Time>,
    pub(super) hops: usize,
    pub(super) looks: u32,
    /// Whether applications have received an event that the edit waits.
    is_told: bool,
}

/// A member that may have been created, and its media.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) member: Location,
    pub(super) media: Location,
}

impl Trail {
    /// Removes the addresses of redirections, which may not have come from the server.
    pub(super) fn forget_ways(&mut self) {
        (self.to, self.told_at, self.look_at, self.hops) = (None, None, None, 0);
        self.perhaps.clear();
    }
}

impl Interceptor {
    /// Task for an edit at this time.
    pub(super) fn errand_of(&mut self, step: &mut Step, id: EditId, now: Time) -> Option<Task> {
        let edit = self.outbox.edit(id)?.clone();
        let trail = self.trails.get(&id).cloned().unwrap_or_default();
        let to = trail.to.clone().unwrap_or_else(|| edit.asked.location.clone());
        // A member without a server address is looked for in its feed.
        if !self.reach.may_try(&to, now) || asking::is_pending(&to) {
            return None;
        }
        let is_doubtful = edit.progress == Progress::Doubtful && !trail.is_missing;
        if is_doubtful {
            if let Some(at) = trail.told_at {
                let request = self.request(&edit, Method::GET, at, HeaderMap::new());
                return Some(self.under_way(request, What::Ask { edit: id }));
            }
            if let Some(look) = self.look(&edit) {
                return Some(self.under_way(look, What::Look { edit: id }));
            }
        }
        self.outbox.renew(id, self.counters.generation);
        let edit = self.outbox.sends(id)?.clone();
        self.noted(step, &edit);
        if let Some(trail) = self.trails.get_mut(&id) {
            trail.is_missing = false;
        }
        let request = self.sending(&edit, to);
        Some(self.under_way(request, What::Send { edit: id }))
    }

    /// The request that sends an edit.
    pub(super) fn sending(&self, edit: &Edit<Entity>, to: Location) -> Request {
        let asked = &edit.asked;
        let mut headers = asked.body.as_ref().map(|body| body.headers.clone()).unwrap_or_default();
        self.keep_secrets(&mut headers, edit, &to);
        let key = format!("\"{}\"", asked.key);
        let fields = [
            (SLUG, asked.slug.as_deref()),
            (header::IF_MATCH, asked.base.as_deref()),
            (IDEMPOTENCY_KEY, Some(&*key).filter(|_| asked.method == propagation::Method::Post)),
        ];
        for (name, value) in fields {
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
                headers.insert(name, value);
            }
        }
        let body = asked.body.as_ref().map(|body| body.content);
        Request { body, ..self.request(edit, method(asked.method), to, headers) }
    }

    /// Removes headers that must not be sent to an address (R-B8). Registered headers are added where they
    /// may be sent. A server that the edit is redirected to must not get the headers for the original server.
    fn keep_secrets(&self, headers: &mut HeaderMap, edit: &Edit<Entity>, to: &Location) {
        let asked = &edit.asked;
        let keeping = self.keeping_of(asked.partition, &asked.feed);
        let is_elsewhere = !to.is_same_origin(&asked.location);
        let is_registered = |name: &HeaderName| {
            keeping.is_some_and(|it| it.subscription.registered().get(name).is_some())
        };
        let names: Vec<_> =
            headers.keys().filter(|name| !may_go_elsewhere(name)).cloned().collect();
        for name in names {
            if is_elsewhere || is_registered(&name) {
                headers.remove(name);
            }
        }
    }

    /// Creates a request for an edit, with the headers registered for its feed.
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
        let source = edit.asked.location.clone();
        Request { partition, method, location, source, headers, body: None }
    }

    /// The check for an edit that may have been carried out. There is none for a DELETE that can simply be
    /// repeated.
    pub(super) fn look(&self, edit: &Edit<Entity>) -> Option<Request> {
        let asked = &edit.asked;
        let is_claimed = |trail: &Trail| trail.claims > 0 || trail.strays > 0;
        let is_claimed = self.trails.get(&edit.id).is_some_and(is_claimed);
        let is_awaited = edit.progress == Progress::Accepted;
        let is_unmet = self.trails.get(&edit.id).is_some_and(|trail| trail.is_unmet);
        let at = match asked.method {
            _ if is_unmet => asked.location.clone(),
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
        let trail = self.trails.get(&edit.id);
        let media = trail.and_then(|trail| trail.perhaps.first()).map(|found| found.media.clone());
        let look_at = trail.and_then(|trail| trail.look_at.clone());
        let at = look_at.or(media).unwrap_or(at);
        let mut request = self.request(edit, Method::GET, at, HeaderMap::new());
        request.headers.entry(header::ACCEPT).or_insert(ACCEPT);
        // A cached response from before the edit would prove nothing.
        request.headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        Some(request)
    }

    /// Applies the response to an edit.
    pub(super) fn sent<S: Stored>(
        &mut self,
        stored: &S,
        step: &mut Step,
        edit: &Edit<Entity>,
        exchange: Exchange<'_>,
        now: Time,
        random: u64,
    ) -> Result<(), S::Error> {
        let Exchange { status, headers, content, task, .. } = exchange;
        let answered = Answered { status, headers, content };
        let (method, at) = (edit.asked.method, &task.location);
        let verdict = self.verdict(stored, method, at, answered, now)?;
        match &verdict {
            Verdict::Later(_) if !matches!(status.as_u16(), 429 | 503) => {}
            Verdict::Later(_) | Verdict::NeedsCredentials => self.reach.put_off(at, now),
            _ => self.reach.took(at),
        }
        let is_resilient = self.settings.profile == Profile::Resilient;
        match verdict {
            Verdict::Done(_) if is_resilient && status == StatusCode::OK && is_page(headers) => {
                self.claimed(step, edit, now, random);
            }
            Verdict::Done(done) => {
                let known = done.stored.clone();
                self.done(step, edit, done, &exchange, now, random);
                self.invalidate_named(stored, step, at, headers, &known, now)?;
            }
            Verdict::Elsewhere { to, again } => {
                let trail = self.trails.entry(edit.id).or_default();
                trail.hops += 1;
                if trail.hops > HOPS {
                    self.refused(step, edit, &exchange, now);
                } else if again && is_resilient && !to.is_same_origin(at) {
                    // A captive portal redirects all requests to its own page. So the edit is looked for
                    // before it is sent again. If the server is reached then, the redirection is its own.
                    trail.to = None;
                    trail.strays += 1;
                    if trail.strays > STRAYS {
                        self.refused(step, edit, &exchange, now);
                    } else {
                        self.reach.lost(at, now, random);
                        self.lost(step, edit, now, random);
                    }
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
                let accepted = Edit { progress: Progress::Accepted, ..edit.clone() };
                self.look_later(step, &accepted, now, random);
            }
            Verdict::Later(until) => {
                let trail = self.trails.entry(edit.id).or_default();
                if !std::mem::replace(&mut trail.is_told, true) {
                    self.event(step, edit, exchange.interaction(now));
                }
                self.outbox.stall(edit.id, status, None, now);
                // These statuses may come from an intermediary, which does not know whether the server has
                // carried the edit out.
                if matches!(status.as_u16(), 408 | 502 | 504) {
                    self.look_later(step, edit, now, random);
                    // The server itself may still be processing the request.
                    let least = (method == propagation::Method::Post).then(|| now.after(AWAIT));
                    let trail = self.trails.entry(edit.id).or_default();
                    trail.not_before = trail.not_before.max(least);
                } else {
                    self.settle(step, edit, Settlement::Later(until), now, random);
                }
            }
            Verdict::NeedsCredentials => self.held(step, edit, &exchange, now, random),
            Verdict::Refused
                if status == StatusCode::PRECONDITION_FAILED
                    && (self.may_rebase(edit) || Self::may_be_there(edit)) =>
            {
                self.trails.entry(edit.id).or_default().is_unmet = true;
                self.lost(step, edit, now, random);
            }
            Verdict::Refused => self.refused(step, edit, &exchange, now),
        }
        Ok(())
    }

    /// Applies the response to the request for the result of an edit.
    pub(super) fn told_of<S: Stored>(
        &mut self,
        stored: &S,
        step: &mut Step,
        edit: &Edit<Entity>,
        exchange: Exchange<'_>,
        now: Time,
        random: u64,
    ) -> Result<(), S::Error> {
        let Exchange { status, headers, content, task, .. } = exchange;
        if status.is_redirection() {
            let to = propagation::named(headers, header::LOCATION, &task.location);
            let trail = self.trails.entry(edit.id).or_default();
            trail.hops += 1;
            trail.told_at = to.filter(|_| trail.hops <= HOPS);
            self.lost(step, edit, now, random);
            return Ok(());
        }
        if !status.is_success() {
            // The redirection said that the edit was carried out.
            self.claimed(step, edit, now, random);
            return Ok(());
        }
        let is_entry = edit.asked.method == propagation::Method::Post
            && Likeness::of_entry(&stored.content(&content)?, &task.location).is_some()
            && can_be(stored, headers, content)?;
        let member = is_entry.then(|| task.location.clone());
        let done =
            Done { stored: member.iter().cloned().collect(), asks: member.is_none(), member };
        self.done(step, edit, done, &exchange, now, random);
        Ok(())
    }

    /// Notes a statement that an edit was carried out, which may not come from its server.
    fn claimed(&mut self, step: &mut Step, edit: &Edit<Entity>, now: Time, random: u64) {
        let trail = self.trails.entry(edit.id).or_default();
        trail.claims += 1;
        trail.forget_ways();
        self.lost(step, edit, now, random);
    }

    pub(super) fn lost(&mut self, step: &mut Step, edit: &Edit<Entity>, now: Time, random: u64) {
        let lost = Settlement::Lost { perhaps_arrived: true };
        self.settle(step, edit, lost, now, random);
    }

    /// Settles an edit that still waits.
    pub(super) fn settle(
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
}
