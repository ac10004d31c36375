//! Documents of a remote, from the request to the parsed content.
//!
//! This module does not change a `Run`, so that one page can be read while the one before it is stored.

use feedsync_fetch::{Fetched, Fetcher, Request, Response, Url, Validators, shown};
use feedsync_formats::{MEDIA_TYPES, Reading};

use crate::error::SyncError;
use crate::progress::{Progress, Step};
use crate::wire::{Decoded, Origin, ResponseBody, decode};

/// Maximum number of bytes of a page of several items; a hub ends a page at half of that, by its own count. A
/// page of a single item may be as large as the fetch policy allows.
pub(crate) const PAGE_BYTES: u64 = 16 << 20;

/// A parsed document.
pub(crate) struct Page {
    pub(crate) url: Url,
    pub(crate) reading: Reading,
    /// Whether it is a document of SSE 0.91.
    pub(crate) is_sse: bool,
    pub(crate) next: Option<Url>,
    pub(crate) validators: Validators,
}

impl Page {
    pub(crate) fn until(&self) -> Option<String> {
        let window = self.reading.feed.sharing.as_ref()?.window.as_ref()?;
        Some(window.until.clone())
    }
}

/// Reads a remote's documents.
pub(crate) struct DocumentReader<'a> {
    pub(crate) fetcher: Fetcher,
    pub(crate) progress: &'a dyn Progress,
}

impl DocumentReader<'_> {
    /// Sends a request and reports it as progress.
    pub(crate) async fn ask(&self, request: Request, url: &Url) -> Result<Fetched, SyncError> {
        self.progress.step(Step::Reading { url: &shown(url) });
        Ok(self.fetcher.fetch(request).await?)
    }

    /// Reads a page of a hub with a maximum number of items; `None` if nothing has changed.
    pub(crate) async fn page(
        &self,
        url: &Url,
        items: usize,
        known: &Validators,
    ) -> Result<Option<Page>, SyncError> {
        let bound = if items > 1 { PAGE_BYTES } else { u64::MAX };
        // All formats have the same quality value, so that a hub uses the collection's own.
        let request = Request::read(url.clone()).accept(MEDIA_TYPES).within(bound).unless(known);
        match self.ask(request, url).await? {
            Fetched::NotModified => Ok(None),
            Fetched::Answer(response) => Ok(Some(self.read(*response, Origin::Hub).await?)),
        }
    }

    /// Reads a document to its end. A document without any sync information is an error.
    pub(crate) async fn read(
        &self,
        mut response: Response,
        origin: Origin,
    ) -> Result<Page, SyncError> {
        let (url, validators) = (response.url().clone(), response.validators());
        let next = response.link("next").filter(|_| origin == Origin::Hub);
        let web_page = response.refuse_page().err();
        response.complete_document().await?;
        let body = ResponseBody::of(response).await?;
        let page = self.page_of(&url, &validators, body, origin).await;
        let page = page.map_err(|error| match (error, web_page) {
            // The server says that it is a page, and it is no feed.
            (SyncError::Document { .. }, Some(web_page)) => web_page.into(),
            (error, _) => error,
        })?;
        Ok(Page { next, ..page })
    }

    /// Reads the body of a response. The page has no link to a next one, which only the header names.
    pub(crate) async fn page_of(
        &self,
        url: &Url,
        validators: &Validators,
        body: ResponseBody,
        origin: Origin,
    ) -> Result<Page, SyncError> {
        let decoded = decode(body, origin).await;
        let Decoded { reading, is_sse, losses } =
            decoded.map_err(|error| SyncError::Document { url: shown(url), error })?;
        if losses > 0 {
            tracing::debug!(losses, url = %shown(url), "some SSE items lost data in conversion");
        }
        let feed = &reading.feed;
        let takes_part =
            feed.sharing.is_some() || !feed.items.is_empty() || !reading.refused.is_empty();
        if feed.plain_items > 0 && !takes_part {
            return Err(SyncError::NotFeedSync { url: shown(url) });
        }
        let (url, validators) = (url.clone(), validators.clone());
        Ok(Page { url, reading, is_sse, next: None, validators })
    }
}
