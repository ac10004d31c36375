//! Meaning of the responses to requests of a round (BITSY 2.1.3).

use http::StatusCode;
use http::header::{self, HeaderMap, HeaderValue};

use super::document::{base, can_be, feed_of, is_configuration, is_page, read_only};
use super::fetching::Underway;
use super::settling::without_secrets;
use super::step::{Step, Task};
use super::stored::{Content, Representation, Stored};
use super::{Interceptor, KeepingId};
use crate::answer::{self, Timing};
use crate::event::Interaction;
use crate::links::{leads, leads_of_plain};
use crate::location::Location;
use crate::profile::Profile;
use crate::proxy::Configuration;
use crate::subscription::Failure;
use crate::subscription::outcome::Outcome;
use crate::subscription::round::{Fetch, Part, Settled};
use crate::time::Time;
use crate::validation::{renewed, validates};

/// Number of times that a page in place of a feed is attributed to a captive portal (R-B43).
const PORTALS: u32 = 10;

/// A request and its response, for events.
pub(super) struct Exchange<'a> {
    pub(super) task: &'a Task,
    /// Time at which the request was made.
    pub(super) asked: Time,
    pub(super) status: StatusCode,
    pub(super) headers: &'a HeaderMap,
    pub(super) content: Content,
}

impl Interceptor {
    #[expect(clippy::too_many_arguments, reason = "a request, its answer, time and chance")]
    pub(super) fn answered<S: Stored>(
        &mut self,
        stored: &S,
        step: &mut Step,
        id: KeepingId,
        underway: &mut Underway,
        fetch: &Fetch,
        exchange: Exchange<'_>,
        now: Time,
        random: u64,
    ) -> Result<Settled, S::Error> {
        let Exchange { status, headers, content, .. } = exchange;
        if fetch.part == Part::Feed {
            self.dated(id, headers, now);
        }
        match Outcome::of(status, headers, now) {
            Outcome::Later(time) => {
                self.tell(step, id, exchange, None, now);
                Ok(Settled::Later(time))
            }
            Outcome::Moved { to, for_good } => match Location::resolve(Some(&fetch.request), &to) {
                Ok(to) => {
                    if for_good && fetch.part == Part::Feed {
                        underway.gathered.moved = Some(to.clone());
                    }
                    Ok(Settled::Moved(to))
                }
                Err(_) => {
                    self.failed(step, id, exchange, now);
                    Ok(Settled::Failed)
                }
            },
            outcome @ (Outcome::Stored | Outcome::Unchanged) => {
                let is_new = outcome == Outcome::Stored;
                let partition = self.keepings.get(&id).map(|kept| kept.subscription.partition());
                let known = match partition {
                    Some(partition) => stored.representation(partition, &fetch.location)?,
                    None => None,
                };
                let known = known.filter(Representation::is_good);
                let had = known.is_some();
                let known = known.filter(|_| is_new || exchange.is_conditional());
                let timing = Timing { asked: exchange.asked, answered: now };
                let representation = match (is_new, known) {
                    (false, Some(known)) if validates(headers, &known.headers) => {
                        let headers = renewed(known.headers, headers, timing);
                        Representation { headers, fetched: now, ..known }
                    }
                    // The 304 is about another response than the stored one, which is therefore fetched
                    // without condition (RFC 9111 4.3.3).
                    (false, Some(_)) => {
                        underway.unconditional.insert(fetch.location.clone());
                        return Ok(Settled::Lost);
                    }
                    // The request had no condition, so a 304 is an error.
                    (false, None) => {
                        self.failed(step, id, exchange, now);
                        return Ok(Settled::Failed);
                    }
                    (true, _) => self.fresh(fetch, headers, content, timing),
                };
                let read = self.read(stored, id, underway, fetch, representation, is_new, step)?;
                if let Some(leads) = read {
                    return Ok(Settled::Fetched(leads));
                }
                let is_portal = had && is_page(headers) && fetch.part == Part::Feed;
                if is_portal
                    && self.settings.profile == Profile::Resilient
                    && underway.portals < PORTALS
                {
                    underway.portals += 1;
                    self.reach.lost(&fetch.request, now, random);
                    return Ok(Settled::Lost);
                }
                self.failed(step, id, exchange, now);
                Ok(Settled::Failed)
            }
            Outcome::Failed if status == StatusCode::NETWORK_AUTHENTICATION_REQUIRED => {
                self.reach.lost(&fetch.request, now, random);
                Ok(Settled::Lost)
            }
            // The feed that led there is older than the deletion.
            Outcome::Failed if self.was_deleted(stored, id, fetch, status)? => {
                Ok(Settled::Fetched(Vec::new()))
            }
            Outcome::Failed => {
                if let Some(keeping) =
                    self.keepings.get_mut(&id).filter(|_| fetch.part == Part::Feed)
                {
                    keeping.moved = None;
                }
                self.spoiled(stored, step, id, fetch, &exchange, now)?;
                self.failed(step, id, exchange, now);
                Ok(Settled::Failed)
            }
        }
    }

