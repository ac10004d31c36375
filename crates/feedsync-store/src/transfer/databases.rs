//! Transfer of databases row by row, and detection of changes meanwhile.

use feedsync_couch::{AttachmentDigest, DatabaseName, LocalId};
use sha2::{Digest as _, Sha256};

use super::run::Run;
use super::{BATCH_BYTES, BATCH_ROWS, Transfer, TransferPart};
use crate::blob::Digest;
use crate::database::Database;
use crate::error::StoreError;
use crate::order::ChangeNumber;
use crate::stored::PageLimit;

const BATCH: PageLimit = PageLimit { items: BATCH_ROWS, bytes: BATCH_BYTES };

/// A database with values that change with every write to it.
#[derive(PartialEq, Eq)]
pub(super) struct DatabaseFingerprint {
    database: Database,
    next_body: u64,
    /// Digest of what is not in the change order: origins of documents, and local documents.
    rest: Digest,
}

/// All databases of a store. Storing an attachment that no document names is not counted as a change.
pub(super) async fn fingerprints(
    store: &dyn Transfer,
) -> Result<Vec<DatabaseFingerprint>, StoreError> {
    let mut looked: Vec<DatabaseFingerprint> = Vec::new();
    loop {
        let last = looked.last().map(|looked| looked.database.name.clone());
        let databases = store.databases(last.as_ref(), BATCH_ROWS).await?;
        if databases.is_empty() {
            return Ok(looked);
        }
        for database in databases {
            let next_body = store.next_body(&database.name).await?;
            let rest = rest(store, &database.name).await?;
            looked.push(DatabaseFingerprint { database, next_body, rest });
        }
    }
}

async fn rest(store: &dyn Transfer, name: &DatabaseName) -> Result<Digest, StoreError> {
    let mut digest = Sha256::new();
    let mut after = ChangeNumber::ZERO;
    loop {
        let documents = store.ordered_documents(name, after, BATCH).await?;
        let Some(last) = documents.last() else { break };
        after = last.document.number;
        for moved in documents {
            digest.update(moved.document.number.get().to_be_bytes());
            digest.update(Sha256::digest(moved.document.tree.to_bytes()));
        }
    }
    let mut after: Option<LocalId> = None;
    loop {
        let documents = store.local_documents(name, after.as_ref(), BATCH).await?;
        let Some((last, _)) = documents.last() else { break };
        after = Some(last.clone());
        for (id, document) in documents {
            digest.update(Sha256::digest(id.as_str()));
            digest.update(document.revision.to_be_bytes());
            digest.update(Sha256::digest(document.body));
        }
    }
    Ok(Digest::from_bytes(digest.finalize().into()))
}

impl Run<'_> {
    pub(super) async fn database(
        &mut self,
        looked: &DatabaseFingerprint,
    ) -> Result<(), StoreError> {
        let name = &looked.database.name;
        self.to.load(TransferPart::Database(looked.database.clone(), looked.next_body)).await?;
        self.documents(name).await?;
        self.bodies(name).await?;
        self.history(name).await?;
        self.attachments(name).await?;
        self.local_documents(name).await?;
        if let Some(owner) = self.from.charged(name).await? {
            self.to.charge(name, &owner).await?;
        }
        self.moved.databases += 1;
        self.tell();
        Ok(())
    }

    async fn documents(&mut self, name: &DatabaseName) -> Result<(), StoreError> {
        let mut after = ChangeNumber::ZERO;
        loop {
            let documents = self.from.ordered_documents(name, after, BATCH).await?;
            let Some(last) = documents.last() else { return Ok(()) };
            after = last.document.number;
            self.moved.documents += documents.len() as u64;
            self.to.load(TransferPart::Documents(name.clone(), documents)).await?;
            self.tell();
        }
    }

    async fn bodies(&mut self, name: &DatabaseName) -> Result<(), StoreError> {
        let mut after = 0;
        loop {
            let bodies = self.from.bodies(name, after, BATCH).await?;
            let Some((last, _)) = bodies.last() else { return Ok(()) };
            after = *last;
            self.to.load(TransferPart::Bodies(name.clone(), bodies)).await?;
            self.tell();
        }
    }

    async fn history(&mut self, name: &DatabaseName) -> Result<(), StoreError> {
        let mut after = 0;
        loop {
            let origins = self.from.body_origins(name, after, BATCH_ROWS).await?;
            let Some((last, _)) = origins.last() else { break };
            after = *last;
            self.to.load(TransferPart::BodyOrigins(name.clone(), origins)).await?;
            self.tell();
        }
        let mut after = 0;
        loop {
            let ended = self.from.all_ended(name, after, BATCH_ROWS).await?;
            let Some(last) = ended.last() else { return Ok(()) };
            after = last.content.body.number;
            self.to.load(TransferPart::Ended(name.clone(), ended)).await?;
            self.tell();
        }
    }

    async fn attachments(&mut self, name: &DatabaseName) -> Result<(), StoreError> {
        let mut after: Option<AttachmentDigest> = None;
        loop {
            let digests = self.from.attachments(name, after.as_ref(), BATCH_ROWS).await?;
            let Some(last) = digests.last() else { return Ok(()) };
            after = Some(last.clone());
            for digest in digests {
                if let Some(bytes) = self.from.attachment(name, &digest).await? {
                    self.to.put_attachment(name, &digest, bytes).await?;
                    self.moved.attachments += 1;
                    self.tell();
                }
            }
        }
    }

    async fn local_documents(&mut self, name: &DatabaseName) -> Result<(), StoreError> {
        let moved = self.to.database(name).await?;
        let epoch = moved.ok_or_else(|| StoreError::NoDatabase(name.clone()))?.epoch;
        let mut after: Option<LocalId> = None;
        loop {
            let documents = self.from.local_documents(name, after.as_ref(), BATCH).await?;
            let Some((last, _)) = documents.last() else { return Ok(()) };
            after = Some(last.clone());
            for (id, document) in documents {
                self.to.put_local_document(name, epoch, &id, Some(document)).await?;
            }
            self.tell();
        }
    }
}
