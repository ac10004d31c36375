//! Invalidation of stored representations after requests outside the outbox (RFC 9111 4.4).
//!
//! A successful request with an unsafe method invalidates the stored representations of its target, and of
//! addresses of the same origin in `Location` and `Content-Location`. This applies to all partitions. Invalid
//! representations are not served while there is a network. The document of a feed stays for applications
//! without a network, and a new round begins. Other representations are removed and requested again.

use std::collections::BTreeMap;

use http::header::{self, HeaderMap};
use http::{Method, StatusCode};

use super::step::Step;
use super::stored::Stored;
use super::tasks::TaskPurpose;
use super::{Interceptor, SubscriptionId};
use crate::authentication::Partition;
use crate::interception::Role;
use crate::location::Location;
use crate::propagation::named;
use crate::time::Time;

/// Safe methods (IANA's registry of HTTP methods).
const SAFE: [&str; 9] =
    ["GET", "HEAD", "OPTIONS", "TRACE", "PRI", "PROPFIND", "QUERY", "REPORT", "SEARCH"];

/// Whether a request may change data of its server.
pub fn is_unsafe(method: &Method) -> bool {
    !SAFE.contains(&method.as_str())
}

impl Interceptor {
    /// Applies the response to a request that was forwarded past the outbox.
    pub fn passed_through<S: Stored>(
        &mut self,
        stored: &S,
        (method, target): (&Method, &Location),
        status: StatusCode,
        headers: &HeaderMap,
        now: Time,
    ) -> Result<Step, S::Error> {
        let mut step = Step::default();
        if is_unsafe(method) && (status.is_success() || status.is_redirection()) {
            self.invalidate(stored, &mut step, target, now)?;
            self.invalidate_named(stored, &mut step, target, headers, &[], now)?;
        }
        self.count(&mut step);
        Ok(step)
    }

    /// Applies a request that may have changed data of the server and got no response.
    pub fn may_have_changed<S: Stored>(
        &mut self,
        stored: &S,
        (method, target): (&Method, &Location),
        now: Time,
    ) -> Result<Step, S::Error> {
        let mut step = Step::default();
        if is_unsafe(method) {
            self.invalidate(stored, &mut step, target, now)?;
        }
        self.count(&mut step);
        Ok(step)
    }

    /// Invalidates the addresses that a response to an edit names, except those `known` from that response.
    pub(super) fn invalidate_named<S: Stored>(
        &mut self,
        stored: &S,
        step: &mut Step,
        target: &Location,
        headers: &HeaderMap,
        known: &[Location],
        now: Time,
    ) -> Result<(), S::Error> {
        for name in [header::LOCATION, header::CONTENT_LOCATION] {
            let Some(location) = named(headers, name, target) else { continue };
            let is_own = location.is_same_origin(target) && location != *target;
            if is_own && !known.contains(&location) {
                self.invalidate(stored, step, &location, now)?;
            }
        }
        Ok(())
    }

    fn invalidate<S: Stored>(
        &mut self,
        stored: &S,
        step: &mut Step,
        location: &Location,
        now: Time,
    ) -> Result<(), S::Error> {
        self.outdate_requests(location);
        let mut whose: BTreeMap<SubscriptionId, (Partition, Role)> = BTreeMap::new();
        // Resources that a running round has stored belong to no feed before the round ends.
        for (id, stored_subscription) in &self.stored_subscriptions {
            if self.in_progress.contains_key(id) {
                whose.insert(*id, (stored_subscription.subscription.partition(), Role::Unknown));
            }
        }
        for resource in stored.resources(location)? {
            if let Some(stored_subscription) =
                self.stored_subscription_of(resource.partition, &resource.feed)
            {
                whose.insert(stored_subscription.id, (resource.partition, resource.role));
            }
        }
        for (id, (partition, role)) in whose {
            if stored.representation(partition, location)?.is_none() {
                continue;
            }
            let is_own = self.stored_subscriptions.get(&id).map(|it| it.subscription.feed())
                == Some(location);
            if is_own || matches!(role, Role::Feed | Role::FeedAndCollection) {
                self.stale.insert((partition, location.clone()));
                self.start_round_soon(step, id, now);
            } else {
                self.represent_keeping_attempts(step, partition, location, None);
                self.requested.insert((id, location.clone()));
            }
        }
        Ok(())
    }

    /// Begins a round of a feed as soon as possible.
    pub(super) fn start_round_soon(&mut self, step: &mut Step, id: SubscriptionId, now: Time) {
        let Some(stored_subscription) = self.stored_subscriptions.get_mut(&id) else { return };
        let state = stored_subscription.subscription.refresh();
        self.store(step, id);
        self.state_event(step, id, state, now);
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
        let of =
            self.tasks.iter().filter(|(_, errand)| is_of(&errand.purpose, &errand.task.location));
        let of: Vec<_> = of.map(|(id, _)| *id).collect();
        self.outdated.extend(of);
    }
}
