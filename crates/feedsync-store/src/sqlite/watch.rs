//! Detection of commits by other processes.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use feedsync_couch::DatabaseName;
use rusqlite::Connection;

use super::{collections, database_rows, log_rows};
use crate::collection::Collection;
use crate::error::StoreError;
use crate::name::CollectionName;
use crate::notifier::ChangeNotifier;
use crate::order::{ChangeNumber, Epoch};

/// Channels of the subscribers to notify.
type Notifiers = (Arc<ChangeNotifier<CollectionName>>, Arc<ChangeNotifier<DatabaseName>>);

/// Interval of polling the file while there are subscribers.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// The polling thread. Dropping it ends the thread.
pub(super) struct Watch {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    pub(super) fn start(connection: Connection, notifiers: Notifiers) -> Result<Self, StoreError> {
        let (end, ended) = channel();
        let thread = thread::Builder::new()
            .name("feedsync-watch".to_owned())
            .spawn(move || watch(&connection, &notifiers, &ended))
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

fn watch(connection: &Connection, (notifier, database_notifier): &Notifiers, ended: &Receiver<()>) {
    let mut known_databases: HashMap<DatabaseName, Option<(Epoch, ChangeNumber, u64)>> =
        HashMap::new();
    let mut seen: Option<i64> = None;
    let mut known: HashMap<CollectionName, (Collection, Option<String>)> = HashMap::new();
    while ended.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
        if !notifier.has_subscribers() && !database_notifier.has_subscribers() {
            continue;
        }
        // Failures are retried: notices are hints.
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
                log == log_before && !collection.has_changes_since(&before)
            });
            if !is_as_before {
                notifier.notify_subscribers(&collection.name);
            }
            known.insert(collection.name.clone(), (collection, log));
        }
        // The remaining ones were dropped or renamed.
        former.keys().for_each(|name| notifier.notify_subscribers(name));
        // There may be very many databases, so each name with subscribers is looked up by itself.
        let mut former = std::mem::take(&mut known_databases);
        for name in database_notifier.subscribed_names() {
            let Ok(found) = database_rows::find(connection, &name) else { continue };
            let state = found.map(|room| room.database);
            let state = state.map(|it| (it.epoch, it.last, it.purges));
            if former.remove(&name) != Some(state) {
                database_notifier.notify_subscribers(&name);
            }
            known_databases.insert(name, state);
        }
    }
}
