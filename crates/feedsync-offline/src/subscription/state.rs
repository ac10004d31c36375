//! The states of a subscription (BITSY 2.1.3).
//!
//! The text promises numbers and gives one, `WAITING = 2` in an example; the order in which it names the
//! states agrees with it (R-B14). What its diagram leaves out is settled as R-B19 has it: one may pause and
//! unsubscribe in every state but the last, and what means nothing in a state changes nothing.

/// Where a subscription stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u16)]
pub enum State {
    /// Nothing is fetched until it is resumed.
    Paused = 0,
    /// The feed and what it links to are being fetched; without a network it waits for one.
    Fetching = 1,
    /// All is as new as was asked for, until the interval is over.
    Waiting = 2,
    /// It begins as soon as there is a network, and time for it.
    Ready = 3,
    /// The end: nothing is fetched any more.
    Closed = 4,
}

/// What happens to a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// There is a network, and time to fetch.
    Scheduled,
    /// All was fetched, or what was not may be asked for later.
    Fetched,
    /// Something failed that does not mend itself.
    Failed,
    /// The interval is over.
    Elapsed,
    /// `pause()`.
    Pause,
    /// `resume()`.
    Resume,
    /// `unsubscribe()`.
    Unsubscribe,
}

impl State {
    /// All states, by number.
    pub const ALL: [Self; 5] =
        [Self::Paused, Self::Fetching, Self::Waiting, Self::Ready, Self::Closed];

    /// The number that applications see.
    pub const fn number(self) -> u16 {
        self as u16
    }

    /// The state of a number.
    pub fn of_number(number: u16) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The name of its constant.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paused => "PAUSED",
            Self::Fetching => "FETCHING",
            Self::Waiting => "WAITING",
            Self::Ready => "READY",
            Self::Closed => "CLOSED",
        }
    }

    /// The state that follows; none if it stays.
    pub const fn after(self, trigger: Trigger) -> Option<Self> {
        match (self, trigger) {
            (Self::Closed, _) => None,
            (_, Trigger::Unsubscribe) => Some(Self::Closed),
            (Self::Paused, Trigger::Pause) => None,
            (_, Trigger::Pause) => Some(Self::Paused),
            (Self::Ready, Trigger::Scheduled) => Some(Self::Fetching),
            (Self::Fetching, Trigger::Fetched) => Some(Self::Waiting),
            (Self::Fetching, Trigger::Failed) => Some(Self::Paused),
            (Self::Waiting, Trigger::Elapsed | Trigger::Resume) => Some(Self::Ready),
            (Self::Paused, Trigger::Resume) => Some(Self::Ready),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::State::{Closed, Fetching, Paused, Ready, Waiting};
    use super::Trigger::{Elapsed, Failed, Fetched, Pause, Resume, Scheduled, Unsubscribe};
    use super::*;

    #[test]
    fn every_state_after_every_trigger_is_as_the_diagram_has_it() {
        let triggers = [Scheduled, Fetched, Failed, Elapsed, Pause, Resume, Unsubscribe];
        let stays = None;
        // In the order of the triggers.
        let table = [
            (Paused, [stays, stays, stays, stays, stays, Some(Ready), Some(Closed)]),
            (
                Fetching,
                [stays, Some(Waiting), Some(Paused), stays, Some(Paused), stays, Some(Closed)],
            ),
            (Waiting, [stays, stays, stays, Some(Ready), Some(Paused), Some(Ready), Some(Closed)]),
            (Ready, [Some(Fetching), stays, stays, stays, Some(Paused), stays, Some(Closed)]),
            (Closed, [stays; 7]),
        ];
        for (state, row) in table {
            for (trigger, next) in triggers.into_iter().zip(row) {
                assert_eq!(state.after(trigger), next, "{state:?} {trigger:?}");
            }
        }
    }

    #[test]
    fn numbers_are_those_of_the_example() {
        assert_eq!(Waiting.number(), 2);
        for state in State::ALL {
            assert_eq!(State::of_number(state.number()), Some(state));
        }
        assert_eq!(State::of_number(5), None);
    }
}
