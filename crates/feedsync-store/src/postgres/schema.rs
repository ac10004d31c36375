//! The schema's numbered migrations.
//!
//! They stand in the database's schema `feedsync`. Nodes of two versions may run at once while a hub is
//! brought up to date, so a migration only adds; one that an older node could not work with says which
//! version is the oldest that can. From then on an older node does not open the store, and one that has it
//! open commits nothing more.

use deadpool_postgres::{Client, Transaction};

use super::address::Address;
use super::pool;
use crate::error::StoreError;

/// One step of the schema, and the oldest version that can work with it.
pub(super) struct Migration {
    pub(super) sql: &'static str,
    pub(super) oldest_compatible: i64,
}

/// Each brings the schema to the next version; the newest is the last.
pub(super) const MIGRATIONS: &[Migration] =
    &[Migration { sql: include_str!("migrations/001.sql"), oldest_compatible: 1 }];

/// Names the lock under which a store is founded, migrated and settled: "feedsync".
const FOUNDING: i64 = 0x6665_6564_7379_6e63;

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

/// A transaction in which nobody else founds, migrates or settles.
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
    if let Some(newest) = migrations.last().filter(|_| found < known) {
        transaction
            .execute(
                "INSERT INTO schema (one, version, oldest_compatible) VALUES (1, $1, $2)
                 ON CONFLICT (one) DO UPDATE SET version = excluded.version,
                                                 oldest_compatible = excluded.oldest_compatible",
                &[&known, &newest.oldest_compatible],
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
    use crate::{EndpointName, PostgresStore, SystemEnvironment};

    /// Four nodes of a newer version bring a store up to date, once, under a node of this version
    /// that goes on; and a migration that fails leaves what was there.
    #[test]
    fn a_store_is_migrated_once_under_those_who_use_it() {
        let url = Cluster::shared().database();
        let name = EndpointName::new("tester").unwrap();
        let store = wait(PostgresStore::init(&url, &name, Arc::new(SystemEnvironment))).unwrap();
        let notes = create(&store, "notes").name;
        let bring = |sql: &'static str| {
            store.run(move |node| async move {
                let newer = |sql| Migration { sql, oldest_compatible: 1 };
                let migrations = [newer(MIGRATIONS[0].sql), newer(sql)];
                let mut client = node.connection().await?;
                let transaction = founding(&mut client).await?;
                migrate(&transaction, &node.address, &migrations).await?;
                pool::commit(transaction).await
            })
        };
        let version = || {
            wait(store.run(|node| async move { version(&node.connection().await?).await })).unwrap()
        };
        assert!(wait(bring("ALTER TABLE items ADD a text; SELECT nonsense")).is_err());
        assert_eq!(version(), Some((1, 1)));
        let add = "ALTER TABLE items ADD a text";
        wait(async { tokio::try_join!(bring(add), bring(add), bring(add), bring(add)) }).unwrap();
        assert_eq!(version(), Some((2, 1)));
        store_each(&store, &notes, &["a"]);
    }
}
