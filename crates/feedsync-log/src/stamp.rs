//! Hybrid logical clocks, which order changes (LR7, LR15).
//!
//! A [`Stamp`] is later than every stamp that its maker had seen, and close to the time of day as long as
//! clocks are right. A change that follows another is therefore later. Concurrent changes are ordered by the
//! clocks. No two devices make equal stamps, so all devices agree on the order.

use std::fmt;
use std::str::FromStr;

use crate::device::Device;

/// Milliseconds since 1970-01-01T00:00:00Z, by the clock of a device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(u64);

impl Millis {
    /// The last millisecond of the year 9999; no useful time is later.
    pub const MAX: Self = Self(253_402_300_799_999);

    /// The time this many milliseconds after 1970; at most [`Millis::MAX`].
    pub const fn new(millis: u64) -> Self {
        if millis > Self::MAX.0 { Self::MAX } else { Self(millis) }
    }

    /// Number of milliseconds.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The time this many milliseconds earlier, but not before 1970.
    #[must_use]
    pub const fn before(self, millis: u64) -> Self {
        Self(self.0.saturating_sub(millis))
    }

    /// The time this many milliseconds later; at most [`Millis::MAX`].
    #[must_use]
    pub const fn after(self, millis: u64) -> Self {
        Self::new(self.0.saturating_add(millis))
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The time part of a stamp: `{milliseconds}.{count}`. The count distinguishes changes within one
/// millisecond, or while the clock is behind a tick that was seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tick {
    millis: Millis,
    count: u32,
}

/// Time and device of a change. Ordered by time, then by device.
///
/// ```
/// # use feedsync_log::Stamp;
/// let earlier: Stamp = "1795330800000.7@laptop".parse()?;
/// let later: Stamp = "1795330800001.0@kindle".parse()?;
/// assert!(earlier < later);
/// assert_eq!(earlier.to_string(), "1795330800000.7@laptop");
/// # Ok::<(), feedsync_log::StampError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp {
    /// Time.
    pub tick: Tick,
    /// Device.
    pub device: Device,
}

/// A text that is not a stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a stamp: use milliseconds since 1970 up to the year 9999, '.', a count, '@' and a device \
     name"
)]
pub struct StampError;

impl Tick {
    /// The last tick that is accepted from others: later ones would leave no room for ticks that follow.
    const LAST_READ: Self = Self { millis: Millis::MAX, count: u32::MAX / 2 };

    /// The tick with these parts.
    pub const fn new(millis: Millis, count: u32) -> Self {
        Self { millis, count }
    }

    /// Its milliseconds.
    pub const fn millis(self) -> Millis {
        self.millis
    }

    /// Number that distinguishes it from others in its millisecond.
    pub const fn count(self) -> u32 {
        self.count
    }

    /// The next tick; the last possible tick stays.
    #[must_use]
    pub const fn next(self) -> Self {
        match self.count.checked_add(1) {
            Some(count) => Self { millis: self.millis, count },
            None if self.millis.0 < Millis::MAX.0 => {
                Self { millis: Millis(self.millis.0 + 1), count: 0 }
            }
            None => self,
        }
    }
}

impl fmt::Display for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.millis, self.count)
    }
}

impl FromStr for Tick {
    type Err = StampError;
    fn from_str(text: &str) -> Result<Self, StampError> {
        let (millis, count) = text.split_once('.').ok_or(StampError)?;
        let millis = Millis(decimal(millis)?);
        let count = u32::try_from(decimal(count)?).map_err(|_| StampError)?;
        let tick = Self { millis, count };
        if millis > Millis::MAX || tick > Self::LAST_READ { Err(StampError) } else { Ok(tick) }
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.tick, self.device)
    }
}

impl FromStr for Stamp {
    type Err = StampError;
    fn from_str(text: &str) -> Result<Self, StampError> {
        let (tick, device) = text.split_once('@').ok_or(StampError)?;
        Ok(Self { tick: tick.parse()?, device: device.parse().map_err(|_| StampError)? })
    }
}

