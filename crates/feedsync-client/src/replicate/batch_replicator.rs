//! Transfer of changed documents from a source to a target.

mod retry;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use feedsync_couch::replication::{
    ChangedDocument, FetchedDocument, InvalidResponse, MissingDocument, RejectedDocument,
    UnavailableRevision,
};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::{Replica, Replicated, ReplicationError};
use retry::lacks_attachments;

/// Maximum number of bytes that are read in one request, unless one document has more.
const READ_BATCH_BYTES: u64 = 8 << 20;

/// Maximum number of bytes of a document; larger ones are not replicated.
pub(super) const MAX_BYTES: u64 = 256 << 20;

/// Maximum number of bytes that are written in one request, unless one document has more.
const WRITE_BATCH_BYTES: usize = 4 << 20;

/// Maximum number of bytes in concurrent writes. With more, a slow connection would be busy for so long that
/// each write would seem to hang.
const MAX_BYTES_IN_FLIGHT: usize = 2 * WRITE_BATCH_BYTES;

/// Transfers batches.
#[derive(Clone)]
pub(super) struct BatchReplicator {
    source: Arc<dyn Replica>,
    target: Arc<dyn Replica>,
    /// Permit for the one large document that may be in memory.
    large: Arc<Semaphore>,
    /// Budget of bytes in concurrent writes to the target.
    way: Arc<Semaphore>,
    /// Maximum number of documents in one read, as learnt from responses that were too large.
    fitting: Arc<AtomicUsize>,
}

impl BatchReplicator {
    pub(super) fn new(source: Arc<dyn Replica>, target: Arc<dyn Replica>) -> Self {
        let fitting = Arc::new(AtomicUsize::new(usize::MAX));
        let [large, way] =
            [1, MAX_BYTES_IN_FLIGHT].map(|permits| Arc::new(Semaphore::new(permits)));
        Self { source, target, large, way, fitting }
    }

    /// Transfers documents; returns the outcome.
    pub(super) async fn replicate_batch(
        &self,
        changed: &[ChangedDocument],
    ) -> Result<Replicated, ReplicationError> {
        let mut done = Replicated::default();
        let mut parts = vec![changed];
        while let Some(part) = parts.pop() {
            if part.is_empty() {
                continue;
            }
            match (self.target.missing(part).await, part) {
                (Err(error), [one]) if is_request_rejected(&error) => {
                    done.refuse(refused(one.id.clone(), &error));
                }
                // One of the documents is the cause.
                (Err(error), part) if is_request_rejected(&error) => {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                }
                (missing, part) => {
                    let missing = self.check_missing(part, missing?)?;
                    let count = |lengths: usize| lengths as u64;
                    done.stats.checked +=
                        part.iter().map(|it| count(it.revisions.len())).sum::<u64>();
                    done.stats.missing +=
                        missing.iter().map(|it| count(it.revisions.len())).sum::<u64>();
                    self.read(missing, &mut done).await?;
                }
            }
        }
        Ok(done)
    }

    /// Checks that the target lists only revisions that it was asked about: a target does not choose
    /// documents by itself.
    fn check_missing(
        &self,
        changed: &[ChangedDocument],
        missing: Vec<MissingDocument>,
    ) -> Result<Vec<MissingDocument>, ReplicationError> {
        let mut asked: HashMap<&str, &[String]> =
            changed.iter().map(|it| (&*it.id, &*it.revisions)).collect();
        for MissingDocument { id, revisions, .. } in &missing {
            let known = asked.remove(&**id).unwrap_or_default();
            let is_known = |it: &String| known.iter().any(|other| other.eq_ignore_ascii_case(it));
            if !revisions.iter().all(is_known) {
                let source =
                    InvalidResponse("the target lists revisions that were not in the request");
                return Err(ReplicationError::Answer { database: self.target.shown(), source });
            }
        }
        Ok(missing)
    }

