//! The schema's numbered migrations.
//!
//! They stand in the database's schema `feedsync`. Nodes of two versions may run at once while a hub is
//! brought up to date, so a migration only adds; one that an older node could not work with says which
//! version is the oldest that can. From then on an older node does not open the store, and one that has it
//! open commits nothing more: a write shares the lock under which the schema is migrated, and looks first.

use deadpool_postgres::{Client, Transaction};

use super::address::Address;
use super::pipeline::Pipeline;
use super::{pool, rows};
use crate::error::StoreError;

/// One step of the schema, and the oldest version that can work with it.
pub(super) struct Migration {
    pub(super) sql: &'static str,
    pub(super) oldest_compatible: i64,
}

/// Each brings the schema to the next version; the newest is the last.
pub(super) const MIGRATIONS: &[Migration] = &[
    Migration { sql: include_str!("migrations/001.sql"), oldest_compatible: 1 },
    Migration { sql: include_str!("migrations/002.sql"), oldest_compatible: 1 },
    // An older node would keep the bytes of a dropped collection's log, and go on in its generation after another
    // server took over.
    Migration { sql: include_str!("migrations/003.sql"), oldest_compatible: 3 },
    // An older node would leave databases in their epochs after another server took over.
    Migration { sql: include_str!("migrations/004.sql"), oldest_compatible: 4 },
    // An older node could not read the trees of documents with attachments.
    Migration { sql: include_str!("migrations/005.sql"), oldest_compatible: 5 },
    // An older node would add users without an id.
    Migration { sql: include_str!("migrations/006.sql"), oldest_compatible: 6 },
    Migration { sql: include_str!("migrations/007.sql"), oldest_compatible: 7 },
];

/// Names the lock under which a store is founded, migrated and settled, and that writes share: "feedsync".
pub(super) const FOUNDING: i64 = 0x6665_6564_7379_6e63;

/// What each transaction that writes begins with, before any other lock.
pub(super) const SHARE_FOUNDING: &str = "SELECT pg_advisory_xact_lock_shared($1)";

const OLDEST_COMPATIBLE: &str = "SELECT oldest_compatible FROM schema";

/// The schema's version and the oldest that can work with it; `None`: there is no store.
pub(super) async fn version(client: &Client) -> Result<Option<(i64, i64)>, StoreError> {
    let there = client.query_one("SELECT to_regclass('feedsync.schema') IS NOT NULL", &[]).await?;
    if !there.get::<_, bool>(0) {
        return Ok(None);
    }
    let row = client.query_opt("SELECT version, oldest_compatible FROM feedsync.schema", &[]);
    Ok(row.await?.map(|row| (row.get(0), row.get(1))))
}

/// Refuses a store that this version is too old for.
pub(super) fn check(address: &Address, oldest_compatible: i64) -> Result<(), StoreError> {
    let known = MIGRATIONS.len() as i64;
    if oldest_compatible > known {
        let (path, found) = (address.path(), oldest_compatible);
        return Err(StoreError::Newer { path, found, known });
    }
    Ok(())
}

/// A transaction that writes, to a schema that this version can work with until it ends.
pub(super) async fn writing<'a>(
    client: &'a mut Client,
    address: &Address,
) -> Result<Transaction<'a>, StoreError> {
    let transaction = pool::transaction(client).await?;
    let mut pipeline = Pipeline::default();
    pipeline.add(SHARE_FOUNDING, vec![&FOUNDING]);
    pipeline.add(OLDEST_COMPATIBLE, vec![]);
    let [_, schema] = pipeline.run_all(&transaction).await?;
    let schema = schema.first().ok_or_else(|| StoreError::Damaged("no schema".to_owned()))?;
    check(address, rows::get(schema, 0)?)?;
    Ok(transaction)
}

/// A transaction in which nobody else founds, migrates, settles or writes.
pub(super) async fn founding(client: &mut Client) -> Result<Transaction<'_>, StoreError> {
    let transaction = pool::transaction(client).await?;
    transaction
        .batch_execute("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0")
        .await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&FOUNDING]).await?;
    Ok(transaction)
}

