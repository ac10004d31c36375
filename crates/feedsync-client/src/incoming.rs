//! Storage of incoming items.

use feedsync_core::{Item, Payload};
use feedsync_endpoint::{Counts, ItemOutcome, ItemReport, Source};
use feedsync_formats::{FeedDetails, Reading};
use feedsync_store::RemoteState;

use crate::error::SyncError;
use crate::progress::Step;
use crate::report::{RefusedItem, Side, Warning};
use crate::session::Run;

/// Maximum number of items in one transaction.
const BATCH: usize = 1_000;

impl Run<'_> {
    /// Merges the items that were read, as FeedSync or as SSE. `state` is stored in the transaction of the
    /// last items.
    pub(crate) async fn store(
        &mut self,
        reading: Reading,
        is_sse: bool,
        state: Option<RemoteState>,
    ) -> Result<(), SyncError> {
        self.report.plain += reading.feed.plain_items as u64;
        if reading.feed.plain_items > 0 {
            self.warn(Warning::PlainItems(reading.feed.plain_items as u64));
        }
        let has_unreadable_ids = reading.refused.into_iter().map(|refused| RefusedItem {
            by: Side::Here,
            id: refused.id,
            reason: format!("{}: {}", refused.reason.position, refused.reason.message),
        });
        self.report.pulled.refused += has_unreadable_ids.len() as u64;
        self.report.refused.extend(has_unreadable_ids);
        let mut items = reading.feed.items;
        loop {
            let rest = items.split_off(items.len().min(BATCH));
            let last = rest.is_empty();
            let conclusion = state.clone().filter(|_| last);
            self.store_batch(items, is_sse, conclusion).await?;
            if last {
                return Ok(());
            }
            items = rest;
        }
    }

    /// Stores the details of a remote's feed in the collection if it has none, at the first reading of the
    /// remote. So details that a person removes later stay removed.
    pub(crate) async fn take_up(&mut self, details: &FeedDetails) -> Result<(), SyncError> {
        let is_first = self.state.until.is_none() && self.state.succeeded.is_none();
        if is_first && !self.dry_run {
            self.endpoint.adopt_details(&self.remote.collection, details).await?;
        }
        Ok(())
    }

    async fn store_batch(
        &mut self,
        items: Vec<Item<Payload>>,
        is_sse: bool,
        state: Option<RemoteState>,
    ) -> Result<(), SyncError> {
        let (name, source) = (self.remote.collection.clone(), Source::Remote(self.remote.id));
        let report = if self.dry_run {
            Some(match is_sse {
                true => self.endpoint.preview_sse(&name, source, items).await?,
                false => self.endpoint.preview(&name, source, items).await?,
            })
        } else if !items.is_empty() || state.as_ref().is_some_and(|state| *state != self.state) {
            self.fetch_blobs(&items).await?;
            let conclusion = state.clone().map(|state| self.conclusion(state));
            Some(match is_sse {
                true => self.endpoint.incorporate_sse(&name, source, items, conclusion).await?,
                false => self.endpoint.incorporate(&name, source, items, conclusion).await?,
            })
        } else {
            None
        };
        if let Some(report) = report {
            self.report.conflicted += report.conflicted;
            self.took(report.counts, report.items);
        }
        if let Some(state) = state {
            self.state = state;
        }
        let Counts { unchanged, refused, .. } = self.report.pulled;
        let items = self.report.pulled.changed() + unchanged + refused;
        self.progress.step(Step::Pulled { items });
        Ok(())
    }

    /// Records the outcomes of items here. If a bound that may pass refused one, the stored state lets the
    /// remote be read again.
    pub(crate) fn took(&mut self, counts: Counts, items: Vec<ItemReport>) {
        self.report.pulled += counts;
        for ItemReport { id, outcome } in items {
            self.postponed |= outcome.may_succeed_later();
            if let ItemOutcome::Refused(refusal) = outcome {
                let (id, reason) = (Some(id.to_string()), refusal.to_string());
                self.report.refused.push(RefusedItem { by: Side::Here, id, reason });
            }
        }
    }
}
