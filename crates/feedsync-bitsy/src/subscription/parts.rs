//! Conversion of subscriptions for storage.

use super::builder::SubscriptionRequest;
use super::state::State;
use super::{Failure, Hold, Holder, Subscription};
use crate::authentication::Credentials;
use crate::collections::SortedMap;
use crate::location::Location;
use crate::time::Time;

/// The stored parts of a subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// Request of the first application.
    pub wanted: SubscriptionRequest,
    /// State of the subscription.
    pub state: State,
    /// Time from which the feed may be fetched again; none if it may be fetched now.
    pub due: Option<Time>,
    /// Times at which linked resources are fetched again, where a server asked for a delay.
    pub retries: SortedMap<Location, Time>,
    /// Whether another round was requested during the present one.
    pub again: bool,
    /// Time of the server's last response for the feed, by the server's clock.
    pub last_updated: Option<Time>,
    /// First failure of the last round.
    pub failure: Option<Failure>,
    /// Requests of each application.
    pub holders: SortedMap<Holder, Hold>,
}

impl Subscription {
    /// Returns the parts of the subscription.
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

    /// Restores a subscription from its parts.
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
    fn subscription_is_restored_from_its_parts() {
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
        let later = SortedMap::from([("http://example.org/a".parse().unwrap(), now)]);
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
