//! Schedule of subscriptions, each of which is read when it is due.
//!
//! Any number of processes may serve one store. A process that finds a due subscription first postpones it,
//! so that only one process reads it. If a process dies while it reads, the subscription is delayed by
//! [`LEASE`]. If reading takes longer than that, the feed may be read twice.
//!
//! A feed is read again after its period, or sooner if its publisher states when it expires (2.2, F26). After
//! failures the pauses grow, with a random part. A server's `Retry-After` is respected.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use feedsync_fetch::{Fetcher, RetryAfter};
use feedsync_store::{Moment, Remote, RemoteState, StoreError, Subscription};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::aggregate::SubscriptionOptions;
use crate::error::SyncError;
use crate::progress::NoProgress;
use crate::report::SyncReport;
use crate::session::{Direction, Session};
use crate::watch::Pace;

/// Time for which a subscription is reserved for the process that reads it.
const LEASE: Duration = Duration::from_secs(15 * 60);

/// Interval at which due subscriptions are looked up.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

/// Maximum number of subscriptions that are read concurrently.
const MAX_CONCURRENT: usize = 8;

/// Pauses after failures: from a minute to six hours, or to the subscription's own period.
const RETRY_PACE: Pace = Pace {
    poll: POLL_INTERVAL,
    reassure: POLL_INTERVAL,
    pause: Duration::from_secs(60),
    longest: Duration::from_secs(6 * 3_600),
};

/// Reads the subscriptions of a store.
#[derive(Clone)]
pub struct Schedule {
    session: Session,
    fetcher_factory: Option<Arc<FetcherFactory>>,
}

/// Creates a new fetcher, or gives the reason why it cannot.
type FetcherFactory = dyn Fn() -> Result<Fetcher, String> + Send + Sync;

impl Schedule {
    /// Creates a schedule of an endpoint's subscriptions.
    pub fn new(session: Session) -> Self {
        Self { session, fetcher_factory: None }
    }

    /// Returns the same schedule, which calls `fetcher_factory` for a new fetcher each time that something is due. So a
    /// login that was added or replaced in the meantime is used. If that fails, the last fetcher is used.
    #[must_use]
    pub fn renewing<E: Display>(
        self,
        fetcher_factory: impl Fn() -> Result<Fetcher, E> + Send + Sync + 'static,
    ) -> Self {
        let fetcher_factory = move || fetcher_factory().map_err(|error| error.to_string());
        Self { fetcher_factory: Some(Arc::new(fetcher_factory)), ..self }
    }

    /// Reads due subscriptions until the future is dropped, which may happen at any moment. Everything stored
    /// by then stays.
    pub async fn run(mut self) {
        let mut pulls = JoinSet::new();
        loop {
            match self.due().await {
                Ok(mut due) => {
                    due.truncate(MAX_CONCURRENT.saturating_sub(pulls.len()));
                    if !due.is_empty() {
                        self.renew().await;
                    }
                    for remote in due {
                        let schedule = self.clone();
                        pulls.spawn(async move { schedule.read_and_log(&remote).await });
                    }
                }
                Err(error) => tracing::warn!(%error, "cannot list the subscriptions that are due"),
            }
            tokio::select! {
                () = sleep(POLL_INTERVAL) => {}
                Some(_) = pulls.join_next() => {}
            }
        }
    }

    async fn renew(&mut self) {
        let Some(fetcher_factory) = self.fetcher_factory.clone() else { return };
        match tokio::task::spawn_blocking(move || fetcher_factory()).await {
            Ok(Ok(fetcher)) => {
                self.session = Session::new(self.session.endpoint().clone(), fetcher);
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "cannot read the logins; the previous ones stay in use")
            }
            Err(failure) => std::panic::resume_unwind(failure.into_panic()),
        }
    }

    /// Returns the due subscriptions, those that wait longest first.
    pub async fn due(&self) -> Result<Vec<Remote>, StoreError> {
        let now = self.session.endpoint().environment().now();
        let mut remotes = self.session.endpoint().remotes(None).await?;
        remotes.retain(|remote| {
            let subscription = remote.subscription.as_ref();
            subscription.is_some_and(|subscription| is_due(subscription, &remote.state, now))
        });
        remotes.sort_by_key(|remote| remote.subscription.as_ref().and_then(|at| at.due));
        Ok(remotes)
    }

    /// Reads a subscription, unless another process of this store is reading it, and sets when it is due
    /// again.
    pub async fn read(&self, remote: &Remote) -> Result<Option<SyncReport>, SyncError> {
        let Some(subscription) = &remote.subscription else { return Ok(None) };
        let endpoint = self.session.endpoint();
        let environment = endpoint.environment();
        let claimed = after(environment.now(), LEASE);
        if !endpoint.reschedule(remote.id, subscription.due, claimed).await? {
            return Ok(None);
        }
        let direction = Direction { pull: true, push: false };
        let outcome = self.session.sync(remote, direction, &NoProgress, false).await;
        let known = endpoint.remotes(Some(&remote.collection)).await?;
        if let Some(known) = known.into_iter().find(|known| known.id == remote.id) {
            let (now, chance) = (environment.now(), environment.random());
            let due = next(now, subscription, &known.state, chance);
            endpoint.reschedule(remote.id, Some(claimed), due).await?;
        }
        outcome.map(Some)
    }

    async fn read_and_log(&self, remote: &Remote) {
        let (collection, url) = (&remote.collection, feedsync_fetch::shown_text(&remote.url));
        match self.read(remote).await {
            Ok(None) | Err(SyncError::NotYet { .. } | SyncError::Forgotten { .. }) => {}
            Ok(Some(report)) => {
                let changed = report.pulled.changed();
                tracing::info!(%collection, url, changed, "subscription read");
            }
            Err(error) => {
                tracing::warn!(%error, %collection, url, "cannot read a subscription");
            }
        }
    }
}

