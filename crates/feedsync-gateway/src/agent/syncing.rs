//! Waiting for the disk: those who wait at once wait for it once. What happened is told in its order, and what
//! has to outlive a power cut once the disk holds it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use feedsync_offline::interceptor::Event;
use tokio::sync::{broadcast, oneshot};

use crate::store::{Store, StoreError};

/// A thread that waits for the disk, and tells. Dropping it ends it when all that is queued is told.
#[derive(Debug)]
pub(super) struct Syncing {
    ask: Option<Sender<Asked>>,
    thread: Option<JoinHandle<()>>,
}

/// What was stored.
#[derive(Debug)]
struct Asked {
    events: Vec<Event>,
    needs_sync: bool,
    /// Told when the disk has it, or why it has not.
    tell: oneshot::Sender<Result<(), String>>,
}

/// Becomes ready once something was told.
#[derive(Debug)]
pub(super) struct Told(oneshot::Receiver<Result<(), String>>);

impl Syncing {
    pub(super) fn begin(store: Arc<Store>, events: broadcast::Sender<Arc<Event>>) -> Self {
        let (ask, asked) = channel();
        let thread = thread::spawn(move || run(&store, &events, &asked));
        Self { ask: Some(ask), thread: Some(thread) }
    }

    /// Has what was stored told after all that was queued before.
    pub(super) fn tell(&self, events: Vec<Event>, needs_sync: bool) -> Told {
        let (tell, told) = oneshot::channel();
        if let Some(ask) = &self.ask {
            // If nobody waits for the disk any more, whoever waits for this hears of it.
            drop(ask.send(Asked { events, needs_sync, tell }));
        }
        Told(told)
    }
}

impl Drop for Syncing {
    fn drop(&mut self) {
        self.ask = None;
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

impl Told {
    pub(super) async fn wait(self) -> Result<(), StoreError> {
        let gone = |_| StoreError::Unknown("nobody waits for the disk any more".to_owned());
        self.0.await.map_err(gone)?.map_err(StoreError::Unknown)
    }
}

fn run(store: &Store, tell: &broadcast::Sender<Arc<Event>>, asked: &Receiver<Asked>) {
    while let Ok(first) = asked.recv() {
        // Whoever asks from now on may have committed after the disk was asked.
        let all: Vec<Asked> = std::iter::once(first).chain(asked.try_iter()).collect();
        let synced = match all.iter().any(|asked| asked.needs_sync) {
            true => store.sync().map_err(|error| error.to_string()),
            false => Ok(()),
        };
        for Asked { events, needs_sync, tell: waiting } in all {
            let outcome = if needs_sync { synced.clone() } else { Ok(()) };
            if outcome.is_ok() {
                // Nobody may be listening.
                events.into_iter().for_each(|event| drop(tell.send(Arc::new(event))));
            }
            drop(waiting.send(outcome));
        }
    }
}