    /// Reads missing revisions, in parts that fit into memory, and writes them.
    async fn read(
        &self,
        missing: Vec<MissingDocument>,
        done: &mut Replicated,
    ) -> Result<(), ReplicationError> {
        let mut parts = vec![missing];
        while let Some(mut part) = parts.pop() {
            if part.is_empty() {
                continue;
            }
            // A part that is too large is read in vain.
            let most = self.fitting.load(Ordering::Relaxed);
            if part.len() > most {
                parts.push(part.split_off(most));
            }
            match self.source.documents(&part, READ_BATCH_BYTES).await {
                Err(error) if error.is_too_large() || is_request_rejected(&error) => {
                    if error.is_too_large() {
                        self.fitting.fetch_min((part.len() / 2).max(1), Ordering::Relaxed);
                    }
                    match halves(part) {
                        Ok(halves) => parts.extend(halves),
                        Err(one) if error.is_too_large() => {
                            self.replicate_large(&one, done).await?
                        }
                        Err(one) => {
                            one.into_iter().for_each(|it| done.refuse(refused(it.id, &error)))
                        }
                    }
                }
                read => {
                    let read = read?;
                    let bytes: u64 = read.0.iter().map(|it| it.text.len() as u64).sum();
                    if bytes <= READ_BATCH_BYTES / 4 {
                        self.fitting.fetch_max(part.len().saturating_mul(2), Ordering::Relaxed);
                    }
                    self.write(&part, read, None, done).await?;
                }
            }
        }
        Ok(())
    }

    /// Checks that a response has all requested documents, and no others.
    fn answered(
        &self,
        asked: &[MissingDocument],
        documents: &[FetchedDocument],
        unread: &[UnavailableRevision],
    ) -> Result<(), ReplicationError> {
        let mut told: HashMap<&str, (Vec<&FetchedDocument>, Vec<&UnavailableRevision>)> =
            asked.iter().map(|it| (&*it.id, Default::default())).collect();
        let bad = |reason| ReplicationError::Answer {
            database: self.source.shown(),
            source: InvalidResponse(reason),
        };
        for document in documents {
            let of = told.get_mut(&*document.id);
            of.ok_or_else(|| bad("the response has a document that was not requested"))?
                .0
                .push(document);
        }
        for one in unread {
            let of = told.get_mut(&*one.id);
            of.ok_or_else(|| bad("the response has a document that was not requested"))?
                .1
                .push(one);
        }
        for MissingDocument { id, revisions, .. } in asked {
            let (documents, unread) = &told[&**id];
            let named: HashSet<&str> = documents.iter().map(|it| &*it.revision).collect();
            let is_told = |it: &String| {
                named.contains(&**it)
                    // Some servers do not name the revision that they cannot read.
                    || unread.iter().any(|one| one.revision.is_empty() || one.revision == *it)
                    || documents.iter().any(|document| document.descends_from(it))
            };
            if !revisions.iter().all(is_told) {
                return Err(bad("the response lacks a requested document"));
            }
        }
        Ok(())
    }

    /// Transfers a large document.
    async fn replicate_large(
        &self,
        one: &[MissingDocument],
        done: &mut Replicated,
    ) -> Result<(), ReplicationError> {
        let turn = self.turn().await?;
        match self.source.documents(one, MAX_BYTES).await {
            Err(error) if error.is_too_large() || is_request_rejected(&error) => {
                one.iter().for_each(|it| done.refuse(refused(it.id.clone(), &error)));
                Ok(())
            }
            read => self.write(one, read?, Some(&turn), done).await,
        }
    }

