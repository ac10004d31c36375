//! Pages of changes.

use std::future::{poll_fn, ready};
use std::sync::Arc;
use std::task::Poll;

use feedsync_couch::{ChangesFilter, ChangesRequest};
use feedsync_endpoint::documents::filter;
use feedsync_store::{ChangeNumber, Database, DocumentChanges, LoadedDocument};
use futures_util::future::BoxFuture;

use super::Changes;
use crate::access::RIGHTS_CACHE_TIME;
use crate::couch::pieces::broken;

/// Number of changes per read, and of bytes of the documents.
const PAGE: usize = 1_000;
const PAGE_BYTES: u64 = 4 << 20;

/// A page that is being read.
pub(super) type Page = BoxFuture<'static, Result<DocumentChanges, std::io::Error>>;

/// A page, without the rows that were already sent.
pub(super) struct UnsentPage {
    pub(super) database: Database,
    pub(super) documents: std::vec::IntoIter<LoadedDocument>,
    /// Number of its last change.
    pub(super) reached: ChangeNumber,
    /// Whether it is the last page.
    pub(super) is_end: bool,
}

impl Changes {
    /// Returns the next page, and starts reading the one after it.
    pub(super) async fn read(&mut self) -> Result<UnsentPage, std::io::Error> {
        let DocumentChanges { database, documents, reached, is_end, .. } = match self.ahead.take() {
            Some(ahead) => ahead.await?,
            None => self.page(None, self.left).await?,
        };
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
        Ok(UnsentPage { database, documents: documents.into_iter(), reached, is_end })
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
        let request = Arc::clone(&self.request);
        let most = match (&*request.filter, left) {
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
            page.await.map_err(broken)
        })
    }
}
