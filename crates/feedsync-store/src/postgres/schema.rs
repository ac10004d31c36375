//! A schema's numbered migrations.
//!
//! The tables of the store are in the schema `feedsync` of the database. During an upgrade of a hub, nodes of two versions
//! may run at once, so a migration only adds. A migration that is incompatible with older nodes states the
//! oldest version that is compatible. From then on an older node does not open the store, and one that has it
//! open commits nothing more. To this end, each write shares the lock under which the schema is migrated, and
//! checks the version first.

use deadpool_postgres::{Client, Transaction};

use super::address::Address;
use super::pipeline::Pipeline;
use super::{pool, rows};
use crate::error::StoreError;

/// One migration of a schema.
pub struct Migration {
    /// The statements that bring the schema to the next version.
    pub sql: &'static str,
    /// The oldest version that can work with the result.
    pub oldest_compatible: i64,
}

/// A schema of a database, with all its migrations in order.
pub(super) struct Schema<'a> {
    pub(super) name: &'a str,
    pub(super) migrations: &'a [Migration],
}

/// The schema of the store.
pub(super) const STORE: Schema<'static> = Schema { name: "feedsync", migrations: MIGRATIONS };

/// Migrations in order; each brings the schema to the next version.
const MIGRATIONS: &[Migration] = &[
    Migration { sql: include_str!("migrations/001.sql"), oldest_compatible: 1 },
    Migration { sql: include_str!("migrations/002.sql"), oldest_compatible: 1 },
    // An older node would not remove the bytes of a dropped collection's log, and would continue its
    // generation after another server took over.
    Migration { sql: include_str!("migrations/003.sql"), oldest_compatible: 3 },
    // An older node would not begin new epochs of databases after another server took over.
    Migration { sql: include_str!("migrations/004.sql"), oldest_compatible: 4 },
    // An older node could not read the trees of documents with attachments.
    Migration { sql: include_str!("migrations/005.sql"), oldest_compatible: 5 },
    // An older node would add users without an id.
    Migration { sql: include_str!("migrations/006.sql"), oldest_compatible: 6 },
    Migration { sql: include_str!("migrations/007.sql"), oldest_compatible: 7 },
    Migration { sql: include_str!("migrations/008.sql"), oldest_compatible: 7 },
    // An older node would write documents and leave the rows of indexes as they were. It cannot write the version
    // of the rows, which would tell newer nodes to build them again.
    Migration { sql: include_str!("migrations/009.sql"), oldest_compatible: 9 },
    // An older node would remove documents and leave their rows in views.
    Migration { sql: include_str!("migrations/010.sql"), oldest_compatible: 10 },
    // An older node would let users of databases alone use everything.
    Migration { sql: include_str!("migrations/011.sql"), oldest_compatible: 11 },
    // An older node would remove bodies that a history keeps.
    Migration { sql: include_str!("migrations/012.sql"), oldest_compatible: 12 },
    // An older node would show databases that were dropped.
    Migration { sql: include_str!("migrations/013.sql"), oldest_compatible: 13 },
];

/// Key of the lock under which a store is founded, migrated and settled, and which writes share: "feedsync".
pub(super) const SETUP_LOCK: i64 = 0x6665_6564_7379_6e63;

/// First statement of each transaction that writes, before any other lock.
pub(super) const SHARE_SETUP_LOCK: &str = "SELECT pg_advisory_xact_lock_shared($1)";

const OLDEST_COMPATIBLE: &str = "SELECT oldest_compatible FROM schema";

