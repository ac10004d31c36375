//! Changes, read a page after the other.

use std::future::{poll_fn, ready};
use std::sync::Arc;
use std::task::Poll;

use feedsync_couch::{ChangesFilter, ChangesRequest};
use feedsync_endpoint::documents::filter;
use feedsync_store::{Database, DocumentChanges, Number, ReadDocument};
use futures_util::future::BoxFuture;

use super::Changes;
use crate::access::BELIEVED;
use crate::couch::pieces::broken;

/// So many changes are read at once, and so many bytes of what documents say.
const PAGE: usize = 1_000;
const PAGE_BYTES: u64 = 4 << 20;

/// A page that is being read.
pub(super) type Page = BoxFuture<'static, Result<DocumentChanges, std::io::Error>>;

/// A page, as far as it was not told yet.
pub(super) struct Untold {
    pub(super) database: Database,
    pub(super) documents: std::vec::IntoIter<ReadDocument>,
    /// Where it ends.
    pub(super) reached: Number,
    /// Whether nothing is behind it.
    pub(super) is_end: bool,
}

impl Changes {
    /// The next page; the one behind it is begun.
    pub(super) async fn read(&mut self) -> Result<Untold, std::io::Error> {
        let DocumentChanges { database, documents, reached, is_end, .. } = match self.ahead.take() {
            Some(ahead) => ahead.await?,
            None => self.page(None, self.left).await?,
        };
        if self.admitted.elapsed() >= BELIEVED && !self.may_go_on().await {
            return Err(broken("whoever asks may use the database no longer"));
        }
        if database.epoch != self.epoch {
            return Err(broken("the database is another one by now"));
        }
        // Of what is behind the last change there is nothing to be read.
        let is_end = is_end || !self.request.is_descending && reached >= database.last;
        if !is_end {
            self.read_ahead(reached, documents.len()).await;
        }
        Ok(Untold { database, documents: documents.into_iter(), reached, is_end })
    }

    /// Begins to read the next page, so that the store reads while the rows of this one are written and sent. All of
    /// this page may be told: no more are read ahead than would then be left of the limit.
    async fn read_ahead(&mut self, reached: Number, told: usize) {
        let left = self.left.map(|left| left.saturating_sub(told as u64));
        if left == Some(0) {
            return;
        }
        let mut page = self.page(Some(reached), left);
        // It begins when it is asked for the first time.
        let begun = poll_fn(|context| Poll::Ready(page.as_mut().poll(context))).await;
        self.ahead = Some(match begun {
            Poll::Ready(read) => Box::pin(ready(read)),
            Poll::Pending => page,
        });
    }

    /// The page behind a place, or behind what was told, of at most so many changes.
    fn page(&self, reached: Option<Number>, left: Option<u64>) -> Page {
        let (name, databases) = (self.name.clone(), Arc::clone(&self.asked.databases));
        let (after, before) = match reached {
            Some(reached) if !self.request.is_descending => (reached, None),
            reached => (self.after, reached.or(self.before)),
        };
        let request = Arc::clone(&self.request);
        let most = match (&*request.filter, left) {
            // Of those that a selector looks at perhaps none is told.
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
                    let pass_over = filter::passes_over(filter);
                    databases.document_changes(&name, after, most, pass_over, choose, PAGE_BYTES)
                }
            };
            page.await.map_err(broken)
        })
    }
}
