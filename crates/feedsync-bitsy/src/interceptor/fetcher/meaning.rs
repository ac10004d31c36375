//! Meaning of the responses to requests of a round (BITSY 2.1.3). Finding it out reads stored data, and changes
//! nothing.

use feedsync_formats::MemberFeed;
use http::{HeaderValue, StatusCode, header};

use crate::cache_headers;
use crate::cache_headers::Timing;
use crate::collections::SortedSet;
use crate::interceptor::context::Context;
use crate::interceptor::document::{
    base, can_be, feed_of, is_configuration, is_gone, is_page, read_only,
};
use crate::interceptor::exchange::Exchange;
use crate::interceptor::round::{ActiveRound, RoundFindings};
use crate::interceptor::state::{Posted, State};
use crate::interceptor::stored::{Representation, Stored};
use crate::interceptor::stored_subscription::{StoredSubscription, SubscriptionId};
use crate::links::{targets, targets_of_plain};
use crate::location::Location;
use crate::profile::Profile;
use crate::proxy::Configuration;
use crate::subscription::outcome;
use crate::subscription::round::{Fetch, Part};
use crate::time::Time;
use crate::validation::{renewed, validates};

/// Meaning of a response.
pub(super) enum Meaning {
    /// The server asks for a retry at this time.
    Later(Time),
    /// The resource is at another address.
    Moved { to: Location, for_good: bool },
    /// The response contains the requested resource.
    Read(Box<Reading>),
    /// The response is not the requested kind of resource. It may be the page of a captive portal.
    OtherKind { is_portal: bool },
    /// The response says that another representation than the stored one is unchanged. So the resource is
    /// requested without conditions (RFC 9111 4.3.3).
    OtherUnchanged,
    /// The network requires a sign-in (511).
    NeedsSignIn,
    /// The resource is missing because it was deleted here. The feed that led there is older than the deletion.
    DeletedHere,
    /// The server responded with an error, and applications may be to get it.
    Error { is_stored: bool },
    /// The response is invalid.
    Invalid,
}

/// Content of a response.
pub(super) enum Reading {
    /// A proxy configuration.
    Proxy(Configuration, Representation),
    /// A document of the feed, with the generations of resources that were seen before, and the resources that
    /// the document leads to.
    Document { findings: RoundFindings, seen: Vec<(Location, u64)>, targets: Vec<(Part, Location)> },
    /// A linked resource, and whether an attempt to change it may still arrive at its server.
    Linked { representation: Representation, may_arrive: bool },
    /// A linked resource that must not be stored.
    NotStorable,
}

/// A response to a request of a round.
#[derive(Clone, Copy)]
pub(super) struct RoundResponse<'a> {
    pub(super) id: SubscriptionId,
    pub(super) fetch: &'a Fetch,
    pub(super) exchange: Exchange<'a>,
}

/// A response of a round, and what its meaning depends on.
pub(super) struct Interpretation<'a, S> {
    pub(super) state: &'a State,
    pub(super) cx: Context<'a, S>,
    pub(super) in_progress: &'a ActiveRound,
    pub(super) stored_subscription: &'a StoredSubscription,
    pub(super) response: RoundResponse<'a>,
}

