//! Documents of databases: edits and replicated revisions become writes of a store.

mod decide;
mod designs;
pub mod difference;
pub mod filter;
pub mod filter_functions;
pub mod functions;
pub mod history;
pub mod leaves;
mod purge;
pub mod replication;
pub mod replicator;
pub mod sequence;
pub mod show;
#[cfg(test)]
mod tests;
pub mod users;
pub mod validation;
pub mod views;
mod writer;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use feedsync_couch::{
    AttachmentDigest, Body, DatabaseName, DocumentId, Fingerprint, Path, Refusal, RefusalKind,
    Revision, SentAttachment, SentForm, Submission,
};
use feedsync_store::{
    ChangeNumber, Database, Databases, DatabasesExt as _, DocumentRequest, DocumentWrite, Kind,
    Moment, StoreError,
};

pub use purge::purge_documents;
pub use writer::DocumentsWriter;

use crate::endpoint::Endpoint;

/// A document to be written.
#[derive(Debug, Clone)]
pub struct NewDocument {
    /// Id of the document.
    pub id: DocumentId,
    /// The submitted document.
    pub sent: Submission,
    /// Attachments that [follow](SentForm::Follows) the document, by name, as they were stored.
    pub followed: BTreeMap<String, StoredAttachment>,
}

/// Content of an attachment, as it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAttachment {
    /// Digest of the content.
    pub digest: AttachmentDigest,
    /// Length of the content in bytes.
    pub length: u64,
}

/// Kind of a write of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edits {
    /// Each document is an edit of the current state, or a conflict (`new_edits: true`).
    New,
    /// Each document is a revision made elsewhere and is merged into the revision tree (`new_edits: false`).
    Replicated,
}

/// Outcome of each document, in the order in which they were given.
pub type Written = Vec<Result<Revision, Refusal>>;

/// Reason for not writing documents.
#[derive(Debug, thiserror::Error)]
pub enum DocumentsError {
    /// One document was refused, and therefore all of them.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Number of databases in one page.
const PAGE: usize = 1_000;

/// Number of documents that are compacted at once.
const COMPACTION_BATCH: usize = 500;

/// Maximum number of documents in one transaction: other writers get a turn between those of one request.
const WRITE_BATCH: usize = 2_000;

/// Age in microseconds of an unreferenced attachment at which no document can still be about to name it.
const UPLOAD_GRACE_MICROS: u64 = 24 * 60 * 60 * 1_000_000;

/// Bytes of superseded revisions, without those of the history, below which a database is not compacted.
const MIN_SUPERSEDED_BYTES: u64 = 1 << 20;

impl Endpoint {
    /// Returns the databases of documents.
    pub fn databases(&self) -> Arc<dyn Databases> {
        Arc::clone(&self.store) as Arc<dyn Databases>
    }

    /// Deletes the bodies of superseded revisions, and attachments that no revision names.
    /// [`Databases::sweep_databases`] then frees the disk space.
    pub async fn compact_database(&self, name: &DatabaseName) -> Result<(), StoreError> {
        self.compact_documents(name).await?;
        self.sweep_attachments(Some(name)).await
    }

