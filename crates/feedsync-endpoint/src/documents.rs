//! Documents of databases: edits and replicated revisions become writes of a store.

mod decide;
pub mod difference;
pub mod filter;
pub mod leaves;
mod purge;
pub mod sequence;
pub mod show;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use feedsync_couch::{
    AttachmentDigest, Body, DatabaseName, DocumentId, Fingerprint, Path, Refusal, RefusalKind,
    Revision, SentAttachment, SentForm, Submission,
};
use feedsync_store::{
    Database, Databases, DatabasesExt as _, DocumentWrite, Kind, Moment, StoreError, Wanted,
};

pub use purge::purge_documents;

use crate::endpoint::Endpoint;

/// A document that is to be written.
#[derive(Debug, Clone)]
pub struct NewDocument {
    /// Which.
    pub id: DocumentId,
    /// What is sent.
    pub sent: Submission,
    /// What came behind it, by name: attachments that [follow](SentForm::Follows), as they were stored.
    pub followed: BTreeMap<String, StoredAttachment>,
}

/// What an attachment holds, as it was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredAttachment {
    /// What it is known by.
    pub digest: AttachmentDigest,
    /// Its length in bytes.
    pub length: u64,
}

/// How documents are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edits {
    /// Each is an edit of what is here, or a conflict (`new_edits: true`).
    New,
    /// Each is a revision that was made elsewhere, and joins those that are here (`new_edits: false`).
    Replicated,
}

/// What came of each document, in their order.
pub type Written = Vec<Result<Revision, Refusal>>;

/// Why documents were not written.
#[derive(Debug, thiserror::Error)]
pub enum DocumentsError {
    /// All of them are refused for the sake of one.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The store did not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// So many databases are looked at at once.
const PAGE: usize = 1_000;

/// So many documents are compacted at once.
const COMPACTED: usize = 500;

/// So many documents are written at once: others write between those of one request.
const WRITTEN: usize = 2_000;

/// What came so long ago, in microseconds, is not that of a document which is on its way.
const ON_ITS_WAY: u64 = 24 * 60 * 60 * 1_000_000;

/// A database with fewer bytes of superseded revisions is left alone.
const WORTH_IT: u64 = 1 << 20;

impl Endpoint {
    /// The databases of documents.
    pub fn databases(&self) -> Arc<dyn Databases> {
        Arc::clone(self.store()).databases()
    }

    /// Lets go of what superseded revisions say, and of attachments that nothing names. The room of that is given back
    /// by [`Databases::sweep_databases`].
    pub async fn compact_database(&self, name: &DatabaseName) -> Result<(), StoreError> {
        self.compact_documents(name).await?;
        self.sweep_attachments(Some(name)).await
    }

