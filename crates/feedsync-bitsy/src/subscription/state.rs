//! States of a subscription (BITSY 2.1.3).
//!
//! The document announces numbers and gives one, `WAITING = 2` in an example. The order in which it names the
//! states agrees with that number (R-B14). Transitions that its diagram omits follow R-B19: pausing and
//! unsubscribing are possible in every state but the last. A trigger without meaning in a state changes
//! nothing.

/// State of a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u16)]
pub enum State {
    /// Nothing is fetched until the subscription is resumed.
    Paused = 0,
    /// The feed and its linked resources are being fetched. Without a network the round waits for one.
    Fetching = 1,
    /// All data are current until the interval is over.
    Waiting = 2,
    /// A round begins as soon as there is a network and capacity.
    Ready = 3,
    /// Final state: nothing is fetched any more.
    Closed = 4,
}

/// Event that may change the state of a subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// There is a network and capacity for a round.
    Scheduled,
    /// All resources were fetched, except those that may be fetched later.
    Fetched,
    /// A permanent failure happened.
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

    /// Returns the state with a number.
    pub fn of_number(number: u16) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Name of the constant in the interface.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paused => "PAUSED",
            Self::Fetching => "FETCHING",
            Self::Waiting => "WAITING",
            Self::Ready => "READY",
            Self::Closed => "CLOSED",
        }
    }

    /// Returns the state after a trigger; none if the state does not change.
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
    fn every_transition_follows_the_diagram() {
        let triggers = [Scheduled, Fetched, Failed, Elapsed, Pause, Resume, Unsubscribe];
        let stays = None;
        // Columns in the order of the triggers.
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
