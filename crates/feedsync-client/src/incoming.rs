//! Items that came, on their way into the store.

use feedsync::{History, Incorporation, Item, Payload, Refusal, incorporate};
use feedsync_endpoint::{Counts, ItemOutcome, Source};
use feedsync_formats::Reading;
use feedsync_store::{RemoteState, Snapshot, StoreExt as _};

use crate::error::SyncError;
use crate::progress::Step;
use crate::report::{RefusedItem, Side, Warning};
use crate::session::Run;

/// Items of one transaction.
const BATCH: usize = 1_000;

impl Run<'_> {
    /// Merges what was read. `state` is stored in the transaction of the last items.
    pub(crate) async fn store(
        &mut self,
        reading: Reading,
        state: Option<RemoteState>,
    ) -> Result<(), SyncError> {
        self.report.plain += reading.feed.plain_items as u64;
        if reading.feed.plain_items > 0 {
            self.warn(Warning::PlainItems(reading.feed.plain_items as u64));
        }
        let illegible = reading.refused.into_iter().map(|refused| RefusedItem {
            by: Side::Here,
            id: refused.id,
            reason: format!("{}: {}", refused.reason.position, refused.reason.message),
        });
        self.report.pulled.refused += illegible.len() as u64;
        self.report.refused.extend(illegible);
        let mut items = reading.feed.items;
        loop {
            let rest = items.split_off(items.len().min(BATCH));
            let last = rest.is_empty();
            let conclusion = state.clone().filter(|_| last);
            self.store_batch(items, conclusion).await?;
            if last {
                return Ok(());
            }
            items = rest;
        }
    }

    async fn store_batch(
        &mut self,
        items: Vec<Item<Payload>>,
        state: Option<RemoteState>,
    ) -> Result<(), SyncError> {
        if self.dry_run {
            let counts = self.foresee(items).await?;
            self.report.pulled += counts;
        } else if !items.is_empty() || state.as_ref().is_some_and(|state| *state != self.state) {
            self.fetch_blobs(&items).await?;
            let conclusion = state.clone().map(|state| self.conclusion(state));
            let (name, source) = (&self.remote.collection, Source::Remote(self.remote.id));
            let report = self.endpoint.incorporate(name, source, items, conclusion).await?;
            self.report.pulled += report.counts;
            for item in report.items {
                if let ItemOutcome::Refused(refusal) = item.outcome {
                    self.postponed |= matches!(refusal, Refusal::TooManyConflicts { .. });
                    let (id, reason) = (Some(item.id.to_string()), refusal.to_string());
                    self.report.refused.push(RefusedItem { by: Side::Here, id, reason });
                }
            }
        }
        if let Some(state) = state {
            self.state = state;
        }
        let Counts { unchanged, refused, .. } = self.report.pulled;
        let items = self.report.pulled.changed() + unchanged + refused;
        self.progress.step(Step::Pulled { items });
        Ok(())
    }

    /// What would become of items, each taken alone; nothing is written.
    async fn foresee(&self, items: Vec<Item<Payload>>) -> Result<Counts, SyncError> {
        let keys = items.iter().map(|item| item.id.clone()).collect();
        let decide = move |snapshot: &Snapshot| {
            let mut counts = Counts::default();
            items.iter().for_each(|item| counts.count(outcome(snapshot, item)));
            (Vec::new(), counts)
        };
        let name = &self.remote.collection;
        let (_, counts) = self.endpoint.store().decide(name, keys, decide).await?;
        Ok(counts)
    }
}

fn outcome(snapshot: &Snapshot, item: &Item<Payload>) -> ItemOutcome {
    let entry = snapshot.entry(&item.id);
    let local = entry.and_then(|entry| entry.item.as_ref()).map(|stored| &stored.item);
    let purged = entry.and_then(|entry| History::from_updates(entry.purged.clone()));
    match incorporate(local, purged.as_ref(), item.clone()) {
        Incorporation::Added(_) => ItemOutcome::Added,
        Incorporation::Updated(_) => ItemOutcome::Updated,
        Incorporation::Conflict(_) => ItemOutcome::Conflict,
        Incorporation::Unchanged => ItemOutcome::Unchanged,
        Incorporation::Refused(refusal) => ItemOutcome::Refused(refusal),
    }
}
