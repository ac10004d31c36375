//! Progress of a bridge, stored as a document of the database that is not replicated.

use std::collections::BTreeSet;

use feedsync_core::ItemId;
use feedsync_couch::LocalId;
use feedsync_store::{Database, Epoch, LocalDocument, Moment, Number, StoreError};
use serde::{Deserialize, Serialize};

use super::{DoorError, Pass};

/// Name of that document; no client may read or write it.
pub const PLACE: &str = "fs:collection";

/// Progress of a pass on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DoorPlace {
    /// Epoch of the database in which the progress is stored.
    noted_in: Epoch,
    /// Position in the collection, and the collection's epoch.
    pub(super) items: Option<(Epoch, Number)>,
    /// Position in the database, and its epoch.
    pub(super) documents: Option<(Epoch, Number)>,
    /// Items that wait for their blobs.
    pub(super) waiting: BTreeSet<ItemId>,
    /// Time since which documents wait because the collection is full.
    pub(super) crowded: Option<Moment>,
}

/// Time in microseconds after which waiting documents are retried, if the collection is no longer full.
const CROWDED: u64 = 60 * 1_000_000;

/// The progress as JSON; positions are `epoch-number`.
#[derive(Serialize, Deserialize)]
struct Noted {
    items: Option<String>,
    documents: Option<String>,
    waiting: Vec<String>,
    #[serde(default)]
    crowded: Option<u64>,
}

impl DoorPlace {
    fn beginning(noted_in: Epoch) -> Self {
        let (items, documents, waiting, crowded) = (None, None, BTreeSet::new(), None);
        Self { noted_in, items, documents, waiting, crowded }
    }

    /// Returns the change after which to continue in this epoch.
    pub(super) fn after(place: Option<(Epoch, Number)>, epoch: Epoch) -> Number {
        place.filter(|(of, _)| *of == epoch).map_or(Number::ZERO, |(_, number)| number)
    }
}

fn text((epoch, number): (Epoch, Number)) -> String {
    format!("{epoch}-{number}")
}

fn read(text: &str) -> Option<(Epoch, Number)> {
    let (epoch, number) = text.split_once('-')?;
    Some((epoch.parse().ok()?, Number::new(number.parse().ok()?)))
}

impl Pass<'_> {
    /// Returns the progress of the last pass, or the beginning if it cannot be read.
    pub(super) async fn place(&self) -> Result<DoorPlace, DoorError> {
        let Database { name, epoch, .. } = self.database().await?;
        let found = self.databases.local_document(&name, &local_id()).await?;
        let noted = found.and_then(|it| serde_json::from_str::<Noted>(&it.body).ok());
        let Some(Noted { items, documents, waiting, crowded }) = noted else {
            return Ok(DoorPlace::beginning(epoch));
        };
        let now = self.endpoint.environment().now().micros();
        let is_due = crowded.is_some_and(|since| now.saturating_sub(since) > CROWDED);
        // Visiting all documents costs as much as reading them, and while the collection is full each would
        // be refused.
        let is_over = is_due && !self.endpoint.is_full(&self.collection().await?);
        Ok(DoorPlace {
            noted_in: epoch,
            items: items.as_deref().and_then(read),
            documents: documents.as_deref().and_then(read).filter(|_| !is_over),
            waiting: waiting.iter().filter_map(|id| ItemId::new(id).ok()).collect(),
            crowded: crowded.filter(|_| !is_over).map(Moment::from_micros),
        })
    }

    /// Stores the progress. What the pass transferred is already stored. Another database of that name has
    /// none of it.
    pub(super) async fn note(&self, place: &DoorPlace) -> Result<(), DoorError> {
        let noted = Noted {
            items: place.items.map(text),
            documents: place.documents.map(text),
            waiting: place.waiting.iter().map(ToString::to_string).collect(),
            crowded: place.crowded.map(Moment::micros),
        };
        let body = serde_json::to_string(&noted)
            .map_err(|error| StoreError::Unknown(error.to_string()))?;
        let document = LocalDocument { revision: 1, body };
        let name = &self.door.database;
        self.databases
            .put_local_document(name, place.noted_in, &local_id(), Some(document))
            .await?;
        Ok(())
    }
}

fn local_id() -> LocalId {
    PLACE.parse().unwrap_or_else(|_| unreachable!("it is a short text"))
}
