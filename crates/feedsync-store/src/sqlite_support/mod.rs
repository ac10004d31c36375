//! One way to keep data in an SQLite file: connections with the same settings, numbered migrations, one thread
//! that writes, and threads that read.
//!
//! The SQLite store uses it, and so do other crates with a database of their own. Each has its own error type,
//! which is made from a [`SqliteError`].

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
