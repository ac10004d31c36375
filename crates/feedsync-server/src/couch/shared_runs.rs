//! Work that several requests await together. It goes on if their clients disconnect.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// Running work, by key. Cheap to clone.
#[derive(Debug)]
pub(crate) struct SharedRuns<K, E>(Arc<Mutex<HashMap<K, Run<E>>>>);

/// Work that was begun. Its error is sent before the channel is closed.
#[derive(Debug)]
pub(super) struct Run<E>(watch::Receiver<Option<E>>);

/// The entry of running work, until it is dropped.
struct Entry<K: Eq + Hash, E>(SharedRuns<K, E>, K);

impl<K, E> SharedRuns<K, E>
where
    K: Eq + Hash + Clone + Send + 'static,
    E: Clone + Send + Sync + 'static,
{
    /// Whether there is running work of a key.
    pub(super) fn is_running(&self, key: &K) -> bool {
        self.running().contains_key(key)
    }

    /// The running work of a key, or this work, which begins now.
    pub(super) fn join<W>(&self, key: K, work: W) -> Run<E>
    where
        W: Future<Output = Result<(), E>> + Send + 'static,
    {
        let mut running = self.running();
        if let Some(run) = running.get(&key) {
            return run.clone();
        }
        let (outcome, run) = watch::channel(None);
        let run = Run(run);
        running.insert(key.clone(), run.clone());
        let entry = Entry(self.clone(), key);
        tokio::spawn(async move {
            outcome.send_replace(work.await.err());
            // No request may join work that has ended.
            drop(entry);
            drop(outcome);
        });
        run
    }
}

impl<K, E> SharedRuns<K, E> {
    fn running(&self) -> MutexGuard<'_, HashMap<K, Run<E>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E: Clone> Run<E> {
    /// Waits until the work ends.
    pub(super) async fn wait(mut self) -> Result<(), E> {
        while self.0.changed().await.is_ok() {}
        let error = self.0.borrow().clone();
        error.map_or(Ok(()), Err)
    }
}

impl<K, E> Clone for SharedRuns<K, E> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K, E> Default for SharedRuns<K, E> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<E> Clone for Run<E> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K: Eq + Hash, E> Drop for Entry<K, E> {
    fn drop(&mut self) {
        self.0.running().remove(&self.1);
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn concurrent_requests_await_the_same_work() {
        let runs: SharedRuns<u8, &str> = SharedRuns::default();
        let (end, ended) = oneshot::channel::<()>();
        let one = runs.join(1, async move { ended.await.map_err(|_| "dropped") });
        let same = runs.join(1, async { Err("not executed") });
        let other = runs.join(2, async { Err("failed") });
        assert!(one.0.same_channel(&same.0) && !one.0.same_channel(&other.0));
        assert_eq!(other.wait().await, Err("failed"));
        end.send(()).unwrap();
        assert_eq!((one.wait().await, same.wait().await), (Ok(()), Ok(())));
        assert!(!runs.is_running(&1) && !runs.is_running(&2));
        assert_eq!(runs.join(1, async { Err("again") }).wait().await, Err("again"));
    }

    #[tokio::test]
    async fn work_that_panics_has_ended() {
        let runs: SharedRuns<u8, ()> = SharedRuns::default();
        let run = runs.join(1, async { panic!("in a test") });
        assert_eq!(run.wait().await, Ok(()));
        assert!(runs.running().is_empty());
    }
}
