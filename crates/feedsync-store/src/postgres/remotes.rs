//! Rows of remotes.

use std::time::Duration;

use deadpool_postgres::{Client, GenericClient, Transaction};
use tokio_postgres::Row;

use super::collections;
use super::pool;
use super::rows::{get, maybe_moment, micros, number, parsed, text};
use crate::error::StoreError;
use crate::name::CollectionName;
use crate::order::Moment;
use crate::remote::{NewRemote, PushRefusal, Remote, RemoteId, RemoteState, Subscription};

pub(super) async fn all(
    client: &mut Client,
    collection: Option<&CollectionName>,
) -> Result<Vec<Remote>, StoreError> {
    let transaction = pool::snapshot(client).await?;
    let only = match collection {
        Some(name) => Some(collections::require(&transaction, name).await?.id),
        None => None,
    };
    let statement = transaction
        .prepare_cached(
            "SELECT r.id, c.name, r.name, url, changes, complete, until, etag, last_modified,
                    pushed, may_lack, needs_complete, read_only, not_before, expires, failures,
                    failure, succeeded, every, plain, reaches_private, due, refused_at,
                    refused_up_to, refusal
               FROM remotes r JOIN collections c ON c.id = r.collection
              WHERE $1::bigint IS NULL OR r.collection = $1 ORDER BY r.id",
        )
        .await?;
    transaction.query(&statement, &[&only]).await?.iter().map(remote).collect()
}

fn remote(row: &Row) -> Result<Remote, StoreError> {
    Ok(Remote {
        id: RemoteId(get::<i64>(row, 0)? as u64),
        collection: parsed(row, 1)?,
        name: get(row, 2)?,
        url: get(row, 3)?,
        state: RemoteState {
            changes: get(row, 4)?,
            complete: get(row, 5)?,
            until: get(row, 6)?,
            etag: get(row, 7)?,
            last_modified: get(row, 8)?,
            pushed: number(row, 9)?,
            may_lack: get(row, 10)?,
            needs_complete: get(row, 11)?,
            read_only: get(row, 12)?,
            refusal: match (maybe_moment(row, 22)?, get(row, 24)?) {
                (Some(at), Some(reason)) => {
                    Some(PushRefusal { at, up_to: number(row, 23)?, reason })
                }
                _ => None,
            },
            not_before: maybe_moment(row, 13)?,
            expires: maybe_moment(row, 14)?,
            failures: u32::try_from(get::<i64>(row, 15)?).unwrap_or(u32::MAX),
            failure: get(row, 16)?,
            succeeded: maybe_moment(row, 17)?,
        },
        subscription: match get::<Option<i64>>(row, 18)? {
            None => None,
            Some(seconds) => Some(Subscription {
                every: Duration::from_secs(seconds as u64),
                plain: get(row, 19)?,
                reaches_private: get(row, 20)?,
                due: maybe_moment(row, 21)?,
            }),
        },
    })
}

pub(super) async fn add(
    transaction: &Transaction<'_>,
    new: NewRemote,
) -> Result<Remote, StoreError> {
    let collection_row = collections::lock(transaction, &new.collection).await?;
    require_new(transaction, collection_row.id, &new.url, None).await?;
    let row = transaction
        .query_one("UPDATE endpoint SET next_remote = next_remote + 1 RETURNING next_remote", &[])
        .await?;
    let remote = Remote::new(RemoteId(get::<i64>(&row, 0)? as u64 - 1), new);
    insert(transaction, collection_row.id, &remote).await?;
    Ok(remote)
}

/// Inserts a remote with all its values.
pub(super) async fn insert(
    transaction: &Transaction<'_>,
    collection: i64,
    remote: &Remote,
) -> Result<(), StoreError> {
    let sql =
        "INSERT INTO remotes (id, collection, url, pushed, may_lack, needs_complete, read_only,
                                    failures)
               VALUES ($1, $2, '', 0, false, false, false, 0)";
    transaction.execute(sql, &[&(remote.id.0 as i64), &collection]).await?;
    rewrite(transaction, remote).await
}

