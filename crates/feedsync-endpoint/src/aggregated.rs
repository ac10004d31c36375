//! Feeds that a collection states it incorporates: `sx:related` of type `aggregated` (2.3, F40, F41).
//!
//! They are stored among the collection's settings, under a name that no user can set. So they are loaded
//! with the collection when it is published, and its validators depend on them.

use std::collections::BTreeMap;

use feedsync_core::{Related, RelatedKind};
use feedsync_store::{
    Alteration, AlterationDecision, Collection, CollectionChange, CollectionName,
};

use crate::endpoint::Endpoint;
use crate::error::EndpointError;

/// The name under which a collection stores them; not one of [`crate::Settings::NAMES`].
pub const AGGREGATED: &str = "aggregated";

/// Returns the feeds that a collection states it incorporates, by address.
pub fn aggregated(collection: &Collection) -> Vec<Related> {
    let kind = RelatedKind::Aggregated;
    let stored_titles = stored_titles(collection).into_iter();
    stored_titles.map(|(link, title)| Related { link, title, kind }).collect()
}

/// Returns the stored text of these feeds, which changes whenever they do.
pub fn aggregated_text(collection: &Collection) -> &str {
    collection.settings.get(AGGREGATED).map_or("", String::as_str)
}

impl Endpoint {
    /// Adds an incorporated feed to those that a collection states, with a title (`Some`), or removes it
    /// (`None`). The link is an absolute address without a secret.
    pub async fn announce_aggregated(
        &self,
        name: &CollectionName,
        link: &str,
        announced: Option<Option<String>>,
    ) -> Result<(), EndpointError> {
        let link = link.to_owned();
        // Other feeds may be added, and settings changed, at the same time.
        let announce = move |collection: &Collection| {
            let mut stored_titles = stored_titles(collection);
            match announced {
                Some(title) => stored_titles.insert(link, title),
                None => stored_titles.remove(&link),
            };
            let mut settings = collection.settings.clone();
            if stored_titles.is_empty() {
                settings.remove(AGGREGATED);
            } else {
                settings
                    .insert(AGGREGATED.to_owned(), serde_json::json!(stored_titles).to_string());
            }
            let settings = Some(settings);
            let change = CollectionChange { settings, ..CollectionChange::default() };
            AlterationDecision { alteration: Alteration::Change(change), act: None }
        };
        self.store.alter_collection(name, Box::new(announce)).await?;
        Ok(())
    }
}

/// Returns titles by link. A text that cannot be parsed counts as empty.
fn stored_titles(collection: &Collection) -> BTreeMap<String, Option<String>> {
    serde_json::from_str(aggregated_text(collection)).unwrap_or_default()
}
