//! Decisions about the requests of an application (BITSY 3).

use http::header::IF_MATCH;
use http::{HeaderMap, Method};

use super::identity::{SenderIdentity, brings_credentials};
use super::reply::Reply;
use super::stored::{Representation, Resource, Stored};
use super::{Interceptor, Policy, SubscriptionId};
use crate::authentication::Partition;
use crate::interception::{Action, Role, Situation, local_tag};
use crate::location::Location;
use crate::outbox::Edit;
use crate::profile::Profile;
use crate::propagation;
use crate::time::Time;

/// A request of an application, without its body.
#[derive(Debug, Clone, Copy)]
pub struct Request<'r> {
    /// Method of the request.
    pub method: &'r Method,
    /// Address of the requested resource.
    pub location: &'r Location,
    /// Headers of the request.
    pub headers: &'r HeaderMap,
}

/// Decision about a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The request and its response are forwarded unchanged, and nothing is stored.
    Pass,
    /// The request is an edit that is sent to its server while the application waits. The proposal names the
    /// address. The body is stored until [`Interceptor::forwarded`] has received the result.
    ForwardEdit(Box<Proposed>),
    /// The request is an edit that waits here. Its body is stored, and then it is [added](Interceptor::take).
    QueueEdit(Box<Proposed>),
    /// The request gets this response.
    Answer(Box<Reply>),
}

/// An edit that an application requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposed {
    /// Partition of the application.
    pub partition: Partition,
    /// The feed whose members are edited.
    pub feed: Location,
    /// The queue in whose order the edit is sent.
    pub queue: Location,
    /// Method of the edit.
    pub method: propagation::Method,
    /// Address of the request: the collection, the member, or its media.
    pub location: Location,
    /// Next generation of the feed at the time of the request.
    pub generation: u64,
    /// Whether earlier changes must be durable before this edit is sent. Otherwise a power cut could lose the result
    /// of a POST. After this edit has changed the member, the gateway would not find it. It would then create it
    /// again.
    pub needs_sync: bool,
    /// Entity tag of the server, if the request names the local tag.
    pub tag: Option<String>,
}

/// State of an address for a request.
pub(super) struct ResourceState<'i> {
    pub(super) partition: Partition,
    pub(super) stored_subscription: SubscriptionId,
    pub(super) feed: Location,
    pub(super) role: Role,
    pub(super) representation: Option<Representation>,
    /// The last edit that is not settled.
    pub(super) edit: Option<&'i Edit<super::Entity>>,
    /// Result of a completed edit that the feed does not show yet.
    pub(super) shown: Option<&'i super::OverlayEdit>,
    entry: Option<Location>,
    location: Location,
}

/// Path of temporary addresses, for members that no server knows yet.
const PENDING: &str = "/.well-known/bitsy/pending/";

impl Interceptor {
    /// Decides about a request. Without a network every request gets a response from here.
    pub fn decide<S: Stored>(
        &self,
        stored: &S,
        request: Request<'_>,
        now: Time,
    ) -> Result<Decision, S::Error> {
        let Request { method, location, headers } = request;
        // A request with `only-if-cached` is treated as if there were no network (RFC 9111 5.2.1.7).
        let may_pass = self.policy != Policy::Offline && !is_only_if_cached(request);
        if let Some(named) = self.named(headers, location) {
            return match named {
                None => Ok(self.answer(Reply::gone())),
                Some(member) if matches!(*method, Method::GET | Method::HEAD) => {
                    Ok(self.answer(Reply::moved(member)))
                }
                Some(member) => self.decide(stored, Request { location: member, ..request }, now),
            };
        }
        let is_edit = matches!(*method, Method::POST | Method::PUT | Method::DELETE);
        let resource = match self.identify(stored, location, headers, is_edit)? {
            SenderIdentity::Known(resource) => resource,
            SenderIdentity::NoSubscription if is_pending(location) => {
                return Ok(self.answer(Reply::gone()));
            }
            SenderIdentity::NoSubscription if may_pass => return Ok(Decision::Pass),
            SenderIdentity::NoSubscription => return Ok(self.answer(Reply::unreachable(location))),
            SenderIdentity::OtherCredentials(..)
                if may_pass
                    && self.reachability.is_reachable(location)
                    && self.settings.profile == Profile::Resilient =>
            {
                return Ok(Decision::Pass);
            }
            SenderIdentity::OtherCredentials(unknown, feed) => {
                return Ok(self.answer(Reply::unknown(&unknown, &feed)));
            }
        };
        let Some(found) = self.found(stored, resource, location)? else {
            return Ok(Decision::Pass);
        };
        let is_online =
            may_pass && self.reachability.is_reachable(location) && !is_pending(location);
        let action = self.situation(&found, headers, is_edit, is_online).action(method);
        Ok(match action {
            Action::Edit(how) => Decision::QueueEdit(Box::new(self.proposed(found, how, request))),
            Action::Forward if is_edit => match edit_of(method) {
                Some(how) if found.role.takes(how) => {
                    Decision::ForwardEdit(Box::new(self.proposed(found, how, request)))
                }
                _ => Decision::Pass,
            },
            Action::Forward => Decision::Pass,
            // The resource may exist although it is not stored. The application receives the server's
            // response.
            Action::Unreachable if may_pass && !is_pending(location) => Decision::Pass,
            Action::Unreachable => self.answer(Reply::unreachable(location)),
            Action::Gone => self.answer(Reply::gone()),
            Action::Options(allow) => self.answer(Reply::options(allow)),
            Action::Edited | Action::Stored => {
                if !self.accepts(headers, &found) {
                    return Ok(match is_online {
                        true => Decision::Pass,
                        false => self.answer(Reply::not_acceptable()),
                    });
                }
                self.answer(self.shows(found, location, is_online, now))
            }
        })
    }

