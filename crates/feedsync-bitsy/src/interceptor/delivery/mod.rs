//! Delivery of edits to their servers (BITSY 3.5): at once while the application waits, or in the background.
//!
//! An edit that may have arrived is looked for before it is sent again: a POST in its feed, a PUT at its
//! address. A response that may come from a captive portal is trusted after its server has been reached
//! (R-B43).

mod ahead;
mod finding;
mod forward;
mod hold;
mod response;
mod settle;
mod take;
mod verify;

use http::{HeaderMap, HeaderValue, Method, header};

use crate::interceptor::context::Draft;
use crate::interceptor::delivery_state::DeliveryState;
use crate::interceptor::fetcher::ACCEPT;
use crate::interceptor::pending::is_pending;
use crate::interceptor::state::State;
use crate::interceptor::step::Task;
use crate::interceptor::stored::Entity;
use crate::interceptor::tasks::{NewTasks, TaskPurpose, TaskRequest};
use crate::outbox::{Edit, EditId, Progress};
use crate::propagation;

pub use forward::ForwardOutcome;

/// Takes edits of applications, sends them to their servers, and finds out whether they were carried out.
#[derive(Debug)]
pub struct Delivery<'s> {
    state: &'s mut State,
}

impl State {
    /// The role that delivers edits.
    pub fn delivery(&mut self) -> Delivery<'_> {
        Delivery { state: self }
    }
}

impl Delivery<'_> {
    /// Begins to send these edits.
    pub(crate) fn begin_sending(
        &mut self,
        draft: &mut Draft,
        tasks: &mut NewTasks,
        ids: Vec<EditId>,
    ) {
        for id in ids {
            if tasks.has_room() && !self.is_paced(id, draft.now) {
                tasks.all.extend(self.task_for(draft, id));
            }
        }
    }

    /// Begins to check accepted edits.
    pub(crate) fn begin_checks(&mut self, draft: &Draft, tasks: &mut NewTasks) {
        let awaited: Vec<EditId> = self.state.awaited.iter().copied().collect();
        for id in awaited {
            let Some(edit) = self.state.outbox.edit(id).cloned() else {
                self.state.awaited.remove(&id);
                continue;
            };
            let delivery_state = self.state.delivery_states.get(&id);
            let waits = delivery_state.is_some_and(|it| it.waits(draft.now));
            let location = &edit.requested.location;
            let may_ask = !waits && self.state.reachability.may_try(location, draft.now);
            if tasks.has_room() && may_ask && !self.state.is_busy(id) {
                self.state.awaited.remove(&id);
                let request = self.verification_request(&edit);
                let purpose = TaskPurpose::Verify { edit: id };
                tasks.all.extend(request.map(|request| self.state.start_task(request, purpose)));
            }
        }
    }

    /// Task for an edit at this time.
    fn task_for(&mut self, draft: &mut Draft, id: EditId) -> Option<Task> {
        let edit = self.state.outbox.edit(id)?.clone();
        let trail = self.state.delivery_states.get(&id).cloned().unwrap_or_default();
        let to = trail.to.clone().unwrap_or_else(|| edit.requested.location.clone());
        // A member without a server address is looked for in its feed.
        if !self.state.reachability.may_try(&to, draft.now) || is_pending(&to) {
            return None;
        }
        let is_doubtful = edit.progress == Progress::Doubtful && !trail.is_missing;
        if is_doubtful {
            if let Some(at) = trail.result_at {
                let request = self.state.request(&edit, Method::GET, at, HeaderMap::new());
                return Some(self.state.start_task(request, TaskPurpose::Ask { edit: id }));
            }
            if let Some(verification_request) = self.verification_request(&edit) {
                return Some(
                    self.state.start_task(verification_request, TaskPurpose::Verify { edit: id }),
                );
            }
        }
        self.state.outbox.renew(id, self.state.counters.generation);
        let edit = self.state.outbox.mark_sending(id)?.clone();
        self.noted(draft, &edit);
        if let Some(trail) = self.state.delivery_states.get_mut(&id) {
            trail.is_missing = false;
        }
        let request = self.state.sending(&edit, to);
        Some(self.state.start_task(request, TaskPurpose::Send { edit: id }))
    }

    /// The check for an edit that may have been carried out. There is none for a DELETE that can simply be
    /// repeated.
    fn verification_request(&self, edit: &Edit<Entity>) -> Option<TaskRequest> {
        let requested = &edit.requested;
        let is_claimed = |trail: &DeliveryState| trail.claims > 0 || trail.foreign_redirects > 0;
        let is_claimed = self.state.delivery_states.get(&edit.id).is_some_and(is_claimed);
        let is_awaited = edit.progress == Progress::Accepted;
        let at = match requested.method {
            _ if self.is_unmet(edit) => requested.location.clone(),
            propagation::Method::Post => {
                let stored_subscription =
                    self.state.stored_subscription_of(requested.partition, &requested.feed);
                let moved = stored_subscription
                    .and_then(|stored_subscription| stored_subscription.moved.clone());
                moved.unwrap_or_else(|| requested.feed.clone())
            }
            propagation::Method::Put => requested.location.clone(),
            propagation::Method::Delete if is_awaited => requested.location.clone(),
            propagation::Method::Delete if is_claimed => requested.feed.clone(),
            _ => return None,
        };
        let trail = self.state.delivery_states.get(&edit.id);
        let media =
            trail.and_then(|trail| trail.candidates.first()).map(|found| found.media.clone());
        let verify_at = trail.and_then(|trail| trail.verify_at.clone());
        let at = verify_at.or(media).unwrap_or(at);
        let mut request = self.state.request(edit, Method::GET, at, HeaderMap::new());
        request.headers.entry(header::ACCEPT).or_insert(ACCEPT);
        // A cached response from before the edit would prove nothing.
        request.headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        Some(request)
    }
}
