//! Access to a PostgreSQL database: connections, numbered migrations and transactions, for data beside those of a
//! [`PostgresStore`](crate::PostgresStore).
//!
//! The aggregator uses it for its articles.

pub use deadpool_postgres::Transaction;
pub use tokio_postgres::{Error, Row, types};

pub use crate::postgres::{Connections, Migration};
