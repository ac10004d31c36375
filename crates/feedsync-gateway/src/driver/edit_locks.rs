//! Locks that serialise the edits of one resource while they go to its server and their applications wait.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use feedsync_bitsy::authentication::Partition;
use feedsync_bitsy::location::Location;
use tokio::sync::OwnedMutexGuard;

/// Partition and resource of a lock.
type Key = (Partition, Location);

/// A held lock; dropping it releases it.
pub type EditLock = OwnedMutexGuard<()>;

/// Locks that are held or waited for.
#[derive(Debug, Default)]
pub(super) struct EditLocks {
    taken: Mutex<HashMap<Key, Weak<tokio::sync::Mutex<()>>>>,
}

impl EditLocks {
    pub(super) async fn take(&self, partition: Partition, resource: &Location) -> EditLock {
        let turn = {
            let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
            taken.retain(|_, turn| turn.strong_count() > 0);
            let key = (partition, resource.clone());
            match taken.get(&key).and_then(Weak::upgrade) {
                Some(turn) => turn,
                None => {
                    let turn = Arc::new(tokio::sync::Mutex::new(()));
                    taken.insert(key, Arc::downgrade(&turn));
                    turn
                }
            }
        };
        turn.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use super::*;

    #[tokio::test]
    async fn a_turn_is_one_at_a_time_and_is_forgotten_afterwards() {
        let edit_locks = EditLocks::default();
        let at: Location = "http://example.org/a".parse().unwrap();
        let first = edit_locks.take(Partition::public(), &at).await;
        let other: Location = "http://example.org/b".parse().unwrap();
        let _other = edit_locks.take(Partition::public(), &other).await;
        let mut second = std::pin::pin!(edit_locks.take(Partition::public(), &at));
        let mut context = Context::from_waker(Waker::noop());
        assert!(second.as_mut().poll(&mut context).is_pending());
        drop(first);
        drop(second.await);
        let third = edit_locks.take(Partition::public(), &at).await;
        assert_eq!(edit_locks.taken.lock().unwrap().len(), 2);
        drop(third);
    }
}
