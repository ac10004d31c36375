//! The complete feed (2.3, 4.1.1 step 2), and what is discarded after it (4.1.2 step 2.1.2).

use feedsync_core::window::Conclusion;
use feedsync_core::{ItemId, Sharing};
use feedsync_endpoint::Seen;
use feedsync_endpoint::subscriber::leads_back;
use feedsync_formats::Reading;

use crate::document::{Page, Reader};
use crate::error::SyncError;
use crate::fetch::{
    FetchError, Fetched, Request, Url, address, shown, with_credentials, with_pairs,
};
use crate::progress::Step;
use crate::session::Run;
use crate::wire::{ACCEPT_FEED, Origin};

/// Items of one part; fewer where so many are too large.
const PART_ITEMS: usize = 1_000;

/// The most documents that a complete feed is read from.
const PARTS: usize = 1_000_000;

/// A complete feed that was read to its end; its items are stored.
#[derive(Default)]
pub(crate) struct Whole {
    /// What its publisher says of it; of several parts, the first, whose window was read first.
    pub(crate) sharing: Option<Sharing>,
    seen: Seen,
    /// An item that is there cannot be told by its id.
    illegible: bool,
}

impl Whole {
    /// A complete feed with this sharing, none of whose items is read yet.
    pub(crate) fn of(sharing: Option<Sharing>) -> Self {
        Self { sharing, ..Self::default() }
    }

    /// The items of one document.
    pub(crate) fn read(reading: &Reading) -> Self {
        let mut whole = Self::default();
        whole.note(reading);
        whole
    }

    /// Remembers the items of a document, those too that were refused: they are there.
    pub(crate) fn note(&mut self, reading: &Reading) {
        reading.feed.items.iter().for_each(|item| self.seen.insert(item));
        for refused in &reading.refused {
            match refused.id.as_deref().map(ItemId::new) {
                Some(Ok(id)) => self.seen.insert_id(&id),
                _ => self.illegible = true,
            }
        }
    }
}

impl Reader<'_> {
    /// Reads a document that must be there.
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
    /// Reads the complete feed that a page names, to its end, and merges it. It is followed one step
    /// only, whatever it names itself (R-F37).
    pub(crate) async fn read_complete(
        &mut self,
        page: &Url,
        link: &str,
        origin: Origin,
    ) -> Result<Whole, SyncError> {
        let reader = self.reader();
        let mut whole = Whole::default();
        let start = page.join(link).or_else(|_| address(link))?;
        let start = with_credentials(start, &self.remote.url);
        // A hub may give it in parts, each naming the next.
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
                    // Of SSE it may not say where it ends (S7).
                    sharing.window.take_if(|window| window.until.is_empty());
                }
            }
            self.store(document.reading, document.is_sse, None).await?;
            next = document.next.map(|next| with_credentials(next, &self.remote.url));
        }
        Ok(whole)
    }

    /// Protects what this remote gave earlier and does not show any more, if the conclusion leads back to an earlier
    /// state of it. A hub that is offered everything has it again.
    pub(crate) async fn protect_all_but(
        &mut self,
        whole: &Whole,
        conclusion: &Conclusion,
    ) -> Result<(), SyncError> {
        let is_offered = self.hub.is_some() && self.direction.push && !self.state.read_only;
        if leads_back(&self.state, conclusion) && !is_offered && !self.dry_run {
            let (name, id) = (&self.remote.collection, self.remote.id);
            self.endpoint.protect_unseen(name, id, &whole.seen).await?;
        }
        Ok(())
    }

    /// Discards what this remote gave and no longer has, by the safe rule. Nothing is discarded as
    /// long as an item that it has cannot be told by its id.
    pub(crate) async fn discard_all_but(&mut self, whole: &Whole) -> Result<(), SyncError> {
        if whole.illegible || self.dry_run {
            return Ok(());
        }
        let (name, id) = (&self.remote.collection, self.remote.id);
        let items = self.endpoint.discard_absent(name, id, &whole.seen).await?;
        self.report.discarded += items;
        self.progress.step(Step::Discarded { items });
        Ok(())
    }
}

/// The part of at most so many items.
fn of_items(url: &Url, items: usize) -> Url {
    with_pairs(url, &[("limit", Some(&items.to_string()))])
}
