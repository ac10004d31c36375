//! Access to an SQLite file: the settings of its connections, numbered migrations, one thread that writes, and
//! threads that read.
//!
//! The SQLite store and the aggregator use all of it, and the gateway uses the settings and migrations. Each has
//! its own error type, which is made from a [`SqliteError`].

mod connection;
mod error;
mod readers;
mod schema;
mod writer;

pub use connection::{Busy, Settings};
pub use error::{SqliteError, TaskError};
pub use readers::ReadPool;
pub use schema::{Contents, Schema, enable_wal};
pub use writer::{CommitHooks, CommitOutcome, Durability, Writer};
