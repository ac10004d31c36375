//! Restoring documents to their state at a past moment, by ordinary edits of their present state.

use std::collections::BTreeMap;
use std::ops::Bound;

use feedsync_couch::{
    Attachment, Body, DatabaseName, DocumentId, Refusal, RefusalKind, Revision, SentAttachment,
    SentForm, Submission,
};
use feedsync_store::{
    Database, Databases, DocumentRange, LoadedDocument, Moment, PastDocument, PastPage, PastRange,
    PastRevision, StoreError, StoredBody,
};

use crate::documents::{
    DocumentsError, DocumentsWriter, Edits, NewDocument, StoredAttachment, leaves, store_anew,
};

/// Number of documents that are examined and written at once.
const BATCH: usize = 100;

/// Size at which a batch ends, in bytes of the bodies of the past moment.
const BATCH_BYTES: u64 = 8 << 20;

/// Maximum number of refusals that a summary lists.
pub const MAX_REFUSALS: usize = 100;

/// A state to restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreRequest {
    /// The moment.
    pub moment: Moment,
    /// The documents; `None` for all of the database.
    pub documents: Option<Vec<DocumentId>>,
    /// Whether documents that did not exist at the moment are deleted.
    pub deletes_newer: bool,
    /// Whether nothing is written: the summary tells what a restore would do, except for refusals.
    pub is_trial: bool,
}

/// Result of a restore. Each document is counted once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RestoreSummary {
    /// Number of documents that have their former content again.
    pub restored: u64,
    /// Number of documents that had it all along, or did not exist at the moment and do not exist now.
    pub unchanged: u64,
    /// Number of documents that did not exist at the moment and were deleted.
    pub deleted: u64,
    /// Number of documents that did not exist at the moment and were left as they are.
    pub newer: u64,
    /// Number of documents that could not be written.
    pub refused: u64,
    /// The first [`MAX_REFUSALS`] of them, with reasons.
    pub refusals: Vec<(DocumentId, Refusal)>,
}

/// Reason for not restoring a state. Documents before the failure may have been written.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The state of the moment is not known.
    #[error("the history of the database does not reach back to that moment")]
    Unknown {
        /// The oldest moment whose state is known, if a history is kept.
        since: Option<Moment>,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The edit that restores a document.
enum Change {
    Restored(Box<NewDocument>),
    Deleted(Box<NewDocument>),
}

impl DocumentsWriter {
    /// Writes the winners of a past moment as new edits of the present winners, so that all replicas get them. Documents
    /// that were deleted since are created again. Conflicts stay as they are. All checks of other edits apply.
    ///
    /// The past state is that of a source: the database itself, or the one that had its name at the moment
    /// ([`Endpoint::database_at`](crate::Endpoint::database_at)).
    pub async fn restore(
        &self,
        database: &Database,
        source: &Database,
        request: &RestoreRequest,
    ) -> Result<RestoreSummary, RestoreError> {
        let summary = RestoreSummary::default();
        Restore { writer: self, database, source, request, summary }.run().await
    }
}

/// A restore that is being carried out.
struct Restore<'a> {
    writer: &'a DocumentsWriter,
    database: &'a Database,
    source: &'a Database,
    request: &'a RestoreRequest,
    summary: RestoreSummary,
}

