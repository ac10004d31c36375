//! The articles of a list as a range of positions.

use feedsync_log::Millis;
use feedsync_reader_api::ArticleNumber;

use crate::library::listing::{ListPosition, Selection};
use crate::library::stored::moment;

/// The positions between two exclusive bounds in one of the two orders, from one of its ends.
pub(super) struct Range {
    pub(super) low: Bound,
    pub(super) high: Bound,
    pub(super) by_number: bool,
    pub(super) oldest_first: bool,
}

/// A position in one of the two orders, or a bound between positions: `sort_date` and the number, or the number
/// alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bound(pub(super) i64, pub(super) i64);

/// Sort key; the first article of a list has the highest.
pub(super) type Rank = (i64, i64);

impl Range {
    pub(super) fn of(selection: &Selection) -> Self {
        let Selection { by_number, oldest_first, from, .. } = *selection;
        // Above every position, and distinct from the sentinels of the other order.
        let highest = if by_number { i64::MAX } else { moment(Millis::MAX) + 1 };
        let (low, high) = (Bound(-1, 0), Bound(highest, 0));
        let mut range = Self { low, high, by_number, oldest_first };
        let (low, high) = if by_number {
            let number = |number: ArticleNumber| Bound(number.get(), 0);
            (selection.above.map(number), selection.below.map(number))
        } else {
            let newer = selection.newer_than.map(|than| Bound(moment(than), i64::MAX));
            (newer, selection.older_than.map(|than| Bound(moment(than), 0)))
        };
        let from = from.map(|place| range.bound(place));
        let lows = [low, from.filter(|_| oldest_first)];
        let highs = [high, from.filter(|_| !oldest_first)];
        range.low = lows.into_iter().flatten().fold(range.low, Bound::max);
        range.high = highs.into_iter().flatten().fold(range.high, Bound::min);
        range
    }

    /// Selects what belongs to the order: by date from the newest or the oldest on, or by number from the highest or the
    /// lowest on.
    pub(super) fn of_order<T>(&self, [newest, oldest, highest, lowest]: [T; 4]) -> T {
        match (self.by_number, self.oldest_first) {
            (false, false) => newest,
            (false, true) => oldest,
            (true, false) => highest,
            (true, true) => lowest,
        }
    }

    pub(super) fn bound(&self, place: ListPosition) -> Bound {
        match self.by_number {
            true => Bound(place.number.get(), 0),
            false => Bound(moment(place.sort_date), place.number.get()),
        }
    }

    pub(super) fn rank(&self, place: Bound) -> Rank {
        if self.oldest_first { (!place.0, !place.1) } else { (place.0, place.1) }
    }

    /// Sort key of a position in the order of the list.
    pub(super) fn rank_of(&self, place: ListPosition) -> Rank {
        self.rank(self.bound(place))
    }

    pub(super) fn holds(&self, place: ListPosition) -> bool {
        let place = self.bound(place);
        self.low < place && place < self.high
    }
}
