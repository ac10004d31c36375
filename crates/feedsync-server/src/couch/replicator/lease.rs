//! Lease of the process that carries out the replications of documents, among several processes over one store.
//!
//! The lease is a local document of `_replicator` that names its holder and a count. The holder raises the count every few
//! seconds. Another process claims the lease once the count has not changed for [`EXPIRY`] of its own clock: it writes its
//! name, waits, and holds the lease if its name is still there. Of several that claim it at once, the last writer gets it.
//! A holder that finds another name, or could not write for some time, stops its replications. Clocks of different machines
//! are not compared. If a process is suspended between a read and a write, two can hold the lease until the next read of
//! either; two runs of one replication do not interfere.

use std::time::Duration;

/// Time without a change after which another process may claim the lease.
pub(super) const EXPIRY: Duration = Duration::from_secs(30);

/// Time after a claim before the lease counts as held.
pub(super) const CLAIM_TIME: Duration = Duration::from_secs(1);

/// Interval at which the holder renews the lease.
pub(super) const RENEWAL: Duration = Duration::from_secs(5);

/// Time after the last renewal for which the lease counts as held. Its replications end before another process begins.
const HELD_TIME: Duration = Duration::from_secs(15);

/// A claim, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim {
    /// Random name of the process.
    pub(super) holder: String,
    /// Number of renewals.
    pub(super) count: u64,
}

/// The lease as one process sees it. Times are those since its start.
#[derive(Debug)]
pub(super) struct Lease {
    own: Claim,
    state: LeaseState,
}

#[derive(Debug)]
enum LeaseState {
    /// This process does not hold it; the claim that it saw last, and since when.
    Free(Option<(Claim, Duration)>),
    /// This process wrote its claim at this time.
    Claimed(Duration),
    /// This process holds it, and renewed it at this time.
    Held(Duration),
}

impl Lease {
    pub(super) fn new(holder: String) -> Self {
        Self { own: Claim { holder, count: 0 }, state: LeaseState::Free(None) }
    }

    /// Decides from the stored claim whether to write one, and assumes that it is written.
    pub(super) fn step(&mut self, stored: Option<Claim>, now: Duration) -> Option<Claim> {
        let is_own = stored.as_ref().is_some_and(|stored| self.is_own(stored));
        let since = |at: Duration| now.saturating_sub(at);
        match &self.state {
            LeaseState::Claimed(at) if is_own && since(*at) < CLAIM_TIME => None,
            LeaseState::Held(at) if is_own && since(*at) < RENEWAL => None,
            LeaseState::Held(at) | LeaseState::Claimed(at) if is_own && since(*at) < HELD_TIME => {
                self.write(LeaseState::Held(now))
            }
            LeaseState::Free(Some((seen, at)))
                if stored.as_ref() == Some(seen) && since(*at) < EXPIRY =>
            {
                None
            }
            LeaseState::Free(Some((seen, _))) if stored.as_ref() == Some(seen) => {
                self.write(LeaseState::Claimed(now))
            }
            // Another process has it.
            _ if !is_own && stored.is_some() => {
                self.state = LeaseState::Free(stored.map(|stored| (stored, now)));
                None
            }
            // There is none, or its renewal comes so late that another process may be about to claim it.
            _ => self.write(LeaseState::Claimed(now)),
        }
    }

    /// Whether this process carries out replications.
    pub(super) fn is_held(&self, now: Duration) -> bool {
        matches!(self.state, LeaseState::Held(at) if now.saturating_sub(at) < HELD_TIME)
    }

    /// Whether this process wrote a claim that no other one has replaced, as far as it knows.
    pub(super) fn is_claimed(&self) -> bool {
        !matches!(self.state, LeaseState::Free(_))
    }

    /// Whether this process wrote a claim.
    pub(super) fn is_own(&self, claim: &Claim) -> bool {
        claim.holder == self.own.holder
    }

    /// Time of the next step after this one.
    pub(super) fn pause(&self) -> Duration {
        if matches!(self.state, LeaseState::Claimed(_)) { CLAIM_TIME } else { RENEWAL }
    }

    /// Gives the lease up.
    pub(super) fn release(&mut self) {
        self.state = LeaseState::Free(None);
    }

    fn write(&mut self, state: LeaseState) -> Option<Claim> {
        self.own.count += 1;
        self.state = state;
        Some(self.own.clone())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    proptest! {
        /// Processes that step in any order, at most a few seconds apart, with crashes: never two hold the lease, and
        /// one holds it soon after the last crash.
        #[test]
        fn one_process_holds_the_lease(steps in proptest::collection::vec((0..3_usize, 0..20_u64), 0..200)) {
            let mut processes = [0, 1, 2].map(|name| Lease::new(name.to_string()));
            let (mut stored, mut now, mut names) = (None, Duration::ZERO, 3);
            let check = |processes: &[Lease], now| {
                processes.iter().filter(|it| it.is_held(now)).count()
            };
            for (at, wait) in steps {
                now += seconds(wait);
                if wait == 19 {
                    // It crashes, and is started again.
                    processes[at] = Lease::new(names.to_string());
                    names += 1;
                }
                if let Some(claim) = processes[at].step(stored.clone(), now) {
                    stored = Some(claim);
                }
                prop_assert!(check(&processes, now) <= 1);
            }
            for _ in 0..50 {
                now += seconds(1);
                for process in &mut processes {
                    stored = process.step(stored.clone(), now).or(stored);
                }
            }
            prop_assert_eq!(check(&processes, now), 1);
        }
    }

    #[test]
    fn of_two_claims_at_once_the_last_one_counts() {
        let mut processes = ["a", "b"].map(|name| Lease::new(name.to_owned()));
        // Both read before either writes.
        let claims = processes.each_mut().map(|it| it.step(None, seconds(0)));
        let stored = claims[1].clone();
        assert!(processes[0].step(stored.clone(), seconds(1)).is_none());
        assert!(processes[1].step(stored, seconds(1)).is_some());
        assert_eq!(processes.each_ref().map(|it| it.is_held(seconds(1))), [false, true]);
    }

    #[test]
    fn a_holder_that_cannot_renew_stops_before_another_one_begins() {
        let mut lease = Lease::new("a".to_owned());
        lease.step(None, seconds(0));
        let claim = Claim { holder: "a".to_owned(), count: 1 };
        lease.step(Some(claim), seconds(1));
        assert!(lease.is_held(seconds(15)));
        assert!(!lease.is_held(seconds(16)));
        lease.release();
        assert!(!lease.is_held(seconds(2)) && !lease.is_claimed());
    }
}
