//! Verification whether an edit that may have been carried out was.

use std::time::Duration;

use http::StatusCode;

use crate::cache_headers;
use crate::cache_headers::Timing;
use crate::interceptor::context::{Context, Draft};
use crate::interceptor::delivery::Delivery;
use crate::interceptor::delivery::finding::{Check, CheckResult};
use crate::interceptor::exchange::Exchange;
use crate::interceptor::step::Step;
use crate::interceptor::stored::{Entity, Stored};
use crate::outbox::{Edit, Progress, wait};
use crate::subscription::outcome::MAX_HOPS;

/// Number of inconclusive checks after which an edit is an error.
const MAX_CHECKS: u32 = 12;

/// Number of checks that lack credentials after which an edit is held.
const MAX_CHECKS_WITHOUT_CREDENTIALS: u32 = 3;

/// Number of checks of an accepted edit.
const MAX_ACCEPTED_CHECKS: u32 = 48;

/// Minimum time between checks of an accepted edit. It is also the minimum time before the check of a POST
/// after a timeout of its server.
pub(super) const MIN_CHECK_INTERVAL: Duration = Duration::from_secs(30);

impl Delivery<'_> {
    /// Applies the response to a check.
    pub(super) fn verified<S: Stored>(
        &mut self,
        cx: Context<'_, S>,
        edit: &Edit<Entity>,
        exchange: Exchange<'_>,
    ) -> Result<Step, S::Error> {
        let result = Check { delivery: self, cx, edit, exchange }.result()?;
        let mut draft = cx.draft();
        self.state.reachability.answered(&exchange.task.location);
        let is_awaited = edit.progress == Progress::Accepted;
        match result {
            CheckResult::Done(done) => self.done(&mut draft, edit, done, &exchange),
            CheckResult::Conflict => {
                let is_unmet = self.is_unmet(edit);
                let status =
                    if is_unmet { StatusCode::PRECONDITION_FAILED } else { exchange.status };
                self.refused(&mut draft, edit, &Exchange { status, ..exchange });
                if !is_unmet {
                    self.state.note_discarded(&mut draft, edit);
                }
            }
            CheckResult::BasedOnSent(tag) => {
                let trail = self.state.delivery_states.entry(edit.id).or_default();
                (trail.is_unmet, trail.is_rebased, trail.is_missing) = (false, true, true);
                let headers =
                    cache_headers::stored_headers(exchange.headers, Timing::at(draft.now));
                self.state.outbox.rebase(
                    edit.id,
                    tag,
                    Entity { headers, content: exchange.content },
                );
                self.lost(&mut draft, edit);
            }
            // The server said more than once that it carried the edit out, and the check disproved it.
            CheckResult::Missing if !is_awaited && self.is_claimed_again(edit) => {
                self.refused(&mut draft, edit, &exchange);
                self.state.note_discarded(&mut draft, edit);
            }
            CheckResult::Missing if !is_awaited => {
                // The content of an edit that was sent does not change, because the request may still arrive.
                let trail = self.state.delivery_states.entry(edit.id).or_default();
                trail.is_missing = true;
                trail.candidates.clear();
                self.lost(&mut draft, edit);
            }
            CheckResult::Candidates(found) => {
                self.state.delivery_states.entry(edit.id).or_default().candidates = found;
                self.verify_again(&mut draft, edit);
            }
            CheckResult::Elsewhere(to) => {
                let trail = self.state.delivery_states.entry(edit.id).or_default();
                trail.hops += 1;
                trail.verify_at = (trail.hops <= MAX_HOPS).then_some(to);
                match trail.verify_at {
                    Some(_) => self.verify_again(&mut draft, edit),
                    None => self.unclear(&mut draft, edit, &exchange),
                }
            }
            CheckResult::NotFromServer => {
                self.state.delivery_states.entry(edit.id).or_default().forget_redirects();
                self.state.reachability.lost(&exchange.task.location, draft.now, draft.random);
                self.verify_again(&mut draft, edit);
            }
            CheckResult::Missing | CheckResult::Unclear => {
                self.unclear(&mut draft, edit, &exchange);
            }
        }
        Ok(draft.step)
    }

    /// Checks an edit again as soon as possible.
    fn verify_again(&mut self, draft: &mut Draft, edit: &Edit<Entity>) {
        match edit.progress {
            Progress::Accepted => drop(self.state.awaited.insert(edit.id)),
            _ => self.lost(draft, edit),
        }
    }

    /// Checks an edit again later. After too many checks the edit is an error or is held.
    fn unclear(&mut self, draft: &mut Draft, edit: &Edit<Entity>, exchange: &Exchange<'_>) {
        let status = exchange.status.as_u16();
        let is_awaited = edit.progress == Progress::Accepted;
        let is_final =
            matches!(status, 200..=299 | 400..=499 | 501) && !matches!(status, 408 | 425 | 429);
        let wants_credentials = matches!(status, 401 | 407);
        let checks = self.state.delivery_states.entry(edit.id).or_default().checks;
        if wants_credentials && checks >= MAX_CHECKS_WITHOUT_CREDENTIALS {
            self.hold_edit(draft, edit, exchange);
        } else if checks >= if is_awaited { MAX_ACCEPTED_CHECKS } else { MAX_CHECKS } && is_final {
            self.refused(draft, edit, exchange);
        } else {
            self.verify_later(draft, edit);
        }
    }

    /// Checks an edit that may have arrived again, after a growing delay.
    pub(super) fn verify_later(&mut self, draft: &mut Draft, edit: &Edit<Entity>) {
        let least =
            if edit.progress == Progress::Accepted { MIN_CHECK_INTERVAL } else { Duration::ZERO };
        let trail = self.state.delivery_states.entry(edit.id).or_default();
        trail.forget_redirects();
        trail.checks += 1;
        trail.not_before = Some(draft.now.after(wait(trail.checks, draft.random).max(least)));
        self.verify_again(draft, edit);
    }
}
