//! Sending of edits in the background (BITSY 3.5).
//!
//! An edit that may have arrived is looked for before it is sent again: a POST in its feed, a PUT at its
//! address. A response that may come from a captive portal is trusted after its server has been reached
//! (R-B43).

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};

use super::Interceptor;
use super::decide;
use super::document::{can_be, is_page};
use super::fetch::ACCEPT;
use super::forward::ServerResponse;
use super::round_response::Exchange;
use super::settle::method;
use super::step::{Step, Task};
use super::stored::{Entity, Stored};
use super::tasks::{Request, TaskPurpose};
use super::verify::MIN_CHECK_INTERVAL;
use crate::fingerprint::Fingerprint;
use crate::headers::may_cross_origins;
use crate::location::Location;
use crate::outbox::{Edit, EditId, Progress, SettledEdits, Settlement};
use crate::profile::Profile;
use crate::propagation::{self, Done, Verdict};
use crate::subscription::outcome::MAX_HOPS;
use crate::time::Time;

/// Header by which a server recognizes a repeated POST, if it supports it.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Header with the requested name of a new member (RFC 5023 9.7).
const SLUG: HeaderName = HeaderName::from_static("slug");

/// Number of redirections to other origins that are checked before one is final.
const MAX_FOREIGN_REDIRECTS: u32 = 2;

/// State of the delivery of an edit, until it is settled. It is not stored, so after a restart a doubtful
/// edit is looked for again.
#[derive(Debug, Clone, Default)]
pub(super) struct DeliveryState {
    /// The edit is known not to have arrived.
    pub(super) is_missing: bool,
    /// The condition of the edit failed, so the present content is requested.
    pub(super) is_unmet: bool,
    /// The edit was made on an attempt from here, and names its entity tag now.
    pub(super) is_rebased: bool,
    /// Number of responses, possibly not of the server, that said that the edit was carried out.
    pub(super) claims: u32,
    /// Number of redirections to another origin, possibly not by the server.
    pub(super) foreign_redirects: u32,
    /// Number of broken connections after the edit was sent.
    pub(super) losses: u32,
    /// Address to which the edit is sent after a redirection.
    to: Option<Location>,
    /// Address at which the result of the edit is requested.
    result_at: Option<Location>,
    /// Address of the check after a redirection.
    pub(super) verify_at: Option<Location>,
    /// Members that may be the result of the edit.
    pub(super) candidates: Vec<CandidateMember>,
    /// Earliest time of the next check.
    pub(super) not_before: Option<Time>,
    pub(super) hops: usize,
    pub(super) checks: u32,
    /// Whether applications have received an event that the edit waits.
    is_reported: bool,
}

/// A member that may have been created, and its media.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CandidateMember {
    pub(super) member: Location,
    pub(super) media: Location,
}

impl DeliveryState {
    /// Removes the addresses of redirections, which may not have come from the server.
    pub(super) fn forget_redirects(&mut self) {
        (self.to, self.result_at, self.verify_at, self.hops) = (None, None, None, 0);
        self.candidates.clear();
    }
}

impl Interceptor {
    /// Task for an edit at this time.
    pub(super) fn task_for(&mut self, step: &mut Step, id: EditId, now: Time) -> Option<Task> {
        let edit = self.outbox.edit(id)?.clone();
        let trail = self.delivery_states.get(&id).cloned().unwrap_or_default();
        let to = trail.to.clone().unwrap_or_else(|| edit.requested.location.clone());
        // A member without a server address is looked for in its feed.
        if !self.reachability.may_try(&to, now) || decide::is_pending(&to) {
            return None;
        }
        let is_doubtful = edit.progress == Progress::Doubtful && !trail.is_missing;
        if is_doubtful {
            if let Some(at) = trail.result_at {
                let request = self.request(&edit, Method::GET, at, HeaderMap::new());
                return Some(self.start_task(request, TaskPurpose::Ask { edit: id }));
            }
            if let Some(verification_request) = self.verification_request(&edit) {
                return Some(
                    self.start_task(verification_request, TaskPurpose::Verify { edit: id }),
                );
            }
        }
        self.outbox.renew(id, self.counters.generation);
        let edit = self.outbox.mark_sending(id)?.clone();
        self.noted(step, &edit);
        if let Some(trail) = self.delivery_states.get_mut(&id) {
            trail.is_missing = false;
        }
        let request = self.sending(&edit, to);
        Some(self.start_task(request, TaskPurpose::Send { edit: id }))
    }

