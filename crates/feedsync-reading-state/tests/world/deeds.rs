//! User actions in a simulation, and the expected result.

use feedsync_log::{Millis, Stamp};
use feedsync_reading_state::{Action, Change, FeedAddress, Folder, ReaderState, Title};
use rand::Rng;
use rand::rngs::SmallRng;

/// An action that was done.
struct Deed {
    change: Change,
    /// True time of the action, which no clock shows.
    at: u64,
}

/// All actions, and the error of the clocks.
pub(crate) struct Deeds {
    deeds: Vec<Deed>,
    /// Maximum error of each clock, in milliseconds.
    bound: i64,
}

const FEEDS: [&str; 3] =
    ["https://a.example/feed", "https://b.example/feed", "https://c.example/feed"];

impl Deeds {
    pub(crate) fn new(random: &mut SmallRng) -> Self {
        // Exact, nearly exact, and a day wrong (LT5).
        let bounds = [0, 500, 24 * 60 * 60 * 1_000];
        Self { deeds: Vec::new(), bound: bounds[random.random_range(0..bounds.len())] }
    }

    /// Error of a clock.
    pub(crate) fn skew(&self, random: &mut SmallRng) -> i64 {
        random.random_range(-self.bound..=self.bound)
    }

    /// Records changes of a device that had this state.
    pub(crate) fn done(&mut self, changes: &[Change], known: &ReaderState, at: u64) {
        for change in changes {
            // A change must be later than what it follows, so that none is undone.
            if let Some(latest) = known.latest() {
                assert!(change.stamp.tick > latest, "{change:?} is not later than what was known");
            }
            self.deeds.push(Deed { change: change.clone(), at });
        }
    }

    /// The expected state after all actions.
    pub(crate) fn state(&self) -> ReaderState {
        let mut state = ReaderState::default();
        for deed in &self.deeds {
            state.apply_change(&deed.change);
        }
        state
    }

    /// Checks that later actions have later stamps, as far as the error of the clocks allows.
    pub(crate) fn check(&self) {
        let stamps: Vec<(u64, &Stamp)> =
            self.deeds.iter().map(|deed| (deed.at, &deed.change.stamp)).collect();
        let apart = 2 * self.bound.unsigned_abs();
        for (at, stamp) in &stamps {
            for (later_at, later) in &stamps {
                assert!(later_at.saturating_sub(*at) <= apart || later > stamp, "{stamp} {later}");
            }
        }
    }
}

/// A random action.
pub(crate) fn deed(random: &mut SmallRng) -> (FeedAddress, Action) {
    let feed = FEEDS[random.random_range(0..FEEDS.len())].parse().unwrap();
    let number = random.random_range(0..4_u64);
    let article = format!("urn:x:{number}").parse().unwrap();
    // One article has no date.
    let at = (number > 0).then(|| Millis::new(number * 100));
    let word = |random: &mut SmallRng| ["one", "two", "three"][random.random_range(0..3)];
    let action = match random.random_range(0..16) {
        0 => {
            let title: Title = word(random).parse().unwrap();
            Action::Subscribe { title: Some(title), folder: None, position: None }
        }
        1 => Action::Unsubscribe,
        2 => Action::Rename { title: Some(word(random).parse().unwrap()) },
        3 => Action::Move { folder: Folder::default() },
        4 => Action::FeedMoved { to: FEEDS[random.random_range(0..FEEDS.len())].parse().unwrap() },
        5 => Action::ReadUpTo { at: Millis::new(random.random_range(0..5) * 100) },
        6..9 => Action::Read { article, at },
        9..11 => Action::Unread { article, at },
        11 => Action::Star { article },
        12 => Action::Unstar { article },
        13 => Action::Hide { article },
        14 => Action::Unhide { article },
        _ => Action::Tag { article, tag: word(random).parse().unwrap() },
    };
    (feed, action)
}
