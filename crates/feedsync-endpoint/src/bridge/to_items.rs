//! Transfer from documents to items.

use std::collections::BTreeMap;

use feedsync_core::{Item, ItemId, Payload, Version};
use feedsync_couch::mapping::{is_settling_deletion, item_id, update_of, version_of};
use feedsync_couch::{Attachment, Path};
use feedsync_formats::{Blob, blobs};
use feedsync_store::{LoadedDocument, StoreError};

use super::progress::BridgeProgress;
use super::{BridgeError, BridgePass, BridgeReport};
use crate::documents::leaves::{Leaves, chosen};
use crate::error::EndpointError;
use crate::incorporate::ItemOutcome;

/// Maximum number of documents in one page.
const PAGE: usize = 100;

/// Maximum number of bytes of their bodies in one page.
const PAGE_BYTES: u64 = 8 << 20;

impl BridgePass<'_> {
    /// Transfers a page of changed documents to the collection; returns whether there may be more.
    pub(super) async fn apply_documents(
        &self,
        progress: &mut BridgeProgress,
        carried: &mut BridgeReport,
    ) -> Result<bool, BridgeError> {
        let database = self.database().await?;
        let after = BridgeProgress::after(progress.documents, database.epoch);
        if after >= database.last {
            return Ok(false);
        }
        self.collection().await?;
        let name = &self.bridge.database;
        let choose = chosen(Leaves::All);
        let read =
            self.databases.document_changes(name, after, PAGE, None, choose, PAGE_BYTES).await?;
        if read.database.epoch != database.epoch {
            // The database was replaced in the meantime.
            return Ok(true);
        }
        let ids: Vec<ItemId> =
            read.documents.iter().filter_map(|it| item_id(&it.document.id)).collect();
        let stored = self.endpoint.store.items(&self.bridge.collection, &ids).await?;
        let stored: BTreeMap<ItemId, Item<Payload>> =
            stored.into_iter().map(|it| (it.item.id.clone(), it.item)).collect();
        let mut items = Vec::with_capacity(ids.len());
        for document in &read.documents {
            let Some(id) = item_id(&document.document.id) else {
                let id = &document.document.id;
                // Design documents are not items and stay as they are.
                if !id.is_design() {
                    carried
                        .record_refusal(id, &"the id of the document is not allowed for an item");
                }
                continue;
            };
            let known = stored.get(&id);
            items.extend(self.leaves(id, document, known, carried).await?);
        }
        self.incorporate(items, progress, carried).await?;
        progress.documents = Some((read.database.epoch, read.reached.max(after)));
        self.note(progress).await?;
        Ok(!read.is_end)
    }

    /// Returns the leaves of a document, each as an item of its own. They are merged by what their histories
    /// have in common.
    async fn leaves(
        &self,
        id: ItemId,
        read: &LoadedDocument,
        known: Option<&Item<Payload>>,
        carried: &mut BridgeReport,
    ) -> Result<Vec<Item<Payload>>, BridgeError> {
        let mut items = Vec::new();
        let tree = &read.document.tree;
        for leaf in tree.leaves() {
            let Some(body) = read.bodies.get(leaf.revision) else { continue };
            let is_deleted = leaf.content.is_deleted;
            let path = tree.path(leaf.revision).unwrap_or_else(|| Path::root(leaf.revision));
            if is_settling_deletion(&path, is_deleted, &body.text) {
                continue;
            }
            let update = update_of(leaf.revision);
            let is_it = |version: &&Version<Payload>| {
                update.as_ref().is_some_and(|update| update.is_same(version.dot()))
            };
            let same = known.into_iter().flat_map(Item::versions).find(is_it);
            let is_over = known.zip(update.as_ref()).is_some_and(|(known, it)| known.covers(it));
            if is_deleted && is_over && same.is_none() {
                // It was settled long ago.
                continue;
            }
            let attachments = match same {
                Some(same) => Some(blobs(&same.payload)),
                None => self.blobs(&body.attachments).await?,
            };
            let Some(attachments) = attachments else {
                carried.record_refusal(
                    &id,
                    &"an attachment is missing, or its name or media type is not allowed for a \
                    blob",
                );
                continue;
            };
            match version_of(&id, &path, is_deleted, &body.text, &attachments) {
                Ok(winner) => {
                    items.push(Item { id: id.clone(), winner, conflicts: Vec::new() });
                }
                Err(why) => carried.record_refusal(&id, &why),
            }
        }
        Ok(items)
    }

    /// Stores attachments as blobs. `None` if a name or type is not valid for a blob, or an attachment is
    /// gone.
    async fn blobs(&self, attachments: &[Attachment]) -> Result<Option<Vec<Blob>>, BridgeError> {
        let mut stored = Vec::with_capacity(attachments.len());
        for attachment in attachments {
            let name = &self.bridge.database;
            let bytes = self.databases.attachment(name, &attachment.digest).await?;
            let Some(bytes) = bytes else { return Ok(None) };
            let length = bytes.len() as u64;
            let digest = self.endpoint.store.put_blob(bytes).await?;
            let blob =
                Blob::new(&attachment.name, &attachment.content_type, length, *digest.as_bytes());
            let Some(blob) = blob else { return Ok(None) };
            stored.push(blob);
        }
        Ok(Some(stored))
    }

    /// Incorporates items in one transaction, or each alone if not all of them fit.
    pub(super) async fn incorporate(
        &self,
        items: Vec<Item<Payload>>,
        progress: &mut BridgeProgress,
        carried: &mut BridgeReport,
    ) -> Result<(), BridgeError> {
        if items.is_empty() {
            return Ok(());
        }
        let (endpoint, name) = (self.endpoint, &self.bridge.collection);
        match endpoint.incorporate_into(name, &self.bridge.feed_id, items.clone()).await {
            Ok(report) => {
                carried.items += report.counts.changed();
                for item in &report.items {
                    if let ItemOutcome::Refused(why) = &item.outcome {
                        carried.record_refusal(&item.id, why);
                    }
                }
                Ok(())
            }
            // The collection has no room for all of them.
            Err(EndpointError::Full { .. }) if items.len() > 1 => {
                for item in items {
                    Box::pin(self.incorporate(vec![item], progress, carried)).await?;
                }
                Ok(())
            }
            Err(why @ EndpointError::Full { .. }) => {
                progress.crowded.get_or_insert(endpoint.environment().now());
                // There is only one item here; several would have been split above.
                items.iter().for_each(|item| carried.record_refusal(&item.id, &why));
                Ok(())
            }
            Err(gone @ EndpointError::Store(StoreError::NoCollection(_))) => {
                // Another collection may have the name now.
                self.collection().await?;
                Err(gone.into())
            }
            Err(error) => Err(error.into()),
        }
    }
}
