//! Subscriptions: a feed that is kept in step, for all applications that want the same of it (BITSY 2.1).

pub mod builder;
pub mod outcome;
mod parts;
pub mod round;
pub mod state;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use http::StatusCode;

use crate::authentication::{Credentials, Partition};
use crate::headers::Registered;
use crate::location::Location;
use crate::relation::Relation;
use crate::time::Time;
use builder::Wanted;
pub use parts::Parts;
use round::Round;
use state::{State, Trigger};

/// Between two rounds of a feed whose applications leave it to us.
pub const DEFAULT_INTERVAL: Duration = Duration::from_secs(30 * 60);

/// One application's hold on a subscription: what it asks for is taken back with it, and what others ask
/// for stays (R-B13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Holder(pub u64);

/// A feed that is kept in step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    wanted: Wanted,
    partition: Partition,
    state: State,
    /// When the feed may be asked for again; none if it may now.
    due: Option<Time>,
    /// When what it links to is asked for again, where a server wants it later.
    retries: BTreeMap<Location, Time>,
    /// Whether somebody asked for more while a round was under way.
    again: bool,
    last_updated: Option<Time>,
    /// The first failure of the round, or of the last one.
    failure: Option<Failure>,
    /// What each application asks for.
    holders: BTreeMap<Holder, Hold>,
}

/// The first failure of a round: the reason why a subscription is paused that nobody paused (2.1.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The address that was asked for.
    pub location: Location,
    /// Status of the response, or the one that stands for no response.
    pub status: StatusCode,
}

/// What one application asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hold {
    /// Minutes between two rounds at least; 0 leaves it to us.
    pub interval: u16,
    /// The relations that it follows.
    pub follows: BTreeSet<Relation>,
}

/// That a subscription has ended: another one is needed (2.1.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the subscription is closed")]
pub struct ClosedError;

/// How a round ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// All was fetched, but for what servers want to be asked for later.
    Fetched {
        /// From when on the feed itself may be asked for, if its server said so.
        not_before: Option<Time>,
        /// From when on what it links to may be asked for.
        later: BTreeMap<Location, Time>,
    },
    /// Something failed that does not mend itself.
    Failed,
}

impl Subscription {
    /// A new subscription of one application: it is about to begin (R-B18).
    pub fn new(wanted: Wanted, holder: Holder) -> Self {
        let hold = Hold { interval: wanted.interval, follows: wanted.follows.clone() };
        Self {
            partition: Credentials::of(&wanted.registered).partition(),
            wanted,
            state: State::Ready,
            due: None,
            retries: BTreeMap::new(),
            again: false,
            last_updated: None,
            failure: None,
            holders: BTreeMap::from([(holder, hold)]),
        }
    }

    /// Whether it serves what another application wants; a closed one serves nobody.
    pub fn serves(&self, wanted: &Wanted) -> bool {
        self.state != State::Closed && self.wanted.matches(wanted)
    }

    /// Takes in another application that it serves. What it has stored already serves that one, too; what
    /// that one follows besides begins with the next round, which begins at once if there is anything.
    pub fn join(&mut self, wanted: &Wanted, holder: Holder) {
        let before = self.follows();
        let hold = Hold { interval: wanted.interval, follows: wanted.follows.clone() };
        self.holders.insert(holder, hold);
        if self.wanted.proxy.is_none() {
            self.wanted.proxy.clone_from(&wanted.proxy);
        }
        self.begin_if_more(&before);
    }

    /// The feed.
    pub fn feed(&self) -> &Location {
        &self.wanted.feed
    }

    /// The headers that are registered.
    pub fn registered(&self) -> &Registered {
        &self.wanted.registered
    }

    /// Whose data it is.
    pub fn partition(&self) -> Partition {
        self.partition
    }

    /// The configuration of the proxy that is emulated.
    pub fn proxy(&self) -> Option<&Location> {
        self.wanted.proxy.as_ref()
    }

    /// Where it stands.
    pub fn state(&self) -> State {
        self.state
    }

    /// When the server last answered for the feed, by the server's clock (2.1.2).
    pub fn last_updated(&self) -> Option<Time> {
        self.last_updated
    }

    /// Notes when the server says that it answered for the feed.
    pub fn answered(&mut self, at: Time) {
        self.last_updated = Some(at);
    }