    async fn compact_documents(&self, name: &DatabaseName) -> Result<(), StoreError> {
        let databases = self.databases();
        let mut after = None;
        loop {
            after = databases.compact_documents(name, after.as_ref(), COMPACTED).await?;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Of one database, or of all.
    async fn sweep_attachments(&self, of: Option<&DatabaseName>) -> Result<(), StoreError> {
        let now = self.environment().now().micros();
        let before = Moment::from_micros(now.saturating_sub(ON_ITS_WAY));
        self.databases().sweep_attachments(of, before).await.map(drop)
    }

    /// Compacts the databases of which more than half is superseded; how many. Attachments that nothing names go from
    /// all. What fails keeps nothing else back, and is told at the end.
    pub async fn compact_databases(&self) -> Result<u64, StoreError> {
        let databases = self.databases();
        let (mut after, mut count, mut failure) = (None, 0, Ok(()));
        loop {
            let page = Databases::databases(&*databases, after.as_ref(), PAGE).await?;
            let Some(last) = page.last().map(|database| database.name.clone()) else {
                self.sweep_attachments(None).await?;
                return failure.map(|()| count);
            };
            let is_due = |it: &&Database| it.superseded >= WORTH_IT && it.superseded > it.bytes / 2;
            for Database { name, .. } in page.iter().filter(is_due) {
                match self.compact_documents(name).await {
                    Ok(()) => count += 1,
                    // It was dropped meanwhile.
                    Err(StoreError::NoDatabase(_)) => {}
                    failed => failure = failure.and(failed),
                }
            }
            after = Some(last);
        }
    }
}

/// Writes documents, if the database still is the same one, two thousand in one transaction.
///
/// A document that was [made elsewhere](Edits::Replicated) is refused alone: its result says why, and the others are
/// written. Of [edits](Edits::New), a faulty document refuses all of its transaction, as in CouchDB; a conflict is the
/// result of its document alone.
pub async fn write_documents(
    databases: &dyn Databases,
    database: &Database,
    documents: Vec<NewDocument>,
    edits: Edits,
) -> Result<Written, DocumentsError> {
    let count = documents.len();
    let (mut prepared, mut refused) = (Vec::with_capacity(count), BTreeMap::new());
    for (at, document) in documents.into_iter().enumerate() {
        match prepare(databases, &database.name, document, edits).await {
            Ok(document) => prepared.push(document),
            Err(DocumentsError::Refused(refusal)) if edits == Edits::Replicated => {
                refused.insert(at, refusal);
            }
            Err(error) => return Err(error),
        }
    }
    let mut rest = prepared.into_iter();
    let mut written = Vec::with_capacity(rest.len());
    loop {
        let some: Arc<[Prepared]> = rest.by_ref().take(WRITTEN).collect();
        let mut done = write_prepared(databases, database, Arc::clone(&some), None).await;
        if let Err(DocumentsError::Refused(refusal)) = &done
            && refusal.kind == RefusalKind::MissingStub
        {
            let elsewhere = stored_elsewhere(databases, &database.name, &some).await?;
            if !elsewhere.is_empty() || edits == Edits::Replicated {
                done = write_prepared(databases, database, some, Some(elsewhere)).await;
            }
        }
        written.append(&mut done?);
        if rest.len() == 0 {
            break;
        }
    }
    let mut written = written.into_iter();
    let result = |at| refused.remove(&at).map_or_else(|| written.next(), |it| Some(Err(it)));
    Ok((0..count).filter_map(result).collect())
}

/// Checks a document and stores the attachments that came with it.
async fn prepare(
    databases: &dyn Databases,
    name: &DatabaseName,
    document: NewDocument,
    edits: Edits,
) -> Result<Prepared, DocumentsError> {
    let (document, held) = Prepared::of(document, edits)?;
    for (digest, bytes) in held {
        if !databases.put_attachment(name, &digest, bytes).await? {
            return Err(known_otherwise(&digest).into());
        }
    }
    Ok(document)
}

/// Writes documents in one transaction.
async fn write_prepared(
    databases: &dyn Databases,
    Database { name, epoch, .. }: &Database,
    prepared: Arc<[Prepared]>,
    elsewhere: Option<Elsewhere>,
) -> Result<Written, DocumentsError> {
    // What is brought from elsewhere is compared with what was there before.
    let with_attachments = |document: &Prepared| Wanted {
        id: document.id.clone(),
        with_attachments: match document.made {
            Made::Here { .. } => document.attachments.iter().any(|it| it.stored.is_none()),
            Made::Elsewhere(_) => !document.attachments.is_empty(),
        },
    };
    let wanted: Vec<Wanted> = prepared.iter().map(with_attachments).collect();
    let epoch = *epoch;
    let (_, outcome) = databases
        .decide_documents(name, united(wanted), move |snapshot| {
            if snapshot.database().epoch != epoch {
                let gone = RefusalKind::NotFound.because("Database does not exist.");
                return (Vec::new(), Err(gone));
            }
            match decide::decide(snapshot, &prepared, elsewhere.as_ref()) {
                Ok((writes, written)) => (writes, Ok(written)),
                Err(refusal) => (Vec::<DocumentWrite>::new(), Err(refusal)),
            }
        })
        .await?;
    Ok(outcome?)
}

/// The lengths of attachments that other documents of the database have.
type Elsewhere = BTreeMap<AttachmentDigest, u64>;

/// Returns the attachments that stubs of documents name by digest (9.1): those that a revision of another document
/// names, or that another of these documents brings. Content that nothing names any more, as after a compaction, is as
/// good as gone. What is found is stored anew, so that no sweep removes it before the documents are written.
async fn stored_elsewhere(
    databases: &dyn Databases,
    name: &DatabaseName,
    documents: &[Prepared],
) -> Result<Elsewhere, StoreError> {
    let attachments = || documents.iter().flat_map(|it| &it.attachments);
    let stubs = attachments().filter(|it| it.stored.is_none());
    let digests: BTreeSet<&AttachmentDigest> = stubs.filter_map(|it| it.digest.as_ref()).collect();
    let brought: BTreeSet<&AttachmentDigest> =
        attachments().filter_map(|it| Some(&it.stored.as_ref()?.digest)).collect();
    let mut elsewhere = Elsewhere::new();
    for digest in digests {
        if !brought.contains(digest) && !databases.names_attachment(name, digest).await? {
            continue;
        }
        let Some(bytes) = databases.attachment(name, digest).await? else { continue };
        let length = bytes.len() as u64;
        if databases.put_attachment(name, digest, bytes).await? {
            elsewhere.insert(digest.clone(), length);
        }
    }
    Ok(elsewhere)
}

/// Two things that are known by one digest cannot be told apart: the later is not taken.
pub fn known_otherwise(digest: &AttachmentDigest) -> Refusal {
    let reason = format_args!(
        "An attachment is here that holds something else and is known as {digest}, too"
    );
    RefusalKind::Forbidden.because(reason)
}

/// Each document once.
fn united(mut wanted: Vec<Wanted>) -> Vec<Wanted> {
    let with: BTreeSet<DocumentId> =
        wanted.iter().filter(|it| it.with_attachments).map(|it| it.id.clone()).collect();
    wanted.sort_by(|one, other| one.id.cmp(&other.id));
    wanted.dedup_by(|one, other| one.id == other.id);
    for one in &mut wanted {
        one.with_attachments = with.contains(&one.id);
    }
    wanted
}

/// A document of which all is known that does not depend on what is here.
struct Prepared {
    id: DocumentId,
    made: Made,
    is_deleted: bool,
    text: Arc<str>,
    kind: Kind,
    attachments: Vec<PreparedAttachment>,
}

/// How a revision was made.
enum Made {
    /// Here, on a revision, if it says on which.
    Here { base: Option<Revision>, fingerprint: Fingerprint },
    /// Elsewhere.
    Elsewhere(Path),
}

struct PreparedAttachment {
    name: String,
    content_type: Option<String>,
    generation: Option<u64>,
    digest: Option<AttachmentDigest>,
    /// Unless it is one that the document had.
    stored: Option<StoredAttachment>,
}

/// What attachments hold that came with a document.
type Held = Vec<(AttachmentDigest, Vec<u8>)>;

impl Prepared {
    fn of(document: NewDocument, edits: Edits) -> Result<(Self, Held), Refusal> {
        let NewDocument { id, sent, mut followed } = document;
        let made = match edits {
            Edits::New => Made::Here { base: sent.base(), fingerprint: sent.body.fingerprint() },
            Edits::Replicated => Made::Elsewhere(sent.replicated()?),
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
                    RefusalKind::BadRequest
                        .because(format_args!("The attachment {name} of {id} does not follow"))
                })?),
            };
            attachments.push(PreparedAttachment { name, content_type, generation, digest, stored });
        }
        let (kind, is_deleted) = (kind(&sent.body), sent.is_deleted);
        let text = sent.body.into_text().into();
        Ok((Self { id, made, is_deleted, text, kind, attachments }, held))
    }
}

/// What a document says that it is.
fn kind(body: &Body) -> Kind {
    let Some(member) = body.root().member("type") else { return Kind::None };
    match member.value.string() {
        // Half of a surrogate pair would be taken for another.
        Some(text) if !member.value.raw().contains("\\u") => Kind::Text(text.into_owned()),
        _ => Kind::Unknown,
    }
}
