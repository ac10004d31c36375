//! Reasons why edits still wait, for the administrator of the gateway. Each waiting edit has one.

use http::StatusCode;

use crate::event::ErrorId;
use crate::interceptor::pending::is_pending;
use crate::interceptor::settings::Policy;
use crate::interceptor::state::State;
use crate::interceptor::stored::Entity;
use crate::outbox::{Edit, EditId, Progress};
use crate::time::Time;

/// Reason why an edit has not reached its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitReason {
    /// The edit is sent as soon as the gateway has capacity.
    Capacity,
    /// The request is in progress.
    Sending,
    /// An earlier edit of the same resource has to be settled first.
    Behind(EditId),
    /// The policy forbids the use of the network.
    Offline,
    /// The server was not reached.
    Unreachable,
    /// The server put the edit off.
    PutOff(StatusCode),
    /// The server puts off or refuses one edit after the other, and receives fewer.
    Paced,
    /// The server refuses the registered credentials, or requires some.
    Credentials(StatusCode),
    /// The edit was sent, and the gateway checks whether it arrived.
    Doubt,
    /// The server accepted the edit, and the gateway checks whether it has carried it out.
    Accepted,
    /// The server has not named the address of the edited member.
    Unnamed,
}

/// State of an edit that waits in the outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EditStatus {
    /// Reason why it waits.
    pub why: WaitReason,
    /// Time of the response that first put it off.
    pub since: Option<Time>,
    /// Time until which it waits, if that is known.
    pub until: Option<Time>,
    /// Error that reports it.
    pub error: Option<ErrorId>,
}

impl State {
    /// Reason why an edit waits, since when, and until when.
    pub fn edit_status(&self, edit: &Edit<Entity>) -> EditStatus {
        let (why, until) = self.why(edit);
        let since = edit.stall.map(|stall| stall.since);
        EditStatus { why, since, until, error: edit.stall.and_then(|stall| stall.error) }
    }

    fn why(&self, edit: &Edit<Entity>) -> (WaitReason, Option<Time>) {
        let requested = &edit.requested;
        let status = edit.stall.map(|stall| stall.status);
        let put_off = self.delivery_states.get(&edit.id).and_then(|trail| trail.not_before);
        let first = self.outbox.first(edit).filter(|first| *first != edit.id);
        match edit.progress {
            _ if self.is_busy(edit.id) => return (WaitReason::Sending, None),
            Progress::Accepted => return (WaitReason::Accepted, put_off),
            Progress::Held => {
                let status = status.unwrap_or(StatusCode::UNAUTHORIZED);
                return (WaitReason::Credentials(status), None);
            }
            Progress::Waiting { until } => {
                let status = status.unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
                return (WaitReason::PutOff(status), Some(until));
            }
            Progress::Queued | Progress::Sent | Progress::Doubtful => {}
        }
        if let Some(first) = first {
            return (WaitReason::Behind(first), None);
        }
        if self.policy == Policy::Offline {
            return (WaitReason::Offline, None);
        }
        if let Some(until) = self.reachability.unreachable_until(&requested.location) {
            return (WaitReason::Unreachable, Some(until));
        }
        if is_pending(&requested.location) {
            return (WaitReason::Unnamed, None);
        }
        let paced = self.reachability.paced_until(&requested.location, Time::default());
        match (edit.progress == Progress::Doubtful, put_off, paced) {
            (true, until, _) => (WaitReason::Doubt, until),
            (false, Some(until), _) => (WaitReason::Doubt, Some(until)),
            (false, None, Some(until)) => (WaitReason::Paced, Some(until)),
            (false, None, None) => (WaitReason::Capacity, None),
        }
    }
}