    /// Why it is paused; none if somebody paused it, and as long as it is not.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref().filter(|_| self.state == State::Paused)
    }

    /// Notes what a round fails at; what it failed at first counts.
    pub fn fails(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    /// Minutes between two rounds, as an application reads them: the least that any asks for.
    pub fn interval(&self) -> u16 {
        let asked = self.holders.values().map(|hold| hold.interval).filter(|minutes| *minutes > 0);
        asked.min().unwrap_or(minutes(DEFAULT_INTERVAL))
    }

    /// Sets what one application asks for; it holds from the end of this round, or of the next.
    pub fn set_interval(&mut self, holder: Holder, minutes: u16) -> Result<(), ClosedError> {
        self.hold(holder).map(|hold| hold.interval = minutes)
    }

    /// All relations that are followed.
    pub fn follows(&self) -> BTreeSet<Relation> {
        self.holders.values().flat_map(|hold| &hold.follows).cloned().collect()
    }

    /// Follows a relation (`addFollow`); what it leads to is fetched at once.
    pub fn add_follow(&mut self, holder: Holder, relation: Relation) -> Result<(), ClosedError> {
        let before = self.follows();
        self.hold(holder)?.follows.insert(relation);
        self.begin_if_more(&before);
        Ok(())
    }

    /// Follows a relation no longer, if nobody else asks for it (`removeFollow`).
    pub fn remove_follow(
        &mut self,
        holder: Holder,
        relation: &Relation,
    ) -> Result<(), ClosedError> {
        self.hold(holder).map(|hold| {
            hold.follows.remove(relation);
        })
    }

    /// Sets the configuration of the proxy, which is read in the next round (2.1.2).
    pub fn set_proxy(&mut self, proxy: Option<Location>) -> Result<(), ClosedError> {
        if self.state == State::Closed {
            return Err(ClosedError);
        }
        self.wanted.proxy = proxy;
        Ok(())
    }

    /// Fetches nothing until it is resumed (`pause`). A round that is under way is not taken up again.
    pub fn pause(&mut self) -> Option<State> {
        self.follow(Trigger::Pause)
    }

    /// Goes on at once (`resume`).
    pub fn resume(&mut self) -> Option<State> {
        self.follow(Trigger::Resume)
    }

    /// Ends it for one application, and for good with the last (`unsubscribe`).
    pub fn unsubscribe(&mut self, holder: Holder) -> Option<State> {
        self.holders.remove(&holder)?;
        self.holders.is_empty().then(|| self.follow(Trigger::Unsubscribe)).flatten()
    }

    /// Ends it for all who hold it.
    pub fn close(&mut self) -> Option<State> {
        self.holders.clear();
        self.follow(Trigger::Unsubscribe)
    }

    /// Begins with the feed as soon as there is a network, since it is known to have changed; what is paused
    /// stays so.
    pub fn refresh(&mut self) -> Option<State> {
        match self.state {
            State::Waiting => self.follow(Trigger::Resume),
            State::Ready => {
                self.due = None;
                None
            }
            State::Fetching => {
                self.again = true;
                None
            }
            State::Paused | State::Closed => None,
        }
    }

    /// A round that was under way is not any more: it begins again.
    pub fn interrupted(&mut self) {
        if self.state == State::Fetching {
            self.state = State::Ready;
            self.due = None;
        }
    }

    /// Whether it begins as soon as there is a network.
    pub fn is_ready(&self) -> bool {
        self.state == State::Ready
    }

    /// Takes notice of the time; an answer is the new state. What has its own time does not wait for the
    /// interval, and the feed does not begin with it.
    pub fn elapse(&mut self, now: Time) -> Option<State> {
        let over = self.due().is_none_or(|due| due <= now);
        (self.state == State::Waiting && over).then(|| self.follow(Trigger::Elapsed)).flatten()
    }

    /// When [`elapse`](Self::elapse) has to be called next.
    pub fn due(&self) -> Option<Time> {
        let times = self.retries.values().chain(&self.due).copied();
        times.min().filter(|_| self.state == State::Waiting)
    }

    /// Begins a round, since there is a network and time for it.
    pub fn begin(&mut self, now: Time) -> Option<Round> {
        self.follow(Trigger::Scheduled)?;
        self.failure = None;
        if self.due.is_none_or(|due| due <= now) {
            self.due = None;
            self.again = false;
            self.retries.clear();
            return Some(Round::whole(&self.wanted.feed, self.wanted.proxy.as_ref()));
        }
        let due = self.retries.iter().filter(|(_, time)| **time <= now);
        let due: Vec<Location> = due.map(|(location, _)| location.clone()).collect();
        for location in &due {
            self.retries.remove(location);
        }
        Some(Round::again(due))
    }

    /// Ends a round. The interval runs from the end of one that fetched the feed; a server may make it
    /// longer, never shorter (R-B11, R-B19).
    pub fn end(&mut self, end: End, now: Time) -> Option<State> {
        match end {
            End::Failed => self.follow(Trigger::Failed),
            End::Fetched { not_before, later } => {
                let next = self.follow(Trigger::Fetched)?;
                let interval = Duration::from_secs(60 * u64::from(self.interval()));
                let not_before = not_before.unwrap_or_default();
                if std::mem::take(&mut self.again) {
                    self.due = Some(now.max(not_before));
                }
                self.due.get_or_insert_with(|| now.after(interval).max(not_before));
                self.retries.extend(later);
                Some(next)
            }
        }
    }

    fn follow(&mut self, trigger: Trigger) -> Option<State> {
        let next = self.state.after(trigger)?;
        self.state = next;
        if matches!(trigger, Trigger::Resume | Trigger::Pause) {
            self.failure = None;
        }
        // Who resumes or pauses has it begin with the feed.
        if matches!(trigger, Trigger::Resume | Trigger::Pause | Trigger::Failed) {
            self.due = None;
        }
        Some(next)
    }

    fn hold(&mut self, holder: Holder) -> Result<&mut Hold, ClosedError> {
        if self.state == State::Closed {
            return Err(ClosedError);
        }
        self.holders.get_mut(&holder).ok_or(ClosedError)
    }

    /// Nobody waits for the interval to see what was just asked for: it begins with the feed, now or as soon
    /// as the round is over that did not know of it.
    fn begin_if_more(&mut self, before: &BTreeSet<Relation>) {
        if self.follows().is_subset(before) {
            return;
        }
        self.refresh();
    }
}

