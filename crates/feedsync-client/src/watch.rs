//! Watch: decides when to synchronise, as soon as either side has changes for the other.
//!
//! A hub's events announce changes there. Without them the hub is polled, and a feed is read before it
//! `expires` (2.2). The store announces changes here. After failures the pauses grow, and a server's
//! `Retry-After` is respected.

use std::time::Duration;

use feedsync_fetch::{address, shown_text};
use feedsync_store::{Moment, Notices, Remote, RemoteState};
use tokio::time::{Instant, sleep_until};

use crate::address::with_credentials;
use crate::error::SyncError;
use crate::events::Event;
use crate::follow::Follower;
use crate::push::has_unsent_changes;
use crate::session::{Direction, Session};

/// Reason for a synchronisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SyncTrigger {
    /// The watch begins.
    Begin,
    /// The remote changed.
    There,
    /// The local collection changed.
    Here,
    /// A poll is due, or a retry after a failure.
    Poll,
}

/// Intervals of a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Interval between polls of a remote that sends no events.
    pub poll: Duration,
    /// Interval between polls of a hub while its events arrive.
    pub reassure: Duration,
    /// Pause after a first failure; doubled with each further one.
    pub pause: Duration,
    /// The longest pause.
    pub longest: Duration,
}

impl Default for Pace {
    /// Returns the default: 30 seconds, 15 minutes, and pauses from 2 seconds to an hour.
    fn default() -> Self {
        Self {
            poll: Duration::from_secs(30),
            reassure: Duration::from_secs(15 * 60),
            pause: Duration::from_secs(2),
            longest: Duration::from_secs(3_600),
        }
    }
}

impl Pace {
    /// Returns the pause after a number of failures in a row.
    pub(crate) fn after(self, failures: u32) -> Duration {
        match failures.checked_sub(1) {
            None => Duration::ZERO,
            Some(more) => {
                let factor = 1_u32.checked_shl(more).unwrap_or(u32::MAX);
                self.pause.saturating_mul(factor).min(self.longest)
            }
        }
    }
}

/// Waits until a collection or a remote has changes for the other.
pub struct Watch {
    session: Session,
    remote: Remote,
    direction: Direction,
    pace: Pace,
    notices: Notices,
    follower: Option<(String, Follower)>,
    begun: bool,
    /// Start of the current wait. The next call after a dropped future continues this wait.
    entered: Option<Instant>,
    /// When this wait ends because the feed expires.
    expiry: Option<Instant>,
    /// An event of the remote that was received and not yet compared with the stored position.
    event: Option<Event>,
}

impl Watch {
    /// Creates a watch of one remote; the first synchronisation is due at once.
    pub fn new(session: Session, remote: Remote, direction: Direction, pace: Pace) -> Self {
        let (mut direction, mut pace) = (direction, pace);
        if let Some(subscription) = &remote.subscription {
            direction.push = false;
            pace.poll = subscription.every;
        }
        let notices = session.endpoint().subscribe(&remote.collection);
        Self {
            session,
            remote,
            direction,
            pace,
            notices,
            follower: None,
            begun: false,
            entered: None,
            expiry: None,
            event: None,
        }
    }

    /// Waits until it is time to synchronise; `None` once the store is closed. It is to be called again after
    /// each synchronisation. The first call waits only if the remote asked for a pause.
    ///
    /// It is safe to cancel: the future may be dropped at any moment and however often, and the next call continues
    /// the same wait. No event is lost.
    pub async fn next(&mut self) -> Result<Option<SyncTrigger>, SyncError> {
        let entered = *self.entered.get_or_insert_with(Instant::now);
        let due = self.next_since(entered).await;
        (self.entered, self.expiry) = (None, None);
        due
    }

    async fn next_since(&mut self, entered: Instant) -> Result<Option<SyncTrigger>, SyncError> {
        let state = self.look().await?;
        let wish = state.not_before.map_or(Duration::ZERO, |until| self.time_until(until));
        let pause = if self.begun { self.pace.after(state.failures) } else { Duration::ZERO };
        let now = Instant::now();
        let until = (entered + pause).max(now + wish);
        // `sleep_until` may be pending at its first poll even for a time that has passed. A future that is dropped after
        // each first poll would never get further.
        if until > now {
            sleep_until(until).await;
        }
        if !std::mem::replace(&mut self.begun, true) {
            return Ok(Some(SyncTrigger::Begin));
        }
        if state.failures > 0 {
            return Ok(Some(SyncTrigger::Poll));
        }
        self.wait(entered).await
    }

