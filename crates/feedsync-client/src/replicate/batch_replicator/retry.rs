//! Retries of documents that were not read or not written the first time.

use std::collections::HashMap;
use std::time::Duration;

use feedsync_couch::RefusalKind;
use feedsync_couch::replication::{
    ChangedDocument, FetchedDocument, MissingDocument, RejectedDocument, UnavailableRevision,
};
use http::StatusCode;
use tokio::sync::SemaphorePermit;
use tokio::time::sleep;

use super::{
    BatchReplicator, MAX_BYTES, READ_BATCH_BYTES, is_document_rejected, is_request_rejected,
    refused,
};
use crate::replicate::{Replicated, ReplicationError};

/// Pause before a document that the source listed but did not have is requested again. Each further pause is
/// longer by this time, up to [`MAX_RETRIES`] attempts.
const RETRY_DELAY: Duration = Duration::from_secs(1);
const MAX_RETRIES: u32 = 3;

impl BatchReplicator {
    /// Requests documents again that a source listed and then did not have. Revisions that the source itself
    /// reports as missing were purged in the meantime. Others may arrive later, if the source consists of
    /// several machines.
    pub(super) async fn recheck_gone(
        &self,
        asked: &[MissingDocument],
        gone: &[UnavailableRevision],
        turn: Option<&SemaphorePermit<'_>>,
        done: &mut Replicated,
    ) -> Result<(), ReplicationError> {
        // Some servers do not name the revision that they cannot read.
        let is_meant = |it: &MissingDocument, revision: &String| {
            gone.iter().any(|one| {
                one.id == it.id && (one.revision.is_empty() || one.revision == *revision)
            })
        };
        let of = |it: &MissingDocument| {
            let revisions = it.revisions.iter().filter(|revision| is_meant(it, revision));
            ChangedDocument { id: it.id.clone(), revisions: revisions.cloned().collect() }
        };
        let named: Vec<_> = asked.iter().map(of).filter(|it| !it.revisions.is_empty()).collect();
        let purged: HashMap<String, Vec<String>> = self
            .source
            .missing(&named)
            .await?
            .into_iter()
            .map(|it| (it.id, it.revisions))
            .collect();
        let mut rest = Vec::new();
        for ChangedDocument { id, mut revisions } in named {
            let is_purged = |it: &String| purged.get(&id).is_some_and(|all| all.contains(it));
            revisions.retain(|it| !is_purged(it));
            if !revisions.is_empty() {
                rest.push(MissingDocument { id, revisions, ancestors: Vec::new() });
            }
        }
        for one in rest {
            self.retry_document(&[one], turn, done).await?;
        }
        Ok(())
    }

    /// Requests a document some more times, and reports the reason if it does not arrive.
    async fn retry_document(
        &self,
        one: &[MissingDocument; 1],
        turn: Option<&SemaphorePermit<'_>>,
        done: &mut Replicated,
    ) -> Result<(), ReplicationError> {
        let most = if turn.is_some() { MAX_BYTES } else { READ_BATCH_BYTES };
        for tries in 1.. {
            sleep(RETRY_DELAY * tries).await;
            match self.source.documents(one, most).await {
                Ok((documents, unread)) if unread.is_empty() => {
                    return self.write(one, (documents, unread), turn, done).await;
                }
                Ok(_) if tries < MAX_RETRIES => {}
                Ok((_, unread)) => {
                    let why = unread.into_iter().next().map(|it| (it.error, it.reason));
                    let (error, reason) = why.unwrap_or_default();
                    done.refuse(RejectedDocument { id: one[0].id.clone(), error, reason });
                    break;
                }
                Err(error) if error.is_too_large() && turn.is_none() => {
                    return Box::pin(self.replicate_large(one, done)).await;
                }
                Err(error) if error.is_too_large() || is_request_rejected(&error) => {
                    done.refuse(refused(one[0].id.clone(), &error));
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Handles a write request that was refused because of the document in it.
    pub(super) async fn write_again(
        &self,
        asked: &[MissingDocument],
        document: FetchedDocument,
        why: ReplicationError,
        turn: Option<&SemaphorePermit<'_>>,
        done: &mut Replicated,
    ) -> Result<(), ReplicationError> {
        let FetchedDocument { id, revision, text } = document;
        // The whole document is read instead.
        drop(text);
        // A user without the right to write gets the same error for an empty request.
        if why.status() == Some(StatusCode::FORBIDDEN) {
            self.target.write(&[]).await?;
        }
        let why = refused(id, &why);
        self.write_whole(asked, (revision, why), turn, done).await
    }

    /// Handles a document that the target refused: if the source sent stubs of attachments that the target lacks, the
    /// document is written with all of its attachments.
    pub(super) async fn write_whole(
        &self,
        asked: &[MissingDocument],
        (revision, why): (String, RejectedDocument),
        turn: Option<&SemaphorePermit<'_>>,
        done: &mut Replicated,
    ) -> Result<(), ReplicationError> {
        let id = why.id.clone();
        let has_stubs = asked.iter().any(|it| it.id == id && !it.ancestors.is_empty());
        if !has_stubs || !lacks_attachments(&why) {
            done.refuse(why);
            return Ok(());
        }
        let whole = [MissingDocument { id, revisions: vec![revision], ancestors: Vec::new() }];
        let most = if turn.is_some() { MAX_BYTES } else { READ_BATCH_BYTES };
        let mut read = self.source.documents(&whole, most).await;
        let mut own_turn = None;
        if turn.is_none() && read.as_ref().is_err_and(ReplicationError::is_too_large) {
            own_turn = Some(self.turn().await?);
            read = self.source.documents(&whole, MAX_BYTES).await;
        }
        let (documents, unread) = match read {
            Err(error) if error.is_too_large() => (Vec::new(), Vec::new()),
            read => read?,
        };
        if documents.is_empty() || !unread.is_empty() {
            done.refuse(why);
        }
        for document in documents {
            match self.send(std::slice::from_ref(&document)).await {
                Ok(refused) if refused.is_empty() => done.stats.written += 1,
                Ok(refused) => refused.into_iter().for_each(|it| done.refuse(it)),
                Err(error) if is_document_rejected(&error) => {
                    done.refuse(refused(document.id, &error))
                }
                Err(error) => return Err(error),
            }
        }
        drop(own_turn);
        Ok(())
    }
}

/// Whether a target refuses a document because it lacks an attachment that a stub names.
pub(super) fn lacks_attachments(why: &RejectedDocument) -> bool {
    why.error == RefusalKind::MissingStub.error()
}
