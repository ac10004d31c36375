//! The settings of connections, and the schema's numbered migrations.

use std::time::Duration;

use feedsync_store::sqlite_support::{Busy, Durability, Schema, Settings};

/// The schema of a gateway's database.
pub(super) const SCHEMA: Schema = Schema {
    // "fsgw"
    application: 0x6673_6777,
    migrations: &[
        include_str!("schema.sql"),
        include_str!("newsreaders.sql"),
        include_str!("stalls.sql"),
        include_str!("failures.sql"),
    ],
};

/// Settings of the connections. A commit survives the end of the process; it survives a power failure only
/// after the log was synchronised. There is no other writer, but a reader may briefly block a checkpoint of
/// the log.
pub(super) const SETTINGS: Settings = Settings {
    durability: Durability::Process,
    foreign_keys: false,
    cache: 8_000,
    reader_cache: 2_000,
    checkpoint: 16_000,
    busy: Busy::Wait(Duration::from_secs(10)),
};
