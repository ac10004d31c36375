//! Reachability of servers. Each request updates it. A server that was not reached is tried again after a
//! growing delay.
//!
//! Applications need not distinguish an unreachable network from an unreachable server. Stored data are
//! served and edits wait (1.3).

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::location::Location;
use crate::time::Time;

/// Minimum time until a server is tried again.
const MIN_RETRY_DELAY: Duration = Duration::from_secs(2);

/// Maximum time until a server is tried again. It is short, because a person may be waiting after opening a
/// laptop.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(120);

/// Maximum time for servers of newsreaders, whose users check often whether the server is back.
const MAX_WATCHED_RETRY_DELAY: Duration = Duration::from_secs(10);

/// Number of edits that a server may put off or refuse in a row before the next one has to wait.
const FREE_REFUSALS: u32 = 1;

/// Longest time between two edits to a server that puts off or refuses each of them.
const MAX_PACE: Duration = Duration::from_secs(60);

/// The servers that were not reached, and those that accept no edits at present.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reachability {
    unreachable: HashMap<String, Backoff>,
    watched: HashSet<String>,
    paced: HashMap<String, Backoff>,
}

/// Number of failures in a row, and the end of the pause after the last of them.
#[derive(Debug, Clone, Copy)]
struct Backoff {
    tries: u32,
    until: Time,
}

impl Reachability {
    /// Whether the server is considered reachable.
    pub(crate) fn is_reachable(&self, location: &Location) -> bool {
        !self.unreachable.contains_key(location.origin())
    }

    /// Whether a server may be asked now: it is considered reachable, or a test is due.
    pub(crate) fn may_try(&self, location: &Location, now: Time) -> bool {
        self.unreachable.get(location.origin()).is_none_or(|unreachable| unreachable.until <= now)
    }

    /// Notes that a server responded. Returns whether it was unreachable before.
    pub(crate) fn answered(&mut self, location: &Location) -> bool {
        self.unreachable.remove(location.origin()).is_some()
    }

    /// Notes that a server was not reached. `random` spreads attempts that would otherwise coincide.
    pub(crate) fn lost(&mut self, location: &Location, now: Time, random: u64) {
        let is_watched = self.watched.contains(location.origin());
        let longest = if is_watched { MAX_WATCHED_RETRY_DELAY } else { MAX_RETRY_DELAY };
        let unreachable = self.unreachable.entry(location.origin().to_owned());
        let unreachable = unreachable.or_insert(Backoff { tries: 0, until: now });
        // Several requests that fail at once count as one failure.
        if unreachable.until > now {
            return;
        }
        let most = MIN_RETRY_DELAY.saturating_mul(1 << unreachable.tries.min(10)).min(longest);
        unreachable.tries += 1;
        unreachable.until =
            now.after(most / 2 + (most / 2).mul_f64(random as f64 / u64::MAX as f64));
    }

    /// Notes that a server put an edit off or requires credentials. Other edits are still sent to it, but
    /// ever more slowly while it accepts none.
    pub(crate) fn put_off(&mut self, location: &Location, now: Time) {
        let pace = self.paced.entry(location.origin().to_owned());
        let pace = pace.or_insert(Backoff { tries: 0, until: now });
        pace.tries = pace.tries.saturating_add(1);
        if pace.tries > FREE_REFUSALS {
            let most =
                MIN_RETRY_DELAY.saturating_mul(1 << (pace.tries - FREE_REFUSALS - 1).min(10));
            pace.until = now.after(most.min(MAX_PACE));
        }
    }

    /// Notes that a server decided on an edit.
    pub(crate) fn decided(&mut self, location: &Location) {
        self.paced.remove(location.origin());
    }

    /// End of the pause before the next edit to a server.
    pub(crate) fn paced_until(&self, location: &Location, now: Time) -> Option<Time> {
        let until = self.paced.get(location.origin()).map(|pace| pace.until);
        until.filter(|until| *until > now)
    }

    /// Time at which a server that was not reached is tried again.
    pub(crate) fn unreachable_until(&self, location: &Location) -> Option<Time> {
        self.unreachable.get(location.origin()).map(|unreachable| unreachable.until)
    }

    /// Tests a server more often while it is unreachable.
    pub(crate) fn watch(&mut self, location: &Location) {
        self.watched.insert(location.origin().to_owned());
    }

    /// Tests the servers more often that another instance does.
    pub(crate) fn watch_as(&mut self, other: &Self) {
        self.watched.extend(other.watched.iter().cloned());
    }

    /// Removes all failures and pauses, since there is a network again.
    pub(crate) fn clear(&mut self) {
        self.unreachable.clear();
        self.paced.clear();
    }

