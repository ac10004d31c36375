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
const FIRST: Duration = Duration::from_secs(2);

/// Maximum time until a server is tried again. It is short, because a person may be waiting after opening a
/// laptop.
const LONGEST: Duration = Duration::from_secs(120);

/// Maximum time for servers of newsreaders, whose users check often whether the server is back.
const LONGEST_WATCHED: Duration = Duration::from_secs(10);

/// Number of edits that a server may put off or refuse in a row before the next one has to wait.
const FREE: u32 = 1;

/// Longest time between two edits to a server that puts off or refuses each of them.
const LONGEST_PACE: Duration = Duration::from_secs(60);

/// The servers that were not reached, and those that accept no edits at present.
#[derive(Debug, Clone, Default)]
pub(super) struct Reach {
    away: HashMap<String, Away>,
    watched: HashSet<String>,
    paced: HashMap<String, Away>,
}

/// Number of failures in a row, and the end of the pause after the last of them.
#[derive(Debug, Clone, Copy)]
struct Away {
    tries: u32,
    until: Time,
}

impl Reach {
    /// Whether the server is considered reachable.
    pub(super) fn is_here(&self, location: &Location) -> bool {
        !self.away.contains_key(location.origin())
    }

    /// Whether a server may be asked now: it is considered reachable, or a test is due.
    pub(super) fn may_try(&self, location: &Location, now: Time) -> bool {
        self.away.get(location.origin()).is_none_or(|away| away.until <= now)
    }

    /// Notes that a server responded. Returns whether it was unreachable before.
    pub(super) fn answered(&mut self, location: &Location) -> bool {
        self.away.remove(location.origin()).is_some()
    }

    /// Notes that a server was not reached. `random` spreads attempts that would otherwise coincide.
    pub(super) fn lost(&mut self, location: &Location, now: Time, random: u64) {
        let is_watched = self.watched.contains(location.origin());
        let longest = if is_watched { LONGEST_WATCHED } else { LONGEST };
        let away = self.away.entry(location.origin().to_owned());
        let away = away.or_insert(Away { tries: 0, until: now });
        // Several requests that fail at once count as one failure.
        if away.until > now {
            return;
        }
        let most = FIRST.saturating_mul(1 << away.tries.min(10)).min(longest);
        away.tries += 1;
        away.until = now.after(most / 2 + (most / 2).mul_f64(random as f64 / u64::MAX as f64));
    }

    /// Notes that a server put an edit off or requires credentials. Other edits are still sent to it, but
    /// ever more slowly while it accepts none.
    pub(super) fn put_off(&mut self, location: &Location, now: Time) {
        let pace = self.paced.entry(location.origin().to_owned());
        let pace = pace.or_insert(Away { tries: 0, until: now });
        pace.tries = pace.tries.saturating_add(1);
        if pace.tries > FREE {
            let most = FIRST.saturating_mul(1 << (pace.tries - FREE - 1).min(10));
            pace.until = now.after(most.min(LONGEST_PACE));
        }
    }

    /// Notes that a server decided on an edit.
    pub(super) fn took(&mut self, location: &Location) {
        self.paced.remove(location.origin());
    }

    /// End of the pause before the next edit to a server.
    pub(super) fn paced_until(&self, location: &Location, now: Time) -> Option<Time> {
        let until = self.paced.get(location.origin()).map(|pace| pace.until);
        until.filter(|until| *until > now)
    }

    /// Time at which a server that was not reached is tried again.
    pub(super) fn away_until(&self, location: &Location) -> Option<Time> {
        self.away.get(location.origin()).map(|away| away.until)
    }

    /// Tests a server more often while it is unreachable.
    pub(super) fn watch(&mut self, location: &Location) {
        self.watched.insert(location.origin().to_owned());
    }

    /// Tests the servers more often that another instance does.
    pub(super) fn watch_as(&mut self, other: &Self) {
        self.watched.extend(other.watched.iter().cloned());
    }

