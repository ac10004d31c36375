//! Invalidation of stored representations after requests outside the outbox (RFC 9111 4.4).
//!
//! A successful request with an unsafe method invalidates the stored representations of its target, and of
//! addresses of the same origin in `Location` and `Content-Location`. This applies to all partitions. Invalid
//! representations are not served while there is a network. The document of a feed stays for applications
//! without a network, and a new round begins. Other representations are removed and requested again.

use http::{HeaderMap, Method, header};

use crate::authentication::Partition;
use crate::collections::SortedMap;
use crate::interception::Role;
use crate::interceptor::context::{Context, Draft};
use crate::interceptor::state::State;
use crate::interceptor::stored::Stored;
use crate::interceptor::stored_subscription::SubscriptionId;
use crate::interceptor::tasks::TaskPurpose;
use crate::location::Location;
use crate::propagation::named;

/// Safe methods (IANA's registry of HTTP methods).
const SAFE: [&str; 9] =
    ["GET", "HEAD", "OPTIONS", "TRACE", "PRI", "PROPFIND", "QUERY", "REPORT", "SEARCH"];

/// Whether a request may change data of its server.
pub fn is_unsafe(method: &Method) -> bool {
    !SAFE.contains(&method.as_str())
}

/// An address whose stored representations a request made invalid.
pub(crate) struct Invalidated {
    location: Location,
    /// Subscriptions that store a representation, their partitions, and whether it is a document of their feed.
    of: Vec<(SubscriptionId, Partition, bool)>,
}

impl State {
    /// Finds the representations that a request to `target` made invalid.
    pub(crate) fn invalidated<S: Stored>(
        &self,
        cx: Context<'_, S>,
        target: &Location,
    ) -> Result<Invalidated, S::Error> {
        let mut whose: SortedMap<SubscriptionId, (Partition, Role)> = SortedMap::new();
        // Resources that a running round has stored belong to no feed before the round ends.
        for (id, stored_subscription) in &self.stored_subscriptions {
            if self.in_progress.contains_key(id) {
                whose.insert(*id, (stored_subscription.subscription.partition(), Role::Unknown));
            }
        }
        for resource in cx.stored.resources(target)? {
            if let Some(stored_subscription) =
                self.stored_subscription_of(resource.partition, &resource.feed)
            {
                whose.insert(stored_subscription.id, (resource.partition, resource.role));
            }
        }
        let mut of = Vec::new();
        for (id, (partition, role)) in whose {
            if cx.stored.representation(partition, target)?.is_none() {
                continue;
            }
            let is_own =
                self.stored_subscriptions.get(&id).map(|it| it.subscription.feed()) == Some(target);
            let is_document = is_own || matches!(role, Role::Feed | Role::FeedAndCollection);
            of.push((id, partition, is_document));
        }
        Ok(Invalidated { location: target.clone(), of })
    }

    /// Finds the representations of the addresses that a response to an edit names, except those `known` from
    /// that response.
    pub(crate) fn invalidated_by<S: Stored>(
        &self,
        cx: Context<'_, S>,
        target: &Location,
        headers: &HeaderMap,
        known: &[Location],
    ) -> Result<Vec<Invalidated>, S::Error> {
        let mut all = Vec::new();
        for name in [header::LOCATION, header::CONTENT_LOCATION] {
            let Some(location) = named(headers, name, target) else { continue };
            let is_own = location.is_same_origin(target) && location != *target;
            if is_own && !known.contains(&location) {
                all.push(self.invalidated(cx, &location)?);
            }
        }
        Ok(all)
    }

    /// Invalidates representations.
    pub(crate) fn invalidate(&mut self, draft: &mut Draft, invalidated: Invalidated) {
        let Invalidated { location, of } = invalidated;
        self.outdate_requests(&location);
        for (id, partition, is_document) in of {
            // The subscription may have ended with the edit that invalidates.
            if !self.stored_subscriptions.contains_key(&id) {
                continue;
            }
            if is_document {
                self.stale.insert((partition, location.clone()));
                self.start_round_soon(draft, id);
            } else {
                self.represent_keeping_attempts(draft, partition, &location, None);
                self.requested.insert((id, location.clone()));
            }
        }
    }

    /// Marks requests that began before a change, because their responses may be outdated.
    fn outdate_requests(&mut self, location: &Location) {
        let is_of = |purpose: &TaskPurpose, at: &Location| match purpose {
            TaskPurpose::Fetch { fetch, .. } => fetch.location == *location || at == location,
            TaskPurpose::Learn { location: learns, .. } => learns == location,
            TaskPurpose::Send { .. }
            | TaskPurpose::Verify { .. }
            | TaskPurpose::Ask { .. }
            | TaskPurpose::Find { .. } => false,
        };
        let of = self.tasks.iter().filter(|(_, it)| is_of(&it.purpose, &it.task.location));
        let of: Vec<_> = of.map(|(id, _)| *id).collect();
        self.outdated.extend(of);
    }
}
