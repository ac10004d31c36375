//! Founding and opening the store of a database.

use deadpool_postgres::Client;

use super::node::Node;
use super::{collections, databases, log_rows, pool, rows, schema};
use crate::error::StoreError;
use crate::name::EndpointName;

impl Node {
    /// Creates the tables and an endpoint without collections.
    pub(super) async fn found(&self, name: &EndpointName) -> Result<(), StoreError> {
        let mut client = self.connection().await?;
        self.check_server(&client).await?;
        let transaction = schema::setup_transaction(&mut client).await?;
        schema::STORE.migrate(&transaction, &self.address).await?;
        if collections::stored_identification(&transaction).await?.is_some() {
            return Err(self.wrong("there is already a store"));
        }
        collections::found(&transaction, name, &*self.environment).await?;
        pool::commit(transaction).await
    }

    /// Migrates an older schema, and settles a store whose database is not the one that it knew.
    pub(super) async fn open(&self) -> Result<(), StoreError> {
        let mut client = self.connection().await?;
        self.check_server(&client).await?;
        let Some((version, _)) = schema::STORE.version(&client).await? else {
            return Err(self.wrong("there is no store here"));
        };
        // An older schema is migrated; a newer one may be too new.
        if version != schema::STORE.known() {
            let transaction = schema::setup_transaction(&mut client).await?;
            schema::STORE.migrate(&transaction, &self.address).await?;
            pool::commit(transaction).await?;
        }
        match collections::is_finished(&client).await? {
            Some(true) => self.settle(&mut client).await,
            Some(false) => Err(StoreError::Unfinished { path: self.address.path() }),
            None => Err(self.wrong("there is no store here")),
        }
    }

    /// Continues as a new incarnation if the database's identification has changed.
    pub(super) async fn settle(&self, client: &mut Client) -> Result<(), StoreError> {
        let identification = collections::identification(client).await?;
        if collections::stored_identification(client).await?.as_ref() == Some(&identification) {
            return Ok(());
        }
        let transaction = schema::setup_transaction(client).await?;
        // Another node may have done this already.
        if collections::stored_identification(&transaction).await?.as_ref() != Some(&identification)
        {
            let environment = &*self.environment;
            collections::settle(&transaction, environment).await?;
            log_rows::settle(&transaction, environment).await?;
            databases::settle(&transaction, environment).await?;
            let sql = "UPDATE endpoint SET place = $1";
            transaction.execute(sql, &[&identification]).await?;
        }
        pool::commit(transaction).await
    }

    /// Rejects a server that does not preserve acknowledged writes, or not exactly as they were sent.
    async fn check_server(&self, client: &Client) -> Result<(), StoreError> {
        let sql = "SELECT current_setting('fsync'), current_setting('server_encoding')";
        let row = client.query_one(sql, &[]).await?;
        let (fsync, encoding): (&str, &str) = (rows::get(&row, 0)?, rows::get(&row, 1)?);
        match (fsync, encoding) {
            ("on", "UTF8") => Ok(()),
            ("on", _) => Err(self.wrong("the encoding of the database must be UTF8")),
            _ => Err(self.wrong(
                "the server runs with fsync = off and can lose confirmed changes: set fsync = on",
            )),
        }
    }
}
