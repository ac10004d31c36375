//! How far a pass between the doors got, as a document of the database that is not replicated.

use std::collections::BTreeSet;

use feedsync::ItemId;
use feedsync_store::{Database, Epoch, LocalDocument, Number, StoreError};
use serde::{Deserialize, Serialize};

use super::{DoorError, Pass};

/// The name of that document: no client may read or write it.
pub const PLACE: &str = "fs:collection";

/// How far a pass got on either side.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DoorPlace {
    /// In the collection, and in which life of it.
    pub(super) items: Option<(Epoch, Number)>,
    /// In the database.
    pub(super) documents: Option<(Epoch, Number)>,
    /// Items that wait for their blobs.
    pub(super) waiting: BTreeSet<ItemId>,
}

/// It as JSON: `epoch-number`.
#[derive(Serialize, Deserialize)]
struct Noted {
    items: Option<String>,
    documents: Option<String>,
    waiting: Vec<String>,
}

impl DoorPlace {
    /// After which change to go on, in this life.
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
    /// How far the last pass got; the beginning, where that cannot be told.
    pub(super) async fn place(&self) -> Result<DoorPlace, DoorError> {
        let Database { name, .. } = self.database().await?;
        let found = self.databases.local_document(&name, &local_id()?).await?;
        let noted = found.and_then(|it| serde_json::from_str::<Noted>(&it.body).ok());
        let Some(Noted { items, documents, waiting }) = noted else {
            return Ok(DoorPlace::default());
        };
        Ok(DoorPlace {
            items: items.as_deref().and_then(read),
            documents: documents.as_deref().and_then(read),
            waiting: waiting.iter().filter_map(|id| ItemId::new(id).ok()).collect(),
        })
    }

    /// Notes how far this one got. What it carried is stored by then.
    pub(super) async fn note(&self, place: &DoorPlace) -> Result<(), DoorError> {
        let noted = Noted {
            items: place.items.map(text),
            documents: place.documents.map(text),
            waiting: place.waiting.iter().map(ToString::to_string).collect(),
        };
        let body = serde_json::to_string(&noted)
            .map_err(|error| StoreError::Unknown(error.to_string()))?;
        let document = LocalDocument { revision: 1, body };
        let name = &self.door.database;
        self.databases.put_local_document(name, &local_id()?, Some(document)).await?;
        Ok(())
    }
}

fn local_id() -> Result<feedsync_couch::LocalId, DoorError> {
    PLACE.parse().map_err(|_| DoorError::Name)
}
