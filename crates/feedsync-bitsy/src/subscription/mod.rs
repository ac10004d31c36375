//! Subscriptions: feeds that are fetched regularly for all applications with the same request (BITSY 2.1).

pub mod builder;
pub mod outcome;
mod parts;
pub mod round;
pub mod state;

use std::time::Duration;

use http::StatusCode;

use crate::authentication::{Credentials, Partition};
use crate::collections::{SortedMap, SortedSet};
use crate::headers::RegisteredHeaders;
use crate::location::Location;
use crate::relation::Relation;
use crate::time::Time;
use builder::SubscriptionRequest;
pub use parts::Parts;
use round::Round;
use state::{State, Trigger};

/// Time between two rounds if no application sets an interval.
pub const DEFAULT_INTERVAL: Duration = Duration::from_secs(30 * 60);

/// Handle of one application's share in a subscription. When it is released, the application's requests end,
/// and those of others remain (R-B13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Holder(pub u64);

/// A subscription to a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    wanted: SubscriptionRequest,
    partition: Partition,
    state: State,
    /// Time from which the feed may be fetched again; none if it may be fetched now.
    due: Option<Time>,
    /// Times at which linked resources are fetched again, where a server asked for a delay.
    retries: SortedMap<Location, Time>,
    /// Whether another round was requested during the present one.
    again: bool,
    last_updated: Option<Time>,
    /// First failure of the present round, or of the last one.
    failure: Option<Failure>,
    /// Requests of each application.
    holders: SortedMap<Holder, Hold>,
}

/// First failure of a round: the reason why a subscription is paused that nobody paused (2.1.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Address of the failed request.
    pub location: Location,
    /// Status of the response, or the status that stands for a missing response.
    pub status: StatusCode,
}

/// Requests of one application.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hold {
    /// Minimum time between two rounds, in minutes; 0 stands for the default.
    pub interval: u16,
    /// Relations that the application follows.
    pub follows: SortedSet<Relation>,
}

/// Error: the subscription has ended, and a new one is needed (2.1.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the subscription is closed")]
pub struct ClosedError;

/// Result of a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// All resources were fetched, except those that servers asked to fetch later.
    Fetched {
        /// Earliest time for the next fetch of the feed, if its server named one.
        not_before: Option<Time>,
        /// Earliest times for the next fetch of linked resources.
        later: SortedMap<Location, Time>,
    },
    /// A permanent failure happened.
    Failed,
}

impl Subscription {
    /// Creates a subscription for one application. Its state is [`State::Ready`] (R-B18).
    pub fn new(wanted: SubscriptionRequest, holder: Holder) -> Self {
        let hold = Hold { interval: wanted.interval, follows: wanted.follows.clone() };
        Self {
            partition: Credentials::of(&wanted.registered).partition(),
            wanted,
            state: State::Ready,
            due: None,
            retries: SortedMap::new(),
            again: false,
            last_updated: None,
            failure: None,
            holders: SortedMap::from([(holder, hold)]),
        }
    }

    /// Whether the subscription satisfies another application's request. A closed one does not.
    pub fn serves(&self, wanted: &SubscriptionRequest) -> bool {
        self.state != State::Closed && self.wanted.matches(wanted)
    }

    /// Adds an application whose request the subscription satisfies. The stored data serve it at once. If it
    /// follows additional relations, a new round begins at once.
    pub fn join(&mut self, wanted: &SubscriptionRequest, holder: Holder) {
        let before = self.follows();
        let hold = Hold { interval: wanted.interval, follows: wanted.follows.clone() };
        self.holders.insert(holder, hold);
        if self.wanted.proxy.is_none() {
            self.wanted.proxy.clone_from(&wanted.proxy);
        }
        self.begin_if_more(&before);
    }

    /// Address of the feed.
    pub fn feed(&self) -> &Location {
        &self.wanted.feed
    }

    /// The registered headers.
    pub fn registered(&self) -> &RegisteredHeaders {
        &self.wanted.registered
    }