pub(super) async fn change(
    transaction: &Transaction<'_>,
    remote: &Remote,
) -> Result<(), StoreError> {
    let id = remote.id.0 as i64;
    let row = transaction.query_opt("SELECT collection FROM remotes WHERE id = $1", &[&id]).await?;
    let collection: i64 = get(&row.ok_or(StoreError::NoRemote)?, 0)?;
    let lock = "SELECT 1 FROM collections WHERE id = $1 FOR NO KEY UPDATE";
    transaction.query_opt(lock, &[&collection]).await?;
    require_new(transaction, collection, &remote.url, Some(id)).await?;
    rewrite(transaction, remote).await
}

/// Writes all values of a remote except its id and collection.
async fn rewrite(transaction: &Transaction<'_>, remote: &Remote) -> Result<(), StoreError> {
    let subscription = remote.subscription.as_ref();
    let changed = transaction
        .execute(
            "UPDATE remotes SET name = $2, url = $3, every = $4, plain = $5, reaches_private = $6,
                    due = $7
              WHERE id = $1",
            &[
                &(remote.id.0 as i64),
                &remote.name.as_deref().map(text),
                &text(&remote.url),
                &subscription.map(|subscription| subscription.every.as_secs() as i64),
                &subscription.is_some_and(|subscription| subscription.plain),
                &subscription.is_some_and(|subscription| subscription.reaches_private),
                &subscription.and_then(|subscription| subscription.due).map(micros),
            ],
        )
        .await?;
    if changed == 0 {
        return Err(StoreError::NoRemote);
    }
    write_state(transaction, remote.id, &remote.state).await
}

pub(super) async fn reschedule(
    transaction: &Transaction<'_>,
    id: RemoteId,
    seen: Option<Moment>,
    due: Moment,
) -> Result<bool, StoreError> {
    let moved = transaction
        .execute(
            "UPDATE remotes SET due = $3
              WHERE id = $1 AND every IS NOT NULL AND due IS NOT DISTINCT FROM $2",
            &[&(id.0 as i64), &seen.map(micros), &Some(micros(due))],
        )
        .await?;
    Ok(moved > 0)
}

/// Checks that no other remote of the collection has the address. The caller holds the lock of the
/// collection.
async fn require_new(
    transaction: &Transaction<'_>,
    collection: i64,
    url: &str,
    but: Option<i64>,
) -> Result<(), StoreError> {
    let sql = "SELECT 1 FROM remotes WHERE collection = $1 AND url = $2 AND id IS DISTINCT FROM $3";
    match transaction.query_opt(sql, &[&collection, &text(url), &but]).await? {
        Some(_) => Err(StoreError::RemoteExists(url.to_owned())),
        None => Ok(()),
    }
}

pub(super) async fn remove(transaction: &Transaction<'_>, id: RemoteId) -> Result<(), StoreError> {
    match transaction.execute("DELETE FROM remotes WHERE id = $1", &[&(id.0 as i64)]).await? {
        0 => Err(StoreError::NoRemote),
        _ => Ok(()),
    }
}

/// Writes the state of a remote; has no effect if the remote was removed meanwhile.
pub(super) async fn write_state(
    client: &impl GenericClient,
    id: RemoteId,
    state: &RemoteState,
) -> Result<(), StoreError> {
    let statement = client
        .prepare_cached(
            "UPDATE remotes SET changes = $2, complete = $3, until = $4, etag = $5,
                    last_modified = $6, pushed = $7, may_lack = $8, needs_complete = $9,
                    read_only = $10, not_before = $11, expires = $12, failures = $13,
                    failure = $14, succeeded = $15, refused_at = $16, refused_up_to = $17,
                    refusal = $18
              WHERE id = $1",
        )
        .await?;
    let plain = |value: &Option<String>| value.as_deref().map(text);
    let refusal = state.refusal.as_ref();
    client
        .execute(
            &statement,
            &[
                &(id.0 as i64),
                &plain(&state.changes),
                &plain(&state.complete),
                &plain(&state.until),
                &plain(&state.etag),
                &plain(&state.last_modified),
                &super::rows::bound(state.pushed),
                &state.may_lack,
                &state.needs_complete,
                &state.read_only,
                &state.not_before.map(micros),
                &state.expires.map(micros),
                &i64::from(state.failures),
                &plain(&state.failure),
                &state.succeeded.map(micros),
                &refusal.map(|refusal| micros(refusal.at)),
                &refusal.map(|refusal| super::rows::bound(refusal.up_to)),
                &refusal.map(|refusal| text(&refusal.reason)),
            ],
        )
        .await?;
    Ok(())
}
