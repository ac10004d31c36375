//! Background requests that fetch: rounds of subscriptions, searches for created members, and single
//! representations (BITSY 2.1.3).

mod generation;
mod meaning;
mod refetch;
mod response;
mod search;

use std::collections::HashMap;

use http::{HeaderMap, HeaderValue, Method, header};

use crate::authentication::Partition;
use crate::event::ErrorId;
use crate::interceptor::context::{Context, Draft};
use crate::interceptor::pending::is_pending;
use crate::interceptor::round::ActiveRound;
use crate::interceptor::state::{ControlError, State};
use crate::interceptor::step::Step;
use crate::interceptor::stored::{Representation, Stored};
use crate::interceptor::stored_subscription::{StoredSubscription, SubscriptionId};
use crate::interceptor::tasks::{NewTasks, RoundId, TaskPurpose, TaskRequest};
use crate::location::Location;
use crate::subscription::round::{Fetch, Part, Round};
use crate::subscription::state::State as SubscriptionState;
use crate::time::Time;

/// Maximum number of concurrent requests of one round, to limit the load on servers.
const MAX_CONCURRENT: usize = 4;

/// `Accept` header for requests of a feed, unless the application registers one.
pub(crate) const ACCEPT: HeaderValue = HeaderValue::from_static("application/atom+xml, */*;q=0.5");

/// Fetches what subscriptions store. It begins rounds and single requests, and applies their responses.
#[derive(Debug)]
pub struct Fetcher<'s> {
    state: &'s mut State,
}

/// Stored representations of the resources that are fetched next.
pub(crate) type Known = HashMap<(SubscriptionId, Location), Representation>;

impl State {
    /// The role that fetches what subscriptions store.
    pub fn fetcher(&mut self) -> Fetcher<'_> {
        Fetcher { state: self }
    }
}

