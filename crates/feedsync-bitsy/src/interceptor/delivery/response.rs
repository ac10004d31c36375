//! Responses to the requests of edits (BITSY 3.5).

use http::{StatusCode, header};

use crate::interceptor::context::{Context, Draft};
use crate::interceptor::delivery::Delivery;
use crate::interceptor::delivery::verify::MIN_CHECK_INTERVAL;
use crate::interceptor::document::{can_be, fingerprint, is_page};
use crate::interceptor::exchange::Exchange;
use crate::interceptor::step::{Outcome, Step};
use crate::interceptor::stored::{Entity, Stored};
use crate::interceptor::tasks::{RunningTask, TaskPurpose};
use crate::location::Location;
use crate::outbox::{Edit, Progress, SettledEdits, Settlement};
use crate::profile::Profile;
use crate::propagation;
use crate::propagation::{Done, Verdict, named};
use crate::subscription::outcome::MAX_HOPS;
use crate::time::Time;

/// Number of redirections to other origins that are checked before one is final.
const MAX_FOREIGN_REDIRECTS: u32 = 2;

impl Delivery<'_> {
    /// Applies the result of a task.
    pub(crate) fn finished<S: Stored>(
        &mut self,
        cx: Context<'_, S>,
        running: &RunningTask,
        outcome: Outcome,
    ) -> Result<Step, S::Error> {
        let RunningTask { task, purpose } = running;
        let edit = purpose.edit().and_then(|id| self.state.outbox.edit(id)).cloned();
        let Some(edit) = edit else { return Ok(Step::default()) };
        match outcome {
            Outcome::ServerResponse { status, headers, content } => {
                let headers = &headers;
                let exchange = Exchange { task, requested: cx.now, status, headers, content };
                match purpose {
                    TaskPurpose::Send { .. } => self.sent(cx, &edit, exchange),
                    TaskPurpose::Ask { .. } => self.result_received(cx, &edit, exchange),
                    _ => self.verified(cx, &edit, exchange),
                }
            }
            Outcome::Lost { perhaps_arrived } => {
                let mut draft = cx.draft();
                self.unanswered(&mut draft, &edit, running, perhaps_arrived);
                Ok(draft.step)
            }
            // The response could not be stored, so its content is unknown.
            Outcome::OutOfSpace => {
                let mut draft = cx.draft();
                self.verify_later(&mut draft, &edit);
                Ok(draft.step)
            }
        }
    }

    /// Applies the loss of the connection during a request.
    fn unanswered(
        &mut self,
        draft: &mut Draft,
        edit: &Edit<Entity>,
        RunningTask { task, purpose }: &RunningTask,
        perhaps_arrived: bool,
    ) {
        self.state.reachability.lost(&task.location, draft.now, draft.random);
        let trail = self.state.delivery_states.entry(edit.id).or_default();
        trail.forget_redirects();
        let was_sent = matches!(purpose, TaskPurpose::Send { .. });
        if was_sent && perhaps_arrived {
            trail.connection_lost(draft.now, draft.random);
        }
        if was_sent || edit.progress != Progress::Accepted {
            let perhaps_arrived = perhaps_arrived || !was_sent;
            self.settle(draft, edit, Settlement::Lost { perhaps_arrived });
        } else {
            self.state.awaited.insert(edit.id);
        }
    }

    /// Applies the response to an edit.
    fn sent<S: Stored>(
        &mut self,
        cx: Context<'_, S>,
        edit: &Edit<Entity>,
        exchange: Exchange<'_>,
    ) -> Result<Step, S::Error> {
        let Exchange { status, headers, task, .. } = exchange;
        let at = &task.location;
        let verdict = self.verdict(cx, edit.requested.method, at, exchange.response())?;
        let is_resilient = self.state.settings.profile == Profile::Resilient;
        let is_page = is_resilient && status == StatusCode::OK && is_page(headers);
        let invalidated = match &verdict {
            Verdict::Done(done) if !is_page => {
                self.state.invalidated_by(cx, at, headers, &done.stored)?
            }
            _ => Vec::new(),
        };
        let mut draft = cx.draft();
        self.state.reachability.answered(at);
        match &verdict {
            Verdict::Later(_) if !matches!(status.as_u16(), 429 | 503) => {}
            Verdict::Later(_) | Verdict::NeedsCredentials => {
                self.state.reachability.put_off(at, draft.now);
            }
            _ => self.state.reachability.decided(at),
        }
        match verdict {
            Verdict::Done(_) if is_page => self.claimed(&mut draft, edit),
            Verdict::Done(done) => {
                self.done(&mut draft, edit, done, &exchange);
                invalidated.into_iter().for_each(|it| self.state.invalidate(&mut draft, it));
            }
            Verdict::Elsewhere { to, again } => {
                self.redirected(&mut draft, edit, &exchange, (to, again));
            }
            Verdict::Accepted => {
                self.settle(&mut draft, edit, Settlement::Accepted);
                self.event(&mut draft, edit, &exchange);
                let accepted = Edit { progress: Progress::Accepted, ..edit.clone() };
                self.verify_later(&mut draft, &accepted);
            }
            Verdict::Later(until) => self.put_off(&mut draft, edit, &exchange, until),
            Verdict::NeedsCredentials => self.hold_edit(&mut draft, edit, &exchange),
            Verdict::Refused
                if status == StatusCode::PRECONDITION_FAILED
                    && (self.may_rebase(edit) || Self::may_be_own_content(edit)) =>
            {
                self.state.delivery_states.entry(edit.id).or_default().is_unmet = true;
                self.lost(&mut draft, edit);
            }
            Verdict::Refused => self.refused(&mut draft, edit, &exchange),
        }
        Ok(draft.step)
    }

    /// Applies a redirection of an edit: it is sent again to another address, or its result is there.
    fn redirected(
        &mut self,
        draft: &mut Draft,
        edit: &Edit<Entity>,
        exchange: &Exchange<'_>,
        (to, again): (Location, bool),
    ) {
        let at = &exchange.task.location;
        let is_resilient = self.state.settings.profile == Profile::Resilient;
        let trail = self.state.delivery_states.entry(edit.id).or_default();
        trail.hops += 1;
        if trail.hops > MAX_HOPS {
            self.refused(draft, edit, exchange);
        } else if again && is_resilient && !to.is_same_origin(at) {
            // A captive portal redirects all requests to its own page. So the edit is looked for
            // before it is sent again. If the server is reached then, the redirection is its own.
            trail.to = None;
            trail.foreign_redirects += 1;
            if trail.foreign_redirects > MAX_FOREIGN_REDIRECTS {
                self.refused(draft, edit, exchange);
            } else {
                self.state.reachability.lost(at, draft.now, draft.random);
                self.lost(draft, edit);
            }
        } else if again {
            trail.to = Some(to);
            trail.is_missing = true;
            self.lost(draft, edit);
        } else if is_resilient && !to.is_same_origin(at) {
            self.claimed(draft, edit);
        } else {
            trail.result_at = Some(to);
            self.lost(draft, edit);
        }
    }

    /// Applies a response that puts an edit off until a time.
    fn put_off(
        &mut self,
        draft: &mut Draft,
        edit: &Edit<Entity>,
        exchange: &Exchange<'_>,
        until: Option<Time>,
    ) {
        let status = exchange.status;
        let trail = self.state.delivery_states.entry(edit.id).or_default();
        if !std::mem::replace(&mut trail.is_reported, true) {
            self.event(draft, edit, exchange);
        }
        self.state.outbox.stall(edit.id, status, None, draft.now);
        // These statuses may come from an intermediary, which does not know whether the server has
        // carried the edit out.
        if matches!(status.as_u16(), 408 | 502 | 504) {
            self.verify_later(draft, edit);
            // The server itself may still be processing the request.
            let least = (edit.requested.method == propagation::Method::Post)
                .then(|| draft.now.after(MIN_CHECK_INTERVAL));
            let trail = self.state.delivery_states.entry(edit.id).or_default();
            trail.not_before = trail.not_before.max(least);
        } else {
            self.settle(draft, edit, Settlement::Later(until));
        }
    }

    /// Applies the response to the request for the result of an edit.
    fn result_received<S: Stored>(
        &mut self,
        cx: Context<'_, S>,
        edit: &Edit<Entity>,
        exchange: Exchange<'_>,
    ) -> Result<Step, S::Error> {
        let Exchange { status, headers, content, task, .. } = exchange;
        let is_entry = status.is_success()
            && edit.requested.method == propagation::Method::Post
            && fingerprint(cx.stored, content, &task.location)?.is_some()
            && can_be(cx.stored, headers, content)?;
        let mut draft = cx.draft();
        self.state.reachability.answered(&task.location);
        if status.is_redirection() {
            let to = named(headers, header::LOCATION, &task.location);
            let trail = self.state.delivery_states.entry(edit.id).or_default();
            trail.hops += 1;
            trail.result_at = to.filter(|_| trail.hops <= MAX_HOPS);
            self.lost(&mut draft, edit);
        } else if !status.is_success() {
            // The redirection said that the edit was carried out.
            self.claimed(&mut draft, edit);
        } else {
            let member = is_entry.then(|| task.location.clone());
            let done =
                Done { stored: member.iter().cloned().collect(), asks: member.is_none(), member };
            self.done(&mut draft, edit, done, &exchange);
        }
        Ok(draft.step)
    }

    /// Notes a statement that an edit was carried out, which may not come from its server.
    fn claimed(&mut self, draft: &mut Draft, edit: &Edit<Entity>) {
        let trail = self.state.delivery_states.entry(edit.id).or_default();
        trail.claims += 1;
        trail.forget_redirects();
        self.lost(draft, edit);
    }

    pub(super) fn lost(&mut self, draft: &mut Draft, edit: &Edit<Entity>) {
        let lost = Settlement::Lost { perhaps_arrived: true };
        self.settle(draft, edit, lost);
    }

    /// Settles an edit that still waits.
    pub(super) fn settle(
        &mut self,
        draft: &mut Draft,
        edit: &Edit<Entity>,
        settlement: Settlement,
    ) {
        let SettledEdits { changed, .. } =
            self.state.outbox.settle(edit.id, settlement, draft.now, draft.random);
        changed.into_iter().for_each(|id| self.state.store_edit(draft, id));
    }
}
