//! Rows of subscriptions.

use std::collections::BTreeMap;

use feedsync_bitsy::headers::RegisteredHeaders;
use feedsync_bitsy::interceptor::{StoredSubscription, SubscriptionId};
use feedsync_bitsy::location::Location;
use feedsync_bitsy::subscription::builder::SubscriptionRequest;
use feedsync_bitsy::subscription::state::State;
use feedsync_bitsy::subscription::{Failure, Hold, Holder, Parts, Subscription};
use feedsync_bitsy::time::Time;
use http::StatusCode;
use rusqlite::{Connection, params};

use super::columns::{self, Columns, damaged};
use super::error::StoreError;

pub(super) fn put(
    connection: &Connection,
    stored_subscription: &StoredSubscription,
) -> Result<(), StoreError> {
    let StoredSubscription { id, subscription, collection, moved, followed } = stored_subscription;
    let parts = subscription.parts();
    let wanted = &parts.wanted;
    let id = id.0.cast_signed();
    gone(connection, stored_subscription.id)?;
    connection
        .prepare_cached(
            "INSERT INTO keeping VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        )?
        .execute(params![
            id,
            wanted.feed.as_str(),
            columns::fields_out(wanted.registered.fields()),
            wanted.interval,
            columns::relations_out(&wanted.follows),
            wanted.proxy.as_ref().map(Location::as_str),
            parts.state.number(),
            parts.due.map(columns::time),
            parts.again,
            parts.last_updated.map(columns::time),
            collection.as_ref().map(Location::as_str),
            moved.as_ref().map(Location::as_str),
            followed.as_ref().map(columns::relations_out),
            parts.failure.as_ref().map(|failure| failure.location.as_str()),
            parts.failure.as_ref().map(|failure| failure.status.as_u16()),
        ])?;
    for (location, time) in &parts.retries {
        connection.prepare_cached("INSERT INTO retry VALUES (?1, ?2, ?3)")?.execute(params![
            id,
            location.as_str(),
            columns::time(*time)
        ])?;
    }
    for (Holder(holder), hold) in &parts.holders {
        let follows = columns::relations_out(&hold.follows);
        connection
            .prepare_cached("INSERT INTO holder VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![id, holder.cast_signed(), hold.interval, follows])?;
    }
    Ok(())
}

pub(super) fn gone(
    connection: &Connection,
    SubscriptionId(id): SubscriptionId,
) -> Result<(), StoreError> {
    for sql in [
        "DELETE FROM keeping WHERE id = ?1",
        "DELETE FROM retry WHERE keeping = ?1",
        "DELETE FROM holder WHERE keeping = ?1",
    ] {
        connection.prepare_cached(sql)?.execute([id.cast_signed()])?;
    }
    Ok(())
}

pub(super) fn all(connection: &Connection) -> Result<Vec<StoredSubscription>, StoreError> {
    let mut stored_subscriptions = Vec::new();
    let mut statement = connection.prepare("SELECT * FROM keeping ORDER BY id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let mut row = Columns::of(row);
        let id = row.number()?;
        let feed = row.location()?;
        let registered = columns::fields_in(&row.get::<Vec<u8>>()?)?;
        let registered = RegisteredHeaders::restored(registered)
            .map_err(|error| damaged("a list of registered headers", error))?;
        let (interval, follows) = (row.small()?, row.relations()?);
        let proxy = row.optional_location()?;
        let state: u16 = row.small()?;
        let state = State::of_number(state).ok_or_else(|| damaged("a state", state))?;
        let mut parts = Parts {
            wanted: SubscriptionRequest { feed, registered, interval, follows, proxy },
            state,
            due: row.optional_time()?,
            again: row.get()?,
            last_updated: row.optional_time()?,
            retries: retries(connection, id)?,
            failure: None,
            holders: holders(connection, id)?,
        };
        let (collection, moved) = (row.optional_location()?, row.optional_location()?);
        let followed = row.optional_relations()?;
        parts.failure = failure(&mut row)?;
        stored_subscriptions.push(StoredSubscription {
            id: SubscriptionId(id),
            subscription: Subscription::restored(parts),
            collection,
            moved,
            followed,
        });
    }
    Ok(stored_subscriptions)
}

fn failure(row: &mut Columns<'_>) -> Result<Option<Failure>, StoreError> {
    let (location, status): (_, Option<i64>) = (row.optional_location()?, row.get()?);
    let status = status.map(|status| {
        let found = u16::try_from(status).ok().and_then(|it| StatusCode::from_u16(it).ok());
        found.ok_or_else(|| damaged("a status", status))
    });
    Ok(location.zip(status.transpose()?).map(|(location, status)| Failure { location, status }))
}

fn retries(connection: &Connection, id: u64) -> Result<BTreeMap<Location, Time>, StoreError> {
    let mut retries = BTreeMap::new();
    let sql = "SELECT location, time FROM retry WHERE keeping = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([id.cast_signed()])?;
    while let Some(row) = rows.next()? {
        let mut row = Columns::of(row);
        retries.insert(row.location()?, row.time()?);
    }
    Ok(retries)
}

fn holders(connection: &Connection, id: u64) -> Result<BTreeMap<Holder, Hold>, StoreError> {
    let mut holders = BTreeMap::new();
    let sql = "SELECT id, interval, follows FROM holder WHERE keeping = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([id.cast_signed()])?;
    while let Some(row) = rows.next()? {
        let mut row = Columns::of(row);
        let holder = Holder(row.number()?);
        holders.insert(holder, Hold { interval: row.small()?, follows: row.relations()? });
    }
    Ok(holders)
}