impl Fetcher<'_> {
    /// Reads the stored representations of the resources that [`begin_fetches`](Self::begin_fetches) is going to
    /// request, if there is room for this number of requests.
    pub(crate) fn known<S: Stored>(
        &self,
        cx: Context<'_, S>,
        room: usize,
    ) -> Result<Known, S::Error> {
        let (mut known, mut count) = (Known::new(), 0);
        for (id, stored_subscription) in &self.state.stored_subscriptions {
            if count >= room {
                break;
            }
            let partition = stored_subscription.subscription.partition();
            for location in
                self.upcoming(stored_subscription, cx.now).into_iter().take(room - count)
            {
                count += 1;
                let representation = cx.stored.representation(partition, &location)?;
                let representation = representation.filter(Representation::is_success);
                known.extend(representation.map(|it| ((*id, location), it)));
            }
        }
        Ok(known)
    }

    /// Addresses that [`next_fetch`](Self::next_fetch) is going to return for a subscription. A round that is due
    /// is begun in a copy of the subscription.
    fn upcoming(&self, stored_subscription: &StoredSubscription, now: Time) -> Vec<Location> {
        let StoredSubscription { id, subscription, moved, .. } = stored_subscription;
        let is_due = subscription.due().is_some_and(|due| due <= now);
        let may_begin = subscription.is_ready() || is_due;
        if may_begin && self.state.reachability.may_try(subscription.feed(), now) {
            let mut begun = subscription.clone();
            begun.elapse(now);
            if let Some(mut round) = begun.begin(now) {
                moved.iter().for_each(|moved| round.ask_at(moved));
                return self.permitted(&round, 0, now);
            }
        }
        let in_progress = self.state.in_progress.get(id);
        let in_progress =
            in_progress.filter(|_| subscription.state() == SubscriptionState::Fetching);
        in_progress.map_or_else(Vec::new, |it| self.permitted(&it.round, it.tasks, now))
    }

    /// The next addresses of a round with this number of running requests, as far as their servers may be asked.
    fn permitted(&self, round: &Round, tasks: usize, now: Time) -> Vec<Location> {
        let requests = round.upcoming().enumerate();
        let permitted = requests
            .take_while(|(number, fetch)| self.may_request(&fetch.request, tasks + number, now));
        permitted.map(|(_, fetch)| fetch.location.clone()).collect()
    }

    /// Whether an address may be requested by a round with this number of running requests.
    fn may_request(&self, location: &Location, tasks: usize, now: Time) -> bool {
        // One request at a time is enough to test a server that was not reached.
        let is_away = !self.state.reachability.is_reachable(location);
        tasks < if is_away { 1 } else { MAX_CONCURRENT }
            && self.state.reachability.may_try(location, now)
    }

    /// Begins the rounds that are due, and creates tasks for their next requests.
    pub(crate) fn begin_fetches(
        &mut self,
        draft: &mut Draft,
        tasks: &mut NewTasks,
        mut known: Known,
    ) {
        let ids: Vec<SubscriptionId> = self.state.stored_subscriptions.keys().copied().collect();
        for id in ids {
            self.begin_round(draft, id);
            while tasks.has_room() {
                let Some(fetch) = self.next_fetch(id, draft.now) else { break };
                let request =
                    self.request_of(id, &fetch, known.remove(&(id, fetch.location.clone())));
                let round = self.state.in_progress.get(&id).map(|in_progress| in_progress.number);
                let round = RoundId { stored_subscription: id, number: round.unwrap_or_default() };
                let purpose = TaskPurpose::Fetch { round, fetch, requested: draft.now };
                tasks.all.push(self.state.start_task(request, purpose));
            }
        }
    }

    fn begin_round(&mut self, draft: &mut Draft, id: SubscriptionId) {
        let Some(stored_subscription) = self.state.stored_subscriptions.get_mut(&id) else {
            return;
        };
        let elapsed = stored_subscription.subscription.elapse(draft.now);
        let may_begin =
            self.state.reachability.may_try(stored_subscription.subscription.feed(), draft.now);
        let round = may_begin.then(|| stored_subscription.subscription.begin(draft.now)).flatten();
        let begun = round.is_some();
        if let Some(mut round) = round {
            stored_subscription.moved.iter().for_each(|moved| round.ask_at(moved));
            let in_progress = ActiveRound::new(round, self.state.next_task);
            self.state.in_progress.insert(id, in_progress);
        }
        if elapsed.is_some() || begun {
            self.state.store(draft, id);
            self.state.state_event(draft, id, elapsed);
            self.state.state_event(draft, id, begun.then_some(SubscriptionState::Fetching));
        }
    }

    /// Takes the next request of a round, if its server may be asked.
    fn next_fetch(&mut self, id: SubscriptionId, now: Time) -> Option<Fetch> {
        let stored_subscription = self.state.stored_subscriptions.get(&id)?;
        if stored_subscription.subscription.state() != SubscriptionState::Fetching {
            return None;
        }
        let in_progress = self.state.in_progress.get(&id)?;
        let next = in_progress.round.peek()?;
        if !self.may_request(&next.request, in_progress.tasks, now) {
            return None;
        }
        let in_progress = self.state.in_progress.get_mut(&id)?;
        let fetch = in_progress.round.take_next()?;
        in_progress.tasks += 1;
        if fetch.part == Part::Feed {
            in_progress.findings.began = self.state.counters.shown;
        }
        Some(fetch)
    }

    /// Creates a request. It is conditional if the representation that is `known` may still be valid.
    fn request_of(
        &self,
        id: SubscriptionId,
        fetch: &Fetch,
        known: Option<Representation>,
    ) -> TaskRequest {
        let mut headers = HeaderMap::new();
        let (location, method) = (fetch.request.clone(), Method::GET);
        let Some(stored_subscription) = self.state.stored_subscriptions.get(&id) else {
            let (partition, source) = (Partition::public(), fetch.location.clone());
            return TaskRequest { partition, method, location, source, headers, body: None };
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
        let in_progress = self.state.in_progress.get(&id);
        let is_unconditional = in_progress
            .is_some_and(|in_progress| in_progress.unconditional.contains(&fetch.location));
        let known = known.filter(|_| fetch.part != Part::Proxy && !is_unconditional);
        // A date is too coarse to tell whether a recent edit is included, and a cache on the way may be
        // outdated.
        let shown = self.state.shown.of_feed(subscription.partition(), subscription.feed()).next();
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
        TaskRequest { partition, method, location, source, headers, body: None }
    }

    /// Requests representations that servers made of edits.
    pub(crate) fn begin_learning(&mut self, draft: &Draft, tasks: &mut NewTasks) {
        let requested: Vec<(SubscriptionId, Location)> =
            self.state.requested.iter().take(tasks.room).cloned().collect();
        for (stored_subscription, location) in requested {
            let kept = self.state.stored_subscriptions.get(&stored_subscription);
            if kept.is_none_or(|kept| kept.subscription.state() == SubscriptionState::Closed) {
                self.state.requested.remove(&(stored_subscription, location));
            } else if tasks.has_room() && self.state.reachability.may_try(&location, draft.now) {
                self.state.requested.remove(&(stored_subscription, location.clone()));
                let purpose =
                    TaskPurpose::Learn { stored_subscription, location: location.clone() };
                let request = self.state.question(stored_subscription, location);
                tasks.all.push(self.state.start_task(request, purpose));
            }
        }
    }

    /// Requests the present representation of a resource whose edit was refused.
    pub fn fetch_current(&mut self, id: ErrorId) -> Result<Step, ControlError> {
        let error =
            self.state.errors.all().find(|error| error.id == id).ok_or(ControlError::NoError)?;
        let interaction = &error.interaction;
        let location = interaction.location.clone();
        if !matches!(&*interaction.method, "PUT" | "DELETE") || is_pending(&location) {
            return Err(ControlError::NoEdit);
        }
        let stored_subscription = self.state.stored_subscription_of(error.partition, &error.feed);
        let stored_subscription = stored_subscription.ok_or(ControlError::NoSubscription)?.id;
        self.state.requested.insert((stored_subscription, location));
        Ok(Step::default())
    }
}
