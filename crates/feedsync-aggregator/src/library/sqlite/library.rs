//! Implementation of the interface on the threads of a [`SqliteLibrary`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use feedsync_log::Millis;
use feedsync_reading_state::{ArticleId, FeedAddress, IdentificationState};
use feedsync_store::sqlite_support::Durability;

use super::{
    SqliteLibrary, articles, feeds, icons, list, lookups, polling, search, settle, subscriptions,
    sweep,
};
use crate::library::article::StoredArticle;
use crate::library::contract::Library;
use crate::library::error::LibraryError;
use crate::library::feed::{DueFeed, StoredFeed};
use crate::library::icon::{Icon, Origin, StoredIcon};
use crate::library::limits;
use crate::library::listing::{ArticleFilter, ListEntry, NamedArticle, Selection};
use crate::library::poll::{Poll, PollChanges};
use crate::library::reader_name::ReaderName;
use crate::library::retention::{FeedDeletion, Retention, SWEEP_BATCH};
use feedsync_reader_api::{ArticleNumber, FeedNumber};

#[async_trait]
impl Library for SqliteLibrary {
    async fn set_subscriptions(
        &self,
        reader: &ReaderName,
        feeds: &BTreeSet<FeedAddress>,
        now: Millis,
    ) -> Result<(), LibraryError> {
        let (reader, feeds) = (reader.clone(), feeds.clone());
        let set = move |connection: &_| subscriptions::set(connection, &reader, &feeds, now);
        self.writer.run_with(Durability::Power, set).await
    }

    async fn subscriptions(&self, reader: &ReaderName) -> Result<Vec<StoredFeed>, LibraryError> {
        let reader = reader.clone();
        self.readers.read(move |connection| subscriptions::of(connection, &reader)).await
    }

    async fn readers(&self) -> Result<Vec<ReaderName>, LibraryError> {
        self.readers.read(subscriptions::readers).await
    }

    async fn feed(&self, number: FeedNumber) -> Result<Option<StoredFeed>, LibraryError> {
        self.readers.read(move |connection| feeds::by_number(connection, number)).await
    }

    async fn feed_at(&self, address: &FeedAddress) -> Result<Option<StoredFeed>, LibraryError> {
        let address = address.clone();
        self.readers.read(move |connection| feeds::by_address(connection, &address)).await
    }

    async fn claim(
        &self,
        now: Millis,
        until: Millis,
        most: usize,
    ) -> Result<Vec<DueFeed>, LibraryError> {
        let claim = move |connection: &_| polling::claim(connection, now, until, most);
        self.writer.run_with(Durability::Process, claim).await
    }

    async fn next_due(&self) -> Result<Option<Millis>, LibraryError> {
        self.readers.read(polling::next_due).await
    }

    async fn make_due(&self, feeds: &[FeedNumber], now: Millis) -> Result<(), LibraryError> {
        let feeds = feeds.to_vec();
        let make_due = move |connection: &_| polling::make_due(connection, &feeds, now);
        self.writer.run_with(Durability::Process, make_due).await
    }

    async fn host_hold(&self, host: &str, now: Millis) -> Result<Option<Millis>, LibraryError> {
        let host = host.to_owned();
        self.readers.read(move |connection| polling::host_hold(connection, &host, now)).await
    }

    async fn hold(&self, host: &str, until: Millis, now: Millis) -> Result<(), LibraryError> {
        limits::check_host(host)?;
        let host = host.to_owned();
        let hold = move |connection: &_| polling::hold(connection, &host, until, now);
        self.writer.run_with(Durability::Process, hold).await
    }

    async fn identification_state(
        &self,
        feed: FeedNumber,
    ) -> Result<IdentificationState, LibraryError> {
        self.readers.read(move |connection| polling::identification_state(connection, feed)).await
    }

    async fn settle(
        &self,
        feed: FeedNumber,
        poll: Poll,
        now: Millis,
    ) -> Result<PollChanges, LibraryError> {
        poll.check()?;
        let gives = poll.document.is_some();
        let durability = if gives { Durability::Power } else { Durability::Process };
        let settle = move |connection: &_| settle::settle(connection, feed, &poll, now);
        self.writer.run_with(durability, settle).await
    }