const fn minutes(span: Duration) -> u16 {
    (span.as_secs() / 60) as u16
}

#[cfg(test)]
mod tests {
    use super::builder::SubscriptionBuilder;
    use super::*;

    const NOW: Time = Time::from_millis(1_000_000_000);
    const ANNA: Holder = Holder(1);
    const BERT: Holder = Holder(2);

    fn wanted(interval: u16, follows: &[&str]) -> Wanted {
        let mut builder = SubscriptionBuilder::new(None);
        builder.set_feed("http://example.org/feed").unwrap().set_interval(interval);
        for relation in follows {
            builder.add_follow(relation).unwrap();
        }
        builder.build().unwrap()
    }

    fn fetched(subscription: &mut Subscription) {
        assert!(subscription.begin(NOW).is_some());
        assert_eq!(subscription.end(good(), NOW), Some(State::Waiting));
    }

    fn good() -> End {
        End::Fetched { not_before: None, later: BTreeMap::new() }
    }

    fn minutes_later(minutes: u64) -> Time {
        NOW.after(Duration::from_secs(60 * minutes))
    }

    #[test]
    fn the_interval_is_the_least_time_between_two_rounds() {
        let mut subscription = Subscription::new(wanted(10, &[]), ANNA);
        assert_eq!(subscription.state(), State::Ready);
        fetched(&mut subscription);
        assert_eq!(subscription.due(), Some(minutes_later(10)));
        assert_eq!(subscription.elapse(minutes_later(9)), None);
        assert_eq!(subscription.elapse(minutes_later(10)), Some(State::Ready));
        // A server may ask for more time, and not for less.
        subscription.begin(minutes_later(10));
        let end = |minutes| End::Fetched {
            not_before: Some(minutes_later(minutes)),
            later: BTreeMap::new(),
        };
        subscription.end(end(60), NOW);
        assert_eq!(subscription.due(), Some(minutes_later(60)));
        subscription.resume();
        subscription.begin(NOW);
        subscription.end(end(1), NOW);
        assert_eq!(subscription.due(), Some(minutes_later(10)));
        let left_to_us = Subscription::new(wanted(0, &[]), ANNA);
        assert_eq!(u64::from(left_to_us.interval()) * 60, DEFAULT_INTERVAL.as_secs());
    }

