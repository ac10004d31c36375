//! Polling intervals.
//!
//! A feed is polled about four times as often as it publishes, with an interval between a quarter of an hour and
//! a day. The intervals that its publisher requests are respected: `ttl`, `updatePeriod`, `max-age`, skipped
//! hours and days, and `Retry-After`. The interval grows slightly after each poll without changes. It doubles
//! after failures, up to a day. A feed that is gone (410) is not polled again unless a user requests it.

use std::time::Duration;

use crate::library::PollState;
use feedsync_formats::PollingHints;
use feedsync_log::Millis;

/// Minimum polling interval.
pub const MIN_POLL_INTERVAL: Duration = Duration::from_secs(15 * 60);

/// Maximum polling interval, unless the publisher requests a longer one.
pub const MAX_POLL_INTERVAL: Duration = Duration::from_secs(24 * 3_600);

/// Maximum interval that a publisher may request.
const MAX_REQUESTED_INTERVAL: Duration = Duration::from_secs(7 * 24 * 3_600);

/// Interval for a feed without dates.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(3_600);

/// Number of recent articles from which the publication rate is computed.
const RATE_SAMPLE: usize = 20;

/// Number of consecutive failures after which a permanent redirect is discarded.
pub(super) const MAX_REDIRECT_FAILURES: u32 = 3;

/// Outcome of a poll, as far as it affects the interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PollOutcome<'a> {
    /// The feed is unchanged.
    Unchanged,
    /// The feed has changed. The value has the dates of its articles, in any order.
    Changed(&'a [Millis]),
    /// The feed is permanently gone (410).
    Gone,
    /// The feed could not be fetched or parsed.
    Failed,
}

/// Requests of the publisher.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PublisherRequests {
    /// Intervals that the last document requested.
    pub(super) polling_hints: PollingHints,
    /// Freshness lifetime that the server declared.
    pub(super) fresh: Duration,
    /// Pause that the server requested.
    pub(super) retry_after: Duration,
}

/// Computes the next poll. `chance` is a random number that spreads the polls of feeds that were polled at the
/// same time.
pub(super) fn next_poll_state(
    state: PollState,
    heard: PollOutcome<'_>,
    wanted: PublisherRequests,
    now: Millis,
    chance: u64,
) -> PollState {
    // A feed that is gone at the target of its redirect may still exist at its own address.
    let is_led = state.redirect_target.is_some();
    let heard = if is_led && heard == PollOutcome::Gone { PollOutcome::Failed } else { heard };
    let every = match heard {
        PollOutcome::Unchanged => {
            (state.every.max(MIN_POLL_INTERVAL) * 9 / 8).min(MAX_POLL_INTERVAL.max(state.every))
        }
        PollOutcome::Changed(dates) => expected_interval(dates, now),
        PollOutcome::Failed => MIN_POLL_INTERVAL * (1 << state.failures.min(7)),
        PollOutcome::Gone => MAX_POLL_INTERVAL,
    };
    let every = match heard {
        PollOutcome::Failed | PollOutcome::Gone => every.min(MAX_POLL_INTERVAL),
        _ => every.max(wanted.polling_hints.every.unwrap_or_default()).max(wanted.fresh),
    };
    let every = every.max(wanted.retry_after).min(MAX_REQUESTED_INTERVAL);
    // Adds up to an eighth.
    let more = every.mul_f64((chance % 1_000) as f64 / 8_000.0);
    let due = now.after(millis(every + more));
    let failures = match heard {
        PollOutcome::Failed => state.failures.saturating_add(1),
        _ => 0,
    };
    let state = match is_led && failures >= MAX_REDIRECT_FAILURES {
        // Validators of the document at the target do not apply to the one at the original address.
        true => PollState {
            redirect_target: None,
            etag: None,
            last_modified: None,
            digest: None,
            ..state
        },
        false => state,
    };
    match heard {
        PollOutcome::Gone => PollState { every, due: Millis::MAX, failures, gone: true, ..state },
        // Failures give no information about the publication rate.
        PollOutcome::Failed => PollState { due, failures, gone: false, ..state },
        _ => {
            let due = after_idle_hours(due, wanted.polling_hints);
            // An unchanged document has the same faults.
            let is_same = heard == PollOutcome::Unchanged && state.failures == 0;
            let fault = state.fault.filter(|_| is_same);
            PollState { every, due, failures, gone: false, fault, ..state }
        }
    }
}