impl<S: Stored> Interpretation<'_, S> {
    /// Finds out what the response means.
    pub(super) fn meaning(&self) -> Result<Meaning, S::Error> {
        let RoundResponse { fetch, exchange, .. } = self.response;
        Ok(match outcome::Outcome::of(exchange.status, exchange.headers, self.cx.now) {
            outcome::Outcome::Later(time) => Meaning::Later(time),
            outcome::Outcome::Moved { to, for_good } => {
                let to = Location::resolve(Some(&fetch.request), &to);
                to.map_or(Meaning::Invalid, |to| Meaning::Moved { to, for_good })
            }
            outcome::Outcome::Stored => self.stored()?,
            outcome::Outcome::Unchanged => self.unchanged()?,
            outcome::Outcome::Failed
                if exchange.status == StatusCode::NETWORK_AUTHENTICATION_REQUIRED =>
            {
                Meaning::NeedsSignIn
            }
            outcome::Outcome::Failed if self.was_deleted()? => Meaning::DeletedHere,
            outcome::Outcome::Failed => {
                let has_good = self.known_good()?.is_some();
                Meaning::Error { is_stored: self.is_error_stored(has_good) }
            }
        })
    }

    /// Meaning of a response with a new representation.
    fn stored(&self) -> Result<Meaning, S::Error> {
        let RoundResponse { fetch, exchange, .. } = self.response;
        let had = self.known_good()?.is_some();
        let read = self.read(self.new_representation(), true)?;
        let is_portal = had && is_page(exchange.headers) && fetch.part == Part::Feed;
        Ok(read.map_or(Meaning::OtherKind { is_portal }, |read| Meaning::Read(Box::new(read))))
    }

    /// Meaning of a response that the stored representation is still valid.
    fn unchanged(&self) -> Result<Meaning, S::Error> {
        let RoundResponse { fetch, exchange, .. } = self.response;
        let known = self.known_good()?;
        // Without a condition in the request, this response is an error.
        let Some(known) = known.filter(|_| exchange.is_conditional()) else {
            return Ok(Meaning::Invalid);
        };
        if !validates(exchange.headers, &known.headers) {
            return Ok(Meaning::OtherUnchanged);
        }
        let headers = renewed(known.headers, exchange.headers, self.timing());
        let representation = Representation { headers, fetched: self.cx.now, ..known };
        let read = self.read(representation, false)?;
        let is_portal = is_page(exchange.headers) && fetch.part == Part::Feed;
        Ok(read.map_or(Meaning::OtherKind { is_portal }, |read| Meaning::Read(Box::new(read))))
    }

    fn timing(&self) -> Timing {
        Timing { requested: self.response.exchange.requested, answered: self.cx.now }
    }

    /// The stored representation of the requested resource, unless it is an error.
    fn known_good(&self) -> Result<Option<Representation>, S::Error> {
        let partition = self.stored_subscription.subscription.partition();
        let known = self.cx.stored.representation(partition, &self.response.fetch.location)?;
        Ok(known.filter(Representation::is_success))
    }

    /// Whether the resource is missing because it or its entry was deleted here.
    fn was_deleted(&self) -> Result<bool, S::Error> {
        let RoundResponse { fetch, exchange, .. } = self.response;
        if !is_gone(exchange.status) || fetch.part != Part::Linked {
            return Ok(false);
        }
        let partition = self.stored_subscription.subscription.partition();
        let known = self.cx.stored.resources(&fetch.location)?.into_iter();
        let entries = known.filter(|it| it.partition == partition).filter_map(|it| it.entry);
        let mut deletable = entries.chain([fetch.location.clone()]);
        Ok(deletable.any(|location| self.state.is_deleted(partition, &location)))
    }

    /// Representation to store for the response. After a redirection it names its address, because relative
    /// addresses in it refer to that.
    fn new_representation(&self) -> Representation {
        let RoundResponse { fetch, exchange, .. } = self.response;
        let mut headers = cache_headers::stored_headers(exchange.headers, self.timing());
        if fetch.request != fetch.location && !headers.contains_key(header::CONTENT_LOCATION) {
            let from = HeaderValue::from_str(fetch.request.as_str()).ok();
            headers.extend(from.map(|from| (header::CONTENT_LOCATION, from)));
        }
        let (status, content, fetched) = (StatusCode::OK, exchange.content, self.cx.now);
        Representation { status, headers, content, fetched, alias_tag: None }
    }

    /// Reads a representation, which is new or the stored one. Returns none if it is not the requested kind of
    /// resource (2.1.3).
    fn read(
        &self,
        representation: Representation,
        is_new: bool,
    ) -> Result<Option<Reading>, S::Error> {
        let (cx, fetch) = (self.cx, self.response.fetch);
        let subscription = &self.stored_subscription.subscription;
        let (partition, feed) = (subscription.partition(), subscription.feed());
        let (headers, content) = (&representation.headers, representation.content);
        Ok(match fetch.part {
            Part::Proxy => {
                let read = Configuration::read(&cx.stored.content(&content)?, &fetch.location);
                let read = read.ok().filter(|_| is_configuration(headers));
                read.map(|read| Reading::Proxy(read, representation))
            }
            Part::Feed | Part::Page => self.read_document(representation, is_new)?,
            Part::Linked if !can_be(cx.stored, headers, content)? => None,
            Part::Linked => {
                let honours = self.state.settings.honours_no_store;
                if !cache_headers::is_storable(feed, &fetch.location, headers, honours) {
                    return Ok(Some(Reading::NotStorable));
                }
                let at = (partition, &fetch.location);
                let may_arrive = self.state.may_arrive(cx, at, content)?;
                Some(Reading::Linked { representation, may_arrive })
            }
        })
    }

    /// Reads a document of the feed.
    fn read_document(
        &self,
        representation: Representation,
        is_new: bool,
    ) -> Result<Option<Reading>, S::Error> {
        let fetch = self.response.fetch;
        let bytes = self.cx.stored.content(&representation.content)?;
        let address = base(&representation.headers, &fetch.location);
        let follows = self.stored_subscription.subscription.follows();
        let is_first = fetch.part == Part::Feed;
        let document = feed_of(&bytes, &address);
        let mut findings = RoundFindings { is_new, ..RoundFindings::default() };
        let targets = match &document {
            Some(document) => {
                findings.take(&fetch.location, &address, document, is_first);
                targets(document, &address, &follows)
            }
            None => match read_only(&bytes, &address) {
                Some(links) => {
                    findings.take_read_only(&fetch.location, is_first);
                    targets_of_plain(&links, &address, &follows)
                }
                None => return Ok(None),
            },
        };
        for (_, location) in targets.iter().filter(|(part, _)| *part == Part::Linked) {
            findings.linked(location);
        }
        let mut seen = Vec::new();
        if is_new || self.stored_subscription.followed.as_ref() != Some(&follows) {
            let so_far = self.in_progress.findings.unassigned();
            for location in findings.unassigned().chain(so_far).collect::<SortedSet<_>>() {
                let before = self.seen(location)?;
                seen.extend(before.map(|before| (location.clone(), before)));
            }
        }
        if let Some(document) = &document {
            self.find_members(&mut findings, document, &address)?;
        }
        findings.documents.insert(fetch.location.clone(), representation);
        Ok(Some(Reading::Document { findings, seen, targets }))
    }

    /// Looks in a document for created members whose address is unknown.
    fn find_members(
        &self,
        findings: &mut RoundFindings,
        document: &MemberFeed,
        address: &Location,
    ) -> Result<(), S::Error> {
        let so_far = &self.in_progress.findings;
        let subscription = &self.stored_subscription.subscription;
        let (partition, feed) = (subscription.partition(), subscription.feed());
        for (pending, content, generation) in self.state.unnamed(partition, feed) {
            let posted = Posted { partition, feed, content: &content, generation };
            let places = self.state.candidate_addresses(self.cx, posted, document, address)?;
            let mut places = places.into_iter();
            let place = places.find(|place| !so_far.has(place) && !findings.has(place));
            place.into_iter().for_each(|place| findings.find(&pending, place));
        }
        Ok(())
    }

    /// Generation in which a resource of the feed was first seen, if it was seen before.
    fn seen(&self, location: &Location) -> Result<Option<u64>, S::Error> {
        let subscription = &self.stored_subscription.subscription;
        let known = self.cx.stored.resources(location)?.into_iter();
        let mut known = known.filter(|it| {
            it.partition == subscription.partition() && it.feed == *subscription.feed()
        });
        Ok(known.next().map(|it| it.seen))
    }

    /// Whether an error response is stored, for applications to get it (2.1.3, 4.3, R-B20). A 401 is always
    /// stored. In the strict profile a 403, 404 or 410 is stored, too. Any error is stored if no good
    /// representation is.
    fn is_error_stored(&self, has_good: bool) -> bool {
        let is_strict = self.state.settings.profile == Profile::Strict;
        let spoils = match self.response.exchange.status.as_u16() {
            401 => true,
            403 | 404 | 410 => is_strict || !has_good,
            _ => !has_good,
        };
        spoils && self.response.fetch.part != Part::Proxy
    }
}
