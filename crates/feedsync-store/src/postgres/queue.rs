//! Queues of writes, by collection or database. All writes that were queued during a commit are committed
//! together by the next one.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

use feedsync_core::ItemId;
use tokio::sync::oneshot;

use crate::collection::Collection;
use crate::decision::Decide;
use crate::error::StoreError;
use crate::order::ChangeNumber;

/// Maximum number of tasks in one commit, however many are queued.
const MAX_TASKS: usize = 512;
const MAX_KEYS: usize = 4_096;

/// A write, with the channel for its result.
pub(super) struct Task {
    pub(super) work: Work,
    pub(super) answer: oneshot::Sender<Result<Collection, StoreError>>,
}

pub(super) enum Work {
    Update {
        keys: Vec<ItemId>,
        decide: Decide,
    },
    /// Marks changes up to this number as shown to others.
    Sent(ChangeNumber),
}

impl Work {
    fn keys(&self) -> usize {
        match self {
            Self::Update { keys, .. } => keys.len(),
            Self::Sent(_) => 0,
        }
    }
}

/// A write in a queue.
pub(super) trait QueuedWrite {
    /// Number of its keys.
    fn keys(&self) -> usize;
}

impl QueuedWrite for Task {
    fn keys(&self) -> usize {
        self.work.keys()
    }
}

/// Queues by name. A name has an entry while a task commits for it.
pub(super) struct Queues<N, T>(Mutex<HashMap<N, VecDeque<T>>>);

impl<N, T> Default for Queues<N, T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<N: Clone + Eq + Hash, T: QueuedWrite> Queues<N, T> {
    fn lock(&self) -> MutexGuard<'_, HashMap<N, VecDeque<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a task; returns whether the caller must start committing for this name.
    pub(super) fn push(&self, name: &N, task: T) -> bool {
        let mut queues = self.lock();
        match queues.get_mut(name) {
            Some(queue) => {
                queue.push_back(task);
                false
            }
            None => {
                queues.insert(name.clone(), VecDeque::from([task]));
                true
            }
        }
    }

    /// The tasks of the next commit. If there are none, the entry of the name is removed.
    pub(super) fn next(&self, name: &N) -> Vec<T> {
        let mut queues = self.lock();
        let mut tasks = Vec::new();
        let mut keys = 0;
        if let Some(queue) = queues.get_mut(name) {
            while let Some(task) = queue.front()
                && tasks.len() < MAX_TASKS
                && (tasks.is_empty() || keys + task.keys() <= MAX_KEYS)
            {
                keys += task.keys();
                tasks.extend(queue.pop_front());
            }
        }
        if tasks.is_empty() {
            queues.remove(name);
        }
        tasks
    }
}
