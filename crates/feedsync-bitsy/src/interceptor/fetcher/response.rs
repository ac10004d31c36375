//! Results of requests that fetch (BITSY 2.1.3).

use std::time::Duration;

use http::{HeaderMap, StatusCode, header};

use crate::cache_headers;
use crate::cache_headers::Timing;
use crate::interceptor::context::{Context, Draft};
use crate::interceptor::exchange::Exchange;
use crate::interceptor::fetcher::Fetcher;
use crate::interceptor::fetcher::meaning::{Interpretation, Meaning, Reading, RoundResponse};
use crate::interceptor::round::ActiveRound;
use crate::interceptor::step::{Outcome, OverlayEdit, Step, Task};
use crate::interceptor::stored::{Content, Entity, Representation, Stored};
use crate::interceptor::stored_subscription::SubscriptionId;
use crate::interceptor::tasks::{RoundId, RunningTask, TaskPurpose};
use crate::location::Location;
use crate::profile::Profile;
use crate::subscription::Failure;
use crate::subscription::round::{Fetch, FetchResult, Part, SettleEffect};
use crate::time::Time;

/// Number of times that a page in place of a feed is attributed to a captive portal (R-B43).
const MAX_PORTALS: u32 = 10;

/// Delay before the next request to a server of another origin that was not reached.
const OTHER_ORIGIN_DELAY: Duration = Duration::from_secs(5 * 60);

