//! How long a feed is left alone.
//!
//! A feed is asked about four times as often as it says something new, within a quarter of an hour and a day, and
//! never more often than its publisher wishes: `ttl`, `updatePeriod` and `max-age` are kept, hours and days
//! that it skips are slept through, and so is what `Retry-After` says. One that did not change is left alone a little
//! longer each time. After failures the pauses double, up to a day. One that is gone (410) is not asked again
//! unless a person wants it.

use std::time::Duration;

use feedsync_formats::Wishes;
use feedsync_library::PollState;
use feedsync_log::Millis;

/// No feed is asked more often than that.
pub const SHORTEST: Duration = Duration::from_secs(15 * 60);

/// Nor less often, but by its own wish.
pub const LONGEST: Duration = Duration::from_secs(24 * 3_600);

/// The longest wish that is believed.
const LONGEST_WISH: Duration = Duration::from_secs(7 * 24 * 3_600);

/// Where a feed tells no dates.
const USUAL: Duration = Duration::from_secs(3_600);

/// So many of its last articles tell how often it says something.
const RECENT: usize = 20;

/// After so many failures in a row it is believed no longer that the feed moved.
pub(super) const DOUBTED: u32 = 3;

/// What came of asking a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard<'a> {
    /// It says what it said.
    Unchanged,
    /// It says something else. Dates of its articles, in whatever order.
    Changed(&'a [Millis]),
    /// It is gone for good (410).
    Gone,
    /// It could not be had.
    Failed,
}

/// What a publisher wants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// What the feed said of itself last.
    pub(super) wishes: Wishes,
    /// How long what was sent is fresh, as its server says.
    pub(super) fresh: Duration,
    /// How long its server wants to be left alone.
    pub(super) retry_after: Duration,
}

/// When to ask again. `chance` is any number, other for each feed: those that were asked at once are not asked at
/// once again.
pub(super) fn paced(
    state: PollState,
    heard: Heard<'_>,
    wanted: Wanted,
    now: Millis,
    chance: u64,
) -> PollState {
    // A feed that is gone from where it was led may still be where it was.
    let is_led = state.led_to.is_some();
    let heard = if is_led && heard == Heard::Gone { Heard::Failed } else { heard };
    let every = match heard {
        Heard::Unchanged => (state.every.max(SHORTEST) * 9 / 8).min(LONGEST.max(state.every)),
        Heard::Changed(dates) => usual(dates, now),
        Heard::Failed => SHORTEST * (1 << state.failures.min(7)),
        Heard::Gone => LONGEST,
    };
    let every = match heard {
        Heard::Failed | Heard::Gone => every.min(LONGEST),
        _ => every.max(wanted.wishes.every.unwrap_or_default()).max(wanted.fresh),
    };
    let every = every.max(wanted.retry_after).min(LONGEST_WISH);
    // Up to an eighth more.
    let more = every.mul_f64((chance % 1_000) as f64 / 8_000.0);
    let due = now.after(millis(every + more));
    let failures = match heard {
        Heard::Failed => state.failures.saturating_add(1),
        _ => 0,
    };
    let state = match is_led && failures >= DOUBTED {
        // What is known of the document there says nothing of the one here.
        true => PollState { led_to: None, etag: None, last_modified: None, digest: None, ..state },
        false => state,
    };
    match heard {
        Heard::Gone => PollState { every, due: Millis::MAX, failures, gone: true, ..state },
        // How often it says something is not known from failures.
        Heard::Failed => PollState { due, failures, gone: false, ..state },
        _ => {
            let due = awake(due, wanted.wishes);
            // A document that did not change has the faults that it had.
            let is_same = heard == Heard::Unchanged && state.failures == 0;
            let fault = state.fault.filter(|_| is_same);
            PollState { every, due, failures, gone: false, fault, ..state }
        }
    }
}

/// A quarter of the time between two articles.
fn usual(dates: &[Millis], now: Millis) -> Duration {
    let mut dates: Vec<u64> =
        dates.iter().map(|date| date.get()).filter(|at| *at <= now.get()).collect();
    dates.sort_unstable_by(|one, other| other.cmp(one));
    dates.truncate(RECENT);
    match dates.last() {
        Some(oldest) => {
            let each = (now.get() - oldest) / dates.len() as u64;
            Duration::from_millis(each / 4).clamp(SHORTEST, LONGEST)
        }
        None => USUAL,
    }
}