/// A quarter of the mean time between articles.
fn expected_interval(dates: &[Millis], now: Millis) -> Duration {
    let mut dates: Vec<u64> =
        dates.iter().map(|date| date.get()).filter(|at| *at <= now.get()).collect();
    dates.sort_unstable_by(|one, other| other.cmp(one));
    dates.truncate(RATE_SAMPLE);
    match dates.last() {
        Some(oldest) => {
            let each = (now.get() - oldest) / dates.len() as u64;
            Duration::from_millis(each / 4).clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL)
        }
        None => DEFAULT_INTERVAL,
    }
}

/// The given time, or the first full hour after the skipped ones.
fn after_idle_hours(due: Millis, polling_hints: PollingHints) -> Millis {
    const HOUR: u64 = 3_600_000;
    let is_idle = |at: u64| {
        let hours = at / HOUR;
        // 1 January 1970 was a Thursday.
        polling_hints.is_idle((hours / 24 + 3) as u32 % 7, (hours % 24) as u32)
    };
    let first = due.get();
    let later = (1..=7 * 24).map(|hours| (first / HOUR + hours) * HOUR);
    std::iter::once(first).chain(later).find(|at| !is_idle(*at)).map_or(due, Millis::new)
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Sunday, 22 November 2026, 12:00.
    const NOW: Millis = Millis::new(1_795_348_800_000);
    const MINUTE: u64 = 60_000;
    const HOUR: u64 = 60 * MINUTE;

    fn due(state: PollState, heard: PollOutcome<'_>, wanted: PublisherRequests) -> u64 {
        (next_poll_state(state, heard, wanted, NOW, 0).due.get() - NOW.get()) / MINUTE
    }

    fn every(minutes: u64) -> PollState {
        PollState { every: Duration::from_secs(minutes * 60), ..PollState::default() }
    }

    fn hinting(polling_hints: PollingHints) -> PublisherRequests {
        PublisherRequests { polling_hints, ..PublisherRequests::default() }
    }

    #[test]
    fn interval_follows_the_publication_rate_and_the_requested_pauses() {
        let ago = |hours: u64| NOW.before(hours * HOUR);
        let changed = |dates: &[Millis], wanted| due(every(0), PollOutcome::Changed(dates), wanted);
        let none = PublisherRequests::default();
        assert_eq!(changed(&[ago(8), ago(16), ago(24)], none), 120);
        assert_eq!(changed(&[ago(0), ago(0)], none), 15, "not more often");
        assert_eq!(changed(&[ago(100_000)], none), 24 * 60, "nor less often");
        assert_eq!(changed(&[], none), 60);
        assert_eq!(changed(&[NOW.after(HOUR)], none), 60, "what is to come tells nothing");
        let hours = |hours: u64| Duration::from_secs(hours * 3_600);
        let wish = PollingHints { every: Some(hours(48)), ..PollingHints::default() };
        assert_eq!(changed(&[ago(1)], hinting(wish)), 48 * 60);
        assert_eq!(changed(&[ago(1)], PublisherRequests { fresh: hours(3), ..none }), 180);
        assert_eq!(
            changed(&[ago(1)], PublisherRequests { fresh: hours(9_999), ..none }),
            7 * 24 * 60
        );
        assert_eq!(due(every(80), PollOutcome::Unchanged, none), 90);
        assert_eq!(due(every(24 * 60), PollOutcome::Unchanged, none), 24 * 60);
    }

    #[test]
    fn skipped_hours_and_days_are_respected() {
        let skips = |idle_hours, idle_days| {
            due(
                every(0),
                PollOutcome::Unchanged,
                hinting(PollingHints { idle_hours, idle_days, every: None }),
            )
        };
        assert_eq!(skips(0, 0), 16);
        assert_eq!(skips(1 << 12 | 1 << 13, 0), 120);
        assert_eq!(skips(0, 1 << 6), 12 * 60, "until Monday");
        assert_eq!(skips(u32::MAX, 0), 16, "never is not meant");
    }

    #[test]
    fn validators_are_discarded_with_the_redirect() {
        let led = PollState {
            redirect_target: Some("http://b/".parse().unwrap()),
            etag: Some("\"b\"".to_owned()),
            last_modified: Some("then".to_owned()),
            digest: Some([1; 32]),
            ..every(60)
        };
        // The same holds if the target is gone.
        for heard in [PollOutcome::Failed, PollOutcome::Gone] {
            let mut state = led.clone();
            for _ in 1..MAX_REDIRECT_FAILURES {
                state = next_poll_state(state, heard, PublisherRequests::default(), NOW, 0);
                assert_eq!(
                    (&state.redirect_target, &state.etag, state.gone),
                    (&led.redirect_target, &led.etag, false)
                );
            }
            let state = next_poll_state(state, heard, PublisherRequests::default(), NOW, 0);
            let PollState { redirect_target, etag, last_modified, digest, gone, .. } = state;
            assert_eq!(
                (redirect_target, etag, last_modified, digest, gone),
                (None, None, None, None, false)
            );
        }
    }

    #[test]
    fn intervals_grow_after_failures_and_gone_feeds_are_not_polled() {
        let mut state =
            PollState { redirect_target: Some("http://b/".parse().unwrap()), ..every(60) };
        let mut pauses = Vec::new();
        for failures in 1..=9 {
            pauses.push(due(state.clone(), PollOutcome::Failed, PublisherRequests::default()));
            state =
                next_poll_state(state, PollOutcome::Failed, PublisherRequests::default(), NOW, 0);
            assert_eq!(state.failures, failures);
            assert_eq!(state.redirect_target.is_some(), failures < MAX_REDIRECT_FAILURES);
        }
        assert_eq!(pauses, [15, 30, 60, 120, 240, 480, 960, 1_440, 1_440]);
        assert_eq!(state.every, Duration::from_secs(3_600));
        let wish = PublisherRequests {
            retry_after: Duration::from_secs(3 * 86_400),
            ..PublisherRequests::default()
        };
        assert_eq!(due(state.clone(), PollOutcome::Failed, wish), 3 * 24 * 60);
        let state =
            next_poll_state(state, PollOutcome::Unchanged, PublisherRequests::default(), NOW, 0);
        assert_eq!(state.failures, 0);
        let gone = next_poll_state(state, PollOutcome::Gone, PublisherRequests::default(), NOW, 0);
        assert!(gone.gone && gone.due == Millis::MAX);
        // A feed that a user requests again is assumed to be able to return.
        assert!(
            !next_poll_state(gone, PollOutcome::Failed, PublisherRequests::default(), NOW, 0).gone
        );
    }

    proptest! {
        /// For all inputs, the interval is at least a quarter of an hour.
        #[test]
        fn intervals_are_never_below_the_minimum(
            dates in prop::collection::vec(0_u64..3_000_000_000_000, 0..9),
            minutes in 0_u64..100_000, failures in 0_u32..99, idle_hours: u32, idle_days: u8, chance: u64,
            kind in 0..3_usize,
        ) {
            let dates: Vec<_> = dates.into_iter().map(Millis::new).collect();
            let state = PollState { failures, ..every(minutes) };
            let heard = [PollOutcome::Unchanged, PollOutcome::Changed(&dates), PollOutcome::Failed][kind];
            let wanted = hinting(PollingHints { every: None, idle_hours, idle_days });
            let next = next_poll_state(state, heard, wanted, NOW, chance);
            let pause = next.due.get() - NOW.get();
            prop_assert!(pause >= millis(MIN_POLL_INTERVAL));
            prop_assert!(pause <= millis(MAX_REQUESTED_INTERVAL) * 9 / 8 + 7 * 24 * HOUR);
        }
    }
}