impl Fetcher<'_> {
    /// Applies the result of a request.
    pub(crate) fn finished<S: Stored>(
        &mut self,
        cx: Context<'_, S>,
        running: &RunningTask,
        outcome: Outcome,
    ) -> Result<Step, S::Error> {
        let task = &running.task;
        match &running.purpose {
            TaskPurpose::Fetch { round, fetch, requested } => {
                self.fetched(cx, *round, (fetch, task, *requested), outcome)
            }
            TaskPurpose::Find { partition, feed } => {
                self.search_result(cx, (*partition, feed), task, outcome)
            }
            TaskPurpose::Learn { stored_subscription, location } => {
                let mut draft = cx.draft();
                self.learned(&mut draft, *stored_subscription, location, outcome);
                Ok(draft.step)
            }
            TaskPurpose::Send { .. } | TaskPurpose::Verify { .. } | TaskPurpose::Ask { .. } => {
                Ok(Step::default())
            }
        }
    }

    /// Applies the result of a request of a round.
    fn fetched<S: Stored>(
        &mut self,
        cx: Context<'_, S>,
        round: RoundId,
        (fetch, task, requested): (&Fetch, &Task, Time),
        outcome: Outcome,
    ) -> Result<Step, S::Error> {
        let id = round.stored_subscription;
        let in_progress = self.state.in_progress.get(&id).filter(|it| it.number == round.number);
        let Some(in_progress) = in_progress else { return Ok(Step::default()) };
        let Some(stored_subscription) = self.state.stored_subscriptions.get(&id) else {
            self.state.in_progress.remove(&id);
            return Ok(Step::default());
        };
        let feed = stored_subscription.subscription.feed().clone();
        // Everything is read before anything changes, so that a failure changes nothing.
        let meaning = match &outcome {
            Outcome::ServerResponse { status, headers, content } => {
                let exchange =
                    Exchange { task, requested, status: *status, headers, content: *content };
                let response = RoundResponse { id, fetch, exchange };
                let state = &*self.state;
                let interpretation =
                    Interpretation { state, cx, in_progress, stored_subscription, response };
                Some((interpretation.meaning()?, response))
            }
            Outcome::Lost { .. } | Outcome::OutOfSpace => None,
        };
        let mut draft = cx.draft();
        let Some(mut in_progress) = self.state.in_progress.remove(&id) else {
            return Ok(draft.step);
        };
        in_progress.tasks -= 1;
        let settled = match (meaning, &outcome) {
            (Some((meaning, response)), _) => {
                self.state.reachability.answered(&fetch.request);
                self.answered(&mut draft, &mut in_progress, response, meaning)
            }
            (None, Outcome::OutOfSpace) => {
                self.failed_here(&mut draft, id, task, StatusCode::INSUFFICIENT_STORAGE);
                FetchResult::Failed
            }
            (None, _) => {
                let settled = self.result_of_unreached(&draft, fetch, &feed);
                if settled == FetchResult::Failed {
                    self.failed_here(&mut draft, id, task, StatusCode::GATEWAY_TIMEOUT);
                }
                settled
            }
        };
        in_progress.findings.is_partial |= fetch.part == Part::Page
            && matches!(settled, FetchResult::Failed | FetchResult::Later(_));
        if in_progress.round.settle(fetch.clone(), settled) == SettleEffect::AsFailure {
            self.failed_here(&mut draft, id, task, StatusCode::LOOP_DETECTED);
        }
        let end = in_progress.round.end();
        self.state.in_progress.insert(id, in_progress);
        if let Some(end) = end {
            self.end_round(&mut draft, id, end);
        }
        Ok(draft.step)
    }

    /// Applies a response of which the meaning is known.
    fn answered(
        &mut self,
        draft: &mut Draft,
        in_progress: &mut ActiveRound,
        response: RoundResponse<'_>,
        meaning: Meaning,
    ) -> FetchResult {
        let RoundResponse { id, fetch, exchange } = response;
        if fetch.part == Part::Feed {
            self.note_server_time(id, exchange.headers, draft.now);
        }
        match meaning {
            Meaning::Later(time) => {
                self.report(draft, id, exchange, None);
                return FetchResult::Later(time);
            }
            Meaning::Moved { to, for_good } => {
                if for_good && fetch.part == Part::Feed {
                    in_progress.findings.moved = Some(to.clone());
                }
                return FetchResult::Moved(to);
            }
            Meaning::OtherUnchanged => {
                in_progress.unconditional.insert(fetch.location.clone());
                return FetchResult::Lost;
            }
            Meaning::Read(reading) => {
                return FetchResult::Fetched(self.take(draft, in_progress, response, *reading));
            }
            Meaning::DeletedHere => return FetchResult::Fetched(Vec::new()),
            Meaning::OtherKind { is_portal }
                if is_portal
                    && self.state.settings.profile == Profile::Resilient
                    && in_progress.portals < MAX_PORTALS =>
            {
                in_progress.portals += 1;
                self.state.reachability.lost(&fetch.request, draft.now, draft.random);
                return FetchResult::Lost;
            }
            Meaning::NeedsSignIn => {
                self.state.reachability.lost(&fetch.request, draft.now, draft.random);
                return FetchResult::Lost;
            }
            Meaning::Error { is_stored } => {
                self.error_response(draft, response, is_stored);
            }
            Meaning::OtherKind { .. } | Meaning::Invalid => {}
        }
        self.failed(draft, id, exchange);
        FetchResult::Failed
    }

    /// Stores what a response contains, and returns the resources that it leads to.
    fn take(
        &mut self,
        draft: &mut Draft,
        in_progress: &mut ActiveRound,
        response: RoundResponse<'_>,
        reading: Reading,
    ) -> Vec<(Part, Location)> {
        let RoundResponse { id, fetch, .. } = response;
        let Some(stored_subscription) = self.state.stored_subscriptions.get(&id) else {
            return Vec::new();
        };
        let partition = stored_subscription.subscription.partition();
        match reading {
            Reading::Proxy(configuration, representation) => {
                self.state.proxies.insert(id, configuration);
                in_progress.findings.linked(&fetch.location);
                self.state.represent(draft, partition, &fetch.location, Some(representation));
                Vec::new()
            }
            Reading::Document { findings, seen, targets } => {
                in_progress.findings.merge(&fetch.location, findings);
                in_progress.findings.assign(seen);
                targets
            }
            Reading::Linked { representation, may_arrive } => {
                let representation = Some(representation);
                match may_arrive {
                    true => self.state.represent_keeping_attempts(
                        draft,
                        partition,
                        &fetch.location,
                        representation,
                    ),
                    false => {
                        self.state.represent(draft, partition, &fetch.location, representation)
                    }
                }
                Vec::new()
            }
            Reading::NotStorable => Vec::new(),
        }
    }

    /// Applies an error response. It is stored where applications are to get it.
    fn error_response(&mut self, draft: &mut Draft, response: RoundResponse<'_>, is_stored: bool) {
        let RoundResponse { id, fetch, exchange } = response;
        let Some(stored_subscription) = self.state.stored_subscriptions.get_mut(&id) else {
            return;
        };
        if fetch.part == Part::Feed {
            stored_subscription.moved = None;
        }
        let partition = stored_subscription.subscription.partition();
        if is_stored {
            let timing = Timing { requested: exchange.requested, answered: draft.now };
            let representation = Representation {
                status: exchange.status,
                headers: cache_headers::stored_headers(exchange.headers, timing),
                content: exchange.content,
                fetched: draft.now,
                alias_tag: None,
            };
            self.state.represent(draft, partition, &fetch.location, Some(representation));
        }
    }

    /// Records an error without a response of a server, under the status that stands for it (2.1.3).
    fn failed_here(
        &mut self,
        draft: &mut Draft,
        id: SubscriptionId,
        task: &Task,
        status: StatusCode,
    ) {
        let (headers, content) = (&HeaderMap::new(), Content::of(b""));
        let exchange = Exchange { task, requested: draft.now, status, headers, content };
        self.failed(draft, id, exchange);
    }

    /// Repeats a request of a round, whatever the response was.
    pub(crate) fn fetch_again(&mut self, round: RoundId, fetch: Fetch) {
        let in_progress = self
            .state
            .in_progress
            .get_mut(&round.stored_subscription)
            .filter(|it| it.number == round.number);
        if let Some(in_progress) = in_progress {
            in_progress.tasks -= 1;
            in_progress.round.settle(fetch, FetchResult::Lost);
        }
    }

    /// Result of a request whose server was not reached. A server of another origin does not delay the feed.
    fn result_of_unreached(
        &mut self,
        draft: &Draft,
        fetch: &Fetch,
        feed: &Location,
    ) -> FetchResult {
        let reachability = &mut self.state.reachability;
        reachability.lost(&fetch.request, draft.now, draft.random);
        let is_elsewhere = !fetch.request.is_same_origin(feed) && reachability.is_reachable(feed);
        match fetch.part {
            Part::Linked if is_elsewhere => FetchResult::Later(draft.now.after(OTHER_ORIGIN_DELAY)),
            Part::Page | Part::Proxy if is_elsewhere => FetchResult::Failed,
            _ => FetchResult::Lost,
        }
    }

    /// Notes the time of the server's response for the feed, by the server's clock (2.1.2).
    fn note_server_time(&mut self, id: SubscriptionId, headers: &HeaderMap, now: Time) {
        let date = headers.get(header::DATE).and_then(|date| Time::of_date(date.to_str().ok()?));
        if let Some(stored_subscription) = self.state.stored_subscriptions.get_mut(&id) {
            stored_subscription.subscription.answered(date.unwrap_or(now));
        }
    }

    /// Records an error of a subscription (2.1.3).
    fn failed(&mut self, draft: &mut Draft, id: SubscriptionId, exchange: Exchange<'_>) {
        if let Some(stored_subscription) = self.state.stored_subscriptions.get_mut(&id) {
            let (location, status) = (exchange.task.location.clone(), exchange.status);
            stored_subscription.subscription.fails(Failure { location, status });
        }
        self.report(draft, id, exchange, Some(None));
    }

    /// Creates the event for an exchange.
    fn report(
        &mut self,
        draft: &mut Draft,
        id: SubscriptionId,
        exchange: Exchange<'_>,
        is_error: Option<Option<Content>>,
    ) {
        let Some(stored_subscription) = self.state.stored_subscriptions.get(&id) else { return };
        let (partition, feed) = (
            stored_subscription.subscription.partition(),
            stored_subscription.subscription.feed().clone(),
        );
        let interaction = exchange.interaction(draft.now);
        self.state.interacted(draft, (partition, &feed), interaction, is_error);
    }

    fn learned(
        &mut self,
        draft: &mut Draft,
        id: SubscriptionId,
        location: &Location,
        outcome: Outcome,
    ) {
        let Some(stored_subscription) = self.state.stored_subscriptions.get(&id) else { return };
        let partition = stored_subscription.subscription.partition();
        let Outcome::ServerResponse { status, headers, content } = outcome else {
            if matches!(outcome, Outcome::Lost { .. }) {
                self.state.reachability.lost(location, draft.now, draft.random);
                self.state.requested.insert((id, location.clone()));
            }
            return;
        };
        self.state.reachability.answered(location);
        // If the resource was edited meanwhile, the response may be outdated.
        if status != StatusCode::OK || self.state.outbox.last(partition, location).is_some() {
            return;
        }
        let headers = cache_headers::stored_headers(&headers, Timing::at(draft.now));
        let shown = self.state.shown.at(location).find(|shown| {
            let is_it = shown.partition == partition && shown.resource == *location;
            is_it && shown.entity.is_some()
        });
        if let Some(shown) = shown.cloned() {
            let entity = Some(Entity { headers: headers.clone(), content });
            self.state.shows_now(draft, OverlayEdit { entity, ..shown });
        }
        let representation =
            Representation { status, headers, content, fetched: draft.now, alias_tag: None };
        self.state.represent(draft, partition, location, Some(representation));
    }
}
