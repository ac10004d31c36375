//! A subscription with what is known of its feed.

use crate::collections::SortedSet;
use crate::location::Location;
use crate::relation::Relation;
use crate::subscription::Subscription;

/// Number of a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SubscriptionId(pub u64);

/// A stored subscription, and what is known of its feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSubscription {
    /// Number of the subscription.
    pub id: SubscriptionId,
    /// The subscription. A closed one stays until its edits are settled (2.1.2).
    pub subscription: Subscription,
    /// Collection of the feed (1.3).
    pub collection: Option<Location>,
    /// Permanent new address of the feed, if it has moved.
    pub moved: Option<Location>,
    /// Relations that were followed for the stored data; none if no data are stored.
    pub followed: Option<SortedSet<Relation>>,
}