    /// Time at which a server may be tried again.
    pub(crate) fn next_wake(&self, now: Time) -> Option<Time> {
        self.unreachable
            .values()
            .chain(self.paced.values())
            .map(|unreachable| unreachable.until)
            .filter(|until| *until > now)
            .min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at;

    /// Pauses double from the minimum to the maximum. Up to half of each is random.
    #[test]
    fn server_that_is_lost_is_tried_after_a_pause_and_is_here_when_it_answers() {
        let location: Location = "http://example.org/feed".parse().unwrap();
        let elsewhere: Location = "http://example.net/feed".parse().unwrap();
        let mut reachability = Reachability::default();
        assert!(
            reachability.is_reachable(&location)
                && reachability.may_try(&location, Time::from_millis(0))
        );
        let mut now = Time::from_millis(1_000);
        let mut pauses = Vec::new();
        for _ in 0..20 {
            reachability.lost(&location, now, u64::MAX);
            // Another request that fails at the same time counts as the same failure.
            reachability.lost(&location, now, u64::MAX);
            assert!(!reachability.is_reachable(&location) && reachability.is_reachable(&elsewhere));
            let until = reachability.unreachable_until(&location).unwrap();
            assert!(
                !reachability.may_try(&location, now) && reachability.may_try(&location, until)
            );
            pauses.push(until.since(now));
            now = until;
        }
        assert_eq!(
            (pauses[0], pauses[1], pauses[2]),
            (MIN_RETRY_DELAY, MIN_RETRY_DELAY * 2, MIN_RETRY_DELAY * 4)
        );
        assert_eq!(pauses.last(), Some(&MAX_RETRY_DELAY));
        assert!(reachability.answered(&location) && !reachability.answered(&location));
        assert!(reachability.is_reachable(&location));
        reachability.lost(&location, now, 0);
        assert_eq!(
            reachability.unreachable_until(&location).unwrap().since(now),
            MIN_RETRY_DELAY / 2
        );
    }

    #[test]
    fn next_attempt_times_of_unreached_servers_are_returned() {
        let (near, far) = (at("a"), "http://far.example/".parse::<Location>().unwrap());
        let mut reachability = Reachability::default();
        let now = Time::from_millis(1_000);
        assert_eq!(reachability.next_wake(now), None);
        reachability.lost(&near, now, u64::MAX);
        reachability.put_off(&far, now);
        assert_eq!(reachability.next_wake(now), Some(now.after(MIN_RETRY_DELAY)));
        assert_eq!(reachability.next_wake(now.after(MIN_RETRY_DELAY)), None, "that is now");
        reachability.clear();
        assert!(reachability.is_reachable(&near) && reachability.next_wake(now).is_none());
    }

    #[test]
    fn pauses_grow_for_a_server_that_accepts_no_edits() {
        let location = at("a");
        let mut reachability = Reachability::default();
        let mut now = Time::from_millis(1_000);
        reachability.put_off(&location, now);
        assert_eq!(reachability.paced_until(&location, now), None, "the first is free");
        let mut pauses = Vec::new();
        for _ in 0..15 {
            reachability.put_off(&location, now);
            let until = reachability.paced_until(&location, now).unwrap();
            assert_eq!(reachability.next_wake(now), Some(until));
            assert_eq!(reachability.paced_until(&location, until), None);
            pauses.push(until.since(now));
            now = until;
        }
        assert_eq!(pauses[..5], [1, 2, 4, 8, 16].map(|times| MIN_RETRY_DELAY * times));
        assert_eq!(pauses[5..], [MAX_PACE; 10]);
        reachability.decided(&location);
        assert_eq!(reachability.paced_until(&location, Time::default()), None);
        reachability.put_off(&location, now);
        assert_eq!(reachability.paced_until(&location, now), None, "it begins anew");
    }

    #[test]
    fn watched_server_is_tried_often_also_after_a_takeover() {
        let location = at("a");
        let mut before = Reachability::default();
        before.watch(&location);
        let mut reachability = Reachability::default();
        reachability.watch_as(&before);
        let mut now = Time::from_millis(1_000);
        for _ in 0..20 {
            reachability.lost(&location, now, u64::MAX);
            let until = reachability.unreachable_until(&location).unwrap();
            assert!(until.since(now) <= MAX_WATCHED_RETRY_DELAY);
            now = until;
        }
        reachability.lost(&location, now, u64::MAX);
        assert_eq!(
            reachability.unreachable_until(&location).unwrap().since(now),
            MAX_WATCHED_RETRY_DELAY
        );
    }
}
