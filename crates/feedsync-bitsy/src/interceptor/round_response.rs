//! Meaning of the responses to requests of a round (BITSY 2.1.3).

use http::StatusCode;
use http::header::{self, HeaderMap, HeaderValue};

use super::document::{base, can_be, feed_of, is_configuration, is_page, read_only};
use super::fetch::ActiveRound;
use super::settle::without_secrets;
use super::step::{Step, Task};
use super::stored::{Content, Representation, Stored};
use super::{Interceptor, SubscriptionId};
use crate::cache_headers::{self, Timing};
use crate::event::Interaction;
use crate::links::{targets, targets_of_plain};
use crate::location::Location;
use crate::profile::Profile;
use crate::proxy::Configuration;
use crate::subscription::Failure;
use crate::subscription::outcome::Outcome;
use crate::subscription::round::{Fetch, FetchResult, Part};
use crate::time::Time;
use crate::validation::{renewed, validates};

/// Number of times that a page in place of a feed is attributed to a captive portal (R-B43).
const MAX_PORTALS: u32 = 10;

/// A request and its response, for events.
pub(super) struct Exchange<'a> {
    pub(super) task: &'a Task,
    /// Time at which the request was made.
    pub(super) requested: Time,
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
        id: SubscriptionId,
        in_progress: &mut ActiveRound,
        fetch: &Fetch,
        exchange: Exchange<'_>,
        now: Time,
        random: u64,
    ) -> Result<FetchResult, S::Error> {
        let Exchange { status, headers, content, .. } = exchange;
        if fetch.part == Part::Feed {
            self.note_server_time(id, headers, now);
        }
        match Outcome::of(status, headers, now) {
            Outcome::Later(time) => {
                self.report(step, id, exchange, None, now);
                Ok(FetchResult::Later(time))
            }
            Outcome::Moved { to, for_good } => match Location::resolve(Some(&fetch.request), &to) {
                Ok(to) => {
                    if for_good && fetch.part == Part::Feed {
                        in_progress.findings.moved = Some(to.clone());
                    }
                    Ok(FetchResult::Moved(to))
                }
                Err(_) => {
                    self.failed(step, id, exchange, now);
                    Ok(FetchResult::Failed)
                }
            },
            outcome @ (Outcome::Stored | Outcome::Unchanged) => {
                let is_new = outcome == Outcome::Stored;
                let partition =
                    self.stored_subscriptions.get(&id).map(|kept| kept.subscription.partition());
                let known = match partition {
                    Some(partition) => stored.representation(partition, &fetch.location)?,
                    None => None,
                };
                let known = known.filter(Representation::is_success);
                let had = known.is_some();
                let known = known.filter(|_| is_new || exchange.is_conditional());
                let timing = Timing { requested: exchange.requested, answered: now };
                let representation = match (is_new, known) {
                    (false, Some(known)) if validates(headers, &known.headers) => {
                        let headers = renewed(known.headers, headers, timing);
                        Representation { headers, fetched: now, ..known }
                    }
                    // The 304 is about another response than the stored one, which is therefore fetched
                    // without condition (RFC 9111 4.3.3).
                    (false, Some(_)) => {
                        in_progress.unconditional.insert(fetch.location.clone());
                        return Ok(FetchResult::Lost);
                    }
                    // The request had no condition, so a 304 is an error.
                    (false, None) => {
                        self.failed(step, id, exchange, now);
                        return Ok(FetchResult::Failed);
                    }
                    (true, _) => self.new_representation(fetch, headers, content, timing),
                };
                let read =
                    self.read(stored, id, in_progress, fetch, representation, is_new, step)?;
                if let Some(targets) = read {
                    return Ok(FetchResult::Fetched(targets));
                }
                let is_portal = had && is_page(headers) && fetch.part == Part::Feed;
                if is_portal
                    && self.settings.profile == Profile::Resilient
                    && in_progress.portals < MAX_PORTALS
                {
                    in_progress.portals += 1;
                    self.reachability.lost(&fetch.request, now, random);
                    return Ok(FetchResult::Lost);
                }
                self.failed(step, id, exchange, now);
                Ok(FetchResult::Failed)
            }
            Outcome::Failed if status == StatusCode::NETWORK_AUTHENTICATION_REQUIRED => {
                self.reachability.lost(&fetch.request, now, random);
                Ok(FetchResult::Lost)
            }
            // The feed that led there is older than the deletion.
            Outcome::Failed if self.was_deleted(stored, id, fetch, status)? => {
                Ok(FetchResult::Fetched(Vec::new()))
            }
            Outcome::Failed => {
                if let Some(stored_subscription) =
                    self.stored_subscriptions.get_mut(&id).filter(|_| fetch.part == Part::Feed)
                {
                    stored_subscription.moved = None;
                }
                self.store_error_response(stored, step, id, fetch, &exchange, now)?;
                self.failed(step, id, exchange, now);
                Ok(FetchResult::Failed)
            }
        }
    }

    /// Whether a resource is missing because it or its entry was deleted here.
    fn was_deleted<S: Stored>(
        &self,
        stored: &S,
        id: SubscriptionId,
        fetch: &Fetch,
        status: StatusCode,
    ) -> Result<bool, S::Error> {
        let is_gone = matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE);
        let stored_subscription = self.stored_subscriptions.get(&id);
        let Some(stored_subscription) =
            stored_subscription.filter(|_| is_gone && fetch.part == Part::Linked)
        else {
            return Ok(false);
        };
        let partition = stored_subscription.subscription.partition();
        let known = stored.resources(&fetch.location)?.into_iter();
        let entries = known.filter(|it| it.partition == partition).filter_map(|it| it.entry);
        let mut deletable = entries.chain([fetch.location.clone()]);
        Ok(deletable.any(|location| self.is_deleted(partition, &location)))
    }

    /// Representation to store for a response. After a redirection it names its address, because relative
    /// addresses in it refer to that.
    fn new_representation(
        &self,
        fetch: &Fetch,
        headers: &HeaderMap,
        content: Content,
        timing: Timing,
    ) -> Representation {
        let mut headers = cache_headers::stored_headers(headers, timing);
        if fetch.request != fetch.location && !headers.contains_key(header::CONTENT_LOCATION) {
            let from = HeaderValue::from_str(fetch.request.as_str()).ok();
            headers.extend(from.map(|from| (header::CONTENT_LOCATION, from)));
        }
        let (status, fetched) = (StatusCode::OK, timing.answered);
        Representation { status, headers, content, fetched, alias_tag: None }
    }

    /// Reads a response and returns the resources that it leads to. Returns none if it is not the requested
    /// kind of resource (2.1.3).
    #[expect(clippy::too_many_arguments, reason = "a request, its answer and where they belong")]
    fn read<S: Stored>(
        &mut self,
        stored: &S,
        id: SubscriptionId,
        in_progress: &mut ActiveRound,
        fetch: &Fetch,
        representation: Representation,
        is_new: bool,
        step: &mut Step,
    ) -> Result<Option<Vec<(Part, Location)>>, S::Error> {
        let Some(stored_subscription) = self.stored_subscriptions.get(&id) else { return Ok(None) };
        let (partition, feed) =
            (stored_subscription.subscription.partition(), stored_subscription.subscription.feed());
        let content = &representation.content;
        match fetch.part {
            Part::Proxy => {
                let read = Configuration::read(&stored.content(content)?, &fetch.location);
                let is_typed = is_configuration(&representation.headers);
                let Some(read) = read.ok().filter(|_| is_typed) else { return Ok(None) };
                self.proxies.insert(id, read);
                in_progress.findings.linked(&fetch.location);
                self.represent(step, partition, &fetch.location, Some(representation));
                Ok(Some(Vec::new()))
            }
            Part::Feed | Part::Page => {
                let bytes = stored.content(content)?;
                let address = base(&representation.headers, &fetch.location);
                let follows = stored_subscription.subscription.follows();
                let is_first = fetch.part == Part::Feed;
                let document = feed_of(&bytes, &address);
                let targets = match &document {
                    Some(document) => {
                        in_progress.findings.take(&fetch.location, &address, document, is_first);
                        targets(document, &address, &follows)
                    }
                    None => match read_only(&bytes, &address) {
                        Some(plain) => {
                            in_progress.findings.take_read_only(&fetch.location, is_first);
                            targets_of_plain(&plain, &address, &follows)
                        }
                        None => return Ok(None),
                    },
                };
                for (_, location) in targets.iter().filter(|(part, _)| *part == Part::Linked) {
                    in_progress.findings.linked(location);
                }
                if is_new || stored_subscription.followed.as_ref() != Some(&follows) {
                    self.seen(stored, partition, feed, &mut in_progress.findings)?;
                }
                for (pending, posted, generation) in self.unnamed(partition, feed) {
                    let Some(document) = &document else { break };
                    let whose = (partition, feed);
                    let posted = (&posted, generation);
                    let places =
                        self.candidate_addresses(stored, whose, posted, document, &address)?;
                    let place = places.into_iter().find(|place| !in_progress.findings.has(place));
                    place.into_iter().for_each(|place| in_progress.findings.find(&pending, place));
                }
                in_progress.findings.is_new |= is_new;
                in_progress.findings.documents.insert(fetch.location.clone(), representation);
                Ok(Some(targets))
            }
            Part::Linked => {
                if !can_be(stored, &representation.headers, *content)? {
                    return Ok(None);
                }
                let honours = self.settings.honours_no_store;
                if cache_headers::is_storable(
                    feed,
                    &fetch.location,
                    &representation.headers,
                    honours,
                ) {
                    let at = (partition, &fetch.location);
                    if self.may_arrive(stored, at, *content)? {
                        self.represent_keeping_attempts(
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
    fn note_server_time(&mut self, id: SubscriptionId, headers: &HeaderMap, now: Time) {
        let date = headers.get(header::DATE).and_then(|date| Time::of_date(date.to_str().ok()?));
        if let Some(stored_subscription) = self.stored_subscriptions.get_mut(&id) {
            stored_subscription.subscription.answered(date.unwrap_or(now));
        }
    }

    /// Stores an error response, where applications are to get it (2.1.3, 4.3, R-B20). A 401 is always
    /// stored. In the strict profile a 403, 404 or 410 is stored, too. Any error is stored if no good
    /// representation is.
    fn store_error_response<S: Stored>(
        &mut self,
        stored: &S,
        step: &mut Step,
        id: SubscriptionId,
        fetch: &Fetch,
        exchange: &Exchange<'_>,
        now: Time,
    ) -> Result<(), S::Error> {
        let Some(stored_subscription) = self.stored_subscriptions.get(&id) else { return Ok(()) };
        let partition = stored_subscription.subscription.partition();
        let known = stored.representation(partition, &fetch.location)?;
        let is_strict = self.settings.profile == Profile::Strict;
        let has_good = known.is_some_and(|known| known.is_success());
        let spoils = match exchange.status.as_u16() {
            401 => true,
            403 | 404 | 410 => is_strict || !has_good,
            _ => !has_good,
        };
        if spoils && fetch.part != Part::Proxy {
            let representation = Representation {
                status: exchange.status,
                headers: cache_headers::stored_headers(
                    exchange.headers,
                    Timing { requested: exchange.requested, answered: now },
                ),
                content: exchange.content,
                fetched: now,
                alias_tag: None,
            };
            self.represent(step, partition, &fetch.location, Some(representation));
        }
        Ok(())
    }

    /// Records an error of a subscription (2.1.3).
    pub(super) fn failed(
        &mut self,
        step: &mut Step,
        id: SubscriptionId,
        exchange: Exchange<'_>,
        now: Time,
    ) {
        if let Some(stored_subscription) = self.stored_subscriptions.get_mut(&id) {
            let (location, status) = (exchange.task.location.clone(), exchange.status);
            stored_subscription.subscription.fails(Failure { location, status });
        }
        self.report(step, id, exchange, Some(None), now);
    }

    /// Creates the event for an exchange.
    fn report(
        &mut self,
        step: &mut Step,
        id: SubscriptionId,
        exchange: Exchange<'_>,
        is_error: Option<Option<Content>>,
        now: Time,
    ) {
        let Some(stored_subscription) = self.stored_subscriptions.get(&id) else { return };
        let (partition, feed) = (
            stored_subscription.subscription.partition(),
            stored_subscription.subscription.feed().clone(),
        );
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