    fn answer(&self, reply: Reply) -> Decision {
        Decision::Answer(Box::new(reply))
    }

    /// Collects the state of an address.
    pub(super) fn found<S: Stored>(
        &self,
        stored: &S,
        resource: Resource,
        location: &Location,
    ) -> Result<Option<ResourceState<'_>>, S::Error> {
        let Resource { partition, feed, role, entry, .. } = resource;
        let Some(stored_subscription) = self.stored_subscription_of(partition, &feed) else {
            return Ok(None);
        };
        let representation = stored.representation(partition, location)?;
        let shown = self.shown_at(partition, location);
        let edit = self.outbox.last(partition, location);
        let stored_subscription = stored_subscription.id;
        let location = location.clone();
        Ok(Some(ResourceState {
            partition,
            stored_subscription,
            feed,
            role,
            representation,
            edit,
            shown,
            entry,
            location,
        }))
    }

    /// Result of a completed edit that the feed does not show yet.
    pub(super) fn shown_at(
        &self,
        partition: Partition,
        location: &Location,
    ) -> Option<&super::OverlayEdit> {
        self.shown.at(location).find(|shown| shown.partition == partition)
    }

    fn situation(
        &self,
        found: &ResourceState<'_>,
        headers: &HeaderMap,
        is_edit: bool,
        is_online: bool,
    ) -> Situation {
        let edited = found.edit.map(|edit| edit.requested.method);
        let shown = found.shown.map(|shown| match shown.entity {
            Some(_) => propagation::Method::Put,
            None => propagation::Method::Delete,
        });
        // A completed edit does not delay other edits. The server judges these as long as it is reachable.
        let is_gone = |method: &propagation::Method| *method == propagation::Method::Delete;
        let shown = shown.filter(|method| !is_edit || (!is_online && is_gone(method)));
        let entry = found.entry.as_ref();
        let entry_is_deleted = entry.is_some_and(|entry| self.is_deleted(found.partition, entry));
        let queue = self.queue_of(found);
        // A new member could be taken for one that waits here and may have arrived. Other edits could not.
        let waits = match found.role.is_collection() {
            true => self.outbox.waits(found.partition, &queue),
            false => self.outbox.moves(found.partition, &queue),
        };
        let is_stale = is_online
            && found
                .representation
                .as_ref()
                .is_some_and(|_| self.stale.contains(&(found.partition, found.location.clone())));
        let is_stored = !is_stale
            && found.representation.as_ref().is_some_and(|representation| {
                let is_refusal = representation.status == http::StatusCode::UNAUTHORIZED;
                // The stored 401 applies to requests without credentials only.
                let is_theirs =
                    found.partition != Partition::public() || !brings_credentials(headers);
                representation.is_success() || (is_refusal && is_theirs) || !is_online
            });
        Situation {
            role: found.role,
            edited: edited.or(shown),
            entry_is_deleted,
            is_stored,
            is_online,
            waits,
        }
    }

    /// Whether a member was deleted here. Its media are deleted with it.
    pub(super) fn is_deleted(&self, partition: Partition, entry: &Location) -> bool {
        let last = self.outbox.last(partition, entry).map(|edit| edit.requested.method);
        let shown = || self.shown_at(partition, entry).is_some_and(|shown| shown.entity.is_none());
        last.map_or_else(shown, |method| method == propagation::Method::Delete)
    }

    /// The queue of a resource's edits: the collection, or the feed if it has none.
    fn queue_of(&self, found: &ResourceState<'_>) -> Location {
        let collection = self
            .stored_subscriptions
            .get(&found.stored_subscription)
            .and_then(|stored_subscription| stored_subscription.collection.clone());
        collection.unwrap_or_else(|| found.feed.clone())
    }

    fn proposed(
        &self,
        found: ResourceState<'_>,
        method: propagation::Method,
        request: Request<'_>,
    ) -> Proposed {
        let location = request.location;
        let queue = match method {
            propagation::Method::Post => location.clone(),
            _ => self.queue_of(&found),
        };
        let tag = self.known_as(&found, request.headers);
        let ResourceState { partition, feed, .. } = found;
        let generation = self.counters.generation;
        Proposed {
            partition,
            feed,
            queue,
            method,
            location: location.clone(),
            generation,
            needs_sync: self.is_ahead,
            tag,
        }
    }

    /// The server's entity tag for a representation that a request names by its local tag.
    fn known_as(&self, found: &ResourceState<'_>, headers: &HeaderMap) -> Option<String> {
        let wanted = headers.get(IF_MATCH)?.to_str().ok()?.trim();
        let given = self.tag_of(found);
        let is_ours = wanted.starts_with("\"local-") && given.iter().any(|tag| tag == wanted);
        given.iter().find(|tag| is_ours && tag.starts_with('"') && *tag != wanted).cloned()
    }

    /// Whether a request accepts the representation that would be shown (R-B28).
    fn accepts(&self, headers: &HeaderMap, found: &ResourceState<'_>) -> bool {
        let Some(stored_subscription) = self.stored_subscriptions.get(&found.stored_subscription)
        else {
            return true;
        };
        let edited = found.edit.and_then(|edit| edit.requested.body.as_ref());
        let shown = found.shown.and_then(|shown| shown.entity.as_ref());
        let stored = found.representation.as_ref().map(|stored| &stored.headers);
        let headers_of = edited.or(shown).map(|entity| &entity.headers).or(stored);
        let registered = stored_subscription.subscription.registered();
        headers_of.is_none_or(|of| crate::negotiation::is_acceptable(headers, of, registered))
    }

    /// Entity tags by which applications know the present representation of an address.
    pub(super) fn tag_of(&self, found: &ResourceState<'_>) -> Vec<String> {
        if let Some(edit) = found.edit {
            return edit.requested.body.iter().map(|body| local_tag(body.content)).collect();
        }
        let shown = found.shown.and_then(|shown| shown.entity.as_ref());
        if let Some(entity) = shown {
            let given = entity.headers.get(http::header::ETAG).and_then(|tag| tag.to_str().ok());
            let ours = local_tag(entity.content);
            return given.map(str::to_owned).into_iter().chain([ours]).collect();
        }
        let Some(stored) = &found.representation else { return Vec::new() };
        let tag = stored.headers.get(http::header::ETAG).and_then(|tag| tag.to_str().ok());
        tag.map(str::to_owned).into_iter().chain(stored.alias_tag.clone()).collect()
    }
}

