//! Progress of a bridge, stored as a document of the database that is not replicated.

use std::collections::BTreeSet;

use feedsync_core::ItemId;
use feedsync_couch::LocalId;
use feedsync_store::{ChangeNumber, Database, Epoch, LocalDocument, Moment, StoreError};
use serde::{Deserialize, Serialize};

use super::{BridgeError, BridgePass};

/// Name of that document; no client may read or write it.
pub const PROGRESS_DOCUMENT: &str = "fs:collection";

/// Progress of a pass on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BridgeProgress {
    /// Epoch of the database in which the progress is stored.
    database_epoch: Epoch,
    /// Position in the collection, and the collection's epoch.
    pub(super) items: Option<(Epoch, ChangeNumber)>,
    /// Position in the database, and its epoch.
    pub(super) documents: Option<(Epoch, ChangeNumber)>,
    /// Items that wait for their blobs.
    pub(super) waiting: BTreeSet<ItemId>,
    /// Time since which documents wait because the collection is full.
    pub(super) crowded: Option<Moment>,
}

/// Time in microseconds after which waiting documents are retried, if the collection is no longer full.
const FULL_RETRY_MICROS: u64 = 60 * 1_000_000;

/// The progress as JSON; positions are `epoch-number`.
#[derive(Serialize, Deserialize)]
struct StoredProgress {
    items: Option<String>,
    documents: Option<String>,
    waiting: Vec<String>,
    #[serde(default)]
    crowded: Option<u64>,
}

impl BridgeProgress {
    fn beginning(database_epoch: Epoch) -> Self {
        let (items, documents, waiting, crowded) = (None, None, BTreeSet::new(), None);
        Self { database_epoch, items, documents, waiting, crowded }
    }

    /// Returns the change after which to continue in this epoch.
    pub(super) fn after(progress: Option<(Epoch, ChangeNumber)>, epoch: Epoch) -> ChangeNumber {
        progress.filter(|(of, _)| *of == epoch).map_or(ChangeNumber::ZERO, |(_, number)| number)
    }
}

fn text((epoch, number): (Epoch, ChangeNumber)) -> String {
    format!("{epoch}-{number}")
}

fn read(text: &str) -> Option<(Epoch, ChangeNumber)> {
    let (epoch, number) = text.split_once('-')?;
    Some((epoch.parse().ok()?, ChangeNumber::new(number.parse().ok()?)))
}

impl BridgePass<'_> {
    /// Returns the progress of the last pass, or the beginning if it cannot be read.
    pub(super) async fn progress(&self) -> Result<BridgeProgress, BridgeError> {
        let Database { name, epoch, .. } = self.database().await?;
        let found = self.databases.local_document(&name, &local_id()).await?;
        let noted = found.and_then(|it| serde_json::from_str::<StoredProgress>(&it.body).ok());
        let Some(StoredProgress { items, documents, waiting, crowded }) = noted else {
            return Ok(BridgeProgress::beginning(epoch));
        };
        let now = self.endpoint.environment().now().micros();
        let is_due = crowded.is_some_and(|since| now.saturating_sub(since) > FULL_RETRY_MICROS);
        // Visiting all documents costs as much as reading them, and while the collection is full each would
        // be refused.
        let is_over = is_due && !self.endpoint.is_full(&self.collection().await?);
        Ok(BridgeProgress {
            database_epoch: epoch,
            items: items.as_deref().and_then(read),
            documents: documents.as_deref().and_then(read).filter(|_| !is_over),
            waiting: waiting.iter().filter_map(|id| ItemId::new(id).ok()).collect(),
            crowded: crowded.filter(|_| !is_over).map(Moment::from_micros),
        })
    }

    /// Stores the progress. What the pass transferred is already stored. Another database of that name has
    /// none of it.
    pub(super) async fn note(&self, progress: &BridgeProgress) -> Result<(), BridgeError> {
        let noted = StoredProgress {
            items: progress.items.map(text),
            documents: progress.documents.map(text),
            waiting: progress.waiting.iter().map(ToString::to_string).collect(),
            crowded: progress.crowded.map(Moment::micros),
        };
        let body = serde_json::to_string(&noted)
            .map_err(|error| StoreError::Unknown(error.to_string()))?;
        let document = LocalDocument { revision: 1, body };
        let name = &self.bridge.database;
        self.databases
            .put_local_document(name, progress.database_epoch, &local_id(), Some(document))
            .await?;
        Ok(())
    }
}

fn local_id() -> LocalId {
    PROGRESS_DOCUMENT.parse().unwrap_or_else(|_| unreachable!("it is a short text"))
}