impl Schema<'_> {
    /// The newest version that this program knows.
    pub(super) fn known(&self) -> i64 {
        self.migrations.len() as i64
    }

    /// The version in the database and the oldest that can work with it; `None` if there is no such schema.
    pub(super) async fn version(&self, client: &Client) -> Result<Option<(i64, i64)>, StoreError> {
        let table = format!("{}.schema", self.name);
        let there = client.query_one("SELECT to_regclass($1) IS NOT NULL", &[&table]).await?;
        if !there.get::<_, bool>(0) {
            return Ok(None);
        }
        let sql = format!("SELECT version, oldest_compatible FROM {table}");
        Ok(client.query_opt(&sql, &[]).await?.map(|row| (row.get(0), row.get(1))))
    }

    /// Rejects a schema that requires a newer version of the program.
    pub(super) fn check(
        &self,
        address: &Address,
        oldest_compatible: i64,
    ) -> Result<(), StoreError> {
        let known = self.known();
        if oldest_compatible > known {
            let (path, found) = (address.path(), oldest_compatible);
            return Err(StoreError::Newer { path, found, known });
        }
        Ok(())
    }

    /// Begins a transaction that writes; this version can work with the schema until it ends.
    pub(super) async fn writing<'a>(
        &self,
        client: &'a mut Client,
        address: &Address,
    ) -> Result<Transaction<'a>, StoreError> {
        let transaction = pool::transaction(client).await?;
        let mut pipeline = Pipeline::default();
        pipeline.add(SHARE_SETUP_LOCK, vec![&SETUP_LOCK]);
        pipeline.add(OLDEST_COMPATIBLE, vec![]);
        let [_, schema] = pipeline.run_all(&transaction).await?;
        let schema = schema.first().ok_or_else(|| StoreError::Damaged("no schema".to_owned()))?;
        self.check(address, rows::get(schema, 0)?)?;
        Ok(transaction)
    }

    /// Migrates the schema; rejects one that this version cannot work with.
    pub(super) async fn migrate(
        &self,
        transaction: &Transaction<'_>,
        address: &Address,
    ) -> Result<(), StoreError> {
        let name = self.name;
        transaction
            .batch_execute(&format!(
                "CREATE SCHEMA IF NOT EXISTS {name};
                 CREATE TABLE IF NOT EXISTS {name}.schema (
                   one               smallint PRIMARY KEY CHECK (one = 1),
                   version           bigint   NOT NULL,
                   oldest_compatible bigint   NOT NULL
                 )"
            ))
            .await?;
        let row =
            transaction.query_opt("SELECT version, oldest_compatible FROM schema", &[]).await?;
        let (found, oldest): (i64, i64) = row.map_or((0, 0), |row| (row.get(0), row.get(1)));
        let known = self.known();
        if oldest > known {
            return Err(StoreError::Newer { path: address.path(), found, known });
        }
        for migration in self.migrations.iter().skip(found as usize) {
            transaction.batch_execute(migration.sql).await?;
        }
        // A version that supports this schema must support the result of each migration.
        let oldest = self.migrations.iter().map(|migration| migration.oldest_compatible).max();
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
}

/// Begins a transaction during which no other one founds, migrates, settles or writes.
pub(super) async fn setup_transaction(client: &mut Client) -> Result<Transaction<'_>, StoreError> {
    let transaction = pool::transaction(client).await?;
    transaction
        .batch_execute("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0")
        .await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&SETUP_LOCK]).await?;
    Ok(transaction)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use feedsync_test::postgres::Cluster;

    use super::*;
    use crate::conformance::samples::{create, store_each};
    use crate::conformance::wait;
    use crate::{EndpointName, ItemStore as _, PostgresStore, SystemEnvironment};

    /// Four nodes of a newer version migrate a store, exactly once, while a node of this version continues. A
    /// migration that fails changes nothing.
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
                let transaction = setup_transaction(&mut client).await?;
                let schema = Schema { migrations: &migrations, ..STORE };
                schema.migrate(&transaction, &node.address).await?;
                pool::commit(transaction).await
            })
        };
        let version = || {
            wait(store.run(|node| async move { STORE.version(&node.connection().await?).await }))
                .unwrap()
        };
        assert!(wait(bring(&[("ALTER TABLE items ADD a text; SELECT nonsense", 1)])).is_err());
        assert_eq!(version(), Some((known, oldest)));
        let add: &[_] = &[("ALTER TABLE items ADD a text", 1)];
        wait(async { tokio::try_join!(bring(add), bring(add), bring(add), bring(add)) }).unwrap();
        assert_eq!(version(), Some((known + 1, oldest)));
        store_each(&store, &notes, &["a"]);
        // One migration that this version cannot work with is enough, whatever follows it.
        let newer = known + 2;
        wait(bring(&[add[0], ("ALTER TABLE items ADD b text", newer), ("SELECT 1", 1)])).unwrap();
        assert_eq!(version(), Some((known + 3, newer)));
        let refused = wait(store.put_blob(b"x".to_vec()));
        assert!(matches!(refused, Err(StoreError::Newer { .. })), "{refused:?}");
    }
}
