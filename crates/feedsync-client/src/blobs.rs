//! Blobs that items name: they are there before the items are, on either side.
//!
//! A blob that cannot be had keeps no item back: the item is taken all the same, and a warning names
//! the blob. It is looked for again whenever an item that names it travels.

use std::collections::BTreeSet;

use feedsync::{Item, Payload};
use feedsync_formats::blobs;
use feedsync_store::{Digest, StoredItem};
use http::StatusCode;

use crate::error::SyncError;
use crate::fetch::{Fetched, Request, Url};
use crate::report::Warning;
use crate::session::Run;

impl Run<'_> {
    /// Fetches what incoming items name and is not here.
    pub(crate) async fn fetch_blobs(&mut self, items: &[Item<Payload>]) -> Result<(), SyncError> {
        let Some(hub) = self.hub.clone().filter(|_| !self.dry_run) else { return Ok(()) };
        let named: BTreeSet<Digest> = items
            .iter()
            .flat_map(Item::versions)
            .flat_map(|version| blobs(&version.payload))
            .map(|blob| Digest::from_bytes(blob.sha256))
            .collect();
        let named: Vec<_> = named.into_iter().collect();
        if named.is_empty() {
            return Ok(());
        }
        for digest in self.endpoint.store().missing_blobs(&named).await? {
            let Some(url) = address(&hub, digest) else { continue };
            let bytes = match self.fetcher.fetch(Request::read(url)).await {
                Ok(Fetched::Answer(response)) => response.into_bytes().await,
                Ok(Fetched::NotModified) => continue,
                Err(error) => Err(error),
            };
            match bytes {
                Ok(bytes) if Digest::of(&bytes) == digest => {
                    self.endpoint.store().put_blob(bytes).await?;
                }
                Ok(_) => self.warn(missing(digest, "what came is something else")),
                Err(error) => self.warn(missing(digest, &error.to_string())),
            }
        }
        Ok(())
    }

    /// Sends what items name and the hub does not have.
    pub(crate) async fn send_blobs(
        &mut self,
        hub: &Url,
        items: &[StoredItem],
    ) -> Result<(), SyncError> {
        let named: BTreeSet<Digest> =
            items.iter().flat_map(|stored| stored.blobs.iter().copied()).collect();
        for digest in named {
            let Some(url) = address(hub, digest) else { continue };
            match self.fetcher.fetch(Request::head(url.clone())).await {
                Ok(_) => continue,
                Err(error) if error.status() == Some(StatusCode::NOT_FOUND) => {}
                Err(error) => {
                    self.warn(missing(digest, &error.to_string()));
                    continue;
                }
            }
            let Some(bytes) = self.endpoint.store().blob(digest).await? else {
                self.warn(missing(digest, "it is not here either"));
                continue;
            };
            match self.fetcher.fetch(Request::put(url, "application/octet-stream", bytes)).await {
                Ok(_) => {}
                Err(error) => self.warn(missing(digest, &error.to_string())),
            }
        }
        Ok(())
    }
}

/// Where a hub has a blob: beside its collections, asked for in the name of one.
fn address(changes: &Url, digest: Digest) -> Option<Url> {
    let collection = changes.path_segments()?.rev().nth(1)?.to_owned();
    let mut url = changes.join(&format!("../../blobs/{digest}")).ok()?;
    url.set_query(None);
    url.query_pairs_mut().append_pair("collection", &collection);
    Some(url)
}

fn missing(digest: Digest, reason: &str) -> Warning {
    Warning::Blob { digest, reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blob_is_beside_the_collections_of_its_hub() {
        let digest = Digest::of(b"");
        for (changes, root) in [
            ("http://a.example/collections/notes/changes", "http://a.example"),
            ("http://a.example/hub/collections/notes/changes.json?x=1", "http://a.example/hub"),
        ] {
            let found = address(&Url::parse(changes).unwrap(), digest).unwrap();
            assert_eq!(found.as_str(), format!("{root}/blobs/{digest}?collection=notes"));
        }
    }
}