    async fn compact_documents(&self, name: &DatabaseName) -> Result<(), StoreError> {
        let databases = self.databases();
        let mut after = None;
        loop {
            after = databases.compact_documents(name, after.as_ref(), COMPACTION_BATCH).await?;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Deletes unreferenced attachments of one database, or of all.
    async fn sweep_attachments(&self, of: Option<&DatabaseName>) -> Result<(), StoreError> {
        let now = self.environment().now().micros();
        let before = Moment::from_micros(now.saturating_sub(UPLOAD_GRACE_MICROS));
        self.databases().sweep_attachments(of, before).await.map(drop)
    }

    /// Compacts the databases of which more than half is superseded; returns their number. Unreferenced
    /// attachments are deleted from all databases. A failure does not stop the others and is returned at the
    /// end.
    pub async fn compact_databases(&self) -> Result<u64, StoreError> {
        let is_due = |it: &Database| {
            // A compaction cannot remove what the history keeps.
            let superseded = it.superseded.saturating_sub(it.past.bytes);
            superseded >= MIN_SUPERSEDED_BYTES && superseded > it.bytes / 2
        };
        let (mut count, mut failure) = (0, Ok(()));
        for database in self.databases_that(is_due).await? {
            match self.compact_documents(&database.name).await {
                Ok(()) => count += 1,
                // It was dropped in the meantime.
                Err(StoreError::NoDatabase(_)) => {}
                failed => failure = failure.and(failed),
            }
        }
        self.sweep_attachments(None).await?;
        failure.map(|()| count)
    }

    /// All databases that a condition holds for.
    async fn databases_that(
        &self,
        condition: impl Fn(&Database) -> bool,
    ) -> Result<Vec<Database>, StoreError> {
        let databases = self.databases();
        let (mut after, mut found) = (None, Vec::new());
        loop {
            let page = Databases::databases(&*databases, after.as_ref(), PAGE).await?;
            let Some(last) = page.last() else { return Ok(found) };
            after = Some(last.name.clone());
            found.extend(page.into_iter().filter(&condition));
        }
    }
}

/// Checks a document and stores the attachments that it contains.
async fn prepare(
    databases: &dyn Databases,
    name: &DatabaseName,
    document: NewDocument,
    edits: Edits,
) -> Result<PreparedDocument, DocumentsError> {
    let (document, held) = PreparedDocument::of(document, edits)?;
    for (digest, bytes) in held {
        if !databases.put_attachment(name, &digest, bytes).await? {
            return Err(digest_collision(&digest).into());
        }
    }
    Ok(document)
}

/// Writes documents in one transaction. Returns the number of the last change that it saw, and the database after it.
async fn write_prepared(
    databases: &dyn Databases,
    Database { name, epoch, .. }: &Database,
    prepared: Arc<[PreparedDocument]>,
    elsewhere: Option<Elsewhere>,
    author: Option<Arc<str>>,
) -> Result<(ChangeNumber, Database, Written), DocumentsError> {
    // Attachments of replicated documents are compared with those of the stored revisions.
    let with_attachments = |document: &PreparedDocument| DocumentRequest {
        id: document.id.clone(),
        with_attachments: match document.made {
            RevisionOrigin::Here { .. } => {
                document.attachments.iter().any(|it| it.stored.is_none())
            }
            RevisionOrigin::Elsewhere(_) => !document.attachments.is_empty(),
        },
    };
    let wanted: Vec<DocumentRequest> = prepared.iter().map(with_attachments).collect();
    let epoch = *epoch;
    let (database, outcome) = databases
        .decide_documents(name, united(wanted), move |snapshot| {
            if snapshot.database().epoch != epoch {
                let gone = RefusalKind::NotFound.with_reason("Database does not exist.");
                return (Vec::new(), Err(gone));
            }
            match decide::decide(snapshot, &prepared, elsewhere.as_ref()) {
                Ok((mut writes, written)) => {
                    writes.iter_mut().for_each(|write| write.author.clone_from(&author));
                    (writes, Ok((snapshot.database().last, written)))
                }
                Err(refusal) => (Vec::<DocumentWrite>::new(), Err(refusal)),
            }
        })
        .await?;
    let (seen, written) = outcome?;
    Ok((seen, database, written))
}

/// Lengths of attachments that other documents of the database have.
type Elsewhere = BTreeMap<AttachmentDigest, u64>;

/// Returns the attachments that stubs of documents name by digest (9.1). They are named by a revision of
/// another document, or another of these documents contains them. Content that no revision names any more, as
/// after a compaction, counts as deleted. Each attachment that was found is stored anew, so that no sweep
/// removes it before the documents are written.
async fn stored_elsewhere(
    databases: &dyn Databases,
    name: &DatabaseName,
    documents: &[PreparedDocument],
) -> Result<Elsewhere, StoreError> {
    let attachments = || documents.iter().flat_map(|it| &it.attachments);
    let stubs = attachments().filter(|it| it.stored.is_none());
    let digests: BTreeSet<&AttachmentDigest> = stubs.filter_map(|it| it.digest.as_ref()).collect();
    let brought: BTreeSet<&AttachmentDigest> =
        attachments().filter_map(|it| Some(&it.stored.as_ref()?.digest)).collect();
    let mut elsewhere = Elsewhere::new();
    for digest in digests {
        if !brought.contains(digest) && !databases.is_attachment_referenced(name, digest).await? {
            continue;
        }
        if let Some(length) = store_anew(databases, (name, name), digest).await? {
            elsewhere.insert(digest.clone(), length);
        }
    }
    Ok(elsewhere)
}

/// Stores an attachment of a database again, or in another database, so that no sweep removes it before a document names it.
/// Returns its length, or `None` if it is not stored.
async fn store_anew(
    databases: &dyn Databases,
    (from, to): (&DatabaseName, &DatabaseName),
    digest: &AttachmentDigest,
) -> Result<Option<u64>, StoreError> {
    let Some(bytes) = databases.attachment(from, digest).await? else { return Ok(None) };
    let length = bytes.len() as u64;
    Ok(databases.put_attachment(to, digest, bytes).await?.then_some(length))
}

/// Returns the refusal of content whose digest is that of different stored content. The two could not be told
/// apart, so the later one is refused.
pub fn digest_collision(digest: &AttachmentDigest) -> Refusal {
    let reason =
        format_args!("Another attachment with other content already has the digest {digest}");
    RefusalKind::Forbidden.with_reason(reason)
}

/// Merges requests for the same document.
fn united(mut wanted: Vec<DocumentRequest>) -> Vec<DocumentRequest> {
    let with: BTreeSet<DocumentId> =
        wanted.iter().filter(|it| it.with_attachments).map(|it| it.id.clone()).collect();
    wanted.sort_by(|one, other| one.id.cmp(&other.id));
    wanted.dedup_by(|one, other| one.id == other.id);
    for one in &mut wanted {
        one.with_attachments = with.contains(&one.id);
    }
    wanted
}

/// A document, with everything that does not depend on the stored state.
struct PreparedDocument {
    id: DocumentId,
    made: RevisionOrigin,
    is_deleted: bool,
    text: Arc<str>,
    kind: Kind,
    attachments: Vec<PreparedAttachment>,
}

/// Origin of a revision.
#[derive(Clone)]
enum RevisionOrigin {
    /// An edit made here, on a base revision if the document names one.
    Here { base: Option<Revision>, fingerprint: Fingerprint },
    /// A revision made elsewhere.
    Elsewhere(Path),
}

struct PreparedAttachment {
    name: String,
    content_type: Option<String>,
    generation: Option<u64>,
    digest: Option<AttachmentDigest>,
    /// `None` for a stub of an attachment that the document already had.
    stored: Option<StoredAttachment>,
}

/// Content of attachments that came with a document, by digest.
type AttachmentContents = Vec<(AttachmentDigest, Vec<u8>)>;

impl PreparedDocument {
    fn of(document: NewDocument, edits: Edits) -> Result<(Self, AttachmentContents), Refusal> {
        let NewDocument { id, sent, mut followed } = document;
        let made = match edits {
            Edits::New => {
                RevisionOrigin::Here { base: sent.base(), fingerprint: sent.body.fingerprint() }
            }
            Edits::Replicated => RevisionOrigin::Elsewhere(sent.replicated()?),
        };
        let (mut attachments, mut held) = (Vec::new(), Vec::new());
        for SentAttachment { name, content_type, generation, digest, form } in sent.attachments {
            let stored = match form {
                SentForm::Stub => None,
                SentForm::Data(bytes) => {
                    let digest = AttachmentDigest::of(&bytes);
                    let length = bytes.len() as u64;
                    held.push((digest.clone(), bytes));
                    Some(StoredAttachment { digest, length })
                }
                SentForm::Follows { .. } => Some(followed.remove(&name).ok_or_else(|| {
                    RefusalKind::BadRequest.with_reason(format_args!(
                        "The request body lacks the attachment {name} of {id}"
                    ))
                })?),
            };
            attachments.push(PreparedAttachment { name, content_type, generation, digest, stored });
        }
        let (kind, is_deleted) = (kind(&sent.body), sent.is_deleted);
        let text = sent.body.into_text().into();
        Ok((Self { id, made, is_deleted, text, kind, attachments }, held))
    }
}

/// Returns the value of a document's `type` member.
fn kind(body: &Body) -> Kind {
    let Some(member) = body.root().member("type") else { return Kind::None };
    match member.value.string() {
        // Half of a surrogate pair would be mistaken for another text.
        Some(text) if !member.value.raw().contains("\\u") => Kind::Text(text.into_owned()),
        _ => Kind::Unknown,
    }
}
