//! Stores of items that have no users, logs and databases.

mod databases;
mod logs;
mod past_documents;
mod people;
#[cfg(feature = "queries")]
mod queries;

use crate::item_store::ItemStore;

/// Makes a store of items a [`Store`](crate::Store) that has no users, no logs and no databases.
///
/// It takes one line, `impl ItemsOnly for MyStore {}`. What exists is reported as empty, and creating the
/// first user, log or database fails with [`StoreError::Unsupported`](crate::StoreError::Unsupported).
/// Actions for the audit record are accepted and not stored.
pub trait ItemsOnly: ItemStore {}
