//! Who asks, as far as an address is concerned (BITSY 4.3, 4.4, R-B37).

use http::HeaderMap;
use http::header::COOKIE;

use super::Interceptor;
use super::asking::is_pending;
use super::stored::{Resource, Stored};
use crate::authentication::{Partition, Unknown};
use crate::headers::AUTHORIZATION;
use crate::interception::Role;
use crate::location::Location;
use crate::subscription::state::State;

/// Who asks, as far as an address is concerned.
pub(super) enum Who {
    /// Somebody who subscribed.
    Known(Resource),
    /// Somebody else than those who did.
    Stranger(Unknown, Location),
    /// It is nobody's.
    Anybody,
}

impl Interceptor {
    /// Where a member is that had an address of ours, for who may know; none if it is nowhere.
    pub(super) fn named(
        &self,
        headers: &HeaderMap,
        location: &Location,
    ) -> Option<Option<&Location>> {
        if !is_pending(location) {
            return None;
        }
        let of = self.named.of(location);
        of.filter(|(partition, _)| self.is_known(*partition, headers))
            .map(|(_, member)| member)
            .next()
    }

    /// Whether a request comes from one of a partition; that of the public is everybody's (R-B37).
    fn is_known(&self, partition: Partition, headers: &HeaderMap) -> bool {
        let credentials = self.credentials.get(&partition);
        credentials.is_some_and(|known| known.is_public() || known.check(headers).is_ok())
    }

    /// Who asks. Private data comes before public data; an edit that brings credentials of its own is not
    /// made in the name of the public, whose edits are sent without any.
    pub(super) fn who<S: Stored>(
        &self,
        stored: &S,
        location: &Location,
        headers: &HeaderMap,
        is_edit: bool,
    ) -> Result<Who, S::Error> {
        let mut candidates = self.candidates(stored, location)?;
        let public = Partition::public();
        candidates.sort_by_key(|resource| (resource.partition == public, rank(resource.role)));
        let mut stranger = None;
        for resource in candidates {
            let Some(credentials) = self.credentials.get(&resource.partition) else { continue };
            let check = credentials.check(headers);
            let is_read_of_public = credentials.is_public() && !is_edit;
            match check {
                Ok(()) if credentials.is_public() && is_edit && headers.contains_key(COOKIE) => {
                    stranger = Some((Unknown::cookie(), resource.feed));
                }
                Ok(()) => return Ok(Who::Known(resource)),
                Err(_) if is_read_of_public => return Ok(Who::Known(resource)),
                Err(unknown) => stranger = Some((unknown, resource.feed)),
            }
        }
        Ok(stranger.map_or(Who::Anybody, |(unknown, feed)| Who::Stranger(unknown, feed)))
    }

    /// What an address is, to all who subscribed.
    fn candidates<S: Stored>(
        &self,
        stored: &S,
        location: &Location,
    ) -> Result<Vec<Resource>, S::Error> {
        let mut candidates = stored.resources(location)?;
        let kept = self.addresses.get(location).into_iter().flatten();
        for keeping in kept.filter_map(|id| self.keepings.get(id)) {
            let subscription = &keeping.subscription;
            let is_feed = subscription.feed() == location;
            let is_collection = keeping.collection.as_ref() == Some(location);
            let role = match (is_feed, is_collection) {
                (true, true) => Role::FeedAndCollection,
                (true, false) => Role::Feed,
                _ => Role::Collection,
            };
            let (partition, feed) = (subscription.partition(), subscription.feed().clone());
            candidates.push(Resource { partition, feed, role, entry: None, seen: 0 });
        }
        let edits = self.outbox.at(location).map(|edit| (edit.asked.partition, &edit.asked.feed));
        let shown = self.shown.at(location).filter(|shown| shown.resource == *location);
        let edited = edits.chain(shown.map(|shown| (shown.partition, &shown.feed)));
        candidates.extend(edited.map(|(partition, feed)| {
            let role = Role::Synchronizable;
            Resource { partition, feed: feed.clone(), role, entry: None, seen: 0 }
        }));
        candidates.retain(|resource| {
            let keeping = self.keeping_of(resource.partition, &resource.feed);
            keeping.is_some_and(|keeping| keeping.subscription.state() != State::Closed)
        });
        Ok(candidates)
    }
}

/// Whether a request says who asks.
pub(super) fn brings_credentials(headers: &HeaderMap) -> bool {
    AUTHORIZATION.iter().any(|name| headers.contains_key(name))
}

/// Where an address is several things, what may be done most with it comes first.
fn rank(role: Role) -> u8 {
    match role {
        Role::FeedAndCollection => 0,
        Role::Feed => 1,
        Role::Collection => 2,
        Role::Synchronizable => 3,
        Role::Subscribable => 4,
        Role::Unknown => 5,
    }
}
