//! What is fetched in the background: rounds of subscriptions (BITSY 2.1.3).

use std::collections::BTreeMap;
use std::time::Duration;

use feedsync_formats::{MemberFeed, ReadOptions};
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, StatusCode};

use super::generation::Gathered;
use super::sending::{What, without_secrets};
use super::step::{Step, Task};
use super::stored::{Content, Representation, Stored};
use super::{Interceptor, KeepingId};
use crate::answer;
use crate::authentication::Partition;
use crate::event::Interaction;
use crate::links::leads;
use crate::location::Location;
use crate::profile::Profile;
use crate::proxy::Configuration;
use crate::subscription::outcome::Outcome;
use crate::subscription::round::{Counted, Fetch, Part, Round, Settled};
use crate::subscription::state::State;
use crate::time::Time;

/// Requests of one round that are under way at once: servers are asked politely.
const AT_ONCE: usize = 4;

/// How often a page where a feed was is taken for the work of somebody who sits between (C43).
const PORTALS: u32 = 10;

/// What somebody else's server is left alone for that was not reached.
const ELSEWHERE: Duration = Duration::from_secs(5 * 60);

/// What a feed is asked for as, unless the application says.
const ACCEPT: HeaderValue = HeaderValue::from_static("application/atom+xml, */*;q=0.5");

/// A round that is under way.
#[derive(Debug)]
pub(super) struct Underway {
    pub(super) round: Round,
    pub(super) gathered: Gathered,
    /// Which round it is: what an earlier one asked for is not of it.
    number: u64,
    tasks: usize,
    portals: u32,
}

/// A request and its answer, for who is told of them.
pub(super) struct Exchange<'a> {
    pub(super) task: &'a Task,
    pub(super) status: StatusCode,
    pub(super) headers: &'a HeaderMap,
    pub(super) content: Content,
}

impl Underway {
    /// The bytes that the next generation is made of.
    pub(super) fn contents(&self) -> impl Iterator<Item = Content> {
        self.gathered.documents.values().map(|document| document.content)
    }
}

impl Interceptor {
    /// Begins the rounds that are due, and takes their next requests.
    pub(super) fn fetches<S: Stored>(
        &mut self,
        stored: &S,
        step: &mut Step,
        tasks: &mut Vec<Task>,
        room: usize,
        now: Time,
    ) -> Result<(), S::Error> {
        let ids: Vec<KeepingId> = self.keepings.keys().copied().collect();
        for id in ids {
            self.begin_round(step, id, now);
            while tasks.len() < room {
                let Some(fetch) = self.next_fetch(id, now) else { break };
                let request = self.fetch(stored, id, &fetch)?;
                let round = self.underway.get(&id).map(|underway| underway.number);
                let round = round.unwrap_or_default();
                let what = What::Fetch { keeping: id, round, fetch };
                tasks.push(self.under_way(request, what));
            }
        }
        Ok(())
    }

    fn begin_round(&mut self, step: &mut Step, id: KeepingId, now: Time) {
        let Some(keeping) = self.keepings.get_mut(&id) else { return };
        let elapsed = keeping.subscription.elapse(now);
        let may_begin = self.reach.may_try(keeping.subscription.feed(), now);
        let round = may_begin.then(|| keeping.subscription.begin(now)).flatten();
        let begun = round.is_some();
        if let Some(round) = round {
            let gathered = Gathered::default();
            let number = self.next_task;
            let underway = Underway { round, gathered, number, tasks: 0, portals: 0 };
            self.underway.insert(id, underway);
        }
        if elapsed.is_some() || begun {
            self.store(step, id);
            self.told(step, id, elapsed, now);
            self.told(step, id, begun.then_some(State::Fetching), now);
        }
    }

    /// The next request of a round, if its server may be asked.
    fn next_fetch(&mut self, id: KeepingId, now: Time) -> Option<Fetch> {
        let keeping = self.keepings.get(&id)?;
        if keeping.subscription.state() != State::Fetching {
            return None;
        }
        let underway = self.underway.get_mut(&id)?;
        let next = underway.round.peek()?;
        // A probe that waits for an answer is enough of a server that was not reached.
        let is_away = !self.reach.is_here(&next.request);
        if underway.tasks >= if is_away { 1 } else { AT_ONCE }
            || !self.reach.may_try(&next.request, now)
        {
            return None;
        }
        let fetch = underway.round.take_next()?;
        underway.tasks += 1;
        if fetch.part == Part::Feed {
            underway.gathered.began = self.counters.shown;
        }
        Some(fetch)
    }

