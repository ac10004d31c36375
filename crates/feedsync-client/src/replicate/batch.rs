//! Some changed documents, carried from a source to a target.

use std::sync::Arc;

use feedsync_couch::replication::{
    ChangedDocument, ChangesPage, FetchedDocument, MissingDocument, NotWritten, Place, Unread,
};
use http::StatusCode;
use tokio::sync::Semaphore;

use super::{Replica, Replicated, ReplicationError};

/// So many bytes are read at once, unless one document has more.
const READ_BYTES: u64 = 8 << 20;

/// A document with more bytes is not replicated.
const MOST_BYTES: u64 = 256 << 20;

/// So many bytes are written at once, unless one document has more.
const WRITTEN_BYTES: usize = 4 << 20;

/// Some changed documents.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) documents: Vec<ChangedDocument>,
    /// The place that is reached with it.
    pub(super) last: Option<Place>,
}

impl Batch {
    /// The batches of a page, of so many documents each.
    pub(super) fn of(page: ChangesPage, most: usize) -> Vec<Self> {
        let mut batches = Vec::new();
        let mut documents = page.documents.into_iter();
        loop {
            let part: Vec<_> = documents.by_ref().take(most).collect();
            let is_last = documents.len() == 0;
            let last = is_last.then(|| page.last.clone());
            batches.push(Self { documents: part, last });
            if is_last {
                return batches;
            }
        }
    }
}

/// Who carries batches.
#[derive(Clone)]
pub(super) struct Carrier {
    source: Arc<dyn Replica>,
    target: Arc<dyn Replica>,
    /// One large document is in memory at a time.
    large: Arc<Semaphore>,
}

impl Carrier {
    pub(super) fn new(source: Arc<dyn Replica>, target: Arc<dyn Replica>) -> Self {
        Self { source, target, large: Arc::new(Semaphore::new(1)) }
    }

    /// Carries documents; what came of it.
    pub(super) async fn carry(
        &self,
        changed: &[ChangedDocument],
    ) -> Result<Replicated, ReplicationError> {
        let mut done = Replicated::default();
        if changed.is_empty() {
            return Ok(done);
        }
        let missing = self.target.missing(changed).await?;
        let count = |lengths: usize| lengths as u64;
        done.worked.checked = changed.iter().map(|it| count(it.revisions.len())).sum();
        done.worked.missing = missing.iter().map(|it| count(it.revisions.len())).sum();
        let mut parts = vec![missing];
        while let Some(part) = parts.pop().filter(|part| !part.is_empty()) {
            match self.source.documents(&part, READ_BYTES).await {
                Err(error) if error.is_too_large() => match halves(part) {
                    Ok(halves) => parts.extend(halves),
                    Err(one) => self.carry_large(&one, &mut done).await?,
                },
                read => self.write(&part, read?, &mut done).await?,
            }
        }
        Ok(done)
    }

    /// Carries a document that is large.
    async fn carry_large(
        &self,
        one: &[MissingDocument],
        done: &mut Replicated,
    ) -> Result<(), ReplicationError> {
        let _turn = self.large.acquire().await.map_err(|_| ReplicationError::Ended)?;
        match self.source.documents(one, MOST_BYTES).await {
            Err(error) if error.is_too_large() => {
                let (error, reason) = error.said();
                let id = one.first().map(|it| it.id.clone()).unwrap_or_default();
                done.refuse(NotWritten { id, error, reason });
                Ok(())
            }
            read => self.write(one, read?, done).await,
        }
    }

    /// Writes what was read.
    async fn write(
        &self,
        asked: &[MissingDocument],
        (documents, unread): (Vec<FetchedDocument>, Vec<Unread>),
        done: &mut Replicated,
    ) -> Result<(), ReplicationError> {
        // What is not there any more was replaced by what another change tells of, or purged.
        let refused = unread.into_iter().filter(|it| it.error != "not_found");
        refused.for_each(|Unread { id, error, reason, .. }| {
            done.refuse(NotWritten { id, error, reason });
        });
        done.worked.read += documents.len() as u64;
        let mut parts = portions(documents);
        while let Some(part) = parts.pop() {
            match self.target.write(&part).await {
                Ok(refused) => {
                    done.worked.written += part.len().saturating_sub(refused.len()) as u64;
                    refused.into_iter().for_each(|it| done.refuse(it));
                }
                // One of them is the cause.
                Err(error) if is_of_a_document(&error) && part.len() > 1 => {
                    let mut first = part;
                    let second = first.split_off(first.len() / 2);
                    parts.extend([second, first]);
                }
                Err(error) if is_of_a_document(&error) => {
                    self.write_again(asked, part, error, done).await?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes a document that was refused once more, with all that its attachments hold.
    async fn write_again(
        &self,
        asked: &[MissingDocument],
        refused: Vec<FetchedDocument>,
        why: ReplicationError,
        done: &mut Replicated,
    ) -> Result<(), ReplicationError> {
        let Some(document) = refused.into_iter().next() else { return Ok(()) };
        let FetchedDocument { id, revision, .. } = document;
        let has_stubs = asked.iter().any(|it| it.id == id && !it.ancestors.is_empty());
        if !has_stubs || why.status() != Some(StatusCode::PRECONDITION_FAILED) {
            let (error, reason) = why.said();
            done.refuse(NotWritten { id, error, reason });
            return Ok(());
        }
        let whole = MissingDocument { id, revisions: vec![revision], ancestors: Vec::new() };
        let (documents, _) = self.source.documents(&[whole], MOST_BYTES).await?;
        for document in documents {
            match self.target.write(std::slice::from_ref(&document)).await {
                Ok(refused) if refused.is_empty() => done.worked.written += 1,
                Ok(refused) => refused.into_iter().for_each(|it| done.refuse(it)),
                Err(error) if is_of_a_document(&error) => {
                    let (error, reason) = error.said();
                    done.refuse(NotWritten { id: document.id, error, reason });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Whether what was sent is refused for what it is, and not for who sends it.
fn is_of_a_document(error: &ReplicationError) -> bool {
    matches!(error.status().map(|it| it.as_u16()), Some(400 | 403 | 409 | 412 | 413 | 422))
}

/// Two parts; what cannot be parted as it is.
fn halves(
    mut part: Vec<MissingDocument>,
) -> Result<[Vec<MissingDocument>; 2], Vec<MissingDocument>> {
    if part.len() > 1 {
        let second = part.split_off(part.len() / 2);
        return Ok([second, part]);
    }
    match part.first_mut() {
        Some(one) if one.revisions.len() > 1 => {
            let revisions = one.revisions.split_off(one.revisions.len() / 2);
            let second = vec![MissingDocument { revisions, ..one.clone() }];
            Ok([second, part])
        }
        _ => Err(part),
    }
}

/// What is written at once, the last first.
fn portions(documents: Vec<FetchedDocument>) -> Vec<Vec<FetchedDocument>> {
    let mut portions: Vec<Vec<FetchedDocument>> = Vec::new();
    let mut bytes = usize::MAX;
    for document in documents {
        bytes = bytes.saturating_add(document.text.len());
        match portions.last_mut() {
            Some(portion) if bytes <= WRITTEN_BYTES => portion.push(document),
            _ => {
                bytes = document.text.len();
                portions.push(vec![document]);
            }
        }
    }
    portions.reverse();
    portions
}
