//! The marks of one article.

use std::collections::BTreeMap;

use feedsync_log::{Millis, Stamp};

use crate::names::Tag;
use crate::register::{Register, join, would_change};
use crate::up_to::UpTos;

/// The marks of one article, besides those up to a date.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Whether it is read, by the time of publication that was known when it was marked.
    pub(crate) read: BTreeMap<Option<Millis>, Register<bool>>,
    /// Whether it is starred.
    pub(crate) starred: Option<Register<bool>>,
    /// Whether it is hidden.
    pub(crate) hidden: Option<Register<bool>>,
    /// Each tag that was ever set, and whether it is still set.
    pub(crate) tags: BTreeMap<Tag, Register<bool>>,
}

impl Marks {
    pub(crate) fn is_empty(&self) -> bool {
        let Self { read, starred, hidden, tags } = self;
        read.is_empty() && starred.is_none() && hidden.is_none() && tags.is_empty()
    }

    /// Joins marks that no mark up to a date covers; returns whether these changed.
    pub(crate) fn join(&mut self, others: Self) -> bool {
        let mut is_changed = join(&mut self.starred, others.starred);
        is_changed |= join(&mut self.hidden, others.hidden);
        is_changed |= join_all(&mut self.read, others.read);
        is_changed | join_all(&mut self.tags, others.tags)
    }

    /// Drops marks that are redundant to marks up to a date.
    pub(crate) fn drop_covered(&mut self, up_tos: &UpTos) {
        self.read.retain(|at, register| !is_covered(*at, register, up_tos));
    }

    /// The latest mark that states whether the article is read; for equal stamps, the one that states that it
    /// is.
    pub(crate) fn last_read(&self) -> Option<&Register<bool>> {
        self.read.values().reduce(|one, other| if other.beats(one) { other } else { one })
    }

    /// All stamps.
    pub(crate) fn stamps(&self) -> impl Iterator<Item = &Stamp> {
        let read = self.read.values().map(|register| &register.stamp);
        let tags = self.tags.values().map(|register| &register.stamp);
        let flags = [&self.starred, &self.hidden].into_iter().flatten();
        read.chain(flags.map(|register| &register.stamp)).chain(tags)
    }
}

/// Whether a mark up to a date has the same or a later stamp. For equal stamps the mark up to a date wins,
/// since it says read.
pub(crate) fn is_covered(at: Option<Millis>, register: &Register<bool>, up_tos: &UpTos) -> bool {
    at.and_then(|at| up_tos.covering(at)).is_some_and(|stamp| register.stamp <= *stamp)
}

fn join_all<K: Ord>(
    mine: &mut BTreeMap<K, Register<bool>>,
    theirs: BTreeMap<K, Register<bool>>,
) -> bool {
    let mut is_changed = false;
    for (key, register) in theirs {
        if would_change(&register, mine.get(&key)) {
            mine.insert(key, register);
            is_changed = true;
        }
    }
    is_changed
}