    /// Whether a resource is missing because it or its entry was deleted here.
    fn was_deleted<S: Stored>(
        &self,
        stored: &S,
        id: KeepingId,
        fetch: &Fetch,
        status: StatusCode,
    ) -> Result<bool, S::Error> {
        let is_gone = matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE);
        let keeping = self.keepings.get(&id);
        let Some(keeping) = keeping.filter(|_| is_gone && fetch.part == Part::Linked) else {
            return Ok(false);
        };
        let partition = keeping.subscription.partition();
        let known = stored.resources(&fetch.location)?.into_iter();
        let entries = known.filter(|it| it.partition == partition).filter_map(|it| it.entry);
        let mut deletable = entries.chain([fetch.location.clone()]);
        Ok(deletable.any(|location| self.is_deleted(partition, &location)))
    }

    /// Representation to store for a response. After a redirection it names its address, because relative
    /// addresses in it refer to that.
    fn fresh(
        &self,
        fetch: &Fetch,
        headers: &HeaderMap,
        content: Content,
        timing: Timing,
    ) -> Representation {
        let mut headers = answer::kept(headers, timing);
        if fetch.request != fetch.location && !headers.contains_key(header::CONTENT_LOCATION) {
            let from = HeaderValue::from_str(fetch.request.as_str()).ok();
            headers.extend(from.map(|from| (header::CONTENT_LOCATION, from)));
        }
        let (status, fetched) = (StatusCode::OK, timing.answered);
        Representation { status, headers, content, fetched, also: None }
    }

    /// Reads a response and returns the resources that it leads to. Returns none if it is not the requested
    /// kind of resource (2.1.3).
    #[expect(clippy::too_many_arguments, reason = "a request, its answer and where they belong")]
    fn read<S: Stored>(
        &mut self,
        stored: &S,
        id: KeepingId,
        underway: &mut Underway,
        fetch: &Fetch,
        representation: Representation,
        is_new: bool,
        step: &mut Step,
    ) -> Result<Option<Vec<(Part, Location)>>, S::Error> {
        let Some(keeping) = self.keepings.get(&id) else { return Ok(None) };
        let (partition, feed) = (keeping.subscription.partition(), keeping.subscription.feed());
        let content = &representation.content;
        match fetch.part {
            Part::Proxy => {
                let read = Configuration::read(&stored.content(content)?, &fetch.location);
                let is_typed = is_configuration(&representation.headers);
                let Some(read) = read.ok().filter(|_| is_typed) else { return Ok(None) };
                self.proxies.insert(id, read);
                underway.gathered.linked(&fetch.location);
                self.represent(step, partition, &fetch.location, Some(representation));
                Ok(Some(Vec::new()))
            }
            Part::Feed | Part::Page => {
                let bytes = stored.content(content)?;
                let address = base(&representation.headers, &fetch.location);
                let follows = keeping.subscription.follows();
                let is_first = fetch.part == Part::Feed;
                let document = feed_of(&bytes, &address);
                let leads = match &document {
                    Some(document) => {
                        underway.gathered.take(&fetch.location, &address, document, is_first);
                        leads(document, &address, &follows)
                    }
                    None => match read_only(&bytes, &address) {
                        Some(plain) => {
                            underway.gathered.take_read_only(&fetch.location, is_first);
                            leads_of_plain(&plain, &address, &follows)
                        }
                        None => return Ok(None),
                    },
                };
                for (_, location) in leads.iter().filter(|(part, _)| *part == Part::Linked) {
                    underway.gathered.linked(location);
                }
                if is_new || keeping.followed.as_ref() != Some(&follows) {
                    self.seen(stored, partition, feed, &mut underway.gathered)?;
                }
                for (pending, posted, generation) in self.unnamed(partition, feed) {
                    let Some(document) = &document else { break };
                    let whose = (partition, feed);
                    let posted = (&posted, generation);
                    let places = self.places_of(stored, whose, posted, document, &address)?;
                    let place = places.into_iter().find(|place| !underway.gathered.has(place));
                    place.into_iter().for_each(|place| underway.gathered.find(&pending, place));
                }
                underway.gathered.is_new |= is_new;
                underway.gathered.documents.insert(fetch.location.clone(), representation);
                Ok(Some(leads))
            }
            Part::Linked => {
                if !can_be(stored, &representation.headers, *content)? {
                    return Ok(None);
                }
                let honours = self.settings.honours_no_store;
                if answer::is_storable(feed, &fetch.location, &representation.headers, honours) {
                    let at = (partition, &fetch.location);
                    if self.may_arrive(stored, at, *content)? {
                        self.represent_still(
                            step,
                            partition,
                            &fetch.location,
                            Some(representation),
                        );
                    } else {
                        self.represent(step, partition, &fetch.location, Some(representation));
                    }
                }
                Ok(Some(Vec::new()))
            }
        }
    }

    /// Notes the time of the server's response for the feed, by the server's clock (2.1.2).
    fn dated(&mut self, id: KeepingId, headers: &HeaderMap, now: Time) {
        let date = headers.get(header::DATE).and_then(|date| Time::of_date(date.to_str().ok()?));
        if let Some(keeping) = self.keepings.get_mut(&id) {
            keeping.subscription.answered(date.unwrap_or(now));
        }
    }

    /// Stores an error response, where applications are to get it (2.1.3, 4.3, R-B20). A 401 is always
    /// stored. In the strict profile a 403, 404 or 410 is stored, too. Any error is stored if no good
    /// representation is.
    fn spoiled<S: Stored>(
        &mut self,
        stored: &S,
        step: &mut Step,
        id: KeepingId,
        fetch: &Fetch,
        exchange: &Exchange<'_>,
        now: Time,
    ) -> Result<(), S::Error> {
        let Some(keeping) = self.keepings.get(&id) else { return Ok(()) };
        let partition = keeping.subscription.partition();
        let known = stored.representation(partition, &fetch.location)?;
        let is_strict = self.settings.profile == Profile::Strict;
        let has_good = known.is_some_and(|known| known.is_good());
        let spoils = match exchange.status.as_u16() {
            401 => true,
            403 | 404 | 410 => is_strict || !has_good,
            _ => !has_good,
        };
        if spoils && fetch.part != Part::Proxy {
            let representation = Representation {
                status: exchange.status,
                headers: answer::kept(
                    exchange.headers,
                    Timing { asked: exchange.asked, answered: now },
                ),
                content: exchange.content,
                fetched: now,
                also: None,
            };
            self.represent(step, partition, &fetch.location, Some(representation));
        }
        Ok(())
    }

    /// Records an error of a subscription (2.1.3).
    pub(super) fn failed(
        &mut self,
        step: &mut Step,
        id: KeepingId,
        exchange: Exchange<'_>,
        now: Time,
    ) {
        if let Some(keeping) = self.keepings.get_mut(&id) {
            let (location, status) = (exchange.task.location.clone(), exchange.status);
            keeping.subscription.fails(Failure { location, status });
        }
        self.tell(step, id, exchange, Some(None), now);
    }

    /// Creates the event for an exchange.
    fn tell(
        &mut self,
        step: &mut Step,
        id: KeepingId,
        exchange: Exchange<'_>,
        is_error: Option<Option<Content>>,
        now: Time,
    ) {
        let Some(keeping) = self.keepings.get(&id) else { return };
        let (partition, feed) =
            (keeping.subscription.partition(), keeping.subscription.feed().clone());
        self.interacted(step, (partition, &feed), exchange.interaction(now), is_error);
    }
}

impl Exchange<'_> {
    /// Whether the request named the validators of the stored response.
    fn is_conditional(&self) -> bool {
        let conditions = [header::IF_NONE_MATCH, header::IF_MODIFIED_SINCE];
        conditions.iter().any(|condition| self.task.headers.contains_key(condition))
    }

    /// The exchange in the form of events for applications.
    pub(super) fn interaction(&self, now: Time) -> Interaction<Option<Content>> {
        Interaction {
            status: self.status,
            time: now,
            location: self.task.location.clone(),
            method: self.task.method.to_string(),
            request_headers: without_secrets(&self.task.headers),
            request_body: self.task.body,
            response_headers: self.headers.clone(),
            response_body: Some(self.content),
        }
    }
}
