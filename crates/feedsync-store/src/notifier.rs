//! Notifies subscribers that a collection or a database changed.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

/// Notices of changes of one collection or database. A notice is a hint: read the changes after the last one
/// seen. Several changes may produce one notice, and a notice may come without a change.
#[derive(Debug, Clone)]
pub struct Notices(watch::Receiver<u64>);

impl Notices {
    /// Waits for the next notice. Returns at once if there was one since the last call, and returns `false`
    /// when the store was closed.
    pub async fn next(&mut self) -> bool {
        self.0.changed().await.is_ok()
    }
}

/// Notification channels, by the name of the subscribed collection or database.
#[derive(Debug)]
pub struct ChangeNotifier<N> {
    channels: Mutex<HashMap<N, watch::Sender<u64>>>,
}

impl<N> Default for ChangeNotifier<N> {
    fn default() -> Self {
        Self { channels: Mutex::default() }
    }
}

impl<N: Clone + Eq + Hash> ChangeNotifier<N> {
    /// Subscribes to notices about a name.
    pub fn subscribe(&self, name: &N) -> Notices {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        channels.retain(|_, channel| channel.receiver_count() > 0);
        let channel = channels.entry(name.clone()).or_insert_with(|| watch::channel(0).0);
        Notices(channel.subscribe())
    }

    /// Whether there is any subscriber.
    #[cfg(feature = "sqlite")]
    pub(crate) fn has_subscribers(&self) -> bool {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        channels.values().any(|channel| channel.receiver_count() > 0)
    }

    /// Names that have subscribers.
    #[cfg(any(feature = "sqlite", feature = "postgres"))]
    pub(crate) fn subscribed_names(&self) -> Vec<N> {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        let subscribed_names = channels.iter().filter(|(_, channel)| channel.receiver_count() > 0);
        subscribed_names.map(|(name, _)| name.clone()).collect()
    }

    /// Notifies those who subscribed to a name.
    pub fn notify_subscribers(&self, name: &N) {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = channels.get(name) {
            channel.send_modify(|count| *count += 1);
        }
    }
}
