//! A subscription taken apart, for storage.

use std::collections::BTreeMap;

use super::builder::Wanted;
use super::state::State;
use super::{Failure, Hold, Holder, Subscription};
use crate::authentication::Credentials;
use crate::location::Location;
use crate::time::Time;

/// All that a subscription is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// What the first application wanted.
    pub wanted: Wanted,
    /// Where it stands.
    pub state: State,
    /// When the feed may be asked for again; none if it may now.
    pub due: Option<Time>,
    /// When what it links to is asked for again, where a server wants it later.
    pub retries: BTreeMap<Location, Time>,
    /// Whether somebody asked for more while a round was under way.
    pub again: bool,
    /// When the server last answered for the feed, by the server's clock.
    pub last_updated: Option<Time>,
    /// The first failure of the last round.
    pub failure: Option<Failure>,
    /// What each application asks for.
    pub holders: BTreeMap<Holder, Hold>,
}

impl Subscription {
    /// What it is made of.
    pub fn parts(&self) -> Parts {
        Parts {
            wanted: self.wanted.clone(),
            state: self.state,
            due: self.due,
            retries: self.retries.clone(),
            again: self.again,
            last_updated: self.last_updated,
            failure: self.failure.clone(),
            holders: self.holders.clone(),
        }
    }

    /// The subscription that was made of these.
    pub fn restored(parts: Parts) -> Self {
        let Parts { wanted, state, due, retries, again, last_updated, failure, holders } = parts;
        let partition = Credentials::of(&wanted.registered).partition();
        Self { wanted, partition, state, due, retries, again, last_updated, failure, holders }
    }
}

#[cfg(test)]
mod tests {
    use super::super::End;
    use super::super::builder::SubscriptionBuilder;
    use super::*;

    #[test]
    fn a_subscription_is_the_same_again_of_its_parts() {
        let mut builder = SubscriptionBuilder::new(None);
        builder.set_feed("http://example.org/feed").unwrap().set_interval(7);
        builder.set_proxy("http://example.org/proxy").unwrap();
        builder.add_follow("enclosure").unwrap();
        builder.set_request_header("Authorization", "Basic eA==").unwrap();
        let wanted = builder.build().unwrap();
        let mut subscription = Subscription::new(wanted.clone(), Holder(1));
        let same = |it: &Subscription| assert_eq!(Subscription::restored(it.parts()), *it);
        same(&subscription);
        let now = Time::from_millis(1_000);
        subscription.begin(now).unwrap();
        let relation = "related".parse().unwrap();
        subscription.add_follow(Holder(1), relation).unwrap();
        same(&subscription);
        subscription.answered(now);
        let later = BTreeMap::from([("http://example.org/a".parse().unwrap(), now)]);
        subscription.end(End::Fetched { not_before: Some(now), later }, now).unwrap();
        subscription.join(&wanted, Holder(2));
        same(&subscription);
        subscription.resume().unwrap();
        subscription.begin(now).unwrap();
        let status = http::StatusCode::NOT_FOUND;
        subscription.fails(Failure { location: wanted.feed.clone(), status });
        subscription.end(End::Failed, now).unwrap();
        assert!(subscription.failure().is_some());
        same(&subscription);
        subscription.close();
        same(&subscription);
    }
}