/// Brings the schema up to date; refuses one that this version cannot work with.
pub(super) async fn migrate(
    transaction: &Transaction<'_>,
    address: &Address,
    migrations: &[Migration],
) -> Result<(), StoreError> {
    transaction
        .batch_execute(
            "CREATE SCHEMA IF NOT EXISTS feedsync;
             CREATE TABLE IF NOT EXISTS feedsync.schema (
               one               smallint PRIMARY KEY CHECK (one = 1),
               version           bigint   NOT NULL,
               oldest_compatible bigint   NOT NULL
             )",
        )
        .await?;
    let row = transaction.query_opt("SELECT version, oldest_compatible FROM schema", &[]).await?;
    let (found, oldest): (i64, i64) = row.map_or((0, 0), |row| (row.get(0), row.get(1)));
    let known = migrations.len() as i64;
    if oldest > known {
        return Err(StoreError::Newer { path: address.path(), found, known });
    }
    for migration in migrations.iter().skip(found as usize) {
        transaction.batch_execute(migration.sql).await?;
    }
    // A version that knows this schema must be able to work with all that each step brought.
    let oldest = migrations.iter().map(|migration| migration.oldest_compatible).max();
    if let Some(oldest) = oldest.filter(|_| found < known) {
        transaction
            .execute(
                "INSERT INTO schema (one, version, oldest_compatible) VALUES (1, $1, $2)
                 ON CONFLICT (one) DO UPDATE SET version = excluded.version,
                                                 oldest_compatible = excluded.oldest_compatible",
                &[&known, &oldest],
            )
            .await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use feedsync_test::postgres::Cluster;

    use super::*;
    use crate::conformance::samples::{create, store_each};
    use crate::conformance::wait;
    use crate::{EndpointName, PostgresStore, Store as _, SystemEnvironment};

    /// Four nodes of a newer version bring a store up to date, once, under a node of this version
    /// that goes on; and a migration that fails leaves what was there.
    #[test]
    fn a_store_is_migrated_once_under_those_who_use_it() {
        let url = Cluster::shared().database();
        let name = EndpointName::new("tester").unwrap();
        let store = wait(PostgresStore::init(&url, &name, Arc::new(SystemEnvironment))).unwrap();
        let notes = create(&store, "notes").name;
        let known = MIGRATIONS.len() as i64;
        let oldest = MIGRATIONS.iter().map(|step| step.oldest_compatible).max().unwrap();
        let bring = |steps: &[(&'static str, i64)]| {
            let steps = steps.to_vec();
            store.run(|node| async move {
                let here = MIGRATIONS.iter().map(|step| (step.sql, step.oldest_compatible));
                let migrations: Vec<_> = here
                    .chain(steps)
                    .map(|(sql, oldest_compatible)| Migration { sql, oldest_compatible })
                    .collect();
                let mut client = node.connection().await?;
                let transaction = founding(&mut client).await?;
                migrate(&transaction, &node.address, &migrations).await?;
                pool::commit(transaction).await
            })
        };
        let version = || {
            wait(store.run(|node| async move { version(&node.connection().await?).await })).unwrap()
        };
        assert!(wait(bring(&[("ALTER TABLE items ADD a text; SELECT nonsense", 1)])).is_err());
        assert_eq!(version(), Some((known, oldest)));
        let add: &[_] = &[("ALTER TABLE items ADD a text", 1)];
        wait(async { tokio::try_join!(bring(add), bring(add), bring(add), bring(add)) }).unwrap();
        assert_eq!(version(), Some((known + 1, oldest)));
        store_each(&store, &notes, &["a"]);
        // One step that this version cannot work with is enough, whatever comes after it.
        wait(bring(&[add[0], ("ALTER TABLE items ADD b text", 9), ("SELECT 1", 1)])).unwrap();
        assert_eq!(version(), Some((known + 3, 9)));
        let refused = wait(store.put_blob(b"x".to_vec()));
        assert!(matches!(refused, Err(StoreError::Newer { .. })), "{refused:?}");
    }
}
