//! Identity of a request's sender in relation to an address (BITSY 4.3, 4.4, R-B37).

use http::HeaderMap;
use http::header::COOKIE;

use crate::authentication::{Partition, UnknownCredentials};
use crate::headers::AUTHORIZATION;
use crate::interception::Role;
use crate::interceptor::context::Context;
use crate::interceptor::pending::is_pending;
use crate::interceptor::responder::Responder;
use crate::interceptor::stored::{Resource, Stored};
use crate::location::Location;
use crate::subscription::state::State as SubscriptionState;

/// Identity of a request's sender in relation to an address.
pub(super) enum SenderIdentity {
    /// The sender has the credentials of a subscription.
    Known(Resource),
    /// The address belongs to subscriptions with other credentials.
    OtherCredentials(UnknownCredentials, Location),
    /// The address belongs to no subscription.
    NoSubscription,
}

impl Responder<'_> {
    /// Server address of a temporary address, for senders of its partition. The inner value is none if the
    /// member does not exist.
    pub(super) fn named(
        &self,
        headers: &HeaderMap,
        location: &Location,
    ) -> Option<Option<&Location>> {
        if !is_pending(location) {
            return None;
        }
        let of = self.state.named.of(location);
        of.filter(|(partition, _)| self.is_known(*partition, headers))
            .map(|(_, member)| member)
            .next()
    }

    /// Whether a request has the credentials of a partition. All requests match the public one (R-B37).
    fn is_known(&self, partition: Partition, headers: &HeaderMap) -> bool {
        let credentials = self.state.credentials.get(&partition);
        credentials.is_some_and(|known| known.is_public() || known.check(headers).is_ok())
    }

    /// Identity of a request's sender. Private subscriptions precede public ones. An edit with credentials is
    /// not assigned to the public partition, whose edits are sent without any.
    pub(super) fn identify<S: Stored>(
        &self,
        cx: Context<'_, S>,
        location: &Location,
        headers: &HeaderMap,
        is_edit: bool,
    ) -> Result<SenderIdentity, S::Error> {
        let mut candidates = self.candidates(cx, location)?;
        let public = Partition::public();
        candidates.sort_by_key(|resource| (resource.partition == public, rank(resource.role)));
        let mut stranger = None;
        for resource in candidates {
            let Some(credentials) = self.state.credentials.get(&resource.partition) else {
                continue;
            };
            let check = credentials.check(headers);
            let is_read_of_public = credentials.is_public() && !is_edit;
            match check {
                Ok(()) if credentials.is_public() && is_edit && headers.contains_key(COOKIE) => {
                    stranger = Some((UnknownCredentials::cookie(), resource.feed));
                }
                Ok(()) => return Ok(SenderIdentity::Known(resource)),
                Err(_) if is_read_of_public => return Ok(SenderIdentity::Known(resource)),
                Err(unknown) => stranger = Some((unknown, resource.feed)),
            }
        }
        Ok(stranger.map_or(SenderIdentity::NoSubscription, |(unknown, feed)| {
            SenderIdentity::OtherCredentials(unknown, feed)
        }))
    }

    /// Roles of an address in all open subscriptions.
    fn candidates<S: Stored>(
        &self,
        cx: Context<'_, S>,
        location: &Location,
    ) -> Result<Vec<Resource>, S::Error> {
        let mut candidates = cx.stored.resources(location)?;
        let kept = self.state.addresses.get(location).into_iter().flatten();
        for stored_subscription in kept.filter_map(|id| self.state.stored_subscriptions.get(id)) {
            let subscription = &stored_subscription.subscription;
            let is_feed = subscription.feed() == location;
            let is_collection = stored_subscription.collection.as_ref() == Some(location);
            let role = match (is_feed, is_collection) {
                (true, true) => Role::FeedAndCollection,
                (true, false) => Role::Feed,
                _ => Role::Collection,
            };
            let (partition, feed) = (subscription.partition(), subscription.feed().clone());
            candidates.push(Resource { partition, feed, role, entry: None, seen: 0 });
        }
        let edits = self
            .state
            .outbox
            .at(location)
            .map(|edit| (edit.requested.partition, &edit.requested.feed));
        let shown = self.state.shown.at(location).filter(|shown| shown.resource == *location);
        let edited = edits.chain(shown.map(|shown| (shown.partition, &shown.feed)));
        candidates.extend(edited.map(|(partition, feed)| {
            let role = Role::Synchronizable;
            Resource { partition, feed: feed.clone(), role, entry: None, seen: 0 }
        }));
        candidates.retain(|resource| {
            let stored_subscription =
                self.state.stored_subscription_of(resource.partition, &resource.feed);
            stored_subscription.is_some_and(|stored_subscription| {
                stored_subscription.subscription.state() != SubscriptionState::Closed
            })
        });
        Ok(candidates)
    }
}

/// Whether a request has credentials.
pub(super) fn brings_credentials(headers: &HeaderMap) -> bool {
    AUTHORIZATION.iter().any(|name| headers.contains_key(name))
}

/// Order of roles: if an address has several, the one with the most permitted operations is first.
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