    /// The request: conditional, where what is stored may still be right.
    fn fetch<S: Stored>(
        &self,
        stored: &S,
        id: KeepingId,
        fetch: &Fetch,
    ) -> Result<Request, S::Error> {
        let mut headers = HeaderMap::new();
        let mut request = fetch.request.clone();
        let Some(keeping) = self.keepings.get(&id) else {
            let partition = Partition::public();
            return Ok(Request {
                partition,
                method: Method::GET,
                location: request,
                headers,
                body: None,
            });
        };
        let subscription = &keeping.subscription;
        let is_first = request == fetch.location;
        if let Some(moved) = keeping.moved.as_ref().filter(|_| is_first && fetch.part == Part::Feed)
        {
            request = moved.clone();
        }
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if matches!(fetch.part, Part::Feed | Part::Page) {
            headers.insert(header::ACCEPT, ACCEPT);
        }
        for (name, value) in subscription.registered().sent(subscription.feed(), &request) {
            headers.insert(name.clone(), value.clone());
        }
        let known = stored.representation(subscription.partition(), &fetch.location)?;
        let known = known.filter(|known| known.is_good() && fetch.part != Part::Proxy);
        if let Some(known) = known {
            let validators = [
                (header::ETAG, header::IF_NONE_MATCH),
                (header::LAST_MODIFIED, header::IF_MODIFIED_SINCE),
            ];
            for (validator, condition) in validators {
                if let Some(value) = known.headers.get(validator) {
                    headers.insert(condition, value.clone());
                }
            }
        }
        let partition = subscription.partition();
        Ok(Request { partition, method: Method::GET, location: request, headers, body: None })
    }

    /// Takes in what became of a request of a round. `random` spreads what would come together.
    #[expect(clippy::too_many_arguments, reason = "a request, its answer, time and chance")]
    pub(super) fn fetched<S: Stored>(
        &mut self,
        stored: &S,
        step: &mut Step,
        (id, number): (KeepingId, u64),
        fetch: Fetch,
        task: &Task,
        outcome: super::Outcome,
        now: Time,
        random: u64,
    ) -> Result<(), S::Error> {
        let is_of = self.underway.get(&id).is_some_and(|underway| underway.number == number);
        let underway = is_of.then(|| self.underway.remove(&id)).flatten();
        let Some(mut underway) = underway else { return Ok(()) };
        let Some(feed) = self.keepings.get(&id).map(|kept| kept.subscription.feed().clone()) else {
            return Ok(());
        };
        underway.tasks -= 1;
        let settled = match outcome {
            super::Outcome::Lost { .. } => self.unreached(&fetch, &feed, now, random),
            super::Outcome::NoRoom => {
                let status = StatusCode::INSUFFICIENT_STORAGE;
                let headers = HeaderMap::new();
                let content = Content::of(b"");
                self.failed(step, id, Exchange { task, status, headers: &headers, content }, now);
                Settled::Failed
            }
            super::Outcome::Answered { status, headers, content } => {
                self.reach.answered(&fetch.request);
                let exchange = Exchange { task, status, headers: &headers, content };
                self.answered(stored, step, id, &mut underway, &fetch, exchange, now, random)?
            }
        };
        if underway.round.settle(fetch, settled) == Counted::AsFailure {
            let status = StatusCode::LOOP_DETECTED;
            let headers = HeaderMap::new();
            let content = Content::of(b"");
            self.failed(step, id, Exchange { task, status, headers: &headers, content }, now);
        }
        let end = underway.round.end();
        self.underway.insert(id, underway);
        if let Some(end) = end {
            self.end_round(step, id, end, now);
        }
        Ok(())
    }

