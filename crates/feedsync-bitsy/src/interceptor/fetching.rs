//! Background requests of rounds (BITSY 2.1.3).

use std::collections::BTreeSet;
use std::time::Duration;

use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, StatusCode};

use super::answers::Exchange;
use super::background::{Request, What};
use super::generation::Gathered;
use super::step::{Step, Task};
use super::stored::{Content, Stored};
use super::{Interceptor, KeepingId};
use crate::authentication::Partition;
use crate::location::Location;
use crate::subscription::round::{Counted, Fetch, Part, Round, Settled};
use crate::subscription::state::State;
use crate::time::Time;

/// Maximum number of concurrent requests of one round, to limit the load on servers.
const AT_ONCE: usize = 4;

/// Delay before the next request to a server of another origin that was not reached.
const ELSEWHERE: Duration = Duration::from_secs(5 * 60);

/// `Accept` header for requests of a feed, unless the application registers one.
pub(super) const ACCEPT: HeaderValue = HeaderValue::from_static("application/atom+xml, */*;q=0.5");

/// A round in progress.
#[derive(Debug)]
pub(super) struct Underway {
    pub(super) round: Round,
    pub(super) gathered: Gathered,
    /// Number of the round. Responses to requests of an earlier round are ignored.
    number: u64,
    tasks: usize,
    pub(super) portals: u32,
    /// Addresses that are requested without conditions.
    pub(super) unconditional: BTreeSet<Location>,
}

