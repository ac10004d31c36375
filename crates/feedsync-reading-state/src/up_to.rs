//! Marks on everything up to a date, which keep the state of a hundred thousand read articles small (LR17).

use feedsync_log::{Millis, Stamp};

/// A mark with a stamp that every article that was published up to a time is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpTo {
    /// The last time that it covers.
    pub at: Millis,
    /// Stamp of the mark.
    pub stamp: Stamp,
}

/// The marks up to a date that are not redundant: no mark is earlier than another that covers at least as
/// much. Ascending by date, and therefore descending by stamp.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct UpTos(Vec<UpTo>);

impl UpTos {
    /// The marks in ascending order of dates.
    pub(crate) fn as_slice(&self) -> &[UpTo] {
        &self.0
    }

    /// The stamp of the latest mark that covers this time.
    pub(crate) fn covering(&self, at: Millis) -> Option<&Stamp> {
        let place = self.0.partition_point(|up_to| up_to.at < at);
        self.0.get(place).map(|up_to| &up_to.stamp)
    }

    /// Whether a mark is not redundant to these.
    pub(crate) fn would_change(&self, up_to: &UpTo) -> bool {
        self.covering(up_to.at).is_none_or(|known| *known < up_to.stamp)
    }

    /// Adds a mark; returns whether it was not redundant.
    pub(crate) fn insert(&mut self, up_to: UpTo) -> bool {
        if !self.would_change(&up_to) {
            return false;
        }
        let end = self.0.partition_point(|known| known.at <= up_to.at);
        let start = self.0[..end].partition_point(|known| known.stamp > up_to.stamp);
        self.0.splice(start..end, [up_to]);
        true
    }

    /// Joins other marks; returns whether one was not redundant.
    pub(crate) fn join(&mut self, others: Self) -> bool {
        if others.0.len() <= 1 {
            return others.0.into_iter().any(|up_to| self.insert(up_to));
        }
        if !others.0.iter().any(|up_to| self.would_change(up_to)) {
            return false;
        }
        let known = std::mem::take(&mut self.0);
        *self = known.into_iter().chain(others.0).collect();
        true
    }
}

impl FromIterator<UpTo> for UpTos {
    fn from_iter<I: IntoIterator<Item = UpTo>>(all: I) -> Self {
        let mut all: Vec<_> = all.into_iter().collect();
        all.sort_unstable_by(|one, other| (other.at, &other.stamp).cmp(&(one.at, &one.stamp)));
        // From the last date down, retains each mark that is later than all that cover more.
        let mut kept: Vec<UpTo> = Vec::new();
        for up_to in all {
            if kept.last().is_none_or(|last| last.stamp < up_to.stamp) {
                kept.push(up_to);
            }
        }
        kept.reverse();
        Self(kept)
    }
}
