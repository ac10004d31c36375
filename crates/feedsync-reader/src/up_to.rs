//! Marks on everything up to a date: what keeps a hundred thousand read articles small (R17).

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
        let mut is_changed = false;
        for up_to in others.0 {
            is_changed |= self.insert(up_to);
        }
        is_changed
    }
}