    /// Waits for the permit for a large document.
    async fn turn(&self) -> Result<SemaphorePermit<'_>, ReplicationError> {
        self.large.acquire().await.map_err(|_| ReplicationError::Ended)
    }

    /// Writes documents, once the byte budget allows it; returns those that are refused.
    async fn send(
        &self,
        documents: &[FetchedDocument],
    ) -> Result<Vec<RejectedDocument>, ReplicationError> {
        let bytes: usize = documents.iter().map(|document| document.text.len()).sum();
        let room = self.way.acquire_many(bytes.min(MAX_BYTES_IN_FLIGHT) as u32).await;
        let _room = room.map_err(|_| ReplicationError::Ended)?;
        self.target.write(documents).await
    }

    /// Writes documents that were read. `turn` is the permit for a large document, if there is one.
    async fn write(
        &self,
        asked: &[MissingDocument],
        (documents, unread): (Vec<FetchedDocument>, Vec<UnavailableRevision>),
        turn: Option<&SemaphorePermit<'_>>,
        done: &mut Replicated,
    ) -> Result<(), ReplicationError> {
        self.answered(asked, &documents, &unread)?;
        let (gone, refused): (Vec<_>, Vec<_>) =
            unread.into_iter().partition(|it| it.error == "not_found");
        refused.into_iter().for_each(|UnavailableRevision { id, error, reason, .. }| {
            done.refuse(RejectedDocument { id, error, reason });
        });
        done.stats.read += documents.len() as u64;
        let mut parts = write_batches(documents);
        while let Some(part) = parts.pop() {
            match self.send(&part).await {
                Ok(refused) => {
                    let (lacking, refused): (Vec<_>, Vec<_>) =
                        refused.into_iter().partition(lacks_attachments);
                    let names = |it: FetchedDocument| {
                        let why = lacking.iter().find(|why| why.id == it.id)?;
                        Some((it.revision, why.clone()))
                    };
                    let all = part.len();
                    // A refusal does not name the revision, so all revisions of the document are written
                    // again.
                    let lacking: Vec<_> = part.into_iter().filter_map(names).collect();
                    let not_written = refused.len() + lacking.len();
                    done.stats.written += all.saturating_sub(not_written) as u64;
                    refused.into_iter().for_each(|it| done.refuse(it));
                    for again in lacking {
                        self.write_whole(asked, again, turn, done).await?;
                    }
                }
                // One of the documents is the cause.
                Err(error) if is_document_rejected(&error) && part.len() > 1 => {
                    let mut first = part;
                    let second = first.split_off(first.len() / 2);
                    parts.extend([second, first]);
                }
                Err(error) if is_document_rejected(&error) => {
                    if let Some(document) = part.into_iter().next() {
                        self.write_again(asked, document, error, turn, done).await?;
                    }
                }
                Err(error) => return Err(error),
            }
        }
        match gone.is_empty() {
            true => Ok(()),
            false => Box::pin(self.recheck_gone(asked, &gone, turn, done)).await,
        }
    }
}

fn refused(id: String, why: &ReplicationError) -> RejectedDocument {
    let (error, reason) = why.describe();
    RejectedDocument { id, error, reason }
}

/// Whether a request was refused because of its content and not because of the user. A refusal without a
/// reason in the form of databases comes from a proxy. It says nothing about a document, except that it is
/// too large for the proxy.
fn is_request_rejected(error: &ReplicationError) -> bool {
    match error.status().map(|it| it.as_u16()) {
        Some(400 | 422) => error.is_explained(),
        Some(413) => true,
        _ => false,
    }
}

/// Whether a write was refused because of the documents in it.
fn is_document_rejected(error: &ReplicationError) -> bool {
    is_request_rejected(error)
        || error.is_explained()
            && matches!(error.status().map(|it| it.as_u16()), Some(403 | 409 | 412))
}

/// Splits a part in two; a part that cannot be split is returned as the error.
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

/// Splits documents into portions for one write each, the last first.
fn write_batches(documents: Vec<FetchedDocument>) -> Vec<Vec<FetchedDocument>> {
    let mut write_batches: Vec<Vec<FetchedDocument>> = Vec::new();
    let mut bytes = usize::MAX;
    for document in documents {
        bytes = bytes.saturating_add(document.text.len());
        match write_batches.last_mut() {
            Some(portion) if bytes <= WRITE_BATCH_BYTES => portion.push(document),
            _ => {
                bytes = document.text.len();
                write_batches.push(vec![document]);
            }
        }
    }
    write_batches.reverse();
    write_batches
}
