//! Rows of remotes.

use std::time::Duration;

use rusqlite::{Connection, ErrorCode, Row, params};

use super::collections;
use super::rows::parsed;
use crate::columns::moment;
use crate::error::StoreError;
use crate::name::CollectionName;
use crate::order::{ChangeNumber, Moment};
use crate::remote::{NewRemote, PushRefusal, Remote, RemoteId, RemoteState, Subscription};

pub(super) fn all(
    connection: &Connection,
    collection: Option<&CollectionName>,
) -> Result<Vec<Remote>, StoreError> {
    let only = match collection {
        Some(name) => Some(collections::require(connection, name)?.id),
        None => None,
    };
    let mut statement = connection.prepare_cached(
        "SELECT remotes.id, collections.name, remotes.name, url, changes, complete, until, etag,
                last_modified, pushed, may_lack, needs_complete, read_only, not_before, expires,
                failures, failure, succeeded, every, plain, reaches_private, due,
                refused_at, refused_up_to, refusal
           FROM remotes JOIN collections ON collections.id = remotes.collection
          WHERE ?1 IS NULL OR remotes.collection = ?1 ORDER BY remotes.id",
    )?;
    let mut rows = statement.query([only])?;
    let mut remotes = Vec::new();
    while let Some(row) = rows.next()? {
        remotes.push(remote(row)?);
    }
    Ok(remotes)
}

fn remote(row: &Row<'_>) -> Result<Remote, StoreError> {
    let maybe = |column| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(column)?.map(moment));
    Ok(Remote {
        id: RemoteId(row.get::<_, i64>(0)? as u64),
        collection: parsed(row, 1)?,
        name: row.get(2)?,
        url: row.get(3)?,
        state: RemoteState {
            changes: row.get(4)?,
            complete: row.get(5)?,
            until: row.get(6)?,
            etag: row.get(7)?,
            last_modified: row.get(8)?,
            pushed: ChangeNumber::new(row.get::<_, i64>(9)? as u64),
            may_lack: row.get(10)?,
            needs_complete: row.get(11)?,
            read_only: row.get(12)?,
            refusal: match row.get(24)? {
                None => None,
                Some(reason) => Some(PushRefusal {
                    at: moment(row.get(22)?),
                    up_to: ChangeNumber::new(row.get::<_, i64>(23)? as u64),
                    reason,
                }),
            },
            not_before: maybe(13)?,
            expires: maybe(14)?,
            failures: row.get(15)?,
            failure: row.get(16)?,
            succeeded: maybe(17)?,
        },
        subscription: match row.get::<_, Option<i64>>(18)? {
            None => None,
            Some(seconds) => Some(Subscription {
                every: Duration::from_secs(seconds as u64),
                plain: row.get(19)?,
                reaches_private: row.get(20)?,
                due: maybe(21)?,
            }),
        },
    })
}

pub(super) fn add(connection: &Connection, new: NewRemote) -> Result<Remote, StoreError> {
    insert(connection, None, &new)?;
    let id = RemoteId(connection.last_insert_rowid() as u64);
    let remote = Remote::new(id, new);
    if remote.subscription.is_some() {
        change(connection, &remote)?;
    }
    Ok(remote)
}

/// Inserts a remote with all its values.
pub(super) fn put_back(connection: &Connection, remote: &Remote) -> Result<(), StoreError> {
    let Remote { id, collection, name, url, .. } = remote.clone();
    insert(connection, Some(id), &NewRemote { collection, name, url, subscription: None })?;
    change(connection, remote)
}

/// Inserts a remote under a given id, or under the next one.
fn insert(
    connection: &Connection,
    id: Option<RemoteId>,
    new: &NewRemote,
) -> Result<(), StoreError> {
    let collection_row = collections::require(connection, &new.collection)?;
    connection
        .execute(
            "INSERT INTO remotes (id, collection, name, url) VALUES (?1, ?2, ?3, ?4)",
            params![id.map(|id| id.0 as i64), collection_row.id, new.name, new.url],
        )
        .map_err(|error| url_conflict(error, &new.url))?;
    Ok(())
}

pub(super) fn change(connection: &Connection, remote: &Remote) -> Result<(), StoreError> {
    let subscription = remote.subscription.as_ref();
    let changed = connection
        .execute(
            "UPDATE remotes SET name = ?2, url = ?3, every = ?4, plain = ?5, reaches_private = ?6,
                    due = ?7
              WHERE id = ?1",
            params![
                remote.id.0 as i64,
                remote.name,
                remote.url,
                subscription.map(|subscription| subscription.every.as_secs() as i64),
                subscription.is_some_and(|subscription| subscription.plain),
                subscription.is_some_and(|subscription| subscription.reaches_private),
                micros(subscription.and_then(|subscription| subscription.due)),
            ],
        )
        .map_err(|error| url_conflict(error, &remote.url))?;
    if changed == 0 {
        return Err(StoreError::NoRemote);
    }
    write_state(connection, remote.id, &remote.state)
}

pub(super) fn reschedule(
    connection: &Connection,
    id: RemoteId,
    seen: Option<Moment>,
    due: Moment,
) -> Result<bool, StoreError> {
    let moved = connection.execute(
        "UPDATE remotes SET due = ?3 WHERE id = ?1 AND every IS NOT NULL AND due IS ?2",
        params![id.0 as i64, micros(seen), micros(Some(due))],
    )?;
    Ok(moved > 0)
}

pub(super) fn remove(connection: &Connection, id: RemoteId) -> Result<(), StoreError> {
    match connection.execute("DELETE FROM remotes WHERE id = ?1", [id.0 as i64])? {
        0 => Err(StoreError::NoRemote),
        _ => Ok(()),
    }
}

/// Writes the state of a remote; has no effect if the remote was removed meanwhile.
pub(super) fn write_state(
    connection: &Connection,
    id: RemoteId,
    state: &RemoteState,
) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "UPDATE remotes SET changes = ?2, complete = ?3, until = ?4, etag = ?5,
                    last_modified = ?6, pushed = ?7, may_lack = ?8, needs_complete = ?9,
                    read_only = ?10, not_before = ?11, expires = ?12, failures = ?13,
                    failure = ?14, succeeded = ?15, refused_at = ?16, refused_up_to = ?17,
                    refusal = ?18
              WHERE id = ?1",
        )?
        .execute(params![
            id.0 as i64,
            state.changes,
            state.complete,
            state.until,
            state.etag,
            state.last_modified,
            state.pushed,
            state.may_lack,
            state.needs_complete,
            state.read_only,
            micros(state.not_before),
            micros(state.expires),
            state.failures,
            state.failure,
            micros(state.succeeded),
            micros(state.refusal.as_ref().map(|refusal| refusal.at)),
            state.refusal.as_ref().map(|refusal| refusal.up_to),
            state.refusal.as_ref().map(|refusal| &refusal.reason),
        ])?;
    Ok(())
}

fn micros(moment: Option<Moment>) -> Option<i64> {
    moment.map(|moment| moment.micros() as i64)
}

fn url_conflict(error: rusqlite::Error, url: &str) -> StoreError {
    match &error {
        rusqlite::Error::SqliteFailure(failure, _)
            if failure.code == ErrorCode::ConstraintViolation =>
        {
            StoreError::RemoteExists(url.to_owned())
        }
        _ => error.into(),
    }
}