/// The first full hour after the ones that a feed skips, or that moment.
fn awake(due: Millis, wishes: Wishes) -> Millis {
    const HOUR: u64 = 3_600_000;
    let is_idle = |at: u64| {
        let hours = at / HOUR;
        // The first of January 1970 was a Thursday.
        wishes.is_idle((hours / 24 + 3) as u32 % 7, (hours % 24) as u32)
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

    /// Sunday, the 22nd of November 2026, at 12 o'clock.
    const NOW: Millis = Millis::new(1_795_348_800_000);
    const MINUTE: u64 = 60_000;
    const HOUR: u64 = 60 * MINUTE;

    fn due(state: PollState, heard: Heard<'_>, wanted: Wanted) -> u64 {
        (paced(state, heard, wanted, NOW, 0).due.get() - NOW.get()) / MINUTE
    }

    fn every(minutes: u64) -> PollState {
        PollState { every: Duration::from_secs(minutes * 60), ..PollState::default() }
    }

    fn wishing(wishes: Wishes) -> Wanted {
        Wanted { wishes, ..Wanted::default() }
    }

    #[test]
    fn a_feed_is_asked_as_often_as_it_says_something_and_left_alone_as_it_wishes() {
        let ago = |hours: u64| NOW.before(hours * HOUR);
        let changed = |dates: &[Millis], wanted| due(every(0), Heard::Changed(dates), wanted);
        let none = Wanted::default();
        assert_eq!(changed(&[ago(8), ago(16), ago(24)], none), 120);
        assert_eq!(changed(&[ago(0), ago(0)], none), 15, "not more often");
        assert_eq!(changed(&[ago(100_000)], none), 24 * 60, "nor less often");
        assert_eq!(changed(&[], none), 60);
        assert_eq!(changed(&[NOW.after(HOUR)], none), 60, "what is to come tells nothing");
        let hours = |hours: u64| Duration::from_secs(hours * 3_600);
        let wish = Wishes { every: Some(hours(48)), ..Wishes::default() };
        assert_eq!(changed(&[ago(1)], wishing(wish)), 48 * 60);
        assert_eq!(changed(&[ago(1)], Wanted { fresh: hours(3), ..none }), 180);
        assert_eq!(changed(&[ago(1)], Wanted { fresh: hours(9_999), ..none }), 7 * 24 * 60);
        assert_eq!(due(every(80), Heard::Unchanged, none), 90);
        assert_eq!(due(every(24 * 60), Heard::Unchanged, none), 24 * 60);
    }

    #[test]
    fn hours_and_days_that_a_feed_skips_are_slept_through() {
        let skips = |idle_hours, idle_days| {
            due(every(0), Heard::Unchanged, wishing(Wishes { idle_hours, idle_days, every: None }))
        };
        assert_eq!(skips(0, 0), 16);
        assert_eq!(skips(1 << 12 | 1 << 13, 0), 120);
        assert_eq!(skips(0, 1 << 6), 12 * 60, "until Monday");
        assert_eq!(skips(u32::MAX, 0), 16, "never is not meant");
    }

    #[test]
    fn what_is_known_of_where_a_feed_was_led_goes_with_it() {
        let led = PollState {
            led_to: Some("http://b/".parse().unwrap()),
            etag: Some("\"b\"".to_owned()),
            last_modified: Some("then".to_owned()),
            digest: Some([1; 32]),
            ..every(60)
        };
        // Also where it is gone from there.
        for heard in [Heard::Failed, Heard::Gone] {
            let mut state = led.clone();
            for _ in 1..DOUBTED {
                state = paced(state, heard, Wanted::default(), NOW, 0);
                assert_eq!(
                    (&state.led_to, &state.etag, state.gone),
                    (&led.led_to, &led.etag, false)
                );
            }
            let state = paced(state, heard, Wanted::default(), NOW, 0);
            let PollState { led_to, etag, last_modified, digest, gone, .. } = state;
            assert_eq!(
                (led_to, etag, last_modified, digest, gone),
                (None, None, None, None, false)
            );
        }
    }

    #[test]
    fn pauses_after_failures_grow_and_what_is_gone_is_left_alone() {
        let mut state = PollState { led_to: Some("http://b/".parse().unwrap()), ..every(60) };
        let mut pauses = Vec::new();
        for failures in 1..=9 {
            pauses.push(due(state.clone(), Heard::Failed, Wanted::default()));
            state = paced(state, Heard::Failed, Wanted::default(), NOW, 0);
            assert_eq!(state.failures, failures);
            assert_eq!(state.led_to.is_some(), failures < DOUBTED);
        }
        assert_eq!(pauses, [15, 30, 60, 120, 240, 480, 960, 1_440, 1_440]);
        assert_eq!(state.every, Duration::from_secs(3_600));
        let wish = Wanted { retry_after: Duration::from_secs(3 * 86_400), ..Wanted::default() };
        assert_eq!(due(state.clone(), Heard::Failed, wish), 3 * 24 * 60);
        let state = paced(state, Heard::Unchanged, Wanted::default(), NOW, 0);
        assert_eq!(state.failures, 0);
        let gone = paced(state, Heard::Gone, Wanted::default(), NOW, 0);
        assert!(gone.gone && gone.due == Millis::MAX);
        // Whoever has it asked again takes it for one that may come back.
        assert!(!paced(gone, Heard::Failed, Wanted::default(), NOW, 0).gone);
    }

    proptest! {
        /// Nobody is asked more often than a quarter of an hour allows, whatever they say.
        #[test]
        fn nobody_is_asked_too_often(
            dates in prop::collection::vec(0_u64..3_000_000_000_000, 0..9),
            minutes in 0_u64..100_000, failures in 0_u32..99, idle_hours: u32, idle_days: u8, chance: u64,
            kind in 0..3_usize,
        ) {
            let dates: Vec<_> = dates.into_iter().map(Millis::new).collect();
            let state = PollState { failures, ..every(minutes) };
            let heard = [Heard::Unchanged, Heard::Changed(&dates), Heard::Failed][kind];
            let wanted = wishing(Wishes { every: None, idle_hours, idle_days });
            let next = paced(state, heard, wanted, NOW, chance);
            let pause = next.due.get() - NOW.get();
            prop_assert!(pause >= millis(SHORTEST));
            prop_assert!(pause <= millis(LONGEST_WISH) * 9 / 8 + 7 * 24 * HOUR);
        }
    }
}