impl Restore<'_> {
    async fn run(mut self) -> Result<RestoreSummary, RestoreError> {
        let databases = self.writer.endpoint.databases();
        let mut rest = self.request.documents.clone();
        let mut range = next_range(&mut rest, None);
        while let Some(asked) = range {
            let page = databases
                .documents_at(&self.source.name, self.request.moment, asked.clone(), BATCH_BYTES)
                .await?;
            let (documents, last) = match page {
                PastPage::Unknown { since } => return Err(RestoreError::Unknown { since }),
                PastPage::Known { database: read, documents, last } => {
                    read_same(self.source, &read)?;
                    (documents, last)
                }
            };
            self.restore(documents).await?;
            range = match (asked, last) {
                (asked @ PastRange::Ids(_), Some(last)) => Some(asked.rest(last)),
                (PastRange::Ids(_), None) => next_range(&mut rest, None),
                (PastRange::After { .. }, Some(last)) => next_range(&mut rest, Some(last)),
                (PastRange::After { .. }, None) => None,
            };
        }
        if !self.is_from_itself() {
            self.undo_creations().await?;
        }
        Ok(self.summary)
    }

    /// Whether the past state is one of the database itself.
    fn is_from_itself(&self) -> bool {
        self.source.epoch == self.database.epoch
    }

    /// Restores documents of the source.
    async fn restore(&mut self, documents: Vec<PastDocument>) -> Result<(), StoreError> {
        let databases = self.writer.endpoint.databases();
        let is_same = |past: &PastDocument| {
            let winner = past.document.tree.winner();
            let was = past.leaves.first().map(|leaf| &leaf.revision);
            self.is_from_itself() && winner.map(|leaf| leaf.revision) == was
        };
        let (same, changed): (Vec<_>, Vec<_>) = documents.into_iter().partition(is_same);
        self.summary.unchanged += same.len() as u64;
        let ids = changed.iter().map(|past| past.document.id.clone()).collect();
        let present = present_winners(&*databases, &self.database.name, ids).await?;
        let mut changes = Vec::new();
        for past in changed {
            let id = past.document.id.clone();
            let present = present.get(&id).and_then(live_winner);
            let was = past.leaves.into_iter().next().filter(|leaf| !leaf.is_deleted);
            match (was, present) {
                (None, None) => self.summary.unchanged += 1,
                (None, Some((revision, _))) => changes.extend(self.deletion_of_newer(id, revision)),
                (Some(was), Some((_, body))) if is_equal(&was.body, body) => {
                    self.summary.unchanged += 1;
                }
                (Some(was), present) if self.request.is_trial => {
                    drop((was, present));
                    self.summary.restored += 1;
                }
                (Some(was), present) => {
                    let base = present.map(|(revision, _)| revision.clone());
                    match self.restoration(&*databases, (id.clone(), base), was).await? {
                        Ok(document) => changes.push(Change::Restored(Box::new(document))),
                        Err(refusal) => self.summary.refuse(id, refusal),
                    }
                }
            }
        }
        self.write(changes).await
    }

    /// Deletes or counts the documents that exist now, and that the source never had.
    async fn undo_creations(&mut self) -> Result<(), StoreError> {
        let (databases, name) = (self.writer.endpoint.databases(), &self.database.name);
        if let Some(ids) = &self.request.documents {
            for ids in ids.chunks(BATCH) {
                let page = databases.documents(name, ids, leaves::none(), u64::MAX).await?;
                self.undo_creations_among(page.documents).await?;
            }
            return Ok(());
        }
        let mut from = Bound::Unbounded;
        loop {
            let range = DocumentRange {
                from,
                to: Bound::Unbounded,
                is_descending: false,
                live_only: true,
                skip: 0,
                most: BATCH,
            };
            let page = databases.documents_by_id(name, range, leaves::none(), u64::MAX).await?;
            let Some(last) = page.documents.iter().flatten().last() else { return Ok(()) };
            from = Bound::Excluded(last.document.id.as_str().to_owned());
            self.undo_creations_among(page.documents).await?;
        }
    }

    async fn undo_creations_among(
        &mut self,
        documents: Vec<Option<LoadedDocument>>,
    ) -> Result<(), StoreError> {
        let documents: Vec<_> = documents.into_iter().flatten().map(|it| it.document).collect();
        let ids: Vec<_> = documents.iter().map(|document| document.id.clone()).collect();
        let databases = self.writer.endpoint.databases();
        let page = databases.documents(&self.source.name, &ids, leaves::none(), u64::MAX).await?;
        let mut changes = Vec::new();
        for (document, known) in documents.into_iter().zip(page.documents) {
            let winner = document.tree.winner().filter(|leaf| !leaf.content.is_deleted);
            if let (None, Some(leaf)) = (known, winner) {
                changes.extend(self.deletion_of_newer(document.id.clone(), leaf.revision));
            }
        }
        self.write(changes).await
    }

    /// The deletion of a document that did not exist at the moment; `None` if such documents are only counted.
    fn deletion_of_newer(&mut self, id: DocumentId, revision: &Revision) -> Option<Change> {
        match (self.request.deletes_newer, self.request.is_trial) {
            (true, false) => return Some(Change::Deleted(Box::new(deletion(id, revision)))),
            (true, true) => self.summary.deleted += 1,
            (false, _) => self.summary.newer += 1,
        }
        None
    }

    async fn write(&mut self, changes: Vec<Change>) -> Result<(), StoreError> {
        if changes.is_empty() {
            return Ok(());
        }
        let documents: Vec<NewDocument> = changes.iter().map(Change::document).collect();
        let written = match self.writer.write(self.database, documents, Edits::New).await {
            Ok(written) => written,
            Err(DocumentsError::Store(error)) => return Err(error),
            // An invalid document causes all to be refused: each is written alone.
            Err(DocumentsError::Refused(refusal)) if changes.len() < 2 => {
                changes.iter().map(|_| Err(refusal.clone())).collect()
            }
            Err(DocumentsError::Refused(_)) => {
                for change in changes {
                    Box::pin(self.write(vec![change])).await?;
                }
                return Ok(());
            }
        };
        for (change, written) in changes.into_iter().zip(written) {
            match (written, change) {
                (Ok(_), Change::Restored(_)) => self.summary.restored += 1,
                (Ok(_), Change::Deleted(_)) => self.summary.deleted += 1,
                (Err(refusal), Change::Restored(it) | Change::Deleted(it)) => {
                    self.summary.refuse(it.id, refusal);
                }
            }
        }
        Ok(())
    }

    /// The edit that gives a document its former content. Its attachments are stored anew, so that no sweep removes them before
    /// the document names them.
    async fn restoration(
        &self,
        databases: &dyn Databases,
        (id, revision): (DocumentId, Option<Revision>),
        was: PastRevision,
    ) -> Result<Result<NewDocument, Refusal>, StoreError> {
        let (mut followed, mut attachments) = (BTreeMap::new(), Vec::new());
        for attachment in &*was.body.attachments {
            let Attachment { name: of, content_type, digest, .. } = attachment.clone();
            let stored =
                store_anew(databases, (&self.source.name, &self.database.name), &digest).await?;
            let Some(length) = stored else {
                let reason = format_args!("The attachment {of} of {id} is no longer stored");
                return Ok(Err(RefusalKind::NotFound.with_reason(reason)));
            };
            followed.insert(of.clone(), StoredAttachment { digest: digest.clone(), length });
            attachments.push(SentAttachment {
                name: of,
                content_type: Some(content_type),
                generation: None,
                digest: Some(digest),
                form: SentForm::Follows { length: Some(length), is_packed: false },
            });
        }
        let body = Body::kept(was.body.text.to_string());
        let sent = Submission { revision, attachments, body, ..Submission::default() };
        Ok(Ok(NewDocument { id, sent, followed }))
    }
}