    async fn wait(&mut self, entered: Instant) -> Result<Option<SyncTrigger>, SyncError> {
        let expiry = match self.expiry {
            Some(expiry) => expiry,
            None => entered + self.time_to_expiry(&self.look().await?),
        };
        self.expiry = Some(expiry);
        loop {
            let state = self.look().await?;
            if self.has_unsent_changes(&state).await? {
                return Ok(Some(SyncTrigger::Here));
            }
            if let Some(event) = self.event.take()
                && reports_change(&event, state.until.as_deref())
            {
                return Ok(Some(SyncTrigger::There));
            }
            self.follow(&state);
            let due = self.due(entered).min(expiry);
            let until = state.until.as_deref();
            tokio::select! {
                open = self.notices.next() => if !open { return Ok(None) },
                // The synchronisation may have read it in the meantime.
                event = event(&mut self.follower, until) => self.event = Some(event),
                () = sleep_until(due) => {
                    if Instant::now() >= self.due(entered).min(expiry) {
                        return Ok(Some(SyncTrigger::Poll));
                    }
                }
            }
        }
    }

    /// Returns the stored state of the remote.
    async fn look(&self) -> Result<RemoteState, SyncError> {
        let collection = &self.remote.collection;
        let known = self.session.endpoint().remotes(Some(collection)).await?;
        let found = known.into_iter().find(|known| known.id == self.remote.id);
        found.map(|found| found.state).ok_or_else(|| SyncError::Forgotten {
            collection: collection.clone(),
            url: shown_text(&self.remote.url),
        })
    }

    /// Whether local changes have not been offered yet.
    async fn has_unsent_changes(&self, state: &RemoteState) -> Result<bool, SyncError> {
        if !self.direction.push {
            return Ok(false);
        }
        has_unsent_changes(self.session.endpoint(), &self.remote, state).await
    }

    /// Follows the events of the remote, if it is a hub that is to be read.
    fn follow(&mut self, state: &RemoteState) {
        let changes = state.changes.as_ref().filter(|_| self.direction.pull);
        if self.follower.as_ref().map(|(followed, _)| followed) != changes {
            self.follower = changes.and_then(|changes| {
                let fetcher =
                    self.session.fetcher_for(&self.remote).given(address(&self.remote.url).ok()?);
                let hub = with_credentials(address(changes).ok()?, &self.remote.url);
                let follower = Follower::new(fetcher, &hub, self.pace)?;
                Some((changes.clone(), follower))
            });
        }
    }

    fn due(&self, entered: Instant) -> Instant {
        let followed = self.follower.as_ref().is_some_and(|(_, follower)| follower.is_open());
        entered + if followed { self.pace.reassure } else { self.pace.poll }
    }

    /// Returns the time to wait so that the feed is read before it expires. A publisher that states "now" is
    /// not read without a pause.
    fn time_to_expiry(&self, state: &RemoteState) -> Duration {
        let left = state.expires.map_or(Duration::ZERO, |expires| self.time_until(expires));
        if left < Duration::from_secs(1) { self.pace.reassure } else { left * 9 / 10 }
    }

    fn time_until(&self, moment: Moment) -> Duration {
        let now = self.session.endpoint().environment().now();
        Duration::from_micros(moment.micros().saturating_sub(now.micros()))
    }
}

async fn event(follower: &mut Option<(String, Follower)>, since: Option<&str>) -> Event {
    match follower {
        Some((_, follower)) => follower.next(since).await,
        None => std::future::pending().await,
    }
}

/// Whether an event announces a change after the stored position. A `reset` always does.
fn reports_change(event: &Event, until: Option<&str>) -> bool {
    event.kind != "message"
        || event.id.as_deref().is_none_or(|id| until.is_none_or(|until| id > until))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_bound() {
        let pace = Pace::default();
        let seconds =
            [0, 1, 2, 3, 10, 12, 40, u32::MAX].map(|failures| pace.after(failures).as_secs());
        assert_eq!(seconds, [0, 2, 4, 8, 1_024, 3_600, 3_600, 3_600]);
    }

    #[test]
    fn only_changes_after_the_stored_position_are_news() {
        let event = |kind: &str, id: &str| Event {
            id: Some(id.to_owned()),
            kind: kind.to_owned(),
            data: String::new(),
        };
        assert!(reports_change(&event("message", "6"), Some("5")));
        assert!(!reports_change(&event("message", "5"), Some("5")));
        assert!(reports_change(&event("message", "5"), None));
        assert!(reports_change(&event("reset", "5"), Some("5")));
    }
}