/// Whether a subscription is due. A `due` that was written while the clock was ahead does not count: it is
/// later than any pause, or it is later than a lease and the last success is in the future.
fn is_due(subscription: &Subscription, state: &RemoteState, now: Moment) -> bool {
    let Some(due) = subscription.due else { return true };
    let longest = RETRY_PACE.longest.max(subscription.every).max(LEASE).max(RetryAfter::MAX_DELAY);
    let was_ahead = state.succeeded.is_some_and(|succeeded| succeeded > now);
    due <= now || due > after(now, longest) || (was_ahead && due > after(now, LEASE))
}

/// Returns the time at which a subscription is due after it was read, or after a failure.
fn next(now: Moment, subscription: &Subscription, state: &RemoteState, chance: u64) -> Moment {
    let left = |until: Moment| Duration::from_micros(until.micros().saturating_sub(now.micros()));
    let wish = state.not_before.map_or(Duration::ZERO, left);
    let pause = if state.failures > 0 {
        let pace = Pace { longest: RETRY_PACE.longest.max(subscription.every), ..RETRY_PACE };
        let pause = pace.after(state.failures);
        // A random pause between half of it and all of it, so that failed subscriptions do not all retry at
        // once.
        pause / 2 + (pause / 2).mul_f64(chance as f64 / u64::MAX as f64)
    } else {
        let expiry = state.expires.map(left).filter(|left| !left.is_zero());
        let expiry = expiry.map(|left| (left * 9 / 10).max(SubscriptionOptions::MIN_INTERVAL));
        expiry.unwrap_or(subscription.every).min(subscription.every)
    };
    after(now, pause.max(wish))
}

fn after(now: Moment, pause: Duration) -> Moment {
    let pause = u64::try_from(pause.as_micros()).unwrap_or(u64::MAX);
    Moment::from_micros(now.micros().saturating_add(pause))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::from_micros(1_763_668_000_000_000);

    fn seconds(state: &RemoteState, chance: u64) -> u64 {
        let every = Duration::from_secs(900);
        let subscription =
            Subscription { every, plain: false, reaches_private: false, due: Some(NOW) };
        (next(NOW, &subscription, state, chance).micros() - NOW.micros()) / 1_000_000
    }

    fn in_seconds(seconds: u64) -> Option<Moment> {
        Some(after(NOW, Duration::from_secs(seconds)))
    }

    #[test]
    fn a_feed_is_read_after_its_period_or_before_it_expires() {
        let state = |expires| RemoteState { expires, ..RemoteState::default() };
        assert_eq!(seconds(&state(None), 0), 900);
        assert_eq!(seconds(&state(in_seconds(200)), 0), 180);
        assert_eq!(seconds(&state(in_seconds(1)), 0), 60, "not without a pause");
        assert_eq!(seconds(&state(in_seconds(86_400)), 0), 900, "a person wants it more often");
        let past = Some(Moment::from_micros(1));
        assert_eq!(seconds(&state(past), 0), 900);
    }

    #[test]
    fn a_subscription_is_due_if_the_clock_was_ahead_when_it_was_read() {
        let every = Duration::from_secs(900);
        let due = |due, succeeded| {
            let subscription = Subscription { every, plain: false, reaches_private: false, due };
            is_due(&subscription, &RemoteState { succeeded, ..RemoteState::default() }, NOW)
        };
        assert!(due(None, None) && due(Some(NOW), None));
        assert!(!due(in_seconds(900), None));
        let (day, week) = (86_400, 7 * 86_400);
        assert!(!due(in_seconds(week), None), "a server may ask for a week");
        assert!(due(in_seconds(week + 1), None));
        assert!(due(in_seconds(day), in_seconds(day - 900)), "the last success is in the future");
        assert!(!due(in_seconds(900), in_seconds(day)), "somebody is reading it now");
    }

    #[test]
    fn pauses_after_failures_grow_and_differ_and_a_servers_wish_is_kept() {
        let state =
            |failures, not_before| RemoteState { failures, not_before, ..RemoteState::default() };
        assert_eq!(seconds(&state(1, None), 0), 30);
        assert_eq!(seconds(&state(1, None), u64::MAX), 60);
        assert_eq!(seconds(&state(4, None), u64::MAX), 480);
        assert_eq!(seconds(&state(40, None), u64::MAX), 6 * 3_600);
        assert_eq!(seconds(&state(1, in_seconds(7_200)), 0), 7_200);
        assert_eq!(seconds(&state(0, in_seconds(7_200)), 0), 7_200);
    }
}