    #[test]
    fn applications_that_want_the_same_share_it_and_leave_it_one_by_one() {
        let mut subscription = Subscription::new(wanted(30, &["enclosure"]), ANNA);
        fetched(&mut subscription);
        let other = wanted(5, &["related"]);
        assert!(subscription.serves(&other));
        subscription.join(&other, BERT);
        assert_eq!(subscription.state(), State::Ready, "there is more to fetch");
        assert_eq!(subscription.interval(), 5);
        assert_eq!(subscription.follows().len(), 2);
        subscription.remove_follow(ANNA, &"related".parse().unwrap()).unwrap();
        assert_eq!(subscription.follows().len(), 2, "the other one asked for it");
        assert_eq!(subscription.unsubscribe(BERT), None);
        assert_eq!((subscription.interval(), subscription.follows().len()), (30, 1));
        assert_eq!(subscription.unsubscribe(BERT), None, "twice");
        assert_eq!(subscription.unsubscribe(ANNA), Some(State::Closed));
        assert!(!subscription.serves(&other));
        assert_eq!(subscription.set_interval(ANNA, 1), Err(ClosedError));
        assert_eq!(subscription.add_follow(ANNA, Relation::alternate()), Err(ClosedError));
        assert_eq!(subscription.set_proxy(None), Err(ClosedError));
        assert_eq!(subscription.resume(), None);
    }

    #[test]
    fn a_failure_pauses_until_somebody_resumes() {
        let mut subscription = Subscription::new(wanted(1, &[]), ANNA);
        subscription.begin(NOW);
        let failure = |status: u16| Failure {
            location: wanted(1, &[]).feed,
            status: StatusCode::from_u16(status).unwrap(),
        };
        subscription.fails(failure(404));
        subscription.fails(failure(500));
        assert_eq!(subscription.failure(), None, "it goes on");
        assert_eq!(subscription.end(End::Failed, NOW), Some(State::Paused));
        assert_eq!(subscription.failure(), Some(&failure(404)));
        assert_eq!(subscription.elapse(minutes_later(1_000)), None);
        assert_eq!(subscription.begin(NOW), None);
        assert_eq!(subscription.resume(), Some(State::Ready));
        // What ends after somebody paused changes nothing.
        subscription.begin(NOW);
        assert_eq!(subscription.pause(), Some(State::Paused));
        assert_eq!(subscription.end(good(), NOW), None);
        assert_eq!(subscription.state(), State::Paused);
    }

    #[test]
    fn following_more_begins_at_once_and_following_less_waits() {
        let mut subscription = Subscription::new(wanted(1, &["enclosure"]), ANNA);
        fetched(&mut subscription);
        subscription.add_follow(ANNA, "ENCLOSURE".parse().unwrap()).unwrap();
        assert_eq!(subscription.state(), State::Waiting, "that is followed already");
        subscription.remove_follow(ANNA, &"enclosure".parse().unwrap()).unwrap();
        assert_eq!(subscription.state(), State::Waiting);
        subscription.add_follow(ANNA, "related".parse().unwrap()).unwrap();
        assert_eq!(subscription.state(), State::Ready);
        subscription.begin(NOW);
        subscription.add_follow(ANNA, "icon".parse().unwrap()).unwrap();
        assert_eq!(subscription.end(good(), NOW), Some(State::Waiting));
        assert_eq!(subscription.due(), Some(NOW), "the round that ended did not know of it");
    }

    #[test]
    fn what_is_wanted_later_has_its_own_time_and_the_feed_keeps_its() {
        let mut subscription = Subscription::new(wanted(10, &["enclosure"]), ANNA);
        subscription.begin(NOW);
        let linked: Location = "http://example.org/a".parse().unwrap();
        let later = BTreeMap::from([(linked.clone(), minutes_later(2))]);
        subscription.end(End::Fetched { not_before: None, later }, NOW);
        assert_eq!(subscription.due(), Some(minutes_later(2)));
        assert_eq!(subscription.elapse(minutes_later(2)), Some(State::Ready));
        let mut round = subscription.begin(minutes_later(2)).unwrap();
        let fetch = round.take_next().unwrap();
        assert_eq!((fetch.location.clone(), round.take_next()), (linked, None));
        round.settle(fetch, round::Settled::Fetched(Vec::new()));
        let end = round.end().unwrap();
        assert_eq!(subscription.end(end, minutes_later(3)), Some(State::Waiting));
        assert_eq!(subscription.due(), Some(minutes_later(10)), "of the feed");
        subscription.elapse(minutes_later(10));
        let whole = subscription.begin(minutes_later(10)).unwrap();
        assert_eq!(whole, Round::whole(subscription.feed(), None));
    }
}
