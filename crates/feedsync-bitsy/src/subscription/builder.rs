//! Builder of the request for a subscription (BITSY 2.1.1).

use crate::authentication::Credentials;
use crate::collections::SortedSet;
use crate::headers::{HeaderError, RegisteredHeaders};
use crate::location::{Location, LocationError};
use crate::relation::{Relation, RelationError};

/// Maximum number of relations that one application follows in one subscription.
const MAX_RELATIONS: usize = 64;

/// Collects the parameters of a subscription, in any order of calls.
#[derive(Debug, Clone, Default)]
pub struct SubscriptionBuilder {
    document: Option<Location>,
    feed: Option<Location>,
    registered: RegisteredHeaders,
    interval: u16,
    follows: SortedSet<Relation>,
    proxy: Option<Location>,
}

/// Reason why a subscription cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// No feed was named.
    #[error("no feed is set")]
    NoFeed,
    /// The address of the feed, or of the proxy configuration, is invalid.
    #[error(transparent)]
    Location(#[from] LocationError),
    /// A header cannot be registered.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// A relation is invalid.
    #[error(transparent)]
    Relation(#[from] RelationError),
    /// More relations than the limit.
    #[error("more than {MAX_RELATIONS} link relations")]
    TooManyRelations,
}

/// Parameters of a requested subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionRequest {
    /// Address of the feed.
    pub feed: Location,
    /// Headers that are sent and that identify the application.
    pub registered: RegisteredHeaders,
    /// Minimum time between two rounds, in minutes; 0 stands for the default (R-B11).
    pub interval: u16,
    /// Relations of the links that are followed.
    pub follows: SortedSet<Relation>,
    /// Address of the configuration of the emulated proxy.
    pub proxy: Option<Location>,
}

impl SubscriptionBuilder {
    /// Creates a builder. Relative addresses are resolved against the address of the application's document,
    /// if it has one.
    pub fn new(document: Option<Location>) -> Self {
        Self { document, ..Self::default() }
    }

    /// Sets the feed (`setFeed`).
    pub fn set_feed(&mut self, url: &str) -> Result<&mut Self, BuildError> {
        self.feed = Some(Location::resolve(self.document.as_ref(), url)?);
        Ok(self)
    }

    /// Registers a header and replaces its previous value (`setRequestHeader`).
    pub fn set_request_header(&mut self, name: &str, value: &str) -> Result<&mut Self, BuildError> {
        self.registered.set(name, value)?;
        Ok(self)
    }

    /// Adds a value to a header (`addRequestHeader`).
    pub fn add_request_header(&mut self, name: &str, value: &str) -> Result<&mut Self, BuildError> {
        self.registered.add(name, value)?;
        Ok(self)
    }

    /// Sets the minimum time between two rounds, in minutes (`setInterval`).
    pub fn set_interval(&mut self, minutes: u16) -> &mut Self {
        self.interval = minutes;
        self
    }

    /// Adds a relation to follow (`addFollow`).
    pub fn add_follow(&mut self, relation: &str) -> Result<&mut Self, BuildError> {
        self.follows.insert(relation.parse()?);
        if self.follows.len() > MAX_RELATIONS {
            return Err(BuildError::TooManyRelations);
        }
        Ok(self)
    }

    /// Sets the proxy configuration (`setProxy`).
    pub fn set_proxy(&mut self, url: &str) -> Result<&mut Self, BuildError> {
        self.proxy = Some(Location::resolve(self.document.as_ref(), url)?);
        Ok(self)
    }

    /// Builds the request (`build`).
    pub fn build(&self) -> Result<SubscriptionRequest, BuildError> {
        let feed = self.feed.clone().ok_or(BuildError::NoFeed)?;
        Ok(SubscriptionRequest {
            feed,
            registered: self.registered.clone(),
            interval: self.interval,
            follows: self.follows.clone(),
            proxy: self.proxy.clone(),
        })
    }
}

impl SubscriptionRequest {
    /// Whether one subscription serves both requests: the same feed in the same partition. The stored variant
    /// is that of the first request. Applications that need another variant are answered by the server, or
    /// not without a network (3, R-B28).
    pub fn matches(&self, other: &Self) -> bool {
        let partition = |wanted: &Self| Credentials::of(&wanted.registered).partition();
        self.feed == other.feed && partition(self) == partition(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(
        build: impl Fn(&mut SubscriptionBuilder) -> Result<(), BuildError>,
    ) -> SubscriptionRequest {
        let mut builder = SubscriptionBuilder::new(None);
        builder.set_feed("http://example.org/feed").unwrap();
        build(&mut builder).unwrap();
        builder.build().unwrap()
    }

    #[test]
    fn calls_come_in_any_order_and_a_feed_is_among_them() {
        let document = "http://example.org/app/".parse().unwrap();
        let mut builder = SubscriptionBuilder::new(Some(document));
        assert_eq!(builder.build(), Err(BuildError::NoFeed));
        builder.set_interval(5).add_follow("Enclosure").unwrap().set_proxy("proxy.xml").unwrap();
        builder.set_feed("../feed").unwrap();
        let wanted = builder.build().unwrap();
        assert_eq!(wanted.feed.as_str(), "http://example.org/feed");
        assert_eq!(wanted.proxy.unwrap().as_str(), "http://example.org/app/proxy.xml");
        assert_eq!(wanted.interval, 5);
        assert!(wanted.follows.contains(&"enclosure".parse().unwrap()));
        let mut nowhere = SubscriptionBuilder::new(None);
        assert!(matches!(nowhere.set_feed("feed"), Err(BuildError::Location(_))));
        assert!(
            nowhere.add_follow("a b").is_err() && nowhere.add_request_header("a b", "").is_err()
        );
        let many = (0..=MAX_RELATIONS).find_map(|n| nowhere.add_follow(&format!("r{n}")).err());
        assert_eq!(many, Some(BuildError::TooManyRelations));
    }

    #[test]
    fn a_subscription_serves_who_wants_the_same_of_the_same() {
        let plain = wanted(|_| Ok(()));
        let alike = wanted(|builder| {
            builder
                .set_feed("HTTP://EXAMPLE.ORG:80/feed")?
                .set_interval(9)
                .add_follow("related")?;
            builder.set_request_header("User-Agent", "x")?;
            Ok(())
        });
        assert!(plain.matches(&alike) && alike.matches(&plain));
        let variant = wanted(|builder| {
            builder.set_request_header("Accept-Language", "da")?;
            builder.set_proxy("http://example.org/proxy.xml").map(|_| ())
        });
        assert!(plain.matches(&variant), "one variant is stored for all");
        let set = |name: &'static str, value: &'static str| {
            wanted(move |builder| builder.set_request_header(name, value).map(|_| ()))
        };
        let others = [
            set("Authorization", "Bearer x"),
            set("Cookie", "a=1"),
            set("X-Api-Key", "secret"),
            wanted(|builder| builder.set_feed("http://example.org/other").map(|_| ())),
        ];
        for other in others {
            assert!(!plain.matches(&other), "{other:?}");
        }
    }
}
