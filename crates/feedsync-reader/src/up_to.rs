//! Marks on everything up to a date: what keeps a hundred thousand read articles small (LR17).

use feedsync_log::{Millis, Stamp};

/// Every article that was published at a time or before was read, as of a stamp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpTo {
    /// The last time that is covered.
    pub at: Millis,
    /// When it was done.
    pub stamp: Stamp,
}

/// Those marks up to a date that say something beside the others: none covers less than another and is not
/// later. Ascending by date, so descending by stamp.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct UpTos(Vec<UpTo>);

impl UpTos {
    /// Those in ascending order of their dates.
    pub(crate) fn as_slice(&self) -> &[UpTo] {
        &self.0
    }

    /// The stamp of the latest that covers this time.
    pub(crate) fn covering(&self, at: Millis) -> Option<&Stamp> {
        let place = self.0.partition_point(|up_to| up_to.at < at);
        self.0.get(place).map(|up_to| &up_to.stamp)
    }

    /// Whether it says something that these do not.
    pub(crate) fn is_news(&self, up_to: &UpTo) -> bool {
        self.covering(up_to.at).is_none_or(|known| *known < up_to.stamp)
    }

    /// Takes in one more; whether that was news.
    pub(crate) fn insert(&mut self, up_to: UpTo) -> bool {
        if !self.is_news(&up_to) {
            return false;
        }
        let end = self.0.partition_point(|known| known.at <= up_to.at);
        let start = self.0[..end].partition_point(|known| known.stamp > up_to.stamp);
        self.0.splice(start..end, [up_to]);
        true
    }

    /// Takes in others; whether one was news.
    pub(crate) fn join(&mut self, others: Self) -> bool {
        if others.0.len() <= 1 {
            return others.0.into_iter().any(|up_to| self.insert(up_to));
        }
        if !others.0.iter().any(|up_to| self.is_news(up_to)) {
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
        // From the last date down, what is later than all that covers more.
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
