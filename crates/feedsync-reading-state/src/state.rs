//! The whole reading state of a user.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use feedsync_log::{Millis, Record, Tick};

use crate::address::FeedAddress;
use crate::article::ArticleId;
use crate::change::Change;
use crate::feed::FeedState;
use crate::kept::PreservedChanges;
use crate::setting::{SettingName, SettingValue, Settings};

/// The states of all feeds, settings, and preserved changes that this version does not understand.
///
/// ```
/// # use feedsync_log::{Line, Record};
/// # use feedsync_reading_state::ReaderState;
/// # fn record(line: &str) -> Record {
/// #     let Line::Record(record) = Line::read(line.as_bytes()) else { unreachable!() };
/// #     record
/// # }
/// let read = record(r#"{"v":1,"id":"phone:1","ts":"1000.0","act":"read",
///     "obj":{"kind":"article","id":"urn:x:1","feed":"https://example.org/feed"}}"#);
/// let (mut phone, mut laptop) = (ReaderState::default(), ReaderState::default());
/// phone.apply(&read);
/// laptop.join(phone.clone());
/// assert_eq!(laptop, phone);
/// let feed = laptop.feed("https://example.org/feed").unwrap();
/// assert!(feed.is_read(&"urn:x:1".parse()?, None));
/// # Ok::<(), feedsync_reading_state::ArticleIdError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReaderState {
    pub(crate) feeds: BTreeMap<FeedAddress, FeedState>,
    pub(crate) settings: Settings,
    pub(crate) kept: PreservedChanges,
}

impl ReaderState {
    /// The feed that a record changes, and a state that consists of the change only: applying a record is
    /// joining that state. `None` if this version does not know the act.
    pub fn delta(record: &Record) -> Option<(FeedAddress, FeedState)> {
        Change::from(record).delta()
    }

    /// Applies a record; returns whether anything changed. A record that is not understood is preserved
    /// (LR2).
    pub fn apply(&mut self, record: &Record) -> bool {
        self.apply_change(&Change::from(record))
    }

    /// The same for a change without a record id.
    pub fn apply_change(&mut self, change: &Change) -> bool {
        match change.delta() {
            Some((feed, state)) => self.join_feed(feed, state),
            None => match Settings::of(change) {
                Some(settings) => self.settings.join(settings),
                None => self.kept.preserve(change),
            },
        }
    }

    /// Joins another state; returns whether this one changed.
    pub fn join(&mut self, other: Self) -> bool {
        let mut is_changed = self.kept.join(other.kept) | self.settings.join(other.settings);
        for (feed, state) in other.feeds {
            is_changed |= self.join_feed(feed, state);
        }
        is_changed
    }

    /// Joins the state of one feed; returns whether this state changed.
    pub fn join_feed(&mut self, feed: FeedAddress, state: FeedState) -> bool {
        match self.feeds.entry(feed) {
            Entry::Occupied(mut known) => known.get_mut().join(state),
            // A feed with an empty state is not stored.
            Entry::Vacant(_) if state.is_empty() => false,
            Entry::Vacant(place) => {
                place.insert(state);
                true
            }
        }
    }

    /// The state of the feed at exactly this address; a [`View`](crate::View) also follows moves.
    pub fn feed(&self, address: &str) -> Option<&FeedState> {
        self.feeds.get(address)
    }

    /// Whether any feed moved. In that case a [`View`](crate::View) may return more than
    /// [`ReaderState::feed`].
    pub(crate) fn has_moved_feeds(&self) -> bool {
        self.feeds.values().any(|feed| feed.moved_to().is_some())
    }

    /// Whether this state includes the effect of a record, or preserves it without understanding it.
    pub(crate) fn includes(&self, record: &Record) -> bool {
        let change = Change::from(record);
        change.delta().is_some()
            || Settings::of(&change).is_some_and(|setting| self.settings.includes(&setting))
            || self.kept.includes(&change)
    }

    /// Value of a setting, if it is set.
    pub fn setting(&self, name: &str) -> Option<&SettingValue> {
        self.settings.get(name).map(|(value, _)| value)
    }

    /// All settings that are set, in the order of their names, each with the time at which it was set.
    pub fn settings(&self) -> impl Iterator<Item = (&SettingName, &SettingValue, Tick)> {
        self.settings.iter()
    }

    /// All feeds that have a state, in the order of their addresses.
    pub fn feeds(&self) -> impl Iterator<Item = (&FeedAddress, &FeedState)> {
        self.feeds.iter()
    }

    /// Whether the state is empty.
    pub fn is_empty(&self) -> bool {
        self.feeds.is_empty() && self.settings.is_empty() && self.kept.is_empty()
    }

    /// Number of preserved changes that this version does not understand.
    pub fn kept(&self) -> usize {
        self.kept.len()
    }

    /// Applies [`FeedState::purge`] to all feeds (LR47).
    pub fn purge(&mut self, is_in_feed: impl Fn(&FeedAddress, &ArticleId) -> bool, before: Millis) {
        self.feeds.retain(|feed, state| {
            state.purge(|article| is_in_feed(feed, article), before);
            !state.is_empty()
        });
    }

    /// The latest tick in the state; a replica that joins the state makes only later ones.
    pub fn latest(&self) -> Option<Tick> {
        let kept = self.kept.latest().map(|stamp| stamp.tick);
        let feeds = self.feeds.values().map(FeedState::latest).max().flatten();
        feeds.max(kept).max(self.settings.latest())
    }
}