    /// What somebody else's server does not answer keeps the feed back no longer than a moment.
    fn unreached(&mut self, fetch: &Fetch, feed: &Location, now: Time, random: u64) -> Settled {
        self.reach.lost(&fetch.request, now, random);
        let is_elsewhere = !fetch.request.is_same_origin(feed) && self.reach.is_here(feed);
        match fetch.part {
            Part::Linked if is_elsewhere => Settled::Later(now.after(ELSEWHERE)),
            _ => Settled::Lost,
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a request, its answer, time and chance")]
    fn answered<S: Stored>(
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
                        self.moved(id, &to);
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
                let representation = match (is_new, known) {
                    (false, Some(known)) => Representation { fetched: now, ..known },
                    // Nothing was stored that could be as it was: the answer is none.
                    (false, None) => {
                        self.failed(step, id, exchange, now);
                        return Ok(Settled::Failed);
                    }
                    (true, _) => self.fresh(fetch, headers, content, now),
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
            Outcome::Failed => {
                self.spoiled(stored, step, id, fetch, &exchange, now)?;
                self.failed(step, id, exchange, now);
                Ok(Settled::Failed)
            }
        }
    }

    /// What an answer is stored as. What came from elsewhere says so: addresses in it count from there.
    fn fresh(
        &self,
        fetch: &Fetch,
        headers: &HeaderMap,
        content: Content,
        now: Time,
    ) -> Representation {
        let mut headers = answer::kept(headers);
        if fetch.request != fetch.location && !headers.contains_key(header::CONTENT_LOCATION) {
            let from = HeaderValue::from_str(fetch.request.as_str()).ok();
            headers.extend(from.map(|from| (header::CONTENT_LOCATION, from)));
        }
        Representation { status: StatusCode::OK, headers, content, fetched: now, also: None }
    }

    /// Reads what came, and what it leads to; none if it is not what was asked for (2.1.3).
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
                Ok(Some(Vec::new()))
            }
            Part::Feed | Part::Page => {
                let bytes = stored.content(content)?;
                let address = base(&representation.headers, &fetch.location);
                let Some(document) = feed_of(&bytes, &address) else { return Ok(None) };
                let leads = leads(&document, &address, &keeping.subscription.follows());
                let is_first = fetch.part == Part::Feed;
                underway.gathered.take(&fetch.location, &address, &document, is_first);
                let follows = Some(keeping.subscription.follows());
                if is_new || keeping.followed != follows {
                    self.seen(stored, partition, feed, &mut underway.gathered)?;
                }
                for (pending, posted, generation) in self.unnamed(partition, feed) {
                    let whose = (partition, feed);
                    let posted = (&posted, generation);
                    let place = self.place_of(stored, whose, posted, &document, &address)?;
                    let place = place.filter(|place| !underway.gathered.has(place));
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
                    let location = fetch.location.clone();
                    self.represent(step, partition, &location, Some(representation));
                }
                underway.gathered.linked(&fetch.location);
                Ok(Some(Vec::new()))
            }
        }
    }

    /// Notes when the server answered for the feed, by its own clock (2.1.2).
    fn dated(&mut self, id: KeepingId, headers: &HeaderMap, now: Time) {
        let date = headers.get(header::DATE).and_then(|date| Time::of_date(date.to_str().ok()?));
        if let Some(keeping) = self.keepings.get_mut(&id) {
            keeping.subscription.answered(date.unwrap_or(now));
        }
    }

    fn moved(&mut self, id: KeepingId, to: &Location) {
        if let Some(keeping) = self.keepings.get_mut(&id) {
            keeping.moved = Some(to.clone());
        }
    }

    /// Stores what a server said instead, where that is what applications are to get (2.1.3, 4.3, C20): that
    /// they may not have it; to the letter that it is not there; anything, where there is nothing better.
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
                headers: answer::kept(exchange.headers),
                content: exchange.content,
                fetched: now,
                also: None,
            };
            self.represent(step, partition, &fetch.location, Some(representation));
        }
        Ok(())
    }

    /// Records an error of a subscription (2.1.3).
    fn failed(&mut self, step: &mut Step, id: KeepingId, exchange: Exchange<'_>, now: Time) {
        self.tell(step, id, exchange, Some(None), now);
    }

    /// Tells of an exchange.
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
    /// As applications are told of it.
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

/// A request that is about to be one.
pub(super) struct Request {
    pub(super) partition: Partition,
    pub(super) method: Method,
    pub(super) location: Location,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Content>,
}

/// Whether bytes can be what their headers say: what is said to be Atom has to be (2.1.3).
pub(super) fn can_be<S: Stored>(
    stored: &S,
    headers: &HeaderMap,
    content: Content,
) -> Result<bool, S::Error> {
    if essence(headers).as_deref() != Some("application/atom+xml") {
        return Ok(true);
    }
    let bytes = stored.content(&content)?;
    Ok(MemberFeed::read(&bytes, &ReadOptions::tolerant()).is_ok())
}

/// A document that is a feed, or a page of one.
fn feed_of(bytes: &[u8], address: &Location) -> Option<MemberFeed> {
    let options = ReadOptions { base: Some(address.as_str()), ..ReadOptions::tolerant() };
    MemberFeed::read(bytes, &options).ok().filter(MemberFeed::is_feed)
}

/// From where the addresses in a document count.
pub(super) fn base(headers: &HeaderMap, location: &Location) -> Location {
    let told = headers.get(header::CONTENT_LOCATION).and_then(|told| told.to_str().ok());
    let told = told.and_then(|told| Location::resolve(Some(location), told).ok());
    told.unwrap_or_else(|| location.clone())
}

/// Whether an answer is a page for people.
pub(super) fn is_page(headers: &HeaderMap) -> bool {
    essence(headers).is_some_and(|kind| matches!(&*kind, "text/html" | "application/xhtml+xml"))
}

/// Whether an answer says that it is the configuration of a proxy, or at least XML (C24).
fn is_configuration(headers: &HeaderMap) -> bool {
    let kinds = [feedsync_formats::PROXY_TYPE, "application/xml", "text/xml"];
    essence(headers).is_none_or(|kind| kinds.contains(&&*kind))
}

fn essence(headers: &HeaderMap) -> Option<String> {
    let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    Some(kind.split(';').next()?.trim().to_ascii_lowercase())
}

/// The addresses of documents with what is stored of them.
pub(super) type Documents = BTreeMap<Location, Representation>;
