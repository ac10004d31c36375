//! What a collection says of the feeds that it incorporates: `sx:related` of type `aggregated` (2.3,
//! F40, F41).
//!
//! It stands among the collection's settings, under a name that is no setting of a person's, so that
//! whoever publishes the collection has it at hand, and its validators depend on it.

use std::collections::BTreeMap;

use feedsync_core::{Related, RelatedKind};
use feedsync_store::{Alteration, Altered, Collection, CollectionChange, CollectionName};

use crate::endpoint::Endpoint;
use crate::error::EndpointError;

/// The name under which a collection remembers them; not one of [`crate::Settings::NAMES`].
pub const AGGREGATED: &str = "aggregated";

/// The feeds that a collection says it incorporates, by address.
pub fn aggregated(collection: &Collection) -> Vec<Related> {
    let kind = RelatedKind::Aggregated;
    let said = said(collection).into_iter();
    said.map(|(link, title)| Related { link, title, kind }).collect()
}

/// The text that changes whenever they do.
pub fn aggregated_text(collection: &Collection) -> &str {
    collection.settings.get(AGGREGATED).map_or("", String::as_str)
}

impl Endpoint {
    /// Says that a collection incorporates a feed, under an absolute address without a secret, or
    /// says so no more.
    pub async fn announce_aggregated(
        &self,
        name: &CollectionName,
        link: &str,
        announced: Option<Option<String>>,
    ) -> Result<(), EndpointError> {
        let link = link.to_owned();
        // Others may be announced, and settings changed, at the same time.
        let announce = move |collection: &Collection| {
            let mut said = said(collection);
            match announced {
                Some(title) => said.insert(link, title),
                None => said.remove(&link),
            };
            let mut settings = collection.settings.clone();
            if said.is_empty() {
                settings.remove(AGGREGATED);
            } else {
                settings.insert(AGGREGATED.to_owned(), serde_json::json!(said).to_string());
            }
            let settings = Some(settings);
            let change = CollectionChange { settings, ..CollectionChange::default() };
            Altered { alteration: Alteration::Change(change), act: None }
        };
        self.store.alter_collection(name, Box::new(announce)).await?;
        Ok(())
    }
}

/// Titles by link. A text that is not ours says nothing.
fn said(collection: &Collection) -> BTreeMap<String, Option<String>> {
    serde_json::from_str(aggregated_text(collection)).unwrap_or_default()
}
