//! Reasons why edits still wait, for the administrator of the gateway. Each waiting edit has one.

use http::StatusCode;

use super::asking::is_pending;
use super::stored::Entity;
use super::{Interceptor, Policy};
use crate::event::ErrorId;
use crate::outbox::{Edit, EditId, Progress};
use crate::time::Time;

/// Reason why an edit has not reached its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The edit is sent as soon as the gateway has capacity.
    Turn,
    /// The request is in progress.
    Sending,
    /// An earlier edit of the same resource has to be settled first.
    Behind(EditId),
    /// The policy forbids the use of the network.
    Offline,
    /// The server was not reached.
    NotReached,
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
pub struct Standing {
    /// Reason why it waits.
    pub why: Why,
    /// Time of the response that first put it off.
    pub since: Option<Time>,
    /// Time until which it waits, if that is known.
    pub until: Option<Time>,
    /// Error that reports it.
    pub error: Option<ErrorId>,
}

impl Interceptor {
    /// Reason why an edit waits, since when, and until when.
    pub fn standing(&self, edit: &Edit<Entity>) -> Standing {
        let (why, until) = self.why(edit);
        let since = edit.stall.map(|stall| stall.since);
        Standing { why, since, until, error: edit.stall.and_then(|stall| stall.error) }
    }

    fn why(&self, edit: &Edit<Entity>) -> (Why, Option<Time>) {
        let asked = &edit.asked;
        let status = edit.stall.map(|stall| stall.status);
        let put_off = self.trails.get(&edit.id).and_then(|trail| trail.not_before);
        let first = self.outbox.first(edit).filter(|first| *first != edit.id);
        match edit.progress {
            _ if self.is_busy(edit.id) => return (Why::Sending, None),
            Progress::Accepted => return (Why::Accepted, put_off),
            Progress::Held => {
                let status = status.unwrap_or(StatusCode::UNAUTHORIZED);
                return (Why::Credentials(status), None);
            }
            Progress::Waiting { until } => {
                let status = status.unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
                return (Why::PutOff(status), Some(until));
            }
            Progress::Queued | Progress::Sent | Progress::Doubtful => {}
        }
        if let Some(first) = first {
            return (Why::Behind(first), None);
        }
        if self.policy == Policy::Offline {
            return (Why::Offline, None);
        }
        if let Some(until) = self.reach.away_until(&asked.location) {
            return (Why::NotReached, Some(until));
        }
        if is_pending(&asked.location) {
            return (Why::Unnamed, None);
        }
        let paced = self.reach.paced_until(&asked.location, Time::default());
        match (edit.progress == Progress::Doubtful, put_off, paced) {
            (true, until, _) => (Why::Doubt, until),
            (false, Some(until), _) => (Why::Doubt, Some(until)),
            (false, None, Some(until)) => (Why::Paced, Some(until)),
            (false, None, None) => (Why::Turn, None),
        }
    }
}
