//! The parts of a transfer, one after the other.

use super::{
    BATCH_BYTES, BATCH_ROWS, SOURCE_CHANGED, Transfer, TransferPart, TransferReport, TransferredLog,
};
use crate::collection::Collection;
use crate::error::StoreError;
use crate::log::LogPosition;
use crate::name::CollectionName;
use crate::order::ChangeNumber;
use crate::people::{AuditSelection, GrantFilter};
use crate::stored::PageLimit;

/// A transfer in progress.
pub(super) struct Run<'a> {
    pub(super) from: &'a dyn Transfer,
    pub(super) to: &'a dyn Transfer,
    pub(super) moved: TransferReport,
    pub(super) progress: &'a (dyn Fn(&TransferReport) + Send + Sync),
}

impl Run<'_> {
    pub(super) fn tell(&self) {
        (self.progress)(&self.moved);
    }

    pub(super) async fn ledger(&mut self) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let rows = self.from.ledger(after.as_ref(), BATCH_ROWS).await?;
            let Some((last, _)) = rows.last() else { return Ok(()) };
            after = Some(last.clone());
            self.moved.signed += rows.len() as u64;
            self.to.load(TransferPart::Ledger(rows)).await?;
            self.tell();
        }
    }

    pub(super) async fn collection(&mut self, seen: &Collection) -> Result<(), StoreError> {
        let name = &seen.name;
        let now = self.from.collection(name).await?;
        let collection = now.ok_or_else(|| StoreError::NoCollection(name.clone()))?;
        self.to.load(TransferPart::Collection(collection)).await?;
        let mut through = ChangeNumber::ZERO;
        loop {
            let page = self.from.changes(name, through, None, PageLimit::items(BATCH_ROWS)).await?;
            through = page.through;
            self.moved.items += page.items.len() as u64;
            self.to.load(TransferPart::Items(name.clone(), page.items)).await?;
            self.tell();
            if !page.more {
                break;
            }
        }
        let mut after = None;
        loop {
            let rows = self.from.purged(name, after.as_ref(), BATCH_ROWS).await?;
            let Some((last, _)) = rows.last() else { break };
            after = Some(last.clone());
            self.moved.purged += rows.len() as u64;
            self.to.load(TransferPart::Purged(name.clone(), rows)).await?;
        }
        let discarded = self.from.discarded(name).await?;
        self.moved.discarded += discarded.len() as u64;
        self.to.load(TransferPart::Discarded(discarded)).await?;
        self.log(name).await?;
        self.moved.collections += 1;
        Ok(())
    }

    async fn log(&mut self, name: &CollectionName) -> Result<(), StoreError> {
        let Some(log) = self.from.log(name).await? else { return Ok(()) };
        let (LogPosition { generation, length }, removed) = (log.place, log.removed);
        let keys = self.from.log_keys(name).await?;
        let snapshot = self.from.log_snapshot(name).await?.map(|(_, bytes)| bytes);
        self.to
            .load(TransferPart::Log(name.clone(), TransferredLog { log, keys, snapshot }))
            .await?;
        let mut moved = 0;
        while !removed && moved < length {
            let piece = self.from.read_log(name, generation, moved, BATCH_BYTES).await?;
            let piece = piece.filter(|piece| !piece.is_empty()).ok_or(SOURCE_CHANGED)?;
            moved += piece.len() as u64;
            self.to.load(TransferPart::LogBytes(name.clone(), piece)).await?;
            self.tell();
        }
        self.moved.logs += 1;
        Ok(())
    }

    pub(super) async fn blobs(&mut self) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let digests = self.from.blobs(after, BATCH_ROWS).await?;
            let Some(last) = digests.last() else { return Ok(()) };
            after = Some(*last);
            for digest in digests {
                if let Some(bytes) = self.from.blob(digest).await? {
                    self.to.put_blob(bytes).await?;
                    self.moved.blobs += 1;
                    self.tell();
                }
            }
        }
    }

    /// Moves the blobs that items of a collection name.
    pub(super) async fn blobs_of(&mut self, name: &CollectionName) -> Result<(), StoreError> {
        let mut through = ChangeNumber::ZERO;
        loop {
            let page = self.from.changes(name, through, None, PageLimit::items(BATCH_ROWS)).await?;
            through = page.through;
            for digest in page.items.iter().flat_map(|stored| &stored.blobs) {
                if let Some(bytes) = self.from.blob(*digest).await? {
                    self.to.put_blob(bytes).await?;
                    self.moved.blobs += 1;
                }
            }
            if !page.more {
                return Ok(());
            }
        }
    }

    /// Moves users, before the databases that name them, because adding a user removes its name from all
    /// databases.
    pub(super) async fn users(&mut self) -> Result<(), StoreError> {
        for user in self.from.users().await? {
            self.to.add_user(user).await?;
            self.moved.users += 1;
        }
        Ok(())
    }

    /// Moves grants and tokens of users, to whom collections are charged, and the record.
    pub(super) async fn people(&mut self) -> Result<(), StoreError> {
        for collection in self.from.collections().await? {
            if let Some(owner) = self.from.collection_charged_to(&collection.name).await? {
                self.to.charge_collection(&collection.name, &owner).await?;
            }
        }
        for user in self.from.users().await? {
            let name = user.name;
            for grant in self.from.grants(GrantFilter::User(&name)).await? {
                self.to.grant(grant).await?;
            }
            for token in self.from.tokens(&name).await? {
                self.to.add_token(token).await?;
                self.moved.tokens += 1;
            }
        }
        // The audit record is read backwards and written forwards, so the starts of its pages are collected
        // first.
        let page = |before| AuditSelection { before, limit: BATCH_ROWS, ..Default::default() };
        let mut begins = Vec::new();
        let mut before = None;
        loop {
            let acts = self.from.acts(page(before)).await?;
            let Some(oldest) = acts.last() else { break };
            begins.push(before);
            before = Some(oldest.place);
        }
        for before in begins.into_iter().rev() {
            let mut acts = self.from.acts(page(before)).await?;
            acts.reverse();
            self.moved.acts += acts.len() as u64;
            self.to.load(TransferPart::Acts(acts)).await?;
            self.tell();
        }
        Ok(())
    }
}
