//! Decisions about the requests of an application (BITSY 3).

mod identity;
mod shows;

pub(crate) use shows::Acknowledged;

use http::header::IF_MATCH;
use http::{HeaderMap, Method};

use crate::authentication::Partition;
use crate::interception::local_tag;
use crate::interception::{Action, Role, Situation};
use crate::interceptor::context::Context;
use crate::interceptor::pending::is_pending;
use crate::interceptor::proposed::Proposed;
use crate::interceptor::reply::Reply;
use crate::interceptor::responder::identity::{SenderIdentity, brings_credentials};
use crate::interceptor::settings::Policy;
use crate::interceptor::state::State;
use crate::interceptor::step::OverlayEdit;
use crate::interceptor::stored::{Entity, Representation, Resource, Stored};
use crate::interceptor::stored_subscription::SubscriptionId;
use crate::location::Location;
use crate::outbox::Edit;
use crate::profile::Profile;
use crate::propagation;
use crate::validation::entity_tag;

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
    /// address. The body is stored until [`Delivery::forwarded`](super::Delivery::forwarded) has received the result.
    ForwardEdit(Box<Proposed>),
    /// The request is an edit that waits here. Its body is stored, and then it is [added](super::Delivery::take).
    QueueEdit(Box<Proposed>),
    /// The request gets this response.
    Answer(Box<Reply>),
}

/// State of an address for a request.
pub(crate) struct ResourceState<'i> {
    pub(crate) partition: Partition,
    pub(crate) stored_subscription: SubscriptionId,
    pub(crate) feed: Location,
    pub(crate) role: Role,
    pub(crate) representation: Option<Representation>,
    /// The last edit that is not settled.
    pub(crate) edit: Option<&'i Edit<Entity>>,
    /// Result of a completed edit that the feed does not show yet.
    pub(crate) shown: Option<&'i OverlayEdit>,
    entry: Option<Location>,
    location: Location,
}

/// Answers the requests of applications. It changes nothing.
#[derive(Debug, Clone, Copy)]
pub struct Responder<'s> {
    state: &'s State,
}

impl State {
    /// The role that answers applications.
    pub fn responder(&self) -> Responder<'_> {
        Responder { state: self }
    }
}

impl<'s> Responder<'s> {
    /// Decides about a request. Without a network every request gets a response from here.
    pub fn decide<S: Stored>(
        &self,
        cx: Context<'_, S>,
        request: Request<'_>,
    ) -> Result<Decision, S::Error> {
        let Request { method, location, headers } = request;
        // A request with `only-if-cached` is treated as if there were no network (RFC 9111 5.2.1.7).
        let may_pass = self.state.policy != Policy::Offline && !is_only_if_cached(request);
        if let Some(named) = self.named(headers, location) {
            return match named {
                None => Ok(self.answer(Reply::gone())),
                Some(member) if matches!(*method, Method::GET | Method::HEAD) => {
                    Ok(self.answer(Reply::moved(member)))
                }
                Some(member) => self.decide(cx, Request { location: member, ..request }),
            };
        }
        let is_edit = matches!(*method, Method::POST | Method::PUT | Method::DELETE);
        let resource = match self.identify(cx, location, headers, is_edit)? {
            SenderIdentity::Known(resource) => resource,
            SenderIdentity::NoSubscription if is_pending(location) => {
                return Ok(self.answer(Reply::gone()));
            }
            SenderIdentity::NoSubscription if may_pass => return Ok(Decision::Pass),
            SenderIdentity::NoSubscription => return Ok(self.answer(Reply::unreachable(location))),
            SenderIdentity::OtherCredentials(..)
                if may_pass
                    && self.state.reachability.is_reachable(location)
                    && self.state.settings.profile == Profile::Resilient =>
            {
                return Ok(Decision::Pass);
            }
            SenderIdentity::OtherCredentials(unknown, feed) => {
                return Ok(self.answer(Reply::unknown(&unknown, &feed)));
            }
        };
        let Some(found) = self.found(cx, resource, location)? else {
            return Ok(Decision::Pass);
        };
        let is_online =
            may_pass && self.state.reachability.is_reachable(location) && !is_pending(location);
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
                self.answer(self.shows(found, location, is_online, cx.now))
            }
        })
    }

    fn answer(&self, reply: Reply) -> Decision {
        Decision::Answer(Box::new(reply))
    }

    /// Collects the state of an address.
    pub(crate) fn found<S: Stored>(
        &self,
        cx: Context<'_, S>,
        resource: Resource,
        location: &Location,
    ) -> Result<Option<ResourceState<'_>>, S::Error> {
        let Resource { partition, feed, role, entry, .. } = resource;
        let Some(stored_subscription) = self.state.stored_subscription_of(partition, &feed) else {
            return Ok(None);
        };
        let representation = cx.stored.representation(partition, location)?;
        let shown = self.state.shown_at(partition, location);
        let edit = self.state.outbox.last(partition, location);
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
        let entry_is_deleted =
            entry.is_some_and(|entry| self.state.is_deleted(found.partition, entry));
        let queue = self.queue_of(found);
        // A new member could be taken for one that waits here and may have arrived. Other edits could not.
        let waits = match found.role.is_collection() {
            true => self.state.outbox.waits(found.partition, &queue),
            false => self.state.outbox.moves(found.partition, &queue),
        };
        let is_stale = is_online
            && found.representation.as_ref().is_some_and(|_| {
                self.state.stale.contains(&(found.partition, found.location.clone()))
            });
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

    /// The queue of a resource's edits: the collection, or the feed if it has none.
    fn queue_of(&self, found: &ResourceState<'_>) -> Location {
        let collection = self
            .state
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
        let generation = self.state.counters.generation;
        Proposed {
            partition,
            feed,
            queue,
            method,
            location: location.clone(),
            generation,
            needs_sync: self.state.is_ahead,
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
        let Some(stored_subscription) =
            self.state.stored_subscriptions.get(&found.stored_subscription)
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
    pub(crate) fn tag_of(&self, found: &ResourceState<'_>) -> Vec<String> {
        if let Some(edit) = found.edit {
            return edit.requested.body.iter().map(|body| local_tag(body.content)).collect();
        }
        let shown = found.shown.and_then(|shown| shown.entity.as_ref());
        if let Some(entity) = shown {
            let given = entity_tag(&entity.headers);
            let ours = local_tag(entity.content);
            return given.map(str::to_owned).into_iter().chain([ours]).collect();
        }
        let Some(stored) = &found.representation else { return Vec::new() };
        let tag = entity_tag(&stored.headers);
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

fn is_only_if_cached(request: Request<'_>) -> bool {
    let is_read = matches!(*request.method, Method::GET | Method::HEAD);
    let said = request.headers.get_all(http::header::CACHE_CONTROL).iter();
    let mut said = said.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    is_read && said.any(|one| one.trim().eq_ignore_ascii_case("only-if-cached"))
}

pub(crate) fn edit_of(method: &Method) -> Option<propagation::Method> {
    match *method {
        Method::POST => Some(propagation::Method::Post),
        Method::PUT => Some(propagation::Method::Put),
        Method::DELETE => Some(propagation::Method::Delete),
        _ => None,
    }
}
