//! Transfer from items to documents.

use std::collections::{BTreeMap, BTreeSet};

use feedsync_core::{Item, ItemId, Payload};
use feedsync_couch::mapping::{
    MappedRevision, SETTLED_BODY, document_id, leaves_to_settle, revision_of, settling_deletion,
};
use feedsync_couch::{
    AttachmentDigest, Body, BodyRef, DocumentId, Path, Revision, SentAttachment, SentForm,
    Submission, Tree,
};
use feedsync_store::{Database, Digest, PageLimit, StoredItem};

use super::progress::BridgeProgress;
use super::{BridgeError, BridgePass, BridgeReport};
use crate::documents::leaves::none;
use crate::documents::{DocumentsError, Edits, NewDocument, StoredAttachment};

/// Number of items in one page.
const PAGE: PageLimit = PageLimit::items(100);

/// Maximum number of items that wait for blobs. Further ones are reported as refused.
const MAX_WAITING: usize = 10_000;

/// An item that is to be written to its document.
struct ItemRevisions {
    document: DocumentId,
    item: Item<Payload>,
    versions: Vec<MappedRevision>,
    /// Whether these are all of its versions.
    is_whole: bool,
}

type Trees = BTreeMap<DocumentId, Tree<BodyRef>>;

impl BridgePass<'_> {
    /// Transfers a page of changed items to the database; returns whether there may be more.
    pub(super) async fn apply_items(
        &self,
        progress: &mut BridgeProgress,
        carried: &mut BridgeReport,
    ) -> Result<bool, BridgeError> {
        let (name, store) = (&self.bridge.collection, &self.endpoint.store);
        let collection = self.collection().await?;
        let after = BridgeProgress::after(progress.items, collection.epoch);
        let before = progress.clone();
        // A random start gives each waiting item its chance, even if many wait forever.
        let count = progress.waiting.len();
        let first = self.endpoint.environment().random() as usize % count.max(1);
        let turn = progress.waiting.iter().chain(&progress.waiting).skip(first);
        let waiting: Vec<ItemId> = turn.take(PAGE.items.min(count)).cloned().collect();
        let waited = store.items(name, &waiting).await?;
        progress.waiting.retain(|id| !waiting.contains(id));
        let page = store.changes(name, after, None, PAGE).await?;
        if page.collection.epoch != collection.epoch {
            // The collection was replaced in the meantime.
            *progress = before;
            return Ok(true);
        }
        let mut wanted = Vec::with_capacity(page.items.len());
        for StoredItem { item, .. } in page.items.into_iter().chain(waited) {
            match document_id(&item.id) {
                Some(document) => wanted.push(item_revisions(document, item, carried)),
                None => carried
                    .record_refusal(&item.id, &"the id of the item is not allowed for a document"),
            }
        }
        self.show(wanted, progress, carried).await?;
        progress.items = Some((page.collection.epoch, page.through.max(after)));
        if *progress != before {
            self.note(progress).await?;
        }
        Ok(page.more)
    }

    /// Writes the versions of items that their documents lack, and ends the leaves that they replaced.
    async fn show(
        &self,
        mut wanted: Vec<ItemRevisions>,
        progress: &mut BridgeProgress,
        carried: &mut BridgeReport,
    ) -> Result<(), BridgeError> {
        let database = self.database().await?;
        let mut trees = self.trees(&wanted).await?;
        let mut news = Vec::new();
        for ItemRevisions { document, item, versions, is_whole } in &mut wanted {
            let tree = trees.get(document);
            let is_new =
                |it: &&MappedRevision| tree.is_none_or(|tree| !tree.contains(&it.path.newest()));
            for version in versions.iter().filter(is_new) {
                let path = match tree {
                    Some(tree) => version.path_into(tree),
                    None => version.path.clone(),
                };
                match self.document(document, version, path).await? {
                    Some(version) => news.push(version),
                    None if progress.waiting.len() < MAX_WAITING => {
                        progress.waiting.insert(item.id.clone());
                        *is_whole = false;
                    }
                    None => {
                        carried.record_refusal(
                            &item.id,
                            &"too many items are waiting for their blobs",
                        );
                        *is_whole = false;
                    }
                }
            }
        }
        let mut refused = BTreeSet::new();
        if !news.is_empty() {
            refused = self.write(&database, news, carried).await?;
            trees = self.trees(&wanted).await?;
        }
        let mut ends = Vec::new();
        // Leaves must not be ended before the versions that replace them are written.
        let is_seen = |it: &&ItemRevisions| it.is_whole && !refused.contains(&it.document);
        for ItemRevisions { document, item, versions, .. } in wanted.iter().filter(is_seen) {
            let Some(tree) = trees.get(document) else { continue };
            let versions: Vec<Revision> = versions.iter().map(|it| it.path.newest()).collect();
            let paths = leaves_to_settle(tree, item, &versions);
            ends.extend(
                paths.iter().filter_map(settling_deletion).map(|path| ending(document, path)),
            );
        }
        match ends.is_empty() {
            true => Ok(()),
            false => self.write(&database, ends, carried).await.map(drop),
        }
    }

    async fn trees(&self, wanted: &[ItemRevisions]) -> Result<Trees, BridgeError> {
        let ids: BTreeSet<DocumentId> = wanted.iter().map(|it| it.document.clone()).collect();
        let ids: Vec<DocumentId> = ids.into_iter().collect();
        let page = self.databases.documents(&self.bridge.database, &ids, none(), u64::MAX).await?;
        let found = page.documents.into_iter().flatten().map(|it| it.document);
        Ok(found.map(|document| (document.id, document.tree)).collect())
    }

    /// Returns a version as a document, with its attachments stored; `None` while a blob is missing.
    async fn document(
        &self,
        id: &DocumentId,
        version: &MappedRevision,
        path: Path,
    ) -> Result<Option<NewDocument>, BridgeError> {
        let MappedRevision { is_deleted, body, attachments, .. } = version;
        let (mut sent, mut followed) = (Vec::new(), BTreeMap::new());
        for blob in attachments {
            let digest = Digest::from_bytes(blob.sha256);
            let Some(bytes) = self.endpoint.store.blob(digest).await? else { return Ok(None) };
            let (digest, length) = (AttachmentDigest::of(&bytes), bytes.len() as u64);
            let name = &self.bridge.database;
            if !self.databases.put_attachment(name, &digest, bytes).await? {
                return Ok(None);
            }
            sent.push(SentAttachment {
                name: blob.name.clone(),
                content_type: Some(blob.media_type.clone()),
                generation: Some(path.start()),
                digest: None,
                form: SentForm::Follows { length: Some(length), is_packed: false },
            });
            followed.insert(blob.name.clone(), StoredAttachment { digest, length });
        }
        let sent = Submission {
            id: Some(id.clone()),
            revision: Some(path.newest()),
            path: Some(path),
            is_deleted: *is_deleted,
            attachments: sent,
            body: Body::kept(body.clone()),
        };
        Ok(Some(NewDocument { id: id.clone(), sent, followed }))
    }

    /// Writes documents; returns the ids of those that are refused, which are reported.
    async fn write(
        &self,
        database: &Database,
        documents: Vec<NewDocument>,
        carried: &mut BridgeReport,
    ) -> Result<BTreeSet<DocumentId>, BridgeError> {
        let edits = Edits::Replicated;
        match self.writer.write(database, documents.clone(), edits).await {
            Ok(written) => {
                let mut refused = BTreeSet::new();
                for (document, done) in documents.into_iter().zip(written) {
                    match done {
                        Ok(_) => carried.documents += 1,
                        Err(refusal) => {
                            carried.record_refusal(&document.id, &refusal);
                            refused.insert(document.id);
                        }
                    }
                }
                Ok(refused)
            }
            Err(gone @ DocumentsError::Refused(_))
                if self.database().await?.epoch != database.epoch =>
            {
                // The database was replaced in the meantime.
                Err(gone.into())
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Maps an item to its document, as far as this is possible.
fn item_revisions(
    document: DocumentId,
    item: Item<Payload>,
    carried: &mut BridgeReport,
) -> ItemRevisions {
    let (mut versions, mut is_whole) = (Vec::new(), true);
    for version in item.versions() {
        match revision_of(&item.id, version) {
            Ok(version) => versions.push(version),
            Err(why) => {
                carried.record_refusal(&item.id, &why);
                is_whole = false;
            }
        }
    }
    ItemRevisions { document, item, versions, is_whole }
}

/// Returns a document that ends a leaf with a deletion.
fn ending(id: &DocumentId, path: Path) -> NewDocument {
    let sent = Submission {
        id: Some(id.clone()),
        revision: Some(path.newest()),
        path: Some(path),
        is_deleted: true,
        attachments: Vec::new(),
        body: Body::kept(SETTLED_BODY.to_owned()),
    };
    NewDocument { id: id.clone(), sent, followed: BTreeMap::new() }
}