/// A number in its only accepted form: no sign, no leading zero, at most twenty digits.
pub(crate) fn decimal(text: &str) -> Result<u64, StampError> {
    let canonical = text == "0" || !text.starts_with('0');
    if text.is_empty() || !canonical || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(StampError);
    }
    text.parse().map_err(|_| StampError)
}

/// The clock of a device: the latest tick that it made or saw.
///
/// If the clock of one device is wrong, the ticks of all devices are wrong, without further harm. Stamps
/// still order changes that follow each other; they are only no longer close to the time of day.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Clock {
    last: Tick,
}

impl Clock {
    /// A clock that continues from a stored tick.
    pub const fn resumed(last: Tick) -> Self {
        Self { last }
    }

    /// The latest tick, to be stored with the data that has it.
    pub const fn last(self) -> Tick {
        self.last
    }

    /// Makes a tick that is later than every one before, at `now` if that is later.
    pub fn tick(&mut self, now: Millis) -> Tick {
        let of_now = Tick { millis: now, count: 0 };
        self.last = self.last.next().max(of_now);
        self.last
    }

    /// Records a tick of another device.
    pub fn observe(&mut self, tick: Tick) {
        self.last = self.last.max(tick);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stamp(text: &str) -> Stamp {
        text.parse().unwrap()
    }

    #[test]
    fn a_stamp_is_written_in_one_way() {
        for text in ["0.0@a", "253402300799999.2147483647@0123456789abcdef"] {
            assert_eq!(stamp(text).to_string(), text);
        }
        for other in [
            "",
            "1.0",
            "1@a",
            "1.@a",
            ".1@a",
            "01.0@a",
            "1.00@a",
            "+1.0@a",
            "1.-0@a",
            "1.0@",
            "1.0@a b",
            "253402300800000.0@a",
            "1.4294967296@a",
            "1.0.0@a",
            "1.0@a@",
            "253402300799999.2147483648@a",
        ] {
            assert_eq!(other.parse::<Stamp>(), Err(StampError), "{other}");
        }
    }

    #[test]
    fn stamps_are_ordered_by_time_and_then_by_device() {
        let ascending = ["9.9@z", "10.0@b", "10.0@c", "10.1@a", "11.0@a"].map(stamp);
        assert!(ascending.is_sorted_by(|one, other| one < other));
    }

    #[test]
    fn tick_after_the_last_count_is_in_the_next_millisecond() {
        let last = Tick::new(Millis::new(5), u32::MAX);
        assert_eq!(last.next(), Tick::new(Millis::new(6), 0));
        let next = Tick::new(Millis::new(5), 7).next();
        assert_eq!((next.millis(), next.count()), (Millis::new(5), 8));
        assert_eq!(Clock::resumed(last).tick(Millis::new(5)), last.next());
    }

    #[test]
    fn milliseconds_stay_between_1970_and_the_year_9999() {
        let five = Millis::new(5);
        assert_eq!((five.before(2), five.before(9)), (Millis::new(3), Millis::new(0)));
        assert_eq!((five.after(2), five.after(u64::MAX)), (Millis::new(7), Millis::MAX));
        assert_eq!(Millis::new(u64::MAX).get(), 253_402_300_799_999);
        assert_eq!(five.to_string(), "5");
    }

    #[test]
    fn time_ends_without_a_panic() {
        let end = Tick::new(Millis::MAX, u32::MAX);
        let mut clock = Clock::resumed(end);
        assert_eq!(clock.tick(Millis::new(5)), end);
    }

    proptest! {
        /// A device makes stamps that are later than all it saw, whatever its clock does (LR15, LT5, LT8).
        #[test]
        fn later_changes_have_later_stamps(steps in prop::collection::vec((0..3_u64, any::<bool>(), 0..4_u32), 1..60)) {
            let mut clock = Clock::default();
            let mut latest = None;
            for (now, is_seen, count) in steps {
                let tick = if is_seen {
                    let tick = Tick::new(Millis::new(now), count);
                    clock.observe(tick);
                    latest = latest.max(Some(tick));
                    continue;
                } else {
                    clock.tick(Millis::new(now))
                };
                prop_assert!(Some(tick) > latest);
                latest = Some(tick);
            }
        }
    }
}
