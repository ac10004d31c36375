//! Transfer of the blobs that items name, before the items on either side.
//!
//! A blob that cannot be transferred does not delay its items. They are stored, and a warning names the blob.
//! Each later synchronisation retries a limited number of such blobs.

use std::collections::BTreeSet;

use feedsync_core::{Item, Payload};
use feedsync_fetch::{Fetched, Request, Response, Url};
use feedsync_formats::blobs;
use feedsync_store::{Digest, StoredItem};
use http::StatusCode;
use http::header::ETAG;

use crate::error::SyncError;
use crate::report::Warning;
use crate::session::Run;

/// Maximum number of missing blobs that one synchronisation retries.
const MAX_RETRIED: usize = 16;

impl Run<'_> {
    /// Fetches the blobs that incoming items name and that are not stored here.
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
        let missing = self.endpoint.missing_blobs(&named).await?;
        self.fetch_each(&hub, missing).await
    }

    /// Fetches blobs that items here name and that earlier synchronisations could not fetch. If there are
    /// more than one synchronisation retries, it starts at a random digest, so that none waits forever.
    pub(crate) async fn fetch_lost_blobs(&mut self, hub: &Url) -> Result<(), SyncError> {
        if self.dry_run {
            return Ok(());
        }
        let mut from = [0; 32];
        from[..8].copy_from_slice(&self.endpoint.environment().random().to_be_bytes());
        let (endpoint, name) = (&self.endpoint, &self.remote.collection);
        let mut lost = endpoint.lost_blobs(name, Digest::from_bytes(from), MAX_RETRIED).await?;
        if lost.len() < MAX_RETRIED {
            let rest = MAX_RETRIED - lost.len();
            lost.extend(endpoint.lost_blobs(name, Digest::from_bytes([0; 32]), rest).await?);
        }
        self.fetch_each(hub, lost).await
    }

    /// Fetches blobs, each at most once in a synchronisation.
    async fn fetch_each(&mut self, hub: &Url, missing: Vec<Digest>) -> Result<(), SyncError> {
        for digest in missing {
            if !self.requested_blobs.insert(digest) {
                continue;
            }
            let Some(url) = address(hub, digest) else { continue };
            let bytes = match self.fetcher.fetch(Request::read(url)).await {
                Ok(Fetched::Answer(response)) => response.into_bytes().await,
                Ok(Fetched::NotModified) => continue,
                Err(error) => Err(error),
            };
            match bytes {
                Ok(bytes) if Digest::of(&bytes) == digest => {
                    self.endpoint.put_blob(bytes).await?;
                }
                Ok(_) => self.warn_of(digest, "the received bytes do not match the digest"),
                Err(error) => self.warn_of(digest, &error.to_string()),
            }
        }
        Ok(())
    }

    /// Sends the blobs that items name and that the hub lacks.
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
                Ok(Fetched::Answer(answer)) if names(&answer, digest) => continue,
                Ok(_) => {
                    self.warn_of(
                        digest,
                        "the server did not answer the HEAD request as a hub does",
                    );
                    continue;
                }
                Err(error) if error.status() == Some(StatusCode::NOT_FOUND) => {}
                Err(error) => {
                    self.warn_of(digest, &error.to_string());
                    continue;
                }
            }
            let Some(bytes) = self.endpoint.blob(digest).await? else {
                self.warn_of(digest, "neither the hub nor this endpoint has it");
                continue;
            };
            match self.fetcher.fetch(Request::put(url, "application/octet-stream", bytes)).await {
                Ok(Fetched::Answer(answer)) if is_stored(answer.status()) => {}
                Ok(_) => self.warn_of(digest, "the server did not answer the upload as a hub does"),
                Err(error) => self.warn_of(digest, &error.to_string()),
            }
        }
        Ok(())
    }

    /// Adds a warning about a blob, at most once.
    fn warn_of(&mut self, digest: Digest, reason: &str) {
        let of_it = |warning: &Warning| matches!(warning, Warning::Blob { digest: other, .. } if *other == digest);
        if !self.report.warnings.iter().any(of_it) {
            self.warn(Warning::Blob { digest, reason: reason.to_owned() });
        }
    }
}

/// Whether a response is about this blob: its entity tag is the digest.
fn names(answer: &Response, digest: Digest) -> bool {
    answer.header(ETAG).is_some_and(|tag| tag.contains(&digest.to_string()))
}

/// Whether the status of an upload's response means that the blob is stored.
fn is_stored(status: StatusCode) -> bool {
    matches!(status, StatusCode::CREATED | StatusCode::NO_CONTENT)
}

/// Returns the address of a blob at a hub, which is in a path beside the collections. A parameter names the
/// collection for which it is requested.
fn address(changes: &Url, digest: Digest) -> Option<Url> {
    let collection = changes.path_segments()?.rev().nth(1)?.to_owned();
    let mut url = changes.join(&format!("../../blobs/{digest}")).ok()?;
    url.set_query(None);
    url.query_pairs_mut().append_pair("collection", &collection);
    Some(url)
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
