//! Waits for the disk: concurrent waiters share one sync. Events are sent in order, and those that must survive a
//! power failure only once the disk holds them.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use feedsync_bitsy::interceptor::Event;
use tokio::sync::{broadcast, oneshot};

use crate::store::{Store, StoreError};

/// Thread that waits for the disk and sends the events. Dropping it ends the thread once the queue is empty.
#[derive(Debug)]
pub(super) struct DiskSync {
    ask: Option<Sender<QueuedStep>>,
    thread: Option<JoinHandle<()>>,
}

/// A stored step in the queue.
#[derive(Debug)]
struct QueuedStep {
    events: Vec<Event>,
    needs_sync: bool,
    /// Receives the result: `Ok` once the disk holds the step, or the reason why it does not.
    synced: oneshot::Sender<Result<(), String>>,
}

/// Completes once the events of a step were sent.
#[derive(Debug)]
pub(super) struct SyncReceipt(oneshot::Receiver<Result<(), String>>);

impl DiskSync {
    pub(super) fn begin(store: Arc<Store>, events: broadcast::Sender<Arc<Event>>) -> Self {
        let (ask, requested) = channel();
        let thread = thread::spawn(move || run(&store, &events, &requested));
        Self { ask: Some(ask), thread: Some(thread) }
    }

    /// Queues the events of a step after all earlier ones.
    pub(super) fn enqueue(&self, events: Vec<Event>, needs_sync: bool) -> SyncReceipt {
        let (synced, receipt) = oneshot::channel();
        if let Some(ask) = &self.ask {
            // If the thread has ended, the receiver gets an error because its sender is dropped.
            drop(ask.send(QueuedStep { events, needs_sync, synced }));
        }
        SyncReceipt(receipt)
    }
}

impl Drop for DiskSync {
    fn drop(&mut self) {
        self.ask = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

impl SyncReceipt {
    pub(super) async fn wait(self) -> Result<(), StoreError> {
        let gone = |_| StoreError::Unknown("the thread that syncs the disk has ended".to_owned());
        self.0.await.map_err(gone)?.map_err(StoreError::Unknown)
    }
}

fn run(store: &Store, sender: &broadcast::Sender<Arc<Event>>, requested: &Receiver<QueuedStep>) {
    while let Ok(first) = requested.recv() {
        // Drained before the sync: a later request may belong to a commit that this sync does not cover.
        let all: Vec<QueuedStep> = std::iter::once(first).chain(requested.try_iter()).collect();
        let result = match all.iter().any(|requested| requested.needs_sync) {
            true => store.sync().map_err(|error| error.to_string()),
            false => Ok(()),
        };
        for QueuedStep { events, needs_sync, synced } in all {
            let outcome = if needs_sync { result.clone() } else { Ok(()) };
            if outcome.is_ok() {
                // There may be no receivers.
                events.into_iter().for_each(|event| drop(sender.send(Arc::new(event))));
            }
            drop(synced.send(outcome));
        }
    }
}