    /// Removes all failures and pauses, since there is a network again.
    pub(super) fn clear(&mut self) {
        self.away.clear();
        self.paced.clear();
    }

    /// Time at which a server may be tried again.
    pub(super) fn wakes(&self, now: Time) -> Option<Time> {
        self.away
            .values()
            .chain(self.paced.values())
            .map(|away| away.until)
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
        let mut reach = Reach::default();
        assert!(reach.is_here(&location) && reach.may_try(&location, Time::from_millis(0)));
        let mut now = Time::from_millis(1_000);
        let mut pauses = Vec::new();
        for _ in 0..20 {
            reach.lost(&location, now, u64::MAX);
            // Another request that fails at the same time counts as the same failure.
            reach.lost(&location, now, u64::MAX);
            assert!(!reach.is_here(&location) && reach.is_here(&elsewhere));
            let until = reach.away_until(&location).unwrap();
            assert!(!reach.may_try(&location, now) && reach.may_try(&location, until));
            pauses.push(until.since(now));
            now = until;
        }
        assert_eq!((pauses[0], pauses[1], pauses[2]), (FIRST, FIRST * 2, FIRST * 4));
        assert_eq!(pauses.last(), Some(&LONGEST));
        assert!(reach.answered(&location) && !reach.answered(&location));
        assert!(reach.is_here(&location));
        reach.lost(&location, now, 0);
        assert_eq!(reach.away_until(&location).unwrap().since(now), FIRST / 2);
    }

    #[test]
    fn next_attempt_times_of_unreached_servers_are_returned() {
        let (near, far) = (at("a"), "http://far.example/".parse::<Location>().unwrap());
        let mut reach = Reach::default();
        let now = Time::from_millis(1_000);
        assert_eq!(reach.wakes(now), None);
        reach.lost(&near, now, u64::MAX);
        reach.put_off(&far, now);
        assert_eq!(reach.wakes(now), Some(now.after(FIRST)));
        assert_eq!(reach.wakes(now.after(FIRST)), None, "that is now");
        reach.clear();
        assert!(reach.is_here(&near) && reach.wakes(now).is_none());
    }

    #[test]
    fn pauses_grow_for_a_server_that_accepts_no_edits() {
        let location = at("a");
        let mut reach = Reach::default();
        let mut now = Time::from_millis(1_000);
        reach.put_off(&location, now);
        assert_eq!(reach.paced_until(&location, now), None, "the first is free");
        let mut pauses = Vec::new();
        for _ in 0..15 {
            reach.put_off(&location, now);
            let until = reach.paced_until(&location, now).unwrap();
            assert_eq!(reach.wakes(now), Some(until));
            assert_eq!(reach.paced_until(&location, until), None);
            pauses.push(until.since(now));
            now = until;
        }
        assert_eq!(pauses[..5], [1, 2, 4, 8, 16].map(|times| FIRST * times));
        assert_eq!(pauses[5..], [LONGEST_PACE; 10]);
        reach.took(&location);
        assert_eq!(reach.paced_until(&location, Time::default()), None);
        reach.put_off(&location, now);
        assert_eq!(reach.paced_until(&location, now), None, "it begins anew");
    }

    #[test]
    fn watched_server_is_tried_often_also_after_a_takeover() {
        let location = at("a");
        let mut before = Reach::default();
        before.watch(&location);
        let mut reach = Reach::default();
        reach.watch_as(&before);
        let mut now = Time::from_millis(1_000);
        for _ in 0..20 {
            reach.lost(&location, now, u64::MAX);
            let until = reach.away_until(&location).unwrap();
            assert!(until.since(now) <= LONGEST_WATCHED);
            now = until;
        }
        reach.lost(&location, now, u64::MAX);
        assert_eq!(reach.away_until(&location).unwrap().since(now), LONGEST_WATCHED);
    }
}
