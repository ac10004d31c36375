//! Pipelined statements, which take one round trip in all. The server executes them in their order, each on
//! the result of those before it.

use deadpool_postgres::Transaction;
use futures_util::future::try_join_all;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement};

use crate::error::StoreError;

pub(super) type Parameter<'a> = &'a (dyn ToSql + Sync);

#[derive(Default)]
pub(super) struct Pipeline<'a>(Vec<(&'static str, Vec<Parameter<'a>>)>);

impl<'a> Pipeline<'a> {
    pub(super) fn add(&mut self, sql: &'static str, parameters: Vec<Parameter<'a>>) {
        self.0.push((sql, parameters));
    }

    /// Adds a statement that writes this many rows; if there are none, the statement is left out.
    pub(super) fn add_for(
        &mut self,
        rows: usize,
        sql: &'static str,
        parameters: Vec<Parameter<'a>>,
    ) {
        if rows > 0 {
            self.add(sql, parameters);
        }
    }

    /// Returns the rows of each statement, in order.
    pub(super) async fn run(
        self,
        transaction: &Transaction<'_>,
    ) -> Result<Vec<Vec<Row>>, StoreError> {
        let mut prepared: Vec<(Statement, Vec<Parameter<'a>>)> = Vec::new();
        for (sql, parameters) in self.0 {
            prepared.push((transaction.prepare_cached(sql).await?, parameters));
        }
        // This few futures are polled in order, and each sends its statement when it is first polled.
        let sent = prepared.iter().map(|(sql, parameters)| transaction.query(sql, parameters));
        Ok(try_join_all(sent).await?)
    }

    /// Like [`run`](Self::run), with a fixed number of statements.
    pub(super) async fn run_all<const N: usize>(
        self,
        transaction: &Transaction<'_>,
    ) -> Result<[Vec<Row>; N], StoreError> {
        let rows = self.run(transaction).await?;
        rows.try_into().map_err(|_| StoreError::Damaged("a statement without answer".to_owned()))
    }
}
