//! What an application asks for when it subscribes (BITSY 2.1.1).

use std::collections::BTreeSet;

use crate::authentication::Credentials;
use crate::headers::{HeaderError, Registered};
use crate::location::{Location, LocationError};
use crate::relation::{Relation, RelationError};

/// Relations that one application follows in one subscription at most.
const RELATIONS: usize = 64;

/// Collects what a subscription is to be, in any order of calls.
#[derive(Debug, Clone, Default)]
pub struct SubscriptionBuilder {
    document: Option<Location>,
    feed: Option<Location>,
    registered: Registered,
    interval: u16,
    follows: BTreeSet<Relation>,
    proxy: Option<Location>,
}

/// Why there is no subscription.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// No feed was named.
    #[error("no feed was named")]
    NoFeed,
    /// The address of the feed, or of the configuration of a proxy, is none.
    #[error(transparent)]
    Location(#[from] LocationError),
    /// A header cannot be registered.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// A relation is none.
    #[error(transparent)]
    Relation(#[from] RelationError),
    /// More relations than are followed.
    #[error("more than {RELATIONS} link relations")]
    TooManyRelations,
}

/// What an application wants to have subscribed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The feed.
    pub feed: Location,
    /// The headers that are sent, and by which the application is known.
    pub registered: Registered,
    /// Minutes between two rounds at least; 0 leaves it to us (R-B11).
    pub interval: u16,
    /// The relations of links that are followed.
    pub follows: BTreeSet<Relation>,
    /// The configuration of the proxy that is emulated.
    pub proxy: Option<Location>,
}

impl SubscriptionBuilder {
    /// A builder for an application whose document has this address, if it has one: against it relative
    /// addresses are resolved.
    pub fn new(document: Option<Location>) -> Self {
        Self { document, ..Self::default() }
    }

    /// Names the feed (`setFeed`).
    pub fn set_feed(&mut self, url: &str) -> Result<&mut Self, BuildError> {
        self.feed = Some(Location::resolve(self.document.as_ref(), url)?);
        Ok(self)
    }

    /// Registers a header in place of another (`setRequestHeader`).
    pub fn set_request_header(&mut self, name: &str, value: &str) -> Result<&mut Self, BuildError> {
        self.registered.set(name, value)?;
        Ok(self)
    }

    /// Registers one more value of a header (`addRequestHeader`).
    pub fn add_request_header(&mut self, name: &str, value: &str) -> Result<&mut Self, BuildError> {
        self.registered.add(name, value)?;
        Ok(self)
    }

    /// Sets the least number of minutes between two rounds (`setInterval`).
    pub fn set_interval(&mut self, minutes: u16) -> &mut Self {
        self.interval = minutes;
        self
    }

    /// Has links of a relation followed (`addFollow`).
    pub fn add_follow(&mut self, relation: &str) -> Result<&mut Self, BuildError> {
        self.follows.insert(relation.parse()?);
        if self.follows.len() > RELATIONS {
            return Err(BuildError::TooManyRelations);
        }
        Ok(self)
    }

    /// Names the configuration of a proxy (`setProxy`).
    pub fn set_proxy(&mut self, url: &str) -> Result<&mut Self, BuildError> {
        self.proxy = Some(Location::resolve(self.document.as_ref(), url)?);
        Ok(self)
    }

    /// What is wanted (`build`).
    pub fn build(&self) -> Result<Wanted, BuildError> {
        let feed = self.feed.clone().ok_or(BuildError::NoFeed)?;
        Ok(Wanted {
            feed,
            registered: self.registered.clone(),
            interval: self.interval,
            follows: self.follows.clone(),
            proxy: self.proxy.clone(),
        })
    }
}

impl Wanted {
    /// Whether one subscription serves both: the same feed for the same people. One variant of it is stored, that
    /// of who came first; who wants another is answered by its server, or not without a network (3, R-B28).
    pub fn matches(&self, other: &Self) -> bool {
        let partition = |wanted: &Self| Credentials::of(&wanted.registered).partition();
        self.feed == other.feed && partition(self) == partition(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(build: impl Fn(&mut SubscriptionBuilder) -> Result<(), BuildError>) -> Wanted {
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
        let many = (0..=RELATIONS).find_map(|n| nowhere.add_follow(&format!("r{n}")).err());
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
