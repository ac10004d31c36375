//! State of the delivery of an edit, until it is settled.

use crate::location::Location;
use crate::outbox::wait;
use crate::time::Time;

/// Number of broken connections after which the delay before an edit grows no longer.
const MAX_LOSSES: u32 = 9;

/// State of the delivery of an edit, until it is settled. It is not stored, so after a restart a doubtful
/// edit is looked for again.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeliveryState {
    /// The edit is known not to have arrived.
    pub(crate) is_missing: bool,
    /// The condition of the edit failed, so the present content is requested.
    pub(crate) is_unmet: bool,
    /// The edit was made on an attempt from here, and names its entity tag now.
    pub(crate) is_rebased: bool,
    /// Number of responses, possibly not of the server, that said that the edit was carried out.
    pub(crate) claims: u32,
    /// Number of redirections to another origin, possibly not by the server.
    pub(crate) foreign_redirects: u32,
    /// Number of broken connections after the edit was sent.
    pub(crate) losses: u32,
    /// Address to which the edit is sent after a redirection.
    pub(crate) to: Option<Location>,
    /// Address at which the result of the edit is requested.
    pub(crate) result_at: Option<Location>,
    /// Address of the check after a redirection.
    pub(crate) verify_at: Option<Location>,
    /// Members that may be the result of the edit.
    pub(crate) candidates: Vec<CandidateMember>,
    /// Earliest time of the next check.
    pub(crate) not_before: Option<Time>,
    pub(crate) hops: usize,
    pub(crate) checks: u32,
    /// Whether applications have received an event that the edit waits.
    pub(crate) is_reported: bool,
}

/// A member that may have been created, and its media.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CandidateMember {
    pub(crate) member: Location,
    pub(crate) media: Location,
}

impl DeliveryState {
    /// Removes the addresses of redirections, which may not have come from the server.
    pub(crate) fn forget_redirects(&mut self) {
        (self.to, self.result_at, self.verify_at, self.hops) = (None, None, None, 0);
        self.candidates.clear();
    }

    /// Notes that the connection broke after the edit was sent. The first time the network may be at fault.
    /// Later the edit itself may be, and others are sent before it.
    pub(crate) fn connection_lost(&mut self, now: Time, random: u64) {
        self.losses = self.losses.saturating_add(1);
        if self.losses > 1 {
            self.not_before = Some(now.after(wait(self.losses.min(MAX_LOSSES), random)));
        }
    }

    /// Whether the edit has to wait for a time.
    pub(crate) fn waits(&self, now: Time) -> bool {
        self.not_before.is_some_and(|time| time > now)
    }
}