impl Change {
    fn document(&self) -> NewDocument {
        let (Self::Restored(document) | Self::Deleted(document)) = self;
        NewDocument::clone(document)
    }
}

impl RestoreSummary {
    fn refuse(&mut self, id: DocumentId, refusal: Refusal) {
        self.refused += 1;
        if self.refusals.len() < MAX_REFUSALS {
            self.refusals.push((id, refusal));
        }
    }
}

/// The next documents to examine.
fn next_range(rest: &mut Option<Vec<DocumentId>>, after: Option<DocumentId>) -> Option<PastRange> {
    let Some(ids) = rest else { return Some(PastRange::After { after, most: BATCH }) };
    let later = ids.split_off(ids.len().min(BATCH));
    let ids = std::mem::replace(ids, later);
    (!ids.is_empty()).then_some(PastRange::Ids(ids))
}

/// Fails if a database was dropped and created again.
fn read_same(database: &Database, read: &Database) -> Result<(), StoreError> {
    match database.epoch == read.epoch {
        true => Ok(()),
        false => Err(StoreError::NoDatabase(database.name.clone())),
    }
}

/// The documents as they are now, with the bodies of their winners.
async fn present_winners(
    databases: &dyn Databases,
    name: &DatabaseName,
    mut ids: Vec<DocumentId>,
) -> Result<BTreeMap<DocumentId, LoadedDocument>, StoreError> {
    let mut present = BTreeMap::new();
    while !ids.is_empty() {
        let page = databases.documents(name, &ids, leaves::winner(), BATCH_BYTES).await?;
        ids.drain(..page.documents.len().min(ids.len()));
        let found = page.documents.into_iter().flatten();
        present.extend(found.map(|found| (found.document.id.clone(), found)));
    }
    Ok(present)
}

/// The winner of a document with its body, if the document is not deleted.
fn live_winner(found: &LoadedDocument) -> Option<(&Revision, &StoredBody)> {
    let winner = found.document.tree.winner().filter(|leaf| !leaf.content.is_deleted)?;
    Some((winner.revision, found.bodies.get(winner.revision)?))
}

fn is_equal(one: &StoredBody, other: &StoredBody) -> bool {
    fn key(attachment: &Attachment) -> (&str, &str, &str) {
        (&attachment.name, &attachment.content_type, attachment.digest.as_str())
    }
    let attachments = one.attachments.iter().map(key);
    one.text == other.text && attachments.eq(other.attachments.iter().map(key))
}

fn deletion(id: DocumentId, base: &Revision) -> NewDocument {
    let revision = Some(base.clone());
    let sent = Submission { revision, is_deleted: true, ..Submission::default() };
    NewDocument { id, sent, followed: BTreeMap::new() }
}
