//! Pages of changes.

use std::future::{poll_fn, ready};
use std::sync::Arc;
use std::task::Poll;

use feedsync_couch::{ChangesFilter, ChangesRequest, Revision};
use feedsync_endpoint::documents::{DocumentsError, filter};
use feedsync_store::{ChangeNumber, Database, DocumentChanges, LoadedDocument};
use futures_util::future::BoxFuture;
use tokio::time::sleep_until;

use super::Changes;
use crate::access::RIGHTS_CACHE_TIME;
use crate::couch::pieces::broken;

/// Number of changes per read, and of bytes of the documents.
const PAGE: usize = 1_000;
const PAGE_BYTES: u64 = 4 << 20;

/// Number of changes per read that a function selects from: a page has few calls, so that a feed that is aborted or limited
/// executes few for nothing.
const FUNCTION_PAGE: usize = 100;

/// A page that is being read.
pub(super) type Page = BoxFuture<'static, Result<ReadPage, DocumentsError>>;

/// A page, and the leaves of each document that a function has selected.
pub(super) struct ReadPage {
    changes: DocumentChanges,
    accepted: Option<Vec<Vec<Revision>>>,
}

/// A document of a page, and its leaves that a function has selected.
pub(super) type PageDocument = (LoadedDocument, Option<Vec<Revision>>);

/// A page, without the rows that were already sent.
pub(super) struct UnsentPage {
    pub(super) database: Database,
    pub(super) documents: std::vec::IntoIter<PageDocument>,
    /// Number of its last change.
    pub(super) reached: ChangeNumber,
    /// Whether it is the last page.
    pub(super) is_end: bool,
}

impl Changes {
    /// Returns the next page, and starts reading the one after it.
    pub(super) async fn read(&mut self) -> Result<UnsentPage, std::io::Error> {
        let page = match self.ahead.take() {
            Some(ahead) => ahead,
            None => self.page(None, self.left),
        };
        let ReadPage { changes, accepted } = page.await.map_err(broken)?;
        let DocumentChanges { database, documents, reached, is_end, .. } = changes;
        if self.admitted.elapsed() >= RIGHTS_CACHE_TIME && !self.may_go_on().await {
            return Err(broken("the client may no longer use the database"));
        }
        if database.epoch != self.epoch {
            return Err(broken("the database was dropped and created again"));
        }
        // There is nothing to read after the last change.
        let is_end = is_end || !self.request.is_descending && reached >= database.last;
        if !is_end {
            self.read_ahead(reached, documents.len()).await;
        }
        let documents: Vec<PageDocument> = match accepted {
            None => documents.into_iter().map(|read| (read, None)).collect(),
            Some(accepted) => documents.into_iter().zip(accepted.into_iter().map(Some)).collect(),
        };
        Ok(UnsentPage { database, documents: documents.into_iter(), reached, is_end })
    }

    /// Reads the first page before the response begins.
    pub(super) async fn read_first(&mut self) -> Result<(), DocumentsError> {
        if self.left != Some(0) {
            let page = self.page(None, self.left).await?;
            self.ahead = Some(Box::pin(ready(Ok(page))));
        }
        Ok(())
    }

    /// Waits for the next page. Returns `false` if a heartbeat is due before; the page is still read then.
    pub(super) async fn wait_for_page(&mut self) -> bool {
        let beat = self.request.heartbeat;
        let Some(beat) = beat.filter(|_| self.unsent.is_none() && self.left != Some(0)) else {
            return true;
        };
        let due = self.sent + beat;
        let mut page = match self.ahead.take() {
            Some(ahead) => ahead,
            None => self.page(None, self.left),
        };
        let read = tokio::select! {
            biased;
            read = &mut page => Some(read),
            () = sleep_until(due) => None,
        };
        let is_read = read.is_some();
        self.ahead = Some(read.map_or(page, |read| Box::pin(ready(read))));
        is_read
    }

    /// Starts reading the next page, so that the store reads while the rows of this one are written and sent.
    /// It assumes that all rows of this page are sent, so it reads no more changes than the limit would then
    /// leave.
    async fn read_ahead(&mut self, reached: ChangeNumber, told: usize) {
        let left = self.left.map(|left| left.saturating_sub(told as u64));
        if left == Some(0) {
            return;
        }
        let mut page = self.page(Some(reached), left);
        // The first poll starts the read.
        let begun = poll_fn(|context| Poll::Ready(page.as_mut().poll(context))).await;
        self.ahead = Some(match begun {
            Poll::Ready(read) => Box::pin(ready(read)),
            Poll::Pending => page,
        });
    }

    /// Returns the page after a number, or after what was sent, with at most so many changes.
    fn page(&self, reached: Option<ChangeNumber>, left: Option<u64>) -> Page {
        let (name, databases) = (self.name.clone(), Arc::clone(&self.asked.databases));
        let (after, before) = match reached {
            Some(reached) if !self.request.is_descending => (reached, None),
            reached => (self.after, reached.or(self.before)),
        };
        let (request, function) = (Arc::clone(&self.request), self.function.clone());
        let most = match (&*request.filter, left) {
            (ChangesFilter::Function(..), _) => FUNCTION_PAGE,
            // A selector may match none of the changes it reads.
            (ChangesFilter::Selector(_), _) | (_, None) => PAGE,
            (_, Some(left)) => PAGE.min(usize::try_from(left).unwrap_or(PAGE)),
        };
        Box::pin(async move {
            let ChangesRequest { filter, all_leaves, include_docs, .. } = &*request;
            let choose = filter::chosen(filter, *all_leaves, *include_docs);
            let page = match request.is_descending {
                true => databases
                    .latest_document_changes(&name, after, before, most, choose, PAGE_BYTES),
                false => {
                    let skip_kind = filter::skips_kind(filter);
                    databases.document_changes(&name, after, most, skip_kind, choose, PAGE_BYTES)
                }
            };
            let changes = page.await?;
            let accepted = match &function {
                Some(function) => Some(function.accepted(&changes, *all_leaves).await?),
                None => None,
            };
            Ok(ReadPage { changes, accepted })
        })
    }
}
