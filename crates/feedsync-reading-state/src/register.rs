//! A last-writer-wins register.

use feedsync_log::Stamp;

/// A value of which the latest counts (LR15). Two different values with one stamp can only come from a faulty
/// device; the greater counts, so that the result is the same everywhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Register<T> {
    pub(crate) value: T,
    pub(crate) stamp: Stamp,
}

impl<T: Ord> Register<T> {
    /// Whether this register wins against another.
    pub(crate) fn beats(&self, other: &Self) -> bool {
        (&self.stamp, &self.value) > (&other.stamp, &other.value)
    }
}

/// Whether joining a register into another, or into none, would change it.
pub(crate) fn would_change<T: Ord>(theirs: &Register<T>, mine: Option<&Register<T>>) -> bool {
    mine.is_none_or(|mine| theirs.beats(mine))
}

/// Joins registers; returns whether the first changed.
pub(crate) fn join<T: Ord>(mine: &mut Option<Register<T>>, theirs: Option<Register<T>>) -> bool {
    match theirs {
        Some(theirs) if would_change(&theirs, mine.as_ref()) => {
            *mine = Some(theirs);
            true
        }
        _ => false,
    }
}
