//! Tells other nodes what changed here, and notices what they commit.
//!
//! After a commit, not in it (a transaction that notifies queues behind all others that do), the names
//! of changed collections and databases are gathered for a moment and sent with one NOTIFY each: a hint. The
//! truth is a look at those that somebody follows, once a second, on the one connection that listens. It is made anew when it is lost.

use std::collections::{BTreeSet, HashMap};
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use feedsync_couch::DatabaseName;
use tokio::sync::{Notify, mpsc};
use tokio::time::MissedTickBehavior;
use tokio_postgres::{AsyncMessage, Client, Notification};

use super::rows::{get, parsed};
use super::{Node, pool};
use crate::error::StoreError;
use crate::name::CollectionName;

/// Commits so close to each other make one notification.
const GATHER: Duration = Duration::from_millis(20);

/// How often the followed collections are looked at.
const INTERVAL: Duration = Duration::from_secs(1);

/// Where collections are announced, and where databases are.
const COLLECTIONS: &str = "feedsync";
const DATABASES: &str = "feedsync_databases";

/// What changed and other nodes have not been told of.
#[derive(Default)]
pub(super) struct Announcements {
    pending: Mutex<Pending>,
    wake: Notify,
}

#[derive(Default)]
struct Pending {
    collections: BTreeSet<CollectionName>,
    databases: BTreeSet<DatabaseName>,
}

impl Announcements {
    pub(super) fn add(&self, name: &CollectionName) {
        self.pending().collections.insert(name.clone());
        self.wake.notify_one();
    }

    pub(super) fn add_database(&self, name: &DatabaseName) {
        self.pending().databases.insert(name.clone());
        self.wake.notify_one();
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Pending {
        std::mem::take(&mut self.pending())
    }
}

/// Announces, for as long as the executor runs.
pub(super) async fn announce(node: Arc<Node>) {
    loop {
        node.announcements.wake.notified().await;
        tokio::time::sleep(GATHER).await;
        let Pending { collections, databases } = node.announcements.take();
        let collections: Vec<&str> = collections.iter().map(CollectionName::as_str).collect();
        let databases: Vec<&str> = databases.iter().map(DatabaseName::as_str).collect();
        for (channel, names) in [(COLLECTIONS, collections), (DATABASES, databases)] {
            // Whom it does not reach looks for himself.
            let _ = notify(&node, channel, &names).await;
        }
    }
}

async fn notify(node: &Node, channel: &str, names: &[&str]) -> Result<(), StoreError> {
    if names.is_empty() {
        return Ok(());
    }
    let client = node.connection().await?;
    let sql = "SELECT pg_notify($1, $2 || ' ' || name) FROM unnest($3::text[]) name";
    let statement = client.prepare_cached(sql).await?;
    client.query(&statement, &[&channel, &node.number, &names]).await?;
    Ok(())
}

/// Listens and looks, for as long as the executor runs.
pub(super) async fn watch(node: Arc<Node>) {
    loop {
        // What fails now is tried again: notices are hints.
        let _ = watch_until_lost(&node).await;
        tokio::time::sleep(INTERVAL).await;
    }
}

async fn watch_until_lost(node: &Node) -> Result<(), StoreError> {
    let (client, mut connection) = node.address.config.connect(node.address.tls.clone()).await?;
    let (hear, mut heard) = mpsc::unbounded_channel();
    // Ends with the connection, or with the client.
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(notification) = message
                && hear.send(notification).is_err()
            {
                return;
            }
        }
    });
    client.batch_execute(pool::SESSION).await?;
    client.batch_execute(&format!("LISTEN {COLLECTIONS}; LISTEN {DATABASES}")).await?;
    let mut known = HashMap::new();
    let mut known_databases = HashMap::new();
    let mut tick = tokio::time::interval(INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            notification = heard.recv() => match notification {
                None => return Ok(()),
                Some(notification) => ring(node, &notification),
            },
            _ = tick.tick() => {
                look(node, &client, &mut known).await?;
                look_at_databases(node, &client, &mut known_databases).await?;
            }
        }
    }
}

/// Another node says what it changed.
fn ring(node: &Node, notification: &Notification) {
    let Some((from, name)) = notification.payload().split_once(' ') else { return };
    if from == node.number {
        return;
    }
    match notification.channel() {
        DATABASES => drop(name.parse().map(|name| node.database_bell.ring(&name))),
        _ => drop(CollectionName::new(name).map(|name| node.bell.ring(&name))),
    }
}

/// What of the rows of a collection and its log changes when those who follow have to look.
#[derive(PartialEq, Eq)]
struct Seen {
    numbers: [i64; 4],
    texts: [String; 3],
}

/// Rings for what is not as it was when it was looked at last, or was not looked at before.
async fn look(
    node: &Node,
    client: &Client,
    known: &mut HashMap<CollectionName, Seen>,
) -> Result<(), StoreError> {
    let followed = node.bell.followed();
    if followed.is_empty() {
        known.clear();
        return Ok(());
    }
    let names: Vec<&str> = followed.iter().map(CollectionName::as_str).collect();
    let sql = "SELECT name, id, epoch_began, last, horizon, title, format,
                      concat_ws(' ', l.generation, l.length, l.removed, s.generation, s.covers)
                 FROM collections c LEFT JOIN logs l ON l.collection = id
                                    LEFT JOIN log_snapshots s ON s.collection = id
                WHERE name = ANY($1)";
    let mut former = std::mem::take(known);
    for row in &client.query(sql, &[&names]).await? {
        let name: CollectionName = parsed(row, 0)?;
        let seen = Seen {
            numbers: [get(row, 1)?, get(row, 2)?, get(row, 3)?, get(row, 4)?],
            texts: [get(row, 5)?, get(row, 6)?, get(row, 7)?],
        };
        if former.remove(&name).as_ref() != Some(&seen) {
            node.bell.ring(&name);
        }
        known.insert(name, seen);
    }
    // What is left was dropped or renamed.
    former.keys().for_each(|name| node.bell.ring(name));
    Ok(())
}

/// The same for databases: what of their rows changes with their documents.
async fn look_at_databases(
    node: &Node,
    client: &Client,
    known: &mut HashMap<DatabaseName, [i64; 4]>,
) -> Result<(), StoreError> {
    let followed = node.database_bell.followed();
    let mut former = std::mem::take(known);
    if followed.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = followed.iter().map(DatabaseName::as_str).collect();
    let sql = "SELECT name, id, epoch_began, last, purges FROM databases WHERE name = ANY($1)";
    for row in &client.query(sql, &[&names]).await? {
        let name: DatabaseName = parsed(row, 0)?;
        let seen = [get(row, 1)?, get(row, 2)?, get(row, 3)?, get(row, 4)?];
        if former.remove(&name) != Some(seen) {
            node.database_bell.ring(&name);
        }
        known.insert(name, seen);
    }
    // What is left was dropped.
    former.keys().for_each(|name| node.database_bell.ring(name));
    Ok(())
}
