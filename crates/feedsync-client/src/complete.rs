//! The complete feed (2.3, 4.1.1 step 2), and the items that are discarded after it was read (4.1.2 step
//! 2.1.2).

use feedsync_core::window::Conclusion;
use feedsync_core::{ItemId, Sharing};
use feedsync_endpoint::SeenVersions;
use feedsync_endpoint::subscriber::leads_back;
use feedsync_fetch::{FetchError, Fetched, Request, Url, address, shown};
use feedsync_formats::Reading;

use crate::address::{with_credentials, with_pairs};
use crate::document::{DocumentReader, Page};
use crate::error::SyncError;
use crate::progress::Step;
use crate::session::Run;
use crate::wire::{ACCEPT_FEED, Origin};

/// Number of items in one part; fewer if the part would be too large.
const PART_ITEMS: usize = 1_000;

/// Maximum number of documents from which a complete feed is read.
const PARTS: usize = 1_000_000;

/// A complete feed that was read to its end; its items are stored.
#[derive(Default)]
pub(crate) struct CompleteFeed {
    /// Sharing information of the publisher. In a feed of several parts it is that of the first, whose window
    /// was read first.
    pub(crate) sharing: Option<Sharing>,
    seen: SeenVersions,
    /// Whether the feed contains an item whose id cannot be read.
    has_unreadable_ids: bool,
}

impl CompleteFeed {
    /// Creates a complete feed with this sharing, none of whose items is read yet.
    pub(crate) fn of(sharing: Option<Sharing>) -> Self {
        Self { sharing, ..Self::default() }
    }

    /// Creates a complete feed of the items of one document.
    pub(crate) fn read(reading: &Reading) -> Self {
        let mut whole = Self::default();
        whole.note(reading);
        whole
    }

    /// Adds the items of a document, including those that were refused: they exist in the feed.
    pub(crate) fn note(&mut self, reading: &Reading) {
        reading.feed.items.iter().for_each(|item| self.seen.insert(item));
        for refused in &reading.refused {
            match refused.id.as_deref().map(ItemId::new) {
                Some(Ok(id)) => self.seen.insert_id(&id),
                _ => self.has_unreadable_ids = true,
            }
        }
    }
}

impl DocumentReader<'_> {
    /// Reads a document that must exist.
    async fn document(&self, url: &Url, origin: Origin) -> Result<Page, SyncError> {
        let request = Request::read(url.clone()).accept(ACCEPT_FEED);
        match self.ask(request, url).await? {
            Fetched::Answer(response) => self.read(*response, origin).await,
            Fetched::NotModified => {
                let reason = "an answer to a question that was not asked".to_owned();
                Err(SyncError::Protocol { url: shown(url), reason })
            }
        }
    }
}

impl Run<'_> {
    /// Reads the complete feed that a page names, to its end, and merges it. If the complete feed names
    /// another one, that is not followed (R-F37).
    pub(crate) async fn read_complete(
        &mut self,
        page: &Url,
        link: &str,
        origin: Origin,
    ) -> Result<CompleteFeed, SyncError> {
        let reader = self.reader();
        let mut whole = CompleteFeed::default();
        let start = page.join(link).or_else(|_| address(link))?;
        let start = with_credentials(start, &self.remote.url);
        // A hub may split it into parts, each of which links to the next.
        let mut items = PART_ITEMS;
        let mut next = Some(match origin {
            Origin::Hub => of_items(&start, items),
            Origin::Web => start,
        });
        let mut first = true;
        for _ in 0..PARTS {
            let Some(url) = next else { break };
            let document = match reader.document(&url, origin).await {
                Err(SyncError::Fetch(FetchError::TooLarge { .. }))
                    if origin == Origin::Hub && items > 1 =>
                {
                    items /= 10;
                    next = Some(of_items(&url, items));
                    continue;
                }
                document => document?,
            };
            whole.note(&document.reading);
            if std::mem::take(&mut first) {
                whole.sharing.clone_from(&document.reading.feed.sharing);
                if let Some(sharing) = whole.sharing.as_mut().filter(|_| document.is_sse) {
                    // A document of SSE may omit its end (S7).
                    sharing.window.take_if(|window| window.until.is_empty());
                }
            }
            self.store(document.reading, document.is_sse, None).await?;
            next = document.next.map(|next| with_credentials(next, &self.remote.url));
        }
        Ok(whole)
    }

    /// Protects items that this remote provided earlier and no longer shows, if the conclusion leads back to
    /// an earlier state of it. A hub that is offered everything gets them again anyway.
    pub(crate) async fn protect_all_but(
        &mut self,
        whole: &CompleteFeed,
        conclusion: &Conclusion,
    ) -> Result<(), SyncError> {
        let is_offered = self.hub.is_some() && self.direction.push && !self.state.read_only;
        if leads_back(&self.state, conclusion) && !is_offered && !self.dry_run {
            let (name, id) = (&self.remote.collection, self.remote.id);
            self.endpoint.protect_unseen(name, id, &whole.seen).await?;
        }
        Ok(())
    }

    /// Discards items that this remote provided and no longer has, by the safe rule. Nothing is discarded if
    /// the feed contains an item whose id cannot be read.
    pub(crate) async fn discard_all_but(&mut self, whole: &CompleteFeed) -> Result<(), SyncError> {
        if whole.has_unreadable_ids || self.dry_run {
            return Ok(());
        }
        let (name, id) = (&self.remote.collection, self.remote.id);
        let items = self.endpoint.discard_absent(name, id, &whole.seen).await?;
        self.report.discarded += items;
        self.progress.step(Step::Discarded { items });
        Ok(())
    }
}

/// Returns the address of a part with at most this number of items.
fn of_items(url: &Url, items: usize) -> Url {
    with_pairs(url, &[("limit", Some(&items.to_string()))])
}
