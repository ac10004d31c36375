//! What is to be written, by collection or database: whatever has queued up while a commit was under way
//! is committed together by the next one.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use feedsync::ItemId;
use tokio::sync::oneshot;

use super::Node;
use super::batch;
use crate::collection::Collection;
use crate::decision::Decide;
use crate::error::StoreError;
use crate::name::CollectionName;
use crate::order::Number;

/// A commit waits for no more than this, however much is queued.
const MOST_TASKS: usize = 512;
const MOST_KEYS: usize = 4_096;

/// Something to write, and who waits for it.
pub(super) struct Task {
    pub(super) work: Work,
    pub(super) answer: oneshot::Sender<Result<Collection, StoreError>>,
}

pub(super) enum Work {
    Update {
        keys: Vec<ItemId>,
        decide: Decide,
    },
    /// Changes up to here have been shown.
    Sent(Number),
}

impl Work {
    fn keys(&self) -> usize {
        match self {
            Self::Update { keys, .. } => keys.len(),
            Self::Sent(_) => 0,
        }
    }
}

/// What waits to be committed.
pub(super) trait Queued {
    /// How many keys it names.
    fn keys(&self) -> usize;
}

impl Queued for Task {
    fn keys(&self) -> usize {
        self.work.keys()
    }
}

/// A collection or database stands here while a task commits for it.
pub(super) struct Queues<N, T>(Mutex<HashMap<N, VecDeque<T>>>);

impl<N, T> Default for Queues<N, T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<N: Clone + Eq + Hash, T: Queued> Queues<N, T> {
    fn lock(&self) -> MutexGuard<'_, HashMap<N, VecDeque<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody has to begin to commit under this name.
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

    /// What is committed next; nothing: the name stands here no longer.
    pub(super) fn next(&self, name: &N) -> Vec<T> {
        let mut queues = self.lock();
        let mut tasks = Vec::new();
        let mut keys = 0;
        if let Some(queue) = queues.get_mut(name) {
            while let Some(task) = queue.front()
                && tasks.len() < MOST_TASKS
                && (tasks.is_empty() || keys + task.keys() <= MOST_KEYS)
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

/// Queues work; ready when it is durable.
pub(super) async fn submit(
    node: Arc<Node>,
    name: CollectionName,
    work: Work,
) -> Result<Collection, StoreError> {
    let (answer, outcome) = oneshot::channel();
    if node.queues.push(&name, Task { work, answer }) {
        tokio::spawn(commit_all(node, name));
    }
    let ended = |_| StoreError::Unknown("the work ended before its answer".to_owned());
    outcome.await.map_err(ended)?
}

async fn commit_all(node: Arc<Node>, name: CollectionName) {
    loop {
        let tasks = node.queues.next(&name);
        if tasks.is_empty() {
            return;
        }
        // A task of its own: should it panic, those who wait are told, and the next ones served.
        let _ = tokio::spawn(batch::carry_out(node.clone(), name.clone(), tasks)).await;
    }
}
