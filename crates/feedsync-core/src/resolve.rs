//! Conflict resolution (3.4): an update that takes the conflicting versions into account, so that they are no
//! conflicts at other endpoints either.

use crate::edit::{Edit, EditError, Stamp, next_updates};
use crate::item::Item;

/// Conflicts that the resolution takes into account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved {
    /// All of them.
    All,
    /// The conflicts at these indices in [`Item::conflicts`]; the others stay open.
    Some(Vec<usize>),
}

/// New state of the item (3.4 step 1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keep<P> {
    /// The winner unchanged (1.1).
    Winner,
    /// The content and the deleted state of the conflict at this index (1.2). It counts as resolved.
    Conflict(usize),
    /// New content (1.3).
    Content {
        /// New payload of the item.
        payload: P,
        /// New deleted state; absent keeps the winner's state.
        deleted: Option<bool>,
    },
}

/// A resolution of an item's conflicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution<P> {
    /// Conflicts that are resolved.
    pub resolved: Resolved,
    /// Resulting state.
    pub keep: Keep<P>,
}

/// Reason why a resolution cannot be applied; nothing was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// There is no conflict at that index.
    #[error("there is no conflict number {index}: the item has {count}")]
    NoSuchConflict {
        /// Requested index, from 0.
        index: usize,
        /// Number of conflicts.
        count: usize,
    },
    /// The update itself is not possible.
    #[error(transparent)]
    Edit(#[from] EditError),
}

impl<P: Clone> Item<P> {
    /// Resolves conflicts: updates the item (3.2), then folds the resolved conflicts into its history.
    ///
    /// A resolution is always possible: at [`crate::MAX_INCOMING_UPDATES`] the counter stays as it is.
    pub fn resolve(
        &mut self,
        stamp: &Stamp,
        resolution: Resolution<P>,
    ) -> Result<(), ResolveError> {
        let count = self.conflicts.len();
        let chosen = self.resolved_indices(&resolution)?;
        let edit = match resolution.keep {
            Keep::Winner => Edit { payload: None, deleted: None },
            Keep::Conflict(index) => {
                let taken = self
                    .conflicts
                    .get(index)
                    .ok_or(ResolveError::NoSuchConflict { index, count })?;
                Edit { payload: Some(taken.payload.clone()), deleted: Some(taken.deleted) }
            }
            Keep::Content { payload, deleted } => Edit { payload: Some(payload), deleted },
        };
        // The update may fold in conflicts of the stamp's own line (3.2 step 4) and so change the indices of
        // the others; the resolved conflicts are identified by their dots.
        let dots: Vec<_> =
            chosen.iter().map(|&index| self.conflicts[index].dot().clone()).collect();
        let updates = next_updates(self.winner.updates).unwrap_or(self.winner.updates);
        self.update_at(updates, stamp, edit)?;
        self.fold_conflicts(|conflict| dots.contains(conflict.dot()));
        self.shorten_histories();
        Ok(())
    }

    /// Resolves by a policy: a pure function of the versions, the same at every endpoint that uses it (3.4,
    /// last note). If it returns nothing, nothing changes. It runs only on request.
    pub fn resolve_by(
        &mut self,
        stamp: &Stamp,
        policy: impl FnOnce(&Item<P>) -> Option<Resolution<P>>,
    ) -> Result<bool, ResolveError> {
        match policy(self) {
            Some(resolution) => self.resolve(stamp, resolution).map(|()| true),
            None => Ok(false),
        }
    }

    /// Indices of the conflicts that a resolution takes into account, in order.
    pub fn resolved_indices(&self, resolution: &Resolution<P>) -> Result<Vec<usize>, ResolveError> {
        let count = self.conflicts.len();
        let mut chosen = match &resolution.resolved {
            Resolved::All => (0..count).collect(),
            Resolved::Some(indexes) => indexes.clone(),
        };
        if let Keep::Conflict(index) = resolution.keep {
            chosen.push(index);
        }
        chosen.sort_unstable();
        chosen.dedup();
        match chosen.last() {
            Some(&index) if index >= count => Err(ResolveError::NoSuchConflict { index, count }),
            _ => Ok(chosen),
        }
    }
}
