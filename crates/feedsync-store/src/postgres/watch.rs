//! Notification of other nodes about changes, and detection of their commits.
//!
//! Names of changed collections and databases are collected for a short time and sent with one NOTIFY each.
//! They are sent after the commit, because a notifying transaction queues behind all others that notify. A
//! notification is a hint. In addition, the rows of all names with subscribers are polled once a second, on
//! the one connection that listens. A lost connection is re-established.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use feedsync_couch::DatabaseName;
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;
use tokio_postgres::{AsyncMessage, Client, Notification};

use super::announcements::Pending;
use super::node::Node;
use super::rows::{get, parsed};
use super::{pool, schema};
use crate::error::StoreError;
use crate::name::CollectionName;

/// Interval in which commits are combined into one notification.
const COALESCE_INTERVAL: Duration = Duration::from_millis(20);

/// Interval of polling the collections that have subscribers.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Channels of notifications about collections and databases.
const COLLECTIONS: &str = "feedsync";
const DATABASES: &str = "feedsync_databases";

/// Sends notifications, for as long as the executor runs.
pub(super) async fn announce(node: Arc<Node>) {
    loop {
        node.announcements.wake.notified().await;
        tokio::time::sleep(COALESCE_INTERVAL).await;
        let Pending { collections, databases } = node.announcements.take();
        let collections: Vec<&str> = collections.iter().map(CollectionName::as_str).collect();
        let databases: Vec<&str> = databases.iter().map(DatabaseName::as_str).collect();
        for (channel, names) in [(COLLECTIONS, collections), (DATABASES, databases)] {
            // Nodes that miss the notification detect the change by polling.
            let _ = send_notification(&node, channel, &names).await;
        }
    }
}

async fn send_notification(node: &Node, channel: &str, names: &[&str]) -> Result<(), StoreError> {
    if names.is_empty() {
        return Ok(());
    }
    let client = node.connection().await?;
    let sql = "SELECT pg_notify($1, $2 || ' ' || name) FROM unnest($3::text[]) name";
    let statement = client.prepare_cached(sql).await?;
    client.query(&statement, &[&channel, &node.number, &names]).await?;
    Ok(())
}

/// Listens and polls, for as long as the executor runs.
pub(super) async fn watch(node: Arc<Node>) {
    loop {
        // Failures are retried: notices are hints.
        let _ = watch_until_lost(&node).await;
        tokio::time::sleep(POLL_INTERVAL).await;
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
    client.batch_execute(&pool::session(schema::STORE.name)).await?;
    client.batch_execute(&format!("LISTEN {COLLECTIONS}; LISTEN {DATABASES}")).await?;
    let mut known = HashMap::new();
    let mut known_databases = HashMap::new();
    let mut tick = tokio::time::interval(POLL_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            notification = heard.recv() => match notification {
                None => return Ok(()),
                Some(notification) => notify_subscribers(node, &notification),
            },
            _ = tick.tick() => {
                poll(node, &client, &mut known).await?;
                poll_databases(node, &client, &mut known_databases).await?;
            }
        }
    }
}

/// Handles a notification from another node.
fn notify_subscribers(node: &Node, notification: &Notification) {
    let Some((from, name)) = notification.payload().split_once(' ') else { return };
    if from == node.number {
        return;
    }
    match notification.channel() {
        DATABASES => {
            drop(name.parse().map(|name| node.database_notifier.notify_subscribers(&name)))
        }
        _ => drop(CollectionName::new(name).map(|name| node.notifier.notify_subscribers(&name))),
    }
}

/// Values in the rows of a collection and its log that change with each change that subscribers must read.
#[derive(PartialEq, Eq)]
struct ChangeMarker {
    numbers: [i64; 4],
    texts: [String; 3],
}

/// Notifies subscribers of collections that changed since the last poll, or that are polled for the first
/// time.
async fn poll(
    node: &Node,
    client: &Client,
    known: &mut HashMap<CollectionName, ChangeMarker>,
) -> Result<(), StoreError> {
    let subscribed_names = node.notifier.subscribed_names();
    if subscribed_names.is_empty() {
        known.clear();
        return Ok(());
    }
    let names: Vec<&str> = subscribed_names.iter().map(CollectionName::as_str).collect();
    let sql = "SELECT name, id, epoch_began, last, horizon, title, format,
                      concat_ws(' ', l.generation, l.length, l.removed, s.generation, s.covers)
                 FROM collections c LEFT JOIN logs l ON l.collection = id
                                    LEFT JOIN log_snapshots s ON s.collection = id
                WHERE name = ANY($1)";
    let mut former = std::mem::take(known);
    for row in &client.query(sql, &[&names]).await? {
        let name: CollectionName = parsed(row, 0)?;
        let seen = ChangeMarker {
            numbers: [get(row, 1)?, get(row, 2)?, get(row, 3)?, get(row, 4)?],
            texts: [get(row, 5)?, get(row, 6)?, get(row, 7)?],
        };
        if former.remove(&name).as_ref() != Some(&seen) {
            node.notifier.notify_subscribers(&name);
        }
        known.insert(name, seen);
    }
    // The remaining ones were dropped or renamed.
    former.keys().for_each(|name| node.notifier.notify_subscribers(name));
    Ok(())
}

/// The same for databases, with values of their rows that change with their documents.
async fn poll_databases(
    node: &Node,
    client: &Client,
    known: &mut HashMap<DatabaseName, [i64; 4]>,
) -> Result<(), StoreError> {
    let subscribed_names = node.database_notifier.subscribed_names();
    let mut former = std::mem::take(known);
    if subscribed_names.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = subscribed_names.iter().map(DatabaseName::as_str).collect();
    let sql = "SELECT name, id, epoch_began, last, purges FROM databases WHERE name = ANY($1)";
    for row in &client.query(sql, &[&names]).await? {
        let name: DatabaseName = parsed(row, 0)?;
        let seen = [get(row, 1)?, get(row, 2)?, get(row, 3)?, get(row, 4)?];
        if former.remove(&name) != Some(seen) {
            node.database_notifier.notify_subscribers(&name);
        }
        known.insert(name, seen);
    }
    // The remaining ones were dropped.
    former.keys().for_each(|name| node.database_notifier.notify_subscribers(name));
    Ok(())
}
