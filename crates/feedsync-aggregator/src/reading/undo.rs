//! Actions of a user that marked many articles as read, as long as they can be undone.
//!
//! A mark up to a date replaces earlier marks, so the log cannot tell which articles it changed. An action
//! therefore stores the numbers of these articles here, in memory: about one byte for each of them. Actions of a
//! user share a limit on memory, and an action expires.

use std::collections::{HashSet, VecDeque};

use feedsync_log::{Millis, Tick};
use feedsync_reader_api::ArticleNumber;

/// Time during which an action can be undone, in milliseconds.
const UNDO_MILLIS: u64 = 10 * 60 * 1_000;

/// Maximum number of stored actions of one user; above it, the oldest is removed.
const MAX_ACTIONS: usize = 16;

/// Maximum size of the article numbers in the stored actions of one user, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// State of an action that can be undone, or that was undone recently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoState {
    /// It marked this number of articles, and can be undone.
    Possible(usize),
    /// It was undone: this number of articles became unread.
    Done(usize),
}

/// Result of undoing an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UndoResult {
    /// This number of articles became unread.
    Undone(usize),
    /// The action was undone before. Nothing changed.
    AlreadyUndone,
    /// The action expired, or the user made no such action. Nothing changed.
    Expired,
}

/// The latest actions of a user, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct UndoableActions(VecDeque<UndoableAction>);

/// An action, whose marks have ticks after `after`, up to `until`.
#[derive(Debug)]
pub(crate) struct UndoableAction {
    pub(crate) id: u64,
    pub(crate) made: Millis,
    pub(crate) after: Tick,
    pub(crate) until: Tick,
    pub(crate) state: UndoState,
    pub(crate) articles: PackedNumbers,
}

impl UndoableAction {
    /// Whether a mark with this tick belongs to the action.
    fn made_mark(&self, tick: Tick) -> bool {
        tick > self.after && tick <= self.until
    }
}

impl UndoableActions {
    /// Stores an action. Returns whether it can be undone.
    pub(crate) fn insert(&mut self, action: UndoableAction) -> bool {
        self.expire(action.made);
        if action.articles.0.len() > MAX_BYTES {
            return false;
        }
        self.0.push_back(action);
        while self.0.len() > MAX_ACTIONS || self.bytes() > MAX_BYTES {
            self.0.pop_front();
        }
        true
    }

    /// Returns an action that has not expired.
    pub(crate) fn get(&mut self, id: u64, now: Millis) -> Option<&UndoableAction> {
        self.expire(now);
        self.find(id)
    }

    /// Returns an action.
    pub(crate) fn find(&self, id: u64) -> Option<&UndoableAction> {
        self.0.iter().find(|action| action.id == id)
    }

    /// Notes that an action was undone and its articles are no longer needed.
    pub(crate) fn set_done(&mut self, id: u64, count: usize) {
        if let Some(action) = self.0.iter_mut().find(|action| action.id == id) {
            action.state = UndoState::Done(count);
            action.articles = PackedNumbers::default();
        }
    }

    /// Whether undoing an action may make an article unread whose latest mark has this tick: the mark is not
    /// later than the action, or belongs to a later action that was undone, too.
    pub(crate) fn may_undo(&self, action: &UndoableAction, tick: Tick) -> bool {
        let mut undone = self.0.iter().filter(|other| matches!(other.state, UndoState::Done(_)));
        tick <= action.until || undone.any(|other| other.made_mark(tick))
    }

    /// Removes articles from all actions, because the user marked them individually.
    pub(crate) fn remove_articles(&mut self, articles: &[ArticleNumber]) {
        let articles: HashSet<_> = articles.iter().copied().collect();
        for action in &mut self.0 {
            action.articles.remove(&articles);
        }
    }

    fn expire(&mut self, now: Millis) {
        // A clock that was set back must not make an action last longer.
        let is_valid = |made: Millis| now >= made && now <= made.after(UNDO_MILLIS);
        self.0.retain(|action| is_valid(action.made));
    }

    fn bytes(&self) -> usize {
        self.0.iter().map(|action| action.articles.0.len()).sum()
    }
}

/// A set of article numbers as the differences between neighbours, seven bits in each byte (LEB128).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PackedNumbers(Vec<u8>);

impl PackedNumbers {
    /// Packs article numbers, in any order.
    pub(crate) fn of(mut numbers: Vec<ArticleNumber>) -> Self {
        numbers.sort_unstable();
        numbers.dedup();
        let (mut bytes, mut last) = (Vec::with_capacity(numbers.len()), 0_i64);
        for number in numbers {
            let mut gap = number.get().wrapping_sub(last).cast_unsigned();
            last = number.get();
            while gap >= 0x80 {
                bytes.push((gap & 0x7f) as u8 | 0x80);
                gap >>= 7;
            }
            bytes.push(gap as u8);
        }
        Self(bytes)
    }

    /// The article numbers in ascending order.
    pub(crate) fn numbers(&self) -> Vec<ArticleNumber> {
        let (mut numbers, mut last, mut gap, mut shift) = (Vec::new(), 0_i64, 0_u64, 0);
        for byte in &self.0 {
            gap |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                last = last.wrapping_add(gap.cast_signed());
                numbers.push(ArticleNumber::new(last));
                (gap, shift) = (0, 0);
            }
        }
        numbers
    }

    fn remove(&mut self, others: &HashSet<ArticleNumber>) {
        let mut numbers = self.numbers();
        let count = numbers.len();
        numbers.retain(|number| !others.contains(number));
        if numbers.len() < count {
            *self = Self::of(numbers);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn action(id: u64, made: u64, count: i64) -> UndoableAction {
        UndoableAction {
            id,
            made: Millis::new(made),
            after: Tick::default(),
            until: Tick::default(),
            state: UndoState::Possible(1),
            articles: PackedNumbers::of((0..count).map(ArticleNumber::new).collect()),
        }
    }

    proptest! {
        #[test]
        fn packed_numbers_are_the_same_set(numbers in proptest::collection::vec(any::<i64>(), 0..50)) {
            let set: BTreeSet<_> = numbers.iter().copied().map(ArticleNumber::new).collect();
            let packed = PackedNumbers::of(numbers.into_iter().map(ArticleNumber::new).collect());
            prop_assert_eq!(packed.numbers(), set.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn actions_are_bounded_in_number_size_and_time() {
        let mut actions = UndoableActions::default();
        for id in 0..100 {
            assert!(actions.insert(action(id, 1_000, 10)));
        }
        assert_eq!(actions.0.len(), MAX_ACTIONS);
        assert!(actions.get(99, Millis::new(1_000 + UNDO_MILLIS)).is_some());
        assert!(actions.get(83, Millis::new(1_000)).is_none(), "the oldest was removed");
        assert!(!actions.insert(action(100, 1_000, 2_000_000)), "too large");
        for id in 101..105 {
            assert!(actions.insert(action(id, 1_000, 600_000)));
            assert!(actions.bytes() <= MAX_BYTES);
        }
        assert!(actions.get(104, Millis::new(1_001 + UNDO_MILLIS)).is_none(), "expired");
        assert!(actions.0.is_empty());
    }

    #[test]
    fn a_hundred_thousand_articles_take_a_tenth_of_a_megabyte() {
        assert_eq!(action(1, 0, 100_000).articles.0.len(), 100_000);
    }
}