impl Role {
    /// Whether a resource of this role accepts edits of this method.
    fn takes(self, method: propagation::Method) -> bool {
        match method {
            propagation::Method::Post => self.is_collection(),
            _ => self == Self::Synchronizable,
        }
    }
}

/// Temporary address of a new member, until its server has assigned one.
pub(super) fn pending(collection: &Location, key: &str) -> Location {
    let text = format!("{}{PENDING}{key}", collection.origin());
    text.parse().unwrap_or_else(|_| collection.clone())
}

/// Whether an address is temporary. Such addresses are never requested from a server.
pub(super) fn is_pending(location: &Location) -> bool {
    location.as_str()[location.origin().len()..].starts_with(PENDING)
}

fn is_only_if_cached(request: Request<'_>) -> bool {
    let is_read = matches!(*request.method, Method::GET | Method::HEAD);
    let said = request.headers.get_all(http::header::CACHE_CONTROL).iter();
    let mut said = said.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    is_read && said.any(|one| one.trim().eq_ignore_ascii_case("only-if-cached"))
}

fn edit_of(method: &Method) -> Option<propagation::Method> {
    match *method {
        Method::POST => Some(propagation::Method::Post),
        Method::PUT => Some(propagation::Method::Put),
        Method::DELETE => Some(propagation::Method::Delete),
        _ => None,
    }
}
