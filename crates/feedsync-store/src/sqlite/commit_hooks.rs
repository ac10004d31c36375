//! Work of the writing thread beside the tasks: log files are synchronized before the commit that names them,
//! nonces are renewed, and a reserve of disk space is kept.

use std::sync::Arc;

use rusqlite::Connection;

use super::disk_reserve::DiskReserve;
use super::log_files::LogFiles;
use super::nonce::NonceRenewal;
use crate::error::StoreError;
use crate::sqlite_support::{CommitHooks, CommitOutcome};

/// The hooks of a store's writer.
pub(super) struct StoreHooks {
    pub(super) nonce: NonceRenewal,
    pub(super) files: Arc<LogFiles>,
    pub(super) space: DiskReserve,
    /// Whether the current transaction renews the nonces.
    pub(super) renews: bool,
}

impl CommitHooks<StoreError> for StoreHooks {
    fn before_batch(&mut self, connection: &Connection) {
        self.space.restore(connection);
    }

    fn refuses_growth(&self) -> bool {
        self.space.is_full()
    }

    fn before_commit(&mut self, connection: &Connection) -> Result<(), StoreError> {
        self.files.sync()?;
        self.renews = self.nonce.renew_if_due(connection)?;
        Ok(())
    }

    fn after_commit(&mut self, outcome: CommitOutcome) {
        match outcome {
            CommitOutcome::Committed => {
                self.nonce.committed(self.renews);
                self.files.committed();
            }
            CommitOutcome::RolledBack => self.files.rolled_back(),
            CommitOutcome::Unknown => self.files.left_open(),
        }
    }

    fn free_space(&mut self, connection: &Connection) {
        self.space.release(connection);
        // If the returned space suffices, everything is run again; otherwise only deletions are.
        self.space.restore(connection);
    }

    fn after_batch(&mut self, connection: &Connection) {
        self.space.keep(connection);
    }

    fn end(&mut self, connection: &mut Connection) {
        // No caller is left to report an error to. If this fails, copies made since the last renewal are not
        // detected as old.
        let _ = self.nonce.end(connection);
    }
}
