//! Subscriptions to feeds without sync information. Their entries are imported as by `import`, if a person
//! requested it. An entry keeps all of its content, including its `atom:source` (RFC 4287 4.2.11).

use feedsync_endpoint::PlainItem;
use feedsync_fetch::{Response, shown};
use feedsync_formats::{Plain, ReadError, ReadOptions, read_plain};
use feedsync_store::RemoteState;

use crate::error::SyncError;
use crate::progress::Step;
use crate::report::Warning;
use crate::session::Run;
use crate::wire::{Origin, ResponseBody};

impl Run<'_> {
    /// Reads a feed that is not a hub's, and whose entries may have no sync information.
    pub(crate) async fn pull_or_import(&mut self, mut feed: Response) -> Result<(), SyncError> {
        let (url, validators) = (feed.url().clone(), feed.validators());
        feed.complete_document().await?;
        let body = ResponseBody::of(feed).await?;
        let page = self.reader().page_of(&url, &validators, body.clone(), Origin::Web).await;
        match page {
            Ok(page) => return self.take_page(page).await,
            Err(SyncError::NotFeedSync { .. }) => {}
            Err(error) => return Err(error),
        }
        // The address becomes part of the imported entries, so it must not contain a secret.
        let base = shown(&url);
        let plain = decode_plain(body, base.clone())
            .await
            .map_err(|error| SyncError::Document { url: base, error })?;
        let entries = PlainItem::of_feed(plain.payloads);
        self.report.plain += entries.len() as u64;
        self.progress.step(Step::Pulled { items: entries.len() as u64 });
        if self.dry_run {
            return Ok(());
        }
        self.take_up(&plain.details).await?;
        let imported = self.endpoint.import(&self.remote.collection, entries, false).await?;
        self.report.conflicted += imported.counts.conflict;
        self.took(imported.counts, imported.items);
        if !imported.left_out.is_empty() {
            self.warn(Warning::LeftOut(imported.left_out.len()));
        }
        let state = RemoteState {
            etag: validators.etag,
            last_modified: validators.last_modified,
            read_only: true,
            // The whole feed has been read.
            needs_complete: false,
            ..self.state.clone()
        };
        self.remember(state).await
    }
}

/// Parses entries on a thread that may block.
async fn decode_plain(body: ResponseBody, base: String) -> Result<Plain, ReadError> {
    let reading = tokio::task::spawn_blocking(move || {
        let options = ReadOptions { base: Some(&base), ..ReadOptions::tolerant() };
        read_plain(&body.decoded(options.mode), &options)
    });
    match reading.await {
        Ok(plain) => plain,
        Err(failure) => std::panic::resume_unwind(failure.into_panic()),
    }
}
