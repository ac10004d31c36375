//! Notices what other processes commit.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;

use super::{collections, log_rows};
use crate::bell::Bell;
use crate::collection::Collection;
use crate::error::StoreError;
use crate::name::CollectionName;

/// How often the file is looked at while somebody follows.
const INTERVAL: Duration = Duration::from_millis(200);

/// The thread that looks. Dropping it ends it.
pub(super) struct Watch {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    pub(super) fn start(connection: Connection, bell: Arc<Bell>) -> Result<Self, StoreError> {
        let (end, ended) = channel();
        let thread = thread::Builder::new()
            .name("feedsync-watch".to_owned())
            .spawn(move || watch(&connection, &bell, &ended))
            .map_err(|error| StoreError::Database(Box::new(error)))?;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn watch(connection: &Connection, bell: &Bell, ended: &Receiver<()>) {
    let mut seen: Option<i64> = None;
    let mut known: HashMap<CollectionName, (Collection, Option<String>)> = HashMap::new();
    while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
        if !bell.is_followed() {
            continue;
        }
        // What fails now is tried again: notices are hints.
        let version: Option<i64> = connection
            .query_row("PRAGMA data_version", [], |row| row.get(0))
            .ok()
            .filter(|version| seen != Some(*version));
        let Some(version) = version else { continue };
        let Ok(collections) = collections::all(connection) else { continue };
        let Ok(mut logs) = log_rows::marks(connection) else { continue };
        seen = Some(version);
        let mut former = std::mem::take(&mut known);
        for collection in collections {
            let before = former.remove(&collection.name);
            let log = logs.remove(&collection.name);
            let is_as_before = before.is_some_and(|(before, log_before)| {
                log == log_before && !collection.is_news_since(&before)
            });
            if !is_as_before {
                bell.ring(&collection.name);
            }
            known.insert(collection.name.clone(), (collection, log));
        }
        // What is left was dropped or renamed.
        former.keys().for_each(|name| bell.ring(name));
    }
}
