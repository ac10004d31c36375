//! Waiting for the disk: those who wait at once wait for it once.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use tokio::sync::oneshot;

use crate::store::{Store, StoreError};

/// Who is told when the disk has it, or why it has not.
type Waiting = oneshot::Sender<Result<(), String>>;

/// A thread that waits for the disk.
#[derive(Debug)]
pub(super) struct Syncing {
    ask: Sender<Waiting>,
}

impl Syncing {
    pub(super) fn begin(store: Arc<Store>) -> Self {
        let (ask, asked) = channel();
        thread::spawn(move || run(&store, &asked));
        Self { ask }
    }

    /// Ready once the disk holds all that was committed before.
    pub(super) async fn sync(&self) -> Result<(), StoreError> {
        let (tell, told) = oneshot::channel();
        let gone = || StoreError::Unknown("nobody waits for the disk any more".to_owned());
        self.ask.send(tell).map_err(|_| gone())?;
        told.await.map_err(|_| gone())?.map_err(StoreError::Unknown)
    }
}

fn run(store: &Store, asked: &Receiver<Waiting>) {
    while let Ok(first) = asked.recv() {
        // Whoever asks from now on may have committed after the disk was asked.
        let all: Vec<Waiting> = std::iter::once(first).chain(asked.try_iter()).collect();
        let synced = store.sync().map_err(|error| error.to_string());
        for waiting in all {
            drop(waiting.send(synced.clone()));
        }
    }
}
