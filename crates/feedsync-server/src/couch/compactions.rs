//! The databases that this node is compacting.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use feedsync_couch::DatabaseName;

/// Databases that this node is compacting.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunningCompactions(Arc<Mutex<HashSet<DatabaseName>>>);

/// A running compaction, until it is dropped.
pub(super) struct CompactionGuard(RunningCompactions, DatabaseName);

impl RunningCompactions {
    pub(super) fn is_running(&self, name: &DatabaseName) -> bool {
        self.names().contains(name)
    }

    /// Starts a compaction unless one is running.
    pub(super) fn begin(&self, name: &DatabaseName) -> Option<CompactionGuard> {
        self.names().insert(name.clone()).then(|| CompactionGuard(self.clone(), name.clone()))
    }

    fn names(&self) -> MutexGuard<'_, HashSet<DatabaseName>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CompactionGuard {
    /// The database that is compacted.
    pub(super) fn name(&self) -> &DatabaseName {
        &self.1
    }
}

impl Drop for CompactionGuard {
    fn drop(&mut self) {
        self.0.names().remove(&self.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_at_a_database_at_a_time() {
        let (compacting, name) = (RunningCompactions::default(), "notes".parse().unwrap());
        let underway = compacting.begin(&name).unwrap();
        assert!(compacting.is_running(&name));
        assert!(compacting.begin(&name).is_none());
        assert!(compacting.begin(&"other".parse().unwrap()).is_some());
        drop(underway);
        assert!(!compacting.is_running(&name));
        assert!(compacting.begin(&name).is_some());
    }
}
