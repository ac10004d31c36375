//! Mass losses of documents: a large part of a database was deleted within an hour.
//!
//! Databases that keep a history are examined every few minutes. A loss is logged when it begins, and the number of
//! databases with one is a metric.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use feedsync_couch::DatabaseName;
use feedsync_endpoint::documents::history::MassLoss;
use feedsync_store::{Database, StoreError};
use tokio::time::interval;

use crate::hub::Hub;

const PAUSE: Duration = Duration::from_secs(5 * 60);

/// Number of databases that are read at once.
const PAGE: usize = 200;

/// Examines the databases every few minutes, for as long as it is polled.
pub(crate) async fn watch(hub: Hub) {
    let mut known = BTreeSet::new();
    let mut pause = interval(PAUSE);
    loop {
        pause.tick().await;
        match examine(&hub, &mut known).await {
            Ok(()) => hub.lossy_databases.store(known.len() as u64, Ordering::Relaxed),
            Err(error) => tracing::warn!(%error, "cannot look for mass losses of documents"),
        }
    }
}

/// Notes the databases with a loss, and logs those that have a new one.
async fn examine(hub: &Hub, known: &mut BTreeSet<DatabaseName>) -> Result<(), StoreError> {
    let databases = hub.endpoint.databases();
    let mut after: Option<DatabaseName> = None;
    let mut found = BTreeSet::new();
    loop {
        let page = databases.databases(after.as_ref(), PAGE).await?;
        for database in &page {
            let loss = hub.mass_losses.of(&hub.endpoint, database).await;
            // A database may be dropped meanwhile.
            let Ok(Some(loss)) = loss else { continue };
            if !known.contains(&database.name) {
                report(database, loss);
            }
            found.insert(database.name.clone());
        }
        after = page.last().map(|last| last.name.clone());
        if page.len() < PAGE {
            *known = found;
            return Ok(());
        }
    }
}

fn report(database: &Database, MassLoss { lost, existed }: MassLoss) {
    match &database.dropped {
        Some(dropped) => tracing::warn!(
            database = %dropped.name, documents = lost, by = dropped.author.as_deref(),
            "a database was dropped; `feedsync database undrop` brings it back"
        ),
        None => tracing::warn!(
            database = %database.name, lost, existed,
            "a large part of the documents was deleted within an hour; `feedsync database restore` brings them back"
        ),
    }
}
