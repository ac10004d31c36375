//! Each store conforms to the contract, and preserves what it acknowledged.

mod counted_bytes;
mod durability;
#[cfg(target_os = "linux")]
mod full_disk;
mod logs_killed;
mod memory;
mod postgres;
mod postgres_database;
mod postgres_databases;
mod postgres_indexes;
mod postgres_logs;
mod postgres_nodes;
mod postgres_transactions;
mod postgres_views;
mod processes;
mod put_back;
mod rot;
mod sqlite;
mod sqlite_backup;
mod sqlite_databases;
mod sqlite_file;
mod sqlite_history;
mod sqlite_indexes;
mod sqlite_logs;
mod sqlite_views;
mod stored_views;
mod transfer;
mod transfer_databases;
