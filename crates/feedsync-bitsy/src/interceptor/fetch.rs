//! Background requests of rounds (BITSY 2.1.3).

use std::collections::BTreeSet;
use std::time::Duration;

use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, StatusCode};

use super::generation::RoundFindings;
use super::round_response::Exchange;
use super::step::{Step, Task};
use super::stored::{Content, Stored};
use super::tasks::{Request, TaskPurpose};
use super::{Interceptor, SubscriptionId};
use crate::authentication::Partition;
use crate::location::Location;
use crate::subscription::round::{Fetch, FetchResult, Part, Round, SettleEffect};
use crate::subscription::state::State;
use crate::time::Time;

/// Maximum number of concurrent requests of one round, to limit the load on servers.
const MAX_CONCURRENT: usize = 4;

/// Delay before the next request to a server of another origin that was not reached.
const OTHER_ORIGIN_DELAY: Duration = Duration::from_secs(5 * 60);

/// `Accept` header for requests of a feed, unless the application registers one.
pub(super) const ACCEPT: HeaderValue = HeaderValue::from_static("application/atom+xml, */*;q=0.5");

/// A round in progress.
#[derive(Debug)]
pub(super) struct ActiveRound {
    pub(super) round: Round,
    pub(super) findings: RoundFindings,
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
        let ids: Vec<SubscriptionId> = self.stored_subscriptions.keys().copied().collect();
        for id in ids {
            self.begin_round(step, id, now);
            while tasks.len() < room {
                let Some(fetch) = self.next_fetch(id, now) else { break };
                let request = self.request_of(stored, id, &fetch)?;
                let round = self.in_progress.get(&id).map(|in_progress| in_progress.number);
                let round = round.unwrap_or_default();
                let purpose =
                    TaskPurpose::Fetch { stored_subscription: id, round, fetch, requested: now };
                tasks.push(self.start_task(request, purpose));
            }
        }
        Ok(())
    }

    fn begin_round(&mut self, step: &mut Step, id: SubscriptionId, now: Time) {
        let Some(stored_subscription) = self.stored_subscriptions.get_mut(&id) else { return };
        let elapsed = stored_subscription.subscription.elapse(now);
        let may_begin = self.reachability.may_try(stored_subscription.subscription.feed(), now);
        let round = may_begin.then(|| stored_subscription.subscription.begin(now)).flatten();
        let begun = round.is_some();
        if let Some(mut round) = round {
            stored_subscription.moved.iter().for_each(|moved| round.ask_at(moved));
            let findings = RoundFindings::default();
            let number = self.next_task;
            let unconditional = BTreeSet::new();
            let in_progress =
                ActiveRound { round, findings, number, tasks: 0, portals: 0, unconditional };
            self.in_progress.insert(id, in_progress);
        }
        if elapsed.is_some() || begun {
            self.store(step, id);
            self.state_event(step, id, elapsed, now);
            self.state_event(step, id, begun.then_some(State::Fetching), now);
        }
    }

    /// Takes the next request of a round, if its server may be asked.
    fn next_fetch(&mut self, id: SubscriptionId, now: Time) -> Option<Fetch> {
        let stored_subscription = self.stored_subscriptions.get(&id)?;
        if stored_subscription.subscription.state() != State::Fetching {
            return None;
        }
        let in_progress = self.in_progress.get_mut(&id)?;
        let next = in_progress.round.peek()?;
        // One request at a time is enough to test a server that was not reached.
        let is_away = !self.reachability.is_reachable(&next.request);
        if in_progress.tasks >= if is_away { 1 } else { MAX_CONCURRENT }
            || !self.reachability.may_try(&next.request, now)
        {
            return None;
        }
        let fetch = in_progress.round.take_next()?;
        in_progress.tasks += 1;
        if fetch.part == Part::Feed {
            in_progress.findings.began = self.counters.shown;
        }
        Some(fetch)
    }

    /// Creates a request. It is conditional if the stored representation may still be valid.
    fn request_of<S: Stored>(
        &self,
        stored: &S,
        id: SubscriptionId,
        fetch: &Fetch,
    ) -> Result<Request, S::Error> {
        let mut headers = HeaderMap::new();
        let (location, method) = (fetch.request.clone(), Method::GET);
        let Some(stored_subscription) = self.stored_subscriptions.get(&id) else {
            let (partition, source) = (Partition::public(), fetch.location.clone());
            return Ok(Request { partition, method, location, source, headers, body: None });
        };
        let subscription = &stored_subscription.subscription;
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
        let known = known.filter(|known| known.is_success() && fetch.part != Part::Proxy);
        let in_progress = self.in_progress.get(&id);
        let is_unconditional = in_progress
            .is_some_and(|in_progress| in_progress.unconditional.contains(&fetch.location));
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
        (id, number): (SubscriptionId, u64),
        fetch: Fetch,
        (task, requested): (&Task, Time),
        outcome: super::Outcome,
        now: Time,
        random: u64,
    ) -> Result<(), S::Error> {
        let is_of =
            self.in_progress.get(&id).is_some_and(|in_progress| in_progress.number == number);
        let in_progress = is_of.then(|| self.in_progress.remove(&id)).flatten();
        let Some(mut in_progress) = in_progress else { return Ok(()) };
        let Some(feed) =
            self.stored_subscriptions.get(&id).map(|kept| kept.subscription.feed().clone())
        else {
            return Ok(());
        };
        in_progress.tasks -= 1;
        let settled = match outcome {
            super::Outcome::Lost { .. } => {
                let settled = self.result_of_unreached(&fetch, &feed, now, random);
                if settled == FetchResult::Failed {
                    self.failed_here(step, id, task, StatusCode::GATEWAY_TIMEOUT, now);
                }
                settled
            }
            super::Outcome::OutOfSpace => {
                self.failed_here(step, id, task, StatusCode::INSUFFICIENT_STORAGE, now);
                FetchResult::Failed
            }
            super::Outcome::ServerResponse { status, headers, content } => {
                self.reachability.answered(&fetch.request);
                let exchange = Exchange { task, requested, status, headers: &headers, content };
                self.answered(stored, step, id, &mut in_progress, &fetch, exchange, now, random)?
            }
        };
        in_progress.findings.is_partial |= fetch.part == Part::Page
            && matches!(settled, FetchResult::Failed | FetchResult::Later(_));
        if in_progress.round.settle(fetch, settled) == SettleEffect::AsFailure {
            self.failed_here(step, id, task, StatusCode::LOOP_DETECTED, now);
        }
        let end = in_progress.round.end();
        self.in_progress.insert(id, in_progress);
        if let Some(end) = end {
            self.end_round(step, id, end, now);
        }
        Ok(())
    }

    /// Records an error without a response of a server, under the status that stands for it (2.1.3).
    fn failed_here(
        &mut self,
        step: &mut Step,
        id: SubscriptionId,
        task: &Task,
        status: StatusCode,
        now: Time,
    ) {
        let (headers, content) = (&HeaderMap::new(), Content::of(b""));
        let exchange = Exchange { task, requested: now, status, headers, content };
        self.failed(step, id, exchange, now);
    }

    /// Repeats a request of a round, whatever the response was.
    pub(super) fn fetch_again(&mut self, (id, number): (SubscriptionId, u64), fetch: Fetch) {
        let in_progress =
            self.in_progress.get_mut(&id).filter(|in_progress| in_progress.number == number);
        if let Some(in_progress) = in_progress {
            in_progress.tasks -= 1;
            in_progress.round.settle(fetch, FetchResult::Lost);
        }
    }

    /// Result of a request whose server was not reached. A server of another origin does not delay the feed.
    fn result_of_unreached(
        &mut self,
        fetch: &Fetch,
        feed: &Location,
        now: Time,
        random: u64,
    ) -> FetchResult {
        self.reachability.lost(&fetch.request, now, random);
        let is_elsewhere =
            !fetch.request.is_same_origin(feed) && self.reachability.is_reachable(feed);
        match fetch.part {
            Part::Linked if is_elsewhere => FetchResult::Later(now.after(OTHER_ORIGIN_DELAY)),
            Part::Page | Part::Proxy if is_elsewhere => FetchResult::Failed,
            _ => FetchResult::Lost,
        }
    }
}

impl ActiveRound {
    /// Contents of the documents for the next generation.
    pub(super) fn contents(&self) -> impl Iterator<Item = Content> {
        self.findings.documents.values().map(|document| document.content)
    }
}
