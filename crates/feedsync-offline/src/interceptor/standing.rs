//! Why an edit is still on its way, for whoever keeps the gateway: no edit waits without a word.

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
    /// It leaves as soon as the gateway gets to it.
    Turn,
    /// Its request is under way.
    Sending,
    /// An earlier edit of the same resource has to be settled first.
    Behind(EditId),
    /// Nobody wants the network used.
    Offline,
    /// Its server was not reached.
    NotReached,
    /// Its server put it off.
    PutOff(StatusCode),
    /// Its server puts off or refuses one edit after the other, and is asked less often.
    Paced,
    /// Its server refuses the credentials that were registered, or wants some.
    Credentials(StatusCode),
    /// It was sent, and the gateway looks whether it arrived.
    Doubt,
    /// Its server accepted it, and is asked whether it has carried it out.
    Accepted,
    /// Its server has not told where the member is that it edits.
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
