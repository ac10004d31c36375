//! Stored representations that somebody else's edit has outdated (RFC 9111 4.4).
//!
//! A successful request with an unsafe method invalidates what is stored of its target, and of what `Location` and
//! `Content-Location` name in the same origin, whoever stored it. What is invalid is not served while there is a
//! network. Of a feed the gateway keeps the document for applications without a network, and begins a new round;
//! anything else it forgets and asks for again.

use std::collections::BTreeMap;

use http::header::{self, HeaderMap};
use http::{Method, StatusCode};

use super::background::What;
use super::step::Step;
use super::stored::Stored;
use super::{Interceptor, KeepingId};
use crate::authentication::Partition;
use crate::interception::Role;
use crate::location::Location;
use crate::propagation::named;
use crate::time::Time;

/// Methods that change nothing (IANA's registry of HTTP methods).
const SAFE: [&str; 9] =
    ["GET", "HEAD", "OPTIONS", "TRACE", "PRI", "PROPFIND", "QUERY", "REPORT", "SEARCH"];

/// Whether a request may change what its server has.
pub fn is_unsafe(method: &Method) -> bool {
    !SAFE.contains(&method.as_str())
}

impl Interceptor {
    /// Takes in that a server answered a request which went past the outbox.
    pub fn passed<S: Stored>(
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

    /// Takes in that a request may have changed what its server has, and was not answered.
    pub fn perhaps_changed<S: Stored>(
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

    /// Invalidates what the answer to an edit names besides what is `known` from that answer.
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
        let mut whose: BTreeMap<KeepingId, (Partition, Role)> = BTreeMap::new();
        // What a round has stored already belongs to no feed before it ends.
        for (id, keeping) in &self.keepings {
            if self.underway.contains_key(id) {
                whose.insert(*id, (keeping.subscription.partition(), Role::Unknown));
            }
        }
        for resource in stored.resources(location)? {
            if let Some(keeping) = self.keeping_of(resource.partition, &resource.feed) {
                whose.insert(keeping.id, (resource.partition, resource.role));
            }
        }
        for (id, (partition, role)) in whose {
            if stored.representation(partition, location)?.is_none() {
                continue;
            }
            let is_own = self.keepings.get(&id).map(|it| it.subscription.feed()) == Some(location);
            if is_own || matches!(role, Role::Feed | Role::FeedAndCollection) {
                self.stale.insert((partition, location.clone()));
                self.round_now(step, id, now);
            } else {
                self.represent_still(step, partition, location, None);
                self.asked.insert((id, location.clone()));
            }
        }
        Ok(())
    }

    /// Has a feed fetched as soon as may be.
    pub(super) fn round_now(&mut self, step: &mut Step, id: KeepingId, now: Time) {
        let Some(keeping) = self.keepings.get_mut(&id) else { return };
        let state = keeping.subscription.refresh();
        self.store(step, id);
        self.told(step, id, state, now);
    }

    /// Notes requests that were begun before a change: what they find may be from before it.
    fn outdate_requests(&mut self, location: &Location) {
        let is_of = |what: &What, at: &Location| match what {
            What::Fetch { fetch, .. } => fetch.location == *location || at == location,
            What::Learn { location: learns, .. } => learns == location,
            What::Send { .. } | What::Look { .. } | What::Ask { .. } | What::Find { .. } => false,
        };
        let of = self.tasks.iter().filter(|(_, errand)| is_of(&errand.what, &errand.task.location));
        let of: Vec<_> = of.map(|(id, _)| *id).collect();
        self.outdated.extend(of);
    }
}