impl Interceptor {
    /// Begins the rounds that are due, and creates tasks for their next requests.
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
                let request = self.request_of(stored, id, &fetch)?;
                let round = self.underway.get(&id).map(|underway| underway.number);
                let round = round.unwrap_or_default();
                let what = What::Fetch { keeping: id, round, fetch, asked: now };
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
        if let Some(mut round) = round {
            keeping.moved.iter().for_each(|moved| round.ask_at(moved));
            let gathered = Gathered::default();
            let number = self.next_task;
            let unconditional = BTreeSet::new();
            let underway =
                Underway { round, gathered, number, tasks: 0, portals: 0, unconditional };
            self.underway.insert(id, underway);
        }
        if elapsed.is_some() || begun {
            self.store(step, id);
            self.told(step, id, elapsed, now);
            self.told(step, id, begun.then_some(State::Fetching), now);
        }
    }

    /// Takes the next request of a round, if its server may be asked.
    fn next_fetch(&mut self, id: KeepingId, now: Time) -> Option<Fetch> {
        let keeping = self.keepings.get(&id)?;
        if keeping.subscription.state() != State::Fetching {
            return None;
        }
        let underway = self.underway.get_mut(&id)?;
        let next = underway.round.peek()?;
        // One request at a time is enough to test a server that was not reached.
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

    /// Creates a request. It is conditional if the stored representation may still be valid.
    fn request_of<S: Stored>(
        &self,
        stored: &S,
        id: KeepingId,
        fetch: &Fetch,
    ) -> Result<Request, S::Error> {
        let mut headers = HeaderMap::new();
        let (location, method) = (fetch.request.clone(), Method::GET);
        let Some(keeping) = self.keepings.get(&id) else {
            let (partition, source) = (Partition::public(), fetch.location.clone());
            return Ok(Request { partition, method, location, source, headers, body: None });
        };
        let subscription = &keeping.subscription;
        let is_named = fetch.part == Part::Proxy;
        let source = if is_named { &fetch.location } else { subscription.feed() }.clone();
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if matches!(fetch.part, Part::Feed | Part::Page) {
            headers.insert(header::ACCEPT, ACCEPT);
        }
        for (name, value) in subscription.registered().sent(subscription.feed(), &location) {
            headers.insert(name.clone(), value.clone());
        }
        let known = stored.representation(subscription.partition(), &fetch.location)?;
        let known = known.filter(|known| known.is_good() && fetch.part != Part::Proxy);
        let underway = self.underway.get(&id);
        let is_unconditional =
            underway.is_some_and(|underway| underway.unconditional.contains(&fetch.location));
        let known = known.filter(|_| !is_unconditional);
        // A date is too coarse to tell whether a recent edit is included, and a cache on the way may be
        // outdated.
        let shown = self.shown.of_feed(subscription.partition(), subscription.feed()).next();
        if shown.is_some() {
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        }
        if let Some(known) = known {
            let date = (header::LAST_MODIFIED, header::IF_MODIFIED_SINCE);
            let date = Some(date).filter(|_| shown.is_none());
            let validators = [Some((header::ETAG, header::IF_NONE_MATCH)), date];
            for (validator, condition) in validators.into_iter().flatten() {
                if let Some(value) = known.headers.get(validator) {
                    headers.insert(condition, value.clone());
                }
            }
        }
        let partition = subscription.partition();
        Ok(Request { partition, method, location, source, headers, body: None })
    }

    /// Applies the result of a request of a round. `random` spreads attempts that would otherwise coincide.
    #[expect(clippy::too_many_arguments, reason = "a request, its answer, time and chance")]
    pub(super) fn fetched<S: Stored>(
        &mut self,
        stored: &S,
        step: &mut Step,
        (id, number): (KeepingId, u64),
        fetch: Fetch,
        (task, asked): (&Task, Time),
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
            super::Outcome::Lost { .. } => {
                let settled = self.unreached(&fetch, &feed, now, random);
                if settled == Settled::Failed {
                    self.failed_here(step, id, task, StatusCode::GATEWAY_TIMEOUT, now);
                }
                settled
            }
            super::Outcome::NoRoom => {
                self.failed_here(step, id, task, StatusCode::INSUFFICIENT_STORAGE, now);
                Settled::Failed
            }
            super::Outcome::Answered { status, headers, content } => {
                self.reach.answered(&fetch.request);
                let exchange = Exchange { task, asked, status, headers: &headers, content };
                self.answered(stored, step, id, &mut underway, &fetch, exchange, now, random)?
            }
        };
        underway.gathered.is_partial |=
            fetch.part == Part::Page && matches!(settled, Settled::Failed | Settled::Later(_));
        if underway.round.settle(fetch, settled) == Counted::AsFailure {
            self.failed_here(step, id, task, StatusCode::LOOP_DETECTED, now);
        }
        let end = underway.round.end();
        self.underway.insert(id, underway);
        if let Some(end) = end {
            self.end_round(step, id, end, now);
        }
        Ok(())
    }

    /// Records an error without a response of a server, under the status that stands for it (2.1.3).
    fn failed_here(
        &mut self,
        step: &mut Step,
        id: KeepingId,
        task: &Task,
        status: StatusCode,
        now: Time,
    ) {
        let (headers, content) = (&HeaderMap::new(), Content::of(b""));
        let exchange = Exchange { task, asked: now, status, headers, content };
        self.failed(step, id, exchange, now);
    }

    /// Repeats a request of a round, whatever the response was.
    pub(super) fn fetch_again(&mut self, (id, number): (KeepingId, u64), fetch: Fetch) {
        let underway = self.underway.get_mut(&id).filter(|underway| underway.number == number);
        if let Some(underway) = underway {
            underway.tasks -= 1;
            underway.round.settle(fetch, Settled::Lost);
        }
    }

    /// Result of a request whose server was not reached. A server of another origin does not delay the feed.
    fn unreached(&mut self, fetch: &Fetch, feed: &Location, now: Time, random: u64) -> Settled {
        self.reach.lost(&fetch.request, now, random);
        let is_elsewhere = !fetch.request.is_same_origin(feed) && self.reach.is_here(feed);
        match fetch.part {
            Part::Linked if is_elsewhere => Settled::Later(now.after(ELSEWHERE)),
            Part::Page | Part::Proxy if is_elsewhere => Settled::Failed,
            _ => Settled::Lost,
        }
    }
}

impl Underway {
    /// Contents of the documents for the next generation.
    pub(super) fn contents(&self) -> impl Iterator<Item = Content> {
        self.gathered.documents.values().map(|document| document.content)
    }
}