    /// Partition of the subscription's data.
    pub fn partition(&self) -> Partition {
        self.partition
    }

    /// Address of the configuration of the emulated proxy.
    pub fn proxy(&self) -> Option<&Location> {
        self.wanted.proxy.as_ref()
    }

    /// The present state.
    pub fn state(&self) -> State {
        self.state
    }

    /// Time of the server's last response for the feed, by the server's clock (2.1.2).
    pub fn last_updated(&self) -> Option<Time> {
        self.last_updated
    }

    /// Sets the time of the server's last response for the feed, by the server's clock.
    pub fn answered(&mut self, at: Time) {
        self.last_updated = Some(at);
    }

    /// Failure because of which the subscription is paused. There is none if somebody paused it, or if it is
    /// not paused.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref().filter(|_| self.state == State::Paused)
    }

    /// Notes a failure of the round. The first one is kept.
    pub fn fails(&mut self, failure: Failure) {
        self.failure.get_or_insert(failure);
    }

    /// Minutes between two rounds, as applications read it: the minimum of all requests.
    pub fn interval(&self) -> u16 {
        let requested =
            self.holders.values().map(|hold| hold.interval).filter(|minutes| *minutes > 0);
        requested.min().unwrap_or(minutes(DEFAULT_INTERVAL))
    }

    /// Sets the interval that one application requests. It applies from the end of this round, or of the
    /// next.
    pub fn set_interval(&mut self, holder: Holder, minutes: u16) -> Result<(), ClosedError> {
        self.hold(holder).map(|hold| hold.interval = minutes)
    }

    /// All followed relations.
    pub fn follows(&self) -> SortedSet<Relation> {
        self.holders.values().flat_map(|hold| &hold.follows).cloned().collect()
    }

    /// Adds a relation to follow (`addFollow`). Its links are fetched at once.
    pub fn add_follow(&mut self, holder: Holder, relation: Relation) -> Result<(), ClosedError> {
        let before = self.follows();
        self.hold(holder)?.follows.insert(relation);
        self.begin_if_more(&before);
        Ok(())
    }

    /// Removes a relation (`removeFollow`). It is still followed if another application requests it.
    pub fn remove_follow(
        &mut self,
        holder: Holder,
        relation: &Relation,
    ) -> Result<(), ClosedError> {
        self.hold(holder).map(|hold| {
            hold.follows.remove(relation);
        })
    }

    /// Sets the proxy configuration, which is read in the next round (2.1.2).
    pub fn set_proxy(&mut self, proxy: Option<Location>) -> Result<(), ClosedError> {
        if self.state == State::Closed {
            return Err(ClosedError);
        }
        self.wanted.proxy = proxy;
        Ok(())
    }

    /// Pauses fetching until it is resumed (`pause`). The present round is not continued later.
    pub fn pause(&mut self) -> Option<State> {
        self.follow(Trigger::Pause)
    }

    /// Resumes fetching at once (`resume`).
    pub fn resume(&mut self) -> Option<State> {
        self.follow(Trigger::Resume)
    }

    /// Ends the subscription for one application. The last one closes it for good (`unsubscribe`).
    pub fn unsubscribe(&mut self, holder: Holder) -> Option<State> {
        self.holders.remove(&holder)?;
        self.holders.is_empty().then(|| self.follow(Trigger::Unsubscribe)).flatten()
    }

    /// Closes the subscription for all applications.
    pub fn close(&mut self) -> Option<State> {
        self.holders.clear();
        self.follow(Trigger::Unsubscribe)
    }

    /// Requests a round as soon as there is a network, because the feed is known to have changed. A paused
    /// subscription stays paused.
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

    /// Notes that the present round was interrupted. A new round begins.
    pub fn interrupted(&mut self) {
        if self.state == State::Fetching {
            self.state = State::Ready;
            self.due = None;
        }
    }

    /// Whether a round begins as soon as there is a network.
    pub fn is_ready(&self) -> bool {
        self.state == State::Ready
    }

    /// Advances the state to a time and returns the new state if it changed. Resources with their own retry
    /// time do not wait for the interval. Their round does not fetch the feed.
    pub fn elapse(&mut self, now: Time) -> Option<State> {
        let over = self.due().is_none_or(|due| due <= now);
        (self.state == State::Waiting && over).then(|| self.follow(Trigger::Elapsed)).flatten()
    }

    /// Time of the next call of [`elapse`](Self::elapse).
    pub fn due(&self) -> Option<Time> {
        let times = self.retries.values().chain(&self.due).copied();
        times.min().filter(|_| self.state == State::Waiting)
    }

    /// Begins a round, since there is a network and capacity.
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

    /// Ends a round. The interval runs from the end of a round that fetched the feed. A server may extend it,
    /// but not shorten it (R-B11, R-B19).
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
        // After resuming or pausing, the next round begins with the feed.
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

    /// Requests a round if new relations are followed, without waiting for the interval. The round fetches
    /// the feed, now or after the present round.
    fn begin_if_more(&mut self, before: &SortedSet<Relation>) {
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

    fn wanted(interval: u16, follows: &[&str]) -> SubscriptionRequest {
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
        End::Fetched { not_before: None, later: SortedMap::new() }
    }

    fn minutes_later(minutes: u64) -> Time {
        NOW.after(Duration::from_secs(60 * minutes))
    }

    #[test]
    fn interval_is_the_minimum_time_between_two_rounds() {
        let mut subscription = Subscription::new(wanted(10, &[]), ANNA);
        assert_eq!(subscription.state(), State::Ready);
        fetched(&mut subscription);
        assert_eq!(subscription.due(), Some(minutes_later(10)));
        assert_eq!(subscription.elapse(minutes_later(9)), None);
        assert_eq!(subscription.elapse(minutes_later(10)), Some(State::Ready));
        // A server may extend the interval, and not shorten it.
        subscription.begin(minutes_later(10));
        let end = |minutes| End::Fetched {
            not_before: Some(minutes_later(minutes)),
            later: SortedMap::new(),
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
    fn matching_applications_share_a_subscription_and_leave_it_one_by_one() {
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
    fn failure_pauses_until_resumed() {
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
        // A round that ends after a pause changes nothing.
        subscription.begin(NOW);
        assert_eq!(subscription.pause(), Some(State::Paused));
        assert_eq!(subscription.end(good(), NOW), None);
        assert_eq!(subscription.state(), State::Paused);
    }

    #[test]
    fn additional_relations_begin_a_round_at_once_and_removed_ones_do_not() {
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
    fn linked_resources_have_their_own_retry_time_apart_from_the_feed() {
        let mut subscription = Subscription::new(wanted(10, &["enclosure"]), ANNA);
        subscription.begin(NOW);
        let linked: Location = "http://example.org/a".parse().unwrap();
        let later = SortedMap::from([(linked.clone(), minutes_later(2))]);
        subscription.end(End::Fetched { not_before: None, later }, NOW);
        assert_eq!(subscription.due(), Some(minutes_later(2)));
        assert_eq!(subscription.elapse(minutes_later(2)), Some(State::Ready));
        let mut round = subscription.begin(minutes_later(2)).unwrap();
        let fetch = round.take_next().unwrap();
        assert_eq!((fetch.location.clone(), round.take_next()), (linked, None));
        round.settle(fetch, round::FetchResult::Fetched(Vec::new()));
        let end = round.end().unwrap();
        assert_eq!(subscription.end(end, minutes_later(3)), Some(State::Waiting));
        assert_eq!(subscription.due(), Some(minutes_later(10)), "of the feed");
        subscription.elapse(minutes_later(10));
        let whole = subscription.begin(minutes_later(10)).unwrap();
        assert_eq!(whole, Round::whole(subscription.feed(), None));
    }
}