    /// The request that sends an edit.
    pub(super) fn sending(&self, edit: &Edit<Entity>, to: Location) -> Request {
        let requested = &edit.requested;
        let mut headers =
            requested.body.as_ref().map(|body| body.headers.clone()).unwrap_or_default();
        self.strip_secrets(&mut headers, edit, &to);
        let key = format!("\"{}\"", requested.key);
        let fields = [
            (SLUG, requested.slug.as_deref()),
            (header::IF_MATCH, requested.base.as_deref()),
            (
                IDEMPOTENCY_KEY,
                Some(&*key).filter(|_| requested.method == propagation::Method::Post),
            ),
        ];
        for (name, value) in fields {
            if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
                headers.insert(name, value);
            }
        }
        let body = requested.body.as_ref().map(|body| body.content);
        Request { body, ..self.request(edit, method(requested.method), to, headers) }
    }

    /// Removes headers that must not be sent to an address (R-B8). Registered headers are added where they
    /// may be sent. A server that the edit is redirected to must not get the headers for the original server.
    fn strip_secrets(&self, headers: &mut HeaderMap, edit: &Edit<Entity>, to: &Location) {
        let requested = &edit.requested;
        let stored_subscription = self.stored_subscription_of(requested.partition, &requested.feed);
        let is_elsewhere = !to.is_same_origin(&requested.location);
        let is_registered = |name: &HeaderName| {
            stored_subscription.is_some_and(|it| it.subscription.registered().get(name).is_some())
        };
        let names: Vec<_> =
            headers.keys().filter(|name| !may_cross_origins(name)).cloned().collect();
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
        let partition = edit.requested.partition;
        if let Some(stored_subscription) =
            self.stored_subscription_of(partition, &edit.requested.feed)
        {
            let subscription = &stored_subscription.subscription;
            for (name, value) in subscription.registered().sent(subscription.feed(), &location) {
                headers.insert(name.clone(), value.clone());
            }
        }
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let source = edit.requested.location.clone();
        Request { partition, method, location, source, headers, body: None }
    }

    /// The check for an edit that may have been carried out. There is none for a DELETE that can simply be
    /// repeated.
    pub(super) fn verification_request(&self, edit: &Edit<Entity>) -> Option<Request> {
        let requested = &edit.requested;
        let is_claimed = |trail: &DeliveryState| trail.claims > 0 || trail.foreign_redirects > 0;
        let is_claimed = self.delivery_states.get(&edit.id).is_some_and(is_claimed);
        let is_awaited = edit.progress == Progress::Accepted;
        let is_unmet = self.delivery_states.get(&edit.id).is_some_and(|trail| trail.is_unmet);
        let at = match requested.method {
            _ if is_unmet => requested.location.clone(),
            propagation::Method::Post => {
                let stored_subscription =
                    self.stored_subscription_of(requested.partition, &requested.feed);
                let moved = stored_subscription
                    .and_then(|stored_subscription| stored_subscription.moved.clone());
                moved.unwrap_or_else(|| requested.feed.clone())
            }
            propagation::Method::Put => requested.location.clone(),
            propagation::Method::Delete if is_awaited => requested.location.clone(),
            propagation::Method::Delete if is_claimed => requested.feed.clone(),
            _ => return None,
        };
        let trail = self.delivery_states.get(&edit.id);
        let media =
            trail.and_then(|trail| trail.candidates.first()).map(|found| found.media.clone());
        let verify_at = trail.and_then(|trail| trail.verify_at.clone());
        let at = verify_at.or(media).unwrap_or(at);
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
        let answered = ServerResponse { status, headers, content };
        let (method, at) = (edit.requested.method, &task.location);
        let verdict = self.verdict(stored, method, at, answered, now)?;
        match &verdict {
            Verdict::Later(_) if !matches!(status.as_u16(), 429 | 503) => {}
            Verdict::Later(_) | Verdict::NeedsCredentials => self.reachability.put_off(at, now),
            _ => self.reachability.decided(at),
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
                let trail = self.delivery_states.entry(edit.id).or_default();
                trail.hops += 1;
                if trail.hops > MAX_HOPS {
                    self.refused(step, edit, &exchange, now);
                } else if again && is_resilient && !to.is_same_origin(at) {
                    // A captive portal redirects all requests to its own page. So the edit is looked for
                    // before it is sent again. If the server is reached then, the redirection is its own.
                    trail.to = None;
                    trail.foreign_redirects += 1;
                    if trail.foreign_redirects > MAX_FOREIGN_REDIRECTS {
                        self.refused(step, edit, &exchange, now);
                    } else {
                        self.reachability.lost(at, now, random);
                        self.lost(step, edit, now, random);
                    }
                } else if again {
                    trail.to = Some(to);
                    trail.is_missing = true;
                    self.lost(step, edit, now, random);
                } else if is_resilient && !to.is_same_origin(at) {
                    self.claimed(step, edit, now, random);
                } else {
                    trail.result_at = Some(to);
                    self.lost(step, edit, now, random);
                }
            }
            Verdict::Accepted => {
                self.settle(step, edit, Settlement::Accepted, now, random);
                self.event(step, edit, exchange.interaction(now));
                let accepted = Edit { progress: Progress::Accepted, ..edit.clone() };
                self.verify_later(step, &accepted, now, random);
            }
            Verdict::Later(until) => {
                let trail = self.delivery_states.entry(edit.id).or_default();
                if !std::mem::replace(&mut trail.is_reported, true) {
                    self.event(step, edit, exchange.interaction(now));
                }
                self.outbox.stall(edit.id, status, None, now);
                // These statuses may come from an intermediary, which does not know whether the server has
                // carried the edit out.
                if matches!(status.as_u16(), 408 | 502 | 504) {
                    self.verify_later(step, edit, now, random);
                    // The server itself may still be processing the request.
                    let least = (method == propagation::Method::Post)
                        .then(|| now.after(MIN_CHECK_INTERVAL));
                    let trail = self.delivery_states.entry(edit.id).or_default();
                    trail.not_before = trail.not_before.max(least);
                } else {
                    self.settle(step, edit, Settlement::Later(until), now, random);
                }
            }
            Verdict::NeedsCredentials => self.hold_edit(step, edit, &exchange, now, random),
            Verdict::Refused
                if status == StatusCode::PRECONDITION_FAILED
                    && (self.may_rebase(edit) || Self::may_be_own_content(edit)) =>
            {
                self.delivery_states.entry(edit.id).or_default().is_unmet = true;
                self.lost(step, edit, now, random);
            }
            Verdict::Refused => self.refused(step, edit, &exchange, now),
        }
        Ok(())
    }

    /// Applies the response to the request for the result of an edit.
    pub(super) fn result_received<S: Stored>(
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
            let trail = self.delivery_states.entry(edit.id).or_default();
            trail.hops += 1;
            trail.result_at = to.filter(|_| trail.hops <= MAX_HOPS);
            self.lost(step, edit, now, random);
            return Ok(());
        }
        if !status.is_success() {
            // The redirection said that the edit was carried out.
            self.claimed(step, edit, now, random);
            return Ok(());
        }
        let is_entry = edit.requested.method == propagation::Method::Post
            && Fingerprint::of_entry(&stored.content(&content)?, &task.location).is_some()
            && can_be(stored, headers, content)?;
        let member = is_entry.then(|| task.location.clone());
        let done =
            Done { stored: member.iter().cloned().collect(), asks: member.is_none(), member };
        self.done(step, edit, done, &exchange, now, random);
        Ok(())
    }

    /// Notes a statement that an edit was carried out, which may not come from its server.
    fn claimed(&mut self, step: &mut Step, edit: &Edit<Entity>, now: Time, random: u64) {
        let trail = self.delivery_states.entry(edit.id).or_default();
        trail.claims += 1;
        trail.forget_redirects();
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
        let SettledEdits { changed, .. } = self.outbox.settle(edit.id, settlement, now, random);
        changed.into_iter().for_each(|id| self.store_edit(step, id));
    }
}