    async fn before(&self, received: Millis) -> Result<Option<ArticleNumber>, LibraryError> {
        self.readers.read(move |connection| lookups::before(connection, received)).await
    }

    async fn count_after(
        &self,
        feed: FeedNumber,
        sort_date: Option<Millis>,
    ) -> Result<u64, LibraryError> {
        self.readers.read(move |connection| lookups::count_after(connection, feed, sort_date)).await
    }

    async fn list(&self, selection: Selection) -> Result<Vec<ListEntry>, LibraryError> {
        self.readers.read(move |connection| list::list(connection, &selection)).await
    }

    async fn articles(
        &self,
        numbers: &[ArticleNumber],
    ) -> Result<Vec<StoredArticle>, LibraryError> {
        limits::check_loaded(numbers)?;
        let numbers = numbers.to_vec();
        self.readers.read(move |connection| articles::all(connection, &numbers)).await
    }

    async fn count(
        &self,
        feeds: &[FeedNumber],
        keep: Option<ArticleFilter>,
    ) -> Result<BTreeMap<FeedNumber, u64>, LibraryError> {
        let feeds = feeds.to_vec();
        self.readers.read(move |connection| list::count(connection, &feeds, keep.as_ref())).await
    }

    async fn named(&self, numbers: &[ArticleNumber]) -> Result<Vec<NamedArticle>, LibraryError> {
        let numbers = numbers.to_vec();
        self.readers
            .read(move |connection| {
                let mut all = Vec::new();
                let numbers = numbers.iter().map(|number| number.get());
                articles::by_number(connection, numbers, |found| all.push(found))?;
                Ok(all)
            })
            .await
    }

    async fn numbered(
        &self,
        feed: FeedNumber,
        names: &[ArticleId],
    ) -> Result<Vec<NamedArticle>, LibraryError> {
        let names = names.to_vec();
        self.readers.read(move |connection| articles::by_name(connection, feed, &names)).await
    }

    async fn search(
        &self,
        words: &str,
        selection: Selection,
    ) -> Result<Vec<ListEntry>, LibraryError> {
        limits::check_query(words)?;
        let Some(query) = search::query(words) else { return Ok(Vec::new()) };
        let search = move |connection: &_| search::search(connection, &query, &selection);
        self.readers.read(search).await
    }

    async fn sweep(&self, feed: FeedNumber, keep: Retention) -> Result<u64, LibraryError> {
        let keep = Arc::new(keep);
        let mut swept = 0;
        loop {
            let keep = Arc::clone(&keep);
            let portion = move |connection: &_| sweep::delete_batch(connection, feed, &keep);
            let portion = self.writer.run_with(Durability::Process, portion).await?;
            swept += portion as u64;
            if portion < SWEEP_BATCH {
                return Ok(swept);
            }
        }
    }

    async fn delete_abandoned_feeds(
        &self,
        abandoned_before: Millis,
        spared: &BTreeSet<FeedNumber>,
    ) -> Result<u64, LibraryError> {
        let mut forgotten = 0;
        let spared = Arc::new(spared.clone());
        loop {
            let spared = Arc::clone(&spared);
            let portion = move |connection: &_| {
                sweep::delete_abandoned_feeds(connection, abandoned_before, &spared)
            };
            match self.writer.run_with(Durability::Process, portion).await? {
                FeedDeletion::Feed => forgotten += 1,
                FeedDeletion::Articles => {}
                FeedDeletion::Nothing => return Ok(forgotten),
            }
        }
    }

    async fn icon(&self, origin: &Origin) -> Result<Option<StoredIcon>, LibraryError> {
        let origin = origin.clone();
        self.readers.read(move |connection| icons::icon(connection, &origin)).await
    }

    async fn set_icon(
        &self,
        origin: &Origin,
        icon: Option<Icon>,
        now: Millis,
    ) -> Result<(), LibraryError> {
        limits::check_icon(origin, icon.as_ref())?;
        let origin = origin.clone();
        let set = move |connection: &_| icons::set(connection, &origin, icon.as_ref(), now);
        self.writer.run_with(Durability::Process, set).await
    }
}
